"""What the statements of a pullback change: which values another statement leaves as they are.

Numbers never change. Arrays made here by an operation change where a statement writes into them by name. The forward
run's arrays change where they are put back as they were. What is not known may change with every statement that writes.
"""

from __future__ import annotations

import operator
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Inst, Known, T, Tup, is_scalar
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.registry import is_pure
from mooncake_py.transform.sweep import ENGINE_PURE

NOTHING, OWN, ANYTHING = 0, 1, 2

ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pow})
_IN_PLACE = frozenset({operator.iadd, operator.isub, operator.setitem})
_READS = frozenset({getattr, operator.getitem, operator.is_, ops.pull, ops.unpack, ops.build_tuple})


def function_of(s: Call) -> Any:
    """The function that is called, None where it is not known or cannot be looked up."""
    return s.fn.value if type(s.fn) is Const and type(s.fn.value).__hash__ is not None else None


def functions_in(b: Builder) -> set[Any]:
    """The functions that the code of a builder calls, as far as they can be looked up."""
    called = {id(s.fn.value): s.fn.value for block in b.blocks for s in block.stmts if type(s.fn) is Const}
    return {f for f in called.values() if type(f).__hash__ is not None}


def computes(s: Call) -> bool:
    """Does the statement give equal results for equal operands, and nothing else?"""
    return _computes(s, function_of(s))


def _computes(s: Call, f: Any) -> bool:
    if s.kwargs or f is None:
        return False
    if f in ARITHMETIC or f is ops.build_tuple:
        return True
    number = isinstance(f, (np.ufunc, BuiltinFunctionType)) and getattr(f, "__module__", "math") in (
        "math",
        None,
        "numpy",
    )
    return number and f is not getattr and is_pure(f, len(s.args))


def harmless(s: Call) -> bool:
    """Does it change nothing?"""
    f = function_of(s)
    return f is not None and (
        f in ARITHMETIC or f in _READS or f in ENGINE_PURE or is_pure(f, len(s.args), [k for k, _ in s.kwargs])
    )


class Effects:
    """Of the statements of one builder."""

    def __init__(self, b: Builder, types: dict[Var, T]):
        self.types = types
        self.made: set[Operand] = set()  # arrays that are new where they are made
        self.given: set[Operand] = set()  # captured or pulled
        parts: dict[Operand, Operand] = {}  # items and attributes, with what they are of
        wholes: set[Operand] = set()
        written: set[Operand] = set()
        self.harmless: set[Call] = set()  # of those that there were
        for block in b.blocks:
            for s in (*block.head, *block.stmts):
                f = function_of(s)
                if f in _IN_PLACE:
                    written.add(s.args[0])
                    continue
                if f is ops.unpack:
                    wholes.add(s.out)
                elif f is ops.pull or (f is operator.getitem and s.args[0] in wholes):
                    self.given.add(s.out)
                elif f in (getattr, operator.getitem):
                    parts[s.out] = s.args[0]
                elif _computes(s, f):
                    self.made.add(s.out)
                elif not harmless(s):
                    written.update(s.operands())
                    continue
                self.harmless.add(s)
        for v in list(written):
            while v in parts:
                v = parts[v]
                written.add(v)
        self.made -= written
        self.parts, self.written = parts, written

    def of(self, s: Call) -> int:
        """What the statement may change."""
        if s in self.harmless or harmless(s):
            return NOTHING
        if function_of(s) in _IN_PLACE:
            v = s.args[0]
            while v in self.parts:
                v = self.parts[v]
            return ANYTHING if v in self.given else OWN
        return ANYTHING

    def leaves(self, effect: int, v: Operand) -> bool:
        """Is the value the same after such a change?"""
        if effect == NOTHING or isinstance(v, Const) or v in self.made or is_number(self.types.get(v)):
            return True
        return effect == OWN and v in self.given


def is_number(t: T | None) -> bool:
    """A number, or something made of such that cannot be changed."""
    match t:
        case Tup(items=items):
            return all(map(is_number, items))
        case Inst(cls=c):
            return is_scalar(t) or c in (str, bytes, range, slice)
        case Known(value=v):
            return isinstance(v, (int, float, complex, str, slice, type(None)))
    return False


def is_array(t: T | None) -> bool:
    """May it hold memory worth freeing?"""
    return isinstance(t, Arr) or not is_number(t)
