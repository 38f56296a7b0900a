"""Functions of numbers that `np.vectorize` calls for every element of arrays."""

import math

import numpy as np

from tests.zoo.registry import case


def price(spot, strike):
    if spot > strike:
        return spot - strike
    return 0.1 * math.exp(spot - strike)


prices = np.vectorize(price)


@np.vectorize
def softened(x):
    return x * x if abs(x) < 1.0 else 2.0 * abs(x) - 1.0


_X = np.array([0.3, 1.7, -1.2, 0.8])


@case(_X, 0.9)
def vectorized_here(x, strike):
    return np.vectorize(price)(x, strike).sum() * strike


@case(_X, _X[:2] + 0.4)
def vectorized_before(x, strikes):
    return np.sum(prices(x[:, None], strikes) * softened(x)[:, None])


@case(_X, 0.7)
def vectorized_closure(x, k):
    total = []

    def bend(a, b, c):
        total.append(a)
        return a * b * k + c if a > 0 else c * k

    bent = np.vectorize(bend, otypes=[float])
    return np.sum(bent(x, x[::-1], 2)) + total[1] * len(total)


@case(_X)
def vectorized_pairs(x):
    low, high = np.vectorize(lambda a: (min(a, 0.5), max(a, 0.5) ** 2))(x)
    return low @ high


@case(_X, 1.3)
def vectorized_by_name(x, k):
    f = np.vectorize(
        lambda a, coefficients, b=2.0: coefficients[0] * a + coefficients[1] * b, excluded={"coefficients"}
    )
    return np.sum(f(x, coefficients=[k, k * k], b=x[::-1]) ** 2)


@case(_X, 1.3)
def vectorized_rows(x, k):
    f = np.vectorize(lambda row, p: np.sum(row**p) * k, signature="(n),()->()")
    return np.prod(f(np.abs(x).reshape(2, 2), [2, 3]))


@case(_X)
def vectorized_of_first_class(x):
    return np.sum(np.vectorize(lambda a: 1 if a < 0.5 else a)(x)) + np.sum(
        np.vectorize(lambda a: a if a < 0.5 else 1)(x)
    )
