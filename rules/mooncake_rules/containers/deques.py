"""Deques: their fdata is that of a list, kept in deques too."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

import numpy as np

from mooncake_py.infer.types import BOT, Inst, Known, Lst, T, Top, widen
from mooncake_py.registry import element_effects, infer_table, maybe_none, overlay, rrule, zero_derivative
from mooncake_py.tangents import CoDual, ListShadow
from mooncake_rules.containers.lists import (
    elements,
    give_parts,
    list_getitem,
    list_setitem,
    parts,
)
from mooncake_rules.containers.rearranged import list_delitem, rearrange, reversing

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


def push(d: deque, shadow: ListShadow | None, x: Any, fx: Any) -> tuple[Any, Any] | None:
    """Append; the item that a full deque loses on the left, with its fdata."""
    lost = None
    if len(d) == d.maxlen:
        if not d:
            return _NOTHING
        lost = d[0], None if shadow is None else shadow.f[0]
    deque.append(d, x)
    if shadow is not None:
        shadow.f.append(fx)
        shadow.r.append(None)
    return lost


def unpush(d: deque, shadow: ListShadow | None, lost: tuple[Any, Any] | None) -> Any:
    """Undo `push`; the cotangent of what was put."""
    if lost is _NOTHING:
        return None
    deque.pop(d)
    if lost is not None:
        deque.appendleft(d, lost[0])
    if shadow is None:
        return None
    shadow.f.pop()
    r = shadow.r.pop()
    if lost is not None:
        shadow.f.appendleft(lost[1])  # type: ignore[attr-defined]
        shadow.r.appendleft(None)  # type: ignore[attr-defined]
    return r


def push_left(d: deque, shadow: ListShadow | None, x: Any, fx: Any) -> tuple[Any, Any] | None:
    """`push` at the other end."""
    lost = None
    if len(d) == d.maxlen:
        if not d:
            return _NOTHING
        lost = d[-1], None if shadow is None else shadow.f[-1]
    deque.appendleft(d, x)
    if shadow is not None:
        shadow.f.appendleft(fx)  # type: ignore[attr-defined]
        shadow.r.appendleft(None)  # type: ignore[attr-defined]
    return lost


def unpush_left(d: deque, shadow: ListShadow | None, lost: tuple[Any, Any] | None) -> Any:
    """`unpush` at the other end."""
    if lost is _NOTHING:
        return None
    deque.popleft(d)
    if lost is not None:
        deque.append(d, lost[0])
    if shadow is None:
        return None
    shadow.f.popleft()  # type: ignore[attr-defined]
    r = shadow.r.popleft()  # type: ignore[attr-defined]
    if lost is not None:
        shadow.f.append(lost[1])
        shadow.r.append(None)
    return r


def drop(shadow: ListShadow | None) -> Any:
    """The fdata of the last item, which goes."""
    if shadow is None:
        return None
    shadow.r.pop()
    return shadow.f.pop()


def put_back(d: deque, shadow: ListShadow | None, y: Any, fy: Any, dy: Any) -> None:
    """Undo a pop of y, of this fdata and cotangent."""
    deque.append(d, y)
    if shadow is not None:
        shadow.f.append(fy)
        shadow.r.append(dy)


def drop_left(shadow: ListShadow | None) -> Any:
    """`drop` at the other end."""
    if shadow is None:
        return None
    shadow.r.popleft()  # type: ignore[attr-defined]
    return shadow.f.popleft()  # type: ignore[attr-defined]


def put_back_left(d: deque, shadow: ListShadow | None, y: Any, fy: Any, dy: Any) -> None:
    """`put_back` at the other end."""
    deque.appendleft(d, y)
    if shadow is not None:
        shadow.f.appendleft(fy)  # type: ignore[attr-defined]
        shadow.r.appendleft(dy)  # type: ignore[attr-defined]


_NOTHING: tuple[Any, Any] = (None, None)  # what a deque that takes no item loses
maybe_none.update({unpush, unpush_left, drop, drop_left})


@rrule(deque.append, types=(deque,), mutates=(0,))
def deque_append(d: CoDual, x: CoDual):
    primal, shadow = d.primal, d.fdata
    lost = push(primal, shadow, x.primal, x.fdata)

    def pullback(_):
        return None, unpush(primal, shadow, lost)

    return None, pullback


@rrule(deque.appendleft, types=(deque,), mutates=(0,))
def deque_appendleft(d: CoDual, x: CoDual):
    primal, shadow = d.primal, d.fdata
    lost = push_left(primal, shadow, x.primal, x.fdata)

    def pullback(_):
        return None, unpush_left(primal, shadow, lost)

    return None, pullback


@rrule(deque.pop, types=(deque,), mutates=(0,))
def deque_pop(d: CoDual):
    primal, shadow = d.primal, d.fdata
    y = deque.pop(primal)
    fy = drop(shadow)

    def pullback(dy):
        put_back(primal, shadow, y, fy, dy)
        return None

    return CoDual(y, fy), pullback


@rrule(deque.popleft, types=(deque,), mutates=(0,))
def deque_popleft(d: CoDual):
    primal, shadow = d.primal, d.fdata
    y = deque.popleft(primal)
    fy = drop_left(shadow)

    def pullback(dy):
        put_back_left(primal, shadow, y, fy, dy)
        return None

    return CoDual(y, fy), pullback


@rrule(deque.rotate, types=(deque,), mutates=(0,))
def deque_rotate(d: CoDual, n=1):
    primal, shadow = d.primal, d.fdata
    turn(primal, shadow, n)

    def pullback(_):
        turn_back(primal, shadow, n)
        return None

    return None, pullback


def turn(d: deque, shadow: ListShadow | None, n: int) -> None:
    deque.rotate(d, n)
    if shadow is not None:
        shadow.f.rotate(n)  # type: ignore[attr-defined]


def turn_back(d: deque, shadow: ListShadow | None, n: int) -> None:
    """Undo `turn`; the cotangents go with their items."""
    turn(d, shadow, -n)
    if shadow is not None:
        shadow.r.rotate(-n)  # type: ignore[attr-defined]


rrule(deque.reverse, types=(deque,), mutates=(0,))(reversing(deque.reverse))


def _by_marks(name: str) -> None:
    """A method that moves items about: done to a deque of their places."""
    method = getattr(deque, name)

    def rule(d: CoDual, *xs: CoDual):
        args = [x.primal for x in xs]
        marks = deque(range(len(d.primal)), d.primal.maxlen)
        if name == "remove":
            del marks[deque.index(d.primal, *args)]
        else:
            method(marks, *args)
        undo = rearrange(d.primal, d.fdata, list(marks))

        def pullback(_):
            undo()
            return None

        return None, pullback

    rrule(method, mutates=(0,))(rule)


for _name in ("clear", "remove"):
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
@rrule(deque.__copy__)
def deque_copy(d: CoDual):
    primal, fx = d.primal, d.fdata
    _, fs = parts(primal, fx)
    shadow = deque_shadow(fs, primal.maxlen)

    def pullback(_):
        r = list(shadow.r)
        _empty(shadow.r)
        return (give_parts(primal, fx, r),)

    return CoDual(deque.copy(primal), shadow), pullback


for _kind in (int, np.integer):
    rrule(operator.getitem, deque.__getitem__, types=(deque, _kind))(list_getitem)
    rrule(operator.setitem, deque.__setitem__, types=(deque, _kind), mutates=(0,))(list_setitem)
rrule(operator.delitem, deque.__delitem__, types=(deque,), mutates=(0,))(list_delitem)
zero_derivative(deque.count, deque.index, deque.__len__, deque.__contains__, deque.maxlen)


@overlay(operator.add, classes=(deque, deque))
def add_(a, b):
    y = a.copy()
    y.extend(b)
    return y


def bound(d: Any, maxlen: int | None) -> None:
    """Let an empty deque hold so many items."""
    deque.__init__(d, (), maxlen)


@rrule(bound, mutates=(0,))
def bound_rule(d: CoDual, maxlen):
    primal, shadow = d.primal, d.fdata
    before = primal.maxlen
    bound(primal, maxlen)
    if shadow is not None:
        shadow.f, shadow.r = deque(maxlen=maxlen), deque(maxlen=maxlen)

    def pullback(_):
        bound(primal, before)
        if shadow is not None:
            shadow.f, shadow.r = deque(maxlen=before), deque(maxlen=before)
        return None

    return None, pullback


@overlay(deque.__init__)
def init_(d, items=(), maxlen=None):
    if deque.__len__(d):
        deque.clear(d)
    if d.maxlen != maxlen:
        bound(d, maxlen)
    for x in list(items):
        deque.append(d, x)


def _deque_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    return Lst(elements(args[0]) if args else BOT, bool(args) and args[0].active, deque)


infer_table[deque] = _deque_type
infer_table[deque.copy] = lambda args, kwargs: args[0] if isinstance(args[0], Lst) else None
for _f in (deque.pop, deque.popleft):
    infer_table[_f] = lambda args, kwargs: args[0].elem if isinstance(args[0], Lst) else None
    element_effects[_f] = lambda types: BOT
for _f in (deque.count, deque.index):
    infer_table[_f] = lambda args, kwargs: Inst(int)
for _f in (deque.rotate, deque.reverse, deque.clear, deque.remove):
    infer_table[_f] = lambda args, kwargs: Known(None)
    element_effects[_f] = lambda types: BOT
for _f in (deque.append, deque.appendleft):
    infer_table[_f] = lambda args, kwargs: Known(None)
    element_effects[_f] = lambda types: widen(types[1])
for _f in (deque.extend, deque.extendleft):
    infer_table[_f] = lambda args, kwargs: Known(None)
    element_effects[_f] = lambda types: elements(types[1])
infer_table[bound] = lambda args, kwargs: Known(None)
element_effects[bound] = lambda types: BOT
infer_table[deque.insert] = lambda args, kwargs: Known(None)
element_effects[deque.insert] = lambda types: widen(types[2]) if len(types) == 3 else Top()
infer_table[deque.maxlen] = lambda args, kwargs: Top()
