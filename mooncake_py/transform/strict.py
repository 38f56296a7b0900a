"""`zip(xs, ys, strict=True)` of sequences: `zip(xs, ys)`, and where that has come to its end, a look at the lengths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Arr, Inst, Known, Lst, T, Tup
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import fresh_beside
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Edge, ForNext, Fresh, Function, Goto, Operand, Try, Var
from mooncake_py.iterators import check_same_length
from mooncake_py.registry import drained
from mooncake_py.transform.protect import protect_all


def without_strict(inferred: Inferred) -> Function | None:
    """The function with one such call simpler; None where there is none."""
    for b in inferred.fn.blocks:
        for s in b.stmts:
            if len(s.kwargs) == 1 and s.kwargs[0][0] == "strict" and b.id in inferred.reached:
                simpler = _Zip(inferred, b, s).simpler()
                if simpler is not None:
                    return simpler
    return None


class _Zip:
    def __init__(self, inferred: Inferred, block: CFGBlock, call: Call):
        self.inferred, self.fn, self.block, self.call = inferred, inferred.fn, block, call

    def _type(self, v: Operand) -> T | None:
        return Known(v.value) if isinstance(v, Const) else self.inferred.types.get(v)

    def _known(self, v: Operand) -> Any:
        t = self._type(v)
        return t.value if isinstance(t, Known) and hashable(t.value) else None

    def simpler(self) -> Function | None:
        s, strict = self.call, self._type(self.call.kwargs[0][1])
        if self._known(s.fn) is not zip or not isinstance(strict, Known) or type(strict.value) is not bool:
            return None
        fresh = fresh_beside(self.fn)
        check = Call(fresh.var(), Const(check_same_length), s.args, (), s.pos)
        if not strict.value or len(s.args) < 2:
            return self._with((), (), fresh)
        if not all(_has_length(self._type(a)) for a in s.args):
            return None
        v, user = s.out, self._only_user(s.out)
        while user is not None and self._known(user.fn) is enumerate and user.args[0] is v:
            v, user = user.out, self._only_user(user.out)
        if user is None:
            return None
        if self._known(user.fn) is not iter:
            at_once = user in self.block.stmts and drained.get(self._known(user.fn)) is not None
            return self._with((check,), (), fresh) if at_once else None
        loops = [b for b in self.fn.blocks if isinstance(b.term, ForNext) and b.term.iterator is user.out]
        if not loops or use_counts(self.fn)[user.out] != len(loops):
            return None
        return self._with((), tuple(loops), fresh)

    def _only_user(self, v: Var) -> Call | None:
        users = [s for b in self.fn.blocks for s in b.stmts if v in s.operands()]
        return users[0] if len(users) == use_counts(self.fn).get(v) == 1 else None

    def _with(self, before: tuple[Call, ...], loops: tuple[CFGBlock, ...], fresh: Fresh) -> Function:
        """The function with the plain call, statements before it, and a look at the lengths where these loops end."""
        s = self.call
        handlers = {b.term.body.target: b.term.handler for b in self.fn.blocks if isinstance(b.term, Try)}
        out: list[CFGBlock] = []
        for b in self.fn.blocks:
            if b is self.block:
                i = b.stmts.index(s)
                b = replace(b, stmts=(*b.stmts[:i], *before, replace(s, kwargs=()), *b.stmts[i + 1 :]))
            if any(b.id == loop.id for loop in loops):
                term = b.term
                assert isinstance(term, ForNext)
                check = Call(fresh.var(), Const(check_same_length), s.args, (), s.pos)
                end = CFGBlock(fresh.block(), (), (check,), Goto(term.done, term.pos))
                b = replace(b, term=replace(term, done=Edge(end.id)))
                out += protect_all([end], handlers[b.id], fresh) if b.id in handlers else [end]
            out.append(b)
        first = next(b for b in out if b.id == self.fn.entry.id)
        return replace(self.fn, blocks=(first, *[b for b in out if b is not first]))


def _has_length(t: T | None) -> bool:
    if isinstance(t, Known):
        return isinstance(t.value, (range, tuple))
    if isinstance(t, Arr):
        return bool(t.fewest)
    return isinstance(t, Tup) or (isinstance(t, Lst) and t.cls is list) or (isinstance(t, Inst) and t.cls is range)
