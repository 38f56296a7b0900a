"""What a loop of the pullback asks for each time round, and gets the same: it is asked for before the loop."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import replace

from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import Call, Const, Goto, Operand, Var
from mooncake_py.registry import undoes
from mooncake_py.transform import helpers
from mooncake_py.transform.effects import function_of, harmless

_WRITES = frozenset({operator.setitem, operator.iadd, operator.isub})  # into the array, which stays the shadow's


def hoist(b: Builder) -> None:
    """Ask for the dense array of a shadow before a loop in which nothing can give the shadow another one.

    Where no round comes to that, the array may never have been made: then there is nothing to ask.
    The blocks are those that can be reached, in reverse postorder.
    """
    subst: dict[Var, Operand] = {}
    for header, body in _loops(b.blocks):
        before = [p for p, _ in header.preds if p not in body]
        stmts = [s for block in body for s in (*block.head, *block.stmts)]
        if len(before) != 1 or type(before[0].term) is not Goto or not all(map(_keeps_shadows, stmts)):
            continue
        inside: set[Operand] = {s.out for s in stmts}
        for block in body:
            inside.update(block.params)
        first: dict[Operand, Call] = {}
        for s in stmts:
            if _asks(s) and s.args[0] not in inside:
                subst[s.out] = first.setdefault(s.args[0], s).out
        before[0].stmts += [replace(s, fn=Const(helpers.dense_if_made)) for s in first.values()]
        for block in body:
            block.stmts = [s for s in block.stmts if s.out not in subst]
    b.apply({v: x for v, x in subst.items() if v is not x})


def _asks(s: Call) -> bool:
    return function_of(s) is helpers.shadow_dense


def _keeps_shadows(s: Call) -> bool:
    f = function_of(s)
    return _asks(s) or f in _WRITES or f in undoes or harmless(s)


def _loops(blocks: list[Draft]) -> Iterator[tuple[Draft, list[Draft]]]:
    """The loops, outer ones first: header and blocks, in their order. The control flow is reducible."""
    place = {block: i for i, block in enumerate(blocks)}
    for header in blocks:
        work = [p for p, _ in header.preds if place.get(p, -1) >= place[header]]
        if not work:
            continue
        body = {header}
        while work:
            block = work.pop()
            if block not in body:
                body.add(block)
                work += [p for p, _ in block.preds if p in place]
        yield header, sorted(body, key=place.__getitem__)
