"""Undoing only what somebody looks at.

A pullback puts back what its statement overwrote, so that pullbacks of earlier statements find what they captured
by reference. Where the memory is the function's own and no reverse code that still runs reads it, that is dropped,
and with it the copy that was kept.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from mooncake_py.hashing import hashable
from mooncake_py.infer.memory import Memory, has_identity
from mooncake_py.infer.types import TOP, Inst, Lst, T, Tup
from mooncake_py.ir.drafts import Draft, draft_edges
from mooncake_py.ir.nodes import Call, Const, Var
from mooncake_py.registry import reads_items, undoes, undoes_attributes
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CellShadow, DictShadow, ListShadow, ObjectShadow
from mooncake_py.transform.pullback import PullbackBuilder

SHADOWS = frozenset({Shadow, ListShadow, DictShadow, CellShadow, ObjectShadow})
Readers = dict[Draft, list[tuple[int, frozenset[Var] | None]]]
_FRESH = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pow})


def is_undo(s: Call) -> bool:
    return _is_one_of(s, undoes)


def _is_one_of(s: Call, functions: Collection[Any]) -> bool:
    return isinstance(s.fn, Const) and hashable(s.fn.value) and s.fn.value in functions


def drop_unneeded(
    p: PullbackBuilder,
    memory: Memory,
    primal_of: dict[Var, Var],
    forward_defs: dict[Var, Call],
    types: dict[Var, T],
    outside: set[Var],
) -> bool:
    """Remove undo statements that no later reverse statement can notice; were there any?

    `primal_of` maps forward values to the primal values they are, `outside` are primal values whose memory the
    caller (or code that is not seen) holds as well.
    """
    blocks = list(p.reachable())
    comes_from = {x: v for v, x in p.comms.captures.items()}
    for stack in p.comms.stacks.values():
        comes_from.update({x: v for v, x in stack.items()})
    held = {memory.find(v) for v in outside if memory.identity(v)}
    classes: dict[Var, frozenset[Var] | None] = {}

    def classes_of(v: Var, depth: int = 0) -> frozenset[Var] | None:
        """The memory classes a forward value may belong to; None for unknown."""
        if v in classes:
            return classes[v]
        classes[v] = None
        primal = primal_of.get(v)
        if primal is not None:
            found: frozenset[Var] | None = frozenset({memory.find(primal)}) if memory.identity(primal) else frozenset()
        elif not has_identity(t := types.get(v, TOP)) or (isinstance(t, Inst) and t.cls in SHADOWS):
            found = frozenset()
        else:
            found = _made_by(forward_defs.get(v), classes_of, depth)
        classes[v] = found
        return found

    def reads(s: Call) -> frozenset[Var] | None:
        out: frozenset[Var] = frozenset()
        for v in s.operands():
            if isinstance(v, Var) and v in comes_from:
                c = classes_of(comes_from[v])
                if c is None:
                    return None
                out |= c
        return out

    def looks_at_items(s: Call) -> bool:
        """Does it look at items of lists, and at no attribute of what is in there?"""
        if not _is_one_of(s, reads_items):
            return False
        held = [types.get(comes_from[v], TOP) for v in s.operands() if isinstance(v, Var) and v in comes_from]
        return all(isinstance(t, Lst | Tup) or (isinstance(t, Inst) and t.cls in SHADOWS) for t in held)

    everything: Readers = {}
    of_attributes: Readers = {}
    for b in blocks:
        found = [(i, s, c) for i, s in enumerate(b.stmts) if not is_undo(s) and (c := reads(s)) != frozenset()]
        everything[b] = [(i, c) for i, _, c in found]
        of_attributes[b] = [(i, c) for i, s, c in found if not looks_at_items(s)]
    of_classes: dict[tuple[bool, frozenset[Var]], _Readers] = {}
    dropped = False
    for b in blocks:
        kept = []
        for i, s in enumerate(b.stmts):
            if is_undo(s) and isinstance(s.args[0], Var) and s.args[0] in comes_from:
                mine = classes_of(comes_from[s.args[0]])
                if mine is not None and not (mine & held):
                    key = _is_one_of(s, undoes_attributes), mine
                    if key not in of_classes:
                        of_classes[key] = _Readers(of_attributes if key[0] else everything, mine)
                    if not of_classes[key].after(b, i):
                        dropped = True
                        continue
            kept.append(s)
        b.stmts = kept
    return dropped


class _Readers:
    """The statements that read memory of one of these classes."""

    def __init__(self, readers: Readers, mine: frozenset[Var]):
        self.last = {b: max((i for i, c in found if c is None or c & mine), default=-1) for b, found in readers.items()}
        self.ahead: set[Draft] = set()  # blocks in which, or after which, there is one
        work = [b for b, i in self.last.items() if i >= 0]
        while work:
            b = work.pop()
            if b not in self.ahead:
                self.ahead.add(b)
                work += [q for q, _ in b.preds]

    def after(self, b: Draft, i: int) -> bool:
        """May one run after statement i of b?"""
        assert b.term is not None
        return self.last[b] > i or any(e.target in self.ahead for e in draft_edges(b.term))


def _made_by(
    d: Call | None, classes_of: Callable[[Var, int], frozenset[Var] | None], depth: int
) -> frozenset[Var] | None:
    """The classes of what a rule's own statement made: none if it is new, else those of its operands."""
    if d is None or depth > 20:
        return None
    f = d.fn.value if isinstance(d.fn, Const) else None
    if isinstance(f, np.ufunc) or (hashable(f) and f in _FRESH):
        return frozenset()
    out: frozenset[Var] = frozenset()
    for v in d.operands():
        if isinstance(v, Var):
            c = classes_of(v, depth + 1)
            if c is None:
                return None
            out |= c
    return out
