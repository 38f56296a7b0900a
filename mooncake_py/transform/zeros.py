"""What comes first into new zeros is put there, or is the sum itself: nothing is added to zeros."""

from __future__ import annotations

import operator

import numpy as np

from mooncake_py.infer.types import Arr, T
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.transform import helpers
from mooncake_py.transform.effects import ARITHMETIC, computes, function_of
from mooncake_py.transform.uses import count_uses


def without_zeros(b: Builder, types: dict[Var, T]) -> None:
    """Rewrite the first addition to every array of zeros that is made in the block where it is added to."""
    uses: dict[Operand, int] = {}
    subst: dict[Var, Operand] = {}
    for block in b.blocks:
        zeros = {s.out: s for s in block.stmts if function_of(s) is helpers.zeros_like}
        if not zeros:
            continue
        uses = uses or count_uses(b)
        readers: dict[Operand, list[Call]] = {z: [] for z in zeros}
        for s in block.stmts:
            for v in s.operands():
                if v in zeros:
                    readers[v].append(s)
        for z, made in zeros.items():
            if readers[z] and not _put(block, readers[z], uses):
                _take(block, made, readers[z][0], uses, types, subst)
    if subst:
        b.apply(subst)


def _put(block: Draft, readers: list[Call], uses: dict[Operand, int]) -> bool:
    """`view = z[i]; view += t` as `z[i] = t`."""
    read = readers[0]
    if function_of(read) is not operator.getitem or uses.get(read.out) != 1:
        return False
    stmts = block.stmts
    add = next((s for s in stmts if s.args and s.args[0] is read.out), None)
    if add is None or function_of(add) is not operator.iadd or uses.get(add.out):
        return False
    at = stmts.index(add)
    if len(readers) > 1 and stmts.index(readers[1]) < at:
        return False
    stmts[at] = Call(add.out, Const(operator.setitem), (*read.args, add.args[1]), (), add.pos)
    stmts.remove(read)
    return True


def _take(
    block: Draft,
    made: Call,
    add: Call,
    uses: dict[Operand, int],
    types: dict[Var, T],
    subst: dict[Var, Operand],
) -> None:
    """`z += t`, t being the whole cotangent: t itself where that is new, else a copy."""
    if function_of(add) is not operator.iadd or add.args[0] is not made.out or uses[made.out] != 1:
        return
    stmts, t = block.stmts, add.args[1]
    if uses[t] == 1 and _is_new(next((s for s in stmts if s.out is t), None), types.get(made.out), types):
        subst[add.out] = t
        stmts.remove(add)
    else:
        stmts[stmts.index(add)] = Call(add.out, Const(helpers.sum_of_one), (t, *made.args), (), add.pos)
    stmts.remove(made)


def _is_new(s: Call | None, wanted: T | None, types: dict[Var, T]) -> bool:
    """Does the statement make an array of its own, of the dtype and dimensions that are wanted?"""
    if s is None or not isinstance(wanted, Arr) or not wanted.ndim or wanted.dtype is None:
        return False  # of no dimension, it would be a number
    t, f = types.get(s.out), function_of(s)
    alike = isinstance(t, Arr) and (t.dtype, t.ndim) == (wanted.dtype, wanted.ndim)
    return alike and computes(s) and (f in ARITHMETIC or isinstance(f, np.ufunc))
