"""Partials whose parts are known are calls; what such a call relies on is looked at again."""

from __future__ import annotations

from functools import partial, singledispatch
from typing import Any

import numpy as np

from mooncake_py import grad
from tests.infer.test_protocol import sites
from tests.zoo import partials as zoo
from tests.zoo import vectorized

KEPT: list[float] = []


def power(x: Any, k: Any = 2.0, c: Any = 1.0) -> Any:
    return c * x**k


def noted(into: list[float], x: Any) -> Any:
    into.append(1.0)
    return x * x


@singledispatch
def half(x: Any) -> Any:
    return x / 2.0


def twice(x: Any) -> Any:
    return x * 2.0


doubled = np.vectorize(twice)
cube = partial(power, k=3.0)
note = partial(noted, KEPT)


def test_nothing_is_decided_late() -> None:
    for f in (zoo.partial_called_at_once, zoo.partial_in_a_variable, zoo.partial_of_a_partial):
        assert sites(f, 0.7) == 0
    assert sites(zoo.partial_given_to_a_function, 0.4) == 0
    assert sites(zoo.partial_from_outside, 0.7, 1.2) == 0


def test_keywords_of_a_partial_from_outside_may_change() -> None:
    f = grad(lambda x: cube(x))
    assert f(2.0) == 12.0
    try:
        cube.keywords["k"] = 2.0
        assert f(2.0) == 4.0
        cube.keywords["c"] = 5.0
        assert f(2.0) == 20.0
    finally:
        cube.keywords.pop("c", None)
        cube.keywords["k"] = 3.0
    assert f(2.0) == 12.0


def test_a_list_in_a_partial_from_outside_is_written_to_once_per_call() -> None:
    KEPT.clear()
    assert grad(lambda x: note(x) + note(2.0 * x))(3.0) == 30.0
    assert KEPT == [1.0, 1.0]


def test_a_partial_that_is_rebound_is_seen() -> None:
    f = partial(power, k=2.0)
    g = grad(lambda x: f(x))
    assert g(3.0) == 6.0
    f = partial(power, k=3.0)
    assert g(3.0) == 27.0


def test_a_function_by_the_class_of_its_argument_is_known_until_another_is_registered() -> None:
    def f(x):
        return half(x) + half(2.0 * x)

    assert sites(f, 3.0) == 0
    g = grad(f)
    assert g(3.0) == 1.5
    half.register(float, lambda x: x * x)
    assert g(3.0) == 2.0 * 3.0 + 8.0 * 3.0


def test_what_is_vectorized_is_a_loop_that_is_known() -> None:
    x = vectorized._X
    for f, args in ((vectorized.vectorized_here, (x, 0.9)), (vectorized.vectorized_before, (x, x[:2]))):
        assert sites(f, *args) == 0


def test_a_function_that_is_vectorized_may_change() -> None:
    f = grad(lambda x: doubled(x).sum())
    x = np.array([0.5, 1.5])
    assert f(x).tolist() == [2.0, 2.0]
    try:
        doubled.pyfunc = lambda x: x * 3.0
        assert f(x).tolist() == [3.0, 3.0]
    finally:
        doubled.pyfunc = twice
    assert f(x).tolist() == [2.0, 2.0]
