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
from mooncake_rules.mirror import as_written

_expect = as_written(st.rv_continuous.expect)


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
    """Where the density jumps or is infinitely steep, `func` less its value at this place is integrated.

    That is zero there, wherever the place moves to. The rest is the value there times a probability.
    """

    def value(x):
        return x if func is None else func(x)

    def integral(start, end, level):
        def integrand(x):
            z = (x - loc) / scale
            density = self._pdf(z, *args) / scale if is_positive(self, z, args) else 0.0
            return (value(x) - level) * density

        return quad(integrand, start, end, **kwds)[0]

    below, above = infinite_support(self, args)
    ends = self._get_support(*args)
    low, high = lb, ub
    if lb is None:
        low = -np.inf if below else loc + ends[0] * scale
    if ub is None:
        high = np.inf if above else loc + ends[1] * scale
    c, d = inner_ends(self, args, loc, scale, low, high)
    first, last = jumps(self, args, loc, scale, low, high)
    at_first, at_last = level_at(value, first), level_at(value, last)
    steep = cusp(self, args, loc, scale, c, d)
    at_steep = level_at(value, steep)
    start, end = low if at_first == 0.0 else first, high if at_last == 0.0 else last
    mean = integral(start, c, at_first) + integral(d, end, at_last)
    if steep is None:
        mean = mean + integral(c, d, 0.0)
    else:
        mean = mean + integral(c, steep, at_steep) + integral(steep, d, at_steep)
        mean = mean + at_steep * (self.cdf(d, *args, loc=loc, scale=scale) - self.cdf(c, *args, loc=loc, scale=scale))
    if at_first != 0.0:
        mean = mean + at_first * self.cdf(c, *args, loc=loc, scale=scale)
    if at_last != 0.0:
        mean = mean + at_last * self.sf(d, *args, loc=loc, scale=scale)
    if at_first != 0.0 or at_last != 0.0 or steep is not None:
        mean = mean + difference(mean, self, func, args, loc, scale, lb, ub, **kwds)
    if conditional:
        mean = mean / (self.cdf(high, *args, loc=loc, scale=scale) - self.cdf(low, *args, loc=loc, scale=scale))
    return np.array(mean)[()]


def jumps(dist, args, loc, scale, low, high):
    """The ends of the support between low and high where the density jumps or is infinitely steep; else None."""
    a, b = (float(end) for end in dist._get_support(*args))
    if isinstance(dist, type(st.pearson3)) and args[0] != 0:  # whose ends SciPy has at infinity
        a, b = (-2.0 / args[0], b) if args[0] > 0 else (a, -2.0 / args[0])
    out: list[float | None] = []
    for end, inner in zip((a, b), (float(dist._ppf(0.05, *args)), float(dist._ppf(0.95, *args))), strict=True):
        place, width = loc + end * scale, inner - end
        if np.isinf(end) or not low - 1e-9 * abs(width) * scale <= place <= high + 1e-9 * abs(width) * scale:
            out.append(None)
            continue
        near, far = dist._pdf(np.array([end + 1e-9 * width, inner]), *args)
        out.append(None if near < 1e-6 * far else float(place))
    return out[0], out[1]


def cusp(dist, args, loc, scale, c, d):
    """The place between c and d where the density of a two-sided distribution is infinite or infinitely steep."""
    if not c < loc < d:
        return None
    near, far = 1e-9 * (d - c) / scale, 0.1 * (d - c) / scale
    with np.errstate(all="ignore"):
        p, q, r = dist._pdf(np.array([near, 2.0 * near, far]), *args)
    return float(loc) if abs(q - p) > 1e-6 * r else None


def difference(mean, *args, **kwds):
    """What SciPy finds without its parts, beside the mean found by them."""
    return _expect(*args, **kwds) - mean


def level_at(value, x):
    """The value at x, as a constant; zero where there is none."""
    if x is None:
        return 0.0
    try:
        with np.errstate(all="ignore"):
            level = float(value(x))
    except (ArithmeticError, ValueError):
        return 0.0
    return level if np.isfinite(level) else 0.0


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


zero_derivative(infinite_support, is_positive, inner_ends, jumps, cusp, level_at, difference, chunks)
zero_derivative(infrastructure._drv2_ppfsingle)
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
CASES += [
    case(lambda a, m, s: st.truncnorm.expect(np.exp, args=(a, 2.0), loc=m, scale=s), -0.4, 0.3, 1.4),
    case(lambda b, m, s: st.beta.expect(lambda x: x * x, args=(1.3, b), loc=m, scale=s), 0.63, 0.3, 1.4),
    case(lambda k, m: st.pearson3.expect(lambda x: x + x**3, args=(k,), loc=m), -2.0, 0.3),
    case(lambda c, m: st.argus.expect(np.cos, args=(c,), loc=m), 1.4, 0.3),
    case(lambda a, m: st.dgamma.expect(np.cos, args=(a,), loc=m), 1.2, 0.3),
    case(lambda c: st.genextreme.expect(lambda x: x * x, args=(c,), lb=0.1, ub=3.0), -0.1),
]
