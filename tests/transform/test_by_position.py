"""What Python brings along is known by the places of arguments, however they are given."""

from __future__ import annotations

import pytest

from mooncake_py import grad
from tests.derive import sites


def numbered(xs):
    total = 0.0
    for i, (a, b) in enumerate(zip(xs, reversed(xs), strict=False), start=1):
        total += i * a * b
    return sum(xs, start=total)


def rounded(x):
    return round(x * x, ndigits=1) + pow(base=x, exp=2) + abs(complex(real=x, imag=2.0))


def test_nothing_is_decided_late() -> None:
    assert sites(numbered, [1.3, 0.4, -0.2]) == 0
    assert grad(numbered)([1.3, 0.4, -0.2]) == pytest.approx([4 * -0.2 + 1, 4 * 0.4 + 1, 4 * 1.3 + 1])
    assert grad(rounded)(1.5) == pytest.approx(3.0 + 1.5 / 2.5)


def test_names_that_are_none_are_for_python_to_refuse() -> None:
    with pytest.raises(TypeError, match="begin"):
        grad(lambda xs: sum(i * x for i, x in enumerate(xs, begin=1)))([1.0])
