"""Abstract interpretation of one function for one signature: a type for every value, a meaning for every call.

Types flow forward to a fixpoint. What is written into an array or a list is not seen where the object is
made, so a second, outer fixpoint feeds it back: writing an active value makes the whole object active, at
every name it has (`forced`), and adds to what its elements may be.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import operator
import sys
import types as pytypes
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import ABSENT, make_object, surely
from mooncake_py.infer.memory import Memory
from mooncake_py.infer.named import answers
from mooncake_py.infer.outside import NAMESPACES, is_kept_by, is_library
from mooncake_py.infer.outside import is_data as is_outside_data
from mooncake_py.infer.places import placed
from mooncake_py.infer.protocol import WRITES, Classes, Lookup, Plan, asks, is_function
from mooncake_py.infer.resolve import attribute, class_attribute, class_of, is_code_like, result_type
from mooncake_py.infer.results import is_numeric_call, is_plain, only_numbers, result_of
from mooncake_py.infer.types import (
    BOT,
    Arr,
    Bot,
    Cell,
    Dct,
    Display,
    Fn,
    Inst,
    Known,
    Lst,
    Meth,
    Obj,
    Real,
    T,
    Top,
    Tup,
    abstract,
    activate,
    is_scalar,
    join,
    unknown_items,
    unseen,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    BlockId,
    Branch,
    Call,
    CFGBlock,
    Const,
    Edge,
    ForNext,
    Function,
    Operand,
    Raise,
    Return,
    Try,
    Var,
    edges,
    term_operands,
)
from mooncake_py.iterators import Generator, SequenceIterator, item_within, items_left, iterating
from mooncake_py.outputs import can_be_split, writes_out
from mooncake_py.registry import (
    Rule,
    asking_items,
    drained,
    find_rule,
    incurious,
    infer_table,
    is_pure,
    item_types,
    probed,
    rules_of,
    seen_through,
)
from mooncake_py.structure import constant_classes, is_user_class


@dataclass(slots=True)
class CallInfo:
    """What a call does.

    kind: "plain" (nothing to differentiate), "rule" (`rule`), "op" (the engine's own: tuples, cells, functions),
    "derived" (a Python function, `target`), "dynamic" (decided when it runs), "planned" (other calls, those of the Plan
    `target`, are to stand there; nothing is known of it until they do). `args` are the operands after a
    method's receiver has been put in front, `types` theirs.
    """

    kind: str
    target: Any = None
    rule: Rule | None = None
    args: tuple[Operand, ...] = ()
    kwargs: tuple[tuple[str, Operand], ...] = ()
    types: tuple[T, ...] = ()
    why: str = ""
    callee: Any = None  # for "derived": the result of the callee's own inference


@dataclass(frozen=True, slots=True)
class Guard:
    """A name whose meaning the rule relies on: `scope[name]` is `value` (or, if typed, of type `type`)."""

    scope: Any
    name: str
    value: Any
    type: T | None = None

    def holds(self) -> bool:
        """Is it still so? What is in a list may have changed."""
        now = self.scope.get(self.name, ABSENT)
        if now is self.value and type(now) is not list:
            return True
        return self.type is not None and now is not ABSENT and abstract(now, False) == self.type


@dataclass(slots=True)
class Inferred:
    """The result: types and calls by the variable they define, the return type, the guards."""

    fn: Function
    types: dict[Var, T]
    calls: dict[Var, CallInfo]
    result: T
    guards: dict[tuple[int, str], Guard]
    memory: Memory
    reached: set[BlockId] = field(default_factory=set)
    wary: bool = False
    relied: set[pytypes.FunctionType] = field(default_factory=set)  # functions whose results have the types they have


_OF_FRAMES = {locals: 1, vars: 1, dir: 1, eval: 2, exec: 2, sys._getframe: 9, inspect.currentframe: 9, inspect.stack: 9}
"""Functions that see the frame they are called in, given fewer arguments than this: derived code has another one."""
FRAME_NAMES = frozenset(f.__name__ for f in _OF_FRAMES)
_OF_FUNCTIONS = frozenset({"__defaults__", "__kwdefaults__", "__closure__"})
_STRUCTURAL = frozenset({ops.build_tuple, ops.check_bound, ops.make_function, ops.unpack, surely})
_ITEMS = frozenset({operator.getitem, tuple.__getitem__})


class Inference:
    def __init__(
        self,
        fn: Function,
        arg_types: Sequence[T],
        globals_: dict[str, Any],
        free_types: Sequence[T] = (),
        aliased: bool = False,
        wary: bool = False,
        classes: Classes | None = None,
    ):
        self.classes = None if wary else classes  # where attributes of objects are looked into
        self.late: set[Var] = set()  # writes of attributes that are decided when they run
        self.aliased = aliased
        self.wary = wary  # what is outside may be written to: `infer/outside.py`
        self.fn = fn
        self.globals = globals_
        self.builtins = globals_.get("__builtins__", builtins)
        if isinstance(self.builtins, pytypes.ModuleType):
            self.builtins = self.builtins.__dict__
        self.arg_types = list(arg_types)
        self.free_types = list(free_types)
        self.guards: dict[tuple[int, str], Guard] = {}
        self.relied: set[pytypes.FunctionType] = set()
        self.forced: dict[Var, T] = {}
        self.blocks = {b.id: b for b in fn.blocks}
        self.defs: dict[Var, Call] = {s.out: s for b in fn.blocks for s in b.stmts}
        self.tried = {b.term.body.target: b.id for b in fn.blocks if isinstance(b.term, Try)}
        bodies = [b for b in fn.blocks if b.id in self.tried]
        self.protected = {s.out for b in bodies for s in b.stmts}
        self.users: dict[Var, set[BlockId]] = {}
        counts: dict[Var, int] = {}
        for b in fn.blocks:
            for v in (*(v for s in b.stmts for v in s.operands()), *term_operands(b.term)):
                if isinstance(v, Var):
                    self.users.setdefault(v, set()).add(b.id)
                    counts[v] = counts.get(v, 0) + 1
        loops = Counter(b.term.iterator for b in fn.blocks if isinstance(b.term, ForNext))
        self.looped = {
            v for v, n in loops.items() if isinstance(v, Var) and counts[v] == n
        }  # iterators that nothing else sees
        self.displays = {  # lists for one call, in the block where they are made
            s.out
            for b in fn.blocks
            for s in b.stmts
            if is_const(s.fn, ops.build_list) and counts.get(s.out) == 1 and self.users[s.out] == {b.id}
        }

    # -- driver --

    def run(self) -> Inferred:
        times: Counter[Var] = Counter()  # how often more was found to be written into a value
        for round_ in itertools.count():
            result = self.flow()
            memory = Memory(self.fn, self.types, self.calls, self.aliased, wary=self.wary)
            grown = memory.written_back(self.types, self.calls)
            changed = False
            for v, t in grown.items():
                old = self.forced.get(v, BOT)
                new = join(old, t)
                if new != old:
                    times[v] += 1
                if times[v] > 8 or round_ > 100:  # a list in itself, say: there is no end to its type
                    new = Top(new.active)
                if new != old:
                    self.forced[v] = new
                    changed = True
            outside = memory.written_outside(WRITES, self.calls)
            if not changed and outside <= self.late:
                break
            self.late |= outside
        for (cls, name), d in self.classes.looked.items() if self.classes is not None else ():
            self.guards[(id(cls), name)] = Guard(Lookup(cls), name, d)
        return Inferred(
            self.fn, self.types, self.calls, result, self.guards, memory, self.reached, self.wary, self.relied
        )

    def flow(self) -> T:
        self.types: dict[Var, T] = {}
        self.calls: dict[Var, CallInfo] = {}
        self.reached: set[BlockId] = set()
        self.carrying: set[BlockId] = set()
        self.result: T = BOT
        for p, t in zip(self.fn.params, self.arg_types, strict=True):
            self.types[p] = self._with_forced(p, self.seen(t))
        for p, t in zip(self.fn.free, self.free_types, strict=False):
            self.types[p] = self._with_forced(p, self.seen(t))
        work = [self.fn.entry.id]
        order = {b.id: i for i, b in enumerate(self.fn.blocks)}
        queued = {self.fn.entry.id}
        rounds: dict[BlockId, int] = {}
        while work:
            work.sort(key=order.__getitem__, reverse=True)
            b = work.pop()
            queued.discard(b)
            self.reached.add(b)
            rounds[b] = rounds.get(b, 0) + 1
            for target in self.block(self.blocks[b], rounds[b] > 20):
                if target not in queued:
                    queued.add(target)
                    work.append(target)
        return self.result

    def block(self, b: CFGBlock, hurry: bool) -> list[BlockId]:
        """Interpret one block; the successors whose parameters changed (or that are new)."""
        types = self.types
        todo: list[BlockId] = []
        for s in b.stmts:
            t = self._with_forced(s.out, self.call(s))
            if types.get(s.out) != t:
                types[s.out] = t
                todo += self.users.get(s.out, ())
        if b.id in self.tried and b.id not in self.carrying and self._carries(b):
            self.carrying.add(b.id)
            todo.append(self.tried[b.id])
        todo = [x for x in todo if x in self.reached and x != b.id]
        term = b.term
        if isinstance(term, Return):
            self.result = join(self.result, self.type_of(term.value))
        for e, first in self._live_edges(b):
            target = self.blocks[e.target]
            changed = e.target not in self.reached
            incoming = [first, *map(self.type_of, e.args)] if first is not None else map(self.type_of, e.args)
            for p, t in zip(target.params, incoming, strict=True):
                old = types.get(p, BOT)
                new = self._with_forced(p, join(old, t))
                if hurry and new != old:
                    new = Top(new.active)
                if new != old:
                    types[p] = new
                    changed = True
                    todo += [x for x in self.users.get(p, ()) if x in self.reached]
            if changed:
                todo.append(e.target)
        return todo

    def _carries(self, b: CFGBlock) -> bool:
        """May an exception out of this block have arguments with a derivative?"""
        if isinstance(b.term, Raise) and b.term.exc is not None:
            if b.term.reraise or self.type_of(b.term.exc).active:
                return True
        return any(c.kind == "dynamic" for s in b.stmts if (c := self.calls.get(s.out)) is not None)

    def _live_edges(self, b: CFGBlock) -> list[tuple[Edge, T | None]]:
        term = b.term
        if isinstance(term, Branch):
            c = self.type_of(term.cond)
            if isinstance(c, Known):
                return [(term.then if c.value else term.orelse, None)]
            return [(term.then, None), (term.orelse, None)]
        if isinstance(term, ForNext):
            return [(term.body, self.item_type(term.iterator)), (term.done, None)]
        if isinstance(term, Try):
            return [(term.body, None), (term.handler, Top(term.body.target in self.carrying))]
        return [(e, None) for e in edges(term)]

    def _with_forced(self, v: Var, t: T) -> T:
        f = self.forced.get(v)
        if f is None or isinstance(t, Bot):
            return t
        if isinstance(t, Obj):
            if not isinstance(f, Obj) or f.cls is not t.cls:
                return Inst(t.cls, t.act or f.active)
            fields = {**dict(f.fields), **{k: join(x, f.field(k) or BOT) for k, x in t.fields}}
            return Obj.of(t.cls, t.act or f.act, fields, t.sure)  # what is written is not taken away
        if isinstance(t, (Lst, Dct, Cell)) and isinstance(f, Top):  # it has grown for too long
            return unknown_items(t, t.act or f.act)
        if isinstance(t, (Lst, Dct, Cell, Tup)):
            return join(t, f)
        return activate(t) if f.active and isinstance(t, (Arr, Inst, Top)) else t

    def seen(self, t: T) -> T:
        """A type that comes from outside, with what is known of objects where that is wanted."""
        return t if self.classes is not None else unseen(t)

    # -- operands and statements --

    def type_of(self, v: Operand) -> T:
        if isinstance(v, Const):
            return Known(v.value)
        return self.types.get(v, BOT)

    def displayed(self, v: Operand) -> T:
        """The type of an operand, with those of the items of a list that only this call gets."""
        t = self.type_of(v)
        if isinstance(v, Var) and v in self.displays and type(t) is Lst:
            return Display(t.elem, t.act, items=tuple(map(self.displayed, self.defs[v].args)))
        return t

    def item_type(self, it: Operand) -> T:
        d = self.defs.get(it) if isinstance(it, Var) else None
        if d is not None and self.type_of(d.fn) == Known(iter) and len(d.args) == 1:
            return self.element_type(d.args[0])
        return Top(self.type_of(it).active)

    def element_type(self, x: Operand) -> T:
        """What iterating over x gives."""
        t = self.type_of(x)
        if isinstance(t, Bot):
            return t
        d = self.defs.get(x) if isinstance(x, Var) else None
        callee = self.type_of(d.fn) if d is not None else None
        if d is not None and isinstance(callee, Known) and not d.kwargs:
            if callee.value is zip:
                return Tup(tuple(self.element_type(a) for a in d.args))
            if callee.value is enumerate and len(d.args) == 1:
                return Tup((Inst(int), self.element_type(d.args[0])))
            items_of = item_types.get(callee.value) if type(callee.value).__hash__ is not None else None
            if items_of is not None:
                given = items_of([self.element_type(a) for a in d.args], [self.type_of(a) for a in d.args])
                if given is not None:
                    return given
            if (callee.value is reversed or callee.value is iter) and len(d.args) == 1:
                return self.element_type(d.args[0])
        match t:
            case Known(value=v) if isinstance(v, range):
                return Inst(int)
            case Known(value=v) if isinstance(v, (tuple, list)):
                e: T = BOT
                for item in v:
                    e = join(e, widen(Known(item)))
                return e
            case Inst(cls=c) if c is range:
                return Inst(int)
            case Inst(cls=c) if c is str:
                return Inst(str)
            case Arr(dtype=dt, ndim=n, act=act) if n is not None and n > 1:
                return Arr(dt, n - 1, act)
            case Arr(dtype=dt, ndim=1, act=act) if dt is not None:
                return Inst(dt.type, act)
            case Lst(elem=e):
                return e
            case Dct(key=k):
                return k
            case Tup(items=items):
                e = BOT
                for i in items:
                    e = join(e, i)
                return e
        return Top(t.active)

    def call(self, s: Call) -> T:
        fn = self.type_of(s.fn)
        if isinstance(fn, Bot):
            return BOT
        args = tuple(map(self.type_of, s.args))
        for t in args:
            if t is BOT:
                return BOT
        if isinstance(fn, Meth):
            x = fn.receiver
            if self.classes is not None and is_function(fn.func):
                return self.planned(s, Plan(fn.func, (x, *s.args), s.kwargs))
            return self.resolved(s, fn.func, (x, *s.args), (self.type_of(x), *args))
        if isinstance(fn, Known):
            return self.resolved(s, fn.value, s.args, args)
        if isinstance(fn, Fn):
            return self.derived(s, fn, s.args, args)
        if isinstance(fn, (Obj, Tup)) and self.classes is not None:
            plan = self.classes.called(s.fn, fn, s.args, s.kwargs)
            if plan is not None:
                return self.planned(s, plan)
        return self.dynamic(s, "the callee is not known")

    def active(self) -> bool:
        """Does the function get anything with a derivative?"""
        return any(t.active for t in (*self.arg_types, *self.free_types))

    def planned(self, s: Call, plan: Plan) -> T:
        """Other calls are to stand here: until they do, what comes of them is not seen.

        The hope is that it changes no type that this or another plan relies on; a cautious inference has none.
        """
        self.calls[s.out] = CallInfo("planned", plan, None, s.args, s.kwargs)
        return Top(True) if self.classes is not None and self.classes.cautious else BOT

    def dynamic(self, s: Call, why: str) -> T:
        types = [self.type_of(v) for v in s.operands()]
        act = any(t.active for t in types) or self.wary
        seen = act or any(map(_may_be_written, types))  # what it changes is put back
        self.calls[s.out] = CallInfo("dynamic" if seen else "plain", None, None, s.args, s.kwargs, (), why)
        return Top(act)

    def resolved(self, s: Call, f: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        """A call of a known object."""
        if f is ops.load_global:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return self.global_type(s.args[0].value)  # type: ignore[union-attr]
        if f is getattr and len(args) >= 2 and isinstance(types[1], Known) and not s.kwargs:
            return self.getattr(s, args, types)
        if f in _OF_FRAMES and (len(args) < _OF_FRAMES[f]) and self.active():
            raise UnsupportedError(
                f"{f.__name__}() in a function that computes with values that have derivatives",
                self.fn.filename,
                s.pos.line,
                "name the variables",
            )
        if self.classes is not None:
            of_object = self.of_object(s, self.classes, f, args, types)
            if of_object is not None:
                return of_object
            places = placed(self.classes, f, args, types, s.kwargs, self.type_of)
            if places is not None:
                self.calls[s.out] = CallInfo("op", places.does, None, places.args, places.kwargs, types)
                return places.type
            if any(isinstance(t, Tup) and answers(t.cls, asks(f)) for t in types[:2]):
                return self.dynamic(s, "the class of a named tuple decides")
        if f in _STRUCTURAL or (f in _ITEMS and isinstance(types[0], Tup) and isinstance(types[1], Known)):
            t = self.structural(s, f, args, types)
            if t is not None:
                f = operator.getitem if f in _ITEMS else f
                self.calls[s.out] = CallInfo("op", f, None, args, s.kwargs, types)
                return t
        kw = tuple((k, self.type_of(v)) for k, v in s.kwargs)
        act = any(t.active for t in types) or any(t.active for _, t in kw)
        if f is isinstance and isinstance(types[1], Known):
            folded = _fold_isinstance(types[0], types[1].value)
            if folded is not None:
                self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
                return Known(folded)
        if f in (operator.is_, operator.is_not) and len(types) == 2:
            self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
            folded = fold_is(types[0], types[1])
            return Inst(bool) if folded is None else Known(folded is (f is operator.is_))
        if f is ops.truth or f is operator.not_:
            if isinstance(types[0], Known) and isinstance(types[0].value, (bool, int, float, str, type(None), tuple)):
                self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
                return Known(bool(types[0].value) is (f is ops.truth))
        rules = rules_of(f)
        rule = find_rule(f, types, [k for k, _ in kw]) if rules else None
        if rule is not None and (k := drained.get(f, len(types))) < len(types) and _may_be_iterator(types[k]):
            rule = False  # it may be an iterator
        if act and f is slice and any(is_scalar(x) and x.active for x in types):
            raise UnsupportedError(
                "a slice with a bound that has a derivative", self.fn.filename, s.pos.line, "use np.linspace, np.arange"
            )
        given = (*types, *(t for _, t in kw))
        if f in _OF_THE_WHOLE:
            given = tuple([t for t in given if not isinstance(t, (Tup, Lst))])
        asked = act and f not in incurious and any(map(_may_be_asked, given))
        if asked and isinstance(rule, Rule) and rule.fn is not None and not rule.user:
            if f in probed or f in asking_items:
                rule = False  # there may be an object that is asked for a number, or compared
        if (
            (f is next or f is item_within)
            and len(args) == 1
            and not isinstance(t := self.item_type(args[0]), (Top, Bot))
        ):
            self.calls[s.out] = CallInfo("dynamic", f, None, args, s.kwargs, types, "no rule")
            return t
        if isinstance(rule, Rule):
            t = self.result_type(f, args, types, kw)
            if act and rule.fn is not None:
                self.refuse_objects(s, types[0] if rule.mutates and types else t)
            if rule.fn is None:
                why = "the method of an object may be called"
                self.calls[s.out] = CallInfo("dynamic" if asked else "plain", f, rule, args, s.kwargs, types, why)
                return activate(t, False)
            if not act and not rule.mutates and not (f is make_object and self._with_forced(s.out, t).active):
                self.calls[s.out] = CallInfo("plain", f, rule, args, s.kwargs, types)
                return t
            self.calls[s.out] = CallInfo("rule", f, rule, args, s.kwargs, types)
            return t
        if rule is False:
            decided_late = act or any(r.mutates for r in rules)
            why = "the types of the arguments are not known"
            self.calls[s.out] = CallInfo("dynamic" if decided_late else "plain", f, None, args, s.kwargs, types, why)
            t = self.result_type(f, args, types, kw)
            return Top(act) if isinstance(t, Top) else t
        if isinstance(f, pytypes.BuiltinFunctionType) and isinstance(f.__self__, np.ufunc):
            method = getattr(np.ufunc, f.__name__)  # one rule for all ufuncs
            return self.resolved(s, method, (Const(f.__self__), *args), (Known(f.__self__), *types))
        classes = [class_of(widen(t)) for t in types]
        python = None if f is ops.load_special else seen_through(f, len(types), bool(kw), classes)
        split = writes_out(f, len(types), [k for k, _ in kw]) and can_be_split(f)
        if python is not None and not split and (act or python is f) and python.__module__ != ops.__name__:
            return self.derived(s, Known(python), args, types)
        t = self.result_type(f, args, types, kw)
        if self.wary and isinstance(f, type) and f.__flags__ & 1 << 9:
            self.calls[s.out] = CallInfo("dynamic", f, None, args, s.kwargs, types, "a class")
            return Top(True)
        pure_call = not act and (is_pure(f, len(types), [k for k, _ in kw]) or not any(map(_may_be_written, types)))
        self.calls[s.out] = CallInfo("plain" if pure_call else "dynamic", f, None, args, s.kwargs, types, "no rule")
        return activate(t) if act else t

    def result_type(self, f: Any, args: tuple[Operand, ...], types: tuple[T, ...], kw: tuple[tuple[str, T], ...]) -> T:
        """The result type of a primitive. An array made of a list has the dtype of just these items."""
        t = result_type(f, types, kw)
        if isinstance(t, (Arr, Top)) and (shown := tuple(map(self.displayed, args))) != types:
            better = result_type(f, shown, kw)
            return better if isinstance(better, Arr) or is_scalar(better) else t
        return t

    def refuse_objects(self, s: Call, t: T) -> None:
        """Derivatives are followed through arrays of numbers only."""
        if isinstance(t, Arr) and t.dtype is not None and t.dtype.kind in "OV":
            raise UnsupportedError(
                f"a value with a derivative in an array of dtype {t.dtype}",
                self.fn.filename,
                s.pos.line,
                "use arrays of floats or complex numbers, lists or dicts",
            )

    def global_type(self, name: str) -> T:
        g = self.globals
        if name in g:
            scope, value = g, g[name]
        elif name in self.builtins:
            scope, value = self.builtins, self.builtins[name]
            self.guards[(id(g), name)] = Guard(g, name, ABSENT)
        else:
            return Top()
        typed = self.classes is not None and is_user_class(type(value)) and not rules_of(value)
        if is_code_like(value) and not typed and not (self.wary and is_outside_data(value)):
            self.guards[(id(scope), name)] = Guard(scope, name, value)
            return Known(value)
        t = abstract(value, False)
        # The attributes of an object may be of other types next time, so it is looked at even if it is the same.
        same = value if self.classes is None or not isinstance(t, Obj) else ABSENT
        self.guards[(id(scope), name)] = Guard(scope, name, same, t)
        return abstract(value, True) if self.wary and is_outside_data(value) else self.seen(t)

    def getattr(self, s: Call, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        assert isinstance(types[1], Known)
        t, name = types[0], types[1].value
        if self.wary and isinstance(t, Known) and isinstance(t.value, NAMESPACES) and is_kept_by(t.value, name):
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, f"attribute {name}")
            return Top(True)
        if isinstance(t, Known) and isinstance(t.value, pytypes.ModuleType):
            value = getattr(t.value, name, ABSENT)
            if value is not ABSENT and (is_code_like(value) or isinstance(value, (int, float, str))):
                self.guards[(id(t.value), name)] = Guard(t.value.__dict__, name, value)
                self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
                return Known(value)
        if isinstance(t, Known) and isinstance(t.value, (type, np.ufunc)):
            value = getattr(t.value, name, ABSENT)
            if isinstance(
                value, (pytypes.BuiltinFunctionType, pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)
            ):
                self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
                return Known(value)
        if self.classes is not None:
            found_ = None
            if isinstance(t, Obj) and (len(args) == 2 or name in t.sure):
                found_ = self.classes.read(s, args[0], t, name)
            elif isinstance(t, Tup) and t.cls is not tuple:
                found_ = self.classes.read_named(s, args[0], t, name)
            elif isinstance(t, Known) and isinstance(t.value, type) and len(args) == 2:
                found_ = self.classes.read_class(s, t.value, name)
            if found_ is not None:
                return self.found(s, *found_, args[:2], types[:2])
        if self.wary and (not isinstance(t, Known) or isinstance(t.value, (type, pytypes.FunctionType))):
            if not isinstance(t, Known) or not is_code_like(getattr(t.value, name, ABSENT)):
                if isinstance(t, (Top, Known)) or (isinstance(t, Inst) and is_user_class(t.cls)):
                    self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, f"attribute {name}")
                    return Top(True)
        if name == "f_locals" or (name in _OF_FUNCTIONS and t.active):
            raise UnsupportedError(f"reading {name} of what may have derivatives", self.fn.filename, s.pos.line)
        found = attribute(widen(t), name, s)
        if found is not None:
            r, descriptor = found
            if descriptor is None:
                self.calls[s.out] = CallInfo("op", getattr, None, args, (), types)
                return r
            return self.resolved_attribute(s, descriptor, args[:1], (widen(t),), r)
        act = t.active
        self.calls[s.out] = CallInfo("dynamic" if act else "plain", getattr, None, args, (), types, f"attribute {name}")
        return Top(act)

    def found(self, s: Call, t: T, how: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        """An attribute of an object or class that is known: see `Classes.read`."""
        if isinstance(how, Plan):
            return self.planned(s, how)
        if how is None:
            assert isinstance(t, Meth)
            self.calls[s.out] = CallInfo("op", getattr, None, (t.receiver, Const(None)), (), types)
        elif isinstance(how, int):
            self.calls[s.out] = CallInfo("op", operator.getitem, None, (args[0], Const(how)), (), types)
        elif how is getattr:
            self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
        else:
            self.calls[s.out] = CallInfo("rule", how, rules_of(how)[0], args, (), types)
        return t

    def of_object(self, s: Call, classes: Classes, f: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T | None:
        """A call that comes down to what the classes of objects say; None for any other."""
        t = types[0] if types else BOT
        if f is setattr or f is object.__setattr__:
            if len(types) != 3 or not isinstance(t, Obj) or not isinstance(types[1], Known) or s.out in self.late:
                return None
            how = classes.write(t, args, types[1].value, types[2], raw=f is not setattr)
            if isinstance(how, Plan):
                return self.planned(s, how)
            if how is not None:
                self.calls[s.out] = CallInfo("rule", how, rules_of(how)[0], args, (), types)
                return Known(None)
        elif f is ops.load_super:
            match types[1:]:
                case (Known(value=type() as cls), (Obj() | Tup()) as x, Known(value=name)):
                    found = classes.read_super(s, cls, x, name)
                    return None if found is None else self.found(s, *found, args[2:], types[2:])
        elif f is iter and isinstance(t, Obj) and len(args) == 1:
            method = classes.look(t.cls, "__iter__")
            if is_function(method):
                alone = s.out in self.looped and not method.__code__.co_flags & inspect.CO_GENERATOR
                return self.planned(s, Plan(iterating, (Const(method), *args)) if alone else Plan(method, args))
        elif any(isinstance(x, Obj) for x in types) and (k := uses_up(f, types)) is not None and not s.kwargs:
            of = types[k]
            if isinstance(of, Obj) and is_function(classes.look(of.cls, "__iter__")):
                return self.planned(s, Plan(items_left, (args[k],), (), None, k))
        elif f is object.__init__ and len(args) == 1 and isinstance(t, Obj):
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(None)
        elif f is type and len(args) == 1 and isinstance(t, Obj):
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(t.cls)
        elif (f is ops.truth or f is operator.not_ or f is bool) and len(args) == 1 and classes.is_true(t):
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(f is not operator.not_)
        elif type(f).__hash__ is not None:
            plan = classes.call(f, args, types, s.kwargs)
            if plan is not None:
                return self.planned(s, plan)
        return None

    def resolved_attribute(self, s: Call, d: Any, args: tuple[Operand, ...], types: tuple[T, ...], r: T) -> T:
        rule = find_rule(d, types)
        if isinstance(rule, Rule) and rule.fn is None:
            self.calls[s.out] = CallInfo("plain", getattr, rule, s.args, (), types)
            return activate(r, False)
        if not types[0].active:
            self.calls[s.out] = CallInfo("plain", getattr, None, s.args, (), types)
            return r
        if isinstance(rule, Rule):
            self.calls[s.out] = CallInfo("rule", d, rule, args, (), types)
            return r
        self.calls[s.out] = CallInfo("dynamic", getattr, None, s.args, (), types, f"no rule for attribute {d!r}")
        return Top(True)

    def structural(self, s: Call, f: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T | None:
        if f is ops.build_tuple:
            return Tup(types)
        if f is surely:
            return types[0]
        if f is ops.check_bound:
            return types[0] if not (isinstance(types[0], Known) and types[0].value is ops.UNBOUND) else BOT
        if f is ops.unpack:
            t, n = types[0], types[1]
            assert isinstance(n, Known)
            if isinstance(t, Known) and isinstance(t.value, tuple):
                t = Tup(tuple(Known(v) for v in t.value))
            return Tup(t.items) if isinstance(t, Tup) and len(t.items) == n.value else None
        if f in _ITEMS:
            t, i = types[0], types[1]
            assert isinstance(t, Tup) and isinstance(i, Known)
            if type(i.value) is int and -len(t.items) <= i.value < len(t.items):
                return t.items[i.value]
            return None
        if f is ops.make_function:
            code = types[0]
            assert isinstance(code, Known)
            return Fn(code.value, s, any(t.active for t in types))
        return None

    def derived(self, s: Call, fn: T, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        """A call of a Python function: known by its rule where only numbers go in and out, else decided late."""
        kw = [self.type_of(v) for _, v in s.kwargs]
        target = fn.value if isinstance(fn, Known) else None
        act = fn.active or any(t.active for t in types) or any(t.active for t in kw)
        act = act or may_receive(fn.code if isinstance(fn, Fn) else target.__code__)  # type: ignore[union-attr]
        result: T = Top()
        if (
            target is not None
            and not s.kwargs
            and not self.wary
            and target.__closure__ is None
            and is_plain(target.__code__)
            and len(types) == target.__code__.co_argcount
            and (is_numeric_call(target, types) or not is_library(target))  # a library's code may lead far
            and (found := result_of(target, types)) is not None
        ):
            numeric = is_numeric_call(target, types) and (only_numbers(found.type) or isinstance(found.type, Bot))
            if numeric and not (s.out in self.protected and _may_carry(target, set())):
                self.calls[s.out] = CallInfo("derived", target, None, args, (), types)
                return found.type
            self.guards |= found.guards
            self.relied |= found.functions
            result = found.type
        act = act or self.wary
        written = any(map(_may_be_written, (*types, *kw)))
        self.calls[s.out] = CallInfo(
            "dynamic" if act or written else "plain", target, None, args, s.kwargs, types, "call"
        )
        if target in infer_table:
            result = result_type(target, types, ())
        return activate(result, act)


def _may_carry(f: pytypes.FunctionType, seen: set[pytypes.CodeType]) -> bool:
    """May a function raise an exception that it makes of its arguments, or call one that does?"""
    if f.__code__ in seen:
        return False
    seen.add(f.__code__)
    if _raises_something(f.__code__):
        return True
    named = (f.__globals__.get(name) for name in f.__code__.co_names)
    return any(isinstance(g, pytypes.FunctionType) and _may_carry(g, seen) for g in named)


@functools.cache
def _raises_something(code: pytypes.CodeType) -> bool:
    from mooncake_py.frontend import normalise

    blocks = normalise(code).blocks
    return any(isinstance(b.term, Raise) and not b.term.reraise and b.term.exc is not None for b in blocks)


@functools.cache
def may_receive(code: pytypes.CodeType) -> bool:
    """Is this a generator function whose generators look at what is sent to them?"""
    from mooncake_py.frontend import normalise

    if not code.co_flags & inspect.CO_GENERATOR:
        return False
    body = normalise(code)
    used = {v for b in body.blocks for v in (*(v for s in b.stmts for v in s.operands()), *term_operands(b.term))}
    return any(
        is_const(s.fn, ops.yield_from) or (is_const(s.fn, ops.yield_) and s.out in used)
        for b in body.blocks
        for s in b.stmts
    )


# What a container answers without asking its items.
_OF_THE_WHOLE = frozenset({len, bool, operator.not_, ops.truth})


def _may_be_asked(t: T) -> bool:
    """Could this value be, or hold, an object with derivatives whose class is written in Python?"""
    match t:
        case Top():
            return t.active
        case Inst(cls=cls):
            return t.active and is_user_class(cls)
        case Tup(items=items):
            return any(map(_may_be_asked, items)) or (t.active and answers(t.cls))
        case Lst(elem=elem):
            return _may_be_asked(elem)
    return False


def uses_up(f: Any, types: Sequence[T | None]) -> int | None:
    """Which of its positional arguments does a call of f iterate over to the end?"""
    k = drained.get(f) if type(f).__hash__ is not None else None
    if k is None or k >= len(types) or f is ops.call_ex or (f in (min, max) and len(types) != 1):
        return None
    return None if f is operator.iadd and not isinstance(types[0], Lst) else k


_UNCHANGEABLE = (int, float, complex, str, bytes, range, slice, np.generic, pytypes.FunctionType)


def _may_be_written(t: T) -> bool:
    """Could a function that is given this value change it, in a way that matters to derivatives?"""
    match t:
        case Known(value=v):
            return not is_code_like(v) and not isinstance(v, (int, float, complex, str, bytes, tuple, range, slice))
        case Tup(items=items):
            return any(map(_may_be_written, items))
        case Inst(cls=c):
            return not issubclass(c, (*_UNCHANGEABLE, *constant_classes))
        case Arr() | Lst() | Dct() | Top():
            return True
    return False


def _may_be_iterator(t: T) -> bool:
    if isinstance(t, Inst):
        by_class = (class_attribute(t.cls, name) for name in ("__iter__", "__getitem__"))
        return t.cls in (Generator, SequenceIterator) or any(type(d) is pytypes.FunctionType for d in by_class)
    return t == Top(True)


def _fold_isinstance(t: T, cls: Any) -> bool | None:
    from mooncake_py.infer.resolve import class_of

    if isinstance(t, Known):
        return isinstance(t.value, cls)
    c = class_of(t)
    if c is None or type(c) is not type:
        return None
    kinds = cls if isinstance(cls, tuple) else (cls,)
    if not all(type(k) is type for k in kinds):
        return None
    return issubclass(c, tuple(kinds))


def fold_is(a: T, b: T) -> bool | None:
    """Are they the same object? None where the types do not tell."""
    if isinstance(a, Known) and isinstance(b, Known):
        return a.value is b.value
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Known) and isinstance(y, (Inst, Arr, Tup, Lst, Dct, Real, Fn, Meth)):
            if x.value is None or x.value is NotImplemented:
                return isinstance(y, Inst) and y.cls is type(x.value)
    return None
