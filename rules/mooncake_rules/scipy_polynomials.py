"""scipy.interpolate: the polynomial through points, by its barycentric form (Berrut and Trefethen 2004), and those in
the Bernstein basis."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip
from scipy.interpolate import _ppoly

from mooncake_py.registry import overlay, rrule
from mooncake_py.tangents import CoDual
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import taken_back

_made = sip.BarycentricInterpolator.__mro__[1].__init__


@overlay(sip.lagrange)
def lagrange(x, w):
    """The same sums of arrays: `poly1d` would drop the terms of a value that is 0."""
    total = np.zeros(len(x))
    for j in range(len(x)):
        term = w[j] * np.ones(1)
        for k in range(len(x)):
            if k != j:
                term = np.convolve(term, np.array([1.0, -x[k]]) / (x[j] - x[k]))
        total = total + term
    return np.poly1d(total)


@overlay(sip.BarycentricInterpolator.__init__)
def barycentric(self, xi, yi=None, axis=0, *, wi=None, rng=None, random_state=None):
    """The weights in one product each: SciPy multiplies in an order drawn at random, which keeps it within range."""
    _made(self, xi, yi, axis)
    self.xi = np.asarray(xi, dtype=np.float64)
    self.set_yi(yi)
    self.n = len(self.xi)
    self._diff_cij = None
    if wi is not None:
        self.wi = wi
    else:
        self._inv_capacity = 4.0 / (np.max(self.xi) - np.min(self.xi))
        apart = self._inv_capacity * (self.xi[:, None] - self.xi[None, :]) + np.eye(len(self.xi))
        products = np.prod(apart, axis=1)
        if np.any(products == 0.0):
            raise ValueError("Interpolation points xi must be distinct.")
        self.wi = 1.0 / products


def slopes_at_points(xi, yi, wi):
    """The derivative of the polynomial at each of its points."""
    gaps = xi[:, None] - xi
    away = gaps != 0.0
    d = away * (wi / wi[:, None]) / np.where(away, gaps, 1.0)
    return d @ yi - np.sum(d, axis=1)[:, None] * yi


@overlay(sip.BarycentricInterpolator._evaluate)
def evaluate(self, x):
    """The same numbers; at one of its points, the polynomial's tangent there."""
    xi, yi, wi = self.xi, self.yi, self.wi
    if x.size == 0:
        return np.zeros((0, self.r), dtype=self.dtype)
    gaps = x[..., None] - xi
    at = gaps == 0.0
    c = wi / np.where(at, 1.0, gaps)
    p = np.dot(c, yi) / np.sum(c, axis=-1)[..., None]
    hit = np.any(at, axis=-1)
    if not np.any(hit):
        return p
    k = np.argmax(at, axis=-1)
    return np.where(hit[..., None], yi[k] + (x - xi[k])[..., None] * slopes_at_points(xi, yi, wi)[k], p)


_bernstein: Any = _ppoly.evaluate_bernstein


def _evaluated(c: np.ndarray, x: np.ndarray, at: np.ndarray, nu: int) -> np.ndarray:
    out = np.empty((len(at), c.shape[2]), c.dtype)
    _bernstein(c, x, at, nu, True, out)
    return out


def bernstein_cotangents(
    c: np.ndarray, x: np.ndarray, at: np.ndarray, nu: int, t: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of coefficients, breakpoints and places: the polynomials c[:, i] are of the fraction of an interval."""
    last = len(x) - 1
    i = np.searchsorted(x, at, "right") - 1 if x[-1] >= x[0] else last - np.searchsorted(x[::-1], at)
    i = np.clip(i, 0, last - 1)
    h = x[i + 1] - x[i]
    s = (at - x[i]) / h
    units = _evaluated(np.eye(len(c))[:, None, :], np.array([0.0, 1.0]), s, nu) / h[:, None] ** nu
    dc = np.zeros(c.shape, np.result_type(c, t))
    np.add.at(dc.swapaxes(0, 1), i, units[:, :, None] * t[:, None, :])
    dat = np.sum((t * np.conjugate(_evaluated(c, x, at, nu + 1))).real, axis=1)
    wider = np.sum((t * np.conjugate(_evaluated(c, x, at, nu))).real, axis=1) * nu / h
    dx = np.zeros(x.shape)
    np.add.at(dx, i, (s - 1.0) * dat + wider)
    np.add.at(dx, i + 1, -s * dat - wider)
    return dc if c.dtype.kind == "c" else dc.real, dx, dat


@rrule(_bernstein, mutates=(5,))
def bernstein(c, x, at, nu, extrapolate, out: CoDual):
    old = out.primal.copy()
    _bernstein(c, x, at, nu, extrapolate, out.primal)

    def pullback(_):
        t = taken_back(out, old)
        if t is None:
            return None
        if not extrapolate:
            t = np.where(((at < min(x[0], x[-1])) | (at > max(x[0], x[-1])))[:, None], 0.0, t)
        return bernstein_cotangents(c, x, at, nu, t)

    return None, pullback


# -- cases ------------------------------------------------------------------------------------------------

_X, _Y = np.array([0.1, 0.7, 1.2, 2.3]), np.array([0.9, -0.4, 1.7, 0.3])
_C = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 1.0]])

CASES: list[RuleCase] = [
    case(lambda x, y, q: sip.BarycentricInterpolator(x, y)(q), _X, _Y, np.array([_X[1], 0.3, _X[2]])),
    case(lambda x, y, q: sip.BarycentricInterpolator(x, y)(q), _X, _Y, float(_X[1])),
    case(lambda x, y, q: sip.BarycentricInterpolator(x, y)(q), _X, _Y, np.array([0.3, 1.9])),
    case(lambda y, q: sip.barycentric_interpolate(_X, y, q, axis=1), np.stack([_Y, _Y * _X]), 0.8),
    case(lambda q: sip.BPoly(_C, _X[:3])(q), _X + 0.3),
    case(lambda c, x, q: sip.BPoly(c, x)(q), _C, _X[:3], _Y),
    case(lambda c, x, q: sip.BPoly(c, x)(q, 1), _C, _X[2::-1], _Y),
    case(lambda c, q: sip.BPoly(c * (1 - 0.3j), _X[:3])(q), _C, _Y),
    case(lambda c, q: sip.BPoly(c, _X[:3], extrapolate="periodic")(q, nu=1), _C, _Y + 0.05),
    case(lambda x, w, q: sip.lagrange(x, w)(q), _X, np.append(0.0, _Y[1:]), 0.9),
    case(lambda y, q: sip.BPoly.from_derivatives([0.0, 0.7, 1.2], y)(q), np.stack([_Y[:3], _X[:3]], 1), _Y),
]
if "c" in vars(sip.BPoly):  # an older SciPy's derivatives read what the polynomial keeps, and are refused
    CASES += [
        case(lambda c, q: sip.BPoly(c, _X[:3]).derivative()(q) + sip.BPoly(c, _X[:3]).antiderivative()(q), _C, _Y),
        case(lambda c, q: sip.BPoly(c, _X[:3]).integrate(0.2, q), _C, 0.9),
    ]
