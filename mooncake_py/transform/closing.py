"""Generators that nobody holds but the loop that asks them: Python closes them where the loop is left.

Where one of them has something to clean up, the call of `close` is put there: before the code that is reached from the
loop's end, too, and before a return. Where the order of that and other things is not plain, none is put, and leaving
such a generator is refused when it happens (`kept_iterators.check_closed`).
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from inspect import CO_GENERATOR
from types import CodeType, FunctionType

from mooncake_py.infer.inferred import Inferred
from mooncake_py.infer.types import Fn, Known, T
from mooncake_py.ir.graph import use_counts
from mooncake_py.ir.mapping import fresh_beside, is_const, map_terminator
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
    Return,
    Var,
    edges,
)
from mooncake_py.transform.generators import cleans_up
from mooncake_py.transform.protect import with_handlers, with_tries


def close_left(inferred: Inferred) -> Function | None:
    """The function with one such generator closed where it is left, None where there is none."""
    roots = [
        s
        for b in inferred.fn.blocks
        if b.id in inferred.reached
        for s in b.stmts
        if s.out.name is None and (code := _code(inferred, s)) is not None and cleans_up(code)
    ]
    if not roots:
        return None
    fn = with_handlers(inferred.fn)
    counts = use_counts(fn)
    for root in reversed(roots):  # as a tuple lets go of its items, `zip` of its iterators
        if counts[root.out] == 1:
            closed = _after_next(inferred, fn, root) or _after_loop(inferred, fn, root, counts)
            if closed is not None:
                return with_tries(closed)
    return None


def _code(inferred: Inferred, s: Call) -> CodeType | None:
    """The code of the generator function that is called here."""
    t = _known(inferred, s.fn)
    if isinstance(t, Known) and type(t.value) is FunctionType:
        code = t.value.__code__
    elif isinstance(t, Fn):
        code = t.code
    else:
        return None
    return code if code.co_flags & CO_GENERATOR else None


def _known(inferred: Inferred, v: Operand) -> T | None:
    return Known(v.value) if isinstance(v, Const) else inferred.types.get(v)


def _close(fresh: Fresh, generator: Var, pos: Pos) -> tuple[Call, Call]:
    method = Call(fresh.var(), Const(getattr), (generator, Const("close")), (), pos)
    return method, Call(fresh.var(), method.out, (), (), pos)


def _after_next(inferred: Inferred, fn: Function, root: Call) -> Function | None:
    """`next(items(x))`."""
    for i, b in enumerate(fn.blocks):
        for k, s in enumerate(b.stmts):
            if s.args == (root.out,) and _known(inferred, s.fn) == Known(next):
                stmts = (*b.stmts[: k + 1], *_close(fresh_beside(fn), root.out, s.pos), *b.stmts[k + 1 :])
                return replace(fn, blocks=(*fn.blocks[:i], replace(b, stmts=stmts), *fn.blocks[i + 1 :]))
    return None


def _holder(inferred: Inferred, fn: Function, root: Call, counts: dict[Var, int]) -> Var | None:
    """What a loop runs over that asks this generator: itself, or what alone holds it, as `enumerate(items(x))` does."""
    v = root.out
    users = {a: s for b in fn.blocks for s in b.stmts for a in s.args if isinstance(a, Var)}
    while (s := users.get(v)) is not None and not is_const(s.fn, iter):
        holds = _known(inferred, s.fn)
        most = next((n for f, n in _HOLDERS if isinstance(holds, Known) and holds.value is f), 0)
        if len(s.args) > most or counts[s.out] != 1 or s.out.name is not None:
            return None
        v = s.out
    return v


_HOLDERS = ((enumerate, 2), (filter, 2), (itertools.takewhile, 2), (itertools.islice, 4), (zip, 2), (map, 3))
"""What asks iterators and ends when one does or before, and with how many arguments at most: at the end of the loop no
more than one generator is left then, and it does not matter which would be closed first."""


def _after_loop(inferred: Inferred, fn: Function, root: Call, counts: dict[Var, int]) -> Function | None:
    held = _holder(inferred, fn, root, counts)
    if held is None:
        return None
    asked = [s.out for b in fn.blocks for s in b.stmts if is_const(s.fn, iter) and s.args == (held,)]
    heads = [b for b in fn.blocks if isinstance(b.term, ForNext) and b.term.iterator in asked]
    if len(asked) != 1 or len(heads) != 1 or counts[asked[0]] != 1:
        return None
    head = heads[0]
    assert isinstance(head.term, ForNext)
    blocks = {b.id: b for b in fn.blocks}
    after = _reached(blocks, head.term.done.target, head.id)
    inside = _reached(blocks, head.term.body.target, head.id) - after
    loop = {b for b in inside if head.id in _reached(blocks, b, None)} | {head.id}
    end = max(line for b in loop for line in _lines(blocks[b]))
    tail = {line for b in after for line in _lines(blocks[b]) if line > end}
    # CPython has a `return` behind the loop twice, the second time where a `break` leads to it.
    after |= {b for b in inside - loop if tail.issuperset(_lines(blocks[b]))}
    inside -= after
    if any((h := blocks[b].handler) is not None and h.target not in loop for b in loop):
        return None  # left by an exception, too
    exits = {(b, e) for b in inside for e in edges(blocks[b].term) if e.target in after}
    returns = {b for b in inside if isinstance(blocks[b].term, Return)}
    ends_before = held is not root.out
    if not (exits or returns or ends_before):
        return None
    start = head.term.pos.line or 0
    last = max((line for b in inside - loop for line in _lines(blocks[b])), default=start)
    lines = [line for b in after for line in _lines(blocks[b]) if line > start]
    if any(line < last for line in lines) or (returns and not any(line > last for line in lines)):
        return None  # code after a loop that is never left at its end
    fresh = fresh_beside(fn)
    out: list[CFGBlock] = []
    for b in fn.blocks:
        if b is head and ends_before:
            e, pos = head.term.done, head.term.pos
            end_of_loop = CFGBlock(fresh.block(), (), _close(fresh, root.out, pos), Goto(e, pos), b.handler)
            out.append(end_of_loop)
            b = replace(b, term=replace(head.term, done=Edge(end_of_loop.id, ())))
        elif b.id in returns:
            b = replace(b, stmts=(*b.stmts, *_close(fresh, root.out, b.term.pos)))
        elif any(x == b.id for x, _ in exits):
            made: list[CFGBlock] = []

            def onward(e: Edge, b: CFGBlock = b, made: list[CFGBlock] = made) -> Edge:
                if (b.id, e) not in exits:
                    return e
                pos = b.term.pos
                made.append(CFGBlock(fresh.block(), (), _close(fresh, root.out, pos), Goto(e, pos), b.handler))
                return Edge(made[-1].id, ())

            b = replace(b, term=map_terminator(b.term, lambda v: v, onward))
            out += made
        out.append(b)
    entry = fn.blocks[0]
    return replace(fn, blocks=tuple(sorted(out, key=lambda b: b.id != entry.id)))


def _reached(blocks: dict[BlockId, CFGBlock], start: BlockId, barred: BlockId | None) -> set[BlockId]:
    seen: set[BlockId] = set()
    work = [start]
    while work:
        b = work.pop()
        if b in seen or b == barred:
            continue
        seen.add(b)
        work += [e.target for e in edges(blocks[b].term)]
        if (handler := blocks[b].handler) is not None:
            work.append(handler.target)
    return seen


def _lines(b: CFGBlock) -> list[int]:
    return [pos.line or 0 for pos in (*(s.pos for s in b.stmts), b.term.pos)]
