"""scipy.stats: the moments, by the shapes, of distributions whose own formulas are in C or cancel.

The values are SciPy's own; what is here is differentiated in place of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as st

from mooncake_py.registry import overlay
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import as_written

_NoncentralF: Any = type(st.ncf)
_NoncentralT: Any = type(st.nct)
_Bradford: Any = type(st.bradford)
_Kappa3: Any = type(st.kappa3)


def central(m1: Any, m2: Any, m3: Any, m4: Any) -> Any:
    """Mean, variance, skewness and excess kurtosis from the moments about zero."""
    v = m2 - m1**2
    third = m3 - 3.0 * m1 * m2 + 2.0 * m1**3
    fourth = m4 - 4.0 * m1 * m3 + 6.0 * m1**2 * m2 - 3.0 * m1**4
    return m1, v, third / v**1.5, fourth / v**2 - 3.0


@overlay(_NoncentralF._stats)
def noncentral_f(self, dfn, dfd, nc, moments="mv"):
    """Those of a noncentral chi-squared variable, by its cumulants, times those of the inverse of a central one."""
    k1, k2, k3, k4 = dfn + nc, 2.0 * (dfn + 2.0 * nc), 8.0 * (dfn + 3.0 * nc), 48.0 * (dfn + 4.0 * nc)
    a, b = dfd / dfn, dfd - 2.0
    f1 = a / b
    f2 = f1 * a / (b - 2.0)
    f3 = f2 * a / (b - 4.0)
    f4 = f3 * a / (b - 6.0)
    third = k3 + 3.0 * k1 * k2 + k1**3
    fourth = k4 + 4.0 * k1 * k3 + 3.0 * k2**2 + 6.0 * k1**2 * k2 + k1**4
    return central(f1 * k1, f2 * (k2 + k1**2), f3 * third, f4 * fourth)


@overlay(_NoncentralT._stats)
def noncentral_t(self, df, nc, moments="mv"):
    """Those of a normal variable around nc times those of the inverse of a chi variable."""
    h = df / 2.0
    half = np.sqrt(h) * np.exp(sc.gammaln(h - 0.5) - sc.gammaln(h))
    odd = half * h / (h - 1.5)
    m2, m4 = h / (h - 1.0) * (nc**2 + 1.0), h**2 / ((h - 1.0) * (h - 2.0)) * (nc**4 + 6.0 * nc**2 + 3.0)
    return central(half * nc, m2, odd * (nc**3 + 3.0 * nc), m4)


_bradford_stats = as_written(_Bradford._stats)
_NODES, _WEIGHTS = (v / 2.0 for v in np.polynomial.legendre.leggauss(24))
_NODES = _NODES + 0.5
_NEAR = 0.5


@overlay(_Bradford._stats)
def bradford(self, c, moments="mv"):
    """For small shapes, where everything cancels, sums over the density, which is smooth."""
    near = np.abs(c) < _NEAR
    small = np.where(near, c, 0.0)
    density = _WEIGHTS / (1.0 + np.expand_dims(small, -1) * _NODES)
    density = density / np.sum(density, -1, keepdims=True)
    mean = np.sum(density * _NODES, -1)
    away = _NODES - np.expand_dims(mean, -1)
    v, third, fourth = [np.sum(density * away**k, -1) for k in (2, 3, 4)]
    close = (mean, v, third / v**1.5, fourth / v**2 - 3.0)
    far = _bradford_stats(self, np.where(near, _NEAR, c), moments=moments)
    return tuple([None if f is None else np.where(near, s, f) for s, f in zip(close, far, strict=True)])


@overlay(_Kappa3._mom1_sc)
def kappa3_moment(self, m, a):
    """The integral of q^m (a / (1 - q^a))^(m / a), which is one of Euler's beta function in q^a."""
    if np.any(m >= a):
        return np.nan
    return a ** (m / a - 1.0) * sc.beta((m + 1.0) / a, 1.0 - m / a)


CASES: list[RuleCase] = [
    case(lambda a, b, c, k=k: st.ncf.stats(a, b, c, moments=k), 5.0, 27.0, 0.4) for k in ("mv", "s", "k")
]
CASES += [case(lambda a, c, k=k: st.nct.stats(a, c, moments=k), 14.0, 0.3) for k in ("mv", "s", "k")]
CASES += [case(lambda c: st.bradford.stats(c, moments="mvsk"), np.array([0.3, 2.7]))]
CASES += [case(lambda c: st.ncf.moment(3, 5.0, c, 0.4), 27.0)]
CASES += [case(lambda a: st.kappa3.stats(a, moments="mv"), 2.7), case(lambda a: st.kappa3.moment(3, a), 4.3)]
