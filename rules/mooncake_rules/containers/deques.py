"""Deques: their fdata is that of a list, kept in deques too."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

import numpy as np

from mooncake_py.registry import overlay, rrule, zero_derivative
from mooncake_py.tangents import CoDual, ListShadow
from mooncake_rules.containers.lists import (
    give_parts,
    list_delitem,
    list_getitem,
    list_setitem,
    parts,
    rearrange,
)

_f: Any  # what a table registers, one at a time


def deque_shadow(fs: Any, maxlen: int | None) -> ListShadow:
    f: Any = deque(fs, maxlen)
    return ListShadow(f, deque([None] * len(f), maxlen))  # type: ignore[arg-type]


@rrule(deque)
def deque_of(xs: CoDual = CoDual((), None), maxlen=None):  # noqa: B008  (never written to)
    x, fx = xs.primal, xs.fdata
    items, fs = parts(x, fx)
    y = deque(items, maxlen)
    skipped = len(items) - len(y)
    shadow = deque_shadow(fs, maxlen)

    def pullback(_):
        r = [None] * skipped + list(shadow.r)
        _empty(shadow.r)
        return (give_parts(x, fx, r),)

    return CoDual(y, shadow), pullback


def _empty(r: Any) -> None:
    for i in range(len(r)):
        r[i] = None


def _ends(right: bool) -> None:
    """`append` and `pop` at one end."""
    put, take = ("append", "pop") if right else ("appendleft", "popleft")
    back = "appendleft" if right else "append"  # where a full deque loses an item

    @rrule(getattr(deque, put), mutates=(0,))
    def append(d: CoDual, x: CoDual):
        primal, shadow = d.primal, d.fdata
        full = len(primal) == primal.maxlen
        lost = primal[0 if right else -1] if full and primal else None
        lost_f = shadow.f[0 if right else -1] if full and primal and shadow is not None else None
        getattr(primal, put)(x.primal)
        if shadow is not None:
            getattr(shadow.f, put)(x.fdata)
            getattr(shadow.r, put)(None)

        def pullback(_):
            if primal.maxlen == 0:
                return None
            getattr(primal, take)()
            if full:
                getattr(primal, back)(lost)
            if shadow is None:
                return None
            getattr(shadow.f, take)()
            r = getattr(shadow.r, take)()
            if full:
                getattr(shadow.f, back)(lost_f)
                getattr(shadow.r, back)(None)
            return None, r

        return None, pullback

    @rrule(getattr(deque, take), mutates=(0,))
    def pop(d: CoDual):
        primal, shadow = d.primal, d.fdata
        y = getattr(primal, take)()
        fy = None
        if shadow is not None:
            fy = getattr(shadow.f, take)()
            getattr(shadow.r, take)()

        def pullback(dy):
            getattr(primal, put)(y)
            if shadow is not None:
                getattr(shadow.f, put)(fy)
                getattr(shadow.r, put)(dy)
            return None

        return CoDual(y, fy), pullback


_ends(right=True)
_ends(right=False)


def _by_marks(name: str) -> None:
    """A method that moves items about: done to a deque of their places."""
    method = getattr(deque, name)

    def rule(d: CoDual, *xs: CoDual):
        args = [x.primal for x in xs]
        marks = deque(range(len(d.primal)), d.primal.maxlen)
        if name == "remove":
            del marks[d.primal.index(*args)]
        else:
            method(marks, *args)
        undo = rearrange(d.primal, d.fdata, list(marks))

        def pullback(_):
            undo()
            return None

        return None, pullback

    rrule(method, mutates=(0,))(rule)


for _name in ("rotate", "reverse", "clear", "remove"):
    _by_marks(_name)


@rrule(deque.insert, mutates=(0,))
def deque_insert(d: CoDual, i, x: CoDual):
    marks = deque(range(len(d.primal)), d.primal.maxlen)
    marks.insert(i, -1)
    undo = rearrange(d.primal, d.fdata, list(marks), [x.primal], [x.fdata])

    def pullback(_):
        r = undo()
        return None if r is None else (None, None, r[0])

    return None, pullback


def _extending(left: bool, gives_deque: bool) -> Any:
    def rule(d: CoDual, xs: CoDual):
        x, fx = xs.primal, xs.fdata
        items, fs = parts(x, fx)
        marks = deque(range(len(d.primal)), d.primal.maxlen)
        new = [-1 - k for k in range(len(items))]
        if left:
            marks.extendleft(new)
        else:
            marks.extend(new)
        undo = rearrange(d.primal, d.fdata, list(marks), items, fs)

        def pullback(_):
            r = undo()
            return None if r is None else (None, give_parts(x, fx, r))

        return CoDual(d.primal, d.fdata) if gives_deque else None, pullback

    return rule


rrule(deque.extend, mutates=(0,))(_extending(left=False, gives_deque=False))
rrule(deque.extendleft, mutates=(0,))(_extending(left=True, gives_deque=False))
rrule(operator.iadd, deque.__iadd__, types=(deque,), mutates=(0,))(_extending(left=False, gives_deque=True))


@rrule(deque.copy)
def deque_copy(d: CoDual):
    y, pullback = deque_of(d, d.primal.maxlen)
    return y, pullback


for _kind in (int, np.integer):
    rrule(operator.getitem, types=(deque, _kind))(list_getitem)
    rrule(operator.setitem, types=(deque, _kind), mutates=(0,))(list_setitem)
rrule(operator.delitem, types=(deque,), mutates=(0,))(list_delitem)
zero_derivative(deque.count, deque.index)


@overlay(deque.__init__)
def init_(d, items=()):
    for x in list(items):
        d.append(x)
