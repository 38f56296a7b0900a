"""Blocks that only ever follow one another made one.

Code in a `try` comes with a block for every statement that may raise, and every call that is taken in leaves a block
before and one after it. What walks blocks is faster for fewer; what they mean is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mooncake_py.frontend.ssa import can_raise
from mooncake_py.ir.nodes import (
    BlockId,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Function,
    Goto,
    Raise,
    Try,
    brings_value,
    edges,
    term_operands,
)


def merged(fn: Function) -> Function:
    """The function with as few blocks as say the same."""
    blocks = {b.id: b for b in fn.blocks}
    lead_past_empty(blocks)
    merge(blocks, may_raise)
    return fn if len(blocks) == len(fn.blocks) else replace(fn, blocks=tuple(blocks.values()))


def may_raise(b: CFGBlock) -> bool:
    """May an exception come out of the block, as far as is known without types?"""
    return isinstance(b.term, ForNext | Raise) or any(can_raise(s.fn) for s in b.stmts)


def lead_past_empty(blocks: dict[BlockId, CFGBlock]) -> None:
    """Lead exceptions past handlers that do nothing but go on to another one."""
    handlers = {b.term.handler.target for b in blocks.values() if type(b.term) is Try}
    empty = {i: edge for i in handlers if (edge := _onward(blocks[i])) is not None}
    if not empty:
        return
    params = {p for i in empty for p in blocks[i].params}
    for b in blocks.values():
        if b.id not in empty:  # a parameter that is used elsewhere has to stay
            params.difference_update(*(s.operands() for s in b.stmts), term_operands(b.term))
    empty = {i: edge for i, edge in empty.items() if params.issuperset(blocks[i].params)}
    while True:  # a block is entered by exceptions or by jumps, not by both
        jumped_to = {
            e.target for b in blocks.values() if b.id not in empty for e in edges(b.term) if not brings_value(b.term, e)
        }
        entered_by_both = [i for i, edge in empty.items() if i in jumped_to or edge.target in jumped_to]
        if not entered_by_both:
            break
        for i in entered_by_both:
            del empty[i]
    for b in list(blocks.values()):
        if type(b.term) is not Try:
            continue
        handler = b.term.handler
        while (onward := empty.get(handler.target)) is not None:
            given = dict(zip(blocks[handler.target].params[1:], handler.args, strict=True))
            handler = Edge(onward.target, tuple(given.get(v, v) for v in onward.args[1:]))  # type: ignore[arg-type]
        if handler is not b.term.handler:
            blocks[b.id] = CFGBlock(b.id, b.params, b.stmts, Try(b.term.body, handler, b.term.pos))
    for i in empty.keys() - {e.target for b in blocks.values() for e in edges(b.term)}:
        del blocks[i]


def _onward(b: CFGBlock) -> Edge | None:
    """Where a handler goes that only passes its exception on, as the first of what it gives."""
    if b.stmts or type(b.term) is not Goto or b.term.edge.target == b.id:
        return None
    exc, (first, *rest) = b.params[0], (*b.term.edge.args, None)
    return b.term.edge if first is exc and exc not in rest else None


def merge(blocks: dict[BlockId, CFGBlock], raises: Callable[[CFGBlock], bool]) -> None:
    """Append to blocks what only follows them: to a body what the same handler protects, or what cannot raise."""
    entered: dict[BlockId, int] = dict.fromkeys(blocks, 0)
    protected: dict[BlockId, Edge] = {}
    for b in blocks.values():
        for e in edges(b.term):
            entered[e.target] += 1
        if type(b.term) is Try:
            protected[b.term.body.target] = b.term.handler
    for i in list(blocks):
        b = blocks.get(i)  # type: ignore[assignment]
        if b is None:
            continue
        handler = protected.get(i)
        stmts, term = b.stmts, b.term
        while True:
            if type(term) is Goto and term.edge.target != i and entered[term.edge.target] == 1:
                c = blocks[term.edge.target]
                if c.params or (handler is not None and raises(c)):
                    break
            elif type(term) is Try and handler is not None and _same(handler, term.handler):
                c = blocks[term.body.target]
                entered[handler.target] -= 1
            else:
                break
            stmts, term = stmts + c.stmts, c.term
            del blocks[c.id]
        if term is not b.term:
            blocks[i] = CFGBlock(i, b.params, stmts, term)


def _same(a: Edge, b: Edge) -> bool:
    return a.target == b.target and all(
        x is y or (isinstance(x, Const) and isinstance(y, Const) and x.value is y.value)
        for x, y in zip(a.args, b.args, strict=True)
    )
