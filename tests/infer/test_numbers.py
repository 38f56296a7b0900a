"""Functions of numbers alone: what is not searched for in them is not there."""

from __future__ import annotations

import contextlib
import math
import types
from typing import Any

import numpy as np
import pytest

from mooncake_py import MissingRule, UnsupportedError, build_rrule
from mooncake_py.infer.numbers import comes_to_nothing, computes_numbers
from mooncake_py.infer.outside import Walk, may_write_outside
from mooncake_py.infer.outside_arrays import writes_arrays
from mooncake_py.infer.outside_writes import Writes
from mooncake_py.run import NOTHING
from mooncake_py.transform import simplify
from tests.functions import SAMPLE, SHARE
from tests.harness import Case

FACTOR = 2.0
SEEN: list[Any] = []
ROW = np.ones(3)


def scalar(x, n):
    s = 0.0
    for i in range(n):
        if x > i and abs(s) < 10.0:
            s += math.sin(x) * FACTOR
    return max(s, float(n)) - min(x, 2)


def with_a_list(x):
    xs = [x, 2.0]
    return xs[0] * xs[1]


def with_a_tuple(x):
    a, b = x, x * 2.0
    a, b = b, a
    return (a, b)[0]


def with_a_string(x):
    return x * len(f"{2}x")


def square(x):
    return x * x


def with_a_function(x):
    return square(x) + x


def with_an_array(x):
    return x * ROW[0]


def by_keyword(x):
    return round(x, ndigits=3) * x


def asked_twice(x):
    it = iter(range(3))
    for i in it:
        x = x * next(it, i)
    return x


def first_seen(f: Any, *args: Any) -> bool:
    """Are there only numbers in the function, before anything is made simpler?"""
    seen: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simplify, "computes_numbers", lambda inferred: seen.append(computes_numbers(inferred)))
        build_rrule(types.FunctionType(f.__code__.replace(), *function_parts(f)), *args)
    return seen[0]


def test_numbers_alone() -> None:
    assert first_seen(scalar, 1.5, 3)
    assert first_seen(square, np.float64(1.5))


@pytest.mark.parametrize(
    "f", [with_a_list, with_a_tuple, with_a_string, with_a_function, with_an_array, by_keyword, asked_twice]
)
def test_more_than_numbers(f: Any) -> None:
    assert not first_seen(f, 1.5)


def puts_away(x):
    SEEN.append(x)
    return x


def through_a_name(x):
    globals()["FACTOR"] = x
    return x


def through_an_attribute(x):
    setattr(scalar, "last", x)  # noqa: B010
    return x


def assigns(x):
    global FACTOR
    FACTOR = x * 1.0
    return x


def raises(x):
    if x < 0:
        raise ValueError(x)
    return x


def code_of(f: Any) -> Any:
    walk = Walk(notes=False)
    walk.function(f)
    return walk.codes[f.__code__, id(f.__globals__)]


def test_what_comes_to_nothing() -> None:
    assert comes_to_nothing(code_of(scalar)) and may_write_outside(scalar) is NOTHING
    assert comes_to_nothing(code_of(lambda x: [x, x][0]))


@pytest.mark.parametrize("f", [puts_away, through_a_name, through_an_attribute, assigns, raises, with_a_function])
def test_what_may_come_to_something(f: Any) -> None:
    assert not comes_to_nothing(code_of(f))


def test_a_default_value_and_a_cell_may_be_anything() -> None:
    def of_cell(x):
        return x * len(SEEN) if held else x

    held = SEEN
    assert not comes_to_nothing(code_of(of_cell))
    assert not comes_to_nothing(code_of(lambda x, xs=SEEN: x))


@pytest.mark.parametrize("case", SHARE, ids=lambda case: case.name)
def test_the_walk_finds_nothing_where_nothing_is_come_to(case: Case) -> None:
    if type(case.fn) is not types.FunctionType:
        return
    walk = Walk(notes=False)
    walk.function(case.fn)
    if not walk.unseen and all(map(comes_to_nothing, walk.codes.values())):
        assert not Writes(walk).objects() and not writes_arrays(walk)


@pytest.mark.parametrize("case", SAMPLE[::3], ids=lambda case: case.name)
def test_nothing_is_simpler_where_all_are_numbers(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    simpler = simplify.simplify

    def both_ways(inferred: Any, *rest: Any) -> Any:
        if not computes_numbers(inferred):
            return simpler(inferred, *rest)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simplify, "computes_numbers", lambda inferred: False)
            assert simpler(inferred, *rest) is None
        return None

    if type(case.fn) is types.FunctionType:
        monkeypatch.setattr(simplify, "simplify", both_ways)
        with contextlib.suppress(MissingRule, UnsupportedError):
            build_rrule(types.FunctionType(case.fn.__code__.replace(), *function_parts(case.fn)), *case.fresh_args())


def function_parts(f: types.FunctionType) -> tuple[Any, ...]:
    """All that makes a function but its code."""
    return f.__globals__, f.__name__, f.__defaults__, f.__closure__
