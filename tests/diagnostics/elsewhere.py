"""Functions of another file than the tests that call them."""

import math

LIMIT = 2.0


def low(x):
    y = x - LIMIT
    return 1.0 / y  # LOW


def middle(x):
    return low(x) + 1.0  # MIDDLE


def twice(f, x):
    return f(x) * 2.0  # TWICE


def sines(xs):
    return sum(math.sin(v) for v in xs) + max(map(lambda v: math.cos(v), xs))
