"""The loss of one shard in examples/logistic.py: all that its worker processes import."""

from __future__ import annotations

import numpy as np


def shard_loss(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """The negative log likelihood of labels y, 0 or 1, given the measurements x."""
    score = x @ w[:-1] + w[-1]
    return np.sum(np.logaddexp(0.0, score) - y * score)
