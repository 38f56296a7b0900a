"""What the tables of cases cannot say of SciPy's rules: when they are loaded, what they refuse, how far they reach."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from mooncake_py import MissingRule, NotDifferentiated, UnsupportedError, grad, inspect, registry, value_and_pullback
from mooncake_py.testing import check_grads
from tests.functions import on_one_python

pytest.importorskip("scipy")
import scipy.integrate as si
import scipy.optimize as so
import scipy.special as sc
from scipy import stats


def _run(source: str) -> None:
    subprocess.run([sys.executable, "-c", source], check=True)


def test_scipy_is_not_imported_for_those_who_do_not_use_it() -> None:
    _run(
        "import sys, numpy as np, mooncake_py\n"
        "assert mooncake_py.grad(lambda x: x * np.sin(x))(0.0) == 0.0\n"
        "assert not [m for m in sys.modules if m.startswith('scipy')]"
    )


def test_scipy_imported_late() -> None:
    _run(
        "import mooncake_py, math\n"
        "mooncake_py.grad(math.sin)(1.0)\n"
        "def f(x):\n"
        "    import scipy.special\n"
        "    from scipy.special import gammaln\n"
        "    return gammaln(x) + scipy.special.expit(x) - x\n"
        "assert abs(mooncake_py.grad(f)(2.0) - (0.42278433509846713 + 0.10499358540350662 - 1)) < 1e-12\n"
        "import scipy\n"
        "assert abs(mooncake_py.grad(lambda x: scipy.special.erf(x))(0.0) - 1.1283791670955126) < 1e-12"
    )


def test_how_many_special_functions_have_rules() -> None:
    registry.load_packs()
    public = {getattr(sc, n) for n in dir(sc) if not n.startswith("_") and callable(getattr(sc, n))}
    ruled = [f for f in public if any(r.fn is not None for r in registry.rules_of(f))]
    assert len(ruled) >= 195


@pytest.mark.parametrize("f, args", [(sc.jv, (2.5, 0.7)), (sc.hyperu, (1.2, 0.4, 2.0)), (sc.eval_jacobi, (2.0,) * 4)])
def test_a_parameter_without_formula_is_refused_where_it_is_active(f: Any, args: tuple[float, ...]) -> None:
    name = f"scipy.special.{f.__name__}"
    for g in (lambda v: f(v, *args[1:]), lambda v: 2.0 * f(v * 1.0, *args[1:]), lambda v: [f][0](v, *args[1:])):
        with pytest.raises(MissingRule, match=f"{name} by its argument number 1"):
            grad(g)(args[0])
    with pytest.raises(MissingRule, match=name):
        value_and_pullback(f, *args)[1](1.0)
    vs = np.array([args[0], args[0] + 1.0])
    with pytest.raises(MissingRule, match=name):
        grad(lambda v: np.sum(np.exp(f(v, *args[1:]))))(vs)
    check_grads(lambda x: f(*args[:-1], x), args[-1:])


SHAPES = [
    (sc.gammainc, (np.array([0.05, 0.5, 3.0, 40.0, 900.0]), np.array([1e-3, 0.2, 2.9, 60.0, 905.0]))),
    (sc.gammainc, (np.array([0.05, 0.5, 3.0, 40.0]), np.array([2.0, 9.0, 20.0, 30.0]))),
    (sc.gammainc, (np.array([0.5, 30.0, 200.0, 2e-3]), np.array([20.0, 35.0, 150.0, 1e-3]))),
    (
        sc.betainc,
        (np.array([0.5, 200.0, 0.02, 3.8]), np.array([2.0, 1.0, 0.05, 0.06]), np.array([0.01, 0.99, 1e-3, 0.9993])),
    ),
    (
        sc.betainc,
        (np.array([0.3, 2.0, 50.0, 300.0]), np.array([4.0, 0.5, 70.0, 0.5]), np.array([0.01, 0.97, 0.4, 0.995])),
    ),
    (sc.stdtr, (np.array([1.0, 4.0, 30.0, 2000.0]), np.array([-3.0, 0.02, 1.5, 2.2]))),
    (sc.zeta, (np.array([1.1, 1.3, 2.0, 30.0]), np.array([0.4, 1.0, 3.0, 0.9]))),
    (sc.zeta, (np.array([-1.5, 0.3, 1.2, 30.0]),)),
    (sc.exprel, (np.array([-3.0, -0.049, -1e-9, 0.051, 2.0]),)),
    (sc.inv_boxcox, (np.array([0.5, -0.3, 2.0]), np.array([1e-4, 0.0, -0.02]))),
    (sc.boxcox, (np.array([0.5, 0.3, 2.0]), np.array([1e-4, 0.0, -0.02]))),
    (sc.kolmogorov, (np.array([0.3, 0.59, 0.61, 1.4]),)),
    (sc.ellipkinc, (np.array([-4.0, 0.1, 1.5, 7.0]), np.array([0.0, -2.0, 0.9, 0.3]))),
    (sc.ellipeinc, (np.array([-4.0, 0.1, 1.5, 7.0]), np.array([0.0, -2.0, 0.9, 0.3]))),
    (sc.psi, (np.array([-2.4, -0.3, 0.2, 30.0]),)),
    (sc.psi, (np.array([-2.4 + 0.1j, -0.3 - 2j, 0.2 + 9j, 30.0 + 0j]),)),
    (sc.rgamma, (np.array([-2.0, 0.0, 0.3]),)),
    (sc.spence, (np.array([1.0, 0.9, 3.0]),)),
]


@pytest.mark.parametrize("f, args", SHAPES, ids=[f.__name__ for f, _ in SHAPES])
def test_across_the_range(f: Any, args: tuple[Any, ...]) -> None:
    def call(*xs):
        return f(*xs)

    check_grads(call, args, rtol=2e-6)


def test_a_minimum_at_a_bound_moves_along_it() -> None:
    def bounded(p, w):
        def bowl(z):
            return w * np.sum((z - p) ** 2) + (z[0] - 1.0) * (z[1] - p[0]) * 0.3

        return so.minimize(bowl, np.array([0.1, 0.2]), bounds=[(None, 0.5), (None, None)], tol=1e-14)["x"]

    check_grads(bounded, (np.array([1.2, 0.7]), 0.8), rtol=1e-3)


def _valley(p: np.ndarray) -> Any:
    return lambda z: np.sum((z - p) ** 2) + 0.1 * np.sum(z**4)


def _slope(p: np.ndarray) -> Any:
    return lambda z: 2.0 * (z - p) + 0.4 * z**3


def _inside_bounds(p: np.ndarray, b: float) -> Any:
    box = so.Bounds(np.array([0.0, -1.0, b]), np.array([b, np.inf, 9.0]))
    start = np.array([0.5, 0.5, 1.0]) * b + np.array([0.0, 0.0, 1.0])
    r = so.minimize(_valley(p), start, jac=_slope(p), method="trust-constr", bounds=box)
    return r.x, r.fun, r.grad


def _inside_constraints(p: np.ndarray, b: float) -> Any:
    line = so.LinearConstraint(np.array([[1.0, 1.0]]), np.array([0.0]), np.array([b]))
    r = so.minimize(
        lambda z: np.sum((z - p[:2]) ** 2), np.zeros(2), jac=lambda z: 2 * (z - p[:2]), method="trust-constr",
        constraints=line,
    )  # fmt: skip
    return r.x


def _inside_an_interval(p: np.ndarray, b: float) -> Any:
    return so.minimize_scalar(lambda x: (x - p[0] - 2.0) ** 2 + 0.1 * x**4, bounds=(0.0, b), method="bounded").x


def _curve_inside(p: np.ndarray, b: float) -> Any:
    t = np.linspace(0.0, 1.0, 6)
    tight = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
    return so.curve_fit(
        lambda t, a, k: a * np.exp(-k * t), t, p[0] * 2.0 * np.exp(-t) + p[1] * t, [0.3, 0.5],
        bounds=([0.0, 0.0], [b, 9.0]), jac="3-point", **tight,
    )[0]  # fmt: skip


@pytest.mark.parametrize("f", [_inside_bounds, _inside_constraints, _inside_an_interval, _curve_inside])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_solver_that_stays_inside_does_not_reach_what_holds_its_minimum(f: Any) -> None:
    check_grads(f, (np.array([1.2, 0.7, -0.4]), 0.6), rtol=1e-3)


def _cosh(p: float) -> Any:
    return lambda x: np.sum(np.cosh(x - p))


@pytest.mark.parametrize(
    "f, what",
    [
        (lambda p: np.sum(so.minimize(_cosh(p), np.ones(2)).hess_inv), "hess_inv"),
        (lambda p: np.sum(so.minimize(_cosh(p), np.ones(2), method="L-BFGS-B").hess_inv.todense()), "hess_inv"),
        (lambda p: np.sum(so.root(lambda x: x**2 - p, np.ones(2)).fjac), "fjac"),
        (lambda p: np.sum(so.fsolve(lambda x: x**2 - p, np.ones(2), full_output=True)[1]["qtf"]), "qtf"),
        (lambda p: so.fmin_l_bfgs_b(_cosh(p), np.ones(2), approx_grad=True)[2]["grad"][0], "result 2"),
    ],
)
def test_what_is_not_differentiated_of_a_solver_s_result_is_refused(f: Any, what: str) -> None:
    with pytest.raises(NotDifferentiated, match=what):
        grad(f)(1.4)


def test_what_a_function_given_to_a_solver_depends_on() -> None:
    w = np.array([0.5, 0.2])

    def nested(a, w):
        def outer(g):
            return lambda x: g(x) + w[1]

        return so.brentq(outer(lambda x: x**3 - a * w[0]), -1.0, 5.0)

    def defaults(a, w):
        return so.brentq(lambda x, q=a: x**3 - q + w[0], -1.0, 5.0)

    def containers(a, w):
        held = [a, {"w": w}]
        return so.brentq(lambda x: x**3 - held[0] * held[1]["w"][0], 0.0, 5.0)

    def mixed(a, w):
        return so.brentq(lambda x, pair, k: x**3 - pair[0] * pair[1][1] - k, 0.0, 5.0, ((a, w), a * 0.1))

    for f in (nested, defaults, containers, mixed):
        check_grads(f, (2.0, w))


def test_options_are_constants() -> None:
    sl = pytest.importorskip("scipy.linalg")
    with pytest.raises(MissingRule, match="pinv by its argument 'rtol'"):
        grad(lambda c: sl.pinv(np.eye(2), rtol=c).sum())(0.5)


def test_what_searches_for_a_minimum_is_not_differentiated_step_by_step() -> None:
    for search in (so.fmin, so.fmin_powell):
        f = lambda a, search=search: search(lambda z: (z - a) ** 2, [0.0], disp=0, xtol=1e-10, ftol=1e-12)[0]  # noqa: E731
        assert np.isclose(grad(f)(1.5), 1.0)
    assert np.isclose(grad(lambda a: so.fminbound(lambda z: (z - a) ** 2, 0.0, 4.0))(1.5), 1.0)
    for refused in (so.basinhopping, so.line_search):
        with pytest.raises(MissingRule, match=refused.__name__):
            grad(lambda a, refused=refused: refused(lambda z: (z[0] - a) ** 2, np.zeros(1), np.ones(1)).x[0])(1.5)


def test_where_a_solver_gave_up_is_refused_unless_it_is_a_solution() -> None:
    def system(x: Any, a: float) -> Any:
        return np.array([x[0] ** 3 - a * x[1] - 1.0, x[1] ** 2 + x[0] * a - 2.0])

    def root(a: float, **options: Any) -> Any:
        return so.root(system, np.array([1.0, 0.5]), (a,), **options)["x"].sum()

    def bowl(x: Any, a: float) -> Any:
        return (x[0] - a) ** 4 + x[0] ** 2 + (x[1] - x[0]) ** 2

    def least(a: float, **options: Any) -> Any:
        return so.minimize(bowl, np.array([3.0, -1.0]), (a,), **options).x.sum()

    def single(a: float, **options: Any) -> Any:
        return so.root_scalar(lambda x: x**3 - a, x0=5.0, fprime=lambda x: 3.0 * x * x, **options)["root"]

    def lowest(a: float, **options: Any) -> Any:
        return so.minimize_scalar(lambda x: (x - a) ** 2 + 0.1 * x**4, bounds=(-9.0, 9.0), options=options).x

    def squares(a: float, **options: Any) -> Any:
        found = so.least_squares(lambda x: [10.0 * (x[1] - x[0] ** 2), a - x[0]], [-1.2, 1.0], **options)
        return found.x.sum() + found.cost

    def lowest_value(a: float, **options: Any) -> Any:
        return so.minimize(bowl, np.array([3.0, -1.0]), (a,), **options).fun

    def told_nothing(solver: Any, *start: Any, at: Any = None) -> Any:
        def f(a: float, **options: Any) -> Any:
            y = solver(lambda x: bowl(x, a), *start, **options)
            return y.x.sum() if at is None else y[at]

        return f

    def several(a: float, **options: Any) -> Any:
        return so.fsolve(system, np.array([1.0, 0.5]), (a,), **options).sum()

    def bracketed(a: float, **options: Any) -> Any:
        return so.brentq(lambda x: x**3 - a, 0.0, 9.0, full_output=True, disp=False, **options)[0]

    def fitted(a: float, **options: Any) -> Any:
        return so.leastsq(lambda x: [10.0 * (x[1] - x[0] ** 2), a - x[0]], [-1.2, 1.0], **options)[0].sum()

    too_few = (root, {"options": {"maxfev": 4}}), (least, {"options": {"maxiter": 2}}), (single, {"maxiter": 2})
    everywhere = [(-3.0, 3.0)] * 2
    silent = (
        (told_nothing(so.differential_evolution, everywhere), {"seed": 0, "maxiter": 2, "polish": False}),
        (told_nothing(so.dual_annealing, everywhere), {"seed": 0, "maxiter": 1, "no_local_search": True}),
        (told_nothing(so.fmin, [3.0, -1.0], at=1), {"maxiter": 3, "full_output": True, "disp": False}),
        (told_nothing(so.fmin_bfgs, [3.0, -1.0], at=0), {"maxiter": 1, "disp": False}),
        (told_nothing(so.brute, everywhere, at=0), {"Ns": 5, "finish": None}),
    )
    more = (squares, {"max_nfev": 2}), (lowest_value, {"options": {"maxiter": 2}}), (several, {"maxfev": 4})
    last = (lowest, {"maxiter": 3}), (bracketed, {"maxiter": 3}), (fitted, {"maxfev": 6})
    for f, options in (*too_few, *more, *silent, *last):
        with pytest.raises(MissingRule, match="has not converged"):
            grad(lambda a, f=f, options=options: f(a, **options))(0.7)
    for f, options in ((root, {"tol": 1e-16}), (least, {"options": {"gtol": 1e-16}})):  # no machine gets there
        slope = (f(0.7 + 1e-4, **options) - f(0.7 - 1e-4, **options)) / 2e-4
        assert np.isclose(grad(lambda a, f=f, options=options: f(a, **options))(0.7), slope, rtol=1e-4)


def test_the_lists_of_a_matrix_of_lists_are_its_own() -> None:
    sp = pytest.importorskip("scipy.sparse")

    def made(x: float) -> Any:
        a = sp.lil_array((2, 2))
        a[0, 1] = x
        return a

    def written_to(x: float) -> Any:
        a = made(x)
        a.data[0][0] = 3.0
        return a.tocsr().sum()

    with pytest.raises(MissingRule, match="write to the matrix itself"):
        grad(written_to)(0.5)
    for f in (lambda x: made(x).reshape((1, 4)).tocsr().sum(), lambda x: made(x).getrowview(0).sum()):
        with pytest.raises(MissingRule, match=r"tocsr\(\)"):
            grad(f)(0.5)


def test_a_penalty_chosen_for_weighted_data() -> None:
    """SciPy looks for it to five digits, and leaves the weights out of the residuals."""
    sip = pytest.importorskip("scipy.interpolate")
    y, w = np.array([0.9, 0.1, -1.1, -0.7, 0.8, 0.7, -0.1, 0.9, 0.2]), np.array([5, 15, 9, 20, 4, 11, 7, 13, 6]) / 10
    check_grads(lambda y, w: sip.make_smoothing_spline(np.arange(9.0), y, w=w)([0.2, 3.9]), (y, w), rtol=1e-3)


def test_smooth_continuation_of_one_number_is_refused() -> None:
    ss = pytest.importorskip("scipy.signal")
    with pytest.raises(MissingRule, match="of one number"):
        grad(lambda h: np.sum(ss.upfirdn(h, np.ones(1), mode="smooth")))(np.ones(3))


def test_where_an_iterative_method_gave_up_is_refused() -> None:
    spl = pytest.importorskip("scipy.sparse.linalg")
    a = np.diag([1.0, 2.0, 4.0]) + 0.3
    for options in ({"maxiter": 1}, {"maxiter": 2, "M": np.diag([1.0, 9.0, 0.1])}):
        with pytest.raises(MissingRule, match="has not converged"):
            grad(lambda b, o=options: spl.cg(a, b, **o)[0].sum())(np.array([1.0, -2.0, 0.5]))


def test_the_dense_form_of_a_sparse_matrix_is_no_array() -> None:
    """What no rule knows of an np.matrix is refused, where that of arrays would take `*` for another product."""
    sp = pytest.importorskip("scipy.sparse")
    dense = lambda d: sp.csr_matrix((d, (range(3), range(3)))).todense()  # noqa: E731
    check_grads(lambda d: np.sum(dense(d) * np.ones((3, 1))), (np.ones(3),))
    for f in (lambda d: np.sum(np.where(dense(d) > 0, dense(d), 0.0)), lambda d: np.vdot(dense(d), dense(d))):
        with pytest.raises(UnsupportedError, match="class matrix"):
            grad(f)(np.ones(3))

    def written(d: Any) -> Any:
        m = dense(d)
        m[0] = d[1]
        return m.sum()

    with pytest.raises(MissingRule, match="write to np"):
        grad(written)(np.ones(3))


def test_what_incomplete_factors_solve_is_a_preconditioner_alone() -> None:
    sp, spl = pytest.importorskip("scipy.sparse"), pytest.importorskip("scipy.sparse.linalg")
    with pytest.raises(NotDifferentiated, match="use splu"):
        grad(lambda d: np.sum(spl.spilu(sp.csc_array((d, (range(3), range(3))))).solve(np.ones(3))))(np.ones(3))


def test_a_constraint_that_does_not_bind_has_no_influence() -> None:
    def f(c: float) -> Any:
        held = {"type": "ineq", "fun": lambda z: c - z[0]}
        return so.minimize(lambda z: (z[0] - c / 2.0) ** 2 + (z[1] - 3.0) ** 2, np.zeros(2), constraints=held).x

    for dy, dc in (([1.0, 0.0], 0.5), ([0.0, 1.0], 0.0)):
        assert np.isclose(value_and_pullback(f, 4.0)[1](np.array(dy)), dc)


def test_bounds_hold_the_minimum() -> None:
    f = lambda b: so.minimize(lambda z: np.sum((z - 3.0) ** 2), np.zeros(2), bounds=((0.0, b), (0.0, None))).x  # noqa: E731
    assert np.allclose(value_and_pullback(f, 1.5)[1](np.array([2.0, 5.0])), 2.0)


@on_one_python(0)
def test_rows_with_missing_numbers_go_through_the_wrapper_of_scipy() -> None:
    x = np.array([[0.9, -0.4, np.nan, 0.3, 2.2], [0.1, 0.7, 1.9, -0.3, 0.4]])
    (by_rows,) = value_and_pullback(lambda x: stats.skew(x, axis=1, nan_policy="omit"), x)[1](np.ones(2))
    alone = [grad(lambda row: stats.skew(row[~np.isnan(row)]))(row) for row in x]
    assert np.allclose(by_rows, alone, rtol=1e-12)


def test_fits_of_surfaces_are_refused_by_data_that_they_have_no_derivative_by() -> None:
    sip = pytest.importorskip("scipy.interpolate")
    i = np.arange(40.0)
    x, y = 0.5 + 0.5 * np.sin(i * i), 0.5 + 0.5 * np.cos(3.0 * i)
    fits = {
        "SmoothBivariateSpline by its argument 'z'": lambda z: sip.SmoothBivariateSpline(x, y, z, s=0.1).ev(0.3, 0.4),
        "bisplrep by its argument 'z'": lambda z: sip.bisplev(0.3, 0.4, sip.bisplrep(x, y, z, s=0.1)),
        "LinearNDInterpolator by an option": lambda z: sip.LinearNDInterpolator(
            np.stack([x, y], 1), x, fill_value=z[0]
        )(9.0, 9.0),
        "LSQBivariateSpline by its argument 'x'": lambda z: sip.LSQBivariateSpline(z, y, x, [], []).ev(0.3, 0.4),
        "LSQBivariateSpline.fp by the data": lambda z: sip.LSQBivariateSpline(x, y, z, [], []).get_residual(),
    }
    for message, f in fits.items():
        with pytest.raises(MissingRule, match=message):
            grad(f)(x * y)


def test_skew_of_nothing() -> None:
    """Nearer than differences could tell: SciPy takes the normal distribution there."""
    x = np.array([-0.4, 0.3, 1.2])
    d = grad(lambda s: np.sum(stats.pearson3.logpdf(x, s)))
    assert d(0.0) == pytest.approx(np.sum(x**3 - 3 * x) / 6, rel=1e-12)
    assert d(0.0) == pytest.approx((d(0.01) + d(-0.01)) / 2, rel=1e-3)
    d = grad(lambda s: np.sum(stats.pearson3.cdf(x, s)))
    assert d(0.0) == pytest.approx(-np.sum((x**2 - 1) * stats.norm.pdf(x)) / 6, rel=1e-12)
    assert d(0.0) == pytest.approx((d(0.01) + d(-0.01)) / 2, rel=1e-3)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "odeint"])
def test_motion_near_an_equilibrium(method: str) -> None:
    """The solution rests there, so that steps grow; differences are no measure, as they see these steps as well."""
    si, sl = pytest.importorskip("scipy.integrate"), pytest.importorskip("scipy.linalg")
    a = np.array([[-0.1, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -4.0, 0.0]])

    def end(y0):
        if method == "odeint":
            return np.sum(si.odeint(lambda y, t: a @ np.sin(y), y0, [0.0, 15.0])[-1])
        return np.sum(si.solve_ivp(lambda t, y: a @ np.sin(y), (0.0, 15.0), y0, method=method).y[:, -1])

    expected = np.sum(sl.expm(15.0 * a), axis=0)
    assert np.allclose(grad(end)(np.zeros(3)), expected, rtol=1e-5)
    assert np.allclose(grad(end)(np.array([1e-3, 0.0, 0.0])), expected, rtol=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda c: stats.lomax.mean(c), lambda c: stats.fisk.stats(c, scale=c, moments="mv")[1],
        lambda c: stats.burr12.mean(c, 0.8),
        lambda c: stats.gamma.mean(c - 2.0), lambda c: stats.norm.pdf(0.3, scale=-c), lambda c: stats.norm.ppf(0.0, c),
        lambda c: stats.poisson.pmf(2, c - 2.0), lambda c: stats.cauchy.std(scale=c),
    ],
)  # fmt: skip
def test_what_is_infinite_or_undefined_has_no_derivative(f: Any) -> None:
    assert np.isnan(grad(f)(0.7))


@on_one_python(1)
def test_what_is_finite_has_its_derivative_beside_what_is_not() -> None:
    with np.errstate(all="ignore"):
        assert np.isclose(grad(lambda c: stats.lomax.stats(c, moments="mv")[0])(1.5), -4.0)
        got = grad(lambda p, m: np.sum(np.where(p > 0.0, stats.norm.ppf(p, m), 0.0)), argnums=1)(
            np.array([0.0, 0.4]), 0.3
        )
    assert got == 1.0


def test_densities_that_are_zero_at_an_end_have_the_slope_from_within() -> None:
    for f, x, slope in [
        (lambda x: stats.gamma.pdf(x, 2.0), 0.0, 1.0), (lambda x: stats.gamma.pdf(x, 2.5), 0.0, 0.0),
        (lambda x: stats.beta.pdf(x, 2.0, 1.5), 1.0, -np.inf), (lambda x: stats.beta.pdf(x, 2.0, 2.0), 1.0, -6.0),
        (lambda x: stats.rayleigh.pdf(x), 0.0, 1.0), (lambda x: stats.dgamma.pdf(x, 2.0), 0.0, 0.0),
    ]:  # fmt: skip
        assert np.isclose(grad(f)(x), slope)


@pytest.mark.parametrize(
    "f, at, slopes",
    [
        (lambda k, p: stats.binom.pmf(k, 3, p), 0.0, (-3.0, 3.0, 0.0, 0.0)),
        (lambda k, p: stats.binom.pmf(k, 3, p), 1.0, (0.0, 0.0, -3.0, 3.0)),
        (lambda k, p: stats.bernoulli.pmf(k, p), 0.0, (-1.0, 1.0)),
        (lambda k, p: stats.nbinom.pmf(k, 2, p), 1.0, (2.0, -2.0, 0.0)),
        (lambda k, p: stats.geom.pmf(k + 1, p), 1.0, (1.0, -1.0, 0.0)),
        (lambda k, m: stats.poisson.pmf(k, m), 0.0, (-1.0, 1.0, 0.0)),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_probabilities_of_what_is_certain(f: Any, at: float, slopes: tuple[float, ...]) -> None:
    assert tuple(grad(lambda p, k=k: f(k, p))(at) for k in range(len(slopes))) == slopes
    ks = np.arange(len(slopes))
    assert grad(lambda p: np.sum(f(ks, p) * 2.0**ks))(at) == np.sum(np.array(slopes) * 2.0**ks)


@pytest.mark.parametrize(
    "f, n", [(lambda n: stats.irwinhall.cdf(1.2, n), 3.0), (lambda n: stats.betabinom.pmf(2, n, 1.3, 0.7), 5.0)]
)
def test_whole_numbers_that_distributions_ask_for(f: Any, n: float) -> None:
    with pytest.raises(MissingRule, match=r"a whole number \(n\)"):
        grad(f)(n)
    assert grad(lambda a: stats.erlang.cdf(1.2, a))(3.0) < 0.0


def log_posterior(m: float, s: float, xs: np.ndarray) -> float:
    prior = stats.norm.logpdf(m, 0.0, 3.0) + stats.halfcauchy.logpdf(s) + stats.poisson.logpmf(2, s)
    tails = stats.gumbel_r.logsf([0.3, 1.2], m, s) * stats.norm.ppf(np.array(0.3), loc=m)
    return prior + np.sum(stats.norm.logpdf(xs, m, s)) + stats.norm.cdf(xs, m)[0, 0] + tails @ tails


def test_what_distributions_give_is_known_before_the_run() -> None:
    xs = np.array([[0.3, -0.2], [1.1, 0.4]])
    check_grads(log_posterior, (0.3, 1.2, xs))
    assert grad(log_posterior, debug_mode=True)(0.3, 1.2, xs) == pytest.approx(grad(log_posterior)(0.3, 1.2, xs))
    assert "decided when it runs" not in str(inspect(log_posterior, 0.3, 1.2, xs))


@pytest.mark.parametrize("z, which", [(1.2, 0), (0.9999, 1), (-1e6, 2)])
def test_a_sum_that_is_not_the_function_tells_nothing(z: float, which: int) -> None:
    """It diverges, takes too many terms, or takes them after a transformation."""
    assert np.isnan(grad(lambda p: sc.hyp2f1(*[p if k == which else v for k, v in enumerate((0.3, 0.7, 1.1))], z))(0.4))


@pytest.mark.parametrize("f", [si.quad, si.quad_vec])
def test_the_error_that_is_estimated_is_refused(f: Any) -> None:
    with pytest.raises(NotDifferentiated, match=f"the error that scipy.integrate.{f.__name__} estimates"):
        grad(lambda p: f(lambda x: abs(x - p), 0.0, 3.0)[1])(1.4)


def _recorded_by_quad(p: float, name: str) -> Any:
    y, _, record = si.quad(lambda x: np.exp(-p * x), 0.0, 1.0, full_output=1)
    return y * np.sum(record[name])


def _recorded_by_odeint(p: float, name: str) -> Any:
    y, record = si.odeint(lambda y, t: -p * y, 1.0, [0.0, 1.0], full_output=True)
    return y[-1, 0] * np.sum(record[name])


@pytest.mark.parametrize(
    "f, counted, computed", [(_recorded_by_quad, "neval", "rlist"), (_recorded_by_odeint, "nfe", "hu")]
)
def test_what_integrators_record_is_refused_unless_it_is_counted(f: Any, counted: str, computed: str) -> None:
    difference = (f(0.7 + 1e-6, counted) - f(0.7 - 1e-6, counted)) / 2e-6
    assert grad(f)(0.7, counted) == pytest.approx(difference, rel=1e-4)
    with pytest.raises(NotDifferentiated, match="records with full_output"):
        grad(f)(0.7, computed)


def test_what_an_integrator_tells_on_its_way_is_refused() -> None:
    def told(p: float, name: str, y0: Any, solout: bool) -> Any:
        seen: list[Any] = []
        solver = si.ode(lambda t, y: -p * y).set_integrator(name)
        if solout:
            solver.set_solout(lambda t, y: seen.append(y.sum()))
        end = solver.set_initial_value(y0).integrate(1.0)
        return seen[-1] if solout else np.real(end[0])

    with pytest.raises(NotDifferentiated, match="set_solout"):
        grad(lambda p: told(p, "dopri5", [1.0, 0.5], True))(0.5)
    with pytest.raises(NotDifferentiated, match="complex_ode"):
        grad(lambda p: told(p, "zvode", [1.0 + 0.5j], False))(0.5)


def test_integrators_keep_where_they_put_the_state() -> None:
    # LSODA puts each state where the last one was.

    def states(y0: Any, name: str) -> Any:
        solver = si.ode(lambda t, y, a: a * y[::-1] - y**2).set_integrator(name, rtol=1e-10, atol=1e-11)
        solver.set_initial_value(y0).set_f_params(y0[0])
        held = [solver.integrate(t) for t in (0.5, 1.0, 1.5)]
        return np.sum(held, axis=0) * np.array([1.0, 2.0])

    check_grads(lambda y0: states(y0, "lsoda"), (np.array([0.4, 0.7]),))
    check_grads(lambda y0: states(y0, "dopri5"), (np.array([0.4, 0.7]),))


@pytest.mark.parametrize("name", ["vode", "lsoda", "dopri5"])
def test_integrators_have_their_work_back_for_what_ran_before_them(name: str) -> None:
    """C code writes into arrays that the solver made in Python: debug mode looks at those."""

    def solved(p: float) -> float:
        return si.ode(lambda t, y: -p * y).set_integrator(name).set_initial_value([1.0], 0.0).integrate(1.0)[0]

    _, pullback = value_and_pullback(solved, 0.7, debug_mode=True)
    assert np.isclose(pullback(1.0)[0], -np.exp(-0.7), rtol=1e-4)


class OfDensity(stats.rv_continuous):
    """A distribution of which only the density is written."""

    def _pdf(self, x: Any, a: Any) -> Any:
        return a * np.exp(-a * x)


@on_one_python(2)
def test_moments_of_a_distribution_that_has_a_density_only() -> None:
    dist = OfDensity(a=0.0, name="of_density")
    assert grad(lambda a: dist.mean(a))(1.3) == pytest.approx(-1.0 / 1.3**2)
    assert grad(lambda a: dist.moment(2, a, loc=0.5))(1.3) == pytest.approx(-4.0 / 1.3**3 - 1.0 / 1.3**2)
    assert grad(lambda s: dist.mean(1.3, scale=s))(2.0) == pytest.approx(1.0 / 1.3)


def test_numbers_of_a_sobol_engine_from_outside() -> None:
    engine = stats.qmc.Sobol(2, seed=3)

    def f(x: float) -> Any:
        return np.exp(x * engine.random(4)).sum()

    d = grad(f)(0.3)
    assert engine.num_generated == 4
    sample = engine.reset().random(4)
    assert d == pytest.approx(np.sum(sample * np.exp(0.3 * sample)))
