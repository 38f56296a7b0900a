"""`zip(xs, ys, strict=True)` of sequences: `zip(xs, ys)`, and where that has come to its end, a look at the lengths.

The sequences may be numbered or gone through backwards: `zip(xs, reversed(ys), enumerate(zs), strict=True)`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Arr, Inst, Known, Lst, T, Tup
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import fresh_beside
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Edge, ForNext, Function, Goto, Operand, Try, Var
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
        self.fresh = fresh_beside(inferred.fn)
        self.backwards: dict[Call, Var] = {}  # what goes backwards, and how many items there were when it was made

    def _type(self, v: Operand) -> T | None:
        return Known(v.value) if isinstance(v, Const) else self.inferred.types.get(v)

    def _known(self, v: Operand) -> Any:
        t = self._type(v)
        return t.value if isinstance(t, Known) and type(t.value).__hash__ is not None else None

    def simpler(self) -> Function | None:
        s, strict = self.call, self._type(self.call.kwargs[0][1])
        if self._known(s.fn) is not zip or not isinstance(strict, Known) or type(strict.value) is not bool:
            return None
        if not strict.value or len(s.args) < 2:
            return self._with((), False, ())
        sized = tuple([x for a in s.args if (x := self._sized(a)) is not None])
        if len(sized) < len(s.args):
            return None
        v, user = s.out, self._only_user(s.out)
        while user is not None and self._known(user.fn) is enumerate and user.args[0] is v:
            v, user = user.out, self._only_user(user.out)
        if user is None:
            return None
        if self._known(user.fn) is not iter:
            at_once = user in self.block.stmts and drained.get(self._known(user.fn)) is not None
            return self._with(sized, True, ()) if at_once else None
        loops = [b for b in self.fn.blocks if isinstance(b.term, ForNext) and b.term.iterator is user.out]
        if not loops or use_counts(self.fn)[user.out] != len(loops):
            return None
        return self._with(sized, False, tuple(loops))

    def _sized(self, x: Operand) -> Operand | None:
        """What has as many items as x gives, or is one of `backwards`; None where nothing is known to have."""
        if _has_length(self._type(x)):
            return x
        d = next((s for s in self.block.stmts if s.out is x), None)  # elsewhere it may be used up by now
        if d is None or len(d.args) != 1 or d.kwargs or self._only_user(d.out) is not self.call:
            return None
        f, of = self._known(d.fn), d.args[0]
        if f is reversed and _has_length(self._type(of)):
            self.backwards.setdefault(d, self.fresh.var())
            return d.out
        return self._sized(of) if f is enumerate else None

    def _only_user(self, v: Var) -> Call | None:
        users = [s for b in self.fn.blocks for s in b.stmts if v in s.operands()]
        return users[0] if len(users) == use_counts(self.fn).get(v) == 1 else None

    def _with(self, sized: tuple[Operand, ...], before: bool, loops: tuple[CFGBlock, ...]) -> Function:
        """The function with the plain call, and a look at the lengths before it, or where these loops end."""
        s, fresh = self.call, self.fresh

        def check() -> tuple[Call, ...]:
            stmts: list[Call] = []

            def call(f: Any, *args: Operand) -> Var:
                stmts.append(Call(fresh.var(), Const(f), args, (), s.pos))
                return stmts[-1].out

            # how far reversed goes was settled when it was made; it ends before that where a list has become shorter
            back = {d.out: (n, d.args[0]) for d, n in self.backwards.items()}
            items = [call(range, call(min, back[x][0], call(len, back[x][1]))) if x in back else x for x in sized]
            call(check_same_length, *items)
            return tuple(stmts)

        def with_length(d: Call) -> tuple[Call, ...]:
            n = self.backwards.get(d)
            return (d,) if n is None else (Call(n, Const(len), d.args, (), d.pos), d)

        handlers = {b.term.body.target: b.term.handler for b in self.fn.blocks if isinstance(b.term, Try)}
        out: list[CFGBlock] = []
        for b in self.fn.blocks:
            if b is self.block:
                i = b.stmts.index(s)
                made = [x for d in b.stmts[:i] for x in with_length(d)]
                checks = check() if before else ()
                b = replace(b, stmts=(*made, *checks, replace(s, kwargs=()), *b.stmts[i + 1 :]))
            if any(b.id == loop.id for loop in loops):
                term = b.term
                assert isinstance(term, ForNext)
                end = CFGBlock(fresh.block(), (), check(), Goto(term.done, term.pos))
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
