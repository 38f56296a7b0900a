"""Simulations as scientists write them: solvers with buffers, reactions written as text."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tests.zoo.registry import case


class Solver:
    """Runge-Kutta steps in buffers of the object's own, of equations that write into what they are given."""

    def __init__(self, f, n):
        self.f = f
        self.k, self.tmp = np.zeros((4, n)), np.zeros(n)

    def step(self, t, y, h):
        k, tmp = self.k, self.tmp
        self.f(t, y, k[0])
        for s, c in ((1, 0.5), (2, 0.5), (3, 1.0)):
            np.multiply(k[s - 1], h * c, out=tmp)
            tmp += y
            self.f(t + c * h, tmp, k[s])
        y += h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])


@case(np.array([1.0, 0.0, -0.5]), 0.8)
def steps_in_buffers(y0, w):
    def equations(t, y, out):
        out[0] = y[1]
        out[1:] = -w * y[0] + 0.1 * math.cos(t), -np.sin(y[2])

    y = y0.copy()
    solver = Solver(equations, 3)
    for n in range(4):
        solver.step(n * 0.1, y, 0.1)
    return y @ y


class Reaction:
    __slots__ = ("products", "rate", "reactants")

    def __init__(self, equation, rate):
        left, right = equation.split("->")
        species = lambda side: [s.strip() for s in side.split("+")]  # noqa: E731
        self.reactants, self.products, self.rate = species(left), species(right), rate

    def speed(self, amounts):
        v = self.rate
        for s in self.reactants:
            v = v * amounts[s]
        return v


@case({"A": 1.0, "B": 0.5, "C": 0.0, "D": 0.1}, [0.8, 0.3, 0.5])
def reactions_written_as_text(amounts, rates):
    reactions = [Reaction(e, k) for e, k in zip(("A + B -> C", "C -> A + B", "C + C -> D"), rates, strict=True)]
    amounts = dict(amounts)
    for _ in range(3):
        change = dict.fromkeys(amounts, 0.0)
        for r in reactions:
            v = r.speed(amounts)
            for s in r.reactants:
                change[s] -= v
            for s in r.products:
                change[s] += v
        for s, v in change.items():
            amounts[s] += 0.05 * v
    return amounts["D"] ** 2 + math.log(amounts["C"])


@case({"a": 1.3, "b": 2.0})
def amounts_by_words_of_a_text(d):
    found = {}
    for line in "a b\nb c\na a".splitlines():
        head, _, tail = line.partition(" ")
        found[head.upper() + tail] = d[head] * d.get(tail, 0.5)
        if head.startswith("a"):
            found[head] = found.get(head, 0.0) + d["a"] ** line.count("a")
    return sum(found.values()) * len(" ".join(found))


@case(1.3)
def number_among_words(x):
    parts = "x y".split()
    parts.append(x * x)
    first, second, third = parts
    return third * len(first.join([second, second]))


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __mul__(self, by):
        return Point(self.x * by, self.y * by)

    def along(self, x, y):
        return self.x * x + self.y * y


class Swarm:
    pull = 0.5

    def __init__(self, places):
        self.places, self.t = places, 0.0

    def forces(self):
        for p in self.places:
            total = Point(0.0, 0.0)
            for other in self.places:
                if other is not p:
                    total = total + other * self.pull
            yield total

    def step(self, dt):
        forces = list(self.forces())
        for p, f in zip(self.places, forces, strict=False):
            p.x += f.x * dt
            p.y += f.y * dt
        self.t += dt


@case([0.5, 1.5, -0.7])
def objects_from_a_generator_method(xs):
    swarm = Swarm([Point(x, x * x) for x in xs])
    for _ in range(2):
        swarm.step(0.1)
    return sum(a.x * b.y for a, b in itertools.combinations(swarm.places, 2)) * swarm.t


@case([0.5, 1.5], np.array([0.3, 0.7]), [1.0, 2.0])
def stars_of_as_many_as_are_taken(u, v, w):
    def weighted(a, b):
        return a * b * u[0]

    p, q = Point(*u), Point(*v)
    return p.along(*v) * q.along(*w) + weighted(*w) + (lambda a, b: a - b)(*u) * (p + q).along(*[u[1], 2.0])


@case([0.5, 1.5, 1.0])
def stars_of_too_many_and_too_few(u):
    found = []
    for f in (lambda: Point(*u), lambda: Point(0.5, 0.5).along(*u[:1]), lambda: (lambda a: a)(*u)):
        try:
            found.append(f())
        except TypeError as e:
            found.append(len(e.args) * u[0])
    return sum(found)


class Mode(Enum):
    UP = 1
    DOWN = 2


@dataclass(frozen=True)
class Contract:
    mode: Mode
    strike: float

    def worth(self, price):
        if self.mode == Mode.UP:
            return max(price - self.strike, 0.0)
        if self.mode is Mode.DOWN:
            return max(self.strike - price, 0.0)
        raise ValueError(self.mode)


@case(1.5)
def contracts_of_two_kinds(x):
    up, down = Contract(Mode.UP, 0.3 * x), Contract(Mode.DOWN, 2.0 * x)
    return up.worth(x) + down.worth(x * x)


def adaptive(f, y, t, end, tol=1e-5, least=1e-3):
    """Steps of Bogacki and Shampine, as long as the error allows."""
    h = 0.1
    while t < end:
        h = min(h, end - t)
        k1 = f(t, y)
        k2 = f(t + h / 2, [a + h / 2 * b for a, b in zip(y, k1)])
        k3 = f(t + 0.75 * h, [a + 0.75 * h * b for a, b in zip(y, k2)])
        new = [a + h * (2 * b + 3 * c + 4 * d) / 9 for a, b, c, d in zip(y, k1, k2, k3)]
        k4 = f(t + h, new)
        error = max(abs(h * (-5 * a / 72 + b / 12 + c / 9 - d / 8)) for a, b, c, d in zip(k1, k2, k3, k4))
        if error <= tol or h < least:
            t, y = t + h, new
        h *= 0.5 if error > tol else 1.5
    return y


@case(1.1, 0.4)
def steps_as_long_as_the_error_allows(a, b):
    start = [1.0, 0.5 * b]
    prey, hunters = adaptive(lambda t, y: [y[0] - 0.4 * y[0] * y[1], -y[1] + 0.5 * y[0] * y[1]], start, 0.0, 0.5)
    return a * prey + 2 * hunters * b


@dataclass
class Body:
    mass: float
    place: np.ndarray
    speed: np.ndarray

    def step(self, pull, dt):
        self.speed = self.speed + pull * dt
        self.place = self.place + self.speed * dt


@case(np.array([[0.1, 0.2], [1.0, -0.3], [-0.4, 0.9]]))
def bodies_that_pull_each_other(places):
    bodies = [Body(1.0 + i, p, np.zeros(2)) for i, p in enumerate(places)]
    for _ in range(2):
        pulls = [
            sum(
                (o.mass * (o.place - b.place) / (np.linalg.norm(o.place - b.place) ** 3 + 0.1)
                for o in bodies
                if o is not b),
                start=np.zeros(2),
            )
            for b in bodies
        ]  # fmt: skip
        for b, pull in zip(bodies, pulls):
            b.step(pull, 0.1)
    return sum(float(b.speed @ b.speed) for b in bodies) + bodies[0].place[1]


class PointMass:
    __slots__ = ("m", "v", "x")

    def __init__(self, x, v, m):
        self.x, self.v, self.m = x, v, m


@case([0.3, 1.9, -0.8], 0.7)
def pairs_of_bodies_that_pull_at_each_other(places, m):
    bodies = [PointMass(x, 0.1 * x, m + k) for k, x in enumerate(places)]
    for _ in range(4):
        for a, b in itertools.combinations(bodies, 2):
            d = a.x - b.x
            pull = 0.1 * d / (d * d + 0.5) ** 1.5
            a.v -= pull * b.m
            b.v += pull * a.m
        for b in bodies:
            b.x += 0.1 * b.v
    return sum(0.5 * b.m * b.v**2 + b.x for b in bodies)
