"""Functions that hand on what they are given."""

import functools
import math
import types

import numpy as np

from tests.zoo.registry import case


def traced(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


def scaled(k):
    def decorate(f):
        def inner(*args):
            return k * f(*args)

        return inner

    return decorate


def clipped(f):
    def inner(x, *rest, limit=10.0, **options):
        y = f(x, *rest, **options)
        return y if y < limit else limit * math.tanh(y)

    return inner


@traced
def powers(x, k=2.0, *, offset=0.0):
    return k * x**2 + offset


@scaled(2.5)
def product(x, y):
    return x * y


@clipped
@traced
def sum_of(x, *others, weight=1.0):
    total = weight * x
    for y in others:
        total += y * y
    return total


def call(f, *args, **kwargs):
    return f(*args, **kwargs)


def call_with(f, x, **kwargs):
    kwargs["k"] = 3.0
    return f(x, **kwargs)


def options_of(**kwargs):
    total = 0.0
    for name in kwargs:
        total += len(name) * kwargs[name]
    return total + kwargs.get("missing", 1.0)


@case([0.5, -1.2, 2.0])
def decorated_functions(xs):
    total = 0.0
    for x in xs:
        total += powers(x) + powers(x, k=x) + powers(x, 3.0, offset=total)
        total += product(x, total) * 0.1
    return total


@case([0.5, -1.2, 2.0])
def decorated_twice(xs):
    total = sum_of(xs[0]) + sum_of(xs[1], xs[2], weight=xs[0])
    return total + sum_of(3.0, xs[2], 2.0, limit=xs[2]) + sum_of(xs[0], limit=20.0, weight=2.0)


@case(0.7, 1.3)
def keywords_handed_on(x, y):
    total = call(powers, x, k=y) + call(math.sin, x) + call(powers, y, offset=x, k=2.0) + call_with(powers, x, offset=y)
    return total + call(options_of, a=x, bc=y) + options_of() + options_of(**{"a": x}, **{"abc": y * x})


@case(0.7)
def keywords_that_come_twice(x):
    try:
        return call(powers, x, **{"k": 2.0}, **{"k": x})
    except TypeError:
        return call(powers, x, k=x) * 2.0


@case(0.7, 1.3)
def local_functions_with_any_arguments(x, y):
    def apply(f, *args, **kwargs):
        return f(*args, **kwargs) * x

    def weighted(a, b=2.0, *, w=1.0):
        return w * a * b

    return apply(weighted, y) + apply(weighted, x, y, w=y) + apply(weighted, a=x, b=y)


def scaled_by(k):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args):
            return f(*args) * k

        return wrapper

    return decorate


@case(1.5)
def decorators_of_one_maker(x):
    @scaled_by(x)
    @scaled_by(2.0)
    def f(a):
        return a * a

    return f(x) + f(3.0)


@case(0.7)
def a_cache_asked_and_cleared(x):
    @functools.lru_cache(maxsize=None)
    def chebyshev(n):
        return 1.0 if n == 0 else x if n == 1 else 2.0 * x * chebyshev(n - 1) - chebyshev(n - 2)

    total = chebyshev(7) * chebyshev.cache_info().hits
    chebyshev.cache_clear()
    return total * chebyshev(3) + chebyshev.cache_info().misses + chebyshev.cache_info().currsize


@case(1.3)
def attributes_of_functions(x):
    def f(v):
        return v * f.scale

    f.scale = x
    f.__dict__["shift"] = x * x

    @functools.wraps(f)
    def g(v):
        return f(v) + g.shift

    g.shift *= 2.0
    return g(x) * g.scale + f.__dict__["scale"] * f.shift + g.__wrapped__(2.0)


class Weighted:
    """A decorator that is a class: a method when it is asked for by an object."""

    def __init__(self, f):
        self.f = f
        self.calls = 0

    def __get__(self, obj, cls=None):
        return self if obj is None else types.MethodType(self, obj)

    def __call__(self, *args):
        self.calls += 1
        return self.calls * self.f(*args)


class Spring:
    def __init__(self, k):
        self.k = k

    @Weighted
    def force(self, x):
        return math.sin(self.k * x)


class Gain:
    def __init__(self, k):
        self.k = k

    def __call__(self, spring, y):
        spring.k *= y
        return self.k * spring.k


@case(0.7)
def methods_decorated_by_an_object(x):
    spring = Spring(x)
    Spring.__dict__["force"].calls = 0
    return spring.force(2.0) + spring.force(x)


@case(0.7)
def objects_bound_as_methods(x):
    spring = Spring(x)
    push = types.MethodType(Gain(x * x), spring)
    return push(2.0) + push(x) * spring.k


@case(0.7)
def methods_that_remember(x):
    class Remembered:
        def __init__(self, f):
            self.f = f
            self.kept = {}

        def __get__(self, obj, cls=None):
            return types.MethodType(self, obj)

        def __call__(self, obj, n):
            if n not in self.kept:
                self.kept[n] = self.f(obj, n)
            return self.kept[n]

    class Powers:
        def __init__(self, a):
            self.a = a

        @Remembered
        def of(self, n):
            return 1.0 if n == 0 else self.of(n - 1) * self.a

    powers = Powers(x)
    return powers.of(4) + powers.of(3)


def counted(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        wrapper.calls += 1
        wrapper.used = True
        return f(*args, **kwargs) * wrapper.calls

    wrapper.calls = 0
    return wrapper


def doubled(f):
    def wrapper(x):
        return f(x) + f(2 * x)

    return wrapper


@doubled
@counted
def counted_square(x):
    return x * x


@counted
def counted_cube(x):
    return x**3


@case(0.7)
def calls_are_counted(x):
    counted_cube.calls = 1
    y = counted_cube(x) * counted_cube(2 * x)
    return y + counted_square(x) * 0 + counted_cube.calls


@case(0.7)
def a_count_that_becomes_a_value(x):
    counted_cube.calls = 0
    if counted_cube.calls == 0:
        x = x * 2
    counted_cube.calls += 1
    if counted_cube.calls == 1:
        x = x * 3
    counted_cube.calls = x
    y = counted_cube.calls * x
    counted_cube.calls = 0
    return y


def _with_defaults_of_its_own(f):
    wrapper = traced(f)
    wrapper.__defaults__, wrapper.__kwdefaults__ = f.__defaults__, f.__kwdefaults__  # as decorators of libraries do
    return wrapper


@_with_defaults_of_its_own
def _polynomial(x, a=2.0, b=0.5, c=1.0):
    return (a * x + b) * x + c


@case(0.7)
def more_defaults_than_parameters(x):
    held = np.zeros(2)
    held[0] = _polynomial(x)
    return held[0] * _polynomial(x, x, c=x)
