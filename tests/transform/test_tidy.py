"""Equal computations are shared and signs folded, but not across what writes."""

from __future__ import annotations

import numpy as np

from mooncake_py import grad
from mooncake_py.testing import check_grads
from tests.derive import rule_of, text_of


def pullback_of(f, *args) -> str:
    return text_of(f, *args).split("\nfn ")[1]


def test_a_square_multiplies_once() -> None:
    assert pullback_of(lambda x: x * x, 3.0).count("operator.mul") == 1
    assert grad(lambda x: x * x)(3.0) == 6.0


def test_a_negative_is_subtracted() -> None:
    def f(x):
        return np.sum(np.sin(x) * np.exp(-x * x))

    text = pullback_of(f, np.ones(3))
    assert "operator.sub" in text and "operator.neg" not in text
    check_grads(f, (np.array([1.0, 2.0]),))


def test_a_negative_is_not_kept_beside_its_array() -> None:
    rule = rule_of(lambda x: np.sum(-x * x), np.ones(3))
    assert [k.how for k in rule.derived.kept] == ["captured", "recomputed"]
    assert grad(lambda x: np.sum(-x * x))(np.array([1.0, 2.0])).tolist() == [-2.0, -4.0]


def test_a_negative_that_is_written_to_is_kept() -> None:
    def f(x):
        y = -x
        a = np.sum(y * y * x)
        y[0] = 3.0
        return a + np.sum(y * x)

    check_grads(f, (np.array([1.0, 2.0]),))


def test_signs_cancel() -> None:
    def sigmoid(x):
        return np.sum(1.0 / (1.0 + np.exp(-x)))

    assert pullback_of(sigmoid, np.ones(3)).count("operator.neg") == 0
    check_grads(sigmoid, (np.array([1.0, -2.0]),))


def test_a_sign_cancels_one_other() -> None:
    def f(x):
        return np.sum(1.0 - np.log(-np.expm1(-x)))

    def g(x, y):
        return -((-x) / (-(y * -x)) * (-y) - (-x) * (-y))

    check_grads(f, (np.array([1.0, 2.0]),))
    check_grads(g, (np.array([1.0, -2.0]), np.array([0.5, 1.5])))


def test_signs_stay_where_nothing_takes_them() -> None:
    def f(x, y):
        return np.sum(np.cos(x) * y)

    check_grads(f, (np.array([1.0, -2.0]), np.array([[0.5], [0.25], [1.5]])))


def test_a_sign_goes_through_a_difference() -> None:
    def f(x, y, z):
        return np.cos(x) * y * z - x * y - np.cos(x * x) * z

    check_grads(f, (0.4, -0.3, 1.7))


def test_a_scalar_for_an_array_that_shows_it() -> None:
    def f(x):
        return np.mean(2.0 * np.sin(x) - x * np.cos(x) / 3.0)

    assert "spread" not in pullback_of(f, np.ones(3))
    check_grads(f, (np.array([1.0, -2.0]),))
    check_grads(f, (np.array([[1.0, -2.0], [0.5, 0.25]]),))


def test_what_is_computed_for_one_reader_stands_before_it() -> None:
    def f(x):
        return np.sum(np.sin(x) * np.exp(-x * x))

    lines = [line for line in pullback_of(f, np.ones(3)).splitlines() if "=" in line]
    made = {line.split("=")[0].split()[0]: i for i, line in enumerate(lines)}
    s = next(i for i, line in enumerate(lines) if "operator.sub" in line)
    read = lines[s].split("(")[1].rstrip(")").split(", ")
    assert s - 1 in [made[v] for v in read]


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
