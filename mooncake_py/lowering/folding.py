"""Folding: which values wait on the evaluation stack for their consumer instead of going to a slot."""

from __future__ import annotations

from collections import Counter

from mooncake_py.ir.nodes import Operand, Var
from mooncake_py.lowering.native import Sel, V
from mooncake_py.lowering.plan import PBlock, Plan


def count_uses(plan: Plan) -> None:
    """Use counts. A parameter nobody reads gets no moves, and does not count as a reader of its arguments."""
    read: list[Operand | None] = []
    sources: dict[Var, list[Operand]] = {}
    jumps = [j for p in plan.blocks.values() for j in (p.jumps if p.handler is None else (*p.jumps, p.handler))]
    for p in plan.blocks.values():
        for sel in p.sels:
            read += sel.operands
            read += sel.reads
    for j in jumps:
        for q, a in j.moves:
            sources.setdefault(q, []).append(a)
        read.append(j.push)
    counts = plan.counts = {x: n for x, n in Counter(read).items() if type(x) is Var}
    get = counts.get
    live = [q for q in sources if q in counts]
    done = set(live)
    while live:
        for a in sources[live.pop()]:
            if type(a) is Var:
                counts[a] = get(a, 0) + 1
                if a in sources and a not in done:
                    done.add(a)
                    live.append(a)
    for j in jumps:
        if j.moves:
            j.moves = [m for m in j.moves if m[0] in counts]
        if j.first is not None and j.first not in counts:
            j.first = None


def order_moves(p: PBlock, counts: dict[Var, int]) -> None:
    """The moves of a Goto as operands of its terminator: what is there already, then what is computed, in order."""
    j = p.jumps[0]
    if not j.moves and j.push is None:
        return
    if len(j.moves) > 1:
        last = len(p.sels)
        place: dict[Operand, int] = {
            sel.out: i if counts.get(sel.out) == 1 else last for i, sel in enumerate(p.sels) if sel.out is not None
        }
        first = p.sels[0].out
        elsewhere = last if p.arrives and first is not None and counts.get(first) == 1 else -1
        j.moves.sort(key=lambda m: place.get(m[1], elsewhere))
    end = p.sels[-1]
    end.operands = tuple([a for _, a in j.moves]) if j.push is None else (j.push, *[a for _, a in j.moves])


def fold(p: PBlock, counts: dict[Var, int], folded: set[Var], wanted: bool = True) -> None:
    """Decide which values wait on the stack for their consumer.

    A value may wait when it is read once (or twice side by side), and everything computed between its
    definition and its consumer leaves the stack as it was, so that order of evaluation is kept, and is not
    itself a value that could wait for a later consumer. `start[k]` is the first statement of the tree that ends
    in k; statements inside that range that are not part of the tree run while values wait beneath them.
    """
    sels = p.sels
    if not wanted or len(sels) == 1:
        p.start, p.kids = list(range(len(sels))), [[] for _ in sels]
        return
    position: dict[Operand, int] = {}
    for i, sel in enumerate(sels):
        if sel.out is not None:
            position[sel.out] = i
        for z in sel.outs:
            if z is not None:
                position[z] = i
    consumer: dict[Operand, int] = {}
    for k, sel in enumerate(sels):
        for y in sel.operands:
            consumer[y] = k

    def waits(x: Var | None, k: int) -> bool:
        return x is not None and counts.get(x) == 1 and consumer.get(x, 0) > k

    start: list[int] = []
    kids: list[list[tuple[int, int]]] = []
    heights: list[int] = []  # how many statements wait for each other at most
    for k, sel in enumerate(sels):
        height = 0
        j = k - 1
        operands = sel.operands
        mine: list[tuple[int, int]] = []
        i = len(operands)
        while i > 0:
            i -= 1
            x = operands[i]
            if type(x) is not Var:
                continue
            d = position.get(x)
            if d is None or d > j or sels[d].kind in _STORED:
                continue
            n = counts[x]
            if n != 1 and not (n == 2 and i > 0 and operands[i - 1] is x):
                continue
            m, below = j, heights[d]
            while m > d and not waits(sels[m].out, k):
                below = max(below, heights[m])
                m = start[m] - 1
            if m != d or below >= _HIGHEST:
                continue
            if n == 2:
                i -= 1
            begin = start[d]
            if p.arrives and begin == 0 and not _comes_first(sel, sels[d], i):
                continue
            for y in operands[:i]:
                if type(y) is Var and position.get(y, -1) >= begin:
                    break
            else:
                height = max(height, below)
                mine.append((i, d))
                folded.add(x)
                j = begin - 1
        heights.append(height + 1)
        start.append(j + 1)
        mine.reverse()
        kids.append(mine)
    p.start, p.kids = start, kids


_HIGHEST = 50
"""Of a tree: those who write it go down into it by calls, of which Python allows no more than some hundreds."""


def _comes_first(sel: Sel, operand: Sel, i: int) -> bool:
    """May what has been on the stack since the block began become operand i of `sel`?"""
    if i > 0:
        return False
    if sel.kind != "call" or not V.NULL_FIRST:
        return True
    return operand.kind == "getattr" and sel.seq[0][0] != "CALL_FUNCTION_EX"


_STORED = frozenset(("unpack", "make_cell"))  # kinds whose results always go to slots
