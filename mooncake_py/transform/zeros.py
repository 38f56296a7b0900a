"""What comes first into new zeros is put there, or is the sum itself: nothing is added to zeros.

A part that comes before the whole waits for it: zeros that are there for its sake alone would take more memory.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

import numpy as np

from mooncake_py.infer.types import Arr, T
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.transform import helpers
from mooncake_py.transform.effects import ARITHMETIC, computes, function_of, harmless
from mooncake_py.transform.uses import count_uses, read_by

_WHOLE = {operator.iadd: helpers.sum_of_one, operator.isub: helpers.negative_of_one}


def without_zeros(b: Builder, types: dict[Var, T]) -> None:
    """Rewrite the first addition to every array of zeros where it is made, or in other blocks."""
    uses: dict[Operand, int] = {}
    subst: dict[Var, Operand] = {}
    for block in b.blocks:
        zeros = {s.out: s for s in block.stmts if type(s.fn) is Const and s.fn.value is helpers.zeros_like}
        if not zeros:
            continue
        uses = uses or count_uses(b)
        readers = _readers(block, zeros)
        for z, made in zeros.items():
            here = readers[z]
            if len(here) == uses.get(z) == 2 and _wait(block, here[0], here[1], uses):
                here, uses[z] = here[1:], 1
            if here and not _put(block, here, uses):
                _take(block, made, here[0], uses, types, subst)
        for z in zeros.keys() - {z for z, here in readers.items() if here} - set(read_by(block.term)):
            _put_later(b, block, z, uses)
    if subst:
        b.apply(subst)


def _readers(block: Draft, zeros: Iterable[Operand]) -> dict[Operand, list[Call]]:
    """The statements of a block that read each of these, in their order."""
    readers: dict[Operand, list[Call]] = {z: [] for z in zeros}
    for s in block.stmts:
        for v in s.operands():
            if v in readers:
                readers[v].append(s)
    return readers


def _put_later(b: Builder, home: Draft, z: Operand, uses: dict[Operand, int]) -> None:
    """Put what comes first into zeros that another block than theirs adds to, or several that exclude each other."""
    readers = {block: _readers(block, (z,))[z] for block in b.blocks}
    users = {block for block, here in readers.items() if here or z in read_by(block.term)}
    for block, here in readers.items():
        if here and users.isdisjoint(_between(home, block)):
            _put(block, here, uses)


def _between(home: Draft, block: Draft) -> set[Draft]:
    """What may run after a block and before another one that it leads to, which may be the other one itself."""
    seen: set[Draft] = {home}
    work = [block]
    while work:
        new = {q for q, _ in work.pop().preds} - seen
        seen |= new
        work += new
    return seen - {home}


def _wait(block: Draft, read: Call, whole: Call, uses: dict[Operand, int]) -> bool:
    """`view = z[i]; view += t; z += w` in the order of the whole and the part, where nothing changes t in between."""
    stmts, z = block.stmts, whole.args[0]
    add = _added_to(block, read, uses)
    if add is None or function_of(whole) not in _WHOLE or z is not read.args[0]:
        return False
    at, until = stmts.index(add), stmts.index(whole)
    found = at < until and all(map(harmless, stmts[at + 1 : until]))
    if found:
        block.stmts = [s for s in stmts[:until] if s is not read and s is not add]
        block.stmts += [
            whole,
            Call(read.out, read.fn, (whole.out, read.args[1]), (), read.pos),
            add,
            *stmts[until + 1 :],
        ]
    return found


def _added_to(block: Draft, read: Call, uses: dict[Operand, int]) -> Call | None:
    """`view += t` for the only view that is made by this statement."""
    if function_of(read) is not operator.getitem or uses.get(read.out) != 1:
        return None
    add = next((s for s in block.stmts if s.args and s.args[0] is read.out), None)
    return None if add is None or function_of(add) is not operator.iadd or uses.get(add.out) else add


def _put(block: Draft, readers: list[Call], uses: dict[Operand, int]) -> bool:
    """`view = z[i]; view += t` as `z[i] = t`."""
    read, stmts = readers[0], block.stmts
    add = _added_to(block, read, uses)
    if add is None:
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
    """`z += t` or `z -= t`, t being the whole cotangent: t itself where that is new, else a copy."""
    f = function_of(add)
    if f not in _WHOLE or add.args[0] is not made.out or uses[made.out] != 1:
        return
    stmts, t = block.stmts, add.args[1]
    if (
        f is operator.iadd
        and uses[t] == 1
        and _is_new(next((s for s in stmts if s.out is t), None), types.get(made.out), types)
    ):
        subst[add.out] = t
        stmts.remove(add)
    else:
        stmts[stmts.index(add)] = Call(add.out, Const(_WHOLE[f]), (t, *made.args), (), add.pos)
    stmts.remove(made)


def _is_new(s: Call | None, wanted: T | None, types: dict[Var, T]) -> bool:
    """Does the statement make an array of its own, of the dtype and dimensions that are wanted?"""
    if s is None or not isinstance(wanted, Arr) or not wanted.ndim or wanted.dtype is None:
        return False  # of no dimension, it would be a number
    t, f = types.get(s.out), function_of(s)
    alike = isinstance(t, Arr) and (t.dtype, t.ndim) == (wanted.dtype, wanted.ndim)
    return alike and computes(s) and (f in ARITHMETIC or isinstance(f, np.ufunc))
