"""scipy.integrate.solve_ivp, with its events and its dense output.

The explicit Runge-Kutta methods are differentiated by the reverse of their steps (`scipy_runge_kutta`), the implicit
and multistep ones by the adjoint equation (`scipy_adjoint`). Wherever the solution is asked for between the steps (at
`t_eval`, at an event, by calling the dense output), the cotangent of that state counts at its time. An event is at
the time t where g(t, y(t)) is zero: the derivative of t is that of -g at a fixed time, over that of g in time.
What is left (complex states, vectorized functions, solvers of the user's) goes through SciPy's Python code.
"""

from __future__ import annotations

import types as pytypes
from typing import Any

import numpy as np
import scipy.integrate as si
import scipy.optimize as so
from numpy.polynomial.chebyshev import chebvander
from scipy.integrate import OdeSolution
from scipy.integrate._ivp.ivp import OdeResult

from mooncake_py import run
from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule
from mooncake_py.runtime.calls import call
from mooncake_py.tangents import CoDual, DictShadow, ListShadow, ObjectShadow, add_rdata, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_py.trees import leaves
from mooncake_rules.callables import Dependence
from mooncake_rules.captured import watched
from mooncake_rules.copies import Part
from mooncake_rules.scipy_adjoint import Motion, moved
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_records import record_class
from mooncake_rules.scipy_runge_kutta import METHODS, Field, Steps, shaped, swept

record_class(OdeResult)
_BY_EQUATION = ("Radau", "BDF", "LSODA", si.Radau, si.BDF, si.LSODA)
_NOTHING, _NO, _RK45 = CoDual(None, None), CoDual(False, None), CoDual("RK45", None)


def _without_rule(f: Any) -> Any:
    return pytypes.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


_THROUGH, _THROUGH_SOLUTION = _without_rule(si.solve_ivp), _without_rule(OdeSolution.__call__)


class BySteps:
    """A Runge-Kutta method."""

    def __init__(self, base: Any, fun: CoDual, args: CoDual):
        self.steps, self.fun, self.args = Steps(base), fun, args
        self.method = self.steps.solver
        self.degree = self.steps.tableau.dense.shape[1]

    def inner_slope(self, solution: OdeSolution, ts: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        return self.steps.slope(ts, shape)

    def slope(self, ts: np.ndarray, ys: np.ndarray) -> np.ndarray:
        return self.steps.slope(ts, ys.shape)

    def back(self, sol: Any, start: Any, ends: Any, ts: np.ndarray, dys: np.ndarray, tolerances: Any) -> Any:
        if self.steps.seen and moved(Motion(self.fun, self.args), self.steps)[0] > self.steps.longest:
            return ByEquation(self.method, self.fun, self.args).back(sol, start, ends, ts, dys, tolerances)
        field = Field(self.fun, self.args)
        return swept(self.steps, field, ends, ts, dys), field.cotangents()


class ByEquation:
    """A method for stiff equations: not its steps are turned round but the differential equation."""

    degree = 12
    """The highest of their polynomials', LSODA's."""

    def __init__(self, method: Any, fun: CoDual, args: CoDual):
        self.method, self.fun, self.args = method, fun, args

    def inner_slope(self, solution: OdeSolution, ts: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        if np.any((ts < solution.t_min) | (ts > solution.t_max)):
            raise NotDifferentiated("the dense output of solve_ivp, outside of its interval and by this method")
        return solution(ts + 1e-30j).imag.T / 1e-30  # it consists of polynomials

    def slope(self, ts: np.ndarray, ys: np.ndarray) -> np.ndarray:
        return Motion(self.fun, self.args).slope(ts, ys)

    def back(self, sol: Any, start: Any, ends: Any, ts: np.ndarray, dys: np.ndarray, tolerances: Any) -> Any:
        if ends is not None:
            ts, dys = np.concatenate([sol.t[1:], ts]), np.concatenate([ends, dys])
        (t0, y0), (rtol, atol) = start, tolerances
        return Motion(self.fun, self.args).back(t0, y0, ts, dys, rtol, atol, sol.nfev)


def _extra(args: CoDual) -> tuple[Any, Any]:
    return ((), None) if args.primal is None else (args.primal, args.fdata)


class Visits(Part):
    """Where the dense output was evaluated, with the cotangents of the states there."""

    def __init__(self, solution: OdeSolution, way: BySteps | ByEquation):
        self.solution, self.way = solution, way
        self.seen: list[tuple[np.ndarray, np.ndarray]] = []

    def fdata(self) -> ObjectShadow:
        """That of the solution; what else is read of it and has a derivative is refused."""
        shadow = ObjectShadow(self.solution, {"visits": self})
        run.current().made[id(self.solution)] = self.solution, shadow
        return shadow

    def slopes(self, ts: np.ndarray, dys: np.ndarray) -> np.ndarray:
        """The cotangents of the times."""
        return np.sum(dys * self.way.inner_slope(self.solution, ts, dys.shape), axis=1)

    def add(self, ts: np.ndarray, dys: np.ndarray) -> None:
        self.seen.append((ts, dys))

    def take(self, shadow: ObjectShadow) -> list[tuple[np.ndarray, np.ndarray]]:
        seen, self.seen = self.seen, []
        for k in {**shadow.f, **shadow.r}:
            d = None if k == "visits" else take_fdata(shadow.f.get(k), shadow.r.pop(k, None))
            if d is not None and any(np.any(v) for v in leaves(d)):
                raise NotDifferentiated(
                    f"the attribute {k!r} of an OdeSolution is read, and not differentiated: call it"
                )
        return seen

    def blank(self) -> Sampled:
        return Sampled(self)

    def give(self, numbers: list[Any]) -> None:
        same = Sampled(self)
        given = np.array(numbers[: same.dys.size]).reshape(same.dys.shape)
        del numbers[: same.dys.size]
        self.add(same.ts, given)


class Sampled(Part):
    """The same by states at fixed times, of which the dense output is the polynomial through those in a step."""

    def __init__(self, visits: Visits):
        solution, degree = visits.solution, visits.way.degree
        self.visits, self.cuts = visits, np.asarray(solution.ts, float)
        self.places = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        middle, half = (self.cuts[1:] + self.cuts[:-1]) / 2, np.diff(self.cuts) / 2
        self.ts = np.ravel(middle[:, None] + half[:, None] * self.places)
        self.dys = np.zeros((len(self.ts), len(solution(self.cuts[0]))))

    slopes = property(lambda self: self.visits.slopes)

    def add(self, ts: np.ndarray, dys: np.ndarray) -> None:
        sign = 1.0 if self.cuts[-1] >= self.cuts[0] else -1.0
        k = np.clip(np.searchsorted(sign * self.cuts, sign * ts) - 1, 0, len(self.cuts) - 2)
        x = 2.0 * (ts - self.cuts[k]) / (self.cuts[k + 1] - self.cuts[k]) - 1.0
        degree = len(self.places) - 1
        weights = np.linalg.solve(chebvander(self.places, degree).T, chebvander(x, degree).T).T
        by_step = self.dys.reshape(len(self.cuts) - 1, degree + 1, -1)
        np.add.at(by_step, k, weights[:, :, None] * dys[:, None, :])

    def numbers(self) -> np.ndarray:
        return self.dys.ravel()


@rrule(OdeSolution.__call__)
def evaluated(self: CoDual, t: CoDual):
    visits = self.fdata.f.get("visits") if type(self.fdata) is ObjectShadow else None
    if visits is None:
        return _plainly(_THROUGH_SOLUTION, (self, t), {})
    y = self.primal(t.primal)
    fy = zero_fdata(y)

    def pullback(dy):
        dy = take_fdata(fy, dy)
        if dy is None:
            return None
        ts = np.asarray(t.primal, float)
        each = ts.ravel(), dy.reshape(len(dy), -1).T
        visits.add(*each)
        return None, fitted(visits.slopes(*each).reshape(ts.shape), t.primal)

    return CoDual(y, fy), pullback


def _plainly(f: Any, given: tuple[CoDual, ...], options: dict[str, CoDual]) -> tuple[Any, Any]:
    """Through SciPy's Python code."""
    y, fy, pb = call(
        f, None, tuple([x.primal for x in given]), tuple(map(_fdata_of, given)), tuple(options),
        tuple([v.primal for v in options.values()]), tuple([v.fdata for v in options.values()]),
    )  # fmt: skip
    return CoDual(y, fy), lambda dy: None if pb is None or (ds := pb(dy)) is None else ds[1:]


@rrule(si.solve_ivp)
@watched
def solve_ivp(
    fun: CoDual, t_span: CoDual, y0: CoDual, method: CoDual = _RK45, t_eval: CoDual = _NOTHING,
    dense_output: CoDual = _NO, events: CoDual = _NOTHING, vectorized: CoDual = _NO,
    args: CoDual = _NOTHING, **options: CoDual,
):  # fmt: skip
    named = isinstance(method.primal, (str, type))
    base = METHODS.get(method.primal) if named else None
    stiff = named and method.primal in _BY_EQUATION
    if not (base or stiff) or vectorized.primal or np.iscomplexobj(y0.primal):
        return _plainly(
            _THROUGH, (fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args), options
        )  # fmt: skip
    way: Any = BySteps(base, fun, args) if base else ByEquation(method.primal, fun, args)
    plain = {k: v.primal for k, v in options.items()}
    # The dense output keeps the array that it is given: of the caller's the cotangent would be taken for its own.
    at_start = y0.primal.copy() if isinstance(y0.primal, np.ndarray) else y0.primal
    sol = si.solve_ivp(
        fun.primal, t_span.primal, at_start, way.method, t_eval.primal, dense_output.primal, events.primal,
        args=args.primal, **plain,
    )  # fmt: skip
    shadow = DictShadow({k: zero_fdata(v) if k in _RESULTS else None for k, v in sol.items()})
    visits = Visits(sol.sol, way)
    if sol.sol is not None:
        shadow.f["sol"] = visits.fdata()

    def pullback(dy):
        dt, dys, dte, dye = (take_fdata(shadow.f[k], None) for k in _RESULTS)
        seen = [] if sol.sol is None else visits.take(shadow.f["sol"])
        if dt is None and dys is None and dte is None and dye is None and not seen:
            return None
        states = sol.y.T
        dt = np.zeros(sol.t.shape) if dt is None else np.array(dt)
        dys = np.zeros(states.shape) if dys is None else np.array(dys.T)
        start = float(t_span.primal[0]), np.asarray(y0.primal, float)
        found = Found(events, args, sol, dte, dye)
        span, first, ends = np.zeros(2), 0.0, None
        if t_eval.primal is not None:
            dt += np.sum(dys * way.slope(sol.t, states), axis=1)
            seen.append((sol.t, dys))
        else:
            if sol.status == 1:
                found.at_the_end(dt, dys)
            elif sol.status == 0 and len(dt) > 1:
                span[1] = dt[-1] + np.sum(dys[-1] * way.slope(sol.t[-1:], states[-1:]))
            span[0], first, ends = dt[0], dys[0], dys[1:]
        extra = found.back(way, seen)
        ts = np.concatenate([np.zeros(0), *[ts for ts, _ in seen]])
        dys = np.concatenate([np.zeros((0, states.shape[1])), *[d for _, d in seen]])
        state, dextra = way.back(sol, start, ends, ts, dys, [plain.get("rtol", 1e-3), plain.get("atol", 1e-6)])
        if state.any():
            span[0] -= np.sum(state * way.slope(np.array(start[:1]), start[1][None]))
        for d in extra:
            dextra = tuple(map(add_rdata, dextra, d))
        out = [None, _spread(span, t_span.primal), fitted(state + first, y0.primal), None]
        out.append(None if t_eval.primal is None else fitted(_filled(dt, t_eval.primal), t_eval.primal))
        return *out, None, None, None, dextra if args.primal is not None else None

    return CoDual(sol, shadow), pullback


_RESULTS = ("t", "y", "t_events", "y_events")


class Found:
    """The events that were found, with the cotangents of their times and states."""

    def __init__(self, events: CoDual, args: CoDual, sol: Any, dte: Any, dye: Any):
        self.events, self.args, self.sol = events, args, sol
        self.times: list[np.ndarray] = sol.t_events or []
        self.states: list[np.ndarray] = sol.y_events or []
        self.dte = [_own(x, d) for x, d in zip(self.times, dte or [None] * len(self.times), strict=True)]
        self.dye = [_own(x, d) for x, d in zip(self.states, dye or [None] * len(self.states), strict=True)]

    def at_the_end(self, dt: np.ndarray, dys: np.ndarray) -> None:
        """The last time and state are those of an event that ends the integration."""
        one = callable(self.events.primal)
        functions = (self.events.primal,) if one else self.events.primal
        last = self.sol.t[-1]
        ending = [
            getattr(f, "terminal", None) and len(t) and t[-1] == last
            for f, t in zip(functions, self.times, strict=True)
        ]
        i = ending.index(True)
        self.dte[i][-1] += dt[-1]
        self.dye[i][-1] += dys[-1]
        dt[-1], dys[-1] = 0.0, 0.0

    def back(self, way: Any, seen: list[Any]) -> list[tuple[Any, ...]]:
        """Cotangents of states go to `seen`, those of what the events captured to that; those of args are returned."""
        out = []
        for i, (ts, ys, dt, dy) in enumerate(zip(self.times, self.states, self.dte, self.dye, strict=True)):
            if not (dt.any() or dy.any()):
                continue
            one = callable(self.events.primal)
            f = self.events.primal if one else self.events.primal[i]
            ff = self.events.fdata if one or self.events.fdata is None else _item(self.events.fdata, i)
            d = Dependence(f, ff, *_extra(self.args))
            slopes = way.slope(ts, ys)
            dt = dt + np.sum(dy * slopes, axis=1)
            dy = dy.copy()
            total: Any = 0.0
            for j in np.flatnonzero(dt):
                v, pull = d.at(np.array(ts[j]), ys[j])
                (gt, gy), vector = pull(shaped(np.ones(1), v))
                gt, gy = 0.0 if gt is None else float(gt), np.zeros(ys[j].shape) if gy is None else gy
                weight = -dt[j] / (gt + gy @ slopes[j])
                dy[j] += weight * gy
                total = total + weight * vector
            if np.size(total):
                out.append(d.give(np.atleast_1d(total)))
            seen.append((ts, dy))
        return out


def _item(fdata: Any, i: int) -> Any:
    return (fdata.f if type(fdata) is ListShadow else fdata)[i]


def _own(x: np.ndarray, d: Any) -> np.ndarray:
    return np.zeros(x.shape) if d is None else np.array(d)


def _filled(d: np.ndarray, like: Any) -> np.ndarray:
    """Zeros for the times that an event kept the solver from."""
    return np.concatenate([d, np.zeros(len(like) - len(d))])


def _fdata_of(x: CoDual) -> Any:
    """That of an array in any case: by what is known of SciPy's code it may be written to."""
    return zero_fdata(x.primal) if isinstance(x.primal, np.ndarray) and x.fdata is None else x.fdata


def _spread(d: np.ndarray, span: Any) -> Any:
    return fitted(d, span) if isinstance(span, np.ndarray) else type(span)([float(v) for v in d])


# -- cases ------------------------------------------------------------------------------------------------

_T = np.array([0.0, 0.4, 1.1, 1.9, 2.0])


def _hunters(t, z, a, b, c, d):
    x, y = z
    return [a * x - b * x * y, d * x * y - c * y]


def _fit(p, z0):
    sol = si.solve_ivp(_hunters, (0.0, 2.0), z0, t_eval=_T, args=(p[0], p[1], p[2], p[3]), rtol=1e-10, atol=1e-10)
    return sol.y


def _captured(p, z0):
    def field(t, z):
        return np.array([z[1], -p[0] * z[0] - p[1] * z[1] * np.cos(t)])

    return si.solve_ivp(field, (2.0, 0.5), z0, method="DOP853", rtol=1e-10, atol=1e-10).y[:, -1]


def _ends(a, b, z0, p):
    sol = si.solve_ivp(lambda t, z: -p * z * t, (a, b), z0, method="RK45", rtol=1e-11, atol=1e-11)
    return sol.y[:, -1] * sol.t[-1]


def _times(t, z0, k):
    return si.solve_ivp(lambda t, z, k: -k * z, (0.0, 3.0), z0, "RK45", t, args=(k,), rtol=1e-10, atol=1e-10)["y"]


def _backwards(p, z0):
    return si.solve_ivp(lambda t, z: -p * z, (2.0, 0.0), z0, t_eval=_T[::-1], method="RK23", rtol=1e-9, atol=1e-9).y


def _stiff(method):
    def run(p, z0, t):
        return si.solve_ivp(
            lambda t, z: [z[1], -p * z[0] - 3.0 * z[1]], (0.0, 0.5), z0, method, t, rtol=1e-9, atol=1e-10
        ).y  # fmt: skip

    return run


def _stiff_with_args(p, k, z0, a, b):
    sol = si.solve_ivp(
        lambda t, z, p, k: [k * z[1], -p * z[0]], (a, b), z0, "LSODA", args=(p, k), rtol=1e-9, atol=1e-10
    )
    return sol.y[:, -1], sol.t[-1]


def _ball(g, v):
    def ground(t, z):
        return z[0]

    ground.terminal = True  # type: ignore[attr-defined]
    ground.direction = -1  # type: ignore[attr-defined]
    sol = si.solve_ivp(
        lambda t, z: [z[1], -g], (0.0, 10.0), [1.0, v], events=ground, dense_output=True, rtol=1e-10, atol=1e-10
    )
    return sol.t_events[0][0], sol.y[1, -1], sol.sol(0.3)


def _swing(t, z, k):
    return np.array([z[1], -k * np.sin(z[0]) - 0.1 * z[1]])


def _upright(t, z, k):
    return z[0] - 0.1 * k * t


_TIGHT = {"rtol": 1e-11, "atol": 1e-12}


def _turns(method):
    def run(k, z0, level):
        def fast(t, z, k):
            return z[1] ** 2 - level * k

        fast.direction = 1  # type: ignore[attr-defined]
        fast.terminal = 2  # type: ignore[attr-defined]
        sol = si.solve_ivp(_swing, (0.2, 9.0), z0, method, events=[_upright, fast], args=(k,), **_TIGHT)
        return *sol.t_events, *sol.y_events, sol.t[-1], sol.y[:, -1]

    return run


def _anywhere(method):
    def run(k, z0, t, a):
        sol = si.solve_ivp(_swing, (a, 2.5), z0, method, dense_output=True, args=(k,), **_TIGHT).sol
        return sol(t), sol(t[1] + 0.1), sol(2.5)

    return run


def _backwards_to_an_event(k, z0, b):
    sol = si.solve_ivp(
        _swing,
        (b, -4.0),
        z0,
        "DOP853",
        np.array([1.4, 1.3, -3.0, -3.9]),
        True,
        lambda t, z, k: t + k,
        args=(k,),
        **_TIGHT,
    )
    return sol.y, sol.t_events[0], sol.sol(np.array([-1.0, 0.3]))


def _no_time(p, z0):
    sol = si.solve_ivp(lambda t, z: -p * z, (0.0, 0.0), z0, dense_output=True)
    return sol.y, sol.sol(0.0)


def _sought(method):
    def run(k, z0):
        def field(t, z):
            return np.array([z[1], -k * z[0]])

        sol = si.solve_ivp(field, (0.0, 3.0), z0, method, dense_output=True, **_TIGHT).sol
        return so.brentq(lambda t: sol(t)[0] - 0.1 * k, 0.3, 2.9, xtol=1e-14)

    return run


_Z = np.array([1.0, 0.7])
CASES: list[RuleCase] = [
    *[case(_stiff(m), 2.0, _Z, _T[1:3] / 4.0) for m in ("Radau", "BDF", "LSODA", "DOP853")],
    *[case(_turns(m), 1.7, _Z, 0.3) for m in ("RK45", "DOP853", "Radau", "LSODA")],
    *[case(_anywhere(m), 1.7, _Z, np.array([2.1, 0.4, 0.9]), 0.3) for m in ("RK23", "RK45", "DOP853", "BDF")],
    case(_sought("RK45"), 0.7, _Z), case(_sought("LSODA"), 0.7, _Z),
    case(_backwards_to_an_event, 1.7, _Z, 1.5), case(_no_time, 1.7, _Z),
    case(_stiff_with_args, 2.0, 0.7, _Z, 0.1, 0.6), case(_ball, 9.8, 2.0),
    case(_fit, np.array([1.5, 1.0, 3.0, 1.0]), _Z), case(_captured, np.array([1.2, 0.3]), _Z),
    case(_ends, 0.3, 1.2, _Z, 0.8), case(_times, np.array([0.3, 1.1, 2.9]), _Z, 0.7), case(_backwards, 0.4, _Z),
]  # fmt: skip
