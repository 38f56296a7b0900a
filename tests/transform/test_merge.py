"""Blocks that only follow one another are one, and nothing else is."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mooncake_py import value_and_grad
from mooncake_py.frontend import normalise
from mooncake_py.ir.verify import verify
from mooncake_py.transform.merge import merged
from mooncake_py.transform.primal import prepare


def protected(x):
    y = x * 2.0
    try:
        y = math.sin(y) + math.cos(y)
        z = math.log(y) * math.exp(y)
        return z - y
    except ValueError:
        return y * y


def handled_again(x):
    y = x
    try:
        for _ in range(3):
            y = y * 1.5
            math.log(2.0 - y)
    except ValueError:
        try:
            y = math.sqrt(y) * math.log(y)
        except ValueError:
            y = -y
    return y * x


def straight(x):
    y = [v * v for v in (x, 2.0 * x)]
    return y[0] * y[1]


FUNCTIONS: list[Any] = [protected, handled_again, straight]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_what_is_merged_is_well_formed(f: Any) -> None:
    before = prepare(normalise(f.__code__))
    after = merged(before)
    verify(after)
    assert {s for b in after.blocks for s in b.stmts} == {s for b in before.blocks for s in b.stmts}
    assert merged(after) is after


def test_a_body_goes_on_as_long_as_its_handler_sees_the_same() -> None:
    before = prepare(normalise(protected.__code__))
    after = merged(before)
    assert len(after.blocks) * 3 < len(before.blocks)


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("x", [0.2, 0.9, 1.4, 1.9])
def test_gradients_are_those_of_the_function(f: Any, x: float) -> None:
    value, g = value_and_grad(f)(x)
    assert value == f(x)
    assert g == pytest.approx((f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-6)
