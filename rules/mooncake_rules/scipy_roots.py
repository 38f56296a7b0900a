"""scipy.interpolate: where piecewise polynomials (and so interpolating splines) have a value."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.stop import no_diff
from mooncake_py.testing import RuleCase, case

PPoly = sip.PPoly
_solve = PPoly.solve


def found(p: Any, y: Any, discontinuity: bool, extrapolate: Any) -> tuple[Any, Any]:
    """What SciPy finds, and the slopes there."""
    x = _solve(p, y, discontinuity, extrapolate)
    if x.dtype.kind != "f":
        raise NotDifferentiated("roots are differentiated for piecewise polynomials that give one number each")
    at = x[np.isfinite(x)]
    gap, slopes = p(at, 0, True) - y, p(at, 1, True)
    if np.any(np.abs(gap) > 1e-8 * (np.max(np.abs(p.c), initial=0.0) + np.abs(slopes * at) + np.abs(y))):
        raise NotDifferentiated("the polynomial jumps over the value where two pieces meet: discontinuity=False")
    return x, slopes


zero_derivative(found)


@overlay(PPoly.solve)
def solve(self, y=0.0, discontinuity=True, extrapolate=None):
    """They move by how far the value there is from y, over the slope."""
    x, slopes = found(self, y, discontinuity, extrapolate)
    there = np.isfinite(x)
    gap = self(x[there], 0, True) - y
    out = x.copy()
    out[there] -= (gap - no_diff(gap)) / slopes
    return out


@overlay(PPoly.roots)
def roots(self, discontinuity=True, extrapolate=None):
    return solve(self, 0, discontinuity, extrapolate)


# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3, 4.0])
_Y = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.4])


def _of_pieces(c, x, y):
    p = sip.PPoly(c, x)
    return p.roots(False), p.solve(y, extrapolate=False), p.derivative().roots(discontinuity=False, extrapolate=False)


CASES: list[RuleCase] = [
    case(lambda x, y: sip.CubicSpline(x, y).roots(), _X, _Y),
    case(lambda x, y, v: sip.PchipInterpolator(x, y).solve(v, extrapolate=False), _X, _Y, 0.2),
    case(lambda y, v: sip.Akima1DInterpolator(_X, y).derivative().solve(v, True, False) * v, _Y, 0.3),
    case(_of_pieces, np.array([[0.5, -0.3], [-1.6, 0.8], [0.6, -0.4]]), np.array([0.0, 1.5, 2.5]), -0.1),
]
