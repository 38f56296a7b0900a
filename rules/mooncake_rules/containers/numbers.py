"""Lists and deques of numbers: no item has fdata, so the shadow's `f` is None everywhere, and none of it is kept.

These are the rules of `lists` for what is known to hold numbers only; at run time those are used.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

import numpy as np

from mooncake_py.infer.types import Inst
from mooncake_py.ir import ops
from mooncake_py.kinds import NumberDeque, NumberList
from mooncake_py.registry import infer_table, inline, pure, rrule, undoes
from mooncake_py.tangents import CoDual, ListShadow, add_rdata
from mooncake_rules.containers.lists import drop_last

_f: Any  # what a table registers, one at a time


@inline
def take_number(shadow: ListShadow, i: Any) -> Any:
    """The cotangent of item i, leaving zero."""
    r = shadow.r
    d = r[i]
    r[i] = None
    return 0.0 if d is None else d


@rrule(operator.setitem, list.__setitem__, types=(NumberList, int), mutates=(0,))
@rrule(operator.setitem, list.__setitem__, types=(NumberList, np.integer), mutates=(0,))
@rrule(operator.setitem, types=(NumberDeque, int), mutates=(0,))
def setitem(xs: CoDual, i, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    old = primal[i]
    primal[i] = x.primal

    def pullback(_):
        ops.put_back_item(primal, i, old)
        return None if shadow is None else (None, None, take_number(shadow, i))

    return None, pullback


@rrule(ops.list_append, list.append, types=(NumberList,), mutates=(0,))
def append(xs: CoDual, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    ops.list_append(primal, x.primal)
    if shadow is not None:
        ops.list_append(shadow.f, None)
        ops.list_append(shadow.r, None)

    def pullback(_):
        drop_last(primal)
        return None if shadow is None else (None, take_last(shadow))

    return None, pullback


@inline
def take_last(shadow: ListShadow) -> Any:
    """The cotangent of the last item, which goes."""
    list.pop(shadow.f)
    d = list.pop(shadow.r)
    return 0.0 if d is None else d


@rrule(list.pop, types=(NumberList,), mutates=(0,))
def pop(xs: CoDual):
    primal, shadow = xs.primal, xs.fdata
    y = list.pop(primal)
    if shadow is not None:
        list.pop(shadow.f)
        list.pop(shadow.r)

    def pullback(dy):
        ops.put_back_last(primal, y)
        if shadow is not None:
            ops.list_append(shadow.f, None)
            ops.list_append(shadow.r, dy)
        return None

    return CoDual(y, None), pullback


def is_full(d: deque) -> bool:
    """Does appending to d lose the item at the other end?"""
    return len(d) == d.maxlen


def oldest(d: deque, full: bool) -> Any:
    """What appending to d loses: nothing where it takes nothing."""
    return d[0] if full and d else None


def take_out(d: deque, full: bool, lost: Any) -> None:
    """Undo an append."""
    if d:
        d.pop()
        if full:
            d.appendleft(lost)


def take_newest(shadow: ListShadow, full: bool) -> Any:
    """The cotangent of what was appended, which goes."""
    if not shadow.r:
        return 0.0
    shadow.f.pop()
    r = shadow.r.pop()
    if full:
        shadow.f.appendleft(None)  # type: ignore[attr-defined]
        shadow.r.appendleft(None)  # type: ignore[attr-defined]
    return 0.0 if r is None else r


@rrule(deque.append, types=(NumberDeque,), mutates=(0,))
def deque_append(d: CoDual, x: CoDual):
    primal, shadow = d.primal, d.fdata
    full = is_full(primal)
    lost = oldest(primal, full)
    deque.append(primal, x.primal)
    if shadow is not None:
        deque.append(shadow.f, None)
        deque.append(shadow.r, None)

    def pullback(_):
        take_out(primal, full, lost)
        return None if shadow is None else (None, take_newest(shadow, full))

    return None, pullback


infer_table[is_full] = lambda args, kwargs: Inst(bool)
pure.update({is_full, oldest})


@rrule(deque.pop, types=(NumberDeque,), mutates=(0,))
def deque_pop(d: CoDual):
    primal, shadow = d.primal, d.fdata
    y = deque.pop(primal)
    if shadow is not None:
        deque.pop(shadow.f)
        deque.pop(shadow.r)

    def pullback(dy):
        put_back_right(primal, y)
        if shadow is not None:
            deque.append(shadow.f, None)
            deque.append(shadow.r, dy)
        return None

    return CoDual(y, None), pullback


@rrule(deque.popleft, types=(NumberDeque,), mutates=(0,))
def deque_popleft(d: CoDual):
    primal, shadow = d.primal, d.fdata
    y = deque.popleft(primal)
    if shadow is not None:
        deque.popleft(shadow.f)
        deque.popleft(shadow.r)

    def pullback(dy):
        put_back_left(primal, y)
        if shadow is not None:
            deque.appendleft(shadow.f, None)
            deque.appendleft(shadow.r, dy)
        return None

    return CoDual(y, None), pullback


def put_back_right(d: deque, x: Any) -> None:
    """Append what was taken from a deque's right end."""
    d.append(x)


def put_back_left(d: deque, x: Any) -> None:
    """Append what was taken from a deque's left end."""
    d.appendleft(x)


undoes.update({ops.put_back_item, ops.put_back_last, take_out, put_back_right, put_back_left})


@rrule(deque, types=(NumberList,))
def deque_of(xs: CoDual, maxlen=None):
    y = deque(xs.primal, maxlen)
    n = len(y)
    kept, shadow = slice(len(xs.primal) - n, None), xs.fdata
    part = ListShadow(deque([None] * n, maxlen), deque([None] * n, maxlen))  # type: ignore[arg-type]

    def pullback(_):
        give_deque(shadow, kept, part)
        return None

    return CoDual(y, part), pullback


def give_deque(shadow: ListShadow | None, i: slice, part: ListShadow) -> None:
    """`give`, of a deque."""
    give(shadow, i, zeros_with(list(part.r)))
    n = len(part.r)
    part.r.clear()
    part.r.extend([None] * n)


def zeros(n: int) -> ListShadow:
    """The shadow of n numbers."""
    return ListShadow([None] * n, [None] * n)


def give(shadow: ListShadow | None, i: slice, part: ListShadow) -> None:
    """Add the cotangents of a copied part to those of what it was copied from, leaving zero."""
    r = part.r
    if shadow is not None:
        old = shadow.r[i]
        if old.count(None) == len(old):
            shadow.r[i] = r
        else:
            shadow.r[i] = list(map(add_rdata, old, r))
    r[:] = [None] * len(r)


ALL = slice(None)


@rrule(operator.getitem, list.__getitem__, types=(NumberList, slice))
def getslice(xs: CoDual, i):
    y = xs.primal[i]
    shadow, part = xs.fdata, zeros(len(y))

    def pullback(_):
        give(shadow, i, part)
        return None

    return CoDual(y, part), pullback


@rrule(list, list.copy, types=(NumberList,))
def copy(xs: CoDual):
    y = list(xs.primal)
    shadow, part = xs.fdata, zeros(len(y))

    def pullback(_):
        give(shadow, ALL, part)
        return None

    return CoDual(y, part), pullback


@rrule(operator.mul, types=(NumberList, int))
def repeat(xs: CoDual, k):
    y = xs.primal * k
    n, shadow, whole = len(xs.primal), xs.fdata, zeros(len(y))

    def pullback(_):
        give_repeated(shadow, n, whole)
        return None

    return CoDual(y, whole), pullback


def give_repeated(shadow: ListShadow | None, n: int, whole: ListShadow) -> None:
    """Add the cotangents of a list repeated to those of its n items, leaving zero."""
    r = whole.r
    if r.count(None) == len(r):
        return
    if shadow is not None:
        for i in range(n):
            for t in r[i::n]:
                shadow.r[i] = add_rdata(shadow.r[i], t)
    r[:] = [None] * len(r)


@rrule(operator.add, types=(NumberList, NumberList))
def add(a: CoDual, b: CoDual):
    y = a.primal + b.primal
    n, fa, fb, whole = len(a.primal), a.fdata, b.fdata, zeros(len(y))

    def pullback(_):
        give_both(fa, fb, n, whole)
        return None

    return CoDual(y, whole), pullback


def give_both(a: ListShadow | None, b: ListShadow | None, n: int, whole: ListShadow) -> None:
    """Add the cotangents of the sum of two lists, n items of the first, to theirs."""
    r = whole.r
    give(a, ALL, zeros_with(r[:n]))
    give(b, ALL, zeros_with(r[n:]))
    r[:] = [None] * len(r)


def zeros_with(r: list) -> ListShadow:
    """The shadow of numbers with these cotangents."""
    return ListShadow([None] * len(r), r)


@rrule(ops.list_extend, list.extend, types=(NumberList, NumberList), mutates=(0,))
def extend(xs: CoDual, ys: CoDual):
    primal, shadow, fy = xs.primal, xs.fdata, ys.fdata
    n, k = len(primal), len(ys.primal)
    list.extend(primal, ys.primal)
    lengthen(shadow, k)

    def pullback(_):
        cut(primal, n)
        shorten(shadow, n, fy)
        return None

    return None, pullback


@rrule(operator.iadd, list.__iadd__, types=(NumberList, NumberList), mutates=(0,))
def iadd(xs: CoDual, ys: CoDual):
    _, pullback = extend(xs, ys)
    return CoDual(xs.primal, xs.fdata), pullback


def lengthen(shadow: ListShadow | None, k: int) -> None:
    if shadow is not None:
        shadow.f.extend([None] * k)
        shadow.r.extend([None] * k)


def shorten(shadow: ListShadow | None, n: int, fy: ListShadow | None) -> None:
    """Undo `lengthen`; the cotangents of what goes are those of the list with fdata fy."""
    if shadow is not None:
        r = shadow.r[n:]
        del shadow.f[n:]
        del shadow.r[n:]
        if fy is not None:
            give(fy, ALL, zeros_with(r))


def cut(xs: list, n: int) -> None:
    """Leave the first n items."""
    del xs[n:]


undoes.add(cut)
