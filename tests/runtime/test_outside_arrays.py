"""Arrays without derivative that functions decided at run time write to, or hold on to."""

from __future__ import annotations

import array
import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from mooncake_py import UnsupportedError, value_and_grad
from mooncake_py.infer import outside_arrays

STORE = np.zeros(3)


def writing(a: np.ndarray, x: float) -> Iterator[float]:
    a[0] = x
    yield a[1] * x


def reading(a: np.ndarray, x: float) -> Iterator[float]:
    for v in a:
        yield v * x


CHOICE = [writing, reading]


def through_a_partial(x, k):
    return sum(functools.partial(CHOICE[k], STORE)(x)) * STORE[0]


def chosen_by_an_item_of_a_sorted_list(x, k):
    g = sorted(CHOICE, key=lambda g: g.__name__)[1 - k]
    return sum(g(x=x, a=STORE)) * STORE[0]


def test_a_write_that_was_not_seen_before_the_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside_arrays._Arrays, "answer", lambda self: False)
    STORE[:] = 1.0
    with pytest.raises(UnsupportedError, match="held by writing"):
        value_and_grad(through_a_partial)(1.5, 0)
    STORE[:] = 1.0
    assert value_and_grad(through_a_partial)(1.5, 1) == (4.5, 3.0)


def test_what_a_generator_writes_outside_is_read_with_its_derivative() -> None:
    STORE[:] = 1.0
    assert value_and_grad(chosen_by_an_item_of_a_sorted_list)(1.5, 0) == (2.25, 3.0)
    STORE[:] = 1.0
    assert value_and_grad(chosen_by_an_item_of_a_sorted_list)(1.5, 1) == (4.5, 3.0)


@contextlib.contextmanager
def replaced(a: np.ndarray, key: int, value: float) -> Iterator[None]:
    old = a[key]
    a[key] = value
    try:
        yield
    finally:
        a[key] = old * 0.5


class Holder:
    def __init__(self, n: int):
        self.a = 0.5 * np.cumsum(np.zeros(n))


def manager(x, b):
    try:
        with replaced(b, 1, b.sum()):
            y = b[1] * x
        return [y * b[1]][0]
    except KeyError:
        return x


def squared(a: np.ndarray, k: float) -> float:
    a /= 1.5 + a**2
    return np.dot(a, a) * k


def output(x, b, p=0.5):
    rows = [min(p, b[1]), squared(b, k=p)]
    held = Holder(3)
    np.sin(b, out=held.a)
    return x * (sum(rows) + held.a.sum())


@pytest.mark.parametrize("f", [manager, output])
def test_constant_arguments_are_written_to_and_put_back(f: Callable[..., Any]) -> None:
    b = np.array([0.5, 1.0, 2.0])
    plain = f(1.5, b.copy())
    y, g = value_and_grad(f)(1.5, b)
    assert y == plain and np.isclose(g, plain / 1.5)
    assert b.tolist() == [0.5, 1.0, 2.0]


def test_a_constant_array_of_c_numbers_is_put_back() -> None:
    def f(x, a):
        a[0] = 5.0
        a.append(2.0)
        return x * a[0] * len(a)

    a = array.array("d", [1.0, 2.0])
    assert value_and_grad(f)(1.5, a) == (22.5, 15.0)
    assert a.tolist() == [1.0, 2.0]
