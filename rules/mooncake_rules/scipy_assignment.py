"""scipy.optimize: matchings and blocks, which are constant where nothing ties, and what is computed by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as so
from scipy.optimize import OptimizeResult

from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import as_written

_A, _V = np.array([[0.3, 1.2, 0.7], [0.9, 0.1, 1.4]]), np.array([0.3, 0.1, 0.7, 0.2, 1.4])
CASES: list[RuleCase] = [case(lambda a: np.sum(a[so.linear_sum_assignment(a, maximize=True)]), _A)]
zero_derivative(so.linear_sum_assignment)


def _isotonic() -> None:
    plain = as_written(so.isotonic_regression)

    def blocks_of(y: Any, weights: Any, increasing: bool) -> Any:
        return plain(y, weights=weights, increasing=increasing).blocks

    zero_derivative(blocks_of)

    @overlay(so.isotonic_regression)
    def isotonic_regression(y, *, weights=None, increasing=True):
        """The means of the blocks that the data fall into."""
        blocks = blocks_of(y, weights, increasing)
        y = np.asarray(y, dtype=np.float64)
        w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        total = np.add.reduceat(w, blocks[:-1])
        means = np.add.reduceat(w * y, blocks[:-1]) / total
        return OptimizeResult(x=np.repeat(means, np.diff(blocks)), weights=total, blocks=blocks)


if hasattr(so, "isotonic_regression"):
    _isotonic()
    CASES += [
        case(lambda y, w: (lambda r: (r.x, r.weights))(so.isotonic_regression(y, weights=w)), _V, _V[::-1] + 1.0),
        case(lambda y: so.isotonic_regression(y, increasing=False).x * y, _V),
    ]
