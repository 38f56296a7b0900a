"""What is settled of calls by the classes of their arguments holds for all calls with such arguments."""

from __future__ import annotations

import math
import operator
from typing import Any

import pytest

from mooncake_py import grad, rrule, scoped_rules
from mooncake_py.registry import load_packs
from mooncake_py.runtime.settled import is_ordinary, settled_for
from mooncake_py.tangents import zero_fdata

load_packs()


class Own:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return self.x * other.x

    def __eq__(self, other):
        return self.x == other.x

    __hash__ = None  # type: ignore[assignment]


def settled(f: Any, *args: Any) -> Any:
    return settled_for(f, args, tuple(map(type, args)))


class Index(Own):
    def __index__(self):
        return 0


def test_what_lists_and_dicts_keep_is_not_asked() -> None:
    assert settled(operator.setitem, [1.0], 0, Own(1.0)).writes
    assert settled(operator.setitem, {"a": 1.0}, "a", Own(1.0)).writes
    assert settled(list.append, [1.0], Own(1.0)).writes
    assert settled(operator.setitem, [1.0], Index(1.0), 2.0) is None
    assert settled(operator.setitem, {}, Index(1.0), 2.0) is None
    assert settled(operator.setitem, Own(1.0), 0, 2.0) is None
    assert settled(list.insert, [1.0], Index(1.0), 2.0) is None


def test_what_is_settled() -> None:
    assert settled(operator.add, 1.0, 2.0).numeric is not None
    assert settled(operator.eq, "a", "b").numeric is None
    assert settled(operator.getitem, [1.0], 0).rule is not None
    assert settled(operator.add, Own(1.0), 2.0) is None  # its class decides
    assert settled(getattr, Own(1.0), "x") is None
    assert settled([1.0].append, 2.0) is None  # made for one call
    assert settled(sum, [1.0]) is None  # it depends on the items, which rule that is
    assert settled(settled, 1.0) is None and is_ordinary(settled)


def test_whose_arguments_are_active() -> None:
    xs = [1.0]
    of_list = settled(operator.getitem, xs, 0)
    assert of_list.is_active((xs, 0), (zero_fdata(xs), None)) and not of_list.is_active((xs, 0), (None, None))
    of_tuple = settled(operator.getitem, (1, "s"), 0)
    assert of_tuple.is_active(((1.0, 2), 0), (None, None)) and not of_tuple.is_active(((1, 2), 0), (None, None))


def in_turns(x):
    """One statement that is given other functions and other classes each time."""
    total = 0.0
    for f, a, b in [
        (operator.mul, x, 2.0), (operator.add, 1, 2), (operator.add, "a", "b"), (operator.mul, [x], 2),
        (operator.add, (x,), (x, x)), (operator.eq, "a", "b"), (operator.add, Own(x), Own(3.0)), (math.atan2, x, 2.0),
        (operator.getitem, (x, 1), 0), (operator.getitem, {"a": x}, "a"), (operator.contains, [Own(1.0)], Own(1.0)),
        (max, x, 0.1), (operator.add, True, x),
    ] * 2:  # fmt: skip
        y = f(a, b)
        total = total + (y if isinstance(y, (int, float)) else len(y) * x if isinstance(y, str) else sum(y))
    return total


def test_one_statement_in_turns() -> None:
    e = 1e-6
    expected = (in_turns(0.7 + e) - in_turns(0.7 - e)) / (2 * e)
    for _ in range(3):
        assert grad(in_turns)(0.7) == pytest.approx(expected, rel=1e-6)


def by_name(fs, x):
    return fs["f"](x)


def ordinary(x):
    return x * x


def test_rules_of_users_that_come_later() -> None:
    assert grad(by_name, argnums=1)({"f": ordinary}, 3.0) == 6.0
    with scoped_rules():

        @rrule(ordinary)
        def rule(x):
            return x * x, lambda dy: 100.0 * dy

        assert not is_ordinary(ordinary)
        assert grad(by_name, argnums=1)({"f": ordinary}, 3.0) == 100.0

        @rrule(operator.add, types=(Own, Own))
        def add_rule(a, b):
            return a.x * b.x, lambda dy: (7.0 * dy, None)

    assert is_ordinary(ordinary)
    assert grad(by_name, argnums=1)({"f": ordinary}, 3.0) == 6.0
