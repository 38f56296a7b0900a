"""Loops over iterators that nothing simpler was found for."""

from __future__ import annotations

import operator

from mooncake_py.infer.inferred import Inferred
from mooncake_py.ir.mapping import fresh_beside
from mooncake_py.ir.nodes import Branch, Call, CFGBlock, Const, Edge, ForNext, Function, Goto
from mooncake_py.iterators import advance


def advance_iterators(inferred: Inferred) -> Function | None:
    """Loops over iterators of active values that nothing simpler was found for, as calls that are decided when they
    run; None where there is none."""
    fn = inferred.fn
    fresh = fresh_beside(fn)
    blocks: list[CFGBlock] = []
    for b in fn.blocks:
        term = b.term
        t = inferred.types.get(term.iterator) if isinstance(term, ForNext) else None  # type: ignore[arg-type]
        if t is None or not t.active or b.id not in inferred.reached:
            blocks.append(b)
            continue
        assert isinstance(term, ForNext)
        pair, done, item, read = fresh.var(), fresh.var(), fresh.var(), fresh.block()
        calls = (
            Call(pair, Const(advance), (term.iterator,), (), term.pos),
            Call(done, Const(operator.getitem), (pair, Const(0)), (), term.pos),
        )
        branch = Branch(done, term.done, Edge(read), term.pos)
        blocks.append(CFGBlock(b.id, b.params, (*b.stmts, *calls), branch, b.handler))
        reads = Call(item, Const(operator.getitem), (pair, Const(1)), (), term.pos)
        to = Goto(Edge(term.body.target, (item, *term.body.args)), term.pos)
        blocks.append(CFGBlock(read, (), (reads,), to))
    if len(blocks) == len(fn.blocks):
        return None
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)
