"""May functions that a rule is given write into what they captured, hold or are given?"""

from __future__ import annotations

import functools
import types as pytypes
from collections.abc import Iterator
from typing import Any

from mooncake_py.infer.codes import changes_what_it_holds
from mooncake_py.infer.held import is_library
from mooncake_py.infer.outside_arrays import WRITERS, WRITING_METHODS
from mooncake_py.infer.outside_writes import MUTATORS
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.infer.state import State
from mooncake_py.infer.types import Fn, Inst, Known, Meth, Passed, Rec, T, Top, Tup, parts_of
from mooncake_py.structure import is_user_class

_WRITING = MUTATORS | WRITERS | WRITING_METHODS
_MAKE = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__repr__", "__str__"})
"""What makes an object writes into it alone; what shows it writes nothing."""


def may_write(state: State, types: tuple[T, ...]) -> bool:
    """May a function among the arguments of a rule write into what it, or what it calls, captured or is given?

    All that they lead to is looked at, by what the classes of the objects there say and what the codes name.
    """
    return any(map(_is_run, types)) and _Search(state).finds(types)


def _is_run(t: T) -> bool:
    match t:
        case Known(value=v):
            return callable(v) and not is_library(v)
        case Tup():
            return any(map(_is_run, t.items))
        case Inst(cls=c):
            return is_user_class(c) or c is functools.partial
    return isinstance(t, (Fn, Meth, Top, Rec))


class _Search:
    """What is known so far: the codes that may run, the names in them, and the classes of the objects they may have."""

    def __init__(self, state: State):
        self.state = state
        self.codes: set[tuple[pytypes.CodeType, int]] = set()
        self.names: set[str] = set()
        self.classes: set[type] = set()
        self.seen: set[Any] = set()

    def finds(self, types: tuple[T, ...]) -> bool:
        work = list(types)
        while work:
            t = work.pop()
            if t not in self.seen:
                self.seen.add(t)
                if self._writes(t):
                    return True
                work += self._held(t)
        return False

    def _held(self, t: T) -> Iterator[T]:
        yield from parts_of(t)
        if isinstance(t, Fn):
            for s in t.sites:
                yield from map(self.state.type_of, s.args[1:])
        elif isinstance(t, Meth):
            for s in t.sites:
                yield from map(self.state.type_of, s.args)
        elif isinstance(t, Passed):
            yield t.inner

    def _writes(self, t: T) -> bool:
        match t:
            case Fn():
                return self._code_writes(t.code, self.state.globals)
            case Meth(func=f):
                return self._value_writes(f)
            case Known(value=v):
                return self._value_writes(v)
            case Passed():
                return False
            case Inst(cls=c) | Rec(cls=c):
                return self._class_writes(c)
        return isinstance(t, Top)

    def _value_writes(self, x: Any) -> bool:
        if isinstance(x, pytypes.FunctionType):
            return not is_library(x) and self._code_writes(x.__code__, x.__globals__)
        if isinstance(x, pytypes.MethodType):
            return self._value_writes(x.__func__) or self._class_writes(type(x.__self__))
        if isinstance(x, functools.partial):
            return any(map(self._value_writes, (x.func, *x.args, *x.keywords.values())))
        return getattr(x, "__name__", None) in _WRITING or self._class_writes(type(x))

    def _class_writes(self, cls: type) -> bool:
        if cls in self.classes or not is_user_class(cls):
            return False
        self.classes.add(cls)
        named = [class_attribute(cls, name) for name in self.names]
        special = [x for k in cls.__mro__ if is_user_class(k) for name, x in vars(k).items() if _is_special(name)]
        return any(map(self._member_writes, (*named, *special)))

    def _member_writes(self, x: Any) -> bool:
        if isinstance(x, property):
            return any(self._member_writes(f) for f in (x.fget, x.fset) if f is not None)
        if isinstance(x, (staticmethod, classmethod, functools.cached_property)):
            return self._member_writes(x.func if isinstance(x, functools.cached_property) else x.__func__)
        return isinstance(x, pytypes.FunctionType) and self._value_writes(x)

    def _code_writes(self, code: pytypes.CodeType, scope: dict[str, Any]) -> bool:
        key = code, id(scope)
        if key in self.codes:
            return False
        self.codes.add(key)
        if changes_what_it_holds(code):
            return True
        inner = [k for k in code.co_consts if isinstance(k, pytypes.CodeType)]
        if any(self._code_writes(k, scope) for k in inner):
            return True
        new = set(code.co_names) - self.names
        self.names |= new
        members = [class_attribute(c, name) for c in self.classes for name in new]
        return any(map(self._member_writes, members)) or any(map(self._global_writes, _named(code, scope)))

    def _global_writes(self, x: Any) -> bool:
        """May what a global name stands for, a function, a class or an object, write into what it is given?"""
        if isinstance(x, type):
            return is_user_class(x) and any(self._member_writes(f) for name, f in vars(x).items() if name not in _MAKE)
        return not is_library(x) and self._value_writes(x)


def _named(code: pytypes.CodeType, scope: dict[str, Any]) -> Iterator[Any]:
    """What the global names in a code stand for, and what is called by them in modules."""
    for name in code.co_names:
        if name in scope:
            x = scope[name]
            yield x
            if isinstance(x, pytypes.ModuleType):
                yield from (vars(x)[k] for k in code.co_names if k in vars(x))


def _is_special(name: str) -> bool:
    return name[:2] == name[-2:] == "__" and name not in _MAKE
