"""Where a generator may stand: the places of its body at which it waits, and what lies between them."""

from __future__ import annotations

from typing import Any

from mooncake_py import iterators
from mooncake_py.frontend.ssa import Draft
from mooncake_py.ir import ops
from mooncake_py.ir.graph import liveness
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    CFGBlock,
    Const,
    ForNext,
    Function,
    Return,
    Var,
    all_edges,
    term_operands,
)
from mooncake_py.iterators import item_within, keep_place
from mooncake_py.transform.rebuild import Handler, Rebuild

START = 0
FINISHED = -1
States = frozenset[int]
"""START, FINISHED, and the numbers of the yields it may wait at, from 1."""
NOWHERE: States = frozenset()


def yields(body: Function) -> list[Call]:
    """The yields; number k is item k - 1."""
    return [s for b in body.blocks for s in b.stmts if is_const(s.fn, ops.yield_)]


def guarded_states(body: Function) -> States:
    """The yields at which the generator waits where something is to be cleaned up, or an exception is handled."""
    numbers = {s.out: k + 1 for k, s in enumerate(yields(body))}
    handling = tokens_across(body)
    return frozenset(
        numbers[s.out]
        for b in body.blocks
        for s in b.stmts
        if s.out in numbers and (b.handler is not None or handling[s.out])
    )


def tokens_across(body: Function) -> dict[Var, list[Call]]:
    """For every yield, by the variable it defines: what began the handling of the exceptions that is not over there."""
    _, live_out = liveness(body)
    begins = {s.out: s for b in body.blocks for s in b.stmts if is_const(s.fn, ops.push_exc_info)}
    found: dict[Var, list[Call]] = {}
    for b in body.blocks:
        needed = set(live_out[b.id]) & begins.keys()
        for s in reversed(b.stmts):
            needed.discard(s.out)
            if gives_back(s):
                found[s.out] = [begins[v] for v in sorted(needed, key=lambda v: v.id)]
            needed.update(v for v in s.operands() if v in begins)
    return found


def live_after(body: Function) -> dict[Var, list[Var]]:
    """For every yield and `keep_place`, by the variable it defines: what is needed when the generator goes on.

    An exception that is being handled is needed for its handler's token, which is made anew.
    """
    _, live_out = liveness(body)
    handled = {s.out: s.args[0] for b in body.blocks for s in b.stmts if is_const(s.fn, ops.push_exc_info)}
    keeping = keeps_place(body)
    found: dict[Var, list[Var]] = {}
    for b in body.blocks:
        needed = set(live_out[b.id])
        needed.update(v for v in term_operands(b.term) if isinstance(v, Var))
        needed.update(v for v in (b.handler.args if b.handler else ()) if isinstance(v, Var))
        for s in reversed(b.stmts):
            needed.discard(s.out)
            if gives_back(s) or s in keeping:
                here = set(needed)
                if is_const(s.fn, ops.yield_from) and isinstance(s.args[0], Var):
                    here.add(s.args[0])  # it is advanced again
                here.update(exc for t in here & handled.keys() if isinstance(exc := handled[t], Var))
                found[s.out] = sorted(here.difference(body.free), key=lambda v: v.id)
            needed.update(v for v in s.operands() if isinstance(v, Var))
    return found


def states_thrown(body: Function) -> dict[int, States]:
    """For every state, those in which the generator may be when an exception was thrown into it."""
    by_id = {b.id: b for b in body.blocks}
    numbers = {s.out: k + 1 for k, s in enumerate(yields(body))}
    found: dict[int, States] = {START: NOWHERE, FINISHED: NOWHERE}
    for b in body.blocks:
        for s in b.stmts:
            if s.out in numbers:
                start = [] if b.handler is None else [(by_id[b.handler.target], 0)]
                found[numbers[s.out]] = _ends(_run(body, start, numbers), numbers)
    return found


def next_states(body: Function) -> dict[int, States]:
    """For every state, those in which the generator may be when it has been asked for one more item."""
    numbers = {s.out: k + 1 for k, s in enumerate(yields(body))}
    found = {FINISHED: frozenset({FINISHED})}
    for state, run in _runs(body).items():
        found[state] = _ends(run, numbers)
    return found


def _ends(run: list[tuple[CFGBlock, int, Call | None]], numbers: dict[Var, int]) -> States:
    ends = {FINISHED for b, _, stop in run if stop is None and isinstance(b.term, Return)}
    return frozenset(ends | {numbers[stop.out] for _, _, stop in run if stop is not None})


def states_before(body: Function, s: Call) -> States:
    """From where the generator may come to this statement before it waits again."""
    return frozenset(
        state
        for state, run in _runs(body).items()
        for b, at, stop in run
        if s in b.stmts[at : None if stop is None else b.stmts.index(stop)]
    )


def _runs(body: Function) -> dict[int, list[tuple[CFGBlock, int, Call | None]]]:
    """For every state, what may be run up to the next yield: blocks, from which statement on and up to which yield."""
    numbers = {s.out: k + 1 for k, s in enumerate(yields(body))}
    starts: dict[int, tuple[CFGBlock, int]] = {START: (body.blocks[0], 0)}
    for b in body.blocks:
        starts.update({numbers[s.out]: (b, i + 1) for i, s in enumerate(b.stmts) if s.out in numbers})
    return {state: _run(body, [first], numbers) for state, first in starts.items()}


def _run(
    body: Function, starts: list[tuple[CFGBlock, int]], numbers: dict[Var, int]
) -> list[tuple[CFGBlock, int, Call | None]]:
    by_id = {b.id: b for b in body.blocks}
    run = []
    seen: set[BlockId] = set()
    work = list(starts)
    while work:
        b, at = work.pop()
        stop = next((s for s in b.stmts[at:] if s.out in numbers), None)
        run.append((b, at, stop))
        onward = [] if stop is not None else all_edges(b)
        for e in onward:
            if e.target not in seen:
                seen.add(e.target)
                work.append((by_id[e.target], 0))
    return run


def only_yields(body: Function) -> bool:
    """A generator that does nothing with what `send` brings."""
    sent = {s.out for b in body.blocks for s in b.stmts if gives_back(s)}
    return sent.isdisjoint(_used(body)) and not may_end_by_another(body)


def yields_alone(body: Function) -> bool:
    """A generator that nothing else gives items for, or that does nothing with what `send` brings."""
    if only_yields(body):
        return True
    delegates = any(is_const(s.fn, ops.yield_from) for b in body.blocks for s in b.stmts)
    return not delegates and not may_end_by_another(body)


def keeps_place(body: Function) -> set[Call]:
    """The calls of `keep_place` in the code of an iterator."""
    names = names_of(body, keep_place)
    return {s for b in body.blocks for s in b.stmts if s.fn in names or is_const(s.fn, keep_place)}


def names_of(body: Function, mark: Any) -> set[Any]:
    """What a mark of `mooncake_py.iterators` is called in the code of an iterator."""
    if body.kind != "iterator":
        return set()
    loads = [s for b in body.blocks for s in b.stmts if is_const(s.fn, ops.load_global)]
    return {s.out for s in loads if getattr(iterators, s.args[0].value, None) is mark}  # type: ignore[union-attr]


def gives_back(s: Call) -> bool:
    return is_const(s.fn, ops.yield_) or is_const(s.fn, ops.yield_from)


def _used(body: Function) -> set[Any]:
    return {v for b in body.blocks for v in (*(v for s in b.stmts for v in s.operands()), *term_operands(b.term))}


def may_end_by_another(body: Function) -> bool:
    """Might the end of an iterator that is asked where exceptions are caught leave the generator as an exception?

    Not where StopIteration is named.
    """
    names = {s.out for b in body.blocks for s in b.stmts if _loads_next(s)}
    asks = any(b.handler is not None and (is_const(s.fn, next) or s.fn in names) for b in body.blocks for s in b.stmts)
    return asks and not any(is_const(a, "StopIteration") or is_const(a, StopIteration) for a in _used(body))


def inner_iterators(body: Function) -> list[Call]:
    """The calls of `iter` that make what the loops of a body run over; `iter` of what one gave makes nothing."""
    looped = {b.term.iterator for b in body.blocks if isinstance(b.term, ForNext)}
    made = {s.out: s for b in body.blocks for s in b.stmts if is_const(s.fn, iter) and len(s.args) == 1}
    found: dict[Call, None] = {}
    for s in (s for v, s in made.items() if v in looped):
        while isinstance(s.args[0], Var) and s.args[0] in made:
            s = made[s.args[0]]
        found[s] = None
    return list(found)


def made_early(body: Function) -> dict[Call, int]:
    """The calls of `iter` in its body, on which parameter each, that may be made with the iterator: those of loops that
    are come to once."""
    return {
        s: body.params.index(s.args[0])
        for s in inner_iterators(body)
        if s.args[0] in body.params and not runs_again(body, s)
    }


def runs_again(body: Function, s: Call) -> bool:
    """May this statement of a body be run more than once?"""
    by_id = {b.id: b for b in body.blocks}
    home = next(b for b in body.blocks if s in b.stmts)
    seen: set[BlockId] = set()
    work = [home]
    while work:
        b = work.pop()
        for e in all_edges(b):
            if e.target not in seen:
                seen.add(e.target)
                work.append(by_id[e.target])
    return home.id in seen


def simple_generator(body: Function, next_is_builtin: bool) -> Function:
    """The body with every `yield from` as a loop that yields, as what is sent to the generator is of no interest; and
    the end of another iterator that it asks is not mistaken for its own."""
    names = {s.out for b in body.blocks for s in b.stmts if next_is_builtin and _loads_next(s)}
    asks = any(is_const(s.fn, next) or s.fn in names for b in body.blocks for s in b.stmts)
    if not asks and not any(is_const(s.fn, ops.yield_from) for b in body.blocks for s in b.stmts):
        return body
    return _Simple(names).copied(body)


def _loads_next(s: Call) -> bool:
    return is_const(s.fn, ops.load_global) and is_const(s.args[0], "next")


class _Simple(Rebuild):
    def __init__(self, names: set[Var]):
        super().__init__()
        self.names = names

    def statement(self, fn: Function, d: Draft, s: Call, handler: Handler) -> Draft:
        if is_const(s.fn, ops.get_yield_from_iter):
            s = Call(s.out, Const(iter), s.args, (), s.pos)
        elif handler is None and (is_const(s.fn, next) or s.fn in self.names) and len(s.args) == 1 and not s.kwargs:
            s = Call(s.out, Const(item_within), s.args, (), s.pos)
        if not is_const(s.fn, ops.yield_from):
            return super().statement(fn, d, s, handler)
        builder, pos = self.builder, s.pos
        loop, item, done = builder.new_block(), builder.new_block(), builder.new_block()
        it = self.read(d, s.args[0])
        builder.goto(d, loop, pos)
        if handler is not None:
            self.protect(fn, loop, handler)
        x = builder.param(item)
        builder.for_next(loop, it, item, done, pos)
        self.emit(item, pos, ops.yield_, x)
        builder.goto(item if handler is None else self.after_raising(fn, item, handler, pos), loop, pos)
        builder.write(done, s.out, Const(None))
        return done
