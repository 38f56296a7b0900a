"""What an object's shadow holds is known from one statement of a block to the next: a cotangent that is taken out and
put back, as the reverse of `x.a += v` does it, stays where it is.

Two shadows may be one, so what is written to one is no longer known of the others.
"""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.infer.types import Inst, T
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.tangents import ObjectShadow
from mooncake_py.transform.effects import ANYTHING, NOTHING, Effects, function_of

_TRANSPARENT = frozenset({getattr, ops.pull, ops.unpack, operator.is_})
Place = tuple[Operand, str]  # the dict of a shadow's cotangents, and an attribute


def keep_in_place(b: Builder, effects: Effects, types: dict[Var, T]) -> None:
    """Take out reads of cotangents that are known, and writes that nothing sees."""
    subst: dict[Var, Operand] = {}
    for block in b.blocks:
        if sum([function_of(s) is operator.setitem for s in block.stmts]) > 1:
            _Line(block, effects, types, subst).follow()
    if subst:
        b.apply(subst)


class _Line:
    """The statements of one block, in their order."""

    def __init__(self, block: Draft, effects: Effects, types: dict[Var, T], subst: dict[Var, Operand]):
        self.block, self.effects, self.types, self.subst = block, effects, types, subst
        self.dicts: dict[Operand, Var] = {}  # of every shadow
        self.known: dict[Place, Operand] = {}
        self.unseen: dict[Place, tuple[Call, Operand | None]] = {}  # the last write, with what was known before it
        self.gone: set[Call] = set()

    def follow(self) -> None:
        for s in self.block.stmts:
            f = function_of(s)
            if f is getattr and _is(s.args[1], "r"):
                self._names(s)
            elif f is operator.getitem and (place := self._place(s)) is not None:
                self._reads(s, place)
            elif f is operator.setitem and (place := self._place(s)) is not None:
                self._writes(s, place)
            elif f is operator.add and not s.kwargs:
                self._adds(s)
            elif not (f in _TRANSPARENT or self._is_elsewhere(s, f)):
                self.dicts, self.known, self.unseen = {}, {}, {}
        if self.gone:
            self.block.stmts = [s for s in self.block.stmts if s not in self.gone]

    def _names(self, s: Call) -> None:
        shadow = self._value(s.args[0])
        t = self.types.get(shadow) if isinstance(shadow, Var) else None
        if not isinstance(t, Inst) or t.cls is not ObjectShadow:
            return
        first = self.dicts.setdefault(shadow, s.out)
        if first is not s.out:
            self.subst[s.out] = first
            self.gone.add(s)

    def _place(self, s: Call) -> Place | None:
        d, key = self._value(s.args[0]), s.args[1]
        named = isinstance(key, Const) and type(key.value) is str
        return (d, key.value) if named and isinstance(key, Const) and d in self.dicts.values() else None

    def _is_elsewhere(self, s: Call, f: Any) -> bool:
        """Is it a read or a write of something else, at a place that no attribute has, or arithmetic?"""
        if f is operator.getitem or f is operator.setitem:
            return isinstance(s.args[1], Const) and type(s.args[1].value) is int
        if self.effects.computes(s):
            return True
        return self.effects.of(s) == NOTHING and all([self.effects.leaves(ANYTHING, v) for v in s.operands()])

    def _reads(self, s: Call, place: Place) -> None:
        found = self.known.get(place)
        if found is not None:
            self.subst[s.out] = found
            self.gone.add(s)
            return
        self.known[place] = s.out
        self._forget(self.unseen, place)  # it may be one of those
        self.unseen.pop(place, None)

    def _writes(self, s: Call, place: Place) -> None:
        v, before = self._value(s.args[2]), self.known.get(place)
        last = self.unseen.pop(place, None)
        if last is not None:
            self.gone.add(last[0])
            before = last[1]
        self.known[place] = v
        if v is before:
            self.gone.add(s)
        else:
            self._forget(self.known, place)
            for other in self._others(self.unseen, place):
                self.unseen[other] = self.unseen[other][0], None
            self.unseen[place] = s, before

    def _adds(self, s: Call) -> None:
        """What is added to the zero that a number's cotangent left."""
        x, y = map(self._value, s.args)
        if s.args[0] is not x and isinstance(x, Const) and type(x.value) is float and x.value == 0.0:
            self.subst[s.out] = y
            self.gone.add(s)

    def _forget(self, what: dict[Place, Any], place: Place) -> None:
        for other in self._others(what, place):
            del what[other]

    def _others(self, what: dict[Place, Any], place: Place) -> list[Place]:
        """Attributes by that name of other shadows."""
        return [p for p in what if p[1] == place[1] and p[0] is not place[0]]

    def _value(self, v: Operand) -> Operand:
        while isinstance(v, Var) and v in self.subst:
            v = self.subst[v]
        return v


def _is(v: Operand, name: str) -> bool:
    return isinstance(v, Const) and v.value == name
