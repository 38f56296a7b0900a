"""What functions of libraries give that are given no derivative, where it meets values that have one."""

import datetime
import itertools
import math
import random
from collections import Counter

import numpy as np

from tests.zoo.registry import case


@case(1.3)
def whole_numbers_of_math(x):
    total = 0.0
    for k in range(6):
        total += math.comb(5, k) * x**k / math.factorial(k) + math.gcd(k, 4) * x - math.isqrt(k) * x * x
    return total


@case(1.3)
def letters_and_places(x):
    return sum(x * (ord(c) - 96) for c in "abc") + sum(x**i * ("aeiou".find(c) >= 0) for i, c in enumerate("abcde"))


@case(1.3)
def days_and_seconds(x):
    first = datetime.date(2020, 1, 1)
    total = 0.0
    for k in range(4):
        day = first + datetime.timedelta(days=k)
        total += x**k * (day - first).days + x * day.weekday()
    later = datetime.datetime(2020, 1, 2, 12) - datetime.datetime(2020, 1, 1)
    return total * later.total_seconds() / 3600.0


@case(1.3)
def places_in_arrays(x):
    weights = np.arange(6.0).reshape(2, 3)
    total = 0.0
    for i, w in np.ndenumerate(weights):
        total += x ** i[1] * w
    for i, j in np.ndindex(2, 3):
        total += x * weights[i, j] * i
    for i in np.ndindex(weights.shape):
        total += x * sum(i)
    return total


@case(1.3)
def columns_of_constants(x):
    total = 0.0
    for a, b in zip(*[[1, 2, 3], [4.0, 5.0, 6.0]]):
        total += a * x**b
    return total


@case(1.3)
def chosen_constants(x):
    random.seed(3)
    draw = random.Random(2)
    return sum(x ** random.choice((1, 2, 2.5)) * draw.choice([1.0, 2.0]) + x * draw.choice(range(4)) for _ in range(5))


@case(1.3)
def sets_of_three_and_more(x):
    known = {1, 2, 3}
    total = sum(x * v for v in sorted(known & {2, 3, 4})) + x ** len(known)
    for v in known:
        total += x**v
    letters = {"a", "b", "c"}
    letters.add("d")
    return total * len(letters) + (x if "b" in letters else 0.0)


@case(1.3)
def counted_constants(x):
    words = ["a", "b", "a"]
    found = Counter(words)
    twos = Counter([1, 1, 2])
    return sum(x**n for _, n in found.items()) + twos[1] * x + twos[5] + sum(x * k * n for k, n in twos.items())


@case(1.3)
def products_and_bits(x):
    total = 0.0
    for i, j in itertools.product(range(3), repeat=2):
        total += x**i * j
    for i, j in itertools.combinations(range(4), r=2):
        total -= x * i * j
    return total + sum(x * k.bit_length() for k in range(4)) + x * (1.5).is_integer()
