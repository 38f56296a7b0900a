"""The pullback's straight code, tidied: what is computed twice is computed once, `a + -b` is `a - b`.

Both are exact. Statements with effects are barriers: arrays that are put back in place hold something else after them.
"""

from __future__ import annotations

import operator
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder, Draft, DraftEdge, draft_edges
from mooncake_py.ir.nodes import Branch, Call, Const, ForNext, Goto, Operand, Raise, Return, Switch, Var
from mooncake_py.registry import is_pure, repeated

_ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pow})


def tidy(b: Builder) -> None:
    """Make straight lines of blocks one block, share equal computations in them, and fold signs into sums."""
    _join_lines(b)
    subst = _shared(b)
    if subst:
        b.apply(subst)
    _signs(b)
    _results_of_their_own(b)


def _join_lines(b: Builder) -> None:
    """Blocks that only follow one another are one."""
    blocks = list(b.reachable())
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
            block.stmts += after.head + after.stmts
            block.term = after.term
            for t in draft_edges(block.term):  # type: ignore[arg-type]
                t.target.preds = [(block if q is after else q, e) for q, e in t.target.preds]
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


def _function(s: Call) -> Any:
    return s.fn.value if isinstance(s.fn, Const) and type(s.fn.value).__hash__ is not None else None


def _computes(f: Any, s: Call) -> bool:
    """Does the statement give equal results for equal operands, and nothing else?"""
    if s.kwargs:
        return False
    if f in _ARITHMETIC or f is ops.build_tuple:
        return True
    number = isinstance(f, (np.ufunc, BuiltinFunctionType)) and getattr(f, "__module__", "math") in (
        "math",
        None,
        "numpy",
    )
    return number and f is not getattr and is_pure(f, len(s.args))


def _harmless(f: Any, s: Call) -> bool:
    return f is not None and (f in _ARITHMETIC or is_pure(f, len(s.args), [k for k, _ in s.kwargs]))


def _shared(b: Builder) -> dict[Var, Operand]:
    subst: dict[Var, Operand] = {}

    def name(v: Operand) -> Any:
        if isinstance(v, Const):
            x = v.value
            return (type(x), repr(x)) if type(x) in (int, float, bool, str) else (Const, id(x))
        return subst.get(v, v)

    for block in b.blocks:
        table: dict[Any, Var] = {}
        for part in (block.head, block.stmts):
            kept = []
            for s in part:
                f = _function(s)
                if f is not None and _computes(f, s):
                    key = (f, *map(name, s.args))
                    same = table.get(key)
                    if same is not None:
                        subst[s.out] = same
                        continue
                    table[key] = s.out
                elif f is not ops.pull and not _harmless(f, s):
                    table.clear()
                kept.append(s)
            part[:] = kept
    return subst


def _signs(b: Builder) -> None:
    uses = _uses(b)
    for block in b.blocks:
        negated: dict[Operand, Operand] = {}
        dead: set[Var] = set()
        for i, s in enumerate(block.stmts):
            f = _function(s)
            if f is operator.neg and uses.get(s.out) == 1:
                negated[s.out] = s.args[0]
            elif f is operator.add and not s.kwargs and (s.args[0] in negated) != (s.args[1] in negated):
                plain, minus = s.args if s.args[1] in negated else s.args[::-1]
                block.stmts[i] = Call(s.out, Const(operator.sub), (plain, negated[minus]), (), s.pos)
                dead.add(minus)  # type: ignore[arg-type]
            elif f is operator.sub and not s.kwargs and s.args[1] in negated and s.args[0] not in negated:
                block.stmts[i] = Call(s.out, Const(operator.add), (s.args[0], negated[s.args[1]]), (), s.pos)
                dead.add(s.args[1])  # type: ignore[arg-type]
            elif not _harmless(f, s):
                negated.clear()
        if dead:
            block.stmts = [s for s in block.stmts if s.out not in dead]


def _results_of_their_own(b: Builder) -> None:
    """Arrays that show a scalar everywhere, where the caller gets them: made with memory, which he asks for."""
    made = {s.out: (block, i) for block in b.blocks for i, s in enumerate(block.stmts)}
    uses: dict[Operand, int] | None = None
    for block in b.blocks:
        if not isinstance(block.term, Return) or block.term.value not in made:
            continue
        home, at = made[block.term.value]
        whole = home.stmts[at]
        if _function(whole) is not ops.build_tuple:
            continue
        for v in whole.args:
            if v in made:
                home, at = made[v]
                s = home.stmts[at]
                variant = repeated.get(_function(s))
                if variant is not None:
                    uses = uses or _uses(b)
                    if uses[v] == 1:
                        home.stmts[at] = Call(s.out, Const(variant), s.args, s.kwargs, s.pos)


def _uses(b: Builder) -> dict[Operand, int]:
    count: dict[Operand, int] = {}
    for block in b.blocks:
        read = [v for s in (*block.head, *block.stmts) for v in s.operands()]
        t = block.term
        match t:
            case Branch(cond=v) | Switch(value=v) | ForNext(iterator=v) | Return(value=v):
                read.append(v)
            case Raise(exc=x, cause=y):
                read += [v for v in (x, y) if v is not None]
        if t is not None:
            read += [v for e in draft_edges(t) for v in e.args]
        for v in read:
            count[v] = count.get(v, 0) + 1
    return count
