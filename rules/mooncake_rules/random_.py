"""Random numbers of the standard library: each is a fixed function of a draw that is a constant.

The module's functions are methods of a hidden generator, `random.random.__self__`.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from random import Random
from typing import Any

from mooncake_py.infer.types import Inst, Lst, T, Tup, join, widen
from mooncake_py.registry import infer_table, overlay, zero_derivative
from mooncake_py.structure import constant_classes

constant_classes.append(Random)

for _name in ("random", "randint", "randrange", "getrandbits", "seed", "getstate", "setstate", "randbytes"):
    zero_derivative(getattr(Random, _name), getattr(random, _name))


def _of(cls: type, *names: str) -> None:
    def infer(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
        return Inst(cls, any(t.active for t in (*args, *kwargs.values())))

    for name in names:
        infer_table[getattr(Random, name)] = infer_table[getattr(random, name)] = infer


_of(int, "randint", "randrange", "getrandbits")
_of(float, "random", "uniform", "gauss", "normalvariate", "expovariate", "lognormvariate", "triangular")
_of(float, "betavariate", "gammavariate", "vonmisesvariate", "paretovariate", "weibullvariate")


def _item(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    """What `choice` takes from a sequence."""
    t = widen(args[-1]) if args else None
    if isinstance(t, Tup) and t.items:
        return functools.reduce(join, t.items)
    return t.elem if isinstance(t, Lst) else Inst(int) if isinstance(t, Inst) and t.cls is range else None


infer_table[Random.choice] = infer_table[random.choice] = _item
infer_table[Random] = lambda args, kwargs: Inst(Random)


def standard(name: str, *parameters: float) -> Callable[[Any], float]:
    """The draw that does not depend on the parameters: the generator takes the same steps for it."""
    method = getattr(Random, name)

    def draw(rng):
        return method(rng, *parameters)

    zero_derivative(draw)
    infer_table[draw] = lambda args, kwargs: Inst(float)
    return draw


standard_gauss = standard("gauss", 0.0, 1.0)
standard_normal = standard("normalvariate", 0.0, 1.0)
standard_wait = standard("expovariate", 1.0)


def place(rng: Random, n: int) -> int:
    """The place of what `choice` takes from n things."""
    return rng.choice(range(n))


def places(rng: Random, n: int, k: int, counts: Any = None) -> list[int]:
    """The places of what `sample` takes."""
    return rng.sample(range(n), k, counts=counts)


def weighted_places(rng: Random, n: int, weights: Any, cum_weights: Any, k: int) -> list[int]:
    """The places of what `choices` takes."""
    return rng.choices(range(n), weights, cum_weights=cum_weights, k=k)


def order(rng: Random, n: int) -> list[int]:
    """What `shuffle` does to places."""
    found = list(range(n))
    rng.shuffle(found)
    return found


zero_derivative(place, places, weighted_places, order)
infer_table[place] = lambda args, kwargs: Inst(int)
for _f in (places, weighted_places, order):
    infer_table[_f] = lambda args, kwargs: Lst(Inst(int))


@overlay(Random.uniform)
def uniform_by(rng, a, b):
    return a + (b - a) * rng.random()


@overlay(Random.gauss)
def gauss_by(rng, mu=0.0, sigma=1.0):
    return mu + standard_gauss(rng) * sigma


@overlay(Random.normalvariate)
def normalvariate_by(rng, mu=0.0, sigma=1.0):
    return mu + standard_normal(rng) * sigma


@overlay(Random.lognormvariate)
def lognormvariate_by(rng, mu, sigma):
    return math.exp(mu + standard_normal(rng) * sigma)


@overlay(Random.expovariate)
def expovariate_by(rng, lambd=1.0):
    return standard_wait(rng) / lambd


@overlay(Random.choice)
def choice_by(rng, seq):
    return seq[place(rng, len(seq))]


@overlay(Random.sample)
def sample_by(rng, population, k, *, counts=None):
    return [population[i] for i in places(rng, len(population), k, counts)]


@overlay(Random.choices)
def choices_by(rng, population, weights=None, *, cum_weights=None, k=1):
    return [population[i] for i in weighted_places(rng, len(population), weights, cum_weights, k)]


@overlay(Random.shuffle)
def shuffle_by(rng, x):
    old = list(x)
    for i, j in enumerate(order(rng, len(x))):
        x[i] = old[j]


_hidden: Any = random.random.__self__  # type: ignore[attr-defined]


@overlay(random.uniform)
def uniform_(a, b):
    return uniform_by(_hidden, a, b)


@overlay(random.gauss)
def gauss_(mu=0.0, sigma=1.0):
    return gauss_by(_hidden, mu, sigma)


@overlay(random.normalvariate)
def normalvariate_(mu=0.0, sigma=1.0):
    return normalvariate_by(_hidden, mu, sigma)


@overlay(random.lognormvariate)
def lognormvariate_(mu, sigma):
    return lognormvariate_by(_hidden, mu, sigma)


@overlay(random.expovariate)
def expovariate_(lambd=1.0):
    return expovariate_by(_hidden, lambd)


@overlay(random.choice)
def choice_(seq):
    return choice_by(_hidden, seq)


@overlay(random.sample)
def sample_(population, k, *, counts=None):
    return sample_by(_hidden, population, k, counts=counts)


@overlay(random.choices)
def choices_(population, weights=None, *, cum_weights=None, k=1):
    return choices_by(_hidden, population, weights, cum_weights=cum_weights, k=k)


@overlay(random.shuffle)
def shuffle_(x):
    shuffle_by(_hidden, x)
