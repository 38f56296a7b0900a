"""Operations on objects of known classes as the calls they come down to (`infer/protocol.py`)."""

from __future__ import annotations

from mooncake_py import fields
from mooncake_py.infer.interpret import Inferred
from mooncake_py.infer.memory import only_called
from mooncake_py.infer.protocol import MADE, Plan
from mooncake_py.infer.types import Meth
from mooncake_py.ir.mapping import all_vars
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Fresh, Function, Operand


def as_calls(inferred: Inferred) -> Function | None:
    """The function with every planned operation replaced; None where there is none."""
    fn, calls = inferred.fn, inferred.calls
    plans = {v: info.target for v, info in calls.items() if info.kind == "planned"}
    if not plans:
        return None
    fresh = Fresh(1 + max(v.id for v in all_vars(fn)), 1 + max(b.id for b in fn.blocks))
    bound = {v for v, t in inferred.types.items() if isinstance(t, Meth)}
    gone = {v for v in only_called(fn, bound) if all(s.out in plans for s in _calls_of(fn, v))}
    blocks = []
    for b in fn.blocks:
        stmts: list[Call] = []
        for s in b.stmts:
            if s.out in plans:
                stmts += _direct(s, plans[s.out], fresh)
            elif s.out not in gone:
                stmts.append(s)
        blocks.append(CFGBlock(b.id, b.params, tuple(stmts), b.term, b.handler))
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)


def _direct(s: Call, plan: Plan, fresh: Fresh) -> list[Call]:
    if plan.makes is None:
        return [Call(s.out, Const(plan.function), plan.args, plan.kwargs, s.pos)]
    made = Call(s.out, Const(fields.make_object), (Const(plan.makes),), (), s.pos)
    if plan.function is None:
        return [made]
    args: tuple[Operand, ...] = tuple([s.out if v is MADE else v for v in plan.args])
    return [made, Call(fresh.var(), Const(plan.function), args, plan.kwargs, s.pos)]


def _calls_of(fn: Function, v: Operand) -> list[Call]:
    return [s for b in fn.blocks for s in b.stmts if s.fn is v]
