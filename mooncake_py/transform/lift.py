"""Inner functions that call themselves, as functions of what they capture.

Such a function reaches itself, and what else it captured, through cells. Where all it does with a cell is to read it,
and nobody writes to the cell while the function runs, a call of it is the call of a function without cells that is
given the contents: one whose types can be found, and whose rule is known before it runs. The function that is made
stays for those who do more with it than to call it.
"""

from __future__ import annotations

import types as pytypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mooncake_py.frontend import normalise
from mooncake_py.infer.codes import FRAME_NAMES
from mooncake_py.infer.results import is_plain
from mooncake_py.ir import ops
from mooncake_py.ir.graph import dominators
from mooncake_py.ir.mapping import all_vars, is_const, map_function
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Fresh, Function, Operand, Var, term_operands
from mooncake_py.lowering import lower
from mooncake_py.transform.primal import writes_free


def lift(fn: Function, globals_: dict[str, Any]) -> Function | None:
    """The function with calls of recursive inner functions as calls of functions without cells; None where none is."""
    if fn.kind != "function" or not any(_may_recur(s) for b in fn.blocks for s in b.stmts):
        return None
    return _Lifting(fn, globals_).function()


def _may_recur(s: Call) -> bool:
    return is_const(s.fn, ops.make_function) and isinstance(s.args[4], Var)


@dataclass(slots=True)
class _Inner:
    """A function made in this one: what made it, its body, and its cells in the order of its free variables."""

    site: Call
    code: pytypes.CodeType
    body: Function
    cells: tuple[Operand, ...]
    defaults: tuple[Any, ...]


class _Lifting:
    def __init__(self, fn: Function, globals_: dict[str, Any]):
        self.fn, self.globals = fn, globals_
        self.defs: dict[Operand, Call] = {s.out: s for b in fn.blocks for s in b.stmts}
        self.where: dict[Operand, tuple[CFGBlock, int]] = {
            s.out: (b, i) for b in fn.blocks for i, s in enumerate(b.stmts)
        }
        self.idom = dominators(fn)
        self.fresh = Fresh(1 + max(v.id for v in all_vars(fn)), 0)
        self.sets: dict[Operand, list[Call]] = {}
        self.fixed = self._fixed_cells()
        self.inner: dict[Operand, _Inner] = {}  # by the cell that holds it
        for cell in self.fixed:
            found = self._inner(cell)
            if found is not None:
                self.inner[cell] = found
        while dropped := [c for c, f in self.inner.items() if not self._only_reads(f)]:
            for c in dropped:
                del self.inner[c]

    # -- cells --

    def _fixed_cells(self) -> set[Operand]:
        """The cells of this function that nobody else writes to."""
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
        for tup, made in tuples.items():
            seen = sum(v is tup for b in self.fn.blocks for s in b.stmts for v in s.operands())
            for k, cell in enumerate(self.defs[tup].args):
                if cell in cells:
                    codes = [s.args[0].value for s in made if isinstance(s.args[0], Const)]
                    if seen != len(made) or any(writes_free(c, c.co_freevars[k]) for c in codes):
                        cells.discard(cell)
        return cells

    def _before(self, a: Operand, b: Operand) -> bool:
        """Has statement a run whenever b runs?"""
        (block, i), (other, j) = self.where[a], self.where[b]
        if block is other:
            return i < j
        node: BlockId | None = self.idom.get(other.id)
        while node is not None and node != block.id:
            node = self.idom.get(node)
        return node is not None

    def _is_bound(self, cell: Operand, at: Operand) -> bool:
        """Does the cell surely hold something when this statement runs?"""
        made = self.defs[cell]
        if not is_const(made.args[0], ops.UNBOUND):
            return True
        return any(self._before(s.out, at) for s in self.sets.get(cell, ()))

    # -- functions --

    def _inner(self, cell: Operand) -> _Inner | None:
        """The function that a cell holds, once it is bound, where that can be called without cells."""
        sets = self.sets.get(cell, [])
        if len(sets) != 1 or not is_const(self.defs[cell].args[0], ops.UNBOUND):
            return None
        site = self.defs.get(sets[0].args[1])
        if site is None or not _may_recur(site) or not isinstance(site.args[0], Const):
            return None
        code = site.args[0].value
        if not is_plain(code) or not FRAME_NAMES.isdisjoint(code.co_names) or not is_const(site.args[2], None):
            return None
        closure = self.defs.get(site.args[4])
        defaults = self._constants(site.args[1])
        body = normalise(code)
        if closure is None or defaults is None or body.kind != "function":
            return None
        return _Inner(site, code, body, closure.args, defaults)

    def _constants(self, v: Operand) -> tuple[Any, ...] | None:
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

    def _only_reads(self, f: _Inner) -> bool:
        """Does it do no more with its cells than to read the values, and to call the functions, in them?"""
        if any(c not in self.fixed for c in f.cells):
            return False
        held: dict[Operand, Operand] = dict(zip(f.body.free, f.cells, strict=True))
        called: dict[Operand, _Inner] = {}
        for b in f.body.blocks:
            for s in b.stmts:
                if is_const(s.fn, ops.cell_get) and s.args[0] in held:
                    cell = held[s.args[0]]
                    if cell in self.inner:
                        called[s.out] = self.inner[cell]
                    elif self._holds_function(cell):
                        return False
                elif any(v in held for v in s.operands()):
                    return False
        for b in f.body.blocks:
            ends = (*term_operands(b.term), *(b.handler.args if b.handler is not None else ()))
            if any(v in called for v in ends):
                return False
            for s in b.stmts:
                if any(v in called for v in (*s.args, *(v for _, v in s.kwargs))):
                    return False
                if s.fn in called and _bound(called[s.fn], s) is None:
                    return False
        return True

    def _holds_function(self, cell: Operand) -> bool:
        return any(_may_recur(d) for s in self.sets.get(cell, ()) if (d := self.defs.get(s.args[1])) is not None)

    def _reached(self, cell: Operand) -> list[Operand]:
        """The cells of the functions that a call of this one may run, itself first."""
        found: list[Operand] = [cell]
        for c in found:
            found += [x for x in self.inner[c].cells if x in self.inner and x not in found]
        return found

    # -- the function with other calls --

    def function(self) -> Function | None:
        of_site: dict[Operand, Operand] = {f.site.out: cell for cell, f in self.inner.items()}
        changed = False
        blocks = []
        for b in self.fn.blocks:
            stmts: list[Call] = []
            for s in b.stmts:
                cell = of_site.get(s.fn)
                got = self.defs.get(s.fn)
                if cell is None and got is not None and is_const(got.fn, ops.cell_get) and got.args[0] in self.inner:
                    cell = got.args[0] if self._is_bound(got.args[0], got.out) else None
                new = None if cell is None else self._direct(cell, s)
                changed = changed or new is not None
                stmts += [s] if new is None else new
            blocks.append(CFGBlock(b.id, b.params, tuple(stmts), b.term, b.handler))
        fn = self.fn
        if not changed:
            return None
        return Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)

    def _direct(self, cell: Operand, call: Call) -> list[Call] | None:
        """The call of a function in a cell, of one that calls itself, with what it captured as arguments."""
        group = self._reached(cell)
        args = _bound(self.inner[cell], call)
        if args is None or not any(cell in self.inner[c].cells for c in group):
            return None
        values = list(
            dict.fromkeys(self.defs[x].out for c in group for x in self.inner[c].cells if x not in self.inner)
        )
        if not all(self._is_bound(x, call.out) for x in (*values, *group)):
            return None
        reads = [Call(self.fresh.var(), Const(ops.cell_get), (x, Const(x.name)), (), call.pos) for x in values]
        f = self._lifted(group, values)
        return [*reads, Call(call.out, Const(f), (*(r.out for r in reads), *args), (), call.pos)]

    def _lifted(self, group: list[Operand], values: list[Var]) -> pytypes.FunctionType:
        """The first of these functions, with the contents of these cells as its first parameters."""
        roles = [
            tuple(values.index(x) if x in values else self.inner[x].code for x in self.inner[c].cells) for c in group
        ]
        parts = [(self.inner[c], r) for c, r in zip(group, roles, strict=True)]
        key = id(self.globals), *((f.code, f.code.co_filename, repr(f.defaults), r) for f, r in parts)
        known = _lifted.get(key)
        if known is None:
            made = {c: pytypes.FunctionType(_EMPTY, self.globals, self.inner[c].code.co_name) for c in group}
            for c, f in made.items():
                f.__code__ = self._code(self.inner[c], values, made)
                f.__qualname__ = self.inner[c].code.co_qualname
            if len(_lifted) > 5000:
                _lifted.clear()
            known = _lifted[key] = made[group[0]]
        return known

    def _code(self, f: _Inner, values: Sequence[Var], made: dict[Operand, pytypes.FunctionType]) -> pytypes.CodeType:
        body = f.body
        fresh = Fresh(1 + max(v.id for v in all_vars(body)), 0)
        extra = [fresh.var(x.name) for x in values]
        held: dict[Operand, Operand] = dict(zip(body.free, f.cells, strict=True))
        content: dict[Operand, Operand] = dict(zip(values, extra, strict=True))
        given: dict[Operand, Operand] = {}
        called: dict[Operand, Operand] = {}
        dead: set[Call] = set()
        for s in (s for b in body.blocks for s in b.stmts):
            if is_const(s.fn, ops.cell_get) and s.args[0] in held:
                cell = held[s.args[0]]
                if cell in made:
                    called[s.out] = cell
                else:
                    given[s.out] = content[cell]
                dead.add(s)

        def at(s: Call) -> Call:
            if s.fn not in called:
                return s
            args = _bound(self.inner[called[s.fn]], s)
            assert args is not None
            return Call(s.out, Const(made[called[s.fn]]), (*extra, *args), (), s.pos)

        blocks = tuple(
            CFGBlock(b.id, b.params, tuple([at(s) for s in b.stmts if s not in dead]), b.term, b.handler)
            for b in body.blocks
        )
        params = (*extra, *body.params)
        whole = Function(body.name, body.filename, params, (), blocks, body.kind, body.firstline)
        return lower(map_function(whole, lambda v: given.get(v, v)), qualname=f.code.co_qualname)


_EMPTY = (lambda: None).__code__
_lifted: dict[Any, pytypes.FunctionType] = {}


def _bound(f: _Inner, call: Call) -> tuple[Operand, ...] | None:
    """The arguments of a call in the order of the parameters; None where they do not simply fit."""
    code, n = f.code, f.code.co_argcount
    names = code.co_varnames[:n]
    args: list[Operand] = list(call.args)
    given = dict(call.kwargs)
    for i in range(len(args), n):
        if names[i] in given and i >= code.co_posonlyargcount:
            args.append(given.pop(names[i]))
        elif i >= n - len(f.defaults):
            args.append(Const(f.defaults[i - n + len(f.defaults)]))
        else:
            return None
    return tuple(args) if len(args) == n and not given else None
