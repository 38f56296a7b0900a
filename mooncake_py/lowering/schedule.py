"""Scheduling: statements in stack order, blocks in layout order, loops that keep their iterator on the stack.

The result, a `Plan`, still speaks of variables; `slots` gives them local slots, `emit` writes instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem

from mooncake_py.ir import graph, ops
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
    Operand,
    Raise,
    Return,
    Switch,
    Var,
    edges,
)
from mooncake_py.lowering.chains import Substitution, merged
from mooncake_py.lowering.native import UNPACKS, Sel, Selector, V, select_unpack, select_with


class Jump:
    """An edge: what to store (`moves`), whose iterator to push, how many iterators to drop.

    `first` is the parameter that takes the value already on the stack (an item, an exception), where there is
    one: `takes` says so, `first` is None when it is not read. `keeps`: it stays on the stack, the target begins
    with it there.
    """

    __slots__ = ("first", "keeps", "moves", "pops", "push", "takes", "target")

    def __init__(self, target: BlockId, takes: bool):
        self.target, self.takes = target, takes
        self.first: Var | None = None
        self.moves: list[tuple[Var, Operand]] = []
        self.push: Operand | None = None
        self.pops = 0
        self.keeps = False


class PBlock:
    """A block of the plan. The last of `sels` is the terminator's operands.

    `start[k]` is the first statement of the tree that ends in k; `kids[k]` are its operands that wait on the
    stack, as (index of the operand, statement).
    """

    __slots__ = ("arrives", "block", "depth", "handler", "id", "jumps", "kids", "on_stack", "sels", "start")

    def __init__(self, block: CFGBlock):
        self.block, self.id = block, block.id
        self.sels: list[Sel] = []
        self.start: list[int] = []
        self.kids: list[list[tuple[int, int]]] = []
        self.jumps: list[Jump] = []
        self.handler: Jump | None = None
        self.depth = 0  # iterators on the stack at its entry
        self.arrives = False  # begins with a value on the stack, the result of its first statement
        self.on_stack = False  # its ForNext finds the iterator on the stack


class Plan:
    __slots__ = ("blocks", "cells", "counts", "folded", "fn", "layout", "loop_depth", "unbound")

    def __init__(self, fn: Function):
        self.fn = fn
        self.blocks: dict[BlockId, PBlock] = {}
        self.layout: list[PBlock] = []
        self.counts: dict[Var, int] = {}
        self.folded: set[Var] = set()
        self.cells: set[Var] = set()
        self.unbound: set[Var] = set()
        self.loop_depth: dict[BlockId, int] = {}


def schedule(fn: Function) -> Plan:
    fn, subst = merged(fn)
    plan = Plan(fn)
    idom = graph.dominators(fn)
    found = graph.loops(fn)
    plan.loop_depth = graph.loop_depth(fn, found)
    by_id = graph.by_id(fn)
    order = [by_id[i] for i in idom]
    _make_jumps(plan, order, subst)
    _find_cells(plan, order, subst)
    items, dropped = _unpack_groups(fn, order)
    selector = Selector(fn, plan.cells, plan.unbound)
    if found:
        _iterators_on_stack(plan, found, subst)
    for p in plan.blocks.values():
        p.sels = _select(p.block.stmts, subst, selector, items, dropped)
        p.sels.append(_terminator(p, subst))
        if p.arrives:
            p.sels.insert(0, Sel(p.block.params[0], (), (), p.sels[0].pos, "arrived"))
    _count(plan)
    for p in plan.blocks.values():
        if type(p.block.term) is Goto:
            _order_moves(p, plan.counts)
        _fold(p, plan.counts, plan.folded)
    plan.layout = [plan.blocks[i] for i in _layout(order, found)]
    return plan


# -- edges --------------------------------------------------------------------------------------------------


def _make_jumps(plan: Plan, order: list[CFGBlock], subst: Substitution) -> None:
    """Jumps of every block; a parameter with one incoming edge is replaced by its argument."""
    incoming: dict[BlockId, int] = {b.id: 0 for b in order}
    raw: list[tuple[PBlock, list[tuple[Edge, bool]], Edge | None]] = []
    for b in order:
        p = plan.blocks[b.id] = PBlock(b)
        term = b.term
        if type(term) is ForNext:
            out = [(term.body, True), (term.done, False)]
        else:
            out = [(e, False) for e in edges(term)]
        for e, _ in out:
            incoming[e.target] += 1
        if b.handler is not None:
            incoming[b.handler.target] += 1
        raw.append((p, out, b.handler))
    for p, out, handler in raw:
        for e, takes in out:
            p.jumps.append(_jump(plan, e, takes, incoming, subst))
        if handler is not None:
            p.handler = _jump(plan, handler, True, incoming, subst)
    if subst:
        for p in plan.blocks.values():
            for j in (*p.jumps, p.handler) if p.handler is not None else p.jumps:
                j.moves = [(q, subst.get(a, a)) for q, a in j.moves]  # type: ignore[arg-type, union-attr]


def _jump(plan: Plan, e: Edge, takes: bool, incoming: dict[BlockId, int], subst: Substitution) -> Jump:
    j = Jump(e.target, takes)
    params = plan.blocks[e.target].block.params
    if takes:
        j.first, params = params[0], params[1:]
        j.keeps = plan.blocks[e.target].arrives = incoming[e.target] == 1
    if incoming[e.target] == 1:
        for q, a in zip(params, e.args, strict=True):
            subst[q] = subst.get(a, a)  # type: ignore[arg-type]
    elif params:
        j.moves = list(zip(params, e.args, strict=True))
    return j


def _find_cells(plan: Plan, order: list[CFGBlock], subst: Substitution) -> None:
    """Which variables certainly hold cells of this frame, and which may hold UNBOUND."""
    sources: dict[Var, list[Operand]] = {}
    seen_unbound = False
    for p in plan.blocks.values():
        for j in (*p.jumps, p.handler) if p.handler is not None else p.jumps:
            for q, a in j.moves:
                sources.setdefault(q, []).append(a)
                seen_unbound = seen_unbound or (type(a) is Const and a.value is ops.UNBOUND)
            if j.takes and j.first is not None:
                sources.setdefault(j.first, []).append(Const(None))
    if seen_unbound:
        unbound = plan.unbound
        changed = True
        while changed:
            size = len(unbound)
            for q, args in sources.items():
                if any(a in unbound or (type(a) is Const and a.value is ops.UNBOUND) for a in args):
                    unbound.add(q)
            changed = len(unbound) != size
    made = {
        s.out
        for b in order
        for s in b.stmts
        if type(s.fn) is Const and s.fn.value is ops.make_cell and subst.get(s.args[0], s.args[0]) not in plan.unbound
    }
    if not made and not plan.fn.free:
        return
    cells = plan.cells
    cells |= made
    cells.update(plan.fn.free)
    maybe = {q for q, args in sources.items() if all(type(a) is Var for a in args)}
    changed = True
    while changed:
        bad = {q for q in maybe if not all(a in cells or a in maybe for a in sources[q])}
        maybe -= bad
        changed = bool(bad)
    cells |= maybe


# -- statements -----------------------------------------------------------------------------------------------

Items = dict[Var, tuple[Var | None, ...]]


def _unpack_groups(fn: Function, order: list[CFGBlock]) -> tuple[Items, set[Var]]:
    """Unpacked tuples that are only read item by item: those items, and the statements that read them.

    Reading a tuple is pure, so the items may be taken where the tuple is made.
    """
    sizes: dict[Var, int] = {}
    for b in order:
        for s in b.stmts:
            if type(s.fn) is Const and id(s.fn.value) in UNPACKS:
                sel = select_unpack(s, s.args)
                if sel is not None:
                    sizes[s.out] = sel.data
    if not sizes:
        return {}, set()
    counts = graph.use_counts(fn)
    items: dict[Var, list[Var | None]] = {}
    for b in order:
        for s in b.stmts:
            if type(s.fn) is Const and s.fn.value is getitem and s.args[0] in sizes:
                index, n = s.args[1], sizes[s.args[0]]  # type: ignore[index]
                if type(index) is Const and type(index.value) is int and 0 <= index.value < n:
                    outs = items.setdefault(s.args[0], [None] * n)  # type: ignore[arg-type]
                    if outs[index.value] is None:
                        outs[index.value] = s.out
                        counts[s.args[0]] -= 1  # type: ignore[index]
    grouped = {v: tuple(items.get(v, [None] * n)) for v, n in sizes.items() if not counts.get(v)}
    return grouped, {x for outs in grouped.values() for x in outs if x is not None}


def _select(
    stmts: tuple[Call, ...], subst: Substitution, selector: Selector, items: Items, dropped: set[Var]
) -> list[Sel]:
    out: list[Sel] = []
    skip = 0
    for i, s in enumerate(stmts):
        if skip:
            skip -= 1
            continue
        if s.out in dropped:
            continue
        fn = s.fn
        if subst:
            s = _resolved(s, subst)
        if s.out in items:
            sel = select_unpack(s, s.args)
            assert sel is not None
            sel.outs = items[s.out]
            out.append(sel)
        elif type(fn) is Const and fn.value is ops.load_special and _enters(stmts[i : i + 3], selector.uses):
            out.append(select_with(s, stmts[i + 1], stmts[i + 2]))
            skip = 2
        else:
            out.append(selector.select(s))
    return out


def _enters(three: tuple[Call, ...], uses: Callable[[Var], int]) -> bool:
    """Is this what `with` begins with?"""
    if len(three) < 3 or uses(three[0].out) != 1:
        return False
    enter, exit, call = three
    return (
        type(exit.fn) is Const
        and exit.fn.value is ops.load_special
        and exit.args[0] is enter.args[0]
        and [x.value for x in (enter.args[1], exit.args[1]) if type(x) is Const] == ["__enter__", "__exit__"]
        and call.fn is enter.out
        and not call.args
        and not call.kwargs
    )


def _resolved(s: Call, subst: Substitution) -> Call:
    for x in s.operands():
        if x in subst:
            break
    else:
        return s
    args = tuple([subst.get(a, a) for a in s.args])  # type: ignore[arg-type]
    kwargs = tuple([(k, subst.get(a, a)) for k, a in s.kwargs])  # type: ignore[arg-type]
    return Call(s.out, subst.get(s.fn, s.fn), args, kwargs, s.pos)  # type: ignore[arg-type]


def _terminator(p: PBlock, subst: Substitution) -> Sel:
    """The operands a terminator takes from the stack; those of a Goto are found later."""
    t = p.block.term
    found: tuple[Operand, ...] = ()
    if type(t) is Branch:
        found = (t.cond,)
    elif type(t) is Return or (type(t) is Switch and len(t.cases) == 1):
        found = (t.value,)
    elif type(t) is Switch:
        value = subst.get(t.value, t.value)  # type: ignore[arg-type]
        return Sel(None, (), (), t.pos, "end", reads=(value,) if type(value) is Var else ())
    elif type(t) is ForNext:
        found = () if p.on_stack else (t.iterator,)
    elif type(t) is Raise:
        found = tuple([x for x in (t.exc, t.cause) if x is not None])
    if subst:
        found = tuple([subst.get(x, x) for x in found])  # type: ignore[arg-type]
    return Sel(None, found, (), t.pos, "end")


def _iterators_on_stack(plan: Plan, found: dict[BlockId, set[BlockId]], subst: Substitution) -> None:
    """Let a loop headed by a ForNext keep its iterator on the stack, as CPython's compiler does.

    Whoever enters the loop pushes the iterator; whoever leaves it other than by exhaustion drops it.
    """
    base: dict[BlockId, list[BlockId]] = {i: [] for i in plan.blocks}
    for header, body in found.items():
        p = plan.blocks[header]
        t = p.block.term
        if type(t) is not ForNext or t.body.target not in body or t.done.target in body:
            continue
        iterator = subst.get(t.iterator, t.iterator)  # type: ignore[arg-type]
        if iterator in p.block.params or any(_defines(plan.blocks[i].block, iterator) for i in body):
            continue
        p.on_stack = True
        for i in body:
            base[i].append(header)
    for p in plan.blocks.values():
        p.depth = len(base[p.id])
    for p in plan.blocks.values():
        mine = base[p.id]
        for j in p.jumps if p.handler is None else (*p.jumps, p.handler):
            theirs = base[j.target]
            j.pops = sum(1 for h in mine if h not in theirs)
            if theirs and theirs[-1] == j.target and j.target not in mine:
                header_term = plan.blocks[j.target].block.term
                assert type(header_term) is ForNext
                j.push = subst.get(header_term.iterator, header_term.iterator)  # type: ignore[arg-type]
    for header in found:
        p = plan.blocks[header]
        if p.on_stack:
            p.jumps[1].pops -= 1  # exhaustion drops the iterator itself


def _defines(block: CFGBlock, x: Operand) -> bool:
    return x in block.params or any(s.out is x for s in block.stmts)


# -- uses -------------------------------------------------------------------------------------------------------


def _count(plan: Plan) -> None:
    """Use counts. A parameter nobody reads gets no moves, and does not count as a reader of its arguments."""
    counts = plan.counts
    get = counts.get
    sources: dict[Var, list[Operand]] = {}
    jumps = [j for p in plan.blocks.values() for j in (p.jumps if p.handler is None else (*p.jumps, p.handler))]
    for p in plan.blocks.values():
        for sel in p.sels:
            for x in sel.operands:
                if type(x) is Var:
                    counts[x] = get(x, 0) + 1
            for x in sel.reads:
                counts[x] = get(x, 0) + 1
    for j in jumps:
        for q, a in j.moves:
            sources.setdefault(q, []).append(a)
        if type(j.push) is Var:
            counts[j.push] = get(j.push, 0) + 1
    live = [q for q in sources if q in counts]
    done = set(live)
    while live:
        for a in sources[live.pop()]:
            if type(a) is Var:
                counts[a] = get(a, 0) + 1
                if a in sources and a not in done:
                    done.add(a)
                    live.append(a)
    for j in jumps:
        if j.moves:
            j.moves = [m for m in j.moves if m[0] in counts]
        if j.first is not None and j.first not in counts:
            j.first = None


# -- folding ----------------------------------------------------------------------------------------------------


def _order_moves(p: PBlock, counts: dict[Var, int]) -> None:
    """The moves of a Goto as operands of its terminator: what is there already, then what is computed, in order."""
    j = p.jumps[0]
    if not j.moves and j.push is None:
        return
    if len(j.moves) > 1:
        last = len(p.sels)
        place = {sel.out: i if counts.get(sel.out) == 1 else last for i, sel in enumerate(p.sels) if sel.out is not None}
        elsewhere = last if p.arrives and counts.get(p.sels[0].out) == 1 else -1  # type: ignore[arg-type]
        j.moves.sort(key=lambda m: place.get(m[1], elsewhere))  # type: ignore[call-overload]
    end = p.sels[-1]
    end.operands = tuple([a for _, a in j.moves]) if j.push is None else (j.push, *[a for _, a in j.moves])


def _fold(p: PBlock, counts: dict[Var, int], folded: set[Var]) -> None:
    """Decide which values wait on the stack for their consumer.

    A value may wait when it is read once (or twice side by side), and everything computed between its
    definition and its consumer leaves the stack as it was, so that order of evaluation is kept, and is not
    itself a value that could wait for a later consumer. `start[k]` is
    the first statement of the tree that ends in k; statements inside that range that are not part of the tree
    run while values wait beneath them.
    """
    sels = p.sels
    position: dict[Var, int] = {}
    for i, sel in enumerate(sels):
        if sel.out is not None:
            position[sel.out] = i
        for x in sel.outs:
            if x is not None:
                position[x] = i
    consumer: dict[Operand, int] = {}
    for k, sel in enumerate(sels):
        for y in sel.operands:
            consumer[y] = k

    def waits(x: Var | None, k: int) -> bool:
        return x is not None and counts.get(x) == 1 and consumer.get(x, 0) > k

    start: list[int] = []
    kids: list[list[tuple[int, int]]] = []
    for k, sel in enumerate(sels):
        j = k - 1
        operands = sel.operands
        mine: list[tuple[int, int]] = []
        i = len(operands)
        while i > 0:
            i -= 1
            x = operands[i]
            if type(x) is not Var:
                continue
            d = position.get(x)
            if d is None or d > j or sels[d].kind in _STORED:
                continue
            n = counts[x]
            if n != 1 and not (n == 2 and i > 0 and operands[i - 1] is x):
                continue
            m = j
            while m > d and not waits(sels[m].out, k):
                m = start[m] - 1
            if m != d:
                continue
            if n == 2:
                i -= 1
            begin = start[d]
            if p.arrives and begin == 0 and not _comes_first(sel, sels[d], i):
                continue
            for y in operands[:i]:
                if type(y) is Var and position.get(y, -1) >= begin:
                    break
            else:
                mine.append((i, d))
                folded.add(x)
                j = begin - 1
        start.append(j + 1)
        mine.reverse()
        kids.append(mine)
    p.start, p.kids = start, kids


def _comes_first(sel: Sel, operand: Sel, i: int) -> bool:
    """May what has been on the stack since the block began become operand i of `sel`?"""
    if i > 0:
        return False
    if sel.kind != "call" or not V.NULL_FIRST:
        return True
    return operand.kind == "getattr" and sel.seq[0][0] != "CALL_FUNCTION_EX"


_STORED = frozenset(("unpack", "make_cell"))  # kinds whose results always go to slots


# -- layout -----------------------------------------------------------------------------------------------------


def _layout(order: list[CFGBlock], found: dict[BlockId, set[BlockId]]) -> list[BlockId]:
    """Depth-first order that keeps loops together: what leaves a loop is visited first, so it is placed last.

    Then the likely successor falls through: a handler or a block that raises is the unlikely one.
    """
    raising = {b.id for b in order if type(b.term) is Raise}
    around: dict[BlockId, list[set[BlockId]]] = {b.id: [] for b in order}
    for body in found.values():
        for i in body:
            around[i].append(body)

    def successors(b: CFGBlock) -> list[BlockId]:
        plain = graph.successors(b)
        if len(plain) < 2:
            return list(plain)
        handler = None if b.handler is None else len(plain) - 1
        mine = around[b.id]
        ranked = sorted(
            (-sum(1 for body in mine if s not in body), i != handler, s not in raising, -i, s)
            for i, s in enumerate(plain)
        )
        return [r[-1] for r in ranked]

    succs = {b.id: successors(b) for b in order}
    entry = order[0].id
    seen = {entry}
    post: list[BlockId] = []
    stack = [(entry, iter(succs[entry]))]
    while stack:
        node, it = stack[-1]
        for s in it:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(succs[s])))
                break
        else:
            stack.pop()
            post.append(node)
    post.reverse()
    return post
