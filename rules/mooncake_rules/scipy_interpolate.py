"""scipy.interpolate: piecewise polynomials and splines, by where they are evaluated and by what they were made from.

The coefficients of a cubic interpolant are a function of data that is written here once more in plain NumPy, for its
derivative; those of B-splines are linear in the values.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.interpolate as sip
from scipy.interpolate import PPoly
from scipy.linalg import solve_banded

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import refuse, rrule
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run as call
from mooncake_rules.scipy_kept import Kept, getter_of
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_polynomials import bernstein_cotangents

Options = dict[str, Any]


# -- piecewise polynomials --------------------------------------------------------------------------------


def _falling(p: int, nu: int) -> float:
    """The factor of the nu-th derivative of x^p; a negative nu integrates."""
    out = 1.0
    for k in range(nu):
        out *= p - k
    for k in range(-nu):
        out /= p + k + 1
    return out


def front(y: np.ndarray, axis: int, ndim: int) -> np.ndarray:
    """The axes of the argument, which stand at `axis`, in front."""
    return np.moveaxis(y, range(axis, axis + ndim), range(ndim))


def _of_powers(c: np.ndarray, i: np.ndarray, d: np.ndarray, nu: int, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the coefficients, and of the distances d from where the intervals i begin."""
    k = len(c) - 1
    dc = np.zeros(c.shape, np.result_type(c, t))
    slope = np.zeros(t.shape, c.dtype)
    shape = (-1, *[1] * (t.ndim - 1))
    for m in range(k + 1):
        p = k - m
        if p >= nu:
            np.add.at(dc[m], i, t * (_falling(p, nu) * d ** (p - nu)).reshape(shape))
        if p > nu:
            slope = slope + c[m, i] * (_falling(p, nu + 1) * d ** (p - nu - 1)).reshape(shape)
    return dc, np.sum((t * np.conjugate(slope)).real.reshape(len(d), -1), axis=1)


def polynomial_cotangents(poly: Any, x: np.ndarray, dy: np.ndarray, nu: int, extrapolate: Any) -> tuple[Any, Any, Any]:
    """Of the coefficients, the breakpoints and the argument of `poly(x, nu)`."""
    c, knots = poly.c, poly.x
    extrapolate = poly.extrapolate if extrapolate is None else extrapolate
    flat = np.asarray(x, float).ravel()
    at = flat
    if extrapolate == "periodic":
        at = knots[0] + (flat - knots[0]) % (knots[-1] - knots[0])
    ascending = knots[-1] >= knots[0]
    i = np.searchsorted(knots, at, "right") - 1 if ascending else len(knots) - 1 - np.searchsorted(knots[::-1], at)
    i = np.clip(i, 0, len(knots) - 2)
    t = front(dy, poly.axis, x.ndim).reshape(flat.size, *c.shape[2:])
    if not extrapolate:
        low, high = min(knots[0], knots[-1]), max(knots[0], knots[-1])
        t = np.where(((at < low) | (at > high)).reshape(-1, *[1] * (t.ndim - 1)), 0.0, t)
    if isinstance(poly, sip.BPoly):
        pieces = c.reshape(*c.shape[:2], -1)
        dc, dknots, dx = bernstein_cotangents(pieces, knots, at, nu, t.reshape(len(flat), -1))
        dc = dc.reshape(c.shape)
    else:
        dc, dx = _of_powers(c, i, at - knots[i], nu, t)
        dknots = np.zeros(knots.shape)
        np.add.at(dknots, i, -dx)
    if extrapolate == "periodic":
        turns = np.floor((flat - knots[0]) / (knots[-1] - knots[0]))
        dknots[-1] -= np.sum(dx * turns)
        dknots[0] += np.sum(dx * turns)
    return dc if c.dtype.kind == "c" else dc.real, dknots, dx.reshape(x.shape)


@rrule(PPoly.__call__)
def evaluate(self: CoDual, x, nu=0, extrapolate=None):
    poly = self.primal
    y = poly(x, nu, extrapolate)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        dc, dknots, dx = polynomial_cotangents(poly, np.asarray(x), np.asarray(dy), nu, extrapolate)
        Kept.add(self, c=dc, x=dknots)
        return None, fitted(dx, x)

    return CoDual(y, fy), pullback


@rrule(PPoly.integrate)
def integrate(self: CoDual, a, b, extrapolate=None):
    poly = self.primal
    if extrapolate == "periodic" or (extrapolate is None and poly.extrapolate == "periodic"):
        raise NotDifferentiated("the integral of a periodic piecewise polynomial is not differentiated")
    y = poly.integrate(a, b, extrapolate)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        ends = [np.asarray(v, float) for v in (a, b)]
        values = [np.real(np.sum(np.asarray(dy) * np.conjugate(poly(v)))) for v in ends]
        lo, hi = sorted(map(float, ends))
        sign = 1.0 if ends[0] <= ends[1] else -1.0
        inner = poly.x[(poly.x > lo) & (poly.x < hi)]
        cuts = np.concatenate([[lo], inner, [hi]])
        nodes, w = np.polynomial.legendre.leggauss(poly.c.shape[0] // 2 + 1)
        half = np.diff(cuts)[:, None] / 2
        points = cuts[:-1, None] + half * (nodes + 1)
        weights = (sign * half * w).ravel()
        t = np.moveaxis(np.multiply.outer(weights, np.asarray(dy)), 0, poly.axis)
        dc, dknots, _ = polynomial_cotangents(poly, points.ravel(), t, 0, True)
        Kept.add(self, c=dc, x=dknots)
        return None, fitted(-values[0], a), fitted(values[1], b)

    return CoDual(y, fy), pullback


def _array_of(name: str) -> None:
    """Reading `poly.c` or `poly.x`."""

    @rrule(getter_of(PPoly, name))
    def rule(self: CoDual):
        y = getattr(self.primal, name)
        fy = Kept.find(self.fdata, name) if type(self.fdata) is ObjectShadow else None

        def pullback(dy):
            return None

        return CoDual(y, fy), pullback


_array_of("c")
_array_of("x")


def integrated(c, x):
    """The coefficients of the antiderivative that is zero at the first breakpoint."""
    k = len(c)
    powers = np.arange(k, 0, -1.0).reshape((k,) + (1,) * (c.ndim - 1))
    high = c / powers
    h = np.diff(x)
    area = np.zeros(c.shape[1:])
    for m in range(k):
        area = area + high[m] * (h ** (k - m)).reshape((-1,) + (1,) * (c.ndim - 2))
    start = np.concatenate([np.zeros((1, *c.shape[2:])), np.cumsum(area, axis=0)[:-1]])
    return np.concatenate([high, start[None]])


@rrule(PPoly.antiderivative)
def antiderivative(self: CoDual, nu=1):
    if nu != 1:
        raise NotDifferentiated("antiderivatives of piecewise polynomials are differentiated one at a time")
    poly = self.primal
    y = poly.antiderivative()
    fy = Kept.of(y, c=y.c, x=y.x)

    def pullback(dy):
        _, pull = call(integrated, None, (poly.c, poly.x))
        dc, dx = pull(Kept.take(fy, "c", y.c))
        Kept.add(self, c=dc, x=dx + Kept.take(fy, "x", y.x))
        return None

    return CoDual(y, fy), pullback


@rrule(PPoly.derivative)
def derivative(self: CoDual, nu=1):
    poly = self.primal
    y = poly.derivative(nu)
    fy = Kept.of(y, c=y.c, x=y.x)

    def pullback(dy):
        d = Kept.take(fy, "c", y.c)
        k = poly.c.shape[0] - 1
        dc = np.zeros(poly.c.shape, d.dtype)
        for m in range(max(k + 1 - nu, 0)):
            dc[m] = d[m] * _falling(k - m, nu)
        Kept.add(self, c=dc, x=Kept.take(fy, "x", y.x))
        return None

    return CoDual(y, fy), pullback


# -- the interpolants that are piecewise cubic ------------------------------------------------------------


def hermite_coefficients(x, y, s):
    """The cubic polynomials with values y and slopes s at x."""
    h = np.diff(x).reshape((-1,) + (1,) * (y.ndim - 1))
    m = (y[1:] - y[:-1]) / h
    t = (s[:-1] + s[1:] - 2 * m) / h
    return np.stack([t / h, (m - s[:-1]) / h - t, s[:-1], y[:-1]])


def spline_slopes(x, y, first, last):
    """The slopes of the cubic spline: continuity of the second derivative, and a condition at either end.

    `first` and `last` are "not-a-knot" or a pair of a derivative's order (1 or 2) and its value.
    """
    n = len(x)
    h = x[1:] - x[:-1]
    hs = h.reshape((-1,) + (1,) * (y.ndim - 1))
    m = (y[1:] - y[:-1]) / hs
    if n == 2 and first == "not-a-knot" and last == "not-a-knot":
        return np.concatenate([m, m])
    if n == 3 and first == "not-a-knot" and last == "not-a-knot":  # one parabola
        b = (m[1] - m[0]) / (h[0] + h[1])
        return np.stack([m[0] - b * h[0], m[0] + b * h[0], m[1] + b * h[1]])
    upper, middle, lower, right = [], [], [], []
    if isinstance(first, str) and n > 2:
        d = x[2] - x[0]
        middle.append(h[1])
        upper.append(d)
        right.append(((h[0] + 2 * d) * h[1] * m[0] + h[0] ** 2 * m[1]) / d)
    elif isinstance(first, str):  # with two points a not-a-knot end is a straight one
        middle.append(1.0)
        upper.append(1.0)
        right.append(2 * m[0])
    elif first[0] == 1:
        middle.append(1.0)
        upper.append(0.0)
        right.append(first[1] + 0.0 * y[0])
    else:
        middle.append(2.0)
        upper.append(1.0)
        right.append(3 * m[0] - 0.5 * first[1] * h[0])
    for i in range(1, n - 1):
        lower.append(h[i])
        middle.append(2 * (h[i - 1] + h[i]))
        upper.append(h[i - 1])
        right.append(3 * (h[i] * m[i - 1] + h[i - 1] * m[i]))
    if isinstance(last, str) and n > 2:
        d = x[-1] - x[-3]
        lower.append(d)
        middle.append(h[-2])
        right.append((h[-1] ** 2 * m[-2] + (2 * d + h[-1]) * h[-2] * m[-1]) / d)
    elif isinstance(last, str):
        lower.append(1.0)
        middle.append(1.0)
        right.append(2 * m[-1])
    elif last[0] == 1:
        lower.append(0.0)
        middle.append(1.0)
        right.append(last[1] + 0.0 * y[-1])
    else:
        lower.append(1.0)
        middle.append(2.0)
        right.append(3 * m[-1] + 0.5 * last[1] * h[-1])
    band = np.stack([np.array([0.0, *upper]), np.array(middle), np.array([*lower, 0.0])])
    return solve_banded((1, 1), band, np.stack(right))


def periodic_slopes(x, y):
    """The slopes of the periodic spline, whose last value is its first."""
    n = len(x) - 1
    h = x[1:] - x[:-1]
    m = (y[1:] - y[:-1]) / h.reshape((-1,) + (1,) * (y.ndim - 1))
    if n < 3:
        if n == 1:
            return np.zeros(y.shape)
        t = (m[0] / h[0] + m[1] / h[1]) / (1 / h[0] + 1 / h[1])
        return np.stack([t, t, t])
    a = np.zeros((n, n))
    right = np.zeros((n, *y.shape[1:]))
    for i in range(n):
        j, k = (i - 1) % n, (i + 1) % n
        a[i, j] += h[i]
        a[i, i] += 2 * (h[j] + h[i])
        a[i, k] += h[j]
        right[i] = 3 * (h[i] * m[j] + h[j] * m[i])
    s = np.linalg.solve(a, right.reshape(n, -1)).reshape(right.shape)
    return np.concatenate([s, s[:1]])


def pchip_slopes(x, y):
    """F. Fritsch and J. Butland (1984): weighted harmonic means, zero where the data turn."""
    h = (x[1:] - x[:-1]).reshape((-1,) + (1,) * (y.ndim - 1))
    m = (y[1:] - y[:-1]) / h
    if len(x) == 2:
        return np.concatenate([m, m])
    left, right = m[:-1], m[1:]
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    turn = left * right <= 0
    safe_left, safe_right = np.where(turn, 1.0, left), np.where(turn, 1.0, right)
    inner = np.where(turn, 0.0, (w1 + w2) / (w1 / safe_left + w2 / safe_right))
    start = _pchip_end(h[0], h[1], m[0], m[1])
    end = _pchip_end(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([start[None], inner, end[None]])


def _pchip_end(h0, h1, m0, m1):
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, d))


def akima_slopes(x, y, modified):
    """H. Akima (1970), and MATLAB's modification of it."""
    h = (x[1:] - x[:-1]).reshape((-1,) + (1,) * (y.ndim - 1))
    inner = (y[1:] - y[:-1]) / h
    if len(x) == 2:
        return np.concatenate([inner, inner])
    one, other = 2.0 * inner[:1] - inner[1:2], 2.0 * inner[-1:] - inner[-2:-1]
    before, after = 2.0 * one - inner[:1], 2.0 * other - inner[-1:]
    m = np.concatenate([before, one, inner, other, after])
    change = np.abs(m[1:] - m[:-1])
    if modified:
        level = np.abs(m[1:] + m[:-1])
        f1, f2 = change[2:] + 0.5 * level[2:], change[:-2] + 0.5 * level[:-2]
    else:
        f1, f2 = change[2:], change[:-2]
    both = f1 + f2
    flat = both <= 1e-9 * np.max(both)
    mean = 0.5 * (m[3:] + m[:-3])
    return np.where(flat, mean, (f1 * m[1:-2] + f2 * m[2:-1]) / np.where(flat, 1.0, both))


def _cubic(cls: type, slopes: Any) -> None:
    """The rule of a class; `slopes(options, y)` is a function of x, y and numbers, and these numbers."""
    names = list(inspect.signature(cls).parameters)

    @rrule(cls)
    def rule(x: CoDual, y, axis=0, *rest, **options):
        given = options | dict(zip(names[3:], rest, strict=False))
        poly = cls(x.primal, y, axis, **given)
        shadow = Kept.of(poly, c=poly.c, x=poly.x)

        def pullback(dy):
            xs, ys = np.asarray(x.primal, float), np.moveaxis(np.asarray(y) * 1.0, axis, 0)
            f, numbers = slopes(given, ys)

            def coefficients(x, y, *numbers):
                return hermite_coefficients(x, y, f(x, y, *numbers))

            _, pull = call(coefficients, None, (xs, ys, *numbers))
            dxs, dys, *dnumbers = pull(Kept.take(shadow, "c", poly.c))
            dxs = (0.0 if dxs is None else dxs) + Kept.take(shadow, "x", poly.x)
            dgiven = {"bc_type": _of_ends(given["bc_type"], dnumbers)} if "bc_type" in given else {}
            more = [dgiven.get(k) for k in (*names[3 : 3 + len(rest)], *options)]
            return fitted(dxs, x.primal), fitted(np.moveaxis(dys, 0, axis), y), None, *more

        return CoDual(poly, shadow), pullback


def _spline_options(o: Options, y: np.ndarray) -> Any:
    bc = o.get("bc_type", "not-a-knot")
    if isinstance(bc, str) and bc == "periodic":
        return periodic_slopes, ()
    ends = [bc, bc] if isinstance(bc, str) else list(bc)
    named = {"natural": (2, 0.0), "clamped": (1, 0.0)}
    kinds = [e if e == "not-a-knot" else named[e][0] if isinstance(e, str) else e[0] for e in ends]
    values = tuple([np.asarray(0.0 if isinstance(e, str) else e[1], float) for e in ends])

    def slopes(x, y, first, last):
        return spline_slopes(
            x, y, *[k if k == "not-a-knot" else (k, v) for k, v in zip(kinds, (first, last), strict=True)]
        )

    return slopes, values


def _of_ends(bc: Any, ds: list[Any]) -> Any:
    """The cotangents of the conditions at both ends in the structure of `bc_type`."""
    if isinstance(bc, str):
        return None
    parts = [None if isinstance(e, str) or d is None else (None, fitted(d, e[1])) for e, d in zip(bc, ds, strict=True)]
    return tuple(parts) if isinstance(bc, tuple) else parts


def _akima_options(o: Options, y: np.ndarray) -> Any:
    modified = o.get("method", "akima") == "makima"
    return lambda x, y: akima_slopes(x, y, modified), ()


_cubic(sip.CubicSpline, _spline_options)
_cubic(sip.PchipInterpolator, lambda o, y: (pchip_slopes, ()))
_cubic(sip.Akima1DInterpolator, _akima_options)


@rrule(sip.CubicHermiteSpline)
def hermite_spline(x: CoDual, y, dydx, axis=0, extrapolate=None):
    poly = sip.CubicHermiteSpline(x.primal, y, dydx, axis, extrapolate)
    shadow = Kept.of(poly, c=poly.c, x=poly.x)

    def pullback(dy):
        ys, ss = (np.moveaxis(np.asarray(v, float), axis, 0) for v in (y, dydx))
        _, pull = call(hermite_coefficients, None, (np.asarray(x.primal, float), ys, ss))
        dx, dys, ds = pull(Kept.take(shadow, "c", poly.c))
        dx = (0.0 if dx is None else dx) + Kept.take(shadow, "x", poly.x)
        return fitted(dx, x.primal), fitted(np.moveaxis(dys, 0, axis), y), fitted(np.moveaxis(ds, 0, axis), dydx)

    return CoDual(poly, shadow), pullback


def _constructor(cls: Any) -> None:
    @rrule(cls)
    def piecewise(c, x: CoDual, extrapolate=None, axis=0):
        poly = cls(c, x.primal, extrapolate, axis)
        shadow = Kept.of(poly, c=poly.c, x=poly.x)

        def pullback(dy):
            dc = np.moveaxis(Kept.take(shadow, "c", poly.c), (0, 1), (axis, axis + 1))
            return fitted(dc, c), fitted(Kept.take(shadow, "x", poly.x), x.primal)

        return CoDual(poly, shadow), pullback


_constructor(PPoly)
if sip.BPoly.__call__ is PPoly.__call__:  # an older SciPy
    _constructor(sip.BPoly)


@rrule(getattr(PPoly.construct_fast, "__func__"))  # noqa: B009 (a class method, to mypy a callable)
def constructed(cls, c, x: CoDual, extrapolate=None, axis=0):
    poly = cls.construct_fast(c, x.primal, extrapolate, axis)
    shadow = Kept.of(poly, c=poly.c, x=poly.x)

    def pullback(dy):
        return None, fitted(Kept.take(shadow, "c", poly.c), c), fitted(Kept.take(shadow, "x", poly.x), x.primal)

    return CoDual(poly, shadow), pullback


refuse("extensions of piecewise polynomials are not known", PPoly.extend)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3, 4.0])
_Y = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.4])
_Q = np.array([[0.2, 1.1], [2.5, 3.9]])
_C = np.sin(np.arange(20.0)).reshape(4, 5)
_PP = PPoly(_C, _X)


def _of_spline(bc: Any, n: int = 6) -> Any:
    def call_spline(x, y, q):
        return sip.CubicSpline(x, y, bc_type=bc)(q)

    return case(call_spline, _X[:n], _Y[:n], _Q)


def _periodic(x, y, q):
    y = np.concatenate([y, y[:1]])
    return sip.CubicSpline(x, y, bc_type="periodic")(q)


CASES: list[RuleCase] = [
    *[_of_spline(bc) for bc in ("not-a-knot", "natural", "clamped", ((1, 0.5), (2, 0.3)), ("natural", "not-a-knot"))],
    *[_of_spline(bc, n) for bc in ("not-a-knot", "natural", ((1, 0.5), (2, 0.3)), ("natural", "not-a-knot"))
      for n in (2, 3, 4)], case(_periodic, _X, _Y[:5], _Q), case(_periodic, _X[:3], _Y[:2], _Q),
    case(_periodic, _X[:4], _Y[:3], _Q),
    case(lambda y, q: sip.CubicSpline(_X, y, axis=1)(q), np.stack([_Y, _Y**2]), _Q),
    case(lambda x, y, q: sip.CubicSpline(x, y)(q, 1), _X, _Y, 1.1),
    case(lambda x, y: sip.CubicSpline(x, y)(1.1), _X.tolist(), tuple(_Y.tolist())),
    case(lambda x, y, q: sip.CubicSpline(x, y).derivative()(q), _X, _Y, _Q),
    case(lambda x, y, q: sip.CubicSpline(x, y).antiderivative()(q), _X, _Y, _Q),
    case(lambda x, y: sip.CubicSpline(x, y).integrate(0.2, 2.9), _X, _Y),
    case(lambda x, y: sip.CubicSpline(x, y).c, _X, _Y),
    case(lambda y, b: sip.CubicSpline(_X, y, bc_type=((1, b), (2, 0.1)))(_Q), _Y, 0.3),
    case(lambda y, b: sip.CubicSpline(_X, y, 0, ["natural", (1, b)])(_Q), np.stack([_Y, _Y**2], 1), np.ones(2)),
    case(lambda y: sip.PPoly.from_spline(sip.splrep(_X, y))(_Q), _Y),
    case(lambda c, x: PPoly.construct_fast(c, x)(_Q), _C, _X), case(lambda c: PPoly.construct_fast(c, _X).c, _C),
    case(lambda x, y, q: sip.CubicSpline(x, y, extrapolate=False)(q), _X, _Y, _Q),
    case(lambda q: sip.CubicSpline(_X, _Y)(q), 0.3), case(lambda x, y, q: sip.PchipInterpolator(x, y)(q), _X, _Y, _Q),
    case(lambda x, y, q: sip.PchipInterpolator(x, y)(q), _X, np.cumsum(_Y**2), _Q),
    case(lambda x, y, q: sip.Akima1DInterpolator(x, y)(q), _X, _Y, _Q),
    case(lambda x, y, q: sip.Akima1DInterpolator(x, y, method="makima")(q), _X, _Y, _Q),
    case(lambda x, y, s, q: sip.CubicHermiteSpline(x, y, s)(q), _X, _Y, _Y**2, _Q),
    case(lambda c, x, q: PPoly(c, x)(q), _C, _X, _Q), case(lambda q: _PP(q), _Q), case(lambda q: _PP(q, 1), 1.1),
    case(lambda q: _PP(q, 2), _Q[0]), case(lambda a, b: _PP.integrate(a, b), 0.3, 2.7),
]  # fmt: skip
