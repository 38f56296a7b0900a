"""Generator functions as ordinary ones: what lives across a `yield` moves into cells, and the body becomes a function
that is called for every item.

    def g(x):                        def g(x):
        for i in range(3):               state, it = <cells>
            yield x * i       ->         def resume(sent, thrown):
                                             <go where state says>; ...; return False, x * i
                                         return make_generator(resume)

`resume` returns `(done, value)`: an item, or the return value with the end. Functions, cells and branches are what
the engine differentiates anyway, so generators need no reverse of their own.
"""

from __future__ import annotations

import operator
import types as pytypes

from mooncake_py.frontend.reducible import make_reducible
from mooncake_py.frontend.ssa import Draft, SSABuilder, can_raise
from mooncake_py.ir import ops
from mooncake_py.ir.graph import liveness
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    NO_POS,
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
    Var,
    term_operands,
)
from mooncake_py.iterators import advance, make_generator
from mooncake_py.lowering import lower

FINISHED = -1
START = 0

_made: dict[pytypes.CodeType, Function] = {}


def as_function(body: Function, code: pytypes.CodeType) -> Function:
    """The function that makes the generator, for the normal form of a generator function's code."""
    found = _made.get(code)
    if found is None:
        found = _made[code] = _Splitter(body, code).maker()
    return found


def _term_values(b: CFGBlock) -> list[Operand]:
    return [*term_operands(b.term), *(b.handler.args if b.handler else ())]


class _Splitter:
    def __init__(self, body: Function, code: pytypes.CodeType):
        self.body, self.code = body, code
        self.kept = self._kept()  # what lives across a yield, with the name of its cell

    # -- what is kept --

    def _kept(self) -> dict[Var, str]:
        """The values that are needed after some yield: they get a cell each."""
        _, live_out = liveness(self.body)
        self.live: dict[Var, list[Var]] = {}
        order: dict[Var, None] = {}
        for b in self.body.blocks:
            needed = set(live_out[b.id])
            needed.update(v for v in _term_values(b) if isinstance(v, Var))
            for s in reversed(b.stmts):
                needed.discard(s.out)
                suspends = is_const(s.fn, ops.yield_) or is_const(s.fn, ops.yield_from)
                if suspends:
                    here = set(needed)
                    if is_const(s.fn, ops.yield_from) and isinstance(s.args[0], Var):
                        here.add(s.args[0])
                    self.live[s.out] = sorted((v for v in here if v not in self.body.free), key=lambda v: v.id)
                    order.update(dict.fromkeys(self.live[s.out]))
                needed.update(v for v in s.operands() if isinstance(v, Var))
        names: dict[Var, str] = {}
        taken = {v.name for v in self.body.free} | {"state"}
        for v in sorted(order, key=lambda v: v.id):
            name, n = v.name or f"v{v.id}", 1
            while name in taken:
                n += 1
                name = f"{v.name or f'v{v.id}'}_{n}"
            taken.add(name)
            names[v] = name
        return names

    # -- the maker --

    def maker(self) -> Function:
        body, fresh = self.body, Fresh()
        resume = lower(self._resume(), argnames=("sent", "thrown"), qualname=self.code.co_qualname)
        params = tuple(fresh.var(p.name) for p in body.params)
        free = tuple(fresh.var(v.name) for v in body.free)
        pos = Pos(body.firstline)
        stmts: list[Call] = []

        def call(fn: object, *args: Operand, name: str | None = None) -> Var:
            out = fresh.var(name)
            stmts.append(Call(out, Const(fn), args, (), pos))
            return out

        given = dict(zip(body.params, params, strict=True))
        cells: list[Operand] = [*free, call(ops.make_cell, Const(START), name="state")]
        for v in self.kept:
            cells.append(call(ops.make_cell, given.get(v, Const(ops.UNBOUND)), name=self.kept[v]))
        for p in params:
            if p not in {given[v] for v in self.kept if v in given}:
                cells.append(call(ops.make_cell, p, name=p.name))
        closure = call(ops.build_tuple, *cells)
        none = Const(None)
        fn = call(ops.make_function, Const(resume), none, none, none, closure)
        out = call(make_generator, fn)
        block = CFGBlock(fresh.block(), (), tuple(stmts), Return(out, pos))
        return Function(body.name, body.filename, params, free, (block,), "function", body.firstline)

    # -- the function that runs to the next yield --

    def _resume(self) -> Function:
        body = self.body
        self.fresh = Fresh()
        self.builder = SSABuilder(self.fresh)
        self.sent, self.thrown = self.fresh.var("sent"), self.fresh.var("thrown")
        self.free = {v: self.fresh.var(v.name) for v in body.free}
        self.state = self.fresh.var("state")
        self.cells = {v: self.fresh.var(name) for v, name in self.kept.items()}
        only_start = [p for p in body.params if p not in self.kept]
        start_cells = {p: self.fresh.var(p.name) for p in only_start}
        self.drafts: dict[BlockId, Draft] = {b.id: self.builder.new_block() for b in body.blocks}
        self.resumes: list[Draft] = []
        entry = self.builder.entry
        dispatch = self.builder.new_block()
        first = self.builder.new_block()
        for b in body.blocks:
            self._block(b)
        # The dispatch comes last, when all states are known.
        pos = Pos(body.firstline)
        where = self._emit(entry, pos, ops.cell_get, self.state, Const("state"))
        self._emit(entry, pos, ops.cell_set, self.state, Const(FINISHED))
        self.builder.goto(entry, dispatch, pos)
        for k, target in enumerate([first, *self.resumes]):
            here = self._emit(dispatch, pos, operator.eq, where, Const(k))
            onward = self.builder.new_block()
            self.builder.branch(dispatch, here, target, onward, pos)
            dispatch = onward
        self._throw_or(dispatch, pos, None, self._ended(pos))
        for v, cell in (*self.cells.items(), *start_cells.items()):
            if v in body.params:
                self.builder.write(first, v, self._emit(first, pos, ops.cell_get, cell, Const(v.name), name=v.name))
        self._throw_or(first, pos, None, self.drafts[body.entry.id])
        make_reducible(self.builder)
        blocks = self.builder.finish()
        free = (*self.free.values(), self.state, *self.cells.values(), *start_cells.values())
        return Function(body.name, body.filename, (self.sent, self.thrown), free, blocks, "function", body.firstline)

    def _ended(self, pos: Pos) -> Draft:
        d = self.builder.new_block()
        self.builder.ret(d, self._emit(d, pos, ops.build_tuple, Const(True), Const(None)), pos)
        return d

    def _emit(self, d: Draft, pos: Pos, fn: object, *args: Operand, name: str | None = None) -> Var:
        out = self.fresh.var(name)
        d.stmts.append([out, Const(fn), args, (), pos])
        return out

    def _throw_or(self, d: Draft, pos: Pos, handler: tuple[CFGBlock, Edge] | None, onward: Draft) -> None:
        """End a block by raising what `throw` brought, or going on."""
        thrown = self._emit(d, pos, operator.is_not, self.thrown, Const(None))
        raises = self.builder.new_block()
        self.builder.branch(d, thrown, raises, onward, pos)
        if handler is not None:
            self._protect(raises, handler)
        self.builder.raise_(raises, self.thrown, None, False, pos)

    def _read(self, d: Draft, v: Operand) -> Operand:
        if not isinstance(v, Var):
            return v
        return self.free[v] if v in self.free else self.builder.read(d, v, v.name)

    def _define(self, d: Draft, v: Var, value: Operand, pos: Pos) -> None:
        self.builder.write(d, v, value)
        if v in self.cells:
            self._emit(d, pos, ops.cell_set, self.cells[v], value)

    def _protect(self, d: Draft, handler: tuple[CFGBlock, Edge]) -> None:
        _, edge = handler
        h = self.builder.new_block()
        exc = self.builder.param(h)
        target = next(b for b in self.body.blocks if b.id == edge.target)
        self.builder.on_exception(d, h)
        values = [exc, *(self._read(h, a) for a in edge.args)]
        for p, x in zip(target.params, values, strict=True):
            self.builder.write(h, ("param", p), x)
        self.builder.goto(h, self.drafts[edge.target])

    def _edge(self, d: Draft, e: Edge, item: bool = False) -> Draft:
        """A block for the edge, where the target's parameters get their values."""
        via = self.builder.new_block()
        target = next(b for b in self.body.blocks if b.id == e.target)
        first = [self.builder.param(via)] if item else []
        self._pending.append((via, target, first, e))
        return via

    def _block(self, b: CFGBlock) -> None:
        d = self.drafts[b.id]
        handler = None if b.handler is None else (b, b.handler)
        for p in b.params:
            self._define(d, p, self.builder.read(d, ("param", p), p.name), NO_POS)
        for s in b.stmts:
            if is_const(s.fn, ops.yield_):
                d = self._suspend(d, self._read(d, s.args[0]), s, handler)
                self._define(d, s.out, self.sent, s.pos)
                continue
            if is_const(s.fn, ops.yield_from):
                d = self._delegate(d, s, handler)
                continue
            out = self.fresh.var(s.out.name)
            fn = Const(iter) if is_const(s.fn, ops.get_yield_from_iter) else self._read(d, s.fn)
            kwargs = tuple((k, self._read(d, v)) for k, v in s.kwargs)
            d.stmts.append([out, fn, tuple(self._read(d, a) for a in s.args), kwargs, s.pos])
            if handler is not None and can_raise(s.fn):
                d = self._after_raising(d, handler, s.pos)
            self._define(d, s.out, out, s.pos)
        self._pending: list[tuple[Draft, CFGBlock, list[Var], Edge]] = []
        term = b.term
        pos = term.pos
        match term:
            case Goto(edge=e):
                self.builder.goto(d, self._edge(d, e), pos)
            case Branch(cond=c, then=x, orelse=y):
                self.builder.branch(d, self._read(d, c), self._edge(d, x), self._edge(d, y), pos)
            case ForNext(iterator=it, body=x, done=y):
                if handler is not None:
                    self._protect(d, handler)
                self.builder.for_next(d, self._read(d, it), self._edge(d, x, item=True), self._edge(d, y), pos)
            case Return(value=v):
                self.builder.ret(d, self._emit(d, pos, ops.build_tuple, Const(True), self._read(d, v)), pos)
            case Raise(exc=x, cause=y, reraise=r):
                if handler is not None:
                    self._protect(d, handler)
                exc = None if x is None else self._read(d, x)
                self.builder.raise_(d, exc, None if y is None else self._read(d, y), r, pos)
        for via, target, first, e in self._pending:
            for p, x in zip(target.params, [*first, *(self._read(via, a) for a in e.args)], strict=True):
                self.builder.write(via, ("param", p), x)
            self.builder.goto(via, self.drafts[target.id], pos)

    def _after_raising(self, d: Draft, handler: tuple[CFGBlock, Edge], pos: Pos) -> Draft:
        self._protect(d, handler)
        onward = self.builder.new_block()
        self.builder.goto(d, onward, pos)
        return onward

    def _suspend(self, d: Draft, value: Operand, s: Call, handler: tuple[CFGBlock, Edge] | None) -> Draft:
        """Return the item; the block that goes on when the generator is resumed."""
        back = self.builder.new_block()
        self.resumes.append(back)
        self._emit(d, s.pos, ops.cell_set, self.state, Const(len(self.resumes)))
        self.builder.ret(d, self._emit(d, s.pos, ops.build_tuple, Const(False), value), s.pos)
        for v in self.live[s.out]:
            self.builder.write(
                back, v, self._emit(back, s.pos, ops.cell_get, self.cells[v], Const(v.name), name=v.name)
            )
        onward = self.builder.new_block()
        if is_const(s.fn, ops.yield_):
            self._throw_or(back, s.pos, handler, onward)
        else:
            self.builder.goto(back, onward, s.pos)
        return onward

    def _delegate(self, d: Draft, s: Call, handler: tuple[CFGBlock, Edge] | None) -> Draft:
        """`yield from`: the other's items one by one, with what `send` and `throw` bring handed on."""
        loop, again, done = (self.builder.new_block() for _ in range(3))
        self.builder.write(d, ("sent", s.out), Const(None))
        self.builder.write(d, ("thrown", s.out), Const(None))
        self.builder.goto(d, loop, s.pos)
        sent = self.builder.read(loop, ("sent", s.out))
        thrown = self.builder.read(loop, ("thrown", s.out))
        pair = self._emit(loop, s.pos, advance, self._read(loop, s.args[0]), sent, thrown)
        if handler is not None:
            loop_on = self._after_raising(loop, handler, s.pos)
        else:
            loop_on = loop
        finished = self._emit(loop_on, s.pos, operator.getitem, pair, Const(0))
        value = self._emit(loop_on, s.pos, operator.getitem, pair, Const(1))
        self.builder.branch(loop_on, finished, done, again, s.pos)
        resumed = self._suspend(again, value, s, handler)
        self.builder.write(resumed, ("sent", s.out), self.sent)
        self.builder.write(resumed, ("thrown", s.out), self.thrown)
        self.builder.goto(resumed, loop, s.pos)
        self._define(done, s.out, value, s.pos)
        return done
