"""Parameters of blocks that many edges give None get it once, at the function's start.

What a pullback needs is None where its place was not reached. A function with hundreds of such values, and hundreds of
edges on which few of them are known, would be made of little but stores of None. A variable that is None from the start
on shares the slot of the parameter and of what else it may be, where `slots` finds nothing in the way: then these edges
store nothing.
"""

from __future__ import annotations

from mooncake_py.ir.nodes import Const, Operand, Var
from mooncake_py.lowering.plan import Jump, Plan

FEWEST = 8
"""On how many edges it must be None: the store at the start runs whichever way is taken."""


def find_nones(plan: Plan) -> None:
    """Put variables of `plan.nones` where many moves store None."""
    jumps = [j for p in plan.blocks.values() for j in (p.jumps if p.handler is None else (*p.jumps, p.handler))]
    times: dict[Operand, int] = {}
    for j in jumps:
        for q, a in j.moves:
            if _is_none(a):
                times[q] = times.get(q, 0) + 1
    leader = _united(jumps, times)
    total: dict[Operand, int] = {}
    for q, n in times.items():
        total[leader[q]] = total.get(leader[q], 0) + n
    nones = {q: Var(-1 - k) for k, q in enumerate(q for q, n in total.items() if n >= FEWEST)}
    if nones:
        plan.nones = list(nones.values())
        for j in jumps:
            j.moves = [(q, nones.get(leader[q], a) if _is_none(a) else a) for q, a in j.moves]


def _united(jumps: list[Jump], times: dict[Operand, int]) -> dict[Operand, Operand]:
    """Parameters that are given to one another stand for one: what one leaves None, the next finds None."""
    leader: dict[Operand, Operand] = {q: q for q in times}

    def find(q: Operand) -> Operand:
        while leader[q] is not q:
            leader[q] = q = leader[leader[q]]
        return q

    for j in jumps:
        for q, a in j.moves:
            if q in leader and a in leader:
                leader[find(a)] = find(q)
    return {q: find(q) for q in leader}


def _is_none(a: Operand) -> bool:
    return type(a) is Const and a.value is None
