"""How tests of state outside the arguments look at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import value_and_grad


def check_state(f: Callable[[Any], Any], reset: Callable[[], None], state: Callable[[], Any]) -> None:
    """Value, slope, and the state outside after the gradient are those of a plain call; so of a second one."""

    def plain(x: float) -> float:
        reset()
        return float(f(x))

    x, h = 1.3, 1e-6
    value, after = plain(x), state()
    slope = (plain(x + h) - plain(x - h)) / (2.0 * h)
    for _ in range(2):
        reset()
        y, dx = value_and_grad(f)(x)
        assert y == value
        assert dx == pytest.approx(slope, rel=1e-7)
        assert repr(state()) == repr(after)
