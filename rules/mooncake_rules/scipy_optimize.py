"""scipy.optimize: roots and minima by the implicit function theorem, at the solution that was found.

For F(x, p) = 0 the cotangent of p is that of F(x, p) for the cotangent -(dF/dx)^-T dx of F. A minimum is a root of
the gradient; without a function for the gradient its derivatives are differences of gradients. A starting point has
no influence on the solution: its derivative is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as so

from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, DictShadow, NoDerivative, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence
from mooncake_rules.sequences import unstack

_EMPTY = CoDual((), None)


def _as_tuple(args: Any) -> CoDual:
    """`args` as SciPy takes it: one argument may stand for a tuple of one."""
    if isinstance(args.primal, tuple):
        return args
    return CoDual((args.primal,), None if args.fdata is None else (args.fdata,))


def _extra(args: CoDual, ds: tuple[Any, ...]) -> Any:
    return ds if isinstance(args.primal, tuple) else ds[0]


def _depends(f: CoDual, args: CoDual) -> Any:
    a = _as_tuple(args)
    return Dependence(f.primal, f.fdata, a.primal, a.fdata)


# -- roots ------------------------------------------------------------------------------------------------


def root_cotangent(f: Any, x: np.ndarray, dx: np.ndarray) -> np.ndarray:
    """The cotangent of what f depends on, for that of its root x."""
    jacobian = []
    y, _ = f.at(x)
    for k in range(np.size(y)):
        row = np.zeros(np.shape(y))
        row.reshape(-1)[k] = 1.0
        (t,), _ = f.at(x)[1](_like(row, y))
        jacobian.append(np.zeros(np.size(x)) if t is None else np.ravel(t))
    weight = -np.linalg.solve(np.array(jacobian).T, np.ravel(dx)).reshape(np.shape(y))
    vector: np.ndarray = f.at(x)[1](_like(weight, y))[1]
    return vector


def _like(t: np.ndarray, y: Any) -> Any:
    """A cotangent in the kind of the value y."""
    if isinstance(y, np.ndarray):
        return t
    if isinstance(y, (list, tuple)):
        return type(y)([_like(t[i], v) for i, v in enumerate(y)])
    return type(y)(np.ravel(t)[0])


def _scalar_root(f: Dependence, x: float, dx: Any) -> np.ndarray:
    y, pull = f.at(x)
    (slope,), vector = pull(type(y)(1.0) if not isinstance(y, np.ndarray) else np.ones(y.shape))
    return -np.ravel(dx)[0] / np.ravel(slope)[0] * vector


def _bracketing(method: Any) -> None:
    name = method.__name__

    @rrule(method)
    def rule(f: CoDual, a, b, args: CoDual = _EMPTY, **options):
        if options.get("full_output"):
            raise NotImplementedError(f"scipy.optimize.{name} is differentiated without full_output")
        x = method(f.primal, a, b, args.primal, **options)

        def pullback(dy):
            if dy is None:
                return None
            d = _depends(f, args)
            return None, None, None, _extra(args, d.give(_scalar_root(d, x, dy)))

        return CoDual(x, None), pullback


for _f in (so.brentq, so.brenth, so.bisect, so.ridder, so.toms748):
    _bracketing(_f)


@rrule(so.newton)
def newton(func: CoDual, x0, fprime=None, args: CoDual = _EMPTY, *rest, **options):
    if options.get("full_output"):
        raise NotImplementedError("scipy.optimize.newton is differentiated without full_output")
    x = so.newton(func.primal, x0, fprime, args.primal, *[_primal(r) for r in rest], **options)
    fx = zero_fdata(x)

    def pullback(dy):
        dy = take_fdata(fx, dy)
        if dy is None:
            return None
        d = _depends(func, args)
        vector = root_cotangent(d, x, dy) if np.ndim(x) else _scalar_root(d, x, dy)
        return None, None, None, _extra(args, d.give(vector))

    return CoDual(x, fx), pullback


def _primal(x: Any) -> Any:
    return x.primal if type(x) is CoDual else x


@rrule(so.fsolve)
def fsolve(func: CoDual, x0, args: CoDual = _EMPTY, **options):
    out = so.fsolve(func.primal, _plain(x0), args.primal, **options)
    x = out[0] if options.get("full_output") else out
    fx = zero_fdata(x)

    def pullback(dy):
        dy = take_fdata(fx, dy[0] if type(dy) is tuple else None)
        if dy is None:
            return None
        d = _depends(func, args)
        return None, None, _extra(args, d.give(root_cotangent(d, x, dy)))

    if options.get("full_output"):
        return CoDual(out, (fx, *(None,) * (len(out) - 1))), pullback
    return CoDual(x, fx), pullback


def _plain(x: Any) -> Any:
    return np.array(x) if isinstance(x, np.ndarray) else x


class Fixed:
    """x - f(x), whose root is the fixed point of f."""

    def __init__(self, f: Any):
        self.f = f

    def at(self, x: Any) -> Any:
        y, pull = self.f.at(x)

        def back(dy: Any) -> Any:
            (t,), vector = pull(dy)
            t = dy if t is None else dy - t
            return (t,), -vector

        return np.asarray(x) - y, lambda dy: back(_like(np.asarray(dy), y))


@rrule(so.fixed_point)
def fixed_point(func: CoDual, x0, args: CoDual = _EMPTY, **options):
    x = so.fixed_point(func.primal, x0, args.primal, **options)
    fx = zero_fdata(x)

    def pullback(dy):
        dy = take_fdata(fx, dy)
        if dy is None:
            return None
        d = _depends(func, args)
        return None, None, _extra(args, d.give(root_cotangent(Fixed(d), x, np.asarray(dy))))

    return CoDual(x, fx), pullback


# -- results that are records -----------------------------------------------------------------------------


def _record(result: Any, names: tuple[str, ...]) -> DictShadow:
    """The fdata of an OptimizeResult: that of the entries `names`, nothing for the others."""
    return DictShadow({k: zero_fdata(result[k]) if k in names else None for k in result}, {})


def _entry(record: DictShadow, name: str) -> Any:
    return take_fdata(record.f[name], record.r.pop(name, None))


def _rest_is_zero(record: DictShadow, names: tuple[str, ...], what: str) -> None:
    used = [k for k, r in record.r.items() if k not in names and r is not None and np.any(r)]
    if used:
        raise NotImplementedError(f"{what}: the entry {used[0]!r} of the result is not differentiated")


@rrule(so.root)
def root(fun: CoDual, x0, args: CoDual = _EMPTY, method="hybr", jac=None, tol=None, callback=None, options=None):
    res = so.root(fun.primal, x0, args.primal, method, jac, tol, callback, options)
    fres = _record(res, ("x",))

    def pullback(dy):
        dx = _entry(fres, "x")
        _rest_is_zero(fres, ("fun", "x"), "scipy.optimize.root")
        if dx is None:
            return None
        d = _depends(fun, args)
        if jac is True:
            d = First(d)
        return None, None, _extra(args, d.give(root_cotangent(d, res.x, dx)))

    return CoDual(res, fres), pullback


class First:
    """The first of several results of a function; `which` another."""

    def __init__(self, f: Any, which: int = 0):
        self.f, self.which, self.give = f, which, f.give

    def at(self, *xs: Any) -> Any:
        y, pull = self.f.at(*xs)
        return y[self.which], lambda dy: pull(tuple([dy if i == self.which else None for i in range(len(y))]))


# -- minima -----------------------------------------------------------------------------------------------


def gradient_at(f: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of a function with a number as value, by x and by what it depends on."""
    y, pull = f.at(x)
    one = np.ones(np.shape(y)) if isinstance(y, np.ndarray) else type(y)(1.0)
    (g,), vector = pull(one)
    return np.zeros(np.shape(x)) if g is None else np.asarray(g), vector


def _along(f: Any, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of both gradients in direction v of x, by differences of the fourth order."""
    size = float(np.max(np.abs(v))) if np.size(v) else 0.0
    if not size:
        g, p = gradient_at(f, x)
        return np.zeros_like(g), np.zeros_like(p)
    h = 1e-3 * (1.0 + float(np.max(np.abs(x)))) / size
    a, b, c, d = (gradient_at(f, _shifted(x, k * h * v)) for k in (-2.0, -1.0, 1.0, 2.0))
    return tuple((p - 8.0 * q + 8.0 * r - s) / (12.0 * h) for p, q, r, s in zip(a, b, c, d, strict=True))


def _shifted(x: Any, v: Any) -> Any:
    return x + v if isinstance(x, np.ndarray) else type(x)(x + np.ravel(v)[0])


def minimum_cotangent(f: Any, x: Any, dx: Any, free: np.ndarray) -> np.ndarray:
    """The cotangent of what f depends on, for that of its minimum x, whose coordinates move where they are free."""
    n = np.size(x)
    columns = []
    for k in np.flatnonzero(free):
        v = np.zeros(n)
        v[k] = 1.0
        columns.append(np.ravel(_along(f, x, v.reshape(np.shape(x)))[0])[free])
    direction = np.zeros(n)
    if columns:
        hessian = np.array(columns)
        direction[free] = -np.linalg.solve((hessian + hessian.T) / 2, np.ravel(dx)[free])
    return _along(f, x, direction.reshape(np.shape(x)))[1]


def _free(x: np.ndarray, bounds: Any) -> np.ndarray:
    """Which coordinates are not at a bound."""
    if bounds is None:
        return np.ones(np.size(x), bool)
    if isinstance(bounds, so.Bounds):
        lo, hi = np.broadcast_to(bounds.lb, x.shape), np.broadcast_to(bounds.ub, x.shape)
    else:
        lo = np.array([-np.inf if a is None else a for a, _ in bounds], float)
        hi = np.array([np.inf if b is None else b for _, b in bounds], float)
    gap = 1e-8 * np.maximum(1.0, np.abs(x))
    return (x > lo + gap) & (x < hi - gap)


_NONE = CoDual(None, None)


@rrule(so.minimize)
def minimize(
    fun: CoDual, x0, args: CoDual = _EMPTY, method=None, jac: CoDual = _NONE, hess=None, hessp=None,
    bounds=None, constraints=(), tol=None, callback=None, options=None,
):  # fmt: skip
    res = so.minimize(
        fun.primal, x0, args.primal, method, jac.primal, hess, hessp, bounds, constraints, tol, callback, options
    )
    fres = _record(res, ("x", "fun"))

    def pullback(dy):
        dx, dfun = _entry(fres, "x"), _entry(fres, "fun")
        _rest_is_zero(fres, ("x", "fun", "jac"), "scipy.optimize.minimize")
        if dx is None and dfun is None:
            return None
        if constraints:
            raise NotImplementedError("scipy.optimize.minimize with constraints is not differentiated")
        whole = _depends(fun, args)
        value = First(whole) if jac.primal is True else whole
        vector: Any = 0.0
        if dfun is not None:
            vector = vector + np.ravel(dfun)[0] * gradient_at(value, res.x)[1]
        if dx is not None:
            free = _free(res.x, bounds)
            if jac.primal is True and free.all():
                vector = vector + root_cotangent(First(whole, 1), res.x, dx)
            else:
                vector = vector + minimum_cotangent(value, res.x, dx, free)
        return None, None, _extra(args, whole.give(vector))

    return CoDual(res, fres), pullback


@rrule(so.minimize_scalar)
def minimize_scalar(fun: CoDual, bracket=None, bounds=None, args: CoDual = _EMPTY, method=None, tol=None, options=None):
    res = so.minimize_scalar(fun.primal, bracket, bounds, args.primal, method, tol, options)
    fres = _record(res, ("x", "fun"))

    def pullback(dy):
        dx, dfun = _entry(fres, "x"), _entry(fres, "fun")
        _rest_is_zero(fres, ("x", "fun"), "scipy.optimize.minimize_scalar")
        if dx is None and dfun is None:
            return None
        d = _depends(fun, args)
        vector: Any = 0.0
        if dfun is not None:
            vector = vector + dfun * gradient_at(d, res.x)[1]
        if dx is not None:
            vector = vector + minimum_cotangent(d, float(res.x), dx, np.ones(1, bool))
        return None, None, None, _extra(args, d.give(vector))

    return CoDual(res, fres), pullback


class HalfSquare:
    """|r|^2 / 2 of a function of residuals r."""

    def __init__(self, f: Any):
        self.f, self.give = f, f.give

    def at(self, x: Any) -> Any:
        r, pull = self.f.at(x)
        flat = np.asarray(r, float)
        return 0.5 * float(np.sum(flat * flat)), lambda dy: pull(_like(dy * flat, r))


@rrule(so.least_squares)
def least_squares(fun: CoDual, x0, jac="2-point", bounds=None, args: CoDual = _EMPTY, **options):
    limits = (-np.inf, np.inf) if bounds is None else bounds
    if options.get("loss", "linear") != "linear" or options.get("kwargs"):
        raise NotImplementedError(
            "scipy.optimize.least_squares is differentiated with loss='linear' and without kwargs"
        )
    res = so.least_squares(fun.primal, x0, jac, limits, args=args.primal, **options)
    fres = _record(res, ("x", "cost"))

    def pullback(dy):
        dx, dcost = _entry(fres, "x"), _entry(fres, "cost")
        _rest_is_zero(fres, ("x", "cost", "grad"), "scipy.optimize.least_squares")
        if dx is None and dcost is None:
            return None
        d = _depends(fun, args)
        half = HalfSquare(d)
        vector: Any = 0.0
        if dcost is not None:
            vector = vector + dcost * gradient_at(half, res.x)[1]
        if dx is not None:
            pair = limits if isinstance(limits, so.Bounds) else so.Bounds(*limits)
            vector = vector + minimum_cotangent(half, res.x, dx, _free(res.x, pair))
        out = _extra(args, d.give(vector))
        return None, None, None, None, out

    return CoDual(res, fres), pullback


@rrule(so.root_scalar)
def root_scalar(f: CoDual, args: CoDual = _EMPTY, method=None, bracket=None, **options):
    res = so.root_scalar(f.primal, args.primal, method, bracket, **options)
    fres = _record(res, ("root",))

    def pullback(dy):
        dx = _entry(fres, "root")
        if dx is None:
            return None
        d = _depends(f, args)
        if options.get("fprime") is True:
            d = First(d)
        return None, _extra(args, d.give(_scalar_root(d, float(res.root), dx)))

    return CoDual(res, fres), pullback


@rrule(so.curve_fit)
def curve_fit(f: CoDual, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, **options):
    bounds = options.get("bounds", (-np.inf, np.inf))
    if options.get("full_output"):
        raise NotImplementedError("scipy.optimize.curve_fit is differentiated without full_output")
    out = so.curve_fit(f.primal, xdata, ydata, p0, sigma, absolute_sigma, check_finite, **options)
    fout = zero_fdata(out)

    def pullback(dy):
        dp, dcov = take_fdata(fout[0], None), take_fdata(fout[1], None)
        if dcov is not None and np.any(dcov):
            raise NotImplementedError("the covariances that scipy.optimize.curve_fit returns are not differentiated")
        if dp is None:
            return None
        x, y = np.asarray(xdata, float), np.asarray(ydata, float)
        residuals = Residuals(Dependence(f.primal, f.fdata), x, y, sigma)
        vector = minimum_cotangent(HalfSquare(residuals), out[0], dp, _free(out[0], _box(bounds)))
        n, m = x.size, y.size
        residuals.f.give(vector[n + m :])
        dx, dyd = vector[:n].reshape(x.shape), vector[n : n + m].reshape(y.shape)
        by_sigma = NoDerivative("scipy.optimize.curve_fit", "sigma")
        return None, unstack(dx, xdata), unstack(dyd, ydata), None, by_sigma

    return CoDual(out, fout), pullback


def _box(bounds: Any) -> so.Bounds:
    return bounds if isinstance(bounds, so.Bounds) else so.Bounds(*bounds)


class Residuals:
    """(f(x, *p) - y) / sigma, which depends on x and y besides what f does."""

    def __init__(self, f: Dependence, x: np.ndarray, y: np.ndarray, sigma: Any):
        if sigma is not None and np.ndim(sigma) > 1:
            raise NotImplementedError("scipy.optimize.curve_fit is differentiated for sigma of one dimension")
        self.f, self.x, self.y, self.give = f, x, y, f.give
        self.scale = 1.0 if sigma is None else 1.0 / np.asarray(sigma, float)

    def at(self, p: np.ndarray) -> Any:
        value, pull = self.f.at(self.x, *map(float, p))

        def back(dr: Any) -> Any:
            t = np.asarray(dr) * self.scale
            (dx, *dp), vector = pull(t)
            dx = np.zeros(self.x.shape) if dx is None else dx
            return (np.array([0.0 if d is None else d for d in dp]),), np.concatenate([dx.ravel(), -t.ravel(), vector])

        return (value - self.y) * self.scale, back


# -- cases ------------------------------------------------------------------------------------------------


def _by_closure(method: Any, *options: Any) -> Any:
    def solve(a, b):
        return method(lambda x: x**3 + b * x - a, *options)

    solve.__qualname__ = f"{method.__name__}-closure"
    return solve


def _by_arguments(method: Any, *options: Any) -> Any:
    def solve(a, b):
        return method(lambda x, p, q: x**3 + q * x - p, *options, args=(a, b))

    solve.__qualname__ = f"{method.__name__}-args"
    return solve


def _system(x, p, s):
    return np.array([x[0] ** 2 + p[0] * x[1] - s, np.sin(x[0]) + p[1] * x[1]])


def _fsolve(p, s):
    return so.fsolve(_system, np.array([1.0, 0.3]), args=(p, s))


def _fsolve_captured(p, s):
    return so.fsolve(lambda x: [x[0] ** 2 + p[0] * x[1] - s, np.sin(x[0]) + p[1] * x[1]], [1.0, 0.3])


def _one_argument(a):
    return so.brentq(lambda x, p: x**3 - p, 0.0, 5.0, args=a)


def _newton_many(a):
    return so.newton(lambda x: x**3 - a, np.array([1.0, 2.0]), rtol=1e-12)


def _fit(x, y):
    return so.curve_fit(lambda x, a, b: a * np.exp(-b * x), x, y, p0=[1.0, 0.5])[0]


def _root(p, s):
    return so.root(_system, np.array([1.0, 0.3]), (p, s), tol=1e-12)["x"]


def _bowl(z, p, w):
    return w * np.sum((z - p) ** 2) + (z[0] - 1.0) * (z[1] - p[0]) * 0.3


def _minimum(p, w):
    return so.minimize(_bowl, np.array([0.1, 0.2]), (p, w), "BFGS", options={"gtol": 1e-11})["x"]


def _minimal_value(p, w):
    return so.minimize(_bowl, np.array([0.1, 0.2]), (p, w), "BFGS", options={"gtol": 1e-11})["fun"]


def _minimum_with_gradient(p):
    def both(z):
        return np.sum(np.cosh(z - p)), np.sinh(z - p)

    return so.minimize(both, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-12})["x"]


def _least(p, x):
    return so.least_squares(lambda z: z[0] * x + z[1] - p, np.ones(2), xtol=1e-15, gtol=1e-15)["x"]


_P = np.array([1.2, 0.7])
_X = np.array([0.0, 0.5, 1.0, 1.5, 2.0])
CASES: list[RuleCase] = [
    *[case(g(f, 0.0, 5.0), 2.0, 0.7) for g in (_by_closure, _by_arguments)
      for f in (so.brentq, so.brenth, so.bisect, so.ridder, so.toms748)],
    case(_by_closure(so.newton, 1.0), 2.0, 0.7), case(_by_arguments(so.newton, 1.0), 2.0, 0.7), case(_fsolve, _P, 2.0),
    case(_fsolve_captured, _P, 2.0), case(_one_argument, 2.0), case(_newton_many, np.array([2.0, 5.0])),
    case(lambda a: so.fixed_point(lambda x: np.cos(a * x), 0.5, xtol=1e-12), 0.7),
    case(_root, _P, 2.0), case(_minimum, _P, 0.8), case(_minimal_value, _P, 0.8), case(_minimum_with_gradient, _P),
    case(_least, np.array([0.3, 1.2, 2.5, 2.9, 4.6]), _X),
    case(lambda a, b: so.root_scalar(lambda x: x**3 + b * x - a, bracket=(0.0, 5.0))["root"], 2.0, 0.7),
    case(lambda a, b: so.minimize_scalar(lambda x: b * (x - a) ** 2 + 1.0)["x"], 0.6, 0.7),
    case(_fit, _X, np.array([2.1, 1.4, 0.9, 0.6, 0.5])),
]  # fmt: skip
