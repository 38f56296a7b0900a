"""scipy.stats: distribution functions whose own code is not differentiated, by integrals of the density's derivatives.

Over the smaller of the two tails, so that nothing cancels. The same rule gives the tail's probability: where that is
not SciPy's, the derivative is not told (NaN).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_U, _STEP = np.linspace(-3.4, 3.4, 221, retstep=True)
_INNER = np.pi / 2.0 * np.sinh(_U)
_GROWTH = np.pi / 2.0 * np.cosh(_U) * _STEP
CLOSE = 1e-7


def _nodes(start: np.ndarray, end: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights of the double exponential rule from the start to the end, which may be infinite.

    `size` is how long an infinite tail is.
    """
    inner, growth = (v.reshape(-1, *[1] * start.ndim) for v in (_INNER, _GROWTH))
    far = np.isinf(end)
    away = np.exp(inner) * size
    part = 1.0 / (1.0 + np.exp(-2.0 * inner))
    length = np.where(far, 0.0, end - start)
    distance = np.where(far, np.sign(end) * away, length * part)
    weight = np.where(far, away, np.abs(length) * 2.0 * part * (1.0 - part)) * growth
    return start + distance, weight


def tail_cotangents(
    dist: Any, dy: Any, args: list[Any], on: list[bool], log_density: Callable[..., list[Any]]
) -> list[Any]:
    """The cotangents of the shapes for the cotangent `dy` of the distribution function, of a support that stays."""
    z, *shapes = args
    low, high = (np.broadcast_to(np.asarray(v, float), z.shape) for v in dist._get_support(*shapes))
    below, above = dist._cdf(*args), dist._sf(*args)
    upper = above < below
    mass = np.where(upper, above, below)
    with np.errstate(all="ignore"):
        t, w = _nodes(z, np.where(upper, high, low), mass / dist._pdf(*args))
        density = dist._pdf(t, *shapes)
        good = np.isfinite(density) & (density > 0)
        weight = np.where(good, w * density, 0.0)
        wrong = ~(np.abs(np.sum(weight, axis=0) - mass) <= CLOSE * mass)
        ds = log_density(dist, weight * np.where(upper, -dy, dy), [np.where(good, t, z), *shapes], on)[1:]
    return [np.where(wrong, np.nan, d) if isinstance(d, np.ndarray) else d for d in ds]
