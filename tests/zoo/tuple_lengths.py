"""Tuples of several lengths in one place: commands with their operands, expressions, rows that are not complete."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from tests.zoo.registry import case

Point = namedtuple("Point", ["x", "y"])


@case(0.7)
def rows_of_several_lengths(x):
    rows = [(x,), (x, 2.0), (x, x * x, 3.0)]
    s = 0.0
    for r in rows * 3:
        for i, v in enumerate(r):
            s += v**2 * len(r) * (i + 1)
    return s


@case(0.7)
def told_by_their_lengths(x):
    s = 0.0
    for r in [(x,), (x, 2.0), (x, 2.0, x * x)] * 2:
        if len(r) == 1:
            s += r[0] ** 2
        elif len(r) != 2:
            s += r[0] * r[1] + r[2] ** 3
        else:
            a, b = r
            s += a**b
    return s


@case([1.3, 0.4])
def commands_of_a_stack_machine(xs):
    program = [("push", xs[0]), ("push", xs[1]), ("mul",), ("push", xs[1]), ("scale_and_add", 0.5, xs[0])]
    stack = []
    for c in program * 2:
        if c[0] == "push":
            stack.append(c[1])
        elif c[0] == "mul":
            b, a = stack.pop(), stack.pop()
            stack.append(a * b)
        else:
            b, a = stack.pop(), stack.pop()
            stack.append(a * c[1] + b * c[2])
    return stack[0] * stack[-1]


@case(1.3)
def commands_told_by_patterns(x):
    s = 1.0
    for c in [("add", x), ("negate",), ("add", 2.0), ("fused", x, 0.5)] * 2:
        match c:
            case ("add", v):
                s = s + v**2
            case ("negate",):
                s = -s
            case (_, a, b):
                s = s * a + b
    return s


@case(0.7)
def expressions_as_tuples(x):
    def value(t):
        if not isinstance(t, tuple):
            return t
        if t[0] == "+":
            return value(t[1]) + value(t[2])
        if t[0] == "*":
            return value(t[1]) * value(t[2])
        return math.sin(value(t[1]))

    return value(("+", ("*", x, 2.0), ("sin", ("+", x, ("*", x, x)))))


@case(0.7)
def too_short_and_caught(x):
    s = x
    for r in [(x,), (2.0, x), ()] * 2:
        try:
            s = s * 1.1 + r[0]
            s += r[1] ** 2
        except IndexError:
            s -= 0.5 * x
    return s


@case(0.7)
def unpacked_and_caught(x):
    s = x
    for r in [(x,), (2.0, x), (x, x, x)]:
        try:
            a, b = r
            s += a * b**2
        except ValueError:
            s *= 1.0 + x if len(r) == 1 else 2.0
    return s


@case(0.7)
def longer_in_every_iteration(x):
    t = ()
    for i in range(9):
        t = (*t, x * i)
    return sum(v * i for i, v in enumerate(t))


@case(0.7)
def nested_in_every_iteration(x):
    t = ()
    for i in range(6):
        t = (x * i, t) if i % 2 else (x + i, t, i)
    s = 0.0
    while t:
        s = s * 0.5 + t[0]
        t = t[1]
    return s


@case(0.7)
def pairs_or_triples_returned(x):
    def step(i):
        if i % 3:
            return x * i, i
        return x * x, i, x

    s = 0.0
    for i in range(7):
        first, *rest = step(i)
        s += first * sum(rest)
        s += max(step(i)) + step(i)[-1]
    return s


@case(0.7)
def named_and_plain_tuples(x):
    s = 0.0
    for p in [Point(x, 2.0), (x, 3.0), (x, x, x), Point(1.0, x)]:
        if type(p) is tuple:
            s += p[0] * p[1] * len(p)
        else:
            s += p.x**2 * p.y
    return s


@case(0.7)
def tuple_or_number(x):
    s = 0.0
    for v in [x, (x, 2.0), 3.0, (x,), (x, x, x)]:
        if isinstance(v, tuple):
            for u in v:
                s += u * u
        else:
            s += math.exp(-v)
    return s


@case(0.7)
def lists_in_tuples_of_several_lengths(x):
    rows = [([x, 2.0],), ([x], [2.0, x]), ([1.0], [x], [x, x])]
    for r in rows:
        r[-1].append(x * x)
        for xs in r:
            xs[0] *= 1.5
    return sum(xs[0] * xs[-1] for r in rows for xs in r)


@case(np.array([0.3, 0.9, -0.4]))
def arrays_in_tuples_of_several_lengths(a):
    rows = [(a,), (a * 2, a), (a[:2], a[1:], a)]
    for r in rows[1:]:
        r[0][0] += a[-1]
    return sum(np.sum(v**2) * len(r) for r in rows for v in r)


@case(0.7)
def arguments_of_several_numbers(x):
    def f(a, b=2.0, *more):
        return a * b + sum(more)

    return sum(f(*args) for args in [(x,), (x, x), (1.0, x, x, x)])


class Node:
    def __init__(self, value, children=()):
        self.value = value
        self.children = children

    def __add__(self, other):
        return Node(self.value + other.value, (self, other))

    def __neg__(self):
        return Node(-self.value, (self,))

    def total(self):
        return self.value**2 + sum(c.total() for c in self.children)


@case(0.7)
def objects_that_keep_their_operands(x):
    a, b = Node(x), Node(2.0)
    return (a + -(b + a)).total()


@case(0.7)
def objects_that_keep_their_operands_in_a_loop(x):
    a = node = Node(x)
    for _ in range(4):
        node = -(node + a)
    return node.total() * node.children[0].children[-1].value


@case(1.3)
def settings_with_and_without_a_unit(x):
    s = 0.0
    for name, *given in [("length", x), ("width", x, "cm"), ("height", 2.0)]:
        value = given[0]
        if len(given) == 2:
            value *= {"cm": 0.01, "m": 1.0}[given[1]]
        s += value * len(name)
    return s


@case([0.5, 1.2, 0.9, 2.0, 0.3, 1.5])
def starred_parts_of_tuples_of_several_lengths(xs):
    total = 0.0
    for op, *given in [("num", xs[0]), ("mul", xs[1], xs[2]), ("neg", xs[3])]:
        if op == "num":
            total += given[0]
        elif op == "mul":
            total += given[0] * given[1]
        else:
            total -= given[0]
    rows = [(xs[0],), (xs[1], xs[2]), (xs[3], xs[4], xs[5]), ()]
    for row in rows:
        try:
            first, *rest = row
            *start, last = row
            total += first * (1 + sum(rest)) + last * len(start)
        except ValueError as e:
            total *= xs[5] * len(str(e))
    return total


@case(1.2, 0.4, 0.7)
def steps_of_tuples_by_generator_expressions(a, y0, y1):
    def slope(t, y):
        return y[1], -a * y[0] + t

    def step(f, t, y, h):
        k1 = f(t, y)
        k2 = f(t + h / 2, tuple(u + h / 2 * k for u, k in zip(y, k1)))
        k3 = f(t + h / 2, tuple(u + h / 2 * k for u, k in zip(y, k2)))
        k4 = f(t + h, tuple(u + h * k for u, k in zip(y, k3)))
        return tuple(u + h / 6 * (p + 2 * q + 2 * r + s) for u, p, q, r, s in zip(y, k1, k2, k3, k4))

    y = y0, y1
    for i in range(5):
        y = step(slope, i * 0.1, y, 0.1)
    return y[0] * y[1]


@case(1.2, 0.4, 0.7)
def a_tuple_that_becomes_one_of_its_items(a, y0, y1):
    y = y0, y1
    for _ in range(4):
        k = y[1], -a * y[0]
        y = tuple(u + 0.02 * v for u, v in zip(y, k))
    return y[0]


@case(0.7)
def a_whole_slice_is_the_tuple(x):
    t, p = (x, x * x), Point(x, 2.0)
    same = [t[:] is t, t[0:2] is t, t[-5:] is t, t[::-1] is t, t[:1] is t, p[:] is p]
    return x * sum(k * s for k, s in enumerate(same, 1)) + t[:][0] * t[-2:][1] + p[:][0]
