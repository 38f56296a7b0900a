"""Equal computations are shared and signs folded, but not across what writes."""

from __future__ import annotations

import numpy as np

from mooncake_py import grad
from tests.derive import rule_of, text_of


def pullback_of(f, *args) -> str:
    return text_of(rule_of(f, *args)).split("\nfn ")[1]


def test_a_square_multiplies_once() -> None:
    assert pullback_of(lambda x: x * x, 3.0).count("operator.mul") == 1
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_a_negative_is_subtracted() -> None:
    text = pullback_of(lambda x: np.sum(-x * x), np.ones(3))
    assert "operator.sub" in text and "operator.neg" not in text
    assert grad(lambda x: np.sum(-x * x))(np.array([1.0, 2.0])).tolist() == [-2.0, -4.0]


def test_signs_of_zeros() -> None:
    def f(x, y):
        return (x - y) * x - y * (y - x)

    assert grad(f, argnums=(0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert grad(f, argnums=(0, 1))(3.0, 2.0) == (6.0, -4.0)


def test_what_is_put_back_is_read_again() -> None:
    """The same product before and after an undo is of other numbers."""

    def f(x):
        u = x * 1.0
        a = np.sum(u * u * u)
        u *= 2.0
        b = np.sum(u * u * u)
        return a + b

    assert np.allclose(grad(f)(np.array([1.0, 2.0])), [27.0, 108.0])


def test_tuples_of_indices_are_made_again() -> None:
    def f(x):
        y = np.empty_like(x)
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] * x[i, j]
        return y.sum()

    stored = rule_of(f, np.ones((2, 3))).derived.kept
    assert not any(k.how == "pushed" and "(" in str(k.type) and "Tup" in str(k.type) for k in stored)
    x = np.arange(6.0).reshape(2, 3)
    assert grad(f)(x).tolist() == (2.0 * x).tolist()


def test_an_item_of_a_loop_that_was_left_early() -> None:
    def f(x):
        s = 0.0
        for i in range(4):
            for j in range(4):
                if i * j > 4:
                    break
                s += x[i, j] * (i + j)
            if i == 2:
                break
        return s

    x = np.ones((4, 4))
    expected = np.zeros((4, 4))
    for i in range(3):
        for j in range(4):
            if i * j > 4:
                break
            expected[i, j] = i + j
    assert grad(f)(x).tolist() == expected.tolist()
