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


class Rows:
    """A matrix of lists, with operators."""

    def __init__(self, rows):
        self.rows = rows

    @classmethod
    def eye(cls, n):
        return cls([[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)])

    @property
    def shape(self):
        return len(self.rows), len(self.rows[0])

    def __getitem__(self, ij):
        return self.rows[ij[0]][ij[1]]

    def __add__(self, other):
        return Rows([[a + b for a, b in zip(r, s)] for r, s in zip(self.rows, other.rows)])  # noqa: B905

    def __mul__(self, other):
        if isinstance(other, Rows):
            n, m = self.shape
            rows = other.rows
            return Rows([[sum(self.rows[i][k] * rows[k][j] for k in range(m)) for j in range(n)] for i in range(n)])
        return Rows([[a * other for a in r] for r in self.rows])

    __rmul__ = __mul__

    def __pow__(self, n):
        y = Rows.eye(len(self.rows))
        for _ in range(n):
            y = y * self
        return y

    def turned(self):
        return Rows([list(c) for c in zip(*self.rows)])  # noqa: B905


@case(0.7, 3)
def lists_of_lists_with_operators(x, n):
    a = Rows([[math.sin(x * (i + 1) + j) for j in range(n)] for i in range(n)])
    b = a * a.turned() + 0.5 * Rows.eye(n) + a * x
    c = b**2
    return sum(c[i, i] for i in range(n)) + b[0, 1]


@case(0.7, [0.3, 1.1])
def empty_lists_that_may_be_each_other(x, ys):
    """Lists that are filled through other names, in objects and in each other, before and after they are put there."""
    inner, outer, other = [], [], []
    held = Rows(outer)
    outer.append(inner)
    alias = held.rows[0]
    alias.append(x)
    chosen = other if len(ys) > 5 else inner
    chosen.append(x * x)
    for y in ys:
        held.rows.append([y * x])
        held.rows[-1].append(y)
    other.append(len(held.rows) * x)
    return sum(map(sum, outer)) * inner[1] + sum(other) + held.rows[0][0]
