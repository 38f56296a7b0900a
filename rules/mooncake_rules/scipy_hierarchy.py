"""scipy.cluster.hierarchy: the heights at which clusters merge, by distances; which clusters do is constant.

The distance of a merged cluster to another one is a function of those of its two parts (D. Müllner, "Modern
hierarchical, agglomerative clustering algorithms", 2011, table 1), whichever algorithm finds what is to be merged.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from mooncake_py.registry import rrule, zero_derivative
from mooncake_py.testing import RuleCase, case

_module: dict[str, Any] = inspect.unwrap(hierarchy.linkage).__globals__
_native: Any = _module["_hierarchy"]
_NAMES = {code: name for name, code in _module["_LINKAGE_METHODS"].items()}


def _merged(method: str, di: Any, dj: Any, h: float, si: float, sj: float, so: Any) -> tuple[Any, Any, Any, Any]:
    """The distances of two clusters of si and sj points, h apart, together to others of so points, and the derivatives
    of that by their distances di and dj to these, and by h."""
    s = si + sj
    none = np.zeros_like(di)
    if method in ("single", "complete"):
        share = np.heaviside((dj - di) * (1.0 if method == "single" else -1.0), 0.5)
        return share * di + (1.0 - share) * dj, share, 1.0 - share, none
    if method in ("average", "weighted"):
        share = si / s + none if method == "average" else 0.5 + none
        return share * di + (1.0 - share) * dj, share, 1.0 - share, none
    wi, wj, wh = {
        "centroid": (si / s + none, sj / s + none, -si * sj / (s * s) + none),
        "median": (0.5 + none, 0.5 + none, -0.25 + none),
        "ward": ((si + so) / (s + so), (sj + so) / (s + so), -so / (s + so)),
    }[method]
    d = np.sqrt(wi * di * di + wj * dj * dj + wh * h * h)
    over = np.where(d == 0.0, np.inf, d)
    return d, wi * di / over, wj * dj / over, wh * h / over


def heights_cotangent(dh: np.ndarray, z: np.ndarray, dists: np.ndarray, method: str) -> np.ndarray:
    """The cotangent of the condensed distances for that of the heights of the merges in z."""
    n = len(z) + 1
    d, sizes = np.zeros((2 * n - 1, 2 * n - 1)), np.ones(2 * n - 1)
    d[:n, :n] = squareform(dists, checks=False)
    alive = np.arange(2 * n - 1) < n
    steps = []
    for k, (i, j) in enumerate(z[:, :2].astype(int).tolist(), n):
        alive[[i, j]] = False
        others = np.flatnonzero(alive)
        new, *slopes = _merged(method, d[i, others], d[j, others], d[i, j], sizes[i], sizes[j], sizes[others])
        d[k, others] = d[others, k] = new
        sizes[k] = sizes[i] + sizes[j]
        alive[k] = True
        steps.append((i, j, k, others, slopes))
    t = np.zeros_like(d)
    for g, (i, j, k, others, (by_i, by_j, by_h)) in zip(dh[::-1], reversed(steps), strict=True):
        over = t[k, others] + t[others, k]
        t[i, others] += over * by_i
        t[j, others] += over * by_j
        t[i, j] += g + over @ by_h
    t = t[:n, :n] + t[:n, :n].T
    return squareform(t, checks=False)


def _linkage(f: Any, method_of: Any) -> None:
    @rrule(f)
    def rule(dists, n, *method):
        z = f(dists, n, *method)

        def pullback(dy):
            d = heights_cotangent(dy[:, 2], z, dists, method_of(*method))
            return d, *[None] * (1 + len(method))

        return z, pullback


_linkage(_native.mst_single_linkage, lambda: "single")
_linkage(_native.nn_chain, _NAMES.__getitem__)
_linkage(_native.fast_linkage, _NAMES.__getitem__)
zero_derivative(hierarchy.fcluster, hierarchy.leaves_list)

# -- cases ------------------------------------------------------------------------------------------------

_X = np.random.default_rng(5).standard_normal((7, 2))
_Y = np.random.default_rng(3).uniform(1.0, 2.0, 15)


def _apart(x):
    """Means of the clusters that a tree is cut into."""
    z = hierarchy.linkage(x, "ward")
    labels = hierarchy.fcluster(z, 3, criterion="maxclust")
    return z[-1, 2], [x[labels == k].mean(axis=0) for k in (1, 2, 3)]


CASES: list[RuleCase] = [
    case(_apart, _X),
    *[case(hierarchy.linkage, _X, m) for m in _NAMES.values()],
    *[case(hierarchy.linkage, _Y, method=m) for m in ("single", "complete", "average", "weighted")],
    case(hierarchy.linkage, _X, "complete", "cityblock"),
]  # fmt: skip
