"""Tuples of any length that are only looked into are lists; what is kept, returned or compared stays a tuple."""

from __future__ import annotations

from typing import Any

import pytest

from mooncake_py import value_and_pullback
from tests.derive import derivation_of, sites
from tests.zoo import unknown_lengths as zoo

XS = [0.4, 0.7, 1.2, 0.9]


def tuples_made(f: Any, *args: Any) -> int:
    """How many tuples the forward code makes of what is of no known length."""
    forward = derivation_of(f, *args).forward
    return sum(getattr(s.fn, "value", None) is tuple for b in forward.blocks for s in b.stmts)


@pytest.mark.parametrize(
    "f",
    [
        zoo.a_window_that_moves_on,
        zoo.tuples_that_grow_in_a_loop,
        zoo.a_tuple_of_pairs_that_grows,
        zoo.steps_of_a_tuple_over_its_items,
        zoo.slices_as_tuples,
    ],
)
def test_they_are_lists(f: Any) -> None:
    assert sites(f, XS) == 0
    assert tuples_made(f, XS) == 0


def test_what_is_returned_is_a_tuple() -> None:
    value, pullback = value_and_pullback(zoo.a_tuple_that_grows_and_is_kept, XS)
    assert type(value[1]) is tuple
    assert len(pullback((1.0, (0.5, 0.0, 0.0, 0.0)))[0]) == 4


def told_by_its_class(xs):
    h = tuple(xs)
    return h[0] * 2 if isinstance(h, tuple) and h == tuple(xs) else h[1]


def test_what_asks_for_a_tuple_gets_one() -> None:
    assert value_and_pullback(told_by_its_class, XS)[0] == 0.8
