"""Parameters of blocks that every edge gives the same value are that value, and tuples are gone whose items are known.

Where a call was taken in, what it returns is such a parameter or tuple; what follows then looks through it.
"""

from __future__ import annotations

from dataclasses import replace

from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const, map_function, map_terminator
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    Edge,
    Function,
    Operand,
    Var,
    all_edges,
    brings_value,
    edges,
    own_operands,
)


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


def without_idle_tuples(fn: Function) -> Function:
    """The function without the tuples that nobody looks at any more."""
    made = {s.out: s for b in fn.blocks for s in b.stmts if is_const(s.fn, ops.build_tuple)}
    if not made:
        return fn
    unpacked = {s.out: s for b in fn.blocks for s in b.stmts if _surely_unpacks(s, made)}
    used: set[Operand] = {v for b in fn.blocks for s in b.stmts if s.out not in unpacked for v in s.operands()}
    for b in fn.blocks:
        used.update(own_operands(b.term), *[e.args for e in all_edges(b)])
    used.update(s.args[0] for s in unpacked.values() if s.out in used)
    idle = {s for s in (*unpacked.values(), *made.values()) if s.out not in used}
    return map_function(fn, lambda v: v, idle) if idle else fn


def _surely_unpacks(s: Call, made: dict[Var, Call]) -> bool:
    d = made.get(s.args[0]) if is_const(s.fn, ops.unpack) else None  # type: ignore[arg-type]
    return d is not None and isinstance(s.args[1], Const) and s.args[1].value == len(d.args)
