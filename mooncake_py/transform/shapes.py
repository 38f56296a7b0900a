"""Arrays that surely have the same shape, so that a cotangent need not be summed down to it.

`a * b` may broadcast: the cotangent of a is summed to the shape of a, which is kept for that. Where the code shows that
a, b and their product have one shape there is nothing to sum and no shape to keep. Every value has a key; equal
keys, equal shapes. A cotangent has the shape of its value.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from mooncake_py.hashing import hashable
from mooncake_py.infer.resolve import result_type
from mooncake_py.infer.types import TOP, Arr, Inst, Known, T, is_scalar, widen
from mooncake_py.ir.builder import Builder
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.registry import pair_of_shapes, repeated, same_if_shaped, shape_argument, shape_in_pair
from mooncake_py.tangents import add_rdata
from mooncake_py.transform import helpers
from mooncake_py.transform.pullback import PullbackBuilder

Key = Any

_ELEMENTWISE = frozenset(
    {
        *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
        *(operator.neg, operator.pos, operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
        *(add_rdata, helpers.accum_arr),
    }
)
_SIGNS = frozenset({operator.neg})
_BESIDE = frozenset({operator.add, operator.sub, operator.mul, operator.truediv})
_IN_PLACE = frozenset({operator.iadd, operator.isub, operator.imul, operator.itruediv, np.ndarray.copy, np.copy})


def fold_shapes(p: PullbackBuilder, forward: Builder, types: dict[Var, T], f: dict[Var, Operand]) -> None:
    """Take the sums out of the pullback that change no shape."""
    known = _Shapes(types)
    for b in forward.blocks:
        for s in b.stmts:
            known.note(s)
    for table in (p.comms.captures, *p.comms.stacks.values()):
        for v, name in table.items():
            known.same(name, v)
    changing = _changing(p, known, f)
    for param, v in p.stands_for.items():
        actual = f.get(v, v)
        if isinstance(actual, Var) and v not in changing:
            known.same(param, actual)
    subst: dict[Var, Operand] = {}
    for b in p.reachable():
        own: set[Operand] = set(b.params)
        for s in b.stmts:
            if _is(s, same_if_shaped) and known.is_shaped(s):
                t = s.args[0]
                stays = subst[s.out] = subst.get(t, t) if isinstance(t, Var) else t
                known.same(s.out, t)
                # One from elsewhere may be None where this is not run.
                if s.out in p.nonnull and isinstance(stays, Var) and stays in own:
                    p.nonnull.add(stays)
            else:
                known.note(s)
                own.add(s.out)
    p.apply(subst)
    for b in p.blocks:
        b.stmts = [s for s in b.stmts if s.out not in subst]
    _scalars_for_repeated(p, known)


def _changing(p: PullbackBuilder, known: _Shapes, f: dict[Var, Operand]) -> set[Var]:
    """What a loop carries that may have another shape in the next iteration: a sum that grows by broadcasting, say.

    Its cotangent comes into an iteration in the shape of the next one's, under the same name.
    """

    def key(v: Operand) -> Key:
        return known.key(f.get(v, v) if isinstance(v, Var) else v)

    c = p.canonical
    out: set[Var] = set()
    for h, loop in c.loops.items():
        params = c.blocks[h].params
        for source, e in c.preds[h]:
            if source == loop.latch:
                # What the loop itself brings, an item, comes first and is no argument of the edge.
                carried = zip(params[len(params) - len(e.args) :], e.args, strict=True)
                out.update(v for v, again in carried if key(again) != key(v))
    return out


def _scalars_for_repeated(p: PullbackBuilder, known: _Shapes) -> None:
    """An array that shows a scalar everywhere, beside one of its shape: the scalar does. So it does beside a number."""
    shows: dict[Operand, Call] = {}

    def beside(s: Call) -> int | None:
        """Which operand is such an array, where it is one of them."""
        if s.kwargs or not _is(s, _BESIDE if len(s.args) == 2 else _SIGNS):
            return None
        found = [k for k, v in enumerate(s.args) if v in shows]
        return found[0] if len(found) == 1 else None

    for b in p.reachable():
        out: list[Call] = []
        for s in b.stmts:
            k = beside(s)
            if _is(s, repeated) and s.args[1] in known.shapes:
                t = known.types.get(s.args[0]) if isinstance(s.args[0], Var) else None
                everywhere = isinstance(s.args[2], Const) and s.args[2].value is None
                if everywhere and isinstance(t, Inst) and issubclass(t.cls, np.inexact):
                    shows[s.out] = s
            elif k is not None:
                r = shows[s.args[k]]
                args = tuple([r.args[0] if i == k else v for i, v in enumerate(s.args)])
                others = [v for i, v in enumerate(s.args) if i != k]
                t = widen(known.type_of(others[0])) if others else None
                if isinstance(t, Arr):
                    if t.fewest and known.key(others[0]) == known.shapes[r.args[1]]:
                        s = Call(s.out, s.fn, args, (), s.pos)
                elif t is None or is_scalar(t):
                    one = p.fresh.var()
                    p.types[one] = result_type(s.fn.value, tuple(map(known.type_of, args)), ())  # type: ignore[union-attr]
                    out.append(Call(one, s.fn, args, (), s.pos))
                    s = shows[s.out] = Call(s.out, r.fn, (one, *r.args[1:]), (), s.pos)
            out.append(s)
        b.stmts = out


def _is(s: Call, functions: Iterable[Any]) -> bool:
    return isinstance(s.fn, Const) and hashable(s.fn.value) and s.fn.value in functions


class _Shapes:
    def __init__(self, types: dict[Var, T]):
        self.types = types
        self.keys: dict[Operand, Key] = {}  # of arrays
        self.shapes: dict[Operand, Key] = {}  # of tuples that are the shape of an array
        self.pairs: dict[Operand, tuple[Key, Key]] = {}  # of those that are of two

    def key(self, v: Operand) -> Key:
        return self.keys.get(v, v)

    def same(self, a: Operand, b: Operand) -> None:
        self.keys.setdefault(a, self.key(b))
        if b in self.shapes:
            self.shapes.setdefault(a, self.shapes[b])
        if b in self.pairs:
            self.pairs.setdefault(a, self.pairs[b])

    def wanted(self, s: Call) -> Key | None:
        """The key of the shape that a helper is asked for."""
        fn = s.fn.value  # type: ignore[union-attr]
        if fn in shape_in_pair:
            pair, i = (s.args[k] for k in shape_in_pair[fn])
            return self.pairs[pair][i.value] if pair in self.pairs else None  # type: ignore[union-attr]
        return self.shapes.get(s.args[shape_argument[fn]]) if len(s.args) > shape_argument[fn] else None

    def is_shaped(self, s: Call) -> bool:
        """Has the first argument the shape that the call asks for?"""
        t = self.types.get(s.args[0]) if isinstance(s.args[0], Var) else None
        wanted = self.wanted(s)
        return isinstance(t, Arr) and bool(t.fewest) and wanted is not None and self.key(s.args[0]) == wanted

    def note(self, s: Call) -> None:
        """What the statement says of shapes."""
        if s.kwargs or not isinstance(s.fn, Const) or not hashable(s.fn.value):
            return
        fn, args = s.fn.value, s.args
        if fn in pair_of_shapes:
            self.pairs[s.out] = (self.key(args[0]), self.key(args[1]))
        elif fn is getattr:
            if isinstance(args[1], Const) and args[1].value == "shape":
                self.shapes[s.out] = self.key(args[0])
        elif fn in shape_argument or fn in shape_in_pair:
            wanted = self.wanted(s)
            if wanted is not None:
                self.keys.setdefault(s.out, wanted)
        elif fn in _ELEMENTWISE or (
            isinstance(fn, np.ufunc) and fn.nout == 1 and len(args) == fn.nin and not fn.signature
        ):
            self._elementwise(s)
        elif fn in _IN_PLACE and isinstance(self._type(args[0]), Arr):
            self.keys.setdefault(s.out, self.key(args[0]))
        elif fn is operator.getitem:
            self._slice(s)

    def type_of(self, v: Operand) -> T:
        return Known(v.value) if isinstance(v, Const) else self.types.get(v, TOP)

    def _type(self, v: Operand) -> T | None:
        return self.types.get(v) if isinstance(v, Var) else None

    def _elementwise(self, s: Call) -> None:
        found: list[Key] = []
        for v in s.args:
            t = self._type(v)
            if isinstance(t, Arr):
                found.append(self.key(v))
            elif not (isinstance(v, Const) and (v.value is None or isinstance(v.value, (int, float, complex)))) and (
                t is None or not is_scalar(t)
            ):
                return
        if found and all(k == found[0] for k in found):
            self.keys.setdefault(s.out, found[0])

    def _slice(self, s: Call) -> None:
        """Slices of one array that leave out equally many of its items."""
        t, index = self._type(s.args[0]), s.args[1]
        if isinstance(t, Arr) and t.ndim == 1 and isinstance(index, Const) and type(index.value) is slice:
            a, b, step = index.value.start or 0, index.value.stop, index.value.step
            if step in (None, 1) and type(a) is int and a >= 0 and (b is None or (type(b) is int and b < 0)):
                self.keys.setdefault(s.out, ("without", self.key(s.args[0]), a - (b or 0)))
