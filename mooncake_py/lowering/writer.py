"""Writing instructions, `(name, argument, position)`: stack depth, constants, slots, jumps, protected code."""

from __future__ import annotations

from mooncake_py.ir.nodes import BlockId, Const, Goto, Operand, Pos, Var
from mooncake_py.lowering.assembler import Arg, Cell, Free, Label, Line, TryBegin, TryEnd
from mooncake_py.lowering.native import Ins, Sel, V
from mooncake_py.lowering.plan import Jump, PBlock, Plan
from mooncake_py.lowering.slots import Slots

_BOOLS = frozenset(("bool", "contains", "none", "not_none", "not", "truth"))  # kinds whose value is True or False


class Writer:
    """The code of one function as it grows. `depth` is the height of the evaluation stack at its end."""

    def __init__(self, plan: Plan, slots: Slots):
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
        wrap = V.STOPITERATION_HANDLER and plan.fn.suspends
        self._wrap = Label() if wrap else None
        self._open: TryBegin | None = None
        self._free = {v: Free(i) for i, v in enumerate(plan.fn.free)}
        self._cells = {n: Cell(n) for n in slots.cell_names}
        self._pushed: tuple[int, Operand] | None = None  # the length of the code after a push, and its list
        self._bools = {s.out for p in plan.layout for s in p.sels if s.kind in _BOOLS}

    # -- single instructions ---------------------------------------------------------------------------------

    def ins(self, name: str, arg: Arg, effect: int, pos: Pos) -> None:
        self.code.append((name, arg, pos))
        self.depth += effect
        if self.depth > self.stacksize:
            self.stacksize = self.depth

    def seq(self, seq: tuple[Ins, ...], pos: Pos) -> None:
        depth = self.depth
        for name, arg, effect in seq:
            if name == "LOAD_CONST" or name == "KW_NAMES":
                arg = self.const(arg)
            elif type(arg) is Var:
                arg = self.cell(arg)
            self.code.append((name, arg, pos))
            depth += effect
            if depth > self.stacksize:
                self.stacksize = depth
        self.depth = depth

    def const(self, value: object) -> int:
        """Constants are told apart by identity: equal ones may differ in type, in sign or in what becomes of them."""
        i = self._const_index.get(id(value))
        if i is None:
            i = self._const_index[id(value)] = len(self.consts)
            self.consts.append(value)
        return i

    def cell(self, v: Var) -> Cell | Free:
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
        return j.takes or j.pops > 0 or j.push is not None or any([self._moves(q, a) for q, a in j.moves])

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

    def _end_protected(self, p: PBlock) -> None:
        if p.handler is not None and self._open is not None and self._open.target is not self._wrap:
            self._protect(None)

    def _protect_end(self) -> None:
        if self._open is not None:
            if self.code[-1] is self._open:
                self.code.pop()
            else:
                self.code.append(TryEnd(self._open))
            self._open = None
