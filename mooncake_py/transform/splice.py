"""The body of a callee in the place of its call: blocks, names, and where each statement is from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const, map_terminator
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    Edge,
    Function,
    Goto,
    Operand,
    Pos,
    Return,
    Terminator,
    Try,
    Var,
)
from mooncake_py.transform.protect import protect_all

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})


def splice(
    fn: Function,
    block: CFGBlock,
    at: int,
    body: Function,
    args: tuple[Operand, ...],
    closure: Operand,
    cell_of: Any = None,
) -> Function:
    """`fn` with the call that is statement `at` of `block` replaced by the callee's blocks.

    `closure` is the tuple of the callee's cells, or what `cell_of` reads them from. A generator becomes the list of
    what it yields. What protects the call protects the callee's blocks and the rest of `block`.
    """
    fresh = fresh_beside(fn)
    call = block.stmts[at]
    head: list[Call] = list(block.stmts[:at])
    names: dict[Var, Operand] = dict(zip(body.params, args, strict=True))
    new: dict[Var, Var] = {}
    for i, cell in enumerate(body.free):
        names[cell] = new[cell] = fresh.var(cell.name)
        head.append(Call(new[cell], Const(cell_of or item_of_closure), (closure, Const(i)), (), call.pos))
    for b in body.blocks:
        for v in (*b.params, *(s.out for s in b.stmts)):
            names[v] = new[v] = fresh.var(v.name)
    ids: dict[BlockId, BlockId] = {b.id: fresh.block() for b in body.blocks}
    after = fresh.block()
    collected = fresh.var() if body.suspends else None
    if collected is not None:
        head.append(Call(collected, Const(ops.build_list), (), (), call.pos))

    def f(v: Operand) -> Operand:
        return names[v] if isinstance(v, Var) else v

    def edge(e: Edge) -> Edge:
        return Edge(ids[e.target], tuple(map(f, e.args)))

    def term(t: Terminator) -> Terminator:
        if isinstance(t, Return):
            return Goto(Edge(after, (f(t.value) if collected is None else collected,)), t.pos)
        moved = map_terminator(t, f, edge)
        return replace(moved, pos=pos(moved.pos))

    def pos(p: Pos) -> Pos:
        return within(body, p, call.pos)

    def stmt(s: Call) -> Call:
        args = tuple(map(f, s.args))
        if collected is not None and is_const(s.fn, ops.yield_):
            return Call(new[s.out], Const(ops.list_append), (collected, *args), (), pos(s.pos))
        return Call(new[s.out], f(s.fn), args, tuple((k, f(v)) for k, v in s.kwargs), pos(s.pos))

    first = body.blocks[0]
    inner = [
        CFGBlock(
            ids[b.id],
            tuple(new[p] for p in b.params),
            tuple(map(stmt, b.stmts)),
            term(b.term),
        )
        for b in body.blocks
    ]
    inner.append(CFGBlock(after, (call.out,), block.stmts[at + 1 :], block.term))
    handler = next(
        (b.term.handler for b in fn.blocks if isinstance(b.term, Try) and b.term.body.target == block.id), None
    )
    if handler is not None:
        inner = protect_all(inner, handler, fresh)
    out: list[CFGBlock] = []
    for b in fn.blocks:
        if b is not block:
            out.append(b)
            continue
        out.append(CFGBlock(b.id, b.params, tuple(head), Goto(Edge(ids[first.id]), call.pos), b.handler))
        out.extend(inner)
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(out), fn.kind, fn.firstline)


def within(body: Function, p: Pos, call: Pos) -> Pos:
    """A place in the body, as one in the function that takes it in where it is called.

    A comprehension is no function to its reader, nor to Pythons since 3.12. Code of another file knows its place.
    """
    if p is call or p.inner or p.deep > call.deep:
        return p
    if call.inner and body.filename == call.inner[-1][0] and body.name not in COMPREHENSIONS:
        return call.into(body.filename, body.name, p)
    return p.beside(call) if body.name in COMPREHENSIONS else p.taken_in(body.name, call)


def taken_in(body: Function, call: Pos) -> Function:
    """The body with such places."""
    blocks = tuple(
        CFGBlock(
            b.id,
            b.params,
            tuple(Call(s.out, s.fn, s.args, s.kwargs, within(body, s.pos, call)) for s in b.stmts),
            replace(b.term, pos=within(body, b.term.pos, call)),
            b.handler,
        )
        for b in body.blocks
    )
    return replace(body, blocks=blocks)


def item_of_closure(cells: tuple, i: int) -> object:
    raise AssertionError("cells of an inlined closure are known")
