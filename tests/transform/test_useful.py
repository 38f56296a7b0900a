"""What only decides something costs the pullback nothing."""

from __future__ import annotations

import math

import numpy as np

from mooncake_py import grad, inspect, value_and_grad, value_and_pullback
from tests.derive import text_of


def root(a):
    x = a
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def test_a_test_is_not_differentiated() -> None:
    pullback = text_of(root, 2.0).split("\nfn ")[1]
    assert "sign" not in pullback and "1e-12" not in pullback
    assert abs(value_and_grad(root)(2.0)[1] - 0.5 / math.sqrt(2.0)) < 1e-9


def test_no_zero_meets_an_infinite_slope() -> None:
    def f(x):
        return 2.0 * x if math.sqrt(x) < 1.0 else x

    def g(x):
        d = np.sqrt(x)
        n = 0
        for i in range(3):
            if d[i] > 0.5:
                n += 1
        return np.sum(x) * n

    assert grad(f)(0.0) == 2.0
    assert grad(g)(np.array([0.0, 1.0, 4.0])).tolist() == [2.0, 2.0, 2.0]


def helper(x):
    print("", end="")
    return x * x


def test_a_function_called_for_a_test_is_just_called() -> None:
    def f(x):
        if helper(x) > 1.0:
            return x
        return -x

    assert grad(f)(2.0) == 1.0
    assert grad(f)(0.5) == -1.0


def test_an_argument_that_only_decides_has_a_zero_gradient() -> None:
    def f(x, y):
        return x if y * y > 1.0 else 2.0 * x

    assert value_and_grad(f, argnums=(0, 1))(3.0, 2.0) == (3.0, (1.0, 0.0))
    dx, dy = grad(lambda x, y: np.sum(x) if np.sum(y * y) > 1.0 else 0.0, argnums=(0, 1))(np.ones(2), np.ones(3))
    assert dx.tolist() == [1.0, 1.0] and dy.tolist() == [0.0, 0.0, 0.0]


def test_what_is_written_is_kept() -> None:
    """A value that goes into memory others see is needed, whoever reads it."""

    def f(x):
        y = np.zeros(2)
        y[0] = x * x
        if y[0] > 100.0:
            return 0.0
        y[1] = 3.0 * y[0]
        return y[1]

    assert grad(f)(2.0) == 12.0


def test_a_loop_that_only_counts_is_not_reversed() -> None:
    def f(x):
        n = 0
        y = x
        while y < 100.0:
            y = y * 2.0
            n += 1
        return x * n

    assert "for " not in text_of(f, 3.0).split("\nfn ")[1]
    assert grad(f)(3.0) == 6.0


def test_inspect_says_so() -> None:
    assert "nothing that is differentiated depends on it" in str(inspect(root, 2.0))


def test_what_passes_by_a_loop_that_is_not_reversed() -> None:
    """The block after the loop hands it on under another name."""

    def f(x, y):
        if y[0] > 0.0:
            x = x * 3.0, y
            n = 0
            for _ in range(2):
                n += 1
            while n < 9:
                n += 1
        return x

    _, pullback = value_and_pullback(f, 0.5, np.array([0.9, 0.8]))
    dx, dy = pullback((1.0, np.ones(2)))
    assert dx == 3.0 and dy.tolist() == [1.0, 1.0]
