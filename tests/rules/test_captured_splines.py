"""Interpolants that are made in the function and captured by one that SciPy calls: forcing from data in an ODE, say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import grad
from mooncake_py.errors import MissingRule
from mooncake_py.testing import check_grads
from tests.functions import ALL

interpolate = pytest.importorskip("scipy.interpolate")
integrate = pytest.importorskip("scipy.integrate")
optimize = pytest.importorskip("scipy.optimize")

X = np.arange(6.0)
Y = np.array([-0.5, 0.25, 0.6, 1.1, 1.5, 2.3])
EXACT = {"rtol": 1e-11, "atol": 1e-12}


class Forced:
    def __init__(self, y):
        self.force, self.start = interpolate.CubicSpline(X, y), y[0]

    def slope(self, t, u):
        return self.start - u * self.force(t)


def by_quad(x, y):
    s = interpolate.CubicSpline(x, y)
    return integrate.quad(lambda t: s(t) * np.sin(t), 0.0, 4.0)[0]


def handed_on_itself(y):
    s = interpolate.PchipInterpolator(X, y)
    return integrate.quad(s, 0.0, 5.0)[0] + s(2.2)


def with_what_is_made_of_it(y):
    s = interpolate.CubicSpline(X, y)
    d = s.derivative()
    return integrate.quad(lambda t: float(s(t)) * d(t), 0.0, 5.0)[0] + d(1.1) * s(2.2)


def several_in_a_list(y):
    fs = [interpolate.CubicSpline(X, y), interpolate.make_interp_spline(X, y * y)]
    return integrate.quad(lambda t: sum(f(t) for f in fs), 0.0, 3.0)[0]


def periodic(y):
    s = interpolate.CubicSpline(X, np.concatenate([y[:5], y[:1]]), bc_type="periodic")
    return integrate.quad(lambda t: s(t) ** 2, 0.0, 7.0)[0]


def of_vectors(y):
    s = interpolate.CubicSpline(X, np.stack([y, y * y], 1))
    return integrate.quad_vec(lambda t: s(t), 0.0, 3.0)[0]


def fitted(y):
    s, t = interpolate.UnivariateSpline(X, y, s=0), interpolate.InterpolatedUnivariateSpline(X, y)
    return integrate.quad(lambda v: s(v) * t(v), 0.0, 3.0)[0] + optimize.brentq(lambda v: s(v) - 0.5, 0.0, 3.0)


def forced(y, k):
    f, g = interpolate.PchipInterpolator(X, y), interpolate.make_interp_spline(X, y, k=3)
    return integrate.solve_ivp(lambda t, u: [f(t) - k * u[0], u[0] * g(t)], (0, 4), [1.0, 0.0], **EXACT).y[1, -1]


def forced_by_an_object(y):
    return integrate.solve_ivp(Forced(y).slope, (0.0, 4.0), [1.0], **EXACT).y[0, -1]


def by_odeint(y):
    s = interpolate.CubicSpline(X, y)
    return integrate.odeint(lambda u, t: -u * s(t), [1.0], [0.0, 2.0, 4.0], **EXACT)[-1, 0]


def crossing(y, level):
    s = interpolate.CubicSpline(X, y)
    t = interpolate.make_smoothing_spline(X, y, lam=0.1)
    return optimize.brentq(lambda v: s(v) - level, 0.0, 5.0) * optimize.root(lambda v: t(v) - 0.5, [1.0]).x[0]


def lowest(y):
    s = interpolate.Akima1DInterpolator(X, y)
    options = {"xatol": 1e-12}
    return optimize.minimize_scalar(
        lambda v: (s(v) - 0.5) ** 2 + 0.1 * v, bounds=(0.0, 5.0), method="bounded", options=options
    ).fun


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (by_quad, (X + [0.0, 0.1, -0.1, 0.2, 0.0, 0.0], Y)),
    (handed_on_itself, (Y,)),
    (with_what_is_made_of_it, (Y,)),
    (several_in_a_list, (Y,)),
    (periodic, (Y,)),
    (of_vectors, (Y,)),
    (fitted, (Y,)),
    (forced, (Y, 0.7)),
    (forced_by_an_object, (Y,)),
    (by_odeint, (Y,)),
    (crossing, (Y, 0.1)),
    (lowest, (Y,)),
]


@pytest.mark.parametrize(("f", "args"), CASES if ALL else CASES[::2], ids=lambda x: getattr(x, "__name__", ""))
def test_their_derivative_is_that_of_what_they_were_made_of(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(f, args, rtol=1e-5)


def test_what_has_no_derivative_by_its_knots_says_so() -> None:
    def f(t, c):
        s = interpolate.BSpline(t, c, 3, extrapolate="periodic")
        return integrate.quad(lambda v: s(v), 3.0, 4.0)[0]

    t, c = np.arange(10.0), np.array([0.5, 1.0, -0.5, 0.5, 1.0, -0.5])
    assert np.isfinite(grad(lambda c: f(t, c))(c)).all()
    with pytest.raises(MissingRule, match="its knots"):
        grad(lambda t: f(t, c))(t)


def test_an_integral_is_taken_from_knot_to_knot() -> None:
    calls = 0

    def f(y):
        s = interpolate.CubicSpline(X, y)

        def integrand(t):
            nonlocal calls
            calls += 1
            return s(t)

        return integrate.quad(integrand, 0.0, 5.0)[0]

    grad(f)(Y)
    assert calls < 400
