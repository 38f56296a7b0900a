"""Forward and pullback functions, assembled from the fragments of every statement.

The forward function has the blocks of the primal; joins get a parameter that says which edge was taken, loops
one that counts. It returns `(value, fdata, captures)`. The pullback takes `(captures, cotangent)` and walks the
blocks backwards; the edge numbers and trip counts are forward values like any other, so what of them is
captured or pushed is decided where all comms are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mooncake_py.infer.interpret import CallInfo, Inferred
from mooncake_py.infer.types import Inst, T, Top, may_be_complex
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder, Draft, DraftEdge, draft_edges
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Fresh,
    Function,
    Goto,
    Operand,
    Pos,
    Raise,
    Return,
    Switch,
    Try,
    Var,
    brings_value,
    edges,
)
from mooncake_py.registry import is_pure, pair_of_shapes
from mooncake_py.switches import DEFAULT, Options
from mooncake_py.transform import helpers
from mooncake_py.transform.batch import batch_outer_products
from mooncake_py.transform.canonical import Canonical, Loop, canonicalise
from mooncake_py.transform.certain import fold
from mooncake_py.transform.keep import negatives, shapes_for_zeros
from mooncake_py.transform.lanes import ANY, ARR, NONE, NULL, REF, Lanes, Path, Tree, fdata_type, leaves
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.recompute import recompute
from mooncake_py.transform.shapes import fold_shapes
from mooncake_py.transform.stmts import ADInfo, ADStmtInfo, coerce_lane, make_ad_stmts
from mooncake_py.transform.sweep import finish_helpers, sweep
from mooncake_py.transform.tidy import tidy
from mooncake_py.transform.undo import SHADOWS, drop_unneeded
from mooncake_py.transform.useful import drop_useless
from mooncake_py.transform.views import note_passing_views

if TYPE_CHECKING:
    from mooncake_py.diagnostics.sites import Checks


@dataclass(frozen=True, slots=True)
class Kept:
    """A forward value that the reverse run names, and how it gets there.

    `how`: "captured" (once per call), "pushed" (once per iteration) or "recomputed" (not stored). `what` is the name
    the user gave it, or says what the engine made it for; `pos` is where it was made. `part`: not the value itself is
    kept but this of it: "fdata", or an attribute.
    """

    how: str
    what: str | None
    pos: Pos
    type: T
    part: str = ""
    place: tuple[int, ...] = ()  # in the captures: the number, and for pushed ones what it is of how many at a time


@dataclass(frozen=True, slots=True)
class Planned:
    """What was decided for every statement of the canonical primal, for those who want to look."""

    canonical: Canonical
    lanes: Lanes
    plans: dict[BlockId, list[ADStmtInfo]]


Observer = Callable[[str, Any], None]


def ignore(stage: str, result: Any) -> None:
    """The observer that does not look."""


@dataclass(slots=True)
class Derived:
    """The result of a derivation: two functions in IR and the trees of what goes in and comes out."""

    forward: Function
    pullback: Function
    arg_trees: tuple[Tree, ...]
    lane_args: tuple[tuple[int, Path], ...]  # which fdata the forward takes after the primals
    result_tree: Tree
    in_place: bool  # does it change something that the pullback undoes?
    dynamic: bool  # does it make calls, decided when they run, which may do so?
    written_args: tuple[int, ...]  # parameters whose objects the function itself writes to
    touched_args: tuple[int, ...]  # parameters, cells and globals whose objects it, or what it calls, may write to
    touched_cells: tuple[int, ...]
    touched_globals: tuple[str, ...]
    notes: tuple[tuple[int | None, str], ...]
    stored: tuple[str, ...]
    kept: tuple[Kept, ...]
    always_zero: tuple[int, ...]  # parameters whose cotangent is zero whatever the run


def derive(
    inferred: Inferred,
    dynamic_site: Callable[[CallInfo, Call, tuple[bool, ...], bool], Any],
    static_site: Callable[[CallInfo], Any],
    options: Options = DEFAULT,
    observe: Observer = ignore,
    checks: Checks | None = None,
) -> Derived:
    """The forward and pullback functions of an inferred primal; the sites are what its calls go through.

    With `checks`, those of debug mode.
    """
    return _Assembly(inferred, dynamic_site, static_site, options, checks).run(observe)


class _Assembly:
    def __init__(
        self,
        inferred: Inferred,
        dynamic_site: Callable[[CallInfo, Call, tuple[bool, ...], bool], Any],
        static_site: Callable[[CallInfo], Any],
        options: Options,
        checks: Checks | None = None,
    ):
        self.options, self.checks = options, checks
        fn = inferred.fn
        first = 1 + max(
            [v.id for v in (*fn.params, *fn.free)]
            + [s.out.id for b in fn.blocks for s in b.stmts]
            + [p.id for b in fn.blocks for p in b.params],
            default=0,
        )
        self.fresh = Fresh(first, 1 + max(b.id for b in fn.blocks))
        self.types: dict[Var, T] = inferred.types
        self.canonical: Canonical = canonicalise(inferred, self.fresh)
        self.inferred = inferred
        self.lanes = Lanes(self.types, inferred.memory)
        self._note_new_params()
        note_passing_views(self.canonical, inferred, self.lanes)
        drop_useless(self.canonical, inferred, self.lanes)
        self.forward = Builder(self.fresh, lambda key: NULL)
        self.info = ADInfo(
            inferred,
            self.canonical,
            self.fresh,
            self.lanes,
            self.forward,
            self.types,
            dynamic_site,
            static_site,
            options.specialise,
        )
        self.info.checks = checks
        self.info.real = not any(map(may_be_complex, self.types.values()))
        self.start: dict[BlockId, Draft] = {}
        self.end: dict[BlockId, Draft] = {}
        self.plans: dict[BlockId, list[ADStmtInfo]] = {}
        self.lane_params: dict[BlockId, list[tuple[Var, Path]]] = {}
        self.edge_number: dict[BlockId, Var] = {}
        self.trips: dict[BlockId, Var] = {}
        self.notes: list[tuple[int | None, str]] = []

    def _note_new_params(self) -> None:
        """Parameters that canonicalisation added share memory with what flows into them."""
        memory = self.inferred.memory
        for b in self.canonical.fn.blocks:
            for e in edges(b.term):
                params = self.canonical.blocks[e.target].params
                args = e.args
                for p, a in zip(params[len(params) - len(args) :], args, strict=True):
                    memory.join(p, a)
        memory.close()

    def run(self, observe: Observer) -> Derived:
        c = self.canonical
        fn = c.fn
        self._plan_control()
        params = self._forward_blocks()
        observe("planned", Planned(c, self.lanes, self.plans))
        p = self._pullback_blocks()
        fold(p)
        fold_shapes(p, self.forward, self.types, self.info.f)
        live = sweep(p, set(), everything=True)
        if self._drop_undoing(p):
            live = sweep(p, set(), everything=True)
        self._comms_into_pullback(p, live)
        pullback_params = [self.captures_in, self.dy_in]
        self._comms_into_forward(p, live)
        subst = self.forward.simplify_params()
        self.forward.apply(subst)
        sweep(self.forward, self.info.removable, everything=False)
        finish_helpers(p)
        tidy(p, self.types, self.options.tidy)
        if self.options.tidy:
            batch_outer_products(p, self.types, self._may_change(p))
        forward = self.forward.finish(fn.name, fn.filename, params, fn.firstline)
        pullback = p.finish(fn.name, fn.filename, pullback_params, fn.firstline)
        exit_ = c.blocks[c.exit].term if c.exit is not None else None
        result_tree = self.lanes.tree(exit_.value) if isinstance(exit_, Return) else NONE
        inputs = (*fn.params, *fn.free)
        return Derived(
            forward,
            pullback,
            tuple(map(self.lanes.tree, inputs)),
            tuple(self.lane_inputs),
            result_tree,
            self.info.in_place,
            self.info.dynamic,
            self._written_args(),
            *self._touched(),
            tuple(self.notes),
            tuple(v.name or repr(v) for v in p.comms.captures)
            + tuple((v.name or repr(v)) + "[]" for st in p.comms.stacks.values() for v in st),
            self._kept(p),
            self._always_zero(p, result_tree),
        )

    def _always_zero(self, p: PullbackBuilder, result_tree: Tree) -> tuple[int, ...]:
        params = self.canonical.fn.params
        able = [i for i, v in enumerate(params) if self.lanes.tree(v) != NONE]
        if result_tree == NONE:
            return tuple(able)
        made = {s.out: s for b in p.blocks for s in b.stmts}
        out = next(b.term.value for b in p.blocks if isinstance(b.term, Return))
        if not isinstance(out, Var) or out not in made:
            return ()

        def zero(v: Operand) -> bool:
            if isinstance(v, Const):
                return v.value is None or v.value == 0.0
            s = made.get(v)
            return (
                s is not None and isinstance(s.fn, Const) and s.fn.value is ops.build_tuple and all(map(zero, s.args))
            )

        by_value = [i for i in able if all(kind != REF for _, kind in leaves(self.lanes.tree(params[i])))]
        return tuple(i for i in by_value if zero(made[out].args[i]))

    def _kept(self, p: PullbackBuilder) -> tuple[Kept, ...]:
        made = {s.out: s for d in self.forward.blocks for s in d.stmts}
        what = {v: "which way was taken" for v in self.edge_number.values()}
        what |= {v: "how many iterations there were" for v in self.trips.values()}
        what |= {v: "the range of the loop" for v in self.ranges.values() if v.name is None}

        def one(how: str, v: Var, *place: int) -> Kept:
            home = self.canonical.blocks.get(self.home[v]) if v in self.home else None
            s = made.get(v)
            pos = s.pos if s is not None else (home or self.canonical.fn.entry).term.pos
            t = self.types.get(v, Top())
            part = "" if s is None or not isinstance(s.fn, Const) or s.fn.value is not getattr else str(s.args[1].value)  # type: ignore[union-attr]
            if isinstance(t, Inst) and t.cls in SHADOWS:
                part = "fdata"
            elif s is not None and isinstance(s.fn, Const) and s.fn.value in pair_of_shapes:
                part = "shapes of the operands"
            return Kept(how, what.get(v, v.name), pos, t, part, place)

        n = len(p.comms.captures)
        return (
            *(one("captured", v, i) for i, v in enumerate(p.comms.captures)),
            *(
                one("pushed", v, n + k, i, len(stack))
                for k, stack in enumerate(p.comms.stacks.values())
                for i, v in enumerate(stack)
            ),
            *(one("recomputed", v) for v in self.again),
        )

    def _written_args(self) -> tuple[int, ...]:
        memory = self.inferred.memory
        classes = {memory.find(v) for v in memory.written}
        return tuple(i for i, v in enumerate(self.canonical.fn.params) if memory.find(v) in classes)

    def _touched(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[str, ...]]:
        fn, memory = self.canonical.fn, self.inferred.memory
        written = set(memory.written)
        for b in fn.blocks:
            for s in b.stmts:
                call = self.inferred.calls.get(s.out)
                if call is not None and call.kind == "dynamic":
                    written.update(v for v in (*s.operands(), *call.args) if isinstance(v, Var))
        classes = {memory.find(v) for v in written if memory.identity(v)}
        names = {
            str(s.args[0].value)  # type: ignore[union-attr]
            for b in fn.blocks
            for s in b.stmts
            if isinstance(s.fn, Const) and s.fn.value is ops.load_global and memory.find(s.out) in classes
        }
        return (
            tuple(i for i, v in enumerate(fn.params) if memory.find(v) in classes),
            tuple(i for i, v in enumerate(fn.free) if memory.find(v) in classes),
            tuple(sorted(names)),
        )

    def _drop_undoing(self, p: PullbackBuilder) -> bool:
        fn, calls = self.canonical.fn, self.inferred.calls
        outside: set[Var] = {*fn.params, *fn.free}
        for b in fn.blocks:
            for s in b.stmts:
                call = calls.get(s.out)
                if call is None or call.kind == "dynamic" or call.target is ops.load_global:
                    outside.update(v for v in (s.out, *s.operands()) if isinstance(v, Var))
                elif call.kind == "plain" and call.rule is None and not is_pure(call.target):
                    outside.add(s.out)
        primal_of = {f: v for v, f in self.info.f.items() if isinstance(f, Var)}
        for b in fn.blocks:
            for v in (*b.params, *(s.out for s in b.stmts)):
                primal_of.setdefault(v, v)
        for v in (*fn.params, *fn.free):
            primal_of.setdefault(v, v)
        defs = {s.out: s for d in self.forward.blocks for s in d.stmts}
        return drop_unneeded(p, self.inferred.memory, primal_of, defs, self.types, outside)

    # -- control flow, planned --

    def _plan_control(self) -> None:
        """Which joins record the edge taken and which loops count: those whose reverse has work to do."""
        c = self.canonical
        active = {
            b.id
            for b in c.fn.blocks
            if any(self._may_reverse(s) for s in b.stmts) or any(self.lanes.tree(x) != NONE for x in b.params)
        }
        self.dead_loops = {h for h, loop in c.loops.items() if not (loop.body & active)}
        self.active = active
        self.joins: dict[BlockId, list[tuple[BlockId, Edge]]] = {}
        for b in c.order:
            preds = [(q, e) for q, e in c.preds[b] if q in c.blocks]
            if b in c.loops:
                records = not self.options.trip_counts and b not in self.dead_loops
            else:
                records = not self._skips(b)
            if len(preds) > 1 and b in c.returning and records:
                self.joins[b] = preds
                self.edge_number[b] = self.fresh.var()
                self.types[self.edge_number[b]] = Inst(int)
        self.ranges: dict[BlockId, Var] = {}
        self.item_names: dict[BlockId, Var] = {}
        self.again: list[Var] = []
        for h, loop in c.loops.items():
            if h in self.dead_loops or h in self.joins:
                continue
            range_ = self._range_of(loop) if self.options.recompute else None
            if range_ is not None:
                self.ranges[h] = range_
            if range_ is None or any(source != h for source, _ in loop.landings):
                self.trips[h] = self.fresh.var()
                self.types[self.trips[h]] = Inst(int)

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
        d = self.inferred_defs().get(term.iterator)
        if d is None or not isinstance(d.fn, Const) or d.fn.value is not iter:
            return None
        r = d.args[0]
        t = self.types.get(r) if isinstance(r, Var) else None
        return r if isinstance(r, Var) and isinstance(t, Inst) and t.cls is range else None

    def inferred_defs(self) -> dict[Var, Call]:
        if not hasattr(self, "_defs"):
            self._defs = {s.out: s for b in self.canonical.fn.blocks for s in b.stmts}
        return self._defs

    # -- forward --

    def _forward_blocks(self) -> list[Var]:
        c, info, F = self.canonical, self.info, self.forward
        self.lane_inputs: list[tuple[int, Path]] = []
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
            for control in (self.edge_number.get(b.id), self.trips.get(b.id)):
                if control is not None:
                    draft_params.append(control)
            self.start[b.id] = F.entry if b.id == entry else F.new_block(draft_params)
        for b in c.fn.blocks:
            F.block = self.start[b.id]
            if b.id in c.loops:
                F.block.idom = self.end[c.loops[b.id].preheader]
            else:
                F.block.sealed = True
            self.plans[b.id] = [make_ad_stmts(info, s) for s in b.stmts]
            for plan in self.plans[b.id]:
                if plan.note:
                    self.notes.append((plan.stmt.pos.line, plan.note))
            self.end[b.id] = F.block
            if b.id != c.exit:
                self._forward_terminator(b)
        for draft in self.start.values():
            draft.sealed = True
        return params + extra

    def _forward_terminator(self, b: CFGBlock) -> None:
        F, info = self.forward, self.info
        F.pos = b.term.pos
        term = b.term
        es = [self._forward_edge(b, e, brings_value(term, e)) for e in edges(term)]
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

    def _forward_edge(self, b: CFGBlock, e: Edge, first: bool) -> DraftEdge:
        info, F = self.info, self.forward
        args: list[Operand] = [info.operand(a) for a in e.args]
        target = self.canonical.blocks[e.target]
        source = dict(zip(target.params[1:] if first else target.params, e.args, strict=True))
        for v, path in self.lane_params[e.target]:
            args.append(coerce_lane(info, source[v], path) if v in source else NULL)
        if e.target in self.edge_number:
            k = next(i for i, (_, x) in enumerate(self.joins[e.target]) if x is e)
            args.append(Const(k))
        if e.target in self.trips:
            n = self.trips[e.target]
            if b.id == self.canonical.loops[e.target].latch:
                args.append(F.call(operator.add, n, Const(1)))
            else:
                args.append(Const(0))
        return F.edge(self.start[e.target], args)

    # -- pullback --

    def _home_of(self) -> dict[Var, BlockId]:
        """The primal block that each value of the forward code belongs to."""
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
        return home

    def _pullback_blocks(self) -> PullbackBuilder:
        c = self.canonical
        home = self._home_of()
        for v, f in self.info.f.items():
            if v not in home:
                home[v] = home.get(f, c.fn.entry.id) if isinstance(f, Var) else c.fn.entry.id
        for b in c.fn.blocks:
            for s in b.stmts:
                home.setdefault(s.out, b.id)
        self.home = home
        p = PullbackBuilder(
            self.fresh,
            c,
            self.lanes,
            self.info.lane,
            home.__getitem__,
            self._owned(),
            self.types,
            self.info.f,
            self.info.real,
        )
        self.captures_in, self.dy_in = self.fresh.var("captures"), self.fresh.var("dy")
        for h, r in self.ranges.items():
            term = c.blocks[h].term
            assert isinstance(term, ForNext)
            p.items[c.blocks[term.body.target].params[0]] = h
            del r
        for x in c.order:
            if x in c.returning:
                p.start[x] = p.new_block()
        if c.exit is None:
            p.ret(Const((None,) * (len(c.fn.params) + len(c.fn.free))))
            return p
        exit_term = c.blocks[c.exit].term
        assert isinstance(exit_term, Return)
        p.at = c.exit
        p.pos = exit_term.pos
        result_tree = self.lanes.tree(exit_term.value)
        if result_tree not in (NONE, REF):
            if not isinstance(result_tree, tuple) and result_tree != ANY:
                p.nonnull.add(self.dy_in)
                if isinstance(exit_term.value, Var):
                    self.types[self.dy_in] = self.types.get(exit_term.value, Top())
            p.block = p.entry
            p.accumulate(exit_term.value, self.dy_in)
        p.goto(p.start[c.exit])
        p.start[c.exit].sealed = True
        latches = {loop.latch: h for h, loop in c.loops.items() if h not in self.dead_loops}
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
            if x in c.loops and x not in self.dead_loops:
                p.seal(p.start[c.loops[x].latch])
        return p

    def _owned(self) -> set[Var]:
        """Arrays whose accumulator is a buffer of our own: read element by element, or in a loop inside theirs."""
        c = self.canonical
        out: set[Var] = set()
        home = self.home
        for b in c.fn.blocks:
            for s in b.stmts:
                call = self.inferred.calls.get(s.out)
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
        for plan in reversed(self.plans[b.id]):
            if plan.rvs is not None:
                p.pos = plan.stmt.pos
                plan.rvs(p)
        p.pos = b.term.pos
        if b.id == c.fn.entry.id:
            self._reverse_exit(p)
            return
        taken: dict[tuple[Var, Path], Operand] = {}
        for v in b.params:
            for path, kind in leaves(self.lanes.tree(v)):
                if kind != REF:
                    taken[(v, path)] = p.take(v, path)
        here = p.block
        loop = c.loops.get(b.id)
        if loop is not None:
            self._reverse_header(p, b, loop, taken)
            return
        entered = [(h, x) for h, x in c.loops.items() if any(w == b.id for _, w in x.landings)]
        preds = c.preds[b.id]
        past: Draft | None = None  # where a loop with nothing to reverse is left out
        if entered:  # a landing: backwards it is where its loops begin
            outermost = max((h for h, _ in entered), key=lambda h: len(c.loops[h].body))
            if outermost in self.dead_loops:  # what the edge brings out of it was made before the loop
                past = p.start[c.loops[outermost].preheader]
            for h, x in entered:
                if outermost not in self.dead_loops and h not in self.dead_loops and h not in self.joins:
                    self._start_loop(p, h, x, b.id)
        if len(preds) == 1:
            self._reverse_edge(p, preds[0], b, taken)
            p.goto(past or p.start[preds[0][0]])
        elif b.id in self.joins:
            number = p.forward_value(self.edge_number[b.id])
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
        if h in self.ranges:
            r = p.forward_value(self.ranges[h])
            by_header = any(source == h and w == landing for source, w in loop.landings)
            if not by_header:
                r = p.call(operator.getitem, r, p.call(slice, p.forward_value(self.trips[h])))
            it = p.call(reversed, r)
        else:
            it = p.call(iter, p.call(range, p.forward_value(self.trips[h])))
        p.write(("back", h), it)

    def _reverse_header(
        self, p: PullbackBuilder, b: CFGBlock, loop: Loop, taken: dict[tuple[Var, Path], Operand]
    ) -> None:
        c = self.canonical
        if b.id in self.dead_loops:
            p.goto(p.start[loop.preheader])
            return
        if b.id in self.joins:
            number = p.forward_value(self.edge_number[b.id])
            routes = [p.new_block() for _ in self.joins[b.id]]
            p.switch(number, [p.edge(r) for r in routes])
            for r, pred in zip(routes, self.joins[b.id], strict=True):
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
            if draft is again and b.id in self.ranges:
                p.write(("item", b.id), item)
                self.item_names[b.id] = item
            pred = next((q, e) for q, e in c.preds[b.id] if q == source)
            self._reverse_edge(p, pred, b, taken)
            p.goto(p.start[source])

    def _reverse_edge(
        self, p: PullbackBuilder, pred: tuple[BlockId, Edge], b: CFGBlock, taken: dict[tuple[Var, Path], Operand]
    ) -> None:
        """What the parameters' cotangents add to the arguments of the edge that was taken."""
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

    # -- comms --

    def _comms_into_pullback(self, p: PullbackBuilder, live: set[Operand]) -> None:
        head: list[Call] = []
        pos = p.pos
        comms = p.comms

        def call(fn: Any, *args: Operand, out: Var | None = None) -> Var:
            v = self.fresh.var() if out is None else out
            head.append(Call(v, Const(fn), args, (), pos))
            return v

        zeros = [(out, v) for out, v in p.owned_zeros() if out in live]
        arrays = {v: self._forward_name(v) for _, v in zeros}
        for v in arrays.values():
            comms.captures.setdefault(v, self.fresh.var(v.name))
        needed = {comms.captures[v] for v in arrays.values()}
        comms.captures = {v: x for v, x in comms.captures.items() if x in live or x in needed}
        comms.stacks = {u: {v: x for v, x in st.items() if x in live} for u, st in comms.stacks.items()}
        comms.stacks = {u: st for u, st in comms.stacks.items() if st}
        if self.options.recompute:
            shapes_for_zeros(p, self.types, self._shape_of)
        before = [v for stack in comms.stacks.values() for v in stack]
        again, once = self._recomputed(p) if self.options.recompute else ({}, [])
        stored = {v for stack in comms.stacks.values() for v in stack}
        self.again = [v for v in before if v not in stored]
        self.stack_ids = {u: self.fresh.var() for u in comms.stacks}
        signed = negatives(p, self.forward, self.types, self._is_fixed) if self.options.recompute else []
        self.again += [v for v, _, _ in signed]
        names = list(comms.captures.values()) + list(self.stack_ids.values())
        if names:
            whole = call(ops.unpack, self.captures_in, Const(len(names)))
            for i, name in enumerate(names):
                call(operator.getitem, whole, Const(i), out=name)
        for _, name, x in signed:
            call(operator.neg, x, out=name)
        head += once
        for out, v in zeros:
            call(helpers.zeros_like, comms.captures[arrays[v]], out=out)
        check = self.checks.comms(pos) if self.checks is not None else None
        pull = Const(ops.pull if check is None else check.pull)
        stacks: list[Operand] = []
        for u, stack in comms.stacks.items():
            stacks.append(call(ops.backwards, self.stack_ids[u]))
            p.start[u].head = [Call(x, pull, (stacks[-1],), (), pos) for x in reversed(stack.values())]
        for u, stmts in again.items():
            p.start[u].head += stmts
        if check is not None and stacks:
            for block in p.blocks:
                if isinstance(block.term, Return):
                    block.stmts.append(Call(self.fresh.var(), Const(check), tuple(stacks), (), pos))
        p.entry.head = head

    def _shape_of(self, v: Var) -> Var:
        """A forward statement that takes the shape of a value, as one of its block's last."""
        out = self.fresh.var()
        home = self.home[out] = self.home[v]
        self.end[home].stmts.append(
            Call(out, Const(getattr), (v, Const("shape")), (), self.canonical.blocks[home].term.pos)
        )
        return out

    def _always_made(self, v: Var) -> bool:
        """Is this value made in every run that returns, and once?"""
        c = self.canonical
        home = self.home.get(v)
        return home is not None and c.exit is not None and c.loop_of[home] is None and self._dominates(home, c.exit)

    def _may_change(self, p: PullbackBuilder) -> Callable[[Operand], bool]:
        """Is this, in the pullback, a forward value that somebody writes to?"""
        comms = p.comms
        forward: dict[Operand, Var] = {x: v for t in (comms.captures, *comms.stacks.values()) for v, x in t.items()}
        primal = {f: v for v, f in self.info.f.items() if isinstance(f, Var)}
        shared = self.inferred.memory.is_shared
        return lambda x: x in forward and shared(primal.get(forward[x], forward[x]))

    def _is_fixed(self, v: Var) -> bool:
        """Is it made in every run that returns, once, and not written to by anybody?"""
        primal = next((x for x, f in self.info.f.items() if f is v), v)
        return self._always_made(v) and not self.inferred.memory.is_shared(primal)

    def _recomputed(self, p: PullbackBuilder) -> tuple[dict[BlockId, list[Call]], list[Call]]:
        c = self.canonical
        items: dict[Var, tuple[BlockId, Var]] = {}
        for v, h in p.items.items():
            # else the loop is not reversed, or the reverse may begin inside the body
            if h in self.item_names and all(source == h for source, _ in c.loops[h].landings):
                items[v] = h, self.item_names[h]

        def made_once(v: Var) -> bool:
            return v in self.home and c.loop_of[self.home[v]] is None

        defs = {s.out: s for d in self.forward.blocks for s in d.stmts}
        return recompute(p, defs, self.types, made_once, self._always_made, items, p.pos)

    def _forward_name(self, v: Var) -> Var:
        f = self.info.f.get(v, v)
        assert isinstance(f, Var), "an array that is accumulated into is not a constant"
        return f

    def _comms_into_forward(self, p: PullbackBuilder, live: set[Operand]) -> None:
        c, F = self.canonical, self.forward
        comms = p.comms
        stacks: dict[BlockId, Var] = {}
        pos = c.fn.blocks[0].term.pos
        for u, stack in comms.stacks.items():
            s = self.fresh.var()
            stacks[u] = s
            F.entry.head.append(Call(s, Const(ops.build_list), (), (), pos))
            end = self.end[u]
            for v in stack:
                end.stmts.append(Call(self.fresh.var(), Const(ops.push), (s, v), (), c.blocks[u].term.pos))
        if c.exit is None:
            return
        F.block = self.end[c.exit]
        term = c.blocks[c.exit].term
        assert isinstance(term, Return)
        F.pos = term.pos
        captured: list[Operand] = []
        for v in comms.captures:
            b = self.home[v]
            if self._dominates(b, c.exit):
                captured.append(v)
            else:
                F.write_at(self.end[b], ("v", v), v)
                captured.append(F.read(("v", v)))
        captured += [stacks[u] for u in comms.stacks]
        value = self.info.operand(term.value)
        caps: Operand = F.call(ops.build_tuple, *captured) if captured else Const(())
        fdata = self.info.lane_of(term.value)
        F.ret(F.call(ops.build_tuple, value, fdata, caps))

    def _dominates(self, a: BlockId, b: BlockId) -> bool:
        node: BlockId | None = b
        while node is not None:
            if node == a:
                return True
            node = self.canonical.idom.get(node)
        return False
