"""Registered rules, run on primals and fdata."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py import layout, run
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.errors import UnsupportedError
from mooncake_py.registry import name_of
from mooncake_py.rule import Rule
from mooncake_py.runtime.results import Result
from mooncake_py.shadows import NoDerivative, Shadow
from mooncake_py.tangents import CoDual, ObjectShadow, made_fdata, take_fdata
from mooncake_py.transform import contract
from mooncake_py.transform.helpers import add_any, cotangent, filled, is_nothing, view_shadow_at
from mooncake_py.transform.lanes import ANY, REF, Tree

if TYPE_CHECKING:
    from mooncake_py.diagnostics.rules import Watch


def run_rule(
    f: Any,
    rule: Rule,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    kwargs: dict[str, Any],
    kwfdata: tuple[Any, ...],
    tree: Tree = ANY,
    watch: Watch | None = None,
) -> Result:
    """Run a registered rule on primals and fdata.

    `tree` says where the caller has the cotangent of the result (ANY: in its fdata, where it has such). In debug
    mode a `watch` is told what happens.
    """
    assert rule.fn is not None
    if watch is None and debug_frame() is not None:
        from mooncake_py.diagnostics.sites import watch as new_watch

        watch = new_watch(f, rule)

    n = len(args)
    seen = args
    if rule.codual:
        seen = tuple([CoDual(x, fargs[i]) if rule.sees_fdata(i) else x for i, x in enumerate(args)])
    position = rule.positions(n, kwargs) if kwargs else {}
    if watch is not None:
        watch.before(args, fargs, kwargs)
    if kwargs:
        pairs = zip(kwargs.items(), kwfdata, strict=False)
        kw = {k: CoDual(v, fv) if rule.sees_fdata(position[k]) else v for (k, v), fv in pairs}
        result = rule.fn(*seen, **kw)
    else:
        result = rule.fn(*seen)
    if rule.in_place:
        run.changed_in_place()
        for i in rule.mutates:
            if i < n and fargs[i] is None:
                run.note_written(args[i])
    elif type(result) is tuple and type(result[0]) in (int, bool, str) and (told := run.observer()) is not None:
        told.stopped(f, result[0])
    check = contract.RuleCall(rule, len(args)) if rule.user and watch is None else None
    if watch is not None:
        result = watch.pair(result)
    y, pb = result if check is None else contract.pair(result, check)
    forms = [] if check is None else [contract.form_of(x) for x in args]
    if isinstance(y, np.ndarray) and (type(y) is not np.ndarray or y.dtype.kind in "OV"):
        if type(y) is np.ndarray and layout.holds_nothing(y):
            return y, None, None
        _refuse(y, f)
    if type(y) is CoDual:
        y, fy = y.primal, y.fdata
        own = False
        if isinstance(y, np.ndarray) and type(y) is not np.ndarray and type(fy) is ObjectShadow and not fy.f:
            _refuse(y, f)  # where the rule has not given it what it carries derivatives in
    else:
        own = True
        fy = _fdata_of_result(f, rule, y, args, fargs, kwargs, kwfdata, tree)
    # What a user's rule may be given too little of, for it to be filled up with zeros.
    like = y if rule.user and own and (rule.mutates or isinstance(y, (tuple, list, dict))) else None
    if watch is not None:
        watch.after(y, fy, own, pb)

    def pullback(dy: Any) -> Any:
        if own and type(fy) is Shadow:
            if fy.is_view:
                return None
            dy = fy.take()
        elif own and fy is not None:
            dy = take_fdata(fy, dy)
        if own and not rule.mutates and is_nothing(dy):
            return None
        if like is not None:
            dy = filled(dy, like)
        result = pb(dy) if watch is None else watch.run(pb, dy)
        if check is not None:
            result = _checked(result, forms, args, fargs, check)
        if type(result) is not tuple:
            result = (result,)
        if NoDerivative in map(type, result):
            result = tuple([cotangent(result, i) for i in range(len(result))])  # which notes the line of the call
        out: list[Any] = [None]
        if len(result) == n:  # as it mostly is
            for fx, t in zip(fargs, result, strict=True):
                out.append(t if fx is None or t is None else add_any(None, fx, t))
        else:
            for i in range(n):
                out.append(add_any(None, fargs[i], cotangent(result, i)))
        for fx, i in zip(kwfdata, position.values(), strict=False):
            out.append(add_any(None, fx, cotangent(result, i)) if i >= 0 else None)
        return tuple(out)

    return y, fy, pullback


def _refuse(y: np.ndarray, f: Any) -> None:
    kind = f"dtype {y.dtype}" if type(y) is np.ndarray else f"class {type(y).__name__}"
    raise UnsupportedError(
        f"a value with a derivative in an array of {kind}", name_of(f), None,
        "use plain arrays of floats or complex numbers, lists or dicts",
    )  # fmt: skip


def _fdata_of_result(
    f: Any,
    rule: Rule,
    y: Any,
    args: tuple[Any, ...],
    fargs: tuple[Any, ...],
    kwargs: dict[str, Any],
    kwfdata: tuple[Any, ...],
    tree: Tree,
) -> Any:
    """fdata for what a rule gives without: that of a view of an argument, or fresh."""
    if rule.alias:
        shared = rule.moved(len(args), list(kwargs))
        values = (*args, *(kwargs[k] for k in shared))
        named = dict(zip(kwargs, kwfdata, strict=False))
        fvalues = (*fargs, *(named.get(k) for k in shared))
        places = tuple([i for i in rule.alias if i < len(values) and fvalues[i] is not None])
        if places and tree in (REF, ANY):
            rest = {k: x for k, x in kwargs.items() if k not in shared}
            target = functools.partial(f, **rest) if rest else f
            return view_shadow_at(places, y, target, values, fvalues)
    if rule.mutates and tree == ANY:
        return None
    return made_fdata(y) if tree == ANY else fresh_fdata(tree, y)


def fresh_fdata(tree: Tree, x: Any) -> Any:
    """Fresh fdata for a value whose cotangent is partly in variables of its caller's pullback."""
    if isinstance(tree, tuple):
        items = tuple(fresh_fdata(sub, v) for sub, v in zip(tree, x, strict=True))
        return items if any(f is not None for f in items) else None
    return made_fdata(x) if tree in (REF, ANY) else None


def _checked(
    result: Any, forms: list[Any], args: tuple[Any, ...], fargs: tuple[Any, ...], check: contract.RuleCall
) -> Any:
    """The cotangents that a user's rule returned, if they belong to the arguments."""
    active = tuple(i for i, fx in enumerate(fargs) if fx is not None)
    contract.count(result, active, tuple(i for i, form in enumerate(forms) if form is not None), check)
    for i, form in enumerate(forms):
        if form is not None:
            contract.fit(cotangent(result, i), form, i, not np.iscomplexobj(args[i]), check)
    return result
