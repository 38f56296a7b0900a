"""Loops that read a short tuple item by item become as many copies of their body, each with an index that is known.

What a tuple holds has a type, and a cotangent, for every place: an item that is read by a constant is a value like any
other, one that is read by a variable is not. So it is with what a dict or an object holds by name, where a loop goes
over a few names.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence, Set
from dataclasses import Field, replace
from typing import Any

from mooncake_py.frontend.ssa import Draft
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Known, T, Tup
from mooncake_py.ir.graph import loops, rpo, use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Edge, ForNext, Function, Operand, Var
from mooncake_py.transform.inline import MOST_TOTAL
from mooncake_py.transform.names import depends_on_name, makes_text
from mooncake_py.transform.protect import with_handlers, with_tries
from mooncake_py.transform.rebuild import Rebuild

MOST_COPIES = 16
_NAMES = (str, Field)
MOST_STATEMENTS = 400  # of all copies of a body


def unroll(inferred: Inferred) -> Function | None:
    """The function with such loops unrolled, None where there are none."""
    return inferred.each(_unroll_one)


def _unroll_one(inferred: Inferred) -> Function | None:
    fn = with_handlers(inferred.fn)
    defs: dict[Operand, Call] = {}
    counts: dict[Var, int] = {}
    inside = None
    for b in fn.blocks:
        if isinstance(b.term, ForNext) and b.id in inferred.reached and not b.stmts:
            defs = defs or {s.out: s for x in fn.blocks for s in x.stmts}
            counts = counts or use_counts(fn)
            items = _items(inferred, b.term, defs, counts)
            if items is None:
                continue
            inside = loops(fn) if inside is None else inside
            if b.id in inside and _worthwhile(fn, inferred, inside[b.id], items):
                return with_tries(_Copies(fn, b, inside[b.id], items).function())
    return None


def _items(
    inferred: Inferred, term: ForNext, defs: dict[Operand, Call], counts: dict[Var, int]
) -> Sequence[Any] | None:
    """What a loop over `range(n)` or a tuple of names goes over, where that is known and little."""

    def type_of(v: Operand) -> T | None:
        return Known(v.value) if isinstance(v, Const) else inferred.types.get(v)

    def made_by(v: Operand, f: object) -> Call | None:
        s = defs.get(v)
        t = type_of(s.fn) if s is not None else None
        return s if isinstance(t, Known) and t.value is f and s is not None and len(s.args) == 1 else None

    it = made_by(term.iterator, iter)
    if it is None or counts[it.out] != 1:
        return None
    if isinstance(over := type_of(it.args[0]), Known):
        names = over.value
        few = type(names) is tuple and len(names) <= MOST_COPIES
        return names if few and all(type(name) in _NAMES for name in names) else None
    r = made_by(it.args[0], range)
    t = type_of(r.args[0]) if r is not None else None
    return range(t.value) if isinstance(t, Known) and type(t.value) is int and 0 <= t.value <= MOST_COPIES else None


def _worthwhile(fn: Function, inferred: Inferred, inside: set[BlockId], items: Sequence[Any]) -> bool:
    """Is the loop small, and does it read a tuple with a derivative by an index that is not known?

    Or does it read or write by a name that is not known, being one of the items or put together?
    """
    if not are_few(fn, inside, len(items)):
        return False

    def type_of(v: Operand) -> T | None:
        return Known(v.value) if isinstance(v, Const) else inferred.types.get(v)

    stmts = [s for b in fn.blocks if b.id in inside for s in b.stmts]
    named = not isinstance(items, range) or any(makes_text(s, type_of) for s in stmts)
    return (named and any(depends_on_name(s, type_of) for s in stmts)) or any(
        is_const(s.fn, operator.getitem)
        and isinstance(t := type_of(s.args[0]), Tup)
        and t.active
        and not isinstance(type_of(s.args[1]), Known)
        for s in stmts
    )


def are_few(fn: Function, inside: Set[BlockId], times: int) -> bool:
    """Are the statements of a loop few enough to stand there so many times?"""
    size = times * sum(len(b.stmts) for b in fn.blocks if b.id in inside)
    return size <= MOST_STATEMENTS and size + sum(len(b.stmts) for b in fn.blocks) <= MOST_TOTAL


class _Copies(Rebuild):
    """The loop's blocks once for each item; the header goes from one copy to the next."""

    def __init__(self, fn: Function, header: CFGBlock, inside: set[BlockId], items: Sequence[Any]):
        super().__init__(fn)
        self.fn, self.header, self.inside, self.items = fn, header, inside, items
        body = tuple(b for b in fn.blocks if b.id in inside)
        self.turns = [replace(fn, blocks=body) for _ in items]
        self.last = replace(fn, blocks=(header,))
        reached = set(rpo(fn.blocks))  # what nobody comes to may lead into the body
        self.outer = self.once = replace(fn, blocks=tuple(b for b in fn.blocks if b.id in reached - inside))

    def function(self) -> Function:
        fn, builder = self.fn, self.builder
        for v in (*fn.params, *fn.free):
            builder.write(builder.entry, v, v)
        copies = (self.outer, *self.turns, self.last)
        for part in copies:
            self.add(part)
            self.blocks.update({(part, b.id): b for b in fn.blocks})  # an edge may lead to another copy
        for part in copies:
            self.copy(part)
        builder.goto(builder.entry, self.drafts[self.part_of(self.outer, fn.entry.id), fn.entry.id])
        blocks = builder.finish()
        return Function(fn.name, fn.filename, fn.params, fn.free, blocks, fn.kind, fn.firstline)

    def part_of(self, part: Function, target: BlockId) -> Function:
        """The copy in which an edge from `part` finds its target."""
        if target not in self.inside:
            return self.outer
        turns = [*self.turns, self.last]
        if target != self.header.id:
            return part
        return turns[0] if part is self.outer else turns[turns.index(part) + 1]

    def target(self, fn: Function, e: Edge) -> Draft:
        return self.drafts[self.part_of(fn, e.target), e.target]

    def terminator(self, fn: Function, d: Draft, b: CFGBlock) -> None:
        if b.id != self.header.id:
            super().terminator(fn, d, b)
            return
        term = b.term
        assert isinstance(term, ForNext)
        self._pending = []
        if fn is self.last:
            self.builder.goto(d, self.edge(fn, b, term.done), term.pos)
        else:
            self.builder.goto(d, self.edge(fn, b, term.body, Const(self.items[self.turns.index(fn)])), term.pos)
        self.set_edges()
