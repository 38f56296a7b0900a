"""scipy.cluster.vq: distances to the nearest codes and means of clusters; which code is the nearest is constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.cluster.vq as cluster

from mooncake_py.registry import rrule
from mooncake_py.testing import RuleCase, case

_native: Any = cluster._vq


def _rows(x: np.ndarray) -> np.ndarray:
    return x.reshape(len(x), -1)


@rrule(_native.vq)
def nearest(obs, codes):
    code, distance = _native.vq(obs, codes)

    def pullback(dy):
        if dy[1] is None:
            return None
        gap = _rows(obs) - _rows(codes)[code]
        step = gap * (dy[1] / np.where(distance == 0, np.inf, distance))[:, None]
        dcodes = np.zeros_like(_rows(codes))
        np.subtract.at(dcodes, code, step)
        return step.reshape(obs.shape), dcodes.reshape(codes.shape)

    return (code, distance), pullback


@rrule(_native.update_cluster_means)
def update_cluster_means(obs, labels, nc):
    def pullback(dy):
        if dy[0] is None:
            return None
        count = np.bincount(labels, minlength=nc).astype(obs.dtype)
        return (_rows(dy[0])[labels] / count[labels, None]).reshape(obs.shape)

    return _native.update_cluster_means(obs, labels, nc), pullback


# -- cases ------------------------------------------------------------------------------------------------

_X = np.random.default_rng(7).standard_normal((8, 2))
CASES: list[RuleCase] = [
    case(cluster.vq, _X, _X[:2] * 1.1), case(cluster.vq, _X[:, 0], _X[:2, 0] * 1.1),
    case(cluster.vq, _X.astype(np.float32), _X[:3].astype(np.float32) * 1.1), case(cluster.whiten, _X),
    case(lambda x: cluster.kmeans2(x, x[:2] * 1.1, minit="matrix")[0], _X),
]  # fmt: skip
