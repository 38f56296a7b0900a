"""scipy.integrate.ode: what its integrators do in one call, from one time to another.

The class itself is differentiated by its own Python code. How an integrator keeps its work between calls makes no
difference to what it approximates: the state at the end is that of the solution from the state at the start.
"""

from __future__ import annotations

import types as pytypes
from typing import Any

import numpy as np
import scipy.integrate as si

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import overlay, rrule
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.captured import watched
from mooncake_rules.scipy_adjoint import Motion

_BASE = next(k for k in si.ode.__init__.__globals__["IntegratorBase"].__mro__ if k is not object)


def _integrators(cls: Any) -> list[Any]:
    """The classes of integrators that say themselves how they go on."""
    found = [k for below in cls.__subclasses__() for k in (below, *_integrators(below))]
    return [k for k in found if isinstance(vars(k).get("run"), pytypes.FunctionType)]


def _may_be_followed(integrator: Any, y: np.ndarray) -> None:
    if getattr(integrator, "solout", None) is not None:
        raise NotDifferentiated("scipy.integrate.ode with set_solout: integrate step by step, with integrate(t)")
    if y.dtype.kind == "c":
        raise NotDifferentiated("zvode is not differentiated: scipy.integrate.complex_ode has a real integrator")


def _put_back(kept: list[tuple[Any, Any]]) -> None:
    """What an integrator keeps between its calls as it was: C code writes into its arrays."""
    for held, old in kept:
        held[... if isinstance(held, np.ndarray) else slice(None)] = old


def _of_integrator(run: Any) -> None:
    def advanced(self, f, jac, y0, t0, t1, f_params, jac_params):
        """The state and the time that are reached; is it in the memory of the state at the start?"""
        given = np.array(y0)
        y, t = run(self, f, jac, given, t0, t1, f_params, jac_params)
        return y, t, bool(np.shares_memory(y, given))

    @rrule(advanced)
    @watched
    def rule(self: CoDual, f: CoDual, jac: CoDual, y0, t0, t1, f_params: CoDual, jac_params: CoDual):
        start = np.array(y0)
        _may_be_followed(self.primal, start)
        kept = [(x, x.copy()) for x in vars(self.primal).values() if isinstance(x, np.ndarray | list)]
        evaluations = 0

        def counted(t, y):  # Fortran code (before SciPy 1.17) asks how many arguments it takes
            nonlocal evaluations
            evaluations += 1
            return f.primal(t, y, *f_params.primal)

        y, t, shared = advanced(self.primal, counted, jac.primal, start, t0, t1, (), jac_params.primal)
        end, fy = y.copy(), zero_fdata(y)

        def pullback(ds):
            _put_back(kept)
            dy = take_fdata(fy, None if ds is None else ds[0])
            dt = 0.0 if ds is None or ds[1] is None else ds[1]
            if dy is None:
                return None, None, None, None, *((0.0, dt) if t == t1 else (dt, 0.0)), None, None
            motion = Motion(f, f_params)
            slopes = motion.slope(np.array([t0, t], float), np.stack([start, end]))
            told = self.primal
            dy0, dparams = motion.back(
                float(t0), start, np.array([t], float), dy[None], told.rtol, told.atol, evaluations
            )
            at_start, at_end = -np.sum(dy0 * slopes[0]), dt + np.sum(dy * slopes[1])
            dts = (at_start, at_end) if t == t1 else (at_start + at_end, 0.0)  # or it is a step that the solver chose
            return None, None, None, dy0, *map(float, dts), dparams, None

        return CoDual((y, t, shared), (fy, None, None)), pullback

    @overlay(run)
    def to(self, f, jac, y0, t0, t1, f_params, jac_params):
        y, t, shared = advanced(self, f, jac, y0, t0, t1, f_params, jac_params)
        if shared:
            y0[...] = y
            y = y0
        return y, t


for _run in {k.run for k in _integrators(_BASE)}:
    _of_integrator(_run)

# -- cases ------------------------------------------------------------------------------------------------


def _pendulum(t, y, a, b):
    return [y[1], -a * np.sin(y[0]) - b * y[1] * t]


def _by(name: str, **options: Any) -> Any:
    def solved(y0, a, b, start, end):
        solver = si.ode(_pendulum).set_integrator(name, rtol=1e-10, atol=1e-11, nsteps=5000, **options)
        solver.set_initial_value(y0, start).set_f_params(a, b)
        states = []
        while solver.successful() and solver.t < end - 0.3:
            states.append(solver.integrate(solver.t + 0.5) * solver.t)
        return np.sum(states, axis=0), solver.integrate(end), solver.y, solver.t

    solved.__qualname__ = f"ode_{name}_{'_'.join(map(str, options.values()))}"
    return solved


def _step_by_step(y0, p):
    solver = si.ode(lambda t, y: -p[0] * y + p[1] * np.cos(t), lambda t, y: [[-p[0]]])
    solver.set_integrator("vode", method="bdf", rtol=1e-10, atol=1e-11, with_jacobian=True).set_initial_value(y0, 0.1)
    return solver.integrate(1.0), solver.integrate(1.7)


def _complex(y0, p):
    solver = si.complex_ode(lambda t, y: 1j * p[0] * y - p[1] * y).set_integrator("dopri5", rtol=1e-10, atol=1e-11)
    return solver.set_initial_value(y0).integrate(0.8)


_Y, _P = np.array([0.5, 0.3]), np.array([0.7, 0.4])
CASES: list[RuleCase] = [
    *[case(_by(name, **options), _Y, 1.3, 0.2, 0.1, 1.7) for name, options in (
        ("vode", {"method": "adams"}), ("vode", {"method": "bdf"}), ("lsoda", {}), ("dopri5", {}), ("dop853", {}),
    )],
    case(_step_by_step, np.array([1.2]), _P), case(_step_by_step, 1.2, _P), case(_complex, np.array([1.0 + 0.5j]), _P),
]  # fmt: skip
