"""From forward to reverse: what is captured, pushed or computed again, written into both functions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cached_property
from typing import Any

from mooncake_py.infer.types import TOP, Cell, Inst
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Call,
    Const,
    Operand,
    Return,
    Var,
    edges,
)
from mooncake_py.registry import pair_of_shapes
from mooncake_py.switches import Options
from mooncake_py.transform import helpers
from mooncake_py.transform.control import Control
from mooncake_py.transform.derived import Kept
from mooncake_py.transform.forward import ForwardAssembly
from mooncake_py.transform.keep import negatives, shapes_for_zeros
from mooncake_py.transform.recompute import recompute
from mooncake_py.transform.reverse import PullbackAssembly
from mooncake_py.transform.undo import SHADOWS


class Transfer:
    """What the reverse run names of the forward run, and how it gets there."""

    def __init__(self, control: Control, forward: ForwardAssembly, pullback: PullbackAssembly, options: Options):
        self.control, self.forward, self.pullback, self.options = control, forward, pullback, options
        self.info, self.p = forward.info, pullback.builder
        self.canonical, self.fresh, self.types = self.info.canonical, self.info.fresh, self.info.types
        self.home = forward.home
        self.again: list[Var] = []  # what is computed again

    def into_pullback(self, live: set[Operand]) -> None:
        head: list[Call] = []
        p = self.p
        pos = p.pos
        comms = p.comms

        def call(fn: Any, *args: Operand, out: Var | None = None) -> Var:
            v = self.fresh.var() if out is None else out
            head.append(Call(v, Const(fn), args, (), pos))
            return v

        zeros = [(out, v) for out, v in p.owned_zeros() if out in live]
        arrays = {v: self._captured(self._forward_name(v)) for _, v in zeros}
        needed = set(arrays.values())
        comms.captures = {v: x for v, x in comms.captures.items() if x in live or x in needed}
        comms.stacks = {u: {v: x for v, x in st.items() if x in live} for u, st in comms.stacks.items()}
        comms.stacks = {u: st for u, st in comms.stacks.items() if st}
        if self.options.recompute:
            shapes_for_zeros(p, self.types, self._shape_of)
        before = [v for stack in comms.stacks.values() for v in stack]
        again, once = self._recomputed() if self.options.recompute else ({}, [])
        stored = {v for stack in comms.stacks.values() for v in stack}
        self.again = [v for v in before if v not in stored]
        self.stack_ids = {u: self.fresh.var() for u in comms.stacks}
        signed = negatives(p, self.forward.builder, self.types, self._is_fixed) if self.options.recompute else []
        self.again += [v for v, _, _ in signed]
        names = list(comms.captures.values()) + list(self.stack_ids.values())
        if names:
            whole = call(ops.unpack, self.pullback.captures_in, Const(len(names)))
            for i, name in enumerate(names):
                call(operator.getitem, whole, Const(i), out=name)
        for _, name, x in signed:
            call(operator.neg, x, out=name)
        head += once
        for out, v in zeros:
            call(helpers.zeros_like, arrays[v], out=out)
        check = self.info.checks.comms(pos) if self.info.checks is not None else None
        pull = Const(ops.pull if check is None else check.pull)
        stacks: list[Operand] = []
        for u, stack in comms.stacks.items():
            stacks.append(call(ops.backwards, self.stack_ids[u]))
            p.start[u].head = [Call(x, pull, (stacks[-1],), (), pos) for x in reversed(stack.values())]
        for u, stmts in again.items():
            p.start[u].head += stmts
        if check is not None and stacks:
            for block in p.blocks:
                if isinstance(block.term, Return):
                    block.stmts.append(Call(self.fresh.var(), Const(check), tuple(stacks), (), pos))
        p.entry.head = head

    def _captured(self, v: Var) -> Var:
        """The name that a forward value has in the reverse run, even if it is computed again there in the end."""
        return self.p.comms.captures.setdefault(v, self.fresh.var(v.name))

    def _shape_of(self, v: Var) -> Var | None:
        """A forward statement that takes the shape of a value, as one of its block's last, if it is bound there."""
        if v in self._may_be_unbound:
            return None
        out = self.fresh.var()
        home = self.home[out] = self.home[v]
        self.forward.end[home].stmts.append(
            Call(out, Const(getattr), (v, Const("shape")), (), self.canonical.blocks[home].term.pos)
        )
        return out

    @cached_property
    def _may_be_unbound(self) -> set[Operand]:
        """The parameters of blocks that a variable of the user's which is not set yet may come to."""
        brought: dict[Operand, list[Var]] = {}  # what is brought to parameters, to which
        work: list[Operand] = []
        for b in self.canonical.fn.blocks:
            for e in edges(b.term):
                params = self.canonical.blocks[e.target].params
                for p, a in zip(params[len(params) - len(e.args) :], e.args, strict=True):
                    brought.setdefault(a, []).append(p)
                    if is_const(a, ops.UNBOUND):
                        work.append(p)
        found: set[Operand] = set()
        while work:
            if (v := work.pop()) not in found:
                found.add(v)
                work += brought.get(v, ())
        return found

    def _always_made(self, v: Var) -> bool:
        """Is this value made in every run that returns, and once?"""
        c = self.canonical
        home = self.home.get(v)
        return home is not None and c.exit is not None and c.loop_of[home] is None and c.dominates(home, c.exit)

    def may_change(self) -> Callable[[Operand], bool]:
        """Is this, in the pullback, a forward value that somebody writes to?"""
        comms = self.p.comms
        forward: dict[Operand, Var] = {x: v for t in (comms.captures, *comms.stacks.values()) for v, x in t.items()}
        primal = {f: v for v, f in self.info.f.items() if isinstance(f, Var)}
        shared = self.info.inferred.memory.is_shared
        return lambda x: x in forward and shared(primal.get(forward[x], forward[x]))

    def _is_fixed(self, v: Var) -> bool:
        """Is it made in every run that returns, once, and not written to by anybody?"""
        primal = next((x for x, f in self.info.f.items() if f is v), v)
        return self._always_made(v) and not self.info.inferred.memory.is_shared(primal)

    def _recomputed(self) -> tuple[dict[BlockId, list[Call]], list[Call]]:
        c = self.canonical
        p = self.p
        items: dict[Var, tuple[BlockId, Var]] = {}
        for v, h in p.items.items():
            # else the loop is not reversed, or the reverse may begin inside the body
            if h in self.pullback.item_names and all(source == h for source, _ in c.loops[h].landings):
                items[v] = h, self.pullback.item_names[h]

        def made_once(v: Var) -> bool:
            return v in self.home and c.loop_of[self.home[v]] is None

        defs = {s.out: s for d in self.forward.builder.blocks for s in d.stmts}
        return recompute(p, defs, self.types, made_once, self._always_made, items, p.pos)

    def _forward_name(self, v: Var) -> Var:
        f = self.info.f.get(v, v)
        assert isinstance(f, Var), "an array that is accumulated into is not a constant"
        return f

    def into_forward(self) -> None:
        c, F = self.canonical, self.forward.builder
        comms = self.p.comms
        stacks: dict[BlockId, Var] = {}
        pos = c.fn.blocks[0].term.pos
        for u, stack in comms.stacks.items():
            s = self.fresh.var()
            stacks[u] = s
            F.entry.head.append(Call(s, Const(ops.build_list), (), (), pos))
            end = self.forward.end[u]
            for v in stack:
                end.stmts.append(Call(self.fresh.var(), Const(ops.push), (s, v), (), c.blocks[u].term.pos))
        if c.exit is None:
            return
        F.block = self.forward.end[c.exit]
        term = c.blocks[c.exit].term
        assert isinstance(term, Return)
        F.pos = term.pos
        captured: list[Operand] = []
        for v in comms.captures:  # None where it was not come to (`lowering/slots.py`), and not read in the pullback
            if c.dominates(self.home[v], c.exit) or not isinstance(self.types.get(v), Cell):
                captured.append(v)
            else:  # what may be None is no cell to lowering
                F.write_at(self.forward.end[self.home[v]], ("v", v), v)
                captured.append(F.read(("v", v)))
        captured += [stacks[u] for u in comms.stacks]
        value = self.info.operand(term.value)
        caps: Operand = F.call(ops.build_tuple, *captured) if captured else Const(())
        fdata = self.info.lane_of(term.value)
        F.ret(F.call(ops.build_tuple, value, fdata, caps))

    def stored(self) -> tuple[str, ...]:
        """The names of what is captured, and of what is pushed (with `[]`)."""
        comms = self.p.comms
        pushed = [v for stack in comms.stacks.values() for v in stack]
        return (*(v.name or repr(v) for v in comms.captures), *((v.name or repr(v)) + "[]" for v in pushed))

    def kept(self) -> tuple[Kept, ...]:
        made = {s.out: s for d in self.forward.builder.blocks for s in d.stmts}
        what = {v: "which way was taken" for v in self.control.edge_number.values()}
        what |= {v: "how many iterations there were" for v in self.control.trips.values()}
        what |= {v: "the range of the loop" for v in self.control.ranges.values() if v.name is None}

        def one(how: str, v: Var, *place: int) -> Kept:
            home = self.canonical.blocks.get(self.home[v]) if v in self.home else None
            s = made.get(v)
            pos = s.pos if s is not None else (home or self.canonical.fn.entry).term.pos
            t = self.types.get(v, TOP)
            part = "" if s is None or not isinstance(s.fn, Const) or s.fn.value is not getattr else str(s.args[1].value)  # type: ignore[union-attr]
            if isinstance(t, Inst) and t.cls in SHADOWS:
                part = "fdata"
            elif s is not None and isinstance(s.fn, Const) and s.fn.value in pair_of_shapes:
                part = "shapes of the operands"
            return Kept(how, what.get(v, v.name), pos, t, part, place)

        n = len(self.p.comms.captures)
        return (
            *(one("captured", v, i) for i, v in enumerate(self.p.comms.captures)),
            *(
                one("pushed", v, n + k, i, len(stack))
                for k, stack in enumerate(self.p.comms.stacks.values())
                for i, v in enumerate(stack)
            ),
            *(one("recomputed", v) for v in self.again),
        )
