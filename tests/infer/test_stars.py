"""`f(*xs)` of what a rule stands for: the rule is used."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import grad, primitive, rrule, substitute, zero_derivative
from tests.derive import all_sites
from tests.zoo import unknown_lengths


def by_rule(*p):
    return p[0]


@rrule(by_rule)
def _(*p):
    return p[0], lambda d: (10.0 * d,) + (0.0,) * (len(p) - 1)


@primitive
def by_primitive(*p):
    return p[0]


@by_primitive.rrule
def _(*p):
    return p[0], lambda d: (10.0 * d,) + (None,) * (len(p) - 1)


@zero_derivative
def without(*p):
    return p[0]


def substituted(*p):
    return p[0]


substitute(substituted, lambda *p: p[0] * 10.0)


class Holder:
    def method(self, *p):
        return p[0]

    @staticmethod
    def static(*p):
        return p[0]


@rrule(Holder.method)
def _(self, *p):
    return p[0], lambda d: (None, 10.0 * d) + (0.0,) * (len(p) - 1)


@rrule(Holder.static)
def _(*p):
    return p[0], lambda d: (10.0 * d,) + (0.0,) * (len(p) - 1)


holder = Holder()
CALLS = [
    "{f}(*l)",
    "{f}(*[x * 1.0 for x in l])",
    "{f}(*(x * 1.0 for x in l))",
    "{f}(*map(float, l))",
    "{f}(l[0], *l[1:])",
    "{f}(*tuple(l))",
    "{f}(*l[:1], *l[1:])",
    "{f}(*l, **{{}})",
    "[h(*l) for h in [{f}]][0]",
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("f", "d"),
    [
        ("by_rule", 10.0),
        ("by_primitive", 10.0),
        ("without", 0.0),
        ("substituted", 10.0),
        ("holder.method", 10.0),
        ("Holder.static", 10.0),
    ],
)
def test_the_rule_of_what_takes_any_number_of_arguments(call, f, d) -> None:
    g = eval(f"lambda l: {call.format(f=f)} + l[1]", globals())
    for xs in ([1.0, 2.0], (1.0, 2.0), np.array([1.0, 2.0]))[: None if call == CALLS[0] else 1]:
        np.testing.assert_allclose(grad(g)(xs), (d, 1.0))


@pytest.mark.parametrize("by", ["function", "named tuple", "attribute"])
def test_arguments_between_which_one_is_starred_are_known_one_by_one(by):
    def f(xs, v):
        o = unknown_lengths.Scaled(0.5, *v[1:])
        if by == "function":
            return unknown_lengths.product_and_sum(*v, xs[0] * 2.0)
        if by == "named tuple":
            return unknown_lengths.Sides(0.9, *xs).c
        return unknown_lengths.Scaled.apply(o, *xs, o.v)

    assert all_sites(f, [0.4, 0.7], np.array([0.3, 1.1])) == []


def slices_given_to_an_inner_function(xs):
    k = xs[0]

    def weighted(*r):
        return sum(r) * k

    def largest(*r):
        return max(r)

    total = weighted(k, 2.0)
    for i in range(4):
        total += weighted(*xs[i : i + 3]) * largest(*xs[i:])
    return total + sum([weighted(*xs[:i]) for i in range(4)])


def test_inner_functions_that_take_any_number_of_arguments_are_known() -> None:
    assert all_sites(slices_given_to_an_inner_function, [0.4, 0.7, 1.2, 0.3]) == []
