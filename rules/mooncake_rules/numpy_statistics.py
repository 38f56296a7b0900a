"""Variance, medians, quantiles, weighted averages."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Known, T, Top
from mooncake_py.kinds import Array
from mooncake_py.registry import infer_table, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, real_of, unbroadcast
from mooncake_rules.inference import Types, gives_one, is_dtype, reduces
from mooncake_rules.mirror import mirrors
from mooncake_rules.numpy_reduce import count, kept, mean
from mooncake_rules.sequences import also_of_sequences, unstack

_none = np._NoValue
_TWO = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def var_cotangent(dy: Any, a: np.ndarray, axis: Any, ddof: Any) -> np.ndarray:
    """var = sum |a - m|^2 / (n - ddof)."""
    if not a.size:
        return np.zeros(a.shape, a.dtype)
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


def _of_squares(a: Any, axis: Any, ddof: Any, keepdims: Any, where: Any, mean: Any, correction: Any) -> Any:
    there = np.broadcast_to(where, a.shape)
    m = (
        np.sum(np.where(there, a, 0), axis, keepdims=True) / np.sum(there, axis, keepdims=True)
        if mean is _none
        else mean
    )
    d = np.where(there, a - m, 0)
    n = np.sum(there, axis, keepdims=keepdims)
    return np.sum(np.real(d * np.conjugate(d)), axis, keepdims=keepdims) / (
        n - (ddof if correction is _none else correction)
    )


@mirrors(np.var, np.ndarray.var, types=(Array,), fallback=True)
def var_where(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=_none, correction=_none):
    return _of_squares(a if dtype is None else a.astype(dtype), axis, ddof, keepdims, where, mean, correction)


@mirrors(np.std, np.ndarray.std, types=(Array,), fallback=True)
def std_where(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=_none, correction=_none):
    v = _of_squares(a if dtype is None else a.astype(dtype), axis, ddof, keepdims, where, mean, correction)
    return np.where(v == 0, 0, np.sqrt(np.where(v == 0, 1, v)))


# -- order statistics -------------------------------------------------------------------------------------


def _rows(a: np.ndarray, axis: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """The array with the axes to reduce as its last one, and which they were."""
    axes = (
        tuple(range(a.ndim)) if axis is None else tuple(k % a.ndim for k in (axis if type(axis) is tuple else (axis,)))
    )
    moved = np.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
    return moved.reshape((*moved.shape[: a.ndim - len(axes)], math.prod([a.shape[k] for k in axes]))), axes


def _back(t: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    n = len(shape)
    rest = [shape[k] for k in range(n) if k not in axes]
    return np.moveaxis(t.reshape([*rest, *(shape[k] for k in axes)]), range(n - len(axes), n), axes)


_PLOTTING: dict[str, tuple[float, float]] = {
    "linear": (1.0, 1.0), "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip


_PICKING = ("lower", "higher", "nearest", "inverted_cdf", "closest_observation")


def neighbours(n: int, q: float, method: str) -> tuple[int, int, float, float]:
    """Between which of n sorted values the quantile lies, the weight of the second, and how that varies with q.

    Hyndman and Fan, "Sample quantiles in statistical packages" (1996). Methods that take the mean of two values give
    halves.
    """
    if method in _PLOTTING:
        alpha, beta = _PLOTTING[method]
        p = n * q + (alpha + q * (1 - alpha - beta)) - 1
        if not 0 <= p <= n - 1:
            k = 0 if p < 0 else n - 1
            return k, k, 0.0, 0.0
        lo = min(int(p), n - 1)
        return lo, min(lo + 1, n - 1), p - lo, n + 1 - alpha - beta
    p = (n - 1) * q
    if method == "midpoint":
        return int(np.floor(p)), int(np.ceil(p)), 0.5, 0.0
    if method == "averaged_inverted_cdf":
        p = n * q
        k = int(p) if p == int(p) else int(np.ceil(p))
        lo = min(max(k - 1, 0), n - 1)
        return lo, min(k, n - 1) if p == int(p) and k > 0 else lo, 0.5, 0.0
    raise ValueError(f"{method!r} is not a method of np.quantile")


def row_cotangent(x: np.ndarray, qs: np.ndarray, ds: np.ndarray, method: str, dq: np.ndarray) -> np.ndarray:
    """The cotangent of one row; that of the quantiles' places is added to dq."""
    order = np.argsort(x, kind="stable")
    t = np.zeros(x.shape, np.result_type(x, ds))
    if np.isnan(x[order[-1]]):
        t[np.isnan(x)] = np.nan
        return t
    for i, (q, d) in enumerate(zip(qs, ds, strict=True)):
        lo, hi, w, speed = neighbours(len(x), float(q), method)
        t[order[lo]] += d * (1 - w)
        t[order[hi]] += d * w
        dq[i] += d * (x[order[hi]] - x[order[lo]]) * speed
    return t


def quantile_cotangents(
    dy: Any, a: np.ndarray, q: Any, axis: Any, method: str = "linear", leave_out_nan: bool = False
) -> tuple[np.ndarray, Any]:
    rows, axes = _rows(a, axis)
    qs = np.ravel(np.asarray(q, float))
    flat = rows.reshape((math.prod(rows.shape[:-1]), rows.shape[-1]))
    dys = np.asarray(dy).reshape((len(qs), len(flat)))
    t = np.zeros(flat.shape, a.dtype)
    dq = np.zeros(len(qs))
    for r, x in enumerate(flat):
        there = ~np.isnan(x) if leave_out_nan else np.ones(len(x), bool)
        if there.any():
            t[r, there] = row_cotangent(x[there], qs, dys[:, r], method, dq)
    return _back(t.reshape(rows.shape), a.shape, axes), unstack(dq.reshape(np.shape(q)), q)


def picked_cotangent(dy: Any, y: Any, a: np.ndarray, axis: Any) -> np.ndarray:
    """Of quantiles that are elements: that of the first element equal to each."""
    rows, axes = _rows(a, axis)
    ys = np.asarray(y)
    ys = ys.reshape((ys.size // max(1, math.prod(rows.shape[:-1])), *rows.shape[:-1], 1))
    dys = np.asarray(dy).reshape(ys.shape)
    t = np.zeros(rows.shape, rows.dtype)
    for v, d in zip(ys, dys, strict=True):
        hit = rows == v
        t += d * (hit & (np.add.accumulate(hit, -1) == 1))
    return _back(t, a.shape, axes)


pure.update({quantile_cotangents, picked_cotangent})


def _medians(f: Any, nan: bool) -> None:
    @rrule(f, types=(Array,))
    def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
        y = f(a, axis, keepdims=keepdims)

        def pullback(dy):
            return (quantile_cotangents(dy, a, 0.5, axis, "linear", nan)[0],)

        return y, pullback


def _quantiles(f: Any, scale: float, nan: bool) -> None:
    @rrule(f, types=(Array,))
    def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
        y = f(a, q, axis, method=method, keepdims=keepdims)

        def pullback(dy):
            if method in _PICKING:
                return picked_cotangent(dy, y, a, axis), unstack(np.zeros(np.shape(q)), q)
            da, dq = quantile_cotangents(dy, a, np.asarray(q) / scale, axis, method, nan)
            return da, unstack(np.asarray(dq) / scale, q)

        return y, pullback

    @rrule(f, types=(Array,))
    def quantile_weighted(a, q, axis=None, *, method, keepdims=False, weights):
        y = f(a, q, axis, method=method, keepdims=keepdims, weights=weights)

        def pullback(dy):
            return picked_cotangent(dy, y, a, axis), None

        return y, pullback


_medians(np.median, False)
_medians(np.nanmedian, True)
for _f, _scale, _nan in (
    (np.quantile, 1.0, False), (np.percentile, 100.0, False), (np.nanquantile, 1.0, True),
    (np.nanpercentile, 100.0, True),
):  # fmt: skip
    _quantiles(_f, _scale, _nan)


# -- weighted averages ------------------------------------------------------------------------------------


def average_cotangents(dy: Any, y: Any, a: np.ndarray, w: np.ndarray, axis: Any) -> tuple[np.ndarray, np.ndarray]:
    spread = beside(w, a.shape, axis)
    full = np.broadcast_to(spread, a.shape)
    share = kept(dy, a.shape, axis) / conj(np.add.reduce(full, axis, None, None, True))
    dw = real_of(unbroadcast(share * conj(a - kept(y, a.shape, axis)), spread.shape), w)
    if w.shape != a.shape:
        axes = axes_of(axis, a.ndim)
        dw = dw.reshape([a.shape[k] for k in sorted(axes)]).transpose(np.argsort(np.argsort(axes)))
    return real_of(share * conj(full), a), dw


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes, counted from the first."""
    return tuple([k % ndim for k in (axis if isinstance(axis, tuple) else (axis,))])


def beside(w: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Weights along these axes of an array of that shape, as they broadcast against it."""
    if w.shape == shape:
        return w
    axes = axes_of(axis, len(shape))
    return w.transpose(np.argsort(axes)).reshape([n if k in axes else 1 for k, n in enumerate(shape)])


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


@mirrors(np.average, types=(Array,), fallback=True)
def average_returned(a, axis=None, weights=None, returned=False, keepdims=False):
    w = np.ones_like(a) if weights is None else np.asarray(weights)
    full = beside(w, a.shape, axis) + np.zeros_like(a)
    total = np.sum(full, axis, keepdims=keepdims)
    y = np.sum(a * full, axis, keepdims=keepdims) / total
    return (y, total) if returned else y


# -- covariances ------------------------------------------------------------------------------------------


@mirrors(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, dtype=None):
    x = np.asarray(m)
    x = np.reshape(x, (1, -1)) if x.ndim < 2 else x if rowvar else x.T
    if y is not None:
        z = np.asarray(y)
        z = np.reshape(z, (1, -1)) if z.ndim < 2 else z
        x = np.concatenate((x, z if rowvar or z.shape[0] == 1 else z.T), axis=0)
    n = x.shape[1]
    less = ddof if ddof is not None else 0 if bias else 1
    w = np.ones(n)
    if fweights is not None:
        w = w * np.asarray(fweights)
    if aweights is not None:
        w = w * np.asarray(aweights)
    total = np.sum(w)
    fact = total - less if aweights is None else total - less * np.sum(w * np.asarray(aweights)) / total
    d = x - (np.sum(x * w, 1) / total)[:, None]
    return np.squeeze(np.dot(d, np.conjugate(d * w).T) / fact)


@mirrors(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, dtype=None):
    c = np.atleast_2d(cov(x, y, rowvar))
    s = np.sqrt(np.real(np.diag(c)))
    return np.squeeze(c / s[:, None] / s[None, :])


gives_one(np.quantile, np.percentile, np.nanquantile, np.nanpercentile)
reduces(np.var, np.ndarray.var, np.std, np.ndarray.std, np.median, np.nanmedian)
also_of_sequences(np.var, var)
also_of_sequences(np.std, std)
infer_table[np.average] = lambda args, kwargs: _average_type(args, kwargs)
pure.add(np.average)


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

_N = np.where(_T[0] < -0.7, np.nan, _T[0])
_METHODS = (
    *_PLOTTING, "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation",
)  # fmt: skip

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
    case(np.var, _T[:, :0], axis=0), case(np.std, _T[:, :0], axis=0), case(np.median, _T[:0], axis=1),
    case(np.median, _V), case(np.median, _T), case(np.median, _T, axis=1),
    case(np.median, _T, axis=(0, 2), keepdims=True), case(np.quantile, _V, 0.3), case(np.quantile, _T, 0.55, axis=1),
    case(np.percentile, _T, [20, 77], axis=0), case(np.percentile, _V, 40),
    case(np.quantile, _V, np.array([0.3, 0.6])), case(np.average, _V), case(np.average, _T, axis=1),
    case(np.average, _V * (1 + 0.5j), weights=_V + 2), case(np.average, _V, weights=_V + 2j),
    case(np.average, _V, weights=_V + 2), case(np.average, _T, axis=1, weights=np.array([0.5, 1.0, 0.2])),
    case(np.average, _T, weights=_T + 2), case(np.average, _T, (0, -1), weights=_T[:, 0] + 2),
    case(np.average, _T, axis=(1, 0), weights=_T[..., 0].T + 2, returned=True),
    case(np.average, _T[0], (1, 0), _T[0].T + 2),
    case(np.median, [0.5, 0.2, 0.9]), case(np.std, [0.5, 0.2, 0.9]),
]  # fmt: skip

_N = np.where(_T[0] < -0.7, np.nan, _T[0])
_METHODS = (
    *_PLOTTING, "lower", "higher", "nearest", "midpoint", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation",
)  # fmt: skip
_COUNTS, _WEIGHTS = np.array([1, 2, 1, 3]), np.array([1.0, 2.0, 1.0, 3.0])
CASES += [
    case(np.var, _T, 0, where=_T > -5.0), case(np.std, _T, where=_T > -0.5, keepdims=True),
    case(np.ndarray.std, _T, 1, None, None, 1, True), case(np.var, _V.astype(np.float32), dtype=np.float64),
    *[case(lambda a, q, m=m: np.quantile(a, q, 1, method=m), _T, 0.31) for m in _METHODS],
    *[case(lambda a, m=m: np.percentile(a, [12, 50, 95], method=m), _V) for m in _METHODS], case(np.nanmedian, _N),
    case(np.nanmedian, _N, axis=0), case(np.nanquantile, _N, 0.31, axis=1), case(np.nanpercentile, _N, [20, 70]),
    case(lambda a: np.nanquantile(a, [0.2, 0.6], 0, method="hazen"), _N), case(np.quantile, _V, 0.31, keepdims=True),
    case(np.median, _T[:, :1], 1, None, False, True), case(np.average, _T, 1, np.array([0.5, 1.0, 0.2]), True),
    case(np.average, _V, None, _V + 3, returned=True), case(np.average, _V, returned=True), case(np.cov, _T[0]),
    case(np.cov, _V, _V[::-1] * 2), case(np.cov, _T[0], rowvar=False, bias=True), case(np.cov, _T[0], ddof=0),
    case(np.cov, _Z), case(np.cov, _T[0], aweights=_WEIGHTS), case(np.cov, _T[0], _T[1], False), case(np.cov, _V),
    case(np.cov, [[0.5, 1.0, 2.0], [0.2, 0.1, 0.7]]), case(np.cov, _T[0], fweights=_COUNTS),
    case(np.cov, _T[0], None, True, False, None, _COUNTS, _WEIGHTS), case(np.corrcoef, _T[0]),
    case(np.corrcoef, _V, _V**2), case(np.corrcoef, _T[0], rowvar=False),
]  # fmt: skip
if _TWO:
    CASES += [
        case(lambda a: np.var(a, mean=np.mean(a)), _V), case(np.var, _V, correction=1),
        case(lambda a: np.quantile(a, 0.4, method="inverted_cdf", weights=np.array([1.0, 2.0, 1.0, 0.5, 2.0])), _V),
    ]  # fmt: skip
