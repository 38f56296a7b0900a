"""Default values that are lists, dicts and arrays: read, given or not, shared by other names, and filled."""

# ruff: noqa: B006

import math

import numpy as np

from tests.zoo.registry import case


def _root(f, x, args=(), kwargs={}, tol=1e-12, most=50, slope=None, notes=[]):
    for _ in range(most):
        y = f(x, *args, **kwargs)
        step = y / slope(x, *args, **kwargs)
        x = x - step
        if abs(step) < tol:
            return x
    raise ValueError(notes)


@case(0.7)
def root_without_keywords(p):
    return _root(lambda x, q: x**3 - q, 1.0, args=(p,), slope=lambda x, q: 3 * x**2)


@case(0.7)
def root_with_keywords(p):
    value = {"k": p}
    return _root(lambda x, q, k=1.0: x**3 - q * k, 1.0, (p,), value, slope=lambda x, q, k=1.0: 3 * x**2)


def _descended(slope, x, options={"rate": 0.1, "steps": 20}):
    for _ in range(options["steps"]):
        x = x - options["rate"] * slope(x)
    return x


@case(0.7)
def options_of_a_descent(p):
    return _descended(lambda x: 2 * (x - p), 0.0) + _descended(lambda x: x - p, 1.0, {"rate": p, "steps": 3})


def _scaled(x, *, by={"k": 2.0, "m": [1.0, 2.0]}, with_=np.array([0.5, 1.5])):
    return x * by["k"] + by["m"][1] * x * x * with_.sum()


@case(0.7)
def options_by_name_alone(p):
    return _scaled(p) + _scaled(p, by={"k": p, "m": [p, p]}) * _scaled(1.3, with_=np.array([p, 2.0]))


def _of_every_kind(a, b={"x": 1.5}, *rest, c={}, d=[1.0, 2.0], **more):
    return a * b["x"] * sum(d) + sum(rest) + sum(more.values()) + sum(c.values())


@case(0.7)
def arguments_of_every_kind(p):
    total = _of_every_kind(p) + _of_every_kind(p, {"x": p}) * _of_every_kind(p, {"x": p}, p, p)
    return total + _of_every_kind(p, c={"z": p}) * _of_every_kind(p, d=[p], q=p) - _of_every_kind(a=p, d=[p, 3])


class _Trained:
    def __init__(self, w, settings={"rate": 0.1}):
        self.w, self.settings = w, settings

    def step(self, slope, more={}):
        self.w = self.w - self.settings["rate"] * slope(self.w, **more)


@case(0.7)
def settings_of_an_object(p):
    model = _Trained(0.0)
    for i in range(6):
        model.step(lambda w, k=2.0: k * (w - p), {"k": p * i} if i % 2 else {})
        model.step(lambda w: w - p)
    return model.w


SHARED = {}


def _with_shared(f, x, more=SHARED):
    return f(x, **more)


@case(0.7)
def filled_by_another_name_in_between(p):
    first = _with_shared(lambda x, k=1.0: x * k, p)
    SHARED["k"] = 2.0
    second = _with_shared(lambda x, k=1.0: x * k * x, p)
    SHARED.clear()
    return first + second


def _remembered(n, x, *, memo={}):
    if n not in memo:
        memo[n] = math.sin(x * n)
    return memo[n]


@case(0.7)
def memo_by_name_alone(p):
    total = _remembered(2, p) + _remembered(3, p * p) * _remembered(2, 9.0)
    _remembered.__kwdefaults__["memo"].clear()
    return total


def _logged(x, log=[]):
    log.append(x * x)
    return sum(log)


@case(0.7)
def log_that_is_summed(p):
    total = _logged(p) * _logged(2 * p)
    _logged.__defaults__[0].clear()
    return total


def _counted(x, calls=[]):
    calls.append(len(calls))
    return x * (1 + calls[-1])


@case(0.7)
def calls_that_are_counted(p):
    total = _counted(p) * _counted(p) + _counted(2 * p)
    _counted.__defaults__[0].clear()
    return total


def _by_table(x, i, table={0: 1.0, 1: 2.5}, weights=[1.0, 2.0]):
    return table[i % 2] * math.sin(x * i) * weights[i % 2]


@case(0.7)
def tables_read_in_a_loop(x):
    return sum(_by_table(x, i) for i in range(9))


def _replaced(x, w=np.array([1.0, 2.0, 3.0])):
    return x * w


@case(0.7)
def array_that_is_written_to_by_another_name(p):
    w = _replaced.__defaults__[0]
    y = _replaced(p).sum()
    w[0] = 4.0
    z = (_replaced(p) * w).sum()
    w[0] = 1.0
    return y * z
