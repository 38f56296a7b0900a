"""One body with branches or loops, evaluated into a builder by the specialiser.

A loop over values that are known one by one (the arguments of a rule, a range with constant ends) is evaluated once for
each of them and leaves no loop behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mooncake_py.infer.types import BOT, T, Top, join
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.graph import loops, rpo
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Function,
    Goto,
    Operand,
    Raise,
    Return,
    Terminator,
    Var,
    edges,
)
from mooncake_py.transform.values import AV, NotSpecialised, Slot, VAt, VCoDual, VIter, VTuple, value_in

if TYPE_CHECKING:
    from mooncake_py.transform.specialise import Specialiser


class Region:
    """The evaluation of one body: `env` has what its variables are."""

    def __init__(self, sp: Specialiser, fn: Function, env: dict[Var, AV], globals_: dict[str, Any]):
        self.sp, self.b, self.fn, self.env, self.globals = sp, sp.b, fn, env, globals_
        self.blocks = {x.id: x for x in fn.blocks}
        order = rpo(fn.blocks)
        position = {x: i for i, x in enumerate(order)}
        self.order = order
        self.headers = {
            e.target for x in order for e in edges(self.blocks[x].term) if position[e.target] <= position[x]
        }
        self.pending: dict[BlockId, list[tuple[Draft, list[AV]]]] = {}  # the edges that have led to a block so far
        self.loops: dict[BlockId, Draft] = {}  # the headers of loops that stay
        self.returns: list[tuple[Draft, AV]] = []
        self.natural: dict[BlockId, set[BlockId]] | None = None  # the loops of the body, once somebody asks

    def run(self) -> AV:
        """Evaluate the body; what it returns."""
        self.pending[self.fn.entry.id] = [(self.b.block, [])]
        self._run(self.order)
        return self._merge_returns()

    def _run(self, order: list[BlockId]) -> None:
        """Evaluate what edges have led to of these blocks, which are in reverse post-order."""
        opened: list[BlockId] = []
        for x in order:
            incoming = self.pending.pop(x, None)
            if not incoming:
                continue
            block = self.blocks[x]
            if block.handler is not None:
                raise NotSpecialised("try in a rule")
            if x in self.headers:
                items = self._known_items(block)
                if items is not None:
                    self._unroll(block, items, incoming)
                    continue
                self.loops[x] = self._join(block, incoming)
                self.loops[x].sealed = False
                opened.append(x)
            else:
                self._enter(block, incoming)
            self._statements(block)
            self._terminator(block.term)
        for x in opened:
            self.b.seal(self.loops.pop(x))

    def _enter(self, block: CFGBlock, incoming: list[tuple[Draft, list[AV]]]) -> None:
        """Go on in a block that all of these edges lead to."""
        if len(incoming) == 1:
            self.b.block, args = incoming[0]
            self.env.update(zip(block.params, args, strict=True))
        else:
            self._join(block, incoming)

    def _join(self, block: CFGBlock, incoming: list[tuple[Draft, list[AV]]]) -> Draft:
        b = self.b
        draft = b.new_block([b.fresh.var() for _ in block.params])
        for source, args in incoming:
            b.block = source
            b.goto(draft, *[self.sp.materialise(a) for a in args])
        for p, v in zip(block.params, draft.params, strict=True):
            self.env[p] = v
            self.sp.types[v] = Top()
        draft.sealed = True
        b.block = draft
        return draft

    def _statements(self, block: CFGBlock) -> None:
        for s in block.stmts:
            self.env[s.out] = self.sp.statement(s, self.env, self.globals)

    # -- loops over what is known one by one --

    def _known_items(self, header: CFGBlock) -> tuple[AV, ...] | None:
        """What the loop of this header goes over, where that is known and only the header leaves the loop."""
        term = header.term
        if not isinstance(term, ForNext) or not isinstance(term.iterator, Var):
            return None
        iterator = self.env.get(term.iterator)
        if not isinstance(iterator, VIter) or iterator.asked:
            return None
        body = self._loop(header.id)
        if any(e.target not in body for x in body if x != header.id for e in edges(self.blocks[x].term)):
            return None
        iterator.asked = True
        return iterator.items

    def _loop(self, header: BlockId) -> set[BlockId]:
        if self.natural is None:
            self.natural = loops(self.fn)
        return self.natural[header]

    def _unroll(self, header: CFGBlock, items: tuple[AV, ...], incoming: list[tuple[Draft, list[AV]]]) -> None:
        loop = self._loop(header.id)
        body = [x for x in self.order if x in loop and x != header.id]
        term = header.term
        assert isinstance(term, ForNext)
        for item in items:
            self._enter(header, incoming)
            self._statements(header)
            self._flow(term.body, self.b.block, [item])
            self._run(body)
            incoming = self.pending.pop(header.id, [])
            if not incoming:  # each way through the body raises
                return
        self._enter(header, incoming)
        self._statements(header)
        self._flow(term.done, self.b.block, [])

    # -- where blocks lead to --

    def _flow(self, edge: Edge, source: Draft, extra: list[AV]) -> None:
        args = extra + [value_in(self.env, a) for a in edge.args]
        if edge.target in self.loops:
            self.b.block = source
            self.b.goto(self.loops[edge.target], *[self.sp.materialise(a) for a in args])
        else:
            self.pending.setdefault(edge.target, []).append((source, args))

    def _terminator(self, term: Terminator) -> None:
        b, sp, env = self.b, self.sp, self.env
        match term:
            case Goto(edge=e):
                self._flow(e, b.block, [])
            case Return(value=v):
                self.returns.append((b.block, value_in(env, v)))
            case Branch(cond=c, then=then, orelse=orelse):
                cond = value_in(env, c)
                if isinstance(cond, Const):
                    sp.looked = sp.looked or type(cond) is Slot
                    self._flow(then if cond.value else orelse, b.block, [])
                    return
                yes, no = b.new_block(), b.new_block()
                b.branch(sp.materialise(cond), b.edge(yes), b.edge(no))
                yes.sealed = no.sealed = True
                self._flow(then, yes, [])
                self._flow(orelse, no, [])
            case ForNext(iterator=it, body=body, done=done):
                item = b.fresh.var()
                sp.types[item] = Top()
                yes, no = b.new_block([item]), b.new_block()
                b.for_next(sp.materialise(value_in(env, it)), b.edge(yes), b.edge(no))
                yes.sealed = no.sealed = True
                self._flow(body, yes, [item])
                self._flow(done, no, [])
            case Raise(exc=exc, cause=cause):
                b.block.term = Raise(
                    None if exc is None else sp.materialise(value_in(env, exc)),
                    None if cause is None else sp.materialise(value_in(env, cause)),
                    pos=b.pos,
                )
            case _:
                raise NotSpecialised(type(term).__name__)

    # -- what is returned --

    def _merge_returns(self) -> AV:
        b, sp, returns = self.b, self.sp, self.returns
        if not returns:
            raise NotSpecialised("it never returns")
        if len(returns) == 1:
            b.block, value = returns[0]
            return value
        exit_ = b.new_block()
        outgoing: list[list[Operand]] = [[] for _ in returns]

        def param(values: list[AV]) -> Var:
            made = b.fresh.var()
            exit_.params.append(made)
            t: T = BOT
            if any((isinstance(v, Const) and v.value is None) or v in sp.maybe_none for v in values):
                sp.maybe_none.add(made)
            for k, ((source, _), v) in enumerate(zip(returns, values, strict=True)):
                b.block = source
                outgoing[k].append(sp.materialise(v))
                t = join(t, sp.type_of(v))
            sp.types[made] = t
            return made

        value = self._merged([v for _, v in returns], param)
        for (source, _), args in zip(returns, outgoing, strict=True):
            b.block = source
            b.goto(exit_, *args)
        exit_.sealed = True
        b.block = exit_
        return value

    def _merged(self, values: list[AV], param: Callable[[list[AV]], Var]) -> AV:
        """One value for those that meet; `param` makes a parameter for what differs."""
        first = values[0]
        if all(v is first for v in values):
            return first
        self.sp.looked = self.sp.looked or any(type(v) is Slot for v in values)
        if isinstance(first, Const) and all(isinstance(v, Const) and v.value is first.value for v in values):
            return first

        def merged(part: Callable[[Any], AV]) -> AV:
            return self._merged([part(v) for v in values], param)

        n = len(first.items) if isinstance(first, VTuple) else -1
        if isinstance(first, VTuple) and all(isinstance(v, VTuple) and len(v.items) == n for v in values):
            return VTuple(tuple([merged(lambda v, i=i: v.items[i]) for i in range(n)]))  # type: ignore[misc]
        if isinstance(first, VAt) and all(isinstance(v, VAt) for v in values):
            once = all(v.once for v in values)  # type: ignore[union-attr]
            return VAt(merged(lambda v: v.index), merged(lambda v: v.value), once)
        if isinstance(first, VCoDual) and all(isinstance(v, VCoDual) for v in values):
            return VCoDual(merged(lambda v: v.primal), merged(lambda v: v.fdata))
        return param(values)
