"""Settings and tables from outside, as libraries have them: looked up, spread over arguments, they are only read.

Each function is looked at once as it is, and once with the write in it that must not be missed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from mooncake_py import value_and_grad
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.run import ARRAYS

MODELS = {"unit": {"a": 1.0, "b": 2.0}, "other": {"a": 3.0, "b": 1.5}}
AXES = {"xyz": (0, 1, 2), "zyx": (2, 1, 0)}
KEPT: list[Any] = []
SOLVER: Any = None


class Ellipse:
    models: ClassVar = {"unit": {"a": 1.0, "b": 2.0}}

    def __init__(self, a, b):
        self.a, self.b = a, b

    @classmethod
    def named(cls, name):
        return cls(cls.models[name]["a"], cls.models[name]["b"])

    @classmethod
    def named_and_noted(cls, name):
        cls.models[name]["a"] = 1.0
        return cls(cls.models[name]["a"], cls.models[name]["b"])


def solve(f, x, args=(), kwargs={}, steps=4):  # noqa: B006
    for _ in range(steps):
        x = x - 0.1 * f(x, *args, **kwargs)
    return x


def solve_and_count(f, x, args=(), kwargs={}, steps=4):  # noqa: B006
    kwargs["steps"] = steps
    return solve(f, x, args)


def solve_with_a_list(f, x, seen=[]):  # noqa: B006
    return f(x, *seen)


def solve_and_keep(f, x, seen=[]):  # noqa: B006
    def g(*args, **kwargs):
        kwargs["into"].append(1.0)
        return f(*args)

    return g(x, **{"into": seen})


class Scale:
    """One that is set up by a method, once."""

    UNITS = ("m", "km")
    made: ClassVar = []

    def __init__(self, k):
        self.set_up(k)

    def set_up(self, k):
        self.k = k
        self.made.append(k)

    @staticmethod
    def factor(unit):
        return 1.0 if unit == Scale.UNITS[0] else 1000.0

    def of(self, x, unit):
        return self.k * x * Scale.factor(unit)

    def twice(self, x):
        return type(self)(2.0).k * x

    def again(self, x):
        self.__init__(3.0)
        return self.k * x


SCALE = Scale(0.5)


def cubic(y, target):
    return y**3 - target


def gives_what_is_kept():
    return KEPT


def gives_a_number(x):
    return 2.0 * x


def by_a_solver(x):
    return solve(cubic, 1.0, (x,))


def by_a_solver_that_counts(x):
    return solve_and_count(cubic, 1.0, (x,))


def by_default_list(x):
    return solve_with_a_list(gives_a_number, x)


def by_default_list_that_grows(x):
    return solve_and_keep(gives_a_number, x)


def of_a_table(x):
    e = Ellipse.named("unit")
    return x * e.a + x * x * e.b


def of_a_table_that_is_set(x):
    e = Ellipse.named_and_noted("unit")
    return x * e.a


def by_two_keys(x):
    row = MODELS["unit"]
    return x * row["a"] * MODELS["other"]["b"]


def by_two_keys_and_set(x):
    row = MODELS["unit"]
    row["a"] = row["a"] * 1.0
    return x * row["a"]


def by_axes(x):
    i, j, k = AXES["zyx"]
    m = [x, 2.0, 3.0]
    m[i] = m[j] * x
    m[k] *= 2.0
    return m[0] * m[1] * m[2]


def every_row(x):
    for row in MODELS.values():
        x = x * row["a"]
    return x


def every_row_is_set(x):
    for row in MODELS.values():
        row["a"] = row["a"] * 1.0
    return x


def of_a_function_that_gives_numbers(x):
    y = gives_a_number(x)
    y *= 3.0
    return y + len(gives_what_is_kept())


def of_a_function_that_gives_what_is_kept(x):
    y = gives_what_is_kept()
    y += [1.0]
    return x


def imported_once(x):
    global SOLVER
    if SOLVER is None:
        from math import sqrt as SOLVER
    return SOLVER(x) * x


def by_a_method_of_an_object_that_was_set_up(x):
    return SCALE.of(x, "km") + Scale.factor("m")


def by_another_of_its_class(x):
    return SCALE.twice(x)


def by_one_that_is_made(x):
    return Scale(2.0).k * x


def by_one_that_is_set_up_again(x):
    return SCALE.again(x)


READS = [
    by_a_method_of_an_object_that_was_set_up,
    by_a_solver,
    by_default_list,
    of_a_table,
    by_two_keys,
    by_axes,
    every_row,
    of_a_function_that_gives_numbers,
]
WRITES = [
    by_another_of_its_class,
    by_one_that_is_made,
    by_one_that_is_set_up_again,
    by_a_solver_that_counts,
    by_default_list_that_grows,
    of_a_table_that_is_set,
    by_two_keys_and_set,
    every_row_is_set,
    of_a_function_that_gives_what_is_kept,
]


@pytest.mark.parametrize("f", READS, ids=lambda f: f.__name__)
def test_functions_that_only_read(f: Callable[[Any], Any]) -> None:
    assert not may_write_outside(f)
    value, slope = value_and_grad(f)(1.3)
    assert value == f(1.3)
    assert slope == pytest.approx((f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6, rel=1e-7)


@pytest.mark.parametrize("f", WRITES, ids=lambda f: f.__name__)
def test_functions_that_write(f: Callable[[Any], Any]) -> None:
    assert may_write_outside(f)
    value, slope = value_and_grad(f)(1.3)
    assert value == f(1.3)
    assert slope == pytest.approx((f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6, rel=1e-7)


def test_what_is_imported_when_it_is_needed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOLVER", None)
    assert may_write_outside(imported_once) < ARRAYS
    for _ in range(2):
        assert value_and_grad(imported_once)(4.0) == (8.0, 3.0)
        assert SOLVER is math.sqrt


def test_a_default_value_is_looked_at_again() -> None:
    held: dict[str, Any] = {}

    def scaled(x, by=held):
        return x * by.get("k", 2.0)

    def f(x):
        return scaled(x)

    assert value_and_grad(f)(3.0) == (6.0, 2.0)
    held["k"] = 5.0
    assert value_and_grad(f)(3.0) == (15.0, 5.0)


def test_a_table_that_holds_more_later_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        row = MODELS["unit"]["a"]
        if isinstance(row, list):
            row[0] = x
            return row[0] * x
        return row * x

    assert not may_write_outside(f)
    assert value_and_grad(f)(3.0) == (3.0, 1.0)
    monkeypatch.setitem(MODELS["unit"], "a", [0.0])
    assert may_write_outside(f)
    assert value_and_grad(f)(3.0) == (9.0, 6.0)
    assert MODELS["unit"]["a"] == [3.0]
