"""Elements in other places: flips, rolls, triangles, diagonals, repetition, padding, picking, sorting."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.types import Arr, Known, T, Top
from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import infer_table, overlay, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_inexact, unbroadcast
from mooncake_rules.inference import Types, argument, reduces, shape_ndim
from mooncake_rules.mirror import mirrored, mirrors
from mooncake_rules.sequences import unstack

# -- permutations -----------------------------------------------------------------------------------------


@rrule(np.flip, types=(Array,), alias=(0,))
def flip(m, axis=None):
    def pullback(dy):
        return (np.flip(dy, axis),)

    return np.flip(m, axis), pullback


def _own_inverse(f: Any) -> None:
    @rrule(f, types=(Array,), alias=(0,))
    def rule(m):
        def pullback(dy):
            return (f(dy),)

        return f(m), pullback


_own_inverse(np.fliplr)
_own_inverse(np.flipud)


@rrule(np.rot90, types=(Array,), alias=(0,))
def rot90(m, k=1, axes=(0, 1)):
    def pullback(dy):
        return (np.rot90(dy, -k, axes),)

    return np.rot90(m, k, axes), pullback


def opposite(shift: Any) -> Any:
    return tuple([-s for s in shift]) if isinstance(shift, (tuple, list)) else -shift


@rrule(np.roll, types=(Array,))
def roll(a, shift, axis=None):
    def pullback(dy):
        return (np.roll(dy, opposite(shift), axis),)

    return np.roll(a, shift, axis), pullback


def _linear_projection(f: Any) -> None:
    """triu and tril are their own adjoints; a vector is that of every row."""

    @rrule(f, types=(Array,))
    def rule(m, k=0):
        shape = m.shape

        def pullback(dy):
            return (unbroadcast(f(dy, k), shape),)

        return f(m, k), pullback


_linear_projection(np.triu)
_linear_projection(np.tril)

# -- diagonals --------------------------------------------------------------------------------------------


def on_diagonal(dy: Any, shape: tuple[int, ...], dtype: Any, offset: int, axis1: int, axis2: int) -> np.ndarray:
    """The cotangent of a diagonal (or of its sum) in the array it was taken from."""
    out = np.zeros(shape, dtype)
    if len(shape) == 2 and not axis1 and axis2 == 1:
        n, m = shape
        k = max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))
        first = offset if offset >= 0 else -offset * m
        out.reshape(-1)[first : first + k * (m + 1) : m + 1][:k] = dy
        return out
    moved = np.moveaxis(out, (axis1, axis2), (-2, -1))
    n, m = moved.shape[-2:]
    k = max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))
    rows = np.arange(k) + max(-offset, 0)
    moved[..., rows, rows + offset] = dy
    return out


def _diagonal_rule(f: Any, alias: tuple[int, ...]) -> None:
    @rrule(f, types=(Array,), alias=alias)
    def rule(a, offset=0, axis1=0, axis2=1):
        shape = a.shape

        def pullback(dy):
            return (on_diagonal(dy, shape, a.dtype, offset, axis1, axis2),)

        return np.ndarray.diagonal(a, offset, axis1, axis2), pullback


_diagonal_rule(np.diagonal, (0,))
_diagonal_rule(np.ndarray.diagonal, (0,))


@rrule(np.trace, types=(Array,), fallback=True)
@rrule(np.ndarray.trace, fallback=True)
def trace_converted(a, offset=0, axis1=0, axis2=1, dtype=None):
    def pullback(dy):
        return (on_diagonal(np.asarray(dy)[..., None], a.shape, a.dtype, offset, axis1, axis2),)

    return np.ndarray.trace(a, offset, axis1, axis2, dtype), pullback


@rrule(np.trace, types=(Array,))
@rrule(np.ndarray.trace)
def trace(a, offset=0, axis1=0, axis2=1):
    shape = a.shape

    def pullback(dy):
        return (
            on_diagonal(dy if len(shape) == 2 else np.asarray(dy)[..., None], shape, a.dtype, offset, axis1, axis2),
        )

    return np.ndarray.trace(a, offset, axis1, axis2), pullback


@rrule(np.diag, types=(Array,), alias=(0,))
def diag(v, k=0):
    shape = v.shape

    def pullback(dy):
        if len(shape) == 1:
            return (np.diagonal(dy, k),)
        return (on_diagonal(dy, shape, v.dtype, k, 0, 1),)

    return np.diag(v, k), pullback


@rrule(np.diagflat, types=(Array,))
def diagflat(v, k=0):
    shape = v.shape

    def pullback(dy):
        return (np.diagonal(dy, k).reshape(shape),)

    return np.diagflat(v, k), pullback


# -- repetition -------------------------------------------------------------------------------------------


def gathered(dy: np.ndarray, shape: tuple[int, ...], index: Any, axis: Any) -> np.ndarray:
    """Add every element of dy where `index` (into `axis`, None: the flattened array) says it came from."""
    out = np.zeros(shape, dy.dtype)
    if axis is None or not shape:
        np.add.at(out.reshape(-1), index, dy)
        return out
    axis %= len(shape)
    index = np.asarray(index)
    place = (slice(None),) * axis + (index,)
    np.add.at(out, place, dy)
    return out


@rrule(np.repeat, types=(Array,))
@rrule(np.ndarray.repeat)
def repeat(a, repeats, axis=None):
    shape = a.shape

    def pullback(dy):
        n = a.size if axis is None else shape[axis]
        return (gathered(dy, shape, np.repeat(np.arange(n), repeats), axis),)

    return np.ndarray.repeat(a, repeats, axis), pullback


@rrule(np.repeat, types=(Scalar,))
def repeat_number(a, repeats):
    def pullback(dy):
        return (np.add.reduce(dy),)

    return np.repeat(a, repeats), pullback


def untiled(dy: np.ndarray, shape: tuple[int, ...], reps: Any) -> np.ndarray:
    reps = (reps,) if isinstance(reps, (int, np.integer)) else tuple(reps)
    n = max(len(shape), len(reps))
    reps, full = (1,) * (n - len(reps)) + reps, (1,) * (n - len(shape)) + shape
    t = dy.reshape([k for pair in zip(reps, full, strict=True) for k in pair])
    return np.add.reduce(t, tuple(range(0, 2 * n, 2))).reshape(shape)


@rrule(np.tile, types=(Array,))
def tile(A, reps):
    shape = A.shape

    def pullback(dy):
        return (untiled(dy, shape, reps),)

    return np.tile(A, reps), pullback


@rrule(np.meshgrid)
def meshgrid(*xi, indexing="xy", sparse=False):
    def pullback(dy):
        return meshgrid_cotangents(dy, xi, indexing)

    return np.meshgrid(*xi, indexing=indexing, sparse=sparse), pullback


@overlay(np.meshgrid)
def meshgrid_sharing(*xi, indexing="xy", sparse=False, copy=True):
    """With copy=False the results are views of what is given."""
    if copy:
        return np.meshgrid(*xi, indexing=indexing, sparse=sparse)
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(xi)
    lengths, out = [1] * n, []
    for i, x in enumerate(xi):
        axis = 1 - i if indexing == "xy" and i < 2 and n > 1 else i
        shape = [1] * n
        shape[axis] = -1
        out.append(np.reshape(np.asarray(x), shape))
        lengths[axis] = out[-1].size
    return tuple([x if sparse else np.broadcast_to(x, lengths) for x in out])


def meshgrid_cotangents(dy: Any, xi: Any, indexing: str) -> tuple[Any, ...]:
    out: list[Any] = []
    for i, (d, x) in enumerate(zip(dy, xi, strict=True)):
        if d is None:
            out.append(None)
            continue
        axis = 1 - i if indexing == "xy" and i < 2 and len(xi) > 1 else i
        t = np.add.reduce(d, tuple(k for k in range(d.ndim) if k != axis))
        out.append(t.reshape(np.shape(x)) if isinstance(x, np.ndarray) else unstack(t, x) if np.ndim(x) else t.sum())
    return tuple(out)


# -- padding, insertion, deletion -------------------------------------------------------------------------

_STATISTICS: dict[str, Any] = {"mean": np.mean, "maximum": np.max, "minimum": np.min, "median": np.median}

_MOVED = ("constant", "edge", "reflect", "symmetric", "wrap")


def unpadded(dy: np.ndarray, shape: tuple[int, ...], width: Any, mode: str) -> np.ndarray:
    if mode == "constant":
        pairs = pairs_of(width, len(shape))
        return dy[tuple(slice(int(lo), int(lo) + n) for (lo, _), n in zip(pairs, shape, strict=True))]
    index = np.pad(np.arange(int(np.prod(shape))).reshape(shape), width, mode)
    return gathered(dy, shape, index, None)


@rrule(np.pad, types=(Array,))
def pad(array, pad_width, mode="constant"):
    shape = array.shape

    def pullback(dy):
        if mode in _MOVED:
            return (unpadded(dy, shape, pad_width, mode),)
        return mirrored(pad_with, signature(pad_with), (array, pad_width, mode), {}, dy)[:1]

    if mode not in _MOVED and mode not in ("linear_ramp", "mean", "maximum", "minimum", "median"):
        if callable(mode):
            raise NotDifferentiated(
                "np.pad by a function that is given no keyword is not differentiated: pass it one, "
                "np.pad(x, 1, f, unused=0)"
            )
        raise NotDifferentiated(f"np.pad in mode {mode!r} is not differentiated")
    return np.pad(array, pad_width, mode), pullback


@rrule(np.pad, types=(Array,), fallback=True)
def pad_reflected(array, pad_width, mode="reflect", reflect_type="even"):
    """Every axis by the matrix of its padding: odd reflections are linear too."""
    shape = array.shape

    def pullback(dy):
        for k, (width, n) in enumerate(zip(pairs_of(pad_width, len(shape)), shape, strict=True)):
            matrix = np.pad(np.eye(n, dtype=dy.dtype), [width, (0, 0)], mode, reflect_type=reflect_type)
            dy = np.moveaxis(np.tensordot(dy, matrix, (k, 0)), -1, k)
        return (dy,)

    return np.pad(array, pad_width, mode, reflect_type=reflect_type), pullback


def pairs_of(x: Any, ndim: int) -> list[Any]:
    """For every axis what is given for before and after it."""
    if isinstance(x, dict):
        return [np.broadcast_to(np.asarray(x.get(k, x.get(k - ndim, 0))), (2,)).tolist() for k in range(ndim)]
    return np.broadcast_to(np.asarray(x), (ndim, 2)).tolist()


zero_derivative(pairs_of)


def pair_at(x, k, side):
    """What a number, a pair, or pairs for every axis say of one side of one axis."""
    if np.ndim(x) == 0:
        return x
    row = x[k if len(x) > 1 and np.ndim(x[0]) == 1 else 0] if np.ndim(x[0]) == 1 else x
    return row[side if len(row) > 1 else 0]


def border(x, n, side, mode, constant, end, length):
    """What is put before (side 0) or after (1) the first axis of x, n wide."""
    edge = x[:1] if side == 0 else x[-1:]
    if mode == "constant":
        return np.zeros((n, *x.shape[1:])) + constant
    if mode == "linear_ramp":
        steps = np.reshape(np.arange(n) / max(n, 1), (n,) + (1,) * (x.ndim - 1))
        ramp = end + steps * (edge - end)
        return ramp if side == 0 else np.flip(ramp, 0)
    part = x if length is None else x[:length] if side == 0 else x[len(x) - min(length, len(x)) :]
    return np.zeros((n, *x.shape[1:])) + _STATISTICS[mode](part, axis=0, keepdims=True)


@mirrors(np.pad, types=(Array,), fallback=True)
def pad_with(array, pad_width, mode="constant", constant_values=0, end_values=0, stat_length=None):
    y = array
    widths = pairs_of(pad_width, array.ndim)
    for k in range(array.ndim):
        x = np.moveaxis(y, k, 0)
        parts = [x]
        for side in (0, 1):
            n = widths[k][side]
            length = None if stat_length is None else pair_at(stat_length, k, side)
            new = border(x, n, side, mode, pair_at(constant_values, k, side), pair_at(end_values, k, side), length)
            parts = [new, *parts] if side == 0 else [*parts, new]
        y = np.moveaxis(np.concatenate(parts), 0, k)
    return y


@rrule(np.delete, types=(Array,))
def delete(arr, obj, axis=None):
    shape = arr.shape

    def pullback(dy):
        n = arr.size if axis is None else shape[axis]
        return (gathered(dy, shape, np.delete(np.arange(n), obj), axis),)

    return np.delete(arr, obj, axis), pullback


def insert_cotangents(dy: np.ndarray, arr: np.ndarray, obj: Any, values: Any, axis: Any) -> tuple[Any, ...]:
    n = arr.size if axis is None else arr.shape[axis]
    k = 0 if axis is None else axis % arr.ndim
    count = dy.shape[k] - n
    source = np.insert(np.arange(n), obj, -1 - np.arange(count))  # where each comes from, what was inserted negative
    da = np.compress(source >= 0, dy, k).reshape(arr.shape)
    t = np.take(dy, np.argsort(-source, kind="stable")[len(source) - count :], k)
    if np.ndim(obj) == 0 and not isinstance(obj, slice):  # at one place values lie along the first axis
        t = np.moveaxis(t, k, 0)
    return da, None, unstack(unbroadcast(t, np.shape(values)), values)


@rrule(np.insert, types=(Array,))
def insert(arr, obj, values, axis=None):
    def pullback(dy):
        return insert_cotangents(dy, arr, obj, values, axis) if is_inexact(arr) else None

    return np.insert(arr, obj, values, axis), pullback


pure.update({
    opposite, on_diagonal, gathered, untiled, meshgrid_cotangents, unpadded, insert_cotangents, pairs_of,
    np.pad, np.delete, np.insert, np.tile,
})  # fmt: skip


def _inserted(args: Types, kwargs: dict[str, T]) -> T | None:
    a, axis = args[0], argument(args, kwargs, 3, "axis")
    if not isinstance(a, Arr) or a.dtype is None:
        return None
    n = 1 if axis in (None, Known(None)) else a.ndim if isinstance(axis, Known) else None
    return Arr(a.dtype, n, a.act or any(t.active for t in args[2:3])) if n else None


infer_table[np.insert] = _inserted
reduces(
    np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.triu, np.tril, np.diagonal, np.ndarray.diagonal, np.trace,
    np.ndarray.trace, np.diag, np.diagflat, np.repeat, np.ndarray.repeat, np.meshgrid,
)  # fmt: skip


def _ndim_of(ndim: Callable[[Types, dict[str, T]], int | None]) -> Callable[[Types, dict[str, T]], T | None]:
    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        act = any(t.active for t in args) or any(t.active for t in kwargs.values())
        if any(k.startswith("return") for k in kwargs):
            return Top(act)
        return Arr(a.dtype, ndim(args, kwargs), act) if isinstance(a, Arr) else Top(act)

    return infer


def _same(args: Types, kwargs: dict[str, T]) -> int | None:
    return args[0].ndim if isinstance(args[0], Arr) else None


def _flat_without_axis(at: int) -> Callable[[Types, dict[str, T]], int | None]:
    def ndim(args: Types, kwargs: dict[str, T]) -> int | None:
        axis = kwargs.get("axis") or (args[at] if len(args) > at else Known(None))
        return 1 if isinstance(axis, Known) and axis.value is None else _same(args, kwargs)

    return ndim


infer_table[np.pad] = _ndim_of(_same)
infer_table[np.delete] = _ndim_of(_flat_without_axis(2))


def _tiled(args: Types, kwargs: dict[str, T]) -> int | None:
    n, reps = _same(args, kwargs), argument(args, kwargs, 1, "reps")
    times = None if reps is None else shape_ndim(reps)
    return None if n is None or times is None else max(n, times)


infer_table[np.tile] = _ndim_of(_tiled)


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, -0.4])
_M = _V.reshape(2, 3).copy()
_T = np.cos(np.arange(24.0)).reshape(2, 3, 4)
_I = np.array([0, 2, 2, 1])

CASES: list[RuleCase] = [
    case(np.flip, _T), case(np.flip, _T, 1), case(np.flip, _T, axis=(0, 2)), case(np.fliplr, _M), case(np.flipud, _M),
    case(np.rot90, _M), case(np.rot90, _T, 3, (1, 2)), case(np.roll, _V, 2), case(np.roll, _M, 1, axis=1),
    case(np.roll, _T, (1, 2), axis=(0, 2)), case(np.triu, _T[0]), case(np.triu, _T[0, 0], 1), case(np.tril, _T[0, 0]),
    case(np.tril, _T, -1), case(np.triu, _T, k=1),
    case(np.diagonal, _M), case(np.diagonal, _T, 1, 1, 2), case(np.ndarray.diagonal, _M, -1), case(np.trace, _M),
    case(np.trace, _T, 1, 2, 1), case(np.ndarray.trace, _M), case(np.diag, _V), case(np.diag, _M),
    case(np.diag, _M, 1), case(np.diag, _V, -2), case(np.diagflat, _M), case(np.repeat, _V, 2),
    case(np.repeat, _M, 3, axis=1), case(np.repeat, _M, np.array([2, 0, 1]), axis=1), case(np.ndarray.repeat, _M, 2),
    case(np.repeat, 0.5, 3), case(np.tile, _V, 2), case(np.tile, _M, (2, 1, 3)), case(np.tile, _T, (2, 2)),
    case(np.meshgrid, _V[:2], _V[:3]), case(np.meshgrid, _V[:2], _V[:3], indexing="ij"),
    case(np.meshgrid, _V[:2], _V[:3], _V[:4], sparse=True), case(np.pad, _V, 2), case(np.pad, _M, ((1, 0), (2, 1))),
    case(np.pad, _M, 1, "edge"), case(np.pad, _M, 1, mode="reflect"), case(np.pad, _M, 1, mode="wrap"),
    case(np.pad, _M, 1, constant_values=0.5),
    *[case(np.pad, _M, ((1, 2), (2, 1)), m, reflect_type="odd") for m in ("reflect", "symmetric")],
    case(np.pad, _V, 3, "reflect", reflect_type="even"), case(np.delete, _V, 2), case(np.delete, _M, [0, 2], axis=1),
    case(np.insert, _V, 2, 0.5), case(np.insert, _V, [1, 4], np.array([0.5, 0.7])),
    case(np.insert, _M, 1, np.array([0.5, 0.7]), axis=1), case(np.insert, _V, 1, np.array([0.5, 0.7])),
    case(np.insert, _M, 0, 0.5, axis=0), case(np.insert, _V, [4, 1], np.array([0.5, 0.7])),
    case(np.insert, _M, [0, 2], _V[:2, None], axis=1), case(np.insert, _V, [2], np.array([0.5, 0.7])),
    case(np.insert, _V, slice(0, 2), 0.5), case(np.insert, _M, -1, _V[:3], axis=0),
    case(np.insert, _V, np.array([True, False, True, False, False, False]), 0.3),
    case(np.insert, _V, [-1, 0], [0.5, 0.7]), case(np.delete, _V, slice(1, 4, 2)), case(np.delete, _V, _V > 0),
    case(np.delete, _M, -1, 0), case(np.trace, _M, dtype=np.float32), case(np.trace, _T, out=np.zeros(4)),
    case(np.resize, _V, (2, 5)), case(np.resize, _M, 4), case(np.resize, _V[:0], 3), case(np.flip, _M, (0, 1)),
    case(np.roll, _V, [2]),
]  # fmt: skip

CASES += [case(getattr(np, name), _V) for name in ("msort", "asfarray") if name in vars(np)]  # NumPy 1
