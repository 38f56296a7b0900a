"""Loops over generators whose code is known: the generator's body runs around the loop's.

    for v in g(x):           <body of g up to yield v>
        <body>         ->    <body>
                             <body of g goes on>

There is no generator object, no frame to resume, and nothing of iteration left to differentiate.
"""

from __future__ import annotations

import operator
import types as pytypes
from dataclasses import dataclass

from mooncake_py.frontend.reducible import make_reducible
from mooncake_py.frontend.ssa import Draft
from mooncake_py.infer.interpret import Inferred
from mooncake_py.infer.types import Known, T
from mooncake_py.ir import ops
from mooncake_py.ir.graph import innermost_loop, loops, use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Edge, ForNext, Function, Operand, Return, Var
from mooncake_py.transform.inline import MOST_STATEMENTS, MOST_TOTAL, Callee, callee_of, item_of_closure, taken_in
from mooncake_py.transform.protect import with_handlers, with_tries
from mooncake_py.transform.rebuild import Handler, Rebuild

MOST_YIELDS = 4


def fuse(inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType]) -> Function | None:
    """The function with one loop over a generator fused with it, None where there is none."""
    if not any(isinstance(b.term, ForNext) for b in inferred.fn.blocks):
        return None
    fn = with_handlers(inferred.fn)
    if sum([len(b.stmts) for b in fn.blocks]) > MOST_TOTAL:
        return None
    defs: dict[Operand, tuple[Call, CFGBlock]] = {s.out: (s, b) for b in fn.blocks for s in b.stmts}
    for b in fn.blocks:
        if isinstance(b.term, ForNext) and not b.stmts and b.handler is None and b.id in inferred.reached:
            found = _candidate(fn, defs, inferred, b, globals_)
            if found is not None:
                if found.callee.owner is not None:
                    taken.add(found.callee.owner)
                return with_tries(_Fusion(fn, found).function())
    return None


@dataclass(slots=True)
class _Loop:
    header: CFGBlock
    inside: set[BlockId]
    makes: Call  # the call that makes the generator
    iterates: Call  # the `iter` of it
    callee: Callee


def _candidate(
    fn: Function, defs: dict[Operand, tuple[Call, CFGBlock]], inferred: Inferred, b: CFGBlock, globals_: dict
) -> _Loop | None:
    assert isinstance(b.term, ForNext)
    it = b.term.iterator
    if it not in defs:
        return None
    d, _ = defs[it]
    t: T | None = inferred.types.get(d.fn) if isinstance(d.fn, Var) else Known(d.fn.value)
    if not isinstance(t, Known) or t.value is not iter or len(d.args) != 1 or d.args[0] not in defs:
        return None
    makes, home = defs[d.args[0]]
    callee = callee_of(inferred, makes, globals_)
    if callee is None or callee.body.kind != "generator" or _size(callee.body) > MOST_STATEMENTS:
        return None
    if home.handler is not None or _uses(fn, makes.out) != 1 or _uses(fn, d.out) != 1:
        return None
    found = loops(fn)
    inside = found.get(b.id)
    if inside is None or home.id in inside or innermost_loop(fn, found)[home.id] != _around(b.id, found):
        return None  # a loop that is entered again goes on where it stopped
    body = callee.body
    yields = [s for x in body.blocks for s in x.stmts if is_const(s.fn, ops.yield_)]
    if not yields or len(yields) > MOST_YIELDS or any(x.handler is not None for x in body.blocks):
        return None
    if any(is_const(s.fn, ops.yield_from) for x in body.blocks for s in x.stmts):
        return None
    return _Loop(b, inside, makes, d, callee)


def _around(header: BlockId, found: dict[BlockId, set[BlockId]]) -> BlockId | None:
    around = [h for h, body in found.items() if header in body and h != header]
    return min(around, key=lambda h: len(found[h])) if around else None


def _uses(fn: Function, v: Var) -> int:
    return use_counts(fn).get(v, 0)


def _size(fn: Function) -> int:
    return sum(len(b.stmts) for b in fn.blocks)


class _Fusion(Rebuild):
    def __init__(self, fn: Function, loop: _Loop):
        super().__init__()
        self.fn, self.loop = fn, loop
        self.body = taken_in(loop.callee.body, loop.header.term.pos)  # the loop asks for the items, and so runs it
        self.resumes: list[Draft] = []
        self.again = self.builder.new_block()  # where the loop's body goes on with the next item

    def function(self) -> Function:
        fn, body, builder = self.fn, self.body, self.builder
        params = tuple(self.fresh.var(p.name) for p in fn.params)
        free = tuple(self.fresh.var(v.name) for v in fn.free)
        for old, new in zip((*fn.params, *fn.free), (*params, *free), strict=True):
            builder.write(builder.entry, old, new)
        self.add(fn)
        self.add(body)
        self.copy(fn)
        self.copy(body)
        builder.goto(builder.entry, self.drafts[fn, fn.entry.id])
        self._resume()
        make_reducible(builder)
        blocks = builder.finish()
        return Function(fn.name, fn.filename, params, free, blocks, fn.kind, fn.firstline)

    def _resume(self) -> None:
        """From the end of the loop's body back to where the generator stands."""
        here, pos = self.again, self.loop.header.term.pos
        route = self.builder.read(here, self) if len(self.resumes) > 1 else None
        for k, target in enumerate(self.resumes):
            if route is None or k == len(self.resumes) - 1:
                self.builder.goto(here, target, pos)
                return
            onward = self.builder.new_block()
            self.builder.branch(here, self.emit(here, pos, operator.eq, route, Const(k)), target, onward, pos)
            here = onward

    def block(self, fn: Function, b: CFGBlock) -> None:
        if b is not self.loop.header:
            super().block(fn, b)

    def target(self, fn: Function, source: CFGBlock, e: Edge) -> Draft:
        if fn is self.fn and e.target == self.loop.header.id:
            return self.again if source.id in self.loop.inside else self.drafts[self.body, self.body.entry.id]
        return super().target(fn, source, e)

    def set_edges(self) -> None:
        header = self.loop.header
        to_header = [(via, e) for via, fn, _, e, _ in self._pending if fn is self.fn and e.target == header.id]
        given = [[self.read(via, a) for a in e.args] for via, e in to_header]
        super().set_edges()
        for (via, _), values in zip(to_header, given, strict=True):
            for p, x in zip(header.params, values, strict=True):
                self.builder.write(via, p, x)

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        if fn is self.fn:
            if s is self.loop.makes:
                self._start(d)
                return d
            return d if s is self.loop.iterates else super().statement(fn, d, s, handler)
        if is_const(s.fn, ops.yield_):
            header = self.loop.header
            assert isinstance(header.term, ForNext)
            self.builder.write(d, self, Const(len(self.resumes)))
            back = self.builder.new_block()
            self.resumes.append(back)
            self._pending = []
            self.builder.goto(d, self.edge(self.fn, header, header.term.body, self.read(d, s.args[0])), s.pos)
            self.set_edges()
            self.builder.write(back, s.out, Const(None))
            return back
        return super().statement(fn, d, s, handler)

    def _start(self, d: Draft) -> None:
        """The generator's arguments, where it was made."""
        callee = self.loop.callee
        args: list[Operand] = [self.read(d, a) for a in callee.args]
        for p, x in zip(self.body.params, args, strict=True):
            self.builder.write(d, p, x)
        for i, cell in enumerate(self.body.free):
            closure = self.read(d, callee.closure)
            item = self.emit(d, self.loop.makes.pos, item_of_closure, closure, Const(i), name=cell.name)
            self.builder.write(d, cell, item)

    def leave(self, fn: Function, d: Draft, term: Return) -> None:
        if fn is self.fn:
            super().leave(fn, d, term)
            return
        header = self.loop.header
        assert isinstance(header.term, ForNext)
        self._pending = []
        self.builder.goto(d, self.edge(self.fn, header, header.term.done), term.pos)
