"""scipy.stats: distributions and transformations whose formulas change where a parameter has one value.

SciPy takes the limit there, which does not depend on the parameter: its derivative would be zero. The functions here
have the limit within them, and what they have for derivatives is that on both sides.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st
from scipy.stats import _morestats, _stats_py

from mooncake_py.registry import overlay, pure
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import as_written
from mooncake_rules.scipy_elementwise import elementwise, keep, onto
from mooncake_rules.scipy_probability import inv_boxcox_slope


def log_by(x: Any, c: Any) -> Any:
    """log(1 + c x) / c; x where c is zero."""
    zero = c == 0
    return np.where(zero, x, np.log1p(c * x) / np.where(zero, 1.0, c))


@elementwise(log_by, 2)
def _log_by(x, c):
    y = log_by(x, c)
    sx, sc = keep(x), keep(c)

    def pullback(dy):
        return onto(dy / (1.0 + c * x), x, sx), onto(dy * inv_boxcox_slope(x, c), c, sc)

    return y, pullback


pure.add(log_by)

_Symmetric: Any = type(st.gennorm)
_Extreme: Any = type(st.genextreme)
_Pareto: Any = type(st.genpareto)
_Logistic: Any = type(st.genlogistic)
_Kappa: Any = type(st.kappa4)
_Asymmetric: Any = type(st.laplace_asymmetric)
_Skew: Any = type(st.skewnorm)
_Pearson: Any = type(st.pearson3)


@overlay(_Extreme._get_support)
def extreme_support(self, c):
    """Without steps that overflow where an end is infinite."""
    end = 1.0 / np.where(c == 0, 1.0, c)
    return np.where(c < 0, end, -np.inf), np.where(c > 0, end, np.inf)


@overlay(_Extreme._loglogcdf)
def extreme_loglogcdf(self, x, c):
    return log_by(-x, c)


@overlay(_Extreme._logpdf)
def extreme_logpdf(self, x, c):
    log = log_by(-x, c)
    return -np.exp(log) + log - np.log1p(-c * x)


def log_gammas(c: Any, weights: tuple[float, ...], order: int) -> Any:
    """The sum of w_k gammaln(1 + k c), k = 1, 2, ..., over c^order; near 0 by its series, which begins with c^order."""
    near = np.abs(c) < 0.05
    far = np.where(near, 0.5, c)
    small = np.where(near, c, 0.0)
    total, series = 0.0, 0.0
    for k, w in enumerate(weights, 1):
        total = total + w * sc.gammaln(1.0 + k * far)
    for n in range(26, order - 1, -1):
        power_sum = sum([w * float(k) ** n for k, w in enumerate(weights, 1)])
        series = series * small + (-1.0) ** n * power_sum * (sc.zeta(float(n)) / n if n > 1 else np.euler_gamma)
    return np.where(near, series, total / far**order)


def beyond_linear(x: Any) -> Any:
    """(exp(x) - 1 - x) / x^2"""
    return 0.5 * sc.hyp1f1(1.0, 3.0, x)


@overlay(_Extreme._stats)
def extreme_stats(self, c):
    """Central moments over powers of c, which are smooth at 0, by gamma(1 + k c) / gamma(1 + c)^k = exp(c^2 m_k)."""
    log = log_gammas(c, (1.0,), 1)
    m2, m3, m4 = [log_gammas(c, (-k, *[0.0] * (int(k) - 2), 1.0), 2) for k in (2.0, 3.0, 4.0)]
    e2, e3, e4 = [m * m * beyond_linear(c * c * m) for m in (m2, m3, m4)]
    second = m2 * sc.exprel(c * c * m2)
    third = log_gammas(c, (3.0, -3.0, 1.0), 3) + c * (e3 - 3.0 * e2)
    fourth = log_gammas(c, (-4.0, 6.0, -4.0, 1.0), 4) + e4 - 4.0 * e3 + 6.0 * e2
    return (
        np.where(c < -1.0, np.nan, -log * sc.exprel(c * log)),
        np.where(c < -0.5, np.nan, np.exp(2.0 * c * log) * second),
        np.where(c < -1.0 / 3.0, np.nan, -third / second**1.5),
        np.where(c < -0.25, np.nan, fourth / second**2 - 3.0),
    )


@overlay(_Pareto._logpdf)
def pareto_logpdf(self, x, c):
    return -(c + 1.0) * log_by(x, c)


@overlay(_Pareto._logsf)
def pareto_logsf(self, x, c):
    return -log_by(x, c)


@overlay(_Kappa._logcdf)
def kappa_logcdf(self, x, h, k):
    return log_by(-np.exp(log_by(-x, k)), h)


@overlay(_Kappa._logpdf)
def kappa_logpdf(self, x, h, k):
    log = log_by(-x, k)
    return (1.0 - k) * log + (1.0 - h) * log_by(-np.exp(log), h)


@overlay(_Symmetric._cdf)
def symmetric_cdf(self, x, beta):
    """In the middle it is one half for every shape."""
    half, away = 0.5 * np.sign(x), np.where(x == 0, 1.0, np.abs(x))
    return (0.5 + half) - half * sc.gammaincc(1.0 / beta, away**beta)


@overlay(_Asymmetric._cdf)
def asymmetric_cdf(self, x, kappa):
    return np.where(x >= 0, 1.0 - _side(x, kappa), _side(-x, 1.0 / kappa))


@overlay(_Asymmetric._sf)
def asymmetric_sf(self, x, kappa):
    return np.where(x >= 0, _side(x, kappa), 1.0 - _side(-x, 1.0 / kappa))


def _side(x: Any, kappa: Any) -> Any:
    """How much is beyond x, on one side of the middle."""
    return np.exp(-np.where(x < 0, 0.0, x) * kappa) / (1.0 + kappa * kappa)


@overlay(_Logistic._logpdf)
def logistic_logpdf(self, x, c):
    """Smooth at 0, where SciPy's formula changes."""
    return np.log(c) - x + (c + 1.0) * sc.log_expit(x)


@overlay(_Skew._logpdf)
def skew_logpdf(self, x, a):
    return -0.5 * x * x + sc.log_ndtr(a * x) + 0.5 * np.log(2.0 / np.pi)


@overlay(_Skew._pdf)
def skew_pdf(self, x, a):
    return np.sqrt(2.0 / np.pi) * np.exp(-0.5 * x * x) * sc.ndtr(a * x)


@overlay(_Pearson._logpdf)
def pearson_logpdf(self, x, skew):
    """The normal density where the skew s is near zero, with the first term of its series: s (x^3 - 3 x) / 6."""
    y, x, moved, normal, other, beta, alpha, _ = self._preprocess(x, skew)
    s, z = np.broadcast_to(skew, normal.shape)[normal], x[normal]
    y[normal] = -0.5 * z * z - 0.5 * np.log(2.0 * np.pi) + s * z * (z * z - 3.0) / 6.0
    y[other] = np.log(np.abs(beta)) + st.gamma.logpdf(moved, alpha)
    return y


@overlay(_Pearson._cdf)
def pearson_cdf(self, x, skew):
    """The same for the distribution function: -s (x^2 - 1) phi(x) / 6. That of -s at -x is the rest of that of s."""
    y, x, moved, normal, other, _, alpha, _ = self._preprocess(x, skew)
    s = np.broadcast_to(skew, normal.shape)
    z = x[normal]
    y[normal] = sc.ndtr(z) - s[normal] * (z * z - 1.0) * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi) / 6.0
    right, left = s[other] > 0, s[other] < 0
    y[other & (s > 0)] = st.gamma.cdf(moved[right], alpha[right])
    y[other & (s < 0)] = st.gamma.sf(moved[left], alpha[left])
    return y


@overlay(_Pearson._sf)
def pearson_sf(self, x, skew):
    return self._cdf(-x, -skew)


# -- power transformations ----------------------------------------------------------------------------------

_NEAR = 1e-3
_boxcox_llf, _yeojohnson_llf = as_written(st.boxcox_llf), as_written(st.yeojohnson_llf)


def _power(x, p):
    """((1 + x)^p - 1) / p"""
    return np.expm1(p * np.log1p(x)) / p if abs(p) > _NEAR else sc.boxcox1p(x, p)


@overlay(_morestats._yeojohnson_transform)
def yeojohnson_transform(x, lmbda, xp=None):
    right = x >= 0
    return np.where(right, _power(np.where(right, x, 0.0), lmbda), -_power(np.where(right, 0.0, -x), 2.0 - lmbda))


@overlay(st.boxcox_llf)
def boxcox_llf(lmb, data, **options):
    if options or abs(lmb) > _NEAR:
        return _boxcox_llf(lmb, data, **options)
    x = np.asarray(data)
    return (lmb - 1.0) * np.sum(np.log(x), axis=0) - len(x) / 2.0 * np.log(np.var(sc.boxcox(x, lmb), axis=0))


@overlay(st.yeojohnson_llf)
def yeojohnson_llf(lmb, data, **options):
    x = np.asarray(data)
    right = x >= 0
    limit = (abs(lmb) < _NEAR and np.all(right)) or (abs(lmb - 2.0) < _NEAR and not np.any(right))
    if options or not limit:
        return _yeojohnson_llf(lmb, data, **options)
    spread = np.log(np.var(yeojohnson_transform(x, lmb), axis=0))
    return -len(x) / 2.0 * spread + (lmb - 1.0) * np.sum(np.sign(x) * np.log1p(np.abs(x)), axis=0)


_pmean, _divergence = as_written(st.pmean), as_written(_stats_py._power_divergence)


@overlay(inspect.unwrap(st.pmean))  # what the wrapper of statistics calls
def pmean(a, p, *, axis=0, dtype=None, weights=None, **options):
    """Near zero by the cumulants of the logarithm, of which the power mean is the generating function over p."""
    if options or dtype is not None or abs(p) > _NEAR:
        return _pmean(a, p, axis=axis, dtype=dtype, weights=weights, **options)
    logs = np.log(a)
    first = np.average(logs, axis, weights, keepdims=True)
    second, third, fourth = [np.average((logs - first) ** k, axis, weights) for k in (2, 3, 4)]
    fourth = fourth - 3.0 * second**2
    return np.exp(np.average(logs, axis, weights) + p * (second / 2.0 + p * (third / 6.0 + p * fourth / 24.0)))


def divergence_slope(observed: Any, expected: Any, power: Any) -> Any:
    """The derivative by the power where that is -1, 0 or 1."""
    log = np.log(np.where(observed == 0, 1.0, observed) / expected)
    if power == 0:
        return observed * log * (log - 2.0)
    if power < 0:
        return -expected * log * (log + 2.0)
    return observed * (observed / expected * (log - 1.5) + 1.5)


@overlay(_stats_py._power_divergence)
def power_divergence(f_obs, f_exp, ddof, axis, lambda_, sum_check=True):
    """SciPy has formulas for the powers -1, 0 and 1: to these the first term by the power is added."""
    statistic, pvalue = _divergence(f_obs, f_exp, ddof, axis, lambda_, sum_check)
    if type(lambda_) is float and lambda_ in (-1.0, 0.0, 1.0):
        f_obs = np.asarray(f_obs, float)
        f_exp = np.mean(f_obs, axis, keepdims=True) if f_exp is None else np.asarray(f_exp, float)
        slope = np.sum(divergence_slope(f_obs, f_exp, lambda_), axis)
        count = np.sum(np.ones(np.broadcast_shapes(f_obs.shape, f_exp.shape)), axis)
        statistic = statistic + (lambda_ - round(lambda_)) * slope
        pvalue = sc.chdtrc(count - 1 - np.asarray(ddof), statistic)
    return _stats_py.Power_divergenceResult(statistic, pvalue)


# -- cases --------------------------------------------------------------------------------------------------

_X = np.array([-0.4, 0.3, 1.2])

CASES: list[RuleCase] = [
    case(lambda x, c, f=f: f(x, c), x, c)
    for d, x in ((st.genextreme, _X), (st.genpareto, _X + 1), (st.skewnorm, _X))
    for f in (d.pdf, d.logpdf, d.cdf, d.logsf)
    for c in (0.0, np.array([0.0, 1e-9, 0.2]))
]
CASES += [case(st.genlogistic.logpdf, np.array([-30.0, 0.0, 0.3]), 0.4)]
CASES += [case(st.pearson3.logsf, _X, np.array([0.0, 0.4, -0.7]))]
CASES += [case(d.ppf, np.array([0.2, 0.7]), 0.0) for d in (st.genextreme, st.genpareto, st.skewnorm)]
CASES += [
    case(f, _X, h, k)
    for f in (st.kappa4.pdf, st.kappa4.logpdf, st.kappa4.cdf, st.kappa4.logsf)
    for h, k in ((0.0, 0.0), (0.0, 0.2), (-0.3, 0.0), (np.array([0.0, 0.3, 0.2]), np.array([0.2, 0.0, 0.1])))
]
CASES += [case(lambda c, x: st.genextreme.nnlf((c, 0.1, 1.3), x), 0.0, _X)]
CASES += [
    case(f, lam, np.abs(_X) if "boxcox" in f.__name__ else x)
    for f, lams in ((st.boxcox_llf, (0.0, 0.4)), (st.yeojohnson_llf, (0.0, 0.4, 2.0)))
    for lam in lams
    for x in (_X, np.abs(_X), -np.abs(_X))
]
CASES += [case(st.yeojohnson, _X, lam) for lam in (0.0, 0.4, 2.0)]
CASES += [
    case(lambda c, k=k: st.genextreme.stats(c, moments=k), np.array(c)) for k in "mvsk" for c in (0.06, [1.3, -0.2])
]
CASES += [case(lambda c: st.genextreme.mean(c), 0.0)]
CASES += [case(f, np.array([-588.0, -0.3, 0.7]), 1.7) for f in (st.laplace_asymmetric.cdf, st.laplace_asymmetric.sf)]
CASES += [
    case(lambda x, p: st.pmean(x, p, axis=1), np.stack([_X, _X + 1]) + 0.5, 0.0),
    case(lambda x, p, w: st.pmean(x, p, weights=w), _X + 0.5, 0.0, np.abs(_X)), case(st.pmean, _X + 0.5, 1.0),
]  # fmt: skip
CASES += [
    case(lambda x, y, p: tuple(st.power_divergence(x, y * (np.sum(x) / np.sum(y)), lambda_=p)), _X + 1, _X[::-1] + 2, p)
    for p in (-1.0, 0.0, 1.0, 0.7)
]
CASES += [case(lambda x, p: st.power_divergence(x, lambda_=p, axis=None)[0], np.abs(_X[:, None]) + 1, 0.0)]
CASES += [case(lambda c, d=d: (d.median(c), d.ppf([0.3, 0.5], c)), 1.3) for d in (st.gennorm, st.dweibull, st.dgamma)]
CASES += [case(lambda a: (sc.gammaincinv(a, [0.0, 0.3]), sc.betaincinv(a, 0.7, 1.0)), 1.3)]
