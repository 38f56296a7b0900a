"""What the statements of a pullback change: which values another statement leaves as they are.

Numbers never change. Arrays made here by an operation change where a statement writes into them by name. The forward
run's arrays change where they are put back as they were. What is not known may change with every statement that writes.
"""

from __future__ import annotations

import operator
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from mooncake_py.hashing import hashable
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
    return s.fn.value if type(s.fn) is Const and hashable(s.fn.value) else None


def functions_in(b: Builder) -> set[Any]:
    """The functions that the code of a builder calls, as far as they can be looked up."""
    called = {id(s.fn.value): s.fn.value for block in b.blocks for s in block.stmts if type(s.fn) is Const}
    return {f for f in called.values() if hashable(f)}


def computes(s: Call) -> bool:
    """Does the statement give equal results for equal operands, and nothing else?"""
    return _kind(s) == _COMPUTES


def harmless(s: Call) -> bool:
    """Does it change nothing?"""
    return _kind(s) <= _READS_ONLY


_COMPUTES, _READS_ONLY, _WRITES_FIRST, _UNKNOWN = range(4)
"""What a statement does: gives equal results for equal operands, nothing that changes anything, writes into its first
operand, perhaps writes."""


def _kind(s: Call) -> int:
    f = function_of(s)
    if f is None:
        return _UNKNOWN
    if s.kwargs:
        known = f in ENGINE_PURE or is_pure(f, len(s.args), [k for k, _ in s.kwargs])
        return _READS_ONLY if known or f in ARITHMETIC or f in _READS else _UNKNOWN
    if f in ARITHMETIC or f is ops.build_tuple:
        return _COMPUTES
    if f in _IN_PLACE:
        return _WRITES_FIRST
    if f in _READS:
        return _READS_ONLY
    if not is_pure(f, len(s.args)):
        return _READS_ONLY if f in ENGINE_PURE else _UNKNOWN
    number = isinstance(f, (np.ufunc, BuiltinFunctionType)) and getattr(f, "__module__", "math") in _OF_NUMBERS
    return _COMPUTES if number else _READS_ONLY


_OF_NUMBERS = ("math", None, "numpy")


class Effects:
    """Of the statements of one builder."""

    def __init__(self, b: Builder, types: dict[Var, T]):
        self.types = types
        self.made: set[Operand] = set()  # arrays that are new where they are made
        self.given: set[Operand] = set()  # captured or pulled
        parts: dict[Operand, Operand] = {}  # items and attributes, with what they are of
        wholes: set[Operand] = set()
        written: set[Operand] = set()
        self._kinds: dict[Call, int] = {}  # of the statements that there were
        told: dict[tuple[int, int], int] = {}  # by function and number of operands
        for block in b.blocks:
            for s in (*block.head, *block.stmts):
                f = s.fn.value if type(s.fn) is Const else None
                key = id(f), len(s.args)
                kind = told.get(key)
                if kind is None or s.kwargs:
                    kind = _kind(s)
                    if not s.kwargs:
                        told[key] = kind
                self._kinds[s] = kind
                if kind == _WRITES_FIRST:
                    written.add(s.args[0])
                elif kind == _UNKNOWN:
                    written.update(s.operands())
                elif f is ops.unpack:
                    wholes.add(s.out)
                elif f is ops.pull or (f is operator.getitem and s.args[0] in wholes):
                    self.given.add(s.out)
                elif f is operator.getitem or f is getattr:
                    parts[s.out] = s.args[0]
                elif kind == _COMPUTES:
                    self.made.add(s.out)
        for v in list(written):
            while v in parts:
                v = parts[v]
                written.add(v)
        self.made -= written
        self.parts, self.written = parts, written

    def of(self, s: Call) -> int:
        """What the statement may change."""
        kind = self._kind_of(s)
        if kind <= _READS_ONLY:
            return NOTHING
        if kind == _UNKNOWN:
            return ANYTHING
        v = s.args[0]
        while v in self.parts:
            v = self.parts[v]
        return ANYTHING if v in self.given else OWN

    def computes(self, s: Call) -> bool:
        """As the function of this name."""
        return self._kind_of(s) == _COMPUTES

    def _kind_of(self, s: Call) -> int:
        kind = self._kinds.get(s)
        return _kind(s) if kind is None else kind

    def leaves(self, effect: int, v: Operand) -> bool:
        """Is the value the same after such a change?"""
        if effect == NOTHING or isinstance(v, Const) or v in self.made or is_number(self.types.get(v)):
            return True
        return effect == OWN and v in self.given


def is_number(t: T | None) -> bool:
    """A number, or something made of such that cannot be changed."""
    if isinstance(t, Inst):
        return t.cls in _UNCHANGING or is_scalar(t)
    if isinstance(t, Tup):
        return all(map(is_number, t.raw))
    return isinstance(t, Known) and isinstance(t.value, (int, float, complex, str, slice, type(None)))


_UNCHANGING = frozenset({int, float, bool, str, bytes, range, slice})


def is_array(t: T | None) -> bool:
    """May it hold memory worth freeing?"""
    return isinstance(t, Arr) or not is_number(t)
