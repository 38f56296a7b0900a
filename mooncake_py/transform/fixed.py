"""Lists that nobody changes, and that are only gone through or looked into, are tuples.

A tuple has a type, and a cotangent, for every place; a list one for all items, in memory that may be shared. So the
layers of a network in a list are known one by one where the loop over them is unrolled (`transform/unroll.py`), and an
item that is read by a constant is a value like any other.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Known, Lst
from mooncake_py.ir import ops
from mooncake_py.ir.graph import loops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import BlockId, Call, Const, ForNext, Function, Operand, all_edges, own_operands
from mooncake_py.transform.unroll import MOST_COPIES, are_few


def fixed_lists(inferred: Inferred) -> Function | None:
    """The function with such lists as tuples; None where there are none."""
    found = _Lists(inferred).fixed()
    if not found:
        return None
    fn = inferred.fn
    blocks = [replace(b, stmts=tuple([found.get(s.out, s) for s in b.stmts])) for b in fn.blocks]
    return replace(fn, blocks=tuple(blocks))


class _Lists:
    """The lists that a function makes of items that are there, and what is done with them."""

    def __init__(self, inferred: Inferred):
        self.fn, self.types = inferred.fn, inferred.types
        self.blocks = {b.id: b for b in self.fn.blocks}
        self.defs: dict[Operand, Call] = {s.out: s for b in self.fn.blocks for s in b.stmts}
        self.loops: dict[BlockId, set[BlockId]] | None = None

    def fixed(self) -> dict[Operand, Call]:
        """Such lists, with what makes the tuples that they may as well be."""
        made: dict[Operand, Call] = {s.out: t for s in self.defs.values() if (t := self._as_tuple(s)) is not None}
        if not made:
            return made
        reads: list[tuple[Call, BlockId]] = []
        for b in self.fn.blocks:
            self._drop(made, (*own_operands(b.term), *[a for e in all_edges(b) for a in e.args]))
            for s in b.stmts:
                asked = s.args[0] if s.args else None
                if asked in made and is_const(s.fn, operator.getitem) and asked is not s.args[1]:
                    reads.append((s, b.id))
                elif asked not in made or len(s.args) != 1 or self._known(s.fn) is not len:
                    self._drop(made, s.operands())
        for s, at in reads:
            tuple_ = made.get(s.args[0])
            if tuple_ is not None and not self._is_known(s, at, len(tuple_.args)):
                del made[tuple_.out]
        return made

    def _drop(self, made: dict[Operand, Call], used: Iterable[Operand]) -> None:
        for v in used:
            made.pop(v, None)

    def _known(self, v: Operand) -> Any:
        """The value of an operand, None where it is not known."""
        t = Known(v.value) if isinstance(v, Const) else self.types.get(v)
        return t.value if isinstance(t, Known) else None

    def _call_of(self, v: Operand, f: Any) -> Call | None:
        """The statement that defines v, if it is a call of f with one argument."""
        s = self.defs.get(v)
        return s if s is not None and self._known(s.fn) is f and len(s.args) == 1 and not s.kwargs else None

    def _as_tuple(self, s: Call) -> Call | None:
        """What makes a list, as what makes a tuple of the same items; None for what makes none, or one of many."""
        t = self.types.get(s.out)
        if not isinstance(t, Lst) or t.cls is not list or not t.active:
            return None
        copied = self._call_of(s.out, list)
        items = s if copied is None else self.defs.get(copied.args[0])
        if items is None or not is_const(items.fn, ops.build_list if copied is None else ops.build_tuple):
            return None
        few = 0 < len(items.args) <= MOST_COPIES
        return Call(s.out, Const(ops.build_tuple), items.args, (), s.pos) if few else None

    def _is_known(self, read: Call, at: BlockId, n: int) -> bool:
        """Is an item read by a constant, or by what becomes one when the loop that goes over the list is unrolled?"""
        index = self._known(read.args[1])
        if index is not None:
            return type(index) is int and -n <= index < n
        if self.loops is None:
            self.loops = loops(self.fn)
        within = [(h, inside) for h, inside in self.loops.items() if at in inside and self._goes_over(h, read, n)]
        return any(are_few(self.fn, inside, n) for _, inside in within)

    def _goes_over(self, header: BlockId, read: Call, n: int) -> bool:
        """Is the index an item of `range(len(xs))`, or of a range that ends within the list?"""
        term = self.blocks[header].term
        if not isinstance(term, ForNext) or self.blocks[term.body.target].params[0] is not read.args[1]:
            return False
        it = self._call_of(term.iterator, iter)
        r = self._call_of(it.args[0], range) if it is not None else None
        if r is None:
            return False
        size, end = self._call_of(r.args[0], len), self._known(r.args[0])
        return (size is not None and size.args[0] is read.args[0]) or (type(end) is int and end <= n)
