"""Tuples, displays and starred calls in simpler terms: reads of items, and calls with these."""

from __future__ import annotations

import operator
from collections.abc import Set
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from mooncake_py.infer.inferred import Inferred, Starred
from mooncake_py.infer.named import is_named_tuple, makes, takes_all
from mooncake_py.infer.predicates import is_native
from mooncake_py.infer.types import Arr, Known, Lst, Meth, Real, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.graph import loops, use_counts
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Fresh, Function, Operand, Pos, Var
from mooncake_py.ir.ops import UNBOUND
from mooncake_py.transform.doubts import doubt
from mooncake_py.transform.kept import viewed

_OF_ANY_SEQUENCE = (np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.array, np.asarray)


class Displays:
    """What a rewriter does with statements that put values together or take them apart: emitted into `out`."""

    fn: Function
    inferred: Inferred
    types: dict[Var, T]
    defs: dict[Var, Call]
    subst: dict[Var, Operand]
    fresh: Fresh
    out: list[Call]
    beside: set[Call]

    @cached_property
    def counts(self) -> dict[Var, int]:
        """How often each value is read where anything runs."""
        return use_counts(replace(self.fn, blocks=tuple([b for b in self.fn.blocks if b.id in self.inferred.reached])))

    @cached_property
    def uses(self) -> dict[Var, list[Call]]:
        """The statements that read each value."""
        uses: dict[Var, list[Call]] = {}
        for s in (s for b in self.fn.blocks if b.id in self.inferred.reached for s in b.stmts):
            for v in s.operands():
                if isinstance(v, Var):
                    uses.setdefault(v, []).append(s)
        return uses

    @cached_property
    def bodies(self) -> dict[BlockId, set[BlockId]]:
        """The blocks of each loop."""
        return loops(self.fn)

    def type_of(self, v: Operand) -> T:
        return Known(v.value) if isinstance(v, Const) else self.types.get(v, Known(UNBOUND))

    def emit(self, pos: Pos, fn: object, *args: Operand, name: str | None = None) -> Var:
        out = self.fresh.var(name)
        self.out.append(Call(out, Const(fn), args, (), pos))
        return out

    def _is(self, s: Call, f: object) -> bool:
        t = self.type_of(s.fn)
        return isinstance(t, Known) and t.value is f and not s.kwargs

    def _combines(self, x: Var) -> Call | None:
        """The call of zip, enumerate or reversed that made x, where only this loop uses it, and that once."""
        d = self.defs.get(x)
        if d is None or self.counts[x] != 1 or self._goes_on(d):
            return None
        if self._is(d, zip) or (self._is(d, enumerate) and len(d.args) in (1, 2)):
            return d
        return d if self._is(d, reversed) and len(d.args) == 1 else None

    def _goes_on(self, made: Call) -> bool:
        """Is it used in a loop that it was made before? There it goes on where it stopped the last time."""
        home = self.inferred.memory.shape.block_of
        user = next((home.get(s.out) for s in self.uses.get(made.out, ())), None)
        return any(user in body and home.get(made.out) not in body for body in self.bodies.values())

    def _unpack(self, s: Call) -> bool:
        """`a, b = xs` for an array of numbers or an active list: its length checked, its items read."""
        x, n = s.args[0], s.args[1].value  # type: ignore[union-attr]
        t = self.type_of(x)
        if not (t.active if isinstance(t, Lst) else isinstance(t, Arr) and t.fewest and is_native(t)):
            return False
        x = self._held(x, s.pos)
        self.emit(s.pos, ops.check_length, x, Const(n))
        items = [self.emit(s.pos, operator.getitem, x, Const(i)) for i in range(n)]
        self.out.append(Call(s.out, Const(ops.build_tuple), tuple(items), (), s.pos))
        return True

    def _held(self, x: Operand, pos: Pos) -> Operand:
        """The list itself: what a view of a dict shows is put into one, for the view may have to stay one."""
        d = self.defs.get(x) if isinstance(x, Var) else None
        return x if d is None or viewed(self.inferred, d) is None else self.emit(pos, list, x)

    def _unpack_ex(self, s: Call) -> bool:
        x, before, after = s.args[0], s.args[1].value, s.args[2].value  # type: ignore[union-attr]
        t = self.type_of(x)
        if isinstance(t, Lst) and t.cls is list and t.active:
            x = self._held(x, s.pos)
            self.emit(s.pos, ops.check_least, x, Const(before + after))
            first = [self.emit(s.pos, operator.getitem, x, Const(i)) for i in range(before)]
            rest = self.emit(s.pos, operator.getitem, x, Const(slice(before, -after if after else None)))
            last = [self.emit(s.pos, operator.getitem, x, Const(i - after)) for i in range(after)]
            self.out.append(Call(s.out, Const(ops.build_tuple), (*first, rest, *last), (), s.pos))
            return True
        if not isinstance(t, Tup) or len(t.items) < before + after or not t.active:
            return False
        items = [self.emit(s.pos, operator.getitem, x, Const(i)) for i in range(len(t.items))]
        cut = len(items) - after
        middle = self.emit(s.pos, ops.build_list, *items[before:cut])
        self.out.append(Call(s.out, Const(ops.build_tuple), (*items[:before], middle, *items[cut:]), (), s.pos))
        return True

    def _call_ex(self, s: Call) -> bool:
        """`f(*args, **kwargs)` where the tuple's length and the dict's keys are known."""
        f, args, kwargs = s.args
        t = self.type_of(args)
        keywords: list[tuple[str, Operand]] = []
        if not (isinstance(kwargs, Const) and kwargs.value is None):
            found = self.inferred.memory.shape.keywords(kwargs)
            if found is None:
                return False
            keywords = found
        if isinstance(t, Known) and isinstance(t.value, tuple):
            items: list[Operand] = [Const(v) for v in t.value]
        elif isinstance(t, Tup):
            items = [self.emit(s.pos, operator.getitem, args, Const(i)) for i in range(len(t.items))]
        elif isinstance(t, Lst) and t.active and isinstance(cls := self.type_of(f), Known) and takes_all(cls.value):
            items = self._fields(s, cls.value, args, False)
        else:
            return False
        self.out.append(Call(s.out, f, tuple(items), tuple(keywords), s.pos))
        return True

    def starred(self) -> Function:
        """The function with the starred calls that are planned."""
        fn = self.fn
        blocks: list[CFGBlock] = []
        given: set[Operand] = set()  # dicts that were put together for one of these calls each
        for b in fn.blocks:
            self.out = []
            for s in b.stmts:
                info = self.inferred.calls.get(s.out)
                if info is None or not isinstance(info.target, Starred):
                    self.out.append(s)
                    continue
                self.out += [x for v in s.args[:2] for x in doubt(self.inferred, v, self.fresh, s.pos)]
                spread = self._call_ex(s)
                assert spread
                given.add(s.args[2])
            blocks.append(replace(b, stmts=tuple(self.out)))
        if any(isinstance(v, Var) for v in given):
            blocks = [replace(b, stmts=tuple([s for s in b.stmts if not puts_together(s, given)])) for b in blocks]
        return replace(fn, blocks=tuple(blocks))

    def _mixed(self, s: Call) -> bool:
        """A list of arrays, numbers and lists that only a function gets which takes a tuple as well: that tuple."""
        t = self.type_of(s.out)
        if not isinstance(t, Lst) or not isinstance(t.elem, (Top, Real, Arr)):
            return False
        whole = s
        while (uses := self.uses.get(whole.out, ())) and len(uses) == self.counts[whole.out] == 1:
            whole, part = uses[0], whole
            f = self.type_of(whole.fn)
            if isinstance(f, Known) and any(f.value is x for x in _OF_ANY_SEQUENCE) and part.out in whole.args:
                self.out.append(Call(s.out, Const(ops.build_tuple), s.args, (), s.pos))
                return True
            if not self._is(whole, ops.build_list) and not self._is(whole, ops.build_tuple):
                return False
        return False

    def _sum(self, s: Call) -> bool:
        """Two tuples, one behind the other."""
        if not all(isinstance(t := self.type_of(x), Tup) and t.active for x in s.args):
            return False
        if (info := self.inferred.calls.get(s.out)) is None or info.kind != "rule":
            return False
        read = [(x, Const(i)) for x in s.args for i in range(len(self.type_of(x).items))]  # type: ignore[attr-defined]
        items = [self.emit(s.pos, operator.getitem, x, i) for x, i in read]
        self.out.append(Call(s.out, Const(ops.build_tuple), tuple(items), (), s.pos))
        return True

    def _put_at_end(self, s: Call) -> bool:
        """`xs += [a, b]`: what is at hand is appended, one by one. Of tuples, the sum."""
        if not self._append_each(s, s.args[0], s.args[1]):
            return self._sum(s)
        self.subst[s.out] = s.args[0]
        return True

    def _extend(self, s: Call, xs: Operand, ys: Operand) -> bool:
        """The same of `xs.extend([a, b])`."""
        if not self._append_each(s, xs, ys):
            return False
        self.subst[s.out] = Const(None)
        return True

    def _append_each(self, s: Call, xs: Operand, ys: Operand) -> bool:
        t, info = self.type_of(xs), self.inferred.calls.get(s.out)
        if not isinstance(t, Lst) or t.cls is not list or s.kwargs or info is None or info.kind != "rule":
            return False
        items = self._at_hand(ys)
        if items is None or len(items) > MOST_APPENDED:
            return False
        for v in items:
            self.emit(s.pos, ops.list_append, xs, v)
        return True

    def _at_hand(self, v: Operand) -> tuple[Operand, ...] | None:
        """The items of a tuple that was put together in sight, or of a list that was for this use alone."""
        d = self.defs.get(v) if isinstance(v, Var) else None
        if d is None:
            return None
        alone = self._is(d, ops.build_list) and self.counts[d.out] == 1
        return d.args if alone or self._is(d, ops.build_tuple) else None

    def _dict(self, s: Call) -> bool:
        """`dict(zip(names, values))` of tuples in sight: a display."""
        d = self._combines(s.args[0]) if len(s.args) == 1 and not s.kwargs and isinstance(s.args[0], Var) else None
        if d is None or not self._is(d, zip) or len(d.args) != 2:
            return False
        keys, t = self.type_of(d.args[0]), self.type_of(d.args[1])
        if not isinstance(keys, Known) or type(keys.value) is not tuple or not isinstance(t, Tup) or not t.active:
            return False
        words: list[Operand] = []
        for i, k in zip(range(len(t.items)), keys.value, strict=False):
            words += [Const(k), self.emit(s.pos, operator.getitem, d.args[1], Const(i))]
        if d in self.out:
            self.out.remove(d)
        self.out.append(Call(s.out, Const(ops.build_map), tuple(words), (), s.pos))
        return True

    def _fields(self, s: Call, cls: Any, xs: Operand, whole: bool) -> list[Operand]:
        """The items of a list that is as long as a named tuple has fields."""
        self.emit(s.pos, ops.check_fields, Const(cls), xs, Const(whole))
        return [self.emit(s.pos, operator.getitem, xs, Const(i)) for i in range(len(cls._fields))]

    def _make(self, s: Call, t: Meth) -> bool:
        """`cls._make(xs)` for an active list."""
        x = self.type_of(s.args[0]) if len(s.args) == 1 and not s.kwargs else None
        if not is_named_tuple(t.owner) or not makes(t.func) or not isinstance(x, Lst) or not x.act:
            return False
        whole = self.emit(s.pos, ops.build_tuple, *self._fields(s, t.owner, s.args[0], True))
        self.out.append(Call(s.out, s.fn, (whole,), (), s.pos))
        return True

    def _shown(self, s: Call, t: Meth) -> bool:
        """`d.items()` or `d.values()` of a dict that is written down, where only a loop gets it: a tuple."""
        items = self.inferred.memory.shape.shown(t.receiver)
        uses = self.uses.get(s.out, ())
        if (
            items is None
            or s.args
            or s.kwargs
            or len(uses) != 1
            or not self._is(uses[0], iter)
            or self.counts[s.out] != 1
        ):
            return False
        values = [v for _, v in items]
        if t.func is dict.items:
            values = [self.emit(s.pos, ops.build_tuple, Const(k), v) for k, v in items]
        self.out.append(Call(s.out, Const(ops.build_tuple), tuple(values), (), s.pos))
        return True

    def shown(self) -> Function | None:
        """The function with `(*a, b)`, and the arguments of `f(*a, b)`, as tuples; None where there are none known."""
        blocks: list[CFGBlock] = []
        lists: set[Operand] = set()  # that were put together for them
        for b in self.fn.blocks:
            self.out = []
            for s in b.stmts:
                if b.id in self.inferred.reached and self._is(s, ops.list_to_tuple) and self._display(s):
                    lists.add(s.args[0])
                else:
                    self.out.append(s)
            blocks.append(replace(b, stmts=tuple(self.out)))
        if not lists:
            return None
        blocks = [replace(b, stmts=tuple([s for s in b.stmts if not puts_together(s, lists)])) for b in blocks]
        return replace(self.fn, blocks=tuple(blocks))

    def _display(self, s: Call) -> bool:
        """`(*a, b)`: the tuple of the items, where the list behind it is used for nothing else."""
        d = self.defs.get(s.args[0]) if isinstance(s.args[0], Var) else None
        if d is None or not self._is(d, ops.build_list):
            return False
        items: list[Operand] = list(d.args)
        grown = [u for u in self.uses.get(d.out, ()) if u is not s]
        for u in grown:
            t = self.type_of(u.args[1]) if len(u.args) > 1 else None
            known = isinstance(t, Tup) or (isinstance(t, Known) and isinstance(t.value, tuple))
            if u.args[0] is not d.out or not (self._is(u, ops.list_append) or (self._is(u, ops.list_extend) and known)):
                return False
        for u in grown:
            t = self.type_of(u.args[1])
            if self._is(u, ops.list_append):
                items.append(u.args[1])
            elif isinstance(t, Tup):
                self.out += doubt(self.inferred, u.args[1], self.fresh, s.pos)
                items += [self.emit(s.pos, operator.getitem, u.args[1], Const(i)) for i in range(len(t.items))]
            elif isinstance(t, Known):
                items += [Const(v) for v in t.value]
        self.out.append(Call(s.out, Const(ops.build_tuple), tuple(items), (), s.pos))
        return True

    def _filled(self, s: Call) -> bool:
        """`tuple(xs)` of a list that was made and filled right before, and is used for nothing else."""
        d = self.defs.get(s.args[0]) if isinstance(s.args[0], Var) else None
        if d is None or not self._is(d, ops.build_list):
            return False
        uses = self.uses[d.out]
        alone = uses[-1] is s and len(uses) == self.counts[d.out] and self.beside.issuperset((d, *uses))
        return alone and self._display(s)

    def _known_item(self, s: Call) -> bool:
        """An item of a tuple that was put together in sight, or a slice of one."""
        t, i = self.type_of(s.args[0]), self.type_of(s.args[1])
        if not isinstance(t, Tup) or not isinstance(i, Known) or not t.active:
            return False
        if isinstance(i.value, slice):
            places = range(*i.value.indices(len(t.items)))
            if t.cls is tuple and places == range(len(t.items)):
                self.subst[s.out] = s.args[0]  # the tuple itself
                return True
            items = [self.emit(s.pos, operator.getitem, s.args[0], Const(k)) for k in places]
            self.out.append(Call(s.out, Const(ops.build_tuple), tuple(items), (), s.pos))
            return True
        d = self.defs.get(s.args[0]) if isinstance(s.args[0], Var) else None
        while d is not None and self._is(d, ops.unpack) and isinstance(d.args[0], Var):
            d = self.defs.get(d.args[0])
        if (
            d is not None
            and self._is(d, ops.build_tuple)
            and type(i.value) is int
            and -len(d.args) <= i.value < len(d.args)
        ):
            self.subst[s.out] = d.args[i.value]
            return True
        return False


MOST_APPENDED = 8
_PUT_IN = (ops.dict_merge, ops.list_append, ops.list_extend)


def puts_together(s: Call, containers: Set[Operand]) -> bool:
    """Does the statement make one of these containers, or put something into it?"""
    return s.out in containers or (any(is_const(s.fn, f) for f in _PUT_IN) and s.args[0] in containers)
