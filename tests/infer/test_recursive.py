"""Types of objects that lead to objects of their own class."""

from __future__ import annotations

import numpy as np
import pytest

from mooncake_py import inspect, value_and_grad
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.narrowing import only
from mooncake_py.infer.protocol import written
from mooncake_py.infer.recursive import read, unfold
from mooncake_py.infer.types import Inst, Known, Lst, Obj, Rec, Union, join, union
from mooncake_py.runtime.fits import fit_of
from tests.zoo import grown as zoo_grown
from tests.zoo import linked as zoo

F = Inst(float, True)
NODE = Obj.of(zoo.Node, True, {"v": F, "nxt": union([Known(None), Rec(("a", zoo.Node))])}, {"v", "nxt"})


def test_the_type_says_once_what_all_of_them_hold() -> None:
    assert abstract(zoo.chain(1.0, 2.0, 3.0), True) == NODE
    n = zoo.chain(1.0, 2.0)
    n.nxt.nxt = n
    assert abstract(n, True) == Obj.of(zoo.Node, True, {"v": F, "nxt": Rec(("a", zoo.Node))}, {"v", "nxt"})
    n.nxt.v = np.ones(2)
    n.nxt.extra = 1.0
    t = abstract(n, True)
    assert isinstance(t, Obj) and t.field("v") == join(F, abstract(np.ones(2), True)) and t.sure == {"v", "nxt"}


def test_a_long_list_takes_no_recursion() -> None:
    head = zoo.chain(*[1.0] * 5000)
    assert abstract(head, True) == NODE
    assert fit_of(NODE)(head)  # type: ignore[misc]
    g = value_and_grad(zoo.folded)
    for _ in range(2):
        value, tangent = g(head)
        assert value == zoo.folded(head)
        while tangent.nxt is not None:
            tangent = tangent.nxt
        assert tangent.v == 1.0


def test_reading_puts_the_type_in_its_place() -> None:
    held = NODE.field("nxt")
    assert held is not None and unfold(held, NODE) == union([Known(None), NODE])
    assert unfold(Lst(Rec(("a", zoo.Node)), True), NODE) == Lst(NODE, True)


def test_writing_adds_what_the_other_holds() -> None:
    made = Obj.of(zoo.Node, True, {"v": Inst(int)})
    put = written(NODE, "nxt", made)
    assert put.field("nxt") == Rec(("a", zoo.Node)) and put.field("v") == Inst(int) and put.sure == frozenset()
    whole = join(NODE, put)
    assert isinstance(whole, Obj) and isinstance(whole.field("nxt"), Union)


@pytest.mark.parametrize("change", ["v", "nxt", "extra", "class"])
def test_every_one_of_them_is_looked_at(change: str) -> None:
    fits = fit_of(NODE)
    n = zoo.chain(1.0, 2.0, 3.0)
    assert fits is not None and fits(n)
    setattr(n.nxt.nxt, change, 1) if change != "class" else setattr(n.nxt, "nxt", zoo.Tree(1.0))
    assert not fits(n)


def test_lists_of_children() -> None:
    t = zoo.Branching(1.0, zoo.Branching(2.0), zoo.Branching(0.5, zoo.Branching(0.3)))
    fits = fit_of(abstract(t, True))
    assert fits is not None and fits(t)
    t.children[1].children[0].v = 3
    assert not fits(t)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (zoo.folded, (zoo.chain(1.0, 2.0),)),
        (zoo.list_changed, (zoo.chain(1.0, 2.0), 1.5)),
        (zoo.tree_by_a_stack, (zoo.some_tree(), 1.5)),
        (zoo.list_made_here, (1.5,)),
        (zoo.merged, (zoo.chain(1.0, 2.0), zoo.chain(1.5))),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_nothing_is_decided_late(f, args) -> None:  # type: ignore[no-untyped-def]
    assert "decided when it runs" not in str(inspect(f, *args))


def test_a_structure_of_another_shape_takes_the_same_rule() -> None:
    vg = value_and_grad(zoo.folded)
    for n in (1, 2, 5, 3):
        value, gradient = vg(zoo.chain(*map(float, range(1, n + 1))))
        assert value == zoo.folded(zoo.chain(*map(float, range(1, n + 1))))
        k = 0
        while gradient is not None:
            assert gradient.v == 0.5 ** (n - 1 - k)
            gradient, k = gradient.nxt, k + 1
        assert k == n


def test_what_is_read_is_the_type_that_such_an_object_has_on_its_own() -> None:
    even = zoo_grown.Even(3, 1.0)
    t = abstract(even, True)
    held = abstract(even.rest, True)
    assert isinstance(t, Obj) and isinstance(held, Obj)
    rest = t.field("rest")
    assert rest is not None
    assert only(read(rest, t), ("a", zoo_grown.Odd)) == held
