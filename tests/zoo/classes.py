"""Objects of classes that are known when a rule is derived: what makes their operations direct, and what must not."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tests.zoo.registry import case


class Pair:
    """Two attributes and every kind of method."""

    def __init__(self, x: Any, y: Any):
        self.x = x
        self.y = y

    def norm(self) -> Any:
        return math.sqrt(self.x**2 + self.y**2)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Pair):
            return Pair(self.x + other.x, self.y + other.y)
        if isinstance(other, (int, float)):
            return Pair(self.x + other, self.y + other)
        return NotImplemented

    __radd__ = __add__

    def __mul__(self, k: Any) -> Any:
        return Pair(self.x * k, self.y * k)

    def __rmul__(self, k: Any) -> Any:
        return self * k

    def __neg__(self) -> Any:
        return Pair(-self.x, -self.y)

    def __iadd__(self, other: Any) -> Any:
        self.x += other.x
        self.y += other.y
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pair) and self.x == other.x

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> bool:
        return self.norm() < other.norm()

    def __bool__(self) -> bool:
        return self.x > 0

    def __call__(self, t: Any) -> Any:
        return self.x * t + self.y

    def __getitem__(self, i: int) -> Any:
        return self.x if i == 0 else self.y

    def __setitem__(self, i: int, v: Any) -> None:
        if i == 0:
            self.x = v
        else:
            self.y = v

    def __len__(self) -> int:
        return 2

    def __abs__(self) -> Any:
        return self.norm()

    def __contains__(self, v: Any) -> bool:
        return v == self.x


@case(0.7)
def operators_of_a_known_class(x):
    p, q = Pair(x, 2.0), Pair(1.0, x * x)
    r = p + q * 2.0 + 3.0 * p
    r = -r
    r += p
    r = 1.5 + r
    return abs(r) * r(2.0) + r[0] * r[1] + len(r)


@case(0.7)
def items_set_by_a_method(x):
    p = Pair(x, 1.0)
    p[0] = x * x
    p[1] = p[0] * 3
    return p[0] * p[1]


@case(0.7)
def comparisons_decide(x):
    p, q = Pair(x, 1.0), Pair(2.0, x)
    if p and p < q and p.x in p and not (p == q):
        return p.x * 3
    return q.y


@case(0.7)
def an_object_by_two_names(x):
    p = Pair(x, 1.0)
    q = p
    q.x = q.x * 3
    return p.x * q.y + p.x**2


@case(0.7)
def attributes_swapped(x):
    p = Pair(x, x * x)
    p.x, p.y = p.y, p.x
    return p.x * 2 + p.y**3


@case(0.7)
def one_object_twice_in_a_list(x):
    a = Pair(x, 1.0)
    both = [a, a]
    both[0].x *= 2
    both[1].x *= 3
    return a.x * a.x


@case(0.7)
def an_attribute_of_another_kind_later(x):
    p = Pair(1.0, 2.0)
    p.x = np.array([x, 2 * x])
    p.x = p.x * 2
    return (p.x**2).sum() * p.y


@case(0.7)
def an_attribute_none_at_first(x):
    p = Pair(None, 2.0)
    if p.x is None:
        p.x = x
    return p.x * p.y


@case(0.7)
def objects_change_places_in_a_loop(x):
    a, b = Pair(x, 1.0), Pair(2.0, x)
    for _ in range(3):
        a, b = b, a
        a.x = a.x + b.y
    return a.x * b.x


@case(0.7)
def the_best_object_of_a_loop(x):
    p, best = Pair(x, 1.0), None
    for i in range(4):
        q = Pair(x * i, p.x)
        if best is None or q.x > best.x:
            best = q
        p = q
    return best.x * p.y


@case(0.7)
def an_object_left_early(x):
    p = Pair(x, 1.0)
    for _ in range(5):
        p.x = p.x * 1.3
        if p.x > 2:
            return p.x * p.y
    return p.x


@case(0.7)
def an_object_changed_by_a_closure(x):
    p = Pair(x, 0.0)

    def bump():
        p.y += p.x

    for _ in range(3):
        bump()
    return p.y * p.x


@case(0.7)
def a_bound_method_sees_later_writes(x):
    p = Pair(x, 2.0)
    f = p.norm
    p.x = 3 * x
    return f()


@case(0.7)
def an_attribute_that_is_not_there(x):
    p = Pair(x, 1.0)
    try:
        p.x = p.x * 2
        p.nothing  # noqa: B018
    except AttributeError:
        p.x = p.x * 5
    return p.x


@case(0.7)
def attributes_asked_for(x):
    p = Pair(x, 1.0)
    if not hasattr(p, "kept"):
        p.kept = x * x
    return p.kept + getattr(p, "nope", x) + p.x


@case(0.7)
def attributes_through_the_dict(x):
    p = Pair(x, 1.0)
    p.__dict__["x"] *= 3
    vars(p)["y"] = x * x
    return p.x * p.y


@case(0.7)
def attributes_set_by_name_in_a_loop(x):
    p = Pair(1.0, 1.0)
    for k in ("x", "y"):
        setattr(p, k, x * x)
    return p.x * p.y


@case(0.7)
def objects_in_objects(x):
    p = Pair(Pair(x, 1.0), Pair(2.0, x))
    p.x.x = p.x.x * p.y.y
    return p.x.x + p.y.y


class Link:
    def __init__(self, v: Any, after: Any = None):
        self.v = v
        self.after = after


@case(0.7)
def a_cycle_of_objects(x):
    a = Link(x)
    b = Link(x * 2, a)
    a.after = b
    a.after.after.v = 3 * x * x
    return a.v * b.v


class Tree:
    def __init__(self, v: Any, left: Any = None, right: Any = None):
        self.v, self.left, self.right = v, left, right

    def total(self) -> Any:
        t = self.v**2
        if self.left is not None:
            t += self.left.total()
        if self.right is not None:
            t += self.right.total()
        return t


@case(0.7)
def a_method_that_calls_itself(x):
    def build(depth, k):
        return Tree(x * k, build(depth - 1, k + 1), build(depth - 1, k + 2)) if depth else None

    return build(3, 1).total()


class Shape(ABC):
    def __init__(self, k: Any):
        self.k = k

    @abstractmethod
    def f(self, x: Any) -> Any: ...

    def twice(self, x: Any) -> Any:
        return self.f(self.f(x))


class Scaling(Shape):
    def f(self, x: Any) -> Any:
        return self.k * x


class Wave(Shape):
    def __init__(self, k: Any, c: Any):
        super().__init__(k)
        self.c = c

    def f(self, x: Any) -> Any:
        return math.sin(self.k * x) + self.c


@case(0.7)
def methods_by_class(x):
    return Scaling(x).twice(x) * Wave(x, 1.0).twice(x)


@case(0.7)
def methods_of_objects_of_several_classes(x):
    t = 0.0
    for o in [Scaling(x), Wave(2.0, x)]:
        t += o.twice(x)
    return t


class Disc:
    g = 9.81

    def __init__(self, r: Any):
        self._r = r

    @property
    def r(self) -> Any:
        return self._r

    @r.setter
    def r(self, v: Any) -> None:
        self._r = v * 2

    @property
    def weight(self) -> Any:
        return math.pi * self.r**2 * self.g

    @classmethod
    def unit(cls, k: Any) -> Any:
        return cls(1.0 * k)

    @staticmethod
    def square(v: Any) -> Any:
        return v * v


@case(0.7)
def properties_and_methods_of_the_class(x):
    p = Disc(x)
    p.r = p.r * x
    q = Disc.unit(x)
    q.g = 2.0
    return p.weight + q.weight * Disc.square(p.r) + p.square(x)


@case(0.7)
def a_method_covered_by_an_attribute(x):
    p = Disc(x)
    p.square = lambda v: v**3
    return p.square(x)


@dataclass
class Record:
    x: float
    y: float = 2.0
    tags: list = field(default_factory=list)
    known: ClassVar[float] = 3.0

    def __post_init__(self) -> None:
        self.z = self.x * self.y * self.known


@case(0.7)
def a_record_with_defaults(x):
    d, e = Record(x), Record(x, y=3.0 * x)
    d.tags.append(x * x)
    return d.z * e.z + sum(d.tags) + len(e.tags)


@dataclass(frozen=True)
class Fixed:
    x: float
    y: float = 1.0

    def scaled(self, k: Any) -> Any:
        return replace(self, x=self.x * k)


@dataclass(frozen=True, slots=True, order=True)
class Narrow:
    x: float
    y: float


@case(0.7)
def frozen_records(x):
    f = Fixed(x)
    g = f.scaled(3.0)
    a, b = Narrow(x, x * x), Narrow(x, 2.0)
    return g.x * f.x + g.y + (a.y * b.y if a < b else 0.0)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any):
        self.a = a

    def step(self, x: Any) -> Any:
        self.b = self.a * x
        self.a = self.b * self.a
        return self.a


@case(0.7)
def slots_in_a_loop(x):
    s, t = Slotted(x), 0.0
    for _ in range(4):
        t += s.step(0.9)
    return t


class Asking:
    def __getattr__(self, name: str) -> Any:
        if name == "doubled":
            return self.a * 2
        raise AttributeError(name)


class Doubling:
    def __setattr__(self, name: str, v: Any) -> None:
        object.__setattr__(self, name, v * 2)


@case(0.7)
def hooks_of_the_class(x):
    d, s = Asking(), Doubling()
    d.a = x * x
    s.a = x
    return d.doubled + d.a + s.a * s.a


class History:
    def __init__(self) -> None:
        self.n = 0
        self.values: list[Any] = []

    def add(self, v: Any) -> None:
        self.n += 1
        self.values.append(v)

    def mean(self) -> Any:
        return sum(self.values) / self.n


@case(0.7)
def an_object_that_collects(x):
    h = History()
    for i in range(4):
        h.add(x * i)
    return h.mean() ** 2


@case(Pair(1.5, 0.5), 0.7)
def an_argument_changed_in_a_loop(p, x):
    for _ in range(3):
        p.x = p.x * x
        p.y += p.x
    return p.y


@case(Pair(1.5, 0.5), Pair(0.2, 0.3))
def two_arguments_of_a_class(p, q):
    p.x = p.x * 2
    return p.x * q.x + p.y * q.y


@case([Pair(1.0, 2.0), Pair(0.5, 0.1), Pair(0.2, 0.7)], 1.3)
def a_list_of_objects_changed(ps, k):
    t = 0.0
    for p in ps:
        p.x = p.x * k
        t += p.norm()
    return t


@case(Tree(1.0, Tree(2.0), Tree(3.0, None, Tree(0.5))))
def a_tree_as_argument(t):
    return t.total()


@case(Pair(np.array([[0.3, -0.2], [0.1, 0.4]]), np.array([0.1, 0.2])), np.array([0.5, -1.0]))
def an_object_that_holds_arrays(layer, v):
    layer.y = layer.y * 2.0
    layer.x[0] += v
    return np.tanh(layer.x @ v + layer.y).sum()


@case(0.7)
def an_object_is_the_result(x):
    return [Pair(x * x, x).norm(), (-Pair(x, 1.0)).x]


class Particle:
    def __init__(self, x: Any, v: Any):
        self.x, self.v = x, v

    def push(self, force: Any, dt: Any) -> None:
        self.v += force * dt
        self.x += self.v * dt


class World:
    def __init__(self, n: int, stiffness: Any):
        self.particles = [Particle(0.1 * i * i, 0.05) for i in range(n)]
        self.stiffness = stiffness

    def step(self, dt: Any) -> None:
        for p in self.particles:
            p.push(-self.stiffness * p.x, dt)

    @property
    def energy(self) -> Any:
        return sum(p.v * p.v + self.stiffness * p.x * p.x for p in self.particles)


@case(0.7)
def a_world_of_particles(k):
    world = World(3, k)
    for _ in range(5):
        world.step(0.1)
    return world.energy


# -- objects that only the function sees ----------------------------------------------------------------------


class Counted:
    scale = 2.0

    def __init__(self) -> None:
        self.total = 0.0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> bool:
        self.total *= 2
        return False

    def add(self, v: Any) -> Any:
        if v < 0:
            raise ValueError(v)
        self.total += v
        return self


@case(0.7)
@case(-0.7, name="one_of_two_objects_written_to_negative")
def one_of_two_objects_written_to(x):
    p, q = Pair(x, 1.0), Pair(2 * x, 3.0)
    r = p if x > 0 else q
    r.x = r.x * 5
    return p.x * q.x + r.y


@case(0.7)
def an_object_written_to_after_it_was_handed_on(x):
    p = Pair(x, 2.0)
    while p.x < 5:
        n = Pair(p.x * 1.5, p.y + x)
        p.y = 100.0
        p = n
    return p.x * p.y


@case(0.7)
def the_last_two_objects_of_a_loop(x):
    before, now = Pair(x, 0.0), Pair(x * x, 1.0)
    for _ in range(4):
        after = Pair(now.x + before.x * 0.5, now.y * 1.1)
        before, now = now, after
        before.x = before.x + 1.0
    return now.x * before.y + before.x


@case(0.7)
def another_name_from_the_second_round_on(x):
    p = Pair(x, 1.0)
    q = p
    for _ in range(3):
        p.x *= 2.0
        q = p
    p.x *= 3
    return q.x * p.y


@case(0.7)
@case(0.3, name="an_attribute_set_on_one_branch_and_missing")
def an_attribute_set_on_one_branch(x):
    e = Asking()
    if x > 0.5:
        e.a = x * 2
    else:
        e.b = x
    try:
        return e.a * x
    except AttributeError:
        return e.b * 3


@case(0.7)
def a_default_of_the_class_until_it_is_set(x):
    c = Counted()
    t = c.scale * x
    c.scale = x * 3
    return t * c.scale


@case(0.7)
def objects_asked_what_they_are(x):
    p, q = Pair(x, 1.0), Pair(x, 1.0)
    return isinstance(p, Pair) * type(p)(x, 2.0).y * p.x + (p is not None) * x * x + (p is q) * 3.0 * x


@case(0.7)
def an_object_whose_method_raises_half_way(x):
    c = Counted()
    for v in (x, -x, 2 * x):
        try:
            c.add(v).add(v)
        except ValueError:
            c.total += 0.1 * x
    with Counted() as d:
        d.add(x)
    return c.total * d.total


class Scope:
    """Holds a dict that is empty when it is stored; its methods are not taken in, for they look like `vars()`."""

    def __init__(self, parent: Any = None):
        self.vars: dict[str, Any] = {}
        self.parent = parent

    def get(self, name: str) -> Any:
        return self.vars[name] if name in self.vars else self.parent.get(name)

    def set(self, name: str, v: Any) -> None:
        self.vars[name] = v


@case(1.5)
def a_container_stored_before_it_is_filled(x):
    outer = Scope()
    outer.set("x", x)
    inner = Scope(outer)
    inner.set("y", inner.get("x") * 2)
    return inner.get("y") * inner.get("x")


@case(0.8)
def objects_without_derivatives_in_a_list_get_some(x):
    holders = [History() for _ in range(3)]
    for i, h in enumerate(holders):
        h.v = x * i
    return sum(h.v for h in holders) * x


@dataclass
class Accumulator:
    scale: float
    sums: np.ndarray = field(default_factory=lambda: np.zeros(2))
    seen: list = field(default_factory=list)

    def add(self, x):
        self.sums[0] += x * self.scale
        self.sums[1] += x * x
        self.seen.append(x)


@case(1.3)
def data_class_with_factories_that_is_written_to(x):
    a = Accumulator(2.0)
    b = Accumulator(x, np.ones(2))
    for k in range(3):
        a.add(x * k)
        b.add(a.sums[1])
    return (a.sums * b.sums).sum() + sum(a.seen) * b.seen[1]
