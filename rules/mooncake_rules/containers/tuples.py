"""Tuples, and what makes lists and tuples of each other."""

from __future__ import annotations

import operator
from collections import deque, namedtuple
from typing import Any

import numpy as np

from mooncake_py import tuples
from mooncake_py.infer.parts import many
from mooncake_py.infer.types import BOT, Arr, Dct, Inst, Known, Lst, Many, T, Top, Tup, join, widen
from mooncake_py.ir import ops
from mooncake_py.registry import incurious, infer_table, maybe_none, overlay, pure, rrule, zero_derivative
from mooncake_py.runtime.classes import note_defaults
from mooncake_py.tangents import CoDual, ListShadow, add_rdata
from mooncake_rules.containers.lists import elements, give_parts, item_fdata, list_of, parts, slice_shadow


@rrule(tuple)
def tuple_of(xs: CoDual):
    x, fx = xs.primal, xs.fdata
    items, fs = parts(x, fx)

    def pullback(dy):
        if dy is None:
            return None
        return (give_parts(x, fx, list(dy)),)

    return CoDual(tuple(items), tuple(fs) if any(f is not None for f in fs) else None), pullback


rrule(ops.list_to_tuple)(tuple_of)


@rrule(ops.unpack)
def unpack(xs: CoDual, n):
    y = ops.unpack(xs.primal, n)
    _, pullback = tuple_of(xs)
    _, fs = parts(xs.primal, xs.fdata)
    return CoDual(y, tuple(fs) if any(f is not None for f in fs) else None), pullback


@rrule(ops.unpack_ex)
def unpack_ex(xs: CoDual, before, after):
    x, fx = xs.primal, xs.fdata
    items, fs = parts(x, fx)
    y = ops.unpack_ex(items, before, after)
    cut = len(items) - after
    middle = ListShadow(fs[before:cut], [None] * (cut - before))

    def pullback(dy):
        ends = (None,) * len(y) if dy is None else dy
        r = [*ends[:before], *middle.r, *ends[before + 1 :]]
        middle.r[:] = [None] * len(middle.r)
        return (give_parts(x, fx, r),)

    return CoDual(y, (*fs[:before], middle, *fs[cut:])), pullback


@rrule(operator.add, types=(list, list))
def list_add(a: CoDual, b: CoDual):
    xa, xb, fa, fb = a.primal, b.primal, a.fdata, b.fdata
    n = len(xa)
    _, sa = parts(xa, fa)
    _, sb = parts(xb, fb)
    shadow = ListShadow(sa + sb, [None] * (n + len(xb)))

    def pullback(_):
        r = list(shadow.r)
        shadow.r[:] = [None] * len(r)
        give_parts(xa, fa, r[:n])
        give_parts(xb, fb, r[n:])
        return None

    return CoDual(xa + xb, shadow), pullback


@rrule(operator.mul, types=(list, int))
@rrule(operator.mul, operator.imul, types=(tuple, int))
def sequence_mul(a: CoDual, k):
    x, fx = a.primal, a.fdata
    _, fs = parts(x, fx)
    y = x * k
    n = len(x)
    shadow = repeated_shadow(y, fs * max(k, 0))

    def pullback(dy):
        r = _rdata_of(shadow, dy)
        if r is None:
            return None
        total = [None] * n
        for i, t in enumerate(r):
            total[i % n] = add_rdata(total[i % n], t)
        return (give_parts(x, fx, total),)

    return CoDual(y, shadow), pullback


_SEQUENCES = (list, tuple, deque)


@overlay(operator.mul, classes=((int, np.integer), _SEQUENCES))
def times_sequence(k, xs):
    return xs * int(k)


@overlay(operator.mul, classes=(_SEQUENCES, np.integer))
def sequence_times(xs, k):
    return xs * int(k)


@overlay(operator.imul, classes=(_SEQUENCES, np.integer))
def sequence_repeated(xs, k):
    xs *= int(k)
    return xs


@overlay(operator.mul, classes=(deque, int))
def deque_times(xs, k):
    return deque([x for _ in range(k) for x in xs], xs.maxlen)


def repeated_shadow(y: Any, fs: list) -> Any:
    if isinstance(y, list):
        return ListShadow(fs, [None] * len(fs))
    return tuple(fs) if any(f is not None for f in fs) else None


def _rdata_of(shadow: Any, dy: Any) -> Any:
    if isinstance(shadow, ListShadow):
        r = list(shadow.r)
        shadow.r[:] = [None] * len(r)
        return r
    return dy


@rrule(operator.add, operator.iadd, types=(tuple, tuple))
def tuple_add(a: CoDual, b: CoDual):
    xa, xb, fa, fb = a.primal, b.primal, a.fdata, b.fdata
    n = len(xa)
    _, sa = parts(xa, fa)
    _, sb = parts(xb, fb)
    fs = sa + sb

    def pullback(dy):
        return None if dy is None else (dy[:n], dy[n:])

    return CoDual(xa + xb, tuple(fs) if any(f is not None for f in fs) else None), pullback


@rrule(operator.getitem, types=(tuple, int))
@rrule(operator.getitem, types=(tuple, np.integer))
@rrule(operator.getitem, types=(tuple, slice))
def tuple_getitem(t: CoDual, i):
    x, f = t.primal, t.fdata
    n = len(x)

    def pullback(dy):
        return (spread(dy, i, n),)

    return CoDual(x[i], None if f is None else part_fdata(f, i)), pullback


@rrule(tuple.__getitem__, types=(tuple, int))
@rrule(tuple.__getitem__, types=(tuple, np.integer))
@rrule(tuple.__getitem__, types=(tuple, slice))
def own_getitem(t: CoDual, i):
    """The item of a tuple whose class may say something else."""
    x, f = t.primal, t.fdata
    n = len(x)

    def pullback(dy):
        return (spread(dy, i, n),)

    return CoDual(tuple.__getitem__(x, i), None if f is None else part_fdata(f, i)), pullback


@overlay(tuple.__add__)
def own_add(a, b):
    return tuple.__getitem__(a, slice(None)) + b


@overlay(tuple.__mul__)
@overlay(tuple.__rmul__)
def own_mul(a, k):
    return tuple.__getitem__(a, slice(None)) * k


@overlay(tuple.__iter__)
def own_iter(a):
    return iter(tuple.__getitem__(a, slice(None)))


def part_fdata(f: tuple, i: Any) -> Any:
    p = f[i]
    return None if isinstance(i, slice) and all(x is None for x in p) else p


def spread(dy: Any, i: Any, n: int) -> Any:
    """The cotangent of a tuple of n, of which item (or slice) i has dy."""
    if dy is None:
        return None
    out: list[Any] = [None] * n
    if isinstance(i, slice):
        for k, t in zip(range(n)[i], dy, strict=True):
            out[k] = t
    else:
        out[i] = dy
    return tuple(out)


maybe_none.update({spread, part_fdata, give_parts})
pure.update({part_fdata, spread, item_fdata, slice_shadow})


def _list_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    if not args:
        return Lst(BOT)
    e = elements(args[0])
    return Lst(e, e.active if isinstance(args[0], Dct) else args[0].active)


def _display_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    e: T = BOT
    for t in args:
        e = join(e, widen(t))
    return Lst(e, any(t.active for t in args))


def _tuple_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    if not args:
        return Known(())
    x = args[0]
    return Tup(x.items) if isinstance(x, Tup) else many(elements(x)) if isinstance(x, (Lst, Arr, Many)) else None


@rrule(tuples.item)
def item_of(xs: CoDual, i):
    n = len(xs.primal)

    def pullback(dy):
        if dy is None:
            return None
        r = [None] * n
        r[i] = dy
        return (tuple(r),)

    return CoDual(tuples.item(xs.primal, i), None if xs.fdata is None else xs.fdata[i]), pullback


rrule(tuples.items)(list_of)
infer_table[tuples.items] = lambda args, kwargs: Lst(elements(args[0]), args[0].active)
infer_table[tuples.item] = lambda args, kwargs: elements(args[0]) if isinstance(widen(args[0]), (Many, Tup)) else None
infer_table[tuples.length] = lambda args, kwargs: Inst(int)
infer_table[tuples.filled] = infer_table[tuples.empty] = lambda args, kwargs: Inst(bool)
infer_table[tuples.check_several] = lambda args, kwargs: Known(None)
zero_derivative(tuples.length, tuples.filled, tuples.empty, tuples.check_several)
incurious.update({tuples.length, tuples.filled, tuples.empty, tuples.check_several})


def _unpacked_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    xs, n = args
    return Tup((xs.elem,) * n.value) if isinstance(xs, Lst) and isinstance(n, Known) else None


infer_table[list] = infer_table[list.copy] = _list_type
infer_table[ops.unpack] = _unpacked_type
infer_table[ops.build_list] = _display_type
for _f in (list.index, list.count, tuple.index, tuple.count):
    infer_table[_f] = lambda args, kwargs: Inst(int)
infer_table[tuple] = infer_table[ops.list_to_tuple] = _tuple_type
zero_derivative(namedtuple)  # the class; its module is that of the frame that asks for it


_class_of: Any = namedtuple  # whose arguments need not be written down


@rrule(namedtuple)
def named_tuple_with_defaults(typename, field_names, *, defaults: CoDual, rename=False, module=None):
    cls = _class_of(typename, field_names, rename=rename, defaults=defaults.primal, module=module)
    x, fx = defaults.primal, defaults.fdata
    taken = note_defaults(cls, parts(x, fx)[1])

    def pullback(_):
        return None, None, give_parts(x, fx, taken())

    return CoDual(cls, None), pullback


infer_table[namedtuple] = lambda args, kwargs: Top(any(t.active for t in kwargs.values()))
zero_derivative(list.index, list.count, tuple.index, tuple.count, dict.__len__, dict.__contains__)
zero_derivative(tuple.__eq__, tuple.__ne__, tuple.__lt__, tuple.__le__, tuple.__gt__, tuple.__ge__)
zero_derivative(tuple.__len__, tuple.__contains__, tuple.__hash__, tuple.__repr__)
