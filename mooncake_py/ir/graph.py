"""The control-flow graph of a function: order, dominators, loops, liveness.

Everything is keyed by block id and computed afresh from the immutable blocks; nothing is cached. Unreachable
blocks have no place in orders, dominators and loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    CFGBlock,
    ForNext,
    Function,
    Goto,
    Operand,
    Return,
    Var,
    edges,
    term_operands,
)


def by_id(fn: Function) -> dict[BlockId, CFGBlock]:
    return {b.id: b for b in fn.blocks}


def successors(block: CFGBlock) -> tuple[BlockId, ...]:
    """Where control may go from `block`, the handler last; a target named by two edges appears twice."""
    term = block.term
    kind = type(term)
    out: tuple[BlockId, ...]
    if kind is Goto:
        out = (term.edge.target,)  # type: ignore[union-attr]
    elif kind is Branch:
        out = (term.then.target, term.orelse.target)  # type: ignore[union-attr]
    elif kind is ForNext:
        out = (term.body.target, term.done.target)  # type: ignore[union-attr]
    elif kind is Return:
        out = ()
    else:
        out = tuple(e.target for e in edges(term))
    return out if block.handler is None else (*out, block.handler.target)


def predecessors(fn: Function) -> dict[BlockId, list[BlockId]]:
    """The blocks that jump to each block, handler edges included; a block that does so twice is listed twice."""
    preds: dict[BlockId, list[BlockId]] = {b.id: [] for b in fn.blocks}
    for b in fn.blocks:
        for s in successors(b):
            preds[s].append(b.id)
    return preds


def rpo(blocks: Sequence[CFGBlock]) -> list[BlockId]:
    """Reverse post-order from the first block; unreachable blocks are left out."""
    succs = {b.id: successors(b) for b in blocks}
    return _rpo(blocks[0].id, succs)


def _rpo(entry: BlockId, succs: dict[BlockId, tuple[BlockId, ...]]) -> list[BlockId]:
    seen = {entry}
    post: list[BlockId] = []
    stack = [(entry, iter(succs[entry][::-1]))]  # last successor first, so that the first one follows its block
    while stack:
        node, it = stack[-1]
        for s in it:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(succs[s][::-1])))
                break
        else:
            stack.pop()
            post.append(node)
    post.reverse()
    return post


def dominators(fn: Function) -> dict[BlockId, BlockId | None]:
    """The immediate dominator of every reachable block, None for the entry (Cooper, Harvey and Kennedy 2001)."""
    succs = {b.id: successors(b) for b in fn.blocks}
    order = _rpo(fn.entry.id, succs)
    index = {b: i for i, b in enumerate(order)}
    incoming: list[list[int]] = [[] for _ in order]
    for i, b in enumerate(order):
        for s in succs[b]:
            incoming[index[s]].append(i)
    idom = [-1] * len(order)
    idom[0] = 0
    changed = True
    while changed:
        changed = False
        for i in range(1, len(order)):
            new = -1
            for p in incoming[i]:
                if idom[p] < 0:
                    continue
                if new < 0:
                    new = p
                    continue
                while new != p:
                    if new > p:
                        new = idom[new]
                    else:
                        p = idom[p]
            if idom[i] != new:
                idom[i] = new
                changed = True
    return {b: (order[idom[i]] if i else None) for i, b in enumerate(order)}


def dominates(idom: dict[BlockId, BlockId | None], a: BlockId, b: BlockId) -> bool:
    """Is `a` on every path to `b`? (A block dominates itself.)"""
    node: BlockId | None = b
    while node is not None:
        if node == a:
            return True
        node = idom.get(node)
    return False


def spans(idom: dict[BlockId, BlockId | None]) -> dict[BlockId, range]:
    """Numbers for the blocks of a dominator tree: those of what a block dominates, its own first."""
    sizes = dict.fromkeys(idom, 1)
    for b in reversed(idom):
        up = idom[b]
        if up is not None:
            sizes[up] += sizes[b]
    out: dict[BlockId, range] = {}
    free: dict[BlockId | None, int] = {None: 0}
    for b, up in idom.items():
        first = free[up]
        free[up] = first + sizes[b]
        free[b] = first + 1
        out[b] = range(first, free[up])
    return out


def loops(fn: Function, idom: dict[BlockId, BlockId | None] | None = None) -> dict[BlockId, set[BlockId]]:
    """The natural loops: header -> its blocks, header included; loops that share a header are one.

    In reverse post-order of the headers, so an outer loop comes before those inside it. Pass the dominators where they
    are known already.
    """
    if idom is None:
        idom = dominators(fn)
    preds = predecessors(fn)  # the keys of idom are in reverse post-order
    index = {b: i for i, b in enumerate(idom)}
    found: dict[BlockId, set[BlockId]] = {}
    for header, position in index.items():
        tails = [p for p in preds[header] if index.get(p, -1) >= position and dominates(idom, header, p)]
        if not tails:
            continue
        body = {header}
        while tails:
            b = tails.pop()
            if b not in body:
                body.add(b)
                tails.extend(p for p in preds[b] if p in index)
        found[header] = body
    return found


def loop_depth(fn: Function, found: dict[BlockId, set[BlockId]] | None = None) -> dict[BlockId, int]:
    """In how many loops each block stands; pass the loops where they are known already."""
    depth = {b.id: 0 for b in fn.blocks}
    for body in (loops(fn) if found is None else found).values():
        for b in body:
            depth[b] += 1
    return depth


def innermost_loop(fn: Function, found: dict[BlockId, set[BlockId]] | None = None) -> dict[BlockId, BlockId | None]:
    """The header of the innermost loop of each block (a header is in its own loop), None outside all loops."""
    inner: dict[BlockId, BlockId | None] = {b.id: None for b in fn.blocks}
    for header, body in (loops(fn) if found is None else found).items():
        for b in body:  # outer loops come first, so inner ones overwrite them
            inner[b] = header
    return inner


def block_uses(block: CFGBlock) -> set[Var]:
    """Every variable a block reads: statements, terminator, edge arguments and handler arguments."""
    used = {x for s in block.stmts for x in s.operands() if type(x) is Var}
    used.update(x for x in term_operands(block.term) if type(x) is Var)
    if block.handler is not None:
        used.update(x for x in block.handler.args if type(x) is Var)
    return used


def liveness(fn: Function) -> tuple[dict[BlockId, set[Var]], dict[BlockId, set[Var]]]:
    """`(live_in, live_out)`: what is needed at each block's start and end.

    A block's parameters are defined by it, so not in its live_in; edge arguments are read by the terminator,
    so not in live_out unless a successor needs them by name. What the handler needs is in live_out too.
    """
    succs = {b.id: tuple(dict.fromkeys(successors(b))) for b in fn.blocks}
    order = _rpo(fn.entry.id, succs)
    blocks = by_id(fn)
    defs: dict[BlockId, set[Var]] = {}
    live_in: dict[BlockId, set[Var]] = {b.id: set() for b in fn.blocks}
    live_out: dict[BlockId, set[Var]] = {b.id: set() for b in fn.blocks}
    for i, b in blocks.items():
        own = {s.out for s in b.stmts}
        own.update(b.params)
        defs[i] = own
        live_in[i] = block_uses(b) - own
    order.reverse()
    changed = True
    while changed:
        changed = False
        for i in order:
            out = live_out[i]
            size = len(out)
            for s in succs[i]:
                out |= live_in[s]
            if len(out) != size:
                before = live_in[i]
                size = len(before)
                before |= out - defs[i]
                changed = changed or len(before) != size
    return live_in, live_out


def use_counts(fn: Function) -> dict[Var, int]:
    """How often each variable is read, edge and handler arguments included; those never read are left out."""
    read: list[Operand] = []
    for b in fn.blocks:
        for s in b.stmts:
            read += s.operands()
        read += term_operands(b.term)
        if b.handler is not None:
            read += b.handler.args
    return {x: n for x, n in Counter(read).items() if isinstance(x, Var)}
