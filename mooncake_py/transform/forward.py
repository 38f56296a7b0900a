"""The forward function: the blocks of the primal, with the forward fragments of their statements.

Joins get a parameter that says which edge was taken, loops one that counts.
"""

from __future__ import annotations

import operator

from mooncake_py.infer.types import Bot
from mooncake_py.ir import ops
from mooncake_py.ir.drafts import Draft, DraftEdge, draft_edges
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Goto,
    Operand,
    Raise,
    Return,
    Switch,
    Try,
    Var,
    brings_value,
    edges,
)
from mooncake_py.transform.adinfo import ADInfo, ADStmtInfo
from mooncake_py.transform.control import Control
from mooncake_py.transform.lanes import ANY, NULL, REF, Path, fdata_type, leaves
from mooncake_py.transform.stmts import make_ad_stmts


class ForwardAssembly:
    """The blocks of the forward function, each from `start` to `end`, with the plans of their statements."""

    def __init__(self, info: ADInfo, control: Control):
        self.info, self.control, self.canonical, self.lanes = info, control, info.canonical, info.lanes
        self.fresh, self.types, self.builder = info.fresh, info.types, info.forward
        self.start: dict[BlockId, Draft] = {}
        self.end: dict[BlockId, Draft] = {}
        self.plans: dict[BlockId, list[ADStmtInfo]] = {}
        self.lane_params: dict[BlockId, list[tuple[Var, Path]]] = {}
        self.lane_inputs: list[tuple[int, Path]] = []
        self.notes: list[tuple[int | None, str]] = []
        self.params = self._blocks()
        self.home = self._homes()

    def _blocks(self) -> list[Var]:
        c, info, F = self.canonical, self.info, self.builder
        params = [*c.fn.params, *c.fn.free]
        extra: list[Var] = []
        for i, v in enumerate(params):
            for path, kind in leaves(self.lanes.tree(v)):
                if kind in (REF, ANY):
                    lane = self.fresh.var()
                    self.types[lane] = fdata_type(self.types.get(v), path)
                    extra.append(lane)
                    self.lane_inputs.append((i, path))
                    info.lane[(v, path)] = lane
        entry = c.fn.entry.id
        for b in c.fn.blocks:
            draft_params = list(b.params)
            lanes = []
            for v in b.params:
                for path, kind in leaves(self.lanes.tree(v)):
                    if kind in (REF, ANY):
                        lane = self.fresh.var()
                        self.types[lane] = fdata_type(self.types.get(v), path)
                        info.lane[(v, path)] = lane
                        lanes.append((v, path))
                        draft_params.append(lane)
            self.lane_params[b.id] = lanes
            for control in (self.control.edge_number.get(b.id), self.control.trips.get(b.id)):
                if control is not None:
                    draft_params.append(control)
            self.start[b.id] = F.entry if b.id == entry else F.new_block(draft_params)
        for b in c.fn.blocks:
            F.block = self.start[b.id]
            if b.id in c.loops:
                F.block.idom = self.end[c.loops[b.id].preheader]
            else:
                F.block.sealed = True
            self.plans[b.id] = list(map(self._statement, b.stmts))
            for plan in self.plans[b.id]:
                if plan.note:
                    self.notes.append((plan.stmt.pos.line, plan.note))
            self.end[b.id] = F.block
            if b.id != c.exit:
                self._terminator(b)
        for draft in self.start.values():
            draft.sealed = True
        return params + extra

    def _statement(self, s: Call) -> ADStmtInfo:
        plan = make_ad_stmts(self.info, s)
        inferred = self.info.inferred
        if isinstance(inferred.types.get(s.out), Bot) and s.out in inferred.calls:
            self.builder.call(ops.not_reached)
        return plan

    def _terminator(self, b: CFGBlock) -> None:
        F, info = self.builder, self.info
        F.pos = b.term.pos
        term = b.term
        es = [self._edge(b, e, brings_value(term, e)) for e in edges(term)]
        self.end[b.id] = F.block
        match term:
            case Goto():
                F.block.term = Goto(es[0], F.pos)  # type: ignore[arg-type]
            case Branch(cond=cond):
                F.branch(info.operand(cond), es[0], es[1])
            case ForNext(iterator=it):
                F.for_next(info.operand(it), es[0], es[1])
            case Try():
                F.try_(es[0], es[1])
            case Switch(value=v, cases=cases):
                numbered = tuple((n, e) for (n, _), e in zip(cases, es, strict=False))
                F.block.term = Switch(info.operand(v), numbered, es[-1], F.pos)  # type: ignore[arg-type]
            case Raise(exc=exc, cause=cause, reraise=r):
                F.block.term = Raise(
                    None if exc is None else info.operand(exc), None if cause is None else info.operand(cause), r, F.pos
                )
            case Return(value=v):
                F.ret(info.operand(v))

    def _edge(self, b: CFGBlock, e: Edge, first: bool) -> DraftEdge:
        info, F = self.info, self.builder
        args: list[Operand] = [info.operand(a) for a in e.args]
        target = self.canonical.blocks[e.target]
        source = dict(zip(target.params[1:] if first else target.params, e.args, strict=True))
        for v, path in self.lane_params[e.target]:
            args.append(info.coerced_lane(source[v], path) if v in source else NULL)
        if e.target in self.control.edge_number:
            k = next(i for i, (_, x) in enumerate(self.control.joins[e.target]) if x is e)
            args.append(Const(k))
        if e.target in self.control.trips:
            n = self.control.trips[e.target]
            if b.id == self.canonical.loops[e.target].latch:
                args.append(F.call(operator.add, n, Const(1)))
            else:
                args.append(Const(0))
        return F.edge(self.start[e.target], args)

    def _homes(self) -> dict[Var, BlockId]:
        """The primal block that each value of the primal and of the forward code belongs to."""
        owner: dict[Draft, BlockId] = {}
        starts = set(self.start.values())
        drafts: dict[BlockId, list[Draft]] = {}
        for b in self.canonical.order:
            work = [self.start[b]]
            while work:
                d = work.pop()
                if d in owner or (d in starts and d is not self.start[b]):
                    continue
                owner[d] = b
                drafts.setdefault(b, []).append(d)
                if d is not self.end[b] and d.term is not None:
                    work.extend(e.target for e in draft_edges(d.term))
        for x in self.canonical.fn.blocks:
            if isinstance(x.term, Try):
                edge = self.end[x.id].term.handler  # type: ignore[union-attr]
                for d in drafts.get(x.term.body.target, ()):
                    d.handler = edge  # type: ignore[assignment]
        home: dict[Var, BlockId] = {}
        for d, b in owner.items():
            for v in d.params:
                home[v] = b
            for s in d.stmts:
                home[s.out] = b
        entry = self.canonical.fn.entry.id
        for v in (*self.canonical.fn.params, *self.canonical.fn.free):
            home[v] = entry
        for lane in self.info.lane.values():
            if isinstance(lane, Var) and lane not in home:
                home[lane] = entry
        for v, value in self.info.f.items():
            if v not in home:
                home[v] = home.get(value, entry) if isinstance(value, Var) else entry
        for primal in self.canonical.fn.blocks:
            for s in primal.stmts:
                home.setdefault(s.out, primal.id)
        return home
