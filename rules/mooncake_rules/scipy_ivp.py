"""scipy.integrate.solve_ivp: the explicit Runge-Kutta methods by the reverse of their steps.

SciPy's own solver runs and notes its accepted steps; the reverse goes through their stages backwards (E. Hairer et al.,
"Geometric Numerical Integration", II.4: the adjoint of a Runge-Kutta method), the lengths of the steps being taken as
they are: how they depend on the parameters changes the result within the tolerance only. The dense output at `t_eval`
is a polynomial in the stages. BDF and LSODA are differentiated by the adjoint equation. Every other call (of Radau, or
with events or `dense_output`) is differentiated through SciPy's Python code.
"""

from __future__ import annotations

import types as pytypes
from typing import Any

import numpy as np
import scipy.integrate as si
from scipy.integrate._ivp.ivp import OdeResult

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.abstraction import abstract
from mooncake_py.registry import rrule, rules_of
from mooncake_py.run import Run
from mooncake_py.runtime.calls import call
from mooncake_py.runtime.coduals import abstract_codual
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for, seed_result
from mooncake_py.runtime.user import seed
from mooncake_py.tangents import CoDual, DictShadow, add_any, add_rdata, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence, number_part
from mooncake_rules.captured import watched
from mooncake_rules.scipy_integrate import Motion, _as, adjoint
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_records import record_class

record_class(OdeResult)
_METHODS: dict[Any, Any] = {m.__name__: m for m in (si.RK23, si.RK45, si.DOP853)}
_METHODS.update({m: m for m in list(_METHODS.values())})
_MULTISTEP = ("BDF", "LSODA", si.BDF, si.LSODA)
_THROUGH = pytypes.FunctionType(
    si.solve_ivp.__code__, si.solve_ivp.__globals__, "solve_ivp", si.solve_ivp.__defaults__, si.solve_ivp.__closure__
)
"""solve_ivp without a rule."""
_NOTHING, _NO, _RK45 = CoDual(None, None), CoDual(False, None), CoDual("RK45", None)


def recording(method: Any) -> tuple[type, list[Any]]:
    """The method, noting time, state, length and stages of every step."""
    steps: list[Any] = []

    class Recording(method):
        def _step_impl(self):
            t, y = self.t, self.y
            done = super()._step_impl()
            if done[0]:
                steps.append((t, y, self.h_previous, self.K.copy()))
            return done

    Recording.__name__ = method.__name__
    return Recording, steps


class Field:
    """The right-hand side, whose cotangents add up over the stages."""

    def __init__(self, fun: CoDual, args: CoDual):
        self.fun, self.ff = fun.primal, fun.fdata
        self.extra = () if args.primal is None else tuple(args.primal)
        given = args.fdata if type(args.fdata) is tuple else (None,) * len(self.extra)
        self.own = [f is None for f in given]
        self.fextra = tuple([zero_fdata(x) if f is None else f for x, f in zip(self.extra, given, strict=True)])
        self.rdata: list[Any] = [None] * len(self.extra)
        self.rule: DerivedRule | None = None
        self.cell_f: tuple[Any, ...] = ()

    def pulled(self, t: float, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The cotangent of the state, for the cotangent `weight` of the velocity; the others are added up."""
        t, fy = float(t), zero_fdata(y)
        if self.rule is None and self.direct:
            self.rule = self._derive(t, y, fy)
        if self.rule is not None:
            ds = self._by_rule(self.rule, t, y, fy, weight)
        else:
            v, fv, pb = call(self.fun, self.ff, (t, y, *self.extra), (None, fy, *self.fextra))
            dv = _as(weight, v)
            seed(v, fv, dv)
            ds = None if pb is None else pb(number_part(fv, dv))
            ds = None if ds is None else ds[1:]
        if ds is None:
            return np.zeros(y.shape)
        for i, d in enumerate(ds[2 : 2 + len(self.rdata)]):
            if d is not None:
                self.rdata[i] = d if self.rdata[i] is None else add_rdata(self.rdata[i], d)
        d = take_fdata(fy, ds[1])
        return np.zeros(y.shape) if d is None else d

    @property
    def direct(self) -> bool:
        """Is it a plain Python function, whose rule can be called again and again?"""
        f = self.fun
        if type(f) is not pytypes.FunctionType or rules_of(f) or f.__code__.co_flags & 0x2AC:
            return False
        code = f.__code__
        return code.co_argcount == 2 + len(self.extra) and not code.co_kwonlyargcount

    def _derive(self, t: float, y: np.ndarray, fy: Any) -> DerivedRule:
        types = [abstract(t, False), abstract_codual(y, fy), *map(abstract_codual, self.extra, self.fextra)]
        cells = cells_of(self.fun)
        self.cell_f = self.ff.cells if self.ff is not None else (None,) * len(cells)
        free = tuple([abstract(c, f is not None) for c, f in zip(cells, self.cell_f, strict=True)])
        return rule_for(self.fun, tuple(types), free)

    def _by_rule(self, rule: DerivedRule, t: float, y: np.ndarray, fy: Any, weight: np.ndarray) -> Any:
        inputs, fdatas = (t, y, *self.extra, *cells_of(self.fun)), (None, fy, *self.fextra, *self.cell_f)
        v, fv, captures = rule.run(inputs, fdatas)
        dv = weight.tolist() if type(v) is list and len(v) == weight.size else _as(weight, v)
        ds = rule.pullback(captures, seed_result(rule.derived.result_tree, v, fv, dv))
        return [d if f is None or d is None else add_any(None, f, d) for f, d in zip(fdatas, ds, strict=False)]

    def cotangents(self) -> tuple[Any, ...]:
        """Those of the extra arguments, as far as they are rdata."""
        return tuple(
            [take_fdata(f, d) if own else d for f, own, d in zip(self.fextra, self.own, self.rdata, strict=True)]
        )


def dense_weights(method: Any, x: np.ndarray, slope: bool) -> np.ndarray:
    """What every stage contributes to the state at the fractions x of a step, over its length; or to the velocity."""
    powers = np.arange(1, method.P.shape[1] + 1)
    basis = powers * x[:, None] ** (powers - 1) if slope else x[:, None] ** powers
    return basis @ method.P.T


def sweep(
    method: Any, field: Field, steps: list[Any], last: np.ndarray, ts: np.ndarray, dys: np.ndarray, inside: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """The cotangents of the first state, of the times of the results, and of the first time.

    dys are those of the states at the times ts: the ends of the steps, or (`inside`) wherever they fall.
    """
    n, s = last.size, method.n_stages
    a, b, c = method.A, method.B, method.C
    dts = np.zeros(len(ts))
    at: list[np.ndarray] = [np.zeros(0, int)] * len(steps)
    if inside and steps:
        forward = steps[-1][2] > 0
        ends = np.array([t + h for t, _, h, _ in steps])
        which = np.searchsorted(ends, ts, "left") if forward else np.searchsorted(-ends, -ts, "left")
        which = np.minimum(which, len(steps) - 1)
        order = np.argsort(which, kind="stable")
        cuts = np.searchsorted(which[order], np.arange(len(steps) + 1))
        at = [order[cuts[k] : cuts[k + 1]] for k in range(len(steps))]
    state = np.zeros(n)  # of the state at the end of the step
    velocity = np.zeros(n)  # of the velocity there
    for k in range(len(steps) - 1, -1, -1):
        t, y, h, stages = steps[k]
        ds = np.zeros((s + 1, n))
        before = np.zeros(n)
        if inside:
            if len(at[k]):
                x = (ts[at[k]] - t) / h
                ds += h * (dense_weights(method, x, False).T @ dys[at[k]])
                before += np.sum(dys[at[k]], axis=0)
                dts[at[k]] = np.sum(dys[at[k]] * (dense_weights(method, x, True) @ stages), axis=1)
        else:
            state = state + dys[k + 1]
            dts[k + 1] = np.sum(dys[k + 1] * stages[-1])
        ds[-1] += velocity
        if ds[-1].any():
            end = steps[k + 1][1] if k + 1 < len(steps) else last
            state = state + field.pulled(t + h, end, ds[-1])
        ds[:-1] += (h * b)[:, None] * state
        before += state
        for i in range(s - 1, 0, -1):
            if ds[i].any():
                g = field.pulled(t + c[i] * h, y + h * (a[i, :i] @ stages[:i]), ds[i])
                before += g
                ds[:i] += (h * a[i, :i])[:, None] * g
        velocity, state = ds[0], before
    first = steps[0] if steps else (ts[0], last, 0.0, None)
    if velocity.any():
        state = state + field.pulled(first[0], first[1], velocity)
    start = 0.0 if not steps else -float(np.sum(state * steps[0][3][0]))
    if not inside:
        state = state + dys[0]
    return state, dts, start


@rrule(si.solve_ivp)
@watched
def solve_ivp(
    fun: CoDual, t_span: CoDual, y0: CoDual, method: CoDual = _RK45, t_eval: CoDual = _NOTHING,
    dense_output: CoDual = _NO, events: CoDual = _NOTHING, vectorized: CoDual = _NO,
    args: CoDual = _NOTHING, **options: CoDual,
):  # fmt: skip
    given = (fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args)
    base = (
        _METHODS.get(method.primal) if type(method.primal) in (str, type) or isinstance(method.primal, type) else None
    )
    plain = not (dense_output.primal or vectorized.primal) and events.primal is None
    if not plain and method.primal in ("LSODA", si.LSODA):
        raise NotDifferentiated(
            "scipy.integrate.solve_ivp by LSODA is differentiated without events and dense_output: use BDF or Radau"
        )
    if plain and method.primal in _MULTISTEP and not np.iscomplexobj(y0.primal):
        return by_adjoint_equation(fun, t_span, y0, method.primal, t_eval, args, options)
    if base is None or not plain or np.iscomplexobj(y0.primal) or (base is si.DOP853 and t_eval.primal is not None):
        names = tuple(options)
        values = [options[k] for k in names]
        y, fy, pb = call(
            _THROUGH, None, tuple([x.primal for x in given]), tuple(map(_fdata_of, given)), names,
            tuple([v.primal for v in values]), tuple([v.fdata for v in values]),
        )  # fmt: skip
        return CoDual(y, fy), lambda dy: None if pb is None or (ds := pb(dy)) is None else ds[1:]
    recorder, steps = recording(base)
    sol = si.solve_ivp(
        fun.primal, t_span.primal, y0.primal, recorder, t_eval.primal, args=args.primal,
        **{k: v.primal for k, v in options.items()},
    )  # fmt: skip
    shadow = DictShadow({k: zero_fdata(v) if k in ("t", "y") else None for k, v in sol.items()})

    def pullback(dy):
        dt, dys = take_fdata(shadow.f["t"], None), take_fdata(shadow.f["y"], None)
        if dt is None and dys is None:
            return None
        inside = t_eval.primal is not None
        dys = np.zeros(sol.y.shape) if dys is None else dys
        field = Field(fun, args)
        last = np.asarray(y0.primal, float)
        if steps:
            _, y, h, stages = steps[-1]
            last = y + h * (base.B @ stages[:-1])
        with Run():
            state, dts, start = sweep(base, field, steps, last, sol.t, np.ascontiguousarray(dys.T), inside)
        dts = dts if dt is None else dts + dt
        span = np.array([start, 0.0])
        if not inside and len(dts) > 1:
            span += [dts[0], dts[-1]]
        dextra = field.cotangents()
        out = [None, _spread(span, t_span.primal), fitted(state, y0.primal), None]
        out.append(fitted(dts, t_eval.primal) if inside else None)
        out += [None, None, None, dextra if args.primal is not None else None]
        return tuple(out)

    return CoDual(sol, shadow), pullback


def by_adjoint_equation(
    fun: CoDual, t_span: CoDual, y0: CoDual, method: Any, t_eval: CoDual, args: CoDual, options: dict[str, CoDual]
) -> tuple[Any, Any]:
    """The multistep methods: not their steps are turned round but the differential equation."""
    named = {k: v.primal for k, v in options.items()}
    sol = si.solve_ivp(fun.primal, t_span.primal, y0.primal, method, t_eval.primal, args=args.primal, **named)
    shadow = DictShadow({k: zero_fdata(v) if k in ("t", "y") else None for k, v in sol.items()})

    def pullback(dy):
        dt, dys = take_fdata(shadow.f["t"], None), take_fdata(shadow.f["y"], None)
        if dt is None and dys is None:
            return None
        extra = args if args.primal is not None else CoDual((), None)
        d = Dependence(fun.primal, fun.fdata, extra.primal, extra.fdata)
        start = float(t_span.primal[0])
        ts = np.concatenate([[start], sol.t])
        ys = np.concatenate([np.asarray(y0.primal, float)[None], sol.y.T])
        dys = np.concatenate([np.zeros((1, len(sol.y))), np.zeros(sol.y.T.shape) if dys is None else dys.T])
        state, dts, vector = adjoint(
            Motion(d, True), ts, ys, dys, float(np.min(named.get("rtol", 1e-3))), named.get("atol", 1e-6)
        )
        inner = dts[1:] if dt is None else dts[1:] + dt
        inside = t_eval.primal is not None
        span = np.array([dts[0], 0.0])
        if not inside and len(inner) > 1:
            span += [inner[0], inner[-1]]
        out = [None, _spread(span, t_span.primal), fitted(state, y0.primal), None]
        out += [fitted(inner, t_eval.primal) if inside else None, None, None, None]
        dextra = d.give(vector)
        return *out, dextra if args.primal is not None else None

    return CoDual(sol, shadow), pullback


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


_Z = np.array([1.0, 0.7])
CASES: list[RuleCase] = [
    *[case(_stiff(m), 2.0, _Z, _T[1:3] / 4.0) for m in ("Radau", "BDF", "LSODA")],
    case(_stiff_with_args, 2.0, 0.7, _Z, 0.1, 0.6), case(_ball, 9.8, 2.0),
    case(_fit, np.array([1.5, 1.0, 3.0, 1.0]), _Z), case(_captured, np.array([1.2, 0.3]), _Z),
    case(_ends, 0.3, 1.2, _Z, 0.8), case(_times, np.array([0.3, 1.1, 2.9]), _Z, 0.7), case(_backwards, 0.4, _Z),
]  # fmt: skip
