"""Recursive inner functions become functions of what they capture, where that is what Python would do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import grad
from mooncake_py.frontend import normalise
from mooncake_py.transform.lift import lift
from mooncake_py.transform.primal import prepare
from tests.infer.test_protocol import sites
from tests.zoo import decorated_recursion as decorated
from tests.zoo import recursion as zoo
from tests.zoo import recursion_handed_on as handed_on


def lifted(f: Callable[..., Any]) -> bool:
    return lift(prepare(normalise(f.__code__)), f.__globals__, {}) is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize("f", [
    zoo.inner_recursion, zoo.inner_recursion_of_two, zoo.inner_recursion_with_an_active_argument,
    zoo.inner_recursion_that_fills_a_list, zoo.inner_recursion_made_in_a_loop,
    zoo.inner_recursion_that_rebinds, zoo.inner_recursion_beside_one_that_rebinds,
    zoo.inner_recursion_counts_its_calls,
    handed_on.recursion_by_a_generator_expression, handed_on.recursion_by_a_generator_function,
    handed_on.recursion_by_functions_of_functions, handed_on.two_that_call_each_other_by_generator_expressions,
])  # fmt: skip
def test_what_is_lifted(f: Callable[..., Any]) -> None:
    assert lifted(f)


@pytest.mark.parametrize("f", [
    zoo.inner_recursion_rebound, zoo.inner_cached,
    handed_on.recursion_that_is_handed_on_as_a_value, handed_on.recursion_that_is_compared,
])  # fmt: skip
def test_what_is_not(f: Callable[..., Any]) -> None:
    assert not lifted(f)


def test_numbers_are_not_decided_late() -> None:
    assert sites(zoo.inner_recursion, 1.1) == 0
    assert sites(zoo.inner_recursion_of_two, 1.1) == 0
    assert sites(zoo.inner_recursion_of_tuples, 1.1) == 0


def test_functions_that_are_handed_on_are_not_decided_late() -> None:
    assert sites(handed_on.recursion_by_a_generator_expression_with_what_it_captured, [0.7, 1.2], 0.8) == 0
    assert sites(handed_on.two_that_call_each_other_by_generator_expressions, 0.7) == 0
    assert sites(handed_on.recursion_by_keywords_and_defaults, 0.7, 3) == 0


def test_cells_that_are_written_to_are_not_decided_late() -> None:
    assert sites(zoo.inner_recursion_that_rebinds, 1.1) == 0
    assert sites(zoo.inner_recursion_of_two_that_rebind, 1.1, 5) == 0


def test_functions_behind_a_decorator_are_not_decided_late() -> None:
    assert sites(zoo.inner_recursion_decorated, 1.1) == 0
    assert sites(zoo.inner_recursion_decorated_twice, 1.1) == 0


def test_functions_that_take_any_arguments_are_not_decided_late() -> None:
    assert sites(decorated.inner_recursion_with_a_memo_of_any_arguments, 0.7, 0.9) == 0


def test_functions_with_names_of_others_are_not_decided_late() -> None:
    assert sites(decorated.inner_functions_with_names_of_others, 0.7) == 0


def test_one_function_for_one_code() -> None:
    """Derived twice, it is the same function that is called, and its rule is found."""

    def callees() -> list[Any]:
        fn = lift(prepare(normalise(zoo.inner_recursion.__code__)), zoo.inner_recursion.__globals__, {})
        assert fn is not None
        found = [s.fn.value for b in fn.blocks for s in b.stmts if getattr(s.fn, "value", None).__class__ is LAMBDA]
        return [f for f in found if f.__module__ == zoo.__name__]

    first = callees()
    assert len(first) == 2
    assert first[0] is first[1]
    assert callees() == first


LAMBDA = type(lambda: None)


def test_an_error_shows_the_line_of_the_inner_function() -> None:
    def f(x: float) -> float:
        def g(n: int) -> float:
            if n == 0:
                raise RuntimeError("at the end")
            return g(n - 1) * x

        return g(2)

    with pytest.raises(RuntimeError) as caught:
        grad(f)(1.0)
    names = [entry.name for entry in caught.traceback]
    assert names.count("g") == 3


def test_deep_recursion_is_pythons_error() -> None:
    def f(x: float) -> float:
        def g(n: int) -> float:
            return x if n == 0 else g(n - 1) * x

        return g(100_000)

    with pytest.raises(RecursionError):
        grad(f)(1.0)
