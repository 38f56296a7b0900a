"""`functools.partial`, made and called where all of it is in sight, and where it is not."""

import functools
import math
import operator
from functools import partial

import numpy as np

from tests.zoo.registry import case


def curve(a, b, x, c=1.0):
    return a * x + b * math.sin(x) * c


def collect(into, x):
    into.append(x * x)
    return len(into)


def repeated(f, n, x):
    for _ in range(n):
        x = f(x) * 0.3
    return x


def refuses(limit, x):
    if x > limit:
        raise ValueError("too large", x)
    return x * x


class Line:
    def __init__(self, slope, offset=0.0):
        self.slope, self.offset = slope, offset

    def at(self, x):
        return self.slope * x + self.offset


half = partial(curve, 0.5, c=2.0)
half_of_half = partial(half, 0.25)


@case(0.7)
def partial_called_at_once(x):
    return partial(curve, x, 2.0)(x * x)


@case(0.7)
def partial_made_in_a_loop(x):
    total = 0.0
    for i in range(4):
        total += partial(curve, x + i, c=x)(2.0, x * i)
    return total


@case(0.7)
def partial_in_a_variable(x):
    f = functools.partial(curve, x, x * x)
    total = 0.0
    for i in range(4):
        total += f(x + i) * f(i, c=x)
    return total


@case(0.7)
def partial_after_the_loop_that_made_it(x):
    for i in range(3):
        f = partial(curve, x * i, c=x + i)
    return f(2.0, x)


@case(0.7)
def partial_one_of_two(x):
    total = 0.0
    for i in range(4):
        f = partial(curve, x, 2.0) if i % 2 else partial(curve, 3.0, x)
        total += f(x + i)
    return total


@case(0.7)
def partial_with_keywords_given_anew(x):
    f = partial(curve, x=x, b=2.0, c=x)
    return f(x) + f(1.5, c=3.0) * f(x, b=x, x=0.2)


@case(0.7)
def partial_of_a_partial(x):
    f = partial(curve, x)
    g = partial(f, x * x, c=3.0)
    h = partial(g, c=x)
    return f(1.0, x) + g(x) * h(2.0 * x)


@case(0.7, 1.2)
def partial_from_outside(x, y):
    return half(x, y) + half_of_half(y) * half(x, y, c=x)


@case(0.4)
def partial_given_to_a_function(x):
    return repeated(partial(curve, x, x * x), 5, x)


@case(0.4)
def partial_given_to_map_and_sorted(x):
    points = [x * k for k in range(1, 5)]
    order = sorted(points, key=partial(curve, x, -3.0))
    return sum(map(partial(curve, x, 0.5), order)) + functools.reduce(partial(curve, 0.1), points, x)


@case(0.4)
def partial_of_a_closure_and_a_lambda(x):
    scale = x * x

    def scaled(a, b):
        return scale * a * b

    f, g = partial(scaled, x), partial(lambda a, b: a**b, b=3.0)
    scale = scale + 1.0
    return f(2.0) + g(x)


@case(0.4)
def partial_of_a_method_and_a_class(x):
    line = Line(x, 1.0)
    f, make = partial(line.at, x), partial(Line, offset=x * x)
    line.slope = 3.0 * x
    return f() + make(2.0).at(x)


@case(0.4)
def partial_that_hands_on_a_method(x):
    line, seen = Line(x, 1.0), []
    noting, at_each = partial(map, seen.append), partial(map, line.at)
    list(noting([x, x * x]))
    return seen[1] * sum(at_each([x, 2.0])) + len(seen)


@case(0.4)
def partial_kept_in_containers(x):
    kept = [partial(curve, x, 1.0), partial(curve, 2.0, x)]
    named = {"f": partial(curve, x)}
    total = 0.0
    for f in kept:
        total = total + f(x)
    return total + named["f"](1.0, x)


@case(0.4)
def partial_that_writes_to_what_it_holds(x):
    found = [x]
    f = partial(collect, found)
    n = f(2.0 * x) + f(x)
    found[0] = 5.0 * x
    return sum(found) * n


@case(np.array([0.5, 1.5]))
def partial_that_writes_to_an_array(x):
    out = np.zeros(2)
    add = partial(np.add, out=out)
    add(x, x * x)
    put = partial(out.__setitem__, 0)
    put(x[1] * 3.0)
    return np.sum(out * x)


@case(0.9)
def partial_that_raises(x):
    f = partial(refuses, 1.0)
    try:
        y = f(x) + f(2.0 * x)
    except ValueError as e:
        y = f(x * x) + e.args[1]
    return y


@case(0.9)
def partial_called_with_too_much(x):
    f = partial(curve, x, 1.0, b=2.0)
    try:
        return f(x)
    except TypeError:
        return x * x


@case(0.9)
def partial_with_a_star(x):
    given = [x, 2.0]
    f = partial(curve, *given)
    return f(x) + partial(curve, **{"a": x, "b": 1.0})(x=x)


@case(0.9)
def partial_looked_into(x):
    f = partial(curve, x, c=2.0 * x)
    return f(1.0, 2.0) + f.args[0] * f.keywords["c"] * (f.func is curve)


@case(0.9)
def partial_returned_by_a_function(x):
    def fixed(a):
        return partial(curve, a, c=a)

    f, g = fixed(x), fixed(x * x)
    return f(1.0, x) * g(x, 2.0)


@case(0.9)
def partial_rebound_to_itself(x):
    f = partial(curve, x)
    f = partial(f, 2.0)
    for _ in range(3):
        f = partial(f.func, *f.args)
    return f(x)


def times(a, b=1.0):
    return a * b


@case(1.3)
def keywords_that_are_set_later(x):
    p = functools.partial(times, b=x * x)
    q = functools.partial(p, 2.0)
    r = functools.partial(p, x, b=3.0)
    q.keywords["b"] = x * 3
    r.keywords["b"] *= x
    p.keywords.update(b=x)
    return q() + r() * p(1.0) + p.args.__len__()


class Body:
    def __init__(self, x, mass):
        self.x, self.mass, self.home = x, mass, None


SECOND, ENDS = operator.itemgetter(1), operator.itemgetter(0, -1)
MASS, STATE, OF_HOME = operator.attrgetter("mass"), operator.attrgetter("x", "mass"), operator.attrgetter("home.x")


@case([0.3, 0.7, 1.1], 0.5)
def getters_made_outside(xs, y):
    body = Body(xs[0], y)
    body.home = Body(y * y, xs[1])
    first, last = ENDS(xs)
    x, mass = STATE(body)
    return SECOND(xs) * first + last * MASS(body) + x * mass * OF_HOME(body)


@case([0.3, 0.7, 1.1], 0.5)
def getters_made_on_the_spot(xs, y):
    body = Body(xs[0], y)
    a, b, c = operator.itemgetter(2, 0, 1)(xs)
    by_name = operator.itemgetter("p", "q")({"p": y, "q": xs[1]})
    return (
        a * b + c * operator.attrgetter("x")(body) + by_name[0] * by_name[1] + operator.attrgetter("x", "mass")(body)[1]
    )


@case([0.3, 0.7, 1.1], 0.5)
def getters_that_find_nothing(xs, y):
    total = 0.0
    for get in (operator.itemgetter(5), operator.attrgetter("none"), ENDS):
        try:
            total += get(xs)[0] * y
        except (IndexError, AttributeError) as e:
            total += len(str(e)) * y
    return total
