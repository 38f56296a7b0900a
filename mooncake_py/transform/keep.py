"""What of a value is kept for the reverse run: less than the value, where less will do.

- Of an array that zeros are made for, the shape.
- Of an array that is another with its sign changed, nothing: signs mostly end in a sum.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from mooncake_py.infer.types import Arr, Inst, T, Tup
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.transform import helpers
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.uses import read_by


def shapes_for_zeros(p: PullbackBuilder, types: dict[Var, T], shape_of: Callable[[Var], Var | None]) -> None:
    """Keep the shapes of arrays that the pullback makes zeros for and does nothing else with.

    `shape_of` makes the statement of the forward run that takes the shape of a value, and gives its name; None where
    there may be no value yet.
    """
    statements = [s for b in p.blocks for s in (*b.head, *b.stmts)]
    zeros = {s for s in statements if isinstance(s.fn, Const) and s.fn.value is helpers.dense_zeros}
    if not zeros:
        return
    made: dict[Operand, list[Call]] = {}
    others: set[Operand] = {v for b in p.blocks for v in read_by(b.term)}
    for s in statements:
        if s in zeros:
            made.setdefault(s.args[1], []).append(s)
            others.add(s.args[0])
        else:
            others.update(s.operands())
    changed: dict[Call, Call] = {}

    def kept(table: dict[Var, Var]) -> dict[Var, Var]:
        out = {}
        for v, x in table.items():
            t = types.get(v)
            asked = x in made and x not in others
            if not asked or not isinstance(t, Arr) or t.dtype is None or (shape := shape_of(v)) is None:
                out[v] = x
            else:
                out[shape] = x
                types[shape] = types[x] = Tup((Inst(int),) * (t.ndim or 0)) if t.ndim is not None else Inst(tuple)
                for s in made[x]:
                    changed[s] = Call(s.out, Const(helpers.zeros_unless), (s.args[0], x, Const(t.dtype)), (), s.pos)
        return out

    comms = p.comms
    comms.captures = kept(comms.captures)
    comms.stacks = {u: kept(stack) for u, stack in comms.stacks.items()}
    for b in p.blocks if changed else ():
        b.stmts = [changed.get(s, s) for s in b.stmts]


def negatives(
    p: PullbackBuilder, forward: Builder, types: dict[Var, T], is_fixed: Callable[[Var], bool]
) -> list[tuple[Var, Var, Var]]:
    """Captured arrays that are others with their sign changed, taken off the captures.

    (forward value, its name, the name of the other) of each. `is_fixed`: is this value there in every run, and
    does nobody write to it?
    """
    captures = p.comms.captures
    defs = {s.out: s for d in forward.blocks for s in d.stmts}
    out = []
    for v in list(captures):
        d = defs.get(v)
        if d is None or d.kwargs or len(d.args) != 1 or not isinstance(types.get(v), Arr) or not is_fixed(v):
            continue
        if isinstance(d.fn, Const) and (d.fn.value is operator.neg or d.fn.value is np.negative):
            x = d.args[0]
            if isinstance(x, Var) and x in captures and is_fixed(x):
                out.append((v, captures.pop(v), captures[x]))
    return out
