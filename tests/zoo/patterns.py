"""`match` statements on values that carry derivatives."""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from tests.zoo.registry import case

V = np.array([0.5, -1.2, 2.0])


@case(1.3)
def literals(x):
    t = 0.0
    for k in (1, "a", None, 3, True):
        match k:
            case True:
                t += x**4
            case 1:
                t += x
            case "a":
                t += x * x
            case None:
                t += 2 * x
            case _:
                t += x**3
    return t


@case(1.3)
def sequence_with_star(x):
    match [x, x * x, 3.0, x]:
        case []:
            return 0.0
        case [a, b, *rest]:
            return a * b + rest[0] * rest[-1]


@case(1.3, 0.4)
def tuple_with_guard(x, y):
    match (x, y):
        case (a, b) if a < b:
            return a
        case (a, b) if a > b:
            return a * b
    return x


@case(1.3)
def sequence_of_known_length(x):
    t = 0.0
    for xs in ([x], [x, 2.0], [x, x, x], "ab", (x * x,)):
        match xs:
            case [a]:
                t += a
            case [a, b]:
                t += a * b
            case [_, *_]:
                t += len(xs)
    return t * x


@case(1.3)
def mapping_with_rest(x):
    match {"k": x, "z": 2.0, "w": x * x}:
        case {"k": v, "missing": w}:
            return v + w
        case {"k": v, "z": w}:
            return v * w
    return x


@case(1.3)
def alternatives_and_capture(x):
    def apply(op):
        match op:
            case ("add" | "plus", a, b):
                return a + b
            case ("mul", a, (b, c) as pair):
                return a * b * c + len(pair)
            case ("neg", a):
                return -a
        return 0.0

    return apply(("plus", x, x * x)) * apply(("mul", x, (2.0, x))) + apply(("neg", x)) + apply(("?",))


@case(1.3)
def builtin_class(x):
    match x:
        case int():
            return x
        case float(v) if v > 1:
            return v * x
    return 0.0


@case(1.3)
def nested_patterns(x):
    match {"p": (x, [2.0, x]), "q": {"r": x * x}}:
        case {"p": (a, [b, c]), "q": {"r": d}}:
            return a * b * c + d
    return 0.0


@case(V)
def expression_tree(v):
    def value(e):
        match e:
            case ("+", a, b):
                return value(a) + value(b)
            case ("*", a, b):
                return value(a) * value(b)
            case ("exp", a):
                return math.exp(value(a))
            case ("var", i):
                return v[i]
            case float() | int():
                return e
        raise ValueError(e)

    return value(("+", ("*", ("var", 0), ("exp", ("var", 1))), ("*", 2.0, ("*", ("var", 2), ("var", 2)))))


@case(1.3, 2)
def matched_on_constant_argument(x, n):
    match n:
        case 0:
            return x
        case 1 | 2:
            return x * x * n
        case _:
            return x**3


@dataclass
class Circle:
    radius: float


CIRCLE = Circle(2.0)


@case(1.3)
def class_pattern_of_a_constant(x):
    shape = CIRCLE
    match shape:
        case Circle(radius=r) if r > 1:
            return x * r
        case Circle(r):
            return x
    return 0.0


class Segment:
    __match_args__ = ("start", "end")

    def __init__(self, start, end):
        self.start, self.end = start, end

    @property
    def length(self):
        return self.end - self.start


class Weighted(Segment):
    weight = 0.5

    def __getattr__(self, name):
        if name == "kind":
            return 3.0
        raise AttributeError(name)


@case(1.3, 0.4)
def classes_by_position_and_name(x, y):
    t = 0.0
    for s in (Segment(x, y), Weighted(x * y, x), x, None, (x, y)):
        match s:
            case Weighted(a, weight=w, kind=k):
                t += a * w * k
            case Segment(a, b, length=n):
                t += a * b * n
            case float(v):
                t += v * v
            case tuple((a, _)):
                t += a
            case None:
                t *= y
    return t


@case(1.3, 0.4)
def attributes_that_may_be_missing(x, y):
    t = 0.0
    for k in range(3):
        s = Segment(x, y)
        if k == 1:
            del s.end
        elif k == 2:
            s.extra = x * y
        match s:
            case Segment(a, extra=e):
                t += a * e
            case Segment(a, b):
                t += a * b
            case Segment(start=a):
                t += a**3
    return t


@case(1.3)
def class_that_asks_for_too_much(x):
    try:
        match Segment(x, x * x):
            case Segment(a, b, c):
                return a + b + c
    except TypeError:
        return x**3


@case(1.3)
def keys_of_mappings_of_several_shapes(x):
    t = 0.0
    for k in range(6):
        event = {"by": {"dx": x * k, "dy": 2.0}, "kind": "move"} if k % 2 else {"kind": "scale", "k": x, "n": k}
        match event:
            case {"kind": "move", "by": {"dx": dx, "dy": dy}}:
                t += dx * dy
            case {"kind": "scale", "k": float(v), **rest} if rest["n"] > 0:
                t *= 1 + v * rest["n"]
            case {"k": v}:
                t -= v * v
    return t


class Tens(dict):
    def __getitem__(self, key):
        return 10.0

    def get(self, key, default=None):
        return super().get(key, default)


@case(1.3)
def mappings_that_give_what_is_missing(x):
    made = defaultdict(lambda: x, u=x * x)
    t = 0.0
    match made:
        case {"v": v}:
            t += v
        case {"u": u}:
            t += u
    match Tens(a=x**3):
        case {"a": a}:
            t += a
    return t + len(made)


class Names:
    first, second = "a", "b"


@case(1.3)
def keys_asked_for_twice(x):
    d, t = {"a": x, "b": x * x}, 0.0
    match d:
        case {Names.first: v, Names.second: w}:
            t += v * w
    try:
        match d:
            case {"c": _, Names.first: v, "a": w}:
                t += 1.0
            case {Names.first: v, "a": w}:
                t += v + w
    except ValueError as e:
        t *= len(str(e))
    return t
