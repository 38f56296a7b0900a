"""Store or recompute: which values that the reverse code names inside loops are computed again there.

A value that a loop's reverse needs costs a push in the forward run, a pull in the reverse run and its memory in
between. One operation on Python numbers costs less (as do a tuple of them and the shape of an array), where its
operands are there anyway: constants, values of before the loop (captured once), items of reversed ranges, and what
the same block pulls or has computed again. By the rules of SSA they are the very operands the value was computed from:
they are defined wherever it is, and not again before it is. The result is equal but another object, so a value stays
stored where something could tell: `is`, or a function that is not known to look at numbers only.

What is the same in every iteration, like the bounds of a slice, is computed once, before the loop.

Captures are never computed again: one costs a word.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from mooncake_py.hashing import hashable
from mooncake_py.infer.types import Arr, Inst, T
from mooncake_py.ir import ops
from mooncake_py.ir.drafts import draft_edges
from mooncake_py.ir.nodes import BlockId, Call, Const, Operand, Pos, Var
from mooncake_py.transform import helpers
from mooncake_py.transform.pullback import PullbackBuilder

MOST_OPERATIONS = 2  # as much as a push and a pull cost
_CHEAP = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg})
_SAFE = frozenset({operator.add, operator.sub, operator.mul, operator.neg, slice})  # of integers
_NUMBERS = (int, float)
_IDENTITY = {id(operator.is_), id(operator.is_not)}
_ACCUMULATES = {id(helpers.accum_num), id(helpers.accum_maybe)}


def recompute(
    p: PullbackBuilder,
    defs: dict[Var, Call],
    types: dict[Var, T],
    made_once: Callable[[Var], bool],
    always_made: Callable[[Var], bool],
    items: dict[Var, tuple[BlockId, Var]],
    pos: Pos,
) -> tuple[dict[BlockId, list[Call]], list[Call]]:
    """Take values off the stacks of `p.comms`; what computes them, per block, and before all blocks.

    `defs` are the statements of the forward code, `made_once` tells values of outside all loops, `always_made` those
    of them that every run makes, `items` gives the items of reversed ranges with their loop and their name in its
    reverse.
    """
    out: dict[BlockId, list[Call]] = {}
    if not p.comms.stacks:
        return out, []
    watched = _watched(p, {x for stack in p.comms.stacks.values() for x in stack.values()})
    fixed = _Fixed(p, defs, types, always_made, pos)
    for stack in p.comms.stacks.values():
        for v in [v for v, x in stack.items() if x not in watched and fixed.is_fixed(v)]:
            fixed.emit(v, stack.pop(v))
    for u in p.comms.stacks:
        block = _Block(p, u, defs, types, made_once, items, pos)
        block.watched = watched
        stmts = block.run()
        if stmts:
            out[u] = stmts
    p.comms.stacks = {u: stack for u, stack in p.comms.stacks.items() if stack}
    return out, fixed.stmts


class _Fixed:
    """Values that are the same in every iteration: computed once, from numbers that were there before the loop."""

    def __init__(
        self,
        p: PullbackBuilder,
        defs: dict[Var, Call],
        types: dict[Var, T],
        always_made: Callable[[Var], bool],
        pos: Pos,
    ):
        self.p, self.defs, self.types, self.always_made, self.pos = p, defs, types, always_made, pos
        self.known: dict[Var, bool] = {}
        self.names: dict[Var, Var] = {}
        self.stmts: list[Call] = []

    def is_fixed(self, v: Var) -> bool:
        """Can v be computed before the pullback's loops, by operations that never raise?"""
        if v not in self.known:
            self.known[v] = False
            d = self.defs.get(v)
            f = d.fn.value if d is not None and isinstance(d.fn, Const) and not d.kwargs else None
            if d is not None and hashable(f) and f in _SAFE:
                self.known[v] = all(map(self._is_there, d.args))
        return self.known[v]

    def _is_there(self, a: Operand) -> bool:
        if isinstance(a, Const):
            return a.value is None or type(a.value) is int
        t = self.types.get(a)
        number = isinstance(t, Inst) and t.cls is int
        return number and (self.always_made(a) or self.is_fixed(a))

    def emit(self, v: Var, name: Var) -> Var:
        """The statements that compute v under this name."""
        d = self.defs[v]
        args = tuple([self._name(a) if isinstance(a, Var) else a for a in d.args])
        self.names.setdefault(v, name)
        self.stmts.append(Call(name, d.fn, args, (), self.pos))
        return name

    def _name(self, v: Var) -> Var:
        if v in self.names:
            return self.names[v]
        if self.always_made(v):
            return self.p.capture(v)
        name = self.p.fresh.var(v.name)
        self.p.types[name] = self.types[v]
        return self.emit(v, name)


def _watched(p: PullbackBuilder, pulled: set[Var]) -> set[Operand]:
    """Those of these values whose identity may be looked at, or that go where we do not look."""
    out: set[Operand] = set()
    apart: Any = pulled.isdisjoint
    for b in p.blocks:
        for s in (*b.head, *b.stmts):
            if apart(s.args) and not s.kwargs and s.fn not in pulled:
                continue
            f = s.fn.value if isinstance(s.fn, Const) else None
            if id(f) in _IDENTITY or not (isinstance(f, (BuiltinFunctionType, np.ufunc)) or id(f) in _ACCUMULATES):
                out.update(s.operands())
        for e in draft_edges(b.term) if b.term is not None else ():
            out.update(e.args)
        out.add(getattr(b.term, "value", None))  # type: ignore[arg-type]
    return out & pulled


class _Block:
    """The values one block pulls."""

    def __init__(
        self,
        p: PullbackBuilder,
        u: BlockId,
        defs: dict[Var, Call],
        types: dict[Var, T],
        made_once: Callable[[Var], bool],
        items: dict[Var, tuple[BlockId, Var]],
        pos: Pos,
    ):
        self.p, self.defs, self.types, self.made_once, self.pos = p, defs, types, made_once, pos
        self.stack = p.comms.stacks[u]
        self.names = dict(self.stack)  # what has a name at the start of the block's reverse
        around = p.canonical.enclosing(p.canonical.loop_of[u])
        self.names.update({v: x for v, (h, x) in items.items() if h in around})
        self.stmts: list[Call] = []
        self.watched: set[Operand] = set()
        self.pending: dict[Var, Var] = {}  # taken off the stack and not computed yet, with their names

    def run(self) -> list[Call]:
        """Take what is cheap to compute again off the stack; the statements that do it."""
        self.pending = {}
        for v in list(self.stack):
            if self.stack[v] not in self.watched and self._operations(v, MOST_OPERATIONS) <= MOST_OPERATIONS:
                self.pending[v] = self.stack.pop(v)
        while self.pending:
            self._emit(next(iter(self.pending)))
        return self.stmts

    def _operations(self, v: Var, limit: int) -> int:
        """How many operations it takes to have v without storing it; more than the limit where it cannot be."""
        d = self._cheap(v)
        if d is None or limit == 0:
            return limit + 1
        n = 1
        for a in d.args:
            if not self._there(a):
                assert isinstance(a, Var)
                n += self._operations(a, limit - n)
                if n > limit:
                    break
        return n

    def _cheap(self, v: Var) -> Call | None:
        d = self.defs.get(v)
        if d is None or not isinstance(d.fn, Const) or d.kwargs:
            return None
        f = d.fn.value
        if f is getattr:  # the shape of an array that is there
            array = isinstance(d.args[0], Var) and isinstance(self.types.get(d.args[0]), Arr)
            there = array and (d.args[0] in self.names or self.made_once(d.args[0]))  # type: ignore[arg-type]
            return d if there and isinstance(d.args[1], Const) and d.args[1].value == "shape" else None
        if f is not ops.build_tuple and not (self._number(v) and hashable(f) and f in _CHEAP):
            return None
        return d if all(map(self._number, d.args)) else None

    def _number(self, v: Operand) -> bool:
        if isinstance(v, Const):
            return type(v.value) in _NUMBERS
        t = self.types.get(v)
        return isinstance(t, Inst) and t.cls in _NUMBERS

    def _there(self, v: Operand) -> bool:
        return isinstance(v, Const) or v in self.names or self.made_once(v)

    def _emit(self, v: Var) -> Var:
        name = self.pending.pop(v, None)
        if name is None:
            name = self.p.fresh.var(v.name)
            self.p.types[name] = self.types[v]
        d = self.defs[v]
        args = tuple([self._name(a) if isinstance(a, Var) else a for a in d.args])
        self.stmts.append(Call(name, d.fn, args, (), self.pos))
        self.names[v] = name
        return name

    def _name(self, v: Var) -> Var:
        if v in self.pending or (v not in self.names and not self.made_once(v)):
            return self._emit(v)
        return self.names[v] if v in self.names else self.p.capture(v)
