"""Views by strides: windows over an array, and `as_strided`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.types import Arr, T
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, pure, rrule
from mooncake_py.testing import RuleCase, case


def places(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """How many bytes each element is after the first."""
    out = np.zeros((), np.int64)
    for n, step in zip(shape, strides, strict=True):
        out = out[..., None] + step * np.arange(n)
    return out


def strided_cotangent(
    dy: np.ndarray, strides: tuple[int, ...], shape: tuple[int, ...], steps: tuple[int, ...]
) -> np.ndarray:
    """The cotangent of an array of this shape and these steps, for that of a view with other strides."""
    there = places(shape, steps).ravel()
    order = np.argsort(there, kind="stable")
    wanted = places(dy.shape, strides).ravel()
    at = np.minimum(np.searchsorted(there, wanted, sorter=order), max(there.size - 1, 0))
    found = order[at] if there.size else at
    if wanted.size and (not there.size or not np.array_equal(there[found], wanted)):
        raise NotDifferentiated("as_strided shows memory outside of the array it was given")
    out = np.zeros(there.size, dy.dtype)
    np.add.at(out, found, dy.ravel())
    return out.reshape(shape)


@rrule(as_strided, types=(Array,), alias=(0,))
def strided(x, shape=None, strides=None, subok=False, writeable=True):
    y = as_strided(x, shape, strides, subok, writeable)
    steps = y.strides
    of_shape, of_steps = x.shape, x.strides

    def pullback(dy):
        return strided_cotangent(dy, steps, of_shape, of_steps)

    return y, pullback


def window_cotangent(dy: np.ndarray, shape: tuple[int, ...], axis: Any) -> np.ndarray:
    """The cotangent of an array of this shape, for that of the windows over it: one slice per place in a window, or
    per window where most are looked at by nobody, as those between the steps of a spectrogram."""
    n = len(shape)
    axes = range(n) if axis is None else [k % n for k in np.atleast_1d(axis)]
    out = np.zeros(shape, dy.dtype)
    windows = dy.shape[:n]
    used = np.flatnonzero(dy.reshape(math.prod(windows), math.prod(dy.shape[n:])).any(axis=1))
    if len(set(axes)) == dy.ndim - n and len(used) < math.prod(dy.shape[n:]):
        order = np.argsort(axes)
        for at in zip(*np.unravel_index(used, windows), strict=True):
            where = [slice(i, i + 1) for i in at]
            for k, m in zip(axes, dy.shape[n:], strict=True):
                where[k] = slice(at[k], at[k] + m)
            window = np.transpose(dy[at], order)
            out[tuple(where)] += window.reshape([w.stop - w.start for w in where])
        return out
    for at in np.ndindex(*dy.shape[n:]):
        where = [slice(0, m) for m in dy.shape[:n]]
        for k, i in zip(axes, at, strict=True):
            where[k] = slice(where[k].start + i, where[k].stop + i)
        out[tuple(where)] += dy[(..., *at)]
    return out


@rrule(sliding_window_view, types=(Array,), alias=(0,))
def windows(x, window_shape, axis=None, *, subok=False, writeable=False):
    shape = x.shape

    def pullback(dy):
        return window_cotangent(dy, shape, axis)

    return sliding_window_view(x, window_shape, axis, subok=subok, writeable=writeable), pullback


def _view_type(args: Any, kwargs: Any) -> T | None:
    a = args[0]
    return Arr(a.dtype, None, a.act) if isinstance(a, Arr) else None


infer_table[as_strided] = infer_table[sliding_window_view] = _view_type
pure.update({as_strided, sliding_window_view, strided_cotangent, window_cotangent})

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_M = np.sin(np.arange(20.0)).reshape(4, 5)


def _blocks(a: Any) -> Any:
    step = a.strides[0]
    return as_strided(a, (3, 2, 2, 2), (step, a.strides[1], step, a.strides[1]))


def _written(a: Any) -> Any:
    b = a * 1.0
    halves = as_strided(b, shape=(2, 10), strides=(80, 8))
    halves[1] *= a[0, 0]
    return b * halves.sum()


CASES: list[RuleCase] = [
    case(sliding_window_view, _V, 2), case(sliding_window_view, _M, (2, 3)), case(sliding_window_view, _M, 3, axis=1),
    case(sliding_window_view, _M, (2, 2), axis=(1, 1)), case(sliding_window_view, _M, (2, 2), (-1, 0), writeable=True),
    case(lambda a: sliding_window_view(a, 3)[::2], _V), case(lambda a: sliding_window_view(a, (2, 3))[:1, :1], _M),
    case(lambda a: sliding_window_view(a, 2, axis=-1)[1:, 1:2], _M),
    case(lambda a: sliding_window_view(a, (3, 2), (1, 0))[:1, ::4], _M),
    case(lambda a: sliding_window_view(a, 2) * a[0], _V), case(sliding_window_view, _M.astype(np.float32), (2, 3)),
    case(_blocks, _M), case(_blocks, _M.T), case(_blocks, _M[::-1, ::2]), case(_written, _M),
    case(lambda a: as_strided(a, writeable=False) * a, _M), case(lambda a: as_strided(a[1:], (2, 3), (8, 8)), _V),
]  # fmt: skip
