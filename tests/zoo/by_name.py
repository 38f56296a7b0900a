"""Arguments given by name: those that rules are chosen by, of functions in C, methods, operators and constructors."""

import builtins
import dataclasses
import math
from collections import OrderedDict

import numpy as np

from tests.zoo.registry import case

X = np.array([[0.3, -1.2, 2.0], [1.5, 0.7, -0.4]])
V = np.array([0.4, 1.3, 2.1])


@case(V, V * 2.0)
def interpolated_by_name(x, y):
    return np.sum(np.interp(x=x, xp=[0.0, 9.0], fp=[0.0, 1.0])) + np.interp(1.0, fp=y, xp=x)


@case(X)
def reductions_by_name(x):
    return np.sum(a=x) * np.std(a=x) + np.var(a=x, axis=0) + np.percentile(a=x, q=30, axis=0) + np.linalg.norm(x=x)


@case(X)
def arrangements_by_name(x):
    y = np.flip(m=x) + np.tile(A=x[:1], reps=(2, 1)) * np.stack(arrays=[x[1], x[0]])
    return np.pad(array=y, pad_width=1), np.trapezoid(y=y), np.broadcast_to(array=x, shape=(2, 2, 3))


@case(X)
def conversions_by_name(x):
    return np.asarray(a=x) * np.real(val=x) + np.imag(val=x * 1j)


@case(1.3, 0.4)
def numbers_by_name(x, y):
    z = complex(real=x, imag=y) * complex(imag=x) + complex(x, imag=y)
    return z, round(number=x) * y, round(number=x, ndigits=1) * y, pow(base=x, exp=y)


@case(1.3, 0.4)
def methods_by_name(x, y):
    d = OrderedDict(a=x)
    d.setdefault(key="b", default=y)
    d.move_to_end(key="a")
    return list(d.values())[0] * x + d["a"]


@dataclasses.dataclass
class Pair:
    a: float
    b: float


@case(1.3, 0.4)
def records_by_name(x, y):
    return dataclasses.asdict(obj=Pair(a=x, b=y))["b"] * x + dataclasses.astuple(obj=Pair(b=x, a=y))[0]


@case(X)
def names_that_a_dict_gives(x):
    keywords = {"a": x, "axis": 1}
    return np.var(**keywords) + [np.std, builtins.len][0](a=x, axis=1)


@case([0.5, 1.0, 2.5], [1.0, 3.0, 0.5])
def sequences_that_run_once(p, q):
    d = math.dist((2.0 * x for x in p), iter(q)) * math.dist(p, q)
    return d + sum(map(math.prod, zip(p, q, strict=True)))


@dataclasses.dataclass(frozen=True)
class Solver:
    rate: float = 0.1
    steps: int = 3


@dataclasses.dataclass(frozen=True)
class Settings:
    width: float = 1.0
    solver: Solver = dataclasses.field(default_factory=Solver)


@case(1.3, 0.4)
def settings_in_settings(x, y):
    given, total = Settings(x, Solver(y)), 0.0
    for width in (1.0, 2.0):
        s = dataclasses.replace(given, width=given.width * width, solver=dataclasses.replace(given.solver, steps=2))
        for _ in range(s.solver.steps):
            total += s.solver.rate * (s.width - total)
    return total + Settings(y).solver.rate * Settings(y).width


class Tokens:
    """Of a formula: kinds with a number, a name, a sign or nothing."""

    def __init__(self, tokens):
        self.tokens = list(tokens)
        self.at = 0

    def take(self):
        token = self.tokens[self.at]
        self.at += 1
        return token

    def factor(self, env):
        kind, value = self.take()
        if kind == "num":
            return value
        if kind == "name":
            if self.tokens[self.at][1] == "(":
                self.take()
                x = self.product(env)
                self.take()
                return getattr(math, value)(x)
            return env[value]
        raise SyntaxError(value)

    def product(self, env):
        x = self.factor(env)
        while self.tokens[self.at][1] == "*":
            self.take()
            x = x * self.factor(env)
        return x


def scanned(text):
    for word in text.split():
        if word.isdigit():
            yield "num", float(word)
        elif word.isalpha():
            yield "name", word
        else:
            yield "op", word
    yield "end", None


@case(0.7, 0.3)
def functions_by_names_that_may_be_numbers_or_none(x, y):
    return Tokens(scanned("2 * x * sin ( y * 3 )")).product({"x": x, "y": y})


@dataclasses.dataclass
class Rates:
    up: float
    down: float
    both: float = 1.0

    def total(self):
        return sum(getattr(self, f.name) for f in dataclasses.fields(self))

    def scaled(self, k):
        return Rates(**{f.name: getattr(self, f.name) * k for f in dataclasses.fields(self)})


@dataclasses.dataclass
class Sampled(Rates):
    at: np.ndarray = dataclasses.field(default_factory=lambda: np.array([0.5, 2.0]))


@case(0.7, 0.3)
def attributes_by_the_fields_of_their_class(x, y):
    rates, total = Rates(x, y), 0.0
    for k in range(4):
        for f in dataclasses.fields(rates):
            if f.name != "both":
                total += getattr(rates, f.name) * k
        rates = rates.scaled(0.9)
    named = {f.name: getattr(rates, f.name) for f in dataclasses.fields(Rates)}
    return total * rates.total() + named["up"] * named["down"]


@case(0.7, 0.3)
def attributes_set_by_the_fields_of_their_class(x, y):
    rates = Sampled(x, y)
    for k in range(3):
        for f, g in zip(dataclasses.fields(rates), dataclasses.fields(Sampled), strict=True):
            setattr(rates, f.name, getattr(rates, g.name) * 0.9 + 0.1 * k * x)
    try:
        return dataclasses.fields(x)
    except TypeError:
        return np.sum(rates.total())
