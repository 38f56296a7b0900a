"""Writing into arrays by position, mask and order: `put` and its kin, `flat`, sorting in place.

What can be said as an assignment is differentiated as one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.types import Arr, Inst, Known, T, Tup, widen
from mooncake_py.ir import ops
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, item_types, overlay, pure, refuse, rrule, zero_derivative
from mooncake_py.shadows import Shadow, add_at
from mooncake_py.tangents import CoDual, ListShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import as_dtype
from mooncake_rules.numpy_indexing import put_back, take_at
from mooncake_rules.numpy_ufunc import lost, of_value
from mooncake_rules.sequences import give_flat

# -- assignments ------------------------------------------------------------------------------------------


def places(a: np.ndarray, ind: Any, mode: str) -> tuple[np.ndarray, ...]:
    """Where `put` writes, as an index."""
    index = np.asarray(ind, np.intp).ravel()
    n = a.size
    if mode == "wrap":
        index = index % n
    elif mode == "clip":
        index = np.clip(index, 0, n - 1)
    elif np.any(wrong := (index < -n) | (index >= n)):
        raise IndexError(f"index {index[wrong][0]} is out of bounds for axis 0 with size {n}")
    return np.unravel_index(index % max(n, 1), a.shape)


def selected(mask: Any) -> np.ndarray:
    return np.asarray(mask, bool)


def repeated(values: Any, n: int) -> np.ndarray:
    """Which of the values is written at each of n places: one after the other, over and over."""
    return np.arange(n) % max(np.size(values), 1)


def along(arr: np.ndarray, indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """The index by which `put_along_axis` writes."""
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    place: list[np.ndarray] = list(np.ogrid[tuple(slice(n) for n in arr.shape)])
    place[axis] = indices
    return tuple(place)


zero_derivative(places, selected, repeated, along)
pure.update({places, selected, repeated, along})
_INDICES = Arr(np.dtype(np.intp), 1)


def _of_places(args: Sequence[T], kwargs: dict[str, T]) -> T | None:
    a = args[0]
    return Tup((_INDICES,) * a.ndim) if isinstance(a, Arr) and a.ndim is not None else None


def _selected(args: Sequence[T], kwargs: dict[str, T]) -> T | None:
    mask = widen(args[0])
    return Arr(np.dtype(bool), mask.ndim) if isinstance(mask, Arr) else None


def _along(args: Sequence[T], kwargs: dict[str, T]) -> T | None:
    arr, indices = args[0], widen(args[1])
    if not isinstance(arr, Arr) or arr.ndim is None or not isinstance(indices, Arr) or indices.dtype != np.intp:
        return None
    return Tup((Arr(np.dtype(np.intp), arr.ndim),) * arr.ndim)


infer_table[places], infer_table[along] = _of_places, _along
infer_table[selected], infer_table[repeated] = _selected, lambda args, kwargs: _INDICES


@overlay(np.put, np.ndarray.put)
def put(a, ind, v, mode="raise"):
    index = places(a, ind, mode)
    if np.size(v):
        a[index] = np.ravel(v)[repeated(v, len(index[0]))]


@overlay(np.place)
def place(arr, mask, vals):
    where = selected(mask)
    if where.size != arr.size:
        raise ValueError("place: mask and data must be the same size")
    where = where.reshape(arr.shape)
    count = int(np.count_nonzero(where))
    if count > 0 and np.size(vals) == 0:
        raise ValueError("Cannot insert from an empty array!")
    arr[where] = np.ravel(vals)[repeated(vals, count)]


@overlay(np.putmask)
def putmask(a, mask, values):
    where = selected(mask)
    if where.shape != a.shape:
        raise ValueError("putmask: mask and data must be the same size")
    if np.size(values):
        a[where] = np.ravel(values)[repeated(values, a.size).reshape(a.shape)[where]]


@overlay(np.put_along_axis)
def put_along_axis(arr, indices, values, axis=-1):
    if axis is None:
        raise NotDifferentiated("put_along_axis without an axis writes into a copy in some releases: write to arr.flat")
    arr[along(arr, indices, axis)] = values


for _f in (np.put, np.ndarray.put, np.place, np.putmask, np.put_along_axis):
    infer_table[_f] = lambda args, kwargs: Known(None)

# -- flat -------------------------------------------------------------------------------------------------
# The iterator has the fdata of its array.


@rrule(np.ndarray.flat)
def flat(a: CoDual):
    def pullback(_):
        return None

    return CoDual(a.primal.flat, a.fdata), pullback


infer_table[np.ndarray.flat] = lambda args, kwargs: Inst(np.flatiter, args[0].active)
pure.add(np.ndarray.flat)


def add_flat(shadow: Shadow, i: Any, t: Any) -> None:
    """Add the cotangent of `a.flat[i]` to that of a."""
    d = np.zeros(shadow.shape, shadow.dtype)
    add_at(d.reshape(-1), i, t)
    shadow.add(d)


def take_flat(shadow: Shadow, i: Any, v: Any) -> Any:
    """The cotangent of the value v that was written to `a.flat[i]`, leaving zero there."""
    d = shadow.dense()
    line = d.reshape(-1)
    t = take_at(line, i)
    d[...] = line.reshape(d.shape)
    if isinstance(v, np.flatiter):  # its fdata is that of its array
        return as_written(t, np.asarray(v)).reshape(v.base.shape)
    if isinstance(v, np.ndarray):
        return of_value(as_written(t, v), v, v.shape, v.dtype)
    return of_value(as_written(t, v), v, np.shape(v), None)


def as_written(t: np.ndarray, v: Any) -> np.ndarray:
    """Cotangents of elements written one after the other from v, which is repeated, in v's shape."""
    size = np.size(v)
    if size == 1:
        return np.asarray(t.sum()).reshape(np.shape(v))
    out = np.zeros(size, t.dtype)
    np.add.at(out, np.arange(t.size) % max(size, 1), t.ravel())
    return out.reshape(np.shape(v))


@rrule(operator.getitem, types=(np.flatiter,))
def flat_getitem(it: CoDual, i):
    y = it.primal[i]
    shadow = it.fdata

    def pullback(dy):
        if shadow is not None and dy is not None:
            add_flat(shadow, i, dy)
        return None

    return y, pullback


@rrule(operator.setitem, types=(np.flatiter,), mutates=(0,))
def flat_setitem(it: CoDual, i, v):
    a = it.primal
    shadow = it.fdata
    old = a[i]
    old = old.copy() if isinstance(old, np.ndarray) else old
    a[i] = v

    def pullback(_):
        a[i] = old
        if shadow is None:
            return None, None, lost(a.base, "numpy.ndarray.flat")
        return None, None, take_flat(shadow, i, v)

    return None, pullback


@rrule(ops.unpack, types=(np.flatiter,))
def flat_unpack(it: CoDual, n):
    first, shadow = it.primal.index, it.fdata
    y = ops.unpack(it.primal, n)

    def pullback(dy):
        if dy is not None and shadow is not None:
            give_flat(shadow, first, dy)
        return None

    return CoDual(y, None), pullback


@rrule(tuple, types=(np.flatiter,))
def flat_tuple(it: CoDual):
    first, shadow = it.primal.index, it.fdata
    y = tuple(it.primal)

    def pullback(dy):
        if dy is not None and shadow is not None:
            give_flat(shadow, first, dy)
        return None

    return CoDual(y, None), pullback


@rrule(list, types=(np.flatiter,))
def flat_list(it: CoDual):
    first, shadow = it.primal.index, it.fdata
    y = list(it.primal)
    items = ListShadow([None] * len(y), [None] * len(y))

    def pullback(_):
        r = list(items.r)
        items.r[:] = [None] * len(r)
        if shadow is not None:
            give_flat(shadow, first, r)
        return None

    return CoDual(y, items), pullback


def _array_of_flat(f: Any) -> None:
    @rrule(f, types=(np.flatiter,))
    def rule(it: CoDual, dtype=None):
        shadow = it.fdata
        y = np.array(f(it.primal, dtype))
        fy = zero_fdata(y)

        def pullback(dy):
            dy = take_fdata(fy, dy)
            if shadow is not None and dy is not None:
                shadow.add(as_dtype(np.reshape(dy, shadow.shape), shadow.dtype))
            return None

        return CoDual(y, fy), pullback


for _f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray):
    _array_of_flat(_f)


zero_derivative(np.flatiter.index, np.flatiter.coords)

# -- parts by name ----------------------------------------------------------------------------------------


def part_of(d: np.ndarray, name: str) -> np.ndarray:
    """The view of an array that is assigned to by this name."""
    return d.imag if name == "imag" else d.real if name == "real" else d


@rrule(setattr, types=(Array, str), mutates=(0,))
def set_part(a: CoDual, name, v):
    """`a.real = v`, `a.imag = v`, `a.flat = v`."""
    x = a.primal
    shadow = a.fdata
    if name not in ("real", "imag", "flat"):
        raise NotDifferentiated(f"assigning .{name} of an array: make a view of it (reshape, view) instead")
    old = x.copy()
    setattr(x, name, v)

    def pullback(_):
        x[...] = old
        return None if shadow is None else (None, None, take_part(shadow, name, v))

    return None, pullback


def take_part(shadow: Shadow, name: str, v: Any) -> Any:
    """The cotangent of what was assigned, leaving zero."""
    if name == "flat":
        return take_flat(shadow, slice(None), v)
    part = part_of(shadow.dense(), name)
    t = part.copy()
    part[...] = 0
    return of_value(t, v, np.shape(v), v.dtype if isinstance(v, np.ndarray) else None)


infer_table[setattr] = lambda args, kwargs: Known(None)


def _indices(gives: Sequence[T], given: Sequence[T], named: dict[str, T]) -> T | None:
    """The tuples that `ndindex` gives: a number for each length, or for each in one tuple of them."""
    if len(given) == 1 and isinstance(t := widen(given[0]), Tup):
        return Tup((Inst(int),) * len(t.items))
    return Tup((Inst(int),) * len(given)) if all(widen(t) == Inst(int) for t in given) else None


item_types[np.ndindex] = _indices


@overlay(np.ndenumerate)
def ndenumerate(arr):
    a = np.asarray(arr)
    for i in np.ndindex(a.shape):
        yield i, a[i]


# -- order ------------------------------------------------------------------------------------------------


def reordered(x: np.ndarray, shadow: Shadow | None, order: np.ndarray, axis: int, old: np.ndarray) -> None:
    """Undo a permutation along an axis, of an array and its cotangent."""
    put_back(x, Ellipsis, old)
    dy = None if shadow is None else shadow.take()
    if dy is not None and shadow is not None:
        d = np.empty_like(dy)
        np.put_along_axis(d, order, dy, axis)
        shadow.add(d)


@rrule(np.ndarray.sort, mutates=(0,))
def sort(a: CoDual, axis=-1, kind=None, order=None, *, stable=None):
    x = a.primal
    shadow = a.fdata
    index = np.argsort(x, axis, kind, order) if stable is None else np.argsort(x, axis, stable=stable)
    old = x.copy()
    x[...] = np.take_along_axis(x, index, axis)

    def pullback(_):
        reordered(x, shadow, index, axis, old)
        return None

    return None, pullback


@rrule(np.ndarray.partition, mutates=(0,))
def partition(a: CoDual, kth, axis=-1, kind="introselect"):
    x = a.primal
    shadow = a.fdata
    index = np.argpartition(x, kth, axis, kind)
    old = x.copy()
    x[...] = np.take_along_axis(x, index, axis)

    def pullback(_):
        reordered(x, shadow, index, axis, old)
        return None

    return None, pullback


infer_table[np.ndarray.sort] = infer_table[np.ndarray.partition] = lambda args, kwargs: Known(None)

# -- bytes ------------------------------------------------------------------------------------------------

refuse(
    "its bytes are given to code that is not seen", np.ndarray.tobytes, np.ndarray.data, np.ndarray.ctypes,
    np.ndarray.getfield, np.ndarray.setfield, np.ndarray.byteswap, np.ndarray.dumps,
    np.ndarray.__array_interface__, np.ndarray.__array_struct__, np.frombuffer,
)  # fmt: skip
pure.add(np.ndarray.tobytes)  # of constants
refuse("it gives an array other memory while it may be in use; np.resize makes a new array", np.ndarray.resize)
refuse("index and assign the elements by position", np.ndarray.base, np.nested_iters)


@rrule(np.ndarray.setflags, mutates=(0,))
def setflags(a: CoDual, write=None, align=None, uic=None):
    x = a.primal
    could = x.flags.writeable
    x.setflags(write, align, uic)

    def pullback(_):
        x.flags.writeable = could
        return None

    return None, pullback


infer_table[np.ndarray.setflags] = lambda args, kwargs: Known(None)
if hasattr(np.ndarray, "itemset"):  # NumPy 1
    refuse(
        "its bytes are given to code that is not seen", *[getattr(np.ndarray, f) for f in ("tostring", "newbyteorder")]
    )

    @overlay(np.ndarray.itemset)
    def itemset(a, *args):
        if len(args) == 1:
            a[...] = args[0]
        elif isinstance(args[0], tuple):
            a[args[0]] = args[1]
        else:
            a[np.unravel_index(args[0] % a.size, a.shape)] = args[1]

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3, 1.7])
_P = np.array([0.4, 1.3, 2.2, 0.9, 1.7])
_A = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_M = np.array([[0.5, -1.2, 2.0, 0.9], [0.3, 1.4, -0.6, 1.1]])


def _written(f: Any, *more: Any) -> Any:
    """A function that lets f write into a copy of its first argument and reads what is there then."""

    def g(a: np.ndarray, *args: Any) -> np.ndarray:
        b = a * 1.5
        f(b, *args, *more)
        return b * a

    return g


def _flat_write(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    b = a.T * 2.0
    b.flat[1] = v[0] * a[0, 0]
    b.flat[2:4] = v[:2]
    b.flat[[0, 0, 5]] = v[2:5]
    b.flat[-1] *= 3.0
    return b * b.flat[2]


def _half_of_flat(a: np.ndarray) -> Any:
    it = (a * a).flat
    s = next(it) * a[0, 0]
    for v in it:
        s = s * 0.5 + v
        if it.index > 3:
            break
    for v in it:
        s = s * v
    return s, next(it, None)


def _locked(a: np.ndarray) -> Any:
    b = a * 2.0
    b *= a
    b.setflags(write=False)
    return b * a


def _diagonals(a: np.ndarray, v: np.ndarray) -> Any:
    b, c = a * 1.0, a * 2.0
    np.fill_diagonal(b, v[0])
    np.fill_diagonal(c, v[:3])
    return b * a, c * a


def _complex_parts(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    z = np.zeros(5, complex)
    z.real = x
    z.imag = y * x
    z.real[0] = y[1]
    z.imag[1:3] *= 2.0
    return z * z


def _assigned_flat(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    b, c = a * 1.0, np.zeros((2, 2))
    b.flat = v
    c.flat = v[0]
    return b * a * c[0, 0]


def _in_place(a: np.ndarray) -> Any:
    b, c = a * 2.0, a * 1.0
    b.sort(0)
    c.partition(1)
    return b * a, c * a


def _through_flat(m: np.ndarray) -> Any:
    """What takes the elements of `flat`, one by one or all at once."""
    a, b, *rest = m.flat
    c, d, e = m[0, :3].flat
    more = [1.0]
    more.extend(m.flat)
    whole = [*m.T.flat]
    line = np.asarray(m.flat) * np.array(m.T.flat)
    sums = np.sum(m.flat) * np.prod(m[0].flat) + sum(m.flat) + max(m.flat)
    it = m.flat
    first = it[0] + tuple(it)[2] * list(m.flat)[3]
    return a * b + rest[1] * rest[-1], c * d * e, more[2] * whole[1], line, sums, first, np.exp(m.T.flat)


CASES: list[RuleCase] = [
    case(_written(np.put), _V, [0, 2, 2], _P[:3]), case(_written(np.put), _M, np.array([1, -1]), 0.5),
    case(_written(np.put, "wrap"), _V, [0, 7, 9], _P[:2]), case(_written(np.ndarray.put, "clip"), _V, [0, 9], _P[:3]),
    case(_written(np.place), _M, _M > 0.4, _P[:2]), case(_written(np.place), _V, _V > 5, _P),
    case(_written(np.place), _V, _V > 5, _P[:0]), case(_written(np.place), _M, _M.ravel() > 0.4, _P[:2]),
    case(_written(np.putmask), _V, _V > 0.5, _P), case(_written(np.putmask), _M, _M > 0, _P[:3]),
    case(_written(np.putmask), _M, _M > 0, 0.5), case(_written(np.putmask), _M, _M > 0, [0.5, 0.25]),
    case(_written(np.put_along_axis), _M, np.array([[0, 1, 1, 0]]), 0.5, 0),
    case(_written(np.put_along_axis), _M, np.array([[0], [2]]), _P[:2, None], 1), case(np.put, _V, [0, 1], _P[:2]),
    case(np.ndarray.put, _V, 1, 0.5), case(np.place, _V, _V > 0.5, _P[:2]), case(np.putmask, _V, _V > 0.5, _P),
    case(lambda a: a.flat[2] * a.flat[-1], _M), case(lambda a: a.T.flat[1:5] * 2, _M),
    case(lambda a: a.flat[np.array([0, 0, 3])] * a.flat[[1, 2, 2]], _M), case(_flat_write, _M, _P),
    case(_diagonals, _A, _P), case(np.fill_diagonal, _A, 0.5), case(_in_place, _M), case(_through_flat, _M),
    case(np.ndarray.sort, _M, 0), case(_locked, _M),
    case(np.ndarray.partition, _V, 2), case(np.ndarray.partition, _M, [0, 1], 0),
    case(np.ndarray.sort, _V, kind="stable"),
]  # fmt: skip
CASES += [
    case(_complex_parts, _V, _P), case(_half_of_flat, _A),
    case(lambda a: [v * v for v in a.T.flat], _M), case(_assigned_flat, _M[:, :3], _P),
    case(lambda a: sum([v * i[0] for i, v in np.ndenumerate(a)]), _M),
]  # fmt: skip
if hasattr(np.ndarray, "itemset"):
    CASES += [
        case(_written(np.ndarray.itemset), _V, 1, 0.5), case(_written(np.ndarray.itemset), _M, (1, 2), 0.5),
        case(_written(np.ndarray.itemset), _M, 5, 0.5), case(np.ndarray.itemset, _V, -1, 0.5),
    ]  # fmt: skip
