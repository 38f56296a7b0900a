"""The tester is tested: right rules pass, every kind of planted defect is caught."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py import registry
from mooncake_py.registry import rrule
from mooncake_py.testing import RuleCase, check_grads, check_rule

V = np.array([0.5, -1.2, 2.0])
M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])


@pytest.fixture(autouse=True)
def rules_as_before() -> Any:
    registry.load_packs()
    saved = {f: list(rules) for f, rules in registry._rules.items()}
    yield
    registry._rules.clear()
    registry._rules.update(saved)
    registry.generation += 1


def planted(f: Any, rule: Callable[..., Any]) -> None:
    """Let `rule` win over every rule f has."""
    rrule(f)(rule)


def test_right_rule_passes() -> None:
    def rule(x):
        y = np.sin(x)

        def pullback(dy):
            return dy * np.cos(x)

        return y, pullback

    planted(np.sin, rule)
    check_rule(np.sin, V)
    check_rule(np.sin, 0.5)


def test_wrong_sign() -> None:
    def rule(x):
        def pullback(dy):
            return dy * np.sin(x)

        return np.cos(x), pullback

    planted(np.cos, rule)
    with pytest.raises(AssertionError, match="central differences"):
        check_rule(np.cos, V)


def test_wrong_factor() -> None:
    def rule(x):
        def pullback(dy):
            return dy * x

        return np.square(x), pullback

    planted(np.square, rule)
    with pytest.raises(AssertionError, match="central differences"):
        check_rule(np.square, V)


def test_small_error() -> None:
    def rule(x):
        y = np.exp(x)

        def pullback(dy):
            return dy * y * (1 + 1e-4)

        return y, pullback

    planted(np.exp, rule)
    with pytest.raises(AssertionError, match="central differences"):
        check_rule(np.exp, V)


def test_transposed() -> None:
    def rule(a, b):
        def pullback(dy):
            return dy @ b, a.T @ dy

        return a @ b, pullback

    planted(np.matmul, rule)
    square = np.array([[1.0, 0.5], [0.2, -1.1]])
    with pytest.raises(AssertionError, match="central differences"):
        check_rule(np.matmul, square, square + 0.3)


def test_missing_sum_over_broadcast_axes() -> None:
    def rule(a, b):
        def pullback(dy):
            return dy, dy

        return np.add(a, b), pullback

    planted(np.add, rule)
    with pytest.raises((AssertionError, ValueError)):
        check_rule(np.add, M, V)


def test_wrong_conjugate() -> None:
    def rule(a, b):
        def pullback(dy):
            return dy * b, dy * a

        return np.multiply(a, b), pullback

    planted(np.multiply, rule)
    check_rule(np.multiply, V, V + 1)
    with pytest.raises(AssertionError, match="central differences"):
        check_rule(np.multiply, V * (1 + 1j), V * (0.3 - 1j))


def test_one_argument_forgotten() -> None:
    def rule(a, b):
        def pullback(dy):
            return dy

        return np.subtract(a, b), pullback

    planted(np.subtract, rule)
    with pytest.raises(AssertionError, match="argument 1"):
        check_rule(np.subtract, V, V + 1)


def test_cotangent_written_to() -> None:
    def rule(x):
        def pullback(dy):
            dy *= 1 / x
            return dy

        return np.log(x), pullback

    planted(np.log, rule)
    with pytest.raises(AssertionError, match=r"wrote to the cotangent|second run|central differences"):
        check_rule(np.log, np.abs(V))


def test_argument_written_to() -> None:
    def rule(x):
        y = np.tanh(x)

        def pullback(dy):
            x[...] = dy * (1 - y * y)
            return x.copy()

        return y, pullback

    planted(np.tanh, rule)
    with pytest.raises(AssertionError, match="not as they were"):
        check_rule(np.tanh, V)


def test_wrong_value() -> None:
    def rule(x):
        def pullback(dy):
            return dy * np.cosh(x)

        return np.sinh(x) + 1e-9, pullback

    planted(np.sinh, rule)
    with pytest.raises(AssertionError, match="plain call"):
        check_rule(np.sinh, V)


def test_wrong_type_of_value() -> None:
    def rule(x):
        def pullback(dy):
            return dy * 2.0

        return np.asarray(np.add.reduce(x)), pullback

    planted(np.sum, rule)
    with pytest.raises(AssertionError):
        check_rule(np.sum, V)


def test_not_repeatable() -> None:
    seen: list[int] = []

    def rule(x):
        def pullback(dy):
            seen.append(1)
            return dy * np.sinh(x) * (1 + 1e-9 * len(seen))

        return np.cosh(x), pullback

    planted(np.cosh, rule)
    with pytest.raises(AssertionError, match="second run"):
        check_rule(np.cosh, V)


def test_dtype_that_does_not_fit() -> None:
    def rule(x):
        def pullback(dy):
            return dy * (1 + 1j)

        return np.negative(x), pullback

    planted(np.negative, rule)
    with pytest.raises((AssertionError, TypeError)):
        check_rule(np.negative, V)


def test_message_names_numbers_argument_and_direction() -> None:
    def rule(x):
        def pullback(dy):
            return 3.0 * dy

        return np.positive(x), pullback

    planted(np.positive, rule)
    with pytest.raises(AssertionError) as e:
        check_rule(np.positive, V)
    text = str(e.value)
    assert (
        "argument 0" in text and "direction: array(" in text and "step" in text and "<cotangent, direction> = " in text
    )


def test_check_grads_of_plain_functions() -> None:
    def f(a: np.ndarray, t: float, n: int) -> tuple[Any, float]:
        return a * t**n, float(a[0]) * t

    check_grads(f, (V, 1.5, 2))


def test_check_grads_catches_a_wrong_user_rule() -> None:
    def cube(x: float) -> float:
        return x * x * x

    @mooncake_py.rrule(cube)
    def rule(x):
        def pullback(dy):
            return dy * 2.0 * x * x

        return cube(x), pullback

    def f(x: float) -> float:
        return cube(x) + x

    with pytest.raises(AssertionError, match="central differences"):
        check_grads(f, (1.5,))


def test_names_of_cases_are_readable() -> None:
    assert RuleCase(np.sum, (M,), {"axis": 1}).name == "sum-f64(2x3)-axis=1"
