"""Attributes of inner functions: counters, sums, caches and parameters that functions keep."""

import math

import numpy as np

from tests.zoo.registry import case

XS = np.array([0.4, 1.3, 0.9, 1.6])


@case(XS)
def an_inner_function_that_counts_its_calls(xs):
    def weighted(x, *, k=2.0):
        weighted.calls += 1
        return x * weighted.calls * k

    weighted.calls = 0
    return sum([weighted(x) for x in xs]) + weighted(xs[0], k=3.0) * weighted.calls


@case(XS)
def an_inner_function_that_sums_up(xs):
    def push(x):
        push.total = push.total * 0.5 + x
        push.seen.append(push.total)
        return push.total

    push.total = xs[0]
    push.seen = []
    for x in xs:
        if push(x) > 1.5:
            push.total -= push.seen[0]
    return push.total * sum(push.seen)


@case(0.7)
def an_inner_function_with_a_cache(x):
    def term(n):
        if n not in term.known:
            term.known[n] = x if n < 2 else term(n - 1) * x + term(n - 2)
        return term.known[n]

    term.known = {}
    return term(6) * len(term.known)


@case(XS)
def parameters_that_others_set_of_an_inner_function(xs):
    def model(x):
        return model.a * x + model.b

    def fitted(a, b):
        model.a = a
        model.b += b
        return sum(model(x) for x in xs)

    model.a, model.b = 1.0, xs[1]
    return fitted(xs[0], 2.0) * fitted(2.0, xs[2]) + model.b


@case(0.7)
def attributes_of_a_function_in_a_try(x):
    def f(v):
        if v > 1.0:
            f.refused += 1
            f.last = v
            raise ValueError
        return v * f.last

    f.refused = 0
    f.last = x
    total = 0.0
    for i in range(4):
        try:
            total += f(x * i)
        except ValueError:
            total += f.last * f.refused
        finally:
            f.last *= 0.9
    return total


@case(0.7)
def attributes_of_a_function_that_are_missing_or_deleted(x):
    def f(v):
        return v * getattr(f, "k", 2.0) * (3.0 if hasattr(f, "m") else 1.0)

    total = f(x)
    f.k = x
    f.m = 1
    total += f(x)
    del f.m
    try:
        f.m  # noqa: B018
    except AttributeError:
        total += f(x) * 0.5
    return total


@case(0.7)
def attributes_of_a_function_that_is_handed_on(x):
    def scaled(v):
        return v * scaled.k

    scaled.k = x

    def twice(f, v):
        f.k = f.k * 2.0
        return f(v)

    return twice(scaled, x) * scaled.k + sum(map(scaled, [x, 2.0]))


@case(0.7)
def attributes_of_functions_made_in_a_loop(x):
    made = []
    for i in range(3):

        def f(v):
            return v * f.k

        f.k = x * i
        made.append((f, f(math.sin(x))))
    return sum(g.k * v for g, v in made)
