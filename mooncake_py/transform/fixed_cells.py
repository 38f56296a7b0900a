"""The cells of a function: who writes to them, and where they hold something."""

from __future__ import annotations

from collections import Counter
from typing import Any

from mooncake_py.ir import ops
from mooncake_py.ir.graph import dominators, loop_depth
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Function, Operand, term_operands
from mooncake_py.transform.promote import writes_free


class Cells:
    """Those that are made in one function: `fixed` are the ones that nobody but it writes to."""

    def __init__(self, fn: Function):
        self.fn = fn
        self.defs: dict[Operand, Call] = {s.out: s for b in fn.blocks for s in b.stmts}
        self.where: dict[Operand, tuple[CFGBlock, int]] = {
            s.out: (b, i) for b in fn.blocks for i, s in enumerate(b.stmts)
        }
        self.idom = dominators(fn)
        self.depth = loop_depth(fn)
        self.fresh = fresh_beside(fn)
        self.sets: dict[Operand, list[Call]] = {}
        self.rebound: set[Operand] = set()  # cells that inner functions write to, or hand on: given as cells
        self.fixed = self._fixed_cells()

    def _fixed_cells(self) -> set[Operand]:
        """The cells of this function that nobody else writes to; the others that only inner functions see are noted."""
        cells: set[Operand] = {v for v, s in self.defs.items() if is_const(s.fn, ops.make_cell)}
        tuples: dict[Operand, list[Call]] = {}
        for b in self.fn.blocks:
            for s in b.stmts:
                if is_const(s.fn, ops.build_tuple):
                    tuples[s.out] = []
                    continue
                reads = is_const(s.fn, ops.cell_get) or is_const(s.fn, ops.cell_set)
                cells.difference_update(s.args[1:] if reads else s.operands())
                if is_const(s.fn, ops.cell_set):
                    self.sets.setdefault(s.args[0], []).append(s)
                elif is_const(s.fn, ops.make_function) and s.args[4] in tuples:
                    tuples[s.args[4]].append(s)
            cells.difference_update(term_operands(b.term), b.handler.args if b.handler is not None else ())
        uses = Counter(v for b in self.fn.blocks for s in b.stmts for v in s.operands() if v in tuples)
        for tup, made in tuples.items():
            for k, cell in enumerate(self.defs[tup].args):
                if cell in cells:
                    codes = [s.args[0].value for s in made if isinstance(s.args[0], Const)]
                    if uses[tup] != len(made):
                        cells.discard(cell)
                    elif any(writes_free(c, c.co_freevars[k]) for c in codes):
                        self.rebound.add(cell)
        self.rebound &= cells
        return cells - self.rebound

    def before(self, a: Operand, b: Operand) -> bool:
        """Has statement a run whenever b runs?"""
        (block, i), (other, j) = self.where[a], self.where[b]
        if block is other:
            return i < j
        node: BlockId | None = self.idom.get(other.id)
        while node is not None and node != block.id:
            node = self.idom.get(node)
        return node is not None

    def is_bound(self, cell: Operand, at: Operand) -> bool:
        """Does the cell surely hold something when this statement runs?"""
        made = self.defs[cell]
        if not is_const(made.args[0], ops.UNBOUND):
            return True
        return any(self.before(s.out, at) for s in self.sets.get(cell, ()))

    def is_settled(self, cell: Operand) -> bool:
        """Does it hold, once it holds something, the same for good? Functions that are made may outlive a call."""
        sets = self.sets.get(cell, [])
        if not sets or not is_const(self.defs[cell].args[0], ops.UNBOUND):
            return not sets
        return len(sets) == 1 and not self.depth[self.where[sets[0].out][0].id]

    def held(self, cell: Operand) -> Call | None:
        """What made the value that a cell holds for good, once it holds one; None where that is not known."""
        sets, made = self.sets.get(cell, []), self.defs[cell]
        if is_const(made.args[0], ops.UNBOUND):
            return self.defs.get(sets[0].args[1]) if len(sets) == 1 else None
        return None if sets else self.defs.get(made.args[0])

    def constants(self, v: Operand) -> tuple[Any, ...] | None:
        """The numbers and strings that a tuple of default values is made of; None where there are others."""
        if isinstance(v, Const):
            items = v.value or ()
        else:
            made = self.defs.get(v)
            if made is None or not is_const(made.fn, ops.build_tuple):
                return None
            if not all(isinstance(a, Const) for a in made.args):
                return None
            items = tuple(a.value for a in made.args if isinstance(a, Const))
        return items if all(type(x) in (int, float, complex, bool, str, type(None)) for x in items) else None
