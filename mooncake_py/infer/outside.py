"""May a call change objects that it finds in globals, closures, defaults or its receiver?

Rules are derived on the assumption that what a function finds outside is constant. Where that may not hold, they are
derived in wary mode: everything from outside is taken to carry derivatives, and no call is too plain to be looked
at. The question is answered by a flow-insensitive walk over the code that may run: values that come from outside are
followed through it, and what is written into one of them, or handed to code that cannot be seen, counts. An answer
of no that is wrong is found when it happens, and refused (`UnsupportedError`).
"""

from __future__ import annotations

import builtins
import functools
import sys
import types as pytypes
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from typing import Any, TypeVar

from mooncake_py.closures import captured
from mooncake_py.errors import MooncakeError, WritesOutside
from mooncake_py.infer.attributes_set import attributes_set, holders_passed, sets_by_itself
from mooncake_py.infer.codes import looks_into_only, names_of_values
from mooncake_py.infer.held import (
    ANY,
    CONSTANTS_ONLY,
    DEEPEST,
    INHERITED,
    attribute_of,
    holds_arrays,
    holds_classes,
    holds_plainly,
    is_data,
    is_library,
    is_mark,
    is_namespace,
    may_be_given,
    may_hold_data,
    nesting,
    note_cell_set,
    note_deleted,
    note_kinds,
    note_opened,
    note_rebound,
    note_set,
    of_library,
    summary,
)
from mooncake_py.infer.numbers import comes_to_nothing
from mooncake_py.infer.outside_arrays import reaches_arrays, writes_arrays
from mooncake_py.infer.outside_writes import (
    NAMESPACES,
    OPERATORS,
    Place,
    Writes,
    counts,
    kinds_counted,
    made_in_class_body,
    names_set,
    writes_when_called,
)
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Var
from mooncake_py.run import ARRAYS, ATTRIBUTES, NAMES, NOTHING, OBJECTS, Wary
from mooncake_py.structure import KEYS, attributes, compared_by, is_user_class
from mooncake_py.undisturbed import undisturbed

# Functions and attributes by which code reaches methods whose names it does not show.
_ANY_NAME = frozenset(
    {"getattr", "setattr", "delattr", "vars", "__dict__", "attrgetter", "methodcaller", "__getattribute__"}
)

# Modules whose classes call none of the user's methods by names of their own, or whose code is looked into.
_ASK_NOTHING = INHERITED | {"builtins", "abc", "typing", "enum", "types", "numpy"}
_OF_NEW = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})
"""Methods that Python calls for objects and classes when they are made."""
_MAKE_ANOTHER = _ANY_NAME | _OF_NEW | {"type", "__class__", "replace", "copy", "deepcopy"}
"""Names by which code makes another object of the class that one is of."""
_OF_NEW_CLASS = frozenset({"__init_subclass__", "__set_name__"})
"""Those that run where a class is made."""
_CLASS_MAKERS = frozenset({"new_class", "make_dataclass", "__build_class__", "build_class"})
_TO_MODULES = frozenset({ops.load_global, getattr, ops.import_name, ops.import_from})
_CODE = (pytypes.ModuleType, pytypes.FunctionType, pytypes.BuiltinFunctionType, type)
_OF_CLASS = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
"""Methods that are given a class without being class methods."""

R = TypeVar("R")
Name = tuple[Mapping[Any, Any], Any, Any, Any]
"""What a name, or a default value by its number, stands for where that cannot change by itself, and its summary."""
_CHANGING = object()
_answers: dict[Any, tuple[Wary, list[Name]]] = {}
"""The answer, and what it takes the values of names to be."""


def may_write_outside(f: pytypes.FunctionType, receivers: Iterable[Any] = (), brought: Iterable[Any] = ()) -> Wary:
    """The answer for a call of f; `receivers` are arguments that are not the user's own: a bound method's object.

    `brought` are the classes and functions that its arguments are of, or hold.
    """
    receivers = [x for x in receivers if is_data(x) or holds_arrays(x)]
    key = _call(f, receivers, brought)
    known = _answers.get(key)
    if known is None or not (known[0] >= NAMES or _are_as_then(known[1])):
        known = undisturbed(_walked, f, receivers, brought)
        if len(_answers) > 5000:
            _answers.clear()
        _answers[key] = known
    return known[0]


def names_of(f: pytypes.FunctionType, receivers: Iterable[Any], brought: Iterable[Any]) -> list[Name]:
    """The names that the code of such a call may look up, whose call was asked for an answer before."""
    found = _answers.get(_call(f, [x for x in receivers if is_data(x) or holds_arrays(x)], brought))
    return [] if found is None else found[1]


def _walked(f: pytypes.FunctionType, receivers: Iterable[Any], brought: Iterable[Any]) -> tuple[Wary, list[Name]]:
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
    return walk.answer(), walk.relied


def with_answer(
    run: Callable[[Wary], R], f: pytypes.FunctionType, receivers: Iterable[Any], brought: Iterable[Any]
) -> R:
    """What `run` gives with the answer for a call of f.

    Derivation, which is less sure of what is not written to, may find a write that the walk did not see, before
    anything has run. So it is answered from then on, and tried again.
    """
    while True:
        wary = may_write_outside(f, receivers, brought)
        try:
            return run(wary)
        except WritesOutside as refused:
            if not refused.before_the_run or refused.wary <= wary:
                raise
            found = Wary(refused.wary)
        key = _call(f, [x for x in receivers if is_data(x) or holds_arrays(x)], brought)
        _answers[key] = found, _answers[key][1]


def _call(f: pytypes.FunctionType, receivers: Iterable[Any], brought: Iterable[Any]) -> tuple[Any, ...]:
    """What calls have in common that the answer is the same for."""
    codes = tuple([x.__code__ if isinstance(x, pytypes.FunctionType) else x for x in brought])
    return f.__code__, id(f.__globals__), tuple(type(x) for x in receivers), codes, _captured(f)


def _name(scope: Mapping[Any, Any], name: Any, x: Any) -> Name:
    then = summary(x)
    return scope, name, x if then is None or then is x else _CHANGING, then


def _are_as_then(names: list[Name]) -> bool:
    for scope, name, then, told in names:
        x = scope.get(name)
        if x is not then and summary(x) != told:
            return False
    return True


def _captured(f: pytypes.FunctionType, depth: int = 3) -> tuple[Any, ...]:
    """What tells functions of one code apart by what they have captured: the code of functions, else the class."""
    if not f.__closure__ or not depth:
        return ()
    found: list[Any] = []
    for x in captured(f).values():
        found.append((x.__code__, _captured(x, depth - 1)) if isinstance(x, pytypes.FunctionType) else type(x))
    return tuple(found)


def stands_alone(f: pytypes.FunctionType, wary: Wary) -> bool:
    """Does a call of f, given numbers, reach nothing but numbers, functions and libraries, to read or to write it?"""
    walk = Walk(notes=False)  # in a run, which relies on what was noted when it began
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
    flat: set[int] = field(default_factory=set)
    """Of these, the ones that hold numbers and the like: an empty dict for a default value, say."""
    defaults: dict[int, Any] = field(default_factory=dict)
    wrapped: dict[str, list[pytypes.FunctionType]] = field(default_factory=dict)
    """Of a library's function, which wraps functions of the user's: what these are by its free variables."""

    def give(self, places: set[int], flat: Set[int] = frozenset()) -> bool:
        """These parameters may be from outside, `flat` ones of them. Is any of it new?"""
        before = len(self.params), len(self.flat)
        self.flat = (self.flat - (places - flat)) | (flat - self.params)
        self.params |= places
        return before != (len(self.params), len(self.flat))

    @functools.cached_property
    def captured_names(self) -> dict[Var, Any]:
        """What its free variables hold, by the values that stand for their cells; those that it sets itself apart."""
        held = {v: self.free[n] for v, n in zip(self.body.free, self.code.co_freevars, strict=False) if n in self.free}
        for s in (s for b in self.body.blocks for s in b.stmts):
            if isinstance(s.fn, Const) and s.fn.value is ops.cell_set:
                held.pop(s.args[0], None)  # type: ignore[arg-type]
        return held

    def modules(self) -> list[pytypes.ModuleType]:
        """The user's modules that it names, by a global name, as an attribute of another one or in an import."""
        defs = {s.out: s for b in self.body.blocks for s in b.stmts}
        values = [s.out for s in defs.values() if isinstance(s.fn, Const) and s.fn.value in _TO_MODULES]
        found = [x for x in (self.known(v, defs) for v in values) if isinstance(x, pytypes.ModuleType)]
        return list(dict.fromkeys([x for x in found if not of_library(x.__name__)]))

    def known(self, v: Operand, defs: dict[Var, Call]) -> Any:
        """What a name, or an attribute of a module by name, stands for; None where that is not seen."""
        if isinstance(v, Const):
            return v.value
        s = defs.get(v)
        if s is None or not isinstance(s.fn, Const):
            return None
        if s.fn.value is ops.load_global:
            name = s.args[0].value  # type: ignore[union-attr]
            return self.globals.get(name, getattr(builtins, name, None))
        if s.fn.value is getattr and isinstance(s.args[1], Const):
            x = self.known(s.args[0], defs)
            if isinstance(x, (pytypes.ModuleType, type)):
                return attribute_of(x, str(s.args[1].value))
        if s.fn.value is ops.import_name and s.args[2].value == 0:  # type: ignore[union-attr]
            name, names, _ = [v.value for v in s.args]  # type: ignore[union-attr]
            return sys.modules.get(name if names else name.partition(".")[0])
        if s.fn.value is ops.cell_get and isinstance(s.args[0], Var):
            x = self.captured_names.get(s.args[0])
            return x if isinstance(x, NAMESPACES) else None
        if s.fn.value is ops.import_from:
            return attribute_of(self.known(s.args[0], defs), str(s.args[1].value))  # type: ignore[union-attr]
        return None


class Walk:
    def __init__(self, notes: bool = True) -> None:
        self.codes: dict[tuple[pytypes.CodeType, int], Code] = {}
        self.seen: set[int] = set()
        self.kept: list[Any] = []
        self.of_classes: dict[str, int] = {}  # containers that classes hold, by name, and their `nesting`
        self.names: set[str] = set()  # that the code may read, or call by
        self.stores: set[str] = set()  # that it sets or deletes
        self.method_names: set[str] = set()  # of the user's classes
        self.waiting: dict[str, list[tuple[pytypes.FunctionType, bool]]] = {}  # methods that no name calls so far
        self.waiting_to_store: dict[str, list[tuple[pytypes.FunctionType, bool]]] = {}
        self.unmade: list[pytypes.FunctionType] = []  # what would make objects of classes that no code calls so far
        self.class_places: set[Place] = set()  # parameters that may be given a class
        self.with_classes: set[str] = set()  # of those, the ones with classes in them
        self.sources = False
        self.unseen = False
        self.partials: list[functools.partial[Any]] = []
        self.namespaces = False  # are there modules and classes that may be written to?
        self.sets_names = False  # are names of modules set?
        self.sets_any = False  # are attributes set by names that are not seen?
        self.passed: list[Any] = []  # classes and modules that these may be set on
        self.of_objects: set[pytypes.CodeType] = set()  # methods, which are given an object first
        self.rebinds = False  # are global variables assigned, or read that may be?
        self.assigns = False  # and what they get is not just counted?
        self.writers = NOTHING  # what callables write to that hold on to it
        self.notes = notes
        self.outermost: pytypes.CodeType | None = None  # the code that the user's call runs
        self.relied: list[Name] = []  # names, and what they were taken to hold

    def leads_to_data(self, x: Any) -> bool:
        """May the code come to something by x that keeps what is written into it?"""
        return may_hold_data(x) or (isinstance(x, functools.partial) and "keywords" in self.names)

    def has_operators(self) -> bool:
        """Do classes of the user's say what an operator gives?"""
        return not self.method_names.isdisjoint(OPERATORS)

    def answer(self) -> Wary:
        while self.unmade and (self.class_places or not self.names.isdisjoint(_MAKE_ANOTHER)):
            self.function(self.unmade.pop())
        if self.partials and "keywords" in self.names:
            self.sources = True
            note_opened(self.partials)
        if self.sets_any and self.passed:
            for x in self.passed if self.notes else ():
                if isinstance(x, pytypes.ModuleType):
                    note_set(x, ANY)
            return ATTRIBUTES
        if self.sets_names:
            return NAMES
        closed = not self.unseen and all(map(comes_to_nothing, self.codes.values()))
        if self.assigns or self.writers is ARRAYS or (not closed and writes_arrays(self)):
            return ARRAYS
        return OBJECTS if self.writers or (not closed and Writes(self).objects()) else NOTHING

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
            self.partials.append(x)
            self.writers = max(self.writers, writes_when_called(x))
            self.bound(x.func, x.args, x.keywords)
        elif isinstance(x, (pytypes.BuiltinFunctionType, pytypes.MethodWrapperType)):
            self.writers = max(self.writers, writes_when_called(x))
            if may_hold_data(x) and not is_namespace(x.__self__):
                self.value(x.__self__)
        elif isinstance(x, (classmethod, staticmethod)):
            self.value(x.__func__)
        elif type(x) is KEYS:
            self.value(compared_by(x))
        elif isinstance(x, property):
            for g in (x.fget, x.fset, x.fdel):
                self.value(g)
        elif isinstance(x, type):
            self.namespaces = self.namespaces or not is_library(x)
            self.methods(x, outside=False)
        elif isinstance(x, (tuple, frozenset)):
            for v in list(x)[:200]:
                self.value(v)
        elif callable(x) and hasattr(x, "__wrapped__"):
            self.value(x.__wrapped__)
        elif is_data(x):
            self.data(x)

    def kept_by_name(self, scope: Mapping[str, Any]) -> None:
        """Containers that a class or function has for attributes."""
        for name, x in scope.items():
            if is_data(x):
                self.of_classes[name] = max(self.of_classes.get(name, 1), nesting(x))
                self.relied.append(_name(scope, name, x))
                if holds_classes(x):
                    self.with_classes.add(name)

    def namespace(self, f: pytypes.FunctionType) -> None:
        """The attributes of a function: a log, a cache or a counter."""
        kept = {name: x for name, x in f.__dict__.items() if not callable(x)}
        if kept and not is_library(f):
            self.namespaces = True
            self.kept_by_name(kept)
            for x in kept.values():
                self.value(x)

    def bound(self, f: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """A function with arguments that it will be called with."""
        for part in (f, *args, *keywords.values()):
            self.value(part)
            if isinstance(part, (type, pytypes.ModuleType)) or part is setattr or part is delattr:
                self.passed.append(part)
                self.sets_any = self.sets_any or not isinstance(part, (type, pytypes.ModuleType))
        if isinstance(f, pytypes.MethodType):
            f, args = f.__func__, (f.__self__, *args)
        c = self.function(f) if isinstance(f, pytypes.FunctionType) else None
        if c is not None:
            given = {
                **dict(enumerate(args)),
                **{c.code.co_varnames.index(k): v for k, v in keywords.items() if k in c.code.co_varnames},
            }
            c.defaults.update(given)
            c.give({i for i, v in given.items() if may_hold_data(v)})

    def data(self, x: Any) -> None:
        """An object from outside."""
        self.sources = True
        if is_user_class(type(x)):
            self.methods(type(x), outside=True, made=False)
            parts: Iterable[Any] = attributes(x).values()
        else:
            parts = list(x.values() if isinstance(x, dict) else x)[:200]
        self.passed += [p for p in parts if isinstance(p, type) and is_user_class(p)]
        for p in parts:
            if not isinstance(p, (float, int, str)):
                self.value(p)

    def wrapped_by(self, f: Any) -> list[pytypes.FunctionType]:
        """The user's functions that a library's function holds: what `contextlib.contextmanager` made of one, say."""
        if not isinstance(f, pytypes.FunctionType) or not of_library(f.__globals__.get("__name__") or ""):
            return []
        held = [g for g in (*captured(f).values(), getattr(f, "__wrapped__", None)) if type(g) is pytypes.FunctionType]
        return [g for g in held if (g.__code__, id(g.__globals__)) in self.codes]

    def methods(self, cls: type, outside: bool, made: bool = True) -> None:
        """The methods that may run: `outside` of an object from there, `made` where objects of the class may be."""
        made = made or any(of_library(k.__module__) for k in cls.__mro__ if k is not object)
        libraries = [k for k in cls.__mro__ if is_library(k) and k.__module__ not in _ASK_NOTHING]
        for k in (*cls.__mro__, *type.mro(type(cls))):
            if of_library(k.__module__):
                continue
            self.kept_by_name(k.__dict__)
            for name, d in list(k.__dict__.items()):
                f = d.__func__ if isinstance(d, (classmethod, staticmethod)) else d
                inner = outside and not isinstance(d, staticmethod) and name not in _OF_NEW
                if isinstance(d, property):
                    self._method(name, d.fget, inner)
                    for g in (d.fset, d.fdel):
                        self._method(name, g, inner, stores=True)
                elif name in _OF_NEW - _OF_NEW_CLASS and not made and isinstance(f, pytypes.FunctionType):
                    self.unmade.append(f)
                elif isinstance(f, pytypes.FunctionType):
                    of_class = isinstance(d, classmethod) or issubclass(k, type) or name in _OF_CLASS
                    asked = any(name in b.__dict__ for b in libraries)
                    self._method(name, f, inner, of_class=of_class, asked=asked)
                else:
                    self.value(d)

    def _method(
        self, name: str, f: Any, outside: bool, stores: bool = False, of_class: bool = False, asked: bool = False
    ) -> None:
        """A method, which runs if some code asks for its name, or Python does, or (`asked`) a library that has it."""
        if not isinstance(f, pytypes.FunctionType):
            return
        self.method_names.add(name)
        if not of_class:
            self.of_objects.add(f.__code__)
        if of_class:
            self.class_places.add((f.__code__, 0))
        names, waiting = (self.stores, self.waiting_to_store) if stores else (self.names, self.waiting)
        special = name.startswith("__") and name.endswith("__") and name not in _OF_NEW_CLASS
        any_name = name not in _OF_NEW_CLASS and not names.isdisjoint(_ANY_NAME)
        if not (special or asked or name in names or any_name):
            waiting.setdefault(name, []).append((f, outside))
            return
        c = self.function(f)
        if c is not None and outside:
            c.give({0})

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
        if _makes_class(code, body):
            self.names |= _OF_NEW_CLASS
        self.stores |= changed | any_name
        for names, waiting in ((self.names, self.waiting), (self.stores, self.waiting_to_store)):
            for name in [n for n in waiting if (any_name and n not in _OF_NEW_CLASS) or n in names]:
                for f, outside in waiting.pop(name, ()):
                    c = self.function(f)
                    if c is not None and outside:
                        c.give({0})

    def _rebound_by(self, c: Code) -> None:
        """Note the global variables that this code assigns, of its own module or of others."""
        defs = {s.out: s for b in c.body.blocks for s in b.stmts}
        for module, name in names_set(c, defs):
            self.sets_names = True
            if self.notes:
                note_rebound(vars(module), name, False)
        for holder, name in attributes_set(c, defs, c.code in self.of_objects):
            if self.notes and (name != ANY or holder is not None):
                note_set(holder, name)
            if name == "cell_contents":
                self.writers = max(self.writers, OBJECTS)
                note_cell_set(ANY)
            self.sets_any = self.sets_any or (holder is None and name == ANY)
            self.sets_names = self.sets_names or isinstance(holder, pytypes.ModuleType)
        self.passed += holders_passed(c, defs, (c.code, 0) in self.class_places)
        for s in defs.values():
            if self.notes and (deleted := _deletes(c, s, defs)) is not None:
                note_deleted(deleted)
            if isinstance(s.fn, Const) and s.fn.value in (ops.store_global, ops.delete_global):
                name = str(s.args[0].value)  # type: ignore[union-attr]
                keeps = may_hold_data(x := c.globals.get(name)) or holds_arrays(x)
                stored = s.fn.value is ops.store_global and not keeps
                counted = stored and (counts(s.args[1], name, defs) or isinstance(c.known(s.args[1], defs), _CODE))
                self.rebinds = True
                self.assigns = self.assigns or not counted
                if self.notes:
                    note_rebound(c.globals, name, counted)
                    if counted:
                        code = isinstance(c.known(s.args[1], defs), _CODE)
                        note_kinds(c.globals, name, [object] if code else kinds_counted(s.args[1], defs))
            elif isinstance(s.fn, Const) and s.fn.value is ops.cell_set and s.args[0] in c.body.free:
                note_cell_set(str(s.args[0].name))

    def _also_captured(self, c: Code, free: dict[str, Any]) -> None:
        """What another function of this code holds, or the first one, where only what makes it was met so far."""
        for name, x in free.items():
            if name not in c.free or (self.leads_to_data(x) and not self.leads_to_data(c.free[name])):
                c.free[name] = x
        for k in c.code.co_consts if free else ():
            if isinstance(k, pytypes.CodeType):
                self.code(k, c.globals, {n: v for n, v in free.items() if n in k.co_freevars})

    def function(self, f: pytypes.FunctionType) -> Code | None:
        if of_library(f.__module__ or ""):
            return None
        held = captured(f)
        wraps = of_library(f.__globals__.get("__name__") or "")  # a function of the user's, and looks after itself
        if wraps and sets_by_itself(f):
            self.sets_any = True
            self.passed.append(None)
        if wraps:
            held = {name: x for name, x in held.items() if not isinstance(x, CONSTANTS_ONLY)}
        c = self.code(f.__code__, f.__globals__, held)
        if wraps and c is not None:
            for name, x in held.items():
                if isinstance(x, pytypes.FunctionType):
                    c.wrapped.setdefault(name, []).append(x)
        defaults = _defaults(f)
        if c is not None and defaults:
            c.defaults.update(defaults)
            held_by = {i: d for i, d in defaults.items() if may_hold_data(d) and not is_mark(d)}
            flat = {i for i, d in held_by.items() if holds_plainly(d)}
            self.relied += [_name(held_by, i, held_by[i]) for i in sorted(flat)]
            c.give({*held_by}, flat)
            self.sources = self.sources or any(map(may_hold_data, defaults.values()))
        for v in (*held.values(), *defaults.values()):
            self.value(v)
        return c

    def code(self, code: pytypes.CodeType, globals_: dict[str, Any], free: dict[str, Any]) -> Code | None:
        key = code, id(globals_)
        if key in self.codes:
            self._also_captured(self.codes[key], free)
            return self.codes[key]
        try:
            from mooncake_py.frontend import normalise  # slow to import, and not needed before

            c = self.codes[key] = Code(normalise(code), code, globals_, free)
        except MooncakeError:
            self.unseen = True
            return None
        self._asked_for(code, c.body)
        if not code.co_flags & CO_OPTIMIZED:
            self.of_classes.update(dict.fromkeys(made_in_class_body(c.body, globals_), DEEPEST + 1))
        self._rebound_by(c)
        self.passed += [x for x in free.values() if isinstance(x, type) and is_user_class(x)]
        for name in names_of_values(c.body, code):
            self.rebinds = self.rebinds or may_be_given(globals_, name)
            if name in globals_:
                x = globals_[name]
                self.relied.append(_name(globals_, name, x))
                if holds_classes(x):
                    self.passed.append(None)
                if isinstance(x, type) and id(x) not in self.seen and looks_into_only(c.body, name):
                    self.kept.append(x)
                    self.namespaces = self.namespaces or not is_library(x)
                    self.methods(x, outside=False, made=False)
                elif not isinstance(x, pytypes.ModuleType):
                    self.value(x)
        for x in c.modules():
            self.namespaces = True
            for n in code.co_names:
                if n in x.__dict__:
                    self.relied.append(_name(x.__dict__, n, x.__dict__[n]))
                    self.value(x.__dict__[n])
        for k in code.co_consts:
            if isinstance(k, pytypes.CodeType):
                self.method_names.add(k.co_name)
                self.code(k, globals_, {n: v for n, v in free.items() if n in k.co_freevars})
        return c


def _deletes(c: Code, s: Call, defs: dict[Var, Call]) -> str | None:
    """The name of the global variable or attribute that a statement deletes, ANY where that is not seen."""
    f = c.known(s.fn, defs)
    if f is not delattr and f is not ops.delete_global:
        return None
    name = s.args[f is delattr] if len(s.args) > (f is delattr) else None
    return str(name.value) if isinstance(name, Const) else ANY


def _defaults(f: pytypes.FunctionType) -> dict[int, Any]:
    """The default values of a function, by the numbers of the parameters; there may be more than it has parameters."""
    n, values = f.__code__.co_argcount, f.__defaults__ or ()
    found = {i: v for i, v in enumerate(values, n - len(values)) if i >= 0}
    if f.__kwdefaults__:
        named = f.__code__.co_varnames[n : n + f.__code__.co_kwonlyargcount]
        found.update({i: f.__kwdefaults__[k] for i, k in enumerate(named, n) if k in f.__kwdefaults__})
    return found


def _makes_class(code: pytypes.CodeType, body: Function) -> bool:
    """May a class be made here: by a `class` statement, by `type` with what it is made of, or by a library?"""
    stmts = [s for b in body.blocks for s in b.stmts]
    if any(isinstance(s.fn, Const) and s.fn.value is ops.load_build_class for s in stmts):
        return True
    if "type" in code.co_names and any(isinstance(s.fn, Var) and len(s.args) > 1 for s in stmts):
        return True
    return not _CLASS_MAKERS.isdisjoint(code.co_names)
