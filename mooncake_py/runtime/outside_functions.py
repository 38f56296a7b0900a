"""What functions that are given away come to from outside, in a run that writes there.

A rule or C code calls such a function where nobody derives it. In a run that only reads what is outside, all that it
finds there is constant. In one that writes there, what it reads may have a derivative, and what it writes may be read
again: then containers and objects from outside are part of what the function captured.
"""

from __future__ import annotations

import functools
import operator
import types as pytypes
from collections import deque
from collections.abc import Iterable, Iterator, Set
from typing import Any

import numpy as np

from mooncake_py import layout, run
from mooncake_py.errors import UnsupportedError
from mooncake_py.hashing import hashable
from mooncake_py.infer.held import is_library
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.ir import ops
from mooncake_py.registry import name_of
from mooncake_py.runtime.asked import names_in, reached
from mooncake_py.runtime.behind import reaches_met
from mooncake_py.runtime.coduals import known
from mooncake_py.runtime.rule import cells_of
from mooncake_py.runtime.user import has_derivative
from mooncake_py.structure import attributes, held_items, held_values, is_user_class
from mooncake_py.tangents import FunctionShadow, PartialShadow, zero_fdata

_MOST = 300
_ASK_WHETHER = frozenset({ops.truth, operator.not_, operator.truth, bool})
"""What a function or method is given to without being called: it is true."""
_CONTAINERS = (list, dict, deque)
_CALLED_BY_NAME = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class__"})


def with_outside(f: Any, given: Any, fdata: Any) -> Any:
    """fdata of what a call of f is given: of a function, with what that may come to from outside."""
    if type(given) is pytypes.FunctionType:
        return _of_function(f, given, fdata)
    if isinstance(given, functools.partial) and (fdata is None or type(fdata) is PartialShadow):
        inner = None if fdata is None else fdata.func
        new = with_outside(f, given.func, inner)
        if new is inner:
            return fdata
        whole = zero_fdata(given) if fdata is None else fdata
        return PartialShadow(new, whole.args, whole.keywords)
    followed = fdata is not None and type(given) is pytypes.MethodType  # the cotangents of its object, that is
    refuse_written(f, (given,), _data_in(given.__self__) if followed else frozenset())
    return fdata


def _of_function(f: Any, function: pytypes.FunctionType, fdata: Any) -> Any:
    if is_library(function):
        return fdata
    here = run.current()
    functions: list[pytypes.FunctionType] = []
    outside, arrays = [], []
    for x in reached([function], functions):
        if isinstance(x, np.ndarray):
            if here.wary < run.ARRAYS or layout.owner_of(x) is not x:
                arrays.append(x)
                continue
        elif not (isinstance(x, _CONTAINERS) or is_user_class(type(x))):
            continue
        if (fx := zero_fdata(x)) is not None:
            outside.append((x, fx))
    held = {id(v) for x, _ in outside if not isinstance(x, np.ndarray) for v in _items(x)}
    if any(id(x) not in held and _may_be_written(x, here) for x in arrays):  # those in a container are in its fdata
        raise _refusal(f, "an array")
    _refuse_names(f, functions, [x for x, _ in outside])
    if not outside:
        return fdata
    if fdata is None:
        cells = cells_of(function)
        return FunctionShadow(known(cells, (None,) * len(cells)), None, None, tuple(outside), here.wary)
    return FunctionShadow(fdata.cells, fdata.defaults, fdata.kwdefaults, tuple(outside), here.wary)


def tell(here: run.Run, fdata: Any) -> None:
    """Let a run that calls a function with this fdata find by it what that comes to from outside."""
    if type(fdata) is PartialShadow:
        tell(here, fdata.func)
    elif type(fdata) is FunctionShadow and fdata.outside:
        here.wary = max(here.wary, fdata.wary)
        for x, fx in fdata.outside:
            if isinstance(x, np.ndarray):
                here.arrays[id(x)] = x, fx
            else:
                here.put(x, fx)


def may_be_called_back(x: Any) -> bool:
    """May C code that is given x call Python code of the user's: x itself, or special methods of its class?"""
    if isinstance(x, (pytypes.FunctionType, pytypes.MethodType)):
        return not is_library(x)
    if isinstance(x, functools.partial):
        return may_be_called_back(x.func)
    cls: type = type(x)
    return is_user_class(cls) and any(_special_methods(cls))


def items_too(values: Iterable[Any]) -> Iterator[Any]:
    """These, and what is in those that are containers."""
    for x in values:
        yield x
        if isinstance(x, (list, tuple, dict, set, frozenset)) and len(items := held_values(x)) <= _MOST:
            yield from items


def _data_in(x: Any) -> frozenset[int]:
    """An object and all that it holds, by identity."""
    found: dict[int, Any] = {}
    work = [x]
    while work:
        v = work.pop()
        if id(v) not in found and (isinstance(v, (*_CONTAINERS, tuple, np.ndarray)) or is_user_class(type(v))):
            found[id(v)] = v
            if not isinstance(v, np.ndarray):
                work += _items(v)
    return frozenset(found)


def _may_be_written(x: Any, here: run.Run) -> bool:
    """May the run have written numbers with a derivative to x, which is from outside?"""
    if not isinstance(x, np.ndarray):
        return id(x) in here.touched and reaches_met(x, here)
    return reaches_met(x, here) and (here.wary >= run.ARRAYS or _is_held(layout.owner_of(x), here))


def _is_held(owner: np.ndarray, here: run.Run) -> bool:
    """Has something from outside that the run came to an array that lies in the memory of this one?"""
    work = [v for x, _ in here.objects.values() for v in run.parts_of(x)]
    while work:
        v = work.pop()
        if isinstance(v, tuple):
            work += v
        elif isinstance(v, np.ndarray) and layout.owner_of(v) is owner:
            return True
    return False


def _items(x: Any) -> Iterable[Any]:
    return attributes(x).values() if is_user_class(type(x)) else held_items(x)


def refuse_written(f: Any, values: Iterable[Any], followed: Set[int] = frozenset()) -> None:
    """Refuse to give f something whose code reads what this run has written outside, but for what is `followed`."""
    here = run.current()
    asks_whether = hashable(f) and f in _ASK_WHETHER
    for x in items_too(values):
        if not may_be_called_back(x) or (asks_whether and isinstance(x, (pytypes.FunctionType, pytypes.MethodType))):
            continue
        cls: type = type(x)
        own = is_user_class(cls)  # C code calls special methods only
        functions: list[pytypes.FunctionType] = []
        objects = reached([*_special_methods(cls), *attributes(x).values()] if own else [x], functions)
        for v in objects:
            if id(v) not in followed and has_derivative(v) and _may_be_written(v, here):
                raise _refusal(f, f"a {type(v).__name__}")
        _refuse_names(f, functions, [*objects, x])


def _refuse_names(f: Any, functions: Iterable[pytypes.FunctionType], objects: Iterable[Any]) -> None:
    """The same for what classes, functions and modules hold, of which no copy is made."""
    here = run.current()
    written = {k for k, x in here.touched.items() if isinstance(x, (type, pytypes.FunctionType))}
    for g in functions:
        scope = g.__globals__
        for name in names_in(g.__code__):
            if name in scope and (id(scope[name]) in written):
                raise _refusal(f, f"an attribute of {name}")
        for (_, name), module in here.assigned.items():
            if vars(module) is scope and name in names_in(g.__code__) and has_derivative(scope.get(name)):
                raise _refusal(f, f"the global variable {name!r}")
    for x in objects:
        if id(type(x)) in written:
            raise _refusal(f, f"an attribute of {type(x).__name__}")


def _refusal(f: Any, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"giving {name_of(f)} a function that reads {what}, which the function has written outside,", "the call", None,
        "let it capture a local variable, or pass the value as an argument",
    )  # fmt: skip


@functools.cache
def _special_methods(cls: type) -> tuple[pytypes.FunctionType, ...]:
    """Those written in Python that C code may call by itself."""
    names = {n for k in cls.__mro__ if is_user_class(k) for n in k.__dict__ if n[:2] == "__" == n[-2:]}
    found = [class_attribute(cls, name) for name in sorted(names - _CALLED_BY_NAME)]
    return tuple([d for d in found if type(d) is pytypes.FunctionType and not is_library(d)])
