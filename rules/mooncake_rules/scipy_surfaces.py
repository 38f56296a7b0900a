"""scipy.interpolate: B-splines of several variables, by data on a grid, by coefficients and knots, by the points.

They are products of splines of one variable, whose formulas (`spline_formulas`) give all derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip
from scipy.interpolate import _fitpack2, _ndbspline
from scipy.sparse.linalg import spsolve

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules import scipy_splines as splines
from mooncake_rules import spline_formulas as formulas
from mooncake_rules.callables import run
from mooncake_rules.scipy_kept import Kept
from mooncake_rules.scipy_library import fitted

_module: Any = _fitpack2
_points: Any = _ndbspline

# -- of two variables: FITPACK's --------------------------------------------------------------------------


def surface(t, u, c, x, y, k, nu, grid):
    """The values at the points, or on the grid, of x and y; beyond its rectangle a spline stays as at the border."""
    over = formulas.basis(t, np.clip(x, t[0], t[-1]), k[0], nu[0])
    along = formulas.basis(u, np.clip(y, u[0], u[-1]), k[1], nu[1])
    part = over @ np.reshape(c, (over.shape[1], along.shape[1]))
    return part @ along.T if grid else np.sum(part * along, axis=1)


@rrule(surface)
def surface_by_recurrence(t, u, c, x, y, k, nu, grid):
    n, m = len(t) - k[0] - 1, len(u) - k[1] - 1
    xs, ys = np.clip(x, t[0], t[-1]), np.clip(y, u[0], u[-1])
    part, back_x = splines.values(t, np.reshape(c, (n, m)), xs, k[0], nu[0])
    along, back_y = splines.values(u, part.T if grid else np.eye(m), ys, k[1], nu[1])

    def pullback(dz):
        dz = np.asarray(dz)
        du, d, dy, *_ = back_y(dz.T if grid else dz[:, None] * part)
        dt, dc, dx, *_ = back_x(d.T if grid else dz[:, None] * along)
        for knots, dknots, v, dv in ((t, dt, x, dx), (u, du, y, dy)):
            for end, beyond in ((0, v < knots[0]), (-1, v > knots[-1])):
                dknots[end] += np.sum(dv[beyond])
                dv[beyond] = 0.0
        return dt, du, dc.reshape(c.shape), dx, dy, None, None, None

    return along.T if grid else np.sum(part * along, axis=1), pullback


def volume(t, u, c, xs, ys, k):
    """The integral over a rectangle; what is outside of the spline's own counts nothing."""
    xs, ys = np.clip(xs, t[0], t[-1]), np.clip(ys, u[0], u[-1])
    over = formulas.integral(t, np.eye(len(t) - k[0] - 1), xs[0], xs[1], k[0])
    along = formulas.integral(u, np.eye(len(u) - k[1] - 1), ys[0], ys[1], k[1])
    return over @ np.reshape(c, (len(over), len(along))) @ along


def interpolating(x, y, z, ends, k):
    """Knots and coefficients of the spline through the values z on the grid of x and y; `ends` as in `knots_of`."""
    t, u = knots_of(x, ends[0], k[0]), knots_of(y, ends[1], k[1])
    across = formulas.interpolating(x, z, t, (), k[0], ((), ()))
    c = formulas.interpolating(y, across.T, u, (), k[1], ((), ())).T
    return t, u, np.reshape(c, (-1,))


@rrule(interpolating)
def interpolating_by_axes(x, y, z, ends, k):
    t, u = knots_of(x, ends[0], k[0]), knots_of(y, ends[1], k[1])
    across, back_x = splines.interpolating(x, z, t, (), k[0], ((), ()))
    c, back_y = splines.interpolating(y, across.T, u, (), k[1], ((), ()))

    def pullback(ds):
        dt, du, dc = ds
        dy, d, more_u, *_ = back_y(np.reshape(dc, c.T.shape).T)
        dx, dz, more_t, *_ = back_x(d.T)
        dx += _of_knots(x, ends[0], k[0], dt + more_t)
        dy += _of_knots(y, ends[1], k[1], du + more_u)
        return dx, dy, dz, None, None

    return (t, u, np.reshape(c.T, (-1,))), pullback


def _of_knots(x: np.ndarray, ends: Any, k: int, dt: np.ndarray) -> np.ndarray:
    """The cotangent of the data that the knots stand at, or between."""
    dx, inner = np.zeros(x.shape), dt[k + 1 : len(dt) - k - 1]
    if ends[0] is None:
        dx[0] += np.sum(dt[: k + 1])
    if ends[1] is None:
        dx[-1] += np.sum(dt[len(dt) - k - 1 :])
    first = (k + 1) // 2 if k % 2 else k // 2
    if k % 2:
        dx[first : first + len(inner)] += inner
    else:
        dx[first : first + len(inner)] += inner / 2
        dx[first + 1 : first + 1 + len(inner)] += inner / 2
    return dx


def knots_of(x, ends, k):
    """FITPACK's, with the first and the last where `ends` has a number."""
    t = formulas.knots_at(x, k, False)
    first = t[: k + 1] if ends[0] is None else np.full(k + 1, float(ends[0]))
    last = t[len(t) - k - 1 :] if ends[1] is None else np.full(k + 1, float(ends[1]))
    return np.concatenate([first, t[k + 1 : len(t) - k - 1], last])


def _tck(self: CoDual) -> tuple[Any, Any]:
    """Knots and coefficients of a spline, and whether each is differentiated by."""
    on = type(self.fdata) is ObjectShadow
    return tuple(np.asarray(v, float) for v in self.primal.tck), [on] * 3


def _give(self: CoDual, ds: tuple[Any, ...]) -> None:
    if type(self.fdata) is ObjectShadow:
        self.fdata.add_item("tck", tuple(ds))


_BASE = _module._BivariateSplineBase


@rrule(_BASE.__call__)
def evaluated(self: CoDual, x, y, dx=0, dy=0, grid=True):
    spline = self.primal
    z = spline(x, y, dx, dy, grid)
    fz = zero_fdata(z)

    def pullback(dz):
        dz = take_fdata(fz, dz)
        if dz is None:
            return None
        xs, ys = (np.asarray(v, float) for v in (x, y))
        shapes = xs.shape, ys.shape
        if not grid:
            xs, ys = np.broadcast_arrays(xs, ys)
        tck, _ = _tck(self)
        given = (*tck, xs.ravel(), ys.ravel(), spline.degrees, (dx, dy), grid)
        value, pull = surface_by_recurrence(*given)
        *ds, dxs, dys = pull(np.asarray(dz, float).reshape(value.shape))[:5]
        _give(self, tuple(ds))
        if not grid:
            dxs, dys = (_down(d.reshape(xs.shape), s) for d, s in ((dxs, shapes[0]), (dys, shapes[1])))
        return None, fitted(dxs.reshape(shapes[0]), x), fitted(dys.reshape(shapes[1]), y)

    return CoDual(z, fz), pullback


def _down(d: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    d = d.sum(axis=tuple(range(d.ndim - len(shape))))
    return d.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


@rrule(sip.BivariateSpline.integral)
def integral(self: CoDual, xa, xb, ya, yb):
    spline = self.primal

    def pullback(dv):
        if dv is None:
            return None
        tck, on = _tck(self)
        xs, ys = np.array([xa, xb], float), np.array([ya, yb], float)
        _, pull = run(volume, None, (*tck, xs, ys, spline.degrees), [*on, True, True, False])
        *ds, dxs, dys, _ = pull(np.float64(dv))
        _give(self, tuple(ds))
        return None, *[float(d) for d in (*dxs, *dys)]

    return CoDual(spline.integral(xa, xb, ya, yb), None), pullback


_NO_ENDS = CoDual([None] * 4, None)


@rrule(sip.RectBivariateSpline)
def rectangle(x, y, z, bbox: CoDual = _NO_ENDS, kx=3, ky=3, s=0, **options):
    if s != 0:
        raise NotDifferentiated("scipy.interpolate.RectBivariateSpline is differentiated with s=0, without smoothing")
    spline = sip.RectBivariateSpline(x, y, z, list(bbox.primal), kx, ky, s, **options)
    shadow = Kept.of(spline, tck=spline.tck)

    def pullback(dy):
        held = take_fdata(shadow.f["tck"], shadow.r.pop("tck", None))
        if held is None:
            return None
        ends = tuple(bbox.primal[:2]), tuple(bbox.primal[2:])
        data = [np.asarray(v, float) for v in (x, y, z)]
        (t, u, c), pull = interpolating_by_axes(*data, ends, (kx, ky))
        zeros = (np.zeros(v.shape) for v in (t, u, c))
        ds = pull(tuple([zero if d is None else d for zero, d in zip(zeros, held, strict=True)]))
        return tuple([fitted(d, v) for d, v in zip(ds, (x, y, z), strict=False)])

    return CoDual(spline, shadow), pullback


# -- of any number of variables ---------------------------------------------------------------------------


def tensor(c, x, k, nu, *ts):
    """The values at the rows of x."""
    first = formulas.basis(ts[0], x[:, 0], k[0], nu[0])
    y = np.tensordot(first, c, 1)
    for i in range(1, len(ts)):
        other = formulas.basis(ts[i], x[:, i], k[i], nu[i])
        y = np.einsum("ij,ij...->i...", other, y)
    return y


def through(values, k, *points):
    """The coefficients of the spline through the values on a grid, and its knots."""
    ts = [formulas.knots_at(points[i], k[i], False) for i in range(len(points))]
    for i in range(len(points)):
        moved = np.moveaxis(values, i, 0)
        values = np.moveaxis(formulas.interpolating(points[i], moved, ts[i], (), k[i], ((), ())), 0, i)
    return values, *ts


def _packed(ts: Any) -> np.ndarray:
    """The knots of all variables in one array."""
    return np.concatenate([np.asarray(t, float) for t in ts])


def _unpacked(d: np.ndarray, ts: Any) -> list[np.ndarray]:
    return np.split(d, np.cumsum([len(t) for t in ts])[:-1])


def _by_parts(f: Any, c: np.ndarray, d: np.ndarray, rest: tuple[Any, ...], on: list[bool]) -> tuple[Any, ...]:
    """The cotangents of f's arguments, of which the first is an array and f linear in it; complex ones by parts."""
    d = np.asarray(d)
    if c.dtype.kind != "c":
        return run(f, None, (c, *rest), [True, *on])[1](d)
    real, imag = (run(f, None, (p, *rest), [True, *on])[1](e) for p, e in ((c.real, d.real), (c.imag, d.imag)))
    both = [None if a is None else a + b for a, b in zip(real[1:], imag[1:], strict=True)]
    return real[0] + 1j * imag[0], *both


@rrule(sip.NdBSpline.__call__)
def of_points(self: CoDual, xi, *, nu: CoDual = CoDual(None, None), extrapolate=None):  # noqa: B008
    spline = self.primal
    y = spline(xi, nu=nu.primal, extrapolate=extrapolate)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        ts, c = spline.t, np.asarray(spline.c)
        n = len(ts)
        x = np.asarray(xi, float)
        d = np.where(np.isnan(y), 0.0, dy).reshape(-1, *c.shape[n:])
        orders = (0,) * n if nu.primal is None else tuple(map(int, nu.primal))
        kept = [type(self.fdata) is ObjectShadow] * n
        rest = (x.reshape(-1, n), tuple(map(int, spline.k)), orders, *ts)
        dc, dx, _, _, *dts = _by_parts(tensor, c, d, rest, [True, False, False, *kept])
        if kept[0]:
            Kept.add(self, c=dc, t=np.concatenate(dts))
        return None, fitted(dx.reshape(x.shape), xi)

    return CoDual(y, fy), pullback


@rrule(sip.NdBSpline)
def of_knots(t, c, k: CoDual, *, extrapolate=None):
    spline = sip.NdBSpline(t, c, k.primal, extrapolate=extrapolate)
    shadow = Kept.of(spline, c=np.asarray(spline.c), t=_packed(t))

    def pullback(dy):
        dts = _unpacked(Kept.take(shadow, "t", _packed(t)), t)
        return tuple([fitted(d, v) for d, v in zip(dts, t, strict=True)]), fitted(
            Kept.take(shadow, "c", np.asarray(spline.c)), c
        )

    return CoDual(spline, shadow), pullback


@rrule(_points.make_ndbspl)
def make_ndbspl(points, values, k: CoDual = CoDual(3, None), *, solver: CoDual, **options: CoDual):  # noqa: B008
    given = {name: v.primal for name, v in options.items()}
    spline = _points.make_ndbspl(points, values, k.primal, solver=solver.primal, **given)
    shadow = Kept.of(spline, c=np.asarray(spline.c), t=_packed(spline.t))

    def pullback(dy):
        dc = Kept.take(shadow, "c", np.asarray(spline.c))
        dts = _unpacked(Kept.take(shadow, "t", _packed(spline.t)), spline.t)
        degrees = tuple(map(int, spline.k))
        grid = [np.asarray(p, float) for p in points]
        data = np.asarray(values)
        parts = [(data, dc)] if data.dtype.kind != "c" else [(data.real, dc.real), (data.imag, dc.imag)]
        found = []
        for part, d in parts:
            _, pull = run(through, None, (part, degrees, *grid), [True, False, *[True] * len(grid)])
            found.append(pull((d, *dts)))
            dts = [np.zeros(t.shape) for t in dts]
        dvalues = found[0][0] if len(found) == 1 else found[0][0] + 1j * found[1][0]
        dgrid = tuple([fitted(np.add.reduce([f[2 + i] for f in found]), p) for i, p in enumerate(points)])
        return dgrid, fitted(dvalues, values)

    return CoDual(spline, shadow), pullback


# -- cases ------------------------------------------------------------------------------------------------

_X = np.linspace(0.0, 2.1, 7) + 0.03 * np.sin(np.arange(7.0))
_Y = np.linspace(-1.0, 1.5, 6)
_M = np.sin(np.add.outer(_X, _Y**2))
_T = np.multiply.outer(_M, np.array([1.0, -0.5, 0.3, 0.8]))
_AT = np.array([[0.31, 0.42], [1.63, 1.21], [2.02, -0.17]])
_FIXED = sip.RectBivariateSpline(_X, _Y, _M)
_PAIR = np.array([0.31, 1.42])

CASES: list[RuleCase] = [
    case(lambda x, y: _FIXED(x, y) + _FIXED.ev(x, y, dx=1), _PAIR, _PAIR - 0.1),
    case(lambda x, y: _FIXED(x, y)[0, 0], 0.31, 0.42), case(lambda x: _FIXED(x, [[0.3], [0.5]], grid=False), _PAIR),
    case(lambda x, y, z, a, b: sip.RectBivariateSpline(x, y, z)(a, b), _X, _Y, _M, _PAIR, _PAIR - 0.1),
    case(lambda x, y, z, a, b: sip.RectBivariateSpline(x, y, z, kx=1, ky=2).ev(a, b), _X, _Y, _M, _PAIR, _PAIR - 0.1),
    case(lambda z, a: sip.RectBivariateSpline(_X, _Y, z, bbox=[-0.1, 2.3, None, 1.7])(a, a, 1, 1), _M, _PAIR),
    case(lambda z, a: sip.RectBivariateSpline(_X, _Y, z).integral(a, 1.2, -0.3, 4.0), _M, 0.31),
    case(lambda x, z: sip.RectBivariateSpline(x, _Y, z).get_knots()[0], _X, _M),
    case(lambda z: sip.RectBivariateSpline(_X, _Y, z).get_coeffs(), _M),
    case(lambda z, p: sip.interpn((_X, _Y), z, p, method="splinef2d"), _M, _AT),
    *[case(lambda v, p, m=m: sip.RegularGridInterpolator((_X, _Y), v, method=m, solver=spsolve)(p), _M, _AT)
      for m in ("slinear", "cubic", "quintic")],
    case(lambda x, v, p: _points.make_ndbspl((x, _Y), v, solver=spsolve)(p), _X, _T, _AT[:2]),
    case(lambda v, p: _points.make_ndbspl((_X, _Y), v, solver=spsolve)(p, nu=(1, 0)), _M * (1 - 0.3j), _AT),
    case(lambda v: _points.make_ndbspl((_X, _Y), v, 1, solver=spsolve)(_AT + 1.0, extrapolate=False)[:1], _M),
    case(lambda c, t, p: sip.NdBSpline((t, t), c, 1)(p), _M[:3, :3], np.array([-0.1, 0.0, 1.1, 2.1, 2.3]), _AT[:1]),
]  # fmt: skip
