"""How often every value of a builder's code is read."""

from __future__ import annotations

from collections import Counter

from mooncake_py.ir.builder import Builder
from mooncake_py.ir.nodes import Const, Operand, Terminator, term_operands


def read_by(t: Terminator | None) -> list[Operand]:
    """What the terminator of a draft reads, arguments of its edges included."""
    return [] if t is None else term_operands(t)


def count_uses(b: Builder) -> dict[Operand, int]:
    """Reads of every value, in statements and terminators; of what is called only where it is one."""
    read: list[Operand] = []
    for block in b.blocks:
        for s in (*block.head, *block.stmts):
            read += s.args if type(s.fn) is Const and not s.kwargs else s.operands()
        read += read_by(block.term)
    return Counter(read)
