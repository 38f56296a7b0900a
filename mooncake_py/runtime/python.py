"""Python functions, run by the rules that are derived for them."""

from __future__ import annotations

import types as pytypes
import weakref
from collections.abc import Sequence
from inspect import CO_GENERATOR, CO_OPTIMIZED, CO_VARARGS, CO_VARKEYWORDS
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import MooncakeError, UnsupportedError
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.held import may_change
from mooncake_py.kept_iterators import Generator
from mooncake_py.layout import owner_of
from mooncake_py.runtime.binding import Slots, bind
from mooncake_py.runtime.coduals import abstract_codual, known
from mooncake_py.runtime.recent import most_looked_at, recent_rule, remember
from mooncake_py.runtime.results import Given, Result
from mooncake_py.runtime.rule import DerivedRule, cells_of, lift, rule_for, settle
from mooncake_py.tangents import DictShadow, zero_fdata
from mooncake_py.transform.helpers import add_any
from mooncake_py.transform.lanes import NONE
from mooncake_py.unwinding import Raised, note_missing


class NotDerived(MooncakeError):
    """A Python function has no rule, and nothing of it has run."""

    def __init__(self, why: UnsupportedError):
        self.why = why
        super().__init__(str(why))


def run_python(
    f: pytypes.FunctionType,
    ff: Any,
    given: Given,
    protected: bool,
    constant: bool = False,
) -> Result:
    """A Python function: its derived rule for the types at hand.

    `constant`: nothing that it is given has a derivative, numbers neither.
    """
    args, names = given.args, given.names
    if ff is None and (f.__defaults__ or f.__kwdefaults__):
        ff = run.current().shadow(f)
    code, n = f.__code__, len(args)
    flags, least = code.co_flags, code.co_argcount
    slots = None
    params: list[Any] = []
    spread = False  # are some of the arguments the items of a tuple, `*args`?
    if not flags & CO_OPTIMIZED:  # the body of a class, given its namespace
        inputs, fdatas = list(args), list(given.fargs)
    elif names or code.co_kwonlyargcount or flags & CO_VARKEYWORDS or _lacks_more(f, ff, n):
        slots = Slots()
        boxes = [slots.box(x, fx) for x, fx in zip(given.values, given.fdata, strict=True)]
        params = bind(f, tuple(boxes[:n]), dict(zip(names, boxes[n:], strict=True)), *slots.defaults(f, ff))
        inputs = [slots.primal(v) for v in params]
        fdatas = [slots.fdata(v) for v in params]
        if flags & CO_VARKEYWORDS and fdatas[-1] is None:
            fdatas[-1] = DictShadow({})  # `**kwargs` is made for this call: the function may write to it
    elif flags & CO_VARARGS:
        spread = True
        rest = given.fargs[least:]
        inputs = [*args[:least], args[least:]]
        fdatas = [*given.fargs[:least], rest if any([fx is not None for fx in rest]) else None]
    else:
        inputs, fdatas = list(args), list(given.fargs)
        if n < least:
            assert f.__defaults__ is not None
            inputs += f.__defaults__[n - least :]
            fdatas += [None] * (least - n)
    cells = cells_of(f)
    cell_f = ff.cells if ff is not None else known(cells, (None,) * len(cells))
    if wary := run.is_wary():  # what is outside may have been written to
        cell_f = tuple([zero_fdata(c) if fc is None else fc for c, fc in zip(cells, cell_f, strict=True)])
        pairs = zip(inputs, fdatas, strict=True)
        fdatas = [zero_fdata(x) if fx is None and may_change(x, wary) else fx for x, fx in pairs]
    rule = recent_rule(f, inputs, fdatas, cells, cell_f, protected)
    if rule is None:
        rule = _rule(f, inputs, fdatas, cells, cell_f, protected)
    if rule.in_place:
        run.changed_in_place()
    if rule.has_lanes:
        fdatas = _with_constants(f, rule, inputs, fdatas, constant)
    if f.__code__.co_flags & CO_GENERATOR and not constant:  # which keeps them
        _note_outside([x for x, fx in zip(inputs, fdatas, strict=True) if fx is None])
    if rule.derived.written_cells:
        _check_held(f, [cells[i].cell_contents for i in rule.derived.written_cells])
    if inputs and issubclass(type(inputs[0]), Generator) and inputs[0].writes:
        _check_held(inputs[0].resume, [getattr(inputs[0], name, None) for name in inputs[0].writes])
    if wary:
        rule.touch_outside(cells)
    try:
        y, inner, captures = rule.run([*inputs, *cells], [*fdatas, *cell_f])
    except BaseException as e:
        if not rule.reusable:
            note_missing(e, f.__qualname__, f.__code__.co_filename, f.__code__.co_firstlineno)
        raise
    tree = rule.derived.result_tree
    if protected:
        y, exc = y
        if exc is not None:
            run.changed_in_place()
            y, tree = Raised(exc), NONE
        else:
            tree, inner = (tree[0], None if inner is None else inner[0]) if isinstance(tree, tuple) else (NONE, None)
    fy = lift(tree, y, inner)
    held = None if tree == NONE else y  # a new array is nobody else's (`is_new`)

    def pullback(dy: Any) -> Any:
        dy = settle(tree, held, fy, dy)
        ds = rule.pullback(captures, (dy, None) if protected else dy)
        ds = [None if d is None else add_any(None, fx, d) for fx, d in zip(fdatas, ds, strict=False)]
        if slots is not None:
            return (None, *slots.scatter(params, ds))
        if spread:
            return (None, *ds[:least], *((None,) * (n - least) if ds[least] is None else ds[least]))
        return (None, *ds[:n])

    return y, fy, pullback


def _lacks_more(f: pytypes.FunctionType, ff: Any, n: int) -> bool:
    """Is the call of f with n arguments more than to fill in constants for the last ones, or to put them in `*args`?"""
    missing = f.__code__.co_argcount - n
    if missing <= 0:
        return missing < 0 and not f.__code__.co_flags & CO_VARARGS
    if f.__code__.co_flags & CO_VARARGS or (ff is not None and ff.defaults is not None):
        return True
    return f.__defaults__ is None or len(f.__defaults__) < missing


def _rule(
    f: pytypes.FunctionType,
    inputs: Sequence[Any],
    fdatas: Sequence[Any],
    cells: Sequence[Any],
    cell_f: Sequence[Any],
    outcome: bool,
) -> DerivedRule:
    """The rule for the types of these arguments and cells with their fdata."""
    most = most_looked_at(f.__code__)
    types = tuple(abstract_codual(x, fx, most) for x, fx in zip(inputs, fdatas, strict=True))
    free = tuple(abstract(c, fc is not None, most) for c, fc in zip(cells, cell_f, strict=True))
    try:
        rule = rule_for(f, types, free, outcome=outcome)
    except UnsupportedError as e:
        raise NotDerived(e) from None
    remember(f, rule, types, free, inputs, fdatas, cell_f, outcome, most)
    return rule


def _with_constants(
    f: pytypes.FunctionType, rule: DerivedRule, inputs: list[Any], fdatas: list[Any], constant: bool
) -> list[Any]:
    """fdata, also of arrays whose memory the rule shares and that had none: constants kept by what has derivatives."""
    kept = {i for i, _ in rule.lanes if i < len(inputs) and fdatas[i] is None and type(inputs[i]) is np.ndarray}
    if not kept:
        return fdatas
    if not constant:
        if written := kept.intersection(rule.derived.written_args):
            raise _outside(f, f"argument {min(written)} of {f.__name__}")
        _note_outside([inputs[i] for i in kept])  # a function that is made there may hold on to it
    return [zero_fdata(x) if i in kept else fx for i, (x, fx) in enumerate(zip(inputs, fdatas, strict=True))]


def _note_outside(xs: Sequence[Any]) -> None:
    for x in xs:
        if type(x) is np.ndarray:
            base = owner_of(x)
            run.current().from_outside[id(base)] = weakref.ref(base)


def _check_held(f: Any, written: Sequence[Any]) -> None:
    """Refuse to write to an array from outside that a generator, or another function that was made here, holds."""
    held = run.current().from_outside
    for x in written if held else ():
        if type(x) is np.ndarray and (base := owner_of(x)) is held.get(id(base), _nobody)():
            raise _outside(f, f"held by {f.__name__}")


def _nobody() -> None:
    return None


def _outside(f: Any, which: str) -> UnsupportedError:
    return UnsupportedError(
        f"writing a value with a derivative into an array from outside the run ({which})",
        f.__code__.co_filename,
        f.__code__.co_firstlineno,
        "pass the array as an argument of the differentiated function",
    )
