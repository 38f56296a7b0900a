"""Dead code: what nothing needs, now that both functions are there."""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder, Draft, draft_edges
from mooncake_py.ir.nodes import Branch, Call, Const, ForNext, Operand, Raise, Return, Switch, Try, Var
from mooncake_py.registry import is_pure
from mooncake_py.tangents import add_rdata, zero_fdata
from mooncake_py.transform import helpers
from mooncake_py.transform.pullback import PullbackBuilder

_ENGINE_PURE = frozenset(
    {
        *(
            ops.build_tuple,
            ops.unpack,
            ops.check_bound,
            ops.make_cell,
            ops.make_function,
            ops.backwards,
            ops.load_global,
        ),
        *(ops.load_global, getattr, operator.getitem, operator.is_, iter, range, reversed, slice),
        *(helpers.accum_num, helpers.accum_arr, helpers.accum_maybe, helpers.accum_any, add_rdata, helpers.cotangent),
        *(helpers.zeros_like, helpers.dense_zeros, helpers.shadow_of, helpers.item_fdata, zero_fdata),
        *(helpers.view_shadow, helpers.CoDual, helpers.At, helpers.with_keywords, helpers.fdata_of, helpers.primal_of),
        helpers.is_codual,
    }
)


def sweep(b: Builder, removable: set[Var], everything: bool) -> set[Var]:
    """Remove pure statements and block parameters that nothing needs; what is left is returned as names in use.

    In the pullback all code is the engine's own and goes where it can (`everything`); in the forward code only
    what is named in `removable`, for the user's own statements may raise.
    """
    blocks = list(b.reachable())
    b.blocks = blocks
    defs: dict[Var, Call] = {}
    params: dict[Var, tuple[Draft, int]] = {}
    work: list[Operand] = []
    kept: set[Call] = set()

    def may_go(s: Call) -> bool:
        if not everything and s.out not in removable:
            return False
        f = s.fn.value if isinstance(s.fn, Const) else None
        return f is not None and (
            is_pure(f, len(s.args), [k for k, _ in s.kwargs]) or (type(f).__hash__ is not None and f in _ENGINE_PURE)
        )

    for block in blocks:
        for k, v in enumerate(block.params):
            params[v] = (block, k)
        for s in (*block.head, *block.stmts):
            defs[s.out] = s
            if not may_go(s):
                kept.add(s)
                work.extend(s.operands())
        t = block.term
        match t:
            case Branch(cond=x) | Switch(value=x) | Return(value=x):
                work.append(x)
            case ForNext(iterator=x):
                work.append(x)
                work.extend(draft_edges(t)[0].target.params[:1])
            case Try(handler=h):
                work.extend(h.target.params[:1])  # type: ignore[attr-defined]
            case Raise(exc=exc, cause=cause):
                work.extend(o for o in (exc, cause) if o is not None)
    live: set[Var] = set()
    while work:
        needed = work.pop()
        if not isinstance(needed, Var) or needed in live:
            continue
        live.add(needed)
        d = defs.get(needed)
        if d is not None:
            if d not in kept:
                kept.add(d)
                work.extend(d.operands())
        elif needed in params:
            block, k = params[needed]
            work.extend(e.args[k - e.first] for _, e in block.preds if k >= e.first)
    for block in blocks:
        block.head = [s for s in block.head if s in kept]
        block.stmts = [s for s in block.stmts if s in kept]
        gone = [k for k, v in enumerate(block.params) if v not in live]
        for k in reversed(gone):
            block.key_params.discard(block.params[k])
            del block.params[k]
            for _, e in block.preds:
                del e.args[k - e.first]
    return live


def _as_method(p: PullbackBuilder, s: Call) -> tuple[Call, ...]:
    """`shadow_dense(x)` as `x.dense()`, which is a call less."""
    if not isinstance(s.fn, Const) or s.fn.value is not helpers.shadow_dense:
        return (s,)
    method = p.fresh.var()
    return Call(method, Const(getattr), (s.args[0], Const("dense")), (), s.pos), Call(s.out, method, (), (), s.pos)


def finish_helpers(p: PullbackBuilder) -> None:
    """Placeholders as what they are."""
    for block in p.blocks:
        if any(isinstance(s.fn, Const) and s.fn.value is helpers.shadow_dense for s in block.stmts):
            block.stmts = [x for s in block.stmts for x in _as_method(p, s)]
        for i, s in enumerate(block.stmts):
            f = s.fn.value if isinstance(s.fn, Const) else None
            if f is helpers.accum_num:
                g: Any = operator.add
            elif f is helpers.accum_arr:
                g = operator.add if s.args[0] in p.nonnull else add_rdata
            elif f is helpers.accum_any:
                g = add_rdata
            else:
                continue
            block.stmts[i] = Call(s.out, Const(g), s.args, s.kwargs, s.pos)
