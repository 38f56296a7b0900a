"""Is an argument, or what it holds, to be reached from outside as well: by a name, a cell, an object?

What a function writes to its arguments is no reason to look at what is outside (infer/outside.py), unless it is the
same there. Which things are is another matter in each call, so a call that may write to its arguments is asked for it.
"""

from __future__ import annotations

import functools
import types as pytypes
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mooncake_py.closures import captured
from mooncake_py.infer.held import is_library, is_namespace
from mooncake_py.infer.outside import names_of
from mooncake_py.layout import owner_of
from mooncake_py.structure import attributes, held_items, is_user_class

_PLAIN = frozenset({float, int, complex, bool, str, bytes, type(None), range, slice, np.float64, np.int64})
_CONTAINERS = (list, dict, deque)


class Outside:
    """What a call of f may come to that is not its arguments; `receivers` and `brought` as of `may_write_outside`."""

    __slots__ = ("held", "names")

    def __init__(self, f: pytypes.FunctionType, receivers: Sequence[Any], brought: Sequence[Any]):
        self.held = (f, *receivers, *brought)
        names = [(scope, name) for scope, name, *_ in names_of(f, receivers, brought)]
        self.names = [(scope, name) for scope, name in names if _leads_on(scope.get(name))]

    def has(self, args: Iterable[Any]) -> bool:
        """Is one of these there as well, or what they hold, or an array with the same memory?"""
        f, *others = self.held
        alone = not self.names and not others and f.__closure__ is None
        if alone and not (f.__defaults__ or f.__kwdefaults__ or f.__dict__):
            return False
        mine = _memory_of(args)
        if not mine:
            return False
        work = [*self.held, *(scope.get(name) for scope, name in self.names)]
        seen: set[int] = set()
        while work:
            x = work.pop()
            if isinstance(x, np.ndarray):  # this and lists of such are met often
                if id(x if x.base is None else owner_of(x)) in mine:
                    return True
                if x.dtype.kind == "O":
                    work += x.ravel().tolist()
                continue
            if type(x) in _PLAIN or id(x) in seen:
                continue
            seen.add(id(x))
            if type(x) is not tuple and id(x) in mine:
                return True
            work += [v for v in x if type(v) not in _PLAIN] if type(x) is tuple or type(x) is list else _held(x)
        return False


def _leads_on(x: Any) -> bool:
    """May this be, or hold, what is written to? Modules are not: what is looked up in them is a name as well."""
    if type(x) in _PLAIN or isinstance(x, (pytypes.ModuleType, np.ufunc)):
        return False
    return not (isinstance(x, (type, pytypes.FunctionType)) and is_library(x) and not getattr(x, "__closure__", None))


def _memory_of(args: Iterable[Any]) -> dict[int, Any]:
    """What may be written to among arguments and what they hold, by identity; arrays by what owns their memory."""
    found: dict[int, Any] = {}
    work = list(args)
    while work:
        x = work.pop()
        if type(x) in _PLAIN or id(x) in found:
            continue
        if isinstance(x, np.ndarray):
            owner = owner_of(x)
            found[id(owner)] = owner
        elif isinstance(x, tuple):
            work += _items(x)
        elif isinstance(x, _CONTAINERS):
            found[id(x)] = x
            work += _items(x)
        elif is_user_class(type(x)):
            found[id(x)] = x
            work += attributes(x).values()
    return found


def _items(x: Any) -> list[Any]:
    items = held_items(x)
    return [] if _PLAIN.issuperset(map(type, items)) else items


def _held(x: Any) -> Iterable[Any]:
    """What code may come to by x."""
    if isinstance(x, (tuple, *_CONTAINERS, set, frozenset)):
        return () if is_namespace(x) else _items(x)
    if isinstance(x, pytypes.FunctionType):
        return () if is_library(x) and not x.__closure__ else _of_function(x)
    if isinstance(x, pytypes.MethodType):
        return x.__func__, x.__self__
    if isinstance(x, functools.partial):
        return x.func, *x.args, *x.keywords.values()
    if isinstance(x, (pytypes.BuiltinFunctionType, pytypes.MethodWrapperType)):
        return (x.__self__,)
    if isinstance(x, property):
        return x.fget, x.fset, x.fdel
    if isinstance(x, type):
        return [] if is_library(x) else [v for k in x.__mro__ if not is_library(k) for v in vars(k).values()]
    if is_user_class(type(x)):
        return type(x), *attributes(x).values()
    wrapped = getattr(x, "__wrapped__", None) if callable(x) or isinstance(x, (classmethod, staticmethod)) else None
    return () if wrapped is None else (wrapped,)


def _of_function(f: pytypes.FunctionType) -> list[Any]:
    defaults = (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
    return [*captured(f).values(), *defaults, *f.__dict__.values()]
