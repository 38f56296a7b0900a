"""Derivatives by shape parameters, for which SciPy has no function of its own."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import pure
from mooncake_rules.common import is_complex


def trigamma(x: Any) -> Any:
    """The derivative of psi: its asymptotic series beyond |z| = 12, recurrence and reflection (DLMF 5.15)."""
    if not is_complex(x):
        x = np.asarray(x)[()]
        return np.where(
            x > 0, sc.zeta(2.0, np.where(x > 0, x, 1.0)), _reflected(x, sc.zeta(2.0, 1.0 - np.minimum(x, 0)))
        )
    z = np.asarray(x, dtype=complex)
    left = z.real < 0.5
    w = np.where(left, 1.0 - z, z)
    t = sum(1.0 / (w + k) ** 2 for k in range(12))
    a = 1.0 / (w + 12) ** 2
    tail = 1 / 6 - a * (1 / 30 - a * (1 / 42 - a * (1 / 30 - a * (5 / 66 - a * (691 / 2730 - a * 7 / 6)))))
    t = t + 1.0 / (w + 12) + a / 2 + a / (w + 12) * tail
    return np.where(left, _reflected(z, t), t)[()]


def _reflected(x: Any, t: Any) -> Any:
    return (math.pi / np.sin(math.pi * np.where(x == 0, 0.5, x))) ** 2 - t


def like(y: Any, *args: Any) -> Any:
    """y in the precision of the arguments, a number where they are."""
    kind = np.result_type(*[a if isinstance(a, np.ndarray) else float(a) for a in args])
    return y.astype(kind)[()] if kind == np.float32 else y[()]


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
DROP = 40.0
"""Tails end where the density is exp(-40) of what it was."""


def _tail_end(
    at: np.ndarray, below: np.ndarray, peak: np.ndarray, starts: tuple[np.ndarray, np.ndarray], log_density: Any
) -> np.ndarray:
    """Where the tail that begins at `at` may be cut off: below it, or above it.

    `log_density` gives a concave function and its slope; Newton's method comes to the end from the start without
    passing it.
    """
    top = log_density(np.where(below, at, np.maximum(at, peak)))[0] - DROP
    u = np.where(below, np.minimum(starts[0], at), np.maximum(starts[1], at))
    for _ in range(12):
        value, slope = log_density(u)
        u = u - (value - top) / slope
    return np.where(below, np.minimum(u, at), np.maximum(u, at))


def tail(at: np.ndarray, end: np.ndarray, cuts: tuple[Any, ...], f: Any) -> np.ndarray:
    """The integral of f between the two, by Gauss's rule in parts: a long tail is cut where f changes fast."""
    low, high = np.minimum(at, end), np.maximum(at, end)
    long = high - low > 16.0
    middle = (low + high) / 2.0
    inner = [np.where(long, np.clip(c, low, high), middle) for c in cuts] if long.any() else [middle]
    edges = [low, *inner, high]
    total = np.zeros_like(low)
    for a, b in pairwise(edges):
        half = (b - a) / 2.0
        total += half * (_WEIGHTS @ f(a + half + _NODES[:, None] * half))
    return total


def gammainc_slope(a: Any, x: Any) -> Any:
    """The derivative of gammainc(a, x) by a: the integral of (log t - psi(a)) times the density, from 0 to x.

    Over all t it is zero; so it is taken over the tail in which the integrand has one sign, and nothing cancels.
    """
    aa, xx = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    out = np.full(aa.shape, np.nan)
    out[((xx <= 0) | (xx == np.inf)) & (aa > 0)] = 0.0  # left of 0 the value is NaN: often one that is not chosen
    inside = (aa > 0) & (xx > 0) & (xx < np.inf)
    if inside.any():
        out[inside] = _gamma_tail(aa[inside], xx[inside])
    return like(out, a, x)


def _gamma_tail(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    at, mean, norm = np.log(x), sc.psi(a), sc.gammaln(a)  # of u = log t
    below = at <= mean

    def log_density(u):
        e = np.exp(u)
        return a * u - e, a - e

    starts = (a * at - x - DROP) / a, np.log(x + 2.0 * DROP + 4.0 * a)
    end = _tail_end(at, below, np.log(a), starts, log_density)
    integral = tail(at, end, (-5.0, 0.0), lambda u: (u - mean) * np.exp(a * u - np.exp(u) - norm))
    return np.where(below, integral, -integral)


def betainc_slope_a(a: Any, b: Any, x: Any) -> Any:
    """The derivative of betainc(a, b, x) by a."""
    return _beta_slope(a, b, x, True)


def betainc_slope_b(a: Any, b: Any, x: Any) -> Any:
    """The derivative of betainc(a, b, x) by b."""
    return _beta_slope(a, b, x, False)


def _beta_slope(a: Any, b: Any, x: Any, first: bool) -> Any:
    """The integral of (log t - psi(a) + psi(a + b)) times the density, from 0 to x, as `gammainc_slope`; or by b.

    In terms of u = log(t / (1 - t)) the density is smooth, with tails like exp(a u) and exp(-b u).
    """
    aa, bb, xx = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float), np.asarray(x, float))
    out = np.full(aa.shape, np.nan)
    positive = (aa > 0) & (bb > 0)
    out[positive & ((xx <= 0) | (xx >= 1))] = 0.0
    inside = positive & (xx > 0) & (xx < 1)
    if inside.any():
        p, q, z = aa[inside], bb[inside], xx[inside]
        u = np.log(z) - np.log1p(-z)
        out[inside] = _beta_tail(p, q, u) if first else -_beta_tail(q, p, -u)
    return like(out, a, b, x)


def _logs(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log t and log(1 - t) for u = log(t / (1 - t))."""
    rest = np.log1p(np.exp(-np.abs(u)))
    return np.minimum(u, 0.0) - rest, np.minimum(-u, 0.0) - rest


def _beta_tail(a: np.ndarray, b: np.ndarray, at: np.ndarray) -> np.ndarray:
    mean, norm = sc.psi(a) - sc.psi(a + b), sc.betaln(a, b)
    below = _logs(at)[0] <= mean

    def log_density(u):
        x, y = _logs(u)
        return a * x + b * y, a * np.exp(y) - b * np.exp(x)

    def weighted(u):
        x, y = _logs(u)
        return (x - mean) * np.exp(a * x + b * y - norm)

    peak = np.log(a) - np.log(b)
    low, high = (log_density(v)[0] - DROP for v in (at, np.maximum(at, peak)))
    end = _tail_end(at, below, peak, (low / a, -high / b), log_density)
    integral = tail(at, end, (-25.0, -8.0, 0.0, 8.0, 25.0), weighted)
    return np.where(below, integral, -integral)


_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


def hurwitz_slope(s: Any, q: Any) -> Any:
    """The derivative of zeta(s, q) by s, by Euler's and Maclaurin's sum (DLMF 25.11.5), for s > -6 and q > 0."""
    ss, qq = np.broadcast_arrays(np.asarray(s, float), np.asarray(q, float))
    if np.any(ss <= -6) or np.any(qq <= 0):
        raise NotDifferentiated("the derivative of zeta by its first argument is known for x > -6 and q > 0")
    n = 12
    out = -sum(np.log(qq + k) * (qq + k) ** -ss for k in range(n))
    a = qq + n
    log = np.log(a)
    with np.errstate(divide="ignore", invalid="ignore"):
        out = out - a ** (1.0 - ss) * (log / (ss - 1.0) + 1.0 / (ss - 1.0) ** 2)
    out = out - log * a**-ss / 2.0
    p, dp = ss, np.ones_like(ss)  # the product s (s + 1) ... and its derivative
    for j, b in enumerate(_BERNOULLI, 1):
        out = out + b / math.factorial(2 * j) * a ** (1.0 - 2 * j - ss) * (dp - log * p)
        for k in (2 * j - 1, 2 * j):
            p, dp = p * (ss + k), dp * (ss + k) + p
    return like(np.asarray(out), s, q)


pure.update({trigamma, gammainc_slope, betainc_slope_a, betainc_slope_b, hurwitz_slope})
