"""Lists, dicts, tuples and closure cells: their fdata mirrors them item by item, and every change is undone."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mooncake_py.infer.types import BOT, Arr, Cell, Inst, Known, Lst, Real, T, Top, Tup, is_scalar, join, widen
from mooncake_py.ir import ops
from mooncake_py.registry import Any_, element_effects, infer_table, maybe_none, pure, rrule, zero_derivative
from mooncake_py.tangents import CellShadow, CoDual, DictShadow, ListShadow, add_rdata

_f: Any  # what a table registers, one at a time

# -- cells ------------------------------------------------------------------------------------------------


@rrule(ops.make_cell)
def make_cell(x: CoDual):
    shadow = CellShadow(x.fdata)

    def pullback(_):
        return take_cell(shadow)

    return CoDual(ops.make_cell(x.primal), shadow), pullback


def take_cell(shadow: CellShadow) -> Any:
    """The cotangent of a cell's content, leaving zero."""
    r = shadow.r
    shadow.r = None
    return r


def add_cell(shadow: CellShadow, dy: Any) -> None:
    if dy is not None:
        shadow.r = add_rdata(shadow.r, dy)


@rrule(ops.cell_get)
def cell_get(c: CoDual, name):
    shadow = c.fdata

    def pullback(dy):
        add_cell(shadow, dy)
        return None

    return CoDual(ops.cell_get(c.primal, name), cell_fdata(shadow)), pullback


def cell_fdata(shadow: CellShadow | None) -> Any:
    return None if shadow is None else shadow.f


@rrule(ops.cell_set, mutates=(0,))
def cell_set(c: CoDual, x: CoDual):
    cell, shadow = c.primal, c.fdata
    old = set_cell(cell, shadow, x.primal, x.fdata)

    def pullback(_):
        return None, unset_cell(cell, shadow, old)

    return None, pullback


def set_cell(cell: Any, shadow: CellShadow | None, x: Any, fx: Any) -> tuple[Any, Any]:
    """Rebind a cell; what it held before."""
    try:
        old = cell.cell_contents
    except ValueError:
        old = ops.UNBOUND
    cell.cell_contents = x
    if shadow is None:
        return old, None
    old_f = shadow.f
    shadow.f = fx
    return old, old_f


def unset_cell(cell: Any, shadow: CellShadow | None, old: tuple[Any, Any]) -> Any:
    """Undo `set_cell`; the cotangent of what it had set."""
    if old[0] is ops.UNBOUND:
        del cell.cell_contents
    else:
        cell.cell_contents = old[0]
    if shadow is None:
        return None
    shadow.f = old[1]
    return take_cell(shadow)


def _cell_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    x = args[0]
    unbound = isinstance(x, Known) and x.value is ops.UNBOUND
    return Cell(BOT if unbound else widen(x), x.active)


infer_table[ops.make_cell] = _cell_type
infer_table[ops.cell_get] = lambda args, kwargs: args[0].elem if isinstance(args[0], Cell) else None
infer_table[ops.cell_set] = lambda args, kwargs: Known(None)
element_effects[ops.cell_set] = lambda types: widen(types[1])
maybe_none.update({take_cell, unset_cell})
pure.update({cell_fdata, CellShadow})

# -- lists ------------------------------------------------------------------------------------------------


def item_fdata(shadow: ListShadow | None, i: Any) -> Any:
    return None if shadow is None else shadow.f[i]


def add_item(shadow: ListShadow, i: Any, dy: Any) -> None:
    """Add to the cotangent of item i."""
    if dy is not None and shadow is not None:
        r = shadow.r
        old = r[i]
        r[i] = dy if old is None else add_rdata(old, dy)


@rrule(operator.getitem, types=(list, int))
@rrule(operator.getitem, types=(list, np.integer))
def list_getitem(xs: CoDual, i):
    shadow = xs.fdata

    def pullback(dy):
        add_item(shadow, i, dy)
        return None

    return CoDual(xs.primal[i], item_fdata(shadow, i)), pullback


@rrule(operator.getitem, types=(list, slice))
def list_getslice(xs: CoDual, i):
    shadow = xs.fdata
    part = slice_shadow(shadow, i)

    def pullback(dy):
        add_slice(shadow, i, part)
        return None

    return CoDual(xs.primal[i], part), pullback


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
    old = xs[i]
    xs[i] = x
    if shadow is None:
        return old, None
    old_f = shadow.f[i]
    shadow.f[i] = fx
    return old, old_f


def unput_item(xs: list, shadow: ListShadow | None, i: Any, old: tuple[Any, Any]) -> Any:
    """Undo `put_item`; the cotangent of what was put."""
    xs[i] = old[0]
    if shadow is None:
        return None
    shadow.f[i] = old[1]
    r = shadow.r[i]
    shadow.r[i] = None
    return r


@rrule(operator.setitem, types=(list, int), mutates=(0,))
@rrule(operator.setitem, types=(list, np.integer), mutates=(0,))
def list_setitem(xs: CoDual, i, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    old = put_item(primal, shadow, i, x.primal, x.fdata)

    def pullback(_):
        return None, None, unput_item(primal, shadow, i, old)

    return None, pullback


def _append(xs: CoDual, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    primal.append(x.primal)
    if shadow is not None:
        grow(shadow, x.fdata)

    def pullback(_):
        primal.pop()
        if shadow is None:
            return None
        return None, shrink(shadow)

    return None, pullback


def grow(shadow: ListShadow, fx: Any) -> None:
    shadow.f.append(fx)
    shadow.r.append(None)


def shrink(shadow: ListShadow) -> Any:
    shadow.f.pop()
    return shadow.r.pop()


for _f in (ops.list_append, list.append):
    rrule(_f, types=(list,), mutates=(0,))(_append)
    infer_table[_f] = lambda args, kwargs: Known(None)
    element_effects[_f] = lambda types: widen(types[1])
maybe_none.update({unput_item, shrink})


def list_change(name: str, reorder: Any) -> None:
    """A method that changes a list wholesale: `reorder(items, *args)` applies it to a list of (index, fdata, rdata).

    The list as it was is kept and put back; cotangents find their way by the indices that the items had.
    """
    method = getattr(list, name)

    def rule(xs: CoDual, *args, **kwargs):
        primal, shadow = xs.primal, xs.fdata
        before = list(primal)
        fdata: list = [] if shadow is None else list(shadow.f)
        if shadow is None:
            y = method(primal, *args, **kwargs)
            places: list = []
        else:
            y, places = reorder(primal, *args, **kwargs)
            shadow.f[:] = [None if k is None else fdata[k] for k in places]
            shadow.r[:] = [None] * len(places)

        def pullback(dy):
            primal[:] = before
            if shadow is None:
                return None
            r = [None] * len(before)
            for k, t in zip(places, shadow.r, strict=True):
                if k is not None:
                    r[k] = t
            shadow.f[:] = fdata
            shadow.r[:] = r
            return None

        return y, pullback

    rrule(method, types=(list,), mutates=(0,))(rule)


def _by_place(name: str) -> Any:
    def reorder(primal: list, *args: Any, **kwargs: Any) -> tuple[Any, list]:
        places = list(range(len(primal)))
        y = getattr(primal, name)(*args, **kwargs)
        getattr(places, name)(*args, **kwargs)
        return y, places

    return reorder


def _sorted_places(primal: list, *, key: Any = None, reverse: bool = False) -> tuple[Any, list]:
    keys = primal if key is None else [key(x) for x in primal]
    places = sorted(range(len(primal)), key=keys.__getitem__, reverse=reverse)
    primal[:] = [primal[i] for i in places]
    return None, places


def _remove(primal: list, x: Any) -> tuple[Any, list]:
    i = primal.index(x)
    del primal[i]
    return None, [k for k in range(len(primal) + 1) if k != i]


list_change("reverse", _by_place("reverse"))
list_change("clear", _by_place("clear"))
list_change("sort", _sorted_places)
list_change("remove", _remove)


@rrule(operator.delitem, types=(list,), mutates=(0,))
def list_delitem(xs: CoDual, i):
    primal, shadow = xs.primal, xs.fdata
    before, saved = list(primal), None if shadow is None else list(shadow.f)
    del primal[i]
    if shadow is not None:
        del shadow.f[i]
        del shadow.r[i]

    def pullback(_):
        primal[:] = before
        if shadow is not None:
            left = list(range(len(before)))
            del left[i]
            r = [None] * len(before)
            for k, t in zip(left, shadow.r, strict=True):
                r[k] = t
            shadow.f[:] = saved
            shadow.r[:] = r
        return None

    return None, pullback


@rrule(list.pop, types=(list,), mutates=(0,))
def list_pop(xs: CoDual, i=-1):
    primal, shadow = xs.primal, xs.fdata
    n = len(primal)
    y = primal.pop(i)
    at = i % n
    fy = None
    if shadow is not None:
        fy = shadow.f.pop(i)
        shadow.r.pop(i)

    def pullback(dy):
        primal.insert(at, y)
        if shadow is not None:
            shadow.f.insert(at, fy)
            shadow.r.insert(at, dy)
        return None

    return CoDual(y, fy), pullback


@rrule(list.insert, types=(list,), mutates=(0,))
def list_insert(xs: CoDual, i, x: CoDual):
    primal, shadow = xs.primal, xs.fdata
    n = len(primal)
    at = min(max(i + n, 0) if i < 0 else i, n)
    primal.insert(at, x.primal)
    if shadow is not None:
        shadow.f.insert(at, x.fdata)
        shadow.r.insert(at, None)

    def pullback(_):
        del primal[at]
        if shadow is None:
            return None
        del shadow.f[at]
        return None, None, shadow.r.pop(at)

    return None, pullback


def parts(x: Any, fx: Any) -> tuple[list, list]:
    """The items of a sequence and their fdata."""
    items = list(x)
    if isinstance(fx, ListShadow):
        return items, list(fx.f)
    if isinstance(fx, tuple):
        return items, list(fx)
    if fx is not None and isinstance(x, np.ndarray) and x.ndim > 1:
        d = fx.dense()
        return items, [fx.view(d[k]) for k in range(len(items))]
    return items, [None] * len(items)


def give_parts(x: Any, fx: Any, r: list) -> Any:
    """Cotangents of a sequence's items as one of the sequence; into its fdata where it has such."""
    if isinstance(fx, ListShadow):
        for i, t in enumerate(r):
            if t is not None:
                fx.r[i] = add_rdata(fx.r[i], t)
        return None
    if isinstance(x, np.ndarray):
        if x.ndim == 1 and fx is not None:
            d = fx.dense()
            for i, t in enumerate(r):
                if t is not None:
                    d[i] += t
        return None
    return tuple(r) if isinstance(x, tuple) and any(t is not None for t in r) else None


def _extend(xs: CoDual, ys: CoDual):
    primal, shadow = xs.primal, xs.fdata
    n = len(primal)
    y, fy = ys.primal, ys.fdata
    items, fs = parts(y, fy)
    primal.extend(items)
    if shadow is not None:
        shadow.f.extend(fs)
        shadow.r.extend([None] * len(fs))

    def pullback(_):
        del primal[n:]
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


@rrule(operator.iadd, types=(list, Any_), mutates=(0,))
def list_iadd(xs: CoDual, ys: CoDual):
    _, pullback = _extend(xs, ys)
    return CoDual(xs.primal, xs.fdata), pullback


def elements(t: T) -> T:
    """The join of the types of a sequence's items."""
    if isinstance(t, Lst):
        return t.elem
    if isinstance(t, Known) and isinstance(t.value, (tuple, list, range, str)):
        t = Tup(tuple(map(Known, t.value))) if len(t.value) < 50 else Top()
    if isinstance(t, Tup):
        e: T = BOT
        for x in t.items:
            e = join(e, widen(x))
        return e
    if isinstance(t, Arr) and t.ndim == 1 and t.dtype is not None:
        return Inst(t.dtype.type, t.act)
    if isinstance(t, Inst) and t.cls is range:
        return Inst(int)
    return Top(t.active)


for _f in (ops.list_extend, list.extend, operator.iadd):
    element_effects[_f] = lambda types: elements(types[1])
element_effects[operator.setitem] = lambda types: widen(types[2]) if len(types) == 3 else Top()
element_effects[list.insert] = lambda types: widen(types[2]) if len(types) == 3 else Top()
for _f in (list.pop, list.reverse, list.sort, list.remove, list.clear, operator.delitem):
    element_effects[_f] = lambda types: BOT
for _f in (list.insert, list.reverse, list.sort, list.remove, list.clear, operator.delitem, operator.setitem):
    infer_table[_f] = lambda args, kwargs: Known(None)
infer_table[list.pop] = lambda args, kwargs: args[0].elem if isinstance(args[0], Lst) else None


@rrule(ops.build_list)
def build_list(*xs: CoDual):
    shadow = ListShadow([x.fdata for x in xs], [None] * len(xs))

    def pullback(_):
        r = tuple(shadow.r)
        shadow.r[:] = [None] * len(r)
        return r

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
    y = ops.unpack_ex(x, before, after)
    items, fs = parts(x, fx)
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
@rrule(operator.mul, types=(tuple, int))
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


@rrule(operator.add, types=(tuple, tuple))
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
    return Lst(elements(args[0]), args[0].active)


def _display_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    e: T = BOT
    for t in args:
        e = join(e, widen(t))
    return Lst(e, any(t.active for t in args))


def _tuple_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    return args[0] if args and isinstance(args[0], Tup) else Known(()) if not args else None


infer_table[list] = infer_table[list.copy] = _list_type
infer_table[ops.build_list] = _display_type
infer_table[tuple] = infer_table[ops.list_to_tuple] = _tuple_type
zero_derivative(list.index, list.count, tuple.index, tuple.count, dict.__len__, dict.__contains__)


# -- sums over sequences ----------------------------------------------------------------------------------


@rrule(sum)
def sum_(xs: CoDual, start=0):
    x = xs.primal
    y = sum(x, start)

    def pullback(dy):
        if dy is None:
            return None
        if isinstance(x, np.ndarray):
            return (np.broadcast_to(dy, x.shape), dy)
        return (tuple([summand(dy, v) for v in x]), summand(dy, start))

    return y, pullback


def summand(dy: Any, v: Any) -> Any:
    """The cotangent of one summand of a sum whose cotangent is dy."""
    if isinstance(v, np.ndarray):
        from mooncake_rules.common import unbroadcast

        return unbroadcast(dy, v.shape) if v.dtype.kind in "fc" else None
    if isinstance(v, (int, np.integer, np.bool_)):
        return None
    t = np.sum(dy) if isinstance(dy, np.ndarray) else dy
    return t.real if isinstance(v, (float, np.floating)) and isinstance(t, (complex, np.complexfloating)) else t


def _sum_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    t = args[0]
    start = args[1] if len(args) > 1 else kwargs.get("start", Known(0))
    if isinstance(t, Arr) and t.ndim is not None and t.ndim > 1 and isinstance(start, Known):
        return Arr(t.dtype, t.ndim - 1, t.act)
    e = join(elements(t), widen(start))
    return Real(e.active) if isinstance(e, Real) or is_scalar(e) else None


infer_table[sum] = _sum_type

# -- dicts ------------------------------------------------------------------------------------------------


def dict_fdata(shadow: DictShadow | None, k: Any) -> Any:
    return None if shadow is None else shadow.f.get(k)


@rrule(ops.build_map)
def build_map(*kvs: CoDual):
    keys = [k.primal for k in kvs[::2]]
    values = kvs[1::2]
    primal = dict(zip(keys, [v.primal for v in values], strict=True))
    shadow = DictShadow(dict(zip(keys, [v.fdata for v in values], strict=True)), {})

    def pullback(_):
        out: list[Any] = []
        r, shadow.r = shadow.r, {}
        for i, k in enumerate(keys):
            out += [None, r.get(k) if k not in keys[i + 1 :] else None]
        return tuple(out)

    return CoDual(primal, shadow), pullback


@rrule(operator.getitem, types=(dict, Any_))
def dict_getitem(d: CoDual, k):
    shadow = d.fdata

    def pullback(dy):
        add_value(shadow, k, dy)
        return None

    return CoDual(d.primal[k], dict_fdata(shadow, k)), pullback


def add_value(shadow: DictShadow | None, k: Any, dy: Any) -> None:
    if dy is not None and shadow is not None:
        shadow.r[k] = add_rdata(shadow.r.get(k), dy)


_ABSENT = object()


def put_value(d: dict, shadow: DictShadow | None, k: Any, x: Any, fx: Any) -> tuple[Any, Any]:
    old = d.get(k, _ABSENT)
    d[k] = x
    if shadow is None:
        return old, None
    old_f = shadow.f.get(k)
    shadow.f[k] = fx
    return old, old_f


def unput_value(d: dict, shadow: DictShadow | None, k: Any, old: tuple[Any, Any]) -> Any:
    """Undo `put_value`; the cotangent of what was put."""
    if old[0] is _ABSENT:
        del d[k]
    else:
        d[k] = old[0]
    if shadow is None:
        return None
    if old[0] is _ABSENT:
        del shadow.f[k]
    else:
        shadow.f[k] = old[1]
    return shadow.r.pop(k, None)


maybe_none.add(unput_value)


def _put(d: CoDual, k, x: CoDual):
    primal, shadow = d.primal, d.fdata
    old = put_value(primal, shadow, k, x.primal, x.fdata)

    def pullback(_):
        return None, None, unput_value(primal, shadow, k, old)

    return None, pullback


for _f in (operator.setitem, ops.map_add):
    rrule(_f, types=(dict, Any_, Any_), mutates=(0,))(_put)


@rrule(dict.get)
def dict_get(d: CoDual, k, default: CoDual = CoDual(None, None)):  # noqa: B008  (never written to)
    shadow = d.fdata
    there = k in d.primal

    def pullback(dy):
        if there:
            add_value(shadow, k, dy)
            return None
        return None, None, dy

    if there:
        return CoDual(d.primal[k], dict_fdata(shadow, k)), pullback
    return CoDual(default.primal, default.fdata), pullback


@rrule(dict.values)
def dict_values(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)

    def pullback(dy):
        if dy is not None:
            for k, t in zip(keys, dy, strict=True):
                add_value(shadow, k, t)
        return None

    f = tuple([dict_fdata(shadow, k) for k in keys])
    return CoDual(tuple(d.primal.values()), f if any(x is not None for x in f) else None), pullback


@rrule(dict.items)
def dict_items(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)

    def pullback(dy):
        if dy is not None:
            for k, t in zip(keys, dy, strict=True):
                if t is not None:
                    add_value(shadow, k, t[1])
        return None

    f = tuple([(None, x) if (x := dict_fdata(shadow, k)) is not None else None for k in keys])
    return CoDual(tuple(d.primal.items()), f if any(x is not None for x in f) else None), pullback


def _update(d: CoDual, other: CoDual):
    primal, shadow, source, fsource = d.primal, d.fdata, other.primal, other.fdata
    log = [(k, put_value(primal, shadow, k, source[k], dict_fdata(fsource, k))) for k in source]

    def pullback(_):
        for k, old in reversed(log):
            add_value(fsource, k, unput_value(primal, shadow, k, old))
        return None

    return None, pullback


for _f in (dict.update, ops.dict_update, ops.dict_merge):
    rrule(_f, types=(dict, dict), mutates=(0,))(_update)


@rrule(dict)
@rrule(dict.copy)
def dict_of(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)
    new = DictShadow({k: dict_fdata(shadow, k) for k in keys}, {})

    def pullback(_):
        r, new.r = new.r, {}
        for k, t in r.items():
            add_value(shadow, k, t)
        return None

    return CoDual(dict(d.primal), new), pullback


zero_derivative(dict.keys, dict.__iter__)
