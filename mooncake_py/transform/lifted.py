"""Inner functions that become functions without cells: what is known of one, and the code that is made for it."""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    Fresh,
    Function,
    Operand,
    Return,
    Var,
    term_operands,
)
from mooncake_py.lowering import lower


@dataclass(slots=True)
class Inner:
    """A function made in this one: what made it, its body, and its cells in the order of its free variables.

    With a cache, `made` is what put that around it, and `memo` the dict that stands for it.
    """

    site: Call
    made: Operand
    memo: Var | None
    code: pytypes.CodeType
    body: Function
    cells: tuple[Operand, ...]
    defaults: tuple[Any, ...]


def with_memo(fn: Function, memo: Var, params: Sequence[Var], fresh: Fresh) -> Function:
    """The function that looks first what it has returned for these arguments, and notes what it returns."""
    pos = fn.entry.term.pos
    key, hit, found = fresh.var(), fresh.var(), fresh.var()
    blocks = Fresh(0, 1 + max(b.id for b in fn.blocks))
    start, back = blocks.block(), blocks.block()
    look = (
        Call(key, Const(ops.build_tuple), tuple(params), (), pos),
        Call(hit, Const(operator.contains), (memo, key), (), pos),
    )
    known = (Call(found, Const(operator.getitem), (memo, key), (), pos),)
    first = CFGBlock(start, (), look, Branch(hit, Edge(back), Edge(fn.entry.id), pos))
    again = CFGBlock(back, (), known, Return(found, pos))

    def noted(b: CFGBlock) -> CFGBlock:
        if not isinstance(b.term, Return):
            return b
        note = Call(fresh.var(), Const(operator.setitem), (memo, key, b.term.value), (), b.term.pos)
        return replace(b, stmts=(*b.stmts, note))

    return replace(fn, blocks=(first, again, *map(noted, fn.blocks)))


def with_captured(
    lifted: pytypes.FunctionType, f: Inner, extra: Sequence[Var], shared: Set[Operand]
) -> pytypes.CodeType:
    """Code of the lifted function as f was: one that captures what that is given first, of which some are cells."""
    fresh = Fresh()
    free = [fresh.var(x.name) for x in extra]
    params = tuple([fresh.var(v.name) for v in f.body.params])
    pos, out = f.body.entry.term.pos, fresh.var()
    pairs = zip(free, extra, strict=True)
    reads = [Call(fresh.var(), Const(ops.cell_get), (c, Const(c.name)), (), pos) for c, x in pairs if x not in shared]
    contents = dict(zip([c for c, x in zip(free, extra, strict=True) if x not in shared], reads, strict=True))
    first = [contents[c].out if c in contents else c for c in free]
    block = CFGBlock(
        fresh.block(), (), (*reads, Call(out, Const(lifted), (*first, *params), (), pos)), Return(out, pos)
    )
    whole = Function(f.body.name, f.body.filename, params, tuple(free), (block,), f.body.kind, f.body.firstline)
    return lower(whole, argnames=f.code.co_varnames[: f.code.co_argcount], qualname=f.code.co_qualname)


def makes_with(s: Call, cells: Operand) -> bool:
    """Does it make a function that captures these cells?"""
    return is_const(s.fn, ops.make_function) and s.args[4] is cells and cells not in s.args[:4]


def only_calls(code: pytypes.CodeType, k: int, f: Inner) -> bool:
    """Does code do no more with what its free variable k holds, the function f, than to call it?"""
    body = normalise(code)
    cell = body.free[k]
    stmts = [s for b in body.blocks for s in b.stmts]
    held = {s.out for s in stmts if is_const(s.fn, ops.cell_get) and s.args[0] is cell}
    for b in body.blocks:
        if not held.isdisjoint(term_operands(b.term)) or (b.handler and not held.isdisjoint(b.handler.args)):
            return False
    for s in stmts:
        if not held.isdisjoint((*s.args, *(v for _, v in s.kwargs))):
            return False
        if s.fn in held and (bound_to(f, s) is None or (s.kwargs and f.memo is not None)):
            return False
        if cell in s.args and s.out not in held:
            makers = [x for x in stmts if s.out in x.operands()]
            if not is_const(s.fn, ops.build_tuple) or not all(makes_with(x, s.out) for x in makers):
                return False
            if not all(only_calls(x.args[0].value, s.args.index(cell), f) for x in makers):  # type: ignore[union-attr]
                return False
    return True


def bound_to(f: Inner, call: Call) -> tuple[Operand, ...] | None:
    """The arguments of a call in the order of the parameters; None where they do not simply fit."""
    return in_order(f.code, f.defaults, call)


def in_order(code: pytypes.CodeType, defaults: tuple[Any, ...], call: Call) -> tuple[Operand, ...] | None:
    """The same by the code, and the default values, of a plain function."""
    n = code.co_argcount
    names = code.co_varnames[:n]
    args: list[Operand] = list(call.args)
    given = dict(call.kwargs)
    for i in range(len(args), n):
        if names[i] in given and i >= code.co_posonlyargcount:
            args.append(given.pop(names[i]))
        elif i >= n - len(defaults):
            args.append(Const(defaults[i - n + len(defaults)]))
        else:
            return None
    return tuple(args) if len(args) == n and not given else None
