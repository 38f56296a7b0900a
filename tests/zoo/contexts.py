"""Context managers that are generators, and generators that clean up where they wait."""

import contextlib
import itertools
import math

from tests.zoo.registry import case


@contextlib.contextmanager
def doubled(a, log):
    log.append("in")
    try:
        yield a * 2.0
    except ValueError as e:
        log.append(e.args[0] * a)
    finally:
        log.append("out")


@case(0.8)
def managers_in_a_loop(x):
    log = []
    total = x
    for i in range(4):
        with doubled(x, log) as a, doubled(a, log) as b:
            if i == 1:
                continue
            total += math.sin(a * b)
            if i == 2:
                raise ValueError(total)
    return total + log[10]


def cleaning(x, n):
    with contextlib.suppress(KeyError), doubled(x, []) as a:
        for i in range(n):
            try:
                yield a / (i - 1)
            except ZeroDivisionError:
                yield a * i
            finally:
                a = a + x * i


@case(1.3)
def generator_that_cleans_up(x):
    total = 0.0
    for v in cleaning(x, 5):
        try:
            if v > 2.0:
                raise ValueError(v * x)
            total += v * v
        except ValueError as e:
            total -= e.args[0]
    return total * sum(cleaning(x, 3))


@case(0.7, tags=("reference counts",))
def left_before_a_return(x):
    log = []

    def guarded():
        try:
            for i in range(5):
                yield x * i
        finally:
            log.append(x * 2.0)

    total = 0.0
    for v in guarded():
        total += v
        if v > 1.0:
            break
    return total * len(log) + sum(log)


@case(0.7, [1.0, 2.0], tags=("reference counts",))
def generators_held_by_iterators_that_are_left(x, xs):
    log = []

    def powers(n, k):
        try:
            for i in range(n):
                yield xs[i % 2] * x**i
        finally:
            log.append(x * k + (log[-1] if log else 0.0) * x)

    total = 0.0
    for i, v in enumerate(powers(4, 1.0)):
        if i == 2:
            break
        total += v
    for v in itertools.islice(powers(5, 2.0), 2):
        total += v * len(log)
    for a, b in zip(powers(9, 3.0), powers(2, 4.0)):
        total += a * b * log[-1]
    for a, b in zip(powers(5, 5.0), powers(9, 6.0)):
        if a < 0.8:
            break
        total += a * b
    return total * sum(log) + log[-1]
