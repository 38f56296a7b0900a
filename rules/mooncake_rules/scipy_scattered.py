"""Scattered data: radial basis functions, interpolation over triangles, the nearest point.

All interpolants are linear in the values. Over a triangulation the weights are the barycentric coordinates of the point
(LinearNDInterpolator), or what is made of unit values (CloughTocher2DInterpolator).
"""

from __future__ import annotations

import types as pytypes
from typing import Any

import numpy as np
import scipy.interpolate as sip

from mooncake_py.registry import overlay, rrule
from mooncake_py.shadows import NoDerivative, Shadow
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.scipy_kept import Kept
from mooncake_rules.scipy_library import fitted

# -- radial basis functions -------------------------------------------------------------------------------


def kernel_values(kernel, s):
    """The kernels as functions of the squared distance; those with a kink or a logarithm at zero are zero there."""
    if kernel == "gaussian":
        return np.exp(-s)
    if kernel == "multiquadric":
        return -np.sqrt(s + 1.0)
    if kernel == "inverse_multiquadric":
        return 1.0 / np.sqrt(s + 1.0)
    if kernel == "inverse_quadratic":
        return 1.0 / (s + 1.0)
    safe = np.where(s > 0, s, 1.0)
    if kernel == "thin_plate_spline":
        y = 0.5 * safe * np.log(safe)
    elif kernel == "linear":
        y = -np.sqrt(safe)
    elif kernel == "cubic":
        y = safe**1.5
    else:
        y = -(safe**2.5)
    return np.where(s > 0, y, 0.0)


def monomials(x, powers):
    """Of each point the products of its coordinates' powers."""
    y = np.ones((len(x), len(powers)))
    for i in range(x.shape[1]):
        y = y * x[:, i : i + 1] ** powers[:, i]
    return y


def coefficients_at(x, y, kernel, epsilon, powers, shift, scale):
    apart = (x[:, None, :] - y[None, :, :]) * epsilon
    radial = kernel_values(kernel, np.sum(apart * apart, axis=-1))
    return np.concatenate([radial, monomials((x - shift) / scale, powers)], axis=1)


def solved(y, d, smoothing, kernel, epsilon, powers, xp):
    low, high = np.min(y, axis=0), np.max(y, axis=0)
    shift, half = (high + low) / 2, (high - low) / 2
    scale = np.where(half == 0.0, 1.0, half)
    upper = coefficients_at(y, y, kernel, epsilon, powers, shift, scale)
    n, r = len(y), len(powers)
    lower = np.concatenate([upper[:, n:].T, np.zeros((r, r))], axis=1)
    left = np.concatenate([upper, lower]) + np.diag(np.concatenate([smoothing, np.zeros(r)]))
    return shift, scale, np.linalg.solve(left, np.concatenate([d, np.zeros((r, d.shape[1]))]))


def interpolated(x, y, kernel, epsilon, powers, shift, scale, coeffs, xp):
    return coefficients_at(x, y, kernel, epsilon, powers, shift, scale) @ coeffs


try:
    from scipy.interpolate import _rbfinterp_np

    mirrors(_rbfinterp_np._build_and_solve_system)(solved)
    mirrors(_rbfinterp_np.compute_interpolation)(interpolated)
except (ImportError, AttributeError):  # an older SciPy
    pass

# -- over triangles ---------------------------------------------------------------------------------------


def _constructor(cls: Any) -> None:
    @rrule(cls)
    def rule(points: CoDual, values, *args, **options):
        plain, named = _primals(args), {k: v.primal if type(v) is CoDual else v for k, v in options.items()}
        obj = cls(points.primal, values, *plain, **named)
        corners = np.asarray(obj.points, float)
        shadow = Kept.of(obj, values=obj.values, points=corners)

        def pullback(dy):
            d = Kept.take(shadow, "values", obj.values)
            dp: Any = Kept.take(shadow, "points", corners)
            rest = [NoDerivative(f"scipy.interpolate.{cls.__name__}", "an option")] * (len(args) + len(options))
            return _of_points(dp, points.primal), fitted(d.reshape(np.shape(values)), values), *rest

        return CoDual(obj, shadow), pullback


def _of_points(d: Any, points: Any) -> Any:
    """The cotangent of the points of the data, as they were given; a triangulation is a constant."""
    if type(d) is NoDerivative:
        return d
    if isinstance(points, tuple):
        return tuple([fitted(d[:, i].reshape(np.shape(p)), p) for i, p in enumerate(points)])
    return fitted(d, points) if isinstance(points, (np.ndarray, list)) else None


def _primals(args: tuple[Any, ...]) -> list[Any]:
    return [v.primal if type(v) is CoDual else v for v in args]


def _as_points(args: tuple[Any, ...]) -> np.ndarray:
    """The points as rows, however they are given."""
    if len(args) == 1 and not isinstance(args[0], tuple):
        return np.asarray(args[0], float)
    given = args[0] if len(args) == 1 else args
    return np.stack(np.broadcast_arrays(*[np.asarray(v, float) for v in given]), axis=-1)


def _as_given(dx: np.ndarray, args: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(args) == 1 and not isinstance(args[0], tuple):
        return (fitted(dx.reshape(np.shape(args[0])), args[0]),)
    given = args[0] if len(args) == 1 else args
    parts = tuple(fitted(dx[..., i], v) for i, v in enumerate(given))
    return (parts,) if len(args) == 1 else parts


def _values_of(obj: Any) -> np.ndarray:
    return np.asarray(obj.values).reshape(len(obj.values), -1)


def _barycentric(obj: Any, flat: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """The cotangents of values, places and corners; outside of the triangulation the fill value is constant.

    Which triangles there are does not change, and how the data are scaled makes no difference to a linear function:
    a corner that moves does what the place does that moves against it, by the corner's weight.
    """
    tri, ndim = obj.tri, flat.shape[1]
    at = obj._scale_x(flat)
    simplex = tri.find_simplex(at)
    inside = simplex >= 0
    transform = tri.transform[simplex[inside]]
    part = np.einsum("ijk,ik->ij", transform[:, :ndim], at[inside] - transform[:, ndim])
    weights = np.concatenate([part, 1.0 - part.sum(axis=1, keepdims=True)], axis=1)
    corners, t = tri.simplices[simplex[inside]], t[inside]
    values = _values_of(obj)
    dv = np.zeros(values.shape, np.result_type(values, t))
    np.add.at(dv, corners, weights[:, :, None] * t[:, None, :])
    along = np.sum(t[:, None, :] * np.conjugate(values[corners]), axis=-1).real
    dx = np.zeros(flat.shape)
    dx[inside] = np.einsum("ij,ijk->ik", along[:, :ndim] - along[:, ndim:], transform[:, :ndim])
    dx = dx if obj.scale is None else dx / obj.scale
    dp = np.zeros((len(values), ndim))
    np.add.at(dp, corners, -weights[:, :, None] * dx[inside][:, None, :])
    return dv, dx, dp


def _by_cubics(obj: Any, flat: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """By unit values; the differences of five points are exact for the cubic polynomials it consists of."""
    values = _values_of(obj)
    unit = sip.CloughTocher2DInterpolator(obj.tri, np.eye(len(values)), 0.0)
    at = obj._scale_x(flat)
    dv = unit(at).T @ t
    h = 1e-4 * np.ptp(obj.points, axis=0) * (1.0 if obj.scale is None else obj.scale)
    dx = np.zeros(flat.shape)
    for k in range(2):
        step = np.eye(2)[k] * h[k]
        near = [np.asarray(obj(flat + i * step)).reshape(t.shape) for i in (-2, -1, 1, 2)]
        slope = (near[0] - 8.0 * near[1] + 8.0 * near[2] - near[3]) / (12.0 * h[k])
        dx[:, k] = np.sum(t * np.conjugate(np.nan_to_num(slope)), axis=1).real
    return dv, dx, NoDerivative("scipy.interpolate.CloughTocher2DInterpolator", "the points of the data")


def _nearest(obj: Any, flat: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    values = _values_of(obj)
    at = obj._scale_x(flat)
    dv = np.zeros(values.shape, np.result_type(values, t))
    np.add.at(dv, obj.tree.query(at)[1], t)
    return dv, np.zeros(flat.shape), np.zeros((len(values), flat.shape[1]))


_CLASSES: dict[Any, Any] = {
    sip.LinearNDInterpolator: _barycentric,
    sip.CloughTocher2DInterpolator: _by_cubics,
    sip.NearestNDInterpolator: _nearest,
}


def _evaluated(f: Any) -> None:
    @rrule(f)
    def rule(self: CoDual, *args, **options):
        obj = self.primal
        plain = tuple(_primals(args))
        y = f(obj, *plain, **{k: v.primal if type(v) is CoDual else v for k, v in options.items()})
        fy = zero_fdata(y)

        def pullback(dy):
            dy = take_fdata(fy, dy)
            if dy is None:
                return None
            points = _as_points(plain)
            flat = points.reshape(-1, points.shape[-1])
            dv, dx, dp = _CLASSES[type(obj)](obj, flat, np.asarray(dy).reshape(len(flat), -1))
            Kept.add(self, values=dv.reshape(np.shape(obj.values)), points=dp)
            cotangents = _as_given(dx.reshape(points.shape), plain)
            given = [_to(v, d) for v, d in zip(args, cotangents, strict=True)]
            return None, *given, *[None] * len(options)

        return CoDual(y, fy), pullback


def _to(x: Any, d: Any) -> Any:
    """A cotangent as rdata, where the argument has no fdata that takes it."""
    if type(x) is CoDual and type(x.fdata) is Shadow:
        x.fdata.add(d)
        return None
    return d


_WHOLE = pytypes.FunctionType(
    sip.griddata.__code__, sip.griddata.__globals__, "griddata", sip.griddata.__defaults__, sip.griddata.__closure__
)
"""griddata by its own code, which puts points in order where they have one dimension."""


@overlay(sip.griddata)
def griddata(points, values, xi, method="linear", fill_value=np.nan, rescale=False):
    ndim = len(points) if isinstance(points, tuple) else np.shape(points)[-1] if np.ndim(points) > 1 else 1
    if ndim > 1 and method == "nearest":
        return sip.NearestNDInterpolator(points, values, rescale=rescale)(xi)
    if ndim > 1 and method == "linear":
        return sip.LinearNDInterpolator(points, values, fill_value=fill_value, rescale=rescale)(xi)
    if ndim == 2 and method == "cubic":
        return sip.CloughTocher2DInterpolator(points, values, fill_value=fill_value, rescale=rescale)(xi)
    return _WHOLE(points, values, xi, method, fill_value, rescale)


for _cls in _CLASSES:
    _constructor(_cls)
for _f in {c.__call__ for c in _CLASSES}:
    _evaluated(_f)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([[0.1, -0.6], [1.3, 0.2], [-0.7, 0.9], [0.4, 1.4], [-1.1, -0.8], [0.9, -1.2], [0.3, 0.3]])
_D = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.4, 0.7])
_Q = np.array([[0.2, 0.1], [-0.3, 0.4], [0.5, -0.5]])
_KERNELS = (
    *("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "inverse_multiquadric", "inverse_quadratic"),
    "gaussian",
)

CASES: list[RuleCase] = [
    *[case(lambda x, d, q, k=k: sip.RBFInterpolator(x, d, kernel=k, epsilon=0.9)(q), _X, _D, _Q) for k in _KERNELS],
    case(lambda d, s, q: sip.RBFInterpolator(_X, np.stack([d, d * d], 1), smoothing=s)(q), _D, 0.3, _Q),
    case(lambda d, q: sip.LinearNDInterpolator(_X, d)(q), _D, _Q),
    case(lambda d, a, b: sip.LinearNDInterpolator(_X, d, rescale=True)(a, b), _D, _Q[:, 0], _Q[:, 1]),
    case(lambda d, q: sip.CloughTocher2DInterpolator(_X, d)(q), _D, _Q),
    case(lambda d: sip.NearestNDInterpolator(_X, d)(_Q), _D),
    *[case(lambda d, m=m: sip.griddata(_X, d, _Q, method=m), _D) for m in ("linear", "cubic", "nearest")],
    case(lambda x, d, q: sip.LinearNDInterpolator(x, d)(q), _X, _D, _Q),
    case(lambda x, y, d, q: sip.griddata((x, y), d, q, rescale=True), _X[:, 0], _X[:, 1], _D, _Q),
]  # fmt: skip
