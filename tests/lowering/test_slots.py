"""What many ways out leave None is stored once, not on each of them."""

from __future__ import annotations

import dis
import math
from typing import Any

import pytest

from mooncake_py import value_and_grad
from tests.derive import rule_of


def _with_exits(n: int) -> Any:
    """A function of n ways out, each behind a value that only those after it need."""
    lines = ["def f(x):", "    y = x"]
    for k in range(n):
        lines += [
            f"    if y > {k + 3.0}:",
            f"        return y * {k + 1.0}",
            f"    y = y * math.exp(y * x * {1e-3 / (k + 1)})",
        ]
    scope: dict[str, Any] = {"math": math}
    exec("\n".join([*lines, "    return y"]), scope)
    return scope["f"]


def _stored_nones(n: int) -> int:
    code = list(dis.get_instructions(rule_of(_with_exits(n), 0.5).forward))
    return sum(i.argval is None and i.opname == "LOAD_CONST" for i in code)


def test_code_does_not_grow_with_ways_out_times_values() -> None:
    few, many = _stored_nones(10), _stored_nones(40)
    assert few > 10  # they are not known on all ways
    assert many < 6 * few


@pytest.mark.parametrize("x", [0.5, 3.5, 50.0])
def test_every_way_out_gives_its_derivative(x: float) -> None:
    f = _with_exits(12)
    h = 1e-6
    value, dx = value_and_grad(f)(x)
    assert value == f(x)
    assert dx == pytest.approx((f(x + h) - f(x - h)) / (2 * h), rel=1e-6)
