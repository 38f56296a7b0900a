"""Operations on values of several types become one for each type: nothing is decided when they run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import inspect, value_and_grad
from mooncake_py.infer.choices import MOST_SPLITS
from tests.zoo import options as zoo

FUNCTIONS: list[Callable[[float], Any]] = [math.sin, math.cos]


def _late(f: Callable[..., Any], *args: Any) -> list[str]:
    return [line for line in str(inspect(f, *args)).splitlines() if "decided when it runs" in line]


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (zoo.least_so_far, ([1.0, 2.0],)),
        (zoo.zero_that_becomes_an_array, (1.0,)),
        (zoo.none_that_becomes_an_array, (1.0,)),
        (zoo.methods_of_several_classes, ([zoo.Gain(1.0), zoo.Square(2.0), zoo.Shifted(1.0)], 1.5)),
        (zoo.the_program_asks_for_the_class, ([zoo.Gain(1.0), zoo.Square(2.0), 3], 1.5)),
        (zoo.written_by_class, ([zoo.Gain(1.0), zoo.Square(2.0), zoo.Shifted(1.0)], 1.5)),
        (zoo.layers_of_several_classes, ([zoo.Dense(np.ones((2, 2)), np.ones(2)), zoo.Tanh()], np.ones((3, 2)))),
        (zoo.functions_from_a_list, (1.2, [math.sin, math.exp])),
        (zoo.functions_from_a_tuple_made_here, (1.2,)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_nothing_is_decided_late(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert _late(f, *args) == []


def _all_of_them(x: float) -> float:
    for f in FUNCTIONS:
        x = f(x)
    return x


def test_what_is_in_a_global_list_is_looked_at_again() -> None:
    vg = value_and_grad(_all_of_them)
    for _ in range(3):
        assert vg(1.2)[0] == math.cos(math.sin(1.2))
    FUNCTIONS[1] = math.exp
    try:
        for _ in range(3):
            assert vg(1.2)[0] == math.exp(math.sin(1.2))
    finally:
        FUNCTIONS[1] = math.cos


def test_splitting_has_an_end() -> None:
    lines = ["def many(x):", "    y = 0 if x > 100 else np.ones(2) * x"]
    lines += [f"    y = (y if x > {k} else 0) * x + {k} * x" for k in range(MOST_SPLITS + 5)]
    scope: dict[str, Any] = {"np": np}
    exec("\n".join([*lines, "    return np.sum(y)"]), scope)
    many = scope["many"]
    value, gradient = value_and_grad(many)(1.3)
    h = 1e-6
    assert value == many(1.3)
    assert gradient == pytest.approx((many(1.3 + h) - many(1.3 - h)) / (2 * h), rel=1e-5)
