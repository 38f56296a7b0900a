"""StopIteration out of what a generator calls, which is no end of the generator but a RuntimeError; an iterator that
is written in C has nothing more to give then, and goes on where it is asked again."""

from __future__ import annotations

import builtins
import operator
import types as pytypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.frontend.ssa import Draft
from mooncake_py.hashing import hashable
from mooncake_py.infer.held import is_library
from mooncake_py.infer.inferred import Inferred, TakenIn
from mooncake_py.infer.predicates import is_engines, is_native, raises_natively, runs_nothing
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.special_methods import BINARY, IN_PLACE, SPECIAL
from mooncake_py.infer.types import Cell, Fn, Known, Meth, T, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    ForNext,
    Function,
    Goto,
    Operand,
    Pos,
    Raise,
    Return,
    Terminator,
    Try,
    Var,
    all_edges,
)
from mooncake_py.iterators import PAUSED, item_within
from mooncake_py.kept_iterators import check_stop
from mooncake_py.transform.rebuild import Handler, Rebuild

_UNSEEN: Any = object()
_HARMLESS: Any = id  # what stands for data of libraries and their methods
_DISPLAYS: tuple[Any, ...] = (ops.build_list, ops.build_tuple, ops.build_map, ops.build_set)
Codes = dict[tuple[pytypes.CodeType, bool], bool]


def stops_seen_to(body: Function, types: Sequence[T | None], closure: T | None, scope: Mapping[str, Any]) -> Function:
    """The body with every StopIteration that leaves what it calls seen to."""
    cells: Sequence[T | None] = ()
    if isinstance(closure, Tup):
        cells = [c.elem if isinstance(c, Cell) else None for c in closure.items]
    params = dict(zip((*body.params, *body.free), (*types, *cells), strict=False))
    given: dict[Operand, Any] = {p: _meaning(t) for p, t in params.items()}
    plain = {p for p, t in params.items() if t is not None and is_native(t)}
    found = _stopping(body, given, plain, scope, {})
    raising = [b for b in body.blocks if isinstance(b.term, Raise) and b.handler is None]
    if not found and not (raising and _names_it(body)):
        return body
    return _SeenTo(body.kind, found).copied(body)


def without_idle(inferred: Inferred, scope: Mapping[str, Any]) -> Function | None:
    """The function without what sees to a StopIteration that cannot come; None where there is no such thing."""
    blocks = {b.id: b for b in inferred.fn.blocks}
    tries = {b.id: b.term for b in inferred.fn.blocks if isinstance(b.term, Try) and b.id in inferred.reached}
    seeing = {i for i in {t.handler.target for t in tries.values()} if _sees_to_stops(blocks[i])}
    seen: Codes = {}
    new: dict[BlockId, CFGBlock] = {}
    for i, t in tries.items():
        onward = _without(t, blocks) if t.handler.target in seeing else None
        if onward is None:
            continue
        body = blocks[t.body.target]
        n = next((k for k, s in enumerate(body.stmts) if _call_may_stop(s, inferred, scope, seen)), len(body.stmts))
        if n == len(body.stmts) and not isinstance(body.term, Raise):
            new[i] = replace(new.get(i, blocks[i]), term=onward)
        elif n > 0 and isinstance(onward, Goto):  # what may stop is seen to, what comes before it stands outside
            new[i] = replace(blocks[i], stmts=(*new.get(i, blocks[i]).stmts, *body.stmts[:n]))
            new[body.id] = replace(new.get(body.id, body), stmts=new.get(body.id, body).stmts[n:])
    return replace(inferred.fn, blocks=tuple([new.get(i, b) for i, b in blocks.items()])) if new else None


def _sees_to_stops(h: CFGBlock) -> bool:
    """Is this a handler that was put there for a StopIteration alone?"""
    return any(is_const(s.fn, ops.exc_match) and is_const(s.args[1], StopIteration) for s in h.stmts)


_ASKING = ("__next__", "send", "throw")


def _call_may_stop(s: Call, inferred: Inferred, scope: Mapping[str, Any], seen: Codes) -> bool:
    info = inferred.calls.get(s.out)
    t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
    f = _meaning(t)
    if runs_nothing(f):
        return False
    if info is None or f is next or getattr(f, "__name__", None) in _ASKING:
        return True
    planned = info.kind == "planned"
    if planned and not isinstance(info.target, TakenIn):
        return True
    if isinstance(f, (pytypes.FunctionType, pytypes.CodeType)) and not is_engines(f):
        args = [v for v in (*s.args, *(v for _, v in s.kwargs)) if isinstance(v, Var)]
        given = [inferred.types.get(v) for v in args] if planned else info.types
        return not all(t is not None and is_native(t) for t in given) or _code_stops(f, scope, seen, True)
    return not raises_natively(info)


def _without(term: Try, blocks: Mapping[BlockId, CFGBlock]) -> Terminator | None:
    """What leads into the body of such a Try, and exceptions where its handler sends those that are none of its own;
    None where that cannot be said."""
    h = blocks[term.handler.target]
    other = blocks[h.term.orelse.target] if isinstance(h.term, Branch) else None
    if other is None or other.stmts or other.params:
        return None
    if isinstance(other.term, Raise):
        return Goto(term.body, term.pos)
    own = {*h.params, *(s.out for s in h.stmts)}
    if not isinstance(other.term, Try) or not own.isdisjoint(other.term.handler.args):
        return None
    raising = blocks[other.term.body.target]
    return None if raising.stmts or not isinstance(raising.term, Raise) else replace(term, handler=other.term.handler)


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


def _stopping(
    body: Function, given: Mapping[Operand, Any], plain: Collection[Operand], scope: Mapping[str, Any], seen: Codes
) -> set[Call]:
    """The calls that may raise StopIteration, where no exception is caught. `plain`: parameters that are no objects of
    the user's, and hold none."""
    names = dict(given)
    found = set()
    operations = []
    for b in body.blocks:
        for s in b.stmts:
            f = s.fn.value if isinstance(s.fn, Const) else names.get(s.fn, _UNSEEN)
            if f is ops.call_ex:
                f = s.args[0].value if isinstance(s.args[0], Const) else names.get(s.args[0], _UNSEEN)
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
            if b.handler is None and s not in found and _stops_for_objects(f, scope, seen):
                operations.append(s)
    if operations and body.kind != "iterator":  # those in C's place come to no more than what they call
        objects = _may_be_objects(body, names, plain)
        found.update(s for s in operations if not objects.isdisjoint(s.args))
    return found


_BY_METHODS: frozenset[Any] = frozenset(
    [*SPECIAL, *BINARY, *IN_PLACE, operator.ne, operator.contains, ops.truth, getattr, setattr, delattr, hash]
    + [int, bool, complex, pow, str, repr, format, ops.getslice, ops.setslice, ops.format_value, ops.load_special]
)


def _may_be_objects(body: Function, names: Mapping[Operand, Any], plain: Collection[Operand]) -> set[Operand]:
    """The values that may be objects of the user's or hold some: what calls of functions that are not known give, and
    what comes together with such values anywhere."""
    together: list[list[Operand]] = []
    found: set[Operand] = {p for p in (*body.params, *body.free) if p not in plain}
    params = {b.id: b.params for b in body.blocks}
    for b in body.blocks:
        for s in b.stmts:
            f = s.fn if isinstance(s.fn, Const) else names.get(s.fn, _UNSEEN)
            if is_const(s.fn, ops.load_global):
                if not _is_plain(names[s.out]):
                    found.add(s.out)
            elif f is _UNSEEN or (isinstance(f, (type, pytypes.FunctionType)) and not is_library(f)):
                found.add(s.out)
            else:
                values = (s.out, s.fn, *s.args, *(v for _, v in s.kwargs))
                together.append([v for v in values if isinstance(v, Var)])
        for e in all_edges(b):
            first = len(params[e.target]) - len(e.args)
            together += [[p, a] for p, a in zip(params[e.target][first:], e.args, strict=True) if isinstance(a, Var)]
            together += [[p, b.term.iterator] for p in params[e.target][:first] if isinstance(b.term, ForNext)]
    readers: dict[Operand, list[list[Operand]]] = {}
    for group in together:
        for v in group:
            readers.setdefault(v, []).append(group)
    work = list(found)
    while work:
        new = {v for group in readers.get(work.pop(), ()) for v in group} - found
        found |= new
        work += new
    return found


def _is_plain(value: Any) -> bool:
    """Is what a name means no object of the user's, and holds none?"""
    kinds = (type, pytypes.ModuleType, pytypes.FunctionType, pytypes.BuiltinFunctionType, np.ufunc)
    return isinstance(value, (*kinds, int, float, complex, str, bytes, np.generic, type(None))) or (
        isinstance(value, np.ndarray) and value.dtype != object
    )


def _meant(name: str, scope: Mapping[str, Any]) -> Any:
    return scope[name] if name in scope else getattr(builtins, name, _UNSEEN)


def _attribute(x: Any, name: str) -> Any:
    if x is _HARMLESS:
        return x
    return vars(x).get(name, _UNSEEN) if isinstance(x, pytypes.ModuleType) else _UNSEEN


def _stops(f: Any, call: Call, scope: Mapping[str, Any], seen: Codes) -> bool:
    """May this call raise StopIteration, if no operand is an object of the user's?"""
    if f is next:
        return len(call.args) == 1
    if isinstance(call.fn, Const) and not is_const(call.fn, ops.call_ex) and not isinstance(f, pytypes.FunctionType):
        return False  # what the language itself does
    if f is item_within:
        return False
    if isinstance(f, (pytypes.FunctionType, pytypes.CodeType)):
        return _code_stops(f, scope, seen, True)
    if isinstance(f, type):
        return not is_library(f)
    return f is _UNSEEN or not is_library(f)


def _stops_for_objects(f: Any, scope: Mapping[str, Any], seen: Codes) -> bool:
    """May it raise StopIteration, if operands are objects of the user's? So may what Python does by their methods."""
    if hashable(f) and f in _BY_METHODS:
        return True
    return isinstance(f, (pytypes.FunctionType, pytypes.CodeType)) and _code_stops(f, scope, seen, False)


def _code_stops(f: Any, scope: Mapping[str, Any], seen: Codes, plain: bool) -> bool:
    """The same of a function or its code. `plain`: none of its arguments is an object of the user's."""
    code = f if isinstance(f, pytypes.CodeType) else f.__code__
    if code.co_flags & 0x20 or (f is not code and is_library(f)):
        return False
    if (code, plain) not in seen:
        seen[code, plain] = False  # where it calls itself
        seen[code, plain] = _own_code_stops(f, code, scope, seen, plain)
    return seen[code, plain]


def _own_code_stops(f: Any, code: pytypes.CodeType, scope: Mapping[str, Any], seen: Codes, plain: bool) -> bool:
    scope = scope if f is code else f.__globals__
    try:
        body = normalise(code)
    except UnsupportedError:
        return True
    raises = any(isinstance(b.term, Raise) and b.handler is None for b in body.blocks)
    given = body.params if plain else ()
    return (raises and _names_it(body)) or bool(_stopping(body, {}, given, scope, seen))


class _SeenTo(Rebuild):
    def __init__(self, kind: str, stopping: Collection[Call]):
        super().__init__()
        self.kind, self.stopping = kind, stopping
        self.handlers: dict[int | None, Draft] = {}  # by line, which is what a traceback shows

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
        h = self.handlers.get(pos.line)
        if h is None:
            h = self.handlers[pos.line] = self._handler(pos)
        self.builder.on_exception(d, h)

    def _handler(self, pos: Pos) -> Draft:
        builder = self.builder
        h, stopped, other = builder.new_block(), builder.new_block(), builder.new_block()
        exc: Var = builder.param(h)
        builder.branch(h, self.emit(h, pos, ops.exc_match, exc, Const(StopIteration)), stopped, other, pos)
        builder.raise_(other, exc, None, True, pos)
        if self.kind == "iterator":
            self.emit(stopped, pos, check_stop, exc)
            builder.ret(stopped, Const(PAUSED), pos)
            return h
        error = self.emit(stopped, pos, RuntimeError, Const("generator raised StopIteration"))
        builder.raise_(stopped, error, exc, False, pos)
        return h
