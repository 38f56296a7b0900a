"""Calls without derivative: run as they are, and undone from a snapshot.

So runs a function in C that is given nothing active, and a Python function of a library from which nothing can be
reached that has a derivative: `json.dumps` of a dict of strings need not be differentiated to be called.
"""

from __future__ import annotations

import array
import functools
import types as pytypes
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.held import is_library
from mooncake_py.infer.outside import stands_alone
from mooncake_py.registry import is_pure, name_of
from mooncake_py.run import changed_in_place, is_wary, note_change
from mooncake_py.runtime.followed import followed, keeps_to_itself
from mooncake_py.runtime.user import all_plain
from mooncake_py.structure import attributes, constant_packages, held_values, is_user_class, package_of
from mooncake_py.unwinding import Raised

MOST = 300
"""So many objects are looked at before a call."""

_MUTABLE = frozenset({np.ndarray, list, dict, bytearray, set, deque, OrderedDict, defaultdict, Counter, array.array})
_INERT = frozenset({int, float, complex, bool, str, bytes, type(None), range, slice, type(...), type(NotImplemented)})
_OURS = frozenset({"mooncake_py", "mooncake_rules"})
_CALL_BACK = frozenset({"builtins", "functools", "itertools", "operator", "_operator", "weakref"})
"""Modules whose objects hold what they call, or give out what they hold, where it is not seen."""
_CODE = (
    *(pytypes.FunctionType, pytypes.BuiltinFunctionType, pytypes.ModuleType, pytypes.MethodDescriptorType),
    *(pytypes.WrapperDescriptorType, np.ufunc, np.dtype, type),
)


def run_plainly(
    f: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: tuple[str, ...],
    protected: bool = False,
    within: Iterable[Any] | None = None,
) -> tuple[Any, Any, Any]:
    """A call without derivative of a function that may write to what it is given: undone from a snapshot.

    `within`: all that it is given, and what is in it.
    """
    if is_pure(f, len(args), names):
        return f(*args, **kwargs), None, None
    given = (*args, *kwargs.values()) if within is None else within
    saved = [(x, x[:] if type(x) is array.array else x.copy()) for x in given if type(x) in _MUTABLE]
    try:
        y = f(*args, **kwargs)
    except BaseException as e:
        if not protected:
            raise
        y = Raised(e)
    changed = [(x, old) for x, old in saved if not _same(x, old)]
    if not changed:
        return (y, None, None) if keeps_to_itself(f, args) else followed((y, None, None))
    changed_in_place()
    for x, _ in changed:
        note_change(x)

    def pullback(dy: Any) -> Any:
        for x, old in changed:
            if isinstance(x, (dict, set)):
                x.clear()
                x.update(old)
            elif type(x) is np.ndarray:
                x[...] = old
            elif type(x) is deque:
                x.clear()
                x.extend(old)
            else:
                x[:] = old
        return None

    return followed((y, None, pullback))


def _same(x: Any, old: Any) -> bool:
    if type(x) is np.ndarray:
        return x.shape == old.shape and x.tobytes() == old.tobytes()
    if type(x) is list:
        return len(x) == len(old) and all(a is b for a, b in zip(x, old, strict=True))
    if isinstance(x, dict):
        return list(x) == list(old) and all(a is b for a, b in zip(x.values(), old.values(), strict=True))
    return bool(x == old)


def refuse_functions(f: Any, values: Iterable[Any]) -> None:
    """Refuse to give functions of the user's, which may read what this run wrote outside, to one that is not looked
    into."""
    wary = is_wary()
    for x in values if wary else ():
        if isinstance(x, (list, tuple, set, dict)):
            refuse_functions(f, held_values(x))
        elif isinstance(x, pytypes.FunctionType) and (is_library(x) or stands_alone(x, wary)):
            continue
        elif isinstance(x, (pytypes.FunctionType, pytypes.MethodType, functools.partial)) or is_user_class(type(x)):
            raise UnsupportedError(
                f"giving {name_of(f)} a function that may read what was written outside", "the call", None,
                constant_packages[package_of(f)].rpartition("; ")[2],
            )  # fmt: skip


def all_it_reaches(f: pytypes.FunctionType, values: Iterable[Any]) -> list[Any] | None:
    """The containers and arrays that f can reach, if f is a function of a library and meets nothing of the user's but
    these: no function, and no object of the user's classes. None otherwise.

    What a library finds in its own modules is not the user's; so if what it is given has no derivative, nothing has
    that it reads, and what it could write to is what it is given.
    """
    return None if not is_library(f) or _root(f) in _OURS or f.__closure__ is not None else inert_parts(values)


def inert_parts(values: Iterable[Any]) -> list[Any] | None:
    """The containers and arrays in data through which nothing of the user's is met but these; None otherwise."""
    work, found = list(values), []
    seen: set[int] = set()
    while work:
        x = work.pop()
        cls = type(x)
        if cls in _INERT or isinstance(x, np.generic) or id(x) in seen:
            continue
        seen.add(id(x))
        if len(seen) + len(work) > MOST:
            return None
        if cls in _MUTABLE:
            found.append(x)
        if cls is np.ndarray:
            if x.dtype.kind in "OV":
                return None
        elif cls in _MUTABLE or cls is tuple or cls is frozenset:
            for items in (x, x.values()) if isinstance(x, dict) else (x,):
                if not all_plain(items):
                    work.extend(items)
        elif cls is pytypes.MethodType:
            work += [x.__func__, x.__self__]
        elif isinstance(x, _CODE):
            if not is_library(x) or getattr(x, "__closure__", None):
                return None
        elif not is_library(cls) or _root(cls) in _OURS | _CALL_BACK:
            return None
        else:
            work.extend(attributes(x).values())
    return found


def _root(x: Any) -> str:
    """The package that a function or class is defined in."""
    return (x.__module__ or "").partition(".")[0]
