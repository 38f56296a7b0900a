"""Functions of a thousand statements, as generated code has them: derived without deep recursion, and right."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import value_and_grad

N = 1500


def function(lines: list[str]) -> Callable[..., Any]:
    scope: dict[str, Any] = {"math": math}
    exec("\n".join(["def f(x, y):", *(f"    {line}" for line in lines)]), scope)
    return scope["f"]  # type: ignore[no-any-return]


def test_a_chain() -> None:
    """Each statement uses the result of the one before; y is used by all of them."""
    f = function(["a = x", *["a = a * 0.999 + 0.001 * y"] * N, "return a"])
    value, (dx, dy) = value_and_grad(f, argnums=(0, 1))(0.7, 1.3)
    assert value == f(0.7, 1.3)
    assert dx == pytest.approx(0.999**N)
    assert dy == pytest.approx(1 - 0.999**N)


def test_a_sum_of_many_variables() -> None:
    products = [f"v{i} = x * {i}.0 + y" for i in range(N)]
    f = function([*products, "return " + " + ".join(f"v{i}" for i in range(N))])
    value, (dx, dy) = value_and_grad(f, argnums=(0, 1))(0.5, 2.0)
    assert value == f(0.5, 2.0)
    assert (dx, dy) == (N * (N - 1) / 2, N)


@pytest.mark.parametrize("nested", ["math.sin({})", "(y - {})", "({} * y)"])
def test_an_expression_in_an_expression(nested: str) -> None:
    """As deep as Python's parser takes it."""
    expression = "x"
    for _ in range(80):
        expression = nested.format(expression)
    f = function([f"return {expression}"])
    value, (dx, _) = value_and_grad(f, argnums=(0, 1))(0.5, 1.01)
    h = 1e-6
    assert value == f(0.5, 1.01)
    assert dx == pytest.approx((f(0.5 + h, 1.01) - f(0.5 - h, 1.01)) / (2 * h), rel=1e-6)


@pytest.mark.parametrize(
    "lines",
    [
        ["if a > {i}.0:", "    b = b * 0.99 + x", "else:", "    a = a - 0.001 * b"],
        ["for k in range(2):", "    a = a * 0.5 + 0.01 * b * k"],
        ["xs.append(a * 0.9)", "a = xs[-1] + 0.001 * xs[0]"],
        ["d['k{i}'] = a * 0.99", "a = d['k{i}'] + 0.001 * d['k']"],
    ],
    ids=["branches", "loops", "a list", "a dict"],
)
def test_many_blocks(lines: list[str]) -> None:
    body = [line.format(i=i) for i in range(100) for line in lines]
    f = function(["a, b, xs, d = x, y, [x, y], {'k': x}", *body, "return a + b"])
    value, gradient = value_and_grad(f, argnums=(0, 1))(0.7, 1.3)
    h = 1e-6
    expected = (
        (f(0.7 + h, 1.3) - f(0.7 - h, 1.3)) / (2 * h),
        (f(0.7, 1.3 + h) - f(0.7, 1.3 - h)) / (2 * h),
    )
    assert value == f(0.7, 1.3)
    assert gradient == pytest.approx(expected, rel=1e-6)
