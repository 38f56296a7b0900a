"""Protected code: the edge that an exception takes, made explicit, and blocks cut so that it says what ran.

The frontend ends a protected block after every statement that may raise and gives it a `handler`. Here that
becomes a `Try`: an edge to a block of that statement, the body, and one to the handler, both from before the
statement. To everything that follows this is a branch like any other; reversing one, the body was not run where
the other edge was taken. Only the forward code puts the handler back on its blocks.
"""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py import raised, unwinding
from mooncake_py.fields import delete_name, load_name, make_exception, narrow, store_name
from mooncake_py.frontend.ssa import can_raise
from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.types import TOP, Inst, Known, Lst, Meth, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, is_const
from mooncake_py.ir.nodes import (
    BlockId,
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
    Terminator,
    Try,
    Var,
    edges,
)
from mooncake_py.transform.expressions import before_use
from mooncake_py.transform.merge import merge


def explicit(fn: Function) -> Function:
    """The frontend's function with every handler as the edge of a Try, handlers that let pass what the engine
    refuses with, and generator expressions made where they are used."""
    return with_tries(for_users(before_use(fn)))


def for_users(fn: Function) -> Function:
    """The frontend's function with handlers that let pass what the engine refuses with."""
    given = raised.given_to(fn)
    if not given and all(b.handler is None for b in fn.blocks):
        return fn
    fresh = fresh_beside(fn)
    handled = {s.out: s.args[0] for b in fn.blocks for s in b.stmts if is_const(s.fn, ops.push_exc_info)}
    looking = raised.Looking(fn, (*handled.values(), *given))
    blocks = tuple(
        CFGBlock(b.id, b.params, _for_users(b, handled, looking, fresh), b.term, b.handler) for b in fn.blocks
    )
    return Function(fn.name, fn.filename, fn.params, fn.free, blocks, fn.kind, fn.firstline)


def with_tries(fn: Function) -> Function:
    """The function with every handler as the edge of a Try."""
    if all(b.handler is None for b in fn.blocks):
        return fn
    fresh = Fresh(0, 1 + max(b.id for b in fn.blocks))
    out: list[CFGBlock] = []
    for b in fn.blocks:
        if b.handler is None:
            out.append(b)
            continue
        last = isinstance(b.term, ForNext | Raise)  # else it is a statement that raises
        n = len(b.stmts) if last else next((i for i, s in enumerate(b.stmts) if can_raise(s.fn)), None)
        out += (CFGBlock(b.id, b.params, b.stmts, b.term),) if n is None else _tried(b, n, b.handler, fresh)
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(out), fn.kind, fn.firstline)


def with_handlers(fn: Function) -> Function:
    """The function with the edges of its Tries as handlers of their bodies, as the frontend has it."""
    handlers = {b.term.body.target: b.term.handler for b in fn.blocks if isinstance(b.term, Try)}
    if not handlers:
        return fn
    by_id = {b.id: b for b in fn.blocks}
    blocks: list[CFGBlock] = []
    taken: set[BlockId] = set()
    for b in fn.blocks:
        term, handler = b.term, handlers.get(b.id)
        if isinstance(term, Try):
            body = by_id[term.body.target]
            if b.stmts or handler is not None or body.params or isinstance(body.term, Try):
                b = CFGBlock(b.id, b.params, b.stmts, Goto(term.body, term.pos))
            else:  # one block, that it is entered by one edge from wherever it is
                b, handler = CFGBlock(b.id, b.params, body.stmts, body.term), term.handler
                taken.add(body.id)
        blocks.append(CFGBlock(b.id, b.params, b.stmts, b.term, handler))
    left = tuple([b for b in blocks if b.id not in taken])
    return Function(fn.name, fn.filename, fn.params, fn.free, left, fn.kind, fn.firstline)


def _for_users(b: CFGBlock, handled: dict[Var, Operand], looking: raised.Looking, fresh: Fresh) -> tuple[Call, ...]:
    """A handler's statements, so that it neither catches nor swallows an error of the engine, and does not take what
    an exception holds that was not derived for constants.

    Cleaning up (`finally`, `__exit__`) runs for those as well, so they come to handlers like any exception.
    """
    out: list[Call] = []
    for s in b.stmts:
        if is_const(s.fn, ops.exc_match):
            matched = fresh.var()
            out.append(Call(matched, s.fn, s.args, (), s.pos))
            out.append(Call(s.out, Const(unwinding.users_match), (s.args[0], matched), (), s.pos))
            continue
        if is_const(s.fn, ops.exc_group_match):
            kinds = fresh.var()
            out.append(Call(kinds, Const(unwinding.users_kinds), s.args, (), s.pos))
            out.append(Call(s.out, s.fn, (s.args[0], kinds), (), s.pos))
            continue
        out += [Call(fresh.var(), Const(raised.looked_at), (v,), (), s.pos) for v in looking.into(s)]
        out.append(s)
        if is_const(s.fn, ops.pop_except) and not (isinstance(b.term, Raise) and b.term.reraise):
            exc = handled[s.args[0]]  # type: ignore[index]
            out.append(Call(fresh.var(), Const(unwinding.end_handler), (exc,), (), s.pos))
    return tuple(out)


def with_outcome(fn: Function) -> Function:
    """The function that returns `(value, None)`, and `(UNBOUND, exception)` where `fn` raises."""
    fresh = fresh_beside(fn)
    leave, caught = fresh.block(), fresh.block()
    value, exc, raised, both, checked = (fresh.var() for _ in range(5))
    blocks = []
    for b in fn.blocks:
        if isinstance(b.term, Return):
            b = CFGBlock(b.id, b.params, b.stmts, Goto(Edge(leave, (b.term.value, Const(None))), b.term.pos))
        blocks.append(b)
    blocks = protect_all(blocks, Edge(caught), fresh)
    pos = Pos(fn.firstline)
    seen = Call(checked, Const(unwinding.end_handler), (raised,), (), pos)
    blocks.append(CFGBlock(caught, (raised,), (seen,), Goto(Edge(leave, (Const(ops.UNBOUND), raised)), pos)))
    pair = Call(both, Const(ops.build_tuple), (value, exc), (), pos)
    blocks.append(CFGBlock(leave, (value, exc), (pair,), Return(both, pos)))
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)


def _tried(b: CFGBlock, n: int, handler: Edge, fresh: Fresh) -> tuple[CFGBlock, CFGBlock]:
    """A block cut before statement n, its second part protected."""
    body = fresh.block()
    pos = b.stmts[n].pos if n < len(b.stmts) else b.term.pos
    head = CFGBlock(b.id, b.params, b.stmts[:n], Try(Edge(body), Edge(handler.target, handler.args), pos))
    return head, CFGBlock(body, (), b.stmts[n:], b.term)


def protect_all(blocks: list[CFGBlock], handler: Edge, fresh: Fresh) -> list[CFGBlock]:
    """Blocks that go where a protected call stood: what they do not catch themselves goes to its handler."""
    own = {b.term.body.target for b in blocks if isinstance(b.term, Try)}
    out: list[CFGBlock] = []
    for b in blocks:
        raises = any(can_raise(s.fn) for s in b.stmts) or isinstance(b.term, ForNext | Raise)
        out += _tried(b, 0, handler, fresh) if raises and b.id not in own else (b,)
    return out


def settle(blocks: dict[BlockId, CFGBlock], inferred: Inferred, fresh: Fresh) -> set[Var]:
    """Give every body as much as it can hold, now that types are known; the calls that are followed by an unwinding.

    An exception leaves a body unreversed as a whole. That is right for statements whose reverse is nothing as
    long as nobody has used their results, so a body goes on until one that is more than its result: it changes
    something in place, or is not seen through. What cannot raise at all needs no Try.

    A call that is not seen through may raise when it has changed something: on its exceptional edge stands a
    statement, `unwound`, whose reverse reverses that.
    """
    if not any(isinstance(b.term, Try) for b in blocks.values()):
        return set()
    effects = _Effects(inferred)
    for b in list(blocks.values()):
        if isinstance(b.term, Try) and not effects.body_raises(blocks[b.term.body.target]):
            blocks[b.id] = CFGBlock(b.id, b.params, b.stmts, Goto(b.term.body, b.term.pos))
    merge(blocks, effects.body_raises)
    for b in list(blocks.values()):
        if isinstance(b.term, Try):
            _cut(blocks, b, effects, fresh)
    returning = _returning(blocks)
    found: set[Var] = set()
    for b in list(blocks.values()):
        if isinstance(b.term, Try) and b.term.handler.target in returning:
            _unwind(blocks, b, b.term, effects, found, fresh)
    return found


def _returning(blocks: dict[BlockId, CFGBlock]) -> set[BlockId]:
    """The blocks from which a return can be reached."""
    sources: dict[BlockId, list[BlockId]] = {i: [] for i in blocks}
    for b in blocks.values():
        for e in edges(b.term):
            sources[e.target].append(b.id)
    found: set[BlockId] = set()
    work = [b.id for b in blocks.values() if isinstance(b.term, Return)]
    while work:
        i = work.pop()
        if i not in found:
            found.add(i)
            work += sources[i]
    return found


def at_site(s: Call, call: CallInfo, types: dict[Var, T]) -> tuple[Operand, tuple[Operand, ...]]:
    """Callee and arguments of a dynamic call, as its site gets them and its pullback gives their cotangents."""
    if isinstance(s.fn, Var) and isinstance(types.get(s.fn), Meth) and call.target is not None:
        return Const(call.target), call.args  # the receiver may be a number, with a cotangent
    if any(call.target is f for f in _OF_NAMES) or is_const(s.fn, ops.import_from):
        return Const(call.target), call.args
    return s.fn, s.args


_OF_NAMES = (load_name, store_name, delete_name)


def _unwind(
    blocks: dict[BlockId, CFGBlock], b: CFGBlock, term: Try, effects: _Effects, found: set[Var], fresh: Fresh
) -> None:
    body = blocks[term.body.target]
    call = next((s for s in body.stmts if effects.is_opaque(s)), None)
    if call is None:
        return
    found.add(call.out)
    inside = {s.out for s in body.stmts}  # made by statements that have no reverse
    types = effects.types
    callee, args = at_site(call, effects.inferred.calls[call.out], types)
    given = (callee, *args, *(v for _, v in call.kwargs))
    operands = tuple(Const(None) if v in inside else v for v in given)
    exc, *params = (fresh.var(p.name) for p in blocks[term.handler.target].params)
    for new, p in zip((exc, *params), blocks[term.handler.target].params, strict=True):
        if p in types:
            types[new] = types[p]
    out = fresh.var()
    types[out] = Known(None)
    effects.inferred.calls[out] = CallInfo("unwound", args=operands)
    stmt = Call(out, Const(unwinding.unwound), (exc, *operands), (), call.pos)
    pad = CFGBlock(fresh.block(), (exc, *params), (stmt,), Goto(Edge(term.handler.target, (exc, *params)), call.pos))
    blocks[pad.id] = pad
    blocks[b.id] = CFGBlock(b.id, b.params, b.stmts, Try(term.body, Edge(pad.id, term.handler.args), term.pos))


def _cut(blocks: dict[BlockId, CFGBlock], b: CFGBlock, effects: _Effects, fresh: Fresh) -> None:
    """Cut the body of a Try after what changes something, and before what is not seen through."""
    assert isinstance(b.term, Try)
    handler, body = b.term.handler, blocks[b.term.body.target]
    start = 0
    while (n := _end(body, start, effects)) is not None:
        rest = CFGBlock(fresh.block(), (), body.stmts[n:], body.term)
        pos = rest.stmts[0].pos if rest.stmts else rest.term.pos
        between = CFGBlock(fresh.block(), (), (), Try(Edge(rest.id), Edge(handler.target, handler.args), pos))
        blocks[body.id] = CFGBlock(body.id, body.params, body.stmts[:n], Goto(Edge(between.id), pos))
        blocks[between.id], blocks[rest.id] = between, rest
        body, start = rest, 1


def _end(body: CFGBlock, start: int, effects: _Effects) -> int | None:
    """The statement before which a body must end, None where it holds all."""
    changed = any(effects.changes(s) for s in body.stmts[:start])
    reversed_ = any(effects.is_reversed(s) for s in body.stmts[:start])
    for i in range(start, len(body.stmts)):
        s = body.stmts[i]
        if (changed and effects.raises(s)) or (reversed_ and effects.is_opaque(s)):
            return i
        changed = changed or effects.changes(s)
        reversed_ = reversed_ or effects.is_reversed(s)
    if changed and effects.ends_raising(body.term):
        return len(body.stmts)
    return None


_ARITHMETIC: frozenset[Any] = frozenset(
    [
        *(operator.add, operator.sub, operator.mul, operator.iadd, operator.isub, operator.imul),
        *(operator.neg, operator.pos, operator.not_, abs, ops.truth),
        *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    ]
)
_INTERNAL = frozenset({narrow, ops.build_tuple, ops.make_function, ops.unpack, operator.getitem})


class _Effects:
    """What the statements of an inferred function may do besides computing their result."""

    def __init__(self, inferred: Inferred):
        self.inferred = inferred
        self.types = inferred.types
        self.defs = {s.out: s for b in inferred.fn.blocks for s in b.stmts}

    def body_raises(self, b: CFGBlock) -> bool:
        return any(map(self.raises, b.stmts)) or self.ends_raising(b.term)

    def ends_raising(self, term: Terminator) -> bool:
        if isinstance(term, ForNext):
            d = self.defs.get(term.iterator) if isinstance(term.iterator, Var) else None
            return d is None or not is_const(d.fn, iter) or not _is_builtin_sequence(self.type_of(d.args[0]))
        return isinstance(term, Raise)

    def type_of(self, v: Any) -> T:
        return Known(v.value) if isinstance(v, Const) else self.types.get(v, TOP)

    def raises(self, s: Call) -> bool:
        """May the statement raise?"""
        fn = self.type_of(s.fn)
        call = self.inferred.calls.get(s.out)
        if not isinstance(fn, Known) or not hashable(fn.value) or call is None:
            return True
        f = fn.value
        if f in ops.NEVER_RAISES or (call.kind == "op" and f in _INTERNAL):
            return False
        t = self.types.get(s.out, TOP)
        if call.named is not None:
            return isinstance(t, Top)
        if f is getattr:
            return not isinstance(t, Known | Meth)
        return f not in _ARITHMETIC or not _are_floats([self.type_of(a) for a in s.args])

    def is_reversed(self, s: Call) -> bool:
        call = self.inferred.calls.get(s.out)
        return call is not None and call.kind != "plain"

    def is_opaque(self, s: Call) -> bool:
        """Is this a call of code that is not seen here?"""
        call = self.inferred.calls.get(s.out)
        return call is not None and call.kind == "dynamic"

    def changes(self, s: Call) -> bool:
        """Is there something to reverse even where nobody uses the result?"""
        call = self.inferred.calls.get(s.out)
        if call is None:
            return False
        if call.target is make_exception:
            return True  # a handler has it, and what it holds
        return call.kind == "dynamic" or (call.kind in ("rule", "derived") and bool(call.written))


def _is_builtin_sequence(t: T) -> bool:
    """Is this iterated over without a call of user code, and without end before its own?"""
    return isinstance(t, Tup) or (isinstance(t, Lst) and t.cls is list) or _class(t) in (range, tuple, list, str)


def _class(t: T) -> type:
    """The class of the values, `object` where it is not known."""
    return t.cls if isinstance(t, Inst) else type(t.value) if isinstance(t, Known) else object


def _are_floats(types: list[T]) -> bool:
    """Python floats, or all Python ints: arithmetic on these gives what IEEE says, and no exception."""
    classes = set(map(_class, types))
    if not classes <= {float, int, bool}:
        return False
    return float not in classes or all(
        _class(t) is not int or (isinstance(t, Known) and abs(t.value) < 2**53) for t in types
    )
