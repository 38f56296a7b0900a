"""What is made before it is looked into: may what it looks into have changed by then?

A generator may be replaced by the list of its items, and the view of a dict by that of its values, where nothing comes
between that changes what they read. Where a view is kept, it is made as one that is live (`iterators.DictValues`).
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Iterator
from dataclasses import replace
from types import FunctionType
from typing import Any

from mooncake_py.fields import narrow, surely
from mooncake_py.hashing import hashable
from mooncake_py.infer.allocation import Allocations
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.protocol import Plan
from mooncake_py.infer.types import Dct, Fn, Known, Lst, Meth, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    ForNext,
    Function,
    Operand,
    Raise,
    Return,
    Var,
    brings_value,
    edges,
    term_operands,
)
from mooncake_py.iterators import DictItems, DictValues, item_within
from mooncake_py.registry import drained, is_pure
from mooncake_py.transform.doubts import doubt
from mooncake_py.tuples import MADE_OF_LISTS, check_several

_VIEWS = (dict.values, dict.items)
_LENGTHS = (ops.check_arguments, ops.check_length, ops.check_least)
_CHECKS = frozenset({surely, narrow, hasattr, check_several, ops.check_arguments, ops.check_length, ops.check_least})
_READS = frozenset({getattr, iter, ops.load_global, ops.make_function, ops.make_cell, ops.build_tuple, ops.build_map})
_READS |= _CHECKS
_TAKES_ALL = frozenset(
    {sum, min, max, list, tuple, set, frozenset, sorted, dict, len, math.fsum, math.prod, operator.contains, ops.unpack}
)
_TAKES_ALL |= {next, item_within, dict.update, math.dist, operator.getitem, *MADE_OF_LISTS}
_TAKES_ALL |= _CHECKS - {surely, narrow}
_LOOKS_LATER = frozenset({iter, zip, enumerate, reversed, map, filter, getattr, surely, narrow})
_END = 1 << 30  # where a block's terminator stands


def changes_nothing(s: Call, inferred: Inferred) -> bool:
    """Does the statement leave everything as it is that another one could read?"""
    info = inferred.calls.get(s.out)
    if is_const(s.fn, iter) and isinstance(inferred.types.get(s.args[0]), (Lst, Dct, Tup)):  # type: ignore[arg-type]
        return True  # no code of a user's
    if inferred.memory.only_iterates(s):
        return True
    if info is not None and info.kind in ("dynamic", "derived", "planned"):
        return info.callee is not None and not info.callee.changes
    f = info.target if info is not None and info.target is not None else s.fn.value if isinstance(s.fn, Const) else None
    if f is None or not hashable(f):
        return False
    return f in _READS or is_pure(f, len(s.args), [k for k, _ in s.kwargs])


def keep_views(inferred: Inferred) -> Function | None:
    """The function with live views of dicts where what they show may change; None where there is none.

    Those of constants are views when it runs: where they are walked by index they are lists.
    """
    found = [(b, i, s, m) for b in inferred.fn.blocks for i, s in enumerate(b.stmts) if (m := _viewed(inferred, s))]
    kept: dict[Var, tuple[type, Meth]] = {}
    order = _Order(inferred.fn)
    for b, i, s, m in found:
        if _looped_over(inferred.fn, s.out):
            continue
        uses = _Uses(inferred, order, b, i, s)
        active = inferred.types[m.receiver].active  # type: ignore[index]
        if (active or uses.checked) and not uses.by_index and uses.may_change(m):
            kept[s.out] = (DictValues if m.func is dict.values else DictItems, m)
        elif uses.checked and not active:
            kept[s.out] = (list, m)
    if not kept:
        return None

    fn = inferred.fn
    fresh = fresh_beside(fn)

    def live(s: Call) -> list[Call]:
        if s.out not in kept:
            return [s]
        cls, m = kept[s.out]
        if cls is list:
            view = fresh.var()
            return [replace(s, out=view), Call(s.out, Const(list), (view,), (), s.pos)]
        return [*doubt(inferred, m.receiver, fresh, s.pos), Call(s.out, Const(cls), (m.receiver,), (), s.pos)]

    return replace(
        fn, blocks=tuple([replace(b, stmts=tuple([x for s in b.stmts for x in live(s)])) for b in fn.blocks])
    )


def viewed(inferred: Inferred, s: Call) -> Meth | None:
    """The method, of a dict whose values have derivatives, that this is a call of."""
    m = _viewed(inferred, s)
    return m if m is not None and inferred.types[m.receiver].active else None  # type: ignore[index]


def _viewed(inferred: Inferred, s: Call) -> Meth | None:
    """The same of any dict."""
    m = inferred.types.get(s.fn) if isinstance(s.fn, Var) else None
    if not isinstance(m, Meth) or not m.is_read_as(s.fn) or m.func not in _VIEWS or s.args or s.kwargs:
        return None
    t = inferred.types.get(m.receiver) if isinstance(m.receiver, Var) else None
    return m if isinstance(t, Dct) else None


def _looped_over(fn: Function, view: Var) -> bool:
    """Is it used for one loop over it, and nothing else? That looks into the dict as it goes."""
    counts = use_counts(fn)
    its = [s.out for b in fn.blocks for s in b.stmts if is_const(s.fn, iter) and s.args == (view,)]
    if counts.get(view) != 1 or len(its) != 1 or counts.get(its[0]) != 1:
        return False
    return any(isinstance(b.term, ForNext) and b.term.iterator is its[0] for b in fn.blocks)


class _Order:
    """Which statements may run after others."""

    def __init__(self, fn: Function):
        self.by_id = {b.id: b for b in fn.blocks}
        self._after: dict[BlockId, set[BlockId]] = {}

    def after(self, b: BlockId) -> set[BlockId]:
        """The blocks that may run after this one."""
        seen = self._after.get(b)
        if seen is None:
            seen = self._after[b] = set()
            work = [b]
            while work:
                for e in edges(self.by_id[work.pop()].term):
                    if e.target not in seen:
                        seen.add(e.target)
                        work.append(e.target)
        return seen

    def comes_before(self, b: BlockId, i: int, c: BlockId, j: int) -> bool:
        return (b == c and i < j) or c in self.after(b)

    def leads_past(self, b: BlockId, i: int, c: BlockId, j: int, made: tuple[BlockId, int]) -> bool:
        """Does a way lead from the one to the other on which this third statement is not run?"""
        block, at = made
        if b == c and i < j:
            return b != block or not i < at < j
        if b == block and i < at:
            return False
        seen, work = set(), [b]
        while work:
            for e in edges(self.by_id[work.pop()].term):
                if e.target == c and (c != block or j <= at):
                    return True
                if e.target not in seen and e.target != block:
                    seen.add(e.target)
                    work.append(e.target)
        return False


class _Uses:
    """Where a view, or what looks through it later, is used."""

    def __init__(self, inferred: Inferred, order: _Order, block: CFGBlock, at: int, made: Call):
        self.inferred, self.order, self.block, self.at = inferred, order, block, at
        self.places: list[tuple[BlockId, int]] = []
        self.receiver: Operand = made.out
        self.origins: Allocations | None = None
        self.escapes = False
        self.handed_on = False  # may it be one that was made the last time round?
        names: set[Var] = {made.out}
        while further := {p for v, p in inferred.memory.shape.passed if v in names} - names:
            names |= further
        reads = [s for b in inferred.fn.blocks for s in b.stmts if not names.isdisjoint(s.args)]
        self.checked = any(is_const(s.fn, f) for s in reads for f in (len, *_LENGTHS))  # is it walked by index by now?
        # It is: what stands there by now was found to come before all that may change the dict.
        self.by_index = self.checked and any(is_const(s.fn, operator.getitem) and s.args[0] in names for s in reads)
        grown = True
        while grown:
            size = len(names)
            self.places = list(self._places(names, order.by_id))
            grown = len(names) > size

    def _places(self, names: set[Var], by_id: dict[BlockId, CFGBlock]) -> Iterator[tuple[BlockId, int]]:
        """The uses of these names; what may look through them is added."""
        for b in [b for b in self.inferred.fn.blocks if b.id in self.inferred.reached]:
            for i, s in enumerate(b.stmts):
                if not names.isdisjoint(v for v in s.operands() if isinstance(v, Var)):
                    yield b.id, i
                    self._use(s, names)
            if not names.isdisjoint(v for v in term_operands(b.term) if isinstance(v, Var)):
                yield b.id, _END
                if isinstance(b.term, (Return, Raise)):
                    self.escapes = True
            for e in edges(b.term):
                params = by_id[e.target].params[1 if brings_value(b.term, e) else 0 :]
                further = [p for p, a in zip(params, e.args, strict=True) if a in names]
                self.handed_on = self.handed_on or bool(further)
                names.update(further)

    def _use(self, s: Call, names: set[Var]) -> None:
        t = self.inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
        f = t.func if isinstance(t, Meth) else t.value if isinstance(t, Known) else None
        f = f if hashable(f) else None
        plan = info.target if (info := self.inferred.calls.get(s.out)) is not None else None
        if isinstance(plan, Plan) and plan.argument is not None:
            f = plan.function  # which is to take it
        if f is operator.getitem and not self.checked:  # views have no such items: it is what Python raises of them
            self.escapes = True
        elif f in _TAKES_ALL or self._takes_items(s, f, isinstance(t, Meth), names):
            return
        names.add(s.out)
        if f not in _LOOKS_LATER and type(t) is not Fn:  # a generator that is made here is called where it is made
            self.escapes = True

    def _takes_items(self, s: Call, f: Any, of_object: bool, names: set[Var]) -> bool:
        """Does a call take the items of the view one by one, and keep nothing else of it?"""
        given = [i for i, v in enumerate((*s.args, s.fn)) if v in names]
        if f not in drained or given != [drained[f] - of_object]:
            return False
        return f is not operator.iadd or isinstance(self.inferred.types.get(s.args[0]), Lst)  # type: ignore[arg-type]

    def may_change(self, m: Meth) -> bool:
        """May the dict be written into between the view and a use of it, or where that is not seen?"""
        memory = self.inferred.memory
        assert isinstance(m.receiver, Var)
        d, self.receiver = memory.find(m.receiver), m.receiver
        if self.escapes:
            return True
        if d not in {memory.find(v) for vs in (memory.written, *memory.unseen.values()) for v in vs}:
            return False
        return any(
            (b.id, i) != (self.block.id, self.at)
            and self._may_write(s, d)
            and self.order.comes_before(self.block.id, self.at, b.id, i)
            and any(self._comes_to(b.id, i, c, j) for c, j in self.places)
            for b in self.inferred.fn.blocks
            for i, s in enumerate(b.stmts)
        )

    def _comes_to(self, b: BlockId, i: int, c: BlockId, j: int) -> bool:
        """May what was there at the one statement be used at the other, and not another one that was made since?"""
        if self.handed_on:
            return self.order.comes_before(b, i, c, j)
        return self.order.leads_past(b, i, c, j, (self.block.id, self.at))

    def _only_starts(self, s: Call) -> bool:
        """Is this a call of a generator function that is made here or stands for what C has, which runs nothing yet?"""
        t = self.inferred.types.get(s.fn) if isinstance(s.fn, Var) else None
        info = self.inferred.calls.get(s.out)
        f = info.target if info is not None and isinstance(t, Known) else None
        code = t.code if isinstance(t, Fn) else f.__code__ if isinstance(f, FunctionType) else None
        return code is not None and bool(code.co_flags & inspect.CO_GENERATOR)

    def _may_write(self, s: Call, d: Var) -> bool:
        if changes_nothing(s, self.inferred) or self._only_starts(s):
            return False
        info = self.inferred.calls.get(s.out)
        if info is not None and info.kind in ("dynamic", "derived", "planned"):
            return True
        find = self.inferred.memory.find
        if info is not None and info.kind == "rule":
            return any(isinstance(v, Var) and find(v) is d and not self._is_another(v) for v in info.written)
        return any(isinstance(v, Var) and find(v) is d for v in (*s.operands(), *(info.args if info else ())))

    def _is_another(self, v: Var) -> bool:
        """Is this surely not the dict that the view is of?"""
        if self.origins is None:
            known = self.inferred
            self.origins = Allocations(known.memory.shape, known.types, known.calls, known.memory.identity)
        return self.origins.of(v).apart(self.origins.of(self.receiver))
