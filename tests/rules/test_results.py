"""Rules with several results, of which a run uses none, or only one: which is known when it runs.

Zeros, or nothing at all, came for the others: a pullback must not be run for nothing, and must not trip over None.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import CoDual, debug, grad, rrule, scoped_rules, value_and_pullback
from mooncake_py.testing import RuleCase, check_grads, known_call
from tests.functions import ALL, share
from tests.rules.test_rules import CASES

FILES = {
    *("cmath_", "math_", "numpy_analysis", "numpy_arrange", "numpy_arraylike", "numpy_decompositions", "numpy_fft"),
    *("numpy_elementwise", "numpy_grids", "numpy_histogram", "numpy_indexing", "numpy_join", "numpy_linalg"),
    *("numpy_linear", "numpy_poly", "numpy_samples", "numpy_sets", "numpy_shape", "numpy_ufunc", "scipy_bessel"),
    *("scipy_curves", "scipy_decompositions", "scipy_elliptic", "scipy_factors", "scipy_fit", "scipy_fitpack"),
    *("scipy_harmonics", "scipy_integrate", "scipy_knots", "scipy_lapack", "scipy_linalg", "scipy_moments"),
    *("scipy_multivariate", "scipy_sparse_eigen", "scipy_sparse_exponential", "scipy_sparse_solve", "scipy_signal"),
    *("scipy_special", "scipy_splines", "scipy_stats"),
}
"""Those that have such rules: to call every case takes as long as a minute of tests."""


def is_number(v: Any) -> bool:
    if isinstance(v, np.ndarray):
        return v.dtype.kind in "fc" and v.size > 0
    return isinstance(v, (float, complex, np.inexact))


def weigh(v: Any) -> Any:
    """A real number that depends on all of v."""
    return 1.5 * np.sum(np.real(v)) - 0.5 * np.sum(np.imag(v))


def places(case: RuleCase) -> list[int]:
    """Where in the value of a case there are numbers, where there are several."""
    with np.errstate(all="ignore"):
        y = case.fn(*copy.deepcopy(case.args), **copy.deepcopy(case.kwargs))
    if not isinstance(y, (tuple, list)):
        return []
    return [i for i, v in enumerate(y) if is_number(v)] if len(y) > 1 else []


SEVERAL = [(name, c, at) for name, c in CASES if name.split("-")[0] in FILES and (at := places(c))]
HERE = share(SEVERAL[:: 1 if ALL else 2])


def one_of(case: RuleCase, at: list[int]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function that uses the result at the place it is told when it runs; at another one, none."""
    call, args = known_call(case.fn, case.args, case.kwargs)
    names = [f"x{i}" for i in range(len(args))]
    lines = [f"parts = call({', '.join(names)})", *(f"if which == {i}: return weigh(parts[{i}])" for i in at)]
    lines.append("return weigh(" + next((x for x, v in zip(names, args, strict=True) if is_number(v)), "0.0") + ")")
    scope = {"call": call, "weigh": weigh}
    exec(f"def one(which, {', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines), scope)
    return scope["one"], args


@pytest.mark.parametrize(("case", "at"), [x[1:] for x in HERE], ids=[x[0] for x in HERE])
@pytest.mark.filterwarnings("ignore")
def test_not_all_results_are_used(case: RuleCase, at: list[int]) -> None:
    f, args = one_of(case, at)
    for which in (-1, at[-1], at[0]):
        check_grads(f, (which, *args))
    y, pullback = value_and_pullback(f, -1, *args, debug_mode=True)
    pullback(y)


def test_there_are_enough_of_them() -> None:
    assert len(SEVERAL) > 200


def integrals_that_are_not_used(z):
    interpolate = pytest.importorskip("scipy.interpolate")
    t = np.arange(5.0)
    surface = interpolate.RectBivariateSpline(t, t, np.outer(z, z + 1.0))
    spline = interpolate.UnivariateSpline(t, z, s=0)
    found = [s.integral(*ends) for s, ends in ((surface, (0.0, 1.0, 0.0, 2.0)), (spline, (0.0, 1.5)))]
    return z[1] ** 2 if found[0] < 1e3 else sum(found)


def test_an_integral_that_is_not_used_has_no_say() -> None:
    """A cotangent of None is no number, as which it would be NaN."""
    z = np.array([0.5, -0.3, 1.2, 0.4, 0.9])
    assert np.array_equal(grad(integrals_that_are_not_used)(z), [0.0, -0.6, 0.0, 0.0, 0.0])


# -- a user's rule ----------------------------------------------------------------------------------------


def pair(a):
    return a * 2.0, a * a


def nested(a):
    return [a * 2.0, (a * 3.0, "name", 1)], {"b": a * a, "n": 2}


def halve(a, b):
    a *= 0.5
    return b * 2.0, b * b


FUNCTIONS = [pair, abs, len, repr, hash, iter, callable]  # more than are told apart


def which(n, x):
    p, q = pair(x)
    if n == 0:
        return np.sum(p)
    return np.sum(q) if n == 1 else np.sum(x)


def which_unknown(n, x):
    p, q = FUNCTIONS[0](x)
    if n == 0:
        return np.sum(p)
    return np.sum(q) if n == 1 else np.sum(x)


def only_first(x):
    p, _ = pair(x)
    return np.sum(p)


@pytest.mark.parametrize("opaque", [False, True])
@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("x", [np.array([0.5, 2.0]), 1.5], ids=["array", "number"])
def test_a_users_rule_is_given_zeros_for_what_is_not_used(opaque: bool, checked: bool, x: Any) -> None:
    got = []

    def rule(a):
        def pullback(dy):
            d0, d1 = dy
            got.append(dy)
            return d0 * 2.0 + d1 * 2.0 * a

        return pair(a), next(pullback for _ in range(1)) if opaque else pullback

    with scoped_rules(), debug() if checked else contextlib.nullcontext():
        rrule(pair)(rule)
        for f in (which, which_unknown):
            for n, slope in ((0, 2.0), (1, 2.0 * x), (2, 1.0)):
                got.clear()
                assert np.allclose(value_and_pullback(f, n, x)[1](1.0)[1], slope)
                assert all(isinstance(d, type(x)) for dy in got for d in dy)
                assert n != 2 or not isinstance(x, np.ndarray) or not got  # of numbers zero is a cotangent
        assert np.allclose(grad(only_first)(x), 2.0)
        assert isinstance(got[-1][1], type(x)) and not np.any(got[-1][1])


@pytest.mark.parametrize("opaque", [False, True])
def test_zeros_stand_in_containers_too(opaque: bool) -> None:
    got = []

    def rule(a):
        def pullback(dy):
            got.append(dy)
            (d0, (d1, _, _)), d2 = dy
            return d0 * 2.0 + d1 * 3.0 + d2["b"] * 2.0 * a

        return nested(a), next(pullback for _ in range(1)) if opaque else pullback

    def f(x):
        (_, q), _ = nested(x)
        return np.sum(q[0] * q[0])

    x = np.array([0.5, 2.0])
    with scoped_rules():
        rrule(nested)(rule)
        assert np.allclose(grad(f)(x), 18.0 * x)
    ((d0, (d1, name, n)), d2) = got[0]
    assert not d0.any() and not d2["b"].any() and d1.all() and (name, n, d2["n"]) == (None, None, None)


@pytest.mark.parametrize("opaque", [False, True])
def test_a_rule_that_writes_is_undone_and_given_zeros(opaque: bool) -> None:
    got = []

    def rule(a: CoDual, b):
        y = halve(a.primal, b)

        def pullback(dy):
            got.append(dy)
            a.primal[...] = a.primal * 2.0
            d = a.fdata.dense()
            d *= 0.5
            return None, dy[0] * 2.0 + dy[1] * 2.0 * b

        return y, next(pullback for _ in range(1)) if opaque else pullback

    def f(n, x, b):
        y = x * 1.0
        p, q = halve(y, b)
        if n == 0:
            return np.sum(y)
        return np.sum(y) + np.sum(p) if n == 1 else np.sum(y) + np.sum(q)

    def given(x, b):
        halve(x, b)
        return np.sum(x * x)

    x, b = np.array([0.5, 2.0]), np.array([3.0, 1.0])
    with scoped_rules():
        rrule(halve, mutates=(0,))(rule)
        for n, slope in ((0, 0.0), (1, 2.0), (2, 2.0 * b)):
            dx, db = value_and_pullback(f, n, x, b)[1](1.0)[1:]
            assert np.allclose(dx, 0.5) and np.allclose(db, slope)
        dx, db = value_and_pullback(given, x, b)[1](1.0)
        assert np.allclose(dx, 0.5 * x) and not np.any(db) and x.tolist() == [0.5, 2.0]
    assert all(isinstance(d, np.ndarray) for dy in got for d in dy)
