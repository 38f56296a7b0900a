"""Derivatives of modified Bessel functions by their order, of real numbers.

K is an integral of positive terms (DLMF 10.32.9), I a sum of them (DLMF 10.25.2), each differentiated term by term.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.registry import pure
from mooncake_rules.common import is_complex
from mooncake_rules.scipy_shapes import DROP, like, tail

_TERMS = 128


def _real(v: Any, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Order and argument; NaN for one that is complex."""
    order, at = np.broadcast_arrays(
        np.asarray(v, float), np.nan * np.real(x) if is_complex(x) else np.asarray(x, float)
    )
    return order, at


def kve_order_slope(v: Any, x: Any) -> Any:
    """The derivative of exp(x) K_v(x) by v: the integral of t sinh(v t) exp(-x (cosh t - 1)) over all t > 0."""
    order, at = _real(v, x)
    out = np.full(at.shape, np.nan)
    inside = (at > 0) & (at < np.inf) & np.isfinite(order)
    if inside.any():
        u = np.abs(order[inside])
        out[inside] = np.where(order[inside] < 0, -1.0, 1.0) * _k_integral(u, at[inside])
    return like(out, v, np.real(x))


def _k_integral(v: np.ndarray, x: np.ndarray) -> np.ndarray:
    def exponent(t):
        return v * t - 2.0 * x * np.square(np.sinh(t / 2.0))

    peak = np.arcsinh(v / x)
    top = exponent(peak) - DROP
    low = np.zeros_like(x)
    high = np.minimum(np.log(2.0 + 2.0 * (2.0 * DROP + 4.0 * v) / x), (v + np.sqrt(v * v + 2.0 * DROP * x)) / x)
    for _ in range(12):  # Newton's method, for a concave function, from beyond its ends
        low = np.maximum(low - np.minimum((exponent(low) - top) / np.maximum(v - x * np.sinh(low), 1e-300), 0.0), 0.0)
        high = high - (exponent(high) - top) / (v - x * np.sinh(high))
    low = np.minimum(low, peak)
    cuts = (peak - 8.0, peak, peak + 4.0)
    with np.errstate(over="ignore"):
        return tail(low, high, cuts, lambda t: -0.5 * t * np.expm1(-2.0 * v * t) * np.exp(exponent(t)))


def kv_order_slope(v: Any, x: Any) -> Any:
    return np.exp(-np.real(x)) * kve_order_slope(v, x)


def ive_order_slope(v: Any, x: Any) -> Any:
    """The derivative of exp(-|x|) I_v(x) by v; at negative orders by that of K (DLMF 10.27.2)."""
    order, at = _real(v, x)
    out = np.full(at.shape, np.nan)
    out[(at == 0) & (order > 0)] = 0.0
    inside = (at > 0) & (at < np.inf) & np.isfinite(order)
    if inside.any():
        n, z = order[inside], at[inside]
        u, left = np.abs(n), n < 0
        slope = _i_sum(u, z)
        if left.any():
            slope[left] = -slope[left] - _k_part(u[left], z[left])
        out[inside] = slope
    return like(out, v, np.real(x))


def _k_part(u: np.ndarray, x: np.ndarray) -> np.ndarray:
    turn = math.pi * u
    with np.errstate(invalid="ignore"):
        k = 2.0 * np.cos(turn) * sc.kve(u, x) + 2.0 / math.pi * np.sin(turn) * kve_order_slope(u, x)
        return k * np.exp(-2.0 * x)


def _i_sum(v: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The terms round the greatest, at steps that are small beside their spread."""
    greatest = (np.hypot(v, x) - v) / 2.0
    spread = np.sqrt(greatest * (greatest + v) / (2.0 * greatest + v + 1e-300))
    half = 9.0 * spread + 12.0
    step = np.maximum(np.ceil(2.0 * half / _TERMS), 1.0)
    first = np.maximum(np.floor(greatest - half), 0.0)
    k = first + step * np.arange(float(_TERMS))[:, None]
    log = np.log(x / 2.0)
    terms = np.exp((2.0 * k + v) * log - sc.gammaln(k + 1.0) - sc.gammaln(k + v + 1.0) - x)
    return step * np.sum(terms * (log - sc.psi(k + v + 1.0)), axis=0)


def iv_order_slope(v: Any, x: Any) -> Any:
    return np.exp(np.abs(np.real(x))) * ive_order_slope(v, x)


pure.update({kve_order_slope, kv_order_slope, ive_order_slope, iv_order_slope})
