"""The order of the pullback's statements: what is computed for one reader is computed right before it.

There it waits on the stack instead of in a slot, and an array is not held longer than it must be. A statement is not
moved where that would keep more arrays alive than its own result.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from functools import cached_property

import numpy as np

from mooncake_py.infer.types import Arr, T
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.transform.effects import ARITHMETIC, NOTHING, Effects, function_of, is_array
from mooncake_py.transform.uses import read_by

_STAY = frozenset({ops.pull, ops.unpack})


def sink(b: Builder, effects: Effects) -> None:
    """Move statements down to their first reader, within blocks."""
    readers = _Readers(b)
    for block in b.blocks:
        if len(block.stmts) > 2:
            _sink_block(block, effects, readers)


class _Readers:
    def __init__(self, b: Builder):
        self.b = b

    @cached_property
    def shared(self) -> set[Operand]:
        """What is read in several blocks. Numbers are moved without a look at it."""
        seen: set[Operand] = set()
        shared: set[Operand] = set()
        for block in self.b.blocks:
            here: set[Operand] = set(read_by(block.term))
            for s in block.stmts:
                here.update(s.args if type(s.fn) is Const and not s.kwargs else s.operands())
            shared |= here & seen
            seen |= here
        return shared


def _sink_block(block: Draft, effects: Effects, readers: _Readers) -> None:
    stmts = block.stmts
    changes = [effects.of(s) for s in stmts]
    written = {effect: [i for i, e in enumerate(changes) if e == effect] for effect in {*changes} - {NOTHING}}
    first: dict[Operand, float] = {}
    last: dict[Operand, float] = {}

    def survives(v: Operand, i: int, j: float) -> bool:
        return all(
            effects.leaves(effect, v) for effect, at in written.items() if bisect_right(at, i) < bisect_left(at, j)
        )

    at_end = set(read_by(block.term))
    keys: list[float] = [0.0] * len(stmts)
    for i in range(len(stmts) - 1, -1, -1):
        s = stmts[i]
        key: float = i
        j = first.get(s.out, i)
        movable = j > i + 1 and changes[i] == NOTHING and function_of(s) not in _STAY
        if movable and (not written or all(survives(v, i, j) for v in s.args)):
            later = [
                v
                for v in set(s.args)
                if isinstance(v, Var)
                and v not in at_end
                and last.get(v, -1) < j
                and is_array(effects.types.get(v))
                and v not in readers.shared
            ]
            if _pays(s, later, effects.types):
                key = j
        keys[i] = key
        for v in s.args if type(s.fn) is Const and not s.kwargs else s.operands():
            if key < first.get(v, math.inf):
                first[v] = key
            if key > last.get(v, -1):
                last[v] = key
    block.stmts = [stmts[i] for i in sorted(range(len(stmts)), key=keys.__getitem__)]


def _pays(s: Call, later: list[Var], types: dict[Var, T]) -> bool:
    """Is it worth to compute s later, where these operands would otherwise be gone by then?"""
    result = types.get(s.out)
    if not is_array(result):
        return not later
    if not later:
        return True
    t = types.get(later[0])
    if len(later) > 1 or not isinstance(result, Arr) or not isinstance(t, Arr) or None in (result.ndim, t.ndim):
        return False
    f = function_of(s)
    same_size = f in ARITHMETIC or isinstance(f, np.ufunc)
    return t.ndim < result.ndim or (same_size and t.ndim == result.ndim)  # type: ignore[operator]
