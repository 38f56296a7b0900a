"""Values whose derivative nobody needs: what only decides branches, is compared, counted or thrown away.

Types say which values depend on the arguments. Of those, many flow into nothing that is differentiated:
`while abs(f(x)) > tol` needs f(x), not its derivative. They lose their lane, and the statements that compute them
become plain calls: nothing is kept for them and nothing is reversed, and no zero is multiplied by an infinite slope.
"""

from __future__ import annotations

from dataclasses import replace

from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.ir.nodes import Call, ForNext, Operand, Return, Var, brings_value, edges
from mooncake_py.transform.canonical import Canonical
from mooncake_py.transform.lanes import NONE, Lanes, has_fdata

WHY = "nothing that is differentiated depends on it"


def drop_useless(canonical: Canonical, inferred: Inferred, lanes: Lanes) -> None:
    """Take the lane from every value whose cotangent is surely zero, and the rule from what computes it.

    Kept are the function's inputs, and all that has fdata: others may add to that.
    """
    fn, calls = canonical.fn, inferred.calls
    useful: set[Var] = set()
    work: list[Operand] = []
    sources: dict[Var, list[Operand]] = {}
    defined: list[Var] = []
    for b in fn.blocks:
        for s in b.stmts:
            defined.append(s.out)
            call = calls.get(s.out)
            if call is None:
                continue
            if call.kind in ("dynamic", "unwound") or call.written:
                work += _operands(s, call)
            elif call.kind != "plain":
                sources[s.out] = _operands(s, call)
        defined += b.params
        for e in edges(b.term):
            params = canonical.blocks[e.target].params
            if brings_value(b.term, e):
                if isinstance(b.term, ForNext):
                    sources.setdefault(params[0], []).append(b.term.iterator)
                params = params[1:]
            for p, a in zip(params, e.args, strict=True):
                sources.setdefault(p, []).append(a)
        if isinstance(b.term, Return):
            work.append(b.term.value)
    carries = {v: tree for v in defined if (tree := lanes.tree(v)) != NONE}
    work += [v for v, tree in carries.items() if has_fdata(tree)]
    while work:
        v = work.pop()
        if isinstance(v, Var) and v not in useful:
            useful.add(v)
            work += sources.get(v, ())
    inputs = {*fn.params, *fn.free}
    for v in carries:
        if v not in useful and v not in inputs:
            lanes.trees[v] = NONE
            call = calls.get(v)
            if call is not None and call.kind in ("rule", "derived") and not call.written:
                calls[v] = replace(call, kind="plain", why=WHY)


def _operands(s: Call, call: CallInfo) -> list[Operand]:
    return [*s.operands()] if call.args is s.args else [*s.operands(), *call.args]
