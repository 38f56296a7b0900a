"""scipy.spatial: convex hulls and Delaunay triangulations by their points; who the neighbours are is constant.

Where a hull changes its facets its volume and area have derivatives from one side, those of the facets that are found.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, Delaunay

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule, zero_derivative
from mooncake_py.tangents import CoDual, ObjectShadow, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_optimize import any_of


def _of_points(cls: Any, numbers: tuple[str, ...] = (), cotangent: Any = None) -> None:
    """The rule of a class made of points; `cotangent` is theirs for those of its attributes that are `numbers`."""

    @rrule(cls)
    def rule(points, *args, **options):
        made = cls(points, *args, **options)

        def pullback(dy):
            if dy is None:
                return None
            parts = dict(dy)
            d = parts.pop("_points", None)
            given = {k: parts.pop(k, None) for k in numbers}
            used = [k for k, t in parts.items() if any_of(t)]
            if used:
                raise NotDifferentiated(f"the attribute {used[0]!r} of a {cls.__name__} is not differentiated")
            if any(map(any_of, given.values())):
                more = cotangent(made, **given)
                d = more if d is None else d + more
            return None if d is None else fitted(d, points)

        return made, pullback

    @rrule(cls.points.fget)
    def points(self: CoDual):
        shadow = self.fdata
        y = self.primal.points
        return CoDual(y, shadow.fdata("_points") if type(shadow) is ObjectShadow else zero_fdata(y)), lambda dy: None


def hull_cotangent(hull: ConvexHull, volume: Any, area: Any) -> np.ndarray:
    """That of the points, shape (points, dimensions), for those of volume and area.

    A vertex that moves takes with it the part 1 / n of each facet's area, along the normal, of which there are n
    vertices. The area is a sum of sqrt(det(E E^T)) / (n - 1)!, E being the edges of a facet from its first vertex.
    """
    points, facets = hull.points, hull.simplices
    n = points.shape[1]
    corners = points[facets]
    edges = corners[:, 1:] - corners[:, :1]
    gram = edges @ np.swapaxes(edges, 1, 2)
    areas = np.sqrt(np.linalg.det(gram)) / math.factorial(n - 1)
    d = np.zeros(points.shape)
    if any_of(volume):
        share = (volume / n) * areas[:, None] * hull.equations[:, :-1]
        np.add.at(d, facets, np.broadcast_to(share[:, None, :], corners.shape))
    if any_of(area):
        by_edges = area * areas[:, None, None] * np.linalg.solve(gram, edges)
        np.add.at(d, facets[:, 1:], by_edges)
        np.add.at(d, facets[:, 0], -by_edges.sum(axis=1))
    return d


_of_points(ConvexHull, ("volume", "area"), hull_cotangent)
_of_points(Delaunay)
zero_derivative(ConvexHull.vertices.fget, Delaunay.find_simplex)

# -- cases ------------------------------------------------------------------------------------------------

_PLANE = np.array([[0.1, -0.6], [1.3, 0.2], [-0.7, 0.9], [0.4, 1.4], [-1.1, -0.8], [0.9, -1.2], [0.3, 0.3]])
_SPACE = np.sin(np.arange(27.0) ** 1.3).reshape(9, 3)


def _measured(x):
    hull = ConvexHull(x)
    return hull.volume * hull.area + hull.points[hull.vertices[0], 0]


def _triangles(x):
    mesh = Delaunay(x)
    corners = mesh.points[mesh.simplices]
    return np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))


CASES: list[RuleCase] = [
    case(_measured, _PLANE), case(_measured, _SPACE), case(lambda x: ConvexHull(x).area, _SPACE),
    case(lambda x: ConvexHull(points=x, qhull_options="QJ").volume, _PLANE), case(_triangles, _PLANE),
    case(lambda x, q: x[Delaunay(x).simplices[Delaunay(x).find_simplex(q)]].mean(axis=1), _PLANE, _PLANE[-1:] - 0.1),
    case(lambda x: ConvexHull(np.stack([x, x * x, np.cos(x)], axis=1)).volume, np.linspace(-1.0, 1.3, 7)),
]  # fmt: skip
