"""What reading a variable finds, and the parameters that takes."""

from __future__ import annotations

from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import Const, Fresh, Var

NOTHING, ONE, TWO = Const("nothing"), Const(1.0), Const(2.0)
KEY = "k"


def sealed(b: Builder) -> Draft:
    block = b.new_block()
    block.sealed = True
    return block


def test_what_is_written_beside_the_way_takes_no_parameters() -> None:
    """A pullback of a chain of `if`, each with a `return`, behind a loop: the entry dominates each of the joins."""
    b = Builder(Fresh(), NOTHING)
    header, *joins = (b.new_block() for _ in range(20))
    beside, *routes = (sealed(b) for _ in range(20))
    b.switch(b.call(id, NOTHING), [b.edge(x) for x in (header, beside, *routes)])
    for route, join in zip(routes, joins, strict=True):
        b.block = route
        b.goto(join)
    b.block = beside
    assert b.read(KEY) is NOTHING
    b.write(KEY, ONE)  # it joins last, as it was the first in the forward code
    b.block = header
    b.read(KEY)
    out = sealed(b)
    b.branch(b.call(id, NOTHING), b.edge(header), b.edge(out))
    b.seal(header)
    b.block = out
    for join in joins:
        b.goto(join)
        join.sealed = True
        b.block = join
    assert b.read(KEY) is NOTHING
    assert not any(j.params for j in joins)
    end = b.new_block()
    b.goto(end)
    b.block = beside
    b.goto(end)
    end.sealed = True
    b.block = end
    assert b.read(KEY) is end.params[0]
    assert [e.args for _, e in end.preds] == [[NOTHING], [ONE]]


def test_what_a_loop_brings_back_is_found_where_it_was_not_written_yet() -> None:
    b = Builder(Fresh(), NOTHING)
    b.write(KEY, ONE)
    header, left, right, join, latch, end = b.new_block(), sealed(b), sealed(b), b.new_block(), sealed(b), sealed(b)
    b.goto(header)
    b.block = header
    b.branch(b.call(id, NOTHING), b.edge(left), b.edge(right))
    for side in (left, right):
        b.block = side
        b.goto(join)
    join.sealed = True
    b.block = join
    b.branch(b.call(id, NOTHING), b.edge(latch), b.edge(end))
    b.block = latch
    b.write(KEY, TWO)
    b.goto(header)
    b.seal(header)
    b.block = end
    found = b.read(KEY)
    assert isinstance(found, Var), "neither of the two alone"
    assert found is header.params[0]
    assert [e.args for _, e in header.preds] == [[ONE], [TWO]]


def test_what_is_written_between_a_block_of_a_loop_and_its_dominator_is_found_after_the_loop() -> None:
    b = Builder(Fresh(), NOTHING)
    header, top, left, right, join, end = b.new_block(), sealed(b), sealed(b), sealed(b), b.new_block(), sealed(b)
    b.goto(header)
    b.block = header
    b.goto(top)
    b.block = top
    b.branch(b.call(id, NOTHING), b.edge(left), b.edge(right))
    b.block = left
    b.write(KEY, TWO)
    for side in (left, right):
        b.block = side
        b.goto(join)
    join.sealed = True
    b.block = join
    b.branch(b.call(id, NOTHING), b.edge(header), b.edge(end))
    b.seal(header)
    b.block = end
    assert b.read(KEY) is join.params[0]
    assert [e.args for _, e in join.preds] == [[TWO], [header.params[0]]]
