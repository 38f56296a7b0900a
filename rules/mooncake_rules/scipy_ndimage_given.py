"""scipy.ndimage: filters made of functions that are given, and filters of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage as nd

from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.scipy_library import as_output, library_rule, writes_output
from mooncake_rules.scipy_ndimage import axes_of, border_of, per_axis

# -- filters made of functions that are given -------------------------------------------------------------


def _parts(x, derivative, mode, cval, extra_arguments, extra_keywords, axes):
    """A derivative along each of the axes."""
    places = axes_of({"axes": axes}, x)
    modes = per_axis(mode, len(places))
    more = {} if extra_keywords is None else extra_keywords
    return [derivative(x, k, x.dtype, m, cval, *extra_arguments, **more) for k, m in zip(places, modes, strict=True)]


@overlay(nd.generic_laplace)
def generic_laplace(
    input, derivative2, output=None, mode="reflect", cval=0.0, extra_arguments=(), extra_keywords=None, *, axes=None
):  # fmt: skip
    x = np.asarray(input)
    parts = _parts(x, derivative2, mode, cval, extra_arguments, extra_keywords, axes)
    return as_output(np.sum(parts, axis=0) if parts else x.copy(), output)


@overlay(nd.generic_gradient_magnitude)
def generic_gradient_magnitude(
    input, derivative, output=None, mode="reflect", cval=0.0, extra_arguments=(), extra_keywords=None, *, axes=None
):  # fmt: skip
    x = np.asarray(input)
    parts = _parts(x, derivative, mode, cval, extra_arguments, extra_keywords, axes)
    if not parts:
        return as_output(x.copy(), output)
    squares = np.sum([p * p for p in parts], axis=0)
    flat = squares == 0  # the corners of a mirrored image always are
    return as_output(np.where(flat, 0.0, np.sqrt(np.where(flat, 1.0, squares))), output)


@overlay(nd.geometric_transform)
def geometric_transform(
    input, mapping, output_shape=None, output=None, order=3, mode="constant", cval=0.0, prefilter=True,
    extra_arguments=(), extra_keywords=None,
):  # fmt: skip
    """The coordinates of every pixel first, then what is there."""
    x = np.asarray(input)
    shape = x.shape if output_shape is None else tuple(output_shape)
    if output_shape is None and isinstance(output, np.ndarray):
        shape = output.shape
    more = {} if extra_keywords is None else extra_keywords
    places = np.array([mapping(i, *extra_arguments, **more) for i in np.ndindex(*shape)])
    at = np.reshape(places.T, (x.ndim, *shape))
    return as_output(nd.map_coordinates(x, at, None, order, mode, cval, prefilter), output)


def windows(x, size, footprint, mode, cval, origin, axes):
    """The elements around each pixel that a filter looks at, as the last axis; SciPy's own order."""
    places = axes_of({"axes": axes}, x)
    n = len(places)
    shape = [int(k) for k in per_axis(size, n)] if footprint is None else np.shape(footprint)
    wide = x
    for k, m, g, d in zip(places, shape, per_axis(origin, n), per_axis(mode, n), strict=True):
        b = border_of(x.shape[k], m, g, d)
        wide = np.moveaxis(np.moveaxis(wide, k, -1)[..., b.source], -1, k)
        outside = (b.source < 0).reshape([-1 if i == k else 1 for i in range(x.ndim)])
        wide = np.where(outside, cval, wide)
    seen = np.lib.stride_tricks.sliding_window_view(wide, tuple(shape), tuple(places))
    seen = seen.reshape((*x.shape, -1))
    return seen if footprint is None else seen[..., np.ravel(footprint) != 0]


@overlay(nd.generic_filter)
def generic_filter(
    input, function, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, extra_arguments=(),
    extra_keywords=None, *, axes=None,
):  # fmt: skip
    x = np.asarray(input)
    if size is None and footprint is None:
        raise RuntimeError("no footprint or filter size provided")
    seen = windows(x, size, footprint, mode, cval, origin, axes)
    more = {} if extra_keywords is None else extra_keywords
    values = [function(w, *extra_arguments, **more) for w in seen.reshape((-1, seen.shape[-1]))]
    return as_output(np.array(values).reshape(x.shape).astype(x.dtype), output)


@overlay(nd.generic_filter1d)
def generic_filter1d(
    input, function, filter_size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0, extra_arguments=(),
    extra_keywords=None,
):  # fmt: skip
    x = np.moveaxis(np.asarray(input, float), axis, -1)
    b = border_of(x.shape[-1], filter_size, origin, mode)
    more = {} if extra_keywords is None else extra_keywords
    lines = []
    for line in np.where(b.source < 0, cval, x[..., b.source]).reshape((-1, len(b.source))):
        y = np.zeros(x.shape[-1])
        function(line, y, *extra_arguments, **more)
        lines.append(y)
    y = np.moveaxis(np.stack(lines).reshape(x.shape), -1, axis)
    return as_output(y.astype(np.asarray(input).dtype), output)


zero_derivative(axes_of, border_of, per_axis)

# -- filters of Fourier transforms ------------------------------------------------------------------------


def frequencies(shape: tuple[int, ...], n: int, axis: int) -> list[np.ndarray]:
    """Those of each axis, to be broadcast; `axis` has the real half of a signal of length n, if n is not negative."""
    out = []
    for k, m in enumerate(shape):
        f = np.arange(m) / n if n >= 0 and k == axis % len(shape) else np.fft.fftfreq(m)
        out.append(f.reshape([-1 if i == k else 1 for i in range(len(shape))]))
    return out


def filtered(factor: Callable[..., Any], input, parameter, n, axis):
    """The factor is a function of the frequencies of an axis and of the parameter of this axis."""
    x = np.asarray(input)
    values = np.asarray(parameter, float) * np.ones(x.ndim)
    y = x
    for k, f in enumerate(frequencies(x.shape, n, axis)):
        y = y * factor(f, values[k])
    return y


@mirrors(nd.fourier_gaussian)
def fourier_gaussian(input, sigma, n=-1, axis=-1):
    y = filtered(lambda f, s: np.exp(-2.0 * (np.pi * s * f) ** 2), input, sigma, n, axis)
    return y.astype(np.asarray(input).dtype)


@mirrors(nd.fourier_uniform)
def fourier_uniform(input, size, n=-1, axis=-1):
    """Of sizes that are not positive SciPy keeps the frequency zero."""
    y = filtered(lambda f, s: np.where((f == 0) | (s > 0), np.sinc(s * f), 0.0), input, size, n, axis)
    return y.astype(np.asarray(input).dtype)


@mirrors(nd.fourier_shift)
def fourier_shift(input, shift, n=-1, axis=-1):
    y = filtered(lambda f, s: np.exp(-2j * np.pi * s * f), input, shift, n, axis)
    return y.astype(np.complex64) if np.asarray(input).dtype == np.complex64 else y


def ellipsoid_cotangent(dy: np.ndarray, y: Any, o: dict[str, Any]) -> np.ndarray:
    """The factors are those of an image of ones; their Bessel functions by the size are left alone."""
    shape = o["input"].shape
    factors: np.ndarray = nd.fourier_ellipsoid(np.ones(shape), o["size"], o["n"], o["axis"])
    return dy * factors


library_rule(nd.fourier_ellipsoid, 1, ellipsoid_cotangent)
zero_derivative(frequencies)
for _f in (nd.fourier_gaussian, nd.fourier_uniform, nd.fourier_shift):
    writes_output(_f)

# -- cases ------------------------------------------------------------------------------------------------

_M = np.sin(np.arange(20.0)).reshape(4, 5)
_Z = np.fft.fft2(_M)


def _written(x: np.ndarray) -> Any:
    y = np.zeros_like(x)
    nd.gaussian_filter(x, 1.0, output=y)
    nd.uniform_filter(y, 3, y, "wrap")
    return y, nd.sobel(x, 0, output=np.float64)


def _squares(line: np.ndarray, out: np.ndarray) -> None:
    out[:] = line[1:-1] ** 2 - line[:-2]


CASES: list[RuleCase] = [
    case(_written, _M), case(nd.gaussian_laplace, _M, 0.9, mode="wrap"),
    case(nd.gaussian_gradient_magnitude, _M, (0.9, 0.7)),
    case(lambda x: nd.gaussian_gradient_magnitude(x, 0.9, mode="mirror"), _M),
    case(lambda x: nd.generic_gradient_magnitude(x, nd.sobel), _M),
    case(lambda x, p: nd.generic_filter(x, lambda w, q: np.sum(w**2) * q, (2, 3), extra_arguments=(p,)), _M, 0.3),
    case(lambda x: nd.generic_filter(x, np.max, footprint=[[0, 1], [1, 1]], mode="constant", cval=0.2), _M),
    case(lambda x: nd.generic_filter1d(x, _squares, 3, axis=0), _M),
    case(nd.fourier_gaussian, _Z, 1.2), case(nd.fourier_gaussian, np.fft.rfft2(_M), (1.2, 0.7), 5),
    case(lambda x, s: nd.geometric_transform(x, lambda i: (i[0] * s + 0.1, i[1] - s * i[0]), (2, 3)), _M, 0.93),
    case(lambda x: nd.fourier_uniform(x, (0.0, 3.0)), _Z), case(nd.fourier_ellipsoid, _Z, 2),
    case(lambda x: nd.fourier_ellipsoid(x, (1.5, 2.5), 5), np.fft.rfft2(_M)),
    case(nd.fourier_uniform, _Z, (2.5, 3.0)), case(nd.fourier_shift, _Z, (0.5, -1.2)),
]  # fmt: skip
