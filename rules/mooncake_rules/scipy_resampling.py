"""scipy.ndimage: images between their pixels: splines, moved, stretched, turned, read at any coordinates.

All are a spline's coefficients (linear in the image, one matrix per axis) summed with weights at coordinates, which
depend on what was asked for. The sum is written here once more in NumPy, for its derivatives; where it should differ
from SciPy's value, the derivative is refused.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.ndimage as nd

from mooncake_py.errors import NotDifferentiated
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import library_rule, writes_output

Options = dict[str, Any]

# -- coefficients -----------------------------------------------------------------------------------------

_PADDED = ("nearest", "grid-constant")
"""Modes for which SciPy lays pixels around the image before it finds the spline's coefficients."""
_MARGIN = 12


def filter_matrix(n: int, order: int, mode: str) -> np.ndarray:
    """From the pixels of a line to the coefficients of their spline."""
    if order < 2:
        return np.eye(n)
    return np.asarray(nd.spline_filter1d(np.eye(n), order, 0, mode=mode))


def _along_axes(x: np.ndarray, matrices: list[np.ndarray]) -> np.ndarray:
    for k, m in enumerate(matrices):
        x = np.moveaxis(np.tensordot(m, x, (1, k)), 0, k)
    return x


def coefficient_matrices(shape: tuple[int, ...], order: int, mode: str, prefilter: bool) -> tuple[list[Any], int]:
    """Per axis the matrix from the pixels to the coefficients, and how many were laid around the image."""
    if not prefilter or order < 2:
        return [np.eye(n) for n in shape], 0
    if mode not in _PADDED:
        return [filter_matrix(n, order, mode) for n in shape], 0
    kind: Any = "edge" if mode == "nearest" else "constant"
    wide = [np.pad(np.eye(n), ((_MARGIN, _MARGIN), (0, 0)), kind) for n in shape]
    return [filter_matrix(len(p), order, mode) @ p for p in wide], _MARGIN


def spline_filter1d_cotangent(dy: Any, y: Any, o: Options) -> Any:
    x = o["input"]
    if x.ndim == 0 or o["order"] in (0, 1):
        return dy
    m = filter_matrix(x.shape[o["axis"]], o["order"], o["mode"])
    return np.moveaxis(np.tensordot(m.T, dy, (1, o["axis"])), 0, o["axis"])


def spline_filter_cotangent(dy: Any, y: Any, o: Options) -> Any:
    return _along_axes(dy, [filter_matrix(n, o["order"], o["mode"]).T for n in o["input"].shape])


library_rule(nd.spline_filter1d, 1, spline_filter1d_cotangent)
library_rule(nd.spline_filter, 1, spline_filter_cotangent)

# -- weights ----------------------------------------------------------------------------------------------


def weights(t: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The B-spline of this order at distances t from its centre, and its slope."""
    if order == 0:
        inside = (t >= -0.5) & (t < 0.5)
        return inside.astype(float), np.zeros_like(t)
    return _bspline(t, order), _bspline(t + 0.5, order - 1) - _bspline(t - 0.5, order - 1)


def _bspline(t: np.ndarray, order: int) -> np.ndarray:
    """By the recurrence of centred B-splines."""
    if order == 0:
        return ((t >= -0.5) & (t < 0.5)).astype(float)
    half = (order + 1) / 2
    return ((half + t) * _bspline(t + 0.5, order - 1) + (half - t) * _bspline(t - 0.5, order - 1)) / order


def folded(c: np.ndarray, n: int, mode: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates beyond an axis of length n as coordinates on it, and the sign of their derivative."""
    one = np.ones_like(c)
    if mode in ("nearest",):
        inside = (c >= 0) & (c <= n - 1)
        return np.clip(c, 0, n - 1), np.where(inside, one, 0.0)
    if n <= 1:
        return np.zeros_like(c), 0.0 * one
    if mode == "mirror":
        period = 2.0 * (n - 1)
        r = np.mod(c, period)
        return np.where(r > n - 1, period - r, r), np.where(r > n - 1, -1.0, 1.0)
    if mode in ("reflect", "grid-mirror"):
        r = np.mod(c + 0.5, 2.0 * n)
        return np.where(r > n, 2.0 * n - r, r) - 0.5, np.where(r > n, -1.0, 1.0)
    if mode == "wrap":
        return np.where((c < 0) | (c > n - 1), np.mod(c, n - 1.0), c), one
    if mode == "grid-wrap":
        return np.mod(c, float(n)), one
    return c, one


class Line:
    """Where along one axis the coordinates are: the coefficients next to each, their weights and slopes."""

    def __init__(self, c: np.ndarray, n: int, order: int, mode: str, margin: int):
        self.outside = (c < 0) | (c > n - 1) if mode == "constant" else np.zeros(c.shape, bool)
        if mode == "grid-constant":
            self.outside = (c <= -1) | (c >= n) if order == 0 else self.outside
        length = n + 2 * margin
        at, sign = folded(c + margin, length, mode)
        start = np.floor(at if order % 2 else at + 0.5).astype(int) - order // 2
        self.taps = start + np.arange(order + 1).reshape(-1, *[1] * c.ndim)
        if order == 0:
            self.w, slope = np.ones(self.taps.shape), np.zeros(self.taps.shape)
        else:
            self.w, slope = weights(at - self.taps, order)
        self.slope = slope * sign
        self.nowhere = np.zeros(self.taps.shape, bool)
        if mode == "grid-constant":
            self.nowhere = (self.taps < 0) | (self.taps >= length)
        between = "mirror" if mode in ("constant", "nearest", "grid-constant", "wrap") else mode
        index = folded(self.taps.astype(float), length, between)[0]
        self.taps = np.clip(np.rint(index).astype(int), 0, length - 1)

    def matrix(self, w: np.ndarray, length: int) -> np.ndarray:
        """What each coordinate takes of each coefficient, by these weights or slopes; nothing where it is outside."""
        m = np.zeros((w.shape[1], length))
        for taps, ws in zip(self.taps, w, strict=True):
            m[np.arange(len(ws)), taps] += np.where(self.outside, 0.0, ws)
        return m


class Sampling:
    """The values of a spline with coefficients `c` at coordinates (one row per axis), and their derivatives."""

    def __init__(self, c: np.ndarray, shape: tuple[int, ...], coordinates: np.ndarray, order: int, mode: str,
                 cval: float, margin: int):  # fmt: skip
        self.c, self.cval = c, cval
        flat = coordinates.reshape(len(shape), -1)
        self.lines = [Line(v, n, order, mode, margin) for v, n in zip(flat, shape, strict=True)]
        self.outside = np.logical_or.reduce([line.outside for line in self.lines])
        self.combinations = list(itertools.product(range(order + 1), repeat=len(shape)))

    def _term(self, at: tuple[int, ...]) -> tuple[Any, np.ndarray]:
        """The places of one coefficient per point, and where there is none."""
        places = tuple(line.taps[i] for line, i in zip(self.lines, at, strict=True))
        nowhere = np.logical_or.reduce([line.nowhere[i] for line, i in zip(self.lines, at, strict=True)])
        return places, nowhere

    def values(self) -> np.ndarray:
        out: Any = 0.0
        for at in self.combinations:
            places, nowhere = self._term(at)
            w = np.multiply.reduce([line.w[i] for line, i in zip(self.lines, at, strict=True)])
            out = out + w * np.where(nowhere, self.cval, self.c[places])
        return np.where(self.outside, self.cval, out)

    def cotangents(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Of the coefficients, the coordinates, and the value beyond the image."""
        dcval = np.sum(t[self.outside].real)
        t = np.where(self.outside, 0.0, t)
        dc = np.zeros(self.c.shape, np.result_type(t, float))
        dx = np.zeros((len(self.lines), t.size))
        for at in self.combinations:
            places, nowhere = self._term(at)
            ws = [line.w[i] for line, i in zip(self.lines, at, strict=True)]
            share = np.multiply.reduce(ws) * t
            np.add.at(dc, places, np.where(nowhere, 0.0, share))
            dcval = dcval + np.sum(share[nowhere].real)
            value = (np.conjugate(t) * np.where(nowhere, self.cval, self.c[places])).real
            for k, line in enumerate(self.lines):
                rest = np.multiply.reduce([np.ones(t.shape), *ws[:k], *ws[k + 1 :]])
                dx[k] += line.slope[at[k]] * rest * value
        return dc, dx, dcval


def _agrees(mine: np.ndarray, y: Any, o: Options) -> None:
    """Refuse where the formulas give something else than SciPy."""
    far = 1e-3 if np.asarray(y).real.dtype.itemsize < 8 else 1e-7
    if not np.allclose(mine, y, rtol=far, atol=far * (1.0 + float(np.max(np.abs(o["input"]), initial=0.0)))):
        raise NotDifferentiated(f"the derivative of images in mode {o['mode']!r} of order {o['order']} at these places")


def sampled(dy: np.ndarray, y: Any, o: Options, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """The cotangents of the image, of the coordinates at which it was read, and of the value beyond it."""
    x, order, mode, cval = o["input"], o["order"], o["mode"], float(o["cval"])
    matrices, margin = coefficient_matrices(x.shape, order, mode, o["prefilter"])
    around = 1.0 - _along_axes(np.ones(x.shape), matrices) if mode == "grid-constant" and margin else None
    c = _along_axes(x, matrices) + (0.0 if around is None else cval * around)
    s = Sampling(c, x.shape, coordinates, order, mode, cval, margin)
    _agrees(s.values().reshape(np.shape(y)), y, o)
    dc, dcoordinates, dcval = s.cotangents(np.asarray(dy).ravel())
    if around is not None:
        dcval = dcval + np.sum(dc.real * around)
    return _along_axes(dc, [m.T for m in matrices]), dcoordinates.reshape(coordinates.shape), dcval


# -- the functions ----------------------------------------------------------------------------------------


def map_coordinates_cotangents(dy: Any, y: Any, o: Options) -> Any:
    at = np.asarray(o["coordinates"], float)
    return sampled(dy, y, o, at.reshape(at.shape[0], *np.shape(y)))


library_rule(nd.map_coordinates, ("input", "coordinates", "cval"), map_coordinates_cotangents)


def _grid(shape: tuple[int, ...]) -> np.ndarray:
    return np.indices(shape, dtype=float)


def affine_cotangents(dy: Any, y: Any, o: Options) -> Any:
    matrix, offset = np.asarray(o["matrix"], float), np.asarray(o["offset"], float)
    n = o["input"].ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1:
        m, b, homogeneous = matrix[:n, :n], matrix[:n, n], True
    else:
        m, b, homogeneous = (np.diag(matrix) if matrix.ndim == 1 else matrix), np.broadcast_to(offset, (n,)), False
    grid = _grid(np.shape(y))
    at = np.tensordot(m, grid, 1) + b.reshape(-1, *[1] * n)
    dx, d, dcval = sampled(dy, y, o, at)
    dm = np.tensordot(d, grid, (range(1, n + 1), range(1, n + 1)))
    db = d.reshape(n, -1).sum(axis=1)
    if homogeneous:
        whole = np.zeros(matrix.shape)
        whole[:n, :n], whole[:n, n] = dm, db
        return dx, whole, None, dcval
    return dx, np.diag(dm) if matrix.ndim == 1 else dm, db if offset.ndim else np.sum(db), dcval


library_rule(nd.affine_transform, ("input", "matrix", "offset", "cval"), affine_cotangents)


def _on_grid(dy: np.ndarray, y: Any, o: Options, axes: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, Any]:
    """`sampled` where each axis has coordinates of its own; of these the sums of the cotangents, by axis.

    Then all are products of one matrix for each axis. What is beyond an axis stands in none of its rows.
    """
    x, order, mode, cval = o["input"], o["order"], o["mode"], float(o["cval"])
    if mode == "grid-constant":
        dx, d, dcval = sampled(dy, y, o, np.stack(np.meshgrid(*axes, indexing="ij")))
        return dx, d.reshape(len(axes), -1).sum(axis=1), dcval
    matrices, margin = coefficient_matrices(x.shape, order, mode, o["prefilter"])
    lines = [Line(v, n, order, mode, margin) for v, n in zip(axes, x.shape, strict=True)]
    lengths = [n + 2 * margin for n in x.shape]
    ws = [line.matrix(line.w, n) for line, n in zip(lines, lengths, strict=True)]
    outside: Any = np.zeros(np.shape(y), bool)
    for k, line in enumerate(lines):
        outside = outside | line.outside.reshape(-1, *[1] * (len(lines) - 1 - k))
    c = _along_axes(x, matrices)
    _agrees(np.where(outside, cval, _along_axes(c, ws)), y, o)
    dc = _along_axes(dy, [w.T for w in ws])
    ds = np.zeros(len(lines))
    for k, (line, n) in enumerate(zip(lines, lengths, strict=True)):
        slopes = _along_axes(c, [*ws[:k], line.matrix(line.slope, n), *ws[k + 1 :]])
        ds[k] = np.sum((np.conjugate(dy) * slopes).real)
    return _along_axes(dc, [m.T for m in matrices]), ds, np.sum(dy[outside].real)


def shift_cotangents(dy: Any, y: Any, o: Options) -> Any:
    x, by = o["input"], np.asarray(o["shift"], float)
    steps = np.broadcast_to(by, (x.ndim,))
    dx, d, dcval = _on_grid(dy, y, o, [np.arange(n) - step for n, step in zip(np.shape(y), steps, strict=True)])
    return dx, -d if by.ndim else -np.sum(d), dcval


library_rule(nd.shift, ("input", "shift", "cval"), shift_cotangents)


def zoom_cotangents(dy: Any, y: Any, o: Options) -> Any:
    """The factors only say how many pixels there are: their derivative is zero."""
    x, axes = o["input"], []
    for n, m in zip(x.shape, np.shape(y), strict=True):
        at = np.arange(m, dtype=float)
        axes.append((at + 0.5) * (n / m) - 0.5 if o["grid_mode"] else at * ((n - 1) / (m - 1) if m > 1 else 1.0))
    dx, _, dcval = _on_grid(dy, y, o, axes)
    return dx, np.zeros(np.shape(o["zoom"])), dcval


library_rule(nd.zoom, ("input", "zoom", "cval"), zoom_cotangents)


writes_output(nd.rotate)


@mirrors(nd.rotate)
def rotated(input, angle, axes=(1, 0), reshape=True, order=3, mode="constant", cval=0.0, prefilter=True):
    first, second = sorted(k % input.ndim for k in axes)
    turn = angle * (np.pi / 180.0)
    c, s = np.cos(turn), np.sin(turn)
    matrix = np.array([[c, s], [-s, c]])
    size = np.array([input.shape[first], input.shape[second]])
    if reshape:
        n, m = float(size[0]), float(size[1])
        corners = np.array([[c, s], [-s, c]]) @ np.array([[0.0, 0.0, n, n], [0.0, m, 0.0, m]])
        wide = corners.max(axis=1) - corners.min(axis=1) + 0.5
        shape = (int(wide[0]), int(wide[1]))
    else:
        shape = (int(size[0]), int(size[1]))
    middle = (size - 1) / 2
    offset = middle - matrix @ ((np.array(shape) - 1) / 2)
    planes = np.moveaxis(input, (first, second), (-2, -1))
    lead = planes.shape[:-2]
    flat = planes.reshape((-1, *planes.shape[-2:]))
    turned = [
        nd.affine_transform(p, matrix, offset, shape, order=order, mode=mode, cval=cval, prefilter=prefilter)
        for p in flat
    ]
    return np.moveaxis(np.stack(turned).reshape((*lead, *shape)), (-2, -1), (first, second))


by_regular_samples(nd.map_coordinates, nd.shift, nd.rotate)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.7, -0.4])
_M = np.sin(np.arange(42.0)).reshape(6, 7)
_AT = np.array([[1.23, 3.41, 4.37, 0.61], [2.71, 5.13, 0.29, 5.57]])
_FAR = np.array([[-1.23, 3.41, 6.37, 2.61], [2.71, 8.13, -0.29, -2.57]])
_T = np.array([[0.9, 0.12], [-0.1, 1.07]])
_MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-constant", "grid-mirror")


def _reading(order: int, mode: str) -> Any:
    def read(x, at, beyond):
        return nd.map_coordinates(x, at, order=order, mode=mode, cval=beyond)

    read.__qualname__ = f"map_coordinates-{mode}-{order}"
    return read


CASES: list[RuleCase] = [
    *[case(nd.map_coordinates, _M, _AT, None, k) for k in (1, 2, 3, 4, 5)],
    *[case(_reading(k, m), _M, _FAR, 0.3) for k in (1, 3) for m in _MODES],
    case(lambda x: nd.map_coordinates(x, _AT, order=0), _M), case(nd.map_coordinates, _M, _AT, prefilter=False),
    case(nd.map_coordinates, _M * (1 + 0.5j), _AT), case(nd.map_coordinates, _V, _AT[:1]),
    case(nd.map_coordinates, _M.astype(np.float32), _AT, order=1),
    case(nd.affine_transform, _M, _T, np.array([0.3, -0.2])), case(nd.affine_transform, _M, _T, 0.25, (4, 5), order=1),
    case(nd.affine_transform, _M, np.array([0.83, 1.07]), (0.31, 0.22), mode="nearest"),
    case(nd.affine_transform, _M, np.array([[0.9, 0.1, 0.31], [-0.1, 1.1, 0.23]])),
    *[case(nd.shift, _M, s, order=k, mode=m) for s, k, m in (
        (0.37, 3, "constant"), (np.array([0.37, -1.23]), 1, "nearest"), ([0.37, -1.23], 2, "reflect"))],
    case(lambda z, c: nd.zoom(z, (1.7, 0.6), order=2, mode="grid-constant", cval=c), _M, 0.7),
    *[case(lambda z, b, c, m=m: nd.shift(z, b, order=2, mode=m, cval=c), _M, np.array([0.33, -1.21]), 0.7)
      for m in ("constant", "grid-constant", "grid-wrap", "wrap")],
    case(nd.shift, _V, 1), case(lambda x: nd.zoom(x, 1.7), _M), case(lambda x: nd.zoom(x, (0.6, 2.0), order=1), _M),
    case(lambda x: nd.zoom(x, 2, mode="nearest", grid_mode=True), _M),
    case(lambda x: nd.zoom(x, 2, mode="constant", grid_mode=True, order=1), _M),
    case(lambda x, a: nd.rotate(x, a, reshape=False), _M, 21.0), case(lambda x: nd.rotate(x, 33.0, order=1), _M),
    case(lambda x: nd.rotate(x, -50.0, (2, 1), mode="mirror", order=1), np.stack([_M, _M**2])),
    *[case(nd.spline_filter1d, _M, k, 0, mode=m) for k, m in ((2, "mirror"), (3, "reflect"), (5, "grid-wrap"))],
    case(nd.spline_filter, _M), case(nd.spline_filter1d, _V, 3),
]  # fmt: skip
