"""Numbers that stand beside arrays in a tuple, in what functions captured that rules are given."""

from __future__ import annotations

import functools
from collections import deque, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_grad

optimize = pytest.importorskip("scipy.optimize")
integrate = pytest.importorskip("scipy.integrate")

Given = namedtuple("Given", "k w")


class Holder:
    def __init__(self, pair):
        self.pair = pair
        self.pairs = deque([pair])

    def __call__(self, t):
        return cubic(t, self.pair)

    def by_method(self, t):
        return cubic(t, self.pairs[0])


def cubic(t, pair):
    return t**3 + t - np.sin(pair[0]) * pair[1][1]


def in_a_cell(pair):
    return lambda t: cubic(t, pair)


def in_a_list(pair):
    pairs = [pair]
    return lambda t: cubic(t, pairs[0])


def in_a_dict(pair):
    pairs = {"first": pair}
    return lambda t: cubic(t, pairs["first"])


def by_name(pair):
    given = Given(*pair)
    return lambda t: cubic(t, (given.k, given.w))


def inside_another(pair):
    nested = (1.0, pair, "x", None)
    return lambda t: cubic(t, nested[1])


def as_a_default(pair):
    return lambda t, given=pair: cubic(t, given)


def as_a_default_by_name(pair):
    def f(t, *, given=pair):
        return cubic(t, given)

    return f


def in_an_object(pair):
    return Holder(pair)


def by_a_method(pair):
    return Holder(pair).by_method


def of_a_partial(pair):
    return functools.partial(cubic, pair=pair)


@pytest.mark.parametrize(
    "made",
    [
        in_a_cell, in_a_list, in_a_dict, by_name, inside_another, as_a_default, as_a_default_by_name, in_an_object,
        by_a_method, of_a_partial,
    ],
)  # fmt: skip
def test_a_number_beside_an_array(made: Callable[[Any], Any]) -> None:
    def root(k, w):
        return optimize.newton(made((k, w)), 0.5)

    k, w = 0.56, np.array([0.5, 0.4])
    y, (dk, dw) = value_and_grad(root, argnums=(0, 1))(k, w)
    assert y == root(k, w)
    slope = 3 * y**2 + 1  # t**3 + t = sin(k) * w[1]
    np.testing.assert_allclose(dk, np.cos(k) * w[1] / slope, rtol=1e-9)
    np.testing.assert_allclose(dw, [0.0, np.sin(k) / slope], rtol=1e-9)


def test_integrals() -> None:
    def integral(k, w):
        pair = (k, w)
        return integrate.quad(lambda t: pair[0] * pair[1][0] * t**2 + pair[0] ** 2, 0.0, 1.0)[0]

    _, (dk, dw) = value_and_grad(integral, argnums=(0, 1))(0.5, np.array([0.9, 0.1]))
    np.testing.assert_allclose(dk, 0.9 / 3 + 1.0)
    np.testing.assert_allclose(dw, [0.5 / 3, 0.0])
