"""Objects in places that held None before: lists made as `[None] * n`, attributes that are set later."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case


class Unit:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def apply(self, x):
        return math.tanh(self.w * x + self.b)

    def scale(self, k):
        self.w *= k

    def name(self):
        return 2.0

    def __call__(self, x):
        return self.apply(x) * self.w


@case(0.7, 3)
def methods_of_items_filled_later(x, n):
    units = [None] * n
    for i in range(n):
        units[i] = Unit(x * (i + 1), 0.1)
    s = x
    for u in units:
        s = u.apply(s) * u.name()
    for i in range(n):
        units[i].scale(x)
        s += units[i].w * units[i](s)
    return s


@case(0.7, 2)
def methods_of_a_grid_filled_later(x, n):
    rows = [[None] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            rows[i][j] = Unit(x * (i - j), 0.1 * x)
    s = x
    for i in range(n):
        for j in range(n):
            s = s + rows[i][j].apply(s)
    return s


class Net:
    def __init__(self, x, n):
        self.last = None
        self.units = [None] * n
        for i in range(n):
            self.units[i] = Unit(x * (i + 1), 0.1)

    def run(self, s):
        for u in self.units:
            s = u.apply(s)
            self.last = u
        return s * self.last.apply(s)


@case(0.7, 3)
def objects_that_an_object_keeps(x, n):
    net = Net(x, n)
    s = net.run(x)
    return net.run(s) + net.last.w


@case(0.7, 3)
def some_are_never_filled(x, n):
    units = [None] * n
    units[1] = Unit(x, 0.2)
    s = x
    for u in units:
        try:
            s = s * u.name() + u.apply(s)
        except AttributeError as e:
            s = s + len(str(e)) * x
    return s


@case(0.7)
def lists_of_objects_put_together(x):
    some = [Unit(x, 0.1)] * 2 + [None]
    some += [Unit(x * x, 0.2)]
    some[2] = some[0]
    some[0].scale(x)
    return sum([u.apply(x) for u in some])


class Box:
    def __init__(self, x):
        self.x = x

    def table(self):
        return {0: self.x, 1: self.x * self.x, 7: 1.0}

    def pairs(self):
        return (self.x, self.x * self.x, 1.0)


def _walk(x, flag, form):
    t = [x, 2 * x]
    box = None
    if flag > 0:
        box = Box(x)
    if flag > 1:
        t = form(box)
    s = 0.0
    for v in t:
        s += v * x
    return s * t[1]


@case(1.3, 2)
def keys_of_a_dict_that_a_method_gives(x, flag):
    return _walk(x, flag, lambda box: box.table())


@case(1.3, 2)
def tuple_that_a_method_gives(x, flag):
    return _walk(x, flag, lambda box: box.pairs())


@case(1.3, 1)
def what_no_method_was_asked_for(x, flag):
    return _walk(x, flag, lambda box: box.table())


class Row:
    def __init__(self, n):
        self.data = [[0.0] * n for _ in range(n)]

    def __getitem__(self, i):
        return self.data[i[0]][i[1]] if isinstance(i, tuple) else self.data[i]

    def __setitem__(self, i, v):
        if isinstance(i, tuple):
            self.data[i[0]][i[1]] = v
        else:
            self.data[i] = v

    def copy_from(self, other):
        for mine, theirs in zip(self.data, other.data):  # noqa: B905
            mine[:] = theirs


def _factorised(a, n):
    for j in range(n):
        best = j
        for i in range(j + 1, n):
            if abs(a[i][j]) > abs(a[best][j]):
                best = i
        if best != j:
            a[j], a[best] = a[best], a[j]
        for k in range(j + 1, n):
            a[k][j] *= 1.0 / a[j][j]
            for i in range(j + 1, n):
                a[k][i] -= a[k][j] * a[j][i]


@case(0.3, 3)
def triangles_of_a_matrix_of_rows(x, n):
    first, a = Row(n), Row(n)
    for i in range(n):
        for j in range(n):
            first[i, j] = ((i * 7 + j * 13) % 11) * 0.1 + (x if i == j else 0.0)
    a.copy_from(first)
    _factorised(a, n)
    s = 1.0
    for i in range(n):
        s *= a[i][i]
    return s * first[0, 0]


class Nested:
    """Dicts that are made where they are first asked for, of numbers and of lists."""

    def __init__(self):
        self.numbers = {}
        self.lists = {}

    def put(self, a, b, x):
        self.numbers.setdefault(a, {})[b] = x
        self.lists.setdefault(a, {}).setdefault(b, []).append(x)


@case([0.5, 1.2, -0.7, 2.0, 0.3])
def dicts_in_dicts_that_an_object_holds(xs):
    made = Nested()
    for i, x in enumerate(xs):
        made.put(i % 2, i % 3, x * x)
    total = sum(v for row in made.numbers.values() for v in row.values())
    for a, row in made.lists.items():
        for b, items in row.items():
            total += (a + 1) * (b + 2) * items[0] * sum(items)
    return total * made.numbers[0][1]


class Spot:
    def __init__(self):
        self.t, self.log = 0.0, []


class Plate:
    def __init__(self, n):
        self.spots = [[Spot() for _ in range(n)] for _ in range(n)]

    def around(self, i, j):
        n = len(self.spots)
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            if 0 <= i + di < n and 0 <= j + dj < n:
                yield self.spots[i + di][j + dj]

    def step(self, k):
        new = [
            [c.t + k * sum(m.t - c.t for m in self.around(i, j)) for j, c in enumerate(row)]
            for i, row in enumerate(self.spots)
        ]
        for row, values in zip(self.spots, new):
            for c, t in zip(row, values):
                c.t = t
                c.log.append(t)


@case(1.0, 0.2)
def objects_in_rows_told_by_their_neighbours(x, k):
    plate = Plate(2)
    plate.spots[1][1].t = x
    for _ in range(2):
        plate.step(k)
    return plate.spots[0][0].t + sum(plate.spots[1][1].log)


class Filter:
    """One that says what it was given last; nothing so far."""

    def __init__(self, n):
        self.n = n
        self.x = np.zeros(n)
        self.z = np.array([[None] * self.n]).T

    def update(self, z):
        if z is None:
            self.z = np.array([[None] * self.n]).T
            return
        self.x = self.x + 0.5 * (z - self.x)
        self.z = np.array([z] * self.n)


@case(0.7, 1.3)
def arrays_of_none_in_the_place_of_what_comes(a, b):
    f = Filter(2)
    for z in (a, None, b):
        f.update(z)
    return f.x.sum() * f.z.sum()


@case(0.7, 1.3)
def an_array_of_a_list_whose_numbers_were_taken_out(a, b):
    xs = [a, b]
    xs[0] = None
    z = np.array(xs[:1])
    return a * b + (z[0] is None)


@case(0.7, 1.3)
def an_array_of_a_list_of_none_that_was_filled(a, b):
    xs = [None, None]
    for i, v in enumerate((a, b)):
        xs[i] = v
    return np.array(xs).sum() * a
