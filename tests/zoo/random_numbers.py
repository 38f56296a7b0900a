"""Simulations with random numbers: the draws are constants, the state advances as it does."""

import math
import random

import numpy as np

from tests.zoo.registry import case

P = [0.1, 0.2, 0.7]


@case(P)
def garch(p):
    rng = np.random.default_rng(0)
    variance, likelihood = 1.0, 0.0
    for _ in range(10):
        r = rng.normal() * math.sqrt(variance)
        variance = p[0] + p[1] * r * r + p[2] * variance
        likelihood += math.log(variance) + r * r / variance
    return likelihood


@case(P)
def metropolis(p):
    rng = np.random.default_rng(1)
    x, total = 0.0, 0.0
    for _ in range(10):
        y = x + rng.uniform(-1.0, 1.0)
        ratio = -0.5 * ((y - p[0]) / p[2]) ** 2 + 0.5 * ((x - p[0]) / p[2]) ** 2
        if math.log(rng.random()) < ratio:
            x = y
        total += (x - p[1]) ** 2 / p[2]
    return total


@case(P)
def stochastic_descent(p):
    rng = np.random.default_rng(2)
    x = np.linspace(0.0, 1.0, 8)
    y = 2.0 * x + 1.0
    a, b = p[0], p[1]
    for _ in range(2):
        for i in rng.permutation(8):
            e = a * x[i] + b - y[i]
            a, b = a - p[2] * e * x[i], b - p[2] * e
        i = rng.integers(8)
        a -= 0.1 * (a * x[i] + b - y[i])
    return a * a + b


@case(P)
def samples_of_every_kind(p):
    rng, old = np.random.default_rng(3), np.random.RandomState(3)
    total = p[rng.integers(0, 3)] * rng.gamma(2.0, 1.0) + p[rng.choice(3)] * rng.poisson(3.0)
    total += p[0] * rng.beta(1.0, 2.0) + p[1] * rng.binomial(3, 0.5) + p[2] * rng.exponential(2.0)
    total += p[rng.choice(3, p=[0.2, 0.5, 0.3])] * old.randn() + old.randint(1, 4) * p[old.choice(3)]
    total += np.sum((p[0] + p[1] * rng.normal(size=4)) ** 2) + np.sum(rng.normal(p[0], p[1], size=(2, 2)))
    total += np.sum(rng.normal(np.array([1.0, 2.0]), 0.5) * p[2]) + np.sum(rng.permutation(4) * p[1])
    return total + rng.normal(p[0], p[1]) * old.normal(p[2])


@case(P)
def the_standard_library(p):
    rng = random.Random(3)
    total = 0.0
    for _ in range(4):
        total += p[0] * rng.random() + p[1] * rng.gauss(0.0, 1.0) + rng.randint(1, 5) * p[2]
        total += rng.uniform(p[0], p[1]) * rng.normalvariate(p[0], p[2]) + rng.expovariate(p[1] + 1.0)
        total += rng.lognormvariate(p[0], p[1]) + rng.choice(p) * rng.gauss(p[1], p[2])
    drawn, weighted = rng.sample(p, 2), rng.choices(p, weights=[1.0, 2.0, 3.0], k=3)
    mixed = [x * x for x in p]
    rng.shuffle(mixed)
    total += drawn[0] * drawn[1] + sum(i * x for i, x in enumerate(weighted)) + mixed[0] * mixed[1] ** 2
    return total + sum(rng.sample([p[0], p[1]], counts=[2, 1], k=2))


@case(P)
def the_hidden_generator(p):
    random.seed(4)
    total = 0.0
    for _ in range(4):
        total += p[0] * random.random() + p[1] * random.gauss(0.0, 1.0) + random.randint(1, 5) * p[2]
        total += random.uniform(p[0], p[1]) * random.normalvariate(p[0], p[2]) + random.expovariate(p[1] + 1.0)
        total += random.lognormvariate(p[0], p[1]) + random.choice(p) * random.gauss(p[1], p[2])
    drawn, weighted = random.sample(p, 2), random.choices(p, cum_weights=[1.0, 3.0, 6.0], k=3)
    places = list(range(3))
    random.shuffle(places)
    total += sum(i * p[k] for i, k in enumerate(places))
    return total + drawn[0] * drawn[1] + sum(i * x for i, x in enumerate(weighted))


@case(P)
def a_generator_in_an_object(p):
    walker = Walker(p, random.Random(5), np.random.default_rng(5))
    for _ in range(5):
        walker.step()
    return walker.x**2


class Walker:
    def __init__(self, p, rng, draws):
        self.x, self.p, self.rng, self.draws = p[0], p, rng, draws

    def step(self):
        self.x += self.p[1] * self.rng.gauss(0.0, 1.0) + self.draws.normal(0.0, self.p[2]) * self.x


@case(np.array([0.5, -1.2, 2.0]))
def numbers_drawn_into_arrays(x):
    rng = np.random.default_rng(7)
    a = x.copy()
    rng.shuffle(a)
    b = np.empty(3)
    total = 0.0
    for _ in range(3):
        rng.standard_normal(out=b)
        b *= x
        total += b @ a
    c = x * 1.0
    rng.random(3, out=c)
    rng.standard_exponential(out=a)
    total += c @ x + a @ (x * x)
    rng.permuted(x, out=b)
    return total + b[0] * b[1]
