"""Outer products that a loop adds up are added as products of matrices, where nobody looks at the sum in between."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import options
from mooncake_py.sums import OuterSum
from mooncake_py.testing import check_grads
from tests.derive import text_of


def recurrent(w, h, n):
    for _ in range(n):
        h = np.tanh(w @ h) + 0.1 * h
    return np.sum(h * h)


def both_sides(w, h, n):
    for _ in range(n):
        h = np.sin(w @ h) + np.cos(h @ w)
    return np.sum(h)


def sometimes(w, h, n):
    for i in range(n):
        if i % 2:
            h = np.tanh(w @ h)
    return np.sum(h)


def nested(w, h, n):
    for _ in range(n):
        for _ in range(2):
            h = np.tanh(w @ h)
        h = w @ h
    return np.sum(h)


def left_early(w, h, n):
    for i in range(n):
        h = np.tanh(w @ h)
        if i == 2:
            break
    return np.sum(h)


def written(w, h, n):
    """What is multiplied is written to afterwards: its content is gone by the end of the reverse loop."""
    h = h * 1.0
    s = 0.0
    for i in range(n):
        s = s + np.sum(np.sin(w @ h))
        h[i % 2] = np.cos(h[i % 2]) * 1.5
    return s + np.sum(h)


def pairs(w, h, n):
    z = h * (1.0 + 0.5j)
    for _ in range(n):
        z = (w * 1j) @ z + h
    return np.sum(np.abs(z))


W, H = np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6], [-0.1, 0.7, 0.2]]), np.array([0.7, -0.4, 0.9])
FUNCTIONS = [recurrent, both_sides, sometimes, nested, left_early, written, pairs]


def test_a_recurrent_net_collects() -> None:
    assert "OuterSum" in text_of(recurrent, W, H, 3)
    with options(tidy=False):
        assert "OuterSum" not in text_of(recurrent, W, H, 3)


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f, n) -> None:
    check_grads(f, (W, H, n))


def test_many_iterations() -> None:
    w, h = np.eye(40) * 0.5 + 0.01, np.linspace(-1.0, 1.0, 40)
    check_grads(recurrent, (w, h, 150), rtol=1e-4)


@pytest.mark.parametrize("shape", [(2, 3), (50, 50), (1, 400), (400, 1), (0, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_the_sum(shape, dtype) -> None:
    rng = np.random.default_rng(0)
    total = rng.standard_normal(shape).astype(dtype)
    rows = rng.standard_normal((70, shape[0])).astype(dtype)
    columns = rng.standard_normal((70, shape[1])).astype(dtype)
    sums = OuterSum(total.copy())
    for a, b in zip(rows, columns, strict=True):
        sums.add(a, b)
    got = sums.take()
    assert got.dtype == dtype
    assert np.allclose(got, total + rows.T @ columns, rtol=1e-4, atol=1e-4)


def test_a_sum_that_begins_with_zeros() -> None:
    like = np.ones((3, 2), np.float32)
    assert OuterSum(None, like).take().tolist() == np.zeros((3, 2)).tolist()
    sums = OuterSum(None, like)
    sums.add(np.arange(3.0), np.arange(2.0))
    got = sums.take()
    assert got.dtype == np.float32 and got.tolist() == np.multiply.outer(np.arange(3.0), np.arange(2.0)).tolist()
