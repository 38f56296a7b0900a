"""Lists that are filled and then summed, and nothing else: every item has the cotangent of the sum.

So `sum` of a generator or comprehension keeps one cotangent, not one for each item. The list stays: `sum` adds
floats more exactly than a loop would.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Inst, Lst, Real, T
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Var, term_operands
from mooncake_py.registry import rules_of
from mooncake_py.sums import collect, sum_collected, summands


def note_summands(inferred: Inferred) -> None:
    """Give the calls that fill such lists, and sum them, the rules of such."""
    fn, types, calls = inferred.fn, inferred.types, inferred.calls
    if not fn.calls(ops.build_list):
        return
    lists = {s.out for b in fn.blocks for s in b.stmts if is_const(s.fn, ops.build_list) and not s.args}
    lists = {v for v in lists if isinstance(t := types.get(v), Lst) and t.active and t.cls is list and _is_real(t.elem)}
    if not lists:
        return
    uses: dict[Var, list[Call]] = {v: [] for v in lists}
    for b in fn.blocks:
        for s in b.stmts:
            for v in s.operands():
                if v in uses:
                    uses[v].append(s)
        for v in (*term_operands(b.term), *(b.handler.args if b.handler is not None else ())):
            uses.pop(v, None)  # type: ignore[arg-type]
    for v, users in uses.items():
        found = [s for s in users if s.out in calls]  # the others are never reached
        sums = [s for s in found if (c := calls.get(s.out)) is not None and c.target is sum and c.args == (v,)]
        fills = [s for s in found if is_const(s.fn, ops.list_append) and s.args[0] is v]
        if len(sums) != 1 or len(sums) + len(fills) != len(found) or any(calls[s.out].kind != "rule" for s in found):
            continue
        targets: dict[Var, Any] = {s.out: collect if s in fills else sum_collected for s in found}
        for out, target in {v: summands, **targets}.items():
            calls[out] = replace(calls[out], kind="rule", target=target, rule=rules_of(target)[0])


def _is_real(t: T) -> bool:
    return isinstance(t, Real) or (type(t) is Inst and t.cls is float)
