"""Attributes of inner functions as variables that they share.

    def count(x):                    def count(x):
        count.n += 1                     nonlocal n
        return x * count.n    ->         n += 1
    count.n = 0                          return x * n
    count(x)                         n = 0
                                     count(x)

So it is where the function is only called, and its attributes are set before that and only read and set by their names.
"""

from __future__ import annotations

import types as pytypes
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand, Var, term_operands
from mooncake_py.lowering import lower
from mooncake_py.transform.fixed_cells import Cells


def with_attribute_cells(fn: Function) -> Function:
    """The function with such attributes as cells; itself where there are none."""
    if fn.suspends or not (fn.calls(setattr) and fn.calls(ops.make_function)):
        return fn
    while (simpler := _Attributes(fn).function()) is not None:
        fn = simpler
    return fn


class _Holder(NamedTuple):
    """A function with attributes: its cell, what stands for it, who captures it, and the names of the attributes."""

    cell: Operand
    names: set[Operand]
    makers: list[Call]
    attributes: list[str]


class _Attributes(Cells):
    def function(self) -> Function | None:
        """The function with the attributes of one inner function as cells; None where there is none."""
        found = next((h for c in self.fixed if (h := self._holder(c)) is not None), None)
        return None if found is None else self._with_cells(found)

    def _holder(self, cell: Operand) -> _Holder | None:
        """What is known of the function that a cell holds, where all that is done with it is seen."""
        sets = self.sets.get(cell, [])
        site = self.defs.get(sets[0].args[1]) if len(sets) == 1 else None
        if site is None or not is_const(site.fn, ops.make_function) or not self.is_settled(cell):
            return None
        if self.depth[self.where[site.out][0].id]:
            return None
        names: set[Operand] = {site.out}
        names |= {s.out for s in self.defs.values() if is_const(s.fn, ops.cell_get) and s.args[0] is cell}
        tuples = {s.out for s in self.defs.values() if is_const(s.fn, ops.build_tuple) and cell in s.args}
        makers = [s for s in self.defs.values() if is_const(s.fn, ops.make_function) and s.args[4] in tuples]
        if len(makers) != len(tuples) or not all(isinstance(m.args[0], Const) for m in makers):
            return None
        stmts = [s for s in self.defs.values() if s not in sets]
        read = _attributes_of(names, stmts, self.fn.blocks)
        inside = [_attributes_in(m.args[0].value, self.defs[m.args[4]].args.index(cell)) for m in makers]  # type: ignore[union-attr]
        if read is None or None in inside:
            return None
        attributes = sorted({*read, *(k for found in inside for k in found or ())})
        uses = [s for s in stmts if not names.isdisjoint(s.operands())]
        known = all(self._is_set_first(k, names, uses) for k in attributes)
        return _Holder(cell, names, makers, attributes) if attributes and known else None

    def _is_set_first(self, attribute: str, names: set[Operand], uses: Sequence[Call]) -> bool:
        """Is an attribute set before it is read, or the function is called?"""
        sets = [s for s in uses if is_const(s.fn, setattr) and is_const(s.args[1], attribute)]
        others = [s for s in uses if not is_const(s.fn, setattr)]
        return any(all(self.before(s.out, x.out) for x in others) for s in sets)

    def _with_cells(self, h: _Holder) -> Function:
        assert isinstance(h.cell, Var)
        name = str(h.cell.name)
        cells = {k: self.fresh.var(f"{name}.{k}") for k in h.attributes}
        capturing = {m.args[4] for m in h.makers}

        def at(s: Call) -> Call:
            if s.out in capturing:
                return replace(s, args=(*s.args, *cells.values()))
            if s in h.makers:
                code = _with_free(s.args[0].value, self.defs[s.args[4]].args.index(h.cell), name, h.attributes)  # type: ignore[union-attr]
                return replace(s, args=(Const(code), *s.args[1:]))
            return _as_access(s, h.names, cells)

        made = [Call(v, Const(ops.make_cell), (Const(ops.UNBOUND),), (), h.makers[0].pos) for v in cells.values()]
        blocks = [CFGBlock(b.id, b.params, tuple(map(at, b.stmts)), b.term, b.handler) for b in self.fn.blocks]
        blocks[0] = replace(blocks[0], stmts=(*made, *blocks[0].stmts))
        return replace(self.fn, blocks=tuple(blocks))


def _attributes_of(names: set[Operand], stmts: Iterable[Call], blocks: Sequence[CFGBlock]) -> set[str] | None:
    """The attributes that are read and set; None where more is done with the function than that and to call it."""
    for b in blocks:
        if not names.isdisjoint((*term_operands(b.term), *(b.handler.args if b.handler is not None else ()))):
            return None
    found: set[str] = set()
    for s in stmts:
        given = (*s.args, *[v for _, v in s.kwargs])
        if (is_const(s.fn, getattr) or is_const(s.fn, setattr)) and s.args[0] in names:
            word = s.args[1].value if isinstance(s.args[1], Const) else None
            if not isinstance(word, str) or word[:2] == "__":
                return None
            found.add(word)
            given = s.args[2:]
        if not names.isdisjoint(given):
            return None
    return found


def _attributes_in(code: pytypes.CodeType, k: int) -> set[str] | None:
    """The same for the code of a function that has captured it as its free variable k."""
    body = normalise(code)
    stmts = [s for b in body.blocks for s in b.stmts]
    cell = body.free[k]
    reads = [s for s in stmts if is_const(s.fn, ops.cell_get) and s.args[0] is cell]
    others = [s for s in stmts if s not in reads]
    if body.suspends or any(cell in s.operands() for s in others):
        return None
    return _attributes_of({s.out for s in reads}, others, body.blocks)


def _as_access(s: Call, names: set[Operand], cells: dict[str, Var]) -> Call:
    if is_const(s.fn, getattr) and s.args[0] in names:
        cell = cells[s.args[1].value]  # type: ignore[union-attr]
        return Call(s.out, Const(ops.cell_get), (cell, Const(cell.name)), (), s.pos)
    if is_const(s.fn, setattr) and s.args[0] in names:
        return Call(s.out, Const(ops.cell_set), (cells[s.args[1].value], s.args[2]), (), s.pos)  # type: ignore[union-attr]
    return s


_codes: dict[tuple[pytypes.CodeType, int, str, tuple[str, ...]], pytypes.CodeType] = {}


def _with_free(code: pytypes.CodeType, k: int, name: str, attributes: Sequence[str]) -> pytypes.CodeType:
    """The code with the attributes of what its free variable k holds as more free variables."""
    key = code, k, name, tuple(attributes)
    if key not in _codes:
        if len(_codes) > 5000:
            _codes.clear()
        body = normalise(code)
        fresh = fresh_beside(body)
        cells = {a: fresh.var(f"{name}.{a}") for a in attributes}
        names: set[Operand] = {
            s.out for b in body.blocks for s in b.stmts if is_const(s.fn, ops.cell_get) and s.args[0] is body.free[k]
        }
        blocks = tuple([replace(b, stmts=tuple([_as_access(s, names, cells) for s in b.stmts])) for b in body.blocks])
        whole = replace(body, free=(*body.free, *cells.values()), blocks=blocks)
        like = code.replace(co_freevars=(*code.co_freevars, *[f"{name}.{a}" for a in attributes]))
        _codes[key] = lower(whole, like=like)
    return _codes[key]
