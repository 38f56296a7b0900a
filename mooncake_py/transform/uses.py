"""How often every value of a builder's code is read."""

from __future__ import annotations

from collections.abc import Iterator

from mooncake_py.ir.builder import Builder, draft_edges
from mooncake_py.ir.nodes import Branch, ForNext, Operand, Raise, Return, Switch, Terminator


def read_by(t: Terminator | None) -> Iterator[Operand]:
    """What the terminator of a draft reads, arguments of its edges included."""
    match t:
        case Branch(cond=v) | Switch(value=v) | ForNext(iterator=v) | Return(value=v):
            yield v
        case Raise(exc=x, cause=y):
            yield from (v for v in (x, y) if v is not None)
    if t is not None:
        for e in draft_edges(t):
            yield from e.args


def count_uses(b: Builder) -> dict[Operand, int]:
    """Reads of every value, in statements and terminators."""
    count: dict[Operand, int] = {}
    for block in b.blocks:
        for s in (*block.head, *block.stmts):
            for v in s.operands():
                count[v] = count.get(v, 0) + 1
        for v in read_by(block.term):
            count[v] = count.get(v, 0) + 1
    return count
