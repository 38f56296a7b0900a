"""StopIteration out of what a generator calls, which is no end of the generator but a RuntimeError; an iterator that
is written in C has nothing more to give then, and goes on where it is asked again."""

from __future__ import annotations

import builtins
import types as pytypes
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.frontend.ssa import Draft
from mooncake_py.infer.held import is_library
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.types import Cell, Fn, Known, Meth, T, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Operand, Pos, Raise, Return, Var
from mooncake_py.iterators import PAUSED, item_within
from mooncake_py.transform.rebuild import Handler, Rebuild

_UNSEEN: Any = object()
_HARMLESS: Any = len  # what stands for data of libraries and their methods
_DISPLAYS: tuple[Any, ...] = (ops.build_list, ops.build_tuple, ops.build_map, ops.build_set)
Codes = dict[pytypes.CodeType, bool]


def stops_seen_to(body: Function, types: Sequence[T | None], closure: T | None, scope: Mapping[str, Any]) -> Function:
    """The body with every StopIteration that leaves what it calls seen to."""
    given: dict[Operand, Any] = {p: _meaning(t) for p, t in zip(body.params, types, strict=False)}
    if isinstance(closure, Tup):
        held = [_meaning(c.elem) if isinstance(c, Cell) else _UNSEEN for c in closure.items]
        given.update(zip(body.free, held, strict=False))
    found = _stopping(body, given, scope, {})
    raising = [b for b in body.blocks if isinstance(b.term, Raise) and b.handler is None]
    if not found and not (raising and _names_it(body)):
        return body
    return _SeenTo(body.kind, found).copied(body)


def pauses(body: Function) -> bool:
    """May the iterator have nothing to give, and go on?"""
    return any(isinstance(b.term, Return) and is_const(b.term.value, PAUSED) for b in body.blocks)


def _meaning(t: T | None) -> Any:
    """What is called by a value of this type: a function or its code."""
    if isinstance(t, Known):
        return t.value
    if isinstance(t, Fn):
        return t.code
    if isinstance(t, Meth):
        return t.func
    cls = None if t is None else class_of(t)
    return _HARMLESS if cls is not None and is_library(cls) else _UNSEEN


def _names_it(body: Function) -> bool:
    return any(is_const(a, "StopIteration") for b in body.blocks for s in b.stmts for a in s.args)


def _stopping(body: Function, given: Mapping[Operand, Any], scope: Mapping[str, Any], seen: Codes) -> set[Call]:
    """The calls that may raise StopIteration, where no exception is caught."""
    names = dict(given)
    found = set()
    for b in body.blocks:
        for s in b.stmts:
            f = s.fn.value if isinstance(s.fn, Const) else names.get(s.fn, _UNSEEN)
            if f is ops.load_global and isinstance(s.args[0], Const):
                names[s.out] = _meant(s.args[0].value, scope)
            elif f is ops.make_cell and body.kind == "iterator":  # whose cells keep what they are given
                names[s.out] = _UNSEEN if isinstance(s.args[0], Const) else names.get(s.args[0], _UNSEEN)
            elif any(f is display for display in _DISPLAYS):
                names[s.out] = _HARMLESS
            elif f is ops.cell_get:
                names[s.out] = names.get(s.args[0], _UNSEEN)
            elif f is ops.make_function and isinstance(s.args[0], Const):
                names[s.out] = s.args[0].value
            elif f is getattr and isinstance(s.args[1], Const):
                names[s.out] = _attribute(names.get(s.args[0], _UNSEEN), s.args[1].value)
            elif b.handler is None and _stops(f, s, scope, seen):
                found.add(s)
    return found


def _meant(name: str, scope: Mapping[str, Any]) -> Any:
    return scope[name] if name in scope else getattr(builtins, name, _UNSEEN)


def _attribute(x: Any, name: str) -> Any:
    if x is _HARMLESS:
        return x
    return vars(x).get(name, _UNSEEN) if isinstance(x, pytypes.ModuleType) else _UNSEEN


def _stops(f: Any, call: Call, scope: Mapping[str, Any], seen: Codes) -> bool:
    """May this call raise StopIteration?"""
    if f is next:
        return len(call.args) == 1
    if isinstance(call.fn, Const) and not isinstance(f, pytypes.FunctionType):
        return False  # what the language itself does: the methods that it runs are not looked into
    if f is item_within:
        return False
    if isinstance(f, (pytypes.FunctionType, pytypes.CodeType)):
        return _code_stops(f, scope, seen)
    if isinstance(f, type):
        return not is_library(f)
    return f is _UNSEEN or not is_library(f)


def _code_stops(f: Any, scope: Mapping[str, Any], seen: Codes) -> bool:
    code = f if isinstance(f, pytypes.CodeType) else f.__code__
    if code.co_flags & 0x20 or (f is not code and is_library(f)):
        return False
    if code not in seen:
        seen[code] = False  # where it calls itself
        seen[code] = _own_code_stops(f, code, scope, seen)
    return seen[code]


def _own_code_stops(f: Any, code: pytypes.CodeType, scope: Mapping[str, Any], seen: Codes) -> bool:
    scope = scope if f is code else f.__globals__
    try:
        body = normalise(code)
    except UnsupportedError:
        return True
    raises = any(isinstance(b.term, Raise) and b.handler is None for b in body.blocks)
    return (raises and _names_it(body)) or bool(_stopping(body, {}, scope, seen))


class _SeenTo(Rebuild):
    def __init__(self, kind: str, stopping: Collection[Call]):
        super().__init__()
        self.kind, self.stopping = kind, stopping

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        d = super().statement(fn, d, s, handler)
        if s not in self.stopping:
            return d
        out = d.defs.pop(s.out)
        self._see_to(d, s.pos)
        onward = self.builder.new_block()
        self.builder.goto(d, onward, s.pos)
        self.builder.write(onward, s.out, out)
        return onward

    def terminator(self, fn: Function, d: Draft, b: CFGBlock) -> None:
        if isinstance(b.term, Raise) and b.handler is None:
            self._see_to(d, b.term.pos)
        super().terminator(fn, d, b)

    def _see_to(self, d: Draft, pos: Pos) -> None:
        """What is done with an exception of a block's last statement or terminator."""
        builder = self.builder
        h, stopped, other = builder.new_block(), builder.new_block(), builder.new_block()
        exc: Var = builder.param(h)
        builder.on_exception(d, h)
        builder.branch(h, self.emit(h, pos, ops.exc_match, exc, Const(StopIteration)), stopped, other, pos)
        builder.raise_(other, exc, None, True, pos)
        if self.kind == "iterator":
            builder.ret(stopped, Const(PAUSED), pos)
            return
        error = self.emit(stopped, pos, RuntimeError, Const("generator raised StopIteration"))
        builder.raise_(stopped, error, exc, False, pos)
