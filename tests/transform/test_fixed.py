"""Lists that nobody changes are tuples; what may be changed, handed on or gone through at length stays a list."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mooncake_py import value_and_pullback
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.testing import check_grads
from tests.derive import derivation_of


def lists(f: Any, *args: Any) -> int:
    """How many lists the forward code makes of items that are there."""
    forward = derivation_of(f, *args).forward
    return sum(is_const(s.fn, ops.build_list) and len(s.args) > 1 for b in forward.blocks for s in b.stmts)


def gone_through(x, y):
    total = 0.0
    for t in [x, x * y, math.sin(y)]:
        total += t * t
    return total


def looked_into(x, y):
    terms = [x, x * y, math.sin(y)]
    return terms[0] * terms[-1] + len(terms)


def counted(x, y):
    terms = [x, x * y, math.sin(y)]
    total = 0.0
    for i in range(len(terms)):
        total += terms[i] * x
    return total


def copied(x, y):
    terms = list((x, x * y))
    total = 1.0
    for t in terms:
        total *= t
    return total


@pytest.mark.parametrize("f", [gone_through, looked_into, counted, copied])
def test_they_are_tuples(f: Any) -> None:
    assert lists(f, 0.3, 0.7) == 0
    check_grads(f, (0.3, 0.7))


def changed(x, y):
    terms = [x, x * y]
    for t in terms:
        if len(terms) < 4:
            terms.append(t * y)
    return terms[0] * terms[3]


def given_to_one_that_keeps_it(x, y):
    kept = []
    terms = [x, x * y]
    kept.append(terms)
    total = 0.0
    for t in terms:
        total += t
        kept[0][1] = 2.0 * t
    return total


def returned(x, y):
    terms = [x, x * y]
    for t in terms:
        y += t
    return terms


@pytest.mark.parametrize("f", [changed, given_to_one_that_keeps_it, returned])
def test_they_stay_lists(f: Any) -> None:
    assert lists(f, 0.3, 0.7) > 0
    check_grads(f, (0.3, 0.7))


def test_what_is_returned_is_a_list() -> None:
    y, pullback = value_and_pullback(returned, 0.3, 0.7)
    assert type(y) is list
    assert pullback([1.0, 2.0]) == pytest.approx((1.0 + 2.0 * 0.7, 2.0 * 0.3))
