"""Generators that call themselves, as functions that return the list of what they yield.

Where a loop, or a function, takes all the items of a generator, and neither changes what the other reads, it may as
well be given them in a list: that comes from a function, which has a rule of its own.
"""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable
from dataclasses import replace
from inspect import CO_GENERATOR
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.allocation import Allocations
from mooncake_py.infer.held import is_library
from mooncake_py.infer.inferred import CallInfo, Drawn, Inferred
from mooncake_py.infer.protocol import Classes
from mooncake_py.infer.readers import changes_known, engines_own
from mooncake_py.infer.results import result_of
from mooncake_py.infer.types import BOT, Bot, Known, Lst
from mooncake_py.ir import ops
from mooncake_py.ir.graph import loops
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import (
    BlockId,
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
    Try,
    Var,
    edges,
    term_operands,
)
from mooncake_py.lowering import lower
from mooncake_py.transform.bound import spelled_function
from mooncake_py.transform.doubts import doubt
from mooncake_py.transform.inline import is_used_up, take_in_expression
from mooncake_py.transform.stops import stops_seen_to
from mooncake_py.transform.suspended import only_yields, simple_generator

MOST_KEPT = 5000
MOST_ASKED = 3  # as soon as it is seen, when nothing is planned any more, and before its code is taken in


def draw(
    inferred: Inferred, globals_: dict, again: Callable[[Function], Inferred], classes: Classes
) -> Function | None:
    """The same for a generator of which inference knows no more than that, None where there is none.

    Functions whose generators cannot come in a list are put apart.
    """
    planned = [c.target for c in inferred.calls.values() if _is_drawn(c)]
    if not planned:
        return None
    if (new := as_lists(inferred, again, planned=True)) is not None:
        return new
    if (new := take_in_expression(inferred, globals_, _handed_on(inferred))) is not None:
        return new
    codes = {drawn.code for drawn in planned}
    classes.apart |= codes
    classes.asked.update(codes)
    classes.postponed |= {c for c in codes if classes.asked[c] < MOST_ASKED}
    return inferred.fn


def draw_again(inferred: Inferred, classes: Classes) -> Function | None:
    """The same function where such generators are to be asked for once more: what takes their items may have been taken
    in by now. None where there is none."""
    if not classes.postponed:
        return None
    classes.apart -= classes.postponed
    classes.postponed = set()
    return inferred.fn


def _is_drawn(call: CallInfo) -> bool:
    """Is it a call whose items are to come in a list by now?"""
    return isinstance(call.target, Drawn) and not call.target.later


def _handed_on(inferred: Inferred) -> set[Var]:
    """Such generators, and the iterators over them."""
    found = {v for v, c in inferred.calls.items() if _is_drawn(c)}
    for b in inferred.fn.blocks:
        for s in b.stmts:
            if _hands_on(inferred, s) and not found.isdisjoint(s.args):
                found.add(s.out)
    return found


def _hands_on(inferred: Inferred, s: Call) -> bool:
    """Is it an iterator over what it is given, item by item?"""
    t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
    return isinstance(t, Known) and any(t.value is f for f in (iter, enumerate, zip))


def as_lists(inferred: Inferred, again: Callable[[Function], Inferred], planned: bool = False) -> Function | None:
    """The function with one such generator as a list; None where there is none.

    `again` infers a function anew: what a loop changes is seen once it is known what it goes over.
    """
    fn = inferred.fn
    if inferred.wary or any(isinstance(b.term, Try) or b.handler is not None for b in fn.blocks):
        return None  # an exception would come at another time
    inside: dict[BlockId, set[BlockId]] | None = None
    for b in fn.blocks:
        for i, s in enumerate(b.stmts):
            info = inferred.calls.get(s.out)
            f = _generator(inferred, s, info)
            if f is None or info is None or b.id not in inferred.reached or (info.kind == "planned") is not planned:
                continue
            inside = loops(fn) if inside is None else inside
            taken = is_used_up(s.out, inferred)
            loop = None if taken else _looped_over(inferred, b, i, inside)
            spelled = spelled_function(f, s, inferred.wary) if taken or loop is not None else None
            g = None if spelled is None else listed(spelled[0])
            if spelled is None or g is None:
                continue
            args = spelled[1]
            types = [Known(v.value) if isinstance(v, Const) else inferred.types.get(v, BOT) for v in args]
            found = result_of(g, types, simplified=True)
            if found is None or found.changes != {} or not isinstance(found.type, (Lst, Bot)):
                continue
            new = _with_list(inferred, b, i, Const(g), args, as_iterator=not taken)
            if loop is None or _leaves_alone(again(new), s, loop):
                return new
    return None


def _generator(inferred: Inferred, s: Call, info: CallInfo | None) -> pytypes.FunctionType | None:
    """The generator function that is called, where that is known."""
    t = inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
    f = t.value if isinstance(t, Known) else None
    seen = info is not None and (info.kind == "dynamic" or _is_drawn(info))
    if not seen or not isinstance(f, pytypes.FunctionType) or not f.__code__.co_flags & CO_GENERATOR:
        return None
    return f if f.__closure__ is None and not is_library(f) else None


def _looped_over(inferred: Inferred, b: CFGBlock, i: int, inside: dict[BlockId, set[BlockId]]) -> list[Call] | None:
    """What runs while one loop, that begins right after it, takes all items of the generator that statement i of b
    makes; None where it is used otherwise."""
    fn = inferred.fn
    it = b.stmts[i].out
    rest = list(b.stmts[i + 1 :])
    for s in b.stmts[i + 1 :]:
        if _hands_on(inferred, s) and s.args.count(it) == 1 and not _is_elsewhere(fn, it, s):
            it = s.out
            rest.remove(s)
    header = next((x for x in fn.blocks if isinstance(x.term, ForNext) and x.term.iterator is it), None)
    if header is None or header.id not in inside or header.stmts or _leads_to(fn, b) != header.id:
        return None
    if _is_elsewhere(fn, it, header.term):
        return None
    body = [x for x in fn.blocks if x.id in inside[header.id]]
    for x in body:
        left = [e for e in edges(x.term) if e.target not in inside[header.id]]
        if isinstance(x.term, (Return, Raise)) or (left and x is not header):
            return None
    return [*rest, *[s for x in body for s in x.stmts]]


def _leads_to(fn: Function, b: CFGBlock) -> BlockId | None:
    """The block that surely comes after b, but for those where nothing happens."""
    by_id = {x.id: x for x in fn.blocks}
    for _ in fn.blocks:
        if not isinstance(b.term, Goto):
            return None
        b = by_id[b.term.edge.target]
        if b.stmts or not isinstance(b.term, Goto):
            return b.id
    return None


def _is_elsewhere(fn: Function, v: Var, use: Any) -> bool:
    """Is the value used by anything but this?"""
    return any(
        (b.term is not use and v in term_operands(b.term)) or any(s is not use and v in s.operands() for s in b.stmts)
        for b in fn.blocks
    )


def _leaves_alone(inferred: Inferred, made: Call, between: list[Call]) -> bool:
    """Is what these statements write to neither given to the generator, nor may be from outside?

    A list that was made here, and is in nothing else, is neither.
    """
    memory = inferred.memory
    origins = Allocations(memory.shape, inferred.types, inferred.calls, memory.identity)
    held = [v for v in made.args if isinstance(v, Var)]
    held += [v for v, call in inferred.calls.items() if call.named is not None]
    read = {memory.find(v) for v in (*held, *inferred.fn.params, *inferred.fn.free) if memory.identity(v)}
    for s in between:
        info = inferred.calls.get(s.out)
        if info is not None:
            shown = [v for v in info.written if isinstance(v, Var) and (o := origins.of(v)) and (o.elsewhere or o.held)]
            written = {memory.find(v) for v in shown}
            if not changes_known(info) or not written.isdisjoint(read):
                return False
    return True


def _with_list(
    inferred: Inferred, b: CFGBlock, i: int, g: Const, args: tuple[Operand, ...], as_iterator: bool
) -> Function:
    """The function with the list, or an iterator over it, where statement i of b made a generator."""
    fn = inferred.fn
    fresh = fresh_beside(fn)
    s = b.stmts[i]
    made = fresh.var() if as_iterator else s.out
    own = (Call(s.out, Const(iter), (made,), (), s.pos),) if as_iterator else ()
    noted = doubt(inferred, s.fn, fresh, s.pos)
    stmts = (*b.stmts[:i], *noted, Call(made, g, args, (), s.pos), *own, *b.stmts[i + 1 :])
    return replace(fn, blocks=tuple([replace(x, stmts=stmts) if x is b else x for x in fn.blocks]))


_listed: dict[pytypes.FunctionType, pytypes.FunctionType | None] = {}


def listed(f: pytypes.FunctionType) -> pytypes.FunctionType | None:
    """The function that returns the list of what the generators of f yield."""
    if f not in _listed:
        if len(_listed) > MOST_KEPT:
            _listed.clear()
        _listed[f] = _function(f)
    return _listed[f]


def _function(f: pytypes.FunctionType) -> pytypes.FunctionType | None:
    try:
        body = normalise(f.__code__)
    except UnsupportedError:
        return None
    cleans_up = any(isinstance(b.term, Try) or b.handler is not None for b in body.blocks)
    if not body.suspends or cleans_up or not only_yields(body):
        return None
    body = stops_seen_to(simple_generator(body, "next" not in f.__globals__), (), None, f.__globals__)
    fresh = fresh_beside(body)
    items = fresh.var("items")
    entry = body.entry

    def stmt(s: Call) -> Call:
        if not is_const(s.fn, ops.yield_):
            return s
        return Call(s.out, Const(ops.list_append), (items, *s.args), (), s.pos)

    def block(b: CFGBlock) -> CFGBlock:
        stmts = tuple(map(stmt, b.stmts))
        return CFGBlock(b.id, b.params, stmts, Return(items, b.term.pos) if isinstance(b.term, Return) else b.term)

    pos = entry.term.pos
    first = CFGBlock(fresh.block(), (), (Call(items, Const(ops.build_list), (), (), pos),), Goto(Edge(entry.id), pos))
    whole = Function(
        body.name, body.filename, body.params, (), (first, *map(block, body.blocks)), "function", body.firstline
    )
    g = pytypes.FunctionType(lower(whole, qualname=f.__qualname__), f.__globals__, f.__name__)
    engines_own[g] = engines_own.get(f, f)
    return g
