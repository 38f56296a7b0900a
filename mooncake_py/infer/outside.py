"""May a call change objects that it finds in globals, closures, defaults or its receiver?

Rules are derived on the assumption that what a function finds outside is constant. Where that may not hold, they are
derived in wary mode: everything from outside is taken to carry derivatives, and no call is too plain to be looked
at. The question is answered by a flow-insensitive walk over the code that may run: values that come from outside are
followed through it, and what is written into one of them, or handed to code that cannot be seen, counts. An answer
of no that is wrong is found when it happens, and refused (`UnsupportedError`).
"""

from __future__ import annotations

import bisect
import builtins
import functools
import heapq
import operator
import types as pytypes
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mooncake_py.errors import MooncakeError
from mooncake_py.infer.codes import names_of_values
from mooncake_py.infer.held import (
    CONSTANTS_ONLY,
    holds_arrays,
    holds_numbers,
    is_data,
    is_library,
    is_mark,
    may_hold_data,
    note_rebound,
    of_library,
    summary,
)
from mooncake_py.infer.outside_arrays import reaches_arrays, writes_arrays
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, ForNext, Function, Operand, Return, Var, edges
from mooncake_py.registry import rules_of
from mooncake_py.run import ARRAYS, NAMES, NOTHING, OBJECTS, Wary
from mooncake_py.structure import attributes, is_user_class

_MUTATORS = {
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "clear",
    "sort",
    "reverse",
    "update",
    "setdefault",
    "popitem",
}
_MUTATORS |= {"appendleft", "popleft", "extendleft", "rotate", "add", "discard", "move_to_end", "subtract"}
_MUTATORS |= {"__setitem__", "__setattr__", "__dict__"}
_WRITES = frozenset(
    {setattr, delattr, operator.setitem, operator.delitem, ops.list_append, ops.list_extend, ops.map_add}
    | {ops.dict_update, ops.dict_merge, ops.set_add, ops.set_update, heapq.heappush, heapq.heappop, heapq.heapify}
    | {heapq.heapreplace, heapq.heappushpop, bisect.insort, bisect.insort_left}
    | {getattr(operator, name) for name in dir(operator) if name[0] == "i" and hasattr(operator, f"__{name}__")}
) - {operator.invert, operator.index, operator.is_, operator.is_not, operator.inv}
_TO_SCALARS = frozenset(
    {len, isinstance, type, float, int, str, repr, bool, hash, print, operator.contains, operator.not_, ops.truth}
    | {operator.is_, operator.is_not, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)

# Functions and attributes by which code reaches methods whose names it does not show.
_ANY_NAME = frozenset(
    {"getattr", "setattr", "delattr", "vars", "__dict__", "attrgetter", "methodcaller", "__getattribute__"}
)

_OF_NEW = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})
"""Methods that Python calls for objects and classes when they are made."""
_OF_CLASS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
"""Methods that are given a class without being class methods."""

_ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.getitem})
_MAKES_NEW = frozenset(
    {list, tuple, dict, set, sorted, sum, operator.iadd, ops.list_extend, ops.dict_update, ops.dict_merge}
)
"""Of containers of numbers these give numbers and new containers, as arithmetic does, or put their items into one."""
_GIVES_NEW = frozenset({"copy", "get", "index", "count"})
_GOES_THROUGH = frozenset({iter, zip, enumerate, reversed, map, filter})

_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})

Place = tuple[pytypes.CodeType | None, int | str]
"""A parameter by number or name: of this code, or of any."""

NAMESPACES = (type, pytypes.FunctionType, pytypes.ModuleType)

_answers: dict[Any, tuple[Wary, list[tuple[dict[str, Any], str, Any]]]] = {}
"""The answer, and what it takes the values of names to be."""


def may_write_outside(f: pytypes.FunctionType, receivers: Iterable[Any] = (), brought: Iterable[Any] = ()) -> Wary:
    """The answer for a call of f; `receivers` are arguments that are not the user's own: a bound method's object.

    `brought` are the classes and functions that its arguments are of, or hold.
    """
    receivers = [x for x in receivers if is_data(x) or holds_arrays(x)]
    codes = tuple([x.__code__ if isinstance(x, pytypes.FunctionType) else x for x in brought])
    key = (f.__code__, id(f.__globals__), tuple(type(x) for x in receivers), codes)
    known = _answers.get(key)
    if known is None or not (
        known[0] is NAMES or all(summary(scope.get(name)) == then for scope, name, then in known[1])
    ):
        walk = Walk()
        walk.outermost = f.__code__
        walk.function(f)
        for x in brought:
            walk.value(x)
        for i, x in enumerate(receivers):
            if is_data(x):
                walk.value(x)
            else:
                walk.codes[f.__code__, id(f.__globals__)].defaults[i] = x
        if len(_answers) > 5000:
            _answers.clear()
        known = _answers[key] = walk.answer(), walk.relied
    return known[0]


def stands_alone(f: pytypes.FunctionType, wary: Wary) -> bool:
    """Does a call of f, given numbers, reach nothing but numbers, functions and libraries, to read or to write it?"""
    walk = Walk()
    walk.function(f)
    if wary >= ARRAYS and reaches_arrays(walk):
        return False
    return not (walk.sources or walk.unseen or walk.namespaces or walk.rebinds)


@dataclass
class Code:
    """One code object that may run: its globals, what its free variables hold, and the parameters from outside."""

    body: Function
    code: pytypes.CodeType
    globals: dict[str, Any]
    free: dict[str, Any]
    params: set[int] = field(default_factory=set)
    defaults: dict[int, Any] = field(default_factory=dict)


class _Tracks:
    """The values of one code that may be, or be part of, what is outside; `deep` ones may hold more than numbers."""

    def __init__(self, c: Code, class_places: set[Place]):
        self.outside: set[Operand] = {p for i, p in enumerate(c.body.params) if i in c.params}
        self.deep: set[Operand] = set(self.outside)
        self.classes: set[Operand] = set()
        for i, p in enumerate(c.body.params):
            given = {(code, k) for code in (c.code, None) for k in (i, c.code.co_varnames[i])}
            if not class_places.isdisjoint(given):
                self.classes.add(p)
        held = {cell: c.free[n] for cell, n in zip(c.body.free, c.code.co_freevars, strict=False) if n in c.free}
        self.held = held.keys()
        self.cells = {cell for cell, x in held.items() if may_hold_data(x)}

    def size(self) -> int:
        return len(self.outside) + len(self.deep) + len(self.classes)

    def add(self, v: Operand, flat: bool = False) -> None:
        self.outside.add(v)
        if not flat:
            self.deep.add(v)

    def flow(self, params_of: dict[BlockId, tuple[Var, ...]], b: CFGBlock) -> None:
        """From the end of a block into those that follow it."""
        first = isinstance(b.term, ForNext)
        for k, e in enumerate(edges(b.term)):
            params = params_of[e.target]
            if first and k == 0:
                if b.term.iterator in self.deep:  # type: ignore[union-attr]
                    self.add(params[0])
                params = params[1:]
            for p, a in zip(params, e.args, strict=True):
                if a in self.outside:
                    self.add(p, a not in self.deep)
                if a in self.classes:
                    self.classes.add(p)


class Walk:
    def __init__(self) -> None:
        self.codes: dict[tuple[pytypes.CodeType, int], Code] = {}
        self.seen: set[int] = set()
        self.kept: list[Any] = []
        self.of_classes: set[str] = set()  # names of containers that classes hold, and all their objects read
        self.names: set[str] = set()  # that the code may read, or call by
        self.stores: set[str] = set()  # that it sets or deletes
        self.waiting: dict[str, list[tuple[pytypes.FunctionType, bool]]] = {}  # methods that no name calls so far
        self.waiting_to_store: dict[str, list[tuple[pytypes.FunctionType, bool]]] = {}
        self.class_places: set[Place] = set()  # parameters that may be given a class
        self.sources = False
        self.unseen = False
        self.namespaces = False  # are there modules and classes that may be written to?
        self.rebinds = False  # are global variables assigned?
        self.outermost: pytypes.CodeType | None = None  # the code that the user's call runs
        self.returns = False
        self.captured: dict[str, bool] = {}  # variables that functions share and that hold such a thing; flat ones?
        self.given = 0  # how many parameters may get such a thing as a default value
        self.relied: list[tuple[dict[str, Any], str, Any]] = []  # names, and what they were taken to hold

    def answer(self) -> Wary:
        if any(map(self._sets_names, self.codes.values())):
            return NAMES
        if writes_arrays(self):
            return ARRAYS
        return OBJECTS if self._writes_objects() else NOTHING

    def _writes_objects(self) -> bool:
        if self.sources and self.unseen:
            return True
        while True:
            before = self.returns, self.captured.copy(), self.given, len(self.class_places)
            if any(self._touches(c) for c in list(self.codes.values())):
                return True
            if before == (self.returns, self.captured, self.given, len(self.class_places)):
                return False

    # -- what may run --

    def value(self, x: Any) -> None:
        """Something that a name, a cell or an object holds."""
        if id(x) in self.seen or len(self.seen) > 3000:
            return
        self.seen.add(id(x))
        self.kept.append(x)
        if isinstance(x, pytypes.FunctionType):
            self.function(x)
            self.namespace(x)
        elif isinstance(x, pytypes.MethodType):
            self.bound(x.__func__, (x.__self__,), {})
        elif isinstance(x, functools.partial):
            self.bound(x.func, x.args, x.keywords)
        elif isinstance(x, (classmethod, staticmethod)):
            self.value(x.__func__)
        elif isinstance(x, property):
            for g in (x.fget, x.fset, x.fdel):
                self.value(g)
        elif isinstance(x, type):
            self.namespaces = self.namespaces or not is_library(x)
            self.methods(x, outside=False)
        elif hasattr(x, "__wrapped__") and callable(x):
            self.value(x.__wrapped__)
        elif is_data(x):
            self.data(x)

    def namespace(self, f: pytypes.FunctionType) -> None:
        """The attributes of a function: a log, a cache or a counter."""
        kept = {name: x for name, x in f.__dict__.items() if not callable(x)}
        if kept and not is_library(f):
            self.namespaces = True
            self.of_classes.update(name for name, x in kept.items() if is_data(x))
            for x in kept.values():
                self.value(x)

    def bound(self, f: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """A function with arguments that it will be called with."""
        for part in (f, *args, *keywords.values()):
            self.value(part)
        if isinstance(f, pytypes.MethodType):
            f, args = f.__func__, (f.__self__, *args)
        c = self.function(f) if isinstance(f, pytypes.FunctionType) else None
        if c is not None:
            given = {
                **dict(enumerate(args)),
                **{c.code.co_varnames.index(k): v for k, v in keywords.items() if k in c.code.co_varnames},
            }
            c.defaults.update(given)
            c.params.update(i for i, v in given.items() if may_hold_data(v))

    def data(self, x: Any) -> None:
        """An object from outside."""
        self.sources = True
        if is_user_class(type(x)):
            self.methods(type(x), outside=True)
            parts: Iterable[Any] = attributes(x).values()
        else:
            parts = list(x.values() if isinstance(x, dict) else x)[:200]
        for p in parts:
            if not isinstance(p, (float, int, str)):
                self.value(p)

    def methods(self, cls: type, outside: bool) -> None:
        for k in (*cls.__mro__, *type.mro(type(cls))):
            if of_library(k.__module__):
                continue
            self.of_classes.update(name for name, d in k.__dict__.items() if is_data(d))
            for name, d in list(k.__dict__.items()):
                f = d.__func__ if isinstance(d, (classmethod, staticmethod)) else d
                inner = outside and not isinstance(d, staticmethod) and name not in _OF_NEW
                if isinstance(d, property):
                    self._method(name, d.fget, inner)
                    for g in (d.fset, d.fdel):
                        self._method(name, g, inner, stores=True)
                elif isinstance(f, pytypes.FunctionType):
                    of_class = isinstance(d, classmethod) or issubclass(k, type) or name in _OF_CLASS
                    self._method(name, f, inner, of_class=of_class)
                else:
                    self.value(d)

    def _method(self, name: str, f: Any, outside: bool, stores: bool = False, of_class: bool = False) -> None:
        """A method, which runs if some code asks for its name, or Python does."""
        if not isinstance(f, pytypes.FunctionType):
            return
        if of_class:
            self.class_places.add((f.__code__, 0))
        names, waiting = (self.stores, self.waiting_to_store) if stores else (self.names, self.waiting)
        special = name.startswith("__") and name.endswith("__")
        if not (special or name in names or not names.isdisjoint(_ANY_NAME)):
            waiting.setdefault(name, []).append((f, outside))
            return
        c = self.function(f)
        if c is not None and outside:
            c.params.add(0)

    def _asked_for(self, code: pytypes.CodeType, body: Function) -> None:
        """Names that this code reads or sets: methods of that name may run."""
        changed = {
            str(s.args[1].value)
            for b in body.blocks
            for s in b.stmts
            if isinstance(s.fn, Const) and s.fn.value in (setattr, delattr) and isinstance(s.args[1], Const)
        }
        any_name = _ANY_NAME.intersection(code.co_names)
        self.names.update(code.co_names)
        self.stores |= changed | any_name
        for names, waiting in ((self.names, self.waiting), (self.stores, self.waiting_to_store)):
            for name in [n for n in waiting if any_name or n in names]:
                for f, outside in waiting.pop(name, ()):
                    c = self.function(f)
                    if c is not None and outside:
                        c.params.add(0)

    def function(self, f: pytypes.FunctionType) -> Code | None:
        if of_library(f.__module__ or ""):
            return None
        held: dict[str, Any] = {}
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=False):
            try:
                held[name] = cell.cell_contents
            except ValueError:
                continue
        if of_library(f.__globals__.get("__name__") or ""):  # it wraps a function of the user's, and looks after itself
            held = {name: x for name, x in held.items() if not isinstance(x, CONSTANTS_ONLY)}
        c = self.code(f.__code__, f.__globals__, held)
        if c is not None and f.__defaults__:
            first = f.__code__.co_argcount - len(f.__defaults__)
            c.defaults.update(enumerate(f.__defaults__, first))
            c.params.update(first + i for i, d in enumerate(f.__defaults__) if may_hold_data(d) and not is_mark(d))
            self.sources = self.sources or any(map(may_hold_data, f.__defaults__))
        if f.__kwdefaults__:
            named = f.__code__.co_varnames[f.__code__.co_argcount :][: f.__code__.co_kwonlyargcount]
            for i, name in enumerate(named, f.__code__.co_argcount):
                if c is not None and name in f.__kwdefaults__:
                    c.defaults[i] = f.__kwdefaults__[name]
            if any(map(may_hold_data, f.__kwdefaults__.values())):
                self.sources = self.unseen = True
        for v in held.values():
            self.value(v)
        return c

    def code(self, code: pytypes.CodeType, globals_: dict[str, Any], free: dict[str, Any]) -> Code | None:
        key = code, id(globals_)
        if key in self.codes:
            return self.codes[key]
        try:
            from mooncake_py.frontend import normalise  # slow to import, and not needed before

            c = self.codes[key] = Code(normalise(code), code, globals_, free)
        except MooncakeError:
            self.unseen = True
            return None
        self._asked_for(code, c.body)
        for b in c.body.blocks:
            for s in b.stmts:
                if isinstance(s.fn, Const) and s.fn.value in (ops.store_global, ops.delete_global):
                    note_rebound(globals_, s.args[0].value)  # type: ignore[union-attr]
                    self.rebinds = True
        for name in names_of_values(c.body, code):
            if name in globals_:
                x = globals_[name]
                self.relied.append((globals_, name, summary(x)))
                if isinstance(x, pytypes.ModuleType):
                    if not of_library(x.__name__):
                        self.namespaces = True
                        for n in code.co_names:
                            if n in x.__dict__:
                                self.relied.append((x.__dict__, n, summary(x.__dict__[n])))
                                self.value(x.__dict__[n])
                else:
                    self.value(x)
        for k in code.co_consts:
            if isinstance(k, pytypes.CodeType):
                self.code(k, globals_, {n: v for n, v in free.items() if n in k.co_freevars})
        return c

    # -- what is written --

    def _sets_names(self, c: Code) -> bool:
        """Does it set names of modules that do not belong to a library?"""
        defs = {s.out: s for b in c.body.blocks for s in b.stmts}
        for s in defs.values():
            if s.args and any(self.known(c, s.fn, defs) is f for f in (setattr, delattr, vars)):
                x = self.known(c, s.args[0], defs)
                if isinstance(x, pytypes.ModuleType) and not of_library(x.__name__):
                    return True
        return False

    def _touches(self, c: Code) -> bool:
        fn = c.body
        tracks = _Tracks(c, self.class_places)
        defs = {s.out: s for b in fn.blocks for s in b.stmts}
        params_of = {b.id: b.params for b in fn.blocks}
        while True:
            before = tracks.size()
            for b in fn.blocks:
                for s in b.stmts:
                    if self._statement(c, s, tracks, defs):
                        return True
                tracks.flow(params_of, b)
                if isinstance(b.term, Return) and b.term.value in tracks.outside:
                    self.returns = True
            if tracks.size() == before:
                return False

    def _statement(self, c: Code, s: Call, tracks: _Tracks, defs: dict[Var, Call]) -> bool:
        """Follow what is from outside through one statement. Does it change such a thing?"""
        f = s.fn.value if isinstance(s.fn, Const) else None
        named = self.known(c, s.fn, defs) if f is None else None
        if isinstance(named, pytypes.BuiltinFunctionType) and (named is setattr or named in _WRITES):
            f = named
        if named is globals:
            tracks.add(s.out)
        operands = [v for v in s.operands() if isinstance(v, Var)]
        if f is ops.load_global:
            name = s.args[0].value  # type: ignore[union-attr]
            x = c.globals.get(name)
            flat = holds_numbers(x)
            if may_hold_data(x):
                tracks.add(s.out, flat)
            return False
        if f is ops.cell_get and s.args[0] in tracks.cells:
            tracks.add(s.out)
            return False
        if f is ops.cell_get and (word := str(s.args[0].name)) in self.captured:  # type: ignore[union-attr]
            tracks.add(s.out, self.captured[word])
            return False
        if f is ops.store_global or f is ops.delete_global:
            return True
        if f is ops.cell_set and s.args[0] in tracks.held and c.code is not self.outermost:
            return True  # a variable of a function that was made outside: of the outermost one it stays changed
        if (named is type and len(s.args) == 1) or (f is getattr and s.args[1] == Const("__class__")):
            tracks.classes.add(s.out)
        touched = [v for v in operands if v in tracks.outside]
        if f in (setattr, delattr) and s.args[0] in tracks.classes:
            return True
        if f is None and not tracks.classes.isdisjoint(operands) and not self._is_library(c, s.fn, defs):
            self._gives_classes(c, s, tracks.classes, defs)
        if not touched:
            if f is setattr and isinstance(self.known(c, s.args[0], defs), NAMESPACES):
                return True
            if f is getattr and isinstance(s.args[1], Const):
                holder, word = self.known(c, s.args[0], defs), str(s.args[1].value)
                held = getattr(holder, word, None) if isinstance(holder, NAMESPACES) else None
                if word in self.of_classes or may_hold_data(held):
                    tracks.add(s.out, holds_numbers(held) and word not in self.of_classes)
            if self.returns and (f is None and not self._is_library(c, s.fn, defs)):
                tracks.add(s.out)
            return False
        if f in _WRITES and s.args[0] in tracks.outside:
            return True
        if f in (setattr, operator.setitem):
            if isinstance(s.args[0], Var):
                tracks.add(s.args[0])
            return False
        flat = tracks.deep.isdisjoint(touched)
        if f is ops.make_cell or f is ops.cell_set:
            word = str((s.out if f is ops.make_cell else s.args[0]).name)  # type: ignore[union-attr]
            self.captured[word] = flat and self.captured.get(word, True)
            return False
        if f is ops.make_function:
            self._made(c, s, tracks)
        if f is ops.yield_:
            self.returns = True
        if f is getattr:
            name = s.args[1]
            if isinstance(name, Const) and name.value in _MUTATORS:
                return True
            if not (flat and isinstance(name, Const) and name.value in _GIVES_NEW):
                tracks.add(s.out, flat)
            return False
        known = f if f is not None else self.known(c, s.fn, defs)
        named = known if type(known).__hash__ is not None else None
        changed = () if named is None else {i for r in rules_of(named) for i in r.mutates}
        if named is functools.partial or any(i < len(s.args) and s.args[i] in tracks.outside for i in changed):
            return True
        if flat and (named in _MAKES_NEW or named in _ARITHMETIC):
            return False
        if flat and _is_comprehension(defs.get(s.fn)):  # type: ignore[arg-type]
            return False
        if f is None and s.fn not in tracks.outside and not self._is_library(c, s.fn, defs):
            return True
        if named is None or named not in _TO_SCALARS:
            tracks.add(s.out, flat and (named in _GOES_THROUGH or s.fn in tracks.outside))
        return False

    def _gives_classes(self, c: Code, s: Call, classes: set[Operand], defs: dict[Var, Call]) -> None:
        """A call with classes among its arguments, of a function that is seen, or of any, as a method too."""
        callee = self.known(c, s.fn, defs)
        code = callee.__code__ if isinstance(callee, pytypes.FunctionType) else None
        for i, v in enumerate(s.args):
            if v in classes:
                self.class_places |= {(code, i)} if code is not None else {(None, i), (None, i + 1)}
        self.class_places |= {(code, k) for k, v in s.kwargs if v in classes}

    def _made(self, c: Code, s: Call, tracks: _Tracks) -> None:
        """A function that is made with default values, which may be from outside."""
        inner = self.codes.get((s.args[0].value, id(c.globals)))  # type: ignore[union-attr]
        if inner is not None and not tracks.outside.isdisjoint(s.args[1:3]):
            n = inner.code.co_argcount + inner.code.co_kwonlyargcount
            self.given += n - len(inner.params & set(range(n)))
            inner.params.update(range(n))

    def known(self, c: Code, v: Operand, defs: dict[Var, Call]) -> Any:
        """What a name, or an attribute of a module by name, stands for; None where that is not seen."""
        if isinstance(v, Const):
            return v.value
        s = defs.get(v)
        if s is None or not isinstance(s.fn, Const):
            return None
        if s.fn.value is ops.load_global:
            name = s.args[0].value  # type: ignore[union-attr]
            return c.globals.get(name, getattr(builtins, name, None))
        if s.fn.value is getattr and isinstance(s.args[1], Const):
            x = self.known(c, s.args[0], defs)
            if isinstance(x, (pytypes.ModuleType, type)):
                return getattr(x, s.args[1].value, None)
        return None

    def _is_library(self, c: Code, v: Operand, defs: dict[Var, Call]) -> bool:
        """Is the callee a function of a library or in C, which does not keep or change what it is given?"""
        f = self.known(c, v, defs)
        module = getattr(f, "__module__", None) or ""
        return f is not None and (isinstance(f, (pytypes.BuiltinFunctionType, type(sum))) or of_library(module))


def _is_comprehension(made: Call | None) -> bool:
    """Is this function the body of a comprehension or generator expression, which takes an iterator and keeps it?"""
    if made is None or not isinstance(made.fn, Const) or made.fn.value is not ops.make_function:
        return False
    code = made.args[0]
    return isinstance(code, Const) and code.value.co_name in _COMPREHENSIONS
