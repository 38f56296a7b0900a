"""Elements picked by index, condition or order: take, compress, sort, partition."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Known, Lst, T, Top
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import laid_out_as
from mooncake_rules.inference import Types, element_dtype, nested, reduces
from mooncake_rules.numpy_arrange import gathered
from mooncake_rules.sequences import unstack

# -- picking ----------------------------------------------------------------------------------------------


@rrule(np.take, types=(Array,))
@rrule(np.ndarray.take)
def take(a, indices, axis=None):
    shape = a.shape

    def pullback(dy):
        return (gathered(np.asarray(dy), shape, indices, axis),)

    return np.ndarray.take(a, indices, axis), pullback


def within(indices: Any, n: int, mode: str) -> np.ndarray:
    """Indices as they are meant in this mode."""
    i = np.asarray(indices)
    return i % n if mode == "wrap" else np.clip(i, 0, n - 1) if mode == "clip" else i


@rrule(np.take, types=(Array,), fallback=True)
@rrule(np.ndarray.take, fallback=True)
def take_mode(a, indices, axis=None, out=None, mode="raise"):
    shape = a.shape

    def pullback(dy):
        n = a.size if axis is None else shape[axis]
        return (gathered(np.asarray(dy), shape, within(indices, n, mode), axis),)

    return np.ndarray.take(a, indices, axis, None, mode), pullback


@rrule(np.compress)
def compress(condition, a, axis=None):
    def pullback(dy):
        t = gathered(dy, np.shape(a), np.flatnonzero(condition), axis)
        return None, t if isinstance(a, np.ndarray) else unstack(t, a)

    return np.compress(condition, a, axis), pullback


@rrule(np.ndarray.compress)
def compress_method(a, condition, axis=None):
    def pullback(dy):
        return (gathered(dy, a.shape, np.flatnonzero(condition), axis),)

    return np.ndarray.compress(a, condition, axis), pullback


@rrule(np.extract)
def extract(condition, arr):
    def pullback(dy):
        t = gathered(dy, np.shape(arr), np.flatnonzero(condition), None)
        return None, t if isinstance(arr, np.ndarray) else unstack(t, arr)

    return np.extract(condition, arr), pullback


def _in_one_line(at: int) -> Any:
    """What is picked out of the argument at this position, in one direction."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[at] if len(args) > at else None
        line = isinstance(a, Arr) and (a.ndim == 1 or (len(args) == 2 and not kwargs))
        return Arr(a.dtype, 1, a.act) if line and isinstance(a, Arr) else None

    return infer


infer_table[np.compress] = infer_table[np.extract] = _in_one_line(1)
infer_table[np.ndarray.compress] = _in_one_line(0)


def along(dy: np.ndarray, shape: tuple[int, ...], indices: np.ndarray, axis: Any) -> np.ndarray:
    """The cotangent of `take_along_axis`."""
    out = np.zeros(shape, dy.dtype)
    if axis is None:
        np.add.at(out.reshape(-1), indices, dy)
        return out
    axis %= len(shape)
    place = list(np.ogrid[tuple(slice(n) for n in shape)])
    place[axis] = indices
    np.add.at(out, tuple(place), dy)
    return out


@rrule(np.take_along_axis, types=(Array,))
def take_along_axis(arr, indices, axis):
    shape = arr.shape

    def pullback(dy):
        return (along(dy, shape, indices, axis),)

    return np.take_along_axis(arr, indices, axis), pullback


@rrule(np.sort, types=(Array,))
def sort(a, axis=-1, kind=None):
    order = np.argsort(a, axis, kind)

    def pullback(dy):
        if axis is None:
            return (along(dy, (a.size,), order, 0).reshape(a.shape),)
        return (along(dy, a.shape, order, axis),)

    y = np.take_along_axis(a, order, axis)
    return y if axis is None else laid_out_as(y, a), pullback


@rrule(np.partition, types=(Array,))
def partition(a, kth, axis=-1, kind="introselect"):
    order = np.argpartition(a, kth, axis, kind)

    def pullback(dy):
        if axis is None:
            return (along(dy, (a.size,), order, 0).reshape(a.shape),)
        return (along(dy, a.shape, order, axis),)

    y = np.take_along_axis(a, order, axis)
    return y if axis is None else laid_out_as(y, a), pullback


pure.update({within, along, np.take, np.ndarray.take, np.compress, np.extract, np.partition})
reduces(np.sort, np.partition, np.take_along_axis)


def _taken(args: Types, kwargs: dict[str, T]) -> T | None:
    a, i = args[0], args[1] if len(args) > 1 else kwargs.get("indices")
    axis = kwargs.get("axis") or (args[2] if len(args) > 2 else Known(None))
    taken = nested(i) if isinstance(i, (Arr, Lst)) else None
    if not isinstance(a, Arr) or taken is None or not taken[0] or a.ndim is None:
        return Top(a.active)
    flat = isinstance(axis, Known) and axis.value is None
    return Arr(element_dtype(a), taken[0] if flat else max(a.ndim, 1) - 1 + taken[0], a.act)


infer_table[np.take] = infer_table[np.ndarray.take] = _taken

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, -0.4])
_M = _V.reshape(2, 3).copy()
_T = np.cos(np.arange(24.0)).reshape(2, 3, 4)
_I = np.array([0, 2, 2, 1])

CASES: list[RuleCase] = [
    case(np.take, _V, _I), case(np.take, _M, _I, axis=1), case(np.take, _M, 1, axis=0), case(np.take, _V, 2),
    case(np.take, _V, [0, 3, 3]), case(np.ndarray.take, _V, _I),
    case(np.take, _M, np.array([[0, 1], [1, 1]]), axis=0), case(np.compress, np.array([True, False, True]), _M, 1),
    case(np.extract, _M > 0, _M), case(np.take_along_axis, _M, np.array([[0, 0], [2, 1]]), 1),
    case(np.take_along_axis, _M, np.array([[2, 1]]), 1), case(np.take_along_axis, _M, np.array([[1, 0, 0]]), 0),
    case(np.take_along_axis, _M[:1], np.array([[0, 2], [1, 1]]), 1), case(np.sort, _V), case(np.sort, _T, axis=1),
    case(np.sort, _M, axis=None), case(np.partition, _V, 2), case(np.take, _M, [0, 5], 1, mode="clip"),
    case(np.ndarray.take, _M, [0, -4], 1, mode="wrap"), case(np.take, _V, _I, out=np.zeros(4)),
    case(np.ndarray.compress, _M, [True, False, True], 1), case(np.compress, [True, False, True], [0.5, 1.0, 2.0]),
    case(np.partition, _T, 1, axis=1), case(np.partition, _M, 2, axis=None, kind="introselect"),
    case(lambda a: np.partition(a, 2, axis=None)[2] * a, _M),
    case(lambda x: np.trim_zeros(np.concatenate([np.zeros(2), x, np.zeros(1)])), _V),
    case(np.sort_complex, _V[:3] * (1 + 0.5j)),
]  # fmt: skip
