"""The state of one derivation, as its statements see it: operands, lanes and types of the forward code."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mooncake_py import run
from mooncake_py.fields import is_local_function
from mooncake_py.infer.allocation import Allocations
from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.memory import Memory
from mooncake_py.infer.types import Arr, Cell, Dct, Known, Lst, Obj, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Fresh, Operand, Var
from mooncake_py.registry import rules_of
from mooncake_py.rule import Rule
from mooncake_py.tangents import zero_fdata
from mooncake_py.transform import helpers
from mooncake_py.transform.canonical import Canonical
from mooncake_py.transform.lanes import (
    ANY,
    ARR,
    NONE,
    NULL,
    REF,
    Lanes,
    Path,
    Tree,
    fdata_type,
    has_fdata,
    leaves,
    subtree,
)
from mooncake_py.transform.pullback import PullbackBuilder

if TYPE_CHECKING:
    from mooncake_py.diagnostics.sites import Checks
    from mooncake_py.transform.templates import Template


Reverse = Callable[[PullbackBuilder], None]


@dataclass(slots=True)
class ADStmtInfo:
    """The plan of one statement: its reverse fragment (None: nothing to do), and what was decided for it.

    What travels from forward to reverse (the statement's comms) is not chosen here: reverse fragments name
    forward values freely and `PullbackBuilder.comms` collects them.
    """

    stmt: Call
    rvs: Reverse | None
    note: str = ""


@dataclass(slots=True)
class ADInfo:
    """The state of one derivation."""

    inferred: Inferred
    canonical: Canonical
    fresh: Fresh
    lanes: Lanes
    forward: Builder
    types: dict[Var, T]
    dynamic_site: Callable[[CallInfo, Call, tuple[bool, ...], bool], Any]
    static_site: Callable[[CallInfo, Tree], Any]
    specialise: bool = True
    f: dict[Var, Operand] = field(default_factory=dict)
    lane: dict[tuple[Var, Path], Operand] = field(default_factory=dict)
    removable: set[Var] = field(default_factory=set)
    templates: set[Template] = field(default_factory=set)  # that were used
    in_place: bool = False  # is something changed that the pullback undoes?
    dynamic: bool = False  # are there calls that may change more?
    real: bool = False
    sure_memory: Memory | None = None
    origins: Allocations | None = None
    undecided: set[Var] | None = None  # what calls that are decided when they run write to, by memory class
    checks: Checks | None = None  # debug mode: rules are not taken in, but called through its sites

    def writes(self, call: CallInfo, rule: Rule) -> None:
        """Note a statement that changes something: what is outside is as after a plain call, whenever it is undone."""
        if rule.in_place:
            rest = [v for i, v in enumerate(call.args) if i not in rule.mutates]
            logs = all(i < len(call.args) and self.is_log(call.args[i]) for i in rule.mutates)
            self.in_place |= not logs or any(leaves(self.tree(v)) for v in rest)
            for i in rule.mutates:
                if i < len(call.args) and self._may_be_outside(call.args[i]):
                    self.forward.call(run.note_written, self.operand(call.args[i]))

    def _may_be_outside(self, v: Operand) -> bool:
        """Is this an array that may be from outside, where nobody else looks after it?

        What an argument is that carries derivatives, the caller knows.
        """
        if not isinstance(v, Var) or not isinstance(self.inferred.types.get(v), (Arr, Top)):
            return False
        memory, calls = self.inferred.memory, self.inferred.calls
        if self.tree(v) != NONE:
            outside = [*self.inferred.fn.free, *(w for w, call in calls.items() if call.named is not None)]
            if memory.find(v) not in {memory.find(w) for w in outside}:
                return False
        if self.origins is None:
            self.origins = Allocations(memory.shape, self.inferred.types, calls, memory.identity)
        return not memory.shape.makes(v) and bool(self.origins.of(v).elsewhere)

    def is_log(self, v: Operand) -> bool:
        """Is this what a global or a variable of an enclosing function holds, and no argument?"""
        if not isinstance(v, Var):
            return False
        fn, memory = self.inferred.fn, self.inferred.memory
        made = next((s for b in fn.blocks for s in b.stmts if s.out is v), None)
        if (
            made is None
            or (isinstance(self.inferred.types.get(v), Arr) and self.tree(v) != NONE)
            or memory.find(v) in {memory.find(p) for p in fn.params if memory.identity(p)}
        ):
            return False
        call = self.inferred.calls.get(v)
        return (call is not None and call.named is not None) or (
            is_const(made.fn, ops.cell_get) and made.args[0] in fn.free
        )

    def is_written(self, v: Var) -> bool:
        """Does a statement in sight write to this object, by this name or another?"""
        memory = self._memory()
        return memory.find(v) in {memory.find(w) for w in memory.written}

    def may_be_written(self, v: Var) -> bool:
        """The same, or a statement that is decided when it runs."""
        memory = self._memory()
        if self.undecided is None:
            calls = [c for c in self.inferred.calls.values() if c.kind == "dynamic" and c.args]
            written = [c.args[0] for c in calls if any(0 in rule.mutates for rule in rules_of(c.target))]
            self.undecided = {memory.find(x) for x in written if isinstance(x, Var)}
        return memory.find(v) in self.undecided or self.is_written(v)

    def is_written_array(self, v: Operand) -> bool:
        """The same for an array, which may be in a list that grows."""
        memory = self._memory()
        kept, types = (Lst, Dct, Cell), self.inferred.types
        written = [w for w in memory.written if w in memory.written_inside or not isinstance(types.get(w), kept)]
        return not isinstance(v, Var) or memory.find(v) in set(map(memory.find, written))

    def _memory(self) -> Memory:
        if self.sure_memory is None:
            inferred = self.inferred
            self.sure_memory = Memory(inferred.fn, inferred.types, inferred.calls, False, surely=True)
        return self.sure_memory

    def operand(self, v: Operand) -> Operand:
        """A primal operand in the forward code; functions and modules that are known are constants there.

        Not so functions made anew in every run: what is known of them is what they do.
        """
        if not isinstance(v, Var):
            return v
        t = self.types.get(v)
        if isinstance(t, Known) and v in self.removable and not is_local_function(t.value):
            return Const(t.value)
        return self.f.get(v, v)

    def tree(self, v: Operand) -> Tree:
        return self.lanes.tree(v)

    def lane_of(self, v: Operand, path: Path = ()) -> Operand:
        """The fdata of (part of) a value as one operand: nested tuples of lanes, None where there is none."""
        tree = subtree(self.tree(v), path)
        if isinstance(tree, tuple):
            assert isinstance(v, Var)
            items = [self.lane_of(v, (*path, i)) for i in range(len(tree))]
            if all(x is NULL for x in items):
                return NULL
            known = any(kind == REF for _, kind in leaves(tree))
            return self.emit(ops.build_tuple if known else helpers.tuple_fdata, *items)
        if tree in (REF, ANY):
            assert isinstance(v, Var)
            return self.lane[(v, path)]
        return NULL

    def emit(self, fn: Any, *args: Operand) -> Var:
        """A statement of the engine's own in the forward code: it goes where nobody uses it."""
        out = self.forward.call(fn, *args)
        self.removable.add(out)
        self.types[out] = Top()
        return out

    def set_lanes(self, v: Var, source: Operand, tree: Tree, path: Path = ()) -> None:
        """Read the lanes of v from an operand that holds its fdata."""
        if isinstance(tree, tuple):
            for i, sub in enumerate(tree):
                if has_fdata(sub):
                    self.set_lanes(v, self.emit(helpers.item_fdata, source, Const(i)), sub, (*path, i))
        elif tree in (REF, ANY):
            self.lane[(v, path)] = source
            if tree == REF and isinstance(source, Var):
                self.types[source] = fdata_type(self.types.get(v), path)

    def fresh_lanes(self, v: Var, met: bool = True, zeros: Any = zero_fdata) -> None:
        """fdata for a value that carries no derivative from anywhere: just made, or (`met`) perhaps from outside."""
        tree = self.tree(v)
        if has_fdata(tree):
            t = self.types.get(v)
            y = self.operand(v)
            if tree == REF and isinstance(t, Arr) and not met:
                f = self.emit(helpers.shadow_of, y)
            else:
                f = self.emit(zeros, y)
            self.set_lanes(v, f, tree)

    def coerced_lane(self, v: Operand, path: Path) -> Operand:
        """The fdata of part of a value where something of the value's shared memory class is expected."""
        kind = subtree(self.tree(v), path)
        if kind in (REF, ANY) or isinstance(kind, tuple):
            return self.lane_of(v, path)
        assert kind != ARR, "an array whose cotangent is a variable is no other thing's memory"
        value = self.operand(v)
        if isinstance(value, Const) and value.value is ops.UNBOUND:
            return NULL
        for i in path:
            value = self.emit(operator.getitem, value, Const(i))
        return NULL if isinstance(value, Const) else self.emit(zero_fdata, value)

    def stored_lane(self, v: Operand) -> Operand:
        """The fdata of what a rule may put into a container: arrays, lists and objects without a derivative have some
        there too, for what is read there may be one that has."""
        return (
            self._filled(v, (), self.types.get(v))
            if isinstance(v, Var) and self.lanes.memory.is_shared(v)
            else self.lane_of(v)
        )

    def _filled(self, v: Operand, path: Path, t: T | None) -> Operand:
        tree = subtree(self.tree(v), path)
        if isinstance(t, Tup) and (isinstance(tree, tuple) or any(map(_has_shadow, t.items))):
            items = [self._filled(v, (*path, i), x) for i, x in enumerate(t.items)]
            return NULL if all(x is NULL for x in items) else self.emit(ops.build_tuple, *items)
        return (
            self.coerced_lane(v, path) if tree == NONE and t is not None and _has_shadow(t) else self.lane_of(v, path)
        )

    def keywords(self, s: Call) -> tuple[tuple[str, Operand], ...]:
        """The keyword arguments of a primal statement in the forward code."""
        return tuple((k, self.operand(v)) for k, v in s.kwargs)

    def tuple_of(self, items: list[Operand]) -> Operand:
        """A tuple of fdata as one operand."""
        if all(x is NULL for x in items):
            return Const((None,) * len(items))
        return self.emit(ops.build_tuple, *items)


def _has_shadow(t: T) -> bool:
    """May a value of this type be, or hold, something whose cotangent is in shared memory?"""
    if isinstance(t, Arr):
        return t.dtype is None or t.dtype.kind in "fc"
    if isinstance(t, Tup):
        return any(map(_has_shadow, t.items))
    return isinstance(t, (Lst, Dct, Obj))
