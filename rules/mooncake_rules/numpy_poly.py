"""Polynomials: values, products, roots, fits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import polyutils
from numpy.polynomial._polybase import ABCPolyBase

from mooncake_py.infer.types import Arr, Inst, T, widen
from mooncake_py.kinds import Array, Numeric
from mooncake_py.registry import infer_table, overlay, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, is_complex, real_of, total, unbroadcast
from mooncake_rules.inference import Types, element_dtype, gives_one
from mooncake_rules.mirror import mirrors
from mooncake_rules.numpy_linalg import pinv_cotangent
from mooncake_rules.numpy_trimmed import BASES, dropped
from mooncake_rules.sequences import ArrayLike, unstack

# -- values -----------------------------------------------------------------------------------------------


def polyval_cotangents(dy: Any, p: Any, x: Any) -> tuple[Any, Any]:
    """Coefficients of several dimensions are those of several polynomials, which broadcast with the points."""
    c = np.asarray(p)
    powers = np.arange(len(c) - 1, 0, -1).reshape(-1, *[1] * (c.ndim - 1))
    dx = dy * conj(np.polyval(c[:-1] * powers, x))
    power: Any = np.ones_like(x)
    dp = np.zeros(c.shape, np.result_type(c, dy))
    for k in range(len(c) - 1, -1, -1):
        t = unbroadcast(np.asarray(dy * np.conjugate(power)), c.shape[1:])
        dp[k] = t if is_complex(dp) else np.real(t)
        power = power * x
    dx = dx if is_complex(x) else np.real(dx)
    return unstack(dp, p), unbroadcast(np.asarray(dx), x.shape) if isinstance(x, np.ndarray) else total(dx)


@rrule(np.polyval, types=(ArrayLike, Numeric))
def polyval(p, x):
    def pullback(dy):
        return polyval_cotangents(dy, p, x)

    return np.polyval(p, x), pullback


@overlay(np.polyval)
def polyval_written_out(p, x):
    """NumPy's own begins with 0 times a polynomial, and `poly1d` drops what is 0."""
    coefficients = np.asarray(p)
    if isinstance(x, np.poly1d) and len(coefficients):
        y = np.poly1d(coefficients[:1])
        for c in coefficients[1:]:
            y = y * x + c
        return y
    x = np.asanyarray(x)
    y = np.zeros_like(x)
    for c in coefficients:
        y = y * x + c
    return y


def series_cotangents(f: Any, slope: Any, basis: Any, dy: Any, x: Any, c: np.ndarray) -> tuple[Any, Any]:
    """Of the sum of c[k] times the basis function k at x; coefficients of several dimensions are several such sums."""
    n, d = len(c), np.asarray(dy)
    rest = c.ndim - 1
    dx = np.sum(d * np.conjugate(f(x, slope(c))), axis=tuple(range(rest)))
    values = np.conjugate(basis(x, n - 1)).reshape((*np.shape(x), n))
    dc = np.tensordot(np.moveaxis(values, -1, 0), d, (range(1, values.ndim), range(rest, d.ndim)))
    dx = dx if is_complex(x) else np.real(dx)
    return dx if isinstance(x, np.ndarray) else total(dx), dc if is_complex(c) else np.real(dc)


def _series(module: Any, prefix: str) -> None:
    f, slope, basis = (getattr(module, prefix + name) for name in ("val", "der", "vander"))

    @rrule(f, types=(Numeric, Array))
    def rule(x, c):
        def pullback(dy):
            return series_cotangents(f, slope, basis, dy, x, c)

        return f(x, c), pullback

    infer_table[f] = _series_type
    pure.add(f)


def _series_type(args: Types, kwargs: dict[str, T]) -> T | None:
    if len(args) != 2 or kwargs or not isinstance(args[1], Arr) or not args[1].ndim:
        return None
    x, c = widen(args[0]), args[1]
    of_x, n = element_dtype(x), x.ndim if isinstance(x, Arr) else 0
    if of_x is None or c.dtype is None or n is None:
        return None
    d = np.result_type(of_x, c.dtype)
    if d.char not in "dD" or c.dtype.char not in "dD":  # a number of Python's has no precision of its own
        return None
    n += (c.ndim or 0) - 1
    act = x.active or c.act
    return Arr(d, n, act) if n else Inst(d.type, act)


pure.add(series_cotangents)
for _module, _prefix in BASES.items():
    _series(_module, _prefix)


@overlay(polyutils.mapdomain)
def mapdomain(x, old, new):
    """NumPy's own makes an array of x, one of objects where that is a polynomial."""
    if not isinstance(x, (ABCPolyBase, int, float, complex, np.generic)):
        x = np.asarray(x)
    offset, scale = polyutils.mapparms(old, new)
    return offset + scale * x


# -- products and roots -----------------------------------------------------------------------------------


@mirrors(np.vander)
def vander(x, N=None, increasing=False):
    n = len(x) if N is None else N
    return np.asarray(x)[:, None] ** (np.arange(n) if increasing else np.arange(n - 1, -1, -1))


@mirrors(np.poly)
def poly(seq_of_zeros):
    """Of a matrix its characteristic polynomial."""
    r = np.atleast_1d(np.asarray(seq_of_zeros))
    if r.ndim == 2:
        r = np.linalg.eigvals(r)
    y = np.ones(1)
    for i in range(len(r)):
        y = np.append(y, 0.0) - np.insert(y * r[i], 0, 0.0)
    return y


@mirrors(np.polyint, types=(ArrayLike,))
def polyint(p, m=1, k=None):
    y = np.asarray(p)
    constants = np.zeros(m) if k is None else np.atleast_1d(np.asarray(k)) + np.zeros(m)
    for i in range(m):
        y = np.append(y / np.arange(len(y), 0, -1), constants[i])
    return y


@rrule(np.roots, types=(ArrayLike,))
def roots(p):
    """By the implicit function theorem: a root of several has no derivative, and the result is not finite."""
    y = np.roots(p)

    def pullback(dy):
        c = np.asarray(p)
        if c[0] == 0:
            dropped("np.roots")
        slopes = np.polyval(np.polyder(c), y)
        with np.errstate(divide="ignore", invalid="ignore"):
            dp = -conj(np.vander(y, len(c)) / slopes[:, None]).T @ dy
        return (unstack(real_of(dp, c), p),)

    return y, pullback


# -- fits -------------------------------------------------------------------------------------------------


def polyfit_cotangents(dp: np.ndarray, x: np.ndarray, y: np.ndarray, deg: int) -> tuple[Any, Any, Any]:
    """Least squares with the Vandermonde matrix, its columns scaled to one size as NumPy does."""
    v = np.vander(x + 0.0, deg + 1)
    scale = np.sqrt(np.sum(np.abs(v) ** 2, axis=0))
    scaled = v / scale
    p = np.linalg.pinv(scaled, len(x) * np.finfo(v.dtype).eps)
    cols = (dp if dp.ndim == 2 else dp[:, None]) / scale[:, None]
    ys = y if y.ndim == 2 else y[:, None]
    dy = real_of(conj(p).T @ cols, y)
    dv = real_of(pinv_cotangent(cols @ conj(ys).T, scaled, p), v) / scale
    powers = np.arange(deg, -1, -1)
    slopes = np.zeros_like(v)
    slopes[:, :-1] = powers[:-1] * v[:, 1:]
    return np.sum(dv * conj(slopes), axis=1), dy if dp.ndim == 2 else dy[:, 0], None


@rrule(np.polyfit, types=(Array, Array))
def polyfit(x, y, deg):
    def pullback(dp):
        return polyfit_cotangents(dp, x, y, deg)

    return np.polyfit(x, y, deg), pullback


pure.update({polyval_cotangents, polyfit_cotangents})
gives_one(np.polyfit, np.polyval)


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1])
_W = np.array([1.1, 0.4, -0.7])
_X = np.array([0.0, 0.7, 1.5, 2.1, 3.3])
_P = np.array([0.4, 1.3, 2.2, 0.9, 1.7])
_Z = _V * (1 + 0.5j)
_SQUARE = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])


def _object(c: np.ndarray, x: np.ndarray) -> Any:
    return np.polyval(np.polyadd(np.polymul(c, c), [1.0, 0.5]), x)


def _poly1d(c: np.ndarray, d: np.ndarray, x: np.ndarray) -> Any:
    p, q = np.poly1d(c), np.poly1d(d)
    p[1] = d[0] ** 2
    product = 2.0 * p * q - q**2 / 3.0 + 1.0
    turned = np.polyder(p) + p.integ(k=x[0])
    return product(x), np.polyval(turned, x), p(q).coeffs, (p / q)[1].c, np.poly1d(x, True)[2], np.asarray(q)


def _converted(x: np.ndarray, y: np.ndarray) -> Any:
    p = np.polynomial.Polynomial.fit(x, y, 2)
    q = p.convert(kind=np.polynomial.Chebyshev)
    return p.convert().coef, q.coef, p(q).coef, q([0.5, 1.0]), p(0.3)


CASES: list[RuleCase] = [
    *(case(getattr(m, f"{p}val"), 0.4, np.array([0.5, -1.2, 0.3, 2.0])) for m, p in BASES.items()),
    *(case(getattr(m, f"{p}val"), np.array([0.4, -0.7]), np.array([0.5, -1.2])) for m, p in BASES.items()),
    case(np.polynomial.legendre.legval, np.array([[0.4, -0.7]]), np.array([[0.5, -1.2, 0.3], [0.1, 0.2, 0.6]])),
    case(np.polynomial.polynomial.polyval, 0.4 + 0.2j, np.array([0.5, -1.2, 0.7])),
    case(np.polynomial.chebyshev.chebval, np.array([0.4, 0.1]), np.array([0.5j, -1.2, 0.7])),
    case(np.polynomial.hermite.hermval, 0.3, np.array([0.5])),
    case(np.polynomial.polynomial.polyval, 0.3, np.array([0.5, 0.2], np.float32)),
    case(np.polyval, _W, 0.7), case(np.polyval, _W, _V), case(np.polyval, [0.5, 1.0, -0.3], _V),
    case(np.polyval, _Z, _V), case(np.polyval, _W, _Z), case(np.polyval, _W.astype(np.float32), _V.astype(np.float32)),
    case(np.polyfit, _X, _V, 2), case(lambda x, y: np.polyfit(x * 1e4, y, 2) * [1e8, 1e4, 1.0], _X, _V),
    case(lambda x, y: np.polyfit(x * 1e-4, y, 2) * [1e-8, 1e-4, 1.0], _X, _V), case(np.polyfit, _X, _Z, 2),
    case(np.polyfit, _Z[:4], _V[1:], 1),
    case(np.polyfit, _X, np.stack([_V, _V**2], 1), 1), case(np.polyfit, _X, _V, 2, w=_P),
    case(lambda x, y: np.polyfit(x, y, 1, cov=True), _X, _V),
    case(lambda x, y: np.polyfit(x, y, 2, full=True)[:2], _X, _V), case(np.polyadd, _V, _W), case(np.polysub, _W, _V),
    case(np.polymul, _V, _W), case(np.polymul, [0.5, 1.0], _W), case(np.polydiv, _V, _W), case(np.polyder, _V),
    case(np.polyder, _V, 2), case(np.polyint, _V), case(np.polyint, _V, 2, k=[0.5, 0.2]),
    case(np.polyint, _V, 2, k=0.5), case(np.poly, _W), case(np.poly, _SQUARE), case(np.poly, [0.5, 0.2]),
    case(np.roots, _P), case(np.roots, np.array([1.0, -3.5, 0.5])),
    case(np.roots, (1.0, -3.5, 0.5)), case(np.vander, _V),
    case(np.vander, _V, 3, increasing=True), case(np.vander, _Z), case(np.vander, [0.5, 0.0, 2.0]),
    case(_object, _W, _V), case(_converted, _X, _P), case(_poly1d, _V, _W, _X), case(np.polyval, _W, [0.5, 0.2]),
    case(np.polyval, _SQUARE, _W), case(np.polyval, _SQUARE[:, :1], _W * (1 - 0.2j)), case(np.polyval, _SQUARE, 0.3),
]  # fmt: skip
