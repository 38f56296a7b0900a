"""What scipy.stats computes in C: distribution functions of the circle, densities with Bessel functions."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st

from mooncake_py.registry import pure
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_elementwise import Entry, register_table
from mooncake_rules.scipy_orders import kve_order_slope


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
pure.update({_logs, harmonic_slope})
pure.update({von_mises_density, von_mises_slope, _bessel_ratio})
_X = np.array([-2.0, 0.4, 1.3])
CASES: list[RuleCase] = [
    *register_table(importlib.import_module("scipy.stats._stats"), _NATIVE)[:1],
    case(lambda x, k, m: st.vonmises.cdf(x, k, loc=m), _X, 1.7, 0.2),
    case(lambda x, k: st.vonmises.cdf(x, k), _X / 10.0, np.array([0.1, 5.0, 40.0])),
    case(lambda q, k: st.vonmises.ppf(q, k), np.array([0.2, 0.6]), 1.7),
    case(lambda x, p, b: st.geninvgauss.logpdf(x, p, b), np.array([0.4, 1.3]), 1.3, 0.8),
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
