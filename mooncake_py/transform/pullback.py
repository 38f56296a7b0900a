"""Building the pullback: cotangent accumulators, and the forward values that reverse code names.

Reverse code names forward values freely (`forward_value`). Where the value comes from depends on where it was
made: at most once per call, it is captured when the forward function returns; inside a loop, it is pushed on
the comms stack of the block that needs it and pulled by that block's reverse.
"""

from __future__ import annotations

import operator
import types as pytypes
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np

from mooncake_py.infer.types import BOT, TOP, Arr, Bot, Inst, Known, Lst, T, Top, Tup, Union, is_scalar, parts_of
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.drafts import Draft
from mooncake_py.ir.nodes import BlockId, Branch, Const, Fresh, Function, Operand, Pos, Var
from mooncake_py.tangents import add_owned, add_rdata
from mooncake_py.transform import helpers
from mooncake_py.transform.canonical import Canonical
from mooncake_py.transform.lanes import (
    ANY,
    ARR,
    NONE,
    NULL,
    NUM,
    REF,
    VAL,
    ZERO,
    Lanes,
    Path,
    leaves,
    may_be_whole,
    part_of,
    subtree,
)
from mooncake_py.transform.specialise import Specialiser
from mooncake_py.transform.values import AV, VAt, VCell, VClosure, VCoDual, VTuple


@dataclass(slots=True)
class Comms:
    """What travels from forward to reverse.

    `captures`: forward value -> its name in the pullback. `stacks`: per block, the pushed values in order with
    their names in the reverse block.
    """

    captures: dict[Var, Var] = field(default_factory=dict)
    stacks: dict[BlockId, dict[Var, Var]] = field(default_factory=dict)


class PullbackBuilder(Builder):
    """A builder whose keys are cotangents `("c", value, path)` and forward values kept from a loop's exit."""

    def __init__(
        self,
        fresh: Fresh,
        canonical: Canonical,
        lanes: Lanes,
        lane: dict[tuple[Var, Path], Operand],
        home: Callable[[Var], BlockId],
        owned: set[Var],
        types: dict[Var, T],
        f: dict[Var, Operand],
        real: bool,
    ):
        self.lanes = lanes
        self.lane = lane
        self.canonical = canonical
        self.home = home
        self.owned = owned
        self.f = f
        super().__init__(fresh, NULL)
        self.types = types
        self.comms = Comms()
        self.at: BlockId = canonical.fn.entry.id
        self.start: dict[BlockId, Draft] = {}
        self.started: dict[Draft, BlockId] = {}  # the same the other way round
        self.nonnull: set[Var] = set()
        self.items: dict[Var, BlockId] = {}
        self._kept: set[Hashable] = set()
        self.stands_for: dict[Var, Var] = {}  # cotangents and kept values: the forward value they belong to
        self._dense: dict[tuple[Draft, Operand], Var] = {}
        self._owned_zero: dict[tuple[Var, Path], Var] = {}
        self.specialiser = Specialiser(self, types, real)

    def call(
        self,
        fn: object,
        *args: Operand,
        kwargs: tuple[tuple[str, Operand], ...] = (),
        pos: Pos | None = None,
        name: str | None = None,
    ) -> Var:
        """As any builder's; the dense array of a shadow is asked for once per block, until it may be another."""
        f = fn.value if isinstance(fn, Const) else fn
        if f is helpers.shadow_dense:
            key = self.block, args[0]
            known = self._dense.get(key)
            if known is None:
                known = self._dense[key] = super().call(fn, *args, kwargs=kwargs, pos=pos, name=name)
            return known
        if self._dense and not keeps_shadows(f) and not self._gets_no_shadow(f, (*args, *(v for _, v in kwargs))):
            self._dense.clear()
        return super().call(fn, *args, kwargs=kwargs, pos=pos, name=name)

    def _gets_no_shadow(self, f: object, given: tuple[Operand, ...]) -> bool:
        """Is it a function that cannot come by a shadow, as far as the types of what it is given tell?"""
        if not isinstance(f, pytypes.FunctionType) or f in _EMPTIES:
            return False
        return all(_holds_no_shadow(self.types.get(v, TOP)) for v in given if isinstance(v, Var))

    # -- forward values --

    def forward_value(self, v: Operand) -> Operand:
        """A value of the forward run, as an operand here."""
        if isinstance(v, Const):
            return v
        return self._value_at(v, self.at)

    def _value_at(self, v: Var, u: BlockId) -> Operand:
        c = self.canonical
        d = self.home(v)
        loop = c.loop_of[d]
        if loop is None:
            return self.capture(v)
        around_u = c.enclosing(c.loop_of[u])
        if loop not in around_u:  # used after the loop that made it
            return self.capture(v) if not around_u else self._pull(v, u)
        item_of = self.items.get(v)
        if item_of == loop:  # the item of a range loop comes back with the reversed range
            key: Hashable = ("item", loop)
            if key not in self._kept:
                self._kept.add(key)
                for source, landing in c.loops[loop].landings:
                    if source != loop:
                        self.write_at(self.start[landing], key, self._value_at_landing(v, landing))
            return self._read(self.block, key)
        if around_u[0] == loop:
            return self._pull(v, u)
        inner = around_u[
            around_u.index(loop) - 1
        ]  # the outermost loop inside the value's own: it does not change there
        key = ("kept", v, inner)
        if key not in self._kept:
            self._kept.add(key)
            for _, landing in c.loops[inner].landings:
                self.write_at(self.start[landing], key, self._value_at_landing(v, landing))
        if u == self.at:
            return self._read(self.block, key)
        return self._read(self.start[u], key)

    def _value_at_landing(self, v: Var, landing: BlockId) -> Operand:
        if v in self.items and self.canonical.loop_of[landing] != self.canonical.loop_of[self.home(v)]:
            around = self.canonical.enclosing(self.canonical.loop_of[landing])
            return self.capture(v) if not around else self._pull(v, landing)
        return self._value_at(v, landing)

    def capture(self, v: Var) -> Var:
        """The name in the pullback of a value that is made at most once per call."""
        out = self.comms.captures.get(v)
        if out is None:
            out = self.comms.captures[v] = self._named(v)
        return out

    def _pull(self, v: Var, u: BlockId) -> Var:
        stack = self.comms.stacks.setdefault(u, {})
        out = stack.get(v)
        if out is None:
            out = stack[v] = self._named(v)
        return out

    def _named(self, v: Var) -> Var:
        out = self.fresh.var(v.name)
        self.types[out] = self.types.get(v, TOP)
        if not isinstance(self.types[out], Top):
            self.nonnull.add(out)
        return out

    def translate(self, v: AV) -> AV:
        """An abstract value of the forward code, with its operands as they are here."""
        if isinstance(v, (Var, Const)):
            return self.forward_value(v)
        match v:
            case VTuple(items=items):
                return VTuple(tuple(map(self.translate, items)))
            case VCell(content=c):
                return VCell(None if c is None else self.translate(c))
            case VClosure():
                return VClosure(
                    v.code,
                    v.globals,
                    tuple(map(self.translate, v.defaults)),
                    {k: self.translate(x) for k, x in v.kwdefaults.items()},
                    tuple(VCell(None if x.content is None else self.translate(x.content)) for x in v.cells),
                )
            case VCoDual(primal=p, fdata=fd):
                return VCoDual(self.translate(p), self.translate(fd))
        return v

    # -- cotangents --

    def default(self, key: Hashable) -> Operand:
        """What a cotangent is before anything was added to it."""
        if isinstance(key, tuple) and key[0] == "c":
            _, v, path = key
            kind = subtree(self.lanes.tree(v), path)
            if kind == NUM:
                return ZERO
            if v in self.owned and self.canonical.loop_of[self.home(v)] is None:
                out = self._owned_zero.get((v, path))
                if out is None:
                    out = self.fresh.var()
                    self._owned_zero[(v, path)] = out
                    self.types[out] = self.types.get(v, TOP)
                    self.nonnull.add(out)
                return out
        return super().default(key)

    def begins_at(self, block: Draft, key: Hashable) -> bool:
        """Where a forward block ends that the value does not dominate, its cotangent is zero.

        What uses the value there, or later, uses what is made after that: in the next iteration, say, of whose
        cotangent nothing is left here.
        """
        if key[0] != "c":  # type: ignore[index]
            return False
        u = self.started.get(block)
        return u is not None and not self.canonical.dominates(self.home(key[1]), u)  # type: ignore[index]

    def _add_param(self, block: Draft, key: Hashable, param: Var) -> None:
        super()._add_param(block, key, param)
        assert isinstance(key, tuple)
        if key[0] == "c":
            _, v, path = key
            t = self.types.get(v, TOP)
            for i in path:
                t = t.items[i] if isinstance(t, Tup) else Top()
            self.types[param] = t
            if subtree(self.lanes.tree(v), path) == NUM:
                self.nonnull.add(param)
            elif not path:
                self.stands_for[param] = v
        elif key[0] == "kept":
            self.stands_for[param] = key[1]
            self.types[param] = self.types.get(key[1], TOP)
            self.nonnull.add(param)
        elif key[0] == "item":
            self.types[param] = Inst(int)
            self.nonnull.add(param)

    def owned_zeros(self) -> list[tuple[Var, Var]]:
        """(accumulator, the forward value it belongs to): arrays of zeros to make on entry."""
        return [(out, v) for (v, _), out in self._owned_zero.items()]

    def take(self, v: Var, path: Path = ()) -> Operand:
        """The cotangent of a leaf, leaving zero."""
        key = ("c", v, path)
        value = self.read(key)
        if isinstance(value, Var) and not path:
            self.stands_for.setdefault(value, v)
        self.write(key, ZERO if subtree(self.lanes.tree(v), path) == NUM else NULL)
        return value

    def is_zero(self, value: Operand) -> bool:
        return value is ZERO or value is NULL

    def if_nonnull(self, value: Operand, body: Callable[[], None]) -> None:
        """Run the fragment only where the cotangent exists."""
        if self.is_zero(value):
            return
        if value in self.nonnull or isinstance(value, Const):
            body()
            return
        null = self.call(operator.is_, value, NULL)
        go, done = self.new_block(), self.new_block()
        self.block.term = Branch(null, self.edge(done), self.edge(go), self.pos)  # type: ignore[arg-type]
        go.sealed = True
        self.block = go
        self.nonnull.add(value)
        body()
        self.nonnull.discard(value)
        self.goto(done)
        done.sealed = True
        self.block = done

    def accumulate(self, v: Operand, t: AV, path: Path = ()) -> None:
        """Add a cotangent (perhaps structured, perhaps None at run time) to a forward value's."""
        if isinstance(v, Const) or (isinstance(t, Const) and t.value is None):
            return
        tree = subtree(self.lanes.tree(v), path)
        if isinstance(tree, tuple):
            if isinstance(t, VTuple):
                for i, x in enumerate(t.items):
                    self.accumulate(v, x, (*path, i))
            else:
                whole = self.specialiser.materialise(t)

                def spread() -> None:
                    for i in range(len(tree)):
                        if tree[i] != NONE:
                            self.accumulate(v, self.call(operator.getitem, whole, Const(i)), (*path, i))

                self.if_nonnull(whole, spread)
            return
        if tree == NUM:
            self._accumulate_num(v, path, self.specialiser.materialise(t))
        elif tree == ARR:
            self._accumulate_arr(v, path, t)
        elif tree == VAL:
            self.accumulate_edge(v, self.specialiser.materialise(t), path)
        elif tree == REF:
            shadow = self.forward_value(self.lane[(v, path)])
            if isinstance(t, VAt):
                d = self.call(helpers.shadow_dense, shadow)
                self.types[d] = self.types.get(v, TOP)
                self._add_at(d, t)
            else:
                t_v = part_of(self.lanes.types.get(v), path)
                may_lack = isinstance(t_v, Union) or may_be_whole(t_v)
                add = helpers.option_add if may_lack else helpers.shadow_add
                self.call(add, shadow, self.specialiser.materialise(t))
        elif tree == ANY:
            key = ("c", v, path)
            shadow = self.forward_value(self.lane[(v, path)])
            if isinstance(t, VAt):
                t = self.specialiser.emit(Const(helpers.At), [t.index, t.value], {})
            value = self.specialiser.materialise(t)
            if isinstance(shadow, Const) and shadow.value is None:
                old = self.read(key)
                self.write(key, value if old is NULL else self.call(helpers.accum_any, old, value))
            else:
                self.write(key, self.call(helpers.add_any, self.read(key), shadow, value))

    def accumulate_deferred(self, v: Operand, t: Operand) -> None:
        """Add a cotangent that may turn out to be an `At` to that of an array with an accumulator of our own."""
        if isinstance(v, Var):
            key = ("c", v, ())
            new = self.call(helpers.add_deferred, self.read(key), t, self.forward_value(self.f.get(v, v)))
            self.types[new] = self.types.get(v, TOP)
            self.write(key, new)

    def accumulate_edge(self, v: Operand, t: Operand, path: Path) -> None:
        """The same for the cotangent of a block parameter, which may be of another kind than its argument's.

        Where the argument has fdata the parameter has the same, and everything was added to that.
        """
        if isinstance(v, Const) or self.is_zero(t):
            return
        tree = subtree(self.lanes.tree(v), path)
        if isinstance(tree, tuple):

            def spread() -> None:
                for i in range(len(tree)):
                    if any(kind != REF for _, kind in leaves(tree[i])):
                        self.accumulate_edge(v, self.call(operator.getitem, t, Const(i)), (*path, i))

            self.if_nonnull(t, spread)
        elif tree in (ANY, VAL):
            key = ("c", v, path)
            old = self.read(key)
            self.write(key, t if old is NULL else self.call(helpers.accum_any, old, t))
        elif tree in (NUM, ARR):
            self.accumulate(v, t, path)

    def _typed(self, t: Operand) -> bool:
        """Is the type of a cotangent known, so that it need not be told by the value it belongs to?"""
        return isinstance(t, Const) or not isinstance(self.types.get(t, BOT), (Top, Bot))

    def _accumulate_num(self, v: Var, path: Path, t: Operand) -> None:
        key = ("c", v, path)
        old = self.read(key)
        sure = isinstance(t, Const) or t in self.nonnull
        if sure and self.is_zero(old) and self._typed(t):
            self.write(key, t)
            return
        new = self.call(helpers.accum_num if sure else helpers.accum_maybe, old, t)
        self.nonnull.add(new)
        self.types[new] = self.types.get(v, BOT)
        self.write(key, new)

    def _accumulate_arr(self, v: Var, path: Path, t: AV) -> None:
        key = ("c", v, path)
        old = self.read(key)
        if isinstance(t, VAt):
            if v not in self.owned and old is not NULL:  # it may be the user's
                old = self.call(helpers.own_copy, old)
            if old not in self.nonnull:
                old = self.call(helpers.dense_zeros, old, self.forward_value(self.f.get(v, v)))
                self.nonnull.add(old)
                self.types[old] = self.types.get(v, TOP)
            self._add_at(old, t)
            self.write(key, old)
            return
        value = self.specialiser.materialise(t)
        if old is NULL and v not in self.owned and self._typed(value):
            self.write(key, value)
            return
        if v in self.owned:
            if value not in self.nonnull:
                new = self.call(helpers.add_owned_maybe, old, value)
            elif old in self.nonnull:
                new = self.call(operator.iadd, old, value)
            else:
                new = self.call(add_owned, old, value)
        elif value in self.nonnull:
            new = self.call(helpers.accum_arr, old, value)
        else:
            new = self.call(add_rdata, old, value)
        if value in self.nonnull or old in self.nonnull:
            self.nonnull.add(new)
        self.types[new] = self.types.get(v, BOT)
        self.write(key, new)

    def _add_at(self, dense: Operand, t: VAt) -> None:
        index = self.specialiser.materialise(t.index)
        value = self.specialiser.materialise(t.value)
        ndim = getattr(self.specialiser.type_of(dense), "ndim", None)
        how = helpers.index_kind(self.specialiser.type_of(t.index), ndim)
        if how == "element" and t.once:
            self.call(operator.setitem, dense, index, value)
        elif how == "element":
            old = self.call(operator.getitem, dense, index)
            self.call(operator.setitem, dense, index, self.call(operator.add, old, value))
        elif how == "basic":
            self.call(operator.iadd, self.call(operator.getitem, dense, index), value)
        else:
            self.call(helpers.add_at, dense, index, value)

    def set_block(self, u: BlockId, block: Draft, pos: Pos | None = None) -> None:
        self.at = u
        self.block = block

    def finish(self, name: str, filename: str, params: list[Var], firstline: int) -> Function:
        del self.specialiser  # which refers to this
        return super().finish(name, filename, params, firstline)


def _holds_no_shadow(t: T) -> bool:
    if isinstance(t, Tup | Lst):
        return all(map(_holds_no_shadow, parts_of(t)))
    return isinstance(t, Arr | Known | Bot) or is_scalar(t)


def keeps_shadows(f: object) -> bool:
    """Does a call of f leave every shadow the array it has, whatever it is given, and ask for none?"""
    if isinstance(f, pytypes.FunctionType):
        return f.__module__ == helpers.__name__ and f not in _EMPTIES and f is not helpers.shadow_dense
    return isinstance(f, (pytypes.BuiltinFunctionType, np.ufunc)) and f not in _EMPTIES


# What may give a shadow another array, or call what does.
_EMPTIES: frozenset[object] = frozenset(
    {helpers.shadow_take, helpers.take_any, helpers.copy_take, helpers.run_pullback, getattr}
)
