"""The values of one code that may be, or be part of, what is outside, for `infer/outside_writes.py`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.held import DEEPEST
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, ForNext, Operand, Var, all_edges

if TYPE_CHECKING:
    from mooncake_py.infer.outside import Code, Walk

NEW_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, sorted, deque})
NEW_CONTAINERS |= {ops.build_list, ops.build_tuple, ops.build_map, ops.build_set}


def local_containers(c: Code, defs: dict[Var, Call]) -> set[Operand]:
    """Containers that this code makes, and variables that hold nothing else: what is put into them is found by them."""
    sources: dict[Var, list[Operand]] = {p: [] for b in c.body.blocks[1:] for p in b.params}
    params_of = {b.id: b.params for b in c.body.blocks}
    unknown: set[Operand] = set()
    for e in (e for b in c.body.blocks for e in all_edges(b)):
        params = params_of[e.target]
        if len(params) > len(e.args):  # an item, or an exception
            unknown.add(params[0])
            params = params[1:]
        for p, a in zip(params, e.args, strict=True):
            sources.setdefault(p, []).append(a)
    made = {v: c.known(s.fn, defs) for v, s in defs.items()}
    local: set[Operand] = {v for v, f in made.items() if hashable(f) and f in NEW_CONTAINERS}
    local |= sources.keys() - unknown - set(c.body.params)
    while True:
        other = {p for p, given in sources.items() if p in local and not all(_may_be(a, local) for a in given)}
        if not other:
            return local
        local -= other


def _may_be(a: Operand, local: set[Operand]) -> bool:
    return isinstance(a, Const) or a in local


class Tracks:
    """The values of one code that may be, or be part of, what is outside; `deep` ones may hold more than numbers.

    `own` ones may be outside themselves; others, which the code made, only hold such things.
    """

    def __init__(self, c: Code, walk: Walk, local: set[Operand]):
        self.outside: set[Operand] = {p for i, p in enumerate(c.body.params) if i in c.params}
        self.deep: set[Operand] = {p for i, p in enumerate(c.body.params) if i in c.params and i not in c.flat}
        self.own: set[Operand] = set(self.outside)
        self.nested: dict[Operand, int] = {}  # containers of containers of numbers and the like
        self.local = local
        if c.code.co_name == "__init__" and 0 not in c.params and "__init__" not in walk.names:
            self.local = local | {c.body.params[0]} if c.body.params else local  # which is made
        self.classes: set[Operand] = set()
        for i, p in enumerate(c.body.params):
            given = {(code, k) for code in (c.code, None) for k in (i, c.code.co_varnames[i])}
            if not walk.class_places.isdisjoint(given):
                self.classes.add(p)
        held = {cell: c.free[n] for cell, n in zip(c.body.free, c.code.co_freevars, strict=False) if n in c.free}
        self.held = held.keys()
        self.cells = {cell for cell, x in held.items() if walk.leads_to_data(x)}

    def size(self) -> int:
        return len(self.outside) + len(self.deep) + len(self.own) + len(self.classes)

    def add(self, v: Operand, flat: bool = False, own: bool = True) -> None:
        self.outside.add(v)
        if not flat:
            self.deep.add(v)
        if own:
            self.own.add(v)

    def add_container(self, v: Operand, nesting: int) -> None:
        """The same of what is such a container, or holds something else (`infer.held.nesting`)."""
        self.add(v, flat=nesting == 1)
        if 1 < nesting <= DEEPEST:
            self.nested[v] = nesting

    def put_into(self, v: Operand, by_operator: bool = False) -> None:
        """Something of what is followed is put into v; by an operator, which may also give a number for numbers."""
        if isinstance(v, Var):
            self.add(v, own=v not in self.local and not by_operator)

    def flow(
        self, params_of: dict[BlockId, tuple[Var, ...]], b: CFGBlock, raised: bool, known: Callable[[Operand], Any]
    ) -> None:
        """From the end of a block into those that follow it; has an exception been `raised` with what is followed?

        `known` tells what a name stands for, which is asked of classes: two of them may come to one variable.
        """
        for e in all_edges(b):
            params = params_of[e.target]
            if isinstance(b.term, ForNext) and e is b.term.body:
                if b.term.iterator in self.deep:
                    self.add(params[0])
                params = params[1:]
            elif e is b.handler:
                if raised:
                    self.add(params[0])
                params = params[1:]
            for p, a in zip(params, e.args, strict=True):
                if a in self.outside:
                    self.add(p, a not in self.deep, a in self.own)
                elif p in self.outside and a in self.local:  # one container, by the name that it had before
                    self.add(a, own=False)
                if a in self.classes or isinstance(known(a), type):
                    self.classes.add(p)
