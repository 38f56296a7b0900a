"""The plan of a function: its blocks as the scheduler arranged them, still in terms of variables."""

from __future__ import annotations

from mooncake_py.ir.nodes import BlockId, CFGBlock, Function, Operand, Var
from mooncake_py.lowering.native import Sel


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
    __slots__ = ("blocks", "cells", "counts", "fn", "folded", "layout", "loop_depth", "unbound")

    def __init__(self, fn: Function):
        self.fn = fn
        self.blocks: dict[BlockId, PBlock] = {}
        self.layout: list[PBlock] = []
        self.counts: dict[Var, int] = {}
        self.folded: set[Var] = set()
        self.cells: set[Var] = set()
        self.unbound: set[Var] = set()
        self.loop_depth: dict[BlockId, int] = {}
