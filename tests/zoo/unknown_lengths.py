"""Tuples of which it is not known how long they are, and calls with the items of such and of lists."""

import math
from typing import Any, NamedTuple

import numpy as np

from tests.zoo.registry import case


@case([0.4, 0.7, 1.2])
def a_tuple_of_a_generator(xs):
    t = tuple(x * x for x in xs)
    total = sum(t) * t[0] + t[-1] + max(t) - min(t) + len(t)
    for i, (v, w) in enumerate(zip(t, reversed(t), strict=True)):
        total += i * v * w
    return total + sum(t[1:]) + math.prod(t + (xs[0],)) + sum(t * 2) + float(np.array(t).sum())


class Vector:
    def __init__(self, values):
        self.values = tuple(values)

    def __add__(self, other):
        return Vector(a + b for a, b in zip(self.values, other.values, strict=True))

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]

    def dot(self, other):
        return sum(a * b for a, b in zip(self.values, other.values, strict=True))


@case([0.4, 0.7, 1.2], 0.3)
def vectors_that_hold_tuples(xs, k):
    v = Vector(xs)
    w = Vector([x * k for x in xs])
    for _ in range(3):
        v = v + w
    first, *rest = v.values
    return v.dot(w) * v[1] / len(v) + first * sum(rest)


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def __call__(self, x):
        total = 0.0
        for c in reversed(self.coefficients):
            total = total * x + c
        return total

    def __mul__(self, other):
        out = [0.0] * (len(self.coefficients) + len(other.coefficients) - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                out[i + j] += a * b
        return Polynomial(*out)

    def scaled(self, *by):
        return Polynomial(*[c * by[0] for c in self.coefficients])


@case([0.4, 0.7, 1.2], 0.3)
def objects_of_any_number_of_arguments(cs, x):
    p = Polynomial(*cs)
    q = p * Polynomial(x, 1.0) * p
    return q(x) + q.scaled(*cs)(2.0 * x)


def together(*values):
    total = 0.0
    for v in values:
        total += v * v
    return total + len(values)


@case([0.4, 0.7, 1.2])
def functions_of_any_number_of_arguments(xs):
    total = together(*xs) + together(*[x * 2.0 for x in xs]) + together(*tuple(x + 1.0 for x in xs))
    return total + math.hypot(*xs) + max(*xs) * min(*[x * total for x in xs])


@case([0.4, 0.7, 1.2])
def too_few_for_the_largest(xs):
    total = sum(xs)
    for n in (3, 2, 1):
        try:
            total += max(*xs[:n])
        except TypeError as e:
            total *= 0.1 * len(str(e))
    return total


@case([0.4, 0.7, 1.2])
def tuples_that_a_function_gets(xs):
    def last(t, n):
        return t[-1] * n if n < 2 else last(t[1:] + (t[0] * n,), n - 1)

    t = tuple(xs)
    seen = {t: xs[0]} if t else {}
    return last(t, 4) + seen[tuple(xs)] + (1.0 if t == tuple(xs) else 0.0) + isinstance(t, tuple)


class Body:
    def __init__(self, position, mass):
        self.position = list(position)
        self.velocity = [0.0, 0.0]
        self.mass = mass
        self.force = [0.0, 0.0]

    def push(self, force):
        self.force[0] += force[0]
        self.force[1] += force[1]

    def step(self, dt):
        for k in range(2):
            self.velocity[k] += dt * self.force[k] / self.mass
            self.position[k] += dt * self.velocity[k]
        self.force = [0.0, 0.0]


class Spring:
    def __init__(self, a, b, stiffness):
        self.a, self.b, self.stiffness = a, b, stiffness

    def pull(self):
        way = [q - p for p, q in zip(self.a.position, self.b.position, strict=True)]
        length = math.hypot(*way)
        force = [self.stiffness * (length - 0.8) * x / length for x in way]
        self.a.push(force)
        self.b.push([-f for f in force])


class World:
    def __init__(self, bodies, springs):
        self.bodies, self.springs = bodies, springs

    def step(self, dt):
        for spring in self.springs:
            spring.pull()
        for body in self.bodies:
            body.step(dt)


@case(2.0, 1.5)
def lists_of_two_kinds_in_one_object(stiffness, mass):
    bodies = [Body((float(i), 0.1 * i), mass) for i in range(4)]
    world = World(bodies, [Spring(a, b, stiffness) for a, b in zip(bodies, bodies[1:], strict=False)])
    for _ in range(4):
        world.step(0.05)
    return sum(body.mass * sum(v * v for v in body.velocity) for body in world.bodies)


@case(0.4, 0.7)
def one_list_of_two_kinds(x, y):
    both = []
    world = World(both, both)
    world.bodies.append(Spring(Body((x, y), 1.0), Body((y, 1.0 + x), 2.0), x))
    world.springs.append(Body((y, x), x))
    world.bodies[0].pull()
    world.springs[1].push(both[0].a.force)
    world.springs[-1].step(0.5)
    return both[1].position[0] * both[0].b.force[1]


@case([0.4, 0.7, 1.2])
def states_that_were_seen(xs):
    seen, memo, order = set(), {}, []
    total = 0.0
    for p in ((1, 1), (1, 2), (1, 1), (2, 2)):
        k = tuple(v * 2 for v in p)
        if k in seen:
            continue
        seen.add(k)
        if k not in memo:
            memo[k] = xs[len(memo) % 3]
        if k not in order:
            order.append(k)
        total += memo[k] * len(order)
    return total * ((2, 4) in seen) + ((1, 2) in tuple(tuple(v for v in p) for p in ((1, 2), (3, 4)))) * xs[0]


KEPT = [(2, 3)]


@case(0.7)
def a_tuple_that_a_list_from_outside_has(x):
    t = tuple([i + 1 for i in (1, 2)])
    there = t in KEPT
    if not there:
        KEPT.append(t)
    return x * x if there else x


@case([0.4, 0.7, 1.2])
def tuples_to_begin_and_to_end_with(xs):
    t = tuple(x * x for x in xs)
    whole = sum([t, (xs[0],)], t[:1])
    pairs = iter([(1, 2), (3, 4), (5, 6)])
    end = tuple(i + 2 for i in (1, 2))
    return sum(v * w for v, w in zip(whole, xs + xs, strict=False)) + len(list(iter(lambda: next(pairs), end))) * xs[1]


def product_and_sum(p, q, r):
    return p * q + r


class Scaled:
    def __init__(self, k, v):
        self.k, self.v = k, v

    def apply(self, a, b, c):
        return self.k * a + self.v * b * c

    def times(self, v, w):
        return self.v * v + w.sum()


class Sides(NamedTuple):
    a: Any
    b: Any
    c: Any


@case([0.4, 0.7], np.array([0.3, 1.1]))
def stars_between_others(xs, v):
    o = Scaled(0.5, *v[1:])
    s = Sides(0.9, *xs)
    t = Sides(*v, xs[0] * 2.0)
    by_name = Scaled.apply(o, *xs, s.b)
    y = product_and_sum(0.9, *xs) + product_and_sum(*v, math.exp(xs[1])) + by_name + o.times(*xs[:1], v)
    return y + s.a * s.c + t.b * t.c + (lambda p, q: p - q * q)(*xs[1:], o.k) + product_and_sum(o.v, xs[0], *v[:1])


@case([0.4, 0.7])
def a_list_that_the_argument_behind_its_star_changes(xs):
    ys = [x * x for x in xs]
    return product_and_sum(*ys, ys.pop(0)) + product_and_sum(xs[0], *ys, ys[0])


@case([0.4, 0.7, 1.2, 0.3])
def stars_of_another_length(xs):
    said = []
    for f in (product_and_sum, Sides, Scaled(1.0, 2.0).apply):
        for n in (1, 4):
            try:
                said.append(str(f(0.5, *xs[:n])))
            except TypeError as e:
                said.append(str(e))
    try:
        said.append(str(product_and_sum(0.5, *xs)))
    except TypeError as e:
        said.append(str(e))
    try:
        said.append(str(Sides(0.5, *xs[3:])))
    except TypeError as e:
        said.append(str(e))
    return xs[0] * sum(len(s) for s in said) + xs[1] * sum(ord(c) for c in said[-1]) + sum(ord(c) for c in said[-2])


@case(np.array([[0.5, 0.5], [2.7, 0.6], [0.6, 2.8], [2.9, 2.9]]))
def keys_of_any_length(x):
    cells = {}
    for i, row in enumerate(x):
        cells[tuple(int(c // 2.0) for c in row)] = i
    y = 0.0
    for (a, b), i in cells.items():
        y += x[i, 0] * a + x[i, 1] * b
        for k in cells:
            if k == (b, a):
                y += x[cells[k], 0] * len(k)
    return y + x[cells[0, 1], 0] * x[cells.get((7, 7), 0), 1]


@case([0.4, 0.7, 1.2])
def keys_of_any_length_that_have_derivatives(xs):
    found = {tuple(x * k for x in xs): xs[k] for k in range(3)}
    y = 0.0
    for k, v in found.items():
        y += k[0] * v + sum(k)
    (first, *rest), *_ = found
    return y + first + len(rest) * xs[0]


@case([0.4, 0.7, 1.2, 0.9])
def a_window_that_moves_on(xs):
    h = (xs[0], xs[1], xs[2])
    total = 0.0
    for x in xs:
        h = h[1:] + (x * h[0],)
        total += h[0] * h[-1]
    return total


@case([0.4, 0.7, 1.2, 0.9])
def tuples_that_grow_in_a_loop(xs):
    h, k = (0.5,), ()
    for x in xs:
        h = (x * h[-1],) + h
        if len(h) > 3:
            h = h[:2]
        if x > 0.5:
            k += (x, x * x)
    total = sum(k) + len(h)
    for a in h:
        total = total * 0.5 + a
    return total + h[1] * k[-1] + max(k)


@case([0.4, 0.7, 1.2])
def a_tuple_of_pairs_that_grows(xs):
    h = ()
    for x in xs:
        h = h + ((x, x * x),)
    return sum(a * b for a, b in h) + (0.0 if not h else h[0][1])


@case([0.4, 0.7, 1.2])
def a_tuple_that_grows_and_is_kept(xs):
    found, h = {}, ()
    for x in xs:
        h = h + (x * x,)
        found[len(h)] = h
    return sum(found[2]) * h[1], h


@case([0.4, 0.7, 1.2])
def steps_of_a_tuple_over_its_items(xs):
    s = (0.0, 0.0)
    for i in range(4):
        k = (s[1] * xs[0] + xs[2], s[0] * xs[1] + 0.1)
        s = tuple(p + 0.1 * q for p, q in zip(s, k, strict=True))
    return s[0] * s[1]


@case([0.4, 0.7, 1.2, 0.9])
def slices_as_tuples(xs):
    total = 0.0
    for i in range(0, 4, 2):
        v = tuple(xs[i : i + 2])
        w = v
        total += v[0] * w[1] - len(v)
    return total


@case([0.4, 0.7, 1.2])
def a_slice_with_bounds_that_python_refuses(xs):
    h = (xs[0], xs[1])
    for x in xs:
        try:
            h = h[::0] + (x,)
        except ValueError:
            h = (h[1], x * h[0])
    return h[0] * h[1]


@case([0.4, 0.7, 1.2])
def a_tuple_of_a_list_that_changes(xs):
    rows = [[xs[0], xs[1]], [xs[2], xs[0] * xs[1]]]
    total = 0.0
    for i in range(2):
        t = tuple(rows[i])
        rows[i][0] = 3.0 * xs[1]
        rows[i].append(xs[2])
        total += t[0] * rows[i][0] + len(t) * t[1]
    return total


def _rows(xs):
    return [[xs[0], xs[1], 2.0], [xs[2], xs[0] * xs[1], xs[1]]]


@case([0.4, 0.7, 1.2])
def columns_in_a_list(xs):
    columns = list(zip(*_rows(xs)))
    first, *_ = columns
    return sum(c[0] * c[1] for c in columns) + len(columns) * first[0] + sum(max(zip(*_rows(xs))))


@case([0.4, 0.7, 1.2])
def columns_that_are_kept(xs):
    found, listed = {}, []
    for i, column in enumerate(zip(*_rows(xs))):
        found[i] = column
    for column in zip(*_rows(xs)):
        listed.append(column)
        if listed[0] == column:
            listed.append(column[::-1])
    return found[0][1] * found[1][0] + sum(listed[1]) * listed[-1][0]


@case([0.4, 0.7, 1.2])
def columns_of_pairs(xs):
    pairs = [(x, x * x) for x in xs]
    a, b = list(zip(*pairs))
    columns = tuple(zip(*pairs))
    for c in zip(*pairs):
        pairs[1] = (1.0, xs[0])
        columns += (c,)
    return sum(a) * b[2] + sum(columns[1]) * columns[-1][1]


@case([0.4, 0.7, 1.2])
def no_columns(xs):
    rows = [xs[:0], xs]
    return len(list(zip(*rows))) + sum(sum(c) for c in list(zip(*rows))) + xs[0]


@case([0.4, 0.7, 1.2, 0.3])
def inner_functions_of_any_number_of_arguments(xs):
    k = xs[0]

    def weighted(*r):
        return sum(r) * k + len(r)

    largest = lambda *r: max(r) if r else 0.0

    def first(*r):
        a, *others = r
        return a * sum(others)

    total = 0.0
    for i in range(4):
        total += weighted(*xs[i : i + 3]) * largest(*xs[:i]) + first(*xs[i:])
    return total + weighted(k, *xs) + weighted() + first(*(x * x for x in xs)) + largest(1.0, k)


@case([0.4, 0.7, 1.2, 0.3])
def inner_functions_of_any_number_of_arguments_that_raise(xs):
    def product(*r):
        return r[0] * r[2]

    total = 0.0
    for xs_ in (xs, xs[:2], 3.0):
        try:
            total += product(*xs_)
        except (IndexError, TypeError) as e:
            total = total * xs[1] + isinstance(e, TypeError)
    return total


@case([0.4, 0.7, 1.2])
def inner_functions_of_any_number_that_are_handed_on(xs):
    def add(*r):
        return sum(r)

    def twice(f, *r):
        return f(*r) * 2.0 + add(*r)

    return twice(add, *xs) * add(*xs) + add(*xs, *xs) + sum(map(add, xs, xs))
