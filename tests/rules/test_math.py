"""`math` where the formulas of derivatives divide by zero: no pullback raises where the function did not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mooncake_py import grad

INF = math.inf


@pytest.mark.parametrize(("f", "x", "expected"), [
    (math.sqrt, 0.0, INF), (math.asin, 1.0, INF), (math.acos, -1.0, -INF), (math.acosh, 1.0, INF),
    (lambda x: x**0.5, 0.0, INF), (lambda x: math.pow(x, 0.5), 0.0, INF), (lambda x: math.pow(x, 1.0), 0.0, 1.0),
    (lambda x: math.hypot(x, 0.0), 0.0, 0.0), (lambda x: math.atan2(x, 0.0), 0.0, 0.0), (abs, 0.0, 0.0),
    (lambda x: math.dist([x], [0.0]), 0.0, 0.0), (lambda x: math.prod([x, 0.0, 2.0]), 1.0, 0.0),
    (lambda x: math.prod([x, 3.0, 2.0]), 0.0, 6.0),
])  # fmt: skip
def test_edges(f: Any, x: float, expected: float) -> None:
    assert grad(f)(x) == expected
