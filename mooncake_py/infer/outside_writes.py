"""What the code of a walk (`infer/outside.py`) writes into what is from outside.

Values that come from outside are followed through each code, whatever the order in which it runs.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import heapq
import importlib
import operator
import types as pytypes
from abc import ABCMeta
from collections.abc import Callable, Mapping
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.hashing import hashable
from mooncake_py.infer.held import (
    DEEPEST,
    attribute_of,
    holds_arrays,
    holds_classes,
    is_data,
    is_library,
    is_namespace,
    may_hold_data,
    nesting,
    of_library,
)
from mooncake_py.infer.outside_arrays import WRITERS, WRITING_METHODS
from mooncake_py.infer.special_methods import BINARY, IN_PLACE
from mooncake_py.infer.tracks import NEW_CONTAINERS, Tracks, local_containers
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import (
    Call,
    Const,
    Function,
    Operand,
    Raise,
    Return,
    Var,
)
from mooncake_py.registry import rules_of
from mooncake_py.run import Wary
from mooncake_py.structure import is_user_class

if TYPE_CHECKING:
    from mooncake_py.infer.outside import Code, Walk

MUTATORS = {
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
MUTATORS |= {"appendleft", "popleft", "extendleft", "rotate", "add", "discard", "move_to_end", "subtract"}
MUTATORS |= {"__setitem__", "__setattr__", "__dict__"}
_WRITES = frozenset(
    {setattr, delattr, operator.setitem, operator.delitem, ops.list_append, ops.list_extend, ops.map_add}
    | {ops.dict_update, ops.dict_merge, ops.set_add, ops.set_update, heapq.heappush, heapq.heappop, heapq.heapify}
    | {heapq.heapreplace, heapq.heappushpop, bisect.insort, bisect.insort_left}
    | {getattr(operator, name) for name in dir(operator) if name[0] == "i" and hasattr(operator, f"__{name}__")}
) - {operator.invert, operator.index, operator.is_, operator.is_not, operator.inv}
_TO_SCALARS = frozenset(
    {len, isinstance, type, id, float, int, str, repr, bool, hash, print, operator.contains, operator.not_, ops.truth}
    | {operator.is_, operator.is_not, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge}
)

_ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.getitem})
_MAKES_NEW = frozenset(
    {list, tuple, dict, set, sorted, sum, operator.iadd, ops.list_extend, ops.dict_update, ops.dict_merge}
)
"""Of containers of numbers these give numbers and new containers, as arithmetic does, or put their items into one."""
_OF_OPERATORS = _ARITHMETIC - {operator.getitem} | {operator.floordiv, operator.mod, operator.matmul, operator.neg}
_OF_OPERATORS |= {f for f in _WRITES if f.__name__[:1] == "i" and f not in (bisect.insort, bisect.insort_left)}
"""These give what is new, or what they have written into, where no class of the user's says something else."""
OPERATORS = {n for f, names in BINARY.items() if f in _OF_OPERATORS for n in names} | {"__neg__"}
OPERATORS |= {name for name, _ in IN_PLACE.values()}
_GIVES_NEW = frozenset({"copy", "get", "index", "count"})
_GOES_THROUGH = frozenset({iter, zip, enumerate, reversed, map, filter})

_SUSPENDED = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_AWAITED = CO_COROUTINE | CO_ASYNC_GENERATOR
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})

Place = tuple[pytypes.CodeType | None, int | str]
"""A parameter by number or name: of this code, or of any."""


def writes_when_called(f: Any, args: tuple[Any, ...] = (), out: Any = None) -> Wary:
    """What a callable writes to that it holds on to: a method of a container or array, a partial of what writes."""
    if isinstance(f, functools.partial):
        return writes_when_called(f.func, f.args, f.keywords.get("out"))
    if isinstance(f, (pytypes.BuiltinFunctionType, pytypes.MethodWrapperType)):
        args = (f.__self__, *args) if may_hold_data(f) or holds_arrays(f.__self__) else args
    if isinstance(f, (pytypes.FunctionType, pytypes.MethodType)) or not hashable(f):
        return Wary.NOTHING  # its own code says
    changed = {i for r in rules_of(f) for i in r.mutates}
    if f in _WRITES or getattr(f, "__name__", "") in MUTATORS | WRITING_METHODS | WRITERS:
        changed.add(0)
    written = [out, *[x for i, x in enumerate(args) if i in changed]]
    if any(isinstance(x, np.ndarray) and holds_arrays(x) for x in written):
        return Wary.ARRAYS
    return Wary.OBJECTS if any(is_data(x) and not is_namespace(x) for x in written) else Wary.NOTHING


NAMESPACES = (type, pytypes.FunctionType, pytypes.ModuleType)


def _counts(s: Call, c: Code, defs: dict[Var, Call]) -> bool:
    """Does this set an attribute of a function to a constant, or to what it was and a constant: no derivative there?"""
    x, name, value = s.args
    f = c.known(x, defs)
    if type(f) is not pytypes.FunctionType:
        return False
    made = defs.get(value)  # type: ignore[arg-type]
    if made is None:
        return isinstance(value, Const)
    if not any(is_const(made.fn, f) for f in _STEPS) or not isinstance(made.args[1], Const):
        return False
    was = defs.get(made.args[0])  # type: ignore[arg-type]
    if was is None or not is_const(was.fn, getattr) or c.known(was.args[0], defs) is not f:
        return False
    return isinstance(name, Const) and _is_named(was.args[1], name.value)


def _gives_a_namespace(f: Any, s: Call, c: Code, defs: dict[Var, Call]) -> bool:
    """Does a call give a module, or the names of a module or class with what they stand for?"""
    if f is vars:
        return bool(s.args) and isinstance(c.known(s.args[0], defs), NAMESPACES)
    return f is globals or f is __import__ or f is importlib.import_module


def _is_named(v: Operand, name: str) -> bool:
    return isinstance(v, Const) and v.value == name


_STEPS = (operator.iadd, operator.isub, operator.add, operator.sub)


def names_set(c: Code, defs: dict[Var, Call]) -> list[tuple[pytypes.ModuleType, str]]:
    """The names of modules that do not belong to a library which it sets; "" where it is not seen which."""
    found: list[tuple[pytypes.ModuleType, str]] = []
    for s in defs.values():
        f = c.known(s.fn, defs) if s.args else None
        if f is setattr or f is delattr or f is vars:
            x = c.known(s.args[0], defs)
            if isinstance(x, pytypes.ModuleType) and not of_library(x.__name__):
                name = s.args[1] if len(s.args) > 1 else Const("")
                found.append((x, str(name.value) if isinstance(name, Const) else ""))
    return found


def made_in_class_body(body: Function, scope: Mapping[str, Any]) -> set[str]:
    """The names by which a class will hold what its body makes, constants and functions, however decorated, apart.

    A data class holds none of what describes its fields (`field(default_factory=list)`); `scope` has the global names.
    """
    functions: set[Operand] = set()
    describing: set[Operand] = set()
    names: set[str] = set()
    for s in (s for b in body.blocks for s in b.stmts):
        if is_const(s.fn, ops.load_name) and scope.get(s.args[0].value) is dataclasses.field:  # type: ignore[union-attr]
            describing.add(s.out)
        elif (
            is_const(s.fn, ops.make_function)
            or not functions.isdisjoint(s.args)
            or (s.fn in describing and all(k != "default" or isinstance(v, Const) for k, v in s.kwargs))
        ):
            functions.add(s.out)
        elif is_const(s.fn, ops.store_name) and isinstance(s.args[1], Var):
            names.add(str(s.args[0].value))  # type: ignore[union-attr]
    return names


def counts(v: Operand, name: str, defs: dict[Var, Call], depth: int = 5) -> bool:
    """Is this a constant number, or what a global variable of this name that counts is set to?"""
    if isinstance(v, Const):
        return isinstance(v.value, _COUNTED)
    s = defs.get(v)
    if s is None or not isinstance(s.fn, Const) or depth == 0:
        return False
    if s.fn.value is ops.load_global:
        return bool(s.args[0].value == name)  # type: ignore[union-attr]
    return s.fn.value in _COUNTING and all(counts(a, name, defs, depth - 1) for a in s.args)


def kinds_counted(v: Operand, defs: dict[Var, Call]) -> set[type]:
    """The classes of the constants in what `counts`; of arithmetic with them none else comes, but for truth values."""
    if isinstance(v, Const):
        return {type(v.value)}
    s = defs.get(v)
    if s is None or is_const(s.fn, ops.load_global):
        return set()
    kinds = {k for a in s.args for k in kinds_counted(a, defs)}
    return kinds | {bool, int} if is_const(s.fn, operator.not_) or bool in kinds else kinds


_COUNTED = (int, float, complex, str, type(None))
_COUNTING: frozenset[Callable[..., Any]] = frozenset(
    {operator.add, operator.sub, operator.mul, operator.iadd, operator.isub, operator.imul}
)
_COUNTING |= frozenset({operator.not_, operator.neg, operator.mod, operator.and_, operator.xor})


class Writes:
    """What the code of a walk hands on of what is from outside, as far as is seen."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self.returning: set[pytypes.CodeType] = set()  # codes that may return such a thing
        self.raises = False
        self.captured: dict[str, bool] = {}  # variables that functions share and that hold such a thing; flat ones?
        self.class_cells: set[str] = set()  # variables that functions share and that hold a class
        self.given = 0  # how often it was found that parameters may get such a thing
        self.attributes: dict[str, bool] = {}  # of objects that are made, which hold such a thing; flat ones?

    def objects(self) -> bool:
        """Is a container or an object from outside, or a variable, written to?"""
        if self.walk.sources and self.walk.unseen:
            return True
        while True:
            before = self._known()
            if any(self._touches(c) for c in list(self.walk.codes.values())):
                return True
            if before == self._known():
                return False

    def _known(self) -> tuple[Any, ...]:
        places = len(self.walk.class_places), len(self.class_cells)
        return len(self.returning), self.raises, self.captured.copy(), self.given, self.attributes.copy(), *places

    def _touches(self, c: Code) -> bool:
        fn = c.body
        defs = {s.out: s for b in fn.blocks for s in b.stmts}
        tracks = Tracks(c, self.walk, local_containers(c, defs))
        params_of = {b.id: b.params for b in fn.blocks}
        while True:
            before = tracks.size()
            for b in fn.blocks:
                for s in b.stmts:
                    if self._statement(c, s, tracks, defs):
                        return True
                self.raises |= isinstance(b.term, Raise) and b.term.exc in tracks.outside
                tracks.flow(params_of, b, self.raises, lambda v: c.known(v, defs))
                if isinstance(b.term, Return) and b.term.value in tracks.outside:
                    self.returning.add(c.code)
            if tracks.size() == before:
                return False

    def _statement(self, c: Code, s: Call, tracks: Tracks, defs: dict[Var, Call]) -> bool:
        """Follow what is from outside through one statement. Does it change such a thing?"""
        f = s.fn.value if isinstance(s.fn, Const) else None
        named = c.known(s.fn, defs) if f is None else None
        if isinstance(named, pytypes.BuiltinFunctionType) and (named is setattr or named in _WRITES):
            f = named
        if named is getattr and len(s.args) > 1:
            f = named
        if named is not None and _gives_a_namespace(named, s, c, defs):
            tracks.add(s.out)
        called = (
            [v.value if isinstance(v, Const) else None for v in s.args[:1]] if named is operator.methodcaller else []
        )
        if any(name is None or name in MUTATORS for name in called):
            return True  # of what it is given by those that call it
        operands = [v for v in s.operands() if isinstance(v, Var)]
        if f is ops.load_global:
            name = s.args[0].value  # type: ignore[union-attr]
            x = c.globals.get(name)
            if self.walk.leads_to_data(x):
                tracks.add_container(s.out, nesting(x))
            return False
        if f is ops.import_from:
            x = c.known(s.out, defs)
            if self.walk.leads_to_data(x):
                tracks.add_container(s.out, nesting(x))
            return False
        if f is ops.cell_get and s.args[0] in tracks.cells:
            tracks.add(s.out)
            return False
        if f is ops.cell_get and (word := str(s.args[0].name)) in self.captured:  # type: ignore[union-attr]
            tracks.add(s.out, self.captured[word])
            return False
        if f is ops.store_global or f is ops.delete_global:
            return True
        if f is ops.cell_set and s.args[0] in tracks.held and c.code is not self.walk.outermost:
            return True  # a variable of a function that was made outside: of the outermost one it stays changed
        if self._gives_a_class(f, named, s, tracks, defs):
            tracks.classes.add(s.out)
        touched = [v for v in operands if v in tracks.outside]
        if f is setattr and _counts(s, c, defs):
            return False
        if f in (setattr, delattr) and s.args[0] in tracks.classes:
            return True
        if f is None and not tracks.classes.isdisjoint(operands) and not _is_library(c, s.fn, defs):
            self._gives_classes(c, s, tracks.classes, defs)
        if not touched:
            if f is setattr and isinstance(c.known(s.args[0], defs), NAMESPACES):
                return True
            if self.attributes and f is ops.match_class:
                tracks.add(s.out)
            if f is getattr or f is ops.load_super:
                self._attribute(c, s, tracks, defs)
            if f is None and self._returns(c, s.fn, defs):
                tracks.add(s.out)
            return False
        if f in _WRITES:
            if s.args[0] in tracks.own or (f is setattr and _is_named(s.args[1], "__dict__")):
                return True
            if not (f in _MAKES_NEW and tracks.deep.isdisjoint(touched)):  # of which numbers are put there
                tracks.put_into(s.args[0], f in _OF_OPERATORS)
            if f is setattr and s.args[2] in tracks.outside:
                return not self._keeps(s.args[1], s.args[2] not in tracks.deep)
            if f is setattr or f is operator.setitem:
                return False
        if f is operator.getitem and touched == [s.args[0]] and s.args[0] in tracks.nested:
            tracks.add_container(s.out, tracks.nested[s.args[0]] - 1)
            return False
        flat = tracks.deep.isdisjoint(touched)
        if f is ops.make_cell or f is ops.cell_set:
            word = str((s.out if f is ops.make_cell else s.args[0]).name)  # type: ignore[union-attr]
            self.captured[word] = flat and self.captured.get(word, True)
            return False
        if f is ops.make_function:
            self._made(c, s, tracks)
        if f is ops.yield_:
            self.returning.add(c.code)
        if f is getattr:
            name = s.args[1]
            if isinstance(name, Const) and name.value in MUTATORS and not self._of_local(s, tracks):
                return True
            if not (flat and isinstance(name, Const) and name.value in _GIVES_NEW):
                tracks.add(s.out, flat)
            return False
        callee = f if f is not None else c.known(s.fn, defs)
        named = callee if hashable(callee) else None
        changed = () if named is None or f in _WRITES else {i for r in rules_of(named) for i in r.mutates}
        if named is functools.partial or any(i < len(s.args) and s.args[i] in tracks.own for i in changed):
            return True
        for i in changed:
            tracks.put_into(s.args[i] if i < len(s.args) else Const(None))
        by_name = not tracks.outside.isdisjoint(v for _, v in s.kwargs)  # which is put into a dict as it is
        if flat and not by_name and (named in _MAKES_NEW or named in _ARITHMETIC):
            if self._holds_classes(c, s.args[0], defs):
                tracks.classes.add(s.out)
            return False
        if flat and _is_comprehension(defs.get(s.fn)):  # type: ignore[arg-type]
            return False
        if f is None and self._is_wrapped(c, s, tracks, defs):
            return False
        got = defs.get(s.fn)  # type: ignore[arg-type]
        if got is not None and is_const(got.fn, getattr) and self._of_local(got, tracks):
            tracks.put_into(got.args[0])
            tracks.add(s.out)
            return False
        if f is ops.call_ex and flat and s.args[0] not in tracks.outside:  # numbers, in new containers
            if self._returns(c, s.args[0], defs):
                tracks.add(s.out)
            return False
        if f is ops.call_ex or (f is None and s.fn not in tracks.outside and not _is_library(c, s.fn, defs)):
            return f is ops.call_ex or not self._is_followed(c, s, tracks, defs)
        if named is None or named not in _TO_SCALARS:
            new = named in NEW_CONTAINERS or (named in _OF_OPERATORS and not self.walk.has_operators())
            tracks.add(s.out, flat and (named in _GOES_THROUGH or s.fn in tracks.outside), own=not new)
        return False

    def _returns(self, c: Code, v: Operand, defs: dict[Var, Call]) -> bool:
        """May what is called return such a thing?"""
        f, made = c.known(v, defs), defs.get(v)  # type: ignore[arg-type]
        if isinstance(f, pytypes.FunctionType):
            return f.__code__ in self.returning
        if made is not None and is_const(made.fn, ops.make_function):
            return made.args[0].value in self.returning  # type: ignore[union-attr]
        return bool(self.returning) and not _is_library(c, v, defs)

    def _attribute(self, c: Code, s: Call, tracks: Tracks, defs: dict[Var, Call]) -> None:
        """Follow an attribute of what is not from outside: of a class or module, or of an object that was made."""
        holder, name = c.known(s.args[0], defs), s.args[-1 if is_const(s.fn, ops.load_super) else 1]
        if not isinstance(name, Const):
            if self.attributes or (isinstance(holder, NAMESPACES) and not is_library(holder)):
                tracks.add(s.out)
            return
        word = str(name.value)
        if word in self.attributes or word == "cell_contents":
            tracks.add(s.out, self.attributes.get(word, False))
        held = attribute_of(holder, word) if isinstance(holder, NAMESPACES) else None
        if word in self.walk.of_classes or self.walk.leads_to_data(held):
            by_name = self.walk.of_classes.get(word, DEEPEST + 1 if held is None else 1)
            tracks.add_container(s.out, by_name if held is None else max(by_name, nesting(held)))

    def _of_local(self, got: Call, tracks: Tracks) -> bool:
        """Is this a method, by its name, of a container of Python's that the code made?"""
        name = got.args[1]
        named = isinstance(name, Const) and name.value in MUTATORS and name.value not in self.walk.method_names
        return named and got.args[0] in tracks.local and got.args[0] not in tracks.own

    def _keeps(self, name: Operand, flat: bool) -> bool:
        """Note that an attribute of an object that is made holds such a thing. Is it read by its name alone?"""
        word = name.value if isinstance(name, Const) else None
        by_code = {"__setattr__", "__set__", "__getattr__", "__getattribute__", word}
        if word is None or not self.walk.method_names.isdisjoint(by_code) or not self.walk.names.isdisjoint(_ALL_OF_IT):
            return False
        self.attributes[word] = flat and self.attributes.get(word, True)
        return True

    def _is_followed(self, c: Code, s: Call, tracks: Tracks, defs: dict[Var, Call]) -> bool:
        """Is this a call of a function whose code is seen? What it is given is followed there."""
        callee, made = c.known(s.fn, defs), defs.get(s.fn)  # type: ignore[arg-type]
        first = 0
        if isinstance(callee, type) and _is_simply_made(callee):
            callee, first = callee.__init__, 1  # type: ignore[misc]
            tracks.add(s.out, own=False)
        if type(callee) is pytypes.FunctionType:
            inner = self.walk.codes.get((callee.__code__, id(callee.__globals__)))
        elif made is not None and is_const(made.fn, ops.make_function):
            inner = self.walk.codes.get((made.args[0].value, id(c.globals)))  # type: ignore[union-attr]
        else:
            return False
        if inner is None or inner.code.co_flags & _AWAITED or len(s.args) + first > inner.code.co_argcount:
            return False
        names = inner.code.co_varnames[: inner.code.co_argcount + inner.code.co_kwonlyargcount]
        if not all(k in names for k, _ in s.kwargs):
            return False
        given = {i for i, v in enumerate(s.args, first) if v in tracks.outside}
        given |= {names.index(k) for k, v in s.kwargs if v in tracks.outside}
        deep = {i for i, v in enumerate(s.args, first) if v in tracks.deep}
        deep |= {names.index(k) for k, v in s.kwargs if v in tracks.deep}
        self.given += inner.give(given, given - deep)
        if inner.code in self.returning and not first:
            tracks.add(s.out)
        return True

    def _is_wrapped(self, c: Code, s: Call, tracks: Tracks, defs: dict[Var, Call]) -> bool:
        """Does a library's function call what it was made for, as `repr` of a data class does? It is followed there."""
        got = defs.get(s.fn)  # type: ignore[arg-type]
        if not c.wrapped or s.kwargs or got is None or not is_const(got.fn, ops.cell_get):
            return False
        names: dict[Operand, str] = dict(zip(c.body.free, c.code.co_freevars, strict=False))
        functions = c.wrapped.get(names.get(got.args[0], ""), [])
        found = [self.walk.codes.get((g.__code__, id(g.__globals__))) for g in functions]
        given = {i for i, v in enumerate(s.args) if v in tracks.outside}
        for inner in found:
            if inner is None or inner.code.co_flags & _SUSPENDED or len(s.args) > inner.code.co_argcount:
                return False
            self.given += inner.give(given)
        if any(inner is not None and inner.code in self.returning for inner in found):
            tracks.add(s.out)
        return bool(found)

    def _holds_classes(self, c: Code, v: Operand, defs: dict[Var, Call]) -> bool:
        """Is it a container of classes, by the name of a global or of an attribute?"""
        s = defs.get(v) if isinstance(v, Var) else None
        if s is not None and isinstance(s.fn, Const) and s.fn.value is getattr and isinstance(s.args[1], Const):
            return s.args[1].value in self.walk.with_classes
        return holds_classes(c.known(v, defs))

    def _gives_a_class(self, f: Any, named: Any, s: Call, tracks: Tracks, defs: dict[Var, Call]) -> bool:
        """Is this the class of an object, one that is made, or one that functions share?"""
        if f is ops.make_cell or f is ops.cell_set:
            if s.args[-1] in tracks.classes:
                self.class_cells.add(str((s.out if f is ops.make_cell else s.args[0]).name))  # type: ignore[union-attr]
            return False
        if f is ops.cell_get:
            return str(s.args[0].name) in self.class_cells  # type: ignore[union-attr]
        made_by = defs.get(s.fn)  # type: ignore[arg-type]
        if made_by is not None and isinstance(made_by.fn, Const) and made_by.fn.value is ops.load_build_class:
            return True
        if f is getattr and isinstance(s.args[1], Const):
            return bool(s.args[1].value == "__class__")
        if f is None and not isinstance(named, (pytypes.BuiltinFunctionType, type)):  # a decorator, which gives it back
            return len(s.args) == 1 and s.args[0] in tracks.classes
        return named is type and len(s.args) in (1, 3)

    def _gives_classes(self, c: Code, s: Call, classes: set[Operand], defs: dict[Var, Call]) -> None:
        """A call with classes among its arguments, of a function that is seen, or of any, as a method too."""
        callee = c.known(s.fn, defs)
        code = callee.__code__ if isinstance(callee, pytypes.FunctionType) else None
        for i, v in enumerate(s.args):
            if v in classes:
                self.walk.class_places |= {(code, i)} if code is not None else {(None, i), (None, i + 1)}
        self.walk.class_places |= {(code, k) for k, v in s.kwargs if v in classes}

    def _made(self, c: Code, s: Call, tracks: Tracks) -> None:
        """A function that is made with default values, which may be from outside."""
        inner = self.walk.codes.get((s.args[0].value, id(c.globals)))  # type: ignore[union-attr]
        if inner is not None and not tracks.outside.isdisjoint(s.args[1:3]):
            n = inner.code.co_argcount + inner.code.co_kwonlyargcount
            self.given += inner.give(set(range(n)))


_ALL_OF_IT = frozenset(
    {"__dict__", "vars", "attrgetter", "methodcaller", "__getstate__", "__setattr__", "setattr", "__init__", "__new__"}
)
"""Names by which code comes to attributes without naming them."""


def _is_simply_made(cls: type) -> bool:
    """Is an object of the class what its `__init__`, written in Python, puts into attributes?"""
    init: Any = cls.__init__  # type: ignore[misc]
    made_otherwise = any("__new__" in k.__dict__ for k in cls.__mro__ if k is not object)
    return (
        type(cls) in (type, ABCMeta)
        and not made_otherwise
        and is_user_class(cls)
        and type(init) is pytypes.FunctionType
    )


def _is_library(c: Code, v: Operand, defs: dict[Var, Call]) -> bool:
    """Is the callee a function of a library or in C, which does not keep or change what it is given?"""
    f = c.known(v, defs)
    module = getattr(f, "__module__", None) or ""
    return f is not None and (isinstance(f, (pytypes.BuiltinFunctionType, type(sum))) or of_library(module))


def _is_comprehension(made: Call | None) -> bool:
    """Is this function the body of a comprehension or generator expression, which takes an iterator and keeps it?"""
    if made is None or not isinstance(made.fn, Const) or made.fn.value is not ops.make_function:
        return False
    code = made.args[0]
    return isinstance(code, Const) and code.value.co_name in _COMPREHENSIONS
