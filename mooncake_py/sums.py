"""What loops of the reverse run use: sums that are taken together, stacks that are read once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_MOST = 64


class SumShadow:
    """The tangent of a list of summands: all of them have the cotangent of the sum, `r`."""

    __slots__ = ("r",)

    def __init__(self, r: Any = 0.0):
        self.r = r

    def take(self) -> None:
        """Nothing: what is put into the list finds its cotangent here."""


def summands() -> list:
    """A list that will be filled and summed, and not looked at otherwise."""
    return []


def collect(xs: list, x: Any) -> None:
    """Append to such a list."""
    xs.append(x)


def sum_collected(xs: list) -> Any:
    """The sum of such a list."""
    return sum(xs)


class OuterSum:
    """`total + outer(a1, b1) + outer(a2, b2) + ...`, as products of matrices with the vectors as their rows.

    The vectors are kept until there are enough of them, never more than twice what the sum itself has of memory.
    """

    __slots__ = ("columns", "dtype", "limit", "rows", "shape", "total")

    def __init__(self, total: np.ndarray | None, like: np.ndarray | None = None):
        """A sum that begins with `total`, which is written to, or with zeros of the shape and dtype of `like`."""
        array = total if total is not None else like
        assert array is not None
        self.shape, self.dtype, self.total = array.shape, array.dtype, total
        m, n = array.shape
        self.limit = min(_MOST, 2 * m * n // (m + n)) if array.size else 0
        self.rows: list[np.ndarray] = []
        self.columns: list[np.ndarray] = []

    def add(self, a: np.ndarray, b: np.ndarray) -> None:
        if self.limit < 3:
            self._add(np.multiply.outer(a, b))
            return
        self.rows.append(a)
        self.columns.append(b)
        if len(self.rows) == self.limit:
            self._flush()

    def take(self) -> np.ndarray:
        """The sum; nothing is added to it afterwards."""
        if self.rows:
            self._flush()
        return np.zeros(self.shape, self.dtype) if self.total is None else self.total

    def _flush(self) -> None:
        self._add(np.array(self.rows).T @ np.array(self.columns))
        self.rows.clear()
        self.columns.clear()

    def _add(self, product: np.ndarray) -> None:
        if self.total is None:
            self.total = product if product.dtype == self.dtype else product.astype(self.dtype, casting="same_kind")
        else:
            self.total += product


class Once(list):
    """A stack that is read once: what was read is gone, and an array in it free."""

    __slots__ = ()

    def __reversed__(self) -> Iterator[Any]:
        pop = self.pop
        while self:
            yield pop()


def read_once(captures: tuple[Any, ...], stacks: tuple[int, ...]) -> tuple[Any, ...]:
    """Captures for a pullback that runs once: the stacks at these places are emptied as they are read."""
    items = list(captures)
    for i in stacks:
        items[i] = Once(items[i])
    return tuple(items)
