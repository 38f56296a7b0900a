"""The pullback: the primal walked backwards, with the reverse fragments of its statements."""

from __future__ import annotations

import operator

from mooncake_py.infer.types import TOP, Inst
from mooncake_py.ir import ops
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import (
    BlockId,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Operand,
    Return,
    Var,
    brings_value,
)
from mooncake_py.transform.adinfo import ADInfo
from mooncake_py.transform.canonical import Loop
from mooncake_py.transform.control import Control
from mooncake_py.transform.forward import ForwardAssembly
from mooncake_py.transform.lanes import ANY, ARR, NONE, NULL, REF, VAL, Path, Tree, leaves
from mooncake_py.transform.pullback import PullbackBuilder


class PullbackAssembly:
    """The blocks of the pullback, from the reverse fragments of every statement, last one first."""

    def __init__(self, info: ADInfo, control: Control, forward: ForwardAssembly):
        self.info, self.control, self.forward = info, control, forward
        self.canonical, self.lanes, self.fresh, self.types = info.canonical, info.lanes, info.fresh, info.types
        self.home = forward.home
        self.item_names: dict[BlockId, Var] = {}
        self.left_to: dict[BlockId, dict[BlockId, Loop]] = {}  # landings: the loops that one leaves there
        for h, loop in self.canonical.loops.items():
            for _, w in loop.landings:
                self.left_to.setdefault(w, {})[h] = loop
        self.captures_in, self.dy_in = self.fresh.var("captures"), self.fresh.var("dy")
        self.builder = self._blocks()

    def _blocks(self) -> PullbackBuilder:
        c = self.canonical
        p = PullbackBuilder(
            self.fresh,
            c,
            self.lanes,
            self.info.lane,
            self.home.__getitem__,
            self._owned(),
            self.types,
            self.info.f,
            self.info.real,
        )
        for h in self.control.ranges:
            term = c.blocks[h].term
            assert isinstance(term, ForNext)
            p.items[c.blocks[term.body.target].params[0]] = h
        for x in c.order:
            if x in c.returning:
                p.start[x] = p.new_block()
                p.started[p.start[x]] = x
        if c.exit is None:
            p.ret(Const((None,) * (len(c.fn.params) + len(c.fn.free))))
            return p
        exit_term = c.blocks[c.exit].term
        assert isinstance(exit_term, Return)
        p.at = c.exit
        p.pos = exit_term.pos
        result_tree = self.lanes.tree(exit_term.value)
        if result_tree not in (NONE, REF):
            if not isinstance(result_tree, tuple) and result_tree not in (ANY, VAL):
                p.nonnull.add(self.dy_in)
                if isinstance(exit_term.value, Var):
                    self.types[self.dy_in] = self.types.get(exit_term.value, TOP)
            p.block = p.entry
            p.accumulate(exit_term.value, self.dy_in)
        p.goto(p.start[c.exit])
        p.start[c.exit].sealed = True
        latches = {loop.latch: h for h, loop in c.loops.items() if h not in self.control.dead_loops}
        for x in reversed([x for x in c.order if x in c.returning]):
            if x in latches:  # its header, which jumps here, comes later
                ways_in = [p.start[w] for _, w in c.loops[latches[x]].landings]
                if all(w.ended for w in ways_in):
                    p.start[x].idom = p.dominator(ways_in)
            elif not p.start[x].preds:
                continue  # skipped over: there is nothing to reverse in it
            else:
                p.start[x].sealed = True
            self._reverse_block(p, c.blocks[x])
            if x in c.loops and x not in self.control.dead_loops:
                p.seal(p.start[c.loops[x].latch])
        return p

    def _owned(self) -> set[Var]:
        """Arrays whose accumulator is a buffer of our own: read element by element, or in a loop inside theirs."""
        c = self.canonical
        out: set[Var] = set()
        home = self.home
        for b in c.fn.blocks:
            for s in b.stmts:
                call = self.info.inferred.calls.get(s.out)
                if call is None or call.kind != "rule":
                    continue
                for i, a in enumerate(call.args):
                    if isinstance(a, Var) and self.lanes.tree(a) == ARR:
                        inner = c.enclosing(c.loop_of[b.id])
                        if (call.rule is not None and i in call.rule.deferred) or len(inner) > len(
                            c.enclosing(c.loop_of[home[a]])
                        ):
                            out.add(a)
        return out

    def _reverse_block(self, p: PullbackBuilder, b: CFGBlock) -> None:
        c = self.canonical
        p.set_block(b.id, p.start[b.id])
        for plan in reversed(self.forward.plans[b.id]):
            if plan.rvs is not None:
                p.pos = plan.stmt.pos
                plan.rvs(p)
        p.pos = b.term.pos
        if b.id == c.fn.entry.id:
            self._reverse_exit(p)
            return
        taken: dict[tuple[Var, Path], Operand] = {}
        for v in b.params:
            tree = self.lanes.tree(v)
            for path, kind in leaves(tree) if tree != NONE else ():
                if kind != REF:
                    taken[(v, path)] = p.take(v, path)
        here = p.block
        loop = c.loops.get(b.id)
        if loop is not None:
            self._reverse_header(p, b, loop, taken)
            return
        entered = self.left_to.get(b.id)
        preds = c.preds[b.id]
        past: Draft | None = None  # where a loop with nothing to reverse is left out
        if entered:  # a landing: backwards it is where its loops begin
            outermost = max(entered, key=lambda h: len(c.loops[h].body))
            dead = self.control.dead_loops
            if outermost in dead:  # what the edge brings out of it was made before the loop
                past = p.start[c.loops[outermost].preheader]
            for h, x in entered.items():
                if (
                    outermost not in self.control.dead_loops
                    and h not in self.control.dead_loops
                    and h not in self.control.joins
                ):
                    self._start_loop(p, h, x, b.id)
        if len(preds) == 1:
            self._reverse_edge(p, preds[0], b, taken)
            p.goto(past or p.start[preds[0][0]])
        elif b.id in self.control.joins:
            number = p.forward_value(self.control.edge_number[b.id])
            routes = []
            for _ in preds:
                routes.append(p.new_block())
            here = p.block
            p.switch(number, [p.edge(r) for r in routes])
            for r, pred in zip(routes, preds, strict=True):
                r.sealed = True
                p.block = r
                self._reverse_edge(p, pred, b, taken)
                p.goto(past or p.start[pred[0]])
        elif past is not None:
            p.goto(past)
        else:
            top = c.idom[b.id]
            assert top is not None
            p.block = here
            p.goto(p.start[top])

    def _start_loop(self, p: PullbackBuilder, h: BlockId, loop: Loop, landing: BlockId) -> None:
        """The iterator that counts the loop's iterations backwards, made where the loop was left."""
        if h in self.control.ranges:
            r = p.forward_value(self.control.ranges[h])
            by_header = any(source == h and w == landing for source, w in loop.landings)
            if not by_header:
                r = p.call(operator.getitem, r, p.call(slice, p.forward_value(self.control.trips[h])))
            it = p.call(reversed, r)
        else:
            it = p.call(iter, p.call(range, p.forward_value(self.control.trips[h])))
        p.write(("back", h), it)

    def _reverse_header(
        self, p: PullbackBuilder, b: CFGBlock, loop: Loop, taken: dict[tuple[Var, Path], Operand]
    ) -> None:
        c = self.canonical
        if b.id in self.control.dead_loops:
            p.goto(p.start[loop.preheader])
            return
        if b.id in self.control.joins:
            number = p.forward_value(self.control.edge_number[b.id])
            routes = [p.new_block() for _ in self.control.joins[b.id]]
            p.switch(number, [p.edge(r) for r in routes])
            for r, pred in zip(routes, self.control.joins[b.id], strict=True):
                r.sealed = True
                p.block = r
                self._reverse_edge(p, pred, b, taken)
                p.goto(p.start[pred[0]])
            return
        it = p.read(("back", b.id))
        item = self.fresh.var()
        self.types[item] = Inst(int)
        again, leave = p.new_block([item]), p.new_block()
        p.for_next(it, p.edge(again), p.edge(leave))
        again.sealed = leave.sealed = True
        for draft, source in ((again, loop.latch), (leave, loop.preheader)):
            p.block = draft
            if draft is again and b.id in self.control.ranges:
                p.write(("item", b.id), item)
                self.item_names[b.id] = item
            pred = next((q, e) for q, e in c.preds[b.id] if q == source)
            self._reverse_edge(p, pred, b, taken)
            p.goto(p.start[source])

    def _reverse_edge(
        self, p: PullbackBuilder, pred: tuple[BlockId, Edge], b: CFGBlock, taken: dict[tuple[Var, Path], Operand]
    ) -> None:
        """What the parameters' cotangents add to the arguments of the edge that was taken."""
        if not taken:
            return
        source, e = pred
        term = self.canonical.blocks[source].term
        args = dict(zip(b.params[1:] if brings_value(term, e) else b.params, e.args, strict=True))
        for (v, path), t in taken.items():
            if v in args:
                p.accumulate_edge(args[v], t, path)

    def _reverse_exit(self, p: PullbackBuilder) -> None:
        """The end of the pullback: the cotangents of the arguments."""
        fn = self.canonical.fn
        out = [self._argument(p, v, self.lanes.tree(v), ()) for v in (*fn.params, *fn.free)]
        p.ret(p.call(ops.build_tuple, *out))

    def _argument(self, p: PullbackBuilder, v: Var, tree: Tree, path: Path) -> Operand:
        if isinstance(tree, tuple):
            return p.call(ops.build_tuple, *[self._argument(p, v, sub, (*path, i)) for i, sub in enumerate(tree)])
        return NULL if tree in (NONE, REF) else p.take(v, path)
