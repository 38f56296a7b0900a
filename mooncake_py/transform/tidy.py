"""The pullback's straight code, tidied: what is computed twice is computed once, signs are folded into sums, and what
is computed for one reader is computed right before it.

All of it is exact. `effects` says what may be moved, or shared, across what writes.
"""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.infer.types import Arr, Inst, T
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft, DraftEdge, draft_edges
from mooncake_py.ir.nodes import Call, Const, Goto, Operand, Return, Var
from mooncake_py.registry import repeated
from mooncake_py.transform.effects import ANYTHING, NOTHING, Effects, function_of
from mooncake_py.transform.known_shadows import keep_in_place
from mooncake_py.transform.order import sink
from mooncake_py.transform.signs import fold_signs
from mooncake_py.transform.uses import count_uses
from mooncake_py.transform.zeros import without_zeros


def tidy(b: Builder, types: dict[Var, T], wanted: bool = True) -> None:
    """Make straight lines of blocks one block; and, if wanted, fold signs, share computations, compute late."""
    _join_lines(b)
    if wanted:
        _arrays_first(b, types)
        effects = Effects(b, types)
        keep_in_place(b, effects, types)
        fold_signs(b, effects)
        subst = _shared(b, effects)
        if subst:
            b.apply(subst)
        without_zeros(b, types)
        sink(b, Effects(b, types))
    _results_of_their_own(b)


def _join_lines(b: Builder) -> None:
    """Blocks that only follow one another are one."""
    blocks = list(b.reachable())
    for block in blocks:
        block.stmts[:0] = block.head
        block.head = []
    gone: set[Draft] = set()
    subst: dict[Var, Operand] = {}
    for block in blocks:
        if block in gone:
            continue
        while isinstance(block.term, Goto) and block.handler is None:
            edge: DraftEdge = block.term.edge  # type: ignore[assignment]
            after = edge.target
            if len(after.preds) != 1 or after.handler is not None:
                break
            subst.update(zip(after.params, edge.args, strict=True))
            block.stmts += after.stmts
            block.term = after.term
            for t in draft_edges(block.term):  # type: ignore[arg-type]
                t.target.preds = [(block if q is after else q, e) for q, e in t.target.preds]
            after.preds, after.term = [], None
            gone.add(after)
    if gone:
        b.blocks = [x for x in blocks if x not in gone]
        for x in b.blocks:
            x.params = [v for v in x.params if v not in subst]
        for v, w in subst.items():
            while isinstance(w, Var) and w in subst:
                w = subst[w]
            subst[v] = w
        b.apply(subst)


def _arrays_first(b: Builder, types: dict[Var, T]) -> None:
    """`number * array` as `array * number`: NumPy can then write into an array that nobody else holds."""

    def is_a(kind: type, v: Operand) -> bool:
        return isinstance(v, Var) and isinstance(types.get(v), kind)

    for block in b.blocks:
        for i, s in enumerate(block.stmts):
            if (
                type(s.fn) is Const
                and s.fn.value is operator.mul
                and not s.kwargs
                and is_a(Arr, s.args[1])
                and is_a(Inst, s.args[0])
            ):
                block.stmts[i] = Call(s.out, s.fn, s.args[::-1], (), s.pos)


def _shared(b: Builder, effects: Effects) -> dict[Var, Operand]:
    subst: dict[Var, Operand] = {}

    def name(v: Operand) -> Any:
        if isinstance(v, Const):
            x = v.value
            return (type(x), repr(x)) if type(x) in (int, float, bool, str) else (Const, id(x))
        return subst.get(v, v)

    for block in b.blocks:
        table: dict[Any, Call] = {}
        lasting: dict[Any, Call] = {}  # those whose operands nothing changes
        kept = []
        for s in block.stmts:
            if effects.computes(s):
                key = (function_of(s), *map(name, s.args))
                same = lasting.get(key) or table.get(key)
                if same is not None and not (effects.written & {s.out, same.out}):
                    subst[s.out] = same.out
                    continue
                (lasting if all([effects.leaves(ANYTHING, v) for v in s.args]) else table)[key] = s
            elif (effect := effects.of(s)) != NOTHING:
                table = {k: t for k, t in table.items() if all(effects.leaves(effect, v) for v in t.args)}
            kept.append(s)
        block.stmts = kept
    return subst


def _results_of_their_own(b: Builder) -> None:
    """Arrays that show a scalar everywhere, where the caller gets them: made with memory, which he asks for."""
    made = {s.out: (block, i) for block in b.blocks for i, s in enumerate(block.stmts)}
    uses: dict[Operand, int] | None = None
    for block in b.blocks:
        if not isinstance(block.term, Return) or block.term.value not in made:
            continue
        home, at = made[block.term.value]
        whole = home.stmts[at]
        if function_of(whole) is not ops.build_tuple:
            continue
        for v in whole.args:
            if v in made:
                home, at = made[v]
                s = home.stmts[at]
                variant = repeated.get(function_of(s))
                if variant is not None:
                    uses = uses or count_uses(b)
                    if uses[v] == 1:
                        home.stmts[at] = Call(s.out, Const(variant), s.args, s.kwargs, s.pos)
