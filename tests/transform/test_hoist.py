"""The dense array of a shadow is asked for before the loop, and again in it only where it may be another."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import grad
from mooncake_py.ir.graph import loop_depth
from mooncake_py.ir.nodes import Const
from mooncake_py.testing import check_grads
from mooncake_py.transform import helpers
from tests.derive import derivation_of


def filled(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = np.sin(x[i])
    return np.sum(y * y)


def filled_in_a_loop(x):
    total = 0.0
    for k in range(3):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = x[i] * k
        total += np.sum(y * y)
    return total


def used_whole_in_between(x):
    y = np.zeros(len(x))
    z = y
    for i in range(len(x)):
        y[i] = x[i] * 2.0 + y[i - 1]
        z = z * y
        y[0] = np.sum(y)
    return np.sum(z + y)


def depths(f):
    """In how many loops of the pullback the dense array of a shadow is asked for, for each place."""
    fn = derivation_of(f, np.arange(3.0)).pullback
    depth = loop_depth(fn)
    return sorted(
        depth[b.id]
        for b in fn.blocks
        for s in b.stmts
        if (len(s.args) == 2 and isinstance(s.args[1], Const) and s.args[1].value == "dense")
        or (isinstance(s.fn, Const) and s.fn.value is helpers.dense_if_made)
    )


@pytest.mark.parametrize("f, expected", [(filled, [0]), (filled_in_a_loop, [1])])
def test_it_is_asked_for_before_the_loop(f, expected) -> None:
    assert depths(f) == expected


def filled_if_asked(x, keep=False):
    total = 0.0
    if keep:
        y = np.zeros(len(x))
    for i in range(len(x)):
        total += x[i] * x[i]
        if keep:
            y[i] = total
    return total + y[-1] if keep else total


@pytest.mark.parametrize("f", [filled, filled_in_a_loop, used_whole_in_between, filled_if_asked])
def test_gradients(f) -> None:
    check_grads(f, (np.array([0.3, 0.7, 1.1]),))


def test_a_loop_that_is_not_entered() -> None:
    assert grad(filled)(np.zeros(0)).shape == (0,)
