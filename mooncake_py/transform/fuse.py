"""Generators whose code is known run around the loops that ask for their items.

    for v in g(x):           <body of g up to yield v>
        <body>         ->    <body>
                             <body of g goes on>

There is no generator object, no frame to resume, and nothing of iteration left to differentiate. Where several loops
ask one generator, each has a copy of its body; the variables are the same in all of them, and so is the state, which
says at which yield the generator waits. It is looked at only where the code does not tell. `next` and what uses up an
iterator become loops first.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace

from mooncake_py.frontend.reducible import make_reducible
from mooncake_py.frontend.ssa import Draft, can_raise
from mooncake_py.ir import ops
from mooncake_py.ir.graph import loops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Function,
    Operand,
    Raise,
    Return,
    edges,
)
from mooncake_py.iterators import PAUSED
from mooncake_py.transform.inline import Callee
from mooncake_py.transform.rebuild import Handler, Rebuild
from mooncake_py.transform.splice import item_of_closure, taken_in
from mooncake_py.transform.stops import pauses
from mooncake_py.transform.suspended import (
    FINISHED,
    NOWHERE,
    START,
    States,
    live_after,
    next_states,
    states_before,
    states_thrown,
    tokens_across,
    yields,
)

MOST_REPEATED = 200  # statements of all copies of a loop's body


@dataclass(slots=True)
class Uses:
    """What is done with one iterator: loops over it, calls that ask it, calls of `iter`, `thrown_into` and `sent_into`
    that give it back, and reads of its methods; by loop the exception that it throws in the place of asking, and what
    it sends."""

    loops: list[CFGBlock]
    calls: list[Call]
    names: list[Call]
    methods: list[Call]
    thrown: dict[BlockId, Operand]
    sent: dict[BlockId, Operand]


@dataclass(slots=True)
class Asked:
    """A generator and the loops over it. `early`: calls of `iter` in its body, on which parameter each, that are as
    well made with the generator."""

    makes: Call
    uses: Uses
    callee: Callee
    body: Function
    early: dict[Call, int]

    @property
    def lasts(self) -> bool:
        """Does it go on from its last item after an exception, which somebody may catch?"""
        handled = any(b.handler is not None for b in self.uses.loops)
        return self.body.kind == "iterator" and (handled or pauses(self.body))


class Flow:
    """Where the generator may stand, at the beginning of every block and at its end."""

    def __init__(self, fn: Function, found: Asked):
        self.makes, self.next, self.thrown = found.makes, next_states(found.body), states_thrown(found.body)
        self.lasts, self.pauses = found.lasts, pauses(found.body)
        self.throws, self.names = found.uses.thrown, found.uses.names  # names are not there any more
        self.loops = {b.id: b for b in found.uses.loops}
        self.fn = fn
        self.before: dict[BlockId, States] = {fn.entry.id: NOWHERE}
        by_id = {b.id: b for b in fn.blocks}
        work = [fn.entry.id]
        while work:
            b = by_id[work.pop()]
            for e, states in self._onward(b):
                old = self.before.get(e.target)
                if old is None or not states <= old:
                    self.before[e.target] = (old or NOWHERE) | states
                    work.append(e.target)

    def _onward(self, b: CFGBlock) -> list[tuple[Edge, States]]:
        states = self.after(b)
        out = []
        if b.id in self.loops:
            assert isinstance(b.term, ForNext)
            onward = self.thrown if b.id in self.throws else self.next
            later = frozenset(x for k in states for x in onward[k])
            ended = (states if self.pauses else NOWHERE) | {FINISHED}
            out = [(b.term.body, later - {FINISHED}), (b.term.done, ended)]
        else:
            out = [(e, states) for e in edges(b.term)]
        if b.handler is not None:
            if b.id in self.loops:
                out.append((b.handler, states if self.lasts else frozenset({FINISHED})))  # by the exception
            if isinstance(b.term, Raise) or any(can_raise(s.fn) and s not in self.names for s in b.stmts):
                out.append((b.handler, self.before[b.id] | states))
        return out

    def begins_by(self, loops: Iterable[BlockId]) -> bool:
        """May one of these be the first that asks it?"""
        return any(START in self.after(self.loops[b]) for b in loops)

    def left(self) -> States:
        """Where it may stand when nobody asks it any more: the function returns, or another one is made."""
        ways = [b for b in self.fn.blocks if isinstance(b.term, Return) and b.id in self.before]
        again = [self.before[b.id] for b in self.fn.blocks if self.makes in b.stmts and b.id in self.before]
        return NOWHERE.union(*again, *map(self.after, ways))

    def after(self, b: CFGBlock) -> States:
        """Where it stands after the statements of a block."""
        return frozenset({START}) if self.makes in b.stmts else self.before.get(b.id, NOWHERE)

    def loops_that_run(self, body: Function, s: Call) -> int:
        """How many of the loops may come to this statement of the generator's body."""
        starts = states_before(body, s)
        asked: dict[BlockId, States] = {b.id: self.after(b) if b.stmts else NOWHERE for b in self.loops.values()}
        for b in (b for b in self.fn.blocks if b.id in self.before):
            for e, states in self._onward(b):
                if e.target in asked and not self.loops[e.target].stmts:
                    asked[e.target] |= states
        return sum(bool(states & starts) for states in asked.values())


def _statements(fn: Function, inside: set[BlockId]) -> list[Call]:
    return [s for b in fn.blocks if b.id in inside for s in b.stmts]


class Fusion(Rebuild):
    def __init__(self, fn: Function, found: Asked):
        super().__init__(fn)
        self.whole, self.found = fn, found
        self.flow = Flow(fn, found)
        self.numbers = {s.out: k + 1 for k, s in enumerate(yields(found.body))}
        self.headers = {b.id: b for b in found.uses.loops}
        self.copies = {b.id: taken_in(found.body, b.term.pos) for b in found.uses.loops}  # each asks, and so runs it
        self.asked_by = {body: self.headers[at] for at, body in self.copies.items()}
        self.waits = {(at, k): self.builder.new_block() for at in self.headers for k in self.numbers.values()}
        self.ended = {at: self.builder.new_block() for at in self.headers}
        self.paused = {at: self.builder.new_block() for at in self.headers} if self.flow.pauses else {}
        self.thrown = {at: self.builder.new_block() for at in found.uses.thrown}
        self.tokens = tokens_across(found.body)
        self.kept = live_after(found.body) if found.lasts else {}
        self.ways: dict[tuple[BlockId, States], Draft] = {}
        self.inside = self._repeated()
        # The loop's own blocks once for every yield, so that each goes on where the generator does.
        body = tuple(b for b in fn.blocks if b.id in self.inside)
        self.turns = {replace(fn, blocks=body): k for k in self.numbers.values()} if body else {}
        self.turn_of = {k: turn for turn, k in self.turns.items()}
        self.fn = self.once = replace(fn, blocks=tuple(b for b in fn.blocks if b.id not in self.inside))
        self.now = NOWHERE  # where the generator may stand, at the end of the block that is being copied

    def _repeated(self) -> set[BlockId]:
        """The blocks of the one loop that asks, without its header, where it is worth it to have several of them."""
        (header, *others), n = self.headers.values(), len(self.numbers)
        inside = loops(self.whole).get(header.id)
        if others or n == 1 or inside is None or header.stmts or self.found.makes in _statements(self.whole, inside):
            return set()
        if n * len(_statements(self.whole, inside)) > MOST_REPEATED:
            return set()
        return inside - {header.id}

    def function(self) -> Function:
        fn, builder = self.whole, self.builder
        for v in (*fn.params, *fn.free):
            builder.write(builder.entry, v, v)
        parts = (self.fn, *self.turns, *self.copies.values())
        for part in parts:
            self.add(part)
        for part in (self.fn, *self.turns):
            self.blocks.update({(part, b.id): b for b in fn.blocks})  # an edge may lead to another part
        for part in parts:
            self.copy(part)
        for at, d in self.ended.items():
            term = self.headers[at].term
            assert isinstance(term, ForNext)
            self._leave_by(d, self.headers[at], term.done, FINISHED)
        for at, d in self.paused.items():
            term = self.headers[at].term
            assert isinstance(term, ForNext)
            self._leave_by(d, self.headers[at], term.done, None)
        for at, d in self.thrown.items():
            self._raise_in(self.copies[at], d, None)
        builder.goto(builder.entry, self.drafts[self.fn, fn.entry.id])
        make_reducible(builder)
        blocks = builder.finish()
        return Function(fn.name, fn.filename, fn.params, fn.free, blocks, fn.kind, fn.firstline)

    # -- the function's own blocks --

    def block(self, fn: Function, b: CFGBlock) -> None:
        if fn in self.asked_by:
            super().block(fn, b)
        elif b.id not in self.headers or b.stmts:
            self.now = frozenset({self.turns[fn]}) if fn in self.turns else self.flow.after(b)
            super().block(fn, b)

    def terminator(self, fn: Function, d: Draft, b: CFGBlock) -> None:
        if fn in self.asked_by:
            self._in_body(fn, d, b)
        elif b.id in self.headers:
            self.builder.goto(d, self._way(b, self.now), b.term.pos)
        else:
            super().terminator(fn, d, b)

    def target(self, fn: Function, e: Edge) -> Draft:
        if fn in self.asked_by:
            return super().target(fn, e)
        header = self.headers.get(e.target)
        if header is not None and not header.stmts:
            return self._way(header, self.now)
        return self.drafts[fn if e.target in self.inside else self.fn, e.target]

    def set_edges(self) -> None:
        pending = [(via, e, x) for via, fn, _, e, x in self._pending if fn not in self.asked_by]
        past = [(via, e, x) for via, e, x in pending if e.target in self.headers]
        given = [[*([] if x is None else [x]), *(self.read(via, a) for a in e.args)] for via, e, x in past]
        super().set_edges()
        for (via, e, _), values in zip(past, given, strict=True):
            for p, x in zip(self.headers[e.target].params, values, strict=True):
                self.builder.write(via, p, x)

    def _leave_by(self, d: Draft, b: CFGBlock, e: Edge, state: int | None, item: Operand | None = None) -> None:
        """By an edge of a loop that asks, the generator being there then, or where it was before."""
        self.now = self.flow.after(b) if state is None else frozenset({state})
        self._pending = []
        part = self.fn if state is None else self.turn_of.get(state, self.fn)
        self.builder.goto(d, self.edge(part, b, e, item), b.term.pos)
        self.set_edges()

    def _way(self, header: CFGBlock, states: States) -> Draft:
        """To where the generator goes on, from places where it may stand so."""
        found = self.ways.get((header.id, states))
        if found is not None:
            return found
        pos, builder = header.term.pos, self.builder
        *others, last = sorted(states, reverse=True) or [START]
        self.ways[header.id, states] = here = builder.new_block()
        state = builder.read(here, self) if others else None
        for k in others:
            assert state is not None
            onward = builder.new_block()
            builder.branch(here, self.emit(here, pos, operator.eq, state, Const(k)), self._at(header, k), onward, pos)
            here = onward
        builder.goto(here, self._at(header, last), pos)
        return self.ways[header.id, states]

    def _at(self, header: CFGBlock, state: int) -> Draft:
        if header.id in self.thrown and state in (START, FINISHED):
            return self.thrown[header.id]
        if state == START:
            return self.drafts[self.copies[header.id], self.found.body.entry.id]
        return self.ended[header.id] if state == FINISHED else self.waits[header.id, state]

    def _start(self, d: Draft) -> None:
        """The generator's arguments, where it was made."""
        callee, body, pos = self.found.callee, self.found.body, self.found.makes.pos
        args: list[Operand] = [self.read(d, a) for a in callee.args]
        for p, x in zip(body.params, args, strict=True):
            self.builder.write(d, p, x)
        for i, cell in enumerate(body.free):
            closure = self.read(d, callee.closure)
            self.builder.write(d, cell, self.emit(d, pos, item_of_closure, closure, Const(i), name=cell.name))
        for s, k in self.found.early.items():
            self.builder.write(d, s.out, self.emit(d, s.pos, iter, args[k]))
        self.builder.write(d, self, Const(START))
        self.builder.write(d, self.found.makes.out, Const(None))

    # -- the copies of the generator's body --

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        if fn not in self.asked_by:
            if s is self.found.makes:
                self._start(d)
            elif s not in self.found.uses.names:
                return super().statement(fn, d, s, handler)
            else:
                self.builder.write(d, s.out, Const(None))
            return d
        header = self.asked_by[fn]
        if any(s.out is e.out for e in self.found.early):
            return d
        if not is_const(s.fn, ops.yield_):
            return super().statement(fn, d, s, handler or header.handler)
        assert isinstance(header.term, ForNext)
        number = self.numbers[s.out]
        tokens = self.tokens[s.out]
        for begins in reversed(tokens):  # exceptions are being handled only while the generator runs
            self.emit(d, s.pos, ops.pop_except, self.read(d, begins.out))
        self.builder.write(d, self, Const(number))
        for v in self.kept.get(s.out, ()):
            self.builder.write(d, ("kept", v), self.read(d, v))
        self._leave_by(d, header, header.term.body, number, self.read(d, s.args[0]))
        back = self.waits[header.id, number]
        for begins in tokens:
            self.builder.write(
                back, begins.out, self.emit(back, s.pos, ops.push_exc_info, self.read(back, begins.args[0]))
            )
        self.builder.write(back, s.out, self.read(back, self.found.uses.sent.get(header.id, Const(None))))
        for v in self.kept.get(s.out, ()):
            self.builder.write(back, v, self.builder.read(back, ("kept", v), v.name))
        if header.id in self.thrown:
            self._raise_in(fn, back, handler)
            back = self.builder.new_block()  # never reached
        return back

    def _raise_in(self, fn: Function, d: Draft, handler: Handler) -> None:
        """End a block by raising what a loop throws into the generator."""
        header = self.asked_by[fn]
        handler = handler or header.handler
        if handler is not None:
            self.protect(fn, d, handler)
        self.builder.raise_(d, self.read(d, self.found.uses.thrown[header.id]), None, False, header.term.pos)

    def _in_body(self, fn: Function, d: Draft, b: CFGBlock) -> None:
        header = self.asked_by[fn]
        if isinstance(b.term, Return) and is_const(b.term.value, PAUSED):
            self.builder.goto(d, self.paused[header.id], b.term.pos)
        elif isinstance(b.term, Return):
            self.builder.write(d, self, Const(FINISHED))
            self.builder.goto(d, self.ended[header.id], b.term.pos)
        else:
            handled = isinstance(b.term, Branch) or b.handler is not None
            super().terminator(fn, d, b if handled else replace(b, handler=header.handler))

    def protect(self, fn: Function, d: Draft, handler: Edge) -> None:
        header = self.asked_by.get(fn)
        if header is None or handler is not header.handler:
            super().protect(fn, d, handler)
            return
        super().protect(self.fn, d, handler)
        if d.handler is not None and not self.found.lasts:
            self.builder.write(d.handler.target, self, Const(FINISHED))  # it has ended by the exception
