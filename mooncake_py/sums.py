"""Sums that a loop of the reverse run adds up, taken together."""

from __future__ import annotations

import numpy as np

_MOST = 64


class OuterSum:
    """`total + outer(a1, b1) + outer(a2, b2) + ...`, as products of matrices with the vectors as their rows.

    The vectors are kept until there are enough of them, never more than the sum itself has memory.
    """

    __slots__ = ("columns", "limit", "rows", "total")

    def __init__(self, total: np.ndarray):
        m, n = total.shape
        self.total = total
        self.limit = min(_MOST, m * n // (m + n)) if total.size else 0
        self.rows: list[np.ndarray] = []
        self.columns: list[np.ndarray] = []

    def add(self, a: np.ndarray, b: np.ndarray) -> None:
        if self.limit < 3:
            self.total += np.multiply.outer(a, b)
            return
        self.rows.append(a)
        self.columns.append(b)
        if len(self.rows) == self.limit:
            self._flush()

    def take(self) -> np.ndarray:
        """The sum; nothing is added to it afterwards."""
        if self.rows:
            self._flush()
        return self.total

    def _flush(self) -> None:
        self.total += np.array(self.rows).T @ np.array(self.columns)
        self.rows.clear()
        self.columns.clear()
