"""Rewriting the primal by its types, before it is differentiated.

Iteration over arrays, lists, tuples, `zip` and `enumerate` becomes a loop over indices; unpacking, starred calls and
displays of tuples become reads of their items; `f(x, out=z)` becomes `f(x)` and a write. Each is a case the engine
then needs no rule for.
"""

from __future__ import annotations

import operator
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Set
from functools import cached_property
from typing import Any

import numpy as np

from mooncake_py import outputs
from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import Inferred, Starred
from mooncake_py.infer.parts import keys_of
from mooncake_py.infer.predicates import may_say, uses_up
from mooncake_py.infer.types import Arr, Cell, Dct, Fn, Inst, Known, Lst, Meth, Obj, Real, SetOf, T, Tup, is_scalar
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import fresh_beside, map_function
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Function,
    Goto,
    Operand,
    Pos,
    Try,
    Var,
    edges,
)
from mooncake_py.iterators import each_key, key_in
from mooncake_py.registry import is_pure
from mooncake_py.transform.displays import Displays
from mooncake_py.transform.names import text_of
from mooncake_py.transform.unroll import MOST_COPIES

_SAME_LENGTH = (operator.setitem, list.__setitem__)  # where the index is one of an item
_NOTHING: frozenset[Var] = frozenset()
_TAKE_DICTS = frozenset({dict, list})
_KEYS = (dict.keys, OrderedDict.keys)
_ITEMS = (dict.items, OrderedDict.items)
_VIEWS = (*_ITEMS, dict.values, OrderedDict.values)


def rewrite(inferred: Inferred) -> Function | None:
    """The function in simpler terms, None where there is nothing to simplify."""
    return _Rewriter(inferred).run()


def show_starred(inferred: Inferred) -> Function | None:
    """The function with displays of tuples that are starred as tuples of their items; None where none are known.

    What calls are given so is known one by one before it is asked how they come down to others.
    """
    return _Rewriter(inferred).shown() if inferred.fn.calls(ops.list_to_tuple) else None


def spread_starred(inferred: Inferred) -> Function | None:
    """The function with the starred calls of which inference knows no more than that; None where there is none.

    What they give is not seen before: nothing else may be made of its types.
    """
    if not any(isinstance(c.target, Starred) for c in inferred.calls.values()):
        return None
    return _Rewriter(inferred).starred()


def loops_that_go_on(inferred: Inferred) -> Callable[[list[CFGBlock]], bool]:
    """What says whether a list may be longer again when one of some loops asks for an item once more, after its end."""
    rewriter = _Rewriter(inferred)

    def goes_on(b: CFGBlock) -> bool:
        made = rewriter.defs.get(b.term.iterator)  # type: ignore[union-attr,arg-type]
        return made is not None and rewriter._is_resized(made.args[0]) and rewriter._since_made(b.id) is None

    return lambda loops: any(map(goes_on, loops))


_HOLDERS = (Lst, Tup, Dct, Obj, Cell, Fn, Meth)


class _Rewriter(Displays):
    def __init__(self, inferred: Inferred):
        self.fn = inferred.fn
        self.inferred = inferred
        self.types = inferred.types
        self.defs = {s.out: s for b in self.fn.blocks for s in b.stmts}
        self.fresh = fresh_beside(self.fn)
        self.subst: dict[Var, Operand] = {}
        self.changed = False
        self.consumed: set[Var] = set()
        self.listed: dict[Operand, Var] = {}
        self.handles = any(isinstance(b.term, Try) for b in self.fn.blocks)
        self.fixed: dict[Operand, Operand] = {}  # deques, and how long they are
        self.asked_by = Counter(b.term.iterator for b in self.fn.blocks if isinstance(b.term, ForNext))
        self._run_during: dict[BlockId, Set[Var]] = {}

    def run(self) -> Function | None:
        found = self._loops()
        blocks: list[CFGBlock] = []
        for b in self.fn.blocks:
            stmts: list[Call] = []
            self.out = stmts
            self.beside = set(b.stmts)
            for s in b.stmts:
                if b.id in self.inferred.reached and self._statement(s):
                    self.changed = True
                else:
                    stmts.append(s)
            term = b.term
            if b.id in found:
                assert isinstance(term, ForNext)
                count, item_blocks = self._item_blocks(term, found[b.id], b.id)
                blocks.append(CFGBlock(b.id, b.params, tuple(stmts), count, b.handler))
                blocks.extend(item_blocks)
                self.changed = True
            else:
                same = len(stmts) == len(b.stmts) and not self.changed
                blocks.append(b if same else CFGBlock(b.id, b.params, tuple(stmts), term, b.handler))
        if not self.changed:
            return None
        fn = self.fn
        new = Function(fn.name, fn.filename, fn.params, fn.free, tuple(blocks), fn.kind, fn.firstline)

        def find(v: Operand) -> Operand:
            while isinstance(v, Var) and v in self.subst:
                v = self.subst[v]
            return v

        return map_function(new, find)

    # -- loops --

    def _loops(self) -> dict[BlockId, Var]:
        """The loops over an active sequence: block -> what is iterated over."""
        found = {}
        for b in self.fn.blocks:
            if isinstance(b.term, ForNext) and isinstance(b.term.iterator, Var):
                t = self.types.get(b.term.iterator)
                if t is None or b.id not in self.inferred.reached:
                    continue
                d = self.defs.get(b.term.iterator)
                if d is not None and self.counts[d.out] != self.asked_by[d.out]:
                    continue  # it is asked by more than loops
                x = d.args[0] if d is not None and self._is(d, iter) and len(d.args) == 1 else None
                if d is not None and isinstance(x, Var) and (view := self._looked_through(x)) is not None:
                    found[b.id] = x
                    if view[0] is not x:
                        self.consumed.add(x)
                    self.subst[d.out] = self.fresh.var()
                elif d is not None and isinstance(x, Var) and self._sequence(x, b.id) and self._active(x):
                    found[b.id] = x
                    self._consume(x)
                    self.subst[d.out] = self.fresh.var()
        self.iterators = {self.defs[b.term.iterator].out: b.id for b in self.fn.blocks if b.id in found}  # type: ignore[union-attr,index]
        return found

    def _looked_through(self, x: Operand) -> tuple[Operand, Any] | None:
        """The dict that a loop over x goes through, and the method that gives what the loop gets."""
        return (x, dict.keys) if self._keys_carry(x) else self._view(x)

    def _view(self, x: Operand) -> tuple[Operand, Any] | None:
        """The dict and the method of it, `dict.items` say, that gave x, where only this loop uses it."""
        d = self.defs.get(x) if isinstance(x, Var) else None
        m = self.types.get(d.fn) if d is not None and isinstance(d.fn, Var) else None
        if d is None or d.args or not isinstance(m, Meth) or not m.is_read_as(d.fn):
            return None
        of = m.receiver
        t = self.type_of(of)
        if m.func not in _VIEWS and not (m.func in _KEYS and self._keys_carry(of)):
            return None
        if self.inferred.memory.shape.shown(of) is not None:
            return None
        return (of, m.func) if isinstance(t, Dct) and t.act and self.counts[d.out] == 1 else None

    def _consume(self, x: Operand) -> None:
        """The zip, enumerate and reversed objects of a loop over indices are not made."""
        d = self._combines(x) if isinstance(x, Var) else None
        if d is not None:
            self.consumed.add(d.out)
            for a in d.args:
                self._consume(a)

    def _sequence(self, x: Operand, loop: BlockId) -> bool:
        """Can a loop read x by index?"""
        if isinstance(x, Var) and (d := self._combines(x)) is not None:
            if self._is(d, reversed) and self._may_grow(d.args[0], loop):
                return False  # where it begins is settled when it is made
            parts = d.args[:1] if self._is(d, enumerate) else d.args
            return all(self._sequence(a, loop) for a in parts) and bool(parts)
        t = self.type_of(x)
        if isinstance(t, Known):
            return isinstance(t.value, (range, tuple))
        if _notices_changes(t) and self.handles and self._written(x):
            return False  # a loop over a deque that changes raises, which a handler may take
        return (isinstance(t, Arr) and t.fewest > 0) or isinstance(t, (Tup, Lst, SetOf)) or _is_range(t)

    def _may_grow(self, x: Operand, loop: BlockId) -> bool:
        """May a list get longer or shorter while a loop goes over it? Then its length is asked for at each item."""
        if isinstance(x, Var) and (d := self._combines(x)) is not None:
            return any(self._may_grow(a, loop) for a in d.args)
        t = self.type_of(x)
        if not isinstance(x, Var) or not isinstance(t, Lst) or t.cls is not list or self._view(x) is not None:
            return False
        return not self.growing.get(self.inferred.memory.find(x), _NOTHING).isdisjoint(self._during(loop))

    def _is_resized(self, x: Operand) -> bool:
        """Does a statement make a list longer or shorter, by a name for it or for what holds it?"""
        if not isinstance(x, Var) or not isinstance(t := self.type_of(x), Lst) or t.cls is not list:
            return False
        changes = self.growing.get(self.inferred.memory.find(x), _NOTHING)
        for v, s in self.defs.items():
            info = self.inferred.calls.get(v)
            if info is None:  # it is new: nothing is known of it so far
                if x in s.args and not self._is(s, iter) and not self._is(s, len):
                    return True
            elif v in changes and any(isinstance(self.type_of(a), _HOLDERS) for a in (*s.operands(), *info.args)):
                return True
        return False

    @cached_property
    def growing(self) -> dict[Var, set[Var]]:
        """For the memory of every list the calls that may make it longer or shorter."""
        memory, out = self.inferred.memory, dict[Var, set[Var]]()
        for s in self.defs.values():
            info = self.inferred.calls.get(s.out)
            if info is None or memory.only_iterates(s):
                continue
            if any(info.target is f for f in _SAME_LENGTH) and _is_whole(info.types[1]):
                continue
            # A rule writes to what it is given, a function to lists that this holds as well.
            others = (Obj, Cell, Arr, Dct) if info.kind == "rule" else ()
            changed: list[Operand] = [*memory.unseen.get(s.out, ())]
            changed += [v for v in info.written if not isinstance(self.type_of(v), others)]
            if (
                info.rule is None
                and info.kind == "plain"
                and not is_pure(info.target, len(info.args), [k for k, _ in s.kwargs])
            ):
                changed += info.args
            for v in changed:
                if isinstance(v, Var):
                    out.setdefault(memory.find(v), set()).add(s.out)
        return out

    def _during(self, loop: BlockId) -> Set[Var]:
        """What runs from the making of a loop's iterator to the loop's end."""
        known = self._run_during.get(loop)
        if known is None:
            known = self._run_during[loop] = self._since_made(loop) or self.defs.keys()
        return known

    def _since_made(self, loop: BlockId) -> Set[Var] | None:
        """The same, where the iterator is made right before the loop, and nobody else asks it; None where it is not."""
        body = self.bodies.get(loop, {loop})
        inside = {s.out for b in self.fn.blocks if b.id in body for s in b.stmts}
        before = [b for b in self.fn.blocks if b.id not in body and any(e.target == loop for e in edges(b.term))]
        term = next(b.term for b in self.fn.blocks if b.id == loop)
        assert isinstance(term, ForNext)
        alone = len(before) == self.asked_by[term.iterator] == 1
        where = {s.out: i for i, s in enumerate(before[0].stmts)} if alone else {}
        made: list[Operand] = [term.iterator]
        first = len(where)
        while made:
            v = made.pop()
            d = self.defs.get(v) if isinstance(v, Var) else None
            if d is not None and (self._is(d, iter) or self._combines(d.out) is d):
                first = min(first, where.get(d.out, -1))
                made += d.args
        return {v for v, i in where.items() if i >= first} | inside if alone and first >= 0 else None

    def _written(self, x: Operand) -> bool:
        return isinstance(x, Var) and self.inferred.memory.find(x) in self.written

    @cached_property
    def written(self) -> set[Var]:
        """What is written to, or given in a loop to calls that are not seen through."""
        memory = self.inferred.memory
        looping = set().union(*self.bodies.values())
        given = [memory.unseen.get(s.out, ()) for b in self.fn.blocks if b.id in looping for s in b.stmts]
        return {memory.find(v) for vs in (memory.written, *given) for v in vs}

    def _active(self, x: Operand) -> bool:
        if isinstance(x, Var) and (d := self._combines(x)) is not None:
            return any(map(self._active, d.args))
        return self.type_of(x).active

    def _length(self, x: Operand, pos: Pos) -> Operand:
        if isinstance(x, Var) and (d := self._combines(x)) is not None:
            lengths = [self._length(a, pos) for a in (d.args if self._is(d, zip) else d.args[:1])]
            n = lengths[0]
            for m in lengths[1:]:
                n = self.emit(pos, min, n, m)
            return n
        return self.emit(pos, len, x)

    def _list_tuples(self, x: Operand, pos: Pos) -> None:
        """Long tuples that are read by index, and sets: as lists, whose items have cotangents of their own."""
        if isinstance(x, Var) and (d := self._combines(x)) is not None:
            for a in d.args:
                self._list_tuples(a, pos)
        elif isinstance(t := self.type_of(x), SetOf) or (
            isinstance(t, Tup) and t.active and len(t.items) > MOST_COPIES
        ):
            self.listed[x] = self.emit(pos, list, x)

    def _item(self, x: Operand, i: Operand, pos: Pos) -> Operand:
        if isinstance(x, Var) and (d := self._combines(x)) is not None:
            if self._is(d, zip):
                return self.emit(pos, ops.build_tuple, *[self._item(a, i, pos) for a in d.args])
            if self._is(d, reversed):
                last = self.emit(pos, operator.sub, self._length(d.args[0], pos), Const(1))
                return self._item(d.args[0], self.emit(pos, operator.sub, last, i), pos)
            n: Operand = i if len(d.args) == 1 else self.emit(pos, operator.add, d.args[1], i)
            return self.emit(pos, ops.build_tuple, n, self._item(d.args[0], i, pos))
        return self.emit(pos, operator.getitem, self.listed.get(x, x), i)

    def _item_blocks(self, term: ForNext, x: Var, loop: BlockId) -> tuple[ForNext, list[CFGBlock]]:
        """The loop over indices (of a dict, over keys), and the blocks that read the item."""
        index, block = self.fresh.var(), self.fresh.block()
        count = ForNext(term.iterator, Edge(block), term.done, term.pos)
        self.out = []
        blocks: list[CFGBlock] = []
        if self._may_grow(x, loop):
            inside = self.emit(term.pos, operator.lt, index, self._length(x, term.pos))
            read = self.fresh.block()
            blocks.append(CFGBlock(block, (index,), tuple(self.out), Branch(inside, Edge(read), term.done, term.pos)))
            block, params = read, ()
            self.out = []
        else:
            params = (index,)  # type: ignore[assignment]
        if x in self.fixed:
            self.emit(term.pos, ops.check_unchanged, x, self.fixed[x])
        if (view := self._looked_through(x)) is not None:  # a view: what is written in the loop is seen
            item: Operand = self._entry(*view, index, term.pos)
        else:
            item = self._item(x, index, term.pos)
        to = Goto(Edge(term.body.target, (item, *term.body.args)), term.pos)
        return count, [*blocks, CFGBlock(block, params, tuple(self.out), to)]

    def _keys_carry(self, d: Operand) -> bool:
        """May the keys of this dict have derivatives?"""
        t = self.types.get(d) if type(d) is Var else None
        return isinstance(t, Dct) and keys_of(t).active

    def _entry(self, d: Operand, method: Any, index: Operand, pos: Pos) -> Operand:
        """What one of a dict's views (the method that gives it) shows of this key."""
        value: Operand = Const(None) if method in _KEYS else self.emit(pos, operator.getitem, d, index)
        if method not in _KEYS and method not in _ITEMS:
            return value
        key = self.emit(pos, key_in, d, index) if self._keys_carry(d) else index
        return key if method in _KEYS else self.emit(pos, ops.build_tuple, key, value)

    # -- statements --

    def _statement(self, s: Call) -> bool:
        """Emit something simpler for s, if there is."""
        if s.out in self.consumed:
            return True
        if s.out in self.iterators and (view := self._looked_through(s.args[0])) is not None:
            new = self.subst.pop(s.out)
            d, method = view
            unknown = method not in _ITEMS and d in self.inferred.memory.shape.looked_up  # nobody asked for the keys
            self.out.append(Call(s.out, Const(each_key if unknown or self._keys_carry(d) else iter), (d,), (), s.pos))
            return True
        if s.out in self.iterators:
            self._list_tuples(s.args[0], s.pos)
            grows = self._may_grow(s.args[0], self.iterators[s.out])
            n: Operand = Const(sys.maxsize) if grows else self._length(s.args[0], s.pos)
            t = self.type_of(s.args[0])
            if _notices_changes(t) and self._written(s.args[0]):
                self.fixed[s.args[0]] = n
            r = self.emit(s.pos, range, n)
            new = self.subst.pop(s.out)
            assert isinstance(new, Var)
            self.out.append(Call(s.out, Const(iter), (r,), (), s.pos))
            return True
        if self._writes_out(s):
            return True
        if (text := text_of(s, self.type_of)) is not None:
            self.subst[s.out] = text
            return True
        if self._of_keys(s):
            return True
        if self._is(s, tuple) and len(s.args) == 1:
            return self._filled(s)
        if isinstance(s.fn, Var):
            t = self.type_of(s.fn)
            if not isinstance(t, Meth) or not t.is_read_as(s.fn):
                return False
            if t.func is list.extend and len(s.args) == 1:
                return self._extend(s, t.receiver, s.args[0])
            return self._shown(s, t) if t.func is dict.items or t.func is dict.values else self._make(s, t)
        simpler = _SIMPLER.get(id(s.fn.value))
        return simpler is not None and simpler(self, s)

    def _of_keys(self, s: Call) -> bool:
        """`sum(d)`: the sum of the list of the keys."""
        if not any(map(self._keys_carry, s.args)):
            return False
        t = self.type_of(s.fn)
        f = t.value if isinstance(t, Known) and hashable(t.value) else None
        k = None if f in _TAKE_DICTS else uses_up(f, list(map(self.type_of, s.args)))
        if k is None or not self._keys_carry(s.args[k]):
            return False
        keys = self.emit(s.pos, list, s.args[k])
        self.out.append(Call(s.out, s.fn, (*s.args[:k], keys, *s.args[k + 1 :]), s.kwargs, s.pos))
        return True

    def _writes_out(self, s: Call) -> bool:
        """`f(x, out=z)`, which no rule takes, as `f(x)` written into z."""
        info, t = self.inferred.calls.get(s.out), self.type_of(s.fn)
        if info is None or info.rule is not None or not isinstance(t, (Known, Meth)):
            return False
        f, method = (t.func, True) if isinstance(t, Meth) else (t.value, False)
        if not outputs.can_be_split(f) or not outputs.writes_out(f, len(s.args) + method, [k for k, _ in s.kwargs]):
            return False
        args, keywords, out = outputs.split(f, (s.fn, *s.args) if method else s.args, dict(s.kwargs), Const(None))
        given = [self.type_of(v) for v in (*args, *keywords.values())]
        if not any(t.active for t in given) or any(map(may_say, given)):  # what its class says is told of the place
            return False
        several = isinstance(f, np.ufunc) and f.nout > 1
        outs = out if isinstance(out, list) else self._items_of(out, s.pos)
        if several and outs is not None and len(outs) == 1 and _is(self.type_of(outs[0]), Ellipsis):
            outs *= f.nout
        if outs is None or len(outs) != (f.nout if several else 1):
            return False
        y = self.fresh.var()
        self.out.append(Call(y, s.fn, tuple(args[method:]), tuple(keywords.items()), s.pos))
        results: list[Operand] = []
        for i, z in enumerate(outs):
            part: Operand = self.emit(s.pos, operator.getitem, y, Const(i)) if several else y
            if _is(self.type_of(z), Ellipsis):
                part = self.emit(s.pos, np.asarray, part)
            elif not _is(self.type_of(z), None):
                where = keywords.get("where", Const(True)) if isinstance(f, np.ufunc) else Const(True)
                broadcast = Const(isinstance(f, np.ufunc))
                more = [keywords["casting"]] if "casting" in keywords else []
                self.emit(s.pos, outputs.write_out, z, part, broadcast, where, *more)
                part = z
            results.append(part)
        self.subst[s.out] = self.emit(s.pos, ops.build_tuple, *results) if several else results[0]
        return True

    def _items_of(self, out: Operand, pos: Pos) -> list[Operand] | None:
        """What is given as `out=`: an array, None, `...` or a tuple of them; None where that is not known."""
        t = self.type_of(out)
        if isinstance(t, Tup):
            if not all(isinstance(x, Arr) or _is(x, None) for x in t.items):
                return None
            return [
                Const(None) if _is(x, None) else self.emit(pos, operator.getitem, out, Const(i))
                for i, x in enumerate(t.items)
            ]
        return [out] if isinstance(t, Arr) or _is(t, None) or _is(t, Ellipsis) else None


_SIMPLER: dict[int, Callable[[_Rewriter, Call], bool]] = {
    id(f): simpler
    for f, simpler in (
        (ops.unpack, _Rewriter._unpack),
        (ops.unpack_ex, _Rewriter._unpack_ex),
        (ops.call_ex, _Rewriter._call_ex),
        (operator.getitem, _Rewriter._known_item),
        (ops.build_list, _Rewriter._mixed),
        (operator.add, _Rewriter._sum),
        (operator.iadd, _Rewriter._put_at_end),
        (dict, _Rewriter._dict),
    )
}


def _is(t: T, value: object) -> bool:
    return isinstance(t, Known) and t.value is value


def _is_whole(t: T) -> bool:
    return is_scalar(t) and not isinstance(t, Real)


def _notices_changes(t: T) -> bool:
    """Does a loop over it raise when it gets longer or shorter?"""
    return isinstance(t, SetOf) or (isinstance(t, Lst) and t.cls is deque)


def _is_range(t: T) -> bool:
    return isinstance(t, Inst) and t.cls is range
