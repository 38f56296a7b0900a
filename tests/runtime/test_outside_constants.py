"""What holds no derivative and is kept outside: sets, bytes, attributes of functions, what metaclasses write."""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import PullbackReuse, value_and_grad, value_and_pullback

SEEN: set[Any] = set()
SETS: dict[str, set[Any]] = {}
BYTES = bytearray()
LOG: list[Any] = []


def visit(x):
    SEEN.add(len(SEEN))
    return x * len(SEEN)


def write(x):
    BYTES.append(1)
    return x * len(BYTES)


def logged(f):
    def wrapper(*args):
        wrapper.log.append(len(args))
        wrapper.calls += 1
        return f(*args) * len(wrapper.log)

    wrapper.log, wrapper.calls = [], 0
    return wrapper


@logged
def square(x):
    return x * x


def counted(x):
    counted.log.append(1)
    return x * len(counted.log)


def noted_power(x, n):
    LOG.append(n)
    return x if n == 0 else noted_power(n=n - 1, x=x) * x


def noted_product(n, x):
    LOG.append("product")
    return x if n == 0 else noted_product(n - 1, x) * x


@functools.cache
def cached_power(x, n):
    LOG.append(n)
    return x**n


class Meta(type):
    total = 0

    def __call__(cls, *args):
        made = super().__call__(*args)
        cls.made.append(1)
        Meta.total += 1
        return made


class Made(metaclass=Meta):
    made: list[int] = []  # noqa: RUF012
    seen: set[str] = set()  # noqa: RUF012

    def __init__(self, x):
        self.x = x
        self.seen.add("made")


def reset() -> None:
    SEEN.clear()
    SETS.clear()
    BYTES.clear()
    LOG.clear()
    square.log, square.calls, counted.log = [], 0, []
    Made.made.clear()
    Made.seen.clear()
    Meta.total = 0


def state() -> Any:
    kept = (SEEN, SETS, BYTES, LOG, square.log, square.calls, counted.log, Made.made, Made.seen, Meta.total)
    return copy.deepcopy(kept)


def a_set(x):
    SEEN.add(1)
    SEEN.discard(2)
    SEEN.update([3, 4])
    return x * len(SEEN)


def a_set_in_a_function(x):
    for _ in range(3):
        x = visit(x)
    return x * len(SEEN)


def a_set_given_to_map(x):
    return sum(map(visit, [x, x * x]))


def sets_in_a_dict(x):
    SETS["a"] = {1}
    SETS.setdefault("b", set()).add(2)
    SETS["a"] |= SETS["b"]
    return x * len(SETS["a"])


def bytes_in_a_function(x):
    return write(x) * write(x)


def a_log_that_a_decorator_keeps(x):
    return square(x) + square(x)


def a_log_that_a_function_keeps(x):
    return counted(x) * counted(x)


def a_list_that_a_metaclass_fills(x):
    return Made(x).x * Made(x * x).x * len(Made.made) * Meta.total


def a_log_of_a_function_that_calls_itself(x):
    return noted_product(3, x) * noted_product(1, x)


def a_log_by_keywords(x):
    return noted_power(x, 3)


def a_log_of_a_cached_function(x):
    cached_power.cache_clear()
    return cached_power(x, 2) * cached_power(x, 3) + cached_power(x, 2) + cached_power(2.0, 3)


@pytest.mark.parametrize("f", [
    a_set, a_set_in_a_function, a_set_given_to_map, sets_in_a_dict, bytes_in_a_function, a_log_that_a_decorator_keeps,
    a_log_that_a_function_keeps, a_list_that_a_metaclass_fills, a_log_of_a_function_that_calls_itself,
    a_log_by_keywords, a_log_of_a_cached_function,
])  # fmt: skip
@pytest.mark.parametrize("debug_mode", [False, True])
def test_state_is_as_after_plain_calls(f: Callable[[Any], Any], debug_mode: bool) -> None:
    def last(*xs: float) -> float:
        reset()
        return float([f(x) for x in xs][-1])

    x, h = 1.3, 1e-6
    values, slopes, states = [], [], []
    for before in ([], [x]):
        slopes.append((last(*before, x + h) - last(*before, x - h)) / (2.0 * h))
        values.append(last(*before, x))
        states.append(state())
    reset()
    for value, slope, after in zip(values, slopes, states, strict=True):
        y, pullback = value_and_pullback(f, x, debug_mode=debug_mode)
        assert y == value
        assert state() == after
        assert pullback(1.0)[0] == pytest.approx(slope, rel=1e-6)
        assert state() == after
        with contextlib.suppress(PullbackReuse):
            assert pullback(1.0)[0] == pytest.approx(slope, rel=1e-6)
        assert state() == after


def test_arguments_are_restored() -> None:
    def f(x, s, b):
        s |= {7}
        s &= {1, 2, 7}
        s ^= {2}
        s.update([9])
        s.add(5)
        b += b"z"
        b[0] = 65
        return x * len(s) * len(b)

    s, b = {1, 2, 3}, bytearray(b"ab")
    assert value_and_grad(f)(2.0, s, b) == (24.0, 12.0)
    _, pullback = value_and_pullback(f, 2.0, s, b)
    assert (s, b) == ({1, 7, 9, 5}, bytearray(b"Abz"))
    assert pullback(1.0) == (12.0, None, None)
    assert (s, b) == ({1, 2, 3}, bytearray(b"ab"))
