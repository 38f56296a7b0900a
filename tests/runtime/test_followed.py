"""Containers from outside that code fills which is run as it is, and not seen through."""

from __future__ import annotations

import functools
from collections import deque
from types import SimpleNamespace

import pytest

from mooncake_py import grad, primitive, rrule, value_and_grad, zero_derivative
from mooncake_py.errors import UnsupportedError


def fill(held, x: float) -> None:
    if isinstance(held, dict):
        held["x"] = x
    elif isinstance(held, set):
        held.add(x)
    else:
        held.append(x)


def last(held) -> float:
    return list(held.values() if isinstance(held, dict) else held)[-1]


def cached(held):
    @functools.cache
    def table(n):
        fill(held, n * 1.0)
        return n

    def f(x):
        table.cache_clear()
        table(7)
        return last(held) * x

    return f


def under_zero_derivative(held):
    @zero_derivative
    def note(v):
        fill(held, 7.0)

    def f(x):
        note(x)
        return last(held) * x

    return f


def under_primitive(held):
    @primitive
    def opaque(x):
        fill(held, 7.0)
        return x

    @opaque.rrule
    def _(x):
        return opaque(x), lambda d: d

    def f(x):
        y = opaque(x)
        return last(held) * y

    return f


def under_rrule(held):
    def opaque(x):
        fill(held, 7.0)
        return x

    @rrule(opaque)
    def _(x):
        return opaque(x), lambda d: d

    def f(x):
        y = opaque(x)
        return last(held) * y

    return f


def in_inner_gradient(held):
    def g(y):
        fill(held, 7.0)
        return y

    inner = grad(g)

    def f(x):
        inner(2.0)
        return last(held) * x

    return f


def in_attribute(held):
    o = SimpleNamespace(held=held)

    @functools.cache
    def table(n):
        fill(o.held, n * 1.0)

    def f(x):
        table.cache_clear()
        table(7)
        return last(o.held) * x

    return f


def in_default(held):
    @functools.cache
    def table(n):
        fill(held, n * 1.0)

    def f(x, held=held):
        table.cache_clear()
        table(7)
        return last(held) * x

    return f


MAKERS = [cached, under_zero_derivative, under_primitive, under_rrule, in_attribute, in_default]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("held", [[], [1.0], [1.0, 2.0], {}, {"a": 1.0}, set(), deque()], ids=repr)
def test_what_unseen_code_puts_in_is_there(make, held) -> None:
    held = held.copy()
    f = make(held)
    before = held.copy()
    for _ in range(2):
        assert value_and_grad(f)(2.0) == (14.0, 7.0)
        held.clear()
        held.update(before) if isinstance(held, (dict, set)) else held.extend(before)


@pytest.mark.parametrize("held", [[], [1.0], {}], ids=repr)
def test_an_inner_gradient_of_what_fills_it_is_refused(held) -> None:
    with pytest.raises(UnsupportedError, match="a gradient, in a function, of what reads outside"):
        value_and_grad(in_inner_gradient(held.copy()))(2.0)


def read_with_try(hist):
    @functools.cache
    def table(n):
        hist.append(float(n))

    def f(x):
        table.cache_clear()
        table(7)
        try:
            s = hist[-1]
        except IndexError:
            s = 1.0
        for h in hist:
            s += h * x
        return s

    return f


def test_no_index_error_comes_up_that_the_list_has_no_reason_for() -> None:
    assert value_and_grad(read_with_try([]))(1.0) == (14.0, 7.0)


def test_items_before_and_after_keep_their_derivatives() -> None:
    hist: list[float] = []

    @functools.cache
    def table(n):
        hist.append(float(n))

    def f(x):
        hist.clear()
        table.cache_clear()
        hist.append(x * x)
        table(7)
        hist.append(3.0 * x)
        return hist[0] + hist[1] * x + hist[-1] * hist[-3]

    assert value_and_grad(f)(2.0) == (4.0 + 14.0 + 24.0, 4.0 + 7.0 + 36.0)


def test_a_list_that_got_shorter_is_refused() -> None:
    hist = [1.0, 2.0]

    @zero_derivative
    def drop(n):
        hist.pop()

    def f(x):
        hist[0] = x
        drop(x)
        return hist[0] * x

    with pytest.raises(UnsupportedError, match="a list that code without derivative changed"):
        grad(f)(2.0)


def test_a_list_that_a_special_method_fills() -> None:
    hist: list[float] = []

    class Item:
        def __init__(self, v):
            self.v = v

        def __lt__(self, other):
            hist.append(9.0)
            return self.v < other.v

    def order():
        return sorted([Item(2), Item(1)])

    def f(x):
        order()
        try:
            return hist[-1] * x
        except IndexError:
            return x

    assert value_and_grad(f)(2.0) == (18.0, 9.0)
    assert hist == [9.0]
