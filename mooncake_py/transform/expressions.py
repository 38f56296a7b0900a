"""Generators that one call uses up are made right before that call.

`sum((w * x for w in ws), start())` makes one, and computes `start()` before anything asks for an item. Making it runs
nothing of it, so it may as well be made after that: what stands together is seen to belong together, and a list of the
items that is put in its place is made when Python would make them.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import CO_GENERATOR
from types import CodeType

from mooncake_py.ir import ops
from mooncake_py.ir.graph import predecessors, use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, CFGBlock, Const, Function, Goto, Operand


def before_use(fn: Function) -> Function:
    """The function with every generator expression that one statement on its way gets, and nothing else, before it."""
    if not fn.calls(ops.make_function):
        return fn
    functions = {s.out for b in fn.blocks for s in b.stmts if is_const(s.fn, ops.make_function) and _makes(s.args[0])}
    if not functions:
        return fn
    counts = use_counts(fn)
    made = {s.out: (b, s) for b in fn.blocks for s in b.stmts if s.fn in functions and counts.get(s.out) == 1}
    for last in fn.blocks:
        for i, use in enumerate(last.stmts):
            for v in use.operands():
                if v in made:
                    first, s = made[v]
                    nearest = last.stmts[i - 1] if i else None
                    if s is not nearest and in_line(fn, first, last):
                        fn = put_before_use(fn, s)
    return fn


def put_before_use(fn: Function, made: Call) -> Function:
    """The function with a statement, that runs nothing, right before the only one that uses it."""

    def moved(b: CFGBlock) -> CFGBlock:
        if made not in b.stmts and not any(made.out in s.operands() for s in b.stmts):
            return b
        stmts = [s for s in b.stmts if s is not made]
        at = next((i for i, s in enumerate(stmts) if made.out in s.operands()), None)
        return replace(b, stmts=tuple(stmts if at is None else [*stmts[:at], made, *stmts[at:]]))

    return replace(fn, blocks=tuple(map(moved, fn.blocks)))


def in_line(fn: Function, first: CFGBlock, last: CFGBlock) -> list[Call]:
    """The statements of the blocks from one to another that nothing comes between; none if it is not so."""
    if first.id == last.id:
        return list(first.stmts)
    by_id, preds = {b.id: b for b in fn.blocks}, predecessors(fn)
    stmts = list(first.stmts)
    for _ in fn.blocks:
        if not isinstance(first.term, Goto) or len(preds[first.term.edge.target]) > 1:
            break
        first = by_id[first.term.edge.target]
        stmts += first.stmts
        if first.id == last.id:
            return stmts
    return []


def _makes(code: Operand) -> bool:
    """Does code make generators, as an expression?"""
    x = code.value if isinstance(code, Const) else None
    return isinstance(x, CodeType) and x.co_name == "<genexpr>" and bool(x.co_flags & CO_GENERATOR)
