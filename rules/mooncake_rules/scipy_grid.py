"""scipy.interpolate on grids: RegularGridInterpolator and interpn, by values and places, through their Python code.

What they leave to compiled code is written here once more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as sip
from scipy.interpolate import _rgi

from mooncake_py.registry import overlay
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import as_written

_module: Any = _rgi


@overlay(_module._ndim_coords_from_arrays)
def coordinates(points, ndim=None):
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*[np.asarray(p, float) for p in points]), axis=-1)
    found = np.asarray(points)
    if found.ndim == 1:
        found = found.reshape(-1, 1) if ndim is None else found.reshape(-1, ndim)
    return found


def located(grid, x):
    """The interval of every coordinate on its axis, and where in it the coordinate is, from 0 to 1."""
    indices, distances = [], []
    for k in range(len(grid)):
        g, v = grid[k], x[k]
        i = np.clip(np.searchsorted(g, v, "right") - 1, 0, len(g) - 2)
        indices.append(i)
        distances.append((v - g[i]) / (g[i + 1] - g[i]))
    return np.stack(indices), np.stack(distances)


def bilinear(values, indices, distances, grid, out):
    i, j = indices[0], indices[1]
    s, t = distances[0], distances[1]
    value = values[i, j] * (1.0 - s) * (1.0 - t) + values[i, j + 1] * (1.0 - s) * t
    return value + values[i + 1, j] * s * (1.0 - t) + values[i + 1, j + 1] * s * t


if hasattr(_module, "find_indices"):
    overlay(_module.find_indices)(located)
if hasattr(_module, "evaluate_linear_2d"):
    overlay(_module.evaluate_linear_2d)(bilinear)

_interpn = as_written(sip.interpn)


@overlay(sip.interpn)
def interpn(points, values, xi, method="linear", bounds_error=True, fill_value=np.nan):
    # What is found is written to where something is not found. The code alone does not show that it is no view of the
    # values, which may be an array from outside; of a copy it may be one.
    return _interpn(points, np.array(values), xi, method, bounds_error, fill_value)


# -- cases ------------------------------------------------------------------------------------------------

_X, _Y, _Z = np.array([0.0, 0.7, 1.5, 2.1]), np.array([0.0, 1.0, 1.8]), np.array([-1.0, 0.5, 2.0])
_M = np.sin(np.arange(12.0)).reshape(4, 3)
_T = np.cos(np.arange(36.0)).reshape(4, 3, 3)
_AT = np.array([[0.31, 0.42], [1.63, 1.21], [2.02, 0.17]])
_AT3 = np.array([[0.31, 0.42, -0.3], [1.63, 1.21, 1.7]])


def _over_constants(method: str) -> Any:
    """At places in an array that the function makes, over values from outside."""

    def over(p):
        return sip.interpn((_WIDE, _WIDE), _VALUES, np.array([[p, p * p], [2.0 * p, 1.0]]), method)

    over.__qualname__ = f"interpn-{method}"
    return over


_WIDE = np.array([0.0, 0.3, 0.7, 1.1, 1.5])
_VALUES = np.sin(np.arange(25.0)).reshape(5, 5)
CASES: list[RuleCase] = [
    case(lambda v, p: sip.RegularGridInterpolator((_X, _Y), v)(p), _M, _AT),
    case(lambda v, p: sip.RegularGridInterpolator((_X, _Y, _Z), v)(p), _T, _AT3),
    case(lambda v, p: sip.RegularGridInterpolator((_X, _Y), v)(p), _T, _AT[0]),
    case(lambda v: sip.RegularGridInterpolator((_X, _Y), v, method="nearest")(_AT), _M),
    case(lambda v, p: sip.RegularGridInterpolator((_X, _Y), v, bounds_error=False, fill_value=None)(p), _M, _AT + 1.0),
    case(lambda v, p: sip.interpn((_X, _Y), v, p), _M, _AT),
    *[case(_over_constants(method), 0.4) for method in ("linear", "splinef2d")],
]  # fmt: skip
