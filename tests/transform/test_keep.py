"""Less than a value is kept where less will do."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import grad, options
from mooncake_py.testing import check_grads
from tests.derive import rule_of, text_of


def halves(w, x, n):
    """Parts of an array that nothing else needs, by bounds that are the same in every iteration."""
    k = len(x) // 2
    for _ in range(n):
        z = w @ x
        x = np.concatenate((np.sin(z[:k]), np.cos(z[k : 2 * k]) * z[:k]))
    return np.sum(x)


def gated(w, b, n):
    h = np.zeros(len(b))
    for _ in range(n):
        h = 1.0 / (1.0 + np.exp(-(w @ h + b))) * h + b
    return np.sum(h * h)


W = np.arange(16.0).reshape(4, 4) / 16.0 - 0.4
X = np.array([0.3, -0.2, 0.5, 0.9])


def pushed(f, *args) -> list[str]:
    return [str(k.type) for k in rule_of(f, *args).derived.kept if k.how == "pushed"]


def test_bounds_are_not_pushed() -> None:
    assert not any("slice" in t for t in pushed(halves, W, X, 2))


def test_zeros_need_a_shape() -> None:
    assert "zeros_unless" in text_of(halves, W, X, 2)
    with options(recompute=False):
        assert "dense_zeros" in text_of(halves, W, X, 2)


def test_a_sigmoid_keeps_its_value_and_one_more() -> None:
    arrays = [k for k in rule_of(lambda z: 1.0 / (1.0 + np.exp(-z)), X).derived.kept if k.how == "captured"]
    assert len(arrays) == 2


@pytest.mark.parametrize("n", [0, 1, 3])
def test_gradients(n) -> None:
    check_grads(halves, (W, X, n))
    check_grads(gated, (W, X, n))


def test_bounds_behind_a_branch() -> None:
    """A bound that not every run computes is not computed for the reverse run either."""

    def f(x, n):
        s = 0.0
        if n > 1:
            k = n // 2
            for i in range(n):
                s = s + np.sum(np.sin(x[k - 1 : k + 1])) * i
        return s + np.sum(x)

    for n in (1, 3):
        check_grads(f, (X, n))


def test_a_negative_behind_a_branch() -> None:
    def f(x, n):
        y = x
        if n:
            y = np.sin(x)
            y = y * np.exp(-y)
        return np.sum(y * y)

    for n in (0, 1):
        check_grads(f, (X, n))


@pytest.mark.parametrize("shape", [(4,), (1,), (3, 4), (2, 1)])
def test_shapes_of_operands(shape) -> None:
    """Broadcast or not is known when it runs."""

    def f(x, y, n):
        for _ in range(n):
            y = np.sin(y * x + y / (x * x + 1.0) - (x - y) ** 2)
        return np.sum(y)

    y = np.linspace(0.1, 0.9, 12).reshape(3, 4)
    check_grads(f, (np.linspace(0.3, 0.8, int(np.prod(shape))).reshape(shape), y, 2)) if shape != (2, 1) else None
    check_grads(f, (np.linspace(0.3, 0.8, int(np.prod(shape))).reshape(shape), np.full(shape, 0.4), 2))


def test_one_over() -> None:
    for x in (0.7, -2.0, np.float64(3.0)):
        assert grad(lambda x: 1.0 / x)(x) == pytest.approx(-1.0 / (x * x))
        assert grad(lambda x: 1 / x)(x) == pytest.approx(-1.0 / (x * x))
        assert grad(lambda x: 2.0 / x)(x) == pytest.approx(-2.0 / (x * x))
    check_grads(lambda x, y: np.sum(1.0 / (x + y)), (X, np.array([[2.0], [3.0]])))
    z = 0.5 + 0.25j
    from mooncake_py import holomorphic_grad

    assert holomorphic_grad(lambda z: 1.0 / z)(z) == pytest.approx(-1.0 / (z * z))
