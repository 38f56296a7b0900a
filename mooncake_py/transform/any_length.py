"""Tuples of any length that are only looked into, and put together, are lists.

Of such a tuple the cotangent is one for the whole, made anew for every item that is read; of a list each item has one.
What is read by index, or is given to another sum of tuples, may as well come out of a list that nobody changes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from mooncake_py import tuples
from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.types import Known, Lst, Many, T, Tup, widen
from mooncake_py.ir import ops
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import fresh_beside, map_function, map_terminator
from mooncake_py.ir.nodes import (
    Call,
    CFGBlock,
    Const,
    Edge,
    Function,
    Operand,
    Pos,
    Var,
    brings_value,
    edges,
    own_operands,
)

_OF_LISTS = {tuples.item: operator.getitem, tuples.length: len, tuples.filled: ops.truth, tuples.empty: operator.not_}
"""What is done with such a tuple, and what it is of a list."""
_LOOK = frozenset({operator.add, operator.mul, operator.getitem, operator.contains, len, sum, min, max, list, tuple})
_LOOK |= {math.fsum, math.prod, np.array, np.asarray, ops.check_length}
_NEW = frozenset({ops.build_list, operator.add, operator.mul, tuples.items, list})
"""What only looks into a list, and what makes a new one."""


def of_any_length(inferred: Inferred) -> Function | None:
    """The function with such tuples as lists; None where there are none."""
    members = {v for v, t in inferred.types.items() if isinstance(t, Many) and t.active}
    if not members or any(b.handler is not None for b in inferred.fn.blocks):
        return None
    found = _Tuples(inferred, members)
    return found.as_lists() if found.members else None


class _Tuples:
    """The tuples that a function makes, of numbers and of a length that is not known, and what is done with them."""

    def __init__(self, inferred: Inferred, members: set[Var]):
        self.fn, self.types, self.members = inferred.fn, inferred.types, members
        self.reached = inferred.reached
        self.blocks = [b for b in self.fn.blocks if b.id in self.reached]
        self.params = {b.id: b.params for b in self.fn.blocks}
        self.defs: dict[Operand, Call] = {s.out: s for b in self.blocks for s in b.stmts}
        self.counts: dict[Operand, int] = dict(use_counts(self.fn).items())
        self._drop(self._others())

    def _drop(self, others: set[Var]) -> None:
        """Drop what has to be a tuple, and all that comes from it or goes to it."""
        passed = [pair for b in self.blocks for e in edges(b.term) for pair in self._passed(e)]
        while others:
            self.members -= others
            others = {v for a, p in passed for v in self._parted(a, p)}

    def _parted(self, a: Operand, p: Var) -> Iterable[Var]:
        """Of the two those that have to be a tuple, because the other one is something else."""
        if p in self.members:
            return () if a in self.members or self._items(a) is not None else (p,)
        return (a,) if isinstance(a, Var) and a in self.members else ()

    def _passed(self, e: Edge) -> Iterable[tuple[Operand, Var]]:
        params = self.params[e.target]
        return zip(e.args, params[len(params) - len(e.args) :], strict=True)

    def _items(self, v: Operand) -> int | None:
        """How long a tuple is that such a one may be as well."""
        t = self._type_of(v)
        if isinstance(t, Known) and type(t.value) is tuple:
            return len(t.value)
        return len(t.items) if isinstance(t, Tup) and t.cls is tuple else None

    def _type_of(self, v: Operand) -> T | None:
        return Known(v.value) if isinstance(v, Const) else self.types.get(v)

    def _callee(self, s: Call) -> object:
        t = self._type_of(s.fn)
        return t.value if isinstance(t, Known) and hashable(t.value) else None

    def _others(self) -> set[Var]:
        """Those that come from elsewhere, or of which something is asked that a list does not do alike."""
        made = {s.out for s in self.defs.values() if self._makes(s)}
        others: set[Operand] = {*self.members.difference(made, *self.params.values())}
        for b in self.blocks:
            others.update(own_operands(b.term))
            others.update(self.params[e.target][0] for e in edges(b.term) if brings_value(b.term, e))
            for s in b.stmts:
                if not (self._looks(s) or self._makes(s)):
                    others.update(s.operands())
        return {v for v in others if isinstance(v, Var) and v in self.members}

    def _makes(self, s: Call) -> bool:
        return len(s.args) == 1 and not s.kwargs and self._callee(s) in (tuple, ops.list_to_tuple)

    def _looks(self, s: Call) -> bool:
        f = self._callee(s)
        return f is tuples.items or f is list or f in _OF_LISTS

    def as_lists(self) -> Function:
        """The function with lists in their place."""
        self.subst: dict[Operand, Operand] = {}
        self.fresh = fresh_beside(self.fn)
        blocks = [self._block(b) if b.id in self.reached else b for b in self.fn.blocks]

        def find(v: Operand) -> Operand:
            while v in self.subst:
                v = self.subst[v]
            return v

        return map_function(replace(self.fn, blocks=tuple(blocks)), find)

    def _block(self, b: CFGBlock) -> CFGBlock:
        self.out: list[Call] = []
        for s in b.stmts:
            self._statement(s)
        given: dict[Operand, Operand] = {}

        def as_list(v: Operand, p: Var) -> Operand:
            return self._list_of(v, given, b.term.pos) if p in self.members and v not in self.members else v

        def edge(e: Edge) -> Edge:
            return Edge(e.target, tuple([as_list(v, p) for v, p in self._passed(e)]))

        term = map_terminator(b.term, lambda v: v, edge)
        return replace(b, stmts=tuple(self.out), term=term)

    def _list_of(self, v: Operand, given: dict[Operand, Operand], pos: Pos) -> Operand:
        """The list of the items of another tuple, in this block."""
        if v not in given:
            given[v] = self._emit(pos, ops.build_list, *self._parts(v, pos))
        return given[v]

    def _parts(self, v: Operand, pos: Pos) -> tuple[Operand, ...]:
        return tuple([self._emit(pos, operator.getitem, v, Const(i)) for i in range(self._items(v) or 0)])

    def _emit(self, pos: Pos, f: object, *args: Operand) -> Var:
        out = self.fresh.var()
        self.out.append(Call(out, Const(f), args, (), pos))
        return out

    def _statement(self, s: Call) -> None:
        f = self._callee(s)
        if s.out in self.members:
            if s.args[0] in self.members or self._is_new(s.args[0]):
                self.subst[s.out] = s.args[0]
            else:
                self.out.append(replace(s, fn=Const(list)))
        elif f is tuples.items and self._items(s.args[0]) is not None:
            self.out.append(Call(s.out, Const(ops.build_list), self._parts(s.args[0], s.pos), (), s.pos))
        elif not s.args or s.args[0] not in self.members:
            self.out.append(s)
        elif f is tuples.items:
            if self._is_looked_into(s.out):
                self.subst[s.out] = s.args[0]
            else:
                self.out.append(replace(s, fn=Const(list)))
        else:
            self.out.append(replace(s, fn=Const(_OF_LISTS.get(f, f))))  # type: ignore[call-overload]

    def _is_new(self, v: Operand) -> bool:
        """Is it a list that was made for this tuple alone?"""
        made, t = self.defs.get(v), self._type_of(v)
        if made is None or not isinstance(t, Lst) or t.cls is not list or self.counts.get(v) != 1:
            return False
        f = self._callee(made)
        if f is operator.getitem:
            of, index = map(self._type_of, made.args)
            return isinstance(of, Lst) and index is not None and class_of(widen(index)) is slice
        return f in _NEW

    def _is_looked_into(self, v: Operand) -> bool:
        uses = [s for b in self.blocks for s in b.stmts if v in s.operands()]
        return len(uses) == self.counts.get(v) and all(self._callee(s) in _LOOK for s in uses)
