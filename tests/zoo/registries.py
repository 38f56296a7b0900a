"""Tables that classes hold, classes found in them by name, attributes set by keyword, and helpers given constants."""

from __future__ import annotations

import collections
import functools
import math

import numpy as np

from tests.zoo.registry import case


class Kernel:
    registry: dict = {}

    def __init_subclass__(cls, name=None, **options):
        super().__init_subclass__(**options)
        if name is not None:
            Kernel.registry[name] = cls

    def __init__(self, **parameters):
        self.__dict__.update(parameters)

    @classmethod
    def make(cls, name, **parameters):
        return cls.registry[name](**parameters)


class Gaussian(Kernel, name="gaussian"):
    def __call__(self, a, b):
        return self.height * math.exp(-(((a - b) / self.width) ** 2))


class Linear(Kernel, name="linear"):
    def __call__(self, a, b):
        return self.slope * a * b


@case(1.1, 0.7, 0.3)
def kernels_by_name(height, width, slope):
    kernels = [Kernel.make("gaussian", height=height, width=width), Kernel.make("linear", slope=slope)]
    total = 0.0
    for kernel in kernels:
        for i in range(3):
            total += kernel(0.3 * i, 0.5)
    return total


class Settings:
    def __init__(self, **given):
        self.rate = 0.1
        self.steps = 3
        self.__dict__.update(given)


@case(0.3, 0.05)
def settings_by_keyword(x, rate):
    s = Settings(rate=rate, momentum=0.5)
    v = 0.0
    for _ in range(s.steps):
        v = s.momentum * v - s.rate * (x - 1.0)
        x = x + v
    return x * x


class Model:
    def __init__(self, **parameters):
        for name, value in parameters.items():
            setattr(self, name, value)


class Decay(Model):
    def __init__(self, rate, offset=0.0, **parameters):
        super().__init__(rate=rate, offset=offset, **parameters)
        self.steps = 4

    def predict(self, t):
        return self.height * math.exp(-self.rate * t) + self.offset


@case(0.5, 1.2)
def parameters_set_by_name(rate, height):
    model = Decay(rate, height=height)
    return sum((model.predict(0.1 * i) - 1.0) ** 2 for i in range(model.steps))


class Expression:
    functions = {"sin": math.sin, "exp": math.exp}  # noqa: RUF012


class Number(Expression):
    def __init__(self, value):
        self.value = value

    def eval(self, env):
        return self.value


class Name(Expression):
    def __init__(self, name):
        self.name = name

    def eval(self, env):
        return env[self.name]


class Call(Expression):
    def __init__(self, name, arg):
        self.name, self.arg = name, arg

    def eval(self, env):
        return self.functions[self.name](self.arg.eval(env))


class Binary(Expression):
    def __init__(self, op, left, right):
        self.op, self.left, self.right = op, left, right

    def eval(self, env):
        a, b = self.left.eval(env), self.right.eval(env)
        return a + b if self.op == "+" else a * b


def expression():
    inner = Binary("*", Number(3.0), Name("y"))
    return Binary("+", Binary("*", Name("x"), Call("sin", inner)), Call("exp", Binary("*", Name("x"), Name("y"))))


@case(expression(), 0.7, 0.4)
def an_expression_evaluated(tree, x, y):
    return tree.eval({"x": x, "y": y})


@case(expression(), 0.7, 0.4)
def an_expression_evaluated_often(tree, x, y):
    total = 0.0
    for i in range(3):
        total += tree.eval({"x": x * i, "y": y})
    return total


class Body:
    strength = 6.7
    names = ["a", "b"]  # noqa: RUF012
    weights = np.array([0.5, 1.5])
    scale = None

    def __init__(self, mass, x):
        self.mass, self.x = mass, x

    def force(self, other):
        s = 2.0 if self.scale is None else self.scale
        w = self.weights[0] + Body.weights[1]
        return s * w * self.strength * self.mass * other.mass / (self.x - other.x) ** 2 * len(self.names)


@case(1.1, 0.7, 0.3)
def tables_of_a_class(mass, x, y):
    return Body(mass, x).force(Body(mass * mass, y))


@case(1.1)
def an_attribute_that_hides_what_the_class_has(x):
    body = Body(x, 1.0)
    before = body.weights
    body.weights = np.array([x, 2.0])
    body.scale = x
    return np.sum(body.weights * before) + body.force(Body(1.0, 0.5))


class Counted:
    made: list = []  # noqa: RUF012

    def __init__(self, x):
        self.x = x
        self.made.append(x)


@case(1.3)
def a_table_of_a_class_that_is_written_to(x):
    n = len(Counted.made)
    parts = [Counted(x * i) for i in range(3)]
    total = sum(Counted.made[n:]) * parts[1].x
    del Counted.made[n:]
    return total


# -- helpers that are given constants ----------------------------------------------------------------------


class Grid:
    def __init__(self, n, step=0.1, origin=0.0):
        self.n, self.step = n, step
        self.points = [origin + step * i for i in range(n)]

    def at(self, i):
        return self.points[i]


def grid(n):
    return Grid(n, 0.1)


def nodes(n, low=0.0, high=1.0):
    return [low + (high - low) * i / n for i in range(n)]


def options(**given):
    found = dict(n=3, step=0.1)
    found.update(given)
    return found


def diagonal(n, scale=2.0):
    a = np.zeros((n, n))
    for i in range(n):
        a[i, i] = scale
    return a


@case(0.7)
def an_object_of_constants(x):
    g = grid(4)
    return sum(math.sin(x * g.at(i)) * g.step for i in range(g.n))


@case(0.7)
def lists_and_dicts_of_constants(x):
    o = options(step=0.2)
    total = 0.0
    for p in nodes(o["n"], high=2.0):
        total += math.sin(x * p) * o["step"]
    return total


@case(0.7)
def what_a_helper_made_of_constants_gets_a_derivative(x):
    g, ps, a = grid(4), nodes(3), diagonal(2)
    g.points[1] = x * x
    g.step = x
    ps.append(x**3)
    a[0, 1] = x
    return sum(g.points) * g.step + sum(ps) + np.sum(a @ a)


class Square:
    def __init__(self, side):
        self.side = side


class Disc:
    def __init__(self, radius):
        self.radius = radius


class Ring(Disc):
    pass


@functools.singledispatch
def area(shape, scale=1.0):
    return scale * shape


@area.register
def _(shape: Square, scale=1.0):
    return scale * shape.side**2


@area.register
def _(shape: Disc, scale=1.0):
    return scale * math.pi * shape.radius**2


@area.register(list)
def _(shapes, scale=1.0):
    return sum(area(s, scale) for s in shapes)


SHAPES = [Square(1.0), Disc(2.0), Ring(0.5)]


@case(1.3, 0.7)
def functions_by_the_class_of_an_argument(x, y):
    t = area(Square(x), scale=y) * area(Ring(y), x) + area(x)
    for s in [Square(x), Disc(y), Ring(x * y)]:
        t += area(s, x)
    return t


@case(1.3)
def functions_by_the_classes_of_outside_objects(x):
    t = 0.0
    for s in SHAPES:
        t += area(s, x)
    return t * area(SHAPES, x) * area([Square(x), [Disc(x), x]])


@case(0.7)
def handlers_of_which_some_note_what_they_see(rate):
    log = []
    handlers = collections.defaultdict(list)
    state = {"x": 1.0}

    def on(event):
        def register(f):
            handlers[event].append(f)
            return f

        return register

    @on("grow")
    def grow(v):
        state["x"] *= 1 + v

    @on("grow")
    def note(v):
        log.append(state["x"])

    @on("shrink")
    def shrink(v):
        state["x"] -= v * state["x"] ** 2

    for i in range(6):
        for handle in handlers["grow" if i % 3 else "shrink"]:
            handle(rate * 0.1)
    return state["x"] + sum(log) / len(log)


@case(0.7)
def functions_in_a_list_that_fill_another(rate):
    log = []
    state = {"x": 1.0}
    steps = []
    steps.append(lambda v: state.update(x=state["x"] * (1.0 + v)))
    steps.append(lambda v: log.append(v * state["x"]))
    for _ in range(3):
        for step in steps:
            step(rate)
    return state["x"] + sum(log)
