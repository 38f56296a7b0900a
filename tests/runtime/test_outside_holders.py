"""What is outside is written to through what holds it: tuples, partials, caches, references, views of dicts."""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_grad
from mooncake_py.errors import UnsupportedError


class Box:
    total = 0.0

    def __init__(self) -> None:
        self.v = 0.0

    @classmethod
    def add(cls, v):
        cls.total += v

    @classmethod
    def get(cls):
        return cls.total

    def first(self):
        return self.pair[0] + self.values[0]

    pair, values = (0.0, 1.0), np.zeros(1)


BOX, ROWS, BUFFER = Box(), [[0.0], [0.0]], np.zeros(3)
PAIR = (BOX, {"k": BOX}, [0.0])
FROZEN = frozenset([BOX])
OBJECTS = np.array([BOX, BOX], dtype=object)
PROXY = types.MappingProxyType({"l": [0.0]})
REFERENCE = weakref.ref(BOX)
MODULE = types.ModuleType("settings")
exec("scale = 1.0\ndef read():\n    return scale\n", vars(MODULE))
MODULE.values = None  # type: ignore[attr-defined]
DOUBLED = functools.partial(np.multiply, 2.0, out=BUFFER)


@functools.lru_cache(None)
def workspace(n):
    return np.zeros(n)


@functools.lru_cache(None)
def box():
    return Box()


def endless():
    kept = [0.0]
    while True:
        yield kept


ENDLESS = endless()


def object_in_a_tuple(x):
    PAIR[1]["k"].v = x * x
    return PAIR[0].v


def list_in_a_tuple(x):
    PAIR[2][0] = x * x
    return PAIR[2][0]


def object_in_a_frozenset(x):
    [setattr(b, "v", x * x) for b in FROZEN]
    return BOX.v


def object_in_an_array(x):
    OBJECTS[0].v = x * x
    return OBJECTS[1].v


def list_in_a_proxy(x):
    PROXY["l"][0] = x * x
    return PROXY["l"][0]


def object_by_a_reference(x):
    REFERENCE().v = x * x
    return REFERENCE().v


def array_in_a_partial(x):
    DOUBLED(x * x)
    return BUFFER[0] / 2.0


def array_in_a_cache(x):
    workspace(2)[0] = x * x
    return workspace(2)[0]


def object_in_a_cache(x):
    box().v = x * x
    return box().v


def list_of_a_generator(x):
    next(ENDLESS)[0] = x * x
    return next(ENDLESS)[0]


def written_by_a_function_of_the_library(x):
    operator.setitem(ROWS[0], 0, x * x)
    return ROWS[0][0]


def found_among_the_globals(x):
    globals()["ROWS"][0][0] = x * x
    return ROWS[0][0]


def class_written_and_asked_by_class_methods(x):
    Box.total = 0.0
    Box.add(x * x)
    return Box.get()


def class_given_a_tuple_and_an_array(x):
    Box.pair, Box.values = (x * x, 1.0), np.array([0.0])
    return Box().first()


def class_given_an_array(x):
    Box.pair, Box.values = (0.0, 1.0), np.array([x * x])
    return Box().first()


def module_given_an_array(x):
    MODULE.values = np.array([x * x])
    return MODULE.values[0]


FUNCTIONS = [
    object_in_a_tuple, list_in_a_tuple, object_in_a_frozenset, object_in_an_array, list_in_a_proxy,
    object_by_a_reference, array_in_a_partial, array_in_a_cache, object_in_a_cache, list_of_a_generator,
    written_by_a_function_of_the_library, found_among_the_globals, class_written_and_asked_by_class_methods,
    class_given_a_tuple_and_an_array, class_given_an_array, module_given_an_array,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
def test_what_is_read_back_has_its_derivative(f: Callable[[Any], Any]) -> None:
    assert value_and_grad(f)(3.0) == (9.0, 6.0)
    assert value_and_grad(f)(2.0) == (4.0, 4.0)


def test_a_variable_that_functions_of_its_module_read_is_refused() -> None:
    def f(x):
        MODULE.scale = x * x  # type: ignore[attr-defined]
        return MODULE.read()  # type: ignore[attr-defined]

    with pytest.raises(UnsupportedError, match="global variable 'scale' of a module"):
        value_and_grad(f)(3.0)


def test_a_function_that_holds_values_is_refused_in_a_class() -> None:
    def f(x):
        Box.made = lambda: x * x  # type: ignore[attr-defined]
        return Box.made()  # type: ignore[attr-defined]

    with pytest.raises(UnsupportedError, match="a function that holds values with derivatives as attribute 'made'"):
        value_and_grad(f)(3.0)
