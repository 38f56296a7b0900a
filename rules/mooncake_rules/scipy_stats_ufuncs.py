"""scipy.stats: the elementwise functions of distributions that SciPy keeps to itself."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st

from mooncake_py.registry import pure, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.scipy_elementwise import Entry, register_table
from mooncake_rules.scipy_probability import kolmogorov_curvature
from mooncake_rules.scipy_shapes import betainc_slope_a, betainc_slope_b
from mooncake_rules.scipy_special import beta_density


def _skew_slope(x: Any, m: Any, s: Any, a: Any) -> Any:
    """By the shape, of ndtr(z) - 2 T(z, a) with Owen's T."""
    z = (x - m) / s
    return -np.exp(-0.5 * z * z * (1.0 + a * a)) / (np.pi * (1.0 + a * a))


def _skew_density(x: Any, m: Any, s: Any, a: Any) -> Any:
    z = (x - m) / s
    return 2.0 / s * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) * sc.ndtr(a * z)


def _binomial_slopes(k: Any, n: Any, p: Any) -> tuple[Any, Any, Any]:
    """By all three, of the binomial distribution function between whole numbers too: that of I(1 - p; n - k, k + 1)."""
    by_rest, by_k = betainc_slope_a(n - k, k + 1.0, 1.0 - p), betainc_slope_b(n - k, k + 1.0, 1.0 - p)
    return by_k - by_rest, by_rest, -beta_density(k + 1.0, n - k, p)


def _binomial_mass_slope(k: Any, n: Any, p: Any, y: Any) -> Any:
    """By the probability p: n times the difference of the masses of k - 1 and k of one trial less, also at 0 and 1."""
    inner = (p > 0) & (p < 1)
    safe = np.where(inner, p, 0.5)
    at_end = np.where(p == 0, (k == 1) * 1.0 - (k == 0), (k == n) * 1.0 - (k == n - 1))
    return np.where(inner, y * (k / safe - (n - k) / (1.0 - safe)), n * at_end)


def _waiting_mass_slope(k: Any, n: Any, p: Any, y: Any) -> Any:
    """By the probability p, of the negative binomial distribution; at 1 all comes from the first failure."""
    inner = p < 1
    safe = np.where(inner, p, 0.5)
    return np.where(inner, y * (n / safe - k / (1.0 - safe)), n * ((k == 0) * 1.0 - (k == 1)))


_PRIVATE = [
    Entry("_binom_cdf", (lambda k, n, p, y: _binomial_slopes(k, n, p)[0],
                         lambda k, n, p, y: _binomial_slopes(k, n, p)[1],
                         lambda k, n, p, y: _binomial_slopes(k, n, p)[2]), (3.0, 7.0, 0.4)),
    Entry("_binom_sf", (lambda k, n, p, y: -_binomial_slopes(k, n, p)[0],
                        lambda k, n, p, y: -_binomial_slopes(k, n, p)[1],
                        lambda k, n, p, y: -_binomial_slopes(k, n, p)[2]), (3.0, 7.0, 0.4)),
    Entry("_binom_pmf", (lambda k, n, p, y: y * (sc.psi(n - k + 1.0) - sc.psi(k + 1.0) + sc.logit(p)),
                         lambda k, n, p, y: y * (sc.psi(n + 1.0) - sc.psi(n - k + 1.0) + np.log1p(-p)),
                         lambda k, n, p, y: _binomial_mass_slope(k, n, p, y)), (3.0, 7.0, 0.4)),
    Entry("_nbinom_pmf", (None, lambda k, n, p, y: y * (sc.psi(k + n) - sc.psi(n) + np.log(p)),
                          lambda k, n, p, y: _waiting_mass_slope(k, n, p, y)), (3, 6.5, 0.4)),
    Entry("_nbinom_cdf", (None, lambda k, n, p, y: betainc_slope_a(n, k + 1.0, p),
                          lambda k, n, p, y: beta_density(n, k + 1.0, p)), (3, 6.5, 0.4)),
    Entry("_nbinom_mean", (lambda n, p, y: (1.0 - p) / p, lambda n, p, y: -n / (p * p)), (6.5, 0.4)),
    Entry("_nbinom_variance", (lambda n, p, y: (1.0 - p) / (p * p),
                               lambda n, p, y: n * (p - 2.0) / p**3), (6.5, 0.4)),
    Entry("_nbinom_skewness", (lambda n, p, y: -0.5 * y / n,
                               lambda n, p, y: y * (0.5 / (1.0 - p) - 1.0 / (2.0 - p))), (6.5, 0.4)),
    Entry("_nbinom_kurtosis_excess", (lambda n, p, y: -y / n,
                                      lambda n, p, y: ((2.0 * p - 6.0) / n + y) / (1.0 - p)), (6.5, 0.4)),
    Entry("_kolmogp", (lambda x, y: kolmogorov_curvature(x),), (0.61,)),
    Entry("_beta_pdf", (lambda x, a, b, y: y * ((a - 1.0) / x - (b - 1.0) / (1.0 - x)),
                        lambda x, a, b, y: y * (np.log(x) - sc.psi(a) + sc.psi(a + b)),
                        lambda x, a, b, y: y * (np.log1p(-x) - sc.psi(b) + sc.psi(a + b))), (0.4, 1.3, 2.2)),
    Entry("_skewnorm_cdf", (lambda x, m, s, a, y: _skew_density(x, m, s, a),
                            lambda x, m, s, a, y: -_skew_density(x, m, s, a),
                            lambda x, m, s, a, y: -(x - m) / s * _skew_density(x, m, s, a),
                            lambda x, m, s, a, y: _skew_slope(x, m, s, a)), (0.7, 0.3, 1.2, 0.8)),
]  # fmt: skip
pure.update({_skew_slope, _skew_density, _binomial_slopes, _binomial_mass_slope, _waiting_mass_slope})
_ufuncs = importlib.import_module("scipy.special._ufuncs")
for _name in ("_binom_ppf", "_binom_isf", "_nbinom_ppf", "_nbinom_isf"):  # whole numbers
    if hasattr(_ufuncs, _name):
        zero_derivative(getattr(_ufuncs, _name))

CASES: list[RuleCase] = register_table(_ufuncs, _PRIVATE)

if hasattr(st, "Binomial"):
    CASES += [
        case(lambda p, m=m: getattr(st.Binomial(n=5, p=p), m)(2), 0.3)
        for m in ("pmf", "logpmf", "cdf", "logcdf", "ccdf", "logccdf")
    ]
    CASES.append(case(lambda p: st.Binomial(n=[5, 6], p=p).cdf([[2], [3]]), np.array([0.3, 0.6])))
CASES += [case(lambda a, b, f=f: f(np.array([-4, 0, 3]), a, b), 5.0, 3.3) for f in (st.skellam.cdf, st.skellam.logsf)]
_FAR = np.array([-700.0, -80.0, -3.0, 0.0, 3.0, 80.0, 700.0])
CASES += [case(f, _FAR, 14.0, 0.24) for f in (st.nct.logpdf, st.nct.logcdf, st.nct.logsf)]
CASES += [case(st.ncx2.logsf, 560.0, 21.0, 1.06), case(st.ncf.logsf, 33.0, 27.0, 27.0, 0.4)]
