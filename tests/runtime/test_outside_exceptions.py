"""State from outside that is reached by way of handlers and of exceptions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.outside import check_state
from tests.zoo.outside_arrays import replaced

STORE = np.zeros(3)
LOG: list[Any] = []
TABLE: dict[str, Any] = {}


class Box:
    v = 0.5


class Shared:
    n = 0.5


class Other:
    n = 0.5


class Carrier(Exception):
    def __init__(self, value):
        super().__init__()
        self.value = value


BOX = Box()


def reset() -> None:
    STORE[:] = 0.1, -0.2, 0.3
    LOG[:] = [1.0]
    TABLE.clear()
    BOX.v = Shared.n = Other.n = 0.5


def state() -> Any:
    return copy.deepcopy((STORE, LOG, TABLE, BOX.v, Shared.n, Other.n))


def array_bound_before_it_is_raised(x):
    a = np.ones(3)
    try:
        a = STORE
        TABLE["missing"]
    except KeyError:
        a[::-1] += a * x
    return STORE.mean() * x


def view_bound_before_it_is_raised(x):
    a = np.ones(3)
    try:
        a = STORE.reshape(-1)
        TABLE["missing"]
    except KeyError:
        a[0] = x
    return STORE.mean() * x


def list_bound_before_it_is_raised(x):
    a = [0.0]
    try:
        a = LOG
        TABLE["missing"]
    except KeyError:
        a[0] = x * x
    return LOG[0] * x


def method_bound_before_it_is_raised(x):
    put = None
    try:
        put = LOG.append
        TABLE["missing"]
    except KeyError:
        put(x * x)
    return LOG[-1] * x


def class_bound_before_it_is_raised(x):
    cls = None
    try:
        cls = Shared
        TABLE["missing"]
    except KeyError:
        cls.n = x * x
    return Shared.n * x


def class_that_is_one_of_two(x):
    cls = Shared if x > 1.0 else Other
    cls.n = x * x
    return Shared.n * Other.n * x


def list_that_an_exception_brings(x):
    try:
        raise ValueError(LOG)
    except ValueError as e:
        e.args[0].append(x * x)
    return LOG[-1] * x


def array_that_an_exception_brings(x):
    try:
        raise ValueError(STORE)
    except ValueError as e:
        e.args[0][0] = x * x
    return STORE[0] * x


def throws():
    raise Carrier(LOG)


def list_that_an_exception_of_a_callee_brings(x):
    try:
        throws()
    except Carrier as e:
        e.value.append(x * x)
    return LOG[-1] * x


def array_read_beside_an_object_that_is_written_to(x):
    BOX.v = x
    return np.sum(np.outer(STORE, 2)[1]) * x + BOX.v


def array_beside_one_that_is_written_to(x):
    BOX.v = x
    a = STORE * x
    pair = [a, STORE]
    a /= 2.0
    return np.sum(pair[0]) + np.sum(pair[1]) * BOX.v


def array_that_a_manager_writes_to(x):
    with replaced(STORE, 1, x * x):
        return STORE[1] * x


@pytest.mark.parametrize("f", [
    array_that_a_manager_writes_to, class_bound_before_it_is_raised, class_that_is_one_of_two,
    array_beside_one_that_is_written_to,
    array_bound_before_it_is_raised, view_bound_before_it_is_raised, list_bound_before_it_is_raised,
    method_bound_before_it_is_raised, list_that_an_exception_brings, array_that_an_exception_brings,
    list_that_an_exception_of_a_callee_brings, array_read_beside_an_object_that_is_written_to,
], ids=lambda f: f.__name__)  # fmt: skip
def test_state_is_as_after_a_plain_call(f: Callable[[Any], Any]) -> None:
    check_state(f, reset, state)
