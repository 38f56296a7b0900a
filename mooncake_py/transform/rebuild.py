"""A function built anew, with its control flow changed.

Every variable of the old function becomes a variable of the SSA construction, so that blocks may be led elsewhere,
statements left out and values set by other means: what reaches each use is found again.
"""

from __future__ import annotations

from mooncake_py.frontend.ssa import Draft, SSABuilder, can_raise
from mooncake_py.ir.mapping import fresh_beside
from mooncake_py.ir.nodes import (
    NO_POS,
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
)

Handler = Edge | None


class Rebuild:
    """Copies the blocks of functions into one builder; subclasses override what is to be different.

    Of `whole`, if that is given, what is copied once, as a part that is noted as such, keeps its variables: what is
    known of them holds for the new function.
    """

    def __init__(self, whole: Function | None = None) -> None:
        self.fresh = Fresh() if whole is None else fresh_beside(whole)
        self.once: Function | None = None
        self.builder = SSABuilder(self.fresh)
        self.blocks: dict[tuple[Function, int], CFGBlock] = {}
        self.drafts: dict[tuple[Function, int], Draft] = {}

    def add(self, fn: Function) -> None:
        """Make room for the blocks of a function; `copy` fills it."""
        for b in fn.blocks:
            self.blocks[fn, b.id] = b
            self.drafts[fn, b.id] = self.builder.new_block()

    # -- what may be different --

    def define(self, d: Draft, v: Var, value: Operand, pos: Pos) -> None:
        """v has this value from here on."""
        self.builder.write(d, v, value)

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        """Copy a statement; the block to go on with."""
        out = s.out if fn is self.once else self.fresh.var(s.out.name)
        kwargs = tuple((k, self.read(d, v)) for k, v in s.kwargs)
        d.stmts.append([out, self.read(d, s.fn), tuple(self.read(d, a) for a in s.args), kwargs, s.pos])
        if handler is not None and can_raise(s.fn):
            d = self.after_raising(fn, d, handler, s.pos)
        self.define(d, s.out, out, s.pos)
        return d

    def edge(self, fn: Function, source: CFGBlock, e: Edge, first: Operand | None = None) -> Draft:
        """The block that an edge leads to; its parameters are set there (the first is given for an item)."""
        via = self.builder.new_block()
        self._pending.append((via, fn, source, e, first))
        return via

    def target(self, fn: Function, e: Edge) -> Draft:
        """Where an edge goes, or a handler."""
        return self.drafts[fn, e.target]

    def leave(self, fn: Function, d: Draft, term: Return) -> None:
        """Copy a return."""
        self.builder.ret(d, self.read(d, term.value), term.pos)

    # -- the rest --

    def read(self, d: Draft, v: Operand) -> Operand:
        return self.builder.read(d, v, v.name) if isinstance(v, Var) else v

    def read_param(self, d: Draft, p: Var) -> Operand:
        return self.builder.read(d, ("param", p), p.name)

    def emit(self, d: Draft, pos: Pos, fn: object, *args: Operand, name: str | None = None) -> Var:
        out = self.fresh.var(name)
        d.stmts.append([out, Const(fn), args, (), pos])
        return out

    def copied(self, fn: Function) -> Function:
        """The whole function, with variables of its own."""
        builder = self.builder
        params = tuple(self.fresh.var(p.name) for p in fn.params)
        free = tuple(self.fresh.var(v.name) for v in fn.free)
        for old, new in zip((*fn.params, *fn.free), (*params, *free), strict=True):
            builder.write(builder.entry, old, new)
        self.add(fn)
        self.copy(fn)
        builder.goto(builder.entry, self.drafts[fn, fn.entry.id])
        return Function(fn.name, fn.filename, params, free, builder.finish(), fn.kind, fn.firstline)

    def copy(self, fn: Function) -> None:
        for b in fn.blocks:
            self.block(fn, b)

    def block(self, fn: Function, b: CFGBlock) -> None:
        d = self.drafts[fn, b.id]
        for p in b.params:
            value = self.builder.join(d, ("param", p), p) if fn is self.once else self.read_param(d, p)
            self.define(d, p, value, NO_POS)
        for s in b.stmts:
            d = self.statement(fn, d, s, b.handler)
        self.terminator(fn, d, b)

    def terminator(self, fn: Function, d: Draft, b: CFGBlock) -> None:
        term, pos, builder = b.term, b.term.pos, self.builder
        self._pending: list[tuple[Draft, Function, CFGBlock, Edge, Operand | None]] = []
        if b.handler is not None and isinstance(term, (ForNext, Raise)):
            self.protect(fn, d, b.handler)
        match term:
            case Goto(edge=e):
                builder.goto(d, self.edge(fn, b, e), pos)
            case Branch(cond=c, then=x, orelse=y):
                builder.branch(d, self.read(d, c), self.edge(fn, b, x), self.edge(fn, b, y), pos)
            case ForNext(iterator=it, body=x, done=y):
                item = self.builder.new_block()
                value = builder.param(item)
                builder.for_next(d, self.read(d, it), item, self.edge(fn, b, y), pos)
                builder.goto(item, self.edge(fn, b, x, value), pos)
            case Return():
                self.leave(fn, d, term)
            case Raise(exc=x, cause=y, reraise=r):
                exc, cause = (None if v is None else self.read(d, v) for v in (x, y))
                builder.raise_(d, exc, cause, r, pos)
            case Switch() | Try():
                raise AssertionError("the frontend makes neither switches nor tries: see `protect.with_handlers`")
        self.set_edges()

    def set_edges(self) -> None:
        """Set the parameters at the edges of a terminator; they are read when all of it stands."""
        for via, fn, source, e, first in self._pending:
            given = [self.read(via, a) for a in e.args]
            params = self.blocks[fn, e.target].params
            for p, x in zip(params, given if first is None else [first, *given], strict=True):
                self.builder.write(via, ("param", p), x)
            self.builder.goto(via, self.target(fn, e), source.term.pos)

    def protect(self, fn: Function, d: Draft, handler: Edge) -> None:
        """Send the exceptions of a block's last statement to the copy of a handler."""
        h = self.builder.new_block()
        exc = self.builder.param(h)
        self.builder.on_exception(d, h)
        values = [exc, *(self.read(h, a) for a in handler.args)]
        for p, x in zip(self.blocks[fn, handler.target].params, values, strict=True):
            self.builder.write(h, ("param", p), x)
        self.builder.goto(h, self.target(fn, handler))

    def after_raising(self, fn: Function, d: Draft, handler: Edge, pos: Pos) -> Draft:
        """End a protected block after its raising statement; the block to go on with."""
        self.protect(fn, d, handler)
        onward = self.builder.new_block()
        self.builder.goto(d, onward, pos)
        return onward
