"""Inner functions without the names of others, where nobody asks what they are called.

    @functools.wraps(f)
    def g(x): return f(x)    ->    def g(x): return f(x)

So it is where g is only called: what `wraps` copies is not seen by anybody, and which function is called is known.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.types import Known, T
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const, map_function
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand, Var, all_edges, term_operands
from mooncake_py.transform.fixed_cells import Cells


def without_names(fn: Function, types: Mapping[Var, T]) -> Function | None:
    """The function with such functions as they were made; None where there is none."""
    if fn.suspends or not fn.calls(ops.make_function):
        return None
    if not any(isinstance(t, Known) and t.value is functools.wraps for t in types.values()):
        return None
    return _Unnamed(fn, types).function()


class _Unnamed(Cells):
    def __init__(self, fn: Function, types: Mapping[Var, T]):
        super().__init__(fn)
        self.types = types
        self.looked: set[Operand] = set()  # what is known to be only called, or is being looked at

    def function(self) -> Function | None:
        for s in self.defs.values():
            named = self.defs.get(s.fn)
            self.looked.clear()
            if named is None or not self._is_name_of_one(s, named):
                continue
            g = s.args[0]
            dead = {s, named}
            return map_function(self.fn, lambda v, s=s, g=g: g if v is s.out else v, dead)  # type: ignore[misc]
        return None

    def _is_name_of_one(self, s: Call, named: Call) -> bool:
        """Is it `wraps(f)(g)` of two functions that are made here, and is what that gives only called?"""
        if not self._is_wraps(named) or len(s.args) != 1 or s.kwargs:
            return False
        wrapped, g = named.args[0], s.args[0]
        made, source = self.defs.get(g), self.defs.get(wrapped)
        if made is None or not is_const(made.fn, ops.make_function) or source is None:
            return False
        earlier = self.defs.get(source.fn)
        if not is_const(source.fn, ops.make_function) and (earlier is None or not self._is_wraps(earlier)):
            return False
        if self._users(g) != [s] or self._users(named.out) != [s]:
            return False
        return self._is_only_called(s.out)

    def _is_wraps(self, s: Call) -> bool:
        value: Any = s.fn.value if isinstance(s.fn, Const) else None
        t = self.types.get(s.fn) if isinstance(s.fn, Var) else Known(value)
        return isinstance(t, Known) and t.value is functools.wraps and len(s.args) == 1 and not s.kwargs

    def _users(self, v: Operand) -> list[Call] | None:
        """The statements that use a value; None where it goes elsewhere."""
        if any(v in _ends(b) for b in self.fn.blocks):
            return None
        return [s for s in self.defs.values() if v in s.operands()]

    def _is_only_called(self, v: Operand) -> bool:
        """Is all that is done with a function, also by those who capture it, to call it?"""
        if v in self.looked:
            return True
        self.looked.add(v)
        users = self._users(v)
        if users is None:
            return False
        for s in users:
            if is_const(s.fn, ops.cell_set) and s.args[1] is v:
                cell: Operand = s.args[0]
            elif is_const(s.fn, ops.make_cell):
                cell = s.out
            elif _only_calls(s, {v}):
                continue
            else:
                return False
            if cell not in self.fixed or not self._holds_what_is_only_called(cell):
                return False
        return True

    def _holds_what_is_only_called(self, cell: Operand) -> bool:
        users = self._users(cell)
        if users is None:
            return False
        for s in users:
            if is_const(s.fn, ops.cell_get):
                if not self._is_only_called(s.out):
                    return False
            elif is_const(s.fn, ops.build_tuple):
                makers = self._users(s.out)
                if makers is None or not all(_captures(m, s.out) for m in makers):
                    return False
                k = s.args.index(cell)
                if not all(_is_only_called_in(m.args[0], k) for m in makers):
                    return False
            elif not is_const(s.fn, ops.cell_set):
                return False
        return True


def _ends(b: CFGBlock) -> list[Operand]:
    """What the end of a block reads, or hands to others."""
    return [*term_operands(b.term), *(v for e in all_edges(b) for v in e.args)]


def _only_calls(s: Call, names: set[Operand]) -> bool:
    return names.isdisjoint((*s.args, *[v for _, v in s.kwargs]))


def _captures(s: Call, cells: Operand) -> bool:
    return is_const(s.fn, ops.make_function) and s.args[4] is cells and cells not in s.args[:4]


def _is_only_called_in(code: Operand, k: int) -> bool:
    """Is what its free variable k holds only called by this code, which hands it on to nobody?"""
    if not isinstance(code, Const):
        return False
    try:
        body = normalise(code.value)
    except UnsupportedError:
        return False
    cell = body.free[k]
    stmts: Iterable[Call] = [s for b in body.blocks for s in b.stmts]
    names: set[Operand] = {s.out for s in stmts if is_const(s.fn, ops.cell_get) and s.args[0] is cell}
    if any(cell in s.operands() and s.out not in names for s in stmts):
        return False
    if any(not names.isdisjoint(_ends(b)) for b in body.blocks):
        return False
    return all(_only_calls(s, names) for s in stmts)
