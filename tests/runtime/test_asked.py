"""Whose special methods C code may call, so that what these change is looked for: of others nothing is looked at."""

from __future__ import annotations

import operator
from typing import Any

import pytest

from mooncake_py.registry import load_packs
from mooncake_py.runtime.asked import asked

load_packs()
LOG: list[Any] = []


class Node:
    """An object of a graph: adding makes another, which is no matter of sets."""

    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        LOG.append(other)
        return Node(self.x + other.x)


class Hashed(Node):
    def __hash__(self):
        LOG.append(self)
        return 1


class Compared(Node):
    __hash__ = object.__hash__

    def __eq__(self, other):
        LOG.append(other)
        return self is other


@pytest.mark.parametrize("f", [set.add, set.discard, set.remove])
def test_sets_compare_and_ask_nothing_else(f: Any) -> None:
    quiet, *loud = Node(1.0), Hashed(1.0), Compared(1.0)
    assert asked(f, (set(), quiet), {}) == []
    for x in loud:
        assert asked(f, (set(), x), {}) == [x]
        assert asked(f, (set(), (1, (x,))), {}) == [x]


def test_operators_may_ask_more() -> None:
    x = Node(1.0)
    assert asked(operator.add, (1.0, x), {}) == [x]


def test_what_a_dict_holds_by_its_keys_is_not_asked_for_them() -> None:
    quiet, loud = Node(1.0), Compared(1.0)
    assert asked(operator.contains, ({"k": loud}, "k"), {}) == []
    assert asked(operator.contains, ({"k": quiet}, loud), {}) == [loud]
    assert asked(operator.contains, ([loud], 1.0), {}) == [loud]
