"""scipy.stats: distributions and transformations whose formulas change where a parameter has one value.

SciPy takes the limit there, which does not depend on the parameter: its derivative would be zero. The functions here
have the limit within them, and what they have for derivatives is that on both sides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st
from scipy.stats import _morestats

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

_Extreme: Any = type(st.genextreme)
_Pareto: Any = type(st.genpareto)
_Kappa: Any = type(st.kappa4)
_Skew: Any = type(st.skewnorm)
_Pearson: Any = type(st.pearson3)


@overlay(_Extreme._loglogcdf)
def extreme_loglogcdf(self, x, c):
    return log_by(-x, c)


@overlay(_Extreme._logpdf)
def extreme_logpdf(self, x, c):
    log = log_by(-x, c)
    return -np.exp(log) + log - np.log1p(-c * x)


@overlay(_Pareto._logpdf)
def pareto_logpdf(self, x, c):
    return -(c + 1.0) * log_by(x, c)


@overlay(_Kappa._logcdf)
def kappa_logcdf(self, x, h, k):
    return log_by(-np.exp(log_by(-x, k)), h)


@overlay(_Kappa._logpdf)
def kappa_logpdf(self, x, h, k):
    log = log_by(-x, k)
    return (1.0 - k) * log + (1.0 - h) * log_by(-np.exp(log), h)


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


# -- cases --------------------------------------------------------------------------------------------------

_X = np.array([-0.4, 0.3, 1.2])

CASES: list[RuleCase] = [
    case(lambda x, c, f=f: f(x, c), x, c)
    for d, x in ((st.genextreme, _X), (st.genpareto, _X + 1), (st.skewnorm, _X))
    for f in (d.pdf, d.logpdf, d.cdf, d.logsf)
    for c in (0.0, np.array([0.0, 1e-9, 0.2]))
]
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
