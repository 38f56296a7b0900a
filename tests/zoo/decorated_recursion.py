"""Functions and methods behind decorators, that call themselves or one another."""

import functools
import math

from tests.zoo.decorated import scaled, traced
from tests.zoo.registry import case


def _kept(f):
    """A method that looks first what the object keeps for these arguments."""

    def asked(self, *key):
        if key not in self.found:
            self.found[key] = f(self, *key)
        return self.found[key]

    return asked


@traced
def _fibonacci(n, x):
    return x if n < 2 else _fibonacci(n - 1, x) + math.sin(x) * _fibonacci(n - 2, x=x)


@case(0.7)
def recursion_behind_a_decorator(x):
    return _fibonacci(7, x) * _fibonacci(3, x * x)


@scaled(0.9)
@traced
def _series(n, x):
    return x if n == 0 else _series(n - 1, x * 0.5) + x**n


@case(0.7)
def recursion_behind_two_decorators(x):
    return _series(4, x) + _series(2, x * x)


@traced
def _even(n, x):
    return x if n == 0 else _odd(n - 1, x) * 1.1 + x


@scaled(0.8)
def _odd(n, x):
    return x * x if n == 0 else _even(n - 1, x) * x


@case(0.7)
def two_decorated_functions_that_call_each_other(x):
    return _even(4, x) * _odd(3, x) + _even(1, x * x)


class _Grid:
    def __init__(self, x):
        self.x = x
        self.found = {}

    @_kept
    def paths(self, i, j):
        if i == 0 or j == 0:
            return self.x
        return self.paths(i - 1, j) * 0.5 + self.paths(i, j - 1) * self.x


@case(0.7)
def a_method_that_keeps_what_it_gives(x):
    grid = _Grid(x)
    return grid.paths(4, 5) * len(grid.found)


def _logged(f):
    @functools.wraps(f)
    def wrapper(self, *args, **kwargs):
        return f(self, *args, **kwargs) * self.weight

    return wrapper


class _Part:
    weight = 1.1

    def __init__(self, size, parts):
        self.size, self.parts = size, parts

    @_logged
    def total(self, scale):
        return self.size * scale + sum(part.total(scale * 0.5) for part in self.parts)


class _Whole(_Part):
    weight = 0.8

    @_logged
    def total(self, scale):
        return super().total(scale) ** 2 + self.size


@case(0.7, 1.2)
def decorated_methods_of_a_tree(x, scale):
    leaves = [_Part(x * k, []) for k in range(3)]
    return _Whole(x, [_Part(x + 1.0, leaves), _Whole(2.0, leaves[:1])]).total(scale)


def _near(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


@_near
def _wave(x):
    return math.sin(x) * x


@_near
def _waves(x, k):
    return _wave(x) + _wave(k * x)


class _Tower:
    @_near
    def low(self, x):
        return _waves(x, k=2.0)

    @_near
    def high(self, x):
        return self.low(x) * self.low(x + 1.0)


@case(0.7)
def one_decorator_around_functions_that_call_each_other(x):
    tower = _Tower()
    return sum(tower.high(x + k) for k in range(3)) * _waves(x, 3.0)


@_near
def _by_name(n, x):
    return x if n < 2 else _by_name(n=n - 1, x=x) + x * _by_name(n - 2, x=x)


def _sum_of_them(n, x):
    return sum(_by_name(i, x) * x for i in range(n))


@case(0.7)
def recursion_by_keywords_behind_a_decorator(x):
    return _sum_of_them(5, x) + _by_name(x=x, n=4)


def _remembers(f):
    found = {}

    @functools.wraps(f)
    def asked(*key):
        if key not in found:
            found[key] = f(*key)
        return found[key]

    return asked


@case(0.7, 0.9)
def inner_recursion_with_a_memo_of_any_arguments(x, y):
    @_remembers
    def ways(n, k):
        if k in (0, n):
            return 1.0
        return ways(n - 1, k - 1) * x + ways(n - 1, k) * y

    @_remembers
    def depth(n):
        return x if n == 0 else math.sin(depth(n - 1)) + ways(n, 1)

    return ways(8, 3) * depth(3)


@case(0.7, 0.9)
def inner_recursion_with_a_memo_of_keywords(x, y):
    def remembers(f):
        found = {}

        def asked(*args, **kwargs):
            key = args, tuple(sorted(kwargs.items()))
            if key not in found:
                found[key] = f(*args, **kwargs)
            return found[key]

        return asked

    @remembers
    def ways(n, k=1, scale=2.0):
        if n == 0 or k == 0:
            return x * scale
        return ways(n - 1, k=k, scale=scale) + ways(n, k=k - 1, scale=scale) * y

    return ways(3, k=3, scale=x) + ways(2, scale=y, k=2)


@case(0.7)
def inner_recursion_called_with_more_or_fewer_arguments(x):
    def through(f):
        def asked(*args):
            return f(*args) * x

        return asked

    @through
    def power(n, base=0.5):
        return 1.0 if n == 0 else power(n - 1, base * x) + (power(n - 1) if n > 2 else base)

    return power(4) + power(2, x)


@case(0.7)
def inner_recursion_behind_rest_and_a_default(x):
    def through(f):
        def asked(n, k=2.0, *rest):
            return f(n, k, *rest) * x + k * len(rest)

        return asked

    @through
    def total(n, k=1.5, a=0.3, b=0.2):
        return a * b if n == 0 else total(n - 1, k * x, a) + total(n - 1, k, b, x)

    return total(3, 1.1, x, 0.4) + total(2)


@case(0.7)
def inner_functions_with_names_of_others(x):
    @_near
    def low(v):
        return math.sin(v) * x

    @scaled(1.1)
    @_near
    def high(v, k=2.0):
        return low(v) + v * low(k * v)

    @_near
    @_near
    def both(v):
        return high(v, x) * low(v) if v < 2.0 else high(v)

    return sum(both(x + i) for i in range(3))


@case(0.7)
def inner_functions_asked_for_their_names(x):
    @_near
    def low(v):
        return v * x

    @_near
    def high(v):
        return low(v) * len([high.__name__]) + high.__wrapped__(v + 0.5) if v < 1.0 else v * x

    @_near
    def other(v):
        return math.sin(v)

    names = []
    total = high(x)
    for f in (low, other):
        names.append(f.__name__)
        total = total * f(x) + len(names)
    return total
