"""scipy.spatial.transform: SciPy has the arithmetic of rotations twice, compiled for NumPy and in Python for others.

What is compiled has the derivative of what is written in Python, or that by a formula (`scipy_rotations`).
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from mooncake_py.registry import rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirror_rule
from mooncake_rules.scipy_rotations import Rule, as_arrays, by_formula


def _as_written(compiled: Any, written: Any) -> Rule:
    """The arguments come by position, whichever of them the Python function takes by name only."""
    by_position = written.__code__.co_argcount
    names = written.__code__.co_varnames[: by_position + written.__code__.co_kwonlyargcount]

    def in_python(*args):
        options = {}
        for i in range(by_position, len(args)):
            options[names[i]] = args[i]
        return written(*args[:by_position], **options)

    params = inspect.signature(compiled).parameters.values()
    in_python.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=p.POSITIONAL_OR_KEYWORD, annotation=p.empty) for p in params]
    )
    return mirror_rule(lambda *args, **kwargs: as_arrays(compiled(*args, **kwargs)), in_python)


def _see_through(name: str, formulas: bool = False) -> None:
    try:
        compiled = importlib.import_module(f"scipy.spatial.transform.{name}_cy")
        written = importlib.import_module(f"scipy.spatial.transform.{name}_xp")
    except ImportError:  # an older SciPy, which has it once
        return
    known = by_formula(compiled, lambda k: _as_written(getattr(compiled, k), getattr(written, k))) if formulas else {}
    for k, f in vars(compiled).items():
        g = getattr(written, k, None)
        if callable(f) and type(f).__name__ == "cython_function_or_method" and hasattr(g, "__code__"):
            if k == "approx_equal":
                zero_derivative(f)
            else:
                rrule(f)(known.get(k) or _as_written(f, g))


_see_through("_rotation", formulas=True)
_see_through("_rigid_transform")

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.3, -0.5, 0.8])
_M = np.array([[0.3, -0.5, 0.8], [1.1, 0.2, -0.4]])
_Q = np.array([0.3, -0.5, 0.8, 1.2])
_R = Rotation.from_rotvec([0.2, 0.4, -0.1])


def _composed(v, w):
    r = Rotation.from_euler("xyz", v) * Rotation.from_rotvec(w)
    return r.as_rotvec(), r.inv().as_quat(), r.magnitude(), (r**2).as_matrix()


CASES: list[RuleCase] = [
    case(lambda v: Rotation.from_rotvec(v).as_matrix(), _V), case(lambda v: Rotation.from_rotvec(v).as_quat(), _M),
    case(lambda v, p: Rotation.from_rotvec(v).apply(p), _V, _M), case(lambda p: _R.apply(p, inverse=True), _M),
    case(lambda q: Rotation.from_quat(q).as_matrix(), _Q), case(lambda a: Rotation.from_euler("z", a).as_matrix(), 0.4),
    case(lambda a: Rotation.from_euler("z", a, degrees=True).as_matrix(), 20.0), case(_composed, _V, _V[::-1] * 1.3),
    case(lambda v: Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix()).as_euler("zyx"), _V),
    case(lambda v: Rotation.from_mrp(v / 3).as_mrp(), _V), case(lambda v: Rotation.from_rotvec(v)[0].as_matrix(), _M),
    case(lambda v: Rotation.from_euler("ZYX", v).as_euler("xyz"), _M * 0.7),
    case(lambda v: Rotation.from_euler("ZXZ", v * 50, degrees=True).as_euler("XYX", degrees=True), _V),
    case(lambda v: Rotation.from_euler("XY", v).apply(_M, inverse=True), _V[:2]),
    case(lambda v, p: (Rotation.from_rotvec(v * 30, degrees=True) * _R).apply(p), _M, _V),
    case(lambda v: Rotation.from_rotvec(v * 1e-4).as_rotvec(degrees=True), _M),
    case(lambda q: Rotation.from_quat(q, scalar_first=True).as_quat(canonical=True, scalar_first=True), -_Q),
    case(lambda v: Rotation.from_rotvec(v).magnitude(), _M),
    case(lambda v: (_R * Rotation.from_rotvec(v)).inv().as_matrix(), _M),
    case(lambda v: Slerp([0, 1], Rotation.from_rotvec(v))([0.3, 0.8]).as_rotvec(), _M),
]  # fmt: skip
