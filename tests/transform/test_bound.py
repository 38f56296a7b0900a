"""Calls whose arguments are not one for each parameter, of functions that are not taken in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooncake_py import inspect, value_and_grad
from mooncake_py.errors import UnsupportedError
from mooncake_py.ir.nodes import Call, Const, Pos, Var
from mooncake_py.run import NOTHING, OBJECTS
from mooncake_py.transform.bound import spelled_function
from tests.derive import all_sites
from tests.zoo import keywords
from tests.zoo import modules as zoo


def f(a: Any, b: Any = 2.0, *rest: Any, c: Any = None, **more: Any) -> Any:
    return a, b, rest, c, more


def g(a: Any, b: Any = []) -> Any:  # noqa: B006
    return a, b


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
    assert spelled_function(g, call(1), OBJECTS) is None
    plain = call(2)
    assert spelled_function(g, plain, NOTHING) == (g, plain.args)


def test_a_default_value_that_may_be_changed_is_read_when_it_runs() -> None:
    found = spelled_function(g, call(1), NOTHING)
    assert found is not None
    spelled, args = found
    assert len(args) == spelled.__code__.co_argcount == 1
    assert spelled(3) == (3, []) and spelled(3)[1] is g.__defaults__[0]  # type: ignore[index]


def _step(slope: Any, x: Any, options: dict[str, Any] = {"rate": 0.1}, more: dict[str, Any] = {}) -> Any:  # noqa: B006
    return x - options["rate"] * slope(x, **more)


def _stepped(p: float) -> Any:
    return _step(lambda x, k=2.0: k * (x - p), 1.0) + _step(lambda x: x - p, 0.5, {"rate": 0.3})


def test_default_values_are_looked_at_at_every_call() -> None:
    gradient = value_and_grad(_stepped)

    def slope() -> float:
        return (_stepped(0.7 + 1e-6) - _stepped(0.7 - 1e-6)) / 2e-6

    options, more = _step.__defaults__  # type: ignore[misc]
    assert all_sites(_stepped, 0.7) == []
    for rate in (0.1, 0.3, 2, 0.25):
        options["rate"] = rate
        assert gradient(0.7)[1] == pytest.approx(slope(), abs=1e-8)
    try:
        more["k"] = 3.0
        with pytest.raises(TypeError, match="unexpected keyword argument 'k'"):
            gradient(0.7)
        more.clear()
        assert gradient(0.7)[1] == pytest.approx(slope(), abs=1e-8)
        _step.__defaults__ = {"rate": 0.5}, {}
        assert gradient(0.7)[1] == pytest.approx(slope(), abs=1e-8)
    finally:
        _step.__defaults__ = {"rate": 0.1}, {}


SHARED: dict[str, float] = {}


def _with_shared(f: Any, x: Any, more: dict[str, float] = SHARED) -> Any:
    return f(x, **more)


def test_a_default_value_that_is_filled_in_between_is_not_taken_to_be_empty() -> None:
    def fn(x: float, fill: Any) -> Any:
        first = _with_shared(lambda x, k=1.0: x * k, x)
        fill()
        return first + _with_shared(lambda x, k=1.0: x * k * x, x)

    def fill() -> None:
        SHARED["k"] = 2.0

    try:
        value, slope = value_and_grad(fn)(0.7, fill)
        assert (value, slope) == (pytest.approx(0.7 + 2 * 0.49), pytest.approx(1.0 + 4 * 0.7))
    except UnsupportedError as refused:
        assert "default value of 'more'" in str(refused)
    finally:
        SHARED.clear()


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


@pytest.mark.parametrize(
    "f", [keywords.lengths_set_in_several_ways, keywords.attribute_set_to_a_product_with_what_a_method_gives]
)
def test_how_many_arguments_there_are_tells_what_is_run(f: Any) -> None:
    assert "decided when it runs" not in str(inspect(f, 1.3))
