"""Reads that meet every element of an array at most once, and are all that is done with it.

`for i in range(n): ... x[i] ...`: what comes back for an element is its cotangent, and is stored, not added to a zero.
"""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import replace

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Arr, Known, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.graph import innermost_loop, loops
from mooncake_py.ir.nodes import BlockId, Call, ForNext, Operand, Var, term_operands
from mooncake_py.registry import rules_of
from mooncake_py.transform.helpers import index_kind, read_each_once


def note_single_visits(inferred: Inferred) -> None:
    """Give such reads the rule of such."""
    fn, calls, types = inferred.fn, inferred.calls, inferred.types
    reads: list[tuple[BlockId, Call]] = []
    for b in fn.blocks:
        for s in b.stmts:
            info = calls.get(s.out)
            if info is not None and info.kind == "rule" and info.target is operator.getitem and len(info.args) == 2:
                t = info.types[0]
                if isinstance(t, Arr) and index_kind(info.types[1], t.ndim) == "element" and t.ndim is not None:
                    reads.append((b.id, s))
    if not reads:
        return
    visits = _Visits(inferred)
    for at, s in reads:
        x, index = calls[s.out].args
        if isinstance(x, Var) and isinstance(types.get(x), Arr) and visits.differ(at, x, index) and visits.alone(x, s):
            calls[s.out] = replace(calls[s.out], target=read_each_once, rule=rules_of(read_each_once)[0])


class _Visits:
    """Where the items of ranges are used as indices."""

    def __init__(self, inferred: Inferred):
        self.inferred = inferred
        fn = inferred.fn
        blocks = {b.id: b for b in fn.blocks}
        found = loops(fn)
        self.loop_of = innermost_loop(fn, found)
        self.around = {h: next((p for p in reversed(found) if p != h and h in found[p]), None) for h in found}
        self.defs = {s.out: s for b in fn.blocks for s in b.stmts}
        self.home = {**dict.fromkeys(fn.params, fn.entry.id), **{s.out: b.id for b in fn.blocks for s in b.stmts}}
        self.uses: dict[Operand, list[Call]] = {}
        for s in self.defs.values():
            for v in s.operands():
                self.uses.setdefault(v, []).append(s)
        self.passed = {v for b in fn.blocks for v in term_operands(b.term)}  # to other blocks, or returned
        self.passed |= {v for b in fn.blocks if b.handler is not None for v in b.handler.args}
        self.names = Counter(inferred.memory.find(v) for v in inferred.types)
        self.item: dict[BlockId, Var] = {}  # of the loops over ranges of numbers that are not negative
        for h in found:
            term = blocks[h].term
            if isinstance(term, ForNext) and self._counts(term.iterator):
                self.item[h] = blocks[term.body.target].params[0]

    def _counts(self, iterator: Operand) -> bool:
        """Does this iterate over a range of numbers that are not negative?"""
        over = iterator
        while (of := self._made_by(over, iter, reversed)) is not None and len(of) == 1:
            over = of[0]
        given = self._made_by(over, range)
        if given is None:
            return False
        bounds = [t.value if isinstance(t := self._type(v), Known) else None for v in given]
        if len(bounds) == 1:
            return True
        start, stop, step = (*bounds, 1)[:3]
        if step is None or step == 0:
            return False
        low = start if step > 0 else stop
        return type(low) is int and low >= (0 if step > 0 else -1)

    def _made_by(self, v: Operand, *functions: object) -> tuple[Operand, ...] | None:
        """The arguments of the call of one of these that v is the result of."""
        info = self.inferred.calls.get(v) if isinstance(v, Var) else None
        return info.args if info is not None and any(info.target is f for f in functions) and not info.kwargs else None

    def _type(self, v: Operand) -> object:
        return self.inferred.types.get(v) if isinstance(v, Var) else Known(v.value)

    def differ(self, b: BlockId, x: Var, index: Operand) -> bool:
        """Is the index, each time that this block runs for one array x, another one?"""
        if x not in self.home:
            return False
        made = self.defs.get(index) if isinstance(index, Var) else None
        parts = {index}
        if made is not None and isinstance(self._type(index), Tup):
            if (items := self._made_by(index, ops.build_tuple)) is None:
                return False
            parts = set(items)
        loop = self.loop_of[b]
        outside = set()
        around = self.loop_of[self.home[x]]
        while around is not None:
            outside.add(around)
            around = self.around[around]
        while loop is not None and loop not in outside:
            if self.item.get(loop) not in parts:
                return False
            loop = self.around[loop]
        return loop == self.loop_of[self.home[x]]

    def alone(self, x: Var, read: Call) -> bool:
        """Is the array known by this name only, and is this all that is done with it that has a derivative?"""
        inferred = self.inferred
        if inferred.memory.is_shared(x) or self.names[inferred.memory.find(x)] > 1 or x in self.passed:
            return False
        others = [inferred.calls.get(s.out) for s in self.uses[x] if s is not read]
        return all(info is not None and info.kind == "plain" for info in others)
