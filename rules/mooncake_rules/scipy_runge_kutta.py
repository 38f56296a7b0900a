"""The reverse of explicit Runge-Kutta methods, as SciPy has them, step by step.

SciPy's own solver runs and notes its accepted steps; the reverse goes through their stages backwards (E. Hairer et al.,
"Geometric Numerical Integration", II.4: the adjoint of a Runge-Kutta method), the lengths of the steps being taken as
they are: how they depend on the parameters changes the result within the tolerance only. Between the ends of a step the
solution is a polynomial in its stages; the dense output of DOP853 computes three more of them.
"""

from __future__ import annotations

import functools
import types as pytypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.integrate as si
from numpy.polynomial import Polynomial

from mooncake_py.infer.abstraction import abstract
from mooncake_py.registry import rules_of
from mooncake_py.run import Run
from mooncake_py.runtime.calls import call
from mooncake_py.runtime.coduals import abstract_codual
from mooncake_py.runtime.outside_functions import tell
from mooncake_py.runtime.rule import DerivedRule, cells_of, rule_for, seed_result
from mooncake_py.runtime.user import seed
from mooncake_py.tangents import CoDual, add_any, add_rdata, made_fdata, take_fdata, zero_fdata
from mooncake_rules.callables import number_part

METHODS: dict[Any, Any] = {m.__name__: m for m in (si.RK23, si.RK45, si.DOP853)}
METHODS.update({m: m for m in list(METHODS.values())})


def shaped(weight: np.ndarray, v: Any) -> Any:
    """The numbers of an array in the structure of the velocity v."""
    if isinstance(v, (list, tuple)):
        return type(v)([shaped(weight[i], x) for i, x in enumerate(v)])
    return weight.reshape(v.shape).astype(v.dtype) if isinstance(v, np.ndarray) else type(v)(np.ravel(weight)[0])


class Field:
    """The right-hand side, whose cotangents add up over the stages."""

    def __init__(self, fun: CoDual, args: CoDual, time_first: bool = True):
        self.fun, self.ff, self.time_first = fun.primal, fun.fdata, time_first
        self.extra = () if args.primal is None else tuple(args.primal)
        given = args.fdata if type(args.fdata) is tuple else (None,) * len(self.extra)
        self.own = [f is None for f in given]
        self.fextra = tuple([zero_fdata(x) if f is None else f for x, f in zip(self.extra, given, strict=True)])
        self.rdata: list[Any] = [None] * len(self.extra)
        self.rule: DerivedRule | None = None
        self.cell_f: tuple[Any, ...] = ()

    def pulled(self, t: float, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The cotangent of the state, for the cotangent `weight` of the velocity; the others are added up."""
        t, fy = float(t), made_fdata(y)
        xs, fxs = ((t, y), (None, fy)) if self.time_first else ((y, t), (fy, None))
        if self.rule is None and self.direct:
            self.rule = self._derive(xs, fxs)
        if self.rule is not None:
            ds = self._by_rule(self.rule, xs, fxs, weight)
        else:
            v, fv, pb = call(self.fun, self.ff, (*xs, *self.extra), (*fxs, *self.fextra))
            dv = shaped(weight, v)
            seed(v, fv, dv)
            ds = None if pb is None else pb(number_part(fv, dv))
            ds = None if ds is None else ds[1:]
        if ds is None:
            return np.zeros(y.shape)
        for i, d in enumerate(ds[2 : 2 + len(self.rdata)]):
            if d is not None:
                self.rdata[i] = d if self.rdata[i] is None else add_rdata(self.rdata[i], d)
        d = take_fdata(fy, ds[1 if self.time_first else 0])
        return np.zeros(y.shape) if d is None else d

    @property
    def direct(self) -> bool:
        """Is it a plain Python function, whose rule can be called again and again?"""
        f = self.fun
        if type(f) is not pytypes.FunctionType or rules_of(f) or f.__code__.co_flags & 0x2AC:
            return False
        code = f.__code__
        return code.co_argcount == 2 + len(self.extra) and not code.co_kwonlyargcount

    def _derive(self, xs: tuple[Any, Any], fxs: tuple[Any, Any]) -> DerivedRule:
        points = [
            abstract(x, False) if type(x) is float else abstract_codual(x, f) for x, f in zip(xs, fxs, strict=True)
        ]
        types = [*points, *map(abstract_codual, self.extra, self.fextra)]
        cells = cells_of(self.fun)
        self.cell_f = self.ff.cells if self.ff is not None else (None,) * len(cells)
        free = tuple([abstract(c, f is not None) for c, f in zip(cells, self.cell_f, strict=True)])
        return rule_for(self.fun, tuple(types), free)

    def _by_rule(self, rule: DerivedRule, xs: Any, fxs: Any, weight: np.ndarray) -> Any:
        inputs, fdatas = (*xs, *self.extra, *cells_of(self.fun)), (*fxs, *self.fextra, *self.cell_f)
        v, fv, captures = rule.run(inputs, fdatas)
        dv = weight.tolist() if type(v) is list and len(v) == weight.size else shaped(weight, v)
        ds = rule.pullback(captures, seed_result(rule.derived.result_tree, v, fv, dv))
        return [d if f is None or d is None else add_any(None, f, d) for f, d in zip(fdatas, ds, strict=False)]

    def cotangents(self) -> tuple[Any, ...]:
        """Those of the extra arguments, as far as they are rdata."""
        return tuple(
            [take_fdata(f, d) if own else d for f, own, d in zip(self.fextra, self.own, self.rdata, strict=True)]
        )


@dataclass(frozen=True)
class Tableau:
    """A method: stage i is the velocity at the state plus h a[i] K, c[i] h later; `end` is that at the end.

    `dense`: for every stage the coefficients of x, x^2, ... in its share of the state at the fraction x of the step.
    """

    a: np.ndarray
    c: np.ndarray
    end: int
    dense: np.ndarray

    def weights(self, x: np.ndarray) -> np.ndarray:
        return x[:, None] ** np.arange(1, self.dense.shape[1] + 1) @ self.dense.T

    def slopes(self, x: np.ndarray) -> np.ndarray:
        powers = np.arange(1, self.dense.shape[1] + 1)
        return (powers * x[:, None] ** (powers - 1)) @ self.dense.T


@functools.cache
def tableau(method: Any) -> Tableau:
    s = method.n_stages
    extra_a, extra_c = (method.A_EXTRA, method.C_EXTRA) if method is si.DOP853 else ((), ())
    rows = s + 1 + len(extra_a)
    a = np.zeros((rows, rows))
    a[:s, : method.A.shape[1]] = method.A
    a[s, :s] = method.B
    for i, row in enumerate(extra_a, s + 1):
        a[i, : len(row)] = row
    return Tableau(
        a, np.concatenate([method.C, [1.0], extra_c]), s, _dop853(a, s, method) if len(extra_a) else method.P
    )


def _dop853(a: np.ndarray, s: int, method: Any) -> np.ndarray:
    """Its dense output is nested, with factors x and 1 - x in turn; here as powers of x."""
    units = np.eye(len(a))
    change = a[s]
    parts = np.stack([change, units[0] - change, 2 * change - units[s] - units[0], *method.D])
    out = np.zeros((len(a), len(parts)))
    product = Polynomial([1.0])
    for m, part in enumerate(parts):
        product = product * Polynomial([0.0, 1.0] if m % 2 == 0 else [1.0, -1.0])
        powers = product.coef[1:]
        out[:, : len(powers)] += np.outer(part, powers)
    return out


class Steps:
    """The steps of a method: `solver`, a class that notes them, is given to SciPy."""

    def __init__(self, method: Any):
        self.tableau = tableau(method)
        self.longest = 0.75 * method.error_estimator_order
        """By how much what is near the solution may move in a step, as solvers choose steps where it moves itself."""
        self.seen: list[list[Any]] = []  # time, state, length and stages
        self.solver = self._recording(method)

    def _recording(self, method: Any) -> type:
        seen = self.seen

        class Recording(method):
            def _step_impl(self):
                t, y = self.t, self.y
                done = super()._step_impl()
                if done[0]:
                    seen.append([t, y, self.h_previous, self.K.copy()])
                return done

            def _dense_output_impl(self):
                dense = super()._dense_output_impl()
                if hasattr(self, "K_extended"):
                    seen[-1][3] = self.K_extended.copy()
                return dense

        Recording.__name__ = method.__name__
        return Recording

    @property
    def last(self) -> np.ndarray:
        """The state at the end of the last step."""
        _, y, h, stages = self.seen[-1]
        end = self.tableau.end
        return y + h * (self.tableau.a[end, :end] @ stages[:end])

    def _met(self, ts: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """The steps whose polynomials give the states at these times, each with the places of the times, last first."""
        if not self.seen or not len(ts):
            return
        ends = np.array([t + h for t, _, h, _ in self.seen])
        which = np.searchsorted(ends, ts) if self.seen[-1][2] > 0 else np.searchsorted(-ends, -ts)
        which = np.minimum(which, len(ends) - 1)
        order = np.argsort(which, kind="stable")
        found, starts = np.unique(which[order], return_index=True)
        yield from reversed(list(zip(found.tolist(), np.split(order, starts[1:]), strict=True)))

    def slope(self, ts: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The velocities of the dense output, of this shape."""
        out = np.zeros(shape)
        for k, at in self._met(ts):
            t, _, h, stages = self.seen[k]
            out[at] = self.tableau.slopes((ts[at] - t) / h)[:, : len(stages)] @ stages
        return out

    def back(self, field: Field, ends: np.ndarray | None, ts: np.ndarray, dys: np.ndarray) -> np.ndarray:
        """The cotangent of the first state, for `ends`, those at the ends of the steps, and dys, those at times ts."""
        table, n = self.tableau, dys.shape[1]
        a, c, s = table.a, table.c, table.end
        inside = dict(self._met(ts))
        after = self.last
        state = np.zeros(n)  # of the state at the end of the step
        velocity = np.zeros(n)  # of the velocity there
        for k in range(len(self.seen) - 1, -1, -1):
            t, y, h, stages = self.seen[k]
            rows = len(stages)
            before = np.zeros(n)
            at = inside.get(k)
            if at is not None:
                ds = h * (table.weights((ts[at] - t) / h)[:, :rows].T @ dys[at])
                before += np.sum(dys[at], axis=0)
            else:
                ds = np.zeros((rows, n))
            if ends is not None:
                state = state + ends[k]
            ds[s] += velocity
            ha = h * a[:rows, :rows]
            ys = y + ha @ stages
            found = np.zeros((rows, n))  # the cotangents of the states at the stages
            for i in range(rows - 1, 0, -1):
                weight = ds[i] + ha[i + 1 :, i] @ found[i + 1 :]
                if i == s:
                    found[i] = state + field.pulled(t + h, after, weight) if weight.any() else state
                elif weight.any():
                    found[i] = field.pulled(t + c[i] * h, ys[i], weight)
            velocity = ds[0] + ha[1:, 0] @ found[1:]
            state, after = before + np.sum(found, axis=0), y
        if velocity.any():
            state = state + field.pulled(self.seen[0][0], after, velocity)
        return state


def swept(steps: Steps, field: Field, ends: np.ndarray | None, ts: np.ndarray, dys: np.ndarray) -> np.ndarray:
    """The same in a run of its own; where no step was made, every state is the first one."""
    if not steps.seen:
        return np.sum(dys, axis=0) + (0.0 if ends is None else np.sum(ends, axis=0))
    with Run() as here:
        tell(here, field.ff)
        return steps.back(field, ends, ts, dys)
