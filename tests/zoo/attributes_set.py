"""Attributes of classes and modules that code sets which does not name them: by helpers, managers, callbacks."""

import colorsys
import contextlib
import functools
import math
import re
from unittest import mock

from tests.zoo import partials
from tests.zoo.registry import case


class Shape:
    scale = 2.0

    def go(self, x):
        return self.scale * x * x


class Other:
    def go(self, x):
        return x


SHAPE = Shape()
SQUARE = Shape.go


def cube(self, x):
    return x**3


def put(o, name, value):
    old = getattr(o, name)
    setattr(o, name, value)
    return old


class Patched:
    def __init__(self, o, name, value):
        self.o, self.name, self.value = o, name, value

    def __enter__(self):
        self.old = put(self.o, self.name, self.value)

    def __exit__(self, *_):
        put(self.o, self.name, self.old)


@contextlib.contextmanager
def patched(o, name, value):
    old = put(o, name, value)
    try:
        yield
    finally:
        put(o, name, old)


@case(1.3)
def method_set_by_a_helper(x):
    a = SHAPE.go(x)
    old = put(Shape, "go", cube)
    a += 2.0 * SHAPE.go(x)
    put(Shape, "go", old)
    return a + 3.0 * SHAPE.go(x)


@case(1.3)
def number_of_a_class_set_by_a_helper(x):
    old = put(Shape, "scale", 5.0)
    a = Shape.scale * x + SHAPE.go(x)
    put(Shape, "scale", old)
    return a + SHAPE.go(x)


@case(1.3)
def number_with_a_derivative_set_on_a_class_by_a_helper(x):
    old = put(Shape, "scale", x * x)
    a = Shape.scale * x + SHAPE.go(x)
    put(Shape, "scale", old)
    return a + SHAPE.go(x)


@case(1.3)
def method_set_by_a_context_manager(x):
    with Patched(Shape, "go", cube):
        a = SHAPE.go(x)
    with patched(Shape, "go", cube), patched(Shape, "scale", 3.0):
        a += SHAPE.go(x) * SHAPE.scale
    return a + SHAPE.go(x)


@case(1.3)
def method_set_by_a_partial_and_by_map(x):
    functools.partial(setattr, Shape, "go")(cube)
    a = SHAPE.go(x)
    list(map(setattr, [Shape], ["go"], [SQUARE]))
    return a + 2.0 * SHAPE.go(x)


@case(1.3)
def method_set_by_a_function_that_is_called_back(x):
    def set_it(m):
        Shape.go = cube
        return "z"

    def set_back(v):
        Shape.go = SQUARE
        return v

    a = SHAPE.go(x)
    re.sub("a", set_it, "banana")
    a += 2.0 * SHAPE.go(x)
    sorted([2, 1], key=set_back)
    return a + 3.0 * SHAPE.go(x)


@case(1.3)
def method_patched_by_mock(x):
    with mock.patch.object(Shape, "go", cube):
        a = SHAPE.go(x)
    with mock.patch.object(Shape, "scale", 5.0):
        a += SHAPE.go(x)
    return a + SHAPE.go(x)


@case(1.3)
def function_of_a_module_patched_by_mock(x):
    with mock.patch("tests.zoo.partials.times", lambda x, i: x**3):
        a = partials.times(x, 2.0)
    return a + partials.times(x, 5.0)


@case(1.3)
def attribute_of_a_library_module(x):
    colorsys.gain = x * 2.0
    a = colorsys.gain * x
    colorsys.gain = 3.0
    return a + colorsys.gain * x


@case(1.3)
def method_set_on_the_class_of_an_object(x):
    type(SHAPE).go = cube
    a = SHAPE.go(x)
    SHAPE.__class__.go = SQUARE
    return a + SHAPE.go(x) + Other().go(x)


def keeper(k):
    def times(x):
        return k * x

    return times


TIMES = keeper(2.0)


@case(1.3)
def variable_of_a_function_set_through_its_cell(x):
    a = TIMES(x)
    TIMES.__closure__[0].cell_contents = x * x
    a += TIMES(x)
    TIMES.__closure__[0].cell_contents = 5.0
    a += TIMES(x)
    TIMES.__closure__[0].cell_contents = 2.0
    return a + TIMES(x)


class Tee:
    def __init__(self):
        self.lines, self.text, self.sum = 0, [], 0.0

    def write(self, text):
        self.lines += 1
        self.text.append(text)

    def flush(self):
        self.lines *= 10


class Summed(Tee):
    def __init__(self, x):
        super().__init__()
        self.x = x

    def __str__(self):
        self.sum += self.x
        return "summed"


@case(1.3)
def printed_to_an_object(x):
    tee = Tee()
    print("hello", 3, "there", file=tee)
    y = x * tee.lines * len(tee.text[0])
    print(file=tee, end="", flush=True)
    print("a", "b", file=tee, sep="--", end=None)
    return y + x * x * tee.lines * len("".join(tee.text))


@case(1.3)
def what_is_printed_is_asked_for_its_text(x):
    tee, summed = Tee(), Summed(x * x)
    for _ in range(2):
        print(summed, summed, file=tee)
    return summed.sum * tee.lines


@case(1.3)
def printed_to_one_of_several_objects(x):
    y = 0.0
    for tee in [Tee(), Summed(x), Tee()]:
        print("hello", file=tee)
        y += x * tee.lines * len(tee.text)
    return y


class Counting:
    made = 0
    total = 0.0
    last = None
    names = 1
    seen = {}

    def __init__(self, v):
        Counting.made += 1
        self.v = v

    @classmethod
    def count(cls, by=1):
        cls.names += by
        return cls.names

    def add(self):
        type(self).total += self.v * self.made
        return self

    @classmethod
    def square(cls, i, x):
        if i not in cls.seen:
            cls.seen[i] = x * x
        return cls.seen[i]


class Inheriting(Counting):
    made = 3


@case((0.4, 1.3, 2.1))
def counted_and_summed_up_in_a_class(xs):
    Counting.made, Counting.total, Counting.names = 0, xs[0] * xs[1], 1
    t = 0.0
    for x in xs:
        t += Counting(x * x).add().v * Counting.made + Counting.count() * Counting.total
    return t * Counting.made + Counting.total


@case((0.4, 1.3, 2.1))
def a_rate_set_before_a_loop(xs):
    Counting.total = xs[0] * 2.0
    t = 0.0
    for x in xs:
        t += Counting.total * x
        Inheriting.made = Inheriting.made + 1
        t += Inheriting(x).made * Inheriting.total
    Counting.total = 0.0
    Inheriting.made = 3
    return t * Inheriting.total + t


@case((0.4, 1.3, 2.1))
def of_several_types_one_after_the_other(xs):
    Counting.last = None
    t = 0.0
    for x in xs:
        if Counting.last is not None:
            t += Counting.last * x
        Counting.last = x * x
    Counting.last = [Counting.last, t]
    t *= Counting.last[0]
    Counting.last = None
    return t


@case((0.4, 1.3, 2.1))
def a_cache_of_the_class(xs):
    Counting.seen.clear()
    return sum([Counting.square(i % 2, x) * x for i, x in enumerate(xs)])


def damped(x):
    x.made *= x.total
    return x


@case((0.4, 1.3, 2.1))
def by_a_function_that_is_given_the_class(xs):
    Counting.made, Counting.total = xs[0], 0.5
    for x in xs:
        Counting.total += x
        damped(Counting if x > 1.0 else Inheriting)
    y, Counting.made, Inheriting.made = Counting.made * Inheriting.made, 0, 3
    return y


@case(1.3)
def set_before_an_exception(x):
    Counting.total = x
    try:
        for i in range(3):
            Counting.total *= x
            math.sqrt(1 - i)
    except ValueError:
        return Counting.total * x
    return x


def relaxed(xs):
    for x in xs:
        for _ in range(3):
            if Counting.total > 2.0:
                Counting.total = math.sqrt(Counting.total)
            Counting.total += x * math.sin(Counting.total)
    Counting.last = [Counting.total]


def halved(n, x):
    Counting.total += x * n
    return x if n == 0 else halved(n // 2, x * 0.5) * Counting.total


@case((0.4, 1.3, 2.1))
def by_helpers_with_loops(xs):
    Counting.total, Counting.last = 0.5, None
    t = 0.0
    for x in xs:
        t += Counting.total * x
        relaxed(xs)
        t += Counting.last[0] * halved(5, x) * Counting.total
        Counting.last = None
    return t


@case((0.4, 1.3, 2.1))
def by_names_put_together(xs):
    Counting.total = 0.5
    t = 0.0
    for i, x in enumerate(xs):
        t += Counting.total * x
        setattr(Counting, "to" + "".join(["t", "al"]), x if i < 2 else x * t)
    y, Counting.total = Counting.total, 0.0
    return t * y


def weighed(x):
    weighed.calls += 1
    weighed.sum = weighed.sum + x * weighed.calls
    return weighed.sum * x


weighed.calls, weighed.sum = 0, 0.0


@case((0.4, 1.3, 2.1))
def of_a_function(xs):
    weighed.calls, weighed.sum = 0, xs[0]
    t = sum([weighed(x) for x in xs])
    return t * weighed.sum * weighed.calls


@case((0.4, 1.3, 2.1))
def by_the_dict_of_a_function(xs):
    weighed.calls, weighed.sum = 0, xs[0]
    vars(weighed)["sum"] *= xs[1]
    weighed.__dict__.update(calls=2)
    return weighed(xs[2]) * weighed.sum


def given_its_own(x, v):
    if v > 1.0:
        x.total = v * v
    return x


@case((0.4, 1.3, 2.1))
def of_objects_some_of_which_have_their_own(xs):
    Counting.total = xs[0]
    t = 0.0
    for x in xs:
        t += given_its_own(Counting(x), x).total * x
        Counting.total *= x
    Counting.total = 0.0
    return t
