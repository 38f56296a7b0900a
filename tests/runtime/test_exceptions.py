"""Exceptions that leave a derived function, and errors of the engine that pass the user's handlers."""

from __future__ import annotations

import contextlib
import math
import sys
import traceback
from typing import Any

import numpy as np
import pytest

from mooncake_py import MissingRule, UnsupportedError, grad, value_and_grad, value_and_pullback


def chained(x):
    try:
        raise KeyError("k")
    except KeyError as e:
        try:
            raise ValueError("v") from e
        except ValueError as v:
            x = x * (2.0 if v.__cause__ is e and v.__context__ is e else 100.0)
            x = x * (1.5 if sys.exc_info()[1] is v else 100.0)
        x = x * (1.5 if sys.exc_info()[1] is e else 100.0)
    return x * (x if sys.exc_info()[1] is None else 100.0)


def context_without_from(x):
    try:
        try:
            math.sqrt(-1.0)
        except ValueError:
            [][1]
    except IndexError as e:
        x = x * (3.0 if isinstance(e.__context__, ValueError) else 100.0)
    return x * x


def leaves(x: float, xs: list) -> float:
    try:
        xs.append(x)
        y = math.sqrt(x)
    except KeyError:
        y = x
    finally:
        xs.append(2.0)
    return y * x


def test_an_exception_leaves_with_its_type_and_the_users_line() -> None:
    xs: list[Any] = []
    with pytest.raises(ValueError) as e:
        value_and_pullback(leaves, -2.0, xs)
    assert xs == [-2.0, 2.0]  # as after a plain call
    line = leaves.__code__.co_firstlineno + 3
    assert any(f.filename == __file__ and f.lineno == line for f in traceback.extract_tb(e.value.__traceback__))
    assert not vars(e.value)


def test_the_rule_is_as_good_as_new_after_an_exception() -> None:
    g = value_and_grad(leaves)
    assert g(4.0, []) == (8.0, 3.0)
    with pytest.raises(ValueError):
        g(-2.0, [])
    assert g(4.0, []) == (8.0, 3.0)


def test_a_missing_rule_is_not_caught_by_the_user() -> None:
    def caught(x):
        try:
            return math.nextafter(x, 9.0)
        except Exception:
            return x

    def bare(x):
        try:
            return math.nextafter(x, 9.0)
        except:  # noqa: E722
            return x

    def replaced(x):
        try:
            try:
                return math.nextafter(x, 9.0)
            except Exception as e:
                raise ValueError from e
        except ValueError:
            return x

    def suppressed(x):
        with contextlib.suppress(Exception):
            return math.nextafter(x, 9.0)
        return x

    def ends_in_return(x):
        try:
            return math.nextafter(x, 9.0)
        finally:
            return x  # noqa: B012, SIM107

    for h in (caught, bare, replaced, suppressed, ends_in_return):
        with pytest.raises(MissingRule):
            grad(h)(2.0)


def test_cleaning_up_is_done_where_the_engine_refuses() -> None:
    seen = []

    class Manager:
        def __enter__(self):
            seen.append("in")

        def __exit__(self, *args):
            seen.append("out")
            return True

    def h(x):
        with Manager():
            return math.nextafter(x, 9.0)
        return x

    with pytest.raises(MissingRule):
        grad(h)(2.0)
    assert seen == ["in", "out"]


def test_a_name_bound_on_some_paths_only_is_still_checked() -> None:
    def h(x, k):
        with contextlib.suppress(ValueError):
            y = x * math.sqrt(k)
        y  # noqa: B018
        return x * 2.0

    assert grad(h)(1.5, 4.0) == 2.0
    with pytest.raises(UnboundLocalError, match="'y'"):
        grad(h)(1.5, -4.0)


def test_arguments_are_restored_where_a_callee_wrote_and_raised() -> None:
    def callee(a, k):
        a[0] = k * a[1]
        raise RuntimeError

    def h(a, k):
        with contextlib.suppress(RuntimeError):
            callee(a, k)
        return a[0] * a[1]

    a = np.array([1.0, 2.0])
    y, pullback = value_and_pullback(h, a, 3.0)
    assert y == 12.0 and a.tolist() == [6.0, 2.0]
    da, dk = pullback(1.0)
    assert a.tolist() == [1.0, 2.0] and da.tolist() == [0.0, 12.0] and dk == 4.0


def test_what_is_handled_and_what_came_before_it_are_as_in_python() -> None:
    assert value_and_grad(chained)(1.1) == (chained(1.1), pytest.approx(40.5 * 1.1))
    assert value_and_grad(context_without_from)(1.3) == (context_without_from(1.3), pytest.approx(18 * 1.3))
    assert sys.exc_info() == (None, None, None)


def brought(e: KeyError, n: int) -> Any:
    return brought(e, n - 1) if n else e.args[0]


def missing(x: float, key: Any) -> Any:
    try:
        return {}[x if key is None else key]
    except KeyError as e:
        return brought(e, 2) * x


def test_a_missing_key_that_has_a_derivative_is_not_read_back_by_other_functions() -> None:
    assert value_and_grad(missing)(0.5, 3) == (1.5, 3.0)
    with pytest.raises(UnsupportedError, match="use the key itself"):
        grad(missing)(0.5, None)
