"""Objects that only this function sees are local variables: one for each of their attributes.

What remains of an object whose methods were taken in is often no more than reads and writes of its attributes. Then it
is not made at all. It may be carried through loops and joins: what is carried are its attributes. Where two names may
stand for one object while it is written to, it is left as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MemberDescriptorType

from mooncake_py.fields import is_local_function, make_object, narrow
from mooncake_py.frontend.ssa import UNBOUND, Draft
from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.lookup import MISSING, Lookup
from mooncake_py.infer.protocol import WRITES
from mooncake_py.infer.types import Inst, Known, Lst, Obj, T, Tup, widen
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const, map_function
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    Edge,
    Function,
    Operand,
    Var,
    brings_value,
    edges,
    term_operands,
)
from mooncake_py.mirrors import constant_attributes
from mooncake_py.transform.canonical import pruned
from mooncake_py.transform.protect import with_handlers, with_tries
from mooncake_py.transform.rebuild import Handler, Rebuild

_ABSTRACT = 1 << 20  # a flag of classes


@dataclass(slots=True, eq=False)
class _Group:
    """Names for objects of one class that flow into one another."""

    cls: type
    members: set[Var] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    ok: bool = True


def dissolve(inferred: Inferred) -> Function | None:
    """The function without the objects that nobody else sees; None where there is none."""
    if not any(is_const(s.fn, make_object) for b in inferred.fn.blocks for s in b.stmts):
        return None
    fn = _without_idle(replace(inferred.fn, blocks=tuple(pruned(inferred).values())), inferred.types)
    kept: set[Var] = set()
    while True:
        analysis = _Analysis(fn, inferred, kept)
        groups = analysis.groups()
        if not groups:
            return None
        built = _Dissolved(with_handlers(fn), groups, analysis.answers)
        new = built.function()
        if new is not None:
            return with_tries(new)
        kept |= built.unset


_IDLE = frozenset({ops.build_tuple, ops.build_list, len, range, iter, narrow})


def _without_idle(fn: Function, types: Mapping[Var, T]) -> Function:
    """The function without second names for objects and without what is made of objects and never looked at."""
    names: dict[Operand, Operand] = {}
    uses: Counter[Operand] = Counter()
    for b in fn.blocks:
        uses.update(term_operands(b.term))
        for s in b.stmts:
            uses.update(s.operands())
            x = s.args[0] if is_const(s.fn, narrow) else None
            if isinstance(x, Var) and isinstance(t := types.get(x), Obj) and t == types.get(s.out):
                names[s.out] = x
    idle: set[Call] = set()
    for b in reversed(fn.blocks):
        for s in reversed(b.stmts):
            if s.out in names or (not uses[s.out] and _is_idle(s, types)):
                idle.add(s)
                uses.subtract(s.operands() if s.out not in names else ())

    def named(v: Operand) -> Operand:  # blocks stand in any order, so a name may be met before the one it is for
        while v in names:
            v = names[v]
        return v

    return map_function(fn, named, idle) if idle else fn


def _is_idle(s: Call, types: Mapping[Var, T]) -> bool:
    """Does a statement do nothing but make its result?"""
    if not isinstance(s.fn, Const) or not hashable(s.fn.value) or s.fn.value not in _IDLE or s.kwargs:
        return False
    x = s.args[0] if s.args else None
    t = types.get(x) if isinstance(x, Var) else None
    if s.fn.value is range:
        return len(s.args) == 1 and t is not None and widen(t) == Inst(int)
    return s.fn.value not in (len, iter) or isinstance(t, (Tup, Lst)) or t == Inst(range)


class _Analysis:
    """What is done with every object that is made; `answers` are questions about them whose answer is known."""

    def __init__(self, fn: Function, inferred: Inferred, kept: set[Var]):
        self.fn, self.types, self.calls, self.kept = fn, inferred.types, inferred.calls, kept
        self.answers: dict[Var, Const] = {}
        self.blocks = {b.id: b for b in fn.blocks}
        self.home: dict[Var, BlockId] = {}
        self.uses: dict[Var, set[BlockId]] = {}
        for b in fn.blocks:
            for p in b.params:
                self.home[p] = b.id
            for s in b.stmts:
                self.home[s.out] = b.id
                self._use(b.id, s.operands())
            self._use(b.id, term_operands(b.term))

    def _use(self, b: BlockId, values: object) -> None:
        for v in values:  # type: ignore[attr-defined]
            if isinstance(v, Var):
                self.uses.setdefault(v, set()).add(b)

    def groups(self) -> dict[Var, _Group]:
        """The objects that can be dissolved, by the names they have."""
        group: dict[Var, _Group] = {}
        for b in self.fn.blocks:
            for s in b.stmts:
                t = self.types.get(s.out)
                made = is_const(s.fn, make_object) and isinstance(t, Obj) and s.out not in self.kept
                made = made and t.items is None  # type: ignore[union-attr]
                if made and _can_be_spared(t.cls):  # type: ignore[union-attr]
                    group[s.out] = _Group(t.cls, {s.out})  # type: ignore[union-attr]
        self._spread(group)
        for b in self.fn.blocks:
            for s in b.stmts:
                self._statement(s, group)
            passed = {v for e in edges(b.term) for v in e.args}
            for v in term_operands(b.term):
                if v in group and v not in passed:
                    group[v].ok = False
        for g in {id(g): g for g in group.values()}.values():
            if g.ok and len(g.members) > 1 and not self._one_name(g) and not self._written_before(g):
                g.ok = False
        return {v: g for v, g in group.items() if g.ok}

    def _spread(self, group: dict[Var, _Group]) -> None:
        """Block parameters that are always given such objects are names for them."""
        given: dict[Var, list[Operand]] = {}
        barred: set[Var] = {*self.fn.params, *self.fn.free}
        for b in self.fn.blocks:
            for e in edges(b.term):
                params = self.blocks[e.target].params
                if brings_value(b.term, e):
                    barred.add(params[0])
                    params = params[1:]
                for p, a in zip(params, e.args, strict=True):
                    given.setdefault(p, []).append(a)
        able = {p for p in given if isinstance(self.types.get(p), Obj) and p not in barred}
        while True:  # those whose every source is one: from above, for they may be given to themselves
            bad = {p for p in able if not all(a in group or a in able for a in given[p])}
            if not bad:
                break
            able -= bad
        for p in able:
            group[p] = _Group(self.types[p].cls, {p})  # type: ignore[attr-defined]
        for p, values in given.items():
            for a in values:
                if p in able:
                    self._unite(group, p, a)
                elif a in group:
                    group[a].ok = False

    def _unite(self, group: dict[Var, _Group], a: Operand, b: Operand) -> None:
        g, h = group[a], group[b]  # type: ignore[index]
        if g is h:
            return
        g.ok = g.ok and h.ok and g.cls is h.cls
        g.members |= h.members
        g.names |= h.names
        for v in h.members:
            group[v] = g

    def _statement(self, s: Call, group: dict[Var, _Group]) -> None:
        """What a statement does with such objects: only attributes are read and written."""
        info = self.calls.get(s.out)
        used = [v for v in s.operands() if v in group]
        if not used or info is None:
            for v in used:
                group[v].ok = False
            return
        t = self.types.get(s.out)
        x, name = (*s.args, None, None)[:2]
        k = name.value if isinstance(name, Const) and type(name.value) is str and not s.kwargs else None
        g = group.get(x) if isinstance(x, Var) else None
        stored = g is not None and k is not None and is_const(s.fn, getattr) and _is_stored(g.cls, k)
        if info.kind == "plain" and isinstance(t, Known) and not (stored and is_local_function(t.value)):
            self.answers[s.out] = Const(t.value)  # its class, whether it is None, a function of its class
            return
        if g is not None and k is not None:
            if stored and info.kind in ("plain", "rule"):
                g.names.add(k)
                used = []
            elif info.target in WRITES:
                g.names.add(k)
                used = [v for v in s.args[2:] if v in group]
        for v in used:
            group[v].ok = False

    # -- names --

    def _one_name(self, g: _Group) -> bool:
        """Is an object that is handed on at a join not used by its old name afterwards?"""
        for b in self.fn.blocks:
            for e in edges(b.term):
                passed = [a for a in e.args if a in g.members]
                if len(passed) != len(set(passed)):
                    return False
                for a in passed:
                    assert isinstance(a, Var)
                    if self._reaches(e.target, self.uses.get(a, set()), self.home[a]):
                        return False
        return True

    def _written_before(self, g: _Group) -> bool:
        """Are objects written to only where they are made, before they are handed on?"""
        writes: dict[Var, set[BlockId]] = {}
        for b in self.fn.blocks:
            for s in b.stmts:
                info = self.calls.get(s.out)
                if info is not None and info.target in WRITES and s.args[0] in g.members:
                    writes.setdefault(s.args[0], set()).add(b.id)
        made = {s.out for b in self.fn.blocks for s in b.stmts if is_const(s.fn, make_object)}
        if not writes.keys() <= made:
            return False
        for b in self.fn.blocks:
            for e in edges(b.term):
                for a in e.args:
                    if a in writes and self._reaches(e.target, writes[a], self.home[a]):
                        return False
        return True

    def _reaches(self, start: BlockId, wanted: set[BlockId], home: BlockId) -> bool:
        """Does a way from `start` lead to one of these blocks, other than through `home`, where there is a new one?"""
        seen: set[BlockId] = {home}
        work = [start]
        while work:
            b = work.pop()
            if b in seen:
                continue
            if b in wanted:
                return True
            seen.add(b)
            work += [e.target for e in edges(self.blocks[b].term)]
        return False


def _is_stored(cls: type, name: str) -> bool:
    d = Lookup(cls).get(name, MISSING)
    return d is MISSING or type(d) in (MemberDescriptorType, int, float, complex, str, bool, type(None))


def _can_be_spared(cls: type) -> bool:
    """Is nothing to be seen of whether objects of the class are made? (Attributes may be declared constants.)"""
    seen = cls.__flags__ & _ABSTRACT or Lookup(cls).get("__del__", MISSING) is not MISSING
    return not seen and not constant_attributes(cls)


class _Dissolved(Rebuild):
    """The function built anew; `unset` are objects with an attribute that may be read before it is written."""

    def __init__(self, fn: Function, groups: dict[Var, _Group], answers: dict[Var, Const]):
        super().__init__()
        self.fn, self.groups, self.answers = fn, groups, answers
        self.unset: set[Var] = set()
        self.reads: dict[Var, _Group] = {}

    def function(self) -> Function | None:
        fn = self.fn
        params = tuple(self.fresh.var(p.name) for p in fn.params)
        free = tuple(self.fresh.var(v.name) for v in fn.free)
        for old, new in zip((*fn.params, *fn.free), (*params, *free), strict=True):
            self.builder.write(self.builder.entry, old, new)
        self.add(fn)
        self.copy(fn)
        self.builder.goto(self.builder.entry, self.drafts[fn, fn.entry.id])
        blocks = self.builder.finish()
        checks = {s.out for b in blocks for s in b.stmts if is_const(s.fn, ops.check_bound)}
        self.unset = {v for out, g in self.reads.items() if out in checks for v in g.members}
        return None if self.unset else Function(fn.name, fn.filename, params, free, blocks, fn.kind, fn.firstline)

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        if s.out in self.groups:
            g = self.groups[s.out]
            for name in g.names:
                default = Lookup(g.cls).get(name, MISSING)
                absent = default is MISSING or type(default) is MemberDescriptorType
                self.builder.write(d, ("field", s.out, name), UNBOUND if absent else Const(default))
            return d
        if s.out in self.answers:
            self.define(d, s.out, self.answers[s.out], s.pos)
            return d
        x = s.args[0] if s.args else None
        if x not in self.groups:
            return super().statement(fn, d, s, handler)
        assert isinstance(s.args[1], Const)
        name = s.args[1].value
        if len(s.args) == 3:
            self.builder.write(d, ("field", x, name), self.read(d, s.args[2]))
            self.define(d, s.out, Const(None), s.pos)
            return d
        value = self.builder.check_bound(d, self.builder.read(d, ("field", x, name), name), name, s.pos)
        self.reads[value] = self.groups[x]
        if handler is not None:
            d = self.after_raising(fn, d, handler, s.pos)
        self.define(d, s.out, value, s.pos)
        return d

    def block(self, fn: Function, b: CFGBlock) -> None:
        d = self.drafts[fn, b.id]
        for p in b.params:
            for name in self._names(p):
                self.builder.write(d, ("field", p, name), self.builder.read(d, ("param", p, name), name))
        super().block(fn, b)

    def set_edges(self) -> None:
        for via, fn, _, e, first in self._pending:
            params = self.blocks[fn, e.target].params
            self._hand_on(via, params if first is None else params[1:], e.args)
        super().set_edges()

    def protect(self, fn: Function, d: Draft, handler: Edge) -> None:
        super().protect(fn, d, handler)
        assert d.handler is not None
        self._hand_on(d.handler.target, self.blocks[fn, handler.target].params[1:], handler.args)

    def _hand_on(self, d: Draft, params: tuple[Var, ...], args: tuple[Operand, ...]) -> None:
        values = [
            (p, name, self.builder.read(d, ("field", a, name), name))
            for p, a in zip(params, args, strict=True)
            for name in self._names(p)
        ]
        for p, name, value in values:
            self.builder.write(d, ("param", p, name), value)

    def _names(self, v: Var) -> list[str]:
        return sorted(self.groups[v].names) if v in self.groups else []
