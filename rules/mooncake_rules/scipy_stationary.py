"""How a stationary point of a function moves with what the function, its bounds and its constraints depend on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as so

from mooncake_py.tangents import CoDual, DictShadow, ListShadow, ObjectShadow
from mooncake_rules.callables import Dependence
from mooncake_rules.scipy_optimize import as_tuple, check_converged, solved

# -- stationary points ------------------------------------------------------------------------------------


def gradient_at(f: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of a function with a number as value, by x and by what it depends on."""
    y, pull = f.at(x)
    one = np.ones(np.shape(y)) if isinstance(y, np.ndarray) else type(y)(1.0)
    (g,), vector = pull(one)
    return np.zeros(np.shape(x)) if g is None else np.asarray(g), vector


def slope_along(f: Any, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of both gradients in direction v of x, by differences of the fourth order."""
    size = float(np.max(np.abs(v))) if np.size(v) else 0.0
    if not size:
        g, p = gradient_at(f, x)
        return np.zeros_like(g), np.zeros_like(p)
    step = 1e-3 * (1.0 + float(np.max(np.abs(x))))
    for h in (
        step / size,
        1e-3 * step / size,
    ):  # the second where the first leaves the domain, or the smooth piece, of the function
        a, b, c, d = (gradient_at(f, _shifted(x, k * h * v)) for k in (-2.0, -1.0, 1.0, 2.0))
        near = [(r - q) / (2.0 * h) for q, r in zip(b, c, strict=True)]
        far = [(s - p) / (4.0 * h) for p, s in zip(a, d, strict=True)]
        g, p = ((4.0 * i - o) / 3.0 for i, o in zip(near, far, strict=True))
        if all(map(_agree, near, far)):
            break
    return g, p


def _agree(a: np.ndarray, b: np.ndarray) -> bool:
    """Are these slopes of one smooth function? They are not where there is a kink between."""
    return bool(np.all(np.isfinite(a)) and np.all(np.abs(a - b) <= 1e-3 * np.max(np.abs(a), initial=1e-300)))


def _shifted(x: Any, v: Any) -> Any:
    return x + v if isinstance(x, np.ndarray) else type(x)(x + np.ravel(v)[0])


def stationary_cotangent(
    f: Any, x: Any, dx: Any, free: np.ndarray, found: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of what f depends on and of x itself, for that of its stationary point x.

    The coordinates that are not free are where somebody else put them: theirs is the cotangent of x. Was it `found`,
    or only looked for?
    """
    direction = np.zeros(np.size(x))
    if free.any():
        hessian = hessian_at(f, x, free)
        if not found:
            check_converged(solved(hessian, np.ravel(gradient_at(f, x)[0])[free]), x)
        direction[free] = -solved(hessian, np.ravel(dx)[free])
    g, vector = slope_along(f, x, direction.reshape(np.shape(x)))
    return vector, np.where(free, 0.0, np.ravel(dx) + np.ravel(g))


def hessian_at(f: Any, x: Any, free: np.ndarray) -> np.ndarray:
    """The second derivatives of f by the coordinates that are free, by differences of its gradient."""
    columns = []
    for k in np.flatnonzero(free):
        v = np.zeros(np.size(x))
        v[k] = 1.0
        columns.append(np.ravel(slope_along(f, x, v.reshape(np.shape(x)))[0])[free])
    hessian = np.array(columns)
    return (hessian + hessian.T) / 2


def least_value_cotangent(f: Any, x: Any, dfun: Any, free: np.ndarray, found: bool) -> tuple[np.ndarray, np.ndarray]:
    """The same for the cotangent of the value of f at its minimum, which does not change as its place does."""
    g, vector = gradient_at(f, x)
    dfun, g = np.ravel(dfun)[0], np.ravel(g)
    if not found and not np.all(np.abs(g[free]) <= 1e-5):
        stationary_cotangent(f, x, np.zeros(np.shape(x)), free, False)  # is the next step of Newton's small?
    return dfun * vector, np.where(free, 0.0, dfun * g)


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
    low = x <= lo + gap
    return low, (x >= hi - gap) & ~low


_BAND = 1e-3

"""A solver that stays inside stops as far as this before a bound that keeps its minimum from moving on."""


def held_at(f: Any, x: Any, bounds: Any, constraints: list[Any]) -> tuple[Any, np.ndarray, np.ndarray]:
    """What is stationary at x, f or its Lagrange function, and which coordinates are at their lower and upper bounds.

    Solvers that stay inside (interior points, reflection, golden section) come near bounds and constraints and do not
    reach them. One that is near holds where the next step of Newton's would go beyond it, the one that is met first
    before others, as in active set methods (Nocedal and Wright 2006, 16.5).
    """
    at = np.atleast_1d(x)
    n = at.size
    lo, hi = limits_of(at, bounds)
    low, high = at_bounds(at, bounds)
    near = ~(low | high) & (np.minimum(at - lo, hi - at) <= _BAND * (1.0 + np.abs(at)))
    problem = Lagrangian(f, constraints, at, ~(low | high)) if constraints else f
    while near.any() or (constraints and problem.more_near()):
        z = np.concatenate([at, problem.multipliers]) if constraints else x
        free = np.ones(np.size(z), bool)
        free[:n] = ~(low | high)
        slope = np.ravel(gradient_at(problem, z)[0])
        step = np.zeros(free.shape)
        if free.any():
            second = hessian_at(problem, z, free)
            # A linear function goes on for ever, and so meets what is first.
            inner = np.flatnonzero(np.flatnonzero(free) < n)
            second[inner, inner] += 1e-9 * np.max(np.abs(second), initial=1e-9)
            step[free] = -solved(second, slope[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(step[:n] < 0, (lo - at) / step[:n], np.where(step[:n] > 0, (hi - at) / step[:n], np.inf))
        part = np.where(near, part, np.inf)
        k = int(np.argmin(part))
        row, row_part = problem.first_met(at, step[:n]) if constraints else (-1, np.inf)
        if min(part[k], row_part) > 1.0:
            break
        if row_part < part[k]:
            problem.hold(row)
        else:
            (low if step[k] < 0 else high)[k] = True
            near[k] = False
        if constraints:
            problem.weigh(at, ~(low | high))
    return problem, low, high


def give_bounds(bounds: CoDual, low: np.ndarray, high: np.ndarray, t: np.ndarray) -> Any:
    """The cotangents t of coordinates that are at a bound are those of the bounds, as a rule returns them."""
    if bounds.primal is None:
        return None
    dlo, dhi = np.where(low, t, 0.0), np.where(high, t, 0.0)
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

    def binding(self, y: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
        """Which are zero, nearly, and for each its sign where it is to be not negative, 0 where it is an equation."""
        on = np.full(y.shape, True) if self.equal else np.abs(y) <= near * (1.0 + np.abs(y))
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

    def binding(self, y: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
        lo, hi = (np.broadcast_to(np.asarray(v, float), y.shape) for v in (self.spec.lb, self.spec.ub))
        sign = np.where(lo == hi, 0.0, np.where(self.side == 1.0, -1.0, 1.0))
        return np.abs(y) <= near * (1.0 + np.abs(np.where(self.side == 1.0, hi, lo))), sign

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
        self.close: list[np.ndarray] = []  # the rows that are near, and are not taken to hold
        for c in constraints:
            y, _ = c.at(x)
            self.rows.append(np.flatnonzero(c.binding(y, _NEAR)[0]))
            self.close.append(np.setdiff1d(np.flatnonzero(c.binding(y, _BAND)[0]), self.rows[-1]))
        self.sizes: list[int] = []
        self.weigh(x, free)

    def _slopes(self, x: np.ndarray, rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, gradient and sign of these rows of the constraints."""
        values, jacobian, signs = [], [], []
        for c, ks in zip(self.constraints, rows, strict=True):
            y, pull = c.at(x)
            sign = c.binding(y, _NEAR)[1]
            for k in ks:
                t = np.zeros(y.shape)
                t[k] = 1.0
                (d,), _ = pull(t)
                values.append(y[k])
                jacobian.append(np.zeros(x.shape) if d is None else np.asarray(d, float))
                signs.append(sign[k])
        return np.array(values), np.array(jacobian).reshape(-1, x.size), np.array(signs)

    def weigh(self, x: np.ndarray, free: np.ndarray) -> None:
        """The multipliers of the rows that hold, without those that do not keep the minimum from moving away."""
        _, jacobian, signs = self._slopes(x, self.rows)
        self.multipliers = np.zeros(len(signs))
        if signs.size:
            a = jacobian[:, free]
            g, _ = gradient_at(self.f, x)
            self.multipliers = np.linalg.lstsq(a.T, g[free], rcond=None)[0]
            idle = signs * self.multipliers < 0
            if idle.any():
                keep = ~idle
                at = 0
                for i, r in enumerate(self.rows):
                    self.rows[i] = r[keep[at : at + r.size]]
                    at += r.size
                self.multipliers = np.linalg.lstsq(a[keep].T, g[free], rcond=None)[0]

    def more_near(self) -> bool:
        return any(r.size for r in self.close)

    def first_met(self, x: np.ndarray, step: np.ndarray) -> tuple[int, float]:
        """Which of the rows that are near, counted through all constraints, this step meets first; after what part."""
        values, jacobian, signs = self._slopes(x, self.close)
        if not values.size:
            return -1, np.inf
        change = jacobian @ step
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(signs * change < 0, np.maximum(-values / change, 0.0), np.inf)
        k = int(np.argmin(part))
        return k, float(part[k])

    def hold(self, k: int) -> None:
        """Take the row that `first_met` counted as k to hold."""
        for i, r in enumerate(self.close):
            if k < r.size:
                self.rows[i] = np.sort(np.append(self.rows[i], r[k]))
                self.close[i] = np.delete(r, k)
                return
            k -= r.size

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
