"""The verifier: what every `Function` satisfies between passes."""

from __future__ import annotations

from mooncake_py.errors import MooncakeError
from mooncake_py.ir import graph, text
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Function,
    Goto,
    Operand,
    Raise,
    Return,
    Switch,
    Try,
    Var,
    term_operands,
)


class VerifyError(MooncakeError):
    """A function that breaks an invariant; the message shows the place."""


def verify(fn: Function, late: bool = False) -> None:
    """Raise VerifyError unless

    1. there is a block; block ids and variable ids are unique;
    2. the first block, the entry, has no parameters and no predecessors;
    3. every block ends in one of the terminators, and every edge leads to a block of the function;
    4. an edge has as many arguments as its target has parameters; the body of a ForNext and a handler have one
       parameter more, the first: the item and the exception; the body of a Try has no other predecessor;
    5. every variable is defined once: as a parameter of the function or of a block, as a free variable, or by
       a statement;
    6. a definition dominates its uses: the definition of a statement's operand comes before it, and that of an
       edge's argument is available where the edge leaves;
    7. a handler edge leaves *before* the block's last statement has a result: neither the handler's arguments
       nor anything reached only through the handler reads that result, unless it is the terminator that raises;
    8. a Switch has distinct int cases; keyword names of a call are distinct;
    9. a Raise has a cause only with an exception, and reraises only an exception.

    Unreachable blocks must satisfy all but 6 and 7. `late`: blocks that return may read what is None where it was not
    come to, as those of forward functions do.
    """
    _Verifier(fn, late).run()


class _Verifier:
    def __init__(self, fn: Function, late: bool):
        self.fn, self.late = fn, late
        self.blocks: dict[BlockId, CFGBlock] = {}
        self.home: dict[Var, tuple[BlockId | None, int]] = {}  # block and index; parameters stand at -1

    def fail(self, what: str, block: CFGBlock | None = None, index: int | None = None) -> VerifyError:
        """`index` is the statement at fault, one past the last being the terminator."""
        if block is None:
            return VerifyError(f"{what}, in {self.fn.name!r}")
        lines = text._Printer([], False).block(block).splitlines()
        if index is None:
            shown, at = lines[:4], 0
        else:
            low = max(0, index - 2)
            shown, at = lines[low : index + 4], index + 1 - low
        marked = "\n".join(("> " if i == at else "  ") + line for i, line in enumerate(shown))
        return VerifyError(f"{what}, in {self.fn.name!r}, bb{block.id}:\n{marked}")

    def run(self) -> None:
        self._shape()
        for b in self.fn.blocks:
            self._terminator(b)
        preds = graph.predecessors(self.fn)
        entry = self.fn.entry
        if preds[entry.id]:
            raise self.fail(f"the entry has a predecessor, bb{preds[entry.id][0]}", self.blocks[preds[entry.id][0]])
        if entry.params:
            raise self.fail("the entry has parameters", entry)
        for b in self.fn.blocks:
            if isinstance(b.term, Try) and preds[b.term.body.target] != [b.id]:
                raise self.fail(f"the body of the try, bb{b.term.body.target}, is entered otherwise", b, len(b.stmts))
        self._uses()
        self._handlers()

    def _shape(self) -> None:
        if not self.fn.blocks:
            raise self.fail("there are no blocks")
        ids: dict[int, Var] = {}

        def define(v: Var, block: CFGBlock | None, index: int) -> None:
            if v in self.home:
                raise self.fail(f"%{v.id} is defined twice", block, index if index >= 0 else None)
            if ids.setdefault(v.id, v) is not v:
                raise self.fail(f"two variables have the id %{v.id}", block, index if index >= 0 else None)
            self.home[v] = (None if block is None else block.id, index)

        for v in (*self.fn.params, *self.fn.free):
            define(v, None, -1)
        for b in self.fn.blocks:
            if b.id in self.blocks:
                raise self.fail(f"there are two blocks bb{b.id}", b)
            self.blocks[b.id] = b
            for v in b.params:
                define(v, b, -1)
            for i, s in enumerate(b.stmts):
                if not isinstance(s, Call):
                    raise self.fail("a statement is not a Call", b)
                define(s.out, b, i)
                names = [k for k, _ in s.kwargs]
                if len(set(names)) != len(names):
                    raise self.fail("a keyword is given twice", b, i)

    def _edge(self, b: CFGBlock, e: Edge, extra: int, what: str) -> None:
        at = len(b.stmts)
        if e.target not in self.blocks:
            raise self.fail(f"the {what} leads to bb{e.target}, which is not there", b, at)
        n = len(self.blocks[e.target].params)
        if len(e.args) + extra != n:
            given = f"{len(e.args)} arguments" + (" and the value it brings" if extra else "")
            raise self.fail(f"the {what} has {given}, bb{e.target} has {n} parameters", b, at)

    def _terminator(self, b: CFGBlock) -> None:
        t, at = b.term, len(b.stmts)
        match t:
            case Goto(edge=e):
                self._edge(b, e, 0, "goto")
            case Branch(then=x, orelse=y):
                self._edge(b, x, 0, "first edge")
                self._edge(b, y, 0, "second edge")
            case ForNext(body=x, done=y):
                self._edge(b, x, 1, "body edge")
                self._edge(b, y, 0, "done edge")
            case Switch(cases=cases, default=d):
                for k, e in cases:
                    if type(k) is not int:
                        raise self.fail(f"the case {k!r} is not an int", b, at)
                    self._edge(b, e, 0, f"case {k}")
                if len({k for k, _ in cases}) != len(cases):
                    raise self.fail("two cases are equal", b, at)
                self._edge(b, d, 0, "default edge")
            case Try(body=x, handler=y):
                self._edge(b, x, 0, "body edge")
                self._edge(b, y, 1, "handler edge")
            case Return():
                pass
            case Raise(exc=exc, cause=cause, reraise=reraise):
                if exc is None and (cause is not None or reraise):
                    raise self.fail("a cause or a reraise without an exception", b, at)
            case _:
                raise self.fail(f"{t!r} is not a terminator", b)
        if b.handler is not None:
            self._edge(b, b.handler, 1, "handler")

    def _uses(self) -> None:
        idom = graph.dominators(self.fn)
        for b in self.fn.blocks:
            reachable = b.id in idom
            for i, s in enumerate(b.stmts):
                for x in s.operands():
                    self._use(x, b, i, idom, reachable)
            at = len(b.stmts)
            for x in term_operands(b.term):
                self._use(x, b, at, idom, reachable)
            if b.handler is not None:
                for x in b.handler.args:
                    self._use(x, b, at, idom, reachable)

    def _use(self, x: Operand, b: CFGBlock, at: int, idom: dict[BlockId, BlockId | None], reachable: bool) -> None:
        if isinstance(x, Const):
            return
        if not isinstance(x, Var):
            raise self.fail(f"{x!r} is not an operand", b, at)
        home = self.home.get(x)
        if home is None:
            raise self.fail(f"%{x.id} is not defined", b, at)
        block, index = home
        if block is None or not reachable:
            return
        if block == b.id:
            if index >= at:
                raise self.fail(f"%{x.id} is used before its definition", b, at)
        elif not (graph.dominates(idom, block, b.id) or (self.late and isinstance(b.term, Return))):
            raise self.fail(f"%{x.id}, defined in bb{block}, does not reach its use", b, at)

    def _handlers(self) -> None:
        protected = [b for b in self.fn.blocks if b.handler is not None and b.stmts]
        if not protected:
            return
        live_in, _ = graph.liveness(self.fn)
        for b in protected:
            assert b.handler is not None
            if isinstance(b.term, ForNext | Raise):
                continue
            out, at = b.stmts[-1].out, len(b.stmts) - 1
            if any(a is out for a in b.handler.args):
                raise self.fail(f"the handler is given %{out.id}, which is not there when it runs", b, at)
            if out in live_in[b.handler.target] and not self.late:
                raise self.fail(
                    f"the handler bb{b.handler.target} reads %{out.id}, which is not there when it runs", b, at
                )
