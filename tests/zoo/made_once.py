"""Classes made in the function of functions, constants and annotations alone: the same in each run."""

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

import numpy as np

from tests.zoo.registry import case

XS = np.array([0.4, 1.3, 0.9, 1.6])


@case([0.4, 1.3, 0.9])
def local_accumulator(xs):
    class Sum:
        """What is added up."""

        weight = 0.5

        def __init__(self):
            self.v = 0.0

        def add(self, x, *, scale=2.0):
            self.v += x * scale * self.weight

    s = Sum()
    for x in xs:
        s.add(x)
    return s.v**2


@case([0.4, 1.3, 0.9])
def local_data_class_with_operators(xs):
    @dataclass
    class V:
        x: float
        y: "float" = 1.0
        seen: list[float] = field(default_factory=list)
        name: Optional[str] = field(default=None, repr=False)

        def __add__(self, other):
            return V(self.x + other.x, self.y * other.y, [*self.seen, other.x])

        @property
        def product(self) -> float:
            return self.x * self.y

        @product.setter
        def product(self, v):
            self.x = v / self.y

        @staticmethod
        def of(v: float):
            return V(v, 1.0 + v)

        @classmethod
        def twice(cls, v):
            return cls(v, v)

    t = V(0.5)
    for x in xs:
        t = t + V.of(x) + V.twice(x)
    t.product = t.product * 0.5
    return t.product + t.seen[2] * t.y


@case(XS)
def local_abstract_class_and_its_kinds(xs):
    def squared(r):
        return r * r

    factor = 2.0

    class Shape(ABC):
        sides = 0

        @abstractmethod
        def area(self) -> float: ...

        @functools.cached_property
        def size(self):
            return self.area() * factor

    class Circle(Shape):
        def __init__(self, r):
            super().__init__()
            self.r = r

        def area(self) -> float:
            return squared(self.r) * math.pi

    class Square(Shape):
        sides = 4

        def __init__(self, a):
            self.a = a

        def area(self):
            return squared(self.a) + self.sides

    shapes = [Circle(x) if i % 2 else Square(x) for i, x in enumerate(xs)]
    return sum(s.size * s.area() if isinstance(s, Circle) else s.size for s in shapes)


@case(0.7)
def local_linked_list(x):
    class Node:
        __slots__ = ("next", "v")

        def __init__(self, v, next=None):
            self.v = v
            self.next = next

    class Chain:
        def __init__(self):
            self.head = None

        def push(self, v):
            self.head = Node(v, self.head)

        def __iter__(self):
            n = self.head
            while n is not None:
                yield n.v
                n = n.next

    chain = Chain()
    for i in range(5):
        chain.push(x**i)
    return sum(v * v for v in chain)


@case([0.4, 1.3, 0.9])
def local_exception_with_a_value(xs):
    class TooMuch(Exception):
        def __init__(self, v):
            self.v = v

    class FarTooMuch(TooMuch):
        pass

    total = 0.0
    for x in xs:
        try:
            if x > 1.0:
                raise FarTooMuch(x * x)
            total += x
        except TooMuch as e:
            total += e.v * 3.0
    return total


@case([0.4, 1.3, 0.9])
def local_class_of_named_tuples(xs):
    class P(NamedTuple):
        x: float
        y: float = 2.0

        def product(self):
            return self.x * self.y

    return sum(p.product() for p in [P(x, x) if x > 0.5 else P(x) for x in xs])


@case([0.4, 1.3, 0.9])
def local_class_that_counts_its_objects(xs):
    class P:
        made = 0

        def __init__(self, x):
            P.made += 1
            self.x = x * P.made

    return sum(P(x).x for x in xs)


@case([0.4, 1.3, 0.9])
def local_class_changed_by_a_function(xs):
    class P:
        made = 0

        def __init__(self, x):
            self.x = x * (self.made + 1)

    def count(cls):
        cls.made += 1
        return cls

    return sum(count(P)(x).x for x in xs)


class Counted:
    made = 0

    def __init__(self, x):
        type(self).made += 1
        self.x = x * self.made


@case([0.4, 1.3, 0.9])
def local_class_changed_by_what_it_inherits(xs):
    class P(Counted):
        made = 1

    return sum(P(x).x for x in xs) * P.made


@case([0.4, 1.3, 0.9])
def local_class_that_is_given_attributes(xs):
    class Settings:
        rate = 0.0

    total = 0.0
    for x in xs:
        Settings.rate = Settings.rate * 0.5 + x
        total += Settings.rate
    Settings.last = total * total
    return Settings.last


@case(0.7)
def local_classes_of_a_loop(x):
    total = 0.0
    kinds = []
    for i in range(3):

        class P:
            weight = 2.0

            def scaled(self, v):
                return v * self.weight

        kinds.append(P)
        total += P().scaled(x) * x**i
    return total * sum(isinstance(kinds[0](), k) for k in kinds)


@case(0.7, 3)
def local_classes_of_a_recursion(x, n):
    class Stop(Exception):
        pass

    if n == 0:
        raise LookupError
    try:
        try:
            return local_classes_of_a_recursion(x * x, n - 1)
        except LookupError:
            raise Stop from None
    except Stop:
        return x * n


@case(0.7, True)
@case(0.7, False, name="local_class_one_of_two_other")
def local_class_one_of_two(x, flag):
    if flag:

        class P:
            def of(self, v):
                return v * v

    else:

        class P:
            def of(self, v):
                return math.sin(v)

    return P().of(x) * x


@functools.total_ordering
class Ordered:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return self.v == other.v

    def __lt__(self, other):
        return self.v < other.v


@case([0.9, 1.3, 0.4])
def local_ordered_classes(xs):
    @functools.total_ordering
    class Item(Ordered):
        def __lt__(self, other):
            return other.v < self.v

    @dataclass(order=True, frozen=True)
    class Pair:
        a: float
        b: float

    items = sorted([Item(x) for x in xs])
    pairs = sorted(Pair(x, x * x) for x in xs)
    return items[0].v * pairs[0].b + (items[0] >= items[1]) + pairs[2].a
