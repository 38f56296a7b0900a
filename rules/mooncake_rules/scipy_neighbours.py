"""scipy.spatial's trees: distances to the nearest neighbours, by the points on both sides; who they are is constant."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree, cKDTree

from mooncake_py import run
from mooncake_py.registry import rrule, zero_derivative
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, ObjectShadow, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_library import fitted


def _tree(cls: Any) -> None:
    @rrule(cls)
    def rule(data: CoDual, *args, **options):
        named = {k: v.primal if type(v) is CoDual else v for k, v in options.items()}
        tree = cls(data.primal, *[v.primal if type(v) is CoDual else v for v in args], **named)
        shadow = ObjectShadow(tree, {"points": zero_fdata(np.asarray(tree.data))})
        run.current().made[id(tree)] = tree, shadow

        def pullback(dy):
            d = take_fdata(shadow.f["points"], None)
            rest = [None] * (len(args) + len(options))
            d = None if d is None else fitted(d, data.primal)
            if type(data.fdata) is Shadow and d is not None:
                data.fdata.add(d)
                d = None
            return d, *rest

        return CoDual(tree, shadow), pullback

    f = cls.query

    @rrule(f)
    def query(self: CoDual, x, k=1, eps=0.0, p=2.0, distance_upper_bound=np.inf, workers=1):
        tree = self.primal
        d, i = f(tree, x, k, eps, p, distance_upper_bound, workers)
        fd = zero_fdata(d)
        shadow = self.fdata if self.fdata is not None else run.current().shadow(tree)

        def pullback(dy):
            t = take_fdata(fd, None if dy is None else dy[0])
            if t is None:
                return None
            points, at = np.asarray(tree.data), np.asarray(x, float)
            several = np.ndim(d) > at.ndim - 1
            found = np.asarray(i) < tree.n
            near = points[np.where(found, i, 0)]
            gap = (at[..., None, :] if several else at) - near
            slope = _distance_slope(gap, np.asarray(d)[..., None], p)
            step = np.where(found[..., None], np.asarray(t)[..., None] * slope, 0.0)
            if type(shadow) is ObjectShadow and shadow.f.get("points") is not None:
                dp = np.zeros(points.shape)
                np.add.at(dp, np.where(found, i, 0), -step)
                shadow.f["points"].add(dp)
            return None, fitted(step.sum(axis=-2) if several else step, x)

        return CoDual((d, i), (fd, None)), pullback


def _distance_slope(gap: np.ndarray, d: np.ndarray, p: float) -> np.ndarray:
    """The derivative of a Minkowski distance by its coordinates, zero where it is zero."""
    if np.isinf(p):
        top = np.abs(gap) == d
        return np.sign(gap) * top / np.maximum(top.sum(axis=-1, keepdims=True), 1)
    safe = np.where((d > 0) & np.isfinite(d), d, 1.0)
    return np.where(d > 0, np.sign(gap) * (np.abs(gap) / safe) ** (p - 1.0), 0.0)


for _cls in (cKDTree, KDTree):
    _tree(_cls)
    zero_derivative(_cls.query_ball_point, _cls.query_ball_tree, _cls.query_pairs, _cls.count_neighbors)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.array([[0.1, -0.6], [1.3, 0.2], [-0.7, 0.9], [0.4, 1.4], [-1.1, -0.8], [0.9, -1.2], [0.3, 0.3]])
_Q = np.array([[0.2, 0.1], [-0.3, 0.4], [0.5, -0.5]])

CASES: list[RuleCase] = [
    case(lambda x, q: cKDTree(x).query(q)[0], _X, _Q), case(lambda x, q: KDTree(x).query(q, k=2)[0], _X, _Q),
    case(lambda q: KDTree(_X).query(q, k=[1, 3], p=1)[0], _Q), case(lambda q: cKDTree(_X).query(q, p=np.inf)[0], _Q[0]),
    case(lambda x: np.sum(x[KDTree(x).query_ball_point(x[0], 1.2)], axis=0), _X),
]  # fmt: skip
