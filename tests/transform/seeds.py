"""The seed's own examples, each small enough to check its derived code by eye.

What follows a join is long enough that no compiler copies it into the branches: their bytecode is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def straight_line(x):
    y = math.sin(x)
    return y


def branch(x):
    if x > 0.0:
        y = math.sin(x)
    else:
        y = x * x
    return math.exp(y) * math.exp(x) + y


def join_with_parameters(x, y):
    if x > y:
        a, b = x * y, math.cos(x)
    else:
        a, b = y, x
    return math.exp(a) * math.exp(b) + a


def range_loop(x, n):
    for i in range(n):
        x = math.sin(x) * (1.0 + i)
    return x


def while_loop(x):
    while x < 10.0:
        x = x * x
    return x


def unique_predecessor(x):
    if x > 0.0:
        y = math.sin(x)
        y = y * x
    else:
        y = math.cos(x)
        if y < x:
            y = y + x
    return math.exp(y) * math.exp(x) + y


def two_returns(x):
    if x > 0.0:
        return math.sin(x)
    return x * x


EXAMPLES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (straight_line, (0.7,)),
    (branch, (0.7,)),
    (join_with_parameters, (0.7, 0.3)),
    (range_loop, (0.7, 3)),
    (while_loop, (1.5,)),
    (unique_predecessor, (0.7,)),
    (two_returns, (0.7,)),
]
