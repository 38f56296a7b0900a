"""Recursive functions that are given functions which captured something."""

import functools
import math

import numpy as np

from tests.zoo.registry import case


def halved(f, a, b, n):
    if n == 0:
        return (b - a) * f(0.5 * (a + b))
    m = 0.5 * (a + b)
    return halved(f, a, m, n - 1) + halved(f, m, b, n - 1)


def simpson(f, a, fa, b, fb, eps, whole, depth=8):
    m = (a + b) / 2
    fm = f(m)
    left = abs(m - a) / 6 * (fa + 4 * f((a + m) / 2) + fm)
    right = abs(b - m) / 6 * (fm + 4 * f((m + b) / 2) + fb)
    if depth <= 0 or abs(left + right - whole) <= 15 * eps:
        return left + right
    return simpson(f, a, fa, m, fm, eps / 2, left, depth - 1) + simpson(
        f, m, fm, b, fb, eps / 2, right, depth=depth - 1
    )


def newton(f, df, x, n):
    return x if n == 0 else newton(f, df, x - f(x) / df(x), n - 1)


def composed(f, n, x):
    return x if n == 0 else composed(f, n - 1, f(x))


def turned(f, g, x, n):
    """It changes places: neither is handed on as it is."""
    return x if n == 0 else turned(g, f, f(x), n - 1)


def replaced(f, x, n):
    if n == 0:
        return f(x)
    f = math.sin if n == 2 else f
    return f(x) * replaced(f, x * 0.9, n - 1)


def summed(f, xs, n):
    return sum(f(x) for x in xs) if n == 0 else summed(f, xs, n - 1) * f(n)


def total_of(f, xs):
    return 0.0 if len(xs) == 0 else f(xs[0]) + total_of(f, xs[1:])


@case(0.7, 0.1, 1.3)
def a_lambda_that_captured_a_number(k, a, b):
    return halved(lambda t: math.exp(-k * t * t), a, b, 4)


@case(0.7, 0.1, 1.3)
def functions_that_captured_others(k, a, b):
    def g(t, scale=0.5):
        return math.exp(-k * t * t) + scale * h(t)

    def h(t):
        return k * t * last(t)

    last = lambda t: t + b  # noqa: E731
    return functools.reduce(lambda s, f: s * halved(f, a, b, 3), [g, h], k) * halved(g, a, b, 2)


@case(0.7, 0.1, 1.3)
def arguments_by_name_and_by_default(k, a, b):
    f = lambda t: math.sin(k * t * 7)  # noqa: E731
    return simpson(f, a, f(a), b, f(b), 1e-3, 1.0) + simpson(f, a, f(a), b=b, fb=f(b), eps=1e-3, whole=1.0, depth=2)


@case(0.7, 0.1, 1.3)
def two_functions(k, a, b):
    return newton(lambda x: x * x * x - k, df=lambda x: 3 * x * x + 0 * a, x=b + 1, n=6)


@case(0.7, 0.1, 1.3)
def functions_that_do_not_stay(k, a, b):
    f, g = lambda t: math.sin(k * t), lambda t: t * t + a
    return turned(f, g, b, 5) + replaced(f, b, 4) + summed(g, [a, b], 2)


@case(0.7, 0.1, 1.3)
def variables_that_change(k, a, b):
    total, count = 0.0, 0

    def f(t):
        nonlocal count
        count += 1
        return k * t * count

    for i in range(3):
        s = k * i
        total += composed(lambda t: math.sin(s * t) + a, 4, b)
        s = s + 1.0
    return total * s + composed(f, 3, b)


@case(np.array([0.7, 0.1, 1.3]), 0.4)
def what_is_captured_is_written_to(v, k):
    log, seen = [], {}

    def f(t):
        v[0] = v[0] * t
        log.append(v[0])
        seen[len(log)] = t * k
        return v[0] + v[1] * t

    y = composed(f, 3, k) + total_of(lambda t: t * k, v)
    return y * sum(log) + sum(seen.values())


class Search:
    def __init__(self, k):
        self.k = k

    def found(self, a):
        return halved(lambda t: self.k * t + self.own(t), a, 1.0, 3)

    def own(self, t):
        self.k = self.k * 0.99
        return t * self.k


@case(0.7, 0.1)
def objects_that_are_captured(k, a):
    s = Search(k)
    return s.found(a) * s.found(a * a) + s.k


@case(0.7)
def what_is_raised_has_its_derivative(x):
    total = 0.0
    for i in range(3):

        def g(u):
            if i == 1:
                raise ValueError(u * x)
            return u * x * i

        try:
            total += halved(g, 0.0, x, 2)
        except ValueError as e:
            total += e.args[0]
    return total
