"""Cells of variables that are set before a function captures them, made where the first one does.

`x = np.asarray(x)` before `def inner(): ... x ...` is a local variable until then, of which it is known what it holds
where; the cell has one value, which is known, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mooncake_py.ir import ops
from mooncake_py.ir.graph import dominates, dominators, loops
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    Function,
    Operand,
    Try,
    all_edges,
    term_operands,
)
from mooncake_py.transform.cells import localise
from mooncake_py.transform.promote import promote_cells

Place = tuple[BlockId, int]
"""Before this statement of the block."""


def settle_cells(fn: Function) -> Function:
    """The function with what can be known of its cells: which are variables of its own, and what the others hold."""
    fn = localise(promote_cells(fn))
    late = made_late(fn)
    return fn if late is fn else localise(promote_cells(late))


@dataclass(slots=True)
class _Cell:
    """A cell that is made here: where, and what is done with it where."""

    made: Call
    place: Place
    accesses: dict[Place, Call] = field(default_factory=dict)  # reads and writes
    captured: list[Place] = field(default_factory=list)
    fixed: bool = False  # is it handed on from block to block?


def made_late(fn: Function) -> Function:
    """The function with such cells made late; itself where there is none."""
    if not fn.calls(ops.make_cell):
        return fn
    cells = _cells(fn)
    if not any(is_const(s.fn, ops.cell_set) for c in cells.values() if c.captured for s in c.accesses.values()):
        return fn
    graph = _Graph(fn)
    fresh = fresh_beside(fn)
    added: dict[Place, list[Call]] = {}
    renamed: dict[Call, dict[Operand, Operand]] = {}
    for v, c in cells.items():
        sets = [x for x, s in c.accesses.items() if is_const(s.fn, ops.cell_set)]
        unbound = is_const(c.made.args[0], ops.UNBOUND)
        if c.fixed or not c.captured or len(sets) == unbound:
            continue  # it has one value
        at = graph.first(c)
        early = [x for x in sets if at is not None and not graph.is_after(x, at)]
        if at is None or not early or (unbound and not any(graph.is_after(at, (b, i + 1)) for b, i in early)):
            continue  # nothing is gained, or it may be empty there
        name = c.made.out.name
        value, late = fresh.var(name), fresh.var(name)
        read = Call(value, Const(ops.cell_get), (v, Const(name)), (), c.made.pos)
        added.setdefault(at, []).extend((read, Call(late, Const(ops.make_cell), (value,), (), c.made.pos)))
        for x in (*c.accesses, *c.captured):
            if graph.is_after(x, at):
                renamed.setdefault(graph.blocks[x[0]].stmts[x[1]], {})[v] = late
    if not added:
        return fn
    return replace(fn, blocks=tuple([_with(b, added, renamed) for b in fn.blocks]))


def _cells(fn: Function) -> dict[Operand, _Cell]:
    """The cells that are made here. What is not a read or a write captures a cell: who has it may do either."""
    cells: dict[Operand, _Cell] = {}
    for b in fn.blocks:
        for i, s in enumerate(b.stmts):
            if is_const(s.fn, ops.make_cell):
                cells[s.out] = _Cell(s, (b.id, i))
    for b in fn.blocks if cells else ():
        for i, s in enumerate(b.stmts):
            accessed = s.args[0] if is_const(s.fn, ops.cell_get) or is_const(s.fn, ops.cell_set) else None
            if accessed in cells:
                cells[accessed].accesses[b.id, i] = s
            for v in (*s.args[1:], *[x for _, x in s.kwargs]) if accessed is not None else s.operands():
                if v in cells:
                    cells[v].captured.append((b.id, i))
        for v in (*term_operands(b.term), *(b.handler.args if b.handler is not None else ())):
            if v in cells:
                cells[v].fixed = True
    return cells


class _Graph:
    """Where blocks stand: what dominates them, the loops around them, and what may follow, exceptions included."""

    def __init__(self, fn: Function):
        self.blocks = {b.id: b for b in fn.blocks}
        self.idom = dominators(fn)
        self.loops = list(loops(fn, self.idom).values())
        self.next: dict[BlockId, list[BlockId]] = {b.id: [e.target for e in all_edges(b)] for b in fn.blocks}
        for b in fn.blocks:
            if isinstance(b.term, Try):
                self.next[b.term.body.target].append(b.term.handler.target)

    def around(self, b: BlockId) -> list[bool]:
        return [b in body for body in self.loops]

    def is_after(self, x: Place, y: Place) -> bool:
        """Is y on every way to x?"""
        return x[1] >= y[1] if x[0] == y[0] else dominates(self.idom, y[0], x[0])

    def first(self, c: _Cell) -> Place | None:
        """The last place on every way to where a cell is captured, from which there is no way to what comes before.

        None where that is where it is made, or a cell would be made there more often.
        """
        home = c.place[0]
        b: BlockId | None = c.captured[0][0]
        while b is not None and not all(dominates(self.idom, b, x) for x, _ in c.captured):
            b = self.idom[b]
        while b is not None:
            at = b, min((i for x, i in c.captured if x == b), default=len(self.blocks[b].stmts))
            if self.around(b) == self.around(home) and not self._comes_back(c, at):
                return at
            b = None if b == home else self.idom[b]
        return None

    def _comes_back(self, c: _Cell, at: Place) -> bool:
        """Can an access that is not surely behind this place be come to from there, without making the cell anew?"""
        home = c.place[0]
        others = {x[0] for x in c.accesses if not self.is_after(x, at)} - {home}
        seen: set[BlockId] = {home}
        work = list(self.next[at[0]])
        while work and others:
            b = work.pop()
            if b in others and b != home:
                return True
            if b not in seen:
                seen.add(b)
                work += self.next[b]
        return False


def _with(b: CFGBlock, added: dict[Place, list[Call]], renamed: dict[Call, dict[Operand, Operand]]) -> CFGBlock:
    stmts: list[Call] = []
    for i in range(len(b.stmts) + 1):
        stmts += added.get((b.id, i), ())
        if i < len(b.stmts):
            s = b.stmts[i]
            names = renamed.get(s)
            if names is not None:
                args = tuple([names.get(a, a) for a in s.args])
                s = Call(s.out, names.get(s.fn, s.fn), args, tuple([(k, names.get(a, a)) for k, a in s.kwargs]), s.pos)
            stmts.append(s)
    return replace(b, stmts=tuple(stmts))
