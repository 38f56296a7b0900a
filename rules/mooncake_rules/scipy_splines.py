"""scipy.interpolate: B-splines, whose coefficients are linear in the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip

from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, NoDerivative, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_interpolate import front
from mooncake_rules.scipy_kept import Kept
from mooncake_rules.scipy_library import fitted, library_rule

Options = dict[str, Any]


# -- splines ----------------------------------------------------------------------------------------------


def spline_cotangents(
    t: np.ndarray, c: np.ndarray, k: int, x: np.ndarray, dy: np.ndarray, nu: int, extrapolate: Any
) -> Any:
    """Of the coefficients and the argument of a B-spline of one dimension with coefficients along the first axis."""
    flat = np.asarray(x, float).ravel()
    n = len(t) - k - 1
    weights = sip.BSpline(t, np.eye(n), k, extrapolate)(flat, nu)
    slope = sip.BSpline(t, c, k, extrapolate)(flat, nu + 1)
    d = dy.reshape(flat.size, *c.shape[1:])
    weights, slope = np.nan_to_num(weights), np.nan_to_num(slope)
    dc = np.zeros(c.shape, np.result_type(c, d))
    dc[:n] = np.tensordot(weights.T, d, 1)
    dx = np.sum((d * np.conjugate(slope)).real.reshape(flat.size, -1), axis=1)
    return dc, dx.reshape(np.shape(x))


@rrule(sip.BSpline.__call__)
def spline(self: CoDual, x, nu=0, extrapolate=None):
    b = self.primal
    y = b(x, nu, extrapolate)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        e = b.extrapolate if extrapolate is None else extrapolate
        t = front(np.asarray(dy), b.axis, np.ndim(x))
        dc, dx = spline_cotangents(b.t, b.c, b.k, x, t, nu, e)
        Kept.add(self, c=dc)
        return None, fitted(dx, x)

    return CoDual(y, fy), pullback


@rrule(sip.BSpline)
def of_coefficients(t, c, k, extrapolate=True, axis=0):
    b = sip.BSpline(t, c, k, extrapolate, axis)
    shadow = Kept.of(b, c=b.c)
    knots = NoDerivative("scipy.interpolate.BSpline", "the knots")

    def pullback(dy):
        return knots, fitted(np.moveaxis(Kept.take(shadow, "c", b.c), 0, axis), c)

    return CoDual(b, shadow), pullback


@rrule(sip.make_interp_spline)
def make_interp_spline(x: CoDual, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    b = sip.make_interp_spline(x.primal, y, k, t, bc_type, axis, check_finite)
    shadow = Kept.of(b, c=b.c)
    knots = NoDerivative("scipy.interpolate.make_interp_spline", "the places of the data")

    def pullback(dy):
        dc = Kept.take(shadow, "c", b.c)
        ys = np.asarray(y)
        n = ys.shape[axis]
        zero = sip.make_interp_spline(x.primal, np.zeros((n, n)), k, t, _homogeneous(bc_type, n), 0).c
        unit = sip.make_interp_spline(x.primal, np.eye(n), k, t, _homogeneous(bc_type, n), 0).c - zero
        d = np.tensordot(unit.T, dc, 1)
        return knots, fitted(np.moveaxis(d, 0, axis), y)

    return CoDual(b, shadow), pullback


def _homogeneous(bc_type: Any, n: int) -> Any:
    """The boundary conditions for n functions at once, without their values."""
    if bc_type is None or isinstance(bc_type, str):
        return bc_type
    return tuple([bc if bc is None or isinstance(bc, str) else [(m, np.zeros(n)) for m, _ in bc] for bc in bc_type])


def splev_cotangents(dy: Any, y: Any, o: Options) -> Any:
    tck = o["tck"]
    if not isinstance(tck, tuple) or isinstance(tck[1], (list, tuple)) or o["ext"] not in (0, 1, 2):
        raise NotImplementedError(
            "scipy.interpolate.splev is differentiated for (t, c, k) of one dimension and ext 0 to 2"
        )
    t, c, k = tck
    x = o["x"]
    d = np.asarray(dy, float)
    if o["ext"] == 1:
        d = np.where((x < t[k]) | (x > t[-k - 1]), 0.0, d)
    dc, dx = spline_cotangents(t, c, k, x, d, o["der"], True)
    return dx, (None, dc, None)


library_rule(sip.splev, 2, splev_cotangents)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3, 4.0])
_Y = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.4])
_Q = np.array([[0.2, 1.1], [2.5, 3.9]])

_BS = sip.make_interp_spline(_X, _Y)

CASES: list[RuleCase] = [
    case(lambda q: _BS(q), _Q), case(lambda q: _BS(q, 1), 1.1),
    case(lambda y, q: sip.make_interp_spline(_X, y)(q), _Y, _Q),
    case(lambda y, q: sip.make_interp_spline(_X, y, k=1)(q), np.stack([_Y, _Y**2], 1), 1.1),
    case(lambda c, q: sip.BSpline(_BS.t, c, 3)(q), _BS.c, _Q),
    case(lambda c: sip.BSpline(_BS.t, c, 3)(1.1, 1), _BS.c),
    case(lambda c: sip.BSpline(_BS.t, c, 3, axis=1)(1.1), np.stack([_BS.c, _BS.c**2])),
    case(lambda q: sip.splev(q, (_BS.t, _BS.c, 3)), _Q[0]),
    case(lambda c, q: sip.splev(q, (_BS.t, c, 3)), _BS.c, _Q[0]),
    case(lambda q: sip.splev(q, (_BS.t, _BS.c, 3), der=1), 1.1),
]  # fmt: skip
