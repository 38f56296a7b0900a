"""The lattice of abstract types."""

from __future__ import annotations

import gc
import itertools
import math
import weakref
from collections import deque

import numpy as np
import pytest

from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.base import forget, interned
from mooncake_py.infer.narrowing import only, without
from mooncake_py.infer.parts import activate
from mooncake_py.infer.types import (
    BOT,
    MOST_OPTIONS,
    NONE,
    Arr,
    Inst,
    Known,
    Lst,
    Obj,
    Real,
    T,
    Top,
    Tup,
    Union,
    join,
    kind_of,
    union,
    widen,
)

VALUES = [
    1, 2.5, 1j, True, "a", None, math.sin, np.sin, np, (1.0, 2), (1.0, 2.0), [1.0], np.float64(1), np.float32(1),
    np.ones(3), np.ones((2, 2)), np.ones(3, np.float32), np.arange(3), range(3), slice(1), {}, lambda x: x,
    deque([1.0]),
]  # fmt: skip
TYPES = [abstract(v, act) for v in VALUES for act in (False, True)] + [BOT, Top(), Top(True), Known(1.5), Real(True)]


@pytest.mark.parametrize("value, expected", [
    (1.5, Inst(float, True)),
    (3, Inst(int)),
    (True, Inst(bool)),
    (np.float32(1), Inst(np.float32, True)),
    (np.ones((2, 3)), Arr(np.dtype(float), 2, True)),
    (np.arange(3), Arr(np.dtype(int), 1, False)),
    ((1.0, "a"), Tup((Inst(float, True), Inst(str)))),
    (math.sin, Known(math.sin)),
    (None, Known(None)),
])  # fmt: skip
def test_abstract(value: object, expected: T) -> None:
    assert abstract(value, True) == expected


def test_signatures_compare_and_hash() -> None:
    for a, b in zip(TYPES, [abstract(v, act) for v in VALUES for act in (False, True)], strict=False):
        assert a == b and hash(a) == hash(b)
    assert Known(0.0) != Known(-0.0) and Known(1) != Known(True) and Known(1) != Known(1.0)


def test_join_is_a_join() -> None:
    for a, b in itertools.product(TYPES, TYPES):
        j = join(a, b)
        assert join(a, a) == a
        assert join(b, a) == j, (a, b)
        assert join(j, a) == j and join(j, b) == j, f"{j} is not above both {a} and {b}"
        assert j.active or not (a.active or b.active), f"activity is lost: {a}, {b}"


def test_join_keeps_what_both_are() -> None:
    f, i = Inst(float, True), Inst(int)
    assert join(f, i) == Real(True, frozenset({float, int}))
    assert join(f, Inst(np.float32)) == Real(True)
    assert join(f, Inst(float)) == f
    some = join(abstract(np.ones(3), True), abstract(np.ones((2, 2)), False))
    assert some == Arr(np.dtype(float), None, True, least=1) != Arr(np.dtype(float), None, True)
    assert join(some, abstract(np.array(1.5), False)) == Arr(np.dtype(float), None, True)
    assert join(f, Top()) == Top(True)
    assert join(Known(1.5), Known(2.5)) == Inst(float)


def test_types_that_are_told_apart_are_options() -> None:
    f, a = Inst(float, True), abstract(np.ones(3), True)
    t = join(join(Known(None), f), a)
    assert isinstance(t, Union) and t == join(a, join(f, Known(None))) and t.active
    assert join(t, Inst(int)) == union([Known(None), Real(True, frozenset({float, int})), a])
    assert only(t, kind_of(a)) == a and without(t, kind_of(a)) == union([f, Known(None)])
    assert without(union([f, Known(None)]), kind_of(f)) == Known(None)
    assert only(t, kind_of(Lst(f))) == BOT and only(Top(True), kind_of(f)) == Top(True)
    assert join(t, Top()) == Top(True)


def test_options_have_an_end() -> None:
    functions = [f for f in vars(math).values() if type(f) is type(math.sin)]
    several = [Known(f) for f in functions[: MOST_OPTIONS + 1]]
    assert isinstance(union(several[:MOST_OPTIONS]), Union) and union(several) == Top()
    t: T = Known(None)
    for _ in range(9):
        t = join(Known(None), Tup((Inst(float, True), t)))
    assert len(repr(t)) < 500


def test_widen_and_activate() -> None:
    assert widen(Known(2)) == Inst(int) and widen(Known((1, 2.0))) == Tup((Inst(int), Inst(float)))
    assert widen(Known(math.sin)) == Known(math.sin)
    assert activate(Inst(int)) == Inst(int) and activate(Inst(float)) == Inst(float, True)
    assert activate(abstract(np.arange(3), False)) == abstract(np.arange(3), False)
    assert not activate(activate(Inst(float)), False).active


def test_a_deque_is_no_list() -> None:
    t = abstract(deque([1.0, 2.0]), True)
    assert t == Lst(Inst(float, True), True, deque)
    assert join(t, abstract([1.0], True)) == union([t, Lst(Inst(float, True), True)])
    assert join(t, Lst(Inst(int), False, deque)) == Lst(Real(True, frozenset({float, int})), True, deque)
    assert activate(t, False) == Lst(Inst(float), False, deque)


def test_types_are_compared_by_what_they_hold() -> None:
    class A:
        pass

    def deep(t: T) -> T:
        return Lst(Tup((t, Obj.of(A, True, {"x": t}))), True)

    assert deep(Inst(float, True)) == deep(Inst(float, True))
    assert hash(deep(Inst(float, True))) == hash(deep(Inst(float, True)))
    assert deep(Inst(float, True)) != deep(Inst(float))
    assert Arr(None, 1) != Arr(np.dtype(float), 1)  # which NumPy takes for the same
    assert Inst(A) != Obj.of(A, False, {})
    assert union([Inst(float), NONE]) == union([NONE, Inst(float)])
    assert Known(1) != Known(True) and Known(0.0) != Known(-0.0)


def test_what_is_remembered_of_types_is_forgotten() -> None:
    class A:
        pass

    t = Obj.of(A, True, {"x": Inst(float, True)})
    assert interned(t) is interned(Obj.of(A, True, {"x": Inst(float, True)}))
    gone = weakref.ref(A)
    forget()
    del t, A
    gc.collect()
    assert gone() is None
