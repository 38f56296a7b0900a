"""Attributes that a class computes: cached properties, descriptors, what is put into `__dict__`."""

import functools
import math
import types

import numpy as np

from tests.zoo.registry import case


class Gauss:
    def __init__(self, mean, width):
        self.mean, self.width = mean, width
        self.asked = 0

    @functools.cached_property
    def norm(self):
        self.asked += 1
        return 1.0 / (self.width * math.sqrt(2.0 * math.pi))

    @functools.cached_property
    def inverse(self):
        return 1.0 / self.width

    def density(self, x):
        z = (x - self.mean) * self.inverse
        return self.norm * math.exp(-0.5 * z * z)


@case(0.3, 0.8)
def computed_once(mean, width):
    g = Gauss(mean, width)
    total = sum(g.density(0.3 * k) for k in range(10))
    g.width = 2.0 * width
    return total + g.norm * g.asked + g.inverse


@case(0.3, 0.8)
def computed_once_for_each_object(mean, width):
    gs = [Gauss(mean * k, width + k) for k in range(3)]
    return sum(g.density(0.5) * g.norm for g in gs for _ in range(2)) + sum(g.asked for g in gs)


@case(0.3, 0.8)
def computed_once_and_forgotten(mean, width):
    g = Gauss(mean, width)
    total = g.inverse
    del g.inverse
    g.width = width * width
    total += g.inverse
    g.inverse = mean
    return total * g.inverse


class Model:
    def __init__(self, kernel, values):
        self.kernel, self.values = kernel, values

    @functools.cached_property
    def factor(self):
        return np.linalg.cholesky(self.kernel)

    @functools.cached_property
    def weights(self):
        return np.linalg.solve(self.factor.T, np.linalg.solve(self.factor, self.values))

    def cost(self):
        return 0.5 * self.values @ self.weights + np.sum(np.log(np.diag(self.factor)))


@case(np.array([0.1, 0.5, 1.2]), np.array([1.0, -1.0, 0.5]))
def factors_computed_once(x, values):
    model = Model(np.exp(-((x[:, None] - x[None, :]) ** 2)) + 0.1 * np.eye(3), values)
    return model.cost() + np.sum(model.weights)


class Positive:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, x, owner):
        return self if x is None else getattr(x, self.name)

    def __set__(self, x, value):
        setattr(x, self.name, self.made_positive(value))

    def made_positive(self, value):
        return abs(value)


class Between:
    def __init__(self, least, most):
        self.least, self.most = least, most

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, x, owner):
        return x.__dict__[self.name]

    def __set__(self, x, value):
        if not self.least <= value <= self.most:
            raise ValueError(self.name)
        x.__dict__[self.name] = value


class Box:
    width = Positive()
    height = Positive()
    share = Between(0.0, 1.0)

    def __init__(self, width, height):
        self.width, self.height = width, height

    def area(self):
        return self.width * self.height


@case(1.3, 0.7)
def descriptors_that_set(x, y):
    box = Box(x, -y)
    box.width = -box.width * box.height
    return box.area() + box.height


class Resets:
    """Only sets the attribute, and forgets what was computed of it: what the object stores is read as it is."""

    def __set_name__(self, owner, name):
        self.name = name

    def __set__(self, x, value):
        x.__dict__[self.name] = value
        x.__dict__.pop("total", None)


class Stock:
    items = Resets()
    label = Resets()

    def __init__(self, *items):
        self.items = {f"n{k}": v for k, v in enumerate(items)}

    def __contains__(self, name):
        return name in self.items

    def add(self, name, v):
        if name not in self:
            self.items[name] = 0.0
        self.items[name] += v

    @functools.cached_property
    def total(self):
        return sum(v * (k + 1) for k, v in enumerate(self.items.values()))


@case(1.3, 0.7)
def descriptors_that_only_set(x, y):
    stock = Stock(x, y)
    stock.add("n0", y * y)
    stock.add("more", x * y)
    was = stock.total
    stock.items = {name: v * x for name, v in stock.items.items()}
    found = stock.label if "nothing" in stock else Stock.label
    return was * stock.total + (stock.label is found) * y + len(stock.__dict__)


@case(1.3, 0.7)
def attributes_that_check_themselves(x, y):
    stocks = [Stock(x, y), Stock(x * y)]
    total = 0.0
    for k in range(4):
        stocks[k % 2].items = {"a": k * x, "b": y**k}
        total += stocks[k % 2].items["b"] * sum(s.total for s in stocks)
    return total


@case(1.3, 0.7)
def descriptors_that_refuse(x, y):
    box = Box(x, y)
    box.share = 0.3 * y
    try:
        box.share = 2.0 * x
    except ValueError:
        box.share = box.share * x
    return box.share * box.area()


class Once:
    def __init__(self, compute):
        self.compute, self.name = compute, compute.__name__

    def __get__(self, x, owner):
        if x is None:
            return self
        value = x.__dict__[self.name] = self.compute(x)
        return value


class Power:
    def __init__(self, base):
        self.base = base

    @Once
    def cubed(self):
        return self.base**3


@case(1.3)
def descriptors_that_give_way(x):
    p = Power(x)
    first = p.cubed
    p.base = 2.0 * x
    return first * p.cubed + p.base


class Settings:
    def __init__(self, given, rate):
        self.rate = rate
        self.__dict__.update(given)


@case({"gain": 1.5, "shift": 0.3, "rate": 2.0}, 0.7)
def updated_by_an_argument(given, rate):
    settings = Settings(given, rate)
    return settings.rate * settings.gain + settings.shift


@case(1.3, 0.7)
def set_in_the_dict_of_attributes(x, y):
    settings = Settings({}, x)
    settings.__dict__["gain"] = x * y
    vars(settings)["sh" + "ift"] = y
    for name in ("gain", "rate"):
        settings.__dict__[name] = settings.__dict__[name] * 2.0
    return settings.rate * settings.gain + sum(vars(settings).values())


@case(1.3, 0.7)
def the_dict_of_a_namespace(x, y):
    space = types.SimpleNamespace(gain=x, shift=y)
    space.rate = space.gain * space.shift
    vars(space)["rate"] += x
    return sum(v * len(name) for name, v in vars(space).items()) + space.rate


@case(np.array([0.4, 1.7]))
def methods_of_a_numpy_number(x):
    s = x.sum()
    return s.T * s + s.tolist() * 2.0


@case(0.7)
def attributes_that_are_all_computed(x):
    class Same:
        def __init__(self):
            self.v = x

        def __getattribute__(self, name):
            return x * x

    class Other(Same):
        pass

    return sum(o.anything * (i + 1.0) for i, o in enumerate([Same(), Other()])) + Same().other


class Positive:
    """Told when the attribute is set, and not asked for it."""

    def __set_name__(self, owner, name):
        self.name = name

    def __set__(self, x, value):
        if value <= 0:
            raise ValueError(f"{self.name} is not positive")
        x.__dict__[self.name] = value


class AsFloat:
    """Keeps the attribute by its own name, where it comes before what the object has by it."""

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, x, owner=None):
        return self if x is None else x.__dict__[self.name]

    def __set__(self, x, value):
        x.__dict__[self.name] = value * 1.0


class Planet:
    mass = Positive()
    radius = AsFloat()

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    def density(self):
        return self.mass / self.radius**3


@case(1.3, 0.8)
def kept_in_the_dict_by_the_name_of_the_descriptor(x, y):
    planet, total = Planet(x, y), 0.0
    for _ in range(9):
        planet.radius = planet.radius * 1.01
        try:
            planet.mass = planet.mass - 0.2
        except ValueError:
            planet.mass = x
        total += planet.density()
    del planet.__dict__["mass"]
    if isinstance(planet.mass, Positive):
        planet.mass = total * y
    return planet.density() * total


@case(Planet(2.0, 3.0))
def descriptors_of_an_argument_that_keep_in_the_dict(planet):
    planet.mass = planet.mass * 2
    planet.radius *= planet.mass
    return planet.density() * planet.radius


@case(1.3)
def read_before_it_is_told_of_it(x):
    planet = Planet.__new__(Planet)
    try:
        return planet.radius
    except KeyError:
        return x * len(planet.mass.name)
