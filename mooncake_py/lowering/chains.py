"""Straight lines of blocks as one block: scheduling sees more at once, and a handler is named once.

In protected code the frontend ends a block at every statement that may raise. Lowered, such blocks may be one
again: their handler's arguments are the same and so defined before the first of them.
"""

from __future__ import annotations

from mooncake_py.ir import graph
from mooncake_py.ir.nodes import BlockId, CFGBlock, Const, Edge, Function, Goto, Operand

Substitution = dict[Operand, Operand]  # keys are variables; any operand may be looked up


def merged(fn: Function) -> tuple[Function, Substitution]:
    """The function with its chains merged, and what stands for the parameters that are gone."""
    by_id = graph.by_id(fn)
    order = graph.rpo(fn.blocks)
    incoming: dict[BlockId, int] = dict.fromkeys(order, 0)
    for i in order:
        for s in graph.successors(by_id[i]):
            incoming[s] += 1
    subst: Substitution = {}
    gone: set[BlockId] = set()
    out: list[CFGBlock] = []
    for i in order:
        if i in gone:
            continue
        b = last = by_id[i]
        stmts = b.stmts
        while type(last.term) is Goto:
            edge = last.term.edge
            c = by_id[edge.target]
            if incoming[c.id] != 1 or c.id == i or not _same(b.handler, c.handler, subst):
                break
            for q, a in zip(c.params, edge.args, strict=True):
                subst[q] = subst.get(a, a)
            stmts += c.stmts
            gone.add(c.id)
            last = c
        out.append(b if last is b else CFGBlock(b.id, b.params, stmts, last.term, b.handler))
    if not gone and len(out) == len(fn.blocks):
        return fn, subst
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(out), fn.kind, fn.firstline), subst


def _same(a: Edge | None, b: Edge | None, subst: Substitution) -> bool:
    if a is None or b is None:
        return a is b
    return a.target == b.target and all(
        _same_operand(subst.get(x, x), subst.get(y, y)) for x, y in zip(a.args, b.args, strict=True)
    )


def _same_operand(x: Operand, y: Operand) -> bool:
    return x is y or (type(x) is Const and type(y) is Const and x.value is y.value)
