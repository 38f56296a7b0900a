"""Which cotangents are surely there, so that nobody need ask whether they are None.

In a loop the answer feeds on itself: the cotangent of what an iteration computes is there if that of the next one's is.
So it is taken to be there until an edge that may be taken brings None: of a test of a value that is there, only one is.
"""

from __future__ import annotations

import operator

from mooncake_py.infer.types import BOT, Bot, Top
from mooncake_py.ir.drafts import Draft, DraftEdge, draft_edges
from mooncake_py.ir.nodes import Branch, Call, Const, ForNext, Goto, Operand, Var
from mooncake_py.registry import all_there
from mooncake_py.tangents import add_owned, add_rdata
from mooncake_py.transform import helpers
from mooncake_py.transform.lanes import NULL
from mooncake_py.transform.pullback import PullbackBuilder

_SUMS = {id(f) for f in (add_rdata, add_owned, helpers.accum_arr, helpers.accum_any, helpers.add_owned_maybe)}
_SUMS.add(id(helpers.either))


# What gives its second operand where the first is zero, and what gives its first where that is there.
_ACCUMULATIONS = {id(f) for f in (helpers.accum_num, helpers.accum_arr, helpers.accum_any, add_rdata)}
_SUMS_OR_ONE = _ACCUMULATIONS | {id(helpers.dense_zeros), id(helpers.either)}


def fold(p: PullbackBuilder) -> None:
    """Remove what turned out to be decided: values that are another one, tests of what is surely there."""

    def is_operand(s: Call, first: Operand) -> Operand | None:
        if s.fn.value is helpers.dense_zeros:  # type: ignore[union-attr]
            return first if first in p.nonnull else None
        return s.args[1] if p.is_zero(first) else None

    again = True
    while again:
        sums = [s for b in p.blocks for s in b.stmts if type(s.fn) is Const and id(s.fn.value) in _SUMS_OR_ONE]
        subst = p.simplify_params(sums, is_operand)
        _drop(p, [s for s in sums if s.out in subst], subst)
        p.apply(subst)
        for gone, stays in subst.items():
            if gone in p.stands_for and isinstance(stays, Var):
                p.stands_for.setdefault(stays, p.stands_for[gone])
        _grow_nonnull(p)
        left = [s for s in sums if s.out not in subst]
        again = _fold_tests(p) or any(is_operand(s, subst.get(s.args[0], s.args[0])) for s in left)  # type: ignore[arg-type]
    _add_in_place(p)


def _drop(p: PullbackBuilder, sums: list[Call], subst: dict[Var, Operand]) -> None:
    """Take out statements whose result is an operand of theirs; what is known of its type is known of that."""
    if not sums:
        return
    for s in sums:
        t = subst[s.out]
        if isinstance(t, Var) and isinstance(p.types.get(t, BOT), (Top, Bot)):
            p.types[t] = p.types.get(s.out, BOT)
    for block in p.blocks:
        block.stmts = [s for s in block.stmts if s.out not in subst]


def _grow_nonnull(p: PullbackBuilder) -> None:
    """Find block parameters and sums that are never None; they are noted in `p.nonnull`."""
    p.nonnull |= _parts(p)
    sums = {s.out: s.args[:2] for b in p.blocks for s in b.stmts if type(s.fn) is Const and id(s.fn.value) in _SUMS}
    maybe: set[Operand] = {*sums, *[v for b in p.blocks for v in b.params]}
    maybe -= p.nonnull
    maybe -= {b.term.body.target.params[0] for b in p.blocks if isinstance(b.term, ForNext)}  # type: ignore[attr-defined]
    if not maybe:
        return
    tests = _tests(p)
    there = p.nonnull | maybe

    def is_there(v: Operand) -> bool:
        return v.value is not None if type(v) is Const else v in there

    def taken(b: Draft) -> tuple[DraftEdge, ...]:
        t = b.term
        if type(t) is Branch and t.cond in tests:
            x = tests[t.cond]
            if is_there(x):
                return (t.orelse,)  # type: ignore[return-value]
            if isinstance(x, Const):
                return (t.then,)  # type: ignore[return-value]
        return draft_edges(t) if t is not None else ()

    size = -1
    while len(there) != size:
        size = len(there)
        for v, args in sums.items():
            if v in maybe and not any(map(is_there, args)):
                maybe.discard(v)
                there.discard(v)
        reached = {p.entry}
        work = [p.entry]
        while work:
            for e in taken(work.pop()):
                if e.args:
                    for v, a in zip(e.target.params[e.first :], e.args, strict=True):
                        if v in maybe and not is_there(a):
                            maybe.discard(v)
                            there.discard(v)
                if e.target not in reached:
                    reached.add(e.target)
                    work.append(e.target)
    p.nonnull |= maybe  # type: ignore[arg-type]


def _parts(p: PullbackBuilder) -> set[Var]:
    """What is taken out of a tuple of cotangents that are all there."""
    ids = set(map(id, all_there))
    wholes = {s.out for b in p.blocks for s in b.stmts if type(s.fn) is Const and id(s.fn.value) in ids}
    if not wholes:
        return set()
    return {
        s.out
        for b in p.blocks
        for s in b.stmts
        if isinstance(s.fn, Const) and s.fn.value is operator.getitem and s.args[0] in wholes
    }


def _fold_tests(p: PullbackBuilder) -> bool:
    """Take out branches that are decided; were there any?"""
    tests = _tests(p)
    changed = False
    for b in p.blocks:
        t = b.term
        if isinstance(t, Branch) and t.cond in tests:
            x = tests[t.cond]
            if isinstance(x, Const) and x.value is None:
                gone, stays = t.orelse, t.then
            elif x in p.nonnull or isinstance(x, Const):
                gone, stays = t.then, t.orelse
            else:
                continue
            gone.target.preds = [(q, e) for q, e in gone.target.preds if e is not gone]  # type: ignore[attr-defined]
            b.term = Goto(stays, t.pos)
            changed = True
    if changed:
        alive = set(p.reachable())
        p.blocks = [b for b in p.blocks if b in alive]
        for b in p.blocks:
            b.preds = [(q, e) for q, e in b.preds if q in alive]
    return changed


def _tests(p: PullbackBuilder) -> dict[Operand, Operand]:
    """The results of `x is None`, with x."""
    return {
        s.out: s.args[0]
        for b in p.blocks
        for s in b.stmts
        if type(s.fn) is Const and s.fn.value is operator.is_ and s.args[1] is NULL
    }


def _add_in_place(p: PullbackBuilder) -> None:
    """Additions to accumulators of our own, of what is there to what is there, as `+=`."""
    for block in p.blocks:
        for i, s in enumerate(block.stmts):
            f = s.fn.value if type(s.fn) is Const else None
            if (f is add_owned or f is helpers.add_owned_maybe) and all(a in p.nonnull for a in s.args):
                block.stmts[i] = Call(s.out, Const(operator.iadd), s.args, (), s.pos)
