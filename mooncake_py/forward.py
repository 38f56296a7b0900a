"""The forward run of a call of any callable, by the rule of what runs, and its pullback."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import CO_VARKEYWORDS
from typing import Any

import numpy as np

from mooncake_py import outputs, registry
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.diagnostics.mode import running
from mooncake_py.errors import MooncakeError
from mooncake_py.hashing import hashable
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.also_outside import Outside
from mooncake_py.infer.brought import code_of
from mooncake_py.infer.held import may_change
from mooncake_py.infer.outside import with_answer
from mooncake_py.infer.types import T, Tup
from mooncake_py.ir.nodes import NO_POS
from mooncake_py.pullback import Pullback
from mooncake_py.run import ARRAYS, NOTHING, Wary, in_run, is_wary
from mooncake_py.run import current as this_run
from mooncake_py.runtime.aliases import with_aliases
from mooncake_py.runtime.arguments import Shadows, shadows_of
from mooncake_py.runtime.binding import Box, Slots, bind, unwrap
from mooncake_py.runtime.nested import refuse_written
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for, seed_result
from mooncake_py.runtime.site import DynamicSite
from mooncake_py.runtime.user import Saved, put_back, seed, snapshot, snapshot_within, writeable_of
from mooncake_py.runtime.warm import WarmRun
from mooncake_py.switches import current
from mooncake_py.tangents import DictShadow, zero_fdata
from mooncake_py.unwinding import forget


@in_run
def run_forward(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], active: tuple[bool, ...]
) -> tuple[Any, Pullback]:
    """`f(*args, **kwargs)` and its pullback by the active ones of `(*args, *kwargs.values())`."""
    refuse_written(f, this_run().outer)
    frame = debug_frame()
    if frame is None:
        y, pullback = _warm_forward(f, args, kwargs, active) or _run_forward(f, args, kwargs, active)
    else:
        from mooncake_py.diagnostics.entry import EntryWatch

        with running(True):
            watch = EntryWatch(f, (*args, *kwargs.values()), frame)
            y, pullback = _run_forward(f, args, kwargs, active)
        pullback._run = watch.around(pullback._run)
    pullback.function, pullback.again = f, lambda: run_forward(f, args, kwargs, active)
    return y, pullback


def _run_forward(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], active: tuple[bool, ...]
) -> tuple[Any, Pullback]:
    unwrapped = unwrap(f, args, kwargs)
    g, all_args, _ = unwrapped
    if type(g) is not pytypes.FunctionType:
        return _run_wary(f, unwrapped, args, kwargs, active, NOTHING)
    receivers, brought = all_args[: len(all_args) - len(args)], code_of((*args, *kwargs.values()))

    def run(wary: Wary) -> tuple[Any, Pullback]:
        try:
            return _run_wary(f, unwrapped, args, kwargs, active, wary)
        except _AlsoOutside:
            pass
        return _run_wary(f, unwrapped, args, kwargs, active, ARRAYS)

    return with_answer(run, g, receivers, brought)


class _AlsoOutside(Exception):
    """An argument that may be written to is outside as well, where the function may come to it."""


def _look_outside(rule: DerivedRule, g: pytypes.FunctionType, receivers: Sequence[Any], args: Sequence[Any]) -> None:
    """Before a run that looks for what it writes among its arguments only."""
    if this_run().wary < ARRAYS and rule.derived.touched_args and Outside(g, receivers, code_of(args)).has(args):
        raise _AlsoOutside


def _run_wary(
    f: Any,
    unwrapped: tuple[Any, tuple[Any, ...], dict[str, Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    active: tuple[bool, ...],
    wary: Wary,
) -> tuple[Any, Pullback]:
    this_run().wary = wary
    g, all_args, all_kwargs = unwrapped
    extra = len(all_args) - len(args)
    n = len(args)
    if not current().activity:
        active = (True,) * len(active)
    act = (*(may_change(x, wary) for x in all_args[:extra]), *active[:n])
    kwact = tuple(k in kwargs and active[n + list(kwargs).index(k)] for k in all_kwargs)
    if type(g) is not pytypes.FunctionType or registry.is_declared(g):
        python = _differentiated_as(g, all_args, all_kwargs)
        if python is None:
            return _forward_site(_Call(f, g, all_args, all_kwargs, (*act, *kwact), args, kwargs))
        g = python
    code = g.__code__
    if all_kwargs or code.co_kwonlyargcount or code.co_flags & 0x0C or len(all_args) != code.co_argcount:
        return _forward_bound(_Call(f, g, all_args, all_kwargs, (*act, *kwact), args, kwargs))
    cells = cells_of(g)
    types = tuple(abstract(x, a) for x, a in zip(all_args, act, strict=True))
    rule = rule_for(g, types, tuple(abstract(c, bool(is_wary())) for c in cells), outermost=True)
    _look_outside(rule, g, all_args[:extra], args)
    if rule.derived.touched_args and (taking := with_aliases(all_args, act)) != act:
        act, types = taking, tuple(abstract(x, a) for x, a in zip(all_args, taking, strict=True))
        rule = _rule_of_aliases(g, types, cells)
    rule, shadows = _with_shadows(g, rule, types, cells, all_args, act)
    result = _by_rule(rule, cells, all_args, shadows, args, extra)
    if all(active) and not wary:
        _remember(f, g, rule, all_args, types, extra, len(all_args))
    return result


def _by_rule(
    rule: DerivedRule,
    cells: tuple[Any, ...],
    params: tuple[Any, ...],
    shadows: tuple[Any, ...],
    args: tuple[Any, ...],
    extra: int,
) -> tuple[Any, Pullback]:
    """The run of a rule on parameters that are, after some, the arguments, and then perhaps default values."""
    n = len(args)
    own = [params[i] for i in rule.derived.touched_args if extra <= i < extra + n]
    may_lock = writeable_of(args) if own or rule.derived.dynamic else []
    y, fy, captures, saved = _run(rule, params, cells, shadows, own)
    tree = rule.derived.result_tree

    def run(dy: Any) -> Any:
        return rule.pullback(captures, seed_result(tree, y, fy, dy))[extra : extra + n]

    pullback = _pullback(rule, cells, y, args, shadows[extra : extra + n], run)
    pullback.saved, pullback.writeable = saved, may_lock
    pullback.always_zero = tuple([i - extra for i in rule.derived.always_zero if extra <= i < extra + n])
    return y, pullback


_warm: dict[pytypes.CodeType, WarmRun] = {}
"""The last run of a function of this code, where it needs little more than its rule."""


def _remember(
    f: Any,
    g: pytypes.FunctionType,
    rule: DerivedRule,
    params: tuple[Any, ...],
    types: tuple[T, ...],
    extra: int,
    given: int,
) -> None:
    if debug_frame() is None and (f.__func__ if type(f) is pytypes.MethodType else f) is g:
        warm = WarmRun.after(g, rule, params, types, extra, given)
        if warm is not None:
            if len(_warm) > 1000:
                _warm.clear()
            _warm[g.__code__] = warm


def _warm_forward(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], active: tuple[bool, ...]
) -> tuple[Any, Pullback] | None:
    """The run by the rule of the last call; None where this is a call of another kind."""
    g, given = (f.__func__, (f.__self__, *args)) if type(f) is pytypes.MethodType else (f, args)
    if kwargs or type(g) is not pytypes.FunctionType or (warm := _warm.get(g.__code__)) is None:
        return None
    extra = len(given) - len(args)
    if extra != warm.extra or not all(active) or this_run().observer is not None:
        return None
    params = warm.parameters(g, given)
    return None if params is None else _by_rule(warm.rule, cells_of(g), params, (None,) * len(params), args, extra)


def _differentiated_as(g: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> pytypes.FunctionType | None:
    """The Python function that a call of g, which has no rule for it, is differentiated as."""
    if kwargs or registry.find_rule_for_values(g, args) is not None or outputs.writes_out(g, len(args), ()):
        return None
    return registry.seen_through(g, len(args), False, tuple(map(type, args)))


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of f, which comes down to one of `g` with its values `args` and `kwargs`; `act` has which are active.

    `own` and `own_kwargs` are those that the user gave.
    """

    f: Any
    g: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    act: tuple[bool, ...]
    own: tuple[Any, ...]
    own_kwargs: dict[str, Any]

    def values(self) -> tuple[Any, ...]:
        """What it is called with, positional arguments first."""
        return (*self.args, *self.kwargs.values())

    def mine(self) -> list[int]:
        """Where among these the user's own arguments stand."""
        m = len(self.args)
        names = list(self.kwargs)
        return [*range(m - len(self.own), m), *(m + names.index(k) for k in self.own_kwargs)]


def _forward_site(call: _Call) -> tuple[Any, Pullback]:
    """A call of what has a rule of its own, or is no Python function."""
    f, g, args, names = call.f, call.g, call.args, tuple(call.kwargs)
    m = len(args)
    own = registry.find_rule_for_values(g, args, names) if hashable(g) else None
    apart = own is not None and not own.mutates
    act = call.act if apart else with_aliases(call.values(), call.act)
    fdata = shadows_of(call.values(), act, apart)
    values = (*call.own, *call.own_kwargs.values())
    saved, may_lock = ([], []) if apart else (snapshot_within(values), writeable_of(values))
    entry = DynamicSite("the call", NO_POS, getattr(f, "__name__", repr(f)), "called directly")
    y, fy, pb = entry(g, None, args, fdata[:m], names, tuple(call.kwargs.values()), fdata[m:])
    mine = call.mine()

    def run_site(dy: Any) -> Any:
        seed(y, fy, dy)
        ds = None if pb is None else pb(dy)
        return None if ds is None else [ds[1 + i] if 1 + i < len(ds) else None for i in mine]

    reusable = not this_run().in_place
    pullback = Pullback(y, values, [fdata[i] for i in mine], run_site, reusable, keywords=tuple(call.own_kwargs))
    pullback.saved, pullback.writeable = saved, may_lock
    return y, pullback


def _with_shadows(
    g: pytypes.FunctionType,
    rule: DerivedRule,
    types: tuple[Any, ...],
    cells: tuple[Any, ...],
    args: tuple[Any, ...],
    act: tuple[bool, ...],
) -> tuple[DerivedRule, tuple[Any, ...]]:
    """fdata for the arguments whose memory the rule shares; where such arguments alias, the rule that knows it."""
    if not rule.has_lanes:
        return rule, (None,) * len(args)
    fdata = _shadows(args, act, apart=rule.reusable)
    if fdata.aliased:
        rule = _rule_of_aliases(g, types, cells)
    return rule, tuple(fdata)


def _rule_of_aliases(g: pytypes.FunctionType, types: tuple[Any, ...], cells: tuple[Any, ...]) -> DerivedRule:
    """The rule for arguments that share memory with each other."""
    return rule_for(g, types, tuple(abstract(c, bool(is_wary())) for c in cells), aliased=True, outermost=True)


def _shadows(args: tuple[Any, ...], act: tuple[bool, ...], apart: bool = False) -> Shadows:
    """fdata; an array that no gradient is asked of may be another name of one that is written to."""
    return shadows_of(args, tuple(a or type(x) is np.ndarray for x, a in zip(args, act, strict=True)), apart)


def _forward_bound(call: _Call) -> tuple[Any, Pullback]:
    """A call that needs binding: defaults, keywords, `*args`."""
    g, args, act = call.g, call.args, call.act
    slots = Slots()
    m = len(args)
    given = call.values()
    fdata = _shadows(given, act)
    boxes = [slots.box(x, None) for x in given]
    params = bind(g, tuple(boxes[:m]), dict(zip(call.kwargs, boxes[m:], strict=True)), g.__defaults__, g.__kwdefaults__)
    inputs = [slots.primal(v) for v in params]

    def typed(v: Any) -> Any:
        if type(v) is Box:
            return abstract(v.primal, act[v.index])
        if type(v) is tuple:
            return Tup(tuple(map(typed, v)))
        return abstract(slots.primal(v), type(v) is dict and any(type(x) is Box and act[x.index] for x in v.values()))

    cells = cells_of(g)
    free = tuple(abstract(c, bool(is_wary())) for c in cells)
    rule = rule_for(g, tuple(map(typed, params)), free, fdata.aliased, outermost=True)
    values = (*call.own, *call.own_kwargs.values())
    _look_outside(rule, g, args[: m - len(call.own)], values)
    if rule.derived.touched_args and (taking := with_aliases(given, act)) != act:
        act, fdata = taking, _shadows(given, taking)
        rule = _rule_of_aliases(g, tuple(map(typed, params)), cells)
    for box, f in zip(boxes, fdata, strict=True):
        box.shadow = f
    fdatas = [slots.fdata(v) for v in params]
    if rule.derived.touched_args and g.__code__.co_flags & CO_VARKEYWORDS and type(fdatas[-1]) is DictShadow:
        _add_constants(fdatas[-1], inputs[-1])
    own = values if rule.derived.touched_args else ()
    may_lock = writeable_of(values) if own or rule.derived.dynamic else []
    y, fy, captures, saved = _run(rule, inputs, cells, fdatas, own)
    tree = rule.derived.result_tree
    mine = call.mine()

    def run(dy: Any) -> Any:
        ds = rule.pullback(captures, seed_result(tree, y, fy, dy))
        ds = slots.scatter(params, list(ds[: len(params)]))
        return [ds[i] for i in mine]

    fd = [fdata[i] for i in mine]
    if all(call.act[m - len(call.own) :]) and not call.kwargs and not is_wary():
        _remember(call.f, g, rule, tuple(inputs), tuple(map(typed, params)), m - len(call.own), m)
    pullback = _pullback(rule, cells, y, values, fd, run, tuple(call.own_kwargs))
    pullback.saved, pullback.writeable = saved, may_lock
    return y, pullback


def _add_constants(shadow: DictShadow, kwargs: dict[str, Any]) -> None:
    """Give fdata to what is in `**kwargs` and has none: it may be written to with what has a derivative."""
    for k, x in kwargs.items():
        if shadow.f.get(k) is None:
            shadow.f[k] = zero_fdata(x)


def _pullback(
    rule: DerivedRule,
    cells: tuple[Any, ...],
    y: Any,
    values: Sequence[Any],
    fdata: Sequence[Any],
    run: Callable[[Any], Any],
    keywords: tuple[str, ...] = (),
) -> Pullback:
    """The pullback of the run of a derived rule that is under way."""
    this = this_run()
    in_place = rule.in_place or this.in_place  # but for what is outside, which is put back
    pullback = Pullback(y, values, fdata, run, rule.reusable or not in_place, rule.outside(cells), keywords)
    pullback.own_only = rule.derived.own_only and not this.wary
    return pullback


def _run(
    rule: DerivedRule, inputs: Sequence[Any], cells: Sequence[Any], fdatas: Sequence[Any], own: Sequence[Any]
) -> tuple[Any, Any, Any, Saved]:
    """The forward run; where the engine refuses in the middle of it, the arguments are as they were.

    `own` are those arguments of the user that may be written to: what they held is the last of the result.
    """
    saved = snapshot_within(own)
    touched = [inputs[i] for i in rule.derived.touched_args]
    others = snapshot([x for x in touched if not any(x is v for v in own)])
    if is_wary():
        rule.touch_outside(cells)
    if rule.derived.touched_cells:
        this_run().rebinds = tuple([cells[i] for i in rule.derived.touched_cells])
    try:
        return (*rule.run([*inputs, *cells], [*fdatas, *(None for _ in cells)]), saved)
    except MooncakeError:
        put_back(saved + others)
        raise
    except BaseException as e:
        forget(e)
        raise
