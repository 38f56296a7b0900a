"""Loops over iterators that nothing simpler was found for."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Set
from dataclasses import replace

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.protocol import going_on
from mooncake_py.infer.types import Obj, T
from mooncake_py.ir.graph import loops
from mooncake_py.ir.mapping import fresh_beside, map_terminator
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
    Try,
    Var,
    all_edges,
)
from mooncake_py.iterators import advance, asked
from mooncake_py.kept_iterators import Generator, items_of_generator


def ask_objects(fn: Function, types: Mapping[Var, T], reached: Set[BlockId]) -> Function | None:
    """Loops over iterators of the user's own, which a generator expression was given, as loops that ask them for items.

    None where there is none.
    """
    protected = {b.term.body.target: b for b in fn.blocks if isinstance(b.term, Try)}
    for header in fn.blocks:
        v = header.term.iterator if isinstance(header.term, ForNext) else None
        if header.id not in reached or not isinstance(v, Var) or not isinstance(types.get(v), Obj):
            continue
        first = protected.get(header.id, header)
        made = {*header.params, *first.params, *(s.out for b in (header, first) for s in b.stmts)}
        if first is fn.entry or v in made:
            return _asked_there(fn, header, v, types[v])
        return _asked_before(fn, first, header, v, types[v])
    return None


def _asks(fn: Function, header: CFGBlock, v: Var, t: T) -> Call:
    """What asks an object of this type for items."""
    out, pos = fresh_beside(fn).var(), header.term.pos
    assert isinstance(t, Obj)
    if issubclass(t.cls, Generator):
        return Call(out, Const(items_of_generator), (*going_on(t.cls), v), (), pos)
    return Call(out, Const(asked), (v,), (), pos)


def _asked_there(fn: Function, header: CFGBlock, v: Var, t: T) -> Function:
    """The function with what asks v for items made for each item, where v may be another one."""
    assert isinstance(header.term, ForNext)
    asks = _asks(fn, header, v, t)
    asking = replace(header, stmts=(*header.stmts, asks), term=replace(header.term, iterator=asks.out))
    return replace(fn, blocks=tuple([asking if b is header else b for b in fn.blocks]))


def _asked_before(fn: Function, first: CFGBlock, header: CFGBlock, v: Var, t: T) -> Function:
    """The function with what asks v for items made each time the loop is entered, at its first block: that of the `try`
    which the header is the body of, if it is one."""
    inside = loops(fn).get(first.id, {first.id, header.id})
    fresh = fresh_beside(fn)
    asks = replace(_asks(fn, header, v, t), out=fresh.var())
    pos = header.term.pos
    params = tuple([fresh.var(p.name) for p in first.params])
    before = CFGBlock(fresh.block(), params, (asks,), Goto(Edge(first.id, params), pos))

    def led(b: CFGBlock) -> CFGBlock:
        if b is header:
            assert isinstance(b.term, ForNext)
            return replace(b, term=replace(b.term, iterator=asks.out))
        if b.id in inside:
            return b
        to = {e: replace(e, target=before.id) for e in all_edges(b) if e.target == first.id}
        return replace(b, term=map_terminator(b.term, lambda x: x, lambda e: to.get(e, e))) if to else b

    return replace(fn, blocks=(*map(led, fn.blocks), before))


def advance_iterators(inferred: Inferred) -> Function | None:
    """Loops over iterators of active values that nothing simpler was found for, as calls that are decided when they
    run; None where there is none."""
    fn = inferred.fn
    fresh = fresh_beside(fn)
    blocks: list[CFGBlock] = []
    for b in fn.blocks:
        term = b.term
        t = inferred.types.get(term.iterator) if isinstance(term, ForNext) else None  # type: ignore[arg-type]
        if t is None or not t.active or b.id not in inferred.reached:
            blocks.append(b)
            continue
        assert isinstance(term, ForNext)
        pair, done, item, read = fresh.var(), fresh.var(), fresh.var(), fresh.block()
        calls = (
            Call(pair, Const(advance), (term.iterator,), (), term.pos),
            Call(done, Const(operator.getitem), (pair, Const(0)), (), term.pos),
        )
        branch = Branch(done, term.done, Edge(read), term.pos)
        blocks.append(CFGBlock(b.id, b.params, (*b.stmts, *calls), branch, b.handler))
        reads = Call(item, Const(operator.getitem), (pair, Const(1)), (), term.pos)
        to = Goto(Edge(term.body.target, (item, *term.body.args)), term.pos)
        blocks.append(CFGBlock(read, (), (reads,), to))
    if len(blocks) == len(fn.blocks):
        return None
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)
