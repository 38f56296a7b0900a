"""scipy.stats: expected values of functions under a distribution, and its entropy."""

from __future__ import annotations

import warnings
from itertools import islice

import numpy as np
import scipy.special as sc
import scipy.stats as st
from scipy.integrate import quad
from scipy.stats import _distn_infrastructure as infrastructure

from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.testing import RuleCase, case


def infinite_support(dist, args):
    """Which ends of the support are infinite: these stay where they are, whatever location and scale."""
    low, high = dist._get_support(*args)
    return bool(np.all(np.isneginf(low))), bool(np.all(np.isposinf(high)))


def inner_ends(dist, args, loc, scale, low, high):
    """Where SciPy cuts the range, which does not change the integral: tails of 0.05 are apart."""
    first, last = dist.cdf([low, high], *args, loc=loc, scale=scale)
    c, d = loc + dist._ppf(first + (last - first) * np.array([0.05, 0.95]), *args) * scale
    return float(c), float(d)


@overlay(st.rv_continuous.expect)
def expect(self, func=None, args=(), loc=0, scale=1, lb=None, ub=None, conditional=False, **kwds):
    def integrand(x):
        z = (x - loc) / scale
        density = self._pdf(z, *args) / scale if is_positive(self, z, args) else 0.0
        return (x if func is None else func(x)) * density

    below, above = infinite_support(self, args)
    ends = self._get_support(*args)
    low, high = lb, ub
    if lb is None:
        low = -np.inf if below else loc + ends[0] * scale
    if ub is None:
        high = np.inf if above else loc + ends[1] * scale
    c, d = inner_ends(self, args, loc, scale, low, high)
    mean = quad(integrand, low, c, **kwds)[0] + quad(integrand, c, d, **kwds)[0] + quad(integrand, d, high, **kwds)[0]
    if conditional:
        mean = mean / (self.cdf(high, *args, loc=loc, scale=scale) - self.cdf(low, *args, loc=loc, scale=scale))
    return np.array(mean)[()]


def is_positive(dist, x, args):
    """Is the density not too small for a float? Else its derivative is too, but not the steps on the way there.

    Nor is it infinite, at an end.
    """
    with np.errstate(all="ignore"):
        if not np.all(dist._support_mask(x, *args)):
            return False
        density = dist._pdf(np.asarray(x), *args)
        return bool(np.all((density > 0.0) & (density < np.inf)))


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


def chunks(lb, ub, x0, inc, maxcount, chunksize):
    """The whole numbers in the order in which SciPy sums over them: upwards from x0, and downwards."""
    if ub - lb <= chunksize:
        return [np.arange(lb, ub + 1, inc)], []
    x0, most = min(max(x0, lb), ub), maxcount // chunksize + 1
    up = infrastructure._iter_chunked(x0, ub + 1, chunksize=chunksize, inc=inc)
    down = infrastructure._iter_chunked(x0 - 1, lb - 1, chunksize=chunksize, inc=-inc)
    return list(islice(up, most)), list(islice(down, most))


@overlay(infrastructure._expect)
def sum_of_terms(fun, lb, ub, x0, inc, maxcount=1000, tolerance=1e-10, chunksize=32):
    count, total = 0, 0.0
    for part in chunks(lb, ub, x0, inc, maxcount, chunksize):
        for k in part:
            count += k.size
            delta = np.sum(fun(k))
            total = total + delta
            if abs(delta) < tolerance * k.size:
                break
            if count > maxcount:
                warnings.warn("expect(): sum did not converge", RuntimeWarning, stacklevel=3)
                return total
    return total


zero_derivative(infinite_support, is_positive, inner_ends, chunks, infrastructure._drv2_ppfsingle)
for _cls in {type(d) for d in vars(st).values() if isinstance(d, st.rv_discrete)}:
    if "_ppf" in vars(_cls):
        zero_derivative(_cls._ppf)  # a whole number

# -- cases ------------------------------------------------------------------------------------------------

CASES: list[RuleCase] = [
    case(lambda m, s: st.norm.expect(lambda x: x**2, loc=m, scale=s), 0.4, 1.3),
    case(lambda m, s: st.norm(m, s).expect(lambda x: x**2 * m, lb=0.3, conditional=True), 0.4, 1.3),
    case(lambda a, s: st.gamma.expect(args=(a,), scale=s), 1.7, 0.8),
    case(lambda k, s: st.exponnorm.entropy(k, scale=s), 1.5, 0.8), case(lambda a: st.skewnorm.entropy(a), 4.0),
    case(lambda b: st.exponpow.entropy(b), 2.7), case(lambda b: st.exponpow.entropy(b), 0.7),
    case(lambda a: st.alpha.entropy(a), 1.0),
    case(lambda n, p: st.nbinom.entropy(n, p), np.array([5.0, 2.5]), 0.3), case(lambda p: st.binom.entropy(60, p), 0.3),
    case(lambda a, b: st.skellam.entropy(a, b), 5.0, 3.3), case(lambda m: st.poisson.entropy(m), 90.0),
    case(lambda a, b: st.beta.expect(lambda x: x * x, args=(a, b), ub=0.9), 1.7, 1.3),
    case(lambda p: st.binom.expect(lambda k: k**2, args=(60, p)), 0.3),
    case(lambda a, b: st.skellam.expect(lambda k: np.abs(k) * a, args=(a, b), lb=-3, conditional=True), 5.0, 3.3),
    case(lambda m: st.poisson.expect(lambda k: k**2, args=(m,)), 1.3),
]  # fmt: skip
