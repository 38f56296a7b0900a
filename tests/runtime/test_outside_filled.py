"""Containers from outside that are empty before the run, and are filled where it is hard to see."""

from __future__ import annotations

import functools
import importlib
import inspect
import operator
import types
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import value_and_grad
from mooncake_py.errors import UnsupportedError
from tests.runtime.outside import check_state

LOG: list[Any] = []
TABLE: dict[str, Any] = {}
QUEUE: deque[Any] = deque()
ADD, EXTEND, PUT, PUSH, UPDATE = LOG.append, LOG.extend, TABLE.__setitem__, QUEUE.append, TABLE.update
PARTIAL, SET = functools.partial(LOG.append), functools.partial(operator.setitem, TABLE, "k")


def noted(a, b):
    LOG.append(a * b)
    return a - b


KEY = functools.cmp_to_key(noted)


class Loud:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        LOG.append(self.v * other.v)
        return self.v < other.v

    def __repr__(self):
        LOG.append(self.v)
        return "Loud"

    def __eq__(self, other):
        LOG.append(self.v * other.v)
        return self.v == other.v


class Hashed:
    def __init__(self, v):
        self.v = v

    def __hash__(self):
        LOG.append(self.v)
        return 1


class Holder:
    log = LOG


class Derived(Holder):
    def put(self, v):
        super().log.append(v)


def hand_out():
    log = LOG
    return lambda: log


GIVES = hand_out()


def bound_method(x):
    ADD(x * 2.0)
    ADD(x)
    return LOG[0] * LOG[-1] + x


def bound_method_in_a_loop(x):
    for v in (x, x * x):
        ADD(v)
    return sum(LOG) * x


def bound_method_of_a_default(x, add=LOG.append):
    add(x * x)
    return LOG[0] * x


def bound_methods_of_others(x):
    PUT("x", x * x)
    PUSH(x * x)
    UPDATE(y=x * 3.0)
    return TABLE["x"] * TABLE["y"] + QUEUE[0]


def several_at_once(x):
    EXTEND([x, x * x])
    return LOG[1] * x


def partials(x):
    PARTIAL(x * x)
    SET(x)
    return LOG[0] * TABLE["k"]


def given_to_map(x):
    list(map(ADD, [x, x * x]))
    return LOG[1] * x


def compared_by_a_key(x):
    s = sorted([x, x * x], key=functools.cmp_to_key(noted))
    return LOG[0] * s[0]


def compared_by_a_key_from_outside(x):
    return max([x, x * x], key=KEY) * LOG[0]


def compared_by_its_class(x):
    sorted([Loud(x), Loud(x * x)])
    return LOG[0] * x


def searched(x):
    return x * LOG[0] if Loud(x) in [Loud(x * x)] else LOG[0] * LOG[-1]


def printed(x):
    repr(Loud(x * x))
    return LOG[0] * x


def called_by_name(x):
    list(map(operator.methodcaller("append", x * x), [LOG]))
    return LOG[0] * x


def in_a_dict_by_keyword(x):
    dict(log=LOG)["log"].append(x * x)
    return LOG[0] * x


def by_the_names_of_a_class(x):
    vars(Holder)["log"].append(x * x)
    return LOG[0] * x


def by_a_name_in_a_loop(x):
    for name in ("log", "log"):
        getattr(Holder, name).append(x * x)
    return LOG[0] * x


def of_the_class_above(x):
    Derived().put(x * x)
    return LOG[0] * x


def out_of_a_cell(x):
    GIVES.__closure__[0].cell_contents.append(x * x)
    return LOG[0] * x


def of_an_imported_module(x):
    importlib.import_module(__name__).LOG.append(x * x)
    __import__(__name__, fromlist=["LOG"]).LOG.append(x)
    return LOG[0] * LOG[1]


@pytest.mark.parametrize("f", [
    bound_method, bound_method_in_a_loop, bound_method_of_a_default, bound_methods_of_others, several_at_once, partials,
    given_to_map, compared_by_a_key, compared_by_a_key_from_outside, compared_by_its_class, searched, printed,
    called_by_name, in_a_dict_by_keyword, by_the_names_of_a_class, by_a_name_in_a_loop, of_the_class_above,
    out_of_a_cell, of_an_imported_module,
], ids=lambda f: f.__name__)  # fmt: skip
def test_what_is_read_back_has_its_derivative(f: Callable[[Any], Any]) -> None:
    check_state(f, reset, lambda: (list(LOG), dict(TABLE), list(QUEUE)))


def reset() -> None:
    for held in (LOG, TABLE, QUEUE):
        held.clear()  # type: ignore[attr-defined]


def as_a_key(x):
    table = {Hashed(x * x): 1.0}
    return LOG[0] * x if table else x


def through_the_library(x):
    inspect.getattr_static(Holder, "log").append(x * x)
    return LOG[0] * x


def as_a_key_of_a_comprehension(x):
    table = {k: 1.0 for k in [Hashed(x * x)]}
    return LOG[-1] * x if table else x


def as_an_item_of_a_set(x):
    return LOG[-1] * x if set([Hashed(x * x)]) else x


@pytest.mark.parametrize("f, why", [
    (as_a_key, "a method that it calls changes a list"),
    (as_a_key_of_a_comprehension, "a method that it calls changes a list"),
    (as_an_item_of_a_set, "a method that it calls changes a list"),
    (through_the_library, "what code that is not seen has stored"),
])  # fmt: skip
def test_what_was_not_seen_is_refused_where_it_is_read(f: Callable[[Any], Any], why: str) -> None:
    reset()
    with pytest.raises(UnsupportedError, match=why):
        value_and_grad(f)(1.3)
    reset()


def test_functions_that_nothing_is_found_by() -> None:
    """Keys that compare have no hash."""
    order = types.SimpleNamespace(key=functools.cmp_to_key(lambda a, b: b - a))

    def f(x):
        return sorted([x, x * x, 3.0], key=order.key)[1] + sorted([x, x * x], key=FALLING)[0]

    assert value_and_grad(f)(1.3) == (pytest.approx(2 * 1.69), pytest.approx(5.2))


FALLING = functools.cmp_to_key(lambda a, b: b - a)
