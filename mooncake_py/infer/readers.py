"""Functions of which it is known what they change: a call of one has a rule of its own, found before it runs."""

from __future__ import annotations

import functools
import operator
import types as pytypes

from mooncake_py.infer.allocation import Allocations
from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.parts import elsewhere
from mooncake_py.infer.predicates import may_be_written
from mooncake_py.infer.types import (
    Arr,
    Bot,
    Cell,
    Dct,
    Fn,
    Known,
    Lst,
    Meth,
    Obj,
    Rec,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    parts_of,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Return, Var
from mooncake_py.registry import is_pure

# What looks at a thing, and hands on what it finds there.
_READS = frozenset(
    {getattr, len, iter, zip, enumerate, reversed, ops.load_global, ops.truth, operator.is_, operator.is_not}
)


def may_pass(t: T) -> bool:
    """Is it known where the derivative of a value of this type is, so that a rule can be given it?"""
    if not t.active:
        return True
    match t:
        case Obj() | Lst() | Dct() | SetOf() | Arr() | Cell():
            return True
        case Tup() | Union():
            return all(map(may_pass, parts_of(t)))
    return is_scalar(t)


def is_passed_whole(t: Union) -> bool:
    """Is one rule of a function better than one for each option, of those that numbers come out of?"""
    return may_pass(t) and not any(is_scalar(x) or (x.active and isinstance(x, Tup)) for x in t.options)


def may_be_returned(t: T) -> bool:
    """The same of what a function returns, of which no less may be known."""
    match t:
        case Tup() | Union():
            return all(map(may_be_returned, parts_of(t)))
        case Rec():
            return True
        case Top() | Fn() | Meth() | Cell():
            return False
    return may_pass(t)


def may_lead_on(t: T) -> bool:
    """Is there an object in it, or None or an empty container, where there may be one later?"""
    if isinstance(t, (Bot, Rec)) or t == Known(None):
        return True
    return any(isinstance(x, Obj) or may_lead_on(x) for x in parts_of(t))


def may_grow(t: T) -> bool:
    """Is it an object, or something that holds one or is empty, of which other code may say more?"""
    match t:
        case Obj():
            return True
        case Tup() | Union():
            return any(map(may_grow, parts_of(t)))
        case Lst() | Cell() | SetOf() | Dct():
            parts = parts_of(t)
            return all(isinstance(x, Bot) for x in parts) or any(map(may_grow, parts))
    return False


engines_own: dict[pytypes.FunctionType, pytypes.FunctionType] = {}
"""Functions that the engine has put together, and what of: lists of what generators yield, arguments one by one. They
come back to themselves by way of those, or not at all."""


def may_come_back(f: pytypes.FunctionType) -> bool:
    """Does f, or what it calls by a global name, call something by the name of f, or the class f makes objects of?"""
    f = engines_own.get(f, f)
    seen: set[str] = set()
    work = [f]
    while work:
        code = work.pop().__code__
        names = _names(code) - seen
        if f.__name__ in names:
            return True
        seen |= names
        called = [f.__globals__.get(name) for name in names]
        made = [getattr(c, "__init__", None) for c in called if isinstance(c, type)]
        if f in made:
            return True
        work += [g for g in (*called, *made) if isinstance(g, pytypes.FunctionType)]
        work += [g for g in functions_in(code) if g.__name__ in names]
    return False


@functools.cache
def _names(code: pytypes.CodeType) -> frozenset[str]:
    """The names that a function, and those that are made in it, look up: global ones and attributes."""
    inner = [_names(x) for x in code.co_consts if isinstance(x, pytypes.CodeType)]
    return frozenset(code.co_names).union(*inner, [g.__name__ for g in functions_in(code)])


def functions_in(code: pytypes.CodeType) -> list[pytypes.FunctionType]:
    """The functions that a code object, or one in it, holds: inner ones that were made into functions of what they
    captured."""
    found = [x for x in code.co_consts if isinstance(x, pytypes.FunctionType)]
    return found + [f for x in code.co_consts if isinstance(x, pytypes.CodeType) for f in functions_in(x)]


def changes(inferred: Inferred) -> dict[int, T] | None:
    """The parameters that a function writes to, or to what they hold, with the types they have after it.

    None where it may change anything else but what it makes itself.
    """
    memory, fn = inferred.memory, inferred.fn
    known = list(inferred.calls.values())
    if not all(map(changes_known, known)):
        return None
    shown = [(v, call) for call in known for v in call.written if isinstance(v, Var)]
    if shown:
        origins = Allocations(memory.shape, inferred.types, inferred.calls, memory.identity)
        # A rule writes to what it is given, a function to what that holds as well, which may be from outside.
        shown = [(v, call) for v, call in shown if call.kind != "rule" or origins.of(v).elsewhere]
    written = {memory.find(v) for v, _ in shown}
    if not written.isdisjoint(_outside(inferred)):
        return None
    return {i: elsewhere(widen(inferred.types[v])) for i, v in enumerate(fn.params) if memory.find(v) in written}


def gives(inferred: Inferred) -> frozenset[int] | None:
    """The parameters that share memory with what a function returns, or are in it; None if other outside memory is."""
    memory, fn = inferred.memory, inferred.fn
    returned = [b.term.value for b in fn.blocks if isinstance(b.term, Return)]
    roots = {memory.find(v) for v in returned if isinstance(v, Var) and memory.identity(v)}
    if not roots.isdisjoint(_outside(inferred)):
        return None
    return frozenset([i for i, v in enumerate(fn.params) if memory.find(v) in roots])


def _outside(inferred: Inferred) -> set[Var]:
    """The memory of what is neither an argument nor made by the function."""
    memory = inferred.memory
    found = [v for v, call in inferred.calls.items() if call.named is not None]
    return {memory.find(v) for v in (*found, *inferred.fn.free) if memory.identity(v)}


def in_place(inferred: Inferred) -> bool | None:
    """Does a function change anything, what it makes itself included? None where that is not known."""
    found = {_changes_something(call) for call in inferred.calls.values()}
    return True if True in found else None if None in found else False


def _changes_something(call: CallInfo) -> bool | None:
    if call.written:
        return True
    if call.callee is not None:
        return call.callee.in_place
    return False if changes_known(call) else None


def changes_known(call: CallInfo) -> bool:
    """Is it known what a call changes?"""
    if call.callee is not None:
        return call.callee.changes is not None
    if call.kind == "plain" and call.rule is None:
        names = [k for k, _ in call.kwargs]
        only_reads = any(call.target is f for f in _READS) or is_pure(call.target, len(call.args), names)
        return only_reads or not any(map(may_be_written, call.types))
    if call.kind == "rule" and call.rule is not None and not call.rule.mutates and any(map(_is_made, call.types)):
        return (call.target.__module__ or "").startswith("mooncake_py.")  # others may call what they are given
    return call.kind in ("plain", "rule", "op")


def _is_made(t: T) -> bool:
    """A function or method that was made in the run, and may write to what it captured."""
    return isinstance(t, (Fn, Meth))
