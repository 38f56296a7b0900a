"""scipy.spatial: hulls, Delaunay triangulations and Voronoi cells by their points; who the neighbours are is constant.

Where a hull changes its facets its volume and area have derivatives from one side, those of the facets that are found.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, Delaunay, Voronoi

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


def hull_cotangent(hull: ConvexHull, volume: Any, area: Any, equations: Any) -> np.ndarray:
    """That of the points, shape (points, dimensions), for those of volume, area and equations.

    A facet's normal m stays orthogonal to its edges E, so that E dm = -dE m, and of length one; its offset is -m x for
    each of its vertices x. A vertex that moves takes with it the part 1 / n of each facet's area, along the normal, of
    which there are n vertices. The area is a sum of sqrt(det(E E^T)) / (n - 1)!, E being the edges of a facet from its
    first vertex.
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
    if any_of(equations):
        normals, by_offset = hull.equations[:, :-1], equations[:, -1:]
        m = np.linalg.solve(gram, edges @ (equations[:, :-1] - by_offset * corners[:, 0])[..., None])
        np.add.at(d, facets[:, 1:], -m * normals[:, None, :])
        np.add.at(d, facets[:, 0], (m.sum(axis=1) - by_offset) * normals)
    if any_of(area):
        by_edges = area * areas[:, None, None] * np.linalg.solve(gram, edges)
        np.add.at(d, facets[:, 1:], by_edges)
        np.add.at(d, facets[:, 0], -by_edges.sum(axis=1))
    return d


def voronoi_cotangent(cells: Voronoi, vertices: Any) -> np.ndarray:
    """That of the points for that of the vertices, each as far from all the points whose cells meet there."""
    points = cells.points
    meeting: list[set[int]] = [set() for _ in cells.vertices]
    for pair, ends in zip(cells.ridge_points.tolist(), cells.ridge_vertices, strict=True):
        for v in ends:
            if v >= 0:
                meeting[v].update(pair)
    d = np.zeros(points.shape)
    for v, g in enumerate(vertices):
        if np.any(g):
            first, *others = sorted(meeting[v])
            away = cells.vertices[v] - points
            share = np.linalg.pinv(points[first] - points[others]).T @ g
            d[others] += share[:, None] * away[others]
            d[first] -= share.sum() * away[first]
    return d


_of_points(ConvexHull, ("volume", "area", "equations"), hull_cotangent)
_of_points(Delaunay)
_of_points(Voronoi, ("vertices",), voronoi_cotangent)
zero_derivative(ConvexHull.vertices.fget, Delaunay.find_simplex)

# -- cases ------------------------------------------------------------------------------------------------

_PLANE = np.array([[0.1, -0.6], [1.3, 0.2], [-0.7, 0.9], [0.4, 1.4], [-1.1, -0.8], [0.9, -1.2], [0.3, 0.3]])
_SPACE = np.sin(np.arange(27.0) ** 1.3).reshape(9, 3)


def _measured(x):
    hull = ConvexHull(x)
    return hull.volume * hull.area + hull.points[hull.vertices[0], 0]


def _sides(x):
    e = ConvexHull(x).equations
    return e * e + e[:, -1:]


def _in_order(x):
    v = Voronoi(x).vertices
    return v[np.lexsort(v.T)] * 0.3


def _triangles(x):
    mesh = Delaunay(x)
    corners = mesh.points[mesh.simplices]
    return np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1]))


CASES: list[RuleCase] = [
    case(_sides, _PLANE), case(_sides, _SPACE), case(_in_order, _PLANE), case(_in_order, _SPACE),
    case(lambda x: Voronoi(x).points[0] + Voronoi(x).vertices[1], _PLANE),
    case(_measured, _PLANE), case(_measured, _SPACE), case(lambda x: ConvexHull(x).area, _SPACE),
    case(lambda x: ConvexHull(points=x, qhull_options="QJ").volume, _PLANE), case(_triangles, _PLANE),
    case(lambda x, q: x[Delaunay(x).simplices[Delaunay(x).find_simplex(q)]].mean(axis=1), _PLANE, _PLANE[-1:] - 0.1),
    case(lambda x: ConvexHull(np.stack([x, x * x, np.cos(x)], axis=1)).volume, np.linspace(-1.0, 1.3, 7)),
]  # fmt: skip
