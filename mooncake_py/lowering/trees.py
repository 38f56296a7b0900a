"""Trees of statements: operands pushed in order, values that wait on the stack for their consumer."""

from __future__ import annotations

from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Operand, Pos, Var
from mooncake_py.lowering.assembler import Cell, Label, TryBegin
from mooncake_py.lowering.native import POP, Sel, V
from mooncake_py.lowering.plan import PBlock
from mooncake_py.lowering.writer import Writer


class TreeWriter(Writer):
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
            self._cells[name] = Cell(name)
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
