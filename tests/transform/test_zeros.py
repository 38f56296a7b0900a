"""What comes first into new zeros is put there; what is added to them as a whole is the sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooncake_py import grad
from mooncake_py.testing import check_grads
from tests.transform.test_tidy import pullback_of

A = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])


def put(a):
    return np.sum(a[1:] * 2.0)


def put_twice(a):
    return np.sum(a[:, 1:] * a[:, :-1])


def whole_first(a):
    return np.sum(a[1:] * 2.0) + np.sum(np.exp(a))


def shown_first(a):
    return np.sum(a[1:] * 2.0) + np.sum(a)


def in_single_precision(a):
    return float(np.sum(a[1:] * 2.0) + np.sum(a.astype(np.float64) * 3.0))


def of_rows(a):
    b = a[0] * 1.0
    return np.sum(b[1:] * b[0]) + b @ a[1]


@pytest.mark.parametrize("f", [put, put_twice, whole_first, shown_first, in_single_precision, of_rows])
def test_gradients(f: Any) -> None:
    check_grads(f, (A,))
    assert grad(f)(A.astype(np.float32)).dtype == np.float32


def test_the_first_slice_is_put_into_the_zeros() -> None:
    text = pullback_of(put, A)
    assert "operator.setitem" in text and "operator.iadd" not in text
    assert pullback_of(put_twice, A).count("operator.iadd") == 1


def of_two(a):
    return a[1:] * 2.0, a[:, 1:] * 3.0


def in_a_branch(a):
    s = np.sum(a)
    if s > 0:
        s = s + np.sum(a[1:] ** 2)
    return np.sqrt(s) + np.sum(a[:, :1] ** 3)


def in_a_loop(a):
    s = 0.0
    for i in range(2):
        s = s + np.sum(a[i:] ** 2)
    return s


def test_the_first_slice_is_put_where_the_zeros_may_not_be_needed() -> None:
    assert pullback_of(lambda a: (a[1:], 1.0), A).count("operator.setitem") == 1
    assert pullback_of(of_two, A).count("operator.setitem") <= 1
    for f in (in_a_branch, in_a_loop, lambda a: np.sum(of_two(a)[0]) + np.sum(of_two(a)[1])):
        check_grads(f, (A,))


def test_a_new_array_is_the_sum_itself() -> None:
    assert "zeros_like" not in pullback_of(whole_first, A)
    assert "sum_of_one" not in pullback_of(whole_first, A)


def test_an_array_that_is_not_its_own_is_copied() -> None:
    text = pullback_of(shown_first, A)
    assert "sum_of_one" in text and "zeros_like" not in text


def test_what_is_given_stays_as_it_is() -> None:
    seen = []

    def f(a, b):
        return np.sum(a[1:] * 2.0) + np.sum(a * b)

    da, db = grad(f, argnums=(0, 1))(A, A * 2.0)
    seen.append((da.copy(), db.copy()))
    da[:] = 0.0
    again = grad(f, argnums=(0, 1))(A, A * 2.0)
    assert all(np.array_equal(x, y) for x, y in zip(seen[0], again, strict=True))
    assert not np.shares_memory(*again)


def part_first(a):
    top = np.max(a, axis=1, keepdims=True)
    return np.sum(np.exp(a - top)) + np.sum(top[:, 0] * np.arange(2.0))


def test_a_part_waits_for_the_whole() -> None:
    text = pullback_of(part_first, A)
    assert text.index("negative_of_one") < text.index("operator.iadd") and "zeros_like" not in text
    check_grads(part_first, (A,))
