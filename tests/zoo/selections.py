"""Products, combinations and slices of iterators."""

import itertools
import math

from tests.zoo.registry import case

XS = [0.5, -1.2, 2.0, 0.3, -0.7, 1.1]


@case(XS)
def pairs_and_triples(xs):
    total = sum(a * b for a, b in itertools.product(xs, xs[:3]))
    for a, b in itertools.combinations(xs, 2):
        total += (a - b) ** 2 / (1.0 + a * a)
    for a, b, c in itertools.combinations(xs, 3):
        total += a * b * c
    for a, b in itertools.permutations(xs, 2):
        total += a / (2.0 + b)
    for a, b in itertools.combinations_with_replacement(xs, 2):
        total += math.sin(a * b)
    for a, b, c in itertools.product(xs[:2], [1.0, 2.0], xs[3:5]):
        total += a * b * c
    return total


@case(XS)
def of_other_lengths(xs):
    total = 0.0
    for t in itertools.combinations(xs, 4):
        total += t[0] * t[3]
    for t in itertools.product(xs[:3], repeat=2):
        total += t[0] * t[1]
    for t in itertools.permutations(xs[:3]):
        total += t[0] * t[1] ** 2
    for (t,) in itertools.combinations(xs, 1):
        total += t
    for t in itertools.combinations_with_replacement(xs[:2], 3):
        total += t[0] * t[1] * t[2]
    for r in range(1, 4):
        total += sum(t[0] * t[-1] for t in itertools.combinations(xs[:4], r))
    return total + len(list(itertools.combinations(xs, 9)))


@case(XS)
def places_of_pairs(xs):
    total = 0.0
    for i, j in itertools.combinations(range(len(xs)), 2):
        total += xs[i] * xs[j] * (i - j)
    for i, j in itertools.product(range(2), range(3)):
        total += xs[i] * xs[j + 1]
    for i, j in itertools.pairwise(itertools.chain([2, 0], range(3))):
        total += xs[i] ** 2 * xs[j]
    return total


@case([(0.0, 0.0, 1.0), (1.0, 0.2, 2.0), (0.3, -0.8, 0.5), (-1.0, 1.5, 1.5)])
def energy_of_bodies(bodies):
    energy = 0.0
    for (x, y, m), (u, v, n) in itertools.combinations(bodies, 2):
        energy -= m * n / math.sqrt((x - u) ** 2 + (y - v) ** 2 + 0.01)
    return energy


@case(XS)
def slices_of_one_iterator(xs):
    it, total = iter(xs), 0.0
    for x in itertools.islice(it, 2):
        total += x
    for x in itertools.islice(it, 0, 3, 2):
        total += x * x
    for x in it:
        total = 0.9 * total - x
    it = iter(xs)
    return total * next(itertools.islice(it, 2, None)) + next(it) * sum(itertools.islice(it, 0))


@case(XS)
def slices_of_many_kinds(xs):
    total = 0.0
    for i, x in enumerate(itertools.islice(xs, 2, None)):
        total += x * i
    for x in itertools.islice(xs, None, 4):
        total += x
    for k in itertools.islice(itertools.count(1), 5):
        total += xs[k] * k
    for x in itertools.islice(xs, 1, 20, 2):
        total *= x + 2.0
    try:
        total += sum(itertools.islice(xs, -1))
    except ValueError:
        total *= xs[0]
    return total + sum(itertools.islice(itertools.cycle(xs[:2]), 5))


def runge_kutta(f, y, h):
    a = f(y)
    b = f([u + h / 2 * v for u, v in zip(y, a)])
    c = f([u + h / 2 * v for u, v in zip(y, b)])
    d = f([u + h * v for u, v in zip(y, c)])
    return [u + h / 6 * (p + 2 * q + 2 * r + s) for u, p, q, r, s in zip(y, a, b, c, d)]


@case(XS)
def predators(xs):
    def change(y):
        return [xs[0] * y[0] - xs[2] * y[0] * y[1], xs[4] * y[1] + xs[3] * y[0] * y[1]]

    y = [1.0, 0.5]
    for _ in range(5):
        y = runge_kutta(change, y, 0.1)
    return y[0] * y[1]
