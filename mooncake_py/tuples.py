"""What is done with tuples of which it is not known how long they are."""

from __future__ import annotations

import math
from typing import Any


def item(xs: tuple, i: Any) -> Any:
    """The item at an index."""
    return xs[i]


def length(xs: tuple) -> int:
    """How many items there are."""
    return len(xs)


def filled(xs: tuple) -> bool:
    """Are there any items?"""
    return bool(xs)


def empty(xs: tuple) -> bool:
    """Are there none?"""
    return not xs


def items(xs: tuple) -> list:
    """A list of the items."""
    return list(xs)


def part(xs: tuple, s: slice) -> tuple:
    """The items of a slice."""
    return tuple(items(xs)[s])


def together(xs: tuple, ys: tuple) -> tuple:
    """The items of both."""
    return tuple(items(xs) + items(ys))


def times(xs: tuple, n: int) -> tuple:
    """The items n times."""
    return tuple(items(xs) * n)


def length_of(xs: list) -> float:
    """`math.hypot` of the items."""
    return math.dist(xs, [0.0] * len(xs))


def largest(xs: list) -> Any:
    """`max` of the items, numbers that are its arguments."""
    check_several(max, xs)
    return max(xs)


def smallest(xs: list) -> Any:
    """`min` of them."""
    check_several(min, xs)
    return min(xs)


def check_several(f: Any, xs: list) -> None:
    """Raise what f raises of fewer than two numbers."""
    if len(xs) < 2:
        f(*xs)


MADE_OF_LISTS = frozenset({part, together, times, length_of, largest, smallest})
OF_NUMBERS = {math.hypot: length_of, max: largest, min: smallest}
"""What functions are, of a list of the numbers that are their arguments."""
