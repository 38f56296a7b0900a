"""Parameters of blocks that every edge gives the same value are that value.

Where a call was taken in, what it returns is such a parameter; what follows then looks through it.
"""

from __future__ import annotations

from dataclasses import replace

from mooncake_py.ir.mapping import map_function, map_terminator
from mooncake_py.ir.nodes import BlockId, CFGBlock, Edge, Function, Operand, Var, brings_value, edges


def without_single_params(fn: Function) -> Function:
    """The function with these parameters replaced by their values."""
    given: dict[BlockId, list[tuple[Operand, ...]]] = {}
    fixed: dict[BlockId, int] = {}
    for b in fn.blocks:
        for e in edges(b.term):
            given.setdefault(e.target, []).append(e.args)
            fixed[e.target] = int(brings_value(b.term, e))
        if b.handler is not None:
            given.setdefault(b.handler.target, []).append(b.handler.args)
            fixed[b.handler.target] = 1
    value: dict[Operand, Operand] = {}
    gone: dict[BlockId, set[int]] = {}
    more = True
    while more:
        more = False
        for b in fn.blocks:
            if b.id == fn.entry.id or b.id not in given:
                continue
            first = fixed[b.id]
            for i, p in enumerate(b.params[first:]):
                if p in value:
                    continue
                found = {_last(value, args[i]) for args in given[b.id]} - {p}
                if len(found) == 1:
                    value[p] = found.pop()
                    gone.setdefault(b.id, set()).add(i)
                    more = True
    if not value:
        return fn

    def edge(e: Edge) -> Edge:
        out = gone.get(e.target)
        return e if out is None else Edge(e.target, tuple(a for i, a in enumerate(e.args) if i not in out))

    blocks = tuple(
        CFGBlock(
            b.id,
            tuple(p for p in b.params if p not in value),
            b.stmts,
            map_terminator(b.term, lambda v: v, edge),
            None if b.handler is None else edge(b.handler),
        )
        for b in fn.blocks
    )
    return map_function(replace(fn, blocks=blocks), lambda v: _last(value, v))


def _last(value: dict[Operand, Operand], v: Operand) -> Operand:
    while isinstance(v, Var) and v in value:
        v = value[v]
    return v
