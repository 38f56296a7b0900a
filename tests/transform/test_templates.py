"""Rules that have been specialised before: the same code, and made anew where what they relied on has changed."""

from __future__ import annotations

import re
import types
from typing import Any

import numpy as np
import pytest

from mooncake_py import grad, rrule
from mooncake_py.transform import templates
from tests.derive import text_of
from tests.functions import QUICK
from tests.harness import Case

FACTOR = 2.0


def scaled(x):
    return FACTOR * x


@rrule(scaled)
def scaled_rule(x):
    def pullback(dy):
        return FACTOR * dy

    return scaled(x), pullback


def powers(x, k):
    return x**k


@rrule(powers)
def powers_rule(x, k):
    if k == 1.0:

        def linear(dy):
            return dy, None

        return x, linear

    def pullback(dy):
        return dy * k * x ** (k - 1.0), None

    return x**k, pullback


def in_order(text: str) -> str:
    """The text with its blocks numbered as they come: attempts that were given up have left gaps in the numbers."""
    numbers: dict[str, str] = {}
    return re.sub(r"\bbb\d+", lambda found: numbers.setdefault(found.group(), f"bb{len(numbers)}"), text)


@pytest.mark.parametrize("case", QUICK[::40], ids=lambda case: case.name)
def test_the_first_and_the_later_derivations_agree(case: Case) -> None:
    if type(case.fn) is not types.FunctionType or len(case.args) != case.fn.__code__.co_argcount:
        return
    templates._templates.clear()
    first = in_order(text_of(case.fn, *case.fresh_args()))
    assert in_order(text_of(case.fn, *case.fresh_args())) == first


def test_a_rebound_global_of_a_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert grad(lambda x: scaled(x) + 1.0)(1.0) == 2.0
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert grad(lambda x: scaled(x) + 2.0)(1.0) == 3.0


def test_what_a_rule_decides_by_a_constant_stays_its_own() -> None:
    """Other floats share a template, unless the rule, or its pullback, looks at them."""
    assert grad(lambda x: powers(x, 2.0))(3.0) == 6.0
    assert grad(lambda x: powers(x, 1.0))(3.0) == 1.0
    assert grad(lambda x: powers(x, 3.0))(3.0) == 27.0
    assert grad(lambda x: powers(x, -1.0))(2.0) == -0.25


def test_constants_of_equal_value_are_told_apart() -> None:
    a, b = np.array([2.0]), np.array([-2.0])
    assert np.copysign(1.0, grad(lambda x: np.sum(x * 0.0))(a)) == 1.0
    assert np.copysign(1.0, grad(lambda x: np.sum(x * -0.0))(b)) == -1.0
    assert grad(lambda x: x * 2)(1.0) == 2.0
    assert grad(lambda x: x * True)(1.0) == 1.0
    assert grad(lambda x: x * 1)(1.0) == 1.0


def test_few_templates_for_many_constants() -> None:
    templates._templates.clear()
    scope: dict[str, Any] = {}
    for i in range(20):
        exec(f"def f(x):\n    return x * {i}.5 + 0.{i}1", scope)
        assert grad(scope["f"])(1.0) == i + 0.5
    assert len(templates._templates) <= 4
