"""Outer products that a loop of the pullback adds up, added as products of matrices.

`w @ x` in a loop has an outer product as the cotangent of w, every time. Where the loop does nothing with their sum but
add to it, the vectors are collected (`OuterSum`), and the sum is taken where the loop ends.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from mooncake_py.infer.types import Arr, Inst, T
from mooncake_py.ir.drafts import Draft, DraftEdge, draft_edges
from mooncake_py.ir.nodes import Call, Const, ForNext, Operand, Var
from mooncake_py.sums import OuterSum
from mooncake_py.transform import helpers
from mooncake_py.transform.pullback import PullbackBuilder
from mooncake_py.transform.uses import count_uses, read_by

OUTER = np.multiply.outer


def batch_outer_products(p: PullbackBuilder, types: dict[Var, T], may_change: Callable[[Operand], bool]) -> None:
    """Rewrite the loops of p where that is so. `may_change`: a forward value whose memory somebody writes to."""
    outer: dict[Operand, Call] = {
        s.out: s
        for b in p.blocks
        for s in b.stmts
        if isinstance(s.fn, Const) and type(s.fn.value) is type(OUTER) and s.fn.value == OUTER and not s.kwargs
    }
    if not outer:
        return
    uses = count_uses(p)
    for header in p.blocks:
        if isinstance(header.term, ForNext) and not header.stmts and not header.head:
            for total in list(header.params):
                _batch(p, header, total, outer, uses, types, may_change)


def _batch(
    p: PullbackBuilder,
    header: Draft,
    total: Var,
    outer: dict[Operand, Call],
    uses: dict[Operand, int],
    types: dict[Var, T],
    may_change: Callable[[Operand], bool],
) -> None:
    k = header.params.index(total)
    t = types.get(total)
    if len(header.preds) != 2 or not (isinstance(t, Arr) and t.ndim == 2) or any(e.first for _, e in header.preds):
        return
    body, done = draft_edges(header.term)  # type: ignore[arg-type]
    inside = _loop(header, body)
    (before, entry), (latch, back) = sorted(header.preds, key=lambda pred: pred[0] in inside)
    if before in inside or latch not in inside or len(done.target.preds) != 1:
        return
    added = [(b, s) for b in inside for s in b.stmts if s.out is back.args[k]]
    if not added or uses.get(back.args[k]) != 1:
        return
    home, s = added[0]
    if not isinstance(s.fn, Const) or s.fn.value is not operator.iadd or s.args[0] is not total:
        return
    product = outer.get(s.args[1])
    if product is None or product not in home.stmts or uses[product.out] != 1 or any(map(may_change, product.args)):
        return
    kinds = [types.get(v) if isinstance(v, Var) else None for v in product.args]
    if not all(isinstance(a, Arr) and a.ndim == 1 for a in kinds):
        return
    if any(v is total for b in inside for x in b.stmts if x is not s for v in x.operands()):
        return
    if any(v is total for b in inside for v in read_by(b.term)):
        return
    _rewrite(p, header, k, (before, entry), done, home, s, product, back, uses, types)


def _rewrite(
    p: PullbackBuilder,
    header: Draft,
    k: int,
    entry: tuple[Draft, DraftEdge],
    done: DraftEdge,
    home: Draft,
    s: Call,
    product: Call,
    back: DraftEdge,
    uses: dict[Operand, int],
    types: dict[Var, T],
) -> None:
    total = header.params.pop(k)
    header.key_params.discard(total)
    before, into = entry
    start = into.args.pop(k)
    back.args.pop(k)
    sums, add, take = p.fresh.var(), p.fresh.var(), p.fresh.var()
    types[sums] = Inst(OuterSum)
    made = next((x for x in before.stmts if x.out is start), None)
    if made is not None and isinstance(made.fn, Const) and made.fn.value is helpers.zeros_like and uses[start] == 1:
        before.stmts.remove(made)  # the first products are the sum
        before.stmts.append(Call(sums, Const(OuterSum), (Const(None), *made.args), (), s.pos))
    else:
        before.stmts.append(Call(sums, Const(OuterSum), (start,), (), s.pos))
    before.stmts.append(Call(add, Const(getattr), (sums, Const("add")), (), s.pos))
    home.stmts = [x for x in home.stmts if x is not product]
    at = home.stmts.index(s)
    home.stmts[at] = Call(s.out, add, product.args, (), s.pos)
    done.target.stmts[:0] = [
        Call(take, Const(getattr), (sums, Const("take")), (), s.pos),
        Call(total, take, (), (), s.pos),
    ]


def _loop(header: Draft, body: DraftEdge) -> set[Draft]:
    """The blocks of the loop, its header left out."""
    inside: set[Draft] = set()
    work = [body.target]
    while work:
        b = work.pop()
        if b is header or b in inside:
            continue
        inside.add(b)
        assert b.term is not None
        work += [e.target for e in draft_edges(b.term)]
    return inside
