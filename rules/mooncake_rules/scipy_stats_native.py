"""What scipy.stats computes in C: distribution functions of the circle, densities of Bessel functions or integrals."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st

from mooncake_py.registry import pure
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors
from mooncake_rules.scipy_elementwise import Entry, register_table
from mooncake_rules.scipy_orders import kve_order_slope
from mooncake_rules.scipy_shapes import like


def von_mises_density(k: Any, x: Any) -> Any:
    return np.exp(-2.0 * k * np.square(np.sin(x / 2.0))) / (2.0 * math.pi * sc.i0e(k))


def von_mises_slope(k: Any, x: Any) -> Any:
    """By the concentration, of x / 2 pi + sum of I_j(k) / I_0(k) sin(j x) / (pi j), term by term."""
    k, x = np.broadcast_arrays(np.asarray(k, float), np.asarray(x, float))
    most = float(np.max(k, initial=0.0))
    j = np.arange(1.0, 30.0 + 9.0 * math.sqrt(most)).reshape(-1, *[1] * k.ndim)
    i0 = sc.i0e(k)
    ratio, one = sc.ive(j, k) / i0, sc.i1e(k) / i0
    slope = (sc.ive(j - 1.0, k) + sc.ive(j + 1.0, k)) / (2.0 * i0) - ratio * one
    return np.sum(slope * np.sin(j * x) / j, axis=0) / math.pi


def _bessel_ratio(p: Any, b: Any) -> Any:
    """The logarithmic derivative of K_p(b) by b."""
    return -0.5 * (sc.kve(p - 1.0, b) + sc.kve(p + 1.0, b)) / sc.kve(p, b)


def _logs(m: Any, a: Any) -> Any:
    """The sum of i^-a log(i) for i up to m: term by term up to a hundred, from there by Euler and Maclaurin."""
    m, a = np.broadcast_arrays(np.asarray(m, float), np.asarray(a, float))
    first, i = 100, np.arange(1.0, 101.0).reshape(-1, *[1] * m.ndim)
    head = np.sum(np.where(i <= m, i**-a * np.log(i), 0.0), axis=0)
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (v.reshape(-1, *[1] * m.ndim) for v in (x, w))
    half = (np.log(np.maximum(m, first)) - math.log(first)) / 2
    u = math.log(first) + half * (x + 1.0)
    tail = np.sum(w * half * u * np.exp((1.0 - a) * u), axis=0)
    for sign, e in ((1.0, np.maximum(m, first)), (-1.0, np.full(m.shape, float(first)))):
        log = np.log(e)
        third = (3 * a * a + 6 * a + 2 - a * (a + 1) * (a + 2) * log) / e**3
        tail = tail + sign * e**-a * (log / 2 + (1.0 - a * log) / (12 * e) - third / 720)
    return head + tail


def harmonic_slope(j: Any, k: Any, n: Any, a: Any, y: Any) -> Any:
    """By the exponent, of the sum of i^-a from j to k over that up to n."""
    part = _logs(k, a) - _logs(np.asarray(j) - 1.0, a)
    return (y * _logs(n, a) - part) / _harmonic(n, a)


def landau_slope(x: Any) -> Any:
    """The derivative of Landau's density by its argument.

    With z = pi x / 2 + log(pi / 2) the density is the integral of exp(s log s + z s) / (4 i) over a vertical line. On
    that through the saddle point nothing cancels; where z is large the path is laid along the cut, and the integral
    is that of exp(-t log t - z t) sin(pi t) / 2 over all t > 0.
    """
    z = np.asarray(math.pi / 2.0 * np.asarray(x, float) + math.log(math.pi / 2.0))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        slope = np.where(z < 1.0, _on_the_line(np.minimum(z, 1.0)), _on_the_cut(np.maximum(z, 1.0)))
    return like(math.pi / 4.0 * slope, x)


def _on_the_line(z: np.ndarray) -> np.ndarray:
    saddle = np.exp(-1.0 - z)
    end = np.arcsinh(9.0 / np.sqrt(saddle) + 40.0 / saddle)
    u = np.linspace(0.0, 1.0, 400).reshape(-1, *[1] * z.ndim) * end
    s = saddle * (1.0 + 1j * np.sinh(u))
    f = np.real(s * np.exp(s * np.log(s) + z * s)) * saddle * np.cosh(u)
    return (np.sum(f, axis=0) - (f[0] + f[-1]) / 2.0) * end / 399.0


def _on_the_cut(z: np.ndarray) -> np.ndarray:
    w, step = np.linspace(-4.0, 6.0, 300, retstep=True)
    w = w.reshape(-1, *[1] * z.ndim)
    t = np.exp(w - np.exp(-w)) / z
    return -np.sum(np.exp(-z * t - t * np.log(t)) * np.sin(math.pi * t) * t * t * (1.0 + np.exp(-w)), axis=0) * step


def smirnov_curvature(n: Any, x: Any) -> Any:
    """The second derivative of the sum over j of x C(n, j) (x + j / n)^(j - 1) (1 - x - j / n)^(n - j)."""
    n, x = np.broadcast_arrays(np.asarray(n, float), np.asarray(x, float))
    j = np.arange(np.max(n, initial=0.0) + 1.0).reshape(-1, *[1] * n.ndim)
    a, b = x + j / n, 1.0 - x - j / n
    good = (b > 0) & (x > 0)
    a, b, rest = np.where(good, a, 1.0), np.where(good, b, 1.0), np.maximum(n - j, 0.0)
    log = sc.gammaln(n + 1.0) - sc.gammaln(j + 1.0) - sc.gammaln(rest + 1.0)
    terms = np.where(good, np.exp(log + (j - 1.0) * np.log(a) + rest * np.log(b)), 0.0)
    rate = (j - 1.0) / a - rest / b
    return np.sum(terms * (2.0 * rate + x * (rate * rate - (j - 1.0) / (a * a) - rest / (b * b))), axis=0)[()]


_harmonic: Any = getattr(importlib.import_module("scipy.special._ufuncs"), "_gen_harmonic", None)
_NATIVE = [
    Entry("von_mises_cdf", (lambda k, x, y: von_mises_slope(k, x),
                            lambda k, x, y: von_mises_density(k, x)), (1.7, 0.4)),
    Entry("geninvgauss_logpdf", (lambda x, p, b, y: (p - 1.0) / x - 0.5 * b * (1.0 - 1.0 / (x * x)),
                                 lambda x, p, b, y: np.log(x) - kve_order_slope(p, b) / sc.kve(p, b),
                                 lambda x, p, b, y: -0.5 * (x + 1.0 / x) - _bessel_ratio(p, b)), (0.7, 1.3, 0.8)),
]  # fmt: skip
_HARMONIC = [
    Entry("_gen_harmonic", (lambda n, a, y: 0.0, lambda n, a, y: -_logs(n, a)), (7.0, 1.3)),
    Entry("_normalized_gen_harmonic", (*[lambda j, k, n, a, y: 0.0] * 3,
                                       lambda j, k, n, a, y: harmonic_slope(j, k, n, a, y)), (2.0, 5.0, 9.0, 1.3)),
]  # fmt: skip
_UFUNCS = [
    Entry("_landau_pdf", (lambda x, m, s, y: landau_slope(x), None, None), (0.7, 0, 1)),
    Entry("_smirnovp", (None, lambda n, x, y: smirnov_curvature(n, x)), (12, 0.21)),
]  # fmt: skip


def log_density(self, x, p, a, b):
    """Of the generalized hyperbolic distribution."""
    d, r = np.sqrt((a + b) * (a - b)), np.sqrt(1.0 + x * x)
    norm = p * np.log(d) - 0.5 * math.log(2.0 * math.pi) - (p - 0.5) * np.log(a) - np.log(sc.kve(p, d)) + d
    return norm + (p - 0.5) * np.log(r) + np.log(sc.kve(p - 0.5, a * r)) - a * r + b * x


def density(self, x, p, a, b):
    return np.exp(log_density(self, x, p, a, b))


def log_density_of_inverse(self, x, p, b):
    """Of the generalized inverse Gaussian distribution, whose argument is positive."""
    return (p - 1.0) * np.log(x) - 0.5 * b * np.square(1.0 - x) / x - np.log(2.0 * sc.kve(p, b))


_Hyperbolic: Any = type(st.genhyperbolic)
mirrors(_Hyperbolic._logpdf)(log_density)
mirrors(type(st.geninvgauss)._logpdf)(log_density_of_inverse)
mirrors(_Hyperbolic._pdf)(density)
pure.update({_logs, harmonic_slope, landau_slope, smirnov_curvature})
pure.update({von_mises_density, von_mises_slope, _bessel_ratio})
_X = np.array([-2.0, 0.4, 1.3])
CASES: list[RuleCase] = [
    *register_table(importlib.import_module("scipy.stats._stats"), _NATIVE)[:1],
    case(lambda x, k, m: st.vonmises.cdf(x, k, loc=m), _X, 1.7, 0.2),
    case(lambda x, k: st.vonmises.cdf(x, k), _X / 10.0, np.array([0.1, 5.0, 40.0])),
    case(lambda q, k: st.vonmises.ppf(q, k), np.array([0.2, 0.6]), 1.7),
    case(lambda x, p, b: st.geninvgauss.logpdf(x, p, b), np.array([0.4, 1.3]), 1.3, 0.8),
    *register_table(importlib.import_module("scipy.special._ufuncs"), _UFUNCS),
    case(lambda x, m, s: st.landau.logpdf(x, m, s), np.array([-1.5, 0.1, 3.0, 40.0]), 0.2, 1.3),
    case(lambda x: st.ksone.pdf(x, 30), np.array([0.01, 0.12, 0.2])),
    case(lambda x: st.ksone(7).logpdf(x), 0.3),
    case(lambda x, p, a, b: st.genhyperbolic.logpdf(x, p, a, b), _X, 0.5, 1.5, -0.5),
    case(lambda x, p, s: st.genhyperbolic.pdf(x, p, 1.5, [[-0.3], [0.2]], scale=s), _X, -0.7, 1.3),
    case(lambda x, p, a, b: st.genhyperbolic.cdf(x, p, a, b), _X, 0.5, 1.5, -0.5),
    case(lambda p, a, b: st.genhyperbolic.logsf(np.array([0.2, 7.0, 81.0]), p, a, b), 0.5, 1.5, -0.5),
    case(lambda a: st.genhyperbolic.logcdf(np.array([-30.0, 2.0]), 0.5, a, -0.5), 1.5),
    case(lambda x, p, b: st.geninvgauss.cdf(x, p, b), np.array([0.3, 2.0]), 1.4, 1.2),
    case(lambda p, b: st.geninvgauss.ppf(np.array([0.3, 0.9]), p, b), 1.4, 1.2),
    case(lambda x, df, nc: st.ncx2.nnlf((df, nc, 0.0, 1.0), x), np.array([0.4, 1.3]), 3.2, 1.1),
]
if _harmonic is not None:
    register_table(importlib.import_module("scipy.special._ufuncs"), _HARMONIC)
    CASES += [
        case(lambda a: st.zipfian.pmf([1, 3, 7], a, 10), 1.3),
        case(lambda a: st.zipfian.logcdf(300, a, 100000), 0.7),
        case(lambda a: st.zipfian.sf(150, a, 2**20), np.array([0.9, 1.0, 2.3])),
        case(lambda a: st.zipfian.mean(a, 40) + st.zipfian.var(a, 500), 1.3),
    ]
