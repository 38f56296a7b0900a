"""What is done to the primal before types are known: cells that are assigned once become plain values, functions
that are made and called on the spot (comprehensions, local lambdas) are taken in."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Set

from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.graph import dominators
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
    Raise,
    Return,
    Switch,
    Terminator,
    Var,
    edges,
    term_operands,
)


def prepare(fn: Function) -> Function:
    """The primal as inference wants it."""
    while (inlined := _inline_one(fn)) is not None:
        fn = inlined
    return _promote_cells(fn)


# -- inlining ---------------------------------------------------------------------------------------------


def _inline_one(fn: Function) -> Function | None:
    """Take in one function that is called where it is made and nowhere else, if there is one."""
    made = {s.out: s for b in fn.blocks for s in b.stmts if _is(s.fn, ops.make_function)}
    if not made:
        return None
    uses: dict[Var, int] = {}
    for b in fn.blocks:
        for s in b.stmts:
            for v in s.operands():
                if v in made:
                    uses[v] = uses.get(v, 0) + 1  # type: ignore[index,arg-type]
        for v in (*term_operands(b.term), *(b.handler.args if b.handler else ())):
            if v in made:
                uses[v] = uses.get(v, 0) + 2  # type: ignore[index,arg-type]
    for b in fn.blocks:
        if b.handler is not None:
            continue
        for i, s in enumerate(b.stmts):
            if s.fn in made and uses.get(s.fn) == 1:  # type: ignore[arg-type]
                site = made[s.fn]  # type: ignore[index]
                callee = _callee(site, s)
                if callee is not None:
                    return _splice(fn, b, i, *callee)
    return None


def _callee(site: Call, call: Call) -> tuple[Function, tuple[Operand, ...], Operand] | None:
    """The body and arguments of a call of a function that is simple enough to take in."""
    code = site.args[0]
    assert isinstance(code, Const) and isinstance(code.value, pytypes.CodeType)
    c = code.value
    if c.co_flags & 0x0C or c.co_kwonlyargcount or call.kwargs or len(call.args) != c.co_argcount:
        return None
    body = normalise(c)
    if body.kind != "function" or any(b.handler is not None for b in body.blocks):
        return None
    return body, call.args, site.args[4]


def _is(v: Operand, f: object) -> bool:
    return isinstance(v, Const) and v.value is f


def _splice(
    fn: Function, block: CFGBlock, at: int, body: Function, args: tuple[Operand, ...], closure: Operand
) -> Function:
    """`fn` with the call that is statement `at` of `block` replaced by the callee's blocks."""
    fresh = Fresh(
        1 + max(v.id for v in all_vars(fn)),
        1 + max(b.id for b in fn.blocks),
    )
    call = block.stmts[at]
    head: list[Call] = list(block.stmts[:at])
    names: dict[Var, Operand] = dict(zip(body.params, args, strict=True))
    for i, cell in enumerate(body.free):
        names[cell] = fresh.var(cell.name)
        head.append(Call(names[cell], Const(_operator_getitem), (closure, Const(i)), (), call.pos))  # type: ignore[arg-type]
    for b in body.blocks:
        for v in (*b.params, *(s.out for s in b.stmts)):
            names[v] = fresh.var(v.name)
    ids: dict[BlockId, BlockId] = {b.id: fresh.block() for b in body.blocks}
    after = fresh.block()

    def f(v: Operand) -> Operand:
        return names[v] if isinstance(v, Var) else v

    def edge(e: Edge) -> Edge:
        return Edge(ids[e.target], tuple(map(f, e.args)))

    def term(t: Terminator) -> Terminator:
        if isinstance(t, Return):
            return Goto(Edge(after, (f(t.value),)), t.pos)
        return map_terminator(t, f, edge)

    first = body.blocks[0]
    inner = [
        CFGBlock(
            ids[b.id],
            tuple(names[p] for p in b.params),  # type: ignore[misc]
            tuple(
                Call(names[s.out], f(s.fn), tuple(map(f, s.args)), tuple((k, f(v)) for k, v in s.kwargs), s.pos)  # type: ignore[arg-type]
                for s in b.stmts
            ),
            term(b.term),
        )
        for b in body.blocks
    ]
    out: list[CFGBlock] = []
    for b in fn.blocks:
        if b is not block:
            out.append(b)
            continue
        out.append(CFGBlock(b.id, b.params, tuple(head), Goto(Edge(ids[first.id]), call.pos), b.handler))
        out.extend(inner)
        out.append(CFGBlock(after, (call.out,), b.stmts[at + 1 :], b.term))
    return Function(fn.name, fn.filename, fn.params, fn.free, tuple(out), fn.kind, fn.firstline)


def _operator_getitem(cells: tuple, i: int) -> object:
    raise AssertionError("cells of an inlined closure are known")


def all_vars(fn: Function) -> list[Var]:
    """Every variable a function defines."""
    return [
        *fn.params,
        *fn.free,
        *(p for b in fn.blocks for p in b.params),
        *(s.out for b in fn.blocks for s in b.stmts),
    ]


# -- cells ------------------------------------------------------------------------------------------------


def _promote_cells(fn: Function) -> Function:
    """Reads of cells that have one value are that value."""
    defs = {s.out: (b, i, s) for b in fn.blocks for i, s in enumerate(b.stmts)}
    subst: dict[Var, Operand] = {}
    # The cells of an inlined closure are the items of the tuple it was made with.
    for out, (_, _, s) in defs.items():
        if _is(s.fn, _operator_getitem):
            whole = s.args[0]
            assert isinstance(whole, Var)
            tup = defs[whole][2]
            subst[out] = tup.args[s.args[1].value]  # type: ignore[union-attr]

    def find(v: Operand) -> Operand:
        while isinstance(v, Var) and v in subst:
            v = subst[v]
        return v

    sets: dict[Var, list[tuple[CFGBlock, int, Call]]] = {}
    escapes: set[Var] = set()
    gets: dict[Var, list[tuple[CFGBlock, int, Call]]] = {}
    for b in fn.blocks:
        for i, s in enumerate(b.stmts):
            for k, a in enumerate(s.operands()):
                v = find(a)
                if not isinstance(v, Var) or v not in defs or not _is(defs[v][2].fn, ops.make_cell):
                    continue
                if _is(s.fn, ops.cell_set) and k == 1:
                    sets.setdefault(v, []).append((b, i, s))
                elif _is(s.fn, ops.cell_get) and k == 1:
                    gets.setdefault(v, []).append((b, i, s))
                elif _is(s.fn, ops.build_tuple):
                    if _may_write(fn, s, k - 1, defs):
                        escapes.add(v)
                    gets.setdefault(v, []).append((b, i, s))
                elif not _is(s.fn, _operator_getitem):
                    escapes.add(v)
        for a in term_operands(b.term):
            v = find(a)
            if isinstance(v, Var) and v in defs and _is(defs[v][2].fn, ops.make_cell):
                escapes.add(v)
    idom = dominators(fn)

    def before(x: tuple[CFGBlock, int], y: tuple[CFGBlock, int]) -> bool:
        if x[0] is y[0]:
            return x[1] < y[1]
        node: BlockId | None = y[0].id
        while node is not None:
            if node == x[0].id:
                return True
            node = idom.get(node)
        return False

    dead: set[Call] = set()
    for cell, (b, i, s) in defs.items():
        if not _is(s.fn, ops.make_cell) or cell in escapes:
            continue
        written = sets.get(cell, [])
        initial = s.args[0]
        unbound = isinstance(initial, Const) and initial.value is ops.UNBOUND
        if len(written) == (1 if unbound else 0) and not _in_loop(fn, b):
            where = (written[0][0], written[0][1]) if unbound else (b, i)
            value = written[0][2].args[1] if unbound else initial
            if all(before(where, (gb, gi)) for gb, gi, _ in gets.get(cell, [])):
                for _, _, g in gets.get(cell, []):
                    if _is(g.fn, ops.cell_get):
                        subst[g.out] = value
                        dead.add(g)
    dead.update(s for _, _, s in defs.values() if _is(s.fn, _operator_getitem))
    if not subst:
        return fn
    return map_function(fn, find, dead)


def _in_loop(fn: Function, b: CFGBlock) -> bool:
    seen: set[BlockId] = set()
    by_id = {x.id: x for x in fn.blocks}
    work = [e.target for e in edges(b.term)]
    while work:
        t = work.pop()
        if t == b.id:
            return True
        if t not in seen:
            seen.add(t)
            work.extend(e.target for e in edges(by_id[t].term))
    return False


def _may_write(fn: Function, tup: Call, k: int, defs: dict[Var, tuple[CFGBlock, int, Call]]) -> bool:
    """Is the k-th cell of this closure tuple written by the function made with it (or is its use not seen)?"""
    for b in fn.blocks:
        for s in b.stmts:
            if any(v is tup.out for v in s.operands()):
                if _is(s.fn, _operator_getitem):
                    continue
                if not _is(s.fn, ops.make_function):
                    return True
                code = s.args[0]
                assert isinstance(code, Const)
                if writes_free(code.value, code.value.co_freevars[k]):
                    return True
    return False


def writes_free(code: pytypes.CodeType, name: str) -> bool:
    """Does this code, or code nested in it, assign the free variable?"""
    body = normalise(code)
    cell = next((v for v, n in zip(body.free, code.co_freevars, strict=True) if n == name), None)
    if cell is None:
        return False
    for b in body.blocks:
        for s in b.stmts:
            if (_is(s.fn, ops.cell_set) or _is(s.fn, ops.cell_delete)) and s.args[0] is cell:
                return True
    return any(
        isinstance(k, pytypes.CodeType) and name in k.co_freevars and writes_free(k, name) for k in code.co_consts
    )


def map_function(fn: Function, f: Callable[[Operand], Operand], dead: Set[Call] = frozenset()) -> Function:
    """The function with every operand replaced, and without the dead statements."""

    def edge(e: Edge) -> Edge:
        return Edge(e.target, tuple(map(f, e.args)))

    blocks = tuple(
        CFGBlock(
            b.id,
            b.params,
            tuple(
                Call(s.out, f(s.fn), tuple(map(f, s.args)), tuple((k, f(v)) for k, v in s.kwargs), s.pos)
                for s in b.stmts
                if s not in dead
            ),
            map_terminator(b.term, f, edge),
            None if b.handler is None else edge(b.handler),
        )
        for b in fn.blocks
    )
    return Function(fn.name, fn.filename, fn.params, fn.free, blocks, fn.kind, fn.firstline)


def map_terminator(t: Terminator, f: Callable[[Operand], Operand], edge: Callable[[Edge], Edge]) -> Terminator:
    """The terminator with operands and edges replaced."""
    match t:
        case Goto(edge=e):
            return Goto(edge(e), t.pos)
        case Branch(cond=c, then=a, orelse=b):
            return Branch(f(c), edge(a), edge(b), t.pos)
        case ForNext(iterator=it, body=a, done=b):
            return ForNext(f(it), edge(a), edge(b), t.pos)
        case Switch(value=v, cases=cases, default=d):
            return Switch(f(v), tuple((i, edge(e)) for i, e in cases), edge(d), t.pos)
        case Return(value=v):
            return Return(f(v), t.pos)
        case Raise(exc=x, cause=y, reraise=r):
            return Raise(None if x is None else f(x), None if y is None else f(y), r, t.pos)
