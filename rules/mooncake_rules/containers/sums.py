"""Sums over sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.parts import may_be_complex
from mooncake_py.infer.types import (
    Arr,
    Display,
    Inst,
    Known,
    Lst,
    Real,
    T,
    Tup,
    is_scalar,
    join,
    may_be_of,
    real_classes,
    union,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.kinds import Array, Numbers, Scalar
from mooncake_py.registry import folds, infer_table, pure, rrule
from mooncake_py.sums import SumShadow, collect, sum_collected, summands
from mooncake_py.tangents import CoDual
from mooncake_rules.containers.lists import drop_last, elements


@rrule(sum, types=(Numbers,))
def sum_from_zero(xs):
    y = sum(xs)

    def pullback(dy):
        if dy is None:
            return None
        if isinstance(xs, np.ndarray):
            return (np.broadcast_to(dy, xs.shape),)
        if are_floats(xs):
            return (alike(summand(dy, 0.0), xs),)
        return (tuple([summand(dy, v) for v in xs]),)

    return y, pullback


@rrule(sum, types=(Numbers, Scalar))
@rrule(sum, types=(Numbers, Array), alias=(1,))  # that of nothing is the start itself
def sum_(xs, start):
    y = sum(xs, start)

    def pullback(dy):
        if dy is None:
            return None
        if isinstance(xs, np.ndarray):
            return (np.broadcast_to(dy, xs.shape), dy)
        if are_floats(xs):
            return (alike(summand(dy, 0.0), xs), summand(dy, start))
        return (tuple([summand(dy, v) for v in xs]), summand(dy, start))

    return y, pullback


@rrule(summands)
def summands_():
    def pullback(_):
        return None

    return CoDual(ops.build_list(), SumShadow()), pullback


@rrule(collect, mutates=(0,))
def collect_(xs: CoDual, x):
    primal, shadow = xs.primal, xs.fdata
    ops.list_append(primal, x)

    def pullback(_):
        drop_last(primal)
        return None, shadow.r

    return None, pullback


@rrule(sum_collected)
def sum_collected_(xs: CoDual):
    shadow = xs.fdata

    def pullback(dy):
        shadow.r = dy
        return None

    return sum(xs.primal), pullback


def are_floats(x: Any) -> bool:
    """Are all items floats?"""
    return type(x) in (list, tuple) and all([type(v) is float for v in x])


def alike(t: Any, x: Any) -> list:
    """The cotangent t for every item of x."""
    return [t] * len(x)


def _are_floats(t: T) -> bool | None:
    e = elements(t)
    return True if isinstance(t, (Lst, Tup)) and isinstance(e, Inst) and e.cls is float else None


folds[are_floats] = _are_floats
pure.update({are_floats, alike, SumShadow})


def summand(dy: Any, v: Any) -> Any:
    """The cotangent of one summand of a sum whose cotangent is dy."""
    if isinstance(v, np.ndarray):
        from mooncake_rules.common import unbroadcast

        if v.dtype.kind not in "fc":
            return None
        t = unbroadcast(dy, v.shape)
        return t.real if v.dtype.kind == "f" and np.iscomplexobj(t) else t
    if isinstance(v, (int, np.integer, np.bool_)):
        return None
    t = np.sum(dy) if isinstance(dy, np.ndarray) else dy
    return t.real if isinstance(v, (float, np.floating)) and isinstance(t, (complex, np.complexfloating)) else t


def sum_of_scalars(e: T) -> T | None:
    """The type of a sum or product of numbers of type e, where they have one: of one complex type, or real."""
    if not is_scalar(e):
        return None
    return widen(e) if may_be_complex(e) else Real(e.active, may_be_of((int, *real_classes(widen(e)))))


def _sum_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    t = args[0]
    start = args[1] if len(args) > 1 else kwargs.get("start", Known(0))
    if isinstance(t, Arr) and t.ndim is not None and t.ndim > 1 and isinstance(start, Known):
        return Arr(t.dtype, t.ndim - 1, t.act)
    e = elements(t)
    if isinstance(e, Arr) and e.dtype is not None and e.dtype.kind in "fc" and e.ndim and start == Known(0):
        items = t.items if isinstance(t, (Tup, Display)) else ()
        return e if items else union((e, Real(e.act, frozenset({int}))))  # that of nothing is 0
    if isinstance(start, Arr):
        return _sum_from_array(e, start)
    return sum_of_scalars(join(e, widen(start)))


def _sum_from_array(e: T, start: Arr) -> T | None:
    """The type of `sum(items, start)`, where it is that of the start, however many items there are."""
    if not start.ndim or start.dtype is None or start.dtype.kind not in "fc":
        return None
    if isinstance(e, Arr):
        alike = e.dtype is not None and e.ndim is not None and e.ndim <= start.ndim
        same = alike and np.result_type(start.dtype, e.dtype) == start.dtype
    else:
        same = is_scalar(e) and np.result_type(start.dtype, complex if may_be_complex(e) else float) == start.dtype
    return Arr(start.dtype, start.ndim, start.active or e.active) if same else None


infer_table[sum] = _sum_type
