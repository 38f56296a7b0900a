"""Iterators that something keeps, as objects: what their attributes hold is known.

An iterator that is only asked for items where it was made is taken apart there (`asking.py`). What is left is kept in
an attribute or container, given away or returned: one over a sequence becomes a `SequenceIterator`, a generator an
object of its class, and both are differentiated as objects of the user's are.
"""

from __future__ import annotations

import types as pytypes
from dataclasses import replace
from typing import Any

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.protocol import Classes
from mooncake_py.infer.special_methods import STAND_INS
from mooncake_py.infer.types import Arr, Known, Lst, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, ForNext, Function, Operand, Var
from mooncake_py.kept_iterators import kept_iterator
from mooncake_py.registry import overlay_of
from mooncake_py.transform.generators import as_function
from mooncake_py.transform.inline import MOST_TOTAL, Callee, callee_of
from mooncake_py.transform.late_cells import settle_cells
from mooncake_py.transform.protect import explicit
from mooncake_py.transform.splice import splice

_STAND_INS: frozenset[Any] = STAND_INS
MOST_OF_ONE = 40
"""Statements of a generator: all of them stand wherever it is asked for an item, with the places it goes on from."""


def as_objects(
    inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType], classes: Classes
) -> Function | None:
    """The function with such iterators as objects; None where there are none."""
    larger = _generators(inferred, globals_, taken)
    return _over_sequences(inferred, classes) if larger is None else settle_cells(larger)


def _generators(inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType]) -> Function | None:
    fn = inferred.fn
    total = sum(len(b.stmts) for b in fn.blocks)
    for b in fn.blocks:
        for s in b.stmts if b.id in inferred.reached else ():
            callee = callee_of(inferred, s, globals_)
            if callee is None or not callee.body.suspends or total > MOST_TOTAL:
                continue
            made = _made(s, callee, inferred, globals_)
            if made is None:
                continue
            total += sum(len(x.stmts) for x in callee.body.blocks)
            if callee.owner is not None:
                taken.add(callee.owner)
            at = next(x for x in fn.blocks if s in x.stmts)
            fn = splice(fn, at, at.stmts.index(s), explicit(made), callee.args, callee.closure)
    return None if fn is inferred.fn else fn


def _made(s: Call, callee: Callee, inferred: Inferred, globals_: dict) -> Function | None:
    """The function that makes the generator."""
    code = _code_of(s, inferred)
    stmts = [x for b in callee.body.blocks for x in b.stmts]
    if code is None or len(stmts) > MOST_OF_ONE or any(is_const(x.fn, ops.yield_from) for x in stmts):
        return None
    scope = globals_ if callee.owner is None else callee.owner.__globals__
    return as_function(callee.body, code, scope)


def _code_of(s: Call, inferred: Inferred) -> pytypes.CodeType | None:
    """The code of the generator function; None for what asks an object for its items, which is none of the user's."""
    t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
    if isinstance(t, Known):
        f = overlay_of(t.value, len(s.args), bool(s.kwargs)) or t.value
        return f.__code__ if isinstance(f, pytypes.FunctionType) and f not in _STAND_INS else None
    return getattr(t, "code", None)


def _over_sequences(inferred: Inferred, classes: Classes) -> Function | None:
    fn = inferred.fn
    looped = {b.term.iterator for b in fn.blocks if isinstance(b.term, ForNext)}
    blocks: list[CFGBlock] = []

    def type_of(v: Operand) -> T | None:
        return Known(v.value) if isinstance(v, Const) else inferred.types.get(v)

    def is_kept(s: Call) -> bool:
        f = type_of(s.fn)
        if not isinstance(f, Known) or f.value is not iter or len(s.args) != 1 or s.kwargs:
            return False
        t = type_of(s.args[0])
        return s.out not in looped and isinstance(t, (Lst, Tup, Arr, Top)) and t.active and s.out not in classes.kept

    for b in fn.blocks:
        found = list(filter(is_kept, b.stmts)) if b.id in inferred.reached else []
        classes.kept.update(s.out for s in found)
        stmts = [replace(s, fn=Const(kept_iterator)) if s in found else s for s in b.stmts]
        blocks.append(replace(b, stmts=tuple(stmts)) if found else b)
    return None if all(x is y for x, y in zip(blocks, fn.blocks, strict=True)) else replace(fn, blocks=tuple(blocks))
