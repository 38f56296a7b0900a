"""scipy.interpolate: the polynomial through points, by its barycentric form (Berrut and Trefethen 2004)."""

from __future__ import annotations

import numpy as np
import scipy.interpolate as sip

from mooncake_py.registry import overlay
from mooncake_py.testing import RuleCase, case

_made = sip.BarycentricInterpolator.__mro__[1].__init__


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


# -- cases ------------------------------------------------------------------------------------------------

_X, _Y = np.array([0.1, 0.7, 1.2, 2.3]), np.array([0.9, -0.4, 1.7, 0.3])

CASES: list[RuleCase] = [
    case(lambda x, y, q: sip.BarycentricInterpolator(x, y)(q), _X, _Y, np.array([_X[1], 0.3, _X[2]])),
    case(lambda x, y, q: sip.BarycentricInterpolator(x, y)(q), _X, _Y, float(_X[1])),
    case(lambda x, y, q: sip.BarycentricInterpolator(x, y)(q), _X, _Y, np.array([0.3, 1.9])),
    case(lambda y, q: sip.barycentric_interpolate(_X, y, q, axis=1), np.stack([_Y, _Y * _X]), 0.8),
]
