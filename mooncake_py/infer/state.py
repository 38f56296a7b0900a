"""What an inference knows as it goes on: types and calls so far, and the types of operands."""

from __future__ import annotations

import builtins
import functools
import types as pytypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.base import interned
from mooncake_py.infer.choices import Split
from mooncake_py.infer.dimensions import row_of
from mooncake_py.infer.inferred import Awaited, CallInfo, Drawn, Guard, Spelled, Starred, TakenIn
from mooncake_py.infer.lookup import MISSING
from mooncake_py.infer.narrowing import only
from mooncake_py.infer.parts import activate, keys_of, unknown_items, unseen
from mooncake_py.infer.protocol import Classes, Plan
from mooncake_py.infer.shape import Shape
from mooncake_py.infer.sources import told_of
from mooncake_py.infer.types import (
    BOT,
    COUNTS,
    Arr,
    Bot,
    Bounds,
    Cell,
    Dct,
    Display,
    Inst,
    Known,
    Lst,
    Many,
    Obj,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    is_unbound,
    join,
    kind_of,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import BlockId, Call, Const, Function, Operand, Var
from mooncake_py.iterators import each_key
from mooncake_py.registry import item_types
from mooncake_py.run import NOTHING, Wary

if TYPE_CHECKING:
    from mooncake_py.infer.held_functions import Held


@dataclass(slots=True)
class Found:
    """What a call was found to mean, and what that was read off: as long as that stays, so does the meaning."""

    reads: list[tuple[Var, T]]
    forced: T | None
    late: bool
    shape: Shape | None  # where more than the types of operands was looked at
    type: T
    info: CallInfo | None


@dataclass(slots=True)
class Before:
    """What was found so far of the calls of a function and its simpler forms, the names and functions that relies on.

    A call that means what it meant before is not asked again, but relies on the same.
    """

    found: dict[Call, list[Found]] = field(default_factory=dict)
    guards: dict[tuple[int, str], Guard] = field(default_factory=dict)
    relied: set[pytypes.FunctionType] = field(default_factory=set)


class State:
    """What is known so far of one function, and the types of its operands."""

    def __init__(
        self,
        fn: Function,
        arg_types: Sequence[T],
        globals_: dict[str, Any],
        free_types: Sequence[T] = (),
        aliased: bool = False,
        wary: Wary = NOTHING,
        classes: Classes | None = None,
        before: Before | None = None,
        outermost: bool = False,
        patient: bool = False,
    ):
        self.classes = classes  # where attributes of objects are looked into
        self.within: set[Var] = set()  # of which is asked now what they give
        self.late: set[Var] = set()  # calls that are decided when they run: writes of attributes, say
        self.ready: set[Var] = set()  # calls of functions that are looked into
        self.waiting: set[Var] = set()  # and those that are to be, when what the others write is known
        self.hollow: set[Var] = set()  # those of them that are given a list with nothing in it yet
        self.unseen: set[Var] = set()  # and those that would be decided late, by what is known so far
        self.aliased = aliased
        self.outermost = outermost
        self.running: Var | None = None  # the generator that runs: its attributes are set by nobody else
        self.patient = patient  # do calls wait for what plans give?
        self.wary = wary  # what is outside may be written to: `infer/outside.py`
        self.fn = fn
        self.globals = globals_
        self.builtins = globals_.get("__builtins__", builtins)
        if isinstance(self.builtins, pytypes.ModuleType):
            self.builtins = self.builtins.__dict__
        self.arg_types = list(arg_types)
        self.free_types = list(free_types)
        before = Before() if before is None else before
        self.found_before, self.guards, self.relied = before.found, before.guards, before.relied
        self.types: dict[Var, T] = {}
        self.calls: dict[Var, CallInfo] = {}
        self.forced: dict[Var, T] = {}
        self.guessed: set[Var] = set()  # of these, to what empty lists are given that may be others
        self.read: list[Var] = []  # whose types have been asked for
        self.readers: dict[Var, set[BlockId]] = {}  # in these blocks
        self.at: BlockId | None = None  # the block that is gone through
        self.put: set[Var] = set()  # objects whose type a write was taken into, which may have been asked before
        self.looked_around = False  # has the function that a statement stands in been asked for anything?
        self._shape = Shape(fn, globals_)
        self.told = {} if classes is None else told_of(classes.told, self._shape)

    @property
    def shape(self) -> Shape:
        """The function that it all stands in. What is found out by looking at that holds for it alone."""
        self.looked_around = True
        return self._shape

    def seen(self, t: T) -> T:
        """A type that comes from outside, with what is known of objects where that is wanted."""
        return t if self.classes is not None else unseen(t)

    def with_forced(self, v: Var, t: T) -> T:
        """The type of v, with what is known to be written into it."""
        f = self.forced.get(v)
        t = t if f is None or isinstance(t, Bot) else _with(t, f)
        if self.told and v in self.told and not isinstance(t, Bot):
            t = join(t, self.told[v])
        if isinstance(t, Dct) and v in self._shape.looked_up:
            t = t.having(BOT, t.raw_fields, t.raw, t.act)
        return interned(t)

    def note(self, read: Iterable[Var]) -> None:
        """That the block which is gone through asked for these types."""
        if self.at is not None:
            for v in read:
                self.readers.setdefault(v, set()).add(self.at)

    def type_of(self, v: Operand) -> T:
        if isinstance(v, Const):
            return Known(v.value)
        self.read.append(v)
        return self.types.get(v, BOT)

    def gives_no_items(self, t: T) -> bool:
        """Does it surely raise to go over a value of this type?"""
        if isinstance(t, Obj):
            return self.classes is not None and all(self.classes.look(t.cls, n) is MISSING for n in _OF_ITEMS)
        return t == Known(None) or is_scalar(t)

    def displayed(self, v: Operand) -> T:
        """The type of an operand, with those of the items of a list that only this call gets, and of slices' bounds."""
        t = self.type_of(v)
        if isinstance(v, Var) and (t == _SLICE or (type(t) is Tup and _SLICE in t.raw)):
            d = self.shape.defs.get(v)
            if d is not None and is_const(d.fn, slice):
                return Bounds(slice, of=tuple(map(self.type_of, d.args)))
            if d is not None and is_const(d.fn, ops.build_tuple):
                return Tup(tuple(map(self.displayed, d.args)))
        if isinstance(v, Var) and type(t) is Lst and v in self.shape.displays:
            return Display(t.elem, t.act, items=tuple(map(self.displayed, self.shape.defs[v].args)))
        return t

    def item_type(self, it: Operand) -> T:
        d = self.shape.defs.get(it) if isinstance(it, Var) else None
        if d is not None and self.type_of(d.fn) == Known(iter) and len(d.args) == 1:
            return self.element_type(d.args[0])
        if d is not None and is_const(d.fn, each_key):
            return activate(self.element_type(d.args[0]), False)
        t = self.type_of(it)
        if t == COUNTS:
            return Inst(int)
        return self.of_any(it, self.item_type) if type(t) is Top and it in self.shape.joining else Top(t.active)

    def of_any(self, v: Operand, items: Callable[[Operand], T]) -> T:
        """What is asked of a value, of all that it may be where blocks join."""
        assert isinstance(v, Var)
        sources = self.shape.comes_from(v)
        found: T = BOT
        if v in sources or v in self.within:  # an iterator over itself, say
            return Top(self.type_of(v).active)
        self.within.add(v)
        for x in sources:
            if not (isinstance(t := self.type_of(x), Bot) or is_unbound(t) or self.gives_no_items(t)):
                found = join(found, items(x))
        self.within.discard(v)
        return found

    def element_type(self, x: Operand) -> T:
        """What iterating over x gives."""
        t = self.type_of(x)
        if isinstance(t, Bot):
            return t
        d = self.shape.defs.get(x) if isinstance(x, Var) else None
        callee = self.type_of(d.fn) if d is not None else None
        if d is not None and callee == Known(zip) and all(name == "strict" for name, _ in d.kwargs):
            return Tup(tuple(self.element_type(a) for a in d.args))
        if d is not None and isinstance(callee, Known):
            if callee.value is enumerate and (pair := self._numbered(d)) is not None:
                return pair
            items_of = item_types.get(callee.value) if hashable(callee.value) else None
            if items_of is not None:
                named = {k: self.type_of(v) for k, v in d.kwargs}
                given = items_of([self.element_type(a) for a in d.args], [self.type_of(a) for a in d.args], named)
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
            case Inst(cls=c) if c is range or t == COUNTS:
                return Inst(int)
            case Inst(cls=c) if c is str:
                return Inst(str)
            case Known(value=v) if isinstance(v, str):
                return Inst(str)
            case Inst(cls=c) if c is bytes:
                return Inst(int)
            case Known(value=v) if isinstance(v, bytes):
                return Inst(int)
            case Arr():
                return row_of(t)
            case Lst(elem=e) | SetOf(elem=e):
                return e
            case Dct():
                return keys_of(t)
            case Union(options=options):
                lists = [o for o in options if not self.gives_no_items(o)]
                if lists and all(isinstance(o, Lst) for o in lists):
                    return functools.reduce(join, [o.elem for o in lists])  # type: ignore[attr-defined]
            case Many(elem=e):
                return e
            case Tup(items=items):
                e = BOT
                for i in items:
                    e = join(e, i)
                return e
            case Top() if x in self.shape.joining:
                return self.of_any(x, self.element_type)
        return Top(t.active)

    def _numbered(self, s: Call) -> T | None:
        """What `enumerate` gives: ints, from whatever whole number on, beside the items."""
        start = [*s.args[1:], *(v for name, v in s.kwargs if name == "start")]
        if not s.args or len(start) != len(s.args) - 1 + len(s.kwargs):
            return None
        if any(widen(self.type_of(v)) not in _WHOLE for v in start):
            return None
        item = self.element_type(s.args[0])
        return Tup((Inst(int), item))

    def active(self) -> bool:
        """Does the function get anything with a derivative?"""
        return any(t.active for t in (*self.arg_types, *self.free_types))

    def planned(self, s: Call, plan: Plan | Split | Held | TakenIn | Spelled | Starred | Drawn | Awaited) -> T:
        """Other calls are to stand here: until they do, what comes of them is not seen.

        The hope is that it changes no type that this or another plan relies on; a cautious inference has none.
        """
        self.calls[s.out] = CallInfo("planned", plan, None, s.args, s.kwargs)
        return BOT if self.hopes else Top(True)

    @property
    def hopes(self) -> bool:
        """Are plans taken to change nothing that others rely on?"""
        return self.classes is None or not self.classes.cautious

    def dynamic(self, s: Call, why: str) -> T:
        types = [self.type_of(v) for v in s.operands()]
        self.calls[s.out] = CallInfo("dynamic", None, None, s.args, s.kwargs, (), why)
        return Top(bool(self.wary) or any(t.active for t in types))


_OF_ITEMS = ("__iter__", "__getitem__")
"""What Python asks an object for that something goes over."""
_SLICE = Inst(slice)
_WHOLE = (Inst(int), Inst(bool))


def gives_known(f: Any) -> bool:
    """Is it known what items an iterator gives that this makes, where that is known of what it is made from?"""
    return f in (zip, enumerate, reversed) or f in item_types


def _with(t: T, f: T) -> T:
    """A type with what f has beside it, for values of the same kind."""
    if isinstance(t, Union):
        return t.mapped(lambda x: _with(x, f))
    if (isinstance(f, Union) or not isinstance(f, Top)) and (kind := kind_of(t)) is not None:
        f = only(f, kind)
        if isinstance(f, Bot):
            return t
    if isinstance(t, Obj):
        if not isinstance(f, Obj):
            return Inst(t.cls, t.act or f.active)
        fields = {**dict(f.fields), **{k: join(x, f.field(k) or BOT) for k, x in t.fields}}
        return Obj.of(t.cls, t.act or f.act, fields, t.sure & f.sure)  # what is written is not taken away
    if isinstance(t, SetOf):
        return join(t, f) if isinstance(f, SetOf) else Top(True)
    if isinstance(t, (Lst, Dct, Cell)) and isinstance(f, Top):  # it has grown for too long
        return unknown_items(t, t.act or f.act)
    if isinstance(t, (Lst, Dct, Cell, Tup)):
        return join(t, f)
    return activate(t) if f.active and isinstance(t, (Arr, Inst, Top)) else t
