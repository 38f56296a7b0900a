"""Blocks and edges of a function that is being built."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from mooncake_py.ir.nodes import BlockId, Call, Operand, Terminator, Var, edges


class DraftEdge:
    """An edge whose arguments still grow; `first` is the parameter that `args[0]` belongs to."""

    __slots__ = ("args", "first", "target")

    def __init__(self, target: Draft, args: list[Operand]):
        self.target = target
        self.args = args
        self.first = 0


class Draft:
    """A block being built: statements are appended, `head` ones go before them all.

    `handler` is the edge of the Try that this block belongs to the body of. `idom` is a block on every way to here, not
    always the nearest, `depth` the number of blocks above it in that tree (negative: not known yet), `ended` the time
    when the first edge left it. Sets of blocks, a bit for each by its `number`: those that a run may have gone through
    `before` it, by what loops bring back in `ancestors` only.
    """

    __slots__ = (
        "ancestors",
        "before",
        "defs",
        "depth",
        "ended",
        "handler",
        "head",
        "id",
        "idom",
        "incomplete",
        "key_params",
        "number",
        "params",
        "preds",
        "sealed",
        "stmts",
        "term",
    )

    def __init__(self, id: BlockId, number: int, params: list[Var]):
        self.id = id
        self.number = number
        self.params = params
        self.head: list[Call] = []
        self.stmts: list[Call] = []
        self.term: Terminator | None = None
        self.preds: list[tuple[Draft, DraftEdge]] = []
        self.defs: dict[Hashable, Operand] = {}
        self.incomplete: list[tuple[Hashable, Var]] = []
        self.key_params: set[Var] = set()
        self.sealed = False
        self.handler: DraftEdge | None = None
        self.idom: Draft | None = None
        self.depth = -1
        self.ended = 0
        self.before = 0
        self.ancestors = 0


draft_edges: Callable[[Terminator], tuple[DraftEdge, ...]] = edges  # type: ignore[assignment]
"""The edges of a terminator that is still in a draft."""
