"""The adjoint of a differential equation.

For y' = f(t, y, p) the cotangent l of y solves l' = -(df/dy)^T l backwards in time, and that of p is the integral of
(df/dp)^T l (L. Pontryagin et al., 1962). Both are computed to the tolerances of the call, or better. Where the equation
is not stiff, it is solved once more by an explicit method, whose steps are reversed: that is the same, discretised, and
needs no fresh start wherever a state has a cotangent of its own. Where a solution rests, at an equilibrium, a solver
makes steps that are much too long for what is near it: the lengths follow the Jacobian there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate as si

from mooncake_py.tangents import CoDual
from mooncake_rules.callables import Dependence
from mooncake_rules.scipy_runge_kutta import Field, Steps, shaped, swept


class Motion:
    """The right-hand side y' = f(t, y) with what it depends on."""

    def __init__(self, fun: CoDual, args: CoDual, time_first: bool = True):
        self.fun, self.args, self.time_first = fun, args, time_first
        self.d = Dependence(fun.primal, fun.fdata, args.primal or (), args.fdata)

    def value(self, t: float, y: np.ndarray) -> np.ndarray:
        xs = (float(t), y) if self.time_first else (y, float(t))
        return np.asarray(self.d.f(*xs, *self.d.extra), float)

    def slope(self, ts: np.ndarray, ys: np.ndarray) -> np.ndarray:
        """The velocities at times and states."""
        self.d.captured.put_back()
        return np.array([self.value(t, y) for t, y in zip(ts, ys, strict=True)]).reshape(ys.shape)

    def pulled(self, t: float, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cotangents of y and of the rest, for the cotangent `weight` of the velocity."""
        xs = (float(t), y) if self.time_first else (y, float(t))
        v, pull = self.d.at(*xs)
        dxs, vector = pull(shaped(weight, v))
        dy = dxs[1 if self.time_first else 0]
        return np.zeros(y.shape) if dy is None else np.asarray(dy, float), vector

    def back(
        self, start: float, y0: np.ndarray, ts: np.ndarray, dys: np.ndarray, rtol: Any, atol: Any, evaluations: int
    ) -> tuple[np.ndarray, tuple[Any, ...]]:
        """The cotangents of the first state and of args, for those (dys) of the states at the times ts.

        `evaluations`: how many of the right-hand side it took to solve the equation.
        """
        on = np.flatnonzero(dys.any(axis=1))
        order = on[np.argsort(np.abs(ts[on] - start), kind="stable")]
        ts, dys = ts[order], dys[order]
        options = {"rtol": min(np.min(rtol), 1e-8), "atol": min(np.min(atol), 1e-9)}
        steps = explicit(self, start, y0, ts, options, 2000 + 10 * evaluations)
        if steps is None:
            state, vector = adjoint(self, start, y0, ts, dys, options | {"method": "LSODA"})
            return state, self.d.give(vector)
        field = Field(self.fun, self.args, self.time_first)
        return swept(steps, field, None, ts, dys), field.cotangents()


_LONG, _SHORT = 1.0, 0.5
"""Steps of DOP853 times the rate at which what is near the solution moves: what is precise enough."""


def moved(motion: Motion, steps: Steps) -> tuple[float, float]:
    """How far what is near the solution moves in a step, and in a unit of time, at most.

    By the power method with the Jacobians on the way, at a dozen steps.
    """
    n, last = len(steps.seen[0][1]), len(steps.seen) - 1
    generic = np.cos(1.0 + np.arange(n))
    generic /= np.linalg.norm(generic)
    lengths = np.abs([h for _, _, h, _ in steps.seen])
    looked_at = np.union1d(np.linspace(0, last, 12).astype(int), [np.argmax(lengths), last])
    weight, before, most, rate = generic, 0.0, 0.0, 0.0
    for k in [*looked_at.tolist(), last]:
        t, y, _, _ = steps.seen[k]
        weight, _ = motion.pulled(t, y, weight)
        size = float(np.linalg.norm(weight))
        size = size if size < np.inf else 0.0
        weight = weight / size if size else generic
        two = float(np.sqrt(size * before))  # of two steps: components may have units of their own
        most, rate, before = max(most, two * lengths[k]), max(rate, two), size
    return most, rate


class _Stiff(Exception):
    pass


def explicit(
    motion: Motion, start: float, y0: np.ndarray, ts: np.ndarray, options: dict[str, Any], most: int
) -> Steps | None:
    """The steps of DOP853 as far as the last of the times; None where it would take more evaluations than `most`."""
    steps = explicit_within(motion, start, y0, ts, options, most)
    if steps is None or not steps.seen:
        return steps
    in_a_step, rate = moved(motion, steps)
    if in_a_step <= _LONG:
        return steps
    return explicit_within(motion, start, y0, ts, options | {"max_step": _SHORT / rate}, most)


def explicit_within(
    motion: Motion, start: float, y0: np.ndarray, ts: np.ndarray, options: dict[str, Any], most: int
) -> Steps | None:
    steps, left = Steps(si.DOP853), iter(range(most))

    def value(t: float, y: np.ndarray) -> np.ndarray:
        if next(left, None) is None:
            raise _Stiff
        return motion.value(t, y)

    if not len(ts) or ts[-1] == start:
        return steps
    motion.d.captured.put_back()
    try:
        path = si.solve_ivp(value, (start, ts[-1]), y0, steps.solver, dense_output=True, **options)
    except _Stiff:
        return None
    return steps if path.success else None


def adjoint(
    motion: Motion, start: float, y0: np.ndarray, ts: np.ndarray, dys: np.ndarray, options: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents of the first state and of what the motion depends on; the times in their order from the start."""
    n = len(y0)
    size = motion.pulled(start, y0, np.zeros(n))[1].size
    state = np.zeros(n + size)
    path = si.solve_ivp(motion.value, (start, ts[-1]), y0, dense_output=True, **options).sol

    def backwards(t: float, s: np.ndarray) -> np.ndarray:
        dy, vector = motion.pulled(t, path(t), s[:n])
        return -np.concatenate([dy, vector])

    for k in range(len(ts) - 1, -1, -1):
        state[:n] += dys[k]
        end = ts[k - 1] if k else start
        if ts[k] != end:
            state = si.solve_ivp(backwards, (ts[k], end), state, **options).y[:, -1]
    return state[:n], state[n:]
