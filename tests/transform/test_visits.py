"""Reads that meet every element of an array at most once store its cotangent; all others add to it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_pullback
from mooncake_py.testing import check_grads
from tests.derive import derivation_of

A = np.array([0.3, 0.7, -0.2])


def dot(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    return s


def from_the_end(x):
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s = s * 0.5 + math.sin(x[i])
    return s


def reversed_and_every_other(x):
    s = 0.0
    for i in reversed(range(1, len(x), 2)):
        s = s * 0.5 + math.sin(x[i])
    return s


def above_the_diagonal(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if j <= i:
                continue
            s += x[i, j] ** 2 * (i + j)
    return s


def made_anew(x):
    s = 0.0
    for k in range(3):
        y = x * k
        for i in range(len(y)):
            s += math.sin(y[i])
    return s


def columns_of_one_row(x):
    s = 0.0
    for j in range(x.shape[1]):
        s += x[1, j] ** 3
    return s


def twice_around(x):
    s = 0.0
    for k in range(2):
        for i in range(len(x)):
            s += math.sin(x[i]) * (k + 1)
    return s


def last_comes_first_too(x):
    s = 0.0
    for i in range(-1, len(x)):
        s += math.sin(x[i])
    return s


def counted_by_hand(x):
    s, i = 0.0, 0
    while i < len(x):
        s += math.sin(x[i // 2])
        i += 1
    return s


def half(x):
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i // 2])
    return s


def neighbours(x):
    s = 0.0
    for i in range(1, len(x)):
        s += x[i] * x[i - 1]
    return s


def and_the_sum(x):
    s = 0.0
    for i in range(len(x)):
        s += math.sin(x[i])
    return s + np.sum(x)


def by_another_name(x):
    y = x[1:]
    s = y[0] ** 2
    for i in range(len(x)):
        s += math.sin(x[i])
    return s


def carried(x):
    s = 0.0
    for i in range(2):
        s += x[i] ** 2
        x = x * 2.0
    return s


def other_part(x):
    s = 0.0
    for i in range(2):
        for j in range(2):
            s += x[i, 0] * (j + 1.0)
    return s


ONCE: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = [
    (dot, (A, 2 * A)),
    (from_the_end, (A,)),
    (reversed_and_every_other, (A,)),
    (above_the_diagonal, (np.outer(A, A),)),
    (made_anew, (A,)),
    (columns_of_one_row, (np.outer(A, A),)),
]
AGAIN: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = [
    (twice_around, (A,)),
    (last_comes_first_too, (A,)),
    (counted_by_hand, (A,)),
    (half, (A,)),
    (neighbours, (A,)),
    (and_the_sum, (A,)),
    (by_another_name, (A,)),
    (other_part, (np.outer(A, A),)),
]


def name(value: Any) -> str:
    return value.__name__ if callable(value) else ""


def reads_cotangents(f: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Does the pullback read elements of the array that it fills?"""
    pullback = derivation_of(f, *args).pullback
    stmts = [s for b in pullback.blocks for s in b.stmts]
    filled = {s.args[0] for s in stmts if getattr(s.fn, "value", None) is operator.setitem}
    assert filled
    return any(getattr(s.fn, "value", None) is operator.getitem and s.args[0] in filled for s in stmts)


@pytest.mark.parametrize(("f", "args"), [*ONCE, *AGAIN, (carried, (A,))], ids=name)
def test_the_gradients_are_right_each_time_the_pullback_runs(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(f, args)
    _, pullback = value_and_pullback(f, *args)
    for one, other in zip(pullback(1.0), pullback(1.0), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("f", "args"), ONCE, ids=name)
def test_what_is_read_once_is_stored(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert not reads_cotangents(f, args)


@pytest.mark.parametrize(("f", "args"), AGAIN, ids=name)
def test_what_may_be_read_again_is_added_to(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert reads_cotangents(f, args)
