"""What a caller is told of a derived function: what it writes to, and what has no cotangent."""

from __future__ import annotations

from types import ModuleType

from mooncake_py.infer.types import Cell, Dct, Fn, Lst, Obj
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

Names = tuple[tuple[ModuleType | type | None, str], ...]
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
        classes = {memory.find(v) for v in memory.written if not isinstance(types.get(v), _NO_ARRAYS)}
        params, free = self.canonical.fn.params, self.canonical.fn.free
        return (
            tuple(i for i, v in enumerate(params) if memory.find(v) in classes),
            tuple(i for i, v in enumerate(free) if memory.find(v) in classes),
        )

    def touched(self) -> tuple[tuple[int, ...], tuple[int, ...], Names]:
        """The parameters, cells and globals whose objects it, or what it calls, may write to."""
        fn, memory = self.canonical.fn, self.inferred.memory
        written = set(memory.written)
        for b in fn.blocks:
            for s in b.stmts:
                call = self.inferred.calls.get(s.out)
                if call is not None and call.kind == "dynamic":
                    written.update(v for v in (*s.operands(), *call.args) if isinstance(v, Var))
        classes = {memory.find(v) for v in written if memory.identity(v)}
        named = {v: call.named for v, call in self.inferred.calls.items() if call.named is not None}
        names = dict.fromkeys([name for v, name in named.items() if memory.find(v) in classes])
        return (
            tuple(i for i, v in enumerate(fn.params) if memory.find(v) in classes),
            tuple(i for i, v in enumerate(fn.free) if memory.find(v) in classes),
            tuple(names),
        )


def _is_zero(v: Operand, made: dict[Var, Call]) -> bool:
    if isinstance(v, Const):
        return v.value is None or v.value == 0.0
    s = made.get(v)
    return s is not None and is_const(s.fn, ops.build_tuple) and all(_is_zero(a, made) for a in s.args)
