"""Views that are read at once: `u[2:] - u[:-2]` in a loop that writes to u.

The fdata of a view of shared memory is a view of its base's fdata, made in the forward run. Where everything that
uses the view does so before anything is written, and only reads it, it is as good as a copy: its cotangent is
a local variable of the pullback, added to the base's where the view was made.
"""

from __future__ import annotations

from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.types import Arr, Meth
from mooncake_py.ir.nodes import Call, CFGBlock, Operand, Var, term_operands
from mooncake_py.transform.canonical import Canonical
from mooncake_py.transform.lanes import ARR, REF, Lanes, has_fdata


def note_passing_views(canonical: Canonical, inferred: Inferred, lanes: Lanes) -> None:
    """Give such views the lane ARR."""
    calls = inferred.calls
    if not any(c.rule is not None and c.rule.alias and lanes.tree(v) == REF for v, c in calls.items()):
        return
    users: dict[Var, int] = {}
    for b in canonical.fn.blocks:
        for v in (*(v for s in b.stmts for v in s.operands()), *term_operands(b.term)):
            if isinstance(v, Var):
                users[v] = users.get(v, 0) + 1
    for b in canonical.fn.blocks:
        _block(b, calls, lanes, users)


def _block(b: CFGBlock, calls: dict[Var, CallInfo], lanes: Lanes, users: dict[Var, int]) -> None:
    writes = [i for i, s in enumerate(b.stmts) if _may_write(calls.get(s.out))]
    for i in range(len(b.stmts) - 1, -1, -1):
        s = b.stmts[i]
        call = calls.get(s.out)
        if call is None or call.kind != "rule" or call.rule is None or not call.rule.alias:
            continue
        if lanes.tree(s.out) != REF or not isinstance(lanes.types.get(s.out), Arr):
            continue
        end = next((w for w in writes if w > i), len(b.stmts))
        seen = 0
        methods: set[Var] = set()
        for t in b.stmts[i + 1 : end + 1]:
            uses = sum(v is s.out for v in t.operands())
            if uses and isinstance(lanes.types.get(t.out), Meth) and calls[t.out].kind == "op":
                methods.add(t.out)
                seen += uses - users.get(t.out, 0)
            elif t.fn in methods and _only_reads(t, s.out, calls.get(t.out), lanes):
                seen += 1
            elif uses and _only_reads(t, s.out, calls.get(t.out), lanes):
                seen += uses
        if seen == users.get(s.out, 0):
            lanes.trees[s.out] = ARR


def _may_write(call: CallInfo | None) -> bool:
    return call is None or call.kind == "dynamic" or bool(call.written)


def _only_reads(t: Call, view: Operand, call: CallInfo | None, lanes: Lanes) -> bool:
    """Does this statement take the view by value, keeping no other name for its memory?"""
    if call is None or call.kind != "rule" or call.rule is None or call.rule.variadic:
        return False
    taken = [i for i, a in enumerate(call.args) if a is view]
    if any(v is view for _, v in t.kwargs) or any(i in call.rule.codual for i in taken):
        return False
    return not any(i in call.rule.alias for i in taken) or not has_fdata(lanes.tree(t.out))
