"""Closure cells that only this function sees are its local variables."""

from __future__ import annotations

from mooncake_py.frontend.ssa import Draft
from mooncake_py.ir import ops
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Var, term_operands
from mooncake_py.transform.protect import with_handlers, with_tries
from mooncake_py.transform.rebuild import Handler, Rebuild


def localise(fn: Function) -> Function:
    """The function without the cells that no other function can reach, and without functions nobody uses."""
    if not fn.calls(ops.make_cell):
        return fn
    fn = _without_unused(fn)
    cells = {s.out for b in fn.blocks for s in b.stmts if is_const(s.fn, ops.make_cell)}
    for b in fn.blocks:
        for s in b.stmts:
            reads = is_const(s.fn, ops.cell_get) or is_const(s.fn, ops.cell_set)
            cells.difference_update(s.args[1:] if reads else s.operands())
        cells.difference_update(_passed_on(b))
    return with_tries(_Localised(with_handlers(fn), cells).function()) if cells else fn


def _passed_on(b: CFGBlock) -> set[Var]:
    return {v for v in (*term_operands(b.term), *(b.handler.args if b.handler else ())) if isinstance(v, Var)}


def _without_unused(fn: Function) -> Function:
    """Functions whose calls were all taken in, and the tuples of their cells, are not made."""
    while True:
        uses = use_counts(fn)
        dead = {
            s
            for b in fn.blocks
            for s in b.stmts
            if (is_const(s.fn, ops.make_function) or is_const(s.fn, ops.build_tuple)) and not uses.get(s.out)
        }
        if not dead:
            return fn
        blocks = tuple(
            CFGBlock(b.id, b.params, tuple(s for s in b.stmts if s not in dead), b.term, b.handler) for b in fn.blocks
        )
        fn = Function(fn.name, fn.filename, fn.params, fn.free, blocks, fn.kind, fn.firstline)


class _Localised(Rebuild):
    def __init__(self, fn: Function, cells: set[Var]):
        super().__init__()
        self.fn, self.cells = fn, cells

    def function(self) -> Function:
        fn = self.fn
        params = tuple(self.fresh.var(p.name) for p in fn.params)
        free = tuple(self.fresh.var(v.name) for v in fn.free)
        for old, new in zip((*fn.params, *fn.free), (*params, *free), strict=True):
            self.builder.write(self.builder.entry, old, new)
        self.add(fn)
        self.copy(fn)
        self.builder.goto(self.builder.entry, self.drafts[fn, fn.entry.id])
        return Function(fn.name, fn.filename, params, free, self.builder.finish(), fn.kind, fn.firstline)

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        cell = s.out if is_const(s.fn, ops.make_cell) else s.args[0] if s.args else None
        if cell not in self.cells:
            return super().statement(fn, d, s, handler)
        key = ("content", cell)
        if is_const(s.fn, ops.make_cell):
            self.builder.write(d, key, self.read(d, s.args[0]))
        elif is_const(s.fn, ops.cell_set):
            self.builder.write(d, key, self.read(d, s.args[1]))
            self.builder.write(d, s.out, Const(None))
        else:
            name = s.args[1].value if isinstance(s.args[1], Const) else None
            value = self.builder.check_bound(d, self.builder.read(d, key, name), name or "", s.pos)
            if handler is not None:
                d = self.after_raising(fn, d, handler, s.pos)
            self.define(d, s.out, value, s.pos)
        return d
