"""A predicate made of a type says what `abstract` says: of a value that fits it finds that type, or a lesser one."""

from __future__ import annotations

import itertools
from collections import OrderedDict, defaultdict, deque, namedtuple

import numpy as np
import pytest

from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.types import join
from mooncake_py.runtime.fits import fit_of


class Plain:
    def __init__(self, **held):
        vars(self).update(held)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


class Row(list):
    def __init__(self, items=(), **held):
        super().__init__(items)
        vars(self).update(held)


class Table(dict):
    def values(self):
        return [None]

    def items(self):
        return []


class Read(dict):
    def __getitem__(self, key):
        return "other"


class Counts(defaultdict):
    pass


class Window(deque):
    pass


class Ordered(OrderedDict):
    pass


INSIDE = Row([1.0])
INSIDE.append(INSIDE)
NAMESPACE = Table(a=1.0)
NAMESPACE.__dict__ = NAMESPACE
Pair = namedtuple("Pair", "x y")
CYCLE = Plain(v=1.0)
CYCLE.next = CYCLE

VALUES = [
    1.0,
    2,
    True,
    1j,
    "s",
    None,
    np.sin,
    np.float64(2.0),
    np.ones(2),
    np.ones((2, 2)),
    np.ones(2, np.float32),
    np.ones(2, int),
    (),
    (1.0,),
    (1.0, 2),
    (1.0, np.ones(2)),
    Pair(1.0, np.ones(2)),
    Pair(1.0, 2),
    [],
    [1.0],
    [1.0, 2.0],
    [1.0, 2],
    [1] * 100,
    [np.float64(1.0)] * 100,
    [np.ones(2)] * 100,
    [(1.0, np.ones(2))] * 100,
    [np.ones(2), np.ones(3)],
    [np.ones(2), np.ones((2, 2))],
    [[1.0], [2.0]],
    {},
    {"a": 1.0},
    {"a": 1.0, "b": 2.0},
    {"a": 1.0, "b": np.ones(2)},
    {"b": np.ones(2), "a": 1.0},
    {"a": 1.0, "c": np.ones(2)},
    {"a": {"w": np.ones(2), "b": 0.0}, "f": np.sin},
    {1: 2.0},
    {1: 2.0, "a": 3.0},
    {(0, 1): np.ones(2), (1, 1): np.ones((2, 2))},
    OrderedDict(a=1.0, b=np.ones(2)),
    defaultdict(list, a=[1.0]),
    defaultdict(dict),
    Plain(),
    Plain(a=1.0),
    Plain(a=1.0, b=[1.0]),
    Plain(a=Plain(a=1.0)),
    Slotted(1.0, 2.0),
    Slotted(1.0, np.ones(2)),
    CYCLE,
    deque([1.0]),
    deque([1.0, 2], 3),
    Row(),
    Row([1.0]),
    Row([1.0, 2.0]),
    Row([1.0, 2]),
    Row([1.0], a=1.0),
    Row([1.0], a=1.0, b=[2.0]),
    Row([np.ones(2)], a="s"),
    Row([Row([1.0]), Row([2.0])]),
    Row([[1.0], [2.0]]),
    INSIDE,
    Table(),
    Table(a=1.0),
    Table(a=1.0, b=2.0),
    Table(a=1.0, b=np.ones(2)),
    Table({1: 2.0}),
    NAMESPACE,
    Read(a=1.0),
    Read(a=1.0, b=np.ones(2)),
    Ordered(a=1.0),
    Ordered(a=1.0, b=2),
    Counts(float, a=1.0),
    Counts(int, a=1.0),
    Counts(float, a=1.0, b=2),
    Window([1.0]),
    Window([1.0], 3),
    {"a": Row([1.0]), "b": [1.0]},
    Plain(a=Row([1.0])),
    [1, 2.0, 3],
    [1, True],
    [(1, 2.0), (2.0, 1)],
    [[1, 2.0], [2.0]],
    [[1], [2.0, np.float64(1.0)]],
    {1: 2.0, 2: 3},
    {"x": [1, 2.0], "y": [3]},
    Plain(a=[1, 2.0], b=[2.0]),
]


@pytest.mark.parametrize("act", [True, False])
def test_predicates_say_what_types_say(act) -> None:
    told = 0
    for x, y in itertools.product(VALUES, VALUES):
        fits = fit_of(abstract(x, act))
        if fits is None:
            continue
        told += 1
        same = abstract(y, act) == abstract(x, act)
        assert not fits(y) or join(abstract(y, act), abstract(x, act)) == abstract(x, act), (x, y)
        assert fits(y) or not same or x is not y, (x, y)
    assert told > len(VALUES) ** 2 // 2


def test_a_join_of_several_types_is_not_told() -> None:
    mixed = [[1.0], []]
    fits = fit_of(abstract(mixed, True))
    assert fits is not None and fits([[1.0], [2.0]]) and not fits(mixed)


def test_objects_among_which_some_hold_nothing() -> None:
    """What one of them lacks the type of all has from the others: a rule was made anew at each call."""
    empty = {"xs": [], "rows": [], "by": {}, "at": {}}
    full = {"xs": [1.0], "rows": [[1.0], []], "by": {"a": 1.0}, "at": {(1, 2): 1.0}}
    for some in ({}, empty, full):
        x = Plain(**full, kids=[Plain(kids=[], **some), Plain(kids=[], **full)])
        fits = fit_of(abstract(x, True))
        assert fits is not None and fits(x)
        assert not fits(Plain(**full, kids=[Plain(kids=[], xs=["a"])]))


def test_long_dicts_are_asked() -> None:
    """Each call with one was derived anew."""
    x = {f"k{i}": 1.0 for i in range(100)}
    for t, longer in ((abstract(x, True), True), (abstract({"a": 1.0}, False), False)):
        fits = fit_of(t)
        assert fits is not None and fits({"b": 2.0}) and fits(x) is longer
