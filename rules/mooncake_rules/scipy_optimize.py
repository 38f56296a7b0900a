"""scipy.optimize: roots and fixed points by the implicit function theorem, at the solution that was found.

For F(x, p) = 0 the cotangent of p is that of F(x, p) for the cotangent -(dF/dx)^-T dx of F. A starting point has no
influence on the solution: its derivative is zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.optimize as so

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual, DictShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import Dependence
from mooncake_rules.captured import watched
from mooncake_rules.scipy_args import gathered, spread

EMPTY = CoDual((), None)
NO_CALLBACK = CoDual(None, None)


def as_tuple(args: Any) -> CoDual:
    """`args` as SciPy takes it: one argument may stand for a tuple of one."""
    if isinstance(args.primal, tuple):
        return args
    return CoDual((args.primal,), None if args.fdata is None else (args.fdata,))


def extra(args: CoDual, ds: tuple[Any, ...]) -> Any:
    return ds if isinstance(args.primal, tuple) else ds[0]


def depends(f: CoDual, args: CoDual) -> Any:
    a = as_tuple(args)
    return Dependence(f.primal, f.fdata, a.primal, a.fdata)


# -- roots ------------------------------------------------------------------------------------------------


def root_cotangent(f: Any, x: np.ndarray, dx: np.ndarray, found: bool = True) -> np.ndarray:
    """The cotangent of what f depends on, for that of its root x; was that `found`, or only looked for?"""
    jacobian = []
    y, _ = f.at(x)
    for k in range(np.size(y)):
        row = np.zeros(np.shape(y))
        row.reshape(-1)[k] = 1.0
        (t,), _ = f.at(x)[1](like_value(row, y))
        jacobian.append(np.zeros(np.size(x)) if t is None else np.ravel(t))
    if not found:
        check_converged(solved(np.array(jacobian), np.ravel(y)), x)
    weight = -solved(np.array(jacobian).T, np.ravel(dx)).reshape(np.shape(y))
    vector: np.ndarray = f.at(x)[1](like_value(weight, y))[1]
    return vector


def solved(matrix: np.ndarray, v: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, v)
    except np.linalg.LinAlgError as e:
        raise NotDifferentiated(
            "the equations that the solution meets do not determine it there (their matrix is singular): "
            "it has no derivative"
        ) from e


def check_converged(step: Any, x: Any) -> None:
    """Where a solver gave up is what was looked for if Newton's step is small there: then too much was asked for."""
    if not np.linalg.norm(np.ravel(step)) <= 1e-4 * (1.0 + np.linalg.norm(np.ravel(x))):
        raise NotDifferentiated(
            "the solver has not converged: where it stopped is no solution, and has no derivative as one; "
            "give it more iterations or a better start"
        )


def like_value(t: np.ndarray, y: Any) -> Any:
    """A cotangent in the kind of the value y."""
    if isinstance(y, np.ndarray):
        return t
    if isinstance(y, (list, tuple)):
        return type(y)([like_value(t[i], v) for i, v in enumerate(y)])
    return type(y)(np.ravel(t)[0])


def _scalar_root(f: Dependence, x: float, dx: Any, found: bool = True) -> np.ndarray:
    y, pull = f.at(x)
    (slope,), vector = pull(type(y)(1.0) if not isinstance(y, np.ndarray) else np.ones(y.shape))
    if not found:
        check_converged(np.ravel(y)[0] / np.ravel(slope)[0], x)
    return -np.ravel(dx)[0] / np.ravel(slope)[0] * vector


def _bracketing(method: Any) -> None:
    @rrule(method)
    @watched
    def rule(f: CoDual, a, b, args: CoDual = EMPTY, *rest, **options):
        y = method(f.primal, a, b, args.primal, *map(primal, rest), **plainly(options))
        x = y[0] if type(y) is tuple else y
        fy = (None, record(y[1], ("root",))) if type(y) is tuple else None

        def pullback(dy):
            dy = root_given(fy, dy)
            if dy is None:
                return None
            d = depends(f, args)
            found = type(y) is not tuple or bool(y[1].converged)
            return None, None, None, extra(args, d.give(_scalar_root(d, x, dy, found)))

        return CoDual(y, fy), pullback


for _f in (so.brentq, so.brenth, so.bisect, so.ridder, so.toms748):
    _bracketing(_f)


@rrule(so.newton)
@watched
def newton(func: CoDual, x0, fprime=None, args: CoDual = EMPTY, *rest, **options):
    each = spread(args)
    y = so.newton(func.primal, x0, fprime, each.primal, *map(primal, rest), **plainly(options))
    told = isinstance(y, tuple) and isinstance(y[1], so.RootResults)
    fy = (zero_fdata(y[0]), record(y[1], ("root",))) if told else zero_fdata(y)
    x = y[0] if isinstance(y, tuple) else y

    def pullback(dy):
        dy = root_given(fy, dy) if told else first_cotangent(fy, dy)
        if dy is None:
            return None
        d = depends(func, each)
        vector = root_cotangent(d, x, dy, False) if np.ndim(x) else _scalar_root(d, x, dy, False)
        return None, None, None, gathered(args, d.give(vector))

    return CoDual(y, fy), pullback


def primal(x: Any) -> Any:
    return x.primal if type(x) is CoDual else x


def plainly(options: dict[str, Any]) -> dict[str, Any]:
    return {k: primal(v) for k, v in options.items()}


def root_given(fy: Any, dy: Any) -> Any:
    """The cotangent of a root, which a record may tell once more."""
    if fy is None:
        return dy
    parts = [take_fdata(fy[0], dy[0] if type(dy) is tuple else None), entry(fy[1], "root")]
    parts = [t for t in parts if t is not None]
    return sum(parts[1:], parts[0]) if parts else None


def first_cotangent(fy: Any, dy: Any) -> Any:
    """The cotangent of a value, or of the first where there are several."""
    if type(fy) is tuple:
        return take_fdata(fy[0], dy[0] if type(dy) is tuple else None)
    return take_fdata(fy, dy[0] if type(dy) is tuple else dy)


@rrule(so.fsolve)
@watched
def fsolve(func: CoDual, x0, args: CoDual = EMPTY, **options):
    out = so.fsolve(func.primal, plain(x0), args.primal, **options)
    x = plain(out[0] if options.get("full_output") else out)  # MINPACK hands out this memory to the function
    fx = zero_fdata(x)
    told = record(out[1], ()) if options.get("full_output") else DictShadow({})

    def pullback(dy):
        dy = take_fdata(fx, dy[0] if type(dy) is tuple else None)
        rest_is_zero(told, ("fvec",), "scipy.optimize.fsolve")
        if dy is None:
            return None
        d = depends(func, args)
        return None, None, extra(args, d.give(root_cotangent(d, x, dy, False)))

    if options.get("full_output"):
        return CoDual((x, *out[1:]), (fx, told, None, None)), pullback
    return CoDual(x, fx), pullback


def plain(x: Any) -> Any:
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

        return np.asarray(x) - y, lambda dy: back(like_value(np.asarray(dy), y))


@rrule(so.fixed_point)
@watched
def fixed_point(func: CoDual, x0, args: CoDual = EMPTY, **options):
    each = spread(args)
    x = so.fixed_point(func.primal, x0, each.primal, **options)
    fx = zero_fdata(x)

    def pullback(dy):
        dy = take_fdata(fx, dy)
        if dy is None:
            return None
        d = depends(func, each)
        return None, None, gathered(args, d.give(root_cotangent(Fixed(d), x, np.asarray(dy))))

    return CoDual(x, fx), pullback


# -- results that are records -----------------------------------------------------------------------------


def record(result: Any, names: tuple[str, ...]) -> DictShadow:
    """The fdata of an OptimizeResult: that of the entries `names`, and of others in which arrays are.

    What is added to the others `rest_is_zero` finds.
    """
    held = np.ndarray, list, tuple, so.LbfgsInvHessProduct
    return DictShadow({k: zero_fdata(v) if k in names or isinstance(v, held) else None for k, v in result.items()})


def entry(record: DictShadow, name: str) -> Any:
    return take_fdata(record.f[name], record.r.pop(name, None))


def rest_is_zero(record: DictShadow, names: tuple[str, ...], what: str) -> None:
    used = [k for k in record.f if k not in names and any_of(entry(record, k))]
    if used:
        raise NotDifferentiated(f"{what}: the entry {used[0]!r} of the result is not differentiated")


def any_of(t: Any) -> bool:
    """Is a cotangent, or one of those in it, not zero?"""
    if isinstance(t, Mapping):
        return any(map(any_of, t.values()))
    if isinstance(t, (list, tuple)):
        return any(map(any_of, t))
    return t is not None and bool(np.any(t))


def _iterative(method: Any) -> None:
    """A solver that is given the function, where to start, and options."""

    @rrule(method)
    @watched
    def rule(F: CoDual, xin, *rest, **options):
        x = method(F.primal, plain(xin), *map(primal, rest), **plainly(options))
        fx = zero_fdata(x)

        def pullback(dy):
            dy = take_fdata(fx, dy)
            if dy is not None:
                d = Dependence(F.primal, F.fdata)
                d.give(root_cotangent(d, x, dy))
            return None

        return CoDual(x, fx), pullback


for _f in (
    so.anderson, so.broyden1, so.broyden2, so.diagbroyden, so.excitingmixing, so.linearmixing, so.newton_krylov,
):  # fmt: skip
    _iterative(_f)


@rrule(so.root)
@watched
def root(
    fun: CoDual, x0, args: CoDual = EMPTY, method="hybr", jac=None, tol=None, callback: CoDual = NO_CALLBACK,
    options=None,
):  # fmt: skip
    res = so.root(fun.primal, x0, args.primal, method, jac, tol, callback.primal, options)
    res.x = plain(res.x)
    fres = record(res, ("x",))

    def pullback(dy):
        dx = entry(fres, "x")
        rest_is_zero(fres, ("fun", "x"), "scipy.optimize.root")
        if dx is None:
            return None
        d = depends(fun, args)
        if jac is True:
            d = First(d)
        return None, None, extra(args, d.give(root_cotangent(d, res.x, dx, bool(res.success))))

    return CoDual(res, fres), pullback


class First:
    """The first of several results of a function; `which` another."""

    def __init__(self, f: Any, which: int = 0):
        self.f, self.which, self.give = f, which, f.give

    def at(self, *xs: Any) -> Any:
        y, pull = self.f.at(*xs)
        return y[self.which], lambda dy: pull(tuple([dy if i == self.which else None for i in range(len(y))]))


@rrule(so.root_scalar)
@watched
def root_scalar(f: CoDual, args: CoDual = EMPTY, method=None, bracket=None, **options):
    res = so.root_scalar(f.primal, args.primal, method, bracket, **options)
    fres = record(res, ("root",))

    def pullback(dy):
        dx = entry(fres, "root")
        if dx is None:
            return None
        d = depends(f, args)
        if options.get("fprime") is True:
            d = First(d)
        return None, extra(args, d.give(_scalar_root(d, float(res.root), dx, bool(res.converged))))

    return CoDual(res, fres), pullback


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


def _cubic(x, p, q):
    return x**3 + p * x - q


def _by_list(a, b):
    args = [a, b]
    found = so.newton(_cubic, 1.0, args=args)
    args[0] = found * b
    return found * so.newton(_cubic, 1.0, lambda x, p, q: 3 * x**2 + p, args)


def _by_array(ps):
    return so.newton(_cubic, 1.0, args=ps) * so.newton(_cubic, 1.0, args=np.sin(ps)).sum()


def _fixed_by_list(a, b):
    return so.fixed_point(lambda x, p, q: 0.3 * q * np.cos(p * x), 0.5, [a, b], 1e-12)


def _newton_many(a):
    return so.newton(lambda x: x**3 - a, np.array([1.0, 2.0]), rtol=1e-12)


def _root(p, s):
    return so.root(_system, np.array([1.0, 0.3]), (p, s), tol=1e-12)["x"]


def _iterated(method: Any) -> Any:
    def solve(p):
        def f(x):
            return np.array([p[0] - x[0] - 0.1 * x[1] ** 2, p[1] - x[1] + 0.2 * x[0]])

        return method(f, [0.0, 0.0], f_tol=1e-12, maxiter=1000)

    solve.__qualname__ = method.__name__
    return solve


_P = np.array([1.2, 0.7])
CASES: list[RuleCase] = [
    *[case(g(f, 0.0, 5.0), 2.0, 0.7) for g in (_by_closure, _by_arguments)
      for f in (so.brentq, so.brenth, so.bisect, so.ridder, so.toms748)],
    case(_by_closure(so.newton, 1.0), 2.0, 0.7), case(_by_arguments(so.newton, 1.0), 2.0, 0.7), case(_fsolve, _P, 2.0),
    case(_fsolve_captured, _P, 2.0), case(_one_argument, 2.0), case(_newton_many, np.array([2.0, 5.0])),
    case(_by_list, 0.7, 2.0), case(_by_array, np.array([0.7, 2.0])), case(_fixed_by_list, 0.7, 2.0),
    case(lambda a: so.fixed_point(lambda x: np.cos(a * x), 0.5, xtol=1e-12), 0.7),
    case(_root, _P, 2.0),
    case(lambda a, b: so.root_scalar(lambda x: x**3 + b * x - a, bracket=(0.0, 5.0))["root"], 2.0, 0.7),
    case(lambda a: so.brentq(lambda x: x**3 - a, 0.0, 5.0, full_output=True)[0], 2.0),
    case(lambda a: so.newton(lambda x: x**3 - a, 1.0, full_output=True)[0], 2.0),
    case(lambda a: (lambda x, r: x * r.root)(*so.ridder(lambda x: x**3 - a, 0.0, 5.0, full_output=True)), 2.0),
    case(lambda a: so.newton(lambda x: x**3 - a, 1.0, full_output=True)[1].root, 2.0),
    *[case(_iterated(f), _P)
      for f in (so.anderson, so.broyden1, so.broyden2, so.diagbroyden, so.excitingmixing, so.linearmixing,
                so.newton_krylov)],
]  # fmt: skip
