"""What a function may do by its code: look at its frame, raise what it makes, receive what is sent."""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types as pytypes
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.outside_arrays import WRITERS, WRITING_METHODS
from mooncake_py.infer.outside_writes import MUTATORS
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Const, ForNext, Function, Operand, Raise, all_edges, term_operands

OF_FRAMES = {locals: 1, vars: 1, dir: 1, eval: 2, exec: 2, sys._getframe: 9, inspect.currentframe: 9, inspect.stack: 9}
"""Functions that see the frame they are called in, given fewer arguments than this: derived code has another one."""
GIVE_HANDLED = frozenset({sys.exc_info, sys.exception})
"""Functions that give the exception that is being handled, which may hold what has a derivative."""
NAMESPACES = frozenset({locals, vars, dir, eval, exec})
"""Those to which the names in it are all that matters."""
_FRAME_NAMES = frozenset(f.__name__ for f in OF_FRAMES)
_NAMED = (ops.load_global, ops.import_name, ops.import_from, ops.cell_get)


_GENERIC = functools.singledispatch(len).__code__  # type: ignore[attr-defined]


def sees_its_frame(code: pytypes.CodeType) -> bool:
    """May the function ask for its own frame or its caller's, or for its variables by name?

    It may call such a function by a global name, or as an attribute of what it has by one: attributes of its arguments
    may be called `stack` or `eval` as well.
    """
    if _FRAME_NAMES.isdisjoint(code.co_names):
        return False
    try:
        body = normalise(code)
    except UnsupportedError:
        return True
    stmts = [s for b in body.blocks for s in b.stmts]
    named = {s.out for s in stmts if any(is_const(s.fn, f) for f in _NAMED)}
    for s in stmts:
        asked = s.args if s.out in named else s.args[1:2] if is_const(s.fn, getattr) and s.args[0] in named else ()
        if any(isinstance(v, Const) and type(v.value) is str and v.value in _FRAME_NAMES for v in asked):
            return True
    return False


@functools.lru_cache(2000)
def changes_what_it_holds(code: pytypes.CodeType) -> bool:
    """May the function assign a variable that it captured, or write into what it captured or is given?"""
    try:
        body = normalise(code)
    except UnsupportedError:
        return True
    if not (MUTATORS | WRITERS | WRITING_METHODS).isdisjoint(code.co_names):
        return True
    held = _held(body)
    for s in (s for b in body.blocks for s in b.stmts):
        f = s.fn.value if isinstance(s.fn, Const) else None
        if f is ops.cell_set and s.args[0] in body.free:
            return True
        if f is ops.make_function and isinstance(s.args[0], Const) and changes_what_it_holds(s.args[0].value):
            return True
        if f in _WRITES and s.args[0] in held:
            return True
        if any(k == "out" and v in held for k, v in s.kwargs):
            return True
    return False


def _held(body: Function) -> set[Operand]:
    """The values that may be what a function captured or is given, or in there."""
    held: set[Operand] = set(body.params)
    params = {b.id: b.params for b in body.blocks}
    while True:
        before = len(held)
        for b in body.blocks:
            for s in b.stmts:
                f = s.fn.value if isinstance(s.fn, Const) else None
                captured = f is ops.cell_get and s.args[0] in body.free
                if captured or (f not in _NEW and not held.isdisjoint(s.operands())):
                    held.add(s.out)
            for e in all_edges(b):
                first = len(params[e.target]) - len(e.args)
                held.update(p for p, a in zip(params[e.target][first:], e.args, strict=True) if a in held)
                if isinstance(b.term, ForNext) and b.term.iterator in held:
                    held.update(params[e.target][:first])
        if len(held) == before:
            return held


_NEW = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg, operator.matmul)
_WRITES: tuple[Any, ...] = (setattr, delattr, operator.setitem, operator.delitem, ops.setslice)
_WRITES += (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ipow, operator.imatmul)


def is_generic(f: object) -> bool:
    """Is this a function by `functools.singledispatch`, which calls another one for each class of its argument?"""
    return type(f) is pytypes.FunctionType and f.__code__ is _GENERIC


def may_carry(f: pytypes.FunctionType, seen: set[pytypes.CodeType]) -> bool:
    """May a function raise an exception that it makes of its arguments, or call one that does?"""
    if f.__code__ in seen:
        return False
    seen.add(f.__code__)
    codes = [f.__code__]
    for code in codes:  # with those of the functions that it makes
        codes += [k for k in code.co_consts if isinstance(k, pytypes.CodeType)]
    if any(map(raises_something, codes)):
        return True
    named = [f.__globals__.get(name) for code in codes for name in code.co_names]
    own = [k for code in codes for k in code.co_consts]
    return any(isinstance(g, pytypes.FunctionType) and may_carry(g, seen) for g in (*named, *own))


@functools.cache
def raises_something(code: pytypes.CodeType) -> bool:
    blocks = normalise(code).blocks
    return any(isinstance(b.term, Raise) and not b.term.reraise and b.term.exc is not None for b in blocks)


@functools.cache
def attributes_set(code: pytypes.CodeType) -> frozenset[str]:
    """The names of the attributes that a function's code, and that of functions in it, assigns to."""
    try:
        blocks = normalise(code).blocks
    except UnsupportedError:
        return frozenset()
    found = {
        s.args[1].value for b in blocks for s in b.stmts if is_const(s.fn, setattr) and isinstance(s.args[1], Const)
    }
    inner = [attributes_set(c) for c in code.co_consts if isinstance(c, pytypes.CodeType)]
    return frozenset(found).union(*inner)


def names_of_values(body: Function, code: pytypes.CodeType) -> list[str]:
    """The names in a function's code that are not those of attributes alone."""
    used = {
        v.value
        for b in body.blocks
        for s in b.stmts
        if not (type(s.fn) is Const and id(s.fn.value) in _OF_ATTRIBUTES)
        for v in s.args
        if isinstance(v, Const) and type(v.value) is str
    }
    return [name for name in code.co_names if name in used]


def looks_into_only(body: Function, name: str) -> bool:
    """Does a function only read attributes of what it has by a global name?"""
    stmts = [s for b in body.blocks for s in b.stmts]
    held: set[Operand] = {s.out for s in stmts if is_const(s.fn, ops.load_global) and is_const(s.args[0], name)}
    if any(is_const(v, name) for s in stmts if s.out not in held and not is_const(s.fn, getattr) for v in s.args):
        return False  # it is asked for otherwise
    read = [s for s in stmts if is_const(s.fn, getattr) and isinstance(s.args[1], Const)]
    users = [v for s in stmts if s not in read for v in s.operands()]
    passed = [a for b in body.blocks for e in all_edges(b) for a in e.args]
    ends = [v for b in body.blocks for v in term_operands(b.term)]
    return bool(held) and held.isdisjoint([*users, *passed, *ends])


_OF_ATTRIBUTES = frozenset(map(id, (getattr, setattr, delattr, ops.load_super)))


@functools.cache
def may_receive(code: pytypes.CodeType) -> bool:
    """May a function get what has a derivative that it is not given: as what its generators are sent, or as the
    exception that is being handled?"""
    if "exc_info" in code.co_names or {"sys", "exception"}.issubset(code.co_names):
        return True
    if not code.co_flags & inspect.CO_GENERATOR:
        return False
    body = normalise(code)
    used = {v for b in body.blocks for v in (*(v for s in b.stmts for v in s.operands()), *term_operands(b.term))}
    return any(
        is_const(s.fn, ops.yield_from) or (is_const(s.fn, ops.yield_) and s.out in used)
        for b in body.blocks
        for s in b.stmts
    )
