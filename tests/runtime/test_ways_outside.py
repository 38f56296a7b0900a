"""The ways by which a function may come to a list from outside that it writes to, and reads back."""

from __future__ import annotations

import bisect
import functools
import heapq
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_grad
from tests.runtime.outside import check_state

LOG: list[Any] = []


def captured_by_another_name(x):
    log = LOG

    def note(v):
        log.append(v)
        return v * len(log)

    return note(x) + LOG[0]


def captured_by_a_recursive_function(x):
    log = LOG

    def note(n):
        if n == 0:
            log.append(x)
            return 1.0
        return note(n - 1)

    return note(2) + LOG[0]


def captured_two_levels_down(x):
    log = LOG

    def outer():
        def inner():
            log.append(x)

        inner()

    outer()
    return LOG[0]


def captured_after_it_was_something_else(x):
    log = []

    def note(v):
        log.append(v)

    note(1.0)
    log = LOG
    note(x)
    return LOG[0]


def a_default_value(x):
    def note(v, log=LOG):
        log.append(v)
        return v * len(log)

    return note(x) + LOG[0]


def a_keyword_default_value(x):
    def note(v, *, log=LOG):
        log.append(v)
        return v * len(log)

    return note(x) + LOG[0]


def a_lambda_that_hands_it_out(x):
    log = (lambda z=LOG: z)()
    log.append(x)
    return LOG[0]


def an_item_of_a_generator(x):
    def logs():
        yield LOG

    for log in logs():
        log.append(x)
    return LOG[0]


def a_result_of_another_generator(x):
    def inner():
        yield LOG
        return LOG

    def logs():
        last = yield from inner()
        yield last

    for log in logs():
        log.append(x)
    return LOG[0] + LOG[1]


def a_partial_of_a_method(x):
    functools.partial(list.append, LOG)(x)
    return LOG[0]


def a_partial_of_a_lambda(x):
    note = functools.partial(lambda log, v: log.append(v), LOG)
    note(x)
    return LOG[0]


def a_method_by_its_class(x):
    list.append(LOG, x)
    operator.methodcaller("append", 2.0 * x)(LOG)
    return LOG[0] * LOG[1]


def functions_of_operator(x):
    operator.iadd(LOG, [x])
    operator.setitem(LOG, 0, x * LOG[0])
    return LOG[0]


def heaps(x):
    heapq.heappush(LOG, x)
    heapq.heappush(LOG, x * x)
    return LOG[0] * 3.0 + LOG[1]


def insertion(x):
    bisect.insort(LOG, x)
    bisect.insort(LOG, x * x)
    return LOG[0] * 3.0 + LOG[1]


@pytest.mark.parametrize("f", [
    captured_by_another_name, captured_by_a_recursive_function, captured_two_levels_down, a_default_value, insertion,
    captured_after_it_was_something_else, a_keyword_default_value, a_lambda_that_hands_it_out, a_partial_of_a_method,
    an_item_of_a_generator, a_result_of_another_generator, a_partial_of_a_lambda, a_method_by_its_class, heaps,
    functions_of_operator,
])  # fmt: skip
def test_what_is_read_back_has_its_derivative(f: Callable[[Any], Any]) -> None:
    check_state(f, LOG.clear, lambda: list(LOG))


def test_constants_written_by_out() -> None:
    bounds = {"high": 1.2}

    def f(a, x):
        np.clip(a, -0.9, 0.1 + bounds.get("high", 1.0), out=a)
        return a.sum() * x

    a = np.array([0.3, 1.6])
    assert value_and_grad(f, 1)(a, 0.5) == (pytest.approx(0.8), pytest.approx(1.6))
    assert list(a) == [0.3, 1.6]


def test_views_of_constant_arguments_are_put_back() -> None:
    def f(x, a):
        np.tanh(a[:-1], out=a[1:])
        LOG.append(x)
        return LOG[-1] * 2.0

    a = np.array([1.0, 2.0, 3.0])
    assert value_and_grad(f)(1.5, a) == (3.0, 2.0)
    assert list(a) == [1.0, 2.0, 3.0]
