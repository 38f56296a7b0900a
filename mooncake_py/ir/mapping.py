"""A function with its operands replaced."""

from __future__ import annotations

import operator
from collections.abc import Callable, Set

from mooncake_py.ir.nodes import (
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
    Try,
    Var,
)


def is_const(v: Operand, f: object) -> bool:
    """Is the operand this very object?"""
    return isinstance(v, Const) and v.value is f


def all_vars(fn: Function) -> list[Var]:
    """Every variable a function defines."""
    return [
        *fn.params,
        *fn.free,
        *(p for b in fn.blocks for p in b.params),
        *(s.out for b in fn.blocks for s in b.stmts),
    ]


def fresh_beside(fn: Function) -> Fresh:
    """Ids that a function does not use."""
    return Fresh(1 + max((v.id for v in all_vars(fn)), default=0), 1 + max(b.id for b in fn.blocks))


def map_call(s: Call, f: Callable[[Operand], Operand]) -> Call:
    """The statement with its operands replaced; itself where they stay."""
    fn, args, kwargs = f(s.fn), tuple(map(f, s.args)), tuple([(k, f(v)) for k, v in s.kwargs])
    if fn is s.fn and all(map(operator.is_, args, s.args)):
        if all([v is w for (_, v), (_, w) in zip(kwargs, s.kwargs, strict=True)]):
            return s
    return Call(s.out, fn, args, kwargs, s.pos)


def map_function(fn: Function, f: Callable[[Operand], Operand], dead: Set[Call] = frozenset()) -> Function:
    """The function with every operand replaced, and without the dead statements."""

    def edge(e: Edge) -> Edge:
        return Edge(e.target, tuple(map(f, e.args)))

    blocks = tuple(
        CFGBlock(
            b.id,
            b.params,
            tuple([map_call(s, f) for s in b.stmts if s not in dead]),
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
        case Try(body=a, handler=b):
            return Try(edge(a), edge(b), t.pos)
        case Return(value=v):
            return Return(f(v), t.pos)
        case Raise(exc=x, cause=y, reraise=r):
            return Raise(None if x is None else f(x), None if y is None else f(y), r, t.pos)
