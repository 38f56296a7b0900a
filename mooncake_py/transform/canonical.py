"""The primal CFG in the shape that reversing needs.

Branches that the types decide are taken; there is one return; every loop has one block before it (preheader),
one that closes it (latch), and every way out of it has a block of its own (landing). Blocks from which no
return can be reached run forwards only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Known, T
from mooncake_py.ir.graph import dominators, innermost_loop, loops, rpo, spans
from mooncake_py.ir.mapping import map_terminator
from mooncake_py.ir.nodes import (
    BlockId,
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
    Return,
    Switch,
    Terminator,
    Try,
    Var,
    all_edges,
    edges,
)
from mooncake_py.transform.protect import settle


@dataclass(slots=True)
class Loop:
    """A loop in canonical form; `landings` are the blocks that its exits lead to (those that return)."""

    header: BlockId
    body: set[BlockId]
    preheader: BlockId
    latch: BlockId
    landings: list[tuple[BlockId, BlockId]]  # (source in the loop, landing)
    parent: BlockId | None = None


@dataclass(slots=True)
class Canonical:
    """The canonical function with its graph; `exit` is the returning block, None where there is none.

    `unwinding` are the calls that say what they had done when they raised.
    """

    fn: Function
    blocks: dict[BlockId, CFGBlock]
    order: list[BlockId]
    idom: dict[BlockId, BlockId | None]
    loops: dict[BlockId, Loop]
    loop_of: dict[BlockId, BlockId | None]
    exit: BlockId | None
    unwinding: set[Var]
    preds: dict[BlockId, list[tuple[BlockId, Edge]]] = field(default_factory=dict)
    returning: set[BlockId] = field(default_factory=set)
    spans: dict[BlockId, range] = field(init=False)

    def __post_init__(self) -> None:
        self.spans = spans(self.idom)

    def dominates(self, a: BlockId, b: BlockId) -> bool:
        """Is `a` on every path to `b`? (A block dominates itself.)"""
        return self.spans[b].start in self.spans[a]

    def enclosing(self, header: BlockId | None) -> list[BlockId]:
        """The loop and those around it, innermost first."""
        out = []
        while header is not None:
            out.append(header)
            header = self.loops[header].parent
        return out


def canonicalise(inferred: Inferred, fresh: Fresh) -> Canonical:
    types = inferred.types
    blocks = pruned(inferred)
    _merge_chains(inferred, blocks)
    unwinding = settle(blocks, inferred, fresh)
    exit_ = _single_return(blocks, types, inferred.result, fresh)
    fn = _function(inferred.fn, blocks)
    idom = dominators(fn)
    found = loops(fn, idom)
    if found:
        preds: dict[BlockId, dict[BlockId, None]] = {i: {} for i in blocks}
        for b in blocks.values():
            for e in edges(b.term):
                preds[e.target][b.id] = None
        for header, body in reversed(list(found.items())):
            _shape_loop(header, body, blocks, types, fresh, found, preds)
        fn = _function(inferred.fn, blocks)
        idom = dominators(fn)
        found = loops(fn, idom)
    blocks = {b.id: b for b in fn.blocks}
    loop_of = innermost_loop(fn, found)
    c = Canonical(fn, blocks, [b.id for b in fn.blocks], idom, {}, loop_of, exit_, unwinding)
    c.preds = {b: [] for b in blocks}
    for b in fn.blocks:
        for e in edges(b.term):
            c.preds[e.target].append((b.id, e))
    if exit_ is not None:
        work = [exit_]
        while work:
            b_id = work.pop()
            if b_id not in c.returning:
                c.returning.add(b_id)
                work.extend(p for p, _ in c.preds[b_id])
    for header, body in found.items():
        inside = [p for p, _ in c.preds[header] if p in body]
        outside = [p for p, _ in c.preds[header] if p not in body]
        landings = [
            (b_id, e.target)
            for b_id in c.order
            if b_id in body
            for e in edges(blocks[b_id].term)
            if e.target not in body and e.target in c.returning
        ]
        parents = [h for h, other in found.items() if header in other and h != header]
        parent = min(parents, key=lambda h: len(found[h])) if parents else None
        assert len(inside) == 1 and len(outside) == 1
        c.loops[header] = Loop(header, body, outside[0], inside[0], landings, parent)
    return c


def _function(like: Function, blocks: dict[BlockId, CFGBlock]) -> Function:
    ordered = tuple(blocks.values())
    ordered = tuple(blocks[b] for b in rpo(ordered))
    return Function(like.name, like.filename, like.params, like.free, ordered, like.kind, like.firstline)


def pruned(inferred: Inferred) -> dict[BlockId, CFGBlock]:
    """The blocks that run, without the branches that the types decide."""
    out = {}
    for b in inferred.fn.blocks:
        if b.id not in inferred.reached:
            continue
        term = b.term
        if isinstance(term, Branch):
            cond = term.cond
            t = Known(cond.value) if isinstance(cond, Const) else inferred.types.get(cond)
            if isinstance(t, Known):
                b = CFGBlock(b.id, b.params, b.stmts, Goto(term.then if t.value else term.orelse, term.pos), b.handler)
        out[b.id] = b
    return out


def _merge_chains(inferred: Inferred, blocks: dict[BlockId, CFGBlock]) -> None:
    """Blocks that only follow one another become one: what was taken in leaves many, and each has a reverse."""
    incoming: dict[BlockId, int] = dict.fromkeys(blocks, 0)
    for b in blocks.values():
        for e in all_edges(b):
            incoming[e.target] = incoming.get(e.target, 0) + 1
    subst: dict[Var, Operand] = {}
    for i in list(blocks):
        if i not in blocks or blocks[i].handler is not None:
            continue
        while isinstance(term := blocks[i].term, Goto):
            b, c = blocks[i], blocks[term.edge.target]
            if incoming[c.id] != 1 or c.id == i or c.handler is not None:
                break
            for p, a in zip(c.params, term.edge.args, strict=True):
                subst[p] = a
                if isinstance(a, Var) and a.name is None:
                    a.name = p.name
            blocks[i] = CFGBlock(i, b.params, (*b.stmts, *c.stmts), c.term)
            del blocks[c.id]
    if not subst:
        return

    def find(v: Operand) -> Operand:
        while isinstance(v, Var) and v in subst:
            v = subst[v]
        return v

    def edge(e: Edge) -> Edge:
        return Edge(e.target, tuple(map(find, e.args)))

    for i, b in blocks.items():
        stmts = []
        for s in b.stmts:
            call = inferred.calls.get(s.out)
            if call is not None and any(v in subst for v in (*call.args, *(v for _, v in call.kwargs))):
                kwargs = tuple((k, find(v)) for k, v in call.kwargs)
                inferred.calls[s.out] = replace(call, args=tuple(map(find, call.args)), kwargs=kwargs)
            if any(v in subst for v in s.operands()):
                s = Call(s.out, find(s.fn), tuple(map(find, s.args)), tuple((k, find(v)) for k, v in s.kwargs), s.pos)
            stmts.append(s)
        handler = None if b.handler is None else edge(b.handler)
        blocks[i] = CFGBlock(i, b.params, tuple(stmts), map_terminator(b.term, find, edge), handler)


def _single_return(blocks: dict[BlockId, CFGBlock], types: dict[Var, T], result: T, fresh: Fresh) -> BlockId | None:
    returns = [b for b in blocks.values() if isinstance(b.term, Return)]
    if not returns:
        return None
    if len(returns) == 1:
        return returns[0].id
    target, value = fresh.block(), fresh.var()
    types[value] = result
    for b in returns:
        assert isinstance(b.term, Return)
        blocks[b.id] = _with_term(b, Goto(Edge(target, (b.term.value,)), b.term.pos))
    blocks[target] = CFGBlock(target, (value,), (), Return(value, returns[0].term.pos))
    return target


def _shape_loop(
    header: BlockId,
    body: set[BlockId],
    blocks: dict[BlockId, CFGBlock],
    types: dict[Var, T],
    fresh: Fresh,
    found: dict[BlockId, set[BlockId]],
    preds: dict[BlockId, dict[BlockId, None]],
) -> None:
    """Give one loop its preheader, latch and landings; inner loops come first."""
    around = [b for h, b in found.items() if header in b and h != header]

    def split(sources: list[BlockId], target: BlockId, skip: bool, members: list[set[BlockId]]) -> None:
        """One new block through which all edges from the sources to the target go."""
        if skip:
            return
        new = fresh.block()
        params = tuple(_copy(p, types, fresh) for p in blocks[target].params)
        for s in sources:
            blocks[s] = _with_term(blocks[s], _retarget(blocks[s].term, target, new))
            del preds[target][s]
        blocks[new] = CFGBlock(new, params, (), Goto(Edge(target, params), blocks[sources[0]].term.pos))
        preds[new] = dict.fromkeys(sources)
        preds[target][new] = None
        for m in members:
            m.add(new)

    def only_goes_there(sources: list[BlockId]) -> bool:
        return len(sources) == 1 and isinstance(blocks[sources[0]].term, Goto)

    inside = [p for p in preds[header] if p in body]
    outside = [p for p in preds[header] if p not in body]
    split(outside, header, only_goes_there(outside), around)
    split(inside, header, only_goes_there(inside) and inside[0] != header, [*around, body])
    for b in list(body):
        for e in edges(blocks[b].term):
            if e.target in body or (isinstance(blocks[b].term, ForNext | Try) and e is edges(blocks[b].term)[0]):
                continue
            if b not in preds[e.target]:
                continue  # another edge to the same block has taken this one along
            alone = (
                len(preds[e.target]) == 1
                and _innermost(b, found) is body
                and sum(f.target == e.target for f in edges(blocks[b].term)) == 1
            )
            members = [m for m in around if e.target in m]
            split([b], e.target, alone, members)


def _innermost(b: BlockId, found: dict[BlockId, set[BlockId]]) -> set[BlockId]:
    return min((m for m in found.values() if b in m), key=len)


def _copy(p: Var, types: dict[Var, T], fresh: Fresh) -> Var:
    v = fresh.var(p.name)
    if p in types:
        types[v] = types[p]
    return v


def _with_term(b: CFGBlock, term: Terminator) -> CFGBlock:
    return CFGBlock(b.id, b.params, b.stmts, term, b.handler)


def _retarget(term: Terminator, old: BlockId, new: BlockId) -> Terminator:
    def f(e: Edge) -> Edge:
        return Edge(new, e.args) if e.target == old else e

    match term:
        case Goto(edge=e):
            return Goto(f(e), term.pos)
        case Branch(cond=c, then=a, orelse=b):
            return Branch(c, f(a), f(b), term.pos)
        case ForNext(iterator=it, body=a, done=b):
            assert a.target != old, "the body of a ForNext takes an item that an edge block could not pass on"
            return ForNext(it, a, f(b), term.pos)
        case Switch(value=v, cases=cases, default=d):
            return Switch(v, tuple((i, f(e)) for i, e in cases), f(d), term.pos)
        case Try(body=a, handler=b):
            assert a.target != old, "the body of a Try is entered by nothing else"
            return Try(a, f(b), term.pos)
    return term
