"""scipy.interpolate: FITPACK's splines of two variables as `tck`, their derivatives, and fits to scattered data.

A least-squares fit with given knots is linear in the values. How a smoothing fit chooses its knots and coefficients
has no derivative: such a spline is differentiated by where it is evaluated, for constant data.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.interpolate as sip
from scipy.interpolate import _fitpack2

from mooncake_py.registry import rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_py.trees import leaves
from mooncake_rules import spline_formulas as formulas
from mooncake_rules.callables import run
from mooncake_rules.scipy_kept import Kept
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_surfaces import surface

_module: Any = _fitpack2


@rrule(sip.bisplev)
def bisplev(x, y, tck, dx=0, dy=0):
    z = sip.bisplev(x, y, tck, dx, dy)

    def pullback(dz):
        if dz is None:
            return None
        *tuc, kx, ky = tck
        given = [np.asarray(v, float) for v in (*tuc, np.atleast_1d(x), np.atleast_1d(y))]
        value, pull = run(surface, None, (*given, (kx, ky), (dx, dy), True), [True] * 5 + [False] * 3)
        dt, du, dc, dxs, dys = pull(np.asarray(dz, float).reshape(value.shape))[:5]
        dtck = type(tck)([dt, du, dc, None, None])
        return fitted(dxs.reshape(np.shape(x)), x), fitted(dys.reshape(np.shape(y)), y), dtck

    return z, pullback


def _held(shadow: ObjectShadow) -> Any:
    """The cotangents of knots and coefficients, or None; what else is read of such a spline is refused."""
    held = take_fdata(shadow.f["tck"], shadow.r.pop("tck", None))
    for k in {**shadow.f, **shadow.r}:
        if k != "tck" and _counts(take_fdata(shadow.f.get(k), shadow.r.pop(k, None))):
            NoDerivative(f"{type(shadow.owner).__qualname__}.{k}", "the data").refuse()
    return held if _counts(held) else None


def _counts(d: Any) -> bool:
    return d is not None and any(np.any(v) for v in leaves(d))


def differenced(t, u, c, k, orders):
    """Knots and coefficients of a partial derivative."""
    c = np.reshape(c, (len(t) - k[0] - 1, len(u) - k[1] - 1))
    for i in range(orders[0]):
        c = formulas.differenced(t, c, k[0] - i)
        t = t[1:-1]
    c = c.T
    for i in range(orders[1]):
        c = formulas.differenced(u, c, k[1] - i)
        u = u[1:-1]
    return t, u, np.reshape(c.T, (-1,))


@rrule(_module._BivariateSplineBase.partial_derivative)
def partial_derivative(self: CoDual, dx, dy):
    spline = self.primal
    if dx == 0 and dy == 0:
        return CoDual(spline, self.fdata), lambda _: None
    made = spline.partial_derivative(dx, dy)
    shadow = Kept.of(made, tck=made.tck)

    def pullback(_):
        held = _held(shadow)
        if held is not None and type(self.fdata) is ObjectShadow:
            given = [np.asarray(v, float) for v in spline.tck]
            values, pull = run(differenced, None, (*given, spline.degrees, (dx, dy)), [True] * 3 + [False] * 2)
            self.fdata.add_item("tck", tuple(pull(_whole(held, values))[:3]))
        return None

    return CoDual(made, shadow), pullback


def _whole(held: Any, values: Any) -> tuple[np.ndarray, ...]:
    return tuple([np.zeros(v.shape) if d is None else d for v, d in zip(values, held, strict=True)])


def _of_constants(f: Any) -> None:
    """A fit whose data are constants."""
    signature = inspect.signature(f)
    name = f"scipy.interpolate.{f.__name__}"

    def rule(*args, **kwargs):
        def pullback(dy):
            if not _counts(dy):
                return None
            return tuple([NoDerivative(name, f"its argument {p!r}") for p in signature.parameters])

        return f(*args, **kwargs), pullback

    rule.__signature__ = signature  # type: ignore[attr-defined]
    rrule(f)(rule)


_of_constants(sip.SmoothBivariateSpline)
_of_constants(sip.bisplrep)


def least(z, w, matrix):
    """The coefficients of the least-squares fit."""
    return np.linalg.lstsq(w[:, None] * matrix, w * z)[0]


@rrule(sip.LSQBivariateSpline)
def least_squares(x, y, z, tx, ty, w=None, bbox: CoDual = CoDual([None] * 4, None), kx=3, ky=3, eps=1e-16):  # noqa: B008
    spline = sip.LSQBivariateSpline(x, y, z, tx, ty, w, list(bbox.primal), kx, ky, eps)
    shadow = Kept.of(spline, tck=spline.tck)

    def pullback(_):
        held = _held(shadow)
        if held is None:
            return None
        t, u, c = spline.tck
        over = formulas.basis(t, np.asarray(x, float), kx, 0)
        along = formulas.basis(u, np.asarray(y, float), ky, 0)
        matrix = np.reshape(over[:, :, None] * along[:, None, :], (len(over), -1))
        name = "scipy.interpolate.LSQBivariateSpline"
        dx, dy, dtx, dty = (NoDerivative(name, f"its argument {p!r}") for p in ("x", "y", "tx", "ty"))
        weights = np.ones(len(over)) if w is None else np.asarray(w, float)
        if np.linalg.matrix_rank(weights[:, None] * matrix) < len(c):
            lost = NoDerivative(name, "data that do not determine it")
            return dx, dy, lost, dtx, dty, lost
        _, pull = run(least, None, (np.asarray(z, float), weights, matrix), [True, True, False])
        dz, dw, _ = pull(_whole(held, spline.tck)[2])
        return dx, dy, fitted(dz, z), dtx, dty, None if w is None else fitted(dw, w)

    return CoDual(spline, shadow), pullback


# -- cases ------------------------------------------------------------------------------------------------

_I = np.arange(60.0)
_X, _Y = (0.5 + 0.5 * np.sin(_I**2)), (0.5 + 0.5 * np.cos(3.0 * _I))
_Z = np.sin(3.0 * _X) * _Y**2
_TCK = sip.bisplrep(_X, _Y, _Z, s=0.01)
_SMOOTH = sip.SmoothBivariateSpline(_X, _Y, _Z, s=0.01)
_P, _Q = np.array([0.2, 0.41, 0.77]), np.array([0.3, 0.52, 0.8])
_GRID = np.sin(np.arange(42.0)).reshape(6, 7)
_XS, _YS = np.linspace(0.0, 1.0, 6), np.linspace(0.0, 1.0, 7)

CASES: list[RuleCase] = [
    case(lambda x, y: sip.bisplev(x, y, _TCK), _P, _Q), case(lambda x, y: sip.bisplev(x, y, _TCK, dx=1), 0.3, 0.4),
    case(lambda x, y: sip.bisplev(x, y, _TCK, 0, 2), _P, 0.4), case(lambda x: sip.bisplev(x, [0.3, 0.9], _TCK), 0.2),
    case(lambda t, c: sip.bisplev(_P, _Q, [t, _TCK[1], c, 3, 3]), _TCK[0] + 0.01 * np.arange(len(_TCK[0])), _TCK[2]),
    case(lambda x: sip.bisplev(x, _Q, sip.bisplrep(_X, _Y, _Z, s=0.01)), _P),
    case(lambda x, y: _SMOOTH.ev(x, y) + _SMOOTH.partial_derivative(1, 0)(x, y, grid=False), _P, _Q),
    case(lambda x, y: sip.SmoothBivariateSpline(_X, _Y, _Z, s=0.01)(x, y, grid=False), _P, _Q),
    case(lambda z, x: sip.LSQBivariateSpline(_X, _Y, z, [0.5], [0.5]).ev(x, _Q), _Z, _P),
    case(lambda z, w: sip.LSQBivariateSpline(_X, _Y, z, [0.5], [], w=w, kx=2)(_P, _Q), _Z, 1.0 + _X),
    case(lambda z, x: sip.RectBivariateSpline(_XS, _YS, z).partial_derivative(1, 2)(x, _Q), _GRID, _P),
    case(lambda z: sip.RectBivariateSpline(_XS, _YS, z).partial_derivative(0, 1).get_coeffs(), _GRID),
]  # fmt: skip
