"""What is written outside by methods of containers and arrays, and by partials, that hold on to what they write to."""

from __future__ import annotations

import functools
import operator
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import options, value_and_grad
from mooncake_py.infer.outside import may_write_outside

LIST, DICT, DEQUE, ARRAY = [1.0, 2.0], {"a": 1.0}, deque([1.0]), np.zeros(3)


class Box:
    def __init__(self) -> None:
        self.v = 1.0

    def put(self, v):
        self.v = v


BOX = Box()
PUT, AT, GET = functools.partial(list.__setitem__, LIST), LIST.__setitem__, functools.partial(list.__getitem__, LIST)
UPDATE, MORE = DICT.update, functools.partial(DICT.update, b=3.0)
APPEND, SET = functools.partial(deque.append, DEQUE), functools.partial(setattr, BOX, "v")
FILL, TOTAL, ITEM = ARRAY.fill, ARRAY.sum, functools.partial(np.ndarray.__setitem__, ARRAY)
ADD, COPY = functools.partial(np.add, out=ARRAY), functools.partial(np.copyto, ARRAY)
HOOKS = {"put": (PUT, BOX.put), "extend": [LIST.extend]}


def by_a_partial(x):
    PUT(0, x * x)
    return LIST[0] * GET(1) * GET(0)


def by_a_method(x):
    AT(1, x * x)
    return GET(1) * x


def by_keyword(x):
    UPDATE(a=x * x)
    MORE(c=x)
    return DICT["a"] * DICT["b"] * DICT["c"]


def at_an_end(x):
    APPEND(x * x)
    return DEQUE[-1] * x


def an_attribute(x):
    SET(x * x)
    return BOX.v * x


def an_array(x):
    ITEM(0, x * x)
    return ARRAY[0] * TOTAL()


def a_whole_array(x):
    FILL(x * x)
    ADD(ARRAY, x)
    y = ARRAY[0] * x
    COPY(x)
    return y * TOTAL()


def read_by_a_method(x):
    ARRAY[1] = x * x
    return TOTAL() * x


def out_of_a_table(x):
    for f in HOOKS["extend"]:
        f([x * x])
    put, box = HOOKS["put"]
    put(0, x)
    box(x * x)
    return LIST[-1] * LIST[0] * BOX.v


def default_value(x, put=ITEM, hooks=(PUT, BOX.put)):
    put(1, x * x)
    hooks[1](x)
    return ARRAY[1] * BOX.v


def wrapped(f, /, v):
    f(0, v)


WRAPPED = functools.partial(wrapped, PUT)


def default_value_by_name(x, *, put=WRAPPED):
    put(x * x)
    return LIST[0] * x


def state() -> Any:
    return repr((LIST, DICT, DEQUE, ARRAY, BOX.v))


def reset() -> None:
    LIST[:], BOX.v, ARRAY[:] = [1.0, 2.0], 1.0, 0.0
    for held in (DICT, DEQUE):
        held.clear()
    DICT["a"] = 1.0
    DEQUE.append(1.0)


WRITERS = [
    *(by_a_partial, by_a_method, by_keyword, at_an_end, an_attribute, an_array, a_whole_array, read_by_a_method),
    *(out_of_a_table, default_value, default_value_by_name),
]


@pytest.mark.parametrize("objects", (True, False))
@pytest.mark.parametrize("f", WRITERS, ids=lambda f: f.__name__)
def test_what_is_written_has_its_derivative_and_stays(f: Callable[[float], float], objects: bool) -> None:
    def plain(x: float) -> float:
        reset()
        return f(x)

    slope = (plain(1.3 + 1e-6) - plain(1.3 - 1e-6)) / 2e-6
    y = plain(1.3)
    after = state()
    with options(objects=objects):
        for _ in range(2):
            reset()
            value, gradient = value_and_grad(f)(1.3)
            assert value == y
            assert gradient == pytest.approx(slope, rel=1e-7)
            assert state() == after


READS = {"get": GET, "total": TOTAL, "solve": np.linalg.solve, "max": max, "first": operator.itemgetter(0)}


def only_reads(x, get=GET, solve=np.linalg.solve):
    return get(0) * x + READS["get"](1) + READS["total"]() * x


def test_what_only_reads_makes_no_run_wary() -> None:
    assert not may_write_outside(only_reads)
