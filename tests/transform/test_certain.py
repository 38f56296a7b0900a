"""Cotangents that are surely there are not asked for, also round a loop; where one may be missing it is."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import grad
from mooncake_py.testing import check_grads
from tests.derive import text_of


def recurrent(w, h, n):
    for _ in range(n):
        h = np.tanh(w @ h) + h
    return np.sum(h * h)


def two_states(h, c, n):
    """Nothing uses c after the loop: its cotangent comes with the first iteration that is reversed."""
    for _ in range(n):
        c = c * h + h
        h = np.sin(c) * h
    return np.sum(h)


def joined(h, x, n):
    for _ in range(n):
        h = np.concatenate((h[1:], x[:1])) * x
    return np.sum(h)


def sometimes(h, u, n):
    """The cotangent of u is missing where the branch is never taken."""
    v = u * 2.0
    for i in range(n):
        if i == 2:
            h = h * v
    return np.sum(h)


def over_constants(h, rows):
    """What comes of iterating over a constant array is an array, and what it meets is not shared for that."""
    for row in rows:
        h = np.concatenate((h[2:], row)) * h
    return np.sum(h)


W, H, C = np.array([[0.3, -0.2], [0.5, 0.4]]), np.array([0.7, -0.4]), np.array([0.1, 0.2])


def test_a_loop_asks_nothing() -> None:
    assert "operator.is_" not in text_of(recurrent, W, H, 3)
    assert "operator.is_" not in text_of(joined, np.ones(3), np.ones(3), 2)


def test_a_sum_in_place() -> None:
    assert "add_owned" not in text_of(recurrent, W, H, 3)


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("f", [recurrent, two_states, sometimes])
def test_gradients(f, n) -> None:
    args = (W if f is recurrent else C, H, n)
    check_grads(f, args)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_gradients_of_joined(n) -> None:
    check_grads(joined, (np.array([0.5, -0.3, 0.8]), np.array([1.1, 0.4, -0.6]), n))


def test_constant_rows_do_not_share() -> None:
    rows = np.array([[0.3, 0.1], [-0.2, 0.6]])
    h = np.array([0.5, -0.3, 0.8, 0.2])
    gradient = grad(over_constants)
    got = gradient(h, rows)
    for k in range(4):
        e = np.eye(4)[k] * 1e-6
        assert got[k] == pytest.approx((over_constants(h + e, rows) - over_constants(h - e, rows)) / 2e-6)
    from mooncake_py.runtime.rule import _cache

    rule = next(rules[0] for k, rules in _cache.items() if rules and k[0] is over_constants.__code__)
    consts = (*rule.forward.__code__.co_consts, *rule.pullback.__code__.co_consts)  # type: ignore[attr-defined]
    assert not any("hadow" in getattr(x, "__name__", str(x)) for x in consts)
