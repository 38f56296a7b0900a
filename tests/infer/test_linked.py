"""Types of containers that lead to others of their kind."""

from __future__ import annotations

import pytest

from mooncake_py import inspect, value_and_grad
from mooncake_py.infer.base import interned
from mooncake_py.infer.effects import Effect, after, may_be
from mooncake_py.infer.parts import activate, depth, is_plain
from mooncake_py.infer.recursive import opened
from mooncake_py.infer.types import (
    BOT,
    Inst,
    Known,
    LinkedDct,
    LinkedLst,
    LinkedTup,
    Lst,
    T,
    Top,
    Tup,
    Union,
    dict_of,
    free,
    join,
    union,
)
from mooncake_py.runtime.fits import fit_of
from tests.zoo import linked_containers as zoo

F, N = Inst(float, True), Known(None)
PAIR = "a", tuple, 2


def grown(first: T, more, times: int = 8) -> T:  # type: ignore[no-untyped-def]
    """The type of a variable that is `first`, and then again and again what `more` makes of it."""
    t = first
    for _ in range(times):
        t = interned(join(t, more(t)))
    return t


def only_linked(t: T) -> T:
    assert isinstance(t, Union)
    return next(x for x in t.options if isinstance(x, (LinkedTup, LinkedLst, LinkedDct)))


LIST = grown(N, lambda t: Tup((F, t)))


def test_a_list_of_pairs_has_an_end() -> None:
    node = only_linked(LIST)
    assert isinstance(node, LinkedTup) and node.items[0] == F
    assert node.items[1] == LIST and free(node) == frozenset()
    assert interned(Tup((F, LIST))) == node == interned(opened(node))
    assert join(LIST, Tup((F, Tup((F, N))))) == LIST
    assert depth(node) < 5 and node.active and not activate(node, False).active


def test_lists_and_dicts_do_so_too() -> None:
    lists = grown(N, lambda t: Lst(union([F, t]), True))
    assert isinstance(only_linked(lists), LinkedLst)
    dicts = grown(N, lambda t: dict_of(dict, Inst(str), [("v", F), ("n", t)], True))
    node = only_linked(dicts)
    assert isinstance(node, LinkedDct)
    assert node.value("v") == F and node.value("n") == dicts


def test_rows_of_a_matrix_stay_apart() -> None:
    matrix = Lst(Lst(F, True), True)
    assert interned(matrix) is matrix and join(matrix, matrix) is matrix
    pairs = grown(N, lambda t: Tup((Tup((F, F)), t)))
    node = only_linked(pairs)
    assert isinstance(node, LinkedTup) and node.items == (Tup((F, F)), pairs)


def test_what_is_of_two_kinds_in_turn_has_an_end() -> None:
    t = grown(F, lambda t: union([Tup((Inst(str), t, t)), Tup((Inst(str), t))]))
    assert isinstance(t, Union) and len(t.options) == 3
    for x in t.options:
        assert isinstance(x, Inst) or (isinstance(x, LinkedTup) and join(x.items[1], t) == t == join(t, x.items[1]))


def test_one_with_derivatives_somewhere_has_them_everywhere() -> None:
    node = only_linked(join(grown(N, lambda t: Tup((Inst(int), t))), Tup((F, N))))
    assert isinstance(node, LinkedTup)
    assert node.active and node.items[0].active and node.items[1].active


def test_what_cannot_be_told_apart_in_it_may_have_a_derivative() -> None:
    node = only_linked(grown(N, lambda t: Tup((F, t))))
    assert isinstance(node, LinkedTup)
    mixed = join(node, Tup((F, Top())))
    assert isinstance(mixed, Tup) and mixed.items[1] == Top(True)


def test_a_write_into_one_is_one_into_all_that_it_leads_to() -> None:
    lists = only_linked(grown(N, lambda t: Lst(union([F, t]), True)))
    assert isinstance(lists, LinkedLst)
    put = after(lists, Effect(lists, Inst(str), False, True))
    assert isinstance(put, LinkedLst) and isinstance(put.elem, Union)
    inner = next(x for x in put.elem.options if isinstance(x, Lst))
    assert inner == put and Inst(str) in put.elem.options
    assert may_be(Lst(F, True), lists) and not may_be(Tup((F,)), lists)


def test_a_list_that_is_put_into_itself() -> None:
    t: T = Lst(F, True)
    for _ in range(8):
        t = interned(join(t, after(t, Effect(t, t, True, True))))
    assert isinstance(t, LinkedLst) and t.elem == union([F, t])


def test_constants_may_be_keys() -> None:
    assert is_plain(only_linked(grown(N, lambda t: Tup((Inst(int), t)))))
    assert join(BOT, LIST) == LIST


def test_values_are_of_such_a_type() -> None:
    node = only_linked(LIST)
    fits = fit_of(node)
    assert fits is not None
    p = None
    for k in range(5000):
        p = (float(k), p)
    assert fits(p)
    assert not fits((1.0, (2.0, (3, None)))) and not fits((1.0, (2.0, None, None))) and not fits((1.0, [2.0, None]))


@pytest.mark.parametrize(
    "f",
    [
        zoo.list_of_pairs,
        zoo.list_of_dicts,
        zoo.list_with_pairs_in_it,
        zoo.list_turned_round,
        zoo.stack_that_shrinks,
        zoo.dicts_added_at_the_end,
        zoo.lists_added_at_the_end,
        zoo.ring_of_dicts,
    ],
    ids=lambda f: f.__name__,
)
def test_nothing_is_decided_late(f) -> None:  # type: ignore[no-untyped-def]
    assert "decided when it runs" not in str(inspect(f, zoo.XS))


def test_long_lists_take_no_recursion() -> None:
    xs = [0.1 * k for k in range(5000)]
    for f in (zoo.list_of_pairs, zoo.list_of_dicts, zoo.list_of_lists):
        value, gradient = value_and_grad(f)(xs)
        assert value == f(xs) and len(gradient) == len(xs)
