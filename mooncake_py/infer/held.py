"""What values from outside are, or hold: data that may be written to, arrays, or what belongs to a library."""

from __future__ import annotations

import functools
import sys
import types as pytypes
import weakref
from collections import deque
from collections.abc import Iterable, Set
from typing import Any

import numpy as np

from mooncake_py.infer.outside_arrays import kinds
from mooncake_py.registry import changed, rules_of
from mooncake_py.run import ARRAYS, ATTRIBUTES, NAMES, OBJECTS, Wary
from mooncake_py.structure import attributes, constant_packages, is_builtin, is_user_class, of_constant_package

_LIBRARIES = frozenset({"numpy", "scipy", "mooncake_py", "mooncake_rules", *sys.stdlib_module_names}) - {"__main__"}
_PLAIN = frozenset({int, float, complex, bool, str, type(None)})
_PLAIN_CONTAINERS = frozenset({list, dict, deque})
DEEPEST = 3
ANY = ""
"""Stands for every name there is."""
MOST_NESTED = 64
"""Items of a container in which others are looked for, and of those: it is asked at every call."""
CONSTANTS_ONLY = (set, bytearray)
"""Containers that hold nothing with a derivative."""


def summary(x: Any) -> Any:
    """What an answer takes the value of a name to be."""
    if isinstance(x, (pytypes.ModuleType, functools.partial, pytypes.BuiltinFunctionType, pytypes.MethodWrapperType)):
        return x
    return (nesting(x), kinds(x)) if isinstance(x, (np.ndarray, list, dict, tuple, deque)) else None


def attribute_of(x: Any, name: str, default: Any = None) -> Any:
    """An attribute, but for what a module makes when it is asked: that may warn, or do more."""
    asks = isinstance(x, pytypes.ModuleType) and name not in x.__dict__ and "__getattr__" in x.__dict__
    return default if asks and name not in dir(x) else getattr(x, name, default)


INHERITED = frozenset({"collections", "_collections_abc", "collections.abc"})


def is_library(x: Any) -> bool:
    """Does a function or class belong to a library that does not come from the user?

    Methods that are there to be inherited, from `UserDict` say, are as good as the user's.
    """
    module = getattr(x, "__module__", None) or ""
    if module in INHERITED and type(x) is pytypes.FunctionType:
        owner = getattr(sys.modules[module], x.__qualname__.partition(".")[0], None)
        return not isinstance(owner, type)
    if module == "builtins" and isinstance(x, type):
        return is_builtin(x)
    return of_library(module)


def is_data(x: Any) -> bool:
    """An object that keeps what is written into it, arrays apart: see `outside_arrays`."""
    return isinstance(x, (list, dict, deque, *CONSTANTS_ONLY)) or is_user_class(type(x))


def is_namespace(x: Any) -> bool:
    """Are these the variables of a module?"""
    return type(x) is dict and "__builtins__" in x


def may_hold_data(x: Any, depth: int = 4) -> bool:
    """Is this such an object, or something by which the code may come to one?"""
    if is_data(x):
        return True
    if isinstance(x, (tuple, frozenset)):
        return depth > 0 and any(may_hold_data(v, depth - 1) for v in list(x)[:200])
    if isinstance(x, functools.partial):
        return any(may_hold_data(v) for v in (*x.args, *x.keywords.values()))
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "O"
    if isinstance(x, (pytypes.BuiltinFunctionType, pytypes.MethodWrapperType)):
        return may_hold_data(x.__self__)
    if type(x) is functools._lru_cache_wrapper:
        return not is_library(x)
    if isinstance(x, type):
        return False
    return isinstance(x, (weakref.ref, pytypes.MappingProxyType)) or (hasattr(x, "__next__") and not is_library(x))


_OF_ITERATORS = frozenset({"builtins", "itertools", "collections"})
_VIEWS: tuple[type, ...] = (type({}.values()), type({}.items()), type({}.keys()), pytypes.MappingProxyType, memoryview)


def gives_what_others_hold(cls: type) -> bool:
    """Are these iterators of Python, or views of dicts or memory, which show what is changed after they were made?"""
    return cls in _VIEWS or (cls.__module__ in _OF_ITERATORS and hasattr(cls, "__next__"))


def holds_arrays(x: Any) -> bool:
    """Is this an array of numbers, or a tuple that holds some?"""
    return isinstance(x, (np.ndarray, tuple)) and bool(kinds(x))


def may_change(x: Any, wary: Wary) -> bool:
    """May a run that is this wary write what has a derivative to x, or to what it holds, if it is from outside?"""
    if not wary:
        return False
    if is_data(x):
        return not (isinstance(x, CONSTANTS_ONLY) or rules_of(x))  # libraries have functions that are objects
    if gives_what_others_hold(type(x)) or type(x) is pytypes.CellType:
        return True
    if of_constant_package(type(x)):
        return True  # it may give a container that it holds
    return wary >= ARRAYS and holds_arrays(x)


def is_mark(x: Any) -> bool:
    """An object of a library that holds nothing: the default of a data class's field that a factory makes, say."""
    return is_user_class(type(x)) and is_library(type(x)) and not attributes(x)


def holds_plainly(x: Any) -> bool:
    """Is this a container of numbers, names, tuples of these, classes and functions: of what cannot be written into?"""
    if type(x) not in _PLAIN_CONTAINERS:
        return False
    values = x.values() if isinstance(x, dict) else x
    return _PLAIN.issuperset(map(type, values)) or all(map(_is_fixed, values))


def nesting(x: Any, most: int = DEEPEST) -> int:
    """How many containers stand in each other where they hold nothing else that could be written into.

    1 for one that `holds_plainly`; more than `DEEPEST` for what holds something else, is none or has many items.
    """
    if most == DEEPEST and holds_plainly(x):
        return 1
    if type(x) not in _PLAIN_CONTAINERS or len(x) > MOST_NESTED:
        return DEEPEST + 1
    if holds_plainly(x):
        return 1
    if most == 1:
        return DEEPEST + 1
    found = 1
    for v in x.values() if isinstance(x, dict) else x:
        if not _is_fixed(v):
            found = max(found, 1 + nesting(v, most - 1))
            if found > DEEPEST:
                break
    return found


def holds_classes(x: Any) -> bool:
    """Is this a container with a class in it?"""
    return type(x) in _PLAIN_CONTAINERS and any(isinstance(v, type) for v in (x.values() if isinstance(x, dict) else x))


def _is_fixed(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_fixed, x))
    return type(x) in _PLAIN or _is_code(x)


def _is_code(x: Any) -> bool:
    """Is this a class or a function that keeps no attributes? (What functions have captured is looked at with them.)"""
    return isinstance(x, (type, np.ufunc)) or (
        isinstance(x, (pytypes.FunctionType, pytypes.BuiltinFunctionType))
        and not getattr(x, "__dict__", None)
        and isinstance(getattr(x, "__self__", None), (pytypes.ModuleType, type(None)))
    )


def is_kept_by(holder: Any, name: str, wary: Wary = OBJECTS) -> bool:
    """May a run set this attribute of a class, function or module, or write into it where that is not seen?"""
    if isinstance(holder, pytypes.ModuleType) and (wary < NAMES or of_library(holder.__name__)):
        return False
    value = getattr(holder, name, None)
    return value is None or isinstance(value, (int, float, str, np.ndarray, tuple)) or may_change(value, wary)


def of_library(module: str) -> bool:
    package = module.partition(".")[0]
    return package in _LIBRARIES or package in constant_packages


_rebound: dict[int, dict[str, bool]] = {}


def note_rebound(scope: dict[str, Any], name: str, counts: bool) -> None:
    """Note that some code assigns this global variable: what it stands for is not known before a run.

    `counts`: it only ever gets constants, and what is counted from these. Otherwise it may get what has a derivative,
    and what was derived before that was seen is not used any more.
    """
    names = _rebound.setdefault(id(scope), {})
    if names.get(name, True) and not counts:
        changed()
    names[name] = names.get(name, True) and counts


_kinds: dict[tuple[int, str], set[type]] = {}


def note_kinds(scope: dict[str, Any], name: str, kinds: Iterable[type]) -> None:
    """Note of what classes the constants are that some code counts with, or assigns to this global variable."""
    _kinds.setdefault((id(scope), name), set()).update(kinds)


def kinds_rebound(scope: dict[str, Any], name: str) -> Set[type]:
    """The classes of the constants that code which was looked at assigns to this global variable."""
    return _kinds.get((id(scope), name), _NO_KINDS)


_NO_KINDS: frozenset[type] = frozenset()


def is_rebound(scope: dict[str, Any], name: str) -> bool:
    """Does code that was looked at assign this global variable?"""
    return name in _rebound.get(id(scope), ())


def may_be_given(scope: dict[str, Any], name: str) -> bool:
    """May code that was looked at assign what has a derivative to this global variable?"""
    return not _rebound.get(id(scope), {}).get(name, True)


def assigns_values(scope: dict[str, Any]) -> bool:
    """May code that was looked at assign what has a derivative to one of these global variables?"""
    return not all(_rebound.get(id(scope), {}).values())


_deleted: set[str] = set()


def note_deleted(name: str) -> None:
    """Note that some code deletes a global variable or attribute of this name: it may be missing in a run."""
    _deleted.add(name)


def is_deleted(name: str) -> bool:
    """Does code that was looked at delete such a variable or attribute?"""
    return name in _deleted or ANY in _deleted


_cells_set: set[str] = set()


def note_cell_set(name: str) -> None:
    """Note that some code assigns a variable of this name of a function around it."""
    _cells_set.add(name)


def is_cell_set(name: str) -> bool:
    """Does code that was looked at assign such a variable? Functions of one code have cells of their own each."""
    return name in _cells_set or ANY in _cells_set


_set: dict[int, set[str]] = {}


def note_set(holder: Any, name: str) -> None:
    """Note that some code sets this attribute of a class or module; of one that is not known: None."""
    _set.setdefault(id(holder), set()).add(name)


def is_set(holder: Any, name: str, wary: Wary) -> bool:
    """May a run set a method of the user's class, or an attribute of the module, that is this wary?"""
    if isinstance(holder, pytypes.ModuleType):
        known = _set.get(id(holder), set())
        by_any = ANY in known or not of_library(holder.__name__)
        return name in known or (by_any and wary >= ATTRIBUTES and not isinstance(vars(holder).get(name), type(sys)))
    owner = next((k for k in holder.__mro__ if name in k.__dict__), None)
    if owner is None or is_library(owner):
        return False
    known = set().union(*[_set.get(id(k), ()) for k in (None, *holder.__mro__)])
    return not known.isdisjoint((name, ANY)) or wary >= ATTRIBUTES


_opened: weakref.WeakSet[functools.partial[Any]] = weakref.WeakSet()


def note_opened(partials: Iterable[functools.partial[Any]]) -> None:
    """Note that some code may come to the dicts that these keep their keyword arguments in."""
    _opened.update(partials)


def is_opened(x: functools.partial[Any]) -> bool:
    """May code that was looked at set keyword arguments of this partial?"""
    return x in _opened


def module_of(scope: dict[str, Any]) -> pytypes.ModuleType | None:
    """The module whose variables these are."""
    module = sys.modules.get(scope.get("__name__", ""))
    return module if module is not None and getattr(module, "__dict__", None) is scope else None
