"""Matrices that are lists of lists: rows that are constants, columns by `zip(*rows)`."""

import math

from tests.zoo.registry import case


@case(0.7)
def rotation_with_constant_rows(x):
    rotation = [[math.cos(x), -math.sin(x), 0.0], [math.sin(x), math.cos(x), 0.0], [0.0, 0.0, 1.0]]
    point = [1.0, x, 2.0]
    turned = []
    for row in rotation:
        turned.append(sum([a * b for a, b in zip(row, point, strict=True)]))
    return turned[0] * turned[1] + turned[2] * x


@case(1.3)
def columns_of_rows(x):
    rows = [[x * i, x + i, x * x] for i in range(4)]
    total = 0.0
    for column in zip(*rows, strict=False):
        total += max(column) * sum(column) + column[0] * len(column)
        rows[1][2] = total
    for column in zip(*rows):  # noqa: B905
        total += math.sin(column[-1]) * min(column)
    left, right, _ = zip(*rows)  # noqa: B905
    first, second, third = map(list, zip(*rows))  # noqa: B905
    first.append(total)
    return sum(a * b for a, b in zip(left, right, strict=True)) + sum(first) * second[1] * third[2]


@case(0.6)
def columns_of_pairs(x):
    pairs = [(x * i, math.exp(x - i)) for i in range(5)]
    xs, ys = zip(*pairs)  # noqa: B905
    mean = sum(xs) / len(xs)
    try:
        a, b = zip(*[p for p in pairs if p[1] > 100.0])  # noqa: B905
    except ValueError as e:
        mean *= 1 + len(e.args)
    return sum((u - mean) * v for u, v in zip(xs, ys, strict=True)) / (xs[1] + ys[0])


@case(0.9)
def strict_pairs(x):
    xs, ys = [x * i for i in range(4)], [x + i for i in range(4)]
    total = sum(a * b for a, b in zip(xs, ys, strict=True))
    for i, (a, b) in enumerate(zip(xs, ys, strict=False)):
        total += a * b * i
    try:
        for a, b in zip(xs, ys[1:], strict=True):
            total *= a + b
    except ValueError as e:
        total += x * len(str(e))
    return total
