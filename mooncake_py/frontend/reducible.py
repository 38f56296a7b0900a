"""Loops with one entry.

The later stages reverse loops that are entered at one block. Code that CPython compiles has no others, but a function
that resumes in the middle of a loop does. A cycle that is entered at several blocks gets a new one, through which all
edges to them go; a variable says where each of them leads.
"""

from __future__ import annotations

import operator

from mooncake_py.frontend.ssa import Draft, Link, SSABuilder
from mooncake_py.ir.nodes import NO_POS, Const


def make_reducible(builder: SSABuilder) -> None:
    """Give every cycle of the builder's blocks one entry; before `finish`, when all edges are there."""
    nodes = {builder.entry: None}
    work = [builder.entry]
    while work:
        for link in work.pop().successors():
            if link.target not in nodes:
                nodes[link.target] = None
                work.append(link.target)
    _fix(builder, nodes)


def _fix(builder: SSABuilder, nodes: dict[Draft, None]) -> None:
    for cycle in _cycles(nodes):
        entries = [b for b in cycle if b is builder.entry or any(p.source not in cycle for p in b.preds)]
        if len(entries) == 1:
            header = entries[0]
        else:
            header, added = _one_entry(builder, entries, cycle)
            cycle.update(added)
        del cycle[header]
        _fix(builder, cycle)


def _one_entry(builder: SSABuilder, entries: list[Draft], cycle: dict[Draft, None]) -> tuple[Draft, dict[Draft, None]]:
    """The block through which the entries are reached, and the new blocks of the cycle."""
    header = builder.new_block()
    key = ("route", header)
    added: dict[Draft, None] = {header: None}
    for i, entry in enumerate(entries):
        links, entry.preds = entry.preds, []
        for link in links:
            via = builder.new_block()
            if link.source in cycle:
                added[via] = None
            _redirect(link, via)
            builder.write(via, key, Const(i))
            builder.goto(via, header)
    here = header
    for i, entry in enumerate(entries[:-1]):
        route = builder.read(header, key)
        taken = builder.fresh.var()
        here.stmts.append([taken, Const(operator.eq), (route, Const(i)), (), NO_POS])
        if i == len(entries) - 2:
            builder.branch(here, taken, entry, entries[-1])
        else:
            onward = builder.new_block()
            added[onward] = None
            builder.branch(here, taken, entry, onward)
            here = onward
    return header, added


def _redirect(link: Link, target: Draft) -> None:
    link.target = target
    target.preds.append(link)


def _cycles(nodes: dict[Draft, None]) -> list[dict[Draft, None]]:
    """The strongly connected components that hold a cycle (Tarjan 1972, without recursion)."""
    index: dict[Draft, int] = {}
    low: dict[Draft, int] = {}
    on_stack: set[Draft] = set()
    stack: list[Draft] = []
    found = []
    for root in nodes:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter([x.target for x in root.successors()]))]
        while work:
            block, targets = work[-1]
            for t in targets:
                if t not in nodes:
                    continue
                if t not in index:
                    index[t] = low[t] = len(index)
                    stack.append(t)
                    on_stack.add(t)
                    work.append((t, iter([x.target for x in t.successors()])))
                    break
                if t in on_stack:
                    low[block] = min(low[block], index[t])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[block])
                if low[block] == index[block]:
                    members: dict[Draft, None] = {}
                    while True:
                        b = stack.pop()
                        on_stack.discard(b)
                        members[b] = None
                        if b is block:
                            break
                    if len(members) > 1 or any(x.target is block for x in block.successors()):
                        found.append(dict(reversed(members.items())))
    return found
