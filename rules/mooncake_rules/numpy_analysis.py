"""Differences, integrals, interpolation, convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Inst, T, Top
from mooncake_py.kinds import Array, RealScalar, Scalar
from mooncake_py.registry import infer_table, probed, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, real_of, unbroadcast
from mooncake_rules.inference import Types, gives_one, nested, reduces
from mooncake_rules.mirror import apart, mirrors
from mooncake_rules.sequences import unstack

# -- differences ------------------------------------------------------------------------------------------


def diff_cotangent(dy: np.ndarray, n: int, axis: int, shape: tuple[int, ...]) -> np.ndarray:
    if not dy.size:
        return np.zeros(shape, dy.dtype)
    for _ in range(n):
        width = [(1, 1) if k == axis % dy.ndim else (0, 0) for k in range(dy.ndim)]
        dy = -np.diff(np.pad(dy, width), 1, axis)
    return dy


@mirrors(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    x = np.ravel(np.asarray(ary))
    parts = [x[1:] - x[:-1]]
    if to_begin is not None:
        parts = [np.ravel(np.asarray(to_begin)), *parts]
    if to_end is not None:
        parts = [*parts, np.ravel(np.asarray(to_end))]
    return np.concatenate(parts)


@rrule(np.diff, types=(Array,), alias=(0,))  # with n = 0 it is a itself
def diff(a, n=1, axis=-1):
    shape = a.shape

    def pullback(dy):
        return (diff_cotangent(dy, n, axis, shape),)

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
            dh = dh - float(np.sum(np.real(np.conjugate(d) * v))) / h
    return df, dh


def slopes_along(f, spacing, axis, edge_order):
    """The derivative along one axis by differences of second order inside, for uneven spacing too (Fornberg 1988)."""
    f = np.moveaxis(f, axis, 0)
    n = len(f)
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    h = np.diff(spacing) if np.ndim(spacing) else np.zeros(n - 1) + spacing
    h = np.reshape(h, (n - 1,) + (1,) * (f.ndim - 1))
    a, b = h[:-1], h[1:]
    inner = (a**2 * f[2:] + (b**2 - a**2) * f[1:-1] - b**2 * f[:-2]) / (a * b * (a + b))
    if edge_order == 1:
        first = (f[1] - f[0]) / h[0]
        last = (f[-1] - f[-2]) / h[-1]
    else:
        a, b = h[0], h[1]
        first = -(2 * a + b) / (a * (a + b)) * f[0] + (a + b) / (a * b) * f[1] - a / (b * (a + b)) * f[2]
        a, b = h[-2], h[-1]
        last = b / (a * (a + b)) * f[-3] - (a + b) / (a * b) * f[-2] + (2 * b + a) / (b * (a + b)) * f[-1]
    return np.moveaxis(np.concatenate([first[None], inner, last[None]]), 0, axis)


def gradient_of(f, spacings, axis, edge_order):
    axes = tuple(range(f.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    each = spacings if len(spacings) == len(axes) else (spacings[0] if len(spacings) else 1.0,) * len(axes)
    ys = [slopes_along(f, each[k], axes[k], edge_order) for k in range(len(axes))]
    return ys[0] if len(axes) == 1 else tuple(ys)


def uneven_gradient_cotangents(dy: Any, f: np.ndarray, spacings: Any, axis: Any, edge_order: int) -> tuple[Any, ...]:
    from mooncake_py.api import value_and_pullback

    df, ds, _, _ = value_and_pullback(gradient_of, f, apart(spacings), axis, edge_order)[1](dy)
    return df, *(ds or ())


@rrule(np.gradient, types=(Array,))
def gradient_general(f, *varargs, axis=None, edge_order=1):
    y = np.gradient(f, *varargs, axis=axis, edge_order=edge_order)

    def pullback(dy):
        return uneven_gradient_cotangents(dy, f, varargs, axis, edge_order)

    return y, pullback


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
    if not y.size:
        return np.zeros_like(y), None, None
    d = np.asarray(dy)[..., None]
    if x is None:
        h = dx
    else:
        given, x = x, np.asarray(x)
        h = np.diff(x if x.ndim == 1 else np.moveaxis(x, axis, -1))  # one row of places serves any axis
    part = np.broadcast_to(d * conj(h) / 2, (*t.shape[:-1], t.shape[-1] - 1))
    out = np.zeros(t.shape, part.dtype)
    out[..., 1:] += part
    out[..., :-1] += part
    mean = d * conj(t[..., 1:] + t[..., :-1]) / 2
    if y.dtype.kind != "c":
        out = out.real
    if x is None:
        return np.moveaxis(out, -1, axis), None, real_of(np.sum(mean), dx)
    xs = x if x.ndim == 1 else np.moveaxis(x, axis, -1)
    dh = unbroadcast(mean, (*xs.shape[:-1], xs.shape[-1] - 1))
    dxs = np.zeros(xs.shape, dh.dtype)
    dxs[..., 1:] += dh
    dxs[..., :-1] -= dh
    return np.moveaxis(out, -1, axis), unstack(dxs if x.ndim == 1 else np.moveaxis(dxs, -1, axis), given), None


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
    ps, fs = ps * 1.0, fs * 1.0  # truth values have no differences
    i = np.clip(np.searchsorted(ps, xs, "right") - 1, 0, max(len(ps) - 2, 0))
    j = np.minimum(i + 1, len(ps) - 1)
    h = np.where(ps[j] == ps[i], 1, ps[j] - ps[i])
    inside = (xs >= ps[0]) & (xs <= ps[-1])
    t = np.clip((xs - ps[i]) / h, 0.0, 1.0)
    s = np.where(inside, (fs[j] - fs[i]) / h, 0.0)
    dfs, dps = np.zeros(fs.shape, np.result_type(fs, d)), np.zeros(ps.shape)
    np.add.at(dfs, i, d * (1 - t))
    np.add.at(dfs, j, d * t)
    along = np.real(np.conjugate(d) * s)
    np.add.at(dps, i, along * (t - 1))
    np.add.at(dps, j, -along * t)
    return unstack(along, x), unstack(dps, xp), unstack(dfs, fp)


@mirrors(np.interp)
def interp_with_ends(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = np.asarray(x), np.asarray(xp), np.asarray(fp)
    if period is not None:
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = np.concatenate((fp[-1:], fp, fp[:1]))
    i = np.clip(np.searchsorted(xp, x, "right") - 1, 0, len(xp) - 2)
    h = xp[i + 1] - xp[i]
    y = fp[i] + (fp[i + 1] - fp[i]) / np.where(h == 0, 1.0, h) * (x - xp[i])
    y = np.where(x < xp[0], fp[0] if left is None or period is not None else left, y)
    return np.where(x > xp[-1], fp[-1] if right is None or period is not None else right, y)


@rrule(np.interp)
def interp(x, xp, fp):
    def pullback(dy):
        return interp_cotangents(dy, x, xp, fp)

    return np.interp(x, xp, fp), pullback


# -- convolution ------------------------------------------------------------------------------------------


def convolution_cotangents(dy: np.ndarray, a: np.ndarray, v: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """The cotangent in the full convolution, correlated with the other factor."""
    if a.ndim == 0 or v.ndim == 0:
        da, dv = convolution_cotangents(dy, np.atleast_1d(a), np.atleast_1d(v), mode)
        return da.reshape(a.shape), dv.reshape(v.shape)
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


# -- Bessel functions -------------------------------------------------------------------------------------


def i1(x: Any) -> Any:
    """The modified Bessel function of order one, the derivative of that of order zero, by the mean over a period of
    cos(t) exp(x cos(t)): exact to rounding for as many points."""
    c = np.cos(np.arange(256) * (2 * np.pi / 256))
    return np.asarray(np.mean(c * np.exp(np.asarray(x, float)[..., None] * c), -1), np.asarray(x).dtype)


pure.add(i1)


@rrule(np.i0, types=(Array,))
def i0(x):
    def pullback(dy):
        return dy * i1(x)

    return np.i0(x), pullback


@rrule(np.i0, types=(RealScalar,))
def i0_of_number(x):
    def pullback(dy):
        return float(dy * i1(x))

    return np.i0(x), pullback


@mirrors(np.kaiser)
def kaiser(M, beta):
    if M == 1:
        return np.ones(1)
    n = np.arange(M)
    half = (M - 1) / 2.0
    return np.i0(beta * np.sqrt(1 - ((n - half) / half) ** 2.0)) / np.i0(np.asarray(beta))


pure.update({
    diff_cotangent, uneven_gradient_cotangents, slope_cotangent, gradient_cotangents, trapezoid_cotangents,
    interp_cotangents, convolution_cotangents, correlation_cotangents, np.gradient, np.interp,
})  # fmt: skip
reduces(np.diff)
gives_one(np.gradient, np.i0)
probed.update({np.convolve, np.correlate})


def _interp_type(args: Types, kwargs: dict[str, T]) -> T | None:
    """Of the shape of x, in double precision where everything is."""
    act = any(t.active for t in args)
    parts = [nested(t) for t in args]
    if len(parts) < 3 or kwargs or None in parts:
        return Top(act)
    dtypes = [p[1] for p in parts if p is not None]
    if not all(d is not None and d.kind in "biuf" for d in dtypes):
        return Top(act)
    n = parts[0][0] if parts[0] is not None else 0
    return Arr(np.dtype(float), n, act) if n else Inst(np.float64, act)


infer_table[np.interp] = _interp_type

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_W = np.array([1.1, 0.4, -0.7])
_M = np.sin(np.arange(20.0)).reshape(4, 5)
_Z = _V * (1 + 0.5j)
_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3])

_PAIRS = ((_V, _W), (_W, _V), (_V, _W[:2]), (_W[:2], _V), (_Z, _W), (_W, _Z), (_Z, _Z[:2]))

_trapezoid_now = getattr(np, "trapezoid", None) or getattr(np, "trapz")  # noqa: B009


def _by_name(v: np.ndarray, w: np.ndarray, values: list[float]) -> Any:
    ends = np.interp(fp=values, xp=[0.0, 1.0, 2.0], x=w, left=0.3)
    return _trapezoid_now(dx=0.5, y=v), np.convolve(v=w, a=v, mode="same"), ends, np.percentile(q=33.0, a=v)


CASES: list[RuleCase] = [
    case(np.diff, _V), case(np.diff, _M, 2, axis=0), case(np.diff, _M, axis=1), case(np.gradient, _V),
    case(np.gradient, _V, 0.3), case(np.gradient, _M), case(np.gradient, _M, 0.5, axis=1),
    case(np.interp, 0.9, _X, _V), case(np.interp, _W + 1.05, _X, _V),
    case(np.interp, np.array([-1.0, 0.2, 5.0]), _X, _V), case(np.interp, 0.9, [0.0, 1.0, 2.0], [0.5, 0.2, 0.1]),
    *[case(f, *pair, m) for f in (np.convolve, np.correlate) for pair in _PAIRS for m in ("full", "same", "valid")],
    case(np.convolve, _V, _W), case(np.convolve, 0.7, _V, "same"), case(np.convolve, _Z, np.array(0.5)),
    case(_by_name, _V, _W, [0.5, 0.2, 0.1]), case(np.diff, _V, prepend=0.0, append=np.array([1.0, 2.0])),
    case(np.diff, _M, 1, 0, _M[:1]), case(np.gradient, _V, _X), case(np.gradient, _M, 0.1, _X),
    case(np.gradient, _V, edge_order=2), case(np.gradient, _V, _X, edge_order=2),
    case(np.gradient, _M, 0.5, edge_order=2), case(np.gradient, _M, axis=(0, 1)), case(np.gradient, _Z, 0.5),
    case(np.gradient, _M, _X, axis=-1), case(np.gradient, _V, np.arange(5.0)), case(np.ediff1d, _V),
    case(np.ediff1d, _M, to_begin=0.5, to_end=np.array([1.0, 2.0])), case(np.ediff1d, _V, [0.5]),
    case(np.interp, np.array([-1.0, 0.2, 5.0]), _X, _V, 0.5, 0.25),
    case(np.interp, np.array([-1.0, 0.2, 5.0]), _X, _V, left=0.5),
    case(np.interp, np.array([-1.0, 0.2, 5.1]), _X, _V, period=2.9), case(np.interp, 0.9, _X, _Z),
    case(np.interp, 0.9, _X, _V, None, 0.5), case(np.i0, _V * 4), case(np.i0, 0.7),
    case(np.interp, 0.9, [0.0, 1.0, 2.0], [True, False, True]), case(np.interp, True, [False, True], _V[:2]),
    case(np.diff, _V[:0], 2), case(np.diff, _V[:2], 4), case(np.diff, _M[:0], axis=0),
    case(np.i0, np.array([0.0, 8.5, 60.0])), case(np.kaiser, 5, 2.5), case(np.unwrap, _V * 9, period=3.0),
    case(np.unwrap, _M * 5, axis=0), case(np.unwrap, _V * 9, 4.0),
]  # fmt: skip
CASES += [
    case(_trapezoid_now, _V[:0]), case(_trapezoid_now, _M[:0], axis=0), case(_trapezoid_now, _V[:0], _V[:0]),
    case(_trapezoid_now, _V), case(_trapezoid_now, _V, dx=0.5), case(_trapezoid_now, _V, _X),
    case(_trapezoid_now, _V, x=list(_X)),
    case(_trapezoid_now, _M, axis=0), case(_trapezoid_now, _M, _X),
    case(_trapezoid_now, _Z, None, 0.5), case(_trapezoid_now, _Z, _X), case(_trapezoid_now, _V, _X * (1 + 0.2j)),
    case(_trapezoid_now, _Z, list(_X)), case(_trapezoid_now, _Z, _X * 1j),
    case(_trapezoid_now, _M, np.cumsum(_M**2, axis=0), axis=0), case(_trapezoid_now, _M, _X, axis=1),
    case(_trapezoid_now, _M.T, _X, axis=0),
]  # fmt: skip
