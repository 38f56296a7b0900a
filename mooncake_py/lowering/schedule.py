"""Scheduling: statements in stack order, blocks in layout order, loops that keep their iterator on the stack.

The result, a `Plan`, still speaks of variables; `slots` gives them local slots, `emit` writes instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import getitem
from typing import Any

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
    term_operands,
)
from mooncake_py.lowering.chains import Substitution, merged
from mooncake_py.lowering.folding import count_uses, fold, order_moves
from mooncake_py.lowering.layout import layout
from mooncake_py.lowering.native import UNPACKS, Sel, Selector, select_unpack, select_with
from mooncake_py.lowering.plan import Jump, PBlock, Plan


def schedule(fn: Function, folding: bool = True) -> Plan:
    fn, subst = merged(fn)
    plan = Plan(fn)
    idom = graph.dominators(fn)
    found = graph.loops(fn, idom)
    plan.loop_depth = graph.loop_depth(fn, found)
    by_id = graph.by_id(fn)
    order = [by_id[i] for i in idom]
    callees = {id(s.fn.value) for b in order for s in b.stmts if type(s.fn) is Const}
    _make_jumps(plan, order, subst)
    _find_unbound(plan)
    if id(ops.make_cell) in callees or fn.free:
        _find_cells(plan, order, subst)
    items, dropped = ({}, set()) if callees.isdisjoint(UNPACKS) else _unpack_groups(order)
    selector = Selector(fn, plan.cells, plan.unbound)
    if found:
        _iterators_on_stack(plan, found, subst)
    for p in plan.blocks.values():
        p.sels = _select(p.block.stmts, subst, selector, items, dropped)
        p.sels.append(_terminator(p, subst))
        if p.arrives:
            p.sels.insert(0, Sel(p.block.params[0], (), (), p.sels[0].pos, "arrived"))
    count_uses(plan)
    for p in plan.blocks.values():
        if type(p.block.term) is Goto:
            order_moves(p, plan.counts)
        fold(p, plan.counts, plan.folded, folding)
    plan.layout = [plan.blocks[i] for i in layout(order, found)]
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
    for q, a in subst.items():  # what stands for a parameter may itself have been replaced since
        while a in subst:
            a = subst[a]
        subst[q] = a
    if subst:
        for p in plan.blocks.values():
            for j in (*p.jumps, p.handler) if p.handler is not None else p.jumps:
                j.moves = [(q, subst.get(a, a)) for q, a in j.moves]


def _jump(plan: Plan, e: Edge, takes: bool, incoming: dict[BlockId, int], subst: Substitution) -> Jump:
    j = Jump(e.target, takes)
    params = plan.blocks[e.target].block.params
    if takes:
        j.first, params = params[0], params[1:]
        j.keeps = plan.blocks[e.target].arrives = incoming[e.target] == 1
    if incoming[e.target] == 1:
        for q, a in zip(params, e.args, strict=True):
            subst[q] = subst.get(a, a)
    elif params:
        j.moves = list(zip(params, e.args, strict=True))
    return j


def _sources(plan: Plan) -> dict[Var, list[Operand]]:
    """What the parameters of blocks may be; what a terminator gives them itself is not in sight."""
    sources: dict[Var, list[Operand]] = {}
    for p in plan.blocks.values():
        for j in (*p.jumps, p.handler) if p.handler is not None else p.jumps:
            for q, a in j.moves:
                sources.setdefault(q, []).append(a)
            if j.takes and j.first is not None:
                sources.setdefault(j.first, []).append(Const(None))
    return sources


def _find_unbound(plan: Plan) -> None:
    """Which variables may hold UNBOUND."""
    jumps = [j for p in plan.blocks.values() for j in (p.jumps if p.handler is None else (*p.jumps, p.handler))]
    if not any([type(a) is Const and a.value is ops.UNBOUND for j in jumps for _, a in j.moves]):
        return
    sources, unbound = _sources(plan), plan.unbound
    changed = True
    while changed:
        size = len(unbound)
        for q, args in sources.items():
            if any(a in unbound or (type(a) is Const and a.value is ops.UNBOUND) for a in args):
                unbound.add(q)
        changed = len(unbound) != size


def _find_cells(plan: Plan, order: list[CFGBlock], subst: Substitution) -> None:
    """Which variables certainly hold cells of this frame."""
    made = {
        s.out
        for b in order
        for s in b.stmts
        if type(s.fn) is Const and s.fn.value is ops.make_cell and subst.get(s.args[0], s.args[0]) not in plan.unbound
    }
    if not made and not plan.fn.free:
        return
    sources, cells = _sources(plan), plan.cells
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


def _unpack_groups(order: list[CFGBlock]) -> tuple[Items, set[Var]]:
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
    counts = dict.fromkeys(sizes, 0)
    apart: Any = counts.keys().isdisjoint
    items: dict[Var, list[Var | None]] = {}
    for b in order:
        read = list(term_operands(b.term)) if b.handler is None else [*term_operands(b.term), *b.handler.args]
        for s in b.stmts:
            if apart(s.args) and not s.kwargs and s.fn not in sizes:
                continue
            read += s.operands()
            if type(s.fn) is Const and s.fn.value is getitem and s.args[0] in sizes:
                index, n = s.args[1], sizes[s.args[0]]
                if type(index) is Const and type(index.value) is int and 0 <= index.value < n:
                    outs = items.setdefault(s.args[0], [None] * n)
                    if outs[index.value] is None:
                        outs[index.value] = s.out
                        counts[s.args[0]] -= 1
        for x in read:
            if x in counts:
                counts[x] += 1
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
    if subst.keys().isdisjoint(s.args) and s.fn not in subst and not s.kwargs:
        return s
    args = tuple([subst.get(a, a) for a in s.args])
    kwargs = tuple([(k, subst.get(a, a)) for k, a in s.kwargs])
    return Call(s.out, subst.get(s.fn, s.fn), args, kwargs, s.pos)


def _terminator(p: PBlock, subst: Substitution) -> Sel:
    """The operands a terminator takes from the stack; those of a Goto are found later."""
    t = p.block.term
    found: tuple[Operand, ...] = ()
    if type(t) is Branch:
        found = (t.cond,)
    elif type(t) is Return or (type(t) is Switch and len(t.cases) == 1):
        found = (t.value,)
    elif type(t) is Switch:
        value = subst.get(t.value, t.value)
        return Sel(None, (), (), t.pos, "end", reads=(value,) if type(value) is Var else ())
    elif type(t) is ForNext:
        found = () if p.on_stack else (t.iterator,)
    elif type(t) is Raise:
        found = tuple([x for x in (t.exc, t.cause) if x is not None])
    if subst:
        found = tuple([subst.get(x, x) for x in found])
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
        iterator = subst.get(t.iterator, t.iterator)
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
                j.push = subst.get(header_term.iterator, header_term.iterator)
    for header in found:
        p = plan.blocks[header]
        if p.on_stack:
            p.jumps[1].pops -= 1  # exhaustion drops the iterator itself


def _defines(block: CFGBlock, x: Operand) -> bool:
    return x in block.params or any(s.out is x for s in block.stmts)
