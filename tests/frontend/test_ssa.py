"""The builder by itself: no bytecode."""

from __future__ import annotations

from mooncake_py.frontend.ssa import UNBOUND, SSABuilder
from mooncake_py.ir.nodes import NO_POS, Branch, CFGBlock, Const, ForNext, Fresh, Function, Goto, Return, Var
from mooncake_py.ir.verify import verify


def checked(builder: SSABuilder, *params: Var) -> tuple[CFGBlock, ...]:
    blocks = builder.finish()
    verify(Function("f", "here", params, (), blocks))
    return blocks


def test_diamond_joins_what_differs_only() -> None:
    fresh = Fresh()
    b = SSABuilder(fresh)
    x = fresh.var("x")
    then, orelse, end = b.new_block(), b.new_block(), b.new_block()
    b.write(b.entry, "same", x)
    b.write(b.entry, "unread", x)
    b.branch(b.entry, x, then, orelse)
    for block, value in ((then, 1), (orelse, 2)):
        b.seal(block)
        b.write(block, "differs", Const(value))
        b.write(block, "unread", Const(value))
        b.goto(block, end)
    b.seal(end)
    differs, same = b.read(end, "differs"), b.read(end, "same")
    assert isinstance(differs, Var)
    end.stmts.append([fresh.var(), Const(max), (differs, same), (), NO_POS])
    b.ret(end, same)
    blocks = checked(b, x)
    last = blocks[-1]
    assert last.params == (differs,)
    assert last.stmts[0].args == (differs, x)
    assert isinstance(last.term, Return) and last.term.value is x


def test_loop_keeps_invariants_out_of_parameters() -> None:
    fresh = Fresh()
    b = SSABuilder(fresh)
    it = fresh.var("it")
    header, body, done = b.new_block(), b.new_block(), b.new_block()
    b.write(b.entry, "sum", Const(0))
    b.write(b.entry, "k", Const(5))
    b.goto(b.entry, header)
    b.for_next(header, it, body, done)
    b.seal(body)
    b.seal(done)
    item = b.param(body)
    total = fresh.var()
    body.stmts.append([total, Const(sum), (b.read(body, "sum"), item, b.read(body, "k")), (), NO_POS])
    b.write(body, "sum", total)
    b.goto(body, header)
    b.seal(header)
    b.ret(done, b.read(done, "sum"))
    blocks = checked(b, it)
    assert [len(x.params) for x in blocks] == [0, 1, 1, 0]
    assert isinstance(blocks[1].term, ForNext)
    last = blocks[2].stmts[0].args[2]
    assert isinstance(last, Const) and last.value == 5


def test_checks_stay_where_unbound_reaches() -> None:
    fresh = Fresh()
    b = SSABuilder(fresh)
    c = fresh.var("c")
    then, orelse, end = b.new_block(), b.new_block(), b.new_block()
    b.branch(b.entry, c, then, orelse)
    for block in (then, orelse):
        b.seal(block)
        b.write(block, "bound", Const(block is then))
        b.goto(block, end)
    b.write(then, "maybe", c)
    b.write(orelse, "maybe", UNBOUND)
    b.check_bound(end, b.read(end, "bound"), "bound", NO_POS)
    out = b.check_bound(end, b.read(end, "maybe"), "maybe", NO_POS)
    b.ret(end, out)
    blocks = checked(b, c)
    assert [s.out for s in blocks[-1].stmts] == [out]


def test_chains_merge_and_empty_blocks_go() -> None:
    fresh = Fresh()
    b = SSABuilder(fresh)
    c = fresh.var("c")
    first, empty, end = b.new_block(), b.new_block(), b.new_block()
    b.goto(b.entry, first)
    b.branch(first, c, empty, end)
    b.goto(empty, end)
    b.ret(end, c)
    blocks = checked(b, c)
    assert isinstance(blocks[0].term, Branch)
    assert len(blocks) == 3, "two edges to one target stay apart"


def test_unreachable_blocks_are_dropped() -> None:
    fresh = Fresh()
    b = SSABuilder(fresh)
    lost, end = b.new_block(), b.new_block()
    b.write(b.entry, "x", Const(1))
    b.write(lost, "x", Const(2))
    b.goto(b.entry, end)
    b.goto(lost, end)
    b.ret(end, b.read(end, "x"))
    (block,) = checked(b)
    assert not block.params and isinstance(block.term, Return) and isinstance(block.term.value, Const)


def test_endless_loop() -> None:
    b = SSABuilder(Fresh())
    loop = b.new_block()
    b.goto(b.entry, loop)
    b.goto(loop, loop)
    blocks = checked(b)
    assert len(blocks) == 2 and isinstance(blocks[1].term, Goto)
