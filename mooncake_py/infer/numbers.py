"""Functions of numbers alone: most of what a function is searched for is not found in them."""

from __future__ import annotations

import cmath
import math
import operator
import types as pytypes
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.hashing import hashable
from mooncake_py.infer.choices import RAISES
from mooncake_py.infer.types import Inst, Known, Real, T
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Raise

if TYPE_CHECKING:
    from mooncake_py.infer.inferred import CallInfo, Inferred
    from mooncake_py.infer.outside import Code

_CLASSES = frozenset({int, float, bool, complex, np.float64, range})
_IN_C = frozenset({pytypes.BuiltinFunctionType, pytypes.ModuleType, type(None), int, float, bool, complex})
_OF_C_MODULES = frozenset({operator.add.__module__, math.sin.__module__, cmath.sin.__module__})
_COMPUTE = _CLASSES | {abs, divmod, isinstance, iter, len, max, min, pow, reversed, round, sum}
_COMPUTE |= {ops.build_list, ops.build_tuple, ops.check_bound, ops.truth, ops.unpack}
"""What these give is made of what they are given."""


def computes_numbers(inferred: Inferred) -> bool:
    """Are there only numbers in the function, what computes them in C, and loops over ranges, and is all of it known?

    Then it holds nothing that is taken apart, looked into, taken in or asked for items: containers, strings, objects,
    functions of Python's, generators.
    """
    calls, looped = inferred.calls, inferred.memory.shape.looped
    for s in inferred.memory.shape.statements:
        info = calls.get(s.out)
        if info is None or s.kwargs or info.why == RAISES or info.kind not in ("rule", "plain"):
            return False
        if type(s.fn) is Const and not _is_of_c(f := s.fn.value) and f is not ops.load_global and f is not ops.truth:
            return False
    return all([_is_number(t) or (v in looped and _goes_over_range(calls.get(v))) for v, t in inferred.types.items()])


def _is_number(t: T) -> bool:
    kind = type(t)
    if kind is Inst:
        return t.cls in _CLASSES  # type: ignore[attr-defined]
    return _is_of_c(t.value) if kind is Known else kind is Real  # type: ignore[attr-defined]


def _is_of_c(x: Any) -> bool:
    """A number, a class of numbers, a function written in C, or a module."""
    return type(x) in _IN_C or (type(x) is type and x in _CLASSES)


def _goes_over_range(info: CallInfo | None) -> bool:
    """Is this the call that makes the iterator of a range?"""
    return info is not None and info.target is iter and len(info.types) == 1 and info.types[0] == Inst(range)


def comes_to_nothing(c: Code) -> bool:
    """Does code that may run come to nothing from outside but numbers and what computes with what it is given?"""
    if c.params or c.defaults or c.free or c.body.free:
        return False
    defs = {s.out: s for b in c.body.blocks for s in b.stmts}
    for b in c.body.blocks:
        if b.handler is not None or type(b.term) is Raise:
            return False
        for s in b.stmts:
            f = s.fn.value if type(s.fn) is Const else c.known(s.fn, defs)
            if s.kwargs or f is None:
                return False
            if f is ops.load_global or f is getattr:
                if (x := c.known(s.out, defs)) is None or not _is_of_c(x):
                    return False
            elif not (type(f) is pytypes.BuiltinFunctionType and f.__module__ in _OF_C_MODULES) and not _is_in(f):
                return False
    return True


def _is_in(f: Any) -> bool:
    return hashable(f) and f in _COMPUTE
