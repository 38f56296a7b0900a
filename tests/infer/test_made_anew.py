"""Classes that a function makes each time it runs: nothing is derived for them again and again."""

from __future__ import annotations

import collections
import dataclasses
from collections import defaultdict
from typing import Any

import pytest

from mooncake_py import pipeline, value_and_grad
from mooncake_py.structure import MANY, MANY_BY_HAND


def with_a_class(x):
    class P:
        def __init__(self, a):
            self.a = a

        def times(self, y):
            return self.a * y * x

    p = P(x)
    return sum([p.times(i) for i in range(3)])


def with_a_named_tuple(x):
    P = collections.namedtuple("P", "a b")

    def product(p):
        return p.a * p.b

    return product(P(x, b=x * x)) * 3.0


def with_a_data_class(x):
    @dataclasses.dataclass
    class P:
        a: Any
        b: Any = 2.0

    p = P(x * x)
    return p.a * p.b * x * 1.5


def with_a_default_dict(x: float) -> float:
    d = defaultdict(lambda: x * 2.0)
    d.update({"b": x})
    return d["a"] * d["b"] * x * 1.5


@pytest.mark.parametrize("f", [with_a_class, with_a_named_tuple, with_a_data_class, with_a_default_dict])
def test_nothing_is_derived_again(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = value_and_grad(f)
    power = 2 if f is with_a_class else 3

    def check(x: float) -> None:
        value, slope = gradient(x)
        assert value == pytest.approx(3.0 * x**power)
        assert slope == pytest.approx(3.0 * power * x ** (power - 1))

    for x in (0.5, 1.5, 2.0) * (MANY if f is not with_a_named_tuple else MANY_BY_HAND):
        check(x)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"derived again: {args[0].__qualname__}")

    monkeypatch.setattr(pipeline, "derive_rule", refuse)
    for x in (0.7, 1.1):
        check(x)
