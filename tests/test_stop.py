"""Derivatives dropped on purpose."""

from __future__ import annotations

import numpy as np

from mooncake_py import grad, no_diff, stop_gradient, value_and_grad


def test_a_number_is_a_constant() -> None:
    assert stop_gradient is no_diff
    assert grad(lambda x: no_diff(x) * x * x)(3.0) == 18.0
    assert value_and_grad(lambda x, y: no_diff(x * y) + x, argnums=(0, 1))(3.0, 2.0) == (9.0, (1.0, 0.0))


def test_an_array_is_a_copy_of_its_own() -> None:
    def f(x):
        c = no_diff(x)
        c[0] = 5.0
        x[1] *= 2.0
        return (c * x).sum()

    x = np.array([1.0, 2.0])
    value, g = value_and_grad(f)(x)
    assert value == 5.0 * 1.0 + 2.0 * 4.0
    assert g.tolist() == [5.0, 4.0]
    assert x.tolist() == [1.0, 2.0]


def test_containers_and_results_of_unknown_type() -> None:
    def f(x):
        d = {"a": [x, x * x]}
        kept = no_diff(d)
        return kept["a"][1] * d["a"][0]

    assert grad(f)(3.0) == 9.0


def test_outside_of_a_gradient() -> None:
    x = [1.0]
    y = no_diff(x)
    assert y == x and y is not x
    assert no_diff(2.5) == 2.5


def test_functions_and_methods() -> None:
    class Spring:
        def __init__(self, k):
            self.k = k

        def force(self, x):
            return self.k * x

    assert grad(lambda x: no_diff(Spring(x).force)(x))(3.0) == 3.0
    assert grad(lambda x: no_diff((Spring(x), x))[0].force(x))(3.0) == 3.0
    assert grad(lambda x: no_diff(lambda v: 2.0 * v)(x))(3.0) == 2.0
    assert grad(lambda x: no_diff(lambda v: v + x)(1.0) * x)(3.0) == 4.0
