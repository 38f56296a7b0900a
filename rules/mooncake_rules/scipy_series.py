"""Hypergeometric functions by their parameters: sums of power series, term by term.

The same sum gives the function: where that is not SciPy's, as where too much cancels or where it takes too many terms,
the derivative is not told (NaN). Transformations to arguments where the series converge: Abramowitz and Stegun 13.1.27,
15.1.20 and 15.3.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc

_MOST = 30_000


def series(upper: list[Any], lower: list[Any], z: Any) -> tuple[Any, list[Any]]:
    """The sum over k of z^k / k! times rising factorials of `upper` by those of `lower`, and its derivatives by them.

    All have one shape. NaN where the sum does not end in time.
    """
    term = total = np.ones(z.shape, z.dtype)
    rates = [np.zeros(z.shape, z.dtype) for _ in range(len(upper) + len(lower))]
    sums = rates
    small = np.zeros(z.shape, bool)
    with np.errstate(all="ignore"):
        for k in range(_MOST):
            up, low = [u + k for u in upper], [v + k for v in lower]
            step = z / (k + 1.0)
            for v in low:
                step = step / v
            ratio = step
            for u in up:
                ratio = ratio * u
            changes = []
            for i in range(len(up)):
                others = step
                for j, u in enumerate(up):
                    others = others * u if i != j else others
                changes.append(others)
            changes += [-ratio / v for v in low]
            rates = [r * ratio + term * c for r, c in zip(rates, changes, strict=True)]
            term = term * ratio
            total = total + term
            sums = [s + r for s, r in zip(sums, rates, strict=True)]
            # Where the next are no larger, no more than these small ones is to come.
            rest = np.maximum(np.abs(term), np.max(np.abs(rates), axis=0))
            size = np.maximum(np.abs(total), np.max(np.abs(sums), axis=0))
            small = (rest <= 1e-17 * size * (1.0 - np.minimum(np.abs(ratio), 1.0))) | (z == 0) | ~np.isfinite(rest)
            if small.all():
                break
    lost = np.where(small, 0.0, np.nan)
    return total + lost, [s + lost for s in sums]


def _prepared(*xs: Any) -> list[Any]:
    kind = complex if any(np.iscomplexobj(x) for x in xs) else float
    return list(np.broadcast_arrays(*[np.asarray(x, float) for x in xs[:-1]], np.asarray(xs[-1], kind)))


def _told(found: Any, slope: Any, y: Any) -> Any:
    """The slope where what was found is the value."""
    y = np.asarray(y)
    close = np.abs(found - y) <= np.sqrt(np.finfo(y.dtype).eps) * np.abs(y)
    return np.where(close & np.isfinite(y), slope, np.nan)[()]


def hyp0f1_slope(v: Any, z: Any, y: Any) -> Any:
    v, z = _prepared(v, z)
    found, (slope,) = series([], [v], z)
    return _told(found, slope, y)


def hyp1f1_slope(which: int, a: Any, b: Any, z: Any, y: Any) -> Any:
    """By a or b. For a negative z the function is e^z times that of b - a, b and -z (Kummer)."""
    a, b, z = _prepared(a, b, z)
    turned = z.real < 0
    found, (by_a, by_b) = series([np.where(turned, b - a, a)], [b], np.where(turned, -z, z))
    scale = np.where(turned, np.exp(np.where(turned, z, 0.0)), 1.0)
    slope = (np.where(turned, -by_a, by_a), by_b + np.where(turned, by_a, 0.0))[which]
    return _told(scale * found, scale * slope, y)


def hyp2f1_slope(which: int, a: Any, b: Any, c: Any, z: Any, y: Any) -> Any:
    """By a, b or c. For a negative z it is (1 - z)^-a times the function of a, c - b, c and z / (z - 1) (Pfaff)."""
    a, b, c, z = _prepared(a, b, c, z)
    turned = z.real < 0
    one = (z == 1) & (c > a + b)
    base = np.where(turned, 1.0 - z, 1.0)
    x = np.where(one, 0.0, np.where(turned, z / np.where(turned, z - 1.0, 1.0), z))
    found, (by_a, by_b, by_c) = series([a, np.where(turned, c - b, b)], [c], x)
    scale = base**-a
    slope = (
        by_a - np.log(base) * found,
        np.where(turned, -by_b, by_b),
        by_c + np.where(turned, by_b, 0.0),
    )[which]  # fmt: skip
    # At one it is a quotient of gamma functions (Gauss).
    end = np.where(one, c - a - b, 1.0)
    by_gauss = (sc.psi(c - a) - sc.psi(end), sc.psi(c - b) - sc.psi(end))
    whole = (*by_gauss, sc.psi(c) + sc.psi(end) - sc.psi(c - a) - sc.psi(c - b))[which]
    return np.where(one, y * whole, _told(np.where(one, y, scale * found), scale * slope, y))[()]
