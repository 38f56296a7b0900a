"""Objects: construction, attributes, methods, operators, inheritance, descriptors, data classes, enumerations."""

from __future__ import annotations

import abc
import copy
import dataclasses
import enum
import functools
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tests.zoo.registry import case

V = np.array([0.5, -1.2, 2.0])


class Point:
    """A plain class with most operators."""

    made = 0
    scale = 1.5

    def __init__(self, x: Any, y: Any = 1.0):
        self.x = x
        self.y = y

    def norm2(self) -> Any:
        return self.x * self.x + self.y * self.y

    def moved(self, dx: Any, dy: Any = 0.0) -> Point:
        return Point(self.x + dx, self.y + dy)

    def turn(self, angle: Any) -> None:
        c, s = math.cos(angle), math.sin(angle)
        self.x, self.y = c * self.x - s * self.y, s * self.x + c * self.y

    @property
    def total(self) -> Any:
        return self.x + self.y

    @total.setter
    def total(self, value: Any) -> None:
        self.x = value - self.y

    @staticmethod
    def cube(t: Any) -> Any:
        return t * t * t

    @classmethod
    def diagonal(cls, t: Any) -> Any:
        return cls(t, t * t)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Point):
            return NotImplemented
        return type(self)(self.x + other.x, self.y + other.y)

    def __radd__(self, other: Any) -> Any:
        return Point(self.x + other, self.y + other)

    def __sub__(self, other: Any) -> Any:
        return Point(self.x - other.x, self.y - other.y)

    def __mul__(self, k: Any) -> Any:
        return Point(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __truediv__(self, k: Any) -> Any:
        return Point(self.x / k, self.y / k)

    def __rtruediv__(self, k: Any) -> Any:
        return Point(k / self.x, k / self.y)

    def __matmul__(self, other: Any) -> Any:
        return self.x * other.x + self.y * other.y

    def __pow__(self, n: Any) -> Any:
        return Point(self.x**n, self.y**n)

    def __neg__(self) -> Any:
        return Point(-self.x, -self.y)

    def __abs__(self) -> Any:
        return math.sqrt(self.norm2())

    def __iadd__(self, other: Any) -> Any:
        self.x += other.x
        self.y += other.y
        return self

    def __call__(self, t: Any) -> Any:
        return self.x * t * t + self.y * t + self.scale

    def __getitem__(self, i: Any) -> Any:
        return (self.x, self.y)[i]

    def __setitem__(self, i: Any, value: Any) -> None:
        if i == 0:
            self.x = value
        else:
            self.y = value

    def __len__(self) -> int:
        return 2

    def __bool__(self) -> bool:
        return bool(self.x > 0)

    def __contains__(self, value: Any) -> bool:
        return bool(value == self.x)

    def __eq__(self, other: Any) -> bool:
        return bool(self.x == other.x and self.y == other.y)

    def __lt__(self, other: Any) -> bool:
        return bool(self.norm2() < other.norm2())

    def __float__(self) -> float:
        return float(self.x * 2.0)

    __hash__ = None  # type: ignore[assignment]


class Weighted(Point):
    def __init__(self, x: Any, y: Any, w: Any):
        super().__init__(x, y)
        self.w = w

    def norm2(self) -> Any:
        return super().norm2() * self.w

    @property
    def total(self) -> Any:
        return super().total * self.w


@case(1.2, -0.7)
def constructed_and_read(x, y):
    p = Point(x, y)
    return p.x * p.y + p.x


@case(1.2, -0.7)
def method_called(x, y):
    return Point(x, y).norm2()


@case(1.2)
def default_of_init(x):
    p = Point(x)
    return p.x + p.y * x


@case(1.2, 0.4)
def keywords_of_init(x, y):
    return Point(y=y, x=x * x).norm2()


@case(1.2, 0.4)
def attributes_written(x, y):
    p = Point(x, y)
    p.x = p.x * y
    p.extra = p.x * x
    return p.norm2() + p.extra


@case(1.2, 0.4)
def attributes_augmented(x, y):
    p = Point(x, y)
    p.x *= y
    p.y += x * x
    p.x -= p.y
    return p.x * p.y


@case(1.2)
def attribute_deleted_and_set_again(x):
    p = Point(x, x * x)
    del p.y
    p.y = p.x * 3.0
    return p.norm2() if hasattr(p, "y") else 0.0


@case(1.2)
def method_changes_object_in_loop(x):
    p = Point(x, 0.5)
    for _ in range(4):
        p.turn(0.3 * x)
        p.x = p.x * 1.1
    return p.x - p.y


@case(1.2, -0.7)
def property_read_and_set(x, y):
    p = Point(x, y)
    p.total = p.total * x
    return p.x * p.total


@case(1.2)
def static_and_class_methods(x):
    return Point.cube(x) + Point.diagonal(x).norm2() + Point(x).cube(x * 2.0)


@case(1.2)
def class_attribute_read(x):
    p = Point(x)
    p.scale = p.scale * x
    return p(x) + Point.scale * x


@case(1.2, -0.7, 0.3)
def subclass_with_super(x, y, w):
    p = Weighted(x, y, w)
    return p.norm2() + p.total


@case(1.2, -0.7)
def arithmetic_operators(x, y):
    p = Point(x, y) + Point(y, x) * 2.0
    q = 3.0 * p - Point(1.0, x)
    return (-q).norm2() + p @ q + (q / x).x


@case(1.2, 0.7)
def reflected_operators(x, y):
    p = x + Point(x, y)
    q = 2.0 / p
    return q.x * q.y + p.x


@case(1.2, 0.7)
def in_place_operators(x, y):
    p = Point(x, y)
    same = p
    p += Point(y, x)
    p *= x
    return same.x * p.y


@case(1.2, 0.7)
def power_abs_and_call(x, y):
    p = Point(x, y)
    return abs(p**2) + p(y) + float(p)


@case(1.2, 0.7)
def items_of_an_object(x, y):
    p = Point(x, y)
    p[0] = p[1] * x
    p[1] = p[0] * p[0]
    return p[0] * p[-1] * len(p)


@case(1.2, 0.7)
def truth_and_comparison(x, y):
    p, q = Point(x, y), Point(y, x * x)
    s = 0.0
    if p:
        s += p.x
    if p < q:
        s += q.x * q.y
    if p == Point(x, y):
        s += p.y * x
    if x in p:
        s += x * x
    if not Point(-x):
        s += x
    return s if p != q else 0.0


@case(1.2)
def sum_of_objects(x):
    points = [Point(x, 1.0), Point(x * x, x), Point(2.0, x)]
    total = sum(points, Point(0.0, 0.0))
    return total.norm2()


@case(1.2, 0.4)
def objects_in_containers(x, y):
    points = [Point(x * i, y) for i in range(4)]
    by_name = {"a": points[1], "b": points[3]}
    by_name["a"].x = y * y
    s = 0.0
    for p in points:
        s += p.norm2() * p.x
    return s + by_name["a"].x


@case(1.2)
def object_carried_through_loop(x):
    p = Point(x, 0.1)
    for i in range(6):
        p = p + Point(0.1 * p.y, x * 0.2 * i)
    return p.norm2()


@case(1.2, 0.4)
def object_in_branches(x, y):
    p = Point(x, y) if x > y else Weighted(x, y, 2.0)
    if p.x > 1.0:
        p.y = p.x * y
    else:
        p.y = 0.0
    return p.norm2()


@case(1.2)
def two_names_for_one_object(x):
    a = Point(x, 2.0)
    b = a
    b.x = b.x * x
    a.x = a.x * b.y
    return b.x


@case(1.2)
def bound_method_as_value(x):
    p = Point(x, 2.0)
    f = p.norm2
    g = p.moved
    p.x = x**3
    return f() + g(x).x


@case(1.2)
def callables_in_a_table(x):
    p = Point(x, 2.0)
    table = {"square": p.norm2, "cube": Point.cube, "at": p, "sin": math.sin}
    return table["square"]() + table["cube"](x) + table["at"](x) + table["sin"](x)


@case(1.2)
def getattr_and_setattr(x):
    p = Point(x, 2.0)
    for name in ("x", "y"):
        setattr(p, name, getattr(p, name) * x)
    return p.x * p.y + getattr(p, "absent", x) + getattr(p, "norm2")()


@case(1.2)
def vars_of_an_object(x):
    p = Point(x, x * x)
    s = 0.0
    for name in vars(p):
        s += vars(p)[name] * 2.0
    p.__dict__["x"] = s
    return p.x * p.y


@case(1.2)
def class_of_an_object(x):
    p = Point(x, 2.0)
    q = type(p)(x * x, p.y)
    r = q.__class__(1.0, q.x)
    return q.norm2() + r.y if isinstance(q, Point) and type(r) is Point else 0.0


@case(1.2)
def cycle_of_objects(x):
    a, b = Point(x), Point(x * x)
    a.other, b.other = b, a
    a.other.other.x = a.x * 3.0
    return a.other.other.other.x * a.x


class Node:
    def __init__(self, value: Any, after: Any = None):
        self.value = value
        self.after = after


@case(1.2)
def linked_list(x):
    head = None
    for i in range(5):
        head = Node(x * i, head)
    s, weight, node = 0.0, 1.0, head
    while node is not None:
        s += node.value * weight
        weight *= x
        node = node.after
    return s


class Tree:
    def __init__(self, value: Any, left: Any = None, right: Any = None):
        self.value, self.left, self.right = value, left, right

    def total(self) -> Any:
        s = self.value * self.value
        if self.left is not None:
            s = s + self.left.total()
        if self.right is not None:
            s = s + 2.0 * self.right.total()
        return s


@case(1.2)
def recursive_method_on_a_tree(x):
    return Tree(x, Tree(x * x, Tree(2.0)), Tree(math.sin(x), None, Tree(x))).total()


class Accumulator:
    def __init__(self) -> None:
        self.total = 0.0
        self.items: list[Any] = []

    def add(self, value: Any) -> Accumulator:
        self.total += value
        self.items.append(value)
        return self


@case(1.2)
def object_made_without_values(x):
    a = Accumulator()
    for i in range(4):
        a.add(x * i).add(x * x)
    return a.total * a.items[2] + len(a.items)


@case(1.2)
def list_inside_an_object(x):
    a = Accumulator()
    a.add(x)
    held = a.items
    held.append(x * x)
    a.items[0] = a.items[1] * x
    return held[0] + sum(a.items)


class Slotted:
    __slots__ = ("u", "v")

    def __init__(self, u: Any):
        self.u = u
        self.v = u * u

    def product(self) -> Any:
        return self.u * self.v


class MoreSlots(Slotted):
    __slots__ = ("w",)


@case(1.2)
def slots(x):
    s = Slotted(x)
    s.u = s.u * s.v
    t = MoreSlots(s.u)
    t.w = t.v + x
    del s.v
    return t.product() * t.w if not hasattr(s, "v") else 0.0


class Scaled:
    """A descriptor that stores under another name."""

    def __init__(self, factor: float):
        self.factor = factor

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        if obj is None:
            return self
        return getattr(obj, self.name) * self.factor

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj, self.name, value / 3.0)


class Lens:
    power = Scaled(2.0)
    focus = Scaled(0.5)

    def __init__(self, power: Any):
        self.power = power
        self.focus = power * power


@case(1.2)
def descriptors(x):
    lens = Lens(x)
    lens.power = lens.power * x + Lens.power.factor
    return lens.power * lens.focus


class Config:
    """Attributes looked up in a dict."""

    def __init__(self, **values: Any):
        self.__dict__["values"] = values

    def __getattr__(self, name: str) -> Any:
        return self.values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self.values[name] = value * 2.0


@case(1.2)
def getattr_hook(x):
    c = Config(a=x, b=3.0)
    c.b = c.a * x
    return c.a * c.b


class Cached:
    def __init__(self, x: Any):
        self.x = x
        self.runs = 0

    @functools.cached_property
    def square(self) -> Any:
        self.runs += 1
        return self.x * self.x


@case(1.2)
def cached_property(x):
    c = Cached(x)
    a = c.square
    c.x = 5.0
    return a * c.square * c.runs


@dataclass
class Particle:
    position: Any
    velocity: Any = 0.5
    trace: list[Any] = field(default_factory=list)
    name: str = "p"
    count: ClassVar[int] = 0

    def __post_init__(self) -> None:
        self.energy = 0.5 * self.velocity * self.velocity

    def step(self, dt: Any) -> None:
        self.position += dt * self.velocity
        self.velocity -= dt * self.position
        self.trace.append(self.position)


@dataclass(frozen=True)
class Gaussian:
    mean: Any
    width: Any = 1.0

    def log_density(self, t: Any) -> Any:
        z = (t - self.mean) / self.width
        return -0.5 * z * z - math.log(self.width)

    def shifted(self, by: Any) -> Gaussian:
        return dataclasses.replace(self, mean=self.mean + by)


@dataclass(order=True, slots=True)
class Ranked:
    key: Any
    value: Any = field(compare=False, default=1.0)


@case(1.2, 0.3)
def dataclass_simulation(x, v):
    p = Particle(x, v)
    for _ in range(5):
        p.step(0.1)
    return p.position * p.trace[2] + p.energy


@case(1.2, 0.3)
def frozen_dataclass(m, w):
    g = Gaussian(m, w)
    return g.log_density(0.7) + g.shifted(m).log_density(m * m)


@case(1.2)
def dataclass_replaced(x):
    p = Particle(x, velocity=x * x)
    q = dataclasses.replace(p, position=p.velocity)
    return q.position * q.energy * p.position


@case(1.2, 0.4)
def ordered_dataclasses(x, y):
    a, b = Ranked(x, y), Ranked(y, x * x)
    best = a if a > b else b
    return best.value * x + (a.value if a == Ranked(x, 3.0) else 0.0)


@case(1.2)
def dataclass_as_dict_and_tuple(x):
    g = Gaussian(x, x * x)
    d = dataclasses.asdict(g)
    mean, width = dataclasses.astuple(g)
    return d["mean"] * d["width"] + mean * width


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> Any: ...

    def doubled(self) -> Any:
        return 2.0 * self.area()


class Circle(Shape):
    def __init__(self, r: Any):
        self.r = r

    def area(self) -> Any:
        return math.pi * self.r**2


class Rectangle(Shape):
    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b

    def area(self) -> Any:
        return self.a * self.b


@case(1.2, 0.4)
def abstract_classes(x, y):
    shapes = [Circle(x), Rectangle(x, y), Circle(y)]
    return sum(s.area() for s in shapes) + max(shapes, key=lambda s: s.area()).doubled()


class Mode(enum.Enum):
    LINEAR = 1.5
    SQUARE = 2.5

    def apply(self, x: Any) -> Any:
        return x * self.value if self is Mode.LINEAR else x * x * self.value


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


@case(1.2)
def enumerations(x):
    s = 0.0
    for mode in Mode:
        s += mode.apply(x)
    return s * Level.HIGH + Mode.SQUARE.apply(x) * Mode["LINEAR"].value


class Left:
    def go(self, x: Any) -> Any:
        return x * 2.0


class A(Left):
    def go(self, x: Any) -> Any:
        return super().go(x) + x * x


class B(Left):
    def go(self, x: Any) -> Any:
        return super().go(x) * x


class Both(A, B):
    def go(self, x: Any) -> Any:
        return super().go(x) + 1.0


@case(1.2)
def diamond_inheritance(x):
    return Both().go(x)


@case(1.2, 0.5, tags=("class statement",))
def class_statement_inside(x, y):
    class Local:
        factor = 3.0

        def __init__(self, w):
            self.w = w

        def go(self):
            return self.w * y * self.factor

    class Derived(Local):
        def go(self):
            return super().go() + x

    return Local(x * x).go() + Derived(x).go()


@case(1.2)
def object_captured_by_closure(x):
    p = Point(x, 1.0)

    def bump(t):
        p.x = p.x * t
        return p.y

    return bump(x) + bump(2.0) * p.x


class Made:
    def __new__(cls, x: Any) -> Any:
        made = super().__new__(cls)
        made.born = x * x
        return made

    def __init__(self, x: Any):
        self.x = x


@case(1.2)
def own_new(x):
    m = Made(x)
    return m.born * m.x


@case(1.2)
def copies_of_objects(x):
    p = Point([x, 2.0], x * x)
    shallow, deep = copy.copy(p), copy.deepcopy(p)
    p.x[0] = x**3
    p.y = 0.0
    return shallow.x[0] * shallow.y + deep.x[0] * deep.y


class Layer:
    def __init__(self, w: Any, b: Any):
        self.w, self.b = w, b

    def __call__(self, h: Any) -> Any:
        return np.tanh(self.w @ h + self.b)


class Network:
    def __init__(self, layers: list[Any]):
        self.layers = layers
        self.calls = 0

    def __call__(self, h: Any) -> Any:
        self.calls += 1
        for layer in self.layers:
            h = layer(h)
        return h


W = np.array([[0.1, 0.4, -0.2], [0.3, -0.5, 0.2], [0.7, 0.1, 0.1]])


@case(W, V)
def network_of_layers(w, v):
    net = Network([Layer(w, v), Layer(w.T, v * 2.0)])
    return np.sum(net(v) ** 2) * net.calls


@case(Network([Layer(W, V + 1.0), Layer(W * 2.0, V * 0.5)]), V)
def network_as_argument(net, v):
    return np.sum(net(v) ** 2)


@case(Point(1.2, -0.7))
def object_as_argument(p):
    return p.norm2() * p.x


@case(Point(1.2, -0.7), 2.0)
def object_argument_changed(p, t):
    p.x = p.x * t
    p.turn(t)
    p.y *= p.x
    return p.x + p.y


@case(Particle(1.2, 0.3, [1.0, 2.0], "q"), 0.1)
def dataclass_argument_changed(p, dt):
    for _ in range(3):
        p.step(dt)
    return p.position * p.trace[0] + p.trace[-1] * p.trace[1] + p.energy


@case(Gaussian(1.2, 0.7), 0.3)
def frozen_dataclass_argument(g, t):
    return g.log_density(t)


@case([Point(1.2, 0.3), Point(0.4, 2.0)], {"c": Circle(0.7)})
def objects_in_arguments(points, shapes):
    return points[0] @ points[1] + shapes["c"].area() * points[0].x


@case(MoreSlots(1.3))
def slotted_argument(s):
    s.u = s.u * s.v
    return s.product()


@case(Node(1.2, Node(0.7, Node(2.0))))
def linked_list_argument(head):
    s, node = 1.0, head
    while node is not None:
        s = s * node.value + node.value
        node = node.after
    return s


@case(Layer(W.copy(), V.copy()), V)
def arrays_of_an_argument_changed(layer, v):
    layer.w[0] *= 2.0
    layer.b = layer.b + v
    layer.w[1, 2] = v[0]
    return np.sum(layer(v))


@case(1.2, 0.7)
def object_as_result(x, y):
    return Point(x * y, y)


@case(1.2)
def nested_objects_as_result(x):
    return [Gaussian(x, Point(x * x)), {"n": Node(x, Node(2.0 * x))}]


@case(Point(1.2, -0.7))
def argument_object_as_result(p):
    p.y = p.y * p.x
    return p


# -- objects whose class changes as a loop goes round ----------------------------------------------------------


class Tadpole:
    """What it becomes is of another class, with other methods."""

    def __init__(self, v: Any):
        self.v = v

    def go(self) -> Any:
        return self.v * 2.0

    def grown(self) -> Any:
        return Frog(self.v * self.v)

    def same(self, k: Any) -> Any:
        return type(self)(self.v * k)

    def __add__(self, other: Any) -> Any:
        return Frog(self.v + other.v)

    def __radd__(self, other: Any) -> Any:
        return Tadpole(self.v + 1.0)

    @property
    def size(self) -> Any:
        return self.v * 3.0


class Frog(Tadpole):
    def go(self) -> Any:
        return self.v * self.v

    def grown(self) -> Any:
        return Tadpole(self.v + 1.0) if self.v < 100.0 else None

    def __add__(self, other: Any) -> Any:
        return Tadpole(self.v * other.v)

    @property
    def size(self) -> Any:
        return self.v * 5.0


@case(1.3)
def class_changes_by_a_method(x):
    o, total = Tadpole(x), 0.0
    for _ in range(4):
        total += o.go()
        o = o.grown()
    return total


@case(1.3)
def class_changes_by_an_operator(x):
    o, total = Tadpole(x), 0.0
    for _ in range(4):
        total += o.size
        o = o + Tadpole(0.5 * x)
    return total + o.go()


@case(1.3)
def object_ends_as_none(x):
    o, total = Tadpole(x), 0.0
    while o is not None and o.v < 50.0:
        total += o.go()
        o = o.grown()
    return total


@case(1.3)
def sum_that_starts_as_a_number(x):
    s = 0
    for i in range(4):
        s = s + Tadpole(x * i)
    return s.go() + sum([Frog(x), Tadpole(2.0 * x), Frog(x)]).size


@case(1.3)
def object_that_starts_as_none(x):
    s = None
    for i in range(4):
        s = Tadpole(x * i) if s is None else s + Tadpole(x)
    return s.go() * s.size


@case(1.3)
def class_stays_in_a_loop(x):
    o = Tadpole(x)
    for _ in range(5):
        o = o.same(1.1)
    return o.go() + o.size


@case(1.3)
def bound_method_of_another_class(x):
    f = Tadpole(x).go
    for _ in range(3):
        t = f()
        f = Frog(t * 0.3).go
    return t * f()


@case(1.3)
def class_changes_until_an_exception(x):
    o, r = Tadpole(x), 0.0
    try:
        for i in range(4):
            o = o.grown()
            r = o.go() / (3 - i)
    except ZeroDivisionError:
        return o.go() * r
    return 0.0


@case(1.3)
def attribute_changes_its_class(x):
    o = Tadpole(x)
    o.v = Tadpole(o.v * 2.0)
    y = o.v.v
    o.v = o.v.v * 3.0
    return y * o.v


class Constant:
    def __init__(self, value):
        self.value = value


class Operation:
    def __init__(self, name, left, right):
        self.name, self.left, self.right = name, left, right
        self.times = 0


def evaluated(e, x):
    if isinstance(e, Constant):
        return e.value * x
    e.times += 1
    left, right = evaluated(e.left, x), evaluated(e.right, x)
    return left + right if e.name == "+" else left * right


@case(1.3)
def a_tree_of_constants(x):
    tree = Operation("+", Operation("*", Constant(2.0), Constant(3.0)), Constant(1.0))
    return evaluated(tree, x) + evaluated(tree.left, x) * tree.left.times


@case(1.3)
def a_tree_of_constants_that_are_replaced(x):
    tree = Operation("+", Operation("*", Constant(2.0), Constant(3.0)), Constant(1.0))
    tree.left.left = Constant(x)
    tree.right.value = x * x
    return evaluated(tree, x)


INPUTS = np.arange(6.0).reshape(2, 3) / 5.0


class Keeping:
    """A layer that keeps what it was given last, the inputs of the module among that."""

    def __init__(self, w):
        self.w, self.seen = w, None

    def __call__(self, x):
        self.seen = x
        return np.tanh(x @ self.w)

    def parts(self):
        yield self.w
        yield self.seen


@case(np.array([[0.3, -0.2], [0.5, 0.1], [-0.4, 0.8]]), np.array([[0.7], [-0.3]]))
def layers_that_keep_inputs_of_the_module(v, w):
    layers = [Keeping(v), Keeping(w)]
    x = INPUTS
    for layer in layers:
        x = layer(x)
    return np.sum(x) + sum(np.sum(p**2) for layer in layers for p in layer.parts())


@case(np.array([[0.3, -0.2], [0.5, 0.1], [-0.4, 0.8]]))
def what_was_kept_of_the_module_is_replaced_and_read(w):
    layer = Keeping(w)
    y = layer(INPUTS)
    first = layer.seen[0] @ w
    layer.seen = y.T
    return np.sum(first) + np.sum(layer.seen @ y)
