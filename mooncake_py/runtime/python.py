"""Python functions, run by the rules that are derived for them."""

from __future__ import annotations

import types as pytypes
from inspect import CO_OPTIMIZED
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import MooncakeError, UnsupportedError
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.held import may_change
from mooncake_py.runtime.binding import Slots, bind
from mooncake_py.runtime.coduals import MOST, abstract_codual, known
from mooncake_py.runtime.results import Given, Result
from mooncake_py.runtime.rule import cells_of, lift, rule_for, settle
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
) -> Result:
    """A Python function: its derived rule for the types at hand."""
    args, names = given.args, given.names
    if ff is None and (f.__defaults__ or f.__kwdefaults__):
        ff = run.current().shadow(f)
    if not f.__code__.co_flags & CO_OPTIMIZED:  # the body of a class, given its namespace
        params, binding = [], None
        inputs, fdatas = list(args), list(given.fargs)
    elif names or f.__code__.co_kwonlyargcount or f.__code__.co_flags & 0x0C or len(args) != f.__code__.co_argcount:
        slots = binding = Slots()
        boxes = [slots.box(x, fx) for x, fx in zip(given.values, given.fdata, strict=True)]
        n = len(args)
        params = bind(f, tuple(boxes[:n]), dict(zip(names, boxes[n:], strict=True)), *slots.defaults(f, ff))
        inputs = [slots.primal(v) for v in params]
        fdatas = [slots.fdata(v) for v in params]
        if f.__code__.co_flags & 0x08 and fdatas[-1] is None:
            fdatas[-1] = DictShadow({})  # `**kwargs` is made for this call: the function may write to it
    else:
        params, binding = [], None
        inputs, fdatas = list(args), list(given.fargs)
    cells = cells_of(f)
    cell_f = ff.cells if ff is not None else known(cells, (None,) * len(cells))
    if wary := run.is_wary():  # what is outside may have been written to
        cell_f = tuple([zero_fdata(c) if fc is None else fc for c, fc in zip(cells, cell_f, strict=True)])
        pairs = zip(inputs, fdatas, strict=True)
        fdatas = [zero_fdata(x) if fx is None and may_change(x, wary) else fx for x, fx in pairs]
    types = tuple(abstract_codual(x, fx) for x, fx in zip(inputs, fdatas, strict=True))
    free = tuple(abstract(c, fc is not None, MOST) for c, fc in zip(cells, cell_f, strict=True))
    try:
        rule = rule_for(f, types, free, outcome=protected)
    except UnsupportedError as e:
        raise NotDerived(e) from None
    if rule.in_place:
        run.changed_in_place()
    kept = {i for i, _ in rule.lanes if i < len(inputs) and fdatas[i] is None and type(inputs[i]) is np.ndarray}
    for i in kept:
        if i in rule.derived.written_args:
            raise UnsupportedError(
                f"writing a value with a derivative into an array from outside the run (argument {i} of {f.__name__})",
                f.__code__.co_filename,
                f.__code__.co_firstlineno,
                "pass the array as an argument of the differentiated function",
            )
        fdatas[i] = zero_fdata(inputs[i])  # a constant that an object keeps which has derivatives
    if wary:
        for i in rule.derived.touched_cells:
            run.current().touch(cells[i])
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
        return (None, *ds) if binding is None else (None, *binding.scatter(params, ds))

    return y, fy, pullback
