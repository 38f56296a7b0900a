"""Dead code: what nothing needs, now that both functions are there."""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.fields import narrow
from mooncake_py.hashing import hashable
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft, draft_edges
from mooncake_py.ir.nodes import Call, Const, ForNext, Operand, Try, Var, own_operands
from mooncake_py.registry import is_pure
from mooncake_py.tangents import add_rdata, zero_fdata
from mooncake_py.transform import helpers
from mooncake_py.transform.pullback import PullbackBuilder

ENGINE_PURE = frozenset(
    {
        *(
            ops.build_tuple,
            ops.unpack,
            ops.check_bound,
            narrow,
            ops.make_cell,
            ops.make_function,
            ops.backwards,
            ops.load_global,
        ),
        *(ops.load_global, getattr, operator.getitem, operator.is_, iter, range, reversed, slice),
        *(helpers.accum_num, helpers.accum_arr, helpers.accum_maybe, helpers.accum_any, add_rdata, helpers.cotangent),
        *(
            helpers.zeros_like,
            helpers.dense_zeros,
            helpers.zeros_unless,
            helpers.either,
            helpers.filled,
            helpers.filled_own,
        ),
        *(
            helpers.shadow_of,
            helpers.item_fdata,
            helpers.tuple_fdata,
            zero_fdata,
            helpers.fdata_of_result,
            helpers.with_shadows,
            helpers.fdata_of_numbers,
            helpers.fdata_of_numbers_by_key,
        ),
        *(helpers.view_shadow, helpers.CoDual, helpers.At, helpers.with_keywords, helpers.fdata_of, helpers.primal_of),
        *(helpers.is_codual, helpers.not_known),
    }
)


def sweep(b: Builder, removable: set[Var], everything: bool) -> set[Operand]:
    """Remove pure statements and block parameters that nothing needs; what is left is returned as names in use.

    In the pullback all code is the engine's own and goes where it can (`everything`); in the forward code only
    what is named in `removable`, for the user's own statements may raise.
    """
    blocks = list(b.reachable())
    b.blocks = blocks
    defs: dict[Operand, Call] = {}
    params: dict[Operand, tuple[Draft, int]] = {}
    work: list[Operand] = []
    kept: set[Call] = set()

    for block in blocks:
        for k, v in enumerate(block.params):
            params[v] = (block, k)
        for s in (*block.head, *block.stmts):
            defs[s.out] = s
            if not (everything or s.out in removable) or not _may_go(s):
                kept.add(s)
                work += s.args if type(s.fn) is Const and not s.kwargs else s.operands()
        t = block.term
        assert t is not None
        work += own_operands(t)
        if type(t) is ForNext:
            work += draft_edges(t)[0].target.params[:1]
        elif type(t) is Try:
            work += draft_edges(t)[1].target.params[:1]
    live: set[Operand] = set()
    while work:
        needed = work.pop()
        if needed in live or type(needed) is Const:
            continue
        live.add(needed)
        d = defs.get(needed)
        if d is not None:
            if d not in kept:
                kept.add(d)
                work += d.args if type(d.fn) is Const and not d.kwargs else d.operands()
        elif needed in params:
            block, k = params[needed]
            work += [e.args[k - e.first] for _, e in block.preds if k >= e.first]
    for block in blocks:
        if block.head:
            block.head = [s for s in block.head if s in kept]
        block.stmts = [s for s in block.stmts if s in kept]
        if not live.issuperset(block.params):
            for k in range(len(block.params) - 1, -1, -1):
                if block.params[k] not in live:
                    block.key_params.discard(block.params[k])
                    del block.params[k]
                    for _, e in block.preds:
                        del e.args[k - e.first]
    return live


def _may_go(s: Call) -> bool:
    """May the statement be left out where nothing needs its result?"""
    if type(s.fn) is not Const:
        return False
    f = s.fn.value
    if not hashable(f):
        return False
    return f in ENGINE_PURE or is_pure(f, len(s.args), [k for k, _ in s.kwargs])


def _as_method(p: PullbackBuilder, s: Call) -> tuple[Call, ...]:
    """`shadow_dense(x)` as `x.dense()`, which is a call less."""
    if not isinstance(s.fn, Const) or s.fn.value is not helpers.shadow_dense:
        return (s,)
    method = p.fresh.var()
    return Call(method, Const(getattr), (s.args[0], Const("dense")), (), s.pos), Call(s.out, method, (), (), s.pos)


def finish_helpers(p: PullbackBuilder) -> None:
    """Placeholders as what they are."""
    for block in p.blocks:
        if any([type(s.fn) is Const and s.fn.value is helpers.shadow_dense for s in block.stmts]):
            block.stmts = [x for s in block.stmts for x in _as_method(p, s)]
        for i, s in enumerate(block.stmts):
            f = s.fn.value if type(s.fn) is Const else None
            if f is helpers.accum_num:
                g: Any = operator.add
            elif f is helpers.accum_arr:
                g = operator.add if s.args[0] in p.nonnull else add_rdata
            elif f is helpers.accum_any:
                g = add_rdata
            else:
                continue
            block.stmts[i] = Call(s.out, Const(g), s.args, s.kwargs, s.pos)
