"""scipy.stats: expected values of functions under a distribution, and its entropy."""

from __future__ import annotations

import numpy as np
import scipy.special as sc
import scipy.stats as st
from scipy.integrate import quad

from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import as_written


def infinite_support(dist, args):
    """Which ends of the support are infinite: these stay where they are, whatever location and scale."""
    low, high = dist._get_support(*args)
    return bool(np.all(np.isneginf(low))), bool(np.all(np.isposinf(high)))


continuous = as_written(st.rv_continuous.expect)


@overlay(st.rv_continuous.expect)
def expect(self, func=None, args=(), loc=0, scale=1, lb=None, ub=None, conditional=False, **kwds):
    below, above = infinite_support(self, args)
    low = -np.inf if lb is None and below else lb
    high = np.inf if ub is None and above else ub
    return continuous(self, func, args, loc, scale, low, high, conditional, **kwds)


def is_positive(dist, x, args):
    """Is the density not too small for a float? Else its derivative is too, but not the steps on the way there."""
    with np.errstate(all="ignore"):
        return bool(np.all(dist._pdf(np.asarray(x), *args) > 0.0))


@overlay(st.rv_continuous._entropy)
def entropy(self, *args):
    def integrand(x):
        return sc.entr(self._pdf(x, *args)) if is_positive(self, x, args) else 0.0

    low, high = self._get_support(*args)
    with np.errstate(over="ignore"):
        h = quad(integrand, low, high)[0]
    if not np.isnan(h):
        return h
    ends = self.ppf([1e-10, 1.0 - 1e-10], *args)
    return quad(integrand, ends[0] if np.isinf(low) else low, ends[1] if np.isinf(high) else high)[0]


zero_derivative(infinite_support, is_positive)
for _cls in {type(d) for d in vars(st).values() if isinstance(d, st.rv_discrete)}:
    if "_ppf" in vars(_cls):
        zero_derivative(_cls._ppf)  # a whole number

# -- cases ------------------------------------------------------------------------------------------------

CASES: list[RuleCase] = [
    case(lambda m, s: st.norm.expect(lambda x: x**2, loc=m, scale=s), 0.4, 1.3),
    case(lambda m, s: st.norm(m, s).expect(lambda x: x**2 * m, lb=0.3, conditional=True), 0.4, 1.3),
    case(lambda a, s: st.gamma.expect(args=(a,), scale=s), 1.7, 0.8),
    case(lambda k, s: st.exponnorm.entropy(k, scale=s), 1.5, 0.8), case(lambda a: st.skewnorm.entropy(a), 4.0),
    case(lambda b: st.exponpow.entropy(b), 2.7), case(lambda a: st.alpha.entropy(a), 1.0),
    case(lambda m: st.poisson.expect(lambda k: k**2, args=(m,)), 1.3),
]  # fmt: skip
