"""Which values may share memory, and which of it is seen by more than value rules.

Union-find over the values that have identity (arrays, lists, unknowns). A class is *shared* when one of its
members is written to, stored somewhere, or handed to code that is not seen here: then its cotangents live in
shadows that travel with the values. Everything else is only read: its cotangents are local variables.
"""

from __future__ import annotations

import operator
from collections.abc import Container
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.fields import set_args
from mooncake_py.infer.allocation import LOOK_ONLY, Allocations, Origin, makes_container, only_iterates, private_objects
from mooncake_py.infer.base import remembered
from mooncake_py.infer.effects import Effect, after, between, holds, loosened, with_arrays_awake
from mooncake_py.infer.held import may_hold_data
from mooncake_py.infer.parts import activate, elsewhere, returned
from mooncake_py.infer.predicates import holds_objects, holds_unknown, may_be_asked, may_run_others
from mooncake_py.infer.protocol import WRITES, written
from mooncake_py.infer.shape import Shape
from mooncake_py.infer.types import (
    BOT,
    TOP,
    Arr,
    Bot,
    Cell,
    Dct,
    Fn,
    Inst,
    Known,
    Lst,
    Meth,
    Native,
    Obj,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    join,
    widen,
)
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    Call,
    Const,
    Function,
    Operand,
    Var,
    term_operands,
)
from mooncake_py.ir.ops import build_tuple, load_special
from mooncake_py.registry import element_effects, is_pure, rules_of
from mooncake_py.run import ARRAYS, NOTHING, Wary
from mooncake_py.structure import of_constant_package

if TYPE_CHECKING:
    from mooncake_py.infer.inferred import CallInfo


def has_identity(t: T) -> bool:
    """May the value be changed through another name?"""
    if isinstance(t, Inst):
        return not (is_scalar(t) or t.cls in (str, bytes, range, slice) or of_constant_package(t.cls))
    if isinstance(t, Tup):
        return any(map(has_identity, t.items))
    return isinstance(t, _OBJECTS)


ACTIVE = Top(True)
_WRITE_NOTHING = frozenset({"op", "planned"})
_OBJECTS = (Arr, Lst, Dct, Cell, Top, Fn, Meth)


# Functions that change nothing, but whose result is or holds what they were given: an item is the container's.
_HANDS_ON = frozenset(map(id, (operator.getitem, load_special, iter, enumerate, zip, reversed, next, list, tuple,
                               sorted, min, max, np.einsum, np.nan_to_num)))  # fmt: skip


class Memory:
    def __init__(
        self,
        fn: Function,
        types: dict[Var, T],
        calls: dict[Var, CallInfo],
        aliased: bool,
        surely: bool = False,
        wary: Wary = NOTHING,
        shape: Shape | None = None,
        outermost: bool = False,
    ):
        self.running: Var | None = None  # an object whose attributes nobody sets who is not seen
        self.parent: dict[Var, Var] = {}
        self._identity: dict[Operand, bool] = {}  # asked of every operand, and a type stays what it is
        self.types = types
        self.marked: set[Var] = set()
        self._found: dict[bool, _Found] = {}  # by whether what is read out of containers counts as made
        self.written: set[Var] = set()
        self.written_inside: set[Var] = set()  # of these, what a call may also have written to what they hold
        self.unseen: dict[Var, list[Var]] = {}  # of calls that are not seen through: what they were given
        self.fn = fn
        self.shape = shape or Shape(fn)
        self.wary = wary
        self.outermost = outermost
        self.handed_over = _only_handed_over(self.shape, types, calls)
        self.surely = surely  # calls that are not seen are taken to keep their arguments apart
        if aliased:  # the arguments share memory with each other
            shareable = [p for p in fn.params if self.identity(p)]
            for p in shareable[1:]:
                self.join(shareable[0], p)
        if wary:  # so may all that is reached from outside
            outside = [*fn.params, *fn.free, *_named(calls)]
            arrays = wary >= ARRAYS
            found = [v for v in outside if self.identity(v) and (arrays or not isinstance(types.get(v), Arr))]
            self.marked.update(found if arrays else ())
            for v in found[1:]:
                self.join(found[0], v)
        for s in self.shape.statements:
            if s.out in types and s.out in calls:
                self._call(s, calls[s.out])
        for a, p in (*self.shape.brought, *self.shape.passed):
            self.join(a, p)
        given = {self.find(v) for v in (*fn.params, *fn.free) if self.identity(v)}
        # Views of arguments that are returned: who gets one may write to it; the user has it when the run is over.
        self.handed_back = [y for y in self.shape.returned if self.identity(y) and self.find(y) in given]
        for y in () if outermost else self.handed_back:
            self._mark(y)
        self.close()

    def close(self) -> None:
        """Settle which classes are shared."""
        self.shared = {self.find(v) for v in self.marked}
        by_id = {id(t): t for t in self.types.values()}  # many values have one type
        always = {i for i, t in by_id.items() if _is_shared(t)}
        if always:
            self.shared.update([self.find(v) for v, t in self.types.items() if id(t) in always])

    def find(self, v: Var) -> Var:
        root = v
        while (p := self.parent.get(root, root)) is not root:
            root = p
        while (p := self.parent.get(v, v)) is not root:
            self.parent[v] = root
            v = p
        return root

    def is_shared(self, v: Operand) -> bool:
        return isinstance(v, Var) and self.find(v) in self.shared

    def identity(self, v: Operand) -> bool:
        known = self._identity.get(v)
        if known is None:
            t = self.types.get(v) if isinstance(v, Var) else None
            if t is None:
                return False
            known = self._identity[v] = has_identity(t)
        return known

    def join(self, a: Operand | None, b: Operand) -> None:
        if isinstance(a, Var) and isinstance(b, Var) and self.identity(a) and self.identity(b):
            self.parent[self.find(a)] = self.find(b)

    def _mark(self, v: Operand, written: bool = False) -> None:
        if self.identity(v):
            assert isinstance(v, Var)
            self.marked.add(v)
            if written:
                self.written.add(v)

    def _call(self, s: Call, info: CallInfo) -> None:
        rule = info.rule
        if info.kind == "derived":
            self._known_call(s, info)
        elif info.kind == "dynamic":
            given = (*s.operands(), *info.args)
            self.unseen[s.out] = [v for v in given if isinstance(v, Var) and self.identity(v)]
            for v in given:
                self._mark(v)
                if not self.surely:
                    self.join(s.out, v)
            self._mark(s.out)
        elif info.kind == "op":
            if isinstance(self.types[s.out], Meth) and s.out not in self.shape.escaping:
                return  # a method that is called and nothing else: its receiver is an argument of the call
            if s.out in self.handed_over:
                return  # nobody gets at the arrays by it
            for v in (*info.args, *(x for _, x in info.kwargs)):  # `_replace` takes items by name
                self.join(s.out, v)
        elif rule is not None:
            for i in rule.alias:
                if i < len(info.args):
                    self.join(s.out, info.args[i])
            n = len(info.args)
            apart = isinstance(t := self.types[s.out], Lst) and is_scalar(t.elem) and makes_container(info)
            for i in range(n) if rule.variadic and rule.codual else rule.codual:
                if i < n:
                    self._mark(info.args[i], i in rule.mutates)
                    if not apart:
                        self.join(s.out, info.args[i])
            for i in rule.mutates:
                if i < n:
                    for k in rule.codual:
                        if k < n:
                            self.join(info.args[i], info.args[k])
        elif (
            info.kind == "plain"
            and self.identity(s.out)
            and not of_constant_package(info.target)
            and (
                id(info.target) in _HANDS_ON
                or not is_pure(info.target, len(info.args), [k for k, _ in info.kwargs])
                or any(r.alias for r in rules_of(info.target))
            )
        ):
            for v in (s.fn, *info.args):  # the callee may be a method: what it returns may be its object
                self.join(s.out, v)

    def _known_call(self, s: Call, info: CallInfo) -> None:
        """A call of a function of which it is known what it changes, and what may be in what it gives."""
        callee = info.callee
        assert callee is not None and callee.changes is not None and callee.gives is not None
        for i, v in enumerate(info.args):
            self._mark(v, i in callee.changes)
            if i in callee.changes and isinstance(v, Var):
                self.written_inside.add(v)
            if not self.surely and i in callee.gives:
                self.join(s.out, v)
            for k in () if self.surely else callee.changes:
                self.join(info.args[k], v)
        self._mark(s.out)

    def written_back(
        self, types: dict[Var, T], calls: dict[Var, CallInfo], patience: int = 0, through: bool = False
    ) -> dict[Var, T]:
        """What must be known of objects where they are made, because of what is written into them later.

        `patience`: empty lists, of which it is not known what they will hold, are told of writes to what may be they
        later, where there is nothing else to tell: by then they may be seen to be lists of something else. Before they
        are told of all they are told of those by names of what is empty as well (`Effect`). `through`: those that what
        is read out of others most likely is are told first. The types and calls of one memory are always the same.
        """
        by_id = {id(t): t for t in types.values()}  # many values have one type
        if not any(isinstance(t, Fn) for t in by_id.values()) and not any(map(_may_write, calls.values())):
            return {}
        found = self._found.get(through)
        if found is None:
            found = self._found[through] = self._writes(types, calls, through)
        out: dict[Var, T] = {}
        effects, origins, of_globals = found.effects, found.origins, self.of_globals
        for v, t in types.items() if found.filled else ():
            if isinstance(t, (Lst, Dct)) and self.find(v) in found.filled and _is_empty(t):
                out[v] = after(t, Effect(TOP, ACTIVE, True, False))
        if effects:
            private = private_objects(self.shape, types, calls, WRITES)
            waking = {r: {e.seen for e in es if e.active} for r, es in effects.items()}
            of_numbers = {
                r: {e.seen for e in es if e.active and not _is_container(e.target)} for r, es in effects.items()
            }
            told: dict[tuple[Var, Origin], _Writes] = {}
            for v, t in types.items():
                if not self.identity(v) or (root := self.find(v)) not in effects:
                    continue
                of_global = v in of_globals
                if not holds(t):  # however many effects there are
                    wakes = waking[root]
                    if isinstance(t, Native):  # which is no object of the user's, though it comes to where one does
                        wakes = {e.seen for e in effects[root] if e.active and not isinstance(e.target, Obj)}
                    elif self._leads_to_numbers(v, t):
                        wakes = of_numbers[root]
                    woken = activate(t) if (True in wakes if of_global else wakes) else t
                    if woken != t:
                        out[v] = woken
                    continue
                key = root, origins.of(v)
                if key not in told:
                    each = [e.to(key[1], origins.spared(v, e.origin)) for e in effects[root]]
                    told[key] = _together(tuple(dict.fromkeys(each)))
                if v is self.running and isinstance(t, Obj):
                    new = _held_after_all(t, told[key], of_global, patience)
                else:
                    new = _after_all(t, told[key], of_global, v in private, v in found.foreign, patience)
                numbers = of_numbers[root]
                if numbers and isinstance(t, (Tup, Union)) and key[1].elsewhere and (True in numbers or not of_global):
                    new = with_arrays_awake(new)
                if new is not t:
                    out[v] = join(out[v], new) if v in out else new
        return out

    def _writes(self, types: dict[Var, T], calls: dict[Var, CallInfo], through: bool) -> _Found:
        """What the calls of the function write, and to what."""
        effects: dict[Var, dict[Effect, None]] = {}  # sets, in the order of the code
        filled: set[Var] = set()
        awake: set[Var] = set()  # classes into which a call that is not seen may have put anything
        told = False  # all that is outside, of a call that may write to anything there?
        origins = Allocations(self.shape, types, calls, self.identity, through)
        # A call that is not seen is taken not to write into globals; where one does, it is refused when it runs.
        # What such a call was given beside a global may be one with it by what is known here, and still be written to.
        of_globals = self.of_globals = set(_named(calls))
        foreign = self._from_outside(calls, of_globals)
        outside = {self.find(v) for v in foreign if self.identity(v)}  # may be one thing by several names, as is known

        def effect(v: Operand, e: Effect) -> None:
            if isinstance(v, Var) and self.identity(v):
                root = self.find(v)
                for r in outside if isinstance(e.target, Obj) and root in outside else (root,):
                    effects.setdefault(r, {})[e] = None

        for s in self.shape.statements:
            info = calls.get(s.out)
            if info is None or info.kind in _WRITE_NOTHING:
                continue
            rule, unseen = info.rule, info.kind == "dynamic"
            if unseen and (self.only_iterates(s) or self.only_compares(s)):
                continue
            if rule is not None and not rule.mutates and getattr(info.target, "__module__", None) not in LOOK_ONLY:
                # A function that is given to this one, and not just put away, may be called, and fill what it captured.
                given = (*info.args, *[v for _, v in info.kwargs])
                filled.update([self.find(v) for v in given if isinstance(v, Var) and isinstance(self._type(v), Fn)])
            if unseen:
                # What an active value may have been put into anywhere need not be told of more.
                given = (*s.operands(), *[v for v in info.args if v not in s.args])  # the object of a method, too
                told_of = [v for v in given if isinstance(v, Var) and self.identity(v) and self.find(v) not in awake]
                if told_of:
                    act = any(self._type(v).active for v in s.operands())
                for v in told_of:
                    t = self._type(v)
                    if (v is s.fn and isinstance(t, Known)) or (v in of_globals and not self.wary):
                        continue
                    if _is_of_numbers(t):
                        effect(v, Effect(t, ACTIVE if act else TOP, act, bool(self.wary)))
                        continue
                    effect(v, Effect(TOP, ACTIVE if act else TOP, act, bool(self.wary)))
                    if act:
                        awake.add(self.find(v))
                if self.wary and not told and not self._reaches_the_given_alone(s, info):
                    told = True
                    for r in outside:
                        effects.setdefault(r, {})[Effect(TOP, ACTIVE, True, True)] = None
            elif info.kind == "derived":
                assert info.callee is not None and info.callee.changes is not None
                for i, now in info.callee.changes.items():
                    x = info.args[i]
                    seen = bool(self.wary) or self._may_be_global(x)
                    for e in between(elsewhere(widen(info.types[i])), now, seen, origins.of(x)):
                        effect(x, e._replace(put=returned(e.put)) if self.outermost else e)
            elif info.target in WRITES:
                t, name = self._type(info.args[0]), info.args[1]
                if isinstance(t, Obj) and isinstance(name, Const):
                    put: T = written(t, name.value, self._type(info.args[2]))
                    effect(info.args[0], Effect(t, put, put.active, True))
            elif info.target is set_args:
                if isinstance(t := self._type(info.args[0]), Obj):
                    put = written(t, "args", Tup(tuple(map(widen, info.types[1:]))))
                    effect(info.args[0], Effect(t, put, put.active, True))
            elif rule is not None and rule.mutates:
                act = any(t.active for t in info.types)
                puts = element_effects.get(info.target)
                for i in rule.mutates:
                    if i < len(info.args):
                        x = info.args[i]
                        put = puts(info.types) if puts is not None else Top(act)
                        seen = bool(self.wary) or self._may_be_global(x)
                        effect(x, Effect(self._type(x), put, act, seen, origins.of(x)))
        return _Found(effects, filled, foreign, origins)

    def only_iterates(self, s: Call) -> bool:
        """Does a call make an iterator over containers of Python and nothing else?"""
        return only_iterates(s, self.shape, self._type)

    def _reaches_the_given_alone(self, s: Call, info: CallInfo) -> bool:
        """Does a call that is not seen come to nothing from outside but its arguments?

        One of C code does, unless it holds on to something, as a method that is bound to a list from outside does, or
        is given what may run other code.
        """
        if info.target is None or isinstance(info.target, (FunctionType, type)) or may_hold_data(info.target):
            return False
        given = [*[self._type(v) for v in s.operands() if v is not s.fn], *info.types]
        return not any(map(may_run_others, given))

    def only_compares(self, s: Call) -> bool:
        """Does a call compare what Python compares by itself, and nothing else?"""
        callee = s.fn if isinstance(s.fn, Const) else self.types.get(s.fn)
        if not isinstance(callee, (Const, Known)) or (callee.value is not max and callee.value is not min) or s.kwargs:
            return False
        given = [self._type(v) for v in s.args]
        return not any(may_be_asked(t) or holds_objects(t) or holds_unknown(t) for t in given)

    def written_outside(self, targets: Container[Any], calls: dict[Var, CallInfo]) -> set[Var]:
        """The calls of these functions that may write to what is neither an argument nor made here."""
        outside = {self.find(v) for v in (*_named(calls), *self.fn.free) if self.identity(v)}
        if not outside:
            return set()
        found = {
            v: info.args[0]
            for v, info in calls.items()
            if info.target in targets and isinstance(x := info.args[0], Var) and self.find(x) in outside
        }
        if not found:
            return set()
        origins = Allocations(self.shape, self.types, calls, self.identity)
        return {v for v, x in found.items() if origins.of(x).elsewhere}  # what is made here may hold what is outside

    def _from_outside(self, calls: dict[Var, CallInfo], named: set[Var]) -> set[Var]:
        """What comes from outside the function, by these names too, or out of code that is not seen here."""
        unseen = [v for v, c in calls.items() if c.kind in ("dynamic", "derived")]
        return {*self.fn.params, *self.fn.free, *named, *unseen}

    def _may_be_global(self, v: Operand) -> bool:
        """Is it a global, or part of one, as far as names, items and attributes are followed?"""
        defs = self.shape.defs
        while isinstance(v, Var) and v in defs:
            s = defs[v]
            if v in self.of_globals:
                return True
            if not s.args or not (is_const(s.fn, getattr) or is_const(s.fn, operator.getitem)):
                return False
            v = s.args[0]
        return isinstance(v, Var) and v not in self.fn.params and v not in self.fn.free

    def _leads_to_numbers(self, v: Var, t: T) -> bool:
        """Is it an array of numbers, or an iterator over one? What is put into a container does not change these."""
        s = self.shape.defs.get(v)
        over = s.args[0] if s is not None and len(s.args) == 1 and self._type(s.fn) == Known(iter) else None
        return _is_of_numbers(t) or (over is not None and _is_of_numbers(self._type(over)))

    def _type(self, v: Operand) -> T:
        return self.types.get(v, TOP) if isinstance(v, Var) else Known(v.value)


def _may_write(info: CallInfo) -> bool:
    """May a call write into what it is given, as far as is seen at once?"""
    if info.kind in _WRITE_NOTHING:
        return False
    if info.kind != "rule" and info.kind != "plain":
        return True
    return info.target in WRITES or info.target is set_args or (info.rule is not None and bool(info.rule.mutates))


def _is_shared(t: T) -> bool:
    """May others always come to values of this type?"""
    return isinstance(t, (Top, Fn, Lst, Dct, Cell, Obj)) or (isinstance(t, Tup) and _holds_unknown(t))


def _holds_unknown(t: Tup) -> bool:
    """Is there an item that may be an array, of another kind or none at all where the tuple comes from elsewhere?"""
    for x in t.items:
        if isinstance(x, Union):
            unknown = any(map(has_identity, x.options))
        else:
            unknown = isinstance(x, Top) or (isinstance(x, Tup) and _holds_unknown(x))
        if unknown and x.active:
            return True
    return False


def _named(calls: dict[Var, CallInfo]) -> list[Var]:
    """What names outside the function stand for."""
    return [v for v, info in calls.items() if info.named is not None]


@dataclass(slots=True)
class _Found:
    """The writes of a function: by memory class, the classes that functions given to rules may fill, and what comes
    from outside."""

    effects: dict[Var, dict[Effect, None]]
    filled: set[Var]
    foreign: set[Var]
    origins: Allocations


class _Writes:
    """All writes that a value is told of, in order. Told apart by identity: there is one of the same ones."""

    __slots__ = ("effects",)

    def __init__(self, effects: tuple[Effect, ...]):
        self.effects = effects


_together = remembered(_Writes)


@remembered
def _after_all(t: T, writes: _Writes, of_global: bool, private: bool, foreign: bool, patience: int) -> T:
    """The type of a container once all these writes have been done; t itself where they add nothing.

    What is `foreign` may have other names elsewhere, by which more or less is known of it.

    Many values have one type and may be one object, and most is as it was when the function was inferred before.
    """
    changed: T = BOT
    for e in writes.effects:
        if (of_global and not e.seen) or (private and isinstance(e.target, Top)):
            continue
        new = after(t, e._replace(target=loosened(e.target)) if foreign else e, patience)
        if new is not t:
            changed = join(changed, new)
    return changed if changed is not BOT else t


def _held_after_all(t: Obj, writes: _Writes, of_global: bool, patience: int) -> T:
    """The type of an object that has its attributes, whatever is called, but for what is put into what they hold."""
    attributes = [(k, _after_all(x, writes, of_global, False, True, patience)) for k, x in t.fields]
    act = t.act or any(x.active for _, x in attributes)
    return t if attributes == list(t.fields) and act == t.act else t.with_fields(tuple(attributes), act)


def _is_empty(t: Lst | Dct) -> bool:
    return isinstance(t.elem if isinstance(t, Lst) else t.values(), Bot)


def _is_of_numbers(t: T) -> bool:
    """Is it an array that leads to nothing else?"""
    return isinstance(t, Arr) and t.dtype is not None and t.dtype.kind not in "OV"


def _only_handed_over(shape: Shape, types: dict[Var, T], calls: dict[Var, CallInfo]) -> set[Var]:
    """The tuples of arrays that are made for calls which change nothing, and whose results are apart from these."""
    found = {s.out for s in shape.statements if is_const(s.fn, build_tuple) and _holds_numbers(types.get(s.out))}
    if not found:
        return found
    for b in shape.fn.blocks:
        found.difference_update(term_operands(b.term))
        for s in b.stmts:
            if not found.isdisjoint(s.operands()) and not _gives_new(calls.get(s.out)):
                found.difference_update(s.operands())
    return found


def _holds_numbers(t: T | None) -> bool:
    return isinstance(t, Tup) and all(_is_of_numbers(x) or not has_identity(x) for x in t.items)


def _gives_new(info: CallInfo | None) -> bool:
    rule = None if info is None else info.rule
    return rule is not None and not rule.codual and not rule.alias and not rule.mutates


def _is_container(t: T) -> bool:
    return all(map(_is_container, t.options)) if isinstance(t, Union) else isinstance(t, (Lst, Dct, Cell, Obj, SetOf))
