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


# -- rules as users plant them: every kind of defect, in rules of their own functions ---------------------


def weigh(x, w):
    """A function of the user's that nobody else has a rule for: a matrix times broadcast weights."""
    return np.asarray(np.nextafter(x * w, np.inf))


def overwrite(x, v):
    x *= v


def right(x, w):
    def pullback(dy):
        return dy * w, np.sum(dy * x, axis=0)

    return weigh(x, w), pullback


def sign(x, w):
    def pullback(dy):
        return -dy * w, np.sum(dy * x, axis=0)

    return weigh(x, w), pullback


def factor(x, w):
    def pullback(dy):
        return dy * w, 2.0 * np.sum(dy * x, axis=0)

    return weigh(x, w), pullback


def transposed(x, w):
    def pullback(dy):
        return (dy * w).T.reshape(x.shape), np.sum(dy * x, axis=0)

    return weigh(x, w), pullback


def no_sum(x, w):
    def pullback(dy):
        return dy * w, dy * x

    return weigh(x, w), pullback


def wrong_axis(x, w):
    def pullback(dy):
        return dy * w, np.sum(dy * x, axis=0)[::-1].copy()

    return weigh(x, w), pullback


def borrowed(x, w):
    def pullback(dy):
        dw = np.sum(dy * x, axis=0)
        dy *= w
        return dy, dw

    return weigh(x, w), pullback


def argument_overwritten(x, w):
    def pullback(dy):
        dw = np.sum(dy * x, axis=0)
        x[...] = dy * w
        return x.copy(), dw

    return weigh(x, w), pullback


def wrong_dtype(x, w):
    def pullback(dy):
        return (dy * w).astype(np.float32), np.sum(dy * x, axis=0)

    return weigh(x, w), pullback


def wrong_value(x, w):
    return x * w * (1 + 1e-9), right(x, w)[1]


def value_of_another_type(x, w):
    return weigh(x, w).astype(np.float32), right(x, w)[1]


def too_few(x, w):
    def pullback(dy):
        return (dy * w,)

    return weigh(x, w), pullback


def too_many(x, w):
    def pullback(dy):
        return dy * w, np.sum(dy * x, axis=0), None

    return weigh(x, w), pullback


def no_pair(x, w):
    return weigh(x, w)


def zero(x, w):
    def pullback(dy):
        return None, np.sum(dy * x, axis=0)

    return weigh(x, w), pullback


def spent(x, w):
    kept = [x * 1.0]

    def pullback(dy):
        return dy * w, np.sum(dy * kept.pop(), axis=0)

    return weigh(x, w), pullback


@pytest.fixture
def scoped() -> Any:
    with mooncake_py.scoped_rules():
        yield


def test_the_right_one_passes(scoped: None) -> None:
    mooncake_py.rrule(weigh)(right)
    note = check_rule(weigh, M, V, performance=True)
    assert note is not None and note.gradient_bytes > 0 and "at the peak" in str(note)
    check_grads(lambda x, w: np.sum(weigh(x, w) * x), (M, V))


@pytest.mark.parametrize("rule, says", [
    (sign, r"argument 0: the pullback gives <cotangent, direction> = .*central differences give .*direction: array"),
    (factor, r"argument 1: the pullback gives .*central differences"),
    (transposed, "argument 0: .*central differences"),
    (no_sum, r"an array of shape \(2, 3\) as the cotangent of argument 1 \(w\), it must be an array of shape \(3,\)"),
    (wrong_axis, "argument 1: .*central differences"),
    (borrowed, "wrote to the cotangent it was given"),
    (argument_overwritten, "the arguments are not as they were"),
    (wrong_dtype, "cotangent of dtype float32 for argument 0"),
    (wrong_value, "a plain call gives"),
    (value_of_another_type, "a plain call gives"),
    (too_few, "returned 1 cotangent"),
    (too_many, "returned 3 cotangents"),
    (no_pair, "must return a pair"),
    (zero, "argument 0: .*central differences"),
    (spent, "pop from empty list"),
])  # fmt: skip
def test_planted(scoped: None, rule: Any, says: str) -> None:
    mooncake_py.rrule(weigh)(rule)
    with pytest.raises(AssertionError, match=f"(?s){says}"):
        check_rule(weigh, M, V)
    if rule not in (wrong_dtype,):  # the engine mends it; only the rule by itself shows it
        with pytest.raises(AssertionError):
            check_grads(lambda x, w: weigh(x, w), (M, V))


def written(restores: bool = True, takes: bool = True, keeps_copy: bool = True) -> Any:
    def rule(x: mooncake_py.CoDual, v):
        old = x.primal.copy() if keeps_copy else x.primal
        overwrite(x.primal, v)

        def pullback(dy):
            if restores:
                x.primal[...] = old
            d = x.fdata.dense()
            dv = np.sum(d * old)
            if takes:
                d *= v
            return None, dv

        return None, pullback

    return rule


def uses_overwrite(x, v):
    y = x * 1.0
    overwrite(y, v)
    return y


@pytest.mark.parametrize("options, caught", [
    ({}, False), ({"restores": False}, True), ({"keeps_copy": False}, True), ({"takes": False}, True),
])  # fmt: skip
def test_planted_in_place(scoped: None, options: Any, caught: bool) -> None:
    """Stale restoration: nothing put back, or put back from what was overwritten itself."""
    mooncake_py.rrule(overwrite, mutates=(0,))(written(**options))

    def f(x, v):
        overwrite(x, v)
        return x * x

    if not caught:
        check_grads(f, (M, 1.5))
        check_grads(uses_overwrite, (M, 1.5))
        return
    with pytest.raises(AssertionError, match=r"not as they were|central differences"):
        check_grads(f, (M, 1.5))


def test_what_is_found_in_shadows_stays(scoped: None) -> None:
    """A rule that sets the cotangent of its argument where it should add to it."""

    def total(x):
        return float(np.nextafter(np.sum(x), np.inf))

    @mooncake_py.rrule(total)
    def rule(x: mooncake_py.CoDual):
        def pullback(dy):
            x.fdata.take()
            x.fdata.add(np.full(x.primal.shape, dy))
            return None

        return total(x.primal), pullback

    def f(x):
        x[0] = x[0] * 2.0
        return total(x)

    with pytest.raises(AssertionError, match=r"beside another use|central differences"):
        check_grads(lambda x: total(x), (V,))


def test_aliased_arguments(scoped: None) -> None:
    """A rule that is right but where both arguments are one array."""

    def product(a, b):
        return np.nextafter(a * b, np.inf)

    @mooncake_py.rrule(product)
    def rule(a, b):
        def pullback(dy):
            return (dy * b, dy * a) if a is not b else (dy * b, None)

        return product(a, b), pullback

    with pytest.raises(AssertionError, match="for one array in both places"):
        check_grads(lambda a, b: product(a, b), (V, V + 1.0))


def test_arguments_that_alias_are_checked_apart() -> None:
    check_grads(lambda a, b: a * b + a, (V, V))
    t = (V, V)
    check_grads(lambda t: t[0] * t[1][0], ((V, [V.copy(), 2.0]),))
    assert t[0] is t[1]


def test_errors_of_the_engine_pass_through(scoped: None) -> None:
    import math

    with pytest.raises(mooncake_py.MissingRule):
        check_grads(lambda x: math.nextafter(x, 9.0), (1.0,))


def test_a_buffer_that_is_used_twice(scoped: None) -> None:
    values, cotangents = np.empty(3), np.empty(3)

    def one(x):
        return np.sin(x)

    def other(x):
        return np.sin(x)

    @rrule(one)
    def into_a_buffer(x):
        def pullback(dy):
            return dy * np.cos(x)

        return np.sin(x, out=values), pullback

    @rrule(other)
    def from_a_buffer(x):
        def pullback(dy):
            return np.multiply(dy, np.cos(x), out=cotangents)

        return np.sin(x), pullback

    for r in (registry._rules[one][-1], registry._rules[other][-1]):
        r.user = True
    with pytest.raises(AssertionError, match="changed the value that the first one returned"):
        check_rule(one, np.ones(3))
    with pytest.raises(AssertionError, match="changed the cotangents that the first one returned"):
        check_rule(other, np.ones(3))
