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

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import refuse, rrule
from mooncake_py.tangents import CoDual, ListShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.captured import watched
from mooncake_rules.scipy_optimize import (
    EMPTY,
    First,
    any_of,
    depends,
    entry,
    extra,
    plain,
    record,
    rest_is_zero,
    root_cotangent,
)
from mooncake_rules.scipy_stationary import (
    constraints_of,
    give_bounds,
    held_at,
    least_value_cotangent,
    slope_along,
    stationary_cotangent,
)

# -- the solvers that return a record ---------------------------------------------------------------------

_NONE = CoDual(None, None)


def _of_minimum(
    f: Any, x: Any, dx: Any, dfun: Any, bounds: CoDual, constraints: list[Any], found: bool = True
) -> tuple[np.ndarray, Any]:
    """The cotangents of what f depends on and of the bounds, for those of the minimum and of its value."""
    problem, low, high = held_at(f, x, bounds.primal, constraints)
    z = np.concatenate([x, problem.multipliers]) if constraints else x
    n, more = np.size(x), np.size(z) - np.size(x)
    movable = np.concatenate([~(low | high), np.ones(more, bool)])
    vector: Any = 0.0
    of_bounds = np.zeros(n)
    if dfun is not None:
        vector, held = least_value_cotangent(problem, z, dfun, movable, found)
        of_bounds = held[:n]
    if dx is not None:
        t, held = stationary_cotangent(problem, z, np.concatenate([np.ravel(dx), np.zeros(more)]), movable, found)
        vector, of_bounds = vector + t, of_bounds + held[:n]
    return problem.give(vector) if constraints else vector, give_bounds(bounds, low, high, of_bounds)


def _one(bounds: CoDual) -> CoDual:
    """The bounds of a number, as those of all coordinates."""
    return bounds if bounds.primal is None else CoDual((tuple(bounds.primal),), None)


@rrule(so.minimize)
@watched
def minimize(
    fun: CoDual, x0, args: CoDual = EMPTY, method=None, jac: CoDual = _NONE, hess=None, hessp=None,
    bounds: CoDual = _NONE, constraints: CoDual = EMPTY, tol=None, callback: CoDual = _NONE, options=None,
):  # fmt: skip
    res = so.minimize(
        fun.primal, x0, args.primal, method, jac.primal, hess, hessp, bounds.primal, constraints.primal, tol,
        callback.primal, options,
    )  # fmt: skip
    fres = record(res, ("x", "fun"))
    slope = "grad" if "grad" in res else "jac"

    def pullback(dy):
        dx, dfun, dslope = entry(fres, "x"), entry(fres, "fun"), entry(fres, slope) if slope in res else None
        rest_is_zero(fres, ("x", "fun", slope), "scipy.optimize.minimize")
        if dx is None and dfun is None and dslope is None:
            return None
        whole = depends(fun, args)
        value = First(whole) if jac.primal is True else whole
        held = constraints_of(constraints)
        x = np.atleast_1d(res.x)
        more: Any = 0.0
        if dslope is not None:
            of_x, more = slope_along(value, x, np.ravel(dslope))
            dx = of_x if dx is None else dx + of_x
        elif jac.primal is True and dfun is None and not held and bounds.primal is None:
            return None, None, extra(args, whole.give(root_cotangent(First(whole, 1), res.x, dx, bool(res.success))))
        vector, of_bounds = _of_minimum(value, x, dx, dfun, bounds, held, bool(res.success))
        return None, None, extra(args, whole.give(vector + more)), None, None, None, None, of_bounds

    return CoDual(res, fres), pullback


@rrule(so.minimize_scalar)
@watched
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
        vector, held = _of_minimum(d, float(res.x), dx, dfun, _one(bounds), [], bool(res.success))
        return None, None, _given_back(bounds, held), extra(args, d.give(vector))

    return CoDual(res, fres), pullback


def _given_back(bounds: CoDual, held: Any) -> Any:
    """Those of a pair of bounds, for what there is of the bounds of one coordinate."""
    if held is None:
        return None
    ((low, high),) = held
    if type(bounds.fdata) is ListShadow:
        bounds.fdata.add([low, high])
        return None
    return np.array([low, high]) if isinstance(bounds.primal, np.ndarray) else (low, high)


# -- the other solvers: they return the minimum, alone or first of several --------------------------------


def _solver(f: Any, bounded: str | None = None, record_of: bool = False, ends: tuple[str, ...] = ()) -> None:
    """The rule of a solver whose first argument is the function and which has a parameter `args` (or no such).

    `bounded` names its parameter for bounds, `ends` those of the ends of an interval. The result is the minimum, or a
    tuple of minimum, value and more, or (with `record_of`) a record. Not all say whether they got there, and those that
    search everywhere say so always.
    """
    signature = inspect.signature(f)
    names = list(signature.parameters)
    name = f"scipy.optimize.{f.__name__}"

    @rrule(f)
    @watched
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
                raise NotDifferentiated(f"{name} with {refused[0]} is not differentiated: use minimize")
            d = depends(func, args)
            told = _is_given(options, "fprime") or _is_given(options, "approx_grad")
            value = First(d) if f in _GRADIENTS and not told else d
            if np.ndim(x):
                vector, of_bounds = _of_minimum(value, np.asarray(x, float), dx, dfun, bounds, [], False)
                out = {bounded: of_bounds}
            else:
                box = CoDual((tuple(float(options[k].primal) for k in ends),), None) if ends else _NONE
                vector, held = _of_minimum(value, float(x), dx, dfun, box, [], False)
                out = dict(zip(ends, held[0] if held else (), strict=False))
            out["args"] = extra(args, d.give(vector))
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
        if any_of(take_fdata(fs[i], ds[i] if np.ndim(y[i]) else None)):
            raise NotDifferentiated(f"result {i} of this solver is not differentiated")
    return y[0], take_fdata(fs[0], ds[0]), take_fdata(fs[1], ds[1]) if value else None


_GRADIENTS: set[Callable[..., Any]] = {so.fmin_l_bfgs_b, so.fmin_tnc}

"""Solvers whose function gives value and gradient, where they are not told otherwise."""

for _f in (so.fmin, so.fmin_powell, so.fmin_cg, so.fmin_bfgs, so.fmin_ncg, so.brent, so.golden):
    _solver(_f)

_solver(so.fminbound, ends=("x1", "x2"))

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


def _slope_at_a_bound(p, b):
    return so.minimize(_quartic, np.full(2, 0.1), (p,), "L-BFGS-B", _quartic_slope, bounds=[(0.0, b)] * 2).jac


def _number_within(kind: Any) -> Any:
    def within(a, b):
        r = so.minimize_scalar(lambda x: (x - a) ** 2 + 0.1 * x**4, bounds=kind([b - 1.0, b]), method="bounded")
        return r.x, r.fun

    within.__qualname__ = f"minimize_scalar-{kind.__name__}"
    return within


def _ends(a, b):
    return so.fminbound(lambda x: (x - a) ** 2 + 0.1 * x**4, b, b + 2.0, xtol=1e-10)


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
    case(_minimum, _P, 0.8), case(_minimal_value, _P, 0.8), case(_minimum_with_gradient, _P), case(_bounded, _Q, 0.6),
    case(_in_box, _Q, 0.6), case(_constrained, _Q, 1.1), case(_between, _Q, 1.3),
    case(_slope_at_a_bound, _P, 0.4), case(_ends, 0.3, 0.5),
    *[case(_number_within(kind), 3.0, 1.0) for kind in (tuple, list, np.array)],
    case(lambda a, b: so.minimize_scalar(lambda x: b * (x - a) ** 2 + 1.0)["x"], 0.6, 0.7), case(_bfgs, _P),
    case(_lbfgs, _P), case(_slsqp, _P), case(_tnc, _P), case(_by_slope(so.fmin_cg), _P),
    case(_by_slope(so.fmin_ncg), _P),
    *[case(_least_value(f, np.zeros(2), full_output=True, disp=0), _P) for f in (so.fmin, so.fmin_powell)],
    *[case(_least_value(f, full_output=True), 1.2) for f in (so.brent, so.golden)],
    case(_least_value(so.fminbound, -2.0, 2.0, full_output=True), 1.2),
    case(_least_value(so.brute, [(-2, 2)] * 2, full_output=True), _P),
    *[case(_least_value(f, [(-2, 2)] * 2, seed=1), _P) for f in (so.differential_evolution, so.dual_annealing)],
    case(_least_value(so.shgo, [(-2, 2)] * 2), _P), case(_least_value(so.direct, [(-2, 2)] * 2, len_tol=1e-8), _P),
]  # fmt: skip
