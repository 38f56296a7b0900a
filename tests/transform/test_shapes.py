"""Cotangents are summed down to a shape only where it may differ."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import grad
from tests.derive import text_of


def pullback_of(f, *args) -> str:
    return text_of(f, *args).split("\nfn ")[1]


A, B = np.linspace(0.1, 0.9, 6).reshape(2, 3), np.linspace(1.0, 2.0, 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(x) * np.exp(-x * x)),
        lambda x: np.sum((x[2:] - x[:-2]) * x[1:-1] * (2.0 - x[1:-1])),
        lambda x: np.sum(x * x.copy() + np.tanh(x) / x),
        lambda x: np.mean((x - 1.0) * x / (x + 3.0)),
    ],
)
def test_nothing_is_summed_where_shapes_are_equal(f) -> None:
    assert "unbroadcast" not in pullback_of(f, np.ones(5))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.sum(x * y),
        lambda x, y: np.sum(x * np.sin(x) + y),
        lambda x, y: np.sum(x[:, 1:] * y[1:]),
        lambda x, y: np.sum(y[1:] + x[:, :-1]),
        lambda x, y: np.sum(x + y.reshape(1, 3)),
    ],
)
def test_broadcasts_are_summed(f) -> None:
    dx, dy = grad(f, argnums=(0, 1))(A, B)
    assert dx.shape == A.shape and dy.shape == B.shape
    for arg, d, at in ((0, dx, (1, 2)), (1, dy, (2,))):
        args = [A.copy(), B.copy()], [A.copy(), B.copy()]
        args[0][arg][at] += 1e-6
        args[1][arg][at] -= 1e-6
        assert d[at] == pytest.approx((f(*args[0]) - f(*args[1])) / 2e-6, rel=1e-6)


def test_one_item_broadcasts_against_what_looks_alike() -> None:
    """Slices that leave out as many items of another array, or other items of this one, need not be as long."""

    def f(x, y):
        return np.sum(x[1:] * y[1:]) + np.sum(x[2:] * x[1:3]) + np.sum(x[:1] * x[3:])

    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0])
    dx, dy = grad(f, argnums=(0, 1))(x, y)
    assert dx.tolist() == [4.0, 9.0, 12.0, 10.0]
    assert dy.tolist() == [0.0, 9.0]


def test_a_shape_that_changes_from_one_iteration_to_the_next() -> None:
    def f(x):
        y = x[:1]
        for i in range(3):
            y = y * x[: i + 1]
            y = np.concatenate((y, y[:1]))
        return np.sum(y)

    def difference(i):
        up, down = X.copy(), X.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        return (f(up) - f(down)) / 2e-6

    X = np.array([1.1, 1.2, 0.9])
    assert np.allclose(grad(f)(X), [difference(i) for i in range(3)], rtol=1e-6)
