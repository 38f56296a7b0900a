"""Classes derived from containers that say themselves how they are made, filled, iterated over, or added up."""

from collections import OrderedDict, defaultdict, deque
from typing import NamedTuple

from tests.zoo.registry import case


class Recent(OrderedDict):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def get_or_make(self, key, make):
        if key in self:
            self.move_to_end(key)
        else:
            self[key] = make(key)
            if len(self) > self.most:
                self.popitem(last=False)
        return self[key]


@case(1.3)
def recent_results(x):
    kept = Recent(2)
    total = sum(kept.get_or_make(k, lambda k: x**k) for k in (0, 1, 0, 2, 1, 2))
    return total * x + sum(kept.values()) + kept.most


class Totals(defaultdict):
    def __init__(self, unit):
        super().__init__(float)
        self.unit = unit


@case(1.3)
def totals_with_a_unit(x):
    totals = Totals(x)
    totals["a"] += x * x
    del totals["a"]
    totals["b"] += x
    return totals["b"] * totals.unit


class Descending(dict):
    def __iter__(self):
        return iter(sorted(dict.keys(self), reverse=True))


@case(1.3, 0.7)
def values_whatever_iteration_gives(x, y):
    d = Descending(a=x, b=y)
    d["c"] = x * y
    total = 0.0
    for v in d.values():
        total = total * x + v
    for k, v in d.items():
        total = total * y + v * len(k)
    for k in d:
        total = total * x + d[k]
    return total


class Doubled(list):
    def __iter__(self):
        return (2.0 * v for v in list.__iter__(self))

    def __len__(self):
        return 1


@case([1.3, 0.7])
def lists_of_another_length(xs):
    held = [Doubled(xs)]
    return sum(held[0]) * held[0][1] * len(held[0])


class Steps(deque):
    def __len__(self):
        return 1


@case([1.3, 0.7])
def deques_of_another_length(xs):
    held = [Steps(xs)]
    return sum(held[0]) * held[0][1] * len(held[0])


class Settings(dict):
    def __init__(self, **items):
        super().__init__(**items)
        self.__dict__ = self


@case(1.3)
def items_that_are_attributes(x):
    s = Settings(rate=x, size=2.0)
    s.both = s.rate * s["size"]
    s["rate"] = s.both * s.rate
    del s.size
    s.update(more=s.rate * x)
    return s.rate * s.get("both") + s.more * len(s)


class Step(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Step(self.x + other.x, self.y + other.y)


class Place:
    at = Step(0.0, 0.0)


@case(1.3, 0.7)
def tuples_that_say_what_adding_in_place_is(x, y):
    p = Place()
    p.at = Step(x * y, y)
    q = Step(x, x)
    q += p.at
    return q.x * q.y


class Pair(tuple):
    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))

    def __add__(self, other):
        return Pair(self[0] + other[0], self[1] + other[1])

    def __mul__(self, k):
        return Pair(k * self[0], k * self[1])


@case(1.3, 0.7)
def tuples_of_a_class_added_and_scaled_in_place(x, y):
    p = Pair(x, x * y)
    p += Pair(y, x)
    p *= y
    return p[0] * p[1]


class Window(deque):
    def __init__(self, items, most):
        super().__init__(items, most)


class Started(list):
    def __init__(self, x):
        self.append(x)
        super().__init__([x * x])
        self.append(2.0 * x)


@case(1.3)
def started_again(x):
    w = Window([x, 2.0 * x, 3.0 * x], 2)
    w.append(x * x)
    total = sum(w) * w.maxlen
    w.__init__(w, 3)
    w.extend([x] * 2)
    q = deque([x, 2.0], maxlen=4)
    q.__init__([x * x, x, 3.0], 2)
    return total + sum(w) * x + sum(q) * q.maxlen + sum(Started(x))


class Threefold(dict):
    """Its items are read threefold, and one that is missing is made of another."""

    def __getitem__(self, key):
        return super().__getitem__(key) * 3.0

    def __contains__(self, key):
        return True

    def __missing__(self, key):
        return self.base * len(key)


@case(1.3, 0.4)
def missing_items_by_the_method_of_dict(x, y):
    d = Threefold(a=x)
    d.base = y
    return d["a"] * d["bc"] + dict.__getitem__(d, "d") * x


class Halved(list):
    def __iter__(self):
        return (v * 0.5 for v in super(Halved, self).__iter__())


@case([0.7, 1.3])
def methods_of_list_on_one_that_iterates_its_own_way(xs):
    kept = Halved(xs)
    longer, twice, same = list.__add__(kept, [xs[0]]), list.__mul__(kept, 2), list.copy(kept)
    return sum(v * (k + 1) for k, v in enumerate(longer + twice + same)) * sum(kept)


class Direction(tuple):
    def dot(self, other):
        return sum(a * b for a, b in zip(self, other))


class Coordinates(tuple):
    def __new__(cls, *xs):
        return super().__new__(cls, (float(x) for x in xs))

    def __add__(self, other):
        return Coordinates(*(a + b for a, b in zip(self, other)))


@case([0.5, -1.2, 2.0])
def tuples_of_their_own_class_of_what_iterates(xs):
    squares, doubles = Direction(x * x for x in xs), Direction(map(lambda x: 2 * x, xs))
    positive = Direction(x for x in xs if x > 0)
    first, *others = positive
    total = squares.dot(doubles) + Direction(xs).dot(squares) + first * sum(others) + len(Direction())
    return total + Coordinates(*xs)[1] * sum(x * x for x in Coordinates(*xs) + Coordinates(*xs[::-1]))


class Polynomial:
    def __init__(self, coefficients):
        self.c = list(coefficients)

    def __call__(self, x):
        r = 0.0
        for c in reversed(self.c):
            r = r * x + c
        return r

    def __mul__(self, other):
        r = [0.0] * (len(self.c) + len(other.c) - 1)
        for i, a in enumerate(self.c):
            for j, b in enumerate(other.c):
                r[i + j] += a * b
        return Polynomial(r)

    def derivative(self):
        return Polynomial(i * c for i, c in enumerate(self.c) if i)


@case([0.3, 0.2, 0.5], 0.7)
def polynomials_made_of_generators(c, x):
    p = Polynomial(c)
    q = p * p * Polynomial([1.0, x])
    return q(x) + q.derivative()(0.3) * p.derivative().derivative()(x)
