"""Lists: their fdata mirrors them item by item, and every change is undone."""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from typing import Any

import numpy as np

from mooncake_py.infer.parts import keys_of
from mooncake_py.infer.types import BOT, Arr, Dct, Inst, Known, Lst, Many, SetOf, T, Top, Tup, is_scalar, join, widen
from mooncake_py.ir import ops
from mooncake_py.kinds import Any_
from mooncake_py.registry import (
    element_effects,
    folds,
    infer_table,
    inline,
    maybe_none,
    overlay,
    perhaps_none,
    reads_items,
    rrule,
    undoes,
    zero_derivative,
)
from mooncake_py.structure import in_order
from mooncake_py.tangents import WHOLE, CoDual, DictShadow, ListShadow, add_rdata
from mooncake_rules.containers.dict_keys import fdata_of_key, give_key
from mooncake_rules.sequences import give_flat

_f: Any  # what a table registers, one at a time


def is_exact(x: Any) -> bool:
    """Is x a container of C itself? A subclass may override what rules do to it (the engine asks the type)."""
    return type(x) in _EXACT


_EXACT = frozenset({list, deque, dict, OrderedDict, tuple})
folds[is_exact] = lambda t: t.cls in _EXACT if isinstance(t, (Lst, Dct)) else None


def base_of(x: Any) -> Any:
    """The container in C that holds the items of x."""
    cls = type(x)
    known = _bases.get(cls)
    if known is None:
        if len(_bases) > 5000:
            _bases.clear()
        known = _bases[cls] = next(k for k in cls.__mro__ if k in (list, deque, OrderedDict, dict))
    return known


_bases: dict[type, Any] = {}


@inline
def item_fdata(shadow: ListShadow | None, i: Any) -> Any:
    """The fdata of item i."""
    return None if shadow is None else shadow.f[i]


def is_a_number(x: Any) -> bool:
    """Is x surely a number?"""
    return isinstance(x, (float, complex))


folds[is_a_number] = lambda t: True if is_scalar(t) else None


@inline
def add_item(shadow: ListShadow, i: Any, dy: Any) -> None:
    """Add to the cotangent of item i."""
    if dy is not None and shadow is not None:
        r = shadow.r
        old = r[i]
        if old is None:
            r[i] = dy
        elif is_a_number(dy):
            r[i] = old + dy
        else:
            r[i] = add_rdata(old, dy)


@rrule(operator.getitem, list.__getitem__, types=(list, int))
@rrule(operator.getitem, list.__getitem__, types=(list, np.integer))
def list_getitem(xs: CoDual, i):
    shadow = xs.fdata

    def pullback(dy):
        add_item(shadow, i, dy)
        return None

    primal = xs.primal
    y = primal[i] if is_exact(primal) else base_of(primal).__getitem__(primal, i)
    return CoDual(y, item_fdata(shadow, i)), pullback


@rrule(operator.getitem, list.__getitem__, types=(list, slice))
def list_getslice(xs: CoDual, i):
    shadow = xs.fdata
    part = slice_shadow(shadow, i)

    def pullback(dy):
        add_slice(shadow, i, part)
        return None

    return CoDual(list.__getitem__(xs.primal, i), part), pullback


def slice_shadow(shadow: ListShadow | None, i: slice) -> ListShadow | None:
    if shadow is None:
        return None
    f = shadow.f[i]
    return ListShadow(f, [None] * len(f))


def add_slice(shadow: ListShadow | None, i: slice, part: ListShadow | None) -> None:
    """Give the cotangents of a copied part back to the list it was copied from."""
    if shadow is not None and part is not None:
        for k, j in enumerate(range(*i.indices(len(shadow.r)))):
            shadow.r[j] = add_rdata(shadow.r[j], part.r[k])
            part.r[k] = None


def put_item(xs: list, shadow: ListShadow | None, i: Any, x: Any, fx: Any) -> tuple[Any, Any]:
    if type(xs) in (list, deque):
        old = xs[i]
        xs[i] = x
    else:
        base = base_of(xs)
        old = base.__getitem__(xs, i)
        base.__setitem__(xs, i, x)
    if shadow is None:
        return old, None
    old_f = shadow.f[i]
    shadow.f[i] = fx
    return old, old_f


def unput_item(xs: list, shadow: ListShadow | None, i: Any, old: tuple[Any, Any]) -> Any:
    """Undo `put_item`; the cotangent of what was put."""
    if type(xs) in (list, deque):
        xs[i] = old[0]
    else:
        base_of(xs).__setitem__(xs, i, old[0])
    if shadow is None:
        return None
    shadow.f[i] = old[1]
    r = shadow.r[i]
    shadow.r[i] = None
    return r


@rrule(operator.setitem, list.__setitem__, types=(list, int), mutates=(0,))
@rrule(operator.setitem, list.__setitem__, types=(list, np.integer), mutates=(0,))
def list_setitem(xs: CoDual, i, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    old = put_item(primal, shadow, i, x.primal, x.fdata)

    def pullback(_):
        return None, None, unput_item(primal, shadow, i, old)

    return None, pullback


def _append(xs: CoDual, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    ops.list_append(primal, x.primal)
    if shadow is not None:
        grow(shadow, x.fdata)

    def pullback(_):
        drop_last(primal)
        if shadow is None:
            return None
        return None, shrink(shadow)

    return None, pullback


@inline
def grow(shadow: ListShadow, fx: Any) -> None:
    ops.list_append(shadow.f, fx)
    ops.list_append(shadow.r, None)


def drop_last(xs: list) -> None:
    """Undo an append."""
    list.pop(xs)


def shrink(shadow: ListShadow) -> Any:
    shadow.f.pop()
    return shadow.r.pop()


for _f in (ops.list_append, list.append):
    rrule(_f, types=(list,), mutates=(0,))(_append)
    infer_table[_f] = lambda args, kwargs: Known(None)
    element_effects[_f] = lambda types: widen(types[1])
maybe_none.update({unput_item, shrink})
undoes.add(drop_last)


def drop_item(shadow: ListShadow | None, i: Any) -> Any:
    """The fdata of item i, which goes."""
    if shadow is None:
        return None
    shadow.r.pop(i)
    return shadow.f.pop(i)


def put_back(xs: list, shadow: ListShadow | None, at: int, y: Any, fy: Any, dy: Any) -> None:
    """Undo a pop of y, of this fdata and cotangent."""
    list.insert(xs, at, y)
    if shadow is not None:
        shadow.f.insert(at, fy)
        shadow.r.insert(at, dy)


maybe_none.add(drop_item)


@rrule(list.pop, types=(list,), mutates=(0,))
def list_pop(xs: CoDual, i=-1):
    primal, shadow = xs.primal, xs.fdata
    n = len(primal) if is_exact(primal) else list.__len__(primal)
    y = list.pop(primal, i)
    at = i % n
    fy = drop_item(shadow, i)

    def pullback(dy):
        put_back(primal, shadow, at, y, fy, dy)
        return None

    return CoDual(y, fy), pullback


@rrule(list.insert, types=(list,), mutates=(0,))
def list_insert(xs: CoDual, i, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    n = len(primal) if is_exact(primal) else list.__len__(primal)
    at = min(max(i + n, 0) if i < 0 else i, n)
    insert_item(primal, shadow, at, x.primal, x.fdata)

    def pullback(_):
        return None, None, remove_item(primal, shadow, at)

    return None, pullback


def insert_item(xs: list, shadow: ListShadow | None, at: int, x: Any, fx: Any) -> None:
    list.insert(xs, at, x)
    if shadow is not None:
        shadow.f.insert(at, fx)
        shadow.r.insert(at, None)


def remove_item(xs: list, shadow: ListShadow | None, at: int) -> Any:
    """Undo `insert_item`; the cotangent of what was put there."""
    list.__delitem__(xs, at)
    if shadow is None:
        return None
    del shadow.f[at]
    return shadow.r.pop(at)


maybe_none.add(remove_item)


def parts(x: Any, fx: Any) -> tuple[list, list]:
    """The items of a sequence, or the keys of a dict, and their fdata."""
    if isinstance(fx, ListShadow):
        return [*in_order(x)], list(fx.f)
    items = list(x)
    if isinstance(fx, tuple):
        return items, list(fx)
    if type(fx) is DictShadow:
        return items, [None if type(k) in WHOLE else fx.of_key(k).f for k in items]
    if isinstance(x, (set, frozenset)):
        return items, [fdata_of_key(fx, k) for k in items]
    if fx is not None and isinstance(x, np.ndarray) and x.ndim > 1:
        return items, fx.views(list)
    return items, [None] * len(items)


def give_parts(x: Any, fx: Any, r: list) -> Any:
    """Cotangents of a sequence's items as one of the sequence; into its fdata where it has such."""
    if isinstance(fx, ListShadow):
        for i, t in enumerate(r):
            if t is not None:
                fx.r[i] = add_rdata(fx.r[i], t)
        return None
    if type(fx) is DictShadow:
        for k, t in zip(x, r, strict=True):
            if t is not None and type(k) not in WHOLE:
                fx.of_key(k).add(t)
        return None
    if isinstance(x, (set, frozenset)):
        for k, t in zip(x, r, strict=True):
            give_key(fx, k, t)
        return None
    if isinstance(x, np.ndarray):
        if x.ndim == 1 and fx is not None:
            d = fx.dense()
            for i, t in enumerate(r):
                if t is not None:
                    d[i] += t
        return None
    if isinstance(x, np.flatiter) and fx is not None:
        return give_flat(fx, x.base.size - len(r), r)
    return tuple(r) if isinstance(x, tuple) and any(t is not None for t in r) else None


reads_items.add(give_parts)


def _extend(xs: CoDual, ys: CoDual):
    primal, shadow = xs.primal, xs.fdata
    n = len(primal) if is_exact(primal) else list.__len__(primal)
    y, fy = ys.primal, ys.fdata
    items, fs = parts(y, fy)
    list.extend(primal, items)
    if shadow is not None:
        shadow.f.extend(fs)
        shadow.r.extend([None] * len(fs))

    def pullback(_):
        list.__delitem__(primal, slice(n, None))
        if shadow is None:
            return None
        r = shadow.r[n:]
        del shadow.f[n:]
        del shadow.r[n:]
        return None, give_parts(y, fy, r)

    return None, pullback


for _f in (ops.list_extend, list.extend):
    rrule(_f, types=(list,), mutates=(0,))(_extend)
    infer_table[_f] = lambda args, kwargs: Known(None)


@rrule(operator.iadd, list.__iadd__, types=(list, Any_), mutates=(0,))
def list_iadd(xs: CoDual, ys: CoDual):
    _, pullback = _extend(xs, ys)
    return CoDual(xs.primal, xs.fdata), pullback


_ITEMS: dict[type, type] = {range: int, bytes: int, str: str}


def elements(t: T) -> T:
    """The join of the types of a sequence's items."""
    if isinstance(t, (Lst, Many, SetOf)):
        return t.elem
    if isinstance(t, Known) and isinstance(t.value, (str, bytes, range)):
        t = widen(t)
    if isinstance(t, Known) and isinstance(t.value, (tuple, list, frozenset)):
        t = Tup(tuple(dict.fromkeys([widen(Known(x)) for x in t.value])))
    if isinstance(t, Tup):
        e: T = BOT
        for x in t.items:
            e = join(e, widen(x))
        return e
    if isinstance(t, Arr) and t.ndim == 1 and t.dtype is not None:
        return Inst(t.dtype.type, t.act)
    if isinstance(t, Inst) and t.cls in _ITEMS:
        return Inst(_ITEMS[t.cls])
    return keys_of(t) if isinstance(t, Dct) else Top(t.active)


for _f in (ops.list_extend, list.extend, operator.iadd):
    element_effects[_f] = lambda types: elements(types[1])
element_effects[list.insert] = lambda types: widen(types[2]) if len(types) == 3 else Top()
element_effects[list.pop] = lambda types: BOT
for _f in (list.insert, operator.setitem):
    infer_table[_f] = lambda args, kwargs: Known(None)
infer_table[list.pop] = lambda args, kwargs: args[0].elem if isinstance(args[0], Lst) else None


@rrule(ops.build_list)
def build_list(*xs: CoDual):
    shadow = ListShadow([x.fdata for x in xs], [None for _ in xs])

    def pullback(_):
        r = shadow.r
        dxs = tuple([perhaps_none(r[i]) for i in range(len(xs))])
        r[:] = [None for _ in xs]
        return dxs

    return CoDual([x.primal for x in xs], shadow), pullback


@rrule(list)
def list_of(xs: CoDual):
    x, fx = xs.primal, xs.fdata
    items, fs = parts(x, fx)
    shadow = ListShadow(fs, [None] * len(fs))

    def pullback(_):
        r = list(shadow.r)
        shadow.r[:] = [None] * len(r)
        return (give_parts(x, fx, r),)

    return CoDual(items, shadow), pullback


rrule(list.copy)(list_of)


@overlay(list.__init__)
def init_(xs, items=()):
    if list.__len__(xs):
        list.clear(xs)
    list.extend(xs, items)


zero_derivative(list.__len__, list.__contains__)
