"""Loops in rules over what is known one by one leave no loop behind; others stay loops."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from mooncake_py import grad, rrule
from mooncake_py.ir.nodes import ForNext
from mooncake_py.registration import unregister
from mooncake_py.registry import perhaps_none
from mooncake_py.testing import check_grads
from tests.derive import derivation_of


def weighted(*xs):
    return sum((i + 1) * x for i, x in enumerate(xs))


def first_above(limit, *xs):
    return next((x for x in xs if x > limit), 0.0)


@pytest.fixture
def rules() -> Iterator[None]:
    @rrule(weighted)
    def _(*xs):
        total = 0.0
        for i, x in enumerate(xs):
            total += (i + 1) * x

        def pullback(dy):
            return tuple([dy * (i + 1) for i in range(len(xs))])

        return total, pullback

    @rrule(first_above)
    def _(limit, *xs):
        at = -1
        for i in range(len(xs)):
            if xs[i] > limit:
                at = i
                break

        def pullback(dy):
            return (None, *[dy if i == at else None for i in range(len(xs))])

        return 0.0 if at < 0 else xs[at], pullback

    yield
    unregister(weighted)
    unregister(first_above)


def loops(f: Any, *args: Any) -> int:
    """How many loops the derived code of f has."""
    derived = derivation_of(f, *args)
    return sum(isinstance(b.term, ForNext) for g in (derived.forward, derived.pullback) for b in g.blocks)


def test_loops_over_arguments_are_gone(rules: None) -> None:
    def f(x, y):
        return weighted(x, x * y, math.sin(y))

    assert loops(f, 0.3, 0.7) == 0
    check_grads(f, (0.3, 0.7))
    dx, dy = grad(f, argnums=(0, 1))(0.3, 0.7)
    assert dx == pytest.approx(1.0 + 2.0 * 0.7) and dy == pytest.approx(2.0 * 0.3 + 3.0 * math.cos(0.7))


def test_a_loop_that_is_left_early_is_right(rules: None) -> None:
    def f(x, y):
        return first_above(1.0, x, y * y, 3.0 * y)

    for x, y in ((0.3, 0.7), (1.5, 0.7), (0.2, 1.2), (0.1, 0.2)):
        assert f(x, y) == (x if x > 1 else y * y if y * y > 1 else 3 * y if 3 * y > 1 else 0.0)
        check_grads(f, (x, y))


def test_displays_of_lists_and_dicts_have_no_loops() -> None:
    def in_a_list(x, at):
        xs = [x * x, math.sin(x)]
        return xs[at]

    def in_a_dict(x, at):
        d = {"square": x * x, "sine": math.sin(x)}
        return d[at]

    assert loops(in_a_list, 0.4, 1) == loops(in_a_dict, 0.4, "sine") == 0
    assert grad(in_a_list)(0.4, 0) == 0.8 and grad(in_a_list)(0.4, 1) == math.cos(0.4)
    assert grad(in_a_dict)(0.4, "square") == 0.8 and grad(in_a_dict)(0.4, "sine") == math.cos(0.4)


def test_of_a_key_that_is_there_twice_the_last_value_counts() -> None:
    def f(x, y, k):
        d = {"a": x * 2.0, k: y * 3.0, "b": x * y}
        return d["a"] + 10.0 * d["b"] + len(d)

    for k in ("a", "b", "c"):
        check_grads(f, (0.4, 0.7, k))
    assert grad(f, argnums=(0, 1))(0.4, 0.7, "a") == pytest.approx((7.0, 7.0))
    assert grad(f, argnums=(0, 1))(0.4, 0.7, "b") == pytest.approx((2.0 + 7.0, 4.0))


def test_displays_longer_than_what_is_unrolled() -> None:
    source = (
        "def f(x, at):\n    xs = [" + ", ".join(f"x * {i}.5" for i in range(250)) + "]\n    return xs[at] + xs[-1]\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    assert grad(scope["f"])(2.0, 3) == 3.5 + 249.5


def test_perhaps_none_is_its_argument() -> None:
    assert perhaps_none(1.5) == 1.5 and perhaps_none(None) is None
