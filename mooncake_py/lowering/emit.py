"""Emission: the scheduled, slotted plan as instructions and labels, block by block."""

from __future__ import annotations

from typing import Any

from mooncake_py.ir.nodes import NO_POS, Branch, Const, ForNext, Goto, Operand, Pos, Raise, Return, Switch, Var
from mooncake_py.lowering.assembler import Label
from mooncake_py.lowering.native import POP, V
from mooncake_py.lowering.plan import PBlock
from mooncake_py.lowering.trees import TreeWriter

_INVERSE = {"true": "false", "false": "true", "none": "not_none", "not_none": "none"}


class Emitter(TreeWriter):
    """Writes one function."""

    def run(self) -> None:
        fn = self.plan.fn
        start = Pos(fn.firstline)
        if fn.free:
            self.ins("COPY_FREE_VARS", len(fn.free), 0, start)
        if fn.suspends:
            self.ins("RETURN_GENERATOR", None, 1, start)
            self.ins("POP_TOP", None, -1, start)
        self._protect(None)
        self.ins("RESUME", 0, 0, start)
        for name in self.slots.nones:
            self.load(Const(None), start)
            self.ins("STORE_FAST", name, -1, start)
        self._thread()
        layout = [p for p in self.plan.layout if p.id not in self._threaded]
        entry = self.plan.layout[0].id
        if entry in self._threaded:  # the entry does nothing but jump
            first = self._target(entry)
            if layout[0].id != first:
                self._next = layout[0].id
                self._goto(first, start)
        for i, p in enumerate(layout):
            self._next = layout[i + 1].id if i + 1 < len(layout) else None
            if not self._block(p):
                falls = self._flush_stubs()
                if self._next is not None and not falls:
                    self._flush_pads(self._next)
        self._finish()

    # -- blocks ----------------------------------------------------------------------------------------------

    def _block(self, p: PBlock) -> bool:
        """One block; whether it falls through into the next."""
        self.code.append(self._label(p.id))
        self._placed.add(p.id)
        self.depth = p.depth + p.arrives
        last = len(p.sels) - 1
        if p.handler is not None:
            self._protect(p)
        if p.start[last]:
            self.roots(p, 0, p.start[last])
        falls = _TERMINATORS[type(p.block.term)](self, p, last)
        if p.handler is not None:
            self._end_protected(p)
        return falls

    def _end_goto(self, p: PBlock, k: int) -> bool:
        j, pos = p.jumps[0], p.sels[k].pos
        kept = [] if j.push is None else [(None, j.push)]
        aligned: list[tuple[Var | None, Operand]] = [*kept, *j.moves]
        skip = {i for i, (q, a) in enumerate(aligned) if q is not None and not self._moves(q, a)}
        if skip:
            sel = p.sels[k]
            order = [i for i in range(len(aligned)) if i not in skip]
            renumbered = {i: n for n, i in enumerate(order)}
            sel.operands = tuple([sel.operands[i] for i in order])
            p.kids[k] = [(renumbered[i], d) for i, d in p.kids[k]]
            aligned = [aligned[i] for i in order]
        self.operands(p, k)
        self._end_protected(p)
        for q, _ in reversed(aligned):
            if q is not None:
                self.store(q, pos)
        for _ in range(j.pops):
            if j.push is not None:
                self.ins("SWAP", 2, 0, pos)
            self.ins("POP_TOP", None, -1, pos)
        self._goto(j.target, pos)
        return self._target(j.target) == self._next

    def _end_branch(self, p: PBlock, k: int) -> bool:
        then, orelse = p.jumps
        sel = p.sels[k]
        pos = sel.pos
        cond = sel.operands[0]
        if type(cond) is Const:
            self._end_protected(p)
            return self._jump(then if cond.value else orelse, pos)
        condition = self._condition(p, k)
        a, b = self._target(then.target), self._target(orelse.target)
        if a in self._placed or b in self._placed:
            # the back edge: as a jump on its own where the version has none that is conditional and backward
            jumped = then if (a in self._placed) == V.BACKWARD_CONDITIONAL_JUMPS else orelse
            if V.BACKWARD_CONDITIONAL_JUMPS and self._has_code(jumped):
                jumped = orelse if jumped is then else then
        else:
            jumped = then if b == self._next else orelse
        inline = orelse if jumped is then else then
        self._conditional(condition if jumped is then else _INVERSE[condition], jumped, pos)
        self._end_protected(p)  # not earlier: the jump itself may call `__bool__`
        return self._jump(inline, pos)

    def _condition(self, p: PBlock, k: int) -> str:
        """Push the condition of a Branch in the cheapest form; the result says when the `then` edge is taken."""
        pos = p.sels[k].pos
        cond = p.sels[k].operands[0]
        kind = self._last_kid(p, k, 0)
        child = p.sels[k - 1] if kind else None
        if kind in ("none", "not_none"):
            self.operands(p, k - 1, limit=1)
            return kind
        if kind == "compare":
            assert child is not None
            self.operands(p, k - 1)
            self.seq((V.compare_for_branch(child.data),), child.pos)
            return "true"
        if kind == "truth" or (kind == "not" and self._last_kid(p, k - 1, 0) not in ("contains", "bool")):
            assert child is not None
            self.operands(p, k - 1)
            if V.BRANCH_NEEDS_BOOL and child.operands[0] not in self._bools:
                self.ins("TO_BOOL", None, 0, pos)
            return "true" if kind == "truth" else "false"
        self.operands(p, k)
        if V.BRANCH_NEEDS_BOOL and cond not in self._bools:
            self.ins("TO_BOOL", None, 0, pos)
        return "true"

    def _end_for(self, p: PBlock, k: int) -> bool:
        body, done = p.jumps
        pos = p.sels[k].pos
        self.operands(p, k)
        if V.FOR_DONE or self._has_code(done) or self._target(done.target) in self._placed:
            exit = Label()
            self._stubs.append((exit, done, pos, self.depth - 1, True))
        else:
            exit = self._label(self._target(done.target))
        if p.handler is not None:
            self.seq(V.PROTECTED_FOR, pos)
        self.ins("FOR_ITER", exit, 1, pos)
        self._end_protected(p)
        if not p.on_stack:
            if body.keeps or any(self._moves(q, a) for q, a in body.moves) or body.pops:
                self.seq((("SWAP", 2, 0), POP), pos)
            else:  # nothing reads the slots that are written here, so the iterator may be dropped last
                self.store(body.first, pos)
                self.ins("POP_TOP", None, -1, pos)
                self._goto(body.target, pos)
                return self._target(body.target) == self._next
        return self._jump(body, pos)

    def _end_switch(self, p: PBlock, k: int) -> bool:
        t = p.block.term
        assert type(t) is Switch
        *cases, default = p.jumps
        pos = t.pos
        single = bool(p.sels[k].operands)
        value = p.sels[k].reads[0] if p.sels[k].reads else t.value
        for (number, _), j in zip(t.cases, cases, strict=True):
            if single:
                self.operands(p, k)
            else:
                self.load(value, pos)
            if number == 0:  # the values are ints
                if V.BRANCH_NEEDS_BOOL:
                    self.ins("TO_BOOL", None, 0, pos)
                self._conditional("false", j, pos)
            else:
                self.ins("LOAD_CONST", self.const(number), 1, pos)
                self.seq((V.compare_for_branch("eq"),), pos)
                self._conditional("true", j, pos)
        self._end_protected(p)
        return self._jump(default, pos)

    def _end_return(self, p: PBlock, k: int) -> bool:
        sel = p.sels[k]
        pos, value = sel.pos, sel.operands[0]
        waits = bool(p.kids[k])
        if not waits:
            for _ in range(p.depth):
                self.ins("POP_TOP", None, -1, pos)
        if V.RETURN_CONST and type(value) is Const:
            self.ins("RETURN_CONST", self.const(value.value), 0, pos)
            return False
        self.operands(p, k)
        if waits:
            for _ in range(p.depth):
                self.seq((("SWAP", 2, 0), POP), pos)
        self.ins("RETURN_VALUE", None, -1, pos)
        return False

    def _end_raise(self, p: PBlock, k: int) -> bool:
        t = p.block.term
        assert type(t) is Raise
        self.operands(p, k)
        n = len(p.sels[k].operands)
        if t.reraise:
            self.ins("RERAISE", 0, -1, t.pos)
        else:
            self.ins("RAISE_VARARGS", n, -n, t.pos)
        return False

    def _finish(self) -> None:
        """Landing pads, and code that runs at most once: it stands last."""
        self._next = None
        self._flush_stubs()
        for label, sel, depth, p in self._cold:
            if p.handler is not None:
                self._protect(p)
            self.code.append(label)
            self.depth = depth + 1
            pos = sel.pos
            text = f"cannot access local variable {sel.data.value!r} where it is not associated with a value"
            null, callee = ("PUSH_NULL", None, 1), ("LOAD_CONST", UnboundLocalError, 1)
            self.seq((null, callee) if V.NULL_FIRST else (callee, null), pos)  # raised here: no frame of ours shows
            self.seq((("LOAD_CONST", text, 1), *V.call(1, ()), ("RAISE_VARARGS", 1, -1)), pos)
            self._end_protected(p)
        for label, done, depth, pos, p in self._cleanups:
            self._protect(p)
            self.code.append(label)
            self.depth = depth
            self.ins("CLEANUP_THROW", None, 1, pos)
            self.ins("JUMP_BACKWARD", done, -1, pos)
            self._end_protected(p)
        for j in [pad[1] for pad in self._pads.values()]:
            self._flush_pads(j.target)
        if self._never is not None:
            self.code.append(self._never)
            self.depth = 2
            self.seq((*V.FOR_DONE, ("LOAD_CONST", None, 1), ("RETURN_VALUE", None, -1)), NO_POS)
        if self._wrap is not None:
            self._protect_end()
            self.code.append(self._wrap)
            self.depth = 2
            self.seq(V.intrinsic("STOPITERATION_ERROR", 1), NO_POS)
            self.ins("RERAISE", 1, -1, NO_POS)


_TERMINATORS: dict[type, Any] = {
    Goto: Emitter._end_goto,
    Branch: Emitter._end_branch,
    ForNext: Emitter._end_for,
    Switch: Emitter._end_switch,
    Return: Emitter._end_return,
    Raise: Emitter._end_raise,
}
