"""Iterators of a function and what asks them for items: loops, `next`, and what uses them up."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import Awaited, Inferred
from mooncake_py.infer.predicates import uses_up
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.types import Arr, Bot, Dct, Inst, Known, Lst, Meth, T, Top, Tup, widen
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import all_vars, fresh_beside, is_const, map_function
from mooncake_py.ir.nodes import (
    Call,
    CFGBlock,
    Const,
    ForNext,
    Function,
    Operand,
    Return,
    Var,
    all_edges,
)
from mooncake_py.iterators import (
    PAUSED,
    close_it,
    item_by_item,
    item_sent_for,
    item_thrown_for,
    item_within,
    items_by_index,
    items_left,
    next_item,
    next_or,
    sent_into,
    thrown_into,
)
from mooncake_py.registry import overlay_of
from mooncake_py.tangents import WHOLE
from mooncake_py.transform.canonical import pruned
from mooncake_py.transform.doubts import doubted
from mooncake_py.transform.fuse import Asked, Flow, Fusion, Uses
from mooncake_py.transform.inline import MOST_STATEMENTS, MOST_TOTAL, callee_of, plain_generator, stand_in
from mooncake_py.transform.protect import explicit, for_users, with_handlers, with_tries
from mooncake_py.transform.rewrite import loops_that_go_on
from mooncake_py.transform.single import without_idle_tuples
from mooncake_py.transform.splice import splice
from mooncake_py.transform.suspended import (
    guarded_states,
    inner_iterators,
    keeps_place,
    made_early,
    runs_again,
    yields,
    yields_alone,
)

MOST_YIELDS = 6
MOST_COPIED = 4 * MOST_STATEMENTS  # statements of all copies of a generator's body
MOST_HANDED_ON = 500  # values that blocks hand on: each generator that several loops ask may double them


def fuse(inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType]) -> Function | None:
    """The function with iterators simpler: a generator run by what asks for its items, or what asks made a loop.

    None where there are none.
    """
    fused: list[Any] = []  # what made them

    def one(known: Inferred) -> Function | None:
        search = _Search(known, globals_)
        blocks = search.fn.blocks
        if not search.roots or sum([len(b.stmts) for b in blocks]) > MOST_TOTAL:
            return None
        if sum([len(e.args) for b in blocks for e in all_edges(b)]) > MOST_HANDED_ON:
            return None
        for root in search.roots:
            made_by = search.maker(root)
            if fused and made_by not in fused and not search.is_settled(root):
                continue  # what it is given may be known better then, and something else be made of it
            simpler = search.simplified(root, taken)
            if simpler is not None:
                fused.append(made_by)
                return simpler
        return None

    # What is not reached is left out at once: new blocks may get the ids that such a block had.
    running = replace(inferred, fn=replace(inferred.fn, blocks=tuple(pruned(inferred).values())))
    return running.each(one)


def fuse_awaited(inferred: Inferred, globals_: dict, taken: set[pytypes.FunctionType]) -> Function | None:
    """The same with one generator, run by loops alone, whose call is not known and would be decided late."""
    search = _Search(inferred, globals_)
    for root in search.roots:
        info = inferred.calls.get(root.out)
        if info is None or not isinstance(info.target, Awaited) or not search.is_settled(root):
            continue
        uses = search.uses(root)
        if uses is None or uses.calls or search._generator(root, uses) is None:
            continue
        noted = doubted(inferred.fn, inferred, root, (root.fn, *root.args))
        return _Search(replace(inferred, fn=noted), globals_).simplified(root, taken)
    return None


_NOT_SEEN = Const(object())


def _one_of(a: tuple[Operand, bool] | None, b: tuple[Operand, bool] | None) -> tuple[Operand, bool] | None:
    """The value where two ways meet, None where they bring two."""
    if a is None or b is None:
        return None
    unbound = a[1] or b[1]
    if a[0] is b[0] or b[0] is _NOT_SEEN:
        return a[0], unbound
    return (b[0], unbound) if a[0] is _NOT_SEEN else None


class _Search:
    """The iterators of a function, and what is done with them."""

    def __init__(self, inferred: Inferred, globals_: dict):
        self.inferred, self.globals = inferred, globals_
        self.roots: list[Call] = []
        self.fn = fn = inferred.fn
        asks = any(isinstance(b.term, ForNext) for b in fn.blocks)
        if not any(self._asks(s) is not None or _method(s) is not None for b in fn.blocks for s in b.stmts):
            if not asks or self._loops_over_indices():
                return
        if not inferred.early:  # where there may be more to come, so may branches
            fn = replace(fn, blocks=tuple(pruned(inferred).values()))
        self.fn = fn = with_handlers(without_idle_tuples(fn))
        self.blocks = {b.id: b for b in fn.blocks}
        self.defs: dict[Operand, Call] = {s.out: s for b in fn.blocks for s in b.stmts}
        self.same = self._same()
        found: dict[Call, None] = {}
        for b in fn.blocks:
            asked = [s.args[k] for s in b.stmts if (k := self._asks(s)) is not None]
            asked += [b.term.iterator] if isinstance(b.term, ForNext) else []
            asked += [s.args[0] for s in b.stmts if _method(s) is not None]
            for it in asked:
                root = self._root(it)
                if root is not None:
                    found[root] = None
        self.roots = list(found)

    def _loops_over_indices(self) -> bool:
        """Are all loops over what is read by index, each by an iterator made for it?"""
        made = {s.out: (s, b) for b in self.fn.blocks for s in b.stmts if self.known(s.fn) is iter}
        for b in self.fn.blocks:
            if isinstance(b.term, ForNext):
                s, home = made.pop(b.term.iterator, (None, None))  # type: ignore[arg-type]
                if s is None or len(s.args) != 1 or not _is_sequence(self._type(s.args[0])):
                    return False
                if home is not b and all(e.target != b.id for e in all_edges(home)):
                    return False
        return True

    def known(self, v: Operand) -> Any:
        t: T | None = self.inferred.types.get(v) if isinstance(v, Var) else Known(v.value)
        return t.value if isinstance(t, Known) else None

    def _asks(self, s: Call) -> int | None:
        """Which argument is asked for items by this call?"""
        f, args = self._called(s)
        if f is None or not hashable(f) or s.kwargs:
            return None
        if f in _ASK_ONCE:
            return 0
        if f is next or f is item_within:
            return 0 if 1 <= len(s.args) <= 2 else None
        k = uses_up(f, list(map(self._type, args)))
        return None if k is None else k - (len(args) - len(s.args))

    @cached_property
    def _named(self) -> set[Operand]:
        return {*all_vars(self.inferred.fn)}

    def _still_named(self, v: Operand) -> bool:
        """Has a value the name that it had when it was found out what it is?"""
        return isinstance(v, Const) or v in self._named

    def _called(self, s: Call) -> tuple[Any, tuple[Operand, ...]]:
        """The function that is called, as far as it is known, and what it is given: a method its object first."""
        t = self._type(s.fn)
        if isinstance(t, Meth) and t.is_read_as(s.fn) and self._still_named(t.receiver):
            return t.func, (t.receiver, *s.args)
        return self.known(s.fn), s.args

    def _same(self) -> dict[Operand, tuple[Operand, bool]]:
        """Parameters of blocks that have one value, whichever way they are reached; and may they have none?"""
        given: dict[Operand, list[Operand | None]] = {}
        for b in self.fn.blocks:
            for to, x in self._passed(b):
                given.setdefault(to, []).append(x)
        found: dict[Operand, tuple[Operand, bool] | None] = {}
        readers: dict[Operand, set[Operand]] = {}
        for p, xs in given.items():
            for x in xs:
                if x is not None and x in given:
                    readers.setdefault(x, set()).add(p)
        work = list(given)
        while work:
            p = work.pop()
            new: tuple[Operand, bool] | None = (_NOT_SEEN, False)
            for x in given[p]:
                came = None if x is None else found.get(x, (_NOT_SEEN, False)) if x in given else (x, False)
                new = _one_of(new, (_NOT_SEEN, True) if x is not None and is_const(x, ops.UNBOUND) else came)
            if new != found.get(p, (_NOT_SEEN, False)):
                found[p] = new
                work += readers.get(p, ())
        return {p: one for p, one in found.items() if one is not None and one[0] is not _NOT_SEEN}

    def _passed(self, b: CFGBlock) -> Iterator[tuple[Var, Operand | None]]:
        """What a block gives to the parameters of others; None for an item or an exception."""
        for e in all_edges(b):
            params = self.blocks[e.target].params
            first = len(params) - len(e.args)
            yield from ((p, None) for p in params[:first])
            yield from zip(params[first:], e.args, strict=True)

    def find(self, v: Operand) -> Operand:
        return self.same[v][0] if v in self.same else v

    def _root(self, it: Operand) -> Call | None:
        """The call that made this iterator."""
        d = self.defs.get(self.find(it))
        while d is not None and self._hands_on(d):
            of = self.defs.get(self.find(d.args[0]))
            if of is None or not (self._hands_on(of) or self._makes_generator(of)):
                return d
            d = of
        return d if d is not None and self._makes_generator(d) else None

    def _hands_on(self, s: Call) -> bool:
        """Is the result of this call the iterator that it is given?"""
        f = self.known(s.fn)
        return (f is iter and len(s.args) == 1) or f is thrown_into or f is sent_into

    def _brought(self, it: Operand) -> Call | None:
        """What throws or sends something into this iterator for the loop over it to get its item."""
        d = self.defs.get(self.find(it))
        while d is not None and self._hands_on(d):
            if self.known(d.fn) is not iter:
                return d
            d = self.defs.get(self.find(d.args[0]))
        return None

    def _makes_generator(self, s: Call) -> bool:
        t = self.inferred.types.get(s.fn) if isinstance(s.fn, Var) else Known(s.fn.value)
        code = getattr(t, "code", None)
        if isinstance(t, Known) and hashable(t.value):
            f = overlay_of(t.value, len(s.args), bool(s.kwargs)) or t.value
            code = f.__code__ if isinstance(f, pytypes.FunctionType) else None
        return code is not None and bool(code.co_flags & 0x20)

    def maker(self, root: Call) -> Any:
        """The function that is called there, or its code."""
        t = self._type(root.fn)
        return t.value if isinstance(t, Known) else getattr(t, "code", None)

    def is_settled(self, root: Call) -> bool:
        """Is something known of all that this call is given?"""
        return not any(isinstance(self._type(a), (Top, Bot, type(None))) for a in root.args)

    @cached_property
    def _may_go_on(self) -> Callable[[list[CFGBlock]], bool]:
        return loops_that_go_on(replace(self.inferred, fn=self.fn))

    def uses(self, root: Call) -> Uses | None:
        """None where the iterator is used for more than to be asked."""
        values: set[Operand] = {root.out}
        found = Uses([], [], [], [], {}, {})
        more = True
        while more:
            more = False
            for s in self.defs.values():
                if s.out not in values and self._hands_on(s):
                    if self.find(s.args[0]) in values:
                        values.add(s.out)
                        found.names.append(s)
                        more = True
        for b in self.fn.blocks:
            for s in b.stmts:
                used = [i for i, v in enumerate(s.operands()) if self.find(v) in values]
                if not used or s in found.names:
                    continue
                if _method(s) is not None:
                    if any(s.out in v.args or s.out in dict(v.kwargs).values() for v in self.defs.values()):
                        return None
                    found.methods.append(s)
                    continue
                if len(used) > 1 or self._asks(s) != used[0] - 1 or b.id not in self.inferred.reached:
                    return None
                found.calls.append(s)
            if isinstance(b.term, ForNext) and self.find(b.term.iterator) in values:
                found.loops.append(b)
                if (by := self._brought(b.term.iterator)) is not None:
                    (found.thrown if self.known(by.fn) is thrown_into else found.sent)[b.id] = by.args[1]
            elif any(self.find(v) in values for v in _asked(b)):
                return None
            for p, x in self._passed(b):
                if x is not None and self.find(x) in values and self.find(p) not in values:
                    return None
        return found

    def simplified(self, root: Call, taken: set[pytypes.FunctionType]) -> Function | None:
        """The function with this iterator asked by loops only, or with its body around the loops."""
        over_it = self.known(root.fn) is iter
        by_key = over_it and _has_whole_keys(self._type(root.args[0]))
        if over_it and not by_key and not _is_sequence(self._type(root.args[0])):
            return None
        uses = self.uses(root)
        if uses is None:
            return None
        if over_it:
            if uses.thrown or uses.sent or uses.methods:
                return None
            if uses.calls or any(map(self._surely, uses.names)):
                return self._as_loops(root, uses)
            by_loops = all(b.term.iterator is root.out for b in uses.loops)  # type: ignore[union-attr]
            if by_key or (by_loops and not self._may_go_on(uses.loops)):
                return None  # loops over indices
            callee = stand_in(items_by_index, root)
            assert callee is not None
            return with_tries(Fusion(self.fn, Asked(root, uses, callee, callee.body, {})).function())
        found = self._generator(root, uses)
        if len(uses.calls) == 1 and not uses.loops and self.known(uses.calls[0].fn) in _MADE_LISTS:
            if found is None or not _rebinds(found.callee.body):
                return None  # a list of what the generator yields will do
        if found is None:
            return None
        if uses.methods:
            return self._methods_called(uses)
        if uses.calls:
            return self._as_loops(root, uses)
        if found.callee.owner is not None:
            taken.add(found.callee.owner)
        return with_tries(Fusion(self.fn, found).function())

    def _methods_called(self, uses: Uses) -> Function | None:
        """Calls of the generator's methods as calls of the functions that these are."""
        methods = {s.out: s for s in uses.methods}
        calls = [s for s in self.defs.values() if s.fn in methods]
        if any(s.kwargs or len(s.args) != _TAKEN[methods[s.fn].args[1].value] for s in calls):  # type: ignore[union-attr,index]
            return None
        fn = map_function(
            self.inferred.fn, lambda v: v, {s for b in self.inferred.fn.blocks for s in b.stmts if s.out in methods}
        )

        def called(s: Call) -> Call:
            m = methods.get(s.fn)  # type: ignore[arg-type]
            return s if m is None else replace(s, fn=Const(_method(m)), args=(m.args[0], *s.args))

        return replace(fn, blocks=tuple([replace(b, stmts=tuple(map(called, b.stmts))) for b in fn.blocks]))

    def _tells_result(self, s: Call) -> bool:
        """Does a call raise a StopIteration with what the generator returned?"""
        f = self.known(s.fn)
        return (f is next and len(s.args) == 1) or f is item_sent_for or f is item_thrown_for

    def _surely(self, name: Call) -> bool:
        """Is what `iter` is called with there, and not only where the iterator was made before?"""
        return not (name.args[0] in self.same and self.same[name.args[0]][1])

    def _type(self, v: Operand) -> T | None:
        return Known(v.value) if isinstance(v, Const) else self.inferred.types.get(v)

    def _as_loops(self, root: Call, uses: Uses) -> Function:
        """The calls that ask as loops over the iterator itself."""
        names = [s for s in uses.names if self._surely(s) and self.known(s.fn) is iter]
        subst: dict[Operand, Operand] = {s.out: root.out for s in names}
        fn = map_function(self.inferred.fn, lambda v: subst.get(v, v), set(names))
        for out in [s.out for s in uses.calls]:
            b = next(b for b in fn.blocks if any(s.out is out for s in b.stmts))
            i = next(i for i, s in enumerate(b.stmts) if s.out is out)
            s = b.stmts[i]
            f, args = self._called(s)
            if f in _ASK_ONCE or f is next:
                loop: Any = f if f is not next else next_item if len(s.args) == 1 else next_or
            elif (each := item_by_item(f, class_of(self._type(args[0]) or Top()))) is not None:
                loop, s = each, replace(s, fn=Const(each), args=args)
            else:
                loop, k = items_left, self._asks(s)
                assert k is not None
                fresh = fresh_beside(fn)
                listed = Call(fresh.var(), Const(items_left), (s.args[k],), (), s.pos)
                s = replace(s, args=(*s.args[:k], listed.out, *s.args[k + 1 :]))
                whole = replace(b, stmts=(*b.stmts[:i], listed, s, *b.stmts[i + 1 :]))
                fn = replace(fn, blocks=tuple(whole if x is b else x for x in fn.blocks))
                b, s = whole, listed
            callee = stand_in(loop, s)
            assert callee is not None
            fn = splice(fn, b, i, explicit(callee.body), callee.args, callee.closure)
        return fn

    def _generator(self, root: Call, uses: Uses) -> Asked | None:
        callee = callee_of(self.inferred, root, self.globals)
        if callee is None or not callee.body.suspends or not yields_alone(callee.body):
            return None
        if not all(map(self._still_named, (*callee.args, callee.closure))):
            return None
        body = for_users(plain_generator(callee, self.inferred, self.globals))
        n = sum(len(b.stmts) for b in body.blocks)
        if not 0 < len(yields(body)) <= MOST_YIELDS or n > MOST_STATEMENTS:
            return None
        if n * (len(uses.loops) + len(uses.calls)) > MOST_COPIED:
            return None
        if uses.calls:
            if any(self._tells_result(c) for c in uses.calls) and _returns(body):
                return None  # what it returns is in the StopIteration
            return Asked(root, uses, callee, body, {})
        if uses.methods:
            tells = any(_method(m) is not close_it for m in uses.methods)
            return None if tells and _returns(body) else Asked(root, uses, callee, body, {})
        found = Asked(root, uses, callee, body, {})
        if found.lasts and keeps_place(callee.body):
            return None  # it has more places than its yields
        if found.lasts:
            found.early.update(made_early(body))
        flow = Flow(self.fn, found)
        if not guarded_states(body).isdisjoint(flow.left()):
            return None  # it is to be closed
        if flow.begins_by(b for b, v in uses.sent.items() if not is_const(v, None)):
            return None  # which is a TypeError
        for s in inner_iterators(body):
            if s not in found.early and len(flow.loops) > 1 and flow.loops_that_run(body, s) > 1:
                k = body.params.index(s.args[0]) if s.args[0] in body.params else None
                if k is None:
                    return None  # which of several iterators it is would be known when it runs
                x = callee.args[k]
                if self._root(x) is None and (runs_again(body, s) or not _is_sequence(self._type(x))):
                    return None
                found.early[s] = k
        return found


_ASK_ONCE = frozenset({item_within, item_sent_for, item_thrown_for, close_it})
_METHODS = {"send": item_sent_for, "throw": item_thrown_for, "close": close_it}
_TAKEN = {"send": 1, "throw": 1, "close": 0}


def _method(s: Call) -> Any:
    """The function for a method of generators that is read there; None for anything else."""
    is_read = is_const(s.fn, getattr) and len(s.args) == 2 and isinstance(s.args[1], Const)
    return _METHODS.get(s.args[1].value) if is_read else None  # type: ignore[union-attr]


_MADE_LISTS = frozenset({sum, min, max, list, tuple, set, sorted, dict})


def _asked(b: CFGBlock) -> tuple[Operand, ...]:
    """What a terminator reads itself."""
    own = [getattr(b.term, name, None) for name in ("cond", "value", "exc", "cause", "iterator")]
    return tuple([v for v in own if isinstance(v, (Var, Const))])


def _rebinds(body: Function) -> bool:
    """Does it assign variables of the function around it?"""
    return any(is_const(s.fn, ops.cell_set) and s.args[0] in body.free for b in body.blocks for s in b.stmts)


def _returns(body: Function) -> bool:
    ends = [b.term.value for b in body.blocks if isinstance(b.term, Return)]
    return not all(is_const(v, None) or is_const(v, PAUSED) for v in ends)


def _has_whole_keys(t: T | None) -> bool:
    """Is a value of this type a dict whose keys have no derivative?"""
    return isinstance(t, Dct) and isinstance(key := widen(t.key), Inst) and key.cls in WHOLE


def _is_sequence(t: T | None) -> bool:
    """Is a value of this type iterated over as it is read by index?"""
    if isinstance(t, Known):
        return isinstance(t.value, (range, tuple))
    if isinstance(t, Arr):
        return bool(t.fewest)
    return isinstance(t, (Lst, Tup)) or (isinstance(t, Inst) and t.cls is range)
