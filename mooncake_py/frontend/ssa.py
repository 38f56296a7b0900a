"""SSA construction: blocks that read and write variables become blocks with parameters.

A variable is any hashable key. Reading one that a block does not write makes a *join* where the block has, or
may still get, several predecessors; what flows into the joins is read when all blocks are there, joins with one
value and joins nobody needs are removed, and what remains is pruned and minimal on reducible graphs. (After
Braun et al., "Simple and Efficient Construction of Static Single Assignment Form", with the arguments of joins
deferred: no recursion, so long functions are no danger.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from mooncake_py.ir import ops
from mooncake_py.ir.nodes import (
    NO_POS,
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Fresh,
    Goto,
    Operand,
    Pos,
    Raise,
    Return,
    Terminator,
    Var,
)

UNBOUND = Const(ops.UNBOUND)
CHECK_BOUND = Const(ops.check_bound)

Statement = list[Any]
"""A `Call` under construction: `[out, fn, args, kwargs, pos]`."""


class Link:
    """An edge under construction; `args` runs parallel to the joins of its target."""

    __slots__ = ("args", "source", "target")

    def __init__(self, source: Draft, target: Draft):
        self.source, self.target = source, target
        self.args: list[Operand] = []


class Draft:
    """A block under construction. `fixed` parameters get their value from the terminator, `joins` from edges."""

    __slots__ = ("defs", "fixed", "handler", "id", "joins", "links", "preds", "sealed", "stmts", "term")

    def __init__(self) -> None:
        self.id = BlockId(-1)
        self.fixed: list[Var] = []
        self.joins: list[Var] = []
        self.defs: dict[Hashable, Operand] = {}
        self.preds: list[Link] = []
        self.stmts: list[Statement] = []
        self.handler: Link | None = None
        self.links: tuple[Link, ...] = ()
        self.term: tuple[type, tuple[Any, ...], Pos] = (Raise, (None, None), NO_POS)
        self.sealed = False  # no predecessor will be added

    def successors(self) -> tuple[Link, ...]:
        return self.links if self.handler is None else (*self.links, self.handler)


def can_raise(fn: Operand) -> bool:
    """May a call of fn raise?"""
    return type(fn) is not Const or fn.value not in ops.NEVER_RAISES


class SSABuilder:
    """Builds blocks in any order; `finish` gives them in reverse postorder.

    Variables keep the last value written in a block, so a block that may raise must end (by a jump) right after
    the statement that raises: its handler sees the variables as they are at its end.
    """

    def __init__(self, fresh: Fresh):
        self.fresh = fresh
        self.joins: dict[Var, tuple[Draft, int, Hashable]] = {}
        self._checks: list[tuple[Draft, Statement]] = []
        self.entry = self.new_block()
        self.entry.sealed = True

    # -- blocks and variables --

    def new_block(self) -> Draft:
        return Draft()

    def seal(self, block: Draft) -> None:
        """Promise that `block` gets no more predecessors."""
        block.sealed = True

    def param(self, block: Draft, name: str | None = None) -> Var:
        """The item of a ForNext's body, or the exception of a handler."""
        var = self.fresh.var(name)
        block.fixed.append(var)
        return var

    def write(self, block: Draft, key: Hashable, value: Operand) -> None:
        block.defs[key] = value

    def read(self, block: Draft, key: Hashable, name: str | None = None) -> Operand:
        """The value of `key` at the end of `block` as it is now; UNBOUND where nothing was written."""
        found = block.defs.get(key)
        if found is not None:
            return found
        path = []
        while found is None:
            path.append(block)
            preds = block.preds
            if block.sealed and len(preds) == 1:
                block = preds[0].source
                found = block.defs.get(key)
            elif block.sealed and not preds:
                found = UNBOUND
            else:
                found = self.join(block, key, self.fresh.var(name))
        for b in path:
            b.defs[key] = found
        return found

    def join(self, block: Draft, key: Hashable, var: Var) -> Var:
        """The parameter `var` of a block, for what has been written for `key` where it comes from."""
        self.joins[var] = (block, len(block.joins), key)
        block.joins.append(var)
        return var

    def check_bound(self, block: Draft, value: Operand, name: str, pos: Pos) -> Var:
        """The value, checked not to be UNBOUND; `finish` drops the check where it cannot fail."""
        out = self.fresh.var(name)
        stmt = [out, CHECK_BOUND, (value, Const(name)), (), pos]
        block.stmts.append(stmt)
        self._checks.append((block, stmt))
        return out

    # -- terminators --

    def _end(self, block: Draft, kind: type, operands: tuple[Any, ...], targets: tuple[Draft, ...], pos: Pos) -> None:
        block.term = (kind, operands, pos)
        links = []
        for target in targets:
            link = Link(block, target)
            target.preds.append(link)
            links.append(link)
        block.links = tuple(links)

    def goto(self, block: Draft, target: Draft, pos: Pos = NO_POS) -> None:
        self._end(block, Goto, (), (target,), pos)

    def branch(self, block: Draft, cond: Operand, then: Draft, orelse: Draft, pos: Pos = NO_POS) -> None:
        self._end(block, Branch, (cond,), (then, orelse), pos)

    def for_next(self, block: Draft, iterator: Operand, body: Draft, done: Draft, pos: Pos = NO_POS) -> None:
        """`body` has one `param`, the item, and no other predecessor."""
        self._end(block, ForNext, (iterator,), (body, done), pos)

    def ret(self, block: Draft, value: Operand, pos: Pos = NO_POS) -> None:
        self._end(block, Return, (value,), (), pos)

    def raise_(
        self, block: Draft, exc: Operand | None, cause: Operand | None, reraise: bool = False, pos: Pos = NO_POS
    ) -> None:
        self._end(block, Raise, (exc, cause, reraise), (), pos)

    def on_exception(self, block: Draft, handler: Draft) -> None:
        """Where an exception of the block's last statement or terminator goes; `handler` has one `param`."""
        block.handler = Link(block, handler)
        handler.preds.append(block.handler)

    # -- the end --

    def finish(self) -> tuple[CFGBlock, ...]:
        """The reachable blocks, in reverse postorder."""
        self._drop_unreachable()
        self._resolve()
        replaced = self._drop_checks()
        self._drop_trivial(replaced)
        final = {v: _find(replaced, v) for v in replaced}
        self._thread(final)
        order = self._merge_chains()
        for block in order:
            block.id = self.fresh.block()
        live = self._live(order, final)
        blocks = tuple([_build(b, live, final) for b in order])
        for block in order:  # blocks refer to each other: what is let go here need not be found by the collector
            block.preds, block.links, block.handler = [], (), None
        return blocks

    def _drop_unreachable(self) -> None:
        reached = {self.entry}
        work = [self.entry]
        while work:
            for link in work.pop().successors():
                if link.target not in reached:
                    reached.add(link.target)
                    work.append(link.target)
        for block in reached:
            block.sealed = True
            if any(link.source not in reached for link in block.preds):
                block.preds = [link for link in block.preds if link.source in reached]
        gone = [var for var, (block, _, _) in self.joins.items() if block not in reached]
        for var in gone:
            del self.joins[var]

    def _resolve(self) -> None:
        """Read what flows into every join; that may make further joins."""
        work = list(self.joins.items())
        done = 0
        while done < len(work):
            for var, (block, _, key) in work[done:]:
                for link in block.preds:
                    link.args.append(self.read(link.source, key, var.name))
            done = len(work)
            if len(self.joins) != done:
                work = list(self.joins.items())

    def _drop_checks(self) -> dict[Var, Operand]:
        """Remove the bound checks of values that are never UNBOUND: `{out of the check: value}`."""
        replaced: dict[Var, Operand] = {}
        if not self._checks:
            return replaced
        flows: dict[Operand, list[Var]] = {}
        suspects: set[Operand] = {UNBOUND}
        work: list[Operand] = []
        for var, (block, k, _) in self.joins.items():
            for link in block.preds:
                arg = link.args[k]
                if arg is UNBOUND:
                    if var not in suspects:
                        suspects.add(var)
                        work.append(var)
                elif arg in self.joins:
                    flows.setdefault(arg, []).append(var)
        while work:
            for var in flows.get(work.pop(), ()):
                if var not in suspects:
                    suspects.add(var)
                    work.append(var)
        pruned = False
        shorter: set[Draft] = set()
        for block, stmt in self._checks:
            value = stmt[2][0]
            if value in suspects:
                continue
            replaced[stmt[0]] = value
            stmt[1] = None
            shorter.add(block)
            if block.handler is not None:  # the check was the one statement that could raise
                block.handler.target.preds.remove(block.handler)
                block.handler = None
                pruned = True
        for block in shorter:
            block.stmts = [s for s in block.stmts if s[1] is not None]
        if pruned:
            self._drop_unreachable()
        return replaced

    def _drop_trivial(self, replaced: dict[Var, Operand]) -> None:
        """Replace joins whose arguments are all one value or the join itself."""
        rest = [(var, block, k) for var, (block, k, _) in self.joins.items()]
        rest.reverse()  # reading goes backwards, so this order sees definitions first
        changed = True
        while changed:
            changed = False
            kept = []
            for item in rest:
                var, block, k = item
                same: Operand | None = None
                for link in block.preds:
                    arg = link.args[k]
                    if arg in replaced:
                        arg = _find(replaced, arg)
                    if arg is var or arg is same:
                        continue
                    if same is not None and not (
                        type(arg) is Const and type(same) is Const and arg.value is same.value
                    ):
                        kept.append(item)
                        break
                    same = arg
                else:
                    assert same is not None, "a join without a value"
                    replaced[var] = same
                    changed = True
                    if type(same) is Var and same.name is None and not 0 <= same.id < self.fresh.first_var:
                        same.name = var.name  # those of another function, which may be in use, stay as they are
            rest = kept
        self.joins = {var: self.joins[var] for var, _, _ in rest}

    def _thread(self, final: dict[Var, Operand]) -> None:
        """Lead edges past blocks that only pass on: empty ones, and handlers that only raise again."""
        seen = {self.entry}
        work = [self.entry]
        while work:
            block = work.pop()
            while (link := block.handler) is not None and self._only_reraises(link.target, final):
                _lead_past_handler(block, link)
            for link in block.links[block.term[0] is ForNext :]:
                _lead_past_empty(block, link)
            for link in block.successors():
                if link.target not in seen:
                    seen.add(link.target)
                    work.append(link.target)

    def _only_reraises(self, handler: Draft, final: dict[Var, Operand]) -> bool:
        exc = handler.fixed[0]
        if handler.stmts or handler.term[:2] != (Raise, (exc, None, True)):
            return False
        if any(v not in final for v in handler.joins):
            return False
        outer = handler.handler
        return outer is None or (outer.target is not handler and all(_final(final, a) is not exc for a in outer.args))

    def _merge_chains(self) -> list[Draft]:
        """Join blocks to their only predecessor where that ends in a Goto; the rest in reverse postorder."""
        order: list[Draft] = []
        seen = {self.entry}
        stack = [(self.entry, self._absorb(self.entry))]
        while stack:
            block, successors = stack[-1]
            for link in successors:
                target = link.target
                if target not in seen:
                    seen.add(target)
                    stack.append((target, self._absorb(target)))
                    break
            else:
                order.append(block)
                stack.pop()
        order.reverse()
        return order

    def _absorb(self, block: Draft) -> Iterator[Link]:
        """Merge what follows `block` into it; its successors, last first (so that the first comes next in order)."""
        while block.term[0] is Goto:
            target = block.links[0].target
            if len(target.preds) != 1 or target is block or not _fits(block, target):
                break
            block.stmts.extend(target.stmts)
            block.term = target.term
            block.links = target.links
            block.handler = block.handler or target.handler
            for link in block.successors():
                link.source = block
            target.preds, target.links, target.handler = [], (), None
        return reversed(block.successors())

    def _live(self, order: list[Draft], final: dict[Var, Operand]) -> set[Operand]:
        """The joins that statements or terminators need, directly or through other joins."""
        joins = self.joins
        live: set[Operand] = set()
        if not joins:
            return live
        used: set[Operand] = set()
        for block in order:
            for _, fn, args, kwargs, _ in block.stmts:
                used.add(fn)
                used.update(args)
                for _, v in kwargs:
                    used.add(v)
            used.update(block.term[1])
        work = []
        for v in used:
            v = final.get(v, v)  # type: ignore[arg-type]
            if v in joins and v not in live:
                live.add(v)
                work.append(v)
        while work:
            block, k, _ = joins[work.pop()]
            for link in block.preds:
                v = link.args[k]
                v = final.get(v, v)  # type: ignore[arg-type]
                if v in joins and v not in live:
                    live.add(v)
                    work.append(v)
        return live


def _lead_past_handler(block: Draft, link: Link) -> None:
    """Send the exceptions of `block` where the handler that `link` leads to sends them."""
    handler = link.target
    handler.preds.remove(link)
    outer = handler.handler
    block.handler = None
    if outer is None:
        return
    block.handler = Link(block, outer.target)
    block.handler.args = list(outer.args)
    outer.target.preds.append(block.handler)
    if not handler.preds:
        outer.target.preds.remove(outer)


def _lead_past_empty(block: Draft, link: Link) -> None:
    """Skip empty blocks that only `link` enters, but never make two edges of `block` one."""
    while True:
        empty = link.target
        if empty.stmts or empty.term[0] is not Goto or len(empty.preds) != 1 or empty.handler is not None:
            return
        onward = empty.links[0]
        if any(other.target is onward.target for other in block.successors()):
            return
        preds = onward.target.preds
        preds[preds.index(onward)] = link
        link.target = onward.target
        link.args = onward.args
        empty.links = ()  # which refer to it


def _find(replaced: dict[Var, Operand], value: Operand) -> Operand:
    while (known := replaced.get(value)) is not None:  # type: ignore[arg-type]
        value = known
    return value


def _fits(block: Draft, target: Draft) -> bool:
    """May `target` be appended, given that a protected block holds one raising statement and holds it last?"""
    if block.handler is not None:
        return target.handler is None and not target.stmts and target.term[0] not in (ForNext, Raise)
    return target.handler is None or not any(can_raise(s[1]) for s in block.stmts)


def _build(block: Draft, live: set[Operand], final: dict[Var, Operand]) -> CFGBlock:
    stmts = []
    get: Any = final.get
    for out, fn, args, kwargs, pos in block.stmts:
        if final:
            fn = get(fn, fn)
            args = tuple([get(a, a) for a in args])
            if kwargs:
                kwargs = tuple([(k, get(a, a)) for k, a in kwargs])
        stmts.append(Call(out, fn, args, kwargs, pos))
    kept = [v for v in block.joins if v in live]
    handler = None if block.handler is None else _edge(block.handler, live, final)
    return CFGBlock(block.id, (*block.fixed, *kept), tuple(stmts), _terminator(block, live, final), handler)


def _terminator(block: Draft, live: set[Operand], final: dict[Var, Operand]) -> Terminator:
    kind, operands, pos = block.term
    operands = tuple([final.get(a, a) for a in operands])
    edges = [_edge(link, live, final) for link in block.links]
    return kind(*operands, *edges, pos=pos)


def _edge(link: Link, live: set[Operand], final: dict[Var, Operand]) -> Edge:
    joins = link.target.joins
    if not joins:
        return Edge(link.target.id)
    args = [_final(final, a) for p, a in zip(joins, link.args, strict=True) if p in live]
    return Edge(link.target.id, tuple(args))


def _final(final: dict[Var, Operand], value: Operand) -> Operand:
    return final.get(value, value)  # type: ignore[arg-type]
