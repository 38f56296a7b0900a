"""Abstract interpretation of one function for one signature: a type for every value, a meaning for every call.

Types flow forward to a fixpoint. What is written into an array or a list is not seen where the object is
made, so a second, outer fixpoint feeds it back: writing an active value makes the whole object active, at
every name it has (`forced`), and adds to what its elements may be.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import replace

from mooncake_py.fields import ABSENT
from mooncake_py.infer.base import interned
from mooncake_py.infer.calls import Calls
from mooncake_py.infer.effects import Effect, after, is_blank
from mooncake_py.infer.inferred import Awaited, CallInfo, Guard, Inferred, is_to_come
from mooncake_py.infer.lookup import Lookup
from mooncake_py.infer.memory import Memory
from mooncake_py.infer.parts import depth
from mooncake_py.infer.predicates import raises_natively
from mooncake_py.infer.protocol import WRITES, Plan, written
from mooncake_py.infer.recursive import ended
from mooncake_py.infer.results import went_through
from mooncake_py.infer.types import BOT, Bot, Inst, Known, Native, Obj, T, Top, join
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Function,
    Raise,
    Return,
    Try,
    Var,
    edges,
)


def _mean_the_same(a: Mapping[Var, CallInfo], b: Mapping[Var, CallInfo]) -> bool:
    """Are these the same meanings? What other calls are to stand for is made anew each time."""
    return a.keys() == b.keys() and all(
        x is y or (x.kind == y.kind == "planned" and type(x.target) is type(y.target))
        for v, x in a.items()
        if (y := b[v]) is not None
    )


_NONE: frozenset[BlockId] = frozenset()
_READ_LATE = frozenset({int, float, complex, str, bool, list, dict, deque, set})
"""What a class holds by a name is read when it runs if it is such, and the run may set it to another one."""
PATIENCE = 3
"""How often a type may get deeper before it is taken for one that has no end."""
MOST_ROUNDS = 20  # before a value that still is of another type is given up
Narrowing = Callable[[Mapping[Var, T], Set[BlockId]], Function | None]


class Inference(Calls):
    """The fixpoint over the blocks of one function."""

    def run(self) -> Inferred:
        """What is found."""
        found = self.run_or_narrow(lambda *_: None)
        assert isinstance(found, Inferred)
        return found

    def run_or_narrow(self, narrowed: Narrowing) -> Inferred | Function:
        """The same, or the function with a value narrowed where it asks of what type that is, before more is seen.

        What would be done with a value of any of its types may change what is known of all others.
        """
        self.flow()
        return self._settle(narrowed, whole=True)

    def with_no_more_patience(self, narrowed: Narrowing) -> Inferred | Function:
        """The same, where nothing could be made simpler of what was found `early`: what waits is looked into now."""
        self.patient = False
        return self._settle(narrowed, True, self.memory)

    def _settle(self, narrowed: Narrowing, whole: bool, memory: Memory | None = None) -> Inferred | Function:
        """`whole`: was what is known so far found from nothing? `memory`: that of it, which says nothing new."""
        times: Counter[Var] = Counter()  # how often what is written into a value was found to be deeper
        for round_ in itertools.count():
            changed: set[Var] = set()
            if memory is None:
                better = narrowed(self.types, self.reached)
                if better is not None:
                    return better
                calls = self.calls if self.hopes else self.of_the_worst()
                memory = self.memory = Memory(
                    self.fn, self.types, calls, self.aliased, False, self.wary, self._shape, self.outermost
                )
                memory.running = self.running
                changed = self.grow(memory.written_back(self.types, calls, patience=2), times, round_)
                waits = changed or self.is_to_be_simpler() or self.is_early()
                if not waits and any(map(is_blank, self.types.values())):
                    for patience, through in ((2, True), (1, False), (0, False)):
                        guessed = memory.written_back(self.types, calls, patience, through)
                        if changed := self.grow(guessed, times, round_):
                            self.guessed |= guessed.keys()
                            break
                changed |= self.put
            waiting = set() if changed else self.waiting - self.ready
            # What comes of some may be what lists are filled with; others are to be made simpler first.
            later = self.hollow | self.unseen
            early = not changed and self.is_early()
            if (sooner := waiting - later) or (waiting and not early):
                ready = sooner or waiting - self.hollow or waiting
                self.ready |= ready
                whole, memory = self.flow(ready), None
                continue
            outside = set() if self.wary else memory.written_outside(WRITES, self.calls)
            if not changed:  # what nothing comes back from by now is decided when it runs
                awaited = {v for v, info in self.calls.items() if isinstance(info.target, Awaited)}
                outside |= awaited - later if early else awaited
            if changed or not outside <= self.late:
                changed |= outside - self.late
                self.late |= outside
                whole, memory = self.flow(changed), None
            elif not (whole or self.is_found_again(memory)):
                whole, memory = True, None
            else:
                break
        assert memory is not None
        self.calls = {s.out: info for s in self._shape.statements if (info := self.calls.get(s.out)) is not None}
        for (cls, name), d in self.classes.looked.items() if self.classes is not None else ():
            data = self.wary and type(d) in _READ_LATE and not name.startswith("__")
            guard = Guard(Lookup(cls), name, ABSENT, Inst(type(d))) if data else Guard(Lookup(cls), name, d)
            self.guards[(id(cls), name)] = guard
        return Inferred(
            self.fn,
            self.types,
            self.calls,
            self.result,
            self.guards,
            memory,
            self.reached,
            self.wary,
            self.relied,
            self.outermost,
            early,
        )

    def of_the_worst(self) -> dict[Var, CallInfo]:
        """The calls, with those in whose place others are to stand as ones that may write to all that they are given.

        What a plan relies on may be what another one changes.
        """
        return {v: _unseen(info) if info.kind == "planned" else info for v, info in self.calls.items()}

    def is_found_again(self, memory: Memory) -> bool:
        """Is all that was found step by step the same when it is found from nothing, with what is known to be written?

        It may be less: what was known in between may have been taken into it. If it is, `memory` holds for it as well.
        """
        types, calls = self.types, self.calls
        self.flow()
        memory.types = self.types
        return types == self.types and _mean_the_same(calls, self.calls)

    def is_early(self) -> bool:
        """Do calls wait, and is something in the function to be made simpler before more is asked of it?"""
        waiting = self.waiting - self.ready
        if not (waiting and self.patient):
            return False
        return not self.unseen.isdisjoint(waiting) or any(map(is_to_come, self.calls.values()))

    def is_to_be_simpler(self) -> bool:
        """May what is to stand in the place of calls be what fills lists that are empty so far?"""
        return self.hopes and any(map(is_to_come, self.calls.values()))

    def grow(self, grown: dict[Var, T], times: Counter[Var], round_: int) -> set[Var]:
        """Note what values must have where they are made; the values for which any of it is new."""
        changed: set[Var] = set()
        for v, t in grown.items():
            old = self.forced.get(v, BOT)
            new = join(old, t)
            if new != old and depth(new) > depth(old):
                times[v] += 1
            if times[v] > PATIENCE:  # a list in itself, say
                new = ended(new)
            if times[v] > 8 or round_ > 500:  # there is no end to its type
                new = Top(new.active)
            if new != old:
                self.forced[v] = interned(new)
                changed.add(v)
        return changed

    def glance(self, known: Inferred) -> Inferred:
        """What is known of another form of the function, and of the calls that are new in this one, one by one."""
        self.types, self.calls = dict(known.types), dict(known.calls)
        old = {s for b in known.fn.blocks for s in b.stmts}
        for s in self._shape.statements:
            if s not in old:
                self.types[s.out] = self.with_forced(s.out, self.call(s))
        return replace(known.of(self.fn), types=self.types, calls=self.calls)

    def flow(self, since: Set[Var] | None = None) -> bool:
        """Go through the blocks until no type changes any more: all of them, which it tells.

        Or, where these values have had more written into them, or are calls that are looked into by now, through what
        that changes of what was found so far.
        """
        queued = self.begin() if since is None else self.concerned(since)
        self.put = set()
        order = {b.id: i for i, b in enumerate(self.fn.blocks)}
        work = [(order[b], b) for b in queued]
        heapq.heapify(work)
        rounds: dict[BlockId, int] = {}
        while work:
            _, b = heapq.heappop(work)
            queued.discard(b)
            self.reached.add(b)
            rounds[b] = rounds.get(b, 0) + 1
            block = self._shape.blocks[b]
            went_through(len(block.stmts))
            for target in self.block(block, rounds[b]):
                if target not in queued:
                    queued.add(target)
                    heapq.heappush(work, (order[target], target))
        return since is None

    def begin(self) -> set[BlockId]:
        """Nothing is known yet but the types of the parameters; where to begin."""
        self.types, self.calls, self.waiting, self.readers = {}, {}, set(), {}
        self.reached: set[BlockId] = set()
        self.carrying: set[BlockId] = set()
        self.foreign: set[BlockId] = set()  # bodies of `try` out of which exceptions of the user's classes may come
        self.result: T = BOT
        for p, t in zip(self.fn.params, self.arg_types, strict=True):
            self.types[p] = self.with_forced(p, self.seen(t))
        for p, t in zip(self.fn.free, self.free_types, strict=False):
            self.types[p] = self.with_forced(p, self.seen(t))
        return {self.fn.entry.id}

    def concerned(self, since: Set[Var]) -> set[BlockId]:
        """The blocks that have to do with these values."""
        self.types, self.calls = dict(self.types), dict(self.calls)  # what was found before stays as it is
        todo = set().union(*map(self.asking, self.put))
        for v in since:
            made = self._shape.block_of.get(v)
            if made is not None:
                todo.add(made)
            else:  # a parameter
                new = self.with_forced(v, self.types[v])
                if new != self.types[v]:
                    self.types[v] = new
                    todo |= self.asking(v)
        return todo & self.reached

    def asking(self, v: Var) -> Set[BlockId]:
        """The blocks whose statements or terminators ask for the type of a value."""
        users, readers = self._shape.users.get(v, _NONE), self.readers.get(v)
        return users if readers is None else users | readers

    def block(self, b: CFGBlock, round_: int) -> list[BlockId]:
        """Interpret one block; the successors whose parameters changed (or that are new)."""
        types = self.types
        todo: list[BlockId] = []
        self.at = b.id
        for s in b.stmts:
            t = self.with_forced(s.out, self.call(s))
            before = types.get(s.out)
            if before is not t and (before is None or before != t):
                types[s.out] = t
                todo += self.asking(s.out)
            info = self.calls.get(s.out)
            if info is not None and info.rule is not None and info.rule.mutates and info.target in WRITES:
                todo += self.put_in(info)
        if b.id in self._shape.tried and b.id not in self.carrying and self._carries(b):
            self.carrying.add(b.id)
            todo.append(self._shape.tried[b.id])
        if b.id in self._shape.tried and b.id not in self.foreign and not self._is_native(b):
            self.foreign.add(b.id)
            todo.append(self._shape.tried[b.id])
        todo = [x for x in todo if x in self.reached and x != b.id]
        term = b.term
        if isinstance(term, Return):
            self.result = join(self.result, self.type_of(term.value))
        for e, first in self._live_edges(b):
            target = self._shape.blocks[e.target]
            changed = e.target not in self.reached
            incoming = [first, *map(self.type_of, e.args)] if first is not None else map(self.type_of, e.args)
            for p, t in zip(target.params, incoming, strict=True):
                old = types.get(p, BOT)
                new = self.with_forced(p, join(old, t))
                if round_ > PATIENCE and new != old:
                    if depth(new) > depth(old):  # one that is in another one, and so on
                        new = self.with_forced(p, ended(new))
                    if round_ > MOST_ROUNDS:
                        new = Top(new.active)
                if new is not old and new != old:
                    types[p] = new
                    changed = True
                    todo += [x for x in self.asking(p) if x in self.reached]
            if changed:
                todo.append(e.target)
        return todo

    def put_in(self, info: CallInfo) -> Collection[BlockId]:
        """Take a write of an attribute into the type of the object; the blocks that ask it, if that was not known.

        Values made one from the other, through objects, would else take a round each to be known.
        """
        x, name = info.args[:2]
        v = self.type_of(info.args[2])
        t = self.types.get(x, BOT) if isinstance(x, Var) else BOT
        if not (isinstance(x, Var) and isinstance(t, Obj) and isinstance(name, Const)) or isinstance(v, Bot):
            return ()
        put = written(t, name.value, v)
        new = after(t, Effect(t, put, put.active, True))
        known = self.forced.get(x, BOT)
        if new is t or (grown := join(known, new)) == known:
            return ()
        self.put.add(x)
        self.forced[x] = interned(grown)
        self.types[x] = self.with_forced(x, t)
        return self.asking(x)

    def _carries(self, b: CFGBlock) -> bool:
        """May an exception out of this block have arguments with a derivative?"""
        if isinstance(b.term, Raise) and b.term.exc is not None:
            if b.term.reraise or self.type_of(b.term.exc).active:
                return True
        return any(c.kind == "dynamic" for s in b.stmts if (c := self.calls.get(s.out)) is not None)

    def _is_native(self, b: CFGBlock) -> bool:
        """Is every exception out of this block one that Python or a library raises by itself?"""
        if isinstance(b.term, Raise):
            return False
        if isinstance(b.term, ForNext) and not isinstance(b.term.iterator, Const):
            made = self._shape.defs.get(b.term.iterator)
            if made is None or not raises_natively(self.calls.get(made.out)):
                return False
        return all(raises_natively(self.calls.get(s.out)) for s in b.stmts)

    def _live_edges(self, b: CFGBlock) -> list[tuple[Edge, T | None]]:
        term = b.term
        if isinstance(term, Branch):
            c = self.type_of(term.cond)
            if isinstance(c, Known):
                return [(term.then if c.value else term.orelse, None)]
            return [(term.then, None), (term.orelse, None)]
        if isinstance(term, ForNext):
            self.read = []
            item = self.item_type(term.iterator)
            self.note(self.read)
            return [(term.body, item), (term.done, None)]
        if isinstance(term, Try):
            body = term.body.target
            known = body not in self.foreign and body not in self.carrying
            return [(term.body, None), (term.handler, Native() if known else Top(body in self.carrying))]
        return [(e, None) for e in edges(term)]


def _unseen(planned: CallInfo) -> CallInfo:
    """A call that is to be something else, as one that is not seen through."""
    more = planned.target.args if isinstance(planned.target, Plan) else ()  # the object of a method, say
    return replace(planned, kind="dynamic", target=None, args=tuple(dict.fromkeys((*planned.args, *more))))
