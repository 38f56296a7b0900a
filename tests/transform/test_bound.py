"""Calls whose arguments are not one for each parameter, of functions that are not taken in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_grad
from mooncake_py.ir.nodes import Call, Const, Pos, Var
from mooncake_py.run import NOTHING
from mooncake_py.transform.bound import spelled_function
from tests.derive import all_sites
from tests.zoo import modules as zoo


def f(a: Any, b: Any = 2.0, *rest: Any, c: Any = None, **more: Any) -> Any:
    return a, b, rest, c, more


def g(a: Any, b: Any = []) -> None: ...  # noqa: B006


def call(n: int, *names: str) -> Call:
    args = [Var(i, None) for i in range(n + len(names))]
    return Call(Var(99, None), Const(f), tuple(args[:n]), tuple(zip(names, args[n:], strict=True)), Pos(1))


@pytest.mark.parametrize(
    ("s", "given", "wanted"),
    [
        (call(1), (1, 2.0, None), (1, 2.0, (), None, {})),
        (call(4, "d", "c"), (1, 2, 5, 3, 4, 6), (1, 2, (3, 4), 5, {"d": 6})),
        (call(0, "b", "a"), (1, 2, None), (1, 2, (), None, {})),
    ],
)
def test_a_function_gets_its_arguments_one_by_one(s: Call, given: Any, wanted: Any) -> None:
    found = spelled_function(f, s, NOTHING)
    assert found is not None
    spelled, args = found
    assert len(args) == spelled.__code__.co_argcount == len(given)
    assert spelled(*given) == wanted
    again = spelled_function(f, s, NOTHING)
    assert again is not None
    assert again[0] is spelled


def test_what_does_not_fit_or_may_be_written_to_is_left() -> None:
    assert spelled_function(g, call(3), NOTHING) is None
    assert spelled_function(g, call(1, "c"), NOTHING) is None
    assert spelled_function(g, call(1), NOTHING) is None
    plain = call(2)
    assert spelled_function(g, plain, NOTHING) == (g, plain.args)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (zoo.a_network_given, (zoo.network(zoo.weights()),)),
        (zoo.penalty_of_all_parameters, (zoo.network(zoo.weights()),)),
        (zoo.a_network_made_in_the_run, (zoo.weights(),)),
        (zoo.parameters_changed_in_place, (zoo.weights(), zoo.X, zoo.Y)),
        (zoo.parameters_by_name, (zoo.weights(), 0.7)),
        (zoo.calls_itself_with_the_rest, (1.3, 0.4)),
        (zoo.calls_itself_by_default, (1.3,)),
        (zoo.a_tree_walked_with_keywords, (1.3, 0.4)),
        (zoo.a_tree_changed_with_the_rest, (1.3, 0.4)),
    ],
)
def test_nothing_is_decided_late(fn: Any, args: Any) -> None:
    assert all_sites(fn, *args) == []


class Leaf:
    def __init__(self, x: Any, *below: Any):
        self.x, self.below = x, below

    def total(self, scale: float = 2.0) -> Any:
        return self.x * scale + sum([leaf.total() for leaf in self.below])


def total_of_leaves(x: Any) -> Any:
    return Leaf(x, Leaf(x * x), Leaf(np.sin(x), Leaf(x))).total()


def test_default_values_are_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = value_and_grad(total_of_leaves)(0.5)
    monkeypatch.setattr(Leaf.total, "__defaults__", (4.0,))
    after = value_and_grad(total_of_leaves)(0.5)
    assert after == pytest.approx(tuple(2 * v for v in before))
