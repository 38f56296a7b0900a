"""Signs, carried to where they cost nothing: `a + -b * c` is `a - b * c`, and two on one way cancel.

A sign is exact in products, quotients and sums, so it may be taken after them as well. It is moved only where it ends
in a sum or in another sign; else it stays where it is, perhaps on the smaller array.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mooncake_py.ir.builder import Builder
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.registry import same_if_shaped
from mooncake_py.transform.effects import Effects, function_of
from mooncake_py.transform.uses import count_uses

_NEGATIVE = frozenset({operator.neg, np.negative})
_SIDES = frozenset({operator.mul, operator.truediv})
_OTHER = {operator.iadd: operator.isub, operator.isub: operator.iadd}


def fold_signs(b: Builder, effects: Effects) -> None:
    """Take signs into sums, and pairs of them out."""
    negated = [block for block in b.blocks if any([function_of(s) in _NEGATIVE for s in block.stmts])]
    if not negated:
        return
    uses = count_uses(b)
    subst: dict[Var, Operand] = {}
    for block in negated:
        stmts = block.stmts
        reader = {v: i for i, s in enumerate(stmts) for v in s.operands() if uses.get(v) == 1}
        gone: set[int] = set()
        for i, s in enumerate(stmts):
            if function_of(s) not in _NEGATIVE or len(s.args) != 1 or s.kwargs or i in gone:
                continue
            way = _way(stmts, i, reader, gone)
            if way is None or not all(effects.leaves(effects.of(t), s.args[0]) for t in stmts[i + 1 : way[0][0]]):
                continue
            for k, f in way:
                if f is None:
                    gone.add(k)
                    subst[stmts[k].out] = stmts[k].args[0]
                else:
                    stmts[k] = Call(stmts[k].out, Const(f[0]), f[1], (), stmts[k].pos)
            gone.add(i)
            subst[s.out] = s.args[0]
        if gone:
            block.stmts = [s for i, s in enumerate(stmts) if i not in gone]
    for v, w in subst.items():
        while isinstance(w, Var) and w in subst:
            w = subst[w]
        subst[v] = w
    b.apply(subst)


def _way(stmts: list[Call], i: int, reader: dict[Operand, int], gone: set[int]) -> list[tuple[int, Any]] | None:
    """The statements that the sign goes through, with what becomes of each; None where it ends nowhere.

    What becomes of a statement: another function and operands, or None for a sign that it cancels. Those that are
    `gone` are signs that others have cancelled, and change nothing.
    """
    out: list[tuple[int, Any]] = []
    v: Operand = stmts[i].out
    while (k := reader.get(v)) is not None:
        s = stmts[k]
        f = function_of(s)
        if k in gone:
            v = s.out
            continue
        if s.kwargs or f is None:
            return None
        if f in _NEGATIVE and len(s.args) == 1:
            return [*out, (k, None)]
        if f in _OTHER and s.args[1] is v:
            return [*out, (k, (_OTHER[f], s.args))]
        if f is operator.add:
            other = s.args[1] if s.args[0] is v else s.args[0]
            return [*out, (k, (operator.sub, (other, v)))]
        if f is operator.sub:
            if s.args[1] is v:
                return [*out, (k, (operator.add, s.args))]
            out.append((k, (operator.add, s.args)))  # -v - w is -(v + w)
        elif f in _SIDES or (f in same_if_shaped and s.args[0] is v):
            out.append((k, (f, s.args)))
        else:
            return None
        v = s.out
    return None
