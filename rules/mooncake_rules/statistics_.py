"""The module `statistics`: it calculates with exact fractions, which have no derivative; the pullback with floats."""

from __future__ import annotations

import math
import statistics
from statistics import _normal_dist_inv_cdf  # type: ignore[attr-defined]

from mooncake_py.kinds import Numbers
from mooncake_py.registry import drained, rrule
from mooncake_rules.mirror import mirrors


@mirrors(statistics.mean, types=(Numbers,))
def mean(data):
    return sum(data) / len(data)


@mirrors(statistics.fmean, types=(Numbers,))
def fmean(data, weights=None):
    if weights is None:
        return sum(data) / len(data)
    return sum([w * x for w, x in zip(weights, data, strict=True)]) / sum(weights)


@mirrors(statistics.geometric_mean, types=(Numbers,))
def geometric_mean(data):
    return math.exp(sum([math.log(x) for x in data]) / len(data))


@mirrors(statistics.harmonic_mean, types=(Numbers,))
def harmonic_mean(data, weights=None):
    weights = [1.0] * len(data) if weights is None else weights
    return sum(weights) / sum([w / x for w, x in zip(weights, data, strict=True)])


@mirrors(statistics.pvariance, types=(Numbers,))
def pvariance(data, mu=None):
    m = sum(data) / len(data) if mu is None else mu
    return sum([(x - m) ** 2 for x in data]) / len(data)


@mirrors(statistics.variance, types=(Numbers,))
def variance(data, xbar=None):
    m = sum(data) / len(data) if xbar is None else xbar
    return sum([(x - m) ** 2 for x in data]) / (len(data) - 1)


@mirrors(statistics.pstdev, types=(Numbers,))
def pstdev(data, mu=None):
    return math.sqrt(pvariance(data, mu))


@mirrors(statistics.stdev, types=(Numbers,))
def stdev(data, xbar=None):
    return math.sqrt(variance(data, xbar))


def _middle(data, below, above):
    items = sorted(data)
    return (items[(len(items) - below) // 2] + items[(len(items) - above) // 2]) / 2


@mirrors(statistics.median, types=(Numbers,))
def median(data):
    return _middle(data, 1, 0)


@mirrors(statistics.median_low, types=(Numbers,))
def median_low(data):
    return _middle(data, 1, 1)


@mirrors(statistics.median_high, types=(Numbers,))
def median_high(data):
    return _middle(data, 0, 0)


@mirrors(statistics.covariance, types=(Numbers, Numbers))
def covariance(x, y):
    a, b = sum(x) / len(x), sum(y) / len(y)
    return sum([(u - a) * (v - b) for u, v in zip(x, y, strict=True)]) / (len(x) - 1)


@mirrors(statistics.correlation, types=(Numbers, Numbers))
def correlation(x, y):
    return covariance(x, y) / math.sqrt(covariance(x, x) * covariance(y, y))


@rrule(_normal_dist_inv_cdf)
def inv_cdf(p, mu, sigma):
    """The quantile at p of a normal distribution: mu + sigma z, whose derivative by p is one over the density."""
    x = _normal_dist_inv_cdf(p, mu, sigma)

    def pullback(dy):
        z = (x - mu) / sigma
        return dy * sigma * math.sqrt(2.0 * math.pi) * math.exp(0.5 * z * z), dy, dy * z

    return x, pullback


for _f in (
    *(statistics.mean, statistics.fmean, statistics.geometric_mean, statistics.harmonic_mean, statistics.pvariance),
    *(statistics.variance, statistics.pstdev, statistics.stdev, statistics.median, statistics.median_low),
    statistics.median_high,
):
    drained[_f] = 0
