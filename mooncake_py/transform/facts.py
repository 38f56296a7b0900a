"""What a caller is told of a derived function: what it writes to, and what has no cotangent."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from mooncake_py.closures import Holder
from mooncake_py.infer.allocation import Allocations
from mooncake_py.infer.effects import may_be
from mooncake_py.infer.parts import with_parts
from mooncake_py.infer.types import (
    TOP,
    Arr,
    Cell,
    Dct,
    Fn,
    Inst,
    Lst,
    Meth,
    Obj,
    Rec,
    SetOf,
    T,
    Top,
    Union,
    is_scalar,
)
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    Call,
    Const,
    Operand,
    Return,
    Var,
)
from mooncake_py.transform.adinfo import ADInfo
from mooncake_py.transform.lanes import NONE, REF, Tree, leaves
from mooncake_py.transform.pullback import PullbackBuilder

Names = tuple[tuple[Holder | None, str], ...]
"""Globals, or (with the module) those of other modules."""
_NO_ARRAYS = (Obj, Lst, Dct, Cell, Fn)


class Facts:
    """Facts of one derivation."""

    def __init__(self, info: ADInfo):
        self.canonical, self.inferred, self.lanes = info.canonical, info.inferred, info.lanes

    def always_zero(self, p: PullbackBuilder, result_tree: Tree) -> tuple[int, ...]:
        """The parameters whose cotangent is zero whatever the run."""
        params = self.canonical.fn.params
        able = [i for i, v in enumerate(params) if self.lanes.tree(v) != NONE]
        if result_tree == NONE:
            return tuple(able)
        made = {s.out: s for b in p.blocks for s in b.stmts}
        out = next(b.term.value for b in p.blocks if isinstance(b.term, Return))
        if not isinstance(out, Var) or out not in made:
            return ()
        by_value = [i for i in able if all(kind != REF for _, kind in leaves(self.lanes.tree(params[i])))]
        return tuple(i for i in by_value if _is_zero(made[out].args[i], made))

    def written(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The parameters and cells whose memory the function itself may write numbers to.

        An object that is written to has in its memory class whatever is kept in it. An array among that is written to
        only where what is written to may be an array.
        """
        memory, types = self.inferred.memory, self.inferred.types
        arrays = [v for v in memory.written if not isinstance(types.get(v), _NO_ARRAYS)]
        classes = {memory.find(v) for v in arrays if v in memory.written_inside or not self._is_made_here(v)}
        params, free = self.canonical.fn.params, self.canonical.fn.free
        return (
            tuple(i for i, v in enumerate(params) if memory.find(v) in classes),
            tuple(i for i, v in enumerate(free) if memory.find(v) in classes),
        )

    @cached_property
    def _origins(self) -> Allocations:
        memory = self.inferred.memory
        return Allocations(memory.shape, self.inferred.types, self.inferred.calls, memory.identity)

    def _is_made_here(self, v: Var) -> bool:
        """Is it surely new, so that no argument was it? (A new array may look into the memory of another.)"""
        if _may_be_array(self.inferred.types.get(v, TOP)):
            return False
        return self.inferred.memory.shape.makes(v) or not self._origins.of(v).elsewhere

    def touched(self) -> tuple[tuple[int, ...], tuple[int, ...], Names]:
        """The parameters, cells and globals whose objects it, or what it calls, may write to."""
        fn, memory, types = self.canonical.fn, self.inferred.memory, self.inferred.types
        unseen: set[Var] = set()
        for b in fn.blocks:
            for s in b.stmts:
                call = self.inferred.calls.get(s.out)
                if call is not None and call.kind == "dynamic":
                    unseen.update(v for v in (*s.operands(), *call.args) if isinstance(v, Var))
        inside = unseen | memory.written_inside
        written = [v for v in memory.written | unseen if memory.identity(v)]
        if not written:
            return (), (), ()
        mine = {v for v in written if v not in inside and self._is_made_here(v)}

        def by_class(some: Iterable[Var]) -> dict[Var, set[T]]:
            """The types of what is written to, by memory class."""
            found: dict[Var, set[T]] = {}
            for v in some:
                found.setdefault(memory.find(v), set()).add(TOP if v in inside else types.get(v, TOP))
            return found

        def is_touched(v: Var, writes: dict[Var, set[T]]) -> bool:
            return any(may_hold(types.get(v, TOP), w) for w in writes.get(memory.find(v), ()))

        all_writes, to_others = by_class(written), by_class(v for v in written if v not in mine)
        named = {v: call.named for v, call in self.inferred.calls.items() if call.named is not None}
        return (
            tuple(i for i, v in enumerate(fn.params) if is_touched(v, to_others)),
            tuple(i for i, v in enumerate(fn.free) if is_touched(v, all_writes)),
            tuple(dict.fromkeys([name for v, name in named.items() if is_touched(v, all_writes)])),
        )


def may_hold(t: T, target: T) -> bool:
    """May an object of type t be one of type `target`, or have one in it?"""
    if isinstance(t, (Top, Rec, SetOf, Fn, Meth)) or (isinstance(t, Inst) and not is_scalar(t) and t.cls is not str):
        return True
    if isinstance(t, Arr) and _may_be_array(target):  # of whatever shape: it may look into that
        return True
    found = may_be(t, target)

    def look(part: T) -> T:
        nonlocal found
        found = found or may_hold(part, target)
        return part

    with_parts(t, look)
    return found


def _may_be_array(t: T) -> bool:
    """Is it an array by its type, or may it be one of several things?"""
    return any(isinstance(option, Arr) for option in (t.options if isinstance(t, Union) else (t,)))


def _is_zero(v: Operand, made: dict[Var, Call]) -> bool:
    if isinstance(v, Const):
        return v.value is None or v.value == 0.0
    s = made.get(v)
    return s is not None and is_const(s.fn, ops.build_tuple) and all(_is_zero(a, made) for a in s.args)
