"""Derivatives by shape parameters, for which SciPy has no function of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special as sc

from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import pure
from mooncake_rules.common import is_complex

_TERMS = 50_000
"""Series that have not converged after so many terms give NaN."""


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


def _like(y: Any, *args: Any) -> Any:
    """y in the precision of the arguments, a number where they are."""
    kind = np.result_type(*[a if isinstance(a, np.ndarray) else float(a) for a in args])
    return y.astype(kind)[()] if kind == np.float32 else y[()]


def gammainc_slope(a: Any, x: Any) -> Any:
    """The derivative of gammainc(a, x) by a.

    By the power series (DLMF 8.7.1) for x < a + 1 and the continued fraction (DLMF 8.9.2) else, each differentiated
    term by term; no two terms of either cancel.
    """
    aa, xx = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    out = np.full(aa.shape, np.nan)
    out[((xx <= 0) | (xx == np.inf)) & (aa > 0)] = 0.0  # left of 0 the value is NaN: often one that is not chosen
    inside = (aa > 0) & (xx > 0) & (xx < np.inf)
    low, high = inside & (xx < aa + 1.0), inside & (xx >= aa + 1.0)
    if low.any():
        out[low] = _gamma_series(aa[low], xx[low])
    if high.any():
        out[high] = -_gamma_fraction(aa[high], xx[high])
    return _like(out, a, x)


def _gamma_series(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    c, d = np.ones_like(x), np.zeros_like(x)
    s, ds = c, d
    for n in range(1, _TERMS):
        c = c * (x / (a + n))
        d = d * (x / (a + n)) - c / (a + n)
        s, ds = s + c, ds + d
        if np.all(np.abs(d) <= 1e-17 * np.abs(ds)):
            break
    else:
        return np.full_like(x, np.nan)
    return np.exp(a * np.log(x) - x - sc.gammaln(a + 1.0)) * ((np.log(x) - sc.psi(a + 1.0)) * s + ds)


def _gamma_fraction(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The derivative of the complement."""
    y = 1.0 - a
    z = x + y + 1.0
    p2, q2, p1, q1 = np.ones_like(x), x, x + 1.0, z * x
    dp2, dq2, dp1, dq1 = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), -x
    h, dh = p1 / q1, -p1 / q1 * dq1 / q1
    for n in range(1, _TERMS):
        y = y + 1.0
        z = z + 2.0
        p, q = p1 * z - p2 * (y * n), q1 * z - q2 * (y * n)
        dp = dp1 * z - p1 - dp2 * (y * n) + p2 * n
        dq = dq1 * z - q1 - dq2 * (y * n) + q2 * n
        old, h = h, p / q
        dold, dh = dh, (dp - h * dq) / q
        p2, q2, p1, q1, dp2, dq2, dp1, dq1 = p1, q1, p, q, dp1, dq1, dp, dq
        scale = np.maximum(np.abs(p), np.abs(q))
        p2, q2, p1, q1, dp2, dq2, dp1, dq1 = (v / scale for v in (p2, q2, p1, q1, dp2, dq2, dp1, dq1))
        if np.all((np.abs(h - old) <= 1e-16 * np.abs(h)) & (np.abs(dh - dold) <= 2e-16 * np.abs(dh))):
            break
    return np.exp(a * np.log(x) - x - sc.gammaln(a)) * ((np.log(x) - sc.psi(a)) * h + dh)


def betainc_slope_a(a: Any, b: Any, x: Any) -> Any:
    """The derivative of betainc(a, b, x) by a."""
    return _beta_slopes(a, b, x)[0]


def betainc_slope_b(a: Any, b: Any, x: Any) -> Any:
    """The derivative of betainc(a, b, x) by b."""
    return _beta_slopes(a, b, x)[1]


def _beta_slopes(a: Any, b: Any, x: Any) -> tuple[Any, Any]:
    """By I_x(a, b) = x^a (1-x)^b / (a B(a, b)) 2F1(a + b, 1; a + 1; x) (DLMF 8.17.8), differentiated term by term.

    Or 1 - I_(1-x)(b, a), whichever series is the shorter; its terms are all positive.
    """
    aa, bb, xx = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float), np.asarray(x, float))
    da, db = np.full(aa.shape, np.nan), np.full(aa.shape, np.nan)
    positive = (aa > 0) & (bb > 0)
    edge = positive & ((xx <= 0) | (xx >= 1))
    da[edge] = db[edge] = 0.0
    inside = positive & (xx > 0) & (xx < 1)
    if inside.any():
        p, q, z = aa[inside], bb[inside], xx[inside]
        turned = _beta_terms(q, p, 1.0 - z) < _beta_terms(p, q, z)
        first, second = _beta_series(np.where(turned, q, p), np.where(turned, p, q), np.where(turned, 1.0 - z, z))
        da[inside] = np.where(turned, -second, first)
        db[inside] = np.where(turned, -first, second)
    return _like(da, a, b, x), _like(db, a, b, x)


def _beta_terms(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum((x * (a + b) - a) / (1.0 - x), 0.0) + 36.0 / -np.log(x)


def _beta_series(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    t, ta, tb = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    s, sa, sb = t, ta, tb
    for n in range(1, _TERMS):
        r = x * (a + b + (n - 1)) / (a + n)
        ta = ta * r + t * x * (1.0 - b) / (a + n) ** 2
        tb = tb * r + t * x / (a + n)
        t = t * r
        s, sa, sb = s + t, sa + ta, sb + tb
        small = (np.abs(ta) <= 1e-17 * np.abs(sa) + 1e-18 * s) & (np.abs(tb) <= 1e-17 * np.abs(sb)) & (t <= 1e-17 * s)
        if np.all(small | (r > 1.0) & (t == 0)):
            break
    else:
        return np.full_like(x, np.nan), np.full_like(x, np.nan)
    scale = np.exp(a * np.log(x) + b * np.log1p(-x) - sc.betaln(a, b)) / a
    both = sc.psi(a + b)
    by_a = scale * ((np.log(x) - 1.0 / a - sc.psi(a) + both) * s + sa)
    return by_a, scale * ((np.log1p(-x) - sc.psi(b) + both) * s + sb)


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
    return _like(np.asarray(out), s, q)


pure.update({trigamma, gammainc_slope, betainc_slope_a, betainc_slope_b, hurwitz_slope})
