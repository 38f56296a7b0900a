"""Building a `Function` block by block, with variables turned into SSA on the way.

Besides SSA values a builder knows *keys*: mutable variables that are written and read per block. Reading one
finds the value that reaches the place, adding block parameters where several meet (Braun et al., "Simple and
Efficient Construction of Static Single Assignment Form", 2013). Where nothing was written since the block that
dominates a join, the value is the one it had there: a search does not walk through what has nothing to do with it.
Parameters that turn out to have one value are removed by `simplify_params`. The pullback's cotangent accumulators
and the forward values it needs are such keys.

The frontend has a builder of its own (`frontend/ssa.py`). There a join is a promise, filled in when all blocks are
there, which is cheaper and needs no order of blocks; here a read must be answered at once, because what is emitted next
depends on the value: nothing is added to a zero, what is surely there is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from mooncake_py.ir.drafts import Draft, DraftEdge, draft_edges
from mooncake_py.ir.nodes import (
    NO_POS,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Fresh,
    Function,
    Goto,
    Operand,
    Pos,
    Raise,
    Return,
    Switch,
    Terminator,
    Try,
    Var,
    own_operands,
)


class _Join:
    """Where several values of a key meet: the parameter they may become, and the blocks it is then handed on to."""

    __slots__ = ("block", "chain", "param", "values")

    def __init__(self, block: Draft, param: Var, chain: list[Draft]):
        self.block = block
        self.param = param
        self.chain = chain
        self.values: list[Operand] = []


class Builder:
    """Builds one function; `block` is where statements go."""

    def __init__(self, fresh: Fresh, unwritten: Operand):
        self.fresh = fresh
        self.unwritten = unwritten
        self.blocks: list[Draft] = []
        self._time = 0  # counts the blocks that have ended
        self._written: dict[Hashable, int] = {}  # the blocks each key was written in, a bit for each
        self._unwritten: dict[Hashable, int] = {}  # until when nothing was written to it, and every loop closed
        self._loops: list[Draft] = []  # blocks with more edges to come that others came after
        self._placed: list[Draft] = []  # blocks of which it is known where they stand
        self.entry = self.new_block()
        self.entry.sealed = True
        self.entry.depth = 0
        self.block = self.entry
        self._open: set[Operand] = set()  # parameters whose values are being looked for
        self._met: set[Operand] = set()  # those of them that something refers to
        self.pos: Pos = NO_POS

    # -- blocks and statements --

    def new_block(self, params: list[Var] | None = None) -> Draft:
        block = Draft(self.fresh.block(), len(self.blocks), params if params is not None else [])
        self.blocks.append(block)
        return block

    def call(
        self,
        fn: object,
        *args: Operand,
        kwargs: tuple[tuple[str, Operand], ...] = (),
        pos: Pos | None = None,
        name: str | None = None,
    ) -> Var:
        """Append `fn(*args)`; fn is an operand or any Python object, taken as a constant."""
        out = self.fresh.var(name)
        fn_op = fn if isinstance(fn, (Var, Const)) else Const(fn)
        self.block.stmts.append(Call(out, fn_op, args, kwargs, self.pos if pos is None else pos))
        return out

    def append(self, stmt: Call) -> None:
        self.block.stmts.append(stmt)

    # -- terminators of the current block --

    def edge(self, target: Draft, args: tuple[Operand, ...] | list[Operand] = ()) -> DraftEdge:
        e = DraftEdge(target, list(args))
        block = self.block
        target.preds.append((block, e))
        if not block.ended:
            self._time += 1
            block.ended = self._time
            if not block.sealed:
                self._open_loops().append(block)
                self._place(block)
        return e

    def goto(self, target: Draft, *args: Operand) -> None:
        self.block.term = Goto(self.edge(target, args), self.pos)  # type: ignore[arg-type]

    def branch(self, cond: Operand, then: DraftEdge, orelse: DraftEdge) -> None:
        self.block.term = Branch(cond, then, orelse, self.pos)  # type: ignore[arg-type]

    def for_next(self, iterator: Operand, body: DraftEdge, done: DraftEdge) -> None:
        body.first = 1
        self.block.term = ForNext(iterator, body, done, self.pos)  # type: ignore[arg-type]

    def try_(self, body: DraftEdge, handler: DraftEdge) -> None:
        """Go to `body`; its block, and those that become part of it, get the handler by `Draft.handler`."""
        handler.first = 1
        self.block.term = Try(body, handler, self.pos)  # type: ignore[arg-type]

    def switch(self, value: Operand, cases: list[DraftEdge]) -> None:
        """Jump to `cases[value]`."""
        if len(cases) == 2:
            self.branch(value, cases[1], cases[0])
        else:
            numbered = tuple(enumerate(cases[:-1]))
            self.block.term = Switch(value, numbered, cases[-1], self.pos)  # type: ignore[arg-type]

    def ret(self, value: Operand) -> None:
        self.block.term = Return(value, self.pos)

    # -- variables --

    def write(self, key: Hashable, value: Operand) -> None:
        self._put(self.block, key, value)

    def write_at(self, block: Draft, key: Hashable, value: Operand) -> None:
        """As if it had been written while the block was built; nobody has read the key yet."""
        self._put(block, key, value)

    def _put(self, block: Draft, key: Hashable, value: Operand) -> None:
        self._written[key] = self._written.get(key, 0) | 1 << block.number
        block.defs[key] = value

    def read(self, key: Hashable) -> Operand:
        return self._read(self.block, key)

    def default(self, key: Hashable) -> Operand:
        """What a key is that nothing was written to."""
        return self.unwritten

    def begins_at(self, block: Draft, key: Hashable) -> bool:
        """Is it known that nothing written to the key reaches a block where several meet, or may yet?"""
        return False

    def _read(self, block: Draft, key: Hashable) -> Operand:
        """The value that reaches the end of the block; without recursion: long functions have joins behind joins."""
        if (here := block.defs.get(key)) is not None:
            return here
        if key not in self._written and block.sealed and not self._open_loops():
            self._unwritten[key] = self._time
            return block.defs.setdefault(key, self.default(key))
        joins: list[_Join] = []  # begun, the outermost first
        while True:
            block, value, chain = self._nearest(block, key)
            if value is None:
                join = _Join(block, self.fresh.var(), chain)
                block.defs[key] = join.param
                self._open.add(join.param)
                joins.append(join)
                block = block.preds[0][0]
                continue
            while True:
                if value in self._open:
                    self._met.add(value)
                for b in chain:
                    b.defs[key] = value
                if not joins:
                    return value
                join = joins[-1]
                join.values.append(value)
                preds = join.block.preds
                if len(join.values) < len(preds):
                    block = preds[len(join.values)][0]
                    break
                joins.pop()
                value, chain = self._joined(join, key), join.chain

    def _nearest(self, block: Draft, key: Hashable) -> tuple[Draft, Operand | None, list[Draft]]:
        """The nearest block above that knows the value, or (no value) where several must be joined to know it.

        Last, the blocks on the way, which the value passes through.
        """
        chain = []
        written = self._written.get(key, 0)
        unwritten = self._unwritten.get(key, 0)
        while (value := block.defs.get(key)) is None:
            preds = block.preds
            before = 0 < block.ended <= unwritten
            if block.sealed and len(preds) == 1 and not before:
                chain.append(block)
                block = preds[0][0]
                continue
            if before or (block.sealed and not preds) or self.begins_at(block, key):
                value = block.defs[key] = self.default(key)
                break
            if not block.sealed:
                value = self._param(block, key)
                block.incomplete.append((key, value))
                break
            if block.depth < 0:
                self._place(block)
            above = block.idom
            if above is None or not self._closed(above, block):
                break
            if (reaching := written & block.ancestors) and reaching & ~(above.before | 1 << above.number):
                break
            chain.append(block)
            block = above
        return block, value, chain

    def _closed(self, above: Draft, block: Draft) -> bool:
        """Is every way from the dominator `above` to the block there?

        Not where a loop begun in between is still to be closed: what that brings is not known. The entry may stand for
        a dominator that is not known, of blocks that were built before the loop that is around them.
        """
        for loop in reversed(self._open_loops()):
            if loop.ended <= above.ended:
                return True
            if not loop.sealed and (above is self.entry or not block.ended or loop.ended <= block.ended):
                return False
        return True

    def _open_loops(self) -> list[Draft]:
        """The loops that were begun and are still to be closed, the innermost last; others may stand before it."""
        loops = self._loops
        while loops and loops[-1].sealed:
            loops.pop()
        return loops

    def dominator(self, blocks: Sequence[Draft]) -> Draft:
        """A block on every way to each of these."""
        for b in blocks:
            self._place(b)
        return common_dominator(blocks)

    def _place(self, block: Draft) -> None:
        """Find where a block stands; the `idom` of one with more edges to come must be told, or is the entry."""
        work = [block]
        while work:
            b = work[-1]
            if b.depth >= 0:
                work.pop()
                continue
            before = [p for p, _ in b.preds if p is not b]
            sources = before if b.sealed and before else [b.idom or self.entry]
            missing = [p for p in (*sources, *before) if p.depth < 0]
            if missing and b.depth == -1:
                b.depth = -2  # being placed: a source that waits for it closes a loop
                work += missing
                continue
            b.idom = self.entry if missing else common_dominator(sources)
            b.depth = b.idom.depth + 1
            b.before, b.ancestors = 0, -1 if missing else 0
            for p in before:
                b.before |= p.before | 1 << p.number
                b.ancestors |= p.ancestors | 1 << p.number
            self._placed.append(b)

    def _bring_back(self, header: Draft) -> None:
        """Take what a loop brings back to its header for what may have come before all that the header leads to."""
        back = 0
        for p, _ in header.preds:
            self._place(p)
            back |= p.ancestors | 1 << p.number
        bit = 1 << header.number
        for b in self._placed:
            if b is header or b.ancestors & bit:
                b.ancestors |= back

    def _joined(self, join: _Join, key: Hashable) -> Operand:
        """The value where several meet: a parameter, unless all bring the same and nothing led back to here."""
        block, param, values = join.block, join.param, join.values
        self._open.discard(param)
        if param not in self._met:
            first = values[0]
            for v in values:
                if v is not first and not same_operand(v, first):
                    break
            else:
                block.defs[key] = first
                return first
        self._add_param(block, key, param)
        for (_, e), v in zip(block.preds, values, strict=True):
            e.args.append(v)
        return param

    def _param(self, block: Draft, key: Hashable) -> Var:
        param = block.defs[key] = self.fresh.var()
        self._add_param(block, key, param)
        return param

    def _add_param(self, block: Draft, key: Hashable, param: Var) -> None:
        block.params.append(param)
        block.key_params.add(param)

    def seal(self, block: Draft) -> None:
        """Every edge into `block` exists now."""
        block.sealed = True
        self._bring_back(block)
        for key, _ in block.incomplete:
            for pred, e in block.preds:
                e.args.append(self._read(pred, key))
        block.incomplete.clear()

    # -- the end --

    def simplify_params(
        self,
        sums: Sequence[Call] = (),
        is_operand: Callable[[Call, Operand], Operand | None] = lambda s, first: None,
    ) -> dict[Var, Operand]:
        """Key parameters that have only one value, with that value, and those of `sums` that are one of their operands:
        `is_operand` says which, told what the first one is.

        Optimistic: a parameter is taken to have the value that the first of its arguments brings until another
        brings a different one, so parameters that only feed each other go together.
        """
        value: dict[Operand, Operand | None] = {p: None for b in self.blocks for p in b.key_params}
        if not value and not sums:
            return {}
        value.update((s.out, None) for s in sums)
        sources = [
            (p, [e.args[k - e.first] for _, e in b.preds])
            for b in self.reachable()  # in the order in which values flow
            if b.key_params
            for k, p in enumerate(b.params)
            if p in value
        ]
        get: Any = value.get
        changed = True
        while changed:
            changed = False
            for p, args in sources:
                old = value[p]
                if old is p:
                    continue
                new = None
                for arg in args:
                    v = get(arg, arg)
                    if v is None or v is new:
                        continue
                    if new is None:
                        new = v
                    elif not same_operand(v, new):
                        new = p
                        break
                if new is not None and new is not old:
                    value[p] = new
                    changed = changed or old is None or new is p or not same_operand(new, old)
            for s in sums:
                p, old = s.out, value[s.out]
                first = get(s.args[0], s.args[0])
                if old is p or first is None:
                    continue
                operand = is_operand(s, first)
                new = p if operand is None else get(operand, operand)
                if new is not None and new is not old:
                    value[p] = new
                    changed = True
        return {p: v for p, v in value.items() if v is not None and v is not p}  # type: ignore[misc]

    def apply(self, subst: dict[Var, Operand]) -> None:
        """Replace values everywhere; parameters that are replaced disappear with their arguments."""
        if not subst:
            return

        get: Any = subst.get
        apart: Any = subst.keys().isdisjoint
        for block in self.blocks:
            if not apart(block.params):
                for k in range(len(block.params) - 1, -1, -1):
                    if block.params[k] in subst:
                        block.key_params.discard(block.params[k])
                        del block.params[k]
                        for _, e in block.preds:
                            del e.args[k - e.first]
            _replace(block.head, subst)
            _replace(block.stmts, subst)
            t = block.term
            if type(t) is Goto:  # as most are
                args = t.edge.args
                if args:
                    args[:] = [get(v, v) for v in args]  # type: ignore[index]
                continue
            if t is None:
                continue
            if not apart(own_operands(t)):
                match t:
                    case Branch(cond=c, then=a, orelse=b):
                        block.term = Branch(get(c, c), a, b, t.pos)
                    case ForNext(iterator=c, body=a, done=b):
                        block.term = ForNext(get(c, c), a, b, t.pos)
                    case Switch(value=c, cases=cs, default=d):
                        block.term = Switch(get(c, c), cs, d, t.pos)
                    case Return(value=c):
                        block.term = Return(get(c, c), t.pos)
                    case Raise(exc=x, cause=y, reraise=r):
                        block.term = Raise(get(x, x), get(y, y), r, t.pos)
            for edge in draft_edges(t):
                if edge.args:
                    edge.args[:] = [get(v, v) for v in edge.args]

    def reachable(self) -> Iterator[Draft]:
        """Blocks in reverse postorder from the entry."""
        seen: set[Draft] = set()
        order: list[Draft] = []
        work: list[Draft | None] = [self.entry]
        while work:
            block = work.pop()
            if block is None:  # all that the block under it leads to is there
                order.append(work.pop())  # type: ignore[arg-type]
            elif block not in seen:
                seen.add(block)
                work += (block, None, *_last_first(block))
        return reversed(order)

    def finish(self, name: str, filename: str, params: list[Var], firstline: int) -> Function:
        """The function; the builder is of no use after it."""
        blocks = tuple(
            [
                CFGBlock(
                    b.id,
                    tuple(b.params),
                    (*b.head, *b.stmts),
                    _final(b.term),
                    None if b.handler is None else _final_edge(b.handler),
                )
                for b in self.reachable()
            ]
        )
        for b in self.blocks:  # blocks refer to each other: what is let go here need not be found by the collector
            b.preds, b.idom, b.term, b.handler = [], None, None, None
        return Function(name, filename, tuple(params), (), blocks, "function", firstline)


def common_dominator(blocks: Sequence[Draft]) -> Draft:
    """The nearest block above them all whose place is known, as theirs are."""
    first, *rest = blocks
    for other in rest:
        while first is not other:
            if first.depth > other.depth:
                assert first.idom is not None
                first = first.idom
            else:
                assert other.idom is not None
                other = other.idom
    return first


def same_operand(a: Operand, b: Operand) -> bool:
    return a is b or (type(a) is Const and type(b) is Const and a.value is b.value)


def _replace(stmts: list[Call], subst: dict[Var, Operand]) -> None:
    get: Any = subst.get
    apart: Any = subst.keys().isdisjoint
    for i, s in enumerate(stmts):
        if not apart(s.args) or not apart(s.operands() if s.kwargs else (s.fn,)):
            kwargs = tuple([(k, get(v, v)) for k, v in s.kwargs]) if s.kwargs else ()
            stmts[i] = Call(s.out, get(s.fn, s.fn), tuple([get(a, a) for a in s.args]), kwargs, s.pos)


def _last_first(block: Draft) -> list[Draft]:
    """Where a block may lead."""
    term: Any = block.term
    kind = type(term)
    if kind is Goto:
        return [term.edge.target]
    if kind is Branch:
        return [term.orelse.target, term.then.target]
    assert term is not None, f"bb{block.id} has no terminator"
    return [e.target for e in draft_edges(term)[::-1]]


def _final_edge(e: Any) -> Edge:
    assert type(e) is DraftEdge
    return Edge(e.target.id, tuple(e.args))


def _final(t: Terminator | None) -> Terminator:
    edge = _final_edge
    kind = type(t)
    if kind is Goto:
        return Goto(edge(t.edge), t.pos)  # type: ignore[union-attr]
    if kind is Branch:
        return Branch(t.cond, edge(t.then), edge(t.orelse), t.pos)  # type: ignore[union-attr]
    if kind is ForNext:
        return ForNext(t.iterator, edge(t.body), edge(t.done), t.pos)  # type: ignore[union-attr]
    if kind is Try:
        return Goto(edge(t.body), t.pos)  # type: ignore[union-attr]
    if kind is Switch:
        return Switch(t.value, tuple([(i, edge(e)) for i, e in t.cases]), edge(t.default), t.pos)  # type: ignore[union-attr]
    assert t is not None
    return t
