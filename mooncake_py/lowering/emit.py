"""Emission: the scheduled, slotted plan as instructions, `(name, argument, position)`, and labels between them."""

from __future__ import annotations

from typing import Any

from bytecode import CellVar, Compare, FreeVar, Label, TryBegin, TryEnd
from bytecode.instr import Intrinsic1Op

from mooncake_py.ir import ops
from mooncake_py.ir.nodes import (
    NO_POS,
    BlockId,
    Branch,
    Const,
    ForNext,
    Goto,
    Operand,
    Pos,
    Raise,
    Return,
    Switch,
    Var,
)
from mooncake_py.lowering.native import POP, Ins, Sel, V
from mooncake_py.lowering.schedule import Jump, PBlock, Plan
from mooncake_py.lowering.slots import Slots

Line = tuple[str, Any, Pos] | Label | TryBegin | TryEnd
_INVERSE = {"true": "false", "false": "true", "none": "not_none", "not_none": "none"}
_BOOLS = frozenset(("bool", "contains", "none", "not_none", "not", "truth"))  # kinds whose value is True or False


class Emitter:
    """Writes one function. `depth` is the height of the evaluation stack at the place being written."""

    def __init__(self, plan: Plan, slots: Slots, free_names: list[str]):
        self.plan, self.slots = plan, slots
        self.code: list[Line] = []
        self.depth = 0
        self.stacksize = 1
        self.consts: list[object] = []
        self._const_index: dict[int, int] = {}
        self._labels: dict[BlockId, Label] = {}
        self._placed: set[BlockId] = set()
        self._next: BlockId | None = None
        self._threaded: dict[BlockId, BlockId] = {}
        self._stubs: list[tuple[Label, Jump, Pos, int, bool]] = []
        self._cold: list[tuple[Label, Sel, int, PBlock]] = []
        self._cleanups: list[tuple[Label, Label, int, Pos, PBlock]] = []
        self._pads: dict[tuple[object, ...], tuple[Label, Jump, Pos, int]] = {}
        self._landed: set[tuple[object, ...]] = set()
        self._never: Label | None = None
        wrap = V.STOPITERATION_HANDLER and plan.fn.kind == "generator"
        self._wrap = Label() if wrap else None
        self._open: TryBegin | None = None
        self._free = {v: FreeVar(n) for v, n in zip(plan.fn.free, free_names, strict=True)}
        self._cells = {n: CellVar(n) for n in slots.cell_names}
        self._pushed: tuple[int, Operand] | None = None  # the length of the code after a push, and its list
        self._bools = {s.out for p in plan.layout for s in p.sels if s.kind in _BOOLS}

    def run(self) -> None:
        fn = self.plan.fn
        start = Pos(fn.firstline)
        if fn.free:
            self.ins("COPY_FREE_VARS", len(fn.free), 0, start)
        if fn.kind == "generator":
            self.ins("RETURN_GENERATOR", None, 1, start)
            self.ins("POP_TOP", None, -1, start)
        self._protect(None)
        self.ins("RESUME", 0, 0, start)
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

    # -- single instructions ---------------------------------------------------------------------------------

    def ins(self, name: str, arg: object, effect: int, pos: Pos) -> None:
        self.code.append((name, arg, pos))
        self.depth += effect
        if self.depth > self.stacksize:
            self.stacksize = self.depth

    def seq(self, seq: tuple[Ins, ...], pos: Pos) -> None:
        for name, arg, effect in seq:
            if name == "LOAD_CONST" or name == "KW_NAMES":
                arg = self.const(arg)
            elif type(arg) is Var:
                arg = self.cell(arg)
            self.ins(name, arg, effect, pos)

    def const(self, value: object) -> int:
        """Constants are told apart by identity: equal ones may differ in type, in sign or in what becomes of them."""
        i = self._const_index.get(id(value))
        if i is None:
            i = self._const_index[id(value)] = len(self.consts)
            self.consts.append(value)
        return i

    def cell(self, v: Var) -> CellVar | FreeVar:
        free = self._free.get(v)
        return free if free is not None else self._cells[self.slots.names[self.slots.of[v]]]

    def load(self, x: Operand, pos: Pos) -> None:
        if type(x) is Const:
            self.ins("LOAD_CONST", self.const(x.value), 1, pos)
        elif self._pushed is not None and self._pushed == (len(self.code), x):
            self.code.pop()  # the list that the last push dropped is wanted again
            self.depth += 1
        else:
            slot = self.slots.of.get(x)  # type: ignore[arg-type]
            if slot is not None:
                self.ins("LOAD_FAST", self.slots.names[slot], 1, pos)
            else:
                opcode = "LOAD_FAST" if V.CLOSURE_BY_LOAD_FAST else "LOAD_CLOSURE"
                self.ins(opcode, self._free[x], 1, pos)  # type: ignore[index]

    def store(self, v: Var | None, pos: Pos) -> None:
        slot = None if v is None else self.slots.of.get(v)
        if slot is None:
            self.ins("POP_TOP", None, -1, pos)
        else:
            self.ins("STORE_FAST", self.slots.names[slot], -1, pos)

    # -- trees of statements ---------------------------------------------------------------------------------

    def roots(self, p: PBlock, begin: int, end: int) -> None:
        """The trees that make up statements begin..end-1."""
        found = []
        k = end - 1
        while k >= begin:
            found.append(k)
            k = p.start[k] - 1
        for k in reversed(found):
            self.root(p, k)

    def root(self, p: PBlock, k: int) -> None:
        sel = p.sels[k]
        pos = sel.pos
        if sel.kind == "pull" and sel.out in self.slots.of:
            self.operands(p, k)
            self._for_iter_never(pos)
            self.store(sel.out, pos)
            self.seq((POP,), pos)
            return
        self.tree(p, k)
        if sel.kind == "unpack":
            for x in sel.outs:
                self.store(x, pos)
        elif sel.kind == "make_cell":
            self._make_cell(sel)
        elif not sel.void:
            self.store(sel.out, pos)
        elif sel.out in self.slots.of:
            self.ins("LOAD_CONST", self.const(None), 1, pos)
            self.store(sel.out, pos)
        elif sel.kind == "push":
            self._pushed = (len(self.code), sel.operands[0])

    def tree(self, p: PBlock, k: int) -> None:
        """Statement k with all that waits on the stack for it; its value, if any, ends on the stack."""
        sel = p.sels[k]
        kind, pos = sel.kind, sel.pos
        if kind == "getitem" and self._last_kid(p, k, 1) == "slice":
            self.operands(p, k, absorb=True)
            self.seq(V.GETSLICE, pos)
        elif kind == "setitem" and self._last_kid(p, k, 2) == "slice":
            self.operands(p, k, absorb=True)
            self.seq(V.SETSLICE, pos)
        elif kind == "not" and self._last_kid(p, k, 0) in ("contains", "bool"):
            self.operands(p, k, absorb=True)
            name, arg, effect = p.sels[k - 1].seq[0]
            self.ins(name, 1 - arg, effect, pos)
        else:
            self.operands(p, k)
            if kind == "pull":
                self._for_iter_never(pos)
                self.seq((("SWAP", 2, 0), POP), pos)
            elif kind == "check_bound":
                self._check_bound(sel, p)
            elif kind == "yield_from":
                self._yield_from(p, pos)
            elif kind == "const_cell":
                self._const_cell(pos)
            else:
                self.seq(sel.seq, pos)

    @staticmethod
    def _last_kid(p: PBlock, k: int, operand: int) -> str:
        """The kind of statement k-1 when it waits on the stack as that operand of k and nothing runs between."""
        kids = p.kids[k]
        return p.sels[k - 1].kind if kids and kids[-1] == (operand, k - 1) else ""

    def operands(self, p: PBlock, k: int, absorb: bool = False, limit: int = 99999) -> None:
        """Push the operands of statement k in order, running what stands between them where it stood.

        `absorb`: of the last operand, a statement, only its own operands: the consumer has a better instruction.
        """
        sel = p.sels[k]
        pos = sel.pos
        kids = p.kids[k]
        n_kids = len(kids)
        kid = 0
        next_i = kids[0][0] if kids else -1
        previous: Operand | None = None
        for i, x in enumerate(sel.operands[:limit]):
            if i == next_i:
                d = kids[kid][1]
                kid += 1
                if absorb and kid == n_kids:
                    self.operands(p, d)
                    return
                if i == 0 and sel.kind == "call":
                    self._folded_callee(p, d, sel)
                else:
                    self.tree(p, d)
                    if p.sels[d].void:
                        self.ins("LOAD_CONST", self.const(None), 1, pos)
                if kid < n_kids:
                    next_i, end = kids[kid][0], p.start[kids[kid][1]]
                else:
                    next_i, end = -1, k
                if d + 1 < end:
                    self.roots(p, d + 1, end)
                previous = x
            elif x is previous and type(x) is Var and x in self.plan.folded:
                self.ins("COPY", 1, 1, pos)
            elif i == 0 and sel.kind == "call":
                if V.NULL_FIRST:
                    self.ins("PUSH_NULL", None, 1, pos)
                    self.load(x, pos)
                else:
                    self.load(x, pos)
                    self.ins("PUSH_NULL", None, 1, pos)
            else:
                self.load(x, pos)

    def _folded_callee(self, p: PBlock, d: int, call: Sel) -> None:
        """The callee of a call, computed on the stack by statement d: a method, a global or anything else."""
        child = p.sels[d]
        pos = child.pos
        if child.kind == "global":
            self.ins("LOAD_GLOBAL", (True, child.data), 2, pos)
        elif child.kind == "getattr" and call.seq[0][0] != "CALL_FUNCTION_EX":
            self.operands(p, d)
            self.seq((V.method(child.data),), pos)
        elif child.kind == "super" and call.seq[0][0] != "CALL_FUNCTION_EX":
            self.operands(p, d)
            self.ins("LOAD_SUPER_ATTR", (True, True, child.data), -1, pos)
        elif V.NULL_FIRST:
            self.ins("PUSH_NULL", None, 1, pos)
            self.tree(p, d)
        else:
            self.tree(p, d)
            self.ins("PUSH_NULL", None, 1, pos)

    # -- forms that need more than a sequence ----------------------------------------------------------------

    def _for_iter_never(self, pos: Pos) -> None:
        """Take the next item of an iterator that has one: the exit is one label that is never reached."""
        if self._never is None:
            self._never = Label()
        self.ins("FOR_ITER", self._never, 1, pos)

    def _check_bound(self, sel: Sel, p: PBlock) -> None:
        pos = sel.pos
        self.ins("COPY", 1, 1, pos)
        self.ins("LOAD_CONST", self.const(ops.UNBOUND), 1, pos)
        self.ins("IS_OP", 0, -1, pos)
        cold = Label()
        self._cold.append((cold, sel, self.depth - 1, p))
        self.ins(V.JUMPS["true"][0], cold, -1, pos)

    def _yield_from(self, p: PBlock, pos: Pos) -> None:
        """The loop around SEND; a `throw` that ends the inner iterator is met by a handler of its own (3.12)."""
        self.ins("LOAD_CONST", self.const(None), 1, pos)
        again, done = Label(), Label()
        self.code.append(again)
        self.ins("SEND", done, 0, pos)
        thrown = Label()
        if V.CLEANUP_THROW:
            self._protect(None, TryBegin(thrown, False, self.depth))
            self._cleanups.append((thrown, done, self.depth, pos, p))
        for name, arg in V.YIELD_FROM:
            self.ins(name, arg, 0, pos)
            if name == "YIELD_VALUE" and V.CLEANUP_THROW:
                self._protect(p)
        self.ins("JUMP_BACKWARD_NO_INTERRUPT", again, 0, pos)
        self.code.append(done)
        self.seq(V.SEND_DONE, pos)

    def _const_cell(self, pos: Pos) -> None:
        """Read a cell that is a constant: through a slot, where the interpreter has an instruction for it."""
        name = ".cell"
        if name not in self._cells:
            self._cells[name] = CellVar(name)
            self.slots.names.append(name)
            self.slots.cell_names.append(name)
        self.ins("STORE_FAST", name, -1, pos)
        self.ins("LOAD_DEREF", self._cells[name], 1, pos)

    def _make_cell(self, sel: Sel) -> None:
        """The slot holds the content for a moment; the data of the statement says that there is none."""
        pos = sel.pos
        if sel.out not in self.slots.of:
            self.ins("POP_TOP", None, -1, pos)
            return
        assert sel.out is not None
        name = self.slots.names[self.slots.of[sel.out]]
        if self.code[-1] == ("LOAD_FAST", name, pos):
            self.code.pop()
            self.depth -= 1
        else:
            self.ins("STORE_FAST", name, -1, pos)
        if sel.data:
            self.ins("DELETE_FAST", name, 0, pos)
        self.ins("MAKE_CELL", self._cells[name], 0, pos)

    # -- jumps -----------------------------------------------------------------------------------------------

    def _thread(self) -> None:
        """Blocks that only jump on are left out."""
        for p in self.plan.layout:
            if len(p.sels) == 1 and type(p.block.term) is Goto and not self._has_code(p.jumps[0]):
                target = p.jumps[0].target
                while target in self._threaded:
                    target = self._threaded[target]
                if target != p.id:
                    self._threaded[p.id] = target

    def _target(self, block: BlockId) -> BlockId:
        while block in self._threaded:
            block = self._threaded[block]
        return block

    def _label(self, block: BlockId) -> Label:
        label = self._labels.get(block)
        if label is None:
            label = self._labels[block] = Label()
        return label

    def _moves(self, q: Var, a: Operand) -> bool:
        of = self.slots.of
        return not (type(a) is Var and a in of and of[a] == of[q])

    def _has_code(self, j: Jump) -> bool:
        return j.takes or j.pops > 0 or j.push is not None or any(self._moves(q, a) for q, a in j.moves)

    def _goto(self, block: BlockId, pos: Pos) -> None:
        """Go to a block, by falling through where it comes next."""
        target = self._target(block)
        if target != self._next:
            opcode = "JUMP_BACKWARD" if target in self._placed else "JUMP_FORWARD"
            self.ins(opcode, self._label(target), 0, pos)

    def _jump(self, j: Jump, pos: Pos) -> bool:
        """The moves of an edge, then the jump; whether it falls through."""
        self._edge_moves(j, pos)
        self._goto(j.target, pos)
        return self._target(j.target) == self._next

    def _edge_moves(self, j: Jump, pos: Pos) -> None:
        moves = [(q, a) for q, a in j.moves if self._moves(q, a)]
        for _, a in moves:
            self.load(a, pos)
        for q, _ in reversed(moves):
            self.store(q, pos)
        if j.takes and not j.keeps:
            self.store(j.first, pos)
        for _ in range(j.pops):
            self.ins("POP_TOP", None, -1, pos)
        if j.push is not None:
            self.load(j.push, pos)

    def _conditional(self, condition: str, j: Jump, pos: Pos) -> None:
        target = self._target(j.target)
        forward, backward = V.JUMPS[condition]
        if self._has_code(j) or (target in self._placed and not backward):
            stub = Label()
            self._stubs.append((stub, j, pos, self.depth - 1, False))
            self.ins(forward, stub, -1, pos)
        else:
            self.ins(backward if target in self._placed else forward, self._label(target), -1, pos)

    def _flush_stubs(self) -> bool:
        """Out-of-line edges, at a place that nothing falls into; one that leads to what comes next stands last.

        Whether that one falls through.
        """
        stubs, self._stubs = self._stubs, []
        stubs.sort(key=lambda s: self._target(s[1].target) == self._next)
        following = self._next
        falls = False
        for i, (label, j, pos, depth, loop_done) in enumerate(stubs):
            self._next = following if i == len(stubs) - 1 else None
            self.code.append(label)
            self.depth = depth
            if loop_done:
                self.seq(V.FOR_DONE, pos)
            falls = self._jump(j, pos)
        self._next = following
        return falls

    # -- protected code --------------------------------------------------------------------------------------

    def _protect(self, p: PBlock | None, begin: TryBegin | None = None) -> None:
        """From here on exceptions go to p's handler (or that of `begin`); else to the function's own, or nowhere."""
        if self._open is not None:
            if self.code[-1] is self._open:
                self.code.pop()
            else:
                self.code.append(TryEnd(self._open))
            self._open = None
        if begin is not None:
            self._open = begin
        elif p is not None and p.handler is not None:
            depth = p.depth - p.handler.pops
            self._open = TryBegin(self._pad(p), False, depth)
        elif self._wrap is not None:
            self._open = TryBegin(self._wrap, True, 0)
        if self._open is not None:
            self.code.append(self._open)

    def _pad(self, p: PBlock) -> Label:
        """Where an exception lands: the exception on the stack becomes a parameter, like the moves of any edge."""
        j = p.handler
        assert j is not None
        of = self.slots.of
        moves = tuple(
            (of[q], of[a] if a in of else id(a) if a in self._free else ("const", self.const(a.value)))  # type: ignore
            for q, a in j.moves
            if self._moves(q, a)
        )
        depth = p.depth - j.pops
        key = (j.target, depth, moves, id(j.push) if j.push is not None else None)
        found = self._pads.get(key)
        if found is None:
            found = self._pads[key] = (Label(), j, p.block.term.pos, depth)
        return found[0]

    def _flush_pads(self, block: BlockId) -> None:
        """The landing pads of a handler, at a place that nothing falls into."""
        keys = [key for key, pad in self._pads.items() if pad[1].target == block and key not in self._landed]
        following = self._next
        for key in keys:
            label, j, pos, depth = self._pads[key]
            self._landed.add(key)
            self._next = following if key is keys[-1] else None
            self.code.append(label)
            self.depth = depth + 1
            self.stacksize = max(self.stacksize, self.depth)
            landed = Jump(j.target, True)  # what the exception table unwound needs no pops
            landed.first, landed.moves, landed.push, landed.keeps = j.first, j.moves, j.push, j.keeps
            self._jump(landed, pos)
        self._next = following

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

    def _end_protected(self, p: PBlock) -> None:
        if p.handler is not None and self._open is not None and self._open.target is not self._wrap:
            self._protect(None)

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
                self.seq((V.compare_for_branch(Compare.EQ),), pos)
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
            self.ins("CALL_INTRINSIC_1", Intrinsic1Op.INTRINSIC_STOPITERATION_ERROR, 0, NO_POS)
            self.ins("RERAISE", 1, -1, NO_POS)

    def _protect_end(self) -> None:
        if self._open is not None:
            if self.code[-1] is self._open:
                self.code.pop()
            else:
                self.code.append(TryEnd(self._open))
            self._open = None


_TERMINATORS: dict[type, Any] = {
    Goto: Emitter._end_goto,
    Branch: Emitter._end_branch,
    ForNext: Emitter._end_for,
    Switch: Emitter._end_switch,
    Return: Emitter._end_return,
    Raise: Emitter._end_raise,
}
