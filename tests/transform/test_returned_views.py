"""Views that functions return, of what they are given: who gets them may write to them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooncake_py import registry, value_and_grad, value_and_pullback
from mooncake_py.infer.abstraction import abstract
from mooncake_py.runtime.rule import rule_for
from mooncake_py.transform.lanes import ARR, REF


def row(b):
    return b[0]


def whole(b):
    return b


CHOICES = [row, whole]


def decided_when_it_runs(b, x):
    w = CHOICES[0](b)
    w[...] = x
    return b


def the_argument_itself(b, x):
    same = CHOICES[1](b)
    same[1] = x
    return b


def python_function_of_a_library(b, x):
    w = np.rollaxis(b, 1)
    w[0] = x * x
    return b


def method_by_its_name(b, x):
    b.__getitem__(2)[1:] += x
    return b


def view_of_a_view_by_its_method(b, x):
    w = b.T.view()
    w[1:] *= x
    w[0] = x
    return b


@pytest.mark.parametrize(
    "write",
    [
        decided_when_it_runs, the_argument_itself, python_function_of_a_library, method_by_its_name,
        view_of_a_view_by_its_method,
    ],
)  # fmt: skip
@pytest.mark.parametrize("made", [lambda a: a * 2.0, lambda a: np.zeros((3, 4)) + 1.0, lambda a: a])
def test_what_is_written_to_a_view_has_its_derivative(write: Any, made: Any) -> None:
    weights = np.arange(12.0).reshape(3, 4)

    def f(a, x):
        b = write(made(a), x)
        return (b * b * weights).sum()

    def slope(i: int, t: np.ndarray | float) -> float:
        up, down = [a, 1.3], [a, 1.3]
        up[i], down[i] = up[i] + t, down[i] - t
        return float(f(up[0].copy(), up[1]) - f(down[0].copy(), down[1])) / 2e-6

    a, d = np.cos(weights), np.sin(weights)
    for argnums in ((0, 1), (0,), (1,)):
        _, g = value_and_grad(f, argnums=argnums)(a, 1.3)
        for i, gi in zip(argnums, g, strict=True):
            got = (gi * d).sum() if i == 0 else gi
            assert np.isclose(got, slope(i, 1e-6 * d if i == 0 else 1e-6), rtol=1e-5, atol=1e-6)


def transposed(b):
    return b.T


def of_the_transposed(b):
    return transposed(b) * 2.0


def test_the_outermost_function_has_no_shadows_for_what_it_only_looks_at() -> None:
    a, dy = np.ones((3, 4)), np.arange(12.0).reshape(4, 3)
    registry.load_packs()
    types = (abstract(a, True),)
    assert rule_for(transposed, types, (), outermost=True).derived.arg_trees == (ARR,)
    assert rule_for(transposed, types, ()).derived.arg_trees == (REF,)
    assert rule_for(of_the_transposed, types, (), outermost=True) is rule_for(of_the_transposed, types, ())
    y, pullback = value_and_pullback(transposed, a)
    (g,) = pullback(dy)
    assert np.array_equal(g, dy.T) and y.base is a and not np.shares_memory(g, dy)


def test_arguments_that_are_one_array_are_returned() -> None:
    a, dy = np.ones((3, 4)), np.arange(12.0).reshape(4, 3)
    _, pullback = value_and_pullback(lambda x, y: (x.T, y[0]), a, a)
    g, h = pullback((dy, dy[:, 1]))
    assert np.array_equal(g, dy.T) and np.array_equal(h[0], dy[:, 1]) and not h[1:].any()
    assert not np.shares_memory(g, h)
