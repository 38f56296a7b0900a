"""scipy.ndimage: filters. All linear ones are correlations of an image continued beyond its borders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as nd
from scipy.ndimage import _filters

from mooncake_py.errors import NotDifferentiated
from mooncake_py.testing import RuleCase, case
from mooncake_rules.callables import run
from mooncake_rules.regular import by_regular_samples
from mooncake_rules.scipy_library import library_rule

Options = dict[str, Any]
_BOTH = ("input", "cval")
_PAD = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "constant": "constant", "grid-constant": "constant",
    "nearest": "edge", "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap",
}  # fmt: skip


# -- one axis ---------------------------------------------------------------------------------------------


class Border:
    """An axis of length n, continued by `left` and `right` elements: where each of them came from, -1 for nowhere."""

    def __init__(self, n: int, left: int, right: int, mode: str):
        kind: Any = _PAD[mode]
        options: dict[str, Any] = {"constant_values": -1} if kind == "constant" else {}
        self.n = n
        self.source = np.pad(np.arange(n), (left, right), kind, **options)

    def put(self, x: np.ndarray, cval: float) -> np.ndarray:
        """The image continued, x having the axis last."""
        wide = x[..., self.source]
        return np.where(self.source < 0, np.asarray(cval, x.dtype), wide)

    def back(self, t: np.ndarray) -> tuple[np.ndarray, Any]:
        """The adjoint of `put`: the cotangents of the image and of the value beyond it."""
        out = np.zeros((self.n + 1, *t.shape[:-1]), t.dtype)
        np.add.at(out, self.source, np.moveaxis(t, -1, 0))
        return np.moveaxis(out[:-1], 0, -1), np.sum(out[-1])


def border_of(n: int, size: int, origin: int, mode: str) -> Border:
    left = size // 2 + origin
    return Border(n, left, size - 1 - left, mode)


def line_cotangents(
    dy: np.ndarray, x: np.ndarray, w: np.ndarray, axis: int, mode: str, cval: float, origin: int
) -> tuple[np.ndarray, np.ndarray, Any]:
    """Of `correlate1d(x, w)`: y[i] = sum_k w[k] wide[i + k]. By the image, the weights, the value beyond the border."""
    t, xs = np.moveaxis(dy, axis, -1), np.moveaxis(x, axis, -1)
    n, size = xs.shape[-1], len(w)
    border = border_of(n, size, origin, mode)
    wide = border.put(xs, cval)
    out = np.zeros(wide.shape, np.result_type(t, w))
    dw = np.zeros(size, np.result_type(t, xs))
    for k in range(size):
        out[..., k : k + n] += t * np.conjugate(w[k])
        dw[k] = np.sum(t * np.conjugate(wide[..., k : k + n]))
    dx, dcval = border.back(out)
    return np.moveaxis(dx, -1, axis), dw, dcval


def _reversed_origin(size: int, origin: int) -> int:
    """The origin of the correlation with the reversed weights that a convolution is."""
    return -origin - (1 - size % 2)


def correlate1d_cotangents(dy: Any, y: Any, o: Options) -> Any:
    return line_cotangents(dy, o["input"], o["weights"], o["axis"], o["mode"], o["cval"], o["origin"])


def convolve1d_cotangents(dy: Any, y: Any, o: Options) -> Any:
    w = o["weights"]
    origin = _reversed_origin(len(w), o["origin"])
    dx, dw, dcval = line_cotangents(dy, o["input"], w[::-1], o["axis"], o["mode"], o["cval"], origin)
    return dx, dw[::-1], dcval


library_rule(nd.correlate1d, ("input", "weights", "cval"), correlate1d_cotangents)
library_rule(nd.convolve1d, ("input", "weights", "cval"), convolve1d_cotangents)

# -- all axes ---------------------------------------------------------------------------------------------


def per_axis(v: Any, n: int) -> list[Any]:
    return [v] * n if np.isscalar(v) or isinstance(v, str) or v is None else list(v)


def grid_cotangents(dy: Any, o: Options, w: np.ndarray, turned: bool) -> tuple[Any, Any, Any]:
    """Of a correlation (or, with the weights turned, a convolution) with weights of as many axes as the image."""
    x = o["input"]
    if o.get("axes") is not None:
        raise NotDifferentiated("scipy.ndimage.correlate and convolve are differentiated without `axes`")
    modes, origins = per_axis(o["mode"], x.ndim), per_axis(o["origin"], x.ndim)
    if turned:
        w = np.flip(w)
        origins = [_reversed_origin(m, g) for m, g in zip(w.shape, origins, strict=True)]
    borders = [border_of(n, m, g, d) for n, m, g, d in zip(x.shape, w.shape, origins, modes, strict=True)]
    wide = x
    for k, b in enumerate(borders):
        wide = np.moveaxis(b.put(np.moveaxis(wide, k, -1), o["cval"]), -1, k)
    out = np.zeros(wide.shape, np.result_type(dy, w))
    dw = np.zeros(w.shape, np.result_type(dy, x))
    for at in np.ndindex(*w.shape):
        part = tuple(slice(i, i + n) for i, n in zip(at, x.shape, strict=True))
        out[part] += dy * np.conjugate(w[at])
        dw[at] = np.sum(dy * np.conjugate(wide[part]))
    dcval: Any = 0.0
    for k, b in enumerate(borders):
        inside, beyond = b.back(np.moveaxis(out, k, -1))
        out, dcval = np.moveaxis(inside, -1, k), dcval + beyond
    return out, np.flip(dw) if turned else dw, dcval


library_rule(nd.correlate, ("input", "weights", "cval"), lambda dy, y, o: grid_cotangents(dy, o, o["weights"], False))
library_rule(nd.convolve, ("input", "weights", "cval"), lambda dy, y, o: grid_cotangents(dy, o, o["weights"], True))

# -- filters made of correlations along one axis after the other ------------------------------------------

Step = tuple[np.ndarray, int, str, float, int]
"""Weights, axis, mode, value beyond the border, origin."""


def chain_cotangents(dy: np.ndarray, x: np.ndarray, steps: list[Step]) -> tuple[np.ndarray, list[np.ndarray], Any]:
    """Of the image, of the weights of every step, and of the value beyond the border."""
    images = [x]
    for w, axis, mode, cval, origin in steps[:-1]:
        images.append(nd.correlate1d(images[-1], w, axis, mode=mode, cval=cval, origin=origin))
    dws: list[np.ndarray] = []
    dcval: Any = 0.0
    for step, image in zip(reversed(steps), reversed(images), strict=True):
        dy, dw, beyond = line_cotangents(dy, image, *step)
        dws.append(dw)
        dcval = dcval + beyond
    return dy, dws[::-1], dcval


def axes_of(o: Options, x: np.ndarray) -> list[int]:
    axes = o.get("axes")
    return list(range(x.ndim)) if axes is None else [int(k) % x.ndim for k in np.atleast_1d(axes)]


def gaussian_steps(o: Options, x: np.ndarray, axes: list[int]) -> tuple[list[Step], list[Any]]:
    """The steps, and the arguments of the kernel of each."""
    n = len(axes)
    sigmas, orders, modes = (per_axis(o[k], n) for k in ("sigma", "order", "mode"))
    radii = per_axis(o.get("radius"), n)
    steps: list[Step] = []
    kernels = []
    for axis, sigma, order, mode, radius in zip(axes, sigmas, orders, modes, radii, strict=True):
        sd = float(sigma)
        if sd <= 1e-15 and "axis" not in o:
            continue
        reach = int(float(o["truncate"]) * sd + 0.5) if radius is None else radius
        kernels.append((axes.index(axis), sd, order, reach))
        steps.append((_filters._gaussian_kernel1d(sd, order, reach)[::-1], axis, mode, o["cval"], 0))
    return steps, kernels


def gaussian_cotangents(dy: np.ndarray, y: Any, o: Options) -> tuple[Any, Any, Any, float]:
    x, sigma = o["input"], np.asarray(o["sigma"], float)
    axes = [o["axis"]] if "axis" in o else axes_of(o, x)
    o = {**o, "sigma": sigma if sigma.ndim else float(sigma)}
    steps, kernels = gaussian_steps(o, x, axes)
    if not steps:
        return dy, np.zeros(sigma.shape), 0.0, 0.0
    dx, dws, dcval = chain_cotangents(dy, x, steps)
    dsigma = np.zeros(len(axes))
    for dw, (i, sd, order, reach) in zip(dws, kernels, strict=True):
        _, pull = run(_filters._gaussian_kernel1d, None, (sd, order, reach))
        dsigma[i] = pull(np.ascontiguousarray(dw[::-1].real, float))[0]
    return dx, dsigma.reshape(sigma.shape) if sigma.ndim else np.sum(dsigma), dcval, 0.0


library_rule(nd.gaussian_filter, ("input", "sigma", "cval", "truncate"), gaussian_cotangents)
library_rule(nd.gaussian_filter1d, ("input", "sigma", "cval", "truncate"), gaussian_cotangents)


def uniform_cotangents(dy: np.ndarray, y: Any, o: Options) -> tuple[Any, Any]:
    x = o["input"]
    axes = [o["axis"]] if "axis" in o else axes_of(o, x)
    sizes, modes, origins = (per_axis(o[k], len(axes)) for k in ("size", "mode", "origin"))
    steps = [
        (np.full(int(n), 1.0 / n), k, m, o["cval"], g)
        for k, n, m, g in zip(axes, sizes, modes, origins, strict=True)
        if n > 1
    ]
    dx, _, dcval = chain_cotangents(dy, x, steps) if steps else (dy, [], 0.0)
    return dx, dcval


library_rule(nd.uniform_filter, _BOTH, uniform_cotangents)
library_rule(nd.uniform_filter1d, _BOTH, uniform_cotangents)


def _edges(side: list[float]) -> Callable[..., Any]:
    def cotangents(dy: np.ndarray, y: Any, o: Options) -> tuple[Any, Any]:
        x = o["input"]
        axis = o["axis"] % x.ndim
        modes = per_axis(o["mode"], x.ndim)
        steps: list[Step] = [(np.array([-1.0, 0.0, 1.0]), axis, modes[axis], o["cval"], 0)]
        steps += [(np.array(side), k, modes[k], o["cval"], 0) for k in range(x.ndim) if k != axis]
        dx, _, dcval = chain_cotangents(dy, x, steps)
        return dx, dcval

    return cotangents


library_rule(nd.prewitt, _BOTH, _edges([1.0, 1.0, 1.0]))
library_rule(nd.sobel, _BOTH, _edges([1.0, 2.0, 1.0]))


def laplace_cotangents(dy: np.ndarray, y: Any, o: Options) -> tuple[Any, Any]:
    x = o["input"]
    axes = axes_of(o, x)
    modes = per_axis(o["mode"], len(axes))
    w = np.array([1.0, -2.0, 1.0])
    parts = [line_cotangents(dy, x, w, k, m, o["cval"], 0) for k, m in zip(axes, modes, strict=True)]
    return sum((dx for dx, _, _ in parts), np.zeros_like(x)), sum(dcval for _, _, dcval in parts)


library_rule(nd.laplace, _BOTH, laplace_cotangents)

# -- filters that choose ----------------------------------------------------------------------------------


def chosen(o: Options, rank: Callable[[int], int], heights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Which element of the neighbourhood, to which `heights` are added, was chosen, and which of the image it is.

    Equal ones keep their order; those of the image are counted from one, 0 is the value beyond it.
    """
    x = o["input"]
    axes = o.get("axes")
    if axes is not None and [int(k) % x.ndim for k in np.atleast_1d(axes)] != list(range(x.ndim)):
        raise NotDifferentiated("scipy.ndimage is differentiated without `axes`")
    if o["footprint"] is not None:
        print_ = np.asarray(o["footprint"], bool)
    else:
        print_ = np.ones([int(n) for n in per_axis(o["size"], x.ndim)], bool)
    modes, origins = per_axis(o["mode"], x.ndim), per_axis(o["origin"], x.ndim)
    wide, index = x, np.arange(1, x.size + 1).reshape(x.shape)
    for k, (n, m, g, d) in enumerate(zip(x.shape, print_.shape, origins, modes, strict=True)):
        b = border_of(n, m, g, d)
        wide = np.moveaxis(b.put(np.moveaxis(wide, k, -1), o["cval"]), -1, k)
        index = np.moveaxis(b.put(np.moveaxis(index, k, -1), 0), -1, k)
    windows = np.lib.stride_tricks.sliding_window_view(wide, print_.shape)[..., print_]
    sources = np.lib.stride_tricks.sliding_window_view(index, print_.shape)[..., print_]
    raised = windows if heights is None else windows + heights[print_]
    last = windows.shape[-1] - 1
    k = rank(last + 1)
    if k == 0:
        at = np.argmin(raised, axis=-1)
    elif k == last:
        at = last - np.argmax(raised[..., ::-1], axis=-1)  # the last of equal ones, as below
    else:
        at = np.argsort(raised, axis=-1, kind="stable")[..., k]
    return at, np.take_along_axis(sources, at[..., None], -1)[..., 0]


def sums_of(dy: np.ndarray, source: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, Any]:
    """The cotangents of the image x and of the value beyond it."""
    out = np.zeros(x.size + 1, dy.dtype)
    np.add.at(out, source.ravel(), dy.ravel())
    return out[1:].reshape(x.shape), np.sum(out[0].real)


def chosen_cotangent(dy: np.ndarray, y: Any, o: Options, rank: Callable[[int], int]) -> tuple[np.ndarray, Any]:
    """The cotangent goes to the element of the neighbourhood that was chosen."""
    return sums_of(dy, chosen(o, rank)[1], o["input"])


def _percentile(n: int, p: float) -> int:
    p = p + 100.0 if p < 0 else p
    return n - 1 if p == 100.0 else int(float(n) * p / 100.0)


library_rule(nd.minimum_filter, _BOTH, lambda dy, y, o: chosen_cotangent(dy, y, o, lambda n: 0))
library_rule(nd.maximum_filter, _BOTH, lambda dy, y, o: chosen_cotangent(dy, y, o, lambda n: n - 1))
library_rule(nd.median_filter, _BOTH, lambda dy, y, o: chosen_cotangent(dy, y, o, lambda n: n // 2))
library_rule(nd.rank_filter, _BOTH, lambda dy, y, o: chosen_cotangent(dy, y, o, lambda n: o["rank"] % n))
library_rule(nd.percentile_filter, (*_BOTH, "percentile"), lambda dy, y, o: (
    *chosen_cotangent(dy, y, o, lambda n: _percentile(n, float(o["percentile"]))), 0.0))  # fmt: skip


def line_chosen_cotangent(dy: np.ndarray, y: Any, o: Options, rank: Callable[[int], int]) -> tuple[np.ndarray, Any]:
    n, axis = o["input"].ndim, o["axis"] % o["input"].ndim
    sizes, origins = [1] * n, [0] * n
    sizes[axis], origins[axis] = o["size"], o["origin"]
    return chosen_cotangent(dy, y, {**o, "size": sizes, "origin": origins, "footprint": None}, rank)


library_rule(nd.minimum_filter1d, _BOTH, lambda dy, y, o: line_chosen_cotangent(dy, y, o, lambda n: 0))
library_rule(nd.maximum_filter1d, _BOTH, lambda dy, y, o: line_chosen_cotangent(dy, y, o, lambda n: n - 1))


def extreme_cotangents(dy: np.ndarray, y: Any, o: Options) -> tuple[np.ndarray, Any, Any]:
    """Of what erosions and dilations are made of: an erosion takes the heights of the structure off."""
    heights, sign = o["structure"], -1.0 if o["minimum"] else 1.0
    if heights is not None and o["footprint"] is None:
        o = {**o, "footprint": np.ones(heights.shape, bool)}
    at, source = chosen(o, lambda n: 0 if o["minimum"] else n - 1, None if heights is None else sign * heights)
    dheights = None
    if heights is not None:
        dheights = np.zeros(heights.shape)
        dheights[np.asarray(o["footprint"], bool)] = sign * np.bincount(
            at.ravel(), dy.ravel(), np.count_nonzero(o["footprint"])
        )
    return *sums_of(dy, source, o["input"]), dheights


library_rule(_filters._min_or_max_filter, (*_BOTH, "structure"), extreme_cotangents)

by_regular_samples(
    nd.convolve,
    nd.convolve1d,
    nd.correlate,
    nd.correlate1d,
    nd.gaussian_filter,
    nd.gaussian_filter1d,
    nd.uniform_filter,
    nd.uniform_filter1d,
    nd.sobel,
    nd.prewitt,
    nd.laplace,
    nd.gaussian_laplace,
    nd.gaussian_gradient_magnitude,
)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, 0.7, -0.4])
_M = np.sin(np.arange(30.0)).reshape(5, 6)
_K = np.cos(np.arange(6.0)).reshape(2, 3)
_W = np.array([1.1, 0.4, -0.7])
_MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
CASES: list[RuleCase] = [
    *[case(f, _V, w, mode=m) for f in (nd.correlate1d, nd.convolve1d) for w in (_W, np.arange(1.0, 5.0))
      for m in _MODES],
    *[case(f, _M, _K[0], 0, origin=1) for f in (nd.correlate1d, nd.convolve1d)],
    *[case(f, _M, _K, mode=m) for f in (nd.correlate, nd.convolve) for m in _MODES],
    case(nd.correlate, _M, _K[:, :2]), case(nd.convolve, _M, _K[:, :2]), case(nd.convolve, _V, _W),
    case(nd.correlate, _M, _K, origin=(0, -1)), case(nd.convolve, _M, _K, origin=(0, -1)),
    *[case(lambda x, c, f=f: f(x, _K, mode="constant", cval=c), _M, 0.3) for f in (nd.correlate, nd.convolve)],
    *[case(lambda x, c, f=f: f(x, 1, mode="constant", cval=c), _M, 0.3)
      for f in (nd.gaussian_filter, nd.uniform_filter, nd.sobel)],
    case(lambda x, c: nd.laplace(x, mode="constant", cval=c), _M, 0.3),
    case(nd.convolve, _M, [[0.1, 0.2], [0.3, 0.4]]), case(nd.convolve, _M.astype(np.float32), _K.astype(np.float32)),
    *[case(nd.gaussian_filter, _M, 0.9, mode=m) for m in _MODES], case(nd.gaussian_filter, _V, 1.3, 1),
    case(nd.gaussian_filter, _M, np.array([0.7, 1.4])), case(nd.gaussian_filter, _M, (0.7, 1.4), (0, 2)),
    case(nd.gaussian_filter, _M[:0], 0.9), case(nd.gaussian_filter, _M.astype(np.float32), 1.0, output=float),
    case(lambda s: nd.gaussian_filter(np.arange(12).reshape(3, 4) ** 2, s, output=float), 0.9),
    case(lambda x, s: nd.gaussian_filter(x * 30, 1.0, output=int) * s, _M, 0.7),
    case(lambda x, s: nd.correlate(np.arange(9), x, output=np.int16) * s, _W * 5.37, 0.7),
    case(nd.gaussian_filter, _M, 0.8, radius=2), case(nd.gaussian_filter, _M.astype(np.float32), 1),
    case(nd.gaussian_filter1d, _M, 0.8, 0), case(nd.gaussian_filter1d, _V, 2, order=2),
    case(lambda x: nd.gaussian_filter(x, 0.8, axes=(1,)), _M), case(lambda x: nd.gaussian_filter(x, 0.0), _M),
    *[case(nd.uniform_filter, _M, n, mode=m) for n in (3, 4, (2, 3)) for m in ("reflect", "constant", "wrap")],
    case(nd.uniform_filter1d, _M, 3, 0), case(nd.uniform_filter, _V), case(nd.prewitt, _M), case(nd.sobel, _M, 0),
    case(nd.sobel, _M, mode="constant"), case(nd.laplace, _M), case(nd.laplace, _V, mode="wrap"),
    *[case(f, _M, 3) for f in (nd.minimum_filter, nd.maximum_filter, nd.median_filter)],
    case(nd.maximum_filter, _M, (2, 3), mode="constant"),
    case(lambda x, c: nd.minimum_filter(x, (2, 3), mode="constant", cval=c), _M, -0.4),
    case(nd.median_filter, _V, 3, mode="nearest"),
    case(nd.maximum_filter, _M, footprint=((True, False), (True, True))), case(nd.rank_filter, _M, 2, 3),
    case(nd.rank_filter, _M, -2, 3), case(nd.percentile_filter, _M, 30, 3),
    *[case(f, _M, 3, k, mode=m) for f in (nd.minimum_filter1d, nd.maximum_filter1d)
      for k, m in ((0, "reflect"), (-1, "wrap"))],
    *[case(lambda x, f=f: f(x, size=(2, 3)), _M)
      for f in (nd.grey_erosion, nd.grey_dilation, nd.grey_opening, nd.grey_closing, nd.white_tophat, nd.black_tophat,
                nd.morphological_gradient, nd.morphological_laplace)],
    *[case(lambda x, s, f=f, m=m: f(x, structure=s, mode=m, cval=0.2), _M, _K)
      for f in (nd.grey_erosion, nd.grey_dilation, nd.grey_opening, nd.white_tophat) for m in ("reflect", "constant")],
    case(lambda x, s: nd.grey_erosion(x, footprint=np.array([[0, 1, 1], [1, 1, 0]]), structure=s), _M, _K),
    case(lambda x: nd.grey_dilation(x, footprint=np.array([[0, 1], [1, 1]])), _M),
]  # fmt: skip
