"""Differences, integrals, interpolation, convolution, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Inst, T, Top
from mooncake_py.registry import Array, Scalar, infer_table, probed, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, is_complex, total, unbroadcast
from mooncake_rules.inference import Types, element_dtype, is_dtype, reduces
from mooncake_rules.numpy_linalg import pinv_cotangent
from mooncake_rules.sequences import unstack

# -- differences ------------------------------------------------------------------------------------------


def diff_cotangent(dy: np.ndarray, n: int, axis: int) -> np.ndarray:
    for _ in range(n):
        width = [(1, 1) if k == axis % dy.ndim else (0, 0) for k in range(dy.ndim)]
        dy = -np.diff(np.pad(dy, width), 1, axis)
    return dy


@rrule(np.diff, types=(Array,))
def diff(a, n=1, axis=-1):
    def pullback(dy):
        return (diff_cotangent(dy, n, axis),)

    return np.diff(a, n, axis), pullback


def slope_cotangent(dy: np.ndarray, axis: int, h: Any) -> np.ndarray:
    """The adjoint of central differences inside and one-sided ones at the ends."""
    d = np.moveaxis(dy, axis, 0) / h
    out = np.zeros(d.shape, d.dtype)
    out[2:] += d[1:-1] / 2
    out[:-2] -= d[1:-1] / 2
    out[1] += d[0]
    out[0] -= d[0]
    out[-1] += d[-1]
    out[-2] -= d[-1]
    return np.moveaxis(out, 0, axis)


def gradient_cotangents(dy: Any, y: Any, f: np.ndarray, h: Any, axis: Any) -> tuple[Any, Any]:
    axes = tuple(range(f.ndim)) if axis is None else axis if type(axis) is tuple else (axis,)
    dys, ys = (dy, y) if isinstance(y, (list, tuple)) else ((dy,), (y,))
    df: Any = np.zeros_like(f)
    dh = 0.0
    for d, v, k in zip(dys, ys, axes, strict=True):
        if d is not None:
            df = df + slope_cotangent(d, k, h)
            dh = dh - float(np.sum(d * v)) / h
    return df, dh


@rrule(np.gradient, types=(Array, Scalar))
def gradient_spaced(f, h, *, axis=None):
    y = np.gradient(f, h, axis=axis)

    def pullback(dy):
        return gradient_cotangents(dy, y, f, h, axis)

    return y, pullback


@rrule(np.gradient, types=(Array,))
def gradient(f, *, axis=None):
    y = np.gradient(f, axis=axis)

    def pullback(dy):
        return (gradient_cotangents(dy, y, f, 1.0, axis)[0],)

    return y, pullback


def trapezoid_cotangents(dy: Any, y: np.ndarray, x: Any, dx: Any, axis: int) -> tuple[Any, Any, Any]:
    t = np.moveaxis(y, axis, -1)
    d = np.asarray(dy)[..., None]
    if x is None:
        h = dx
    else:
        h = np.diff(x, axis=axis)
        h = np.moveaxis(h, axis, -1) if h.ndim == y.ndim else h
    part = np.broadcast_to(d * h / 2, (*t.shape[:-1], t.shape[-1] - 1))
    out = np.zeros(t.shape, part.dtype)
    out[..., 1:] += part
    out[..., :-1] += part
    mean = d * (t[..., 1:] + t[..., :-1]) / 2
    if x is None:
        return np.moveaxis(out, -1, axis), None, np.sum(mean)
    xs = np.moveaxis(x, axis, -1) if x.ndim == y.ndim else x
    dh = unbroadcast(mean, (*xs.shape[:-1], xs.shape[-1] - 1))
    dxs = np.zeros(xs.shape, dh.dtype)
    dxs[..., 1:] += dh
    dxs[..., :-1] -= dh
    return np.moveaxis(out, -1, axis), np.moveaxis(dxs, -1, axis) if x.ndim == y.ndim else dxs, None


def _trapezoid(f: Any) -> None:
    @rrule(f, types=(Array,))
    def rule(y, x=None, dx=1.0, axis=-1):
        def pullback(dy):
            return trapezoid_cotangents(dy, y, x, dx, axis)

        return f(y, x, dx, axis), pullback

    reduces(f)


for _name in ("trapezoid", "trapz"):  # trapz is the name in NumPy 1
    if (_f := getattr(np, _name, None)) is not None:
        _trapezoid(_f)

# -- interpolation ----------------------------------------------------------------------------------------


def interp_cotangents(dy: Any, x: Any, xp: Any, fp: Any) -> tuple[Any, Any, Any]:
    """Inside a segment y = f0 + s (x - x0) with the slope s; outside y is constant."""
    xs, ps, fs, d = (np.asarray(v) for v in (x, xp, fp, dy))
    i = np.clip(np.searchsorted(ps, xs, "right") - 1, 0, max(len(ps) - 2, 0))
    j = np.minimum(i + 1, len(ps) - 1)
    h = np.where(ps[j] == ps[i], 1, ps[j] - ps[i])
    inside = (xs >= ps[0]) & (xs <= ps[-1])
    t = np.clip((xs - ps[i]) / h, 0.0, 1.0)
    s = np.where(inside, (fs[j] - fs[i]) / h, 0.0)
    dfs, dps = np.zeros(fs.shape, np.result_type(fs, d)), np.zeros(ps.shape)
    np.add.at(dfs, i, d * (1 - t))
    np.add.at(dfs, j, d * t)
    np.add.at(dps, i, d * s * (t - 1))
    np.add.at(dps, j, -d * s * t)
    return unstack(d * s, x), unstack(dps, xp), unstack(dfs, fp)


@rrule(np.interp)
def interp(x, xp, fp):
    def pullback(dy):
        return interp_cotangents(dy, x, xp, fp)

    return np.interp(x, xp, fp), pullback


# -- convolution ------------------------------------------------------------------------------------------


def convolution_cotangents(dy: np.ndarray, a: np.ndarray, v: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """The cotangent in the full convolution, correlated with the other factor."""
    n, m = len(a), len(v)
    if mode != "full":
        start = min(n, m) - 1 if mode == "valid" else (min(n, m) - 1) // 2
        full = np.zeros(n + m - 1, dy.dtype)
        full[start : start + len(dy)] = dy
        dy = full
    da, dv = np.correlate(dy, v, "valid"), np.correlate(dy, a, "valid")
    return da if a.dtype.kind == "c" else da.real, dv if v.dtype.kind == "c" else dv.real


@rrule(np.convolve, types=(Array, Array))
def convolve(a, v, mode="full"):
    def pullback(dy):
        return convolution_cotangents(dy, a, v, mode)

    return np.convolve(a, v, mode), pullback


def correlation_cotangents(dy: np.ndarray, a: np.ndarray, v: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """A convolution with the conjugate of the reversed second array."""
    n, m = len(a), len(v)
    if mode == "same" and m > n and (n - 1) % 2:
        shifted = np.zeros(n + m - 1, dy.dtype)  # NumPy exchanges the two and reverses: the middle rounds the other way
        shifted[n // 2 : n // 2 + m] = dy
        dy, mode = shifted, "full"
    da, dw = convolution_cotangents(dy, a, np.conjugate(v)[::-1], mode)
    return da, np.conjugate(dw)[::-1]


@rrule(np.correlate, types=(Array, Array))
def correlate(a, v, mode="valid"):
    def pullback(dy):
        return correlation_cotangents(dy, a, v, mode)

    return np.correlate(a, v, mode), pullback


# -- polynomials ------------------------------------------------------------------------------------------


def polyval_cotangents(dy: Any, p: Any, x: Any) -> tuple[Any, Any]:
    c = np.asarray(p)
    dx = dy * conj(np.polyval(np.polyder(c), x))
    power: Any = np.ones_like(x)
    dp = np.zeros(c.shape, np.result_type(c, dy))
    for k in range(len(c) - 1, -1, -1):
        t = np.sum(dy * np.conjugate(power))
        dp[k] = t if is_complex(dp) else np.real(t)
        power = power * x
    dx = dx if is_complex(x) else np.real(dx)
    return unstack(dp, p), dx if isinstance(x, np.ndarray) else total(dx)


@rrule(np.polyval)
def polyval(p, x):
    def pullback(dy):
        return polyval_cotangents(dy, p, x)

    return np.polyval(p, x), pullback


def polyfit_cotangents(dp: np.ndarray, x: np.ndarray, y: np.ndarray, deg: int) -> tuple[Any, Any, Any]:
    """Least squares with the Vandermonde matrix."""
    v = np.vander(x, deg + 1)
    p = np.linalg.pinv(v)
    cols = dp if dp.ndim == 2 else dp[:, None]
    ys = y if y.ndim == 2 else y[:, None]
    dy = p.T @ cols
    dv = pinv_cotangent(cols @ ys.T, v, p)
    powers = np.arange(deg, -1, -1)
    slopes = np.zeros_like(v)
    slopes[:, :-1] = powers[:-1] * v[:, 1:]
    return np.sum(dv * slopes, axis=1), dy if dp.ndim == 2 else dy[:, 0], None


@rrule(np.polyfit, types=(Array, Array))
def polyfit(x, y, deg):
    def pullback(dp):
        return polyfit_cotangents(dp, x, y, deg)

    return np.polyfit(x, y, deg), pullback


pure.update({
    diff_cotangent, slope_cotangent, gradient_cotangents, trapezoid_cotangents, interp_cotangents,
    convolution_cotangents,
    correlation_cotangents, polyval_cotangents, polyfit_cotangents, np.gradient, np.polyfit, np.interp, np.polyval,
})  # fmt: skip
reduces(np.diff)
probed.update({np.convolve, np.correlate})


def _like_x(at: int) -> Any:
    """A result of the shape of argument `at`, in double precision where everything is."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        act = any(t.active for t in args)
        if len(args) <= at or kwargs:
            return Top(act)
        x = args[at]
        double = is_dtype(element_dtype(x), float, int)
        real = all(not isinstance(t, Arr) or is_dtype(t.dtype, float, int) for t in args)
        if (
            isinstance(x, Arr)
            and x.ndim is not None
            and x.ndim > 0
            and double
            and real
            and all(isinstance(t, Arr) for t in args)
        ):
            return Arr(np.dtype(float), x.ndim, act)
        if isinstance(x, Inst) and x.cls is float and at == 0 and all(isinstance(t, Arr) for t in args[1:]) and real:
            return Inst(np.float64, act)
        return Top(act)

    return infer


infer_table[np.interp] = _like_x(0)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_W = np.array([1.1, 0.4, -0.7])
_M = np.sin(np.arange(20.0)).reshape(4, 5)
_Z = _V * (1 + 0.5j)
_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3])

_PAIRS = ((_V, _W), (_W, _V), (_V, _W[:2]), (_W[:2], _V), (_Z, _W), (_W, _Z), (_Z, _Z[:2]))

CASES: list[RuleCase] = [
    case(np.diff, _V), case(np.diff, _M, 2, axis=0), case(np.diff, _M, axis=1), case(np.gradient, _V),
    case(np.gradient, _V, 0.3), case(np.gradient, _M), case(np.gradient, _M, 0.5, axis=1),
    case(np.interp, 0.9, _X, _V), case(np.interp, _W + 1.05, _X, _V),
    case(np.interp, np.array([-1.0, 0.2, 5.0]), _X, _V), case(np.interp, 0.9, [0.0, 1.0, 2.0], [0.5, 0.2, 0.1]),
    *[case(f, *pair, m) for f in (np.convolve, np.correlate) for pair in _PAIRS for m in ("full", "same", "valid")],
    case(np.convolve, _V, _W), case(np.polyval, _W, 0.7), case(np.polyval, _W, _V),
    case(np.polyval, [0.5, 1.0, -0.3], _V), case(np.polyfit, _X, _V, 2),
    case(np.polyfit, _X, np.stack([_V, _V**2], 1), 1),
]  # fmt: skip
_trapezoid_now = getattr(np, "trapezoid", None) or getattr(np, "trapz")  # noqa: B009
CASES += [
    case(_trapezoid_now, _V), case(_trapezoid_now, _V, dx=0.5), case(_trapezoid_now, _V, _X),
    case(_trapezoid_now, _M, axis=0), case(_trapezoid_now, _M, _X),
    case(_trapezoid_now, _M, np.cumsum(_M**2, axis=0), axis=0),
]  # fmt: skip
