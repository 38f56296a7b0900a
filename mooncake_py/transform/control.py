"""Which joins record the edge taken, and which loops count: those whose reverse has work to do."""

from __future__ import annotations

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Inst
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    Edge,
    ForNext,
    Fresh,
    Var,
)
from mooncake_py.switches import Options
from mooncake_py.transform.canonical import Canonical, Loop
from mooncake_py.transform.lanes import NONE, Lanes


class Control:
    """What of a function's control flow is recorded for the reverse run: the edges and trip counts that it asks for."""

    def __init__(self, inferred: Inferred, canonical: Canonical, lanes: Lanes, fresh: Fresh, options: Options):
        self.inferred, self.canonical, self.lanes = inferred, canonical, lanes
        types = inferred.types
        c = canonical
        self.active = {
            b.id
            for b in c.fn.blocks
            if any(self._may_reverse(s) for s in b.stmts) or any(lanes.tree(x) != NONE for x in b.params)
        }
        self.dead_loops = {h for h, loop in c.loops.items() if not (loop.body & self.active)}
        self.joins: dict[BlockId, list[tuple[BlockId, Edge]]] = {}
        self.edge_number: dict[BlockId, Var] = {}
        for b in c.order:
            preds = [(q, e) for q, e in c.preds[b] if q in c.blocks]
            if b in c.loops:
                records = not options.trip_counts and b not in self.dead_loops
            else:
                records = not self._skips(b)
            if len(preds) > 1 and b in c.returning and records:
                self.joins[b] = preds
                self.edge_number[b] = fresh.var()
                types[self.edge_number[b]] = Inst(int)
        self._made = {s.out: (s, b.id) for b in c.fn.blocks for s in b.stmts} if c.loops else {}
        self._counts = use_counts(c.fn) if c.loops else {}
        self.ranges: dict[BlockId, Var] = {}
        self.trips: dict[BlockId, Var] = {}
        for h, loop in c.loops.items():
            if h in self.dead_loops or h in self.joins:
                continue
            range_ = self._range_of(loop) if options.recompute else None
            if range_ is not None:
                self.ranges[h] = range_
            if range_ is None or any(source != h for source, _ in loop.landings):
                self.trips[h] = fresh.var()
                types[self.trips[h]] = Inst(int)

    def _may_reverse(self, s: Call) -> bool:
        call = self.inferred.calls.get(s.out)
        return call is not None and (
            call.kind in ("rule", "dynamic", "derived", "unwound") or self.lanes.tree(s.out) != NONE
        )

    def _skips(self, join: BlockId) -> bool:
        """Is there nothing to reverse between this join and the block that dominates it?"""
        c = self.canonical
        top = c.idom[join]
        if any(self.lanes.tree(x) != NONE for x in c.blocks[join].params):
            return False
        seen: set[BlockId] = set()
        work = [q for q, _ in c.preds[join]]
        while work:
            b = work.pop()
            if b == top or b in seen:
                continue
            seen.add(b)
            if b in self.active:
                return False
            work.extend(q for q, _ in c.preds[b])
        return c.loop_of[join] == c.loop_of[top] if top is not None else False

    def _range_of(self, loop: Loop) -> Var | None:
        """The range a `for` loop runs over, where its items come back by running it backwards."""
        c = self.canonical
        term = c.blocks[loop.header].term
        if not isinstance(term, ForNext) or c.blocks[loop.header].stmts or not isinstance(term.iterator, Var):
            return None
        d, home = self._made.get(term.iterator, (None, None))
        if d is None or home is None or not is_const(d.fn, iter) or self._counts.get(d.out) != 1:
            return None
        if c.loop_of[home] != c.loop_of[loop.preheader]:
            return None  # the loop is entered again, and goes on
        r = d.args[0]
        t = self.inferred.types.get(r) if isinstance(r, Var) else None
        return r if isinstance(r, Var) and isinstance(t, Inst) and t.cls is range else None
