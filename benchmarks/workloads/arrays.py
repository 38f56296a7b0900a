"""Array expressions."""

import numpy as np

from benchmarks.workloads.base import workload

RNG = np.random.default_rng(1)
X1000 = RNG.standard_normal(1000)


def sum_1000(x):
    return np.sum(x)


def sum_1000_by_hand(x):
    value = np.sum(x)
    dx = np.empty_like(x)
    dx.fill(1.0)  # np.ones_like takes twice as long
    return value, (dx,)


workload(sum_1000, sum_1000_by_hand, X1000, published=1.61, note="one call of sum")


def sum_sin_1000(x):
    return np.sum(np.sin(x))


def sum_sin_1000_by_hand(x):
    return np.sum(np.sin(x)), (np.cos(x),)


workload(sum_sin_1000, sum_sin_1000_by_hand, X1000, published=3.59, note="sum(sin(x))")


def kron_sum(x, y):
    return np.sum(np.kron(x, y))


def kron_sum_by_hand(x, y):
    value = np.sum(np.kron(x, y))
    return value, (np.full(x.shape, y.sum()), np.full(y.shape, x.sum()))


workload(
    kron_sum, kron_sum_by_hand, RNG.standard_normal((20, 20)), RNG.standard_normal((40, 40)),
    published=4.68, note="20 x 20 by 40 x 40",
)  # fmt: skip


def kron_view_sum(x, y):
    return kron_sum(x[:20, :20], np.triu(y))


def kron_view_sum_by_hand(x, y):
    corner, upper = x[:20, :20], np.triu(y)
    value = np.sum(np.kron(corner, upper))
    dx = np.zeros_like(x)
    dx[:20, :20] = upper.sum()
    return value, (dx, np.triu(np.full(y.shape, corner.sum())))


workload(
    kron_view_sum, kron_view_sum_by_hand, RNG.standard_normal((40, 30)), RNG.standard_normal((40, 40)),
    published=3.7, note="of a view and a triangle",
)  # fmt: skip


def broadcast_sin_cos_exp(x):
    return np.sum(np.sin(np.cos(np.exp(x))))


def broadcast_sin_cos_exp_by_hand(x):
    e = np.exp(x)
    c = np.cos(e)
    value = np.sum(np.sin(c))
    dx = np.cos(c, out=c)
    dx *= np.sin(e)
    dx *= e
    return value, (np.negative(dx, out=dx),)


workload(broadcast_sin_cos_exp, broadcast_sin_cos_exp_by_hand, RNG.standard_normal((10, 10)), note="10 x 10")


def elementwise_1e6(x):
    return np.sum(np.sin(x) * np.exp(-x * x))


def elementwise_1e6_by_hand(x):
    s, e = np.sin(x), np.exp(-x * x)
    value = np.sum(s * e)
    s *= x
    s *= 2.0
    dx = np.cos(x)
    dx -= s
    dx *= e
    return value, (dx,)


workload(elementwise_1e6, elementwise_1e6_by_hand, RNG.standard_normal(1_000_000), note="sum(sin(x)*exp(-x*x)), 1e6")
