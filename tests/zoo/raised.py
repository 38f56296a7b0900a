"""Exceptions of the user's own that are raised and caught in sight, and carry values."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case


class Found(Exception):  # noqa: N818
    def __init__(self, value, steps=0):
        super().__init__(f"found after {steps}")
        self.value = value
        self.steps = steps


class Better(Found):
    scale = 2.0

    def scaled(self):
        return self.value * self.scale


class Rejected(Exception):  # noqa: N818
    def __init__(self, error):
        self.error = error


class Converged(Exception):  # noqa: N818
    pass


def bisect(f, a, b, tolerance):
    fa = f(a)
    for i in range(100):
        middle = 0.5 * (a + b)
        fm = f(middle)
        if abs(fm) < tolerance:
            raise Found(middle - fm, i)
        if fa * fm < 0:
            b = middle
        else:
            a, fa = middle, fm
    raise ValueError("no root")


@case(1.3)
def a_root_that_is_raised(p):
    try:
        bisect(lambda x: x**3 - p * x - 2.0, 1.0, 3.0, 1e-2)
    except Found as e:
        return e.value * p + e.steps


@case(2.0)
def an_argument_that_is_raised(p):
    x = 1.5
    try:
        while True:
            step = (x * x - p) / (2 * x)
            x = x - step
            if abs(step) < 1e-3:
                raise Converged(x, p)
    except Converged as e:
        return e.args[0] ** 2 * e.args[1] + math.sin(x)


def heun(x, h, k):
    k1 = -k * x
    k2 = -k * (x + h * k1)
    error = abs(h * (k2 - k1) / 2)
    if error > 0.05:
        raise Rejected(error)
    return x + h * (k1 + k2) / 2


@case(1.2)
def steps_that_are_rejected(k):
    x, t, h = 1.0, 0.0, 0.5
    while t < 1.0:
        try:
            x = heun(x, h, k)
            t += h
        except Rejected as e:
            h = h * 0.9 * math.sqrt(0.05 / e.error)
    return x * t


@case(1.3, 0.4)
def one_of_several_classes(x, y):
    total = 0.0
    for i in range(4):
        try:
            if i == 0:
                raise Found(x * y)
            if i == 1:
                raise Better(x, 3)
            if i == 2:
                raise Rejected(y * y)
            total += x / 0.0
        except Better as e:
            total += e.scaled() * e.steps
        except (Rejected, Found) as e:
            total += e.error if isinstance(e, Rejected) else e.value
        except ZeroDivisionError:
            total *= y
    return total


@case(np.array([1.0, 2.0, 3.0]), 1.5)
def changed_before_it_is_raised(a, x):
    log = []
    try:
        for i in range(3):
            a[i] *= x
            log.append(a[i] * i)
            if i == 1:
                raise Found(a, len(log))
    except Found as e:
        e.value[0] += x
        return np.sum(e.value**2) + sum(log) * e.steps
    return 0.0


@case(1.3)
def changed_and_raised_again(x):
    try:
        try:
            raise Found(x * x)
        except Found as e:
            e.value *= x
            e.more = e.value * 2.0
            raise
        finally:
            x = x * 3.0
    except Found as e:
        return e.value * x + e.more


@case(1.3)
def raised_from_another(x):
    try:
        try:
            raise Rejected(x * x)
        except Rejected as e:
            raise Found(e.error * x) from e
    except Found as e:
        return e.value * x if e.__cause__ is not None else 0.0


@case(1.3)
def kept_after_the_handler(x):
    kept = None
    try:
        raise Found(x * x)
    except Found as e:
        kept = e
    return kept.value * x


@case(1.3, 0.4)
def made_before_and_raised_later(x, y):
    errors = [Found(x), Better(value=y * x, steps=2)]
    total = 0.0
    for k in range(2):
        try:
            raise errors[k]
        except Found as e:
            total += e.value * e.steps + x
    return total


@case(1.3, 0.4)
def arguments_set_again(x, y):
    e = Converged(x)
    before = e.args[0]
    Exception.__init__(e, y, x * y)
    try:
        raise e
    except Converged as caught:
        return before * caught.args[0] + caught.args[1]


def inner(x, depth):
    if depth == 0:
        raise Found(x * x, depth)
    return inner(x * 1.1, depth - 1) + 1.0


@case(1.3)
def raised_out_of_a_recursion(x):
    try:
        return inner(x, 3)
    except Found as e:
        return e.value + x


class Guard:
    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None and issubclass(kind, Found):
            self.limit = self.limit * error.value
            return True
        return False


@case(1.3)
def taken_by_a_context(x):
    guard = Guard(x)
    with guard:
        raise Found(x * x)
    return guard.limit


@case(1.3)
def not_caught_by_the_wrong_handler(x):
    try:
        try:
            return math.log(-x)
        except Found as e:
            return e.value
    except ValueError:
        return x * x


@case(0.7)
def every_clause_of_a_try_in_a_loop(x):
    total = 0.0
    for i in range(6):
        try:
            if i % 3 == 0:
                raise Found(x * i)
            total += x
        except Found as e:
            total += e.value**2
        else:
            total *= 1.1
        finally:
            total += 0.01 * x
    return total


class Counts:
    """Gives n times v, and ends with a value."""

    def __init__(self, v, n=2):
        self.v, self.n = v, n

    def __next__(self):
        self.n -= 1
        if self.n < 0:
            raise StopIteration(self.v * self.v)
        return self.v


class CountsMore(Counts):
    def __next__(self):
        raise StopIteration(self.v * 3.0, self.v)


class Last(StopIteration):
    def __init__(self, v):
        self.v = v


@case(1.3)
def values_of_iterators_at_their_end(x):
    class Ends:
        def __next__(self):
            raise StopIteration(x * x)

    class EndsItsOwnWay:
        def __next__(self):
            raise Last(x * 2.0)

    total = 0.0
    for it in (Counts(x), CountsMore(x * x), Ends(), EndsItsOwnWay()):
        try:
            while True:
                total += next(it) * x
        except StopIteration as e:
            total += sum(e.args) + (e.v if isinstance(e, Last) else e.value)
    return total


def results_of(it):
    return (yield from it)


class CountsOn(Counts):
    def __iter__(self):
        return self


@case(1.3)
def values_of_iterators_that_are_delegated_to(x):
    def twice(it):
        return (yield from it) * 2.0

    total = 0.0
    it = twice(CountsOn(x))
    while True:
        try:
            total += next(it) * x
        except StopIteration as e:
            return total + e.value


held = [0.0]


class OfWhatIsHeld(Exception):  # noqa: N818
    def __init__(self):
        super().__init__(held[0])
        self.v = held[0] * 2.0


@case(1.3)
def classes_that_are_raised(x):
    class Found(Exception):  # noqa: N818
        def __init__(self):
            self.v = x * x

    def raises():
        raise Found

    total = 0.0
    try:
        raise Found
    except Found as e:
        total += e.v
    for i in range(3):
        try:
            if i:
                raises()
            total += x
        except Found as e:
            total += e.v * x
    held[0] = x * x
    try:
        raise OfWhatIsHeld
    except OfWhatIsHeld as e:
        total += e.v + e.args[0]
    held[0] = 0.0
    return total


@case(1.3)
def classes_that_are_causes(x):
    class Found(Exception):  # noqa: N818
        def __init__(self):
            self.v = x * x

    try:
        raise ValueError from Found
    except ValueError as e:
        return e.__cause__.v * x


@case(1.3)
def classes_that_are_thrown(x):
    class Found(Exception):  # noqa: N818
        def __init__(self):
            self.v = x * x

    def g():
        try:
            yield 1.0
        except Found as e:
            yield e.v

    it = g()
    next(it)
    return it.throw(Found) * x


@case(1.3)
def classes_that_are_no_exceptions(x):
    for kind in (int, 5):
        try:
            raise kind
        except TypeError as e:
            x *= len(str(e))
    return x


@case(1.3)
def thrown_of_classes_that_are_made(x):
    class Again(Exception):  # noqa: N818
        pass

    def g():
        s = x
        while True:
            try:
                yield s
            except Again:
                s *= x

    it = g()
    return next(it) * it.throw(Again()) + it.throw(Again)


def checked(n):
    for i in range(5):
        if n > i + 1.5:
            raise ValueError(n, i)
    return n


@case(1.3)
def constants_that_are_raised(x):
    """Nothing that the function is given has a derivative: what it raises holds constants."""
    try:
        checked(2.5)
    except ValueError as e:
        return e.args[0] * x
