"""scipy.integrate: rules of sampled data, integrals of functions, and odeint.

An integral's derivative by what its integrand depends on is the integral of that derivative.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.integrate as si

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual, has_tangent, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence
from mooncake_rules.captured import watched
from mooncake_rules.common import unbroadcast
from mooncake_rules.numpy_analysis import trapezoid_cotangents
from mooncake_rules.quadrature import MOST, Piece, Rule, adaptive, at_nodes
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_adjoint import Motion
from mooncake_rules.scipy_args import gathered, spread
from mooncake_rules.scipy_kept import knots_of
from mooncake_rules.scipy_library import library_rule
from mooncake_rules.sequences import unstack

Options = dict[str, Any]
_EMPTY = CoDual((), None)

# -- sampled data -----------------------------------------------------------------------------------------


def _trapezoid(dy: Any, y: Any, o: Options) -> Any:
    return trapezoid_cotangents(dy, o["y"], o["x"], o["dx"], o["axis"])


def _steps(o: Options, y: np.ndarray) -> np.ndarray:
    """The distances between samples, with the axis of integration last, broadcasting with y."""
    if o["x"] is None:
        return np.full(y.shape[-1] - 1, float(o["dx"]))
    x = o["x"]
    return np.diff(np.moveaxis(x, o["axis"], -1) if x.ndim > 1 else x)


def _of_steps(dh: np.ndarray, o: Options) -> tuple[Any, Any]:
    """The cotangents of x and dx from that of the steps."""
    if o["x"] is None:
        return None, np.sum(dh)
    x = o["x"]
    moved = np.moveaxis(x, o["axis"], -1) if x.ndim > 1 else x
    dh = unbroadcast(dh, (*moved.shape[:-1], moved.shape[-1] - 1))
    dx = np.zeros(moved.shape, dh.dtype)
    dx[..., 1:] += dh
    dx[..., :-1] -= dh
    return np.moveaxis(dx, -1, o["axis"]) if x.ndim > 1 else dx, None


def cumulative_cotangents(dy: np.ndarray, y: np.ndarray, o: Options) -> tuple[Any, Any, Any]:
    """Of cumulative_trapezoid: every step counts in all sums after it."""
    values, h = np.moveaxis(o["y"], o["axis"], -1), _steps(o, np.moveaxis(o["y"], o["axis"], -1))
    t = np.moveaxis(dy, o["axis"], -1)
    if o["initial"] is not None:
        t = t[..., 1:]
    t = np.flip(np.cumsum(np.flip(t, -1), -1), -1)
    part = t * h / 2
    out = np.zeros(values.shape, part.dtype)
    out[..., 1:] += part
    out[..., :-1] += part
    dh = (t * np.conj(values[..., 1:] + values[..., :-1])).real / 2
    return np.moveaxis(out, -1, o["axis"]), *_of_steps(dh, o)


def simpson_sum(y: np.ndarray, h: np.ndarray) -> Any:
    """Simpson's rule for uneven steps along the last axis; for an even number of samples J. Cartwright's (2017)."""
    n = y.shape[-1]
    if n == 1:
        return 0.0 * y[..., 0]
    if n == 2:
        return h[..., 0] * (y[..., 0] + y[..., 1]) / 2
    m = n if n % 2 else n - 1
    a, b = h[..., 0 : m - 1 : 2], h[..., 1 : m - 1 : 2]
    whole = (a + b) / 6 * (
        y[..., 0 : m - 2 : 2] * (2 - b / a) + y[..., 1 : m - 1 : 2] * (a + b) ** 2 / (a * b)
        + y[..., 2:m:2] * (2 - a / b)
    )  # fmt: skip
    total = np.sum(whole, -1)
    if n % 2 == 0:
        a, b = h[..., -2], h[..., -1]
        total = total + y[..., -1] * (2 * b * b + 3 * a * b) / (6 * (a + b))
        total = total + y[..., -2] * (b * b + 3 * a * b) / (6 * a)
        total = total - y[..., -3] * b**3 / (6 * a * (a + b))
    return total


def simpson_cotangents(dy: Any, y: Any, o: Options) -> tuple[Any, Any, Any]:
    """The sum is linear in the samples, and analytic in the steps: complex steps give its derivatives exactly."""
    values = np.moveaxis(np.asarray(o["y"]), o["axis"], -1)
    t = np.asarray(dy)
    h = np.broadcast_to(_steps(o, values), (*values.shape[:-1], values.shape[-1] - 1))
    n = values.shape[-1]
    weights = np.stack([simpson_sum(np.broadcast_to(e, values.shape), h) for e in np.eye(n)], -1)
    out = t[..., None] * weights
    dh = np.zeros(h.shape)
    pairs = [(t.real, values.real), (t.imag, values.imag)] if values.dtype.kind == "c" else [(t, values)]
    for k in range(n - 1):
        step = h.astype(complex)
        step[..., k] += 1e-30j
        for tangent, part in pairs:
            dh[..., k] += tangent * simpson_sum(part, step).imag / 1e-30
    return np.moveaxis(out, -1, o["axis"]), *_of_steps(dh, o)


def romb_cotangents(dy: Any, y: Any, o: Options) -> tuple[Any, Any]:
    n = o["y"].shape[o["axis"]]
    weights = si.romb(np.eye(n), o["dx"], axis=-1)
    out = np.expand_dims(np.asarray(dy), o["axis"]) * weights.reshape(
        [-1 if k == o["axis"] % o["y"].ndim else 1 for k in range(o["y"].ndim)]
    )
    return out, np.sum(np.asarray(dy) * np.conj(y)).real / o["dx"]


library_rule(si.trapezoid, 3, _trapezoid)
library_rule(si.cumulative_trapezoid, 3, cumulative_cotangents)
library_rule(si.simpson, ("y", "x", "dx"), simpson_cotangents)
library_rule(si.romb, 2, romb_cotangents)

# -- integrals of functions -------------------------------------------------------------------------------


def _arguments(f: CoDual, args: CoDual) -> tuple[Dependence, bool]:
    """What the integrand depends on; SciPy takes one argument for a tuple of one."""
    if isinstance(args.primal, tuple):
        return Dependence(f.primal, f.fdata, args.primal, args.fdata), False
    return Dependence(f.primal, f.fdata, (args.primal,), None if args.fdata is None else (args.fdata,)), True


def _gradient(d: Dependence, t: float, dy: Any) -> np.ndarray:
    y, pull = d.at(float(t))
    return pull(_like(dy, y))[1]


def _like(dy: Any, y: Any) -> Any:
    """A cotangent of y of the size dy, where y is a number or an array of one."""
    dy = dy if np.iscomplexobj(y) else np.real(dy)
    return np.full(np.shape(y), dy) if isinstance(y, np.ndarray) else type(y)(dy)


def _integral(d: Dependence, a: float, b: float, dy: Any, epsabs: float, epsrel: float, points: Any) -> np.ndarray:
    """Of the cotangent of everything that an integrand depends on, dy being that of its integral.

    The integrand is run at all nodes of a piece in one loop, which is derived as one function: once for Kronrod's rule,
    and once for that of Gauss inside of it.
    """

    def by(rule: Rule, piece: Piece) -> np.ndarray:
        xs, ws = at_nodes(piece, rule, a, b)
        y, pull = d.weighted(ws.tolist(), xs.tolist())
        return pull(dy(y))

    knots = [p for x in d.made_of_arrays() for p in knots_of(x).tolist() if min(a, b) < p < max(a, b)]
    if knots:  # the slopes of an interpolant by what it was made of have kinks there, or jumps
        points = [*(() if points is None else points), *(knots if len(knots) < MOST // 4 else ())]
    return adaptive(by, a, b, epsabs, epsrel, points)


def _end(f: Any, at: float, args: Any) -> Any:
    """The integrand at an end; NaN where it cannot be computed: no integral needs it, but where the end is active."""
    try:
        return f(at, *args) if np.isfinite(at) else 0.0
    except (ArithmeticError, ValueError):
        return np.nan


def weight_at(x: float, weight: str | None = None, wvar: Any = None) -> float:
    """What an integrand is multiplied by; NaN at the ends of those that may have no finite value there."""
    if not weight or not np.isfinite(x):
        return 1.0
    if weight == "cauchy":
        return 1.0 / (x - float(wvar))
    return float(np.cos(wvar * x) if weight == "cos" else np.sin(wvar * x)) if weight in ("cos", "sin") else np.nan


def _of_end(t: float, weight: float) -> Any:
    """The cotangent of an end, t being that without a weight."""
    return (
        NoDerivative("scipy.integrate.quad", "an end where its weight is singular") if np.isnan(weight) else t * weight
    )


def _refuse_record(f: str, record: dict, shadow: Any) -> None:
    """Refuse derivatives of what a solver says about how it went, which it may have at the end of its result."""
    taken = (
        []
        if shadow is None
        else [take_fdata(shadow.f[k], shadow.r.get(k)) for k, v in record.items() if has_tangent(v)]
    )
    if any(d is not None and np.any(d) for d in taken):
        raise NotDifferentiated(f"what scipy.integrate.{f} records with full_output is not differentiated")


@rrule(si.quad)
@watched
def quad(func: CoDual, a, b, args: CoDual = _EMPTY, full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, **options):
    weighted = {k: options[k] for k in ("weight", "wvar") if options.get(k) is not None}
    y = si.quad(func.primal, a, b, args.primal, full_output, epsabs, epsrel, **options)
    fy = tuple(map(zero_fdata, y)) if len(y) > 2 else None
    record, shadow = (y[2], fy[2]) if fy is not None else ({}, None)

    def pullback(dy):
        _refuse_record("quad", record, shadow)
        if dy is None:
            return None
        if dy[1] is not None and dy[1]:
            raise NotDifferentiated("the error that scipy.integrate.quad estimates is not differentiated")
        d0 = dy[0]
        if d0 is None:
            return None
        d, single = _arguments(func, args)
        one = d0 if options.get("complex_func") else 1.0  # the integral of a real function is scaled when it is there

        if weighted:
            at = functools.cache(lambda t: _gradient(d, t, one))
            size = at(b if np.isfinite(b) else a if np.isfinite(a) else 0.0).size
            vector = np.array([
                si.quad(lambda t, i=i: at(t)[i], a, b, epsabs=epsabs, epsrel=epsrel, **weighted)[0] for i in range(size)
            ])  # fmt: skip
        else:
            vector = _integral(d, a, b, lambda y: _like(one, y), epsabs, epsrel, options.get("points"))
        ds = d.give(np.ravel(vector) * (d0 / one))
        da, db = (
            _of_end(sign * np.real(np.conj(d0) * np.ravel(_end(func.primal, x, d.extra))[0]), weight_at(x, **weighted))
            for sign, x in ((-1, a), (1, b))
        )
        dweight = {"wvar": NoDerivative("scipy.integrate.quad", "the parameter of its weight")} if weighted else {}
        return None, da, db, ds[0] if single else ds, *[None] * 3, *[dweight.get(k) for k in options]

    return CoDual(y, fy), pullback


@rrule(si.quad_vec)
@watched
def quad_vec(f: CoDual, a, b, epsabs=1e-200, epsrel=1e-8, norm="2", cache_size=100e6, limit=10000, workers=1,
             points=None, quadrature=None, full_output=False, *, args: CoDual = _EMPTY):  # fmt: skip
    """The integral of numbers or arrays."""
    if full_output:
        raise NotDifferentiated("scipy.integrate.quad_vec is differentiated without full_output")
    options = {"norm": norm, "cache_size": cache_size, "limit": limit, "points": points, "quadrature": quadrature}
    y, error = si.quad_vec(f.primal, a, b, epsabs, epsrel, args=_as_tuple(args.primal), **options)
    fy = zero_fdata(y)

    def pullback(dy):
        if dy is not None and dy[1] is not None and dy[1]:
            raise NotDifferentiated("the error that scipy.integrate.quad_vec estimates is not differentiated")
        t = take_fdata(fy, None if dy is None else dy[0])
        if t is None:
            return None
        d, single = _arguments(f, args)

        vector = _integral(d, a, b, lambda y: t, epsabs, epsrel, points)
        ds = d.give(np.ravel(vector))
        ends = [np.sum(t * np.asarray(_end(f.primal, x, d.extra))) for x in (a, b)]
        return None, -ends[0], ends[1], *[None] * 9, ds[0] if single else ds

    return CoDual((y, error), (fy, None)), pullback


def _as_tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


@rrule(si.fixed_quad)
@watched
def fixed_quad(func: CoDual, a, b, args: CoDual = _EMPTY, n=5):
    each = spread(args)
    y = si.fixed_quad(func.primal, a, b, each.primal, n)
    fy = zero_fdata(y)

    def pullback(dy):
        t = take_fdata(fy, dy)
        if t is None or t[0] is None:
            return None
        x, w = np.polynomial.legendre.leggauss(n)
        d = Dependence(func.primal, func.fdata, each.primal, each.fdata)
        points = (b - a) * (x + 1) / 2.0 + a
        values, pull = d.at(points)
        t0 = np.asarray(t[0])
        (dpoints,), vector = pull(t0[..., None] * w * (b - a) / 2.0)
        ds = d.give(vector)
        whole = np.sum(t0 * np.sum(w * np.asarray(values), -1)) / 2.0
        dpoints = np.zeros(n) if dpoints is None else dpoints
        da, db = np.sum(dpoints * (1 - x) / 2.0) - whole, np.sum(dpoints * (1 + x) / 2.0) + whole
        return None, da, db, gathered(args, ds)

    return CoDual(y, fy), pullback


# -- differential equations -------------------------------------------------------------------------------


@rrule(si.odeint)
@watched
def odeint(func: CoDual, y0, t, args: CoDual = _EMPTY, **options):
    full = bool(options.get("full_output"))
    y, info = si.odeint(func.primal, y0, t, args.primal, **(options | {"full_output": True}))
    fy, finfo = zero_fdata(y), zero_fdata(info) if full else None

    def pullback(dy):
        _refuse_record("odeint", info, finfo)
        dy = take_fdata(fy, dy[0] if full and dy is not None else dy)
        if dy is None:
            return None
        single = not isinstance(args.primal, tuple)
        motion = Motion(func, CoDual((args.primal,), (args.fdata,)) if single else args, options.get("tfirst", False))
        ts = np.asarray(t, float)
        slopes = motion.slope(ts, y)
        rtol, atol = (1.49e-8 if options.get(k) is None else options[k] for k in ("rtol", "atol"))
        dy0, ds = motion.back(ts[0], y[0], ts, dy, rtol, atol, int(info["nfe"][-1]))
        dts = np.sum(dy * slopes, axis=1)
        dts[0] = -np.sum((dy0 - dy[0]) * slopes[0])
        dy0 = dy0.reshape(np.shape(y0))
        return None, unstack(dy0, y0) if np.ndim(y0) else dy0[()], unstack(dts, t), ds[0] if single else ds

    return CoDual((y, info) if full else y, (fy, finfo) if full else fy), pullback


by_regular_samples(si.trapezoid, si.simpson, si.cumulative_trapezoid)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_M = np.sin(np.arange(20.0)).reshape(4, 5)
_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3])


def _logistic(y, t, r, k):
    return r * y * (1.0 - y / k)


def _pendulum(y, t, b, c):
    theta, omega = y
    return [omega, -b * omega - c * np.sin(theta)]


def _odeint(y0, t, b, c):
    return si.odeint(_pendulum, y0, t, args=(b, c), rtol=1e-11, atol=1e-11)


def _odeint_captured(y0, p):
    return si.odeint(
        lambda t, y: np.array([y[1], -p[0] * y[1] - p[1] * y[0]]), y0, _X, tfirst=True, rtol=1e-11, atol=1e-11
    )


def _growth(y0, r, k):
    return si.odeint(_logistic, y0, [0.0, 1.0, 2.0], args=(r, k), rtol=1e-11, atol=1e-11)


_NINE = np.linspace(0.0, 2.0, 9)


def _with_defaults(a, w):
    def given(t, b, a=a, w=w, k=2):
        return np.exp(-a * t * t) * b * w[1] + w[0] ** k

    def replaced(t=1.0, a=a):
        return np.exp(-a * t * t) * w[1]

    return si.quad(given, 0, a, args=(a * 2,))[0], si.quad(replaced, 0, a)[0], si.quad(replaced, 0, a, args=(w[0],))[0]


CASES: list[RuleCase] = [
    case(lambda a, b: si.quad(np.sin, a, b)[0], 0.3, 1.7), case(_with_defaults, 0.7, np.array([0.3, 0.4])),
    case(lambda a: si.quad(lambda t: t * a ** (-1.0 / t), 0.0, 1.0)[0], 1.7),
    case(lambda a: si.quad_vec(lambda t: t * a ** (-1.0 / t), 0.0, 1.0)[0], 1.7),
    case(lambda y, h: si.cumulative_simpson(y, dx=h), _V, 0.5),
    case(lambda y, x: si.cumulative_simpson(y, x=x, initial=0.0), _M, _X),
    case(si.trapezoid, _V), case(si.trapezoid, _V, _X), case(si.trapezoid, _M, dx=0.5, axis=0),
    case(lambda y, h: si.trapezoid(y, dx=h), _V, 0.5), case(si.cumulative_trapezoid, _V),
    case(si.cumulative_trapezoid, _V, _X, initial=0), case(si.cumulative_trapezoid, _M, axis=0),
    case(si.cumulative_trapezoid, _M, _X), case(lambda y, h: si.cumulative_trapezoid(y, dx=h), _V, 0.5),
    *[case(lambda y, h, f=f: f(y, dx=h), np.exp(1j * _NINE), 0.5)
      for f in (si.simpson, si.cumulative_trapezoid, si.romb, si.cumulative_simpson)],
    *[case(lambda y, x, f=f: f(y, x=x), _V * (1 + 0.3j), _X)
      for f in (si.simpson, si.cumulative_trapezoid, si.trapezoid)],
    case(si.simpson, _V), case(lambda y, x: si.simpson(y, x=x), _V, _X), case(lambda y, x: si.simpson(y, x=x), _M, _X),
    case(lambda y, x: si.simpson(y, x=x), _V[:4], _X[:4]), case(lambda y, h: si.simpson(y, dx=h), _V[:4], 0.5),
    case(lambda y: si.simpson(y, axis=0), _M), case(lambda y, x: si.simpson(y, x=x), _V[:2], _X[:2]),
    case(lambda y, h: si.romb(y, dx=h), _V, 0.5), case(lambda y: si.romb(y), _V),
    case(lambda a, b, p: si.quad(lambda x: np.exp(-p * x * x), a, b)[0], 0.2, 1.7, 0.8),
    case(lambda b, p, q: si.quad(lambda x, u, v: u * np.sin(v * x), 0.0, b, args=(p, q))[0], 1.7, 0.8, 1.3),
    case(lambda p: si.quad(lambda x: np.exp(-p * x), 0.0, np.inf)[0], 0.8),
    case(lambda r: si.quad(lambda x: np.sqrt(r * r - x * x), -r, r)[0], 1.3),  # the slope has no value at the ends
    case(lambda k: si.quad(lambda x: (1.0 - x) ** k, 0.0, 1.0)[0], -0.4),
    case(lambda a: si.quad(lambda x: np.sqrt(x - a) * np.exp(-x), a, np.inf)[0], 0.7),
    case(lambda c: si.quad(lambda x: np.sqrt(abs(x - c)), 0.0, 1.0)[0], 0.3),  # ... and at c
    case(lambda p: si.odeint(lambda y, t: -p * y, 1.3, [0.0, 0.7], full_output=True, rtol=1e-11, atol=1e-11)[0], 0.8),
    *[case(lambda a, b, p, w=w: si.quad(lambda x: np.exp(-p * x), a, b, weight=w, wvar=2.0)[0], 0.2, 1.1, 0.8)
      for w in ("cos", "sin", "cauchy")],
    case(lambda p: si.quad(lambda x: np.exp(-p[0] * x) * p[1], 0.0, 1.0, weight="alg", wvar=(-0.3, 0.2))[0], _V[:2]),
    case(lambda p: si.quad(lambda x: np.exp(-p * x), 0.0, np.inf, weight="cos", wvar=1.3)[0], 0.8),
    case(lambda a, b, p: si.quad_vec(lambda x: np.array([np.sin(p * x), x * p]), a, b)[0], 0.2, 1.7, 0.8),
    case(lambda p, q: si.quad_vec(lambda x, u: np.exp(-u * x) * q, 0.0, 2.0, args=(p,))[0], 0.8, np.array([0.3, 1.1])),
    case(lambda p: si.quad(lambda x, v: np.cos(v * x), 0.0, 1.0, args=p)[0], 0.8),
    case(lambda a, b, p: si.quad(lambda x: np.exp(1j * p * x) * p, a, b, complex_func=True)[0], 0.2, 1.7, 0.8),
    case(lambda p: si.quad(lambda x: p * x if x < 0.5 else x, 0.0, 1.0, complex_func=True, points=[0.5])[0], 0.3 + 1j),
    case(lambda w: si.quad(lambda x: np.sum(w * np.array([1.0, x, x * x])), 0.0, 1.5)[0], np.array([0.3, -0.5, 1.0])),
    case(lambda a, b, p: si.fixed_quad(lambda x: np.exp(-p * x * x), a, b, n=4)[0], 0.2, 1.7, 0.8),
    case(lambda b, p: si.fixed_quad(lambda x, b, p: b * np.exp(-p * x * x), 0.2, b, args=[b, p])[0], 1.7, 0.8),
    case(_odeint, np.array([0.5, 0.3]), _X, 0.25, 3.0),
    case(_odeint_captured, np.array([0.5, 0.3]), np.array([0.2, 1.5])),
    case(_growth, 0.3, 1.1, 2.0),
]  # fmt: skip
