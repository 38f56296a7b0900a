"""scipy.optimize: least squares, by the implicit function theorem at the solution that was found."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as so

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, DictShadow, ListShadow, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence
from mooncake_rules.captured import watched
from mooncake_rules.common import unbroadcast
from mooncake_rules.scipy_args import gathered, spread
from mooncake_rules.scipy_library import fitted, library_rule
from mooncake_rules.scipy_optimize import (
    EMPTY,
    depends,
    entry,
    extra,
    like_value,
    plain,
    plainly,
    primal,
    record,
    rest_is_zero,
)
from mooncake_rules.scipy_stationary import (
    at_bounds,
    gradient_at,
    held_at,
    least_value_cotangent,
    slope_along,
    stationary_cotangent,
)

# -- losses -----------------------------------------------------------------------------------------------

_LOSSES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "linear": (lambda z: z, lambda z: np.ones_like(z)),
    "soft_l1": (lambda z: 2.0 * (np.sqrt(1.0 + z) - 1.0), lambda z: 1.0 / np.sqrt(1.0 + z)),
    "huber": (lambda z: np.where(z <= 1.0, z, 2.0 * np.sqrt(np.maximum(z, 1.0)) - 1.0),
              lambda z: 1.0 / np.sqrt(np.maximum(z, 1.0))),
    "cauchy": (np.log1p, lambda z: 1.0 / (1.0 + z)),
    "arctan": (np.arctan, lambda z: 1.0 / (1.0 + z * z)),
}  # fmt: skip
"""Of the square of a residual: the loss and its slope."""


class Loss:
    """Half the sum of the losses of the residuals of a function."""

    def __init__(self, f: Any, loss: str = "linear", scale: float = 1.0):
        self.f, self.give, self.scale = f, f.give, scale
        self.loss, self.slope = _LOSSES[loss]

    def at(self, x: Any) -> Any:
        r, pull = self.f.at(x)
        flat = np.asarray(r, float)
        z = (flat / self.scale) ** 2
        value = 0.5 * self.scale**2 * float(np.sum(self.loss(z)))
        return value, lambda dy: pull(like_value(dy * self.slope(z) * flat, r))


class Weighted:
    """The sum of the residuals of a function, each times a number."""

    def __init__(self, f: Any, weights: np.ndarray):
        self.f, self.weights = f, weights

    def at(self, x: Any) -> Any:
        r, pull = self.f.at(x)
        return float(np.sum(self.weights * np.asarray(r, float))), lambda dy: pull(like_value(dy * self.weights, r))


def _limits(bounds: Any) -> so.Bounds:
    return bounds if isinstance(bounds, so.Bounds) else so.Bounds(*bounds)


def _bounds_cotangent(bounds: CoDual, low: np.ndarray, high: np.ndarray, t: np.ndarray) -> Any:
    """Those of lower and upper bounds, as a rule returns them; t is that of the coordinates at bounds."""
    if not np.any(t):
        return None
    box = _limits(bounds.primal)
    ds = fitted(np.where(low, t, 0.0), box.lb), fitted(np.where(high, t, 0.0), box.ub)
    if isinstance(bounds.primal, so.Bounds):
        if type(bounds.fdata) is ObjectShadow:
            for name, d in zip(("lb", "ub"), ds, strict=True):
                bounds.fdata.add_item(name, d)
        return None
    pair = [fitted(d, like) for d, like in zip(ds, bounds.primal, strict=True)]
    if type(bounds.fdata) is ListShadow:
        bounds.fdata.add(pair)
        return None
    return tuple(pair)


_UNBOUNDED = CoDual((-np.inf, np.inf), None)

# -- least squares ----------------------------------------------------------------------------------------

_SIGNATURE = inspect.signature(so.least_squares)


@rrule(so.least_squares)
@watched
def least_squares(fun: CoDual, x0, *given: CoDual, **named: CoDual):
    names = list(_SIGNATURE.parameters)[2:]
    options = dict(zip(names, given, strict=False)) | named
    values = {k: v.primal for k, v in options.items()}
    if not isinstance(values.get("loss", "linear"), str) or values.get("kwargs"):
        raise NotDifferentiated("scipy.optimize.least_squares is differentiated for named losses and without kwargs")
    res = so.least_squares(fun.primal, x0, **values)
    fres = record(res, ("x", "cost", "fun", "grad"))
    linear = values.get("loss", "linear") == "linear"
    args, bounds = options.get("args", EMPTY), options.get("bounds", _UNBOUNDED)
    each = spread(args)

    def pullback(dy):
        dx, dcost, dr = entry(fres, "x"), entry(fres, "cost"), entry(fres, "fun")
        dslope, djac = entry(fres, "grad"), entry(fres, "jac") if linear else None
        rest_is_zero(fres, ("x", "cost", "fun", "grad"), "scipy.optimize.least_squares")
        if all(t is None for t in (dx, dcost, dr, dslope, djac)):
            return None
        d = depends(fun, each)
        total = Loss(d, values.get("loss", "linear"), values.get("f_scale", 1.0))
        _, low, high = held_at(total, res.x, _limits(bounds.primal), [])
        free = ~(low | high)
        vector: Any = 0.0
        held = np.zeros(res.x.shape)
        if dcost is not None:
            vector, held = least_value_cotangent(total, res.x, dcost, free, bool(res.success))
        if dr is not None:
            r, pull = d.at(res.x)
            (t,), more = pull(like_value(dr, r))
            vector = vector + more
            dx = t if dx is None else dx + t
        if dslope is not None:
            t, more = slope_along(total, res.x, dslope)
            vector = vector + more
            dx = t if dx is None else dx + t
        if djac is not None:
            t, more = _jacobian_cotangents(d, res.x, djac)
            vector = vector + more
            dx = t if dx is None else dx + t
        if dx is not None:
            more, t = stationary_cotangent(total, res.x, dx, free, bool(res.success))
            vector, held = vector + more, held + t
        out = {"args": gathered(args, d.give(vector)), "bounds": _bounds_cotangent(bounds, low, high, held)}
        return None, None, *(out.get(k) for k in names[: len(given)]), *(out.get(k) for k in named)

    return CoDual(res, fres), pullback


def _of_residuals(told: Any, name: str) -> Any:
    """The cotangent of the residuals in the dict that tells of MINPACK's work; of the rest there must be none."""
    if type(told) is not DictShadow:
        return None
    dr = entry(told, "fvec")
    rest_is_zero(told, ("fvec",), name)
    return dr


_FOUND = (1, 2, 3, 4)
"""What MINPACK says where it got there."""


@rrule(so.leastsq)
@watched
def leastsq(func: CoDual, x0, args: CoDual = EMPTY, *rest, **options):
    y = so.leastsq(func.primal, plain(x0), args.primal, *map(primal, rest), **plainly(options))
    y = plain(y[0]), *y[1:]
    fy = zero_fdata(y)

    def pullback(dy):
        ds = dy if type(dy) is tuple else (None,) * len(y)
        dx = take_fdata(fy[0], ds[0])
        dcov, dr = (
            (take_fdata(fy[1], None), _of_residuals(fy[2], "scipy.optimize.leastsq")) if len(y) > 2 else (None, None)
        )
        if dx is None and dcov is None and dr is None:
            return None
        d = depends(func, args)
        dx = np.zeros(np.shape(y[0])) if dx is None else dx
        vector: Any = 0.0
        if dcov is not None:
            more, vector = _covariance_cotangents(d, y[0], dcov, True)
            dx = dx + more
        if dr is not None:
            (t,), more = d.at(y[0])[1](like_value(dr, d.at(y[0])[0]))
            dx, vector = dx + t, vector + more
        free = np.ones(np.size(y[0]), bool)
        more = stationary_cotangent(Loss(d), y[0], dx, free, y[-1] in _FOUND)[0]
        return None, None, extra(args, d.give(vector + more))

    return CoDual(y, fy), pullback


# -- linear least squares with bounds ---------------------------------------------------------------------


def _linear_cotangents(a: np.ndarray, b: np.ndarray, x: np.ndarray, dx: np.ndarray, free: np.ndarray) -> Any:
    """Of a and b for that of the x with the least |a x - b|, whose coordinates move where they are free.

    Where that is not one x it is the shortest of them: the derivative of the pseudoinverse (Golub and Pereyra 1973).
    The third is that of the coordinates that are not free, which move the others.
    """
    used = a[:, free]
    inverse = np.linalg.pinv(used, rcond=len(b) * np.finfo(float).eps)
    aw = inverse.T @ dx[free]
    w = np.zeros(x.shape)
    w[free] = inverse @ aw
    da = np.outer(b - a @ x, w) - np.outer(aw, x)
    if np.linalg.matrix_rank(used) < used.shape[1]:
        if not free.all():
            raise NotDifferentiated("the least squares have no one solution within the bounds: no derivative by them")
        da += np.outer(inverse.T @ x, dx - inverse @ (a @ dx))
    return da, aw, np.where(free, 0.0, dx - a.T @ aw)


def nnls_cotangents(dy: Any, y: Any, o: Any) -> Any:
    a, b, (x, norm) = o["A"], o["b"], y
    dx, dnorm = dy
    da, db = np.zeros(a.shape), np.zeros(b.shape)
    if dx is not None:
        da, db, _ = _linear_cotangents(a, b, x, np.asarray(dx), x > 0)
    if dnorm is not None and norm > 0:
        r = (a @ x - b) * (dnorm / norm)
        da, db = da + np.outer(r, x), db - r
    return da, db


library_rule(so.nnls, 2, nnls_cotangents)


@rrule(so.lsq_linear)
def lsq_linear(A: CoDual, b: CoDual, bounds: CoDual = _UNBOUNDED, *rest, **options):
    res = so.lsq_linear(A.primal, b.primal, bounds.primal, *rest, **options)
    fres = record(res, ("x", "cost", "fun"))

    def pullback(dy):
        dx, dcost, dr = entry(fres, "x"), entry(fres, "cost"), entry(fres, "fun")
        rest_is_zero(fres, ("x", "cost", "fun"), "scipy.optimize.lsq_linear")
        a, v, x = np.asarray(A.primal, float), np.asarray(b.primal, float), res.x
        t = np.zeros(v.shape)
        if dcost is not None:
            t = t + dcost * (a @ x - v)
        if dr is not None:
            t = t + dr
        dx = a.T @ t if dx is None else dx + a.T @ t
        low, high = at_bounds(x, _limits(bounds.primal))
        da, db, held = _linear_cotangents(a, v, x, dx, ~(low | high))
        of_bounds = _bounds_cotangent(bounds, low, high, held)
        return fitted(da + np.outer(t, x), A.primal), fitted(db - t, b.primal), of_bounds

    return CoDual(res, fres), pullback


# -- curves -----------------------------------------------------------------------------------------------


@rrule(so.curve_fit)
@watched
def curve_fit(
    f: CoDual, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds: CoDual = _UNBOUNDED,
    **options,
):  # fmt: skip
    out = so.curve_fit(f.primal, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds.primal, **options)
    out = plain(out[0]), *out[1:]
    fout = zero_fdata(out)

    def pullback(dy):
        dp, dcov = take_fdata(fout[0], None), take_fdata(fout[1], None)
        dr = _of_residuals(fout[2], "scipy.optimize.curve_fit") if len(fout) > 2 else None
        if dp is None and dcov is None and dr is None:
            return None
        x, y = np.asarray(xdata, float), np.asarray(ydata, float)
        residuals = Residuals(Dependence(f.primal, f.fdata), x, y, sigma)
        p = out[0]
        dp = np.zeros(p.shape) if dp is None else dp
        vector: Any = 0.0
        if dcov is not None and np.any(dcov):
            more, vector = _covariance_cotangents(residuals, p, dcov, absolute_sigma)
            dp = dp + more
        if dr is not None:
            (t,), more = residuals.at(p)[1](dr)
            dp, vector = dp + t, vector + more
        loss = Loss(residuals)
        _, low, high = held_at(loss, p, _limits(bounds.primal), [])
        more, held = stationary_cotangent(loss, p, dp, ~(low | high))
        vector = vector + more
        n, m, s = x.size, y.size, np.size(sigma) if sigma is not None else 0
        residuals.f.give(vector[n + m + s :])
        dx, dyd = vector[:n].reshape(x.shape), vector[n : n + m].reshape(y.shape)
        ds = None if sigma is None else fitted(vector[n + m : n + m + s].reshape(np.shape(sigma)), sigma)
        return (
            None,
            fitted(dx, xdata),
            fitted(dyd, ydata),
            None,
            ds,
            None,
            None,
            _bounds_cotangent(bounds, low, high, held),
        )

    return CoDual(out, fout), pullback


def _covariance_cotangents(r: Residuals, p: np.ndarray, dcov: np.ndarray, absolute: bool) -> Any:
    """Of the parameters and what the residuals depend on, for that of s^2 (J^T J)^-1, J the residuals' Jacobian.

    s^2 is 1, or the sum of squares by the degrees of freedom.
    """
    value, _ = r.at(p)
    m = np.size(value)
    jacobian = np.zeros((m, p.size))
    for i in range(m):
        row = np.zeros(m)
        row[i] = 1.0
        jacobian[i] = r.at(p)[1](row.reshape(np.shape(value)))[0][0]
    inverse = np.linalg.inv(jacobian.T @ jacobian)
    t = (dcov + dcov.T) / 2
    scale = 1.0 if absolute else float(np.sum(value * value)) / (m - p.size)
    weights = -2.0 * scale * jacobian @ inverse @ t @ inverse
    by_p, vector = _jacobian_cotangents(r, p, weights)
    if not absolute:
        factor = 2.0 * float(np.sum(t * inverse)) / (m - p.size)
        g, v = gradient_at(Loss(r), p)
        by_p, vector = by_p + factor * g, vector + factor * v
    return by_p, vector


def _jacobian_cotangents(r: Any, p: np.ndarray, dj: np.ndarray) -> tuple[Any, Any]:
    """Of the parameters and what the residuals depend on, for that of the residuals' Jacobian: a row per residual."""
    shape = np.shape(r.at(p)[0])
    by_p, vector = np.zeros(p.shape), 0.0
    for k in range(p.size):
        unit = np.zeros(p.size)
        unit[k] = 1.0
        g, v = slope_along(Weighted(r, dj[:, k].reshape(shape)), p, unit)
        by_p, vector = by_p + g, vector + v
    return by_p, vector


class Residuals:
    """(f(x, *p) - y) / sigma, which depends on x, y and sigma besides what f does."""

    def __init__(self, f: Dependence, x: np.ndarray, y: np.ndarray, sigma: Any):
        if sigma is not None and np.ndim(sigma) > 1:
            raise NotDifferentiated("scipy.optimize.curve_fit is differentiated for sigma of one dimension")
        self.f, self.x, self.y, self.give = f, x, y, f.give
        self.sigma = None if sigma is None else np.asarray(sigma, float)

    def at(self, p: np.ndarray) -> Any:
        value, pull = self.f.at(self.x, *map(float, p))
        r = value - self.y if self.sigma is None else (value - self.y) / self.sigma

        def back(dr: Any) -> Any:
            t = np.asarray(dr) if self.sigma is None else np.asarray(dr) / self.sigma
            (dx, *dp), vector = pull(t)
            dx = np.zeros(self.x.shape) if dx is None else dx
            by_sigma = [] if self.sigma is None else [unbroadcast(-t * r, self.sigma.shape).ravel()]
            parts = [dx.ravel(), unbroadcast(-t, self.y.shape).ravel(), *by_sigma, vector]
            return (np.array([0.0 if d is None else d for d in dp]),), np.concatenate(parts)

        return r, back


# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
_Y = np.array([2.1, 1.4, 0.9, 0.6, 0.5])
_TIGHT = {"xtol": 1e-15, "gtol": 1e-15, "ftol": 1e-15}


def _fall(x, a, b):
    return a * np.exp(-b * x)


def _slopes(x, a, b):
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e], axis=1)


# "lm" ends where the sum of squares is as small as it gets: 1e-9 off, which differences of results show.
_SURE = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15, "jac": _slopes, "method": "dogbox"}


def _fit(x, y):
    return so.curve_fit(_fall, x, y, p0=[1.0, 0.5], **_SURE)[0]


def _fit_with_errors(y, s):
    return so.curve_fit(_fall, _X, y, [1.0, 0.5], s, **_SURE)


def _fit_absolute(y, s):
    return np.sqrt(np.diag(so.curve_fit(_fall, _X, y, [1.0, 0.5], s, True, **_SURE)[1]))


def _least_by_list(a, b):
    return so.least_squares(lambda z, p, q: [z[0] ** 3 + p * z[0] - q, 0.1 * z[0]], [1.0], args=[a, b], **_TIGHT).x


def _line(z, x):
    return np.stack([x, np.ones(5)], axis=1)


def _least(p, x):
    return so.least_squares(lambda z: z[0] * x + z[1] - p, np.ones(2), lambda z: _line(z, x), **_TIGHT)["x"]


def _robust(loss: str, scale: float) -> Any:
    def fit(p, x):
        options = {**_TIGHT, "loss": loss, "f_scale": scale}
        res = so.least_squares(
            lambda z, q: z[0] * x + z[1] - q, np.ones(2), lambda z, q: _line(z, x), args=(p,), **options
        )
        return res.x, res.fun, res.cost

    fit.__qualname__ = f"least_squares-{loss}"
    return fit


def _middle(p):
    """The first residual is just beyond the kink of the loss's slope."""
    return so.least_squares(lambda z: z[0] - p, [0.7], loss="huber", **_TIGHT).x


def _boxed(p, low):
    def slopes(z):
        return np.stack([_X, 3 * z[1] ** 2 * np.ones(5)], axis=1)

    return so.least_squares(
        lambda z: z[0] * _X + z[1] ** 3 - p, [3.0, 1.0], slopes, bounds=([low, -4.0], 9.0), **_TIGHT
    ).x


def _held(kind: Any) -> Any:
    """A parameter is at its bound: what is least there changes with it."""

    def held(p, high):
        r = so.least_squares(
            lambda z: z[0] * _X + z[1] - p, [0.0, 0.0], lambda z: _line(z, _X), bounds=kind(np.full(2, -4.0), high),
            **_TIGHT,
        )  # fmt: skip
        return r.x, r.cost, r.fun, r.grad

    held.__qualname__ = f"least_squares-{kind.__name__}"
    return held


def _pair(low, high):
    return [low, high]


def _linear_within(a, b, low, high):
    r = so.lsq_linear(a, b, [low, high])
    return r.x, r.fun, r.cost


def _jacobian(p):
    r = so.least_squares(
        lambda z: z[0] * np.exp(-z[1] * _X) - p, [2.0, 0.5], lambda z: _slopes(_X, *z), method="dogbox", **_TIGHT
    )
    return r.jac


def _told(y):
    out = so.curve_fit(_fall, _X, y, p0=[1.0, 0.5], full_output=True, jac=_slopes, xtol=1e-15, ftol=1e-15)
    return out[2]["fvec"]


def _leastsq_told(p):
    out = so.leastsq(
        lambda z: z[0] * np.exp(-z[1] * _X) - p, [2.0, 0.5], (), lambda z: _slopes(_X, *z), full_output=True,
        xtol=1e-15, ftol=1e-15,
    )  # fmt: skip
    return out[1], out[2]["fvec"]


def _leastsq(p):
    return so.leastsq(lambda z, q: z[0] * _X + z[1] - q, np.ones(2), (p,), lambda z, q: _line(z, _X), xtol=1e-15)[0]


_A = np.array([[1.0, 0.2, 0.3], [0.4, 1.0, 0.5], [0.6, 0.7, 1.0], [0.2, 0.1, 0.3]])
_B = np.array([1.0, -0.5, 0.7, 0.3])
_P = np.array([0.3, 1.2, 2.5, 2.9, 4.6])
CASES: list[RuleCase] = [
    case(_least, _P, _X), case(_least_by_list, 0.7, 2.0),
    case(_fit, _X, _Y), case(_fit, _X, 0.9), case(_fit, _X, _Y[:1]),
    case(_fit_with_errors, _Y, np.array([0.1, 0.2, 0.1, 0.3, 0.2])),
    case(_fit_absolute, _Y, np.array([0.1, 0.2, 0.1, 0.3, 0.2])), case(_boxed, _P, 2.5),
    *[case(_robust(*given), _P, _X)
      for given in (("linear", 1.0), ("huber", 0.3), ("arctan", 0.3), ("soft_l1", 3.0), ("cauchy", 3.0))],
    *[case(_held(kind), _P, np.array([0.5, 9.0])) for kind in (_pair, so.Bounds)],
    case(_linear_within, _A, _B, 0.0, 0.6), case(_jacobian, _Y), case(_told, _Y),
    case(_leastsq_told, _Y),
    case(_leastsq, _P), case(_middle, np.array([-5e-4, 1.0, 3.0])),
    case(so.nnls, _A, _B), case(lambda a, b: so.lsq_linear(a, b).x, _A, _B),
    case(lambda a, b: so.lsq_linear(a, b).x, _A.T.copy(), _B[: _A.shape[1]]),
    case(lambda a, b: (lambda r: (r.x, r.fun, r.cost))(so.lsq_linear(a, b, (0.0, 0.6))), _A, _B),
]  # fmt: skip
