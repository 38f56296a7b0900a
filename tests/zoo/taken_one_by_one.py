"""What C code takes out of an iterator one by one: pairs for a dict, numbers for an array."""

import math
from collections import defaultdict

import numpy as np

from tests.zoo.registry import case


@case(0.7)
def dicts_updated_with_generators(x):
    d = {"a": x}
    d.update((k, v * x) for k, v in [("a", x), ("b", 2.0)] if v != 3.0)
    d.update(zip("cd", [x, x * x]))
    d.update(enumerate(map(math.sin, [x, 2.0 * x])), e=x)
    return sum(v**2 * (i + 1) for i, v in enumerate(d.values()))


@case(0.7)
def default_dict_updated_while_it_is_read(x):
    d = defaultdict(float)
    d[0] = x
    d.update((i + 1, d[i] * x) for i in range(6))
    return sum(d.values()) + d[3] * d[9]


@case([0.7, 1.3])
def pairs_that_end_with_an_exception(xs):
    d = {0: 1.0}

    def pairs():
        yield 1, xs[0]
        yield 0, xs[1] ** 2
        raise ValueError

    try:
        d.update(pairs())
    except ValueError:
        d[2] = xs[0] * xs[1]
    it = ((k, v * 2.0) for k, v in enumerate(xs))
    first = next(it)[1]
    d.update(it)
    return sum(k * v + v * v for k, v in d.items()) + first


@case([0.7, 1.3, 0.2])
def pairs_of_the_wrong_length(xs):
    d = {}
    try:
        d.update((k,) * 3 if k == "c" else (k, v) for k, v in zip("abc", xs))
    except ValueError:
        d["d"] = xs[2] * d["a"]
    return sum(d.values())


@case(0.7)
def arrays_from_iterators(x):
    a = np.fromiter((x * i for i in range(9) if i % 3), float)
    it = map(math.sin, [x, 2.0 * x, 3.0 * x])
    b = np.fromiter(it, np.float64, count=2)
    s = (a * a).sum() + b.sum() + sum(it)
    for n in range(2, 4):
        s += np.fromiter((v**n for v in b), dtype=float, count=n - 1).prod()
    try:
        np.fromiter((v for v in b), float, 3)
    except ValueError:
        s += x
    return s


@case(0.7)
def numbers_of_a_generator(x):
    return np.fromiter((x**i for i in range(9) if i % 3), float).sum()
