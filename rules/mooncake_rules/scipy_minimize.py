"""scipy.optimize: minima by the implicit function theorem, at the solution that was found.

A minimum is a root of the gradient; without a function for the gradient its derivatives are differences of gradients.
Where constraints hold with equality it is a stationary point of the Lagrange function in x and its multipliers, the
root of whose gradient is differentiated in the same way (Karush, Kuhn and Tucker). A starting point has no influence
on the solution: its derivative is zero.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize as so

from mooncake_py.registry import refuse, rrule
from mooncake_py.tangents import CoDual, DictShadow, ListShadow, ObjectShadow, Shadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence
from mooncake_rules.scipy_optimize import (
    EMPTY,
    First,
    as_tuple,
    depends,
    entry,
    extra,
    plain,
    record,
    rest_is_zero,
    root_cotangent,
)

# -- stationary points ------------------------------------------------------------------------------------


def gradient_at(f: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
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
    step = 1e-3 * (1.0 + float(np.max(np.abs(x))))
    for h in (step / size, 1e-3 * step / size):  # the second where the first leaves the domain of the function
        a, b, c, d = (gradient_at(f, _shifted(x, k * h * v)) for k in (-2.0, -1.0, 1.0, 2.0))
        g, p = ((p - 8.0 * q + 8.0 * r - s) / (12.0 * h) for p, q, r, s in zip(a, b, c, d, strict=True))
        if np.all(np.isfinite(g)) and np.all(np.isfinite(p)):
            break
    return g, p


def _shifted(x: Any, v: Any) -> Any:
    return x + v if isinstance(x, np.ndarray) else type(x)(x + np.ravel(v)[0])


def stationary_cotangent(f: Any, x: Any, dx: Any, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of what f depends on and of x itself, for that of its stationary point x.

    The coordinates that are not free are where somebody else put them: theirs is the cotangent of x.
    """
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
    g, vector = _along(f, x, direction.reshape(np.shape(x)))
    return vector, np.where(free, 0.0, np.ravel(dx) + np.ravel(g))


def minimum_cotangent(f: Any, x: Any, dx: Any, free: np.ndarray) -> np.ndarray:
    """The cotangent of what f depends on, for that of its minimum x, whose coordinates move where they are free."""
    return stationary_cotangent(f, x, dx, free)[0]


# -- bounds -----------------------------------------------------------------------------------------------


def limits_of(x: np.ndarray, bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper bounds of every coordinate, where there are none infinite."""
    n = np.size(x)
    if bounds is None or (isinstance(bounds, (list, tuple)) and not bounds):
        return np.full(n, -np.inf), np.full(n, np.inf)
    if isinstance(bounds, so.Bounds):
        return np.broadcast_to(bounds.lb, n), np.broadcast_to(bounds.ub, n)
    lo = np.array([-np.inf if a is None else a for a, _ in bounds], float)
    return lo, np.array([np.inf if b is None else b for _, b in bounds], float)


def at_bounds(x: np.ndarray, bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which coordinates are at their lower bound, and which at their upper one."""
    lo, hi = limits_of(x, bounds)
    gap = 1e-8 * np.maximum(1.0, np.abs(x))
    return x <= lo + gap, x >= hi - gap


def free_of(x: np.ndarray, bounds: Any) -> np.ndarray:
    """Which coordinates are not at a bound."""
    low, high = at_bounds(x, bounds)
    return ~(low | high)


def give_bounds(bounds: CoDual, x: np.ndarray, t: np.ndarray) -> Any:
    """The cotangents t of coordinates that are at a bound are those of the bounds, as a rule returns them."""
    if bounds.primal is None:
        return None
    low, high = at_bounds(x, bounds.primal)
    dlo, dhi = np.where(low, t, 0.0), np.where(high & ~low, t, 0.0)
    if isinstance(bounds.primal, so.Bounds):
        if type(bounds.fdata) is ObjectShadow:
            for name, d in (("lb", dlo), ("ub", dhi)):
                like = getattr(bounds.primal, name)
                bounds.fdata.add_item(name, d if np.shape(like) == d.shape else _total(d, like))
        return None
    if isinstance(bounds.primal, np.ndarray):
        return np.stack([dlo, dhi], axis=1)
    pairs = [
        (None if a is None else float(p), None if b is None else float(q))
        for (a, b), p, q in zip(bounds.primal, dlo, dhi, strict=True)
    ]
    if type(bounds.fdata) is ListShadow:
        bounds.fdata.add(pairs)
        return None
    return tuple(pairs)


def _total(d: np.ndarray, like: Any) -> Any:
    return np.sum(d).reshape(np.shape(like)) if isinstance(like, np.ndarray) else float(np.sum(d))


# -- constraints ------------------------------------------------------------------------------------------


class Values:
    """Functions of x that are to be zero, or not negative: those a dict describes."""

    def __init__(self, spec: Any, fdata: Any):
        f = fdata.f if type(fdata) is DictShadow else {}
        self.fdata = fdata
        self.args = as_tuple(CoDual(spec.get("args", ()), f.get("args")))
        self.alone = not isinstance(spec.get("args", ()), tuple)
        self.f = Dependence(spec["fun"], f.get("fun"), self.args.primal, self.args.fdata)
        self.equal = spec["type"] == "eq"

    def at(self, x: np.ndarray) -> Any:
        y, pull = self.f.at(x)

        def back(t: np.ndarray) -> Any:
            if isinstance(y, np.ndarray):
                return pull(t.reshape(y.shape).astype(y.dtype))
            if isinstance(y, (list, tuple)):
                return pull(type(y)([type(v)(d) for v, d in zip(y, t, strict=True)]))
            return pull(type(y)(t[0]))

        return np.ravel(np.asarray(y, float)), back

    def binding(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which are zero, and for each its sign where it is to be not negative, 0 where it is an equation."""
        on = np.full(y.shape, True) if self.equal else np.abs(y) <= _NEAR * (1.0 + np.abs(y))
        return on, np.full(y.shape, 0.0 if self.equal else 1.0)

    def give(self, vector: np.ndarray) -> None:
        ds = self.f.give(vector)
        if type(self.fdata) is DictShadow and ds:
            self.fdata.add_item("args", ds[0] if self.alone else ds)


class Between:
    """`lb <= f(x) <= ub`: a NonlinearConstraint, or a LinearConstraint with f(x) = A @ x."""

    def __init__(self, spec: Any, fdata: Any):
        self.spec = spec
        self.fdata = fdata if type(fdata) is ObjectShadow else None
        self.f: Any = None
        if isinstance(spec, so.NonlinearConstraint):
            self.f = Dependence(spec.fun, None if self.fdata is None else self.fdata.fdata("fun"))
        self.side = np.zeros(0)  # 1 where f is at ub, 0 where it is at lb

    def _function(self, x: np.ndarray) -> Any:
        if self.f is not None:
            return self.f.at(x)
        a = self.spec.A
        y = a @ x
        return y, lambda t: ((a.T @ t,), np.ravel(np.multiply.outer(t, x)))

    def at(self, x: np.ndarray) -> Any:
        y, pull = self._function(x)
        flat = np.ravel(np.asarray(y, float))
        lo, hi = (np.broadcast_to(np.asarray(v, float), flat.shape) for v in (self.spec.lb, self.spec.ub))
        if not self.side.size:
            self.side = (np.abs(flat - hi) < np.abs(flat - lo)).astype(float)
        bound = np.where(self.side == 1.0, hi, lo)

        def back(t: np.ndarray) -> Any:
            given = t if isinstance(y, np.ndarray) and y.ndim else type(y)(t[0])
            if isinstance(y, (list, tuple)):
                given = type(y)([type(v)(d) for v, d in zip(y, t, strict=True)])
            dx, vector = pull(given)
            return dx, np.concatenate([vector, -t])

        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(bound), flat - bound, np.inf), back

    def binding(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        lo, hi = (np.broadcast_to(np.asarray(v, float), y.shape) for v in (self.spec.lb, self.spec.ub))
        sign = np.where(lo == hi, 0.0, np.where(self.side == 1.0, -1.0, 1.0))
        return np.abs(y) <= _NEAR * (1.0 + np.abs(np.where(self.side == 1.0, hi, lo))), sign

    def give(self, vector: np.ndarray) -> None:
        m = self.side.size
        inner, bound = vector[: vector.size - m], vector[vector.size - m :]
        if self.f is not None:
            self.f.give(inner)
        elif self.fdata is not None:
            self.fdata.add_item("A", inner.reshape(np.shape(self.spec.A)))
        if self.fdata is not None:
            for name, d in (("lb", bound * (1.0 - self.side)), ("ub", bound * self.side)):
                like = getattr(self.spec, name)
                self.fdata.add_item(name, d.astype(float) if np.shape(like) == d.shape else _total(d, like))


_NEAR = 1e-5
"""A constraint that is so nearly an equation at the solution is one."""


def constraints_of(given: CoDual) -> list[Any]:
    one = isinstance(given.primal, (dict, so.LinearConstraint, so.NonlinearConstraint))
    specs = [given.primal] if one else list(given.primal)
    if one:
        fdatas: list[Any] = [given.fdata]
    else:
        found = given.fdata.f if type(given.fdata) is ListShadow else given.fdata
        fdatas = list(found) if found is not None else [None] * len(specs)
    return [(Values if isinstance(s, dict) else Between)(s, f) for s, f in zip(specs, fdatas, strict=True)]


class Lagrangian:
    """f(x) less the binding constraints, each times its multiplier, as a function of x and the multipliers."""

    def __init__(self, f: Any, constraints: list[Any], x: np.ndarray, free: np.ndarray):
        self.f, self.constraints, self.n = f, constraints, x.size
        self.rows: list[np.ndarray] = []
        jacobian, signs = [], []
        for c in constraints:
            y, pull = c.at(x)
            on, sign = c.binding(y)
            self.rows.append(np.flatnonzero(on))
            for k in self.rows[-1]:
                t = np.zeros(y.shape)
                t[k] = 1.0
                (d,), _ = pull(t)
                jacobian.append(np.zeros(x.shape) if d is None else np.asarray(d, float))
                signs.append(sign[k])
        self.multipliers = np.zeros(len(signs))
        if signs:
            a = np.array(jacobian)[:, free]
            g, _ = gradient_at(f, x)
            self.multipliers = np.linalg.lstsq(a.T, g[free], rcond=None)[0]
            idle = np.array(signs) * self.multipliers < 0  # it does not keep the minimum from moving away
            if idle.any():
                keep = ~idle
                at = 0
                for i, r in enumerate(self.rows):
                    self.rows[i] = r[keep[at : at + r.size]]
                    at += r.size
                self.multipliers = np.linalg.lstsq(a[keep].T, g[free], rcond=None)[0]
        self.sizes: list[int] = []

    def at(self, z: np.ndarray) -> Any:
        x, weights = z[: self.n], z[self.n :]
        y, pull = self.f.at(x)
        parts = [c.at(x) for c in self.constraints]
        split = np.split(weights, np.cumsum([r.size for r in self.rows])[:-1])
        held = [v[r] for (v, _), r in zip(parts, self.rows, strict=True)]
        total = float(np.ravel(y)[0]) - sum(float(w @ v) for w, v in zip(split, held, strict=True))

        def back(dy: Any) -> Any:
            one = np.full(y.shape, dy) if isinstance(y, np.ndarray) else type(y)(dy)
            (g,), vector = pull(one)
            g = np.zeros(self.n) if g is None else np.array(g, float)
            vectors = [vector]
            for (v, pull_part), r, w in zip(parts, self.rows, split, strict=True):
                t = np.zeros(v.shape)
                t[r] = -dy * w
                (d,), vector = pull_part(t)
                g = g if d is None else g + d
                vectors.append(vector)
            self.sizes = [v.size for v in vectors]
            return (np.concatenate([g, *[-dy * v for v in held]]),), np.concatenate(vectors)

        return total, back

    def give(self, vector: np.ndarray) -> np.ndarray:
        """Hand over what belongs to the constraints; what belongs to f is returned."""
        parts = np.split(vector, np.cumsum(self.sizes)[:-1])
        for c, part in zip(self.constraints, parts[1:], strict=True):
            c.give(part)
        return parts[0]


# -- the solvers that return a record ---------------------------------------------------------------------

_NONE = CoDual(None, None)


def _of_minimum(
    f: Any, x: np.ndarray, dx: Any, dfun: Any, bounds: CoDual, constraints: list[Any]
) -> tuple[np.ndarray, Any]:
    """The cotangents of what f depends on and of the bounds, for those of the minimum and of its value."""
    free = free_of(x, bounds.primal)
    problem = Lagrangian(f, constraints, x, free) if constraints else f
    z = np.concatenate([x, problem.multipliers]) if constraints else x
    more = z.size - x.size
    movable = np.concatenate([free, np.ones(more, bool)])
    vector: Any = 0.0
    of_bounds = np.zeros(x.size)
    if dfun is not None:
        g, vector = gradient_at(problem, z)
        vector = np.ravel(dfun)[0] * vector
        of_bounds = np.where(free, 0.0, np.ravel(dfun)[0] * np.ravel(g)[: x.size])
    if dx is not None:
        t, held = stationary_cotangent(problem, z, np.concatenate([np.ravel(dx), np.zeros(more)]), movable)
        vector, of_bounds = vector + t, of_bounds + held[: x.size]
    return problem.give(vector) if constraints else vector, give_bounds(bounds, x, of_bounds)


@rrule(so.minimize)
def minimize(
    fun: CoDual, x0, args: CoDual = EMPTY, method=None, jac: CoDual = _NONE, hess=None, hessp=None,
    bounds: CoDual = _NONE, constraints: CoDual = EMPTY, tol=None, callback=None, options=None,
):  # fmt: skip
    res = so.minimize(
        fun.primal, x0, args.primal, method, jac.primal, hess, hessp, bounds.primal, constraints.primal, tol, callback,
        options,
    )  # fmt: skip
    fres = record(res, ("x", "fun"))

    def pullback(dy):
        dx, dfun = entry(fres, "x"), entry(fres, "fun")
        rest_is_zero(fres, ("x", "fun", "jac"), "scipy.optimize.minimize")
        if dx is None and dfun is None:
            return None
        whole = depends(fun, args)
        value = First(whole) if jac.primal is True else whole
        held = constraints_of(constraints)
        x = np.atleast_1d(res.x)
        if jac.primal is True and dfun is None and not held and bounds.primal is None:
            return None, None, extra(args, whole.give(root_cotangent(First(whole, 1), res.x, dx)))
        vector, of_bounds = _of_minimum(value, x, dx, dfun, bounds, held)
        return None, None, extra(args, whole.give(vector)), None, None, None, None, of_bounds

    return CoDual(res, fres), pullback


@rrule(so.minimize_scalar)
def minimize_scalar(
    fun: CoDual, bracket=None, bounds: CoDual = _NONE, args: CoDual = EMPTY, method=None, tol=None, options=None
):
    res = so.minimize_scalar(fun.primal, bracket, bounds.primal, args.primal, method, tol, options)
    fres = record(res, ("x", "fun"))

    def pullback(dy):
        dx, dfun = entry(fres, "x"), entry(fres, "fun")
        rest_is_zero(fres, ("x", "fun"), "scipy.optimize.minimize_scalar")
        if dx is None and dfun is None:
            return None
        d = depends(fun, args)
        return None, None, None, extra(args, d.give(_scalar_minimum(d, float(res.x), dx, dfun)))

    return CoDual(res, fres), pullback


def _scalar_minimum(f: Any, x: float, dx: Any, dfun: Any) -> Any:
    vector: Any = 0.0
    if dfun is not None:
        vector = vector + np.ravel(dfun)[0] * gradient_at(f, x)[1]
    if dx is not None:
        vector = vector + minimum_cotangent(f, x, dx, np.ones(1, bool))
    return vector


# -- the other solvers: they return the minimum, alone or first of several --------------------------------


def _solver(f: Any, bounded: str | None = None, record_of: bool = False) -> None:
    """The rule of a solver whose first argument is the function and which has a parameter `args` (or no such).

    `bounded` names its parameter for bounds. The result is the minimum, or a tuple of minimum, value and more, or
    (with `record_of`) a record.
    """
    signature = inspect.signature(f)
    names = list(signature.parameters)
    name = f"scipy.optimize.{f.__name__}"

    @rrule(f)
    def rule(func: CoDual, *given: CoDual, **named: CoDual):
        options = dict(zip(names[1:], given, strict=False)) | named
        refused = [k for k in ("constraints", "eqcons", "ieqcons", "f_eqcons", "f_ieqcons") if _is_given(options, k)]
        y = f(func.primal, *[plain(v.primal) for v in given], **{k: v.primal for k, v in named.items()})
        fy = record(y, ("x", "fun")) if record_of else zero_fdata(y)
        args = options.get("args", EMPTY)
        bounds = options.get(bounded, _NONE) if bounded else _NONE

        def pullback(dy):
            if record_of:
                x, dx, dfun = y.x, entry(fy, "x"), entry(fy, "fun")
                rest_is_zero(fy, ("x", "fun", "jac"), name)
            else:
                x, dx, dfun = _parts(y, fy, dy)
            if dx is None and dfun is None:
                return None
            if refused:
                raise NotImplementedError(f"{name} with {refused[0]} is not differentiated: use minimize")
            d = depends(func, args)
            told = _is_given(options, "fprime") or _is_given(options, "approx_grad")
            value = First(d) if f in _GRADIENTS and not told else d
            of_bounds = None
            if np.ndim(x):
                vector, of_bounds = _of_minimum(value, np.asarray(x, float), dx, dfun, bounds, [])
            else:
                vector = _scalar_minimum(value, float(x), dx, dfun)
            out = {"args": extra(args, d.give(vector)), bounded: of_bounds}
            return None, *(out.get(k) for k in names[1 : 1 + len(given)]), *(out.get(k) for k in named)

        return CoDual(y, fy), pullback


def _is_given(options: dict[str, CoDual], name: str) -> bool:
    v = options[name].primal if name in options else None
    return v is not None and v is not False and not (isinstance(v, (tuple, list, int)) and not v)


def _parts(y: Any, fy: Any, dy: Any) -> tuple[Any, Any, Any]:
    """Minimum, and the cotangents of it and of its value."""
    if not isinstance(y, tuple):
        return y, take_fdata(fy, dy), None
    fs = fy if type(fy) is tuple else (None,) * len(y)
    ds = dy if type(dy) is tuple else (None,) * len(y)
    value = np.ndim(y[1]) == 0 and not isinstance(y[1], (int, np.integer))
    for i in range(2 if value else 1, len(y)):
        d = take_fdata(fs[i], ds[i])
        if type(fs[i]) is Shadow and d is not None and np.any(d):
            raise NotImplementedError(f"result {i} of this solver is not differentiated")
    return y[0], take_fdata(fs[0], ds[0]), take_fdata(fs[1], ds[1]) if value else None


_GRADIENTS: set[Callable[..., Any]] = {so.fmin_l_bfgs_b, so.fmin_tnc}
"""Solvers whose function gives value and gradient, where they are not told otherwise."""

for _f in (so.fmin, so.fmin_powell, so.fmin_cg, so.fmin_bfgs, so.fmin_ncg, so.fminbound, so.brent, so.golden):
    _solver(_f)
for _f in (so.fmin_l_bfgs_b, so.fmin_tnc, so.fmin_slsqp):
    _solver(_f, "bounds")
for _f in (so.differential_evolution, so.shgo, so.dual_annealing, so.direct):
    _solver(_f, "bounds", record_of=True)
_solver(so.brute)
refuse(
    "the solution of a linear program is piecewise constant or not unique; solve with the constraints that hold",
    so.linprog, so.milp,
)  # fmt: skip
refuse("its steps are not smooth: use scipy.optimize.minimize", so.basinhopping, so.fmin_cobyla)
refuse("what it gives is a step of a search", so.line_search, so.bracket)

# -- cases ------------------------------------------------------------------------------------------------


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


def _quartic(z, p):
    return np.sum((z - p) ** 2) + 0.1 * np.sum(z**4)


def _quartic_slope(z, p):
    return 2.0 * (z - p) + 0.4 * z**3


_TIGHT = {"ftol": 1e-16, "gtol": 1e-12}


def _bounded(p, b):
    r = so.minimize(
        _quartic, np.full(3, 0.5), (p,), "L-BFGS-B", _quartic_slope, bounds=[(0.0, b), (-1.0, None), (b, 9.0)],
        options=_TIGHT,
    )  # fmt: skip
    return r.x, r.fun


def _in_box(p, b):
    box = so.Bounds([0.0, -1.0, b], [b, np.inf, 9.0])
    return so.minimize(_quartic, np.full(3, 0.5), (p,), "L-BFGS-B", _quartic_slope, bounds=box, options=_TIGHT).x


def _constrained(p, c):
    held = [
        {"type": "eq", "fun": lambda z: z.sum() - c, "jac": np.ones_like},
        {
            "type": "ineq",
            "fun": lambda z, r: [r - z @ z, 10.0 + z[0]],
            "args": (c * 0.6,),
            "jac": lambda z, r: np.stack([-2 * z, np.array([1.0, 0.0, 0.0])]),
        },
    ]
    r = so.minimize(
        _quartic, np.full(3, 0.4), (p,), "SLSQP", _quartic_slope, bounds=[(-5.0, 5.0)] * 3, constraints=held,
        options={"ftol": 1e-16, "maxiter": 200},
    )  # fmt: skip
    return r.x, r.fun


def _between(p, c):
    line = so.LinearConstraint(np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]), [c, -9.0], [c, 9.0])
    ball = so.NonlinearConstraint(lambda z: z @ z / c, -np.inf, c * 0.9, jac=lambda z: 2 * z / c)
    r = so.minimize(
        _quartic, np.full(3, 0.4), (p,), "SLSQP", _quartic_slope, constraints=[line, ball],
        options={"ftol": 1e-16, "maxiter": 200},
    )  # fmt: skip
    return r.x


def _bfgs(p):
    return so.fmin_bfgs(_quartic, np.zeros(2), _quartic_slope, (p,), gtol=1e-13, disp=0)


def _least_value(solver: Any, *start: Any, **options: Any) -> Any:
    """Its derivative does not ask for more digits of the minimum than such solvers find."""

    def least(p):
        found = solver(lambda z: _quartic(z, p), *start, **options)
        return found.fun if isinstance(found, so.OptimizeResult) else found[1]

    least.__qualname__ = solver.__name__
    return least


def _by_slope(solver: Any) -> Any:
    def least(p):
        tight = {"gtol": 1e-12} if solver is so.fmin_cg else {"avextol": 1e-12}
        return solver(_quartic, np.zeros(2), _quartic_slope, args=(p,), full_output=True, disp=0, **tight)[1]

    least.__qualname__ = solver.__name__
    return least


def _tnc(p):
    return so.fmin_tnc(_quartic, np.zeros(2), _quartic_slope, (p,), messages=0, ftol=1e-16, pgtol=1e-12)[0]


def _slsqp(p):
    return so.fmin_slsqp(_quartic, [0.0, 0.0], fprime=_quartic_slope, args=(p,), acc=1e-16, disp=0)


def _lbfgs(p):
    x, value, _ = so.fmin_l_bfgs_b(
        lambda z: (_quartic(z, p), _quartic_slope(z, p)), np.zeros(2), factr=1.0, pgtol=1e-12
    )
    return x, value


_P = np.array([1.2, 0.7])
_Q = np.array([1.2, 0.7, -0.4])
CASES: list[RuleCase] = [
    case(_minimum, _P, 0.8), case(_minimal_value, _P, 0.8), case(_minimum_with_gradient, _P),
    case(_bounded, _Q, 0.6), case(_in_box, _Q, 0.6), case(_constrained, _Q, 1.1), case(_between, _Q, 1.3),
    case(lambda a, b: so.minimize_scalar(lambda x: b * (x - a) ** 2 + 1.0)["x"], 0.6, 0.7),
    case(_bfgs, _P), case(_lbfgs, _P),
    case(_slsqp, _P), case(_tnc, _P), case(_by_slope(so.fmin_cg), _P), case(_by_slope(so.fmin_ncg), _P),
    *[case(_least_value(f, np.zeros(2), full_output=True, disp=0), _P) for f in (so.fmin, so.fmin_powell)],
    *[case(_least_value(f, full_output=True), 1.2) for f in (so.brent, so.golden)],
    case(_least_value(so.fminbound, -2.0, 2.0, full_output=True), 1.2),
    case(_least_value(so.brute, [(-2, 2)] * 2, full_output=True), _P),
    *[case(_least_value(f, [(-2, 2)] * 2, seed=1), _P) for f in (so.differential_evolution, so.dual_annealing)],
    case(_least_value(so.shgo, [(-2, 2)] * 2), _P),
    case(_least_value(so.direct, [(-2, 2)] * 2, len_tol=1e-8), _P),
]  # fmt: skip
