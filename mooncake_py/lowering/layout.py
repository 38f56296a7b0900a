"""Layout: the order in which blocks are written."""

from __future__ import annotations

from collections.abc import Sequence

from mooncake_py.ir import graph
from mooncake_py.ir.nodes import BlockId, CFGBlock, Raise


def layout(order: list[CFGBlock], found: dict[BlockId, set[BlockId]]) -> list[BlockId]:
    """Depth-first order that keeps loops together: what leaves a loop is visited first, so it is placed last.

    Then the likely successor falls through: a handler or a block that raises is the unlikely one.
    """
    raising = {b.id for b in order if type(b.term) is Raise}
    around: dict[BlockId, list[set[BlockId]]] = {b.id: [] for b in order}
    for body in found.values():
        for i in body:
            around[i].append(body)

    def successors(b: CFGBlock) -> Sequence[BlockId]:
        last_first = graph.successors(b)[::-1]
        mine = around[b.id]
        if len(last_first) < 2 or not (mine or raising or b.handler is not None):
            return last_first
        ranked = [
            (-sum([s not in body for body in mine]), i > 0 or b.handler is None, s not in raising, i, s)
            for i, s in enumerate(last_first)
        ]
        return [r[-1] for r in sorted(ranked)]

    succs = {b.id: successors(b) for b in order}
    entry = order[0].id
    seen = {entry}
    post: list[BlockId] = []
    stack = [(entry, iter(succs[entry]))]
    while stack:
        node, it = stack[-1]
        for s in it:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(succs[s])))
                break
        else:
            stack.pop()
            post.append(node)
    post.reverse()
    return post
