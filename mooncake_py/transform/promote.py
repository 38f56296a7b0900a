"""Closure cells that are assigned once are plain values."""

from __future__ import annotations

import types as pytypes

from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.graph import dominators
from mooncake_py.ir.mapping import is_const, map_function
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Function, Operand, Var, edges, term_operands
from mooncake_py.transform.splice import item_of_closure


def promote_cells(fn: Function) -> Function:
    """Reads of cells that have one value are that value."""
    if not any(type(s.fn) is Const and id(s.fn.value) in _CELLS for b in fn.blocks for s in b.stmts):
        return fn
    defs = {s.out: (b, i, s) for b in fn.blocks for i, s in enumerate(b.stmts)}
    subst: dict[Var, Operand] = {}
    # The cells of an inlined closure are the items of the tuple it was made with.
    for out, (_, _, s) in defs.items():
        if is_const(s.fn, item_of_closure):
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
    users: dict[Operand, list[Call]] = {out: [] for out, (_, _, s) in defs.items() if is_const(s.fn, ops.build_tuple)}
    for b in fn.blocks:
        for s in b.stmts:
            for v in s.operands():
                if v in users:
                    users[v].append(s)
    for b in fn.blocks:
        for i, s in enumerate(b.stmts):
            for k, a in enumerate(s.operands()):
                v = find(a)
                if not isinstance(v, Var) or v not in defs or not is_const(defs[v][2].fn, ops.make_cell):
                    continue
                if is_const(s.fn, ops.cell_set) and k == 1:
                    sets.setdefault(v, []).append((b, i, s))
                elif is_const(s.fn, ops.cell_get) and k == 1:
                    gets.setdefault(v, []).append((b, i, s))
                elif is_const(s.fn, ops.build_tuple):
                    if _may_write(users[s.out], k - 1):
                        escapes.add(v)
                    gets.setdefault(v, []).append((b, i, s))
                elif not is_const(s.fn, item_of_closure):
                    escapes.add(v)
        for a in term_operands(b.term):
            v = find(a)
            if isinstance(v, Var) and v in defs and is_const(defs[v][2].fn, ops.make_cell):
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
        if not is_const(s.fn, ops.make_cell) or cell in escapes:
            continue
        written = sets.get(cell, [])
        initial = s.args[0]
        unbound = isinstance(initial, Const) and initial.value is ops.UNBOUND
        if len(written) == (1 if unbound else 0) and not _in_loop(fn, b):
            where = (written[0][0], written[0][1]) if unbound else (b, i)
            value = written[0][2].args[1] if unbound else initial
            if all(before(where, (gb, gi)) for gb, gi, _ in gets.get(cell, [])):
                for _, _, g in gets.get(cell, []):
                    if is_const(g.fn, ops.cell_get):
                        subst[g.out] = value
                        dead.add(g)
    dead.update(s for _, _, s in defs.values() if is_const(s.fn, item_of_closure))
    if not subst:
        return fn
    return map_function(fn, find, dead)


_CELLS = {id(ops.make_cell), id(item_of_closure)}


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


def _may_write(users: list[Call], k: int) -> bool:
    """Is the k-th cell of a closure tuple written by a function made with it (or is its use not seen)?"""
    for s in users:
        if is_const(s.fn, item_of_closure):
            continue
        if not is_const(s.fn, ops.make_function):
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
            if (is_const(s.fn, ops.cell_set) or is_const(s.fn, ops.cell_delete)) and s.args[0] is cell:
                return True
    return any(
        isinstance(k, pytypes.CodeType) and name in k.co_freevars and writes_free(k, name) for k in code.co_consts
    )
