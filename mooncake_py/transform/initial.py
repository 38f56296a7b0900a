"""First writes of attributes: what `__init__` does need not be undone, for nobody saw the object without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MemberDescriptorType

from mooncake_py.fields import INITIAL, make_object
from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.lookup import MISSING, Lookup
from mooncake_py.infer.types import Obj, T
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import BlockId, Call, Const, Operand, Var, edges
from mooncake_py.registry import rules_of


def note_first_writes(inferred: Inferred, arg_types: Sequence[T]) -> None:
    """Give the writes that set an attribute of a new object for the first time the rules of such."""
    calls, memory, fn = inferred.calls, inferred.memory, inferred.fn
    new = [p for p, t in zip(fn.params, arg_types, strict=True) if isinstance(t, Obj) and t.new]
    made: dict[Var, BlockId] = dict.fromkeys(new if len(new) == 1 else (), fn.entry.id)
    if not made and not fn.calls(make_object):
        return
    writes: dict[tuple[Var, str], dict[Operand, list[tuple[BlockId, Call, CallInfo]]]] = {}
    for b in fn.blocks:
        for s in b.stmts:
            info = calls.get(s.out)
            if is_const(s.fn, make_object):
                made[s.out] = b.id
            elif info is not None and info.target in INITIAL:
                x, name = info.args[:2]
                assert isinstance(x, Var) and isinstance(name, Const)
                writes.setdefault((memory.find(x), name.value), {}).setdefault(x, []).append((b.id, s, info))
    given = [v for info in calls.values() if info.kind == "derived" for v in info.written]
    elsewhere = {memory.find(v) for v in given if isinstance(v, Var)}
    following = {b.id: [e.target for e in edges(b.term)] for b in fn.blocks}
    for (memory_class, _), objects in writes.items():
        if memory_class in elsewhere or (len(objects) > 1 and not all(x in made for x in objects)):
            continue  # what was not made here may be one of those that were
        for x, found in objects.items():
            block, s, info = found[0]
            home = made.get(x)  # type: ignore[arg-type]
            if len(found) > 1 or home is None or _has_default(info) or _comes_back(block, home, following):
                continue
            first = INITIAL[info.target]
            made_by = calls.get(x)  # type: ignore[arg-type]
            if made_by is not None and made_by.kind == "plain" and not any(t.active for t in info.types):
                calls[s.out] = replace(info, kind="plain", target=first)  # the object has no shadow to keep up
            else:
                calls[s.out] = replace(info, target=first, rule=rules_of(first)[0])


def _has_default(info: CallInfo) -> bool:
    """Can the attribute be read before it is set, because the class has one?"""
    t, name = info.types[0], info.args[1]
    assert isinstance(t, Obj) and isinstance(name, Const)
    d = Lookup(t.cls).get(name.value, MISSING)
    return d is not MISSING and type(d) is not MemberDescriptorType


def _comes_back(block: BlockId, home: BlockId, following: dict[BlockId, list[BlockId]]) -> bool:
    """May a block run again before `home` does?"""
    if block == home:
        return False
    seen: set[BlockId] = {home}
    work = list(following[block])
    while work:
        b = work.pop()
        if b == block:
            return True
        if b not in seen:
            seen.add(b)
            work += following[b]
    return False
