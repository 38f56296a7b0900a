"""Exceptions that are made, raised and caught in one function: the handler that gets one is a copy for it alone.

In a handler that several statements may come to, nothing is known of the exception. The copy knows which one it has,
so that its attributes are those of any object; it is raised and caught as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mooncake_py import raised, unwinding
from mooncake_py.frontend.ssa import Draft
from mooncake_py.hashing import hashable
from mooncake_py.infer.types import Obj, T
from mooncake_py.ir import ops
from mooncake_py.ir.graph import dominates, dominators
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    Edge,
    Function,
    Goto,
    Operand,
    Raise,
    Terminator,
    Var,
    brings_value,
    edges,
)
from mooncake_py.transform.inline import MOST_TOTAL
from mooncake_py.transform.protect import with_handlers, with_tries
from mooncake_py.transform.rebuild import Handler, Rebuild

MOST_STATEMENTS = 60  # of a handler that is copied
_OF_HANDLING = frozenset({ops.push_exc_info, ops.pop_except, unwinding.end_handler, raised.looked_at})


def own_handlers(fn: Function, types: Mapping[Var, T]) -> Function | None:
    """The function with one such handler copied; None where there is none."""
    if not any(isinstance(t, Obj) and issubclass(t.cls, BaseException) for t in types.values()):
        return None
    fn = with_handlers(fn)
    by_id = {b.id: b for b in fn.blocks}
    idom = dominators(fn)
    total = sum(len(b.stmts) for b in fn.blocks)
    for b in fn.blocks:
        term = b.term
        if b.handler is None or b.id not in idom or not isinstance(term, Raise) or not isinstance(term.exc, Var):
            continue
        t = types.get(term.exc)
        if not isinstance(t, Obj) or not issubclass(t.cls, BaseException):
            continue
        way, caught = _way(by_id, b.handler)
        inside = {x.id for x in way}
        region = [x for x in fn.blocks if x.id in inside or (x.id in idom and dominates(idom, way[-1].id, x.id))]
        size = sum(len(x.stmts) for x in region)
        if size > MOST_STATEMENTS or total + size > MOST_TOTAL or b in region:
            continue
        if _looks_at(region, caught[-1]):
            return with_tries(_OwnHandler(fn, b, region, caught, term.exc).function())
    return None


def _way(by_id: dict[BlockId, CFGBlock], handler: Edge) -> tuple[list[CFGBlock], list[Var]]:
    """The blocks by which an exception comes to where it is handled, and its names there."""
    b = by_id[handler.target]
    way, caught = [b], [b.params[0]]
    while not b.stmts and isinstance(b.term, Goto) and caught[-1] in b.term.edge.args:
        i = b.term.edge.args.index(caught[-1])
        b = by_id[b.term.edge.target]
        if b in way:
            break
        way.append(b)
        caught.append(b.params[i])
    return way, caught


def _looks_at(region: list[CFGBlock], exc: Var) -> bool:
    """Is the exception used there, other than to begin and to end handling it?"""
    params = {b.id: b.params for b in region}
    names = {exc}
    while True:
        given = [(p, a) for b in region for e in edges(b.term) for p, a in _pairs(params.get(e.target, ()), b.term, e)]
        new = {p for p, a in given if a in names} - names
        if not new:
            break
        names |= new
    return any(not names.isdisjoint(s.operands()) and not _is_handling(s) for b in region for s in b.stmts)


def _pairs(params: tuple[Var, ...], term: Terminator, e: Edge) -> Iterable[tuple[Var, Operand]]:
    return zip(params[1:] if brings_value(term, e) else params, e.args, strict=False)


def _is_handling(s: Call) -> bool:
    return isinstance(s.fn, Const) and hashable(s.fn.value) and s.fn.value in _OF_HANDLING


class _OwnHandler(Rebuild):
    """The function's blocks, and those of a handler once more for the exception of one block."""

    def __init__(self, fn: Function, raising: CFGBlock, region: list[CFGBlock], caught: Sequence[Var], raised: Var):
        super().__init__()
        self.fn, self.raising, self.caught, self.raised = fn, raising, caught, raised
        self.inside = {b.id for b in region}
        self.own = replace(fn, blocks=tuple(region))

    def function(self) -> Function:
        fn, builder = self.fn, self.builder
        params = tuple(self.fresh.var(p.name) for p in fn.params)
        free = tuple(self.fresh.var(v.name) for v in fn.free)
        for old, new in zip((*fn.params, *fn.free), (*params, *free), strict=True):
            builder.write(builder.entry, old, new)
        for part in (fn, self.own):
            self.add(part)
            self.blocks.update({(part, b.id): b for b in fn.blocks})  # an edge may lead out of the handler
        for part in (fn, self.own):
            self.copy(part)
        builder.goto(builder.entry, self.drafts[fn, fn.entry.id])
        return Function(fn.name, fn.filename, params, free, builder.finish(), fn.kind, fn.firstline)

    def _part(self, part: Function, target: BlockId) -> Function:
        """The copy in which an edge from `part` finds its target."""
        return part if part is self.own and target in self.inside else self.fn

    def target(self, fn: Function, e: Edge) -> Draft:
        return self.drafts[self._part(fn, e.target), e.target]

    def edge(self, fn: Function, source: CFGBlock, e: Edge, first: Operand | None = None) -> Draft:
        if fn is self.own:
            e = Edge(e.target, tuple(map(self._known, e.args)))
        return super().edge(fn, source, e, first)

    def terminator(self, fn: Function, d: Draft, b: CFGBlock) -> None:
        own = fn is self.fn and b is self.raising
        super().terminator(self.own if own else fn, d, b)

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        if fn is self.own and not _is_handling(s):
            given = tuple(map(self._known, s.args))
            s = Call(s.out, self._known(s.fn), given, tuple([(k, self._known(v)) for k, v in s.kwargs]), s.pos)
        return super().statement(fn, d, s, handler)

    def _known(self, v: Operand) -> Operand:
        return self.raised if v in self.caught else v
