"""Classes that a function makes each time it runs: nothing is derived for them again and again."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections import defaultdict
from typing import Any

import pytest

from mooncake_py import pipeline, value_and_grad
from mooncake_py.structure import MANY


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


def with_a_tree_of_named_tuples(x):
    Node = collections.namedtuple("Node", "value left right")

    def build(n):
        return Node(x, build(n - 1), build(n - 2)) if n > 0 else None

    def total(node):
        return node.value + total(node.left) + total(node.right) if node else 0.0

    return total(build(2)) * x * x * 1.5


def with_a_dispatcher(x):
    @functools.singledispatch
    def double(v):
        return 0.0

    @double.register
    def _(v: float):
        return v + v

    @double.register(list)
    def _(v):
        return sum(map(double, v))

    return double([x, [x * 0.5, "a"]]) * x * x


@pytest.mark.parametrize(
    ("f", "runs"),
    [
        (with_a_class, 3),
        (with_a_named_tuple, MANY + 1),
        (with_a_tree_of_named_tuples, MANY + 1),
        (with_a_data_class, 3),
        (with_a_default_dict, 1),
        (with_a_dispatcher, 1),
    ],
)
def test_nothing_is_derived_again(f: Any, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient = value_and_grad(f)
    power = 2 if f is with_a_class else 3

    def check(x: float) -> None:
        value, slope = gradient(x)
        assert value == pytest.approx(3.0 * x**power)
        assert slope == pytest.approx(3.0 * power * x ** (power - 1))

    for i in range(runs):
        check(0.5 + i)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"derived again: {args[0].__qualname__}")

    monkeypatch.setattr(pipeline, "derive_rule", refuse)
    for x in (0.7, 1.1):
        check(x)
