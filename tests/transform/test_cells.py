"""Cells and generators that leave no trace in the derived code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import value_and_grad
from mooncake_py.fields import make_object
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const
from mooncake_py.iterators import advance
from tests.derive import derivation_of


def counter(x):
    total = 0.0

    def add(v):
        nonlocal total
        total += v * x

    for i in range(5):
        add(x * i)
    return total


def powers(x, n):
    p = 1.0
    for _ in range(n):
        yield p
        p *= x


def over_generator(x):
    t = 0.0
    for p in powers(x, 5):
        t += p * p
    return t


def over_enumerated_generator(x):
    t = 0.0
    for i, p in enumerate(powers(x, 5)):
        t += p * i
    return t


def two_yields(x):
    def both(n):
        for i in range(n):
            yield x * i
            yield x - i

    t = 0.0
    for v in both(4):
        t += v * v
    return t


def escaping(x):
    total = x

    def add(v):
        nonlocal total
        total = total * v
        return total

    return add, add(x) * add(2.0)


def used(f: Callable[..., Any]) -> set[Any]:
    forward = derivation_of(f, 1.1).forward
    return {s.fn.value for b in forward.blocks for s in b.stmts if isinstance(s.fn, Const)}


@pytest.mark.parametrize("f", [counter, over_generator, over_enumerated_generator, two_yields])
def test_no_cells_and_no_generator_are_left(f: Callable[..., Any]) -> None:
    assert not used(f) & {ops.make_cell, ops.cell_get, make_object, advance}
    value, grad = value_and_grad(f)(1.3)
    h = 1e-6
    assert value == f(1.3)
    assert grad == pytest.approx((f(1.3 + h) - f(1.3 - h)) / (2 * h), rel=1e-6)


def test_a_cell_that_another_function_keeps_stays() -> None:
    assert ops.make_cell in used(escaping)
