"""Generators that hand on what other iterators give, where these raise or have to be cleaned up after."""

import contextlib

from tests.zoo.registry import case

XS = [0.5, 1.2, 2.0]


def fails_after(xs, k):
    for v in xs[:k]:
        yield v * v
    raise ValueError(xs[k])


@case(XS)
def an_exception_of_the_inner_generator_is_caught(xs):
    def outer():
        try:
            yield from fails_after(xs, 1)
        except ValueError as e:
            yield e.args[0] * xs[0]

    return sum(outer())


@case(XS)
def an_exception_of_a_map_is_caught(xs):
    def checked(v):
        if v > 1.0:
            raise ValueError(v)
        return v * 3.0

    def outer():
        for _ in range(2):
            try:
                yield from map(checked, xs)
            except ValueError as e:
                yield e.args[0]
            finally:
                yield xs[2]

    return sum(v * (k + 1) for k, v in enumerate(outer()))


@case(XS)
def cleaned_up_after_each_of_two(xs):
    log = [xs[0]]

    def outer():
        with contextlib.suppress(ValueError):
            yield from fails_after(xs, 2)
        try:
            yield from [xs[1], xs[2]]
        finally:
            log.append(xs[2] * xs[1])

    total = 1.0
    for v in outer():
        total = total * v + log[-1]
    return total * sum(log)


@case(XS)
def left_in_the_middle(xs):
    log = []

    def outer():
        try:
            yield from (v * v for v in xs)
        finally:
            log.append(xs[0])

    for v in outer():
        if v > 1.0:
            break
    return v * sum(log)
