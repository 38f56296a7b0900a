"""Lists whose items change places, go, or are replaced by several at once."""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.infer.types import BOT, Known, Lst, Top
from mooncake_py.registry import (
    element_effects,
    infer_table,
    rrule,
)
from mooncake_py.tangents import CoDual, ListShadow, add_rdata
from mooncake_rules.containers.lists import base_of, give_parts, parts

_f: Any  # what a table registers, one at a time


def rearrange(
    xs: Any, shadow: ListShadow | None, marks: list[int], items: list | None = None, fs: list | None = None
) -> Any:
    """Change a list (or deque) wholesale: mark i >= 0 stands for its item i, mark -1 - k for item k of `items`.

    The result puts back what was there, and returns the cotangents of `items`.
    """
    before = list(base_of(xs).__iter__(xs))
    new = items or []
    _replace(xs, [before[m] if m >= 0 else new[-1 - m] for m in marks])
    if shadow is None:

        def put_back() -> list | None:
            _replace(xs, before)
            return None

        return put_back
    fdata, new_f = list(shadow.f), fs or []
    _replace(shadow.f, [fdata[m] if m >= 0 else new_f[-1 - m] for m in marks])
    _replace(shadow.r, [None] * len(marks))

    def undo() -> list | None:
        r: list[Any] = [None] * len(before)
        new_r: list[Any] = [None] * len(new)
        for m, t in zip(marks, shadow.r, strict=True):
            if m >= 0:
                r[m] = add_rdata(r[m], t)
            else:
                new_r[-1 - m] = add_rdata(new_r[-1 - m], t)
        _replace(xs, before)
        _replace(shadow.f, fdata)
        _replace(shadow.r, r)
        return new_r

    return undo


def _replace(xs: Any, items: list) -> None:
    base = base_of(xs)
    base.clear(xs)
    base.extend(xs, items)


def _places(xs: Any) -> list[int]:
    return list(range(len(xs)))


def reversing(reverse: Any) -> Any:
    """The rule of a method that turns its sequence round."""

    def rule(xs: CoDual):
        primal, shadow = xs.primal, xs.fdata
        reverse(primal)
        if shadow is not None:
            shadow.f.reverse()

        def pullback(_):
            reverse(primal)
            if shadow is not None:
                shadow.f.reverse()
                shadow.r.reverse()
            return None

        return None, pullback

    return rule


rrule(list.reverse, types=(list,), mutates=(0,))(reversing(list.reverse))


@rrule(list.clear, types=(list,), mutates=(0,))
def list_clear(xs: CoDual):
    undo = rearrange(xs.primal, xs.fdata, [])

    def pullback(_):
        undo()
        return None

    return None, pullback


@rrule(list.sort, types=(list,), mutates=(0,))
def list_sort(xs: CoDual, *, reverse=False):
    undo = rearrange(xs.primal, xs.fdata, places_in_order(list(xs.primal), reverse))

    def pullback(_):
        undo()
        return None

    return None, pullback


def places_in_order(keys: list, reverse: bool) -> list[int]:
    """Which item comes first, second and so on."""
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def put_in_order(xs: list, places: list[int]) -> None:
    xs[:] = [xs[i] for i in places]


@rrule(put_in_order, types=(list,), mutates=(0,))
def put_in_order_rule(xs: CoDual, places):
    undo = rearrange(xs.primal, xs.fdata, places)

    def pullback(_):
        undo()
        return None

    return None, pullback


@rrule(list.remove, types=(list,), mutates=(0,))
def list_remove(xs: CoDual, x):
    marks = _places(xs.primal)
    del marks[list.index(xs.primal, x)]
    undo = rearrange(xs.primal, xs.fdata, marks)

    def pullback(_):
        undo()
        return None

    return None, pullback


@rrule(operator.delitem, list.__delitem__, types=(list,), mutates=(0,))
def list_delitem(xs: CoDual, i):
    marks = _places(xs.primal)
    del marks[i]
    undo = rearrange(xs.primal, xs.fdata, marks)

    def pullback(_):
        undo()
        return None

    return None, pullback


@rrule(operator.imul, list.__imul__, types=(list, int), mutates=(0,))
def list_imul(xs: CoDual, k):
    undo = rearrange(xs.primal, xs.fdata, _places(xs.primal) * k)

    def pullback(_):
        undo()
        return None

    return CoDual(xs.primal, xs.fdata), pullback


@rrule(operator.setitem, list.__setitem__, types=(list, slice), mutates=(0,))
def list_setslice(xs: CoDual, i, ys: CoDual):
    y, fy = ys.primal, ys.fdata
    items, fs = parts(y, fy)
    marks = _places(xs.primal)
    marks[i] = [-1 - k for k in range(len(items))]
    undo = rearrange(xs.primal, xs.fdata, marks, items, fs)

    def pullback(_):
        r = undo()
        return None if r is None else (None, None, give_parts(y, fy, r))

    return None, pullback


for _f in (list.reverse, list.sort, put_in_order, list.remove, list.clear, operator.delitem):
    element_effects[_f] = lambda types: BOT
    infer_table[_f] = lambda args, kwargs: Known(None)
for _f in (operator.imul, list.__imul__):
    element_effects[_f] = lambda types: BOT if isinstance(types[0], Lst) else Top(any(t.active for t in types))
