"""`math`, `cmath` and NumPy of numbers, where the formulas of derivatives divide by zero: no pullback raises where the
function did not."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np
import pytest

from mooncake_py import grad, value_and_pullback

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


@pytest.mark.parametrize("f", [
    math.sqrt, lambda x: x**0.5, lambda x: math.pow(x, 0.5), lambda x: math.asin(1.0 - x),
    lambda x: math.acos(1.0 - x) - 1.0, lambda x: math.acosh(1.0 + x),
])  # fmt: skip
def test_what_nobody_asks_for_is_zero_however_steep(f: Any) -> None:
    assert value_and_pullback(f, 0.0)[1](0.0) == (0.0,)
    assert grad(lambda x: max(x + 2.0, f(x)))(0.0) == 1.0


@pytest.mark.parametrize(("f", "x", "expected"), [
    (np.arctanh, 1.0, INF), (np.log2, 0.0, INF), (np.log10, 0.0, INF), (np.log1p, -1.0, INF),
    (lambda x: np.arctan2(x, x), 0.0, math.nan), (lambda x: np.fmod(1.0, x), 0.0, math.nan),
    (lambda x: np.remainder(x, 0.0), 0.0, 1.0), (lambda x: np.remainder(2.0, x), 0.0, -INF),
    (lambda x: np.hypot(x, x), 0.0, 0.0), (lambda x: np.sum(np.hypot(x, np.array([0.0, 1.0]))), 0.0, 0.0),
])  # fmt: skip
def test_edges_of_numpy(f: Any, x: float, expected: float) -> None:
    with np.errstate(all="ignore"):
        if math.isnan(expected):
            assert not math.isfinite(grad(f)(x))
        else:
            assert grad(f)(x) == expected


@pytest.mark.parametrize("f", [cmath.sqrt, cmath.asin, cmath.acos, cmath.acosh, cmath.phase, cmath.polar])
@pytest.mark.parametrize("z", [0j, 1.0 + 0j])
def test_edges_of_complex_functions(f: Any, z: complex) -> None:
    y, pullback = value_and_pullback(lambda z: f(z), z)
    (dz,) = pullback(tuple([1.0] * len(y)) if isinstance(y, tuple) else type(y)(1.0))
    assert type(dz) is complex
    if z == 0 and f in (cmath.phase, cmath.polar):
        assert dz == 0
