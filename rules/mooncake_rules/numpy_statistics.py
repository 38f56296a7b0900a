"""Variance, medians, quantiles, weighted averages."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Known, T, Top
from mooncake_py.registry import Array, infer_table, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.inference import Types, is_dtype, reduces
from mooncake_rules.numpy_reduce import count, kept, mean
from mooncake_rules.sequences import also_of_sequences


def var_cotangent(dy: Any, a: np.ndarray, axis: Any, ddof: Any) -> np.ndarray:
    """var = sum |a - m|^2 / (n - ddof)."""
    centred = a - np.add.reduce(a, axis, None, None, True) / count(a.shape, axis)
    return centred * (kept(dy, a.shape, axis) * (2.0 / (count(a.shape, axis) - ddof)))


def std_cotangent(dy: Any, y: Any, a: np.ndarray, axis: Any, ddof: Any) -> np.ndarray:
    """That of the root of the variance, zero where all are equal."""
    return var_cotangent(dy / np.where(y == 0, 1, 2 * y) * (y != 0), a, axis, ddof)


pure.update({var_cotangent, std_cotangent})


@rrule(np.var, types=(Array,))
@rrule(np.ndarray.var)
def var(a, axis=None, *, ddof=0, keepdims=False):
    def pullback(dy):
        return (var_cotangent(dy, a, axis, ddof),)

    return np.ndarray.var(a, axis, ddof=ddof, keepdims=keepdims), pullback


@rrule(np.std, types=(Array,))
@rrule(np.ndarray.std)
def std(a, axis=None, *, ddof=0, keepdims=False):
    y = np.ndarray.std(a, axis, ddof=ddof, keepdims=keepdims)

    def pullback(dy):
        return (std_cotangent(dy, y, a, axis, ddof),)

    return y, pullback


# -- order statistics -------------------------------------------------------------------------------------


def _rows(a: np.ndarray, axis: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """The array with the axes to reduce as its last one, and which they were."""
    axes = (
        tuple(range(a.ndim)) if axis is None else tuple(k % a.ndim for k in (axis if type(axis) is tuple else (axis,)))
    )
    moved = np.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
    return moved.reshape((*moved.shape[: a.ndim - len(axes)], -1)), axes


def _back(t: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    n = len(shape)
    rest = [shape[k] for k in range(n) if k not in axes]
    return np.moveaxis(t.reshape([*rest, *(shape[k] for k in axes)]), range(n - len(axes), n), axes)


def quantile_cotangents(dy: Any, a: np.ndarray, q: Any, axis: Any) -> tuple[np.ndarray, Any]:
    """Linear interpolation between the two nearest of the sorted values, at q (n - 1)."""
    rows, axes = _rows(a, axis)
    n = rows.shape[-1]
    order = np.argsort(rows, -1, "stable")
    ordered = np.take_along_axis(rows, order, -1)
    qs = np.atleast_1d(q)
    dys = np.asarray(dy).reshape((len(qs) if np.ndim(q) else 1, *rows.shape[:-1]))
    t = np.zeros(rows.shape, rows.dtype)
    dq = np.zeros(len(qs))
    for i, (x, d) in enumerate(zip(qs, dys, strict=True)):
        p = x * (n - 1)
        lo = min(int(p), n - 1)
        hi, w = min(lo + 1, n - 1), p - lo
        t[..., lo] += d * (1 - w)
        t[..., hi] += d * w
        dq[i] = np.sum(d * (ordered[..., hi] - ordered[..., lo])) * (n - 1)
    out = np.empty_like(t)
    np.put_along_axis(out, order, t, -1)
    return _back(out, a.shape, axes), dq if np.ndim(q) else dq[0]


pure.add(quantile_cotangents)


@rrule(np.median, types=(Array,))
def median(a, axis=None, *, keepdims=False):
    def pullback(dy):
        return (quantile_cotangents(dy, a, 0.5, axis)[0],)

    return np.median(a, axis, keepdims=keepdims), pullback


@rrule(np.quantile, types=(Array,))
def quantile(a, q, axis=None, *, keepdims=False):
    def pullback(dy):
        return quantile_cotangents(dy, a, q, axis)

    return np.quantile(a, q, axis, keepdims=keepdims), pullback


@rrule(np.percentile, types=(Array,))
def percentile(a, q, axis=None, *, keepdims=False):
    def pullback(dy):
        da, dq = quantile_cotangents(dy, a, np.asarray(q) / 100, axis)
        return da, dq / 100

    return np.percentile(a, q, axis, keepdims=keepdims), pullback


# -- weighted averages ------------------------------------------------------------------------------------


def average_cotangents(dy: Any, y: Any, a: np.ndarray, w: np.ndarray, axis: Any) -> tuple[np.ndarray, np.ndarray]:
    spread = w if w.shape == a.shape else w.reshape([a.shape[axis] if k == axis % a.ndim else 1 for k in range(a.ndim)])
    full = np.broadcast_to(spread, a.shape)
    share = kept(dy, a.shape, axis) / np.add.reduce(full, axis, None, None, True)
    return share * full, unbroadcast(share * (a - kept(y, a.shape, axis)), spread.shape).reshape(w.shape)


pure.add(average_cotangents)


@rrule(np.average, types=(Array,))
def average(a, axis=None, *, keepdims=False):
    return mean(a, axis, keepdims=keepdims)


@rrule(np.average, types=(Array,))
def average_weighted(a, axis=None, *, weights, keepdims=False):
    if weights is None:
        return mean(a, axis, keepdims=keepdims)
    w = np.asarray(weights)
    y = np.average(a, axis, w, keepdims=keepdims)

    def pullback(dy):
        da, dw = average_cotangents(dy, y, a, w, axis)
        return da, None, dw if isinstance(weights, np.ndarray) else dw.tolist()

    return y, pullback


reduces(np.var, np.ndarray.var, np.std, np.ndarray.std, np.median)
also_of_sequences(np.median, median)
also_of_sequences(np.var, var)
also_of_sequences(np.std, std)
infer_table[np.average] = lambda args, kwargs: _average_type(args, kwargs)
infer_table[np.quantile] = infer_table[np.percentile] = lambda args, kwargs: Top(any(t.active for t in args))
pure.update({np.average, np.quantile, np.percentile})


def _average_type(args: Types, kwargs: dict[str, T]) -> T | None:
    """That of the mean, for real weights of double precision."""
    plain = {k: t for k, t in kwargs.items() if k != "weights"}
    w = kwargs.get("weights")
    act = args[0].active or (w is not None and w.active)
    if isinstance(w, Arr) and is_dtype(w.dtype, float) and isinstance(args[0], Arr) and is_dtype(args[0].dtype, float):
        args = (Arr(args[0].dtype, args[0].ndim, act), *args[1:])
    elif w is not None and not (isinstance(w, Known) and w.value is None):
        return Top(act)
    return infer_table[np.mean](args, plain) if len(args) < 3 else Top(act)


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_T = np.sin(np.arange(24.0) * 1.7).reshape(2, 3, 4) + 0.1
_Z = _T[0] + 1j * _T[1]

CASES: list[RuleCase] = []
for _f in (np.var, np.std, np.ndarray.var, np.ndarray.std):
    CASES += [
        case(_f, _V),
        case(_f, _T, axis=1),
        case(_f, _T, axis=(0, 2), keepdims=True),
        case(_f, _T, 0, ddof=1),
        case(_f, _Z, axis=0),
    ]
    CASES.append(case(_f, _V.astype(np.float32)))
CASES += [
    case(np.median, _V), case(np.median, _T), case(np.median, _T, axis=1),
    case(np.median, _T, axis=(0, 2), keepdims=True), case(np.quantile, _V, 0.3), case(np.quantile, _T, 0.55, axis=1),
    case(np.percentile, _T, [20, 77], axis=0), case(np.percentile, _V, 40),
    case(np.quantile, _V, np.array([0.3, 0.6])), case(np.average, _V), case(np.average, _T, axis=1),
    case(np.average, _V, weights=_V + 2), case(np.average, _T, axis=1, weights=np.array([0.5, 1.0, 0.2])),
    case(np.average, _T, weights=_T + 2), case(np.median, [0.5, 0.2, 0.9]), case(np.std, [0.5, 0.2, 0.9]),
]  # fmt: skip
