"""Named tuples: made, read, replaced, with methods and operators of their own, in containers and loops."""

import math
import operator
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from tests.zoo.registry import case

V = np.array([0.5, -1.2, 2.0])


class Leg(NamedTuple):
    length: Any
    angle: Any = 0.5

    @property
    def reach(self) -> Any:
        return self.length * math.cos(self.angle)

    @classmethod
    def straight(cls, length: Any) -> Any:
        return cls(length, angle=2.0 * length)

    def turned(self, by: Any) -> Any:
        return self._replace(angle=self.angle + by)


class Vec(namedtuple("Vec", "x y z", defaults=(0.0,))):
    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y, self.z + other.z)

    def __mul__(self, k):
        return Vec(*[k * t for t in self])

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y, -self.z)

    def __eq__(self, other):
        return self.x == other.x

    __hash__ = tuple.__hash__

    def __call__(self, t):
        return self.x + t * self.y

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False

    @property
    def norm(self):
        return math.sqrt(self.x**2 + self.y**2 + self.z**2)


Pair = namedtuple("Pair", "x y")


class Sub(Vec):
    def __add__(self, other):
        return Sub(*super().__add__(other))

    @property
    def x(self):
        return 3.0 * super().x


class Swapped(Leg):
    __slots__ = ()

    def __getitem__(self, i):
        return 3.0 * super().__getitem__(1 - i)


class Sevens(Leg):
    def __getitem__(self, i):
        return 7.0

    @property
    def seven(self):
        return self[0]


class Backwards(Leg):
    def __iter__(self):
        yield 2.0 * self.angle
        yield self.length


class Squared(namedtuple("Squared", "x y")):
    def __new__(cls, x):
        return super().__new__(cls, x, x * x)


class Shy(NamedTuple):
    x: Any
    y: Any

    def __eq__(self, other):
        return NotImplemented

    def __radd__(self, other):
        return NotImplemented


@case(1.3, 0.4)
def made_and_read(x, y):
    p = Leg(x * y, angle=y)
    return p.length * p.angle + p[0] * p[-1] + Leg(x).angle * Leg(y).length + Leg.straight(x).angle


@case(1.3, 0.4)
def replaced(x, y):
    p = Leg(x, y)
    q = p._replace(length=p.angle * x)
    return q.length * q.angle + p.length, Leg._make((x, y * y)).angle, Leg._make([x, y * y]).angle


@case(1.3, 0.4)
def as_dict(x, y):
    d = Leg(x, y)._asdict()
    d["length"] *= y
    return Leg(**d).length * sum(d.values())


@case(1.3, 0.4)
def made_of_lists(x, y):
    p = Pair._make([x * y, x])
    q = Pair(*[t * y for t in p])
    for make in (lambda: Pair(*[x, y, y]), lambda: Pair._make([x])):
        try:
            q = make()
        except TypeError as e:
            q = q._replace(x=q.x + len(str(e)) * p.y)
    return q.x * q.y * sum(dict(zip(q._fields, q)).values())


@case(1.3, 0.4)
def unpacked(x, y):
    a, b = Leg(y, x * x)
    first, *rest = Leg(a * b, y)
    return a * math.sin(b) + first * rest[0] + (lambda p, q: p * q * q)(*Leg(x, y))


@case(1.3, 0.4)
def sliced_added_repeated(x, y):
    p = Vec(x, y, 2.0)
    q = Leg(x, y)
    return p[:2], p[1:][0] * x, (q + (x * y,))[2], ((y,) + q)[1] * x, (q * 2)[3] * x, len(p)


@case(1.3, 0.4)
def compared(x, y):
    p = Leg(x, y)
    s = 0.0
    if p == (x, y):
        s += x
    if p != Leg(x, y):
        s += 10.0 * x
    if p < Leg(2.0, 0.0):
        s += y * x
    return s + (p.index(y) + p.count(x)) * y


@case(1.3, 0.4)
def compared_by_the_class(x, y):
    p = Vec(x, y)
    s = 0.0
    if p == Vec(x, 1.0):
        s += x
    if p != Vec(x, 1.0):  # asks the tuple
        s += 10.0 * y
    return s


@case(1.3, 0.4)
def operators_that_leave_it_to_the_tuple(x, y):
    p = Shy(x, y)
    s = ((x, y) + p)[2] * y
    if p == (x, y):
        s += x * x
    if (y, x) == p:
        s += 10.0 * x
    return s


@case(Leg(1.3, V), Leg(0.7))
def as_argument(p, q):
    return p.length * p.angle.sum() + q.length * q.angle * p.angle[0]


@case([Leg(1.3, 0.4), Leg(0.7)], {"a": Leg(1.3, V)})
def in_arguments(legs, d):
    return sum(leg.reach * leg.length for leg in legs) * d["a"].angle[0] * d["a"].length


@case(1.3, V)
def returned(x, v):
    return Leg(x * v, Leg(x, 2.0))


@case(1.3, V)
def list_of_them(x, v):
    legs = [Leg(x * v[i], v[i] * i) for i in range(3)]
    legs.append(Leg(x))
    legs[1] = legs[1]._replace(length=legs[0].angle + x)
    legs.sort(key=lambda leg: leg.length)
    return sum([leg.length * leg.angle for leg in legs]) + sum(leg.reach for leg in legs) + max(legs).length


@case(1.3, 0.4)
def methods(x, y):
    p = Leg(x, y).turned(x * y)
    return p.reach * p.angle


@case(1.3, 0.4)
def operators_of_the_class(x, y):
    p = 2.0 * Vec(x, y) + -Vec(y, x * y) * y
    with p as q:
        return p.norm * q(x) + q.z


@case(1.3, 0.4)
def derived_class(x, y):
    p = Sub(x, y) + Sub(y, x)
    return p.x * p.y + p.norm + p[0]


@case(V, 1.3)
def array_in_two_of_them(v, x):
    w = v * x
    p, q = Leg(w, x), Leg(w)
    p.length[0] = x * x
    q.length[1] *= p.length[0]
    return p.length.sum() * p.angle + q.length @ v


@case(1.3, 0.4)
def items_of_the_class(x, y):
    p = Swapped(x, y * x)
    a, b = p
    s = p[0] * p.length + p[1] * p.angle + a * b * b
    for t in p:
        s = s * t
    return s


@case(1.3, 0.4)
def constant_items_of_the_class(x, y):
    p = Sevens(x, y)
    s = p[0] * p.length + p.seven * y
    for t in p:
        s = s * t
    return s + sum([t * t for t in p]) + p.angle


@case(1.3, 0.4)
def iteration_of_the_class(x, y):
    a, b = Backwards(x, y)
    first, *rest = Backwards(x, y)
    s = a * b * b + first * rest[0] + (lambda p, q: p * q * q)(*Backwards(x, y)) + sum(Backwards(x, y))
    for t in Backwards(x, y):
        s = s * t
    return s + list(Backwards(x, y))[0] * tuple(Backwards(x, y))[1] + [*Backwards(x, y)][0]


@case(1.3, 0.4)
def made_by_the_class(x, y):
    p = Squared(x * y)
    return p.x * p.y + Squared(y)._replace(x=x).x


@case(1.3, 0.4)
def attribute_beside_the_items(x, y):
    p = Vec(x, y)
    p.weight = 3.0
    return p.weight * p.x + p.norm


@case(1.3, 0.4)
def in_a_branch(x, y):
    p = Leg(x, y) if x > y else (y, x)
    best = None
    q = Leg(x)
    for i in range(4):
        q = Leg(q.angle * x, q.length + y)
        if best is None or q.length * (i - 1) > best.length:
            best = q
    return p[0] * p[1] ** 2 + q.length * q.angle + best.angle


@case(1.3, 0.4)
def matched(x, y):
    s = 0.0
    for p in (Leg(x, y), Vec(x, y, x * y)):
        match p:
            case Leg(length=a, angle=b):
                s += a * b
            case Vec(a, b, c):
                s += a + b * c
    return s


@case(V, 3)
def replaced_item_kept_in_a_list(x, n):
    p, seen = Vec(x, x * 0.0), []
    for _ in range(n):
        p = p._replace(x=p.x + p.y * 0.1, y=p.y - p.x * 0.1)
        seen.append(p.x)
    return sum(s.sum() * (i + 1.0) for i, s in enumerate(seen))


@case(V)
def replaced_items_written_to(x):
    p = Vec(y=x * 2.0, x=[x * 1.0])
    q = p._replace(y=[1.0], z=x * x)
    q.x[0][1] = x[0] * 3.0
    q.x.append(q.z)
    q.y.append(q.z[1])
    q.z[0] *= 5.0
    p.y[2] = x[1]
    return sum((r * r).sum() for r in p.x) + q.y[1] * p.y.sum()


@case(0.4, 1.3)
def a_class_of_named_tuples_made_on_the_way(x, y):
    names = ["first"] if x > 0 else []
    made = namedtuple("made", [*names, "second"])  # noqa: PYI024
    pair = made(x * y, np.sin(y))
    return pair.first * pair.second, pair._replace(first=y).first


@case([1.5, 2.0])
def class_made_in_the_function(xs):
    Swap = namedtuple("Swap", "tenor rate")
    swaps = sorted((Swap(i + 1, x * 2.0) for i, x in enumerate(xs)), key=operator.attrgetter("tenor"))
    return sum(s.rate * s.tenor for s in swaps)


@case(1.3, np.array([0.4, 1.3]))
def default_values_with_derivatives(x, v):
    P = namedtuple("P", "a b c", defaults=(x * x, v))
    p, q = P(x), P(a=x, b=2.0)
    return p.a * p.b + np.sum(p.c * q.c) * q.b + P._field_defaults["b"] * P._make([x, x, v]).b


@case(1.3)
def classes_with_default_values_handed_on(x):
    P = namedtuple("P", "a b", defaults=[x * x])

    class Q(P):
        def product(self):
            return self.a * self.b

    made = [make(x) for make in (P, Q, lambda y: P(y, y))]
    return sum([p.a * p.b for p in made]) + Q(2.0).product()


def amount(given, otherwise):
    return getattr(given, "amount", otherwise)


@case(1.3)
def fields_or_default_values(x):
    P = namedtuple("P", "amount unit")
    total = 0.0
    for given in (P(x, 2), x, P(x * x, 3), [x]):
        total += amount(given, x) * amount(given, 2.0)
    return total


class Stock(NamedTuple):
    young: Any
    old: Any

    def __add__(self, other):
        return Stock(*(a + b for a, b in zip(self, other)))

    def times(self, k):
        return Stock(*(k * a for a in self))


@case([0.5, 0.4], 0.2)
def made_of_starred_generators(rates, loss):
    stocks = [Stock(0.9, 0.1), Stock(1.0, 0.0)]
    for _ in range(3):
        grown = []
        for r, s in zip(rates, stocks):
            change = Stock(r * s.old - loss * s.young, loss * s.young - 0.1 * s.old)
            grown.append(s + change.times(0.5))
        stocks = grown
    return sum(s.young * s.old for s in stocks) + max(s.old for s in stocks)


class Quaternion(NamedTuple):
    w: Any
    x: Any
    y: Any = 0.0
    z: Any = 0.0

    def __mul__(self, o):
        if not isinstance(o, Quaternion):
            return NotImplemented
        w, x, y, z = self
        return Quaternion(
            w * o.w - x * o.x - y * o.y - z * o.z,
            w * o.x + x * o.w + y * o.z - z * o.y,
            w * o.y - x * o.z + y * o.w + z * o.x,
            w * o.z + x * o.y - y * o.x + z * o.w,
        )

    def unit(self):
        n = math.sqrt(sum(c * c for c in self))
        return Quaternion(*(c / n for c in self))


@case(0.3, 0.5)
def products_of_two_of_a_class(p, q):
    turn = Quaternion(1.0, p)
    for _ in range(3):
        turn = Quaternion(*(a + 0.2 * b for a, b in zip(turn, turn * Quaternion(0.0, p, q)))).unit()
    return turn.x * turn.w + turn.z


@case(0.3, 2)
def products_that_are_repetitions_or_refused(p, n):
    turn, total = Quaternion(p, 1.0), 0.0
    for other in (turn, p, Leg(p, p), None, Quaternion(p, p)):
        try:
            total += (turn * other).w
        except TypeError:
            total += p
        try:
            total += sum(Leg(p, p * p) * other)
        except TypeError:
            total -= 0.5 * p * p
    return total + sum(Leg(p, 0.5) * n) + sum(n * Leg(p, 0.1))


class Filled(namedtuple("Filled", "d n")):
    __slots__ = ()

    @property
    def inner(self):
        return super().d

    def put(self, x):
        self.d["h"] = x * 3.0


@case(2.0)
def items_of_a_dict_that_is_a_field(x):
    t = Filled({"h": 1.0}, 1)
    t.d["h"] = x * 2.0
    return t.d["h"] ** 2 + x


@case(2.0)
def items_of_fields_by_methods(x):
    t = Filled({"h": 1.0}, [2.0])
    t.put(x)
    t.n[0] = x * x
    return t.inner["h"] ** 2 * t.n[0]


@case(2.0, Filled({"h": 1.0}, [1.0]))
def items_of_fields_that_were_given(x, t):
    t.d["h"] = x * 3.0
    t.n.append(x)
    return t.d["h"] ** 2 * t.n[-1] + t.n[0]


@case(2.0)
def items_of_fields_in_a_list(x):
    ts = [Filled({"h": float(i)}, [1.0]) for i in range(3)]
    for t in ts:
        t.d["h"] = t.d["h"] * x
        t.n[0] = x
    return sum([t.d["h"] * t.n[0] for t in ts])


class Colour(namedtuple("Colour", "r g b")):
    def __add__(self, other):
        return Colour._make(a + b for a, b in zip(self, other, strict=True))

    def scaled(self, k):
        return Colour._make(k * c for c in self)

    def doubled(self):
        return self._make(2.0 * c for c in self)

    @classmethod
    def read(cls, v):
        return cls._make(v)


@case([0.3, -0.2, 0.7], np.array([0.5, 1.5, -0.4]))
def made_of_what_is_no_sequence(xs, v):
    c = Colour(0.5, *xs[1:]) + Colour.read(v)
    for k in xs:
        c += c.scaled(k)
    d = Colour._make(map(math.exp, {"r": xs[0], "g": xs[1], "b": xs[2]}.values()))
    return c.r * c.g + c.b + d.r * d.g - d.doubled().b


@case([0.3, -0.2, 0.7])
def made_of_too_few(xs):
    c = Colour(0.5, *xs[1:])
    try:
        Colour._make(x * x for x in xs[1:])
    except TypeError as e:
        c = c.scaled(float(len(str(e))))
    return c.r + c.b
