"""Which special methods only look: C code calls them where nobody watches, to compare, print, count or index.

The answer is read off their code, and of what they call. One that is not seen to be quiet may be so nonetheless.
"""

from __future__ import annotations

import builtins
import operator
import types as pytypes
import weakref
from collections.abc import Callable, Collection
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.hashing import hashable
from mooncake_py.infer.held import is_library
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.infer.special_methods import IN_PLACE
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Function, Operand, Var
from mooncake_py.iterators import items_hinted, items_left, items_measured
from mooncake_py.registry import is_pure

COMPARISONS = frozenset({"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__hash__"})
_CALLED_BY_NAME = frozenset(
    {
        *("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__setattr__", "__delattr__"),
        *("__setitem__", "__delitem__", "__enter__", "__exit__", "__replace__", "__class_getitem__"),
    }
)
"""What C code calls for nobody who only looks."""
_DEEPEST = 5
_LOOKING = frozenset(
    {
        *(
            ops.load_global,
            ops.build_tuple,
            ops.build_list,
            ops.build_string,
            ops.format_value,
            ops.truth,
            ops.cell_get,
        ),
        *(operator.is_, operator.is_not, operator.contains, operator.not_, operator.getitem, operator.index),
        *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    }
)
_OPERATORS = frozenset(IN_PLACE[f][1] for f in IN_PLACE) | {operator.neg, operator.pos, operator.invert}
_OF_OBJECTS = frozenset({isinstance, issubclass, hasattr, hash, repr, str, len, getattr})
_HOOKS = frozenset({"__getattr__", "__getattribute__"})
_IN_C = frozenset({pytypes.MemberDescriptorType, pytypes.GetSetDescriptorType, pytypes.WrapperDescriptorType})
_MATHS = frozenset({"math", "cmath"})


def is_quiet(cls: type, names: Collection[str] | None = None, relied: list[Relied] | None = None) -> bool:
    """Do the special methods of this class (those of these names), where they are written in Python, only look?

    What that relies on beside the methods is put into `relied`.
    """
    relied = [] if relied is None else relied
    seen: set[str] = set()
    for k in cls.__mro__:
        for name, d in k.__dict__.items():
            if name[:2] != "__" or name in seen:
                continue
            if (name in _CALLED_BY_NAME) if names is None else (name not in names and name not in _HOOKS):
                continue
            seen.add(name)
            if type(d) is pytypes.FunctionType and not _looks(d, cls, _DEEPEST, relied):
                return False
    return True


END = "its __del__ may run later than in plain Python: do what it does in a method that you call, or in an `__exit__`"
"""What to do about an object that does something at its end."""


def does_at_its_end(cls: type) -> bool:
    """Does an object of the class do something when nobody holds it any more, by a `__del__` of the user's?"""
    end = getattr(cls, "__del__", None)
    return type(end) is pytypes.FunctionType and not is_library(end) and not is_quiet(cls, {"__del__"})


_MEASURING = frozenset({list, tuple, sorted, list.extend, ops.list_extend, operator.iadd, str.join, ops.call_ex})
"""What asks an object how many items it has, to have room for them, before it takes them."""


def way_to_list(f: Any, cls: type) -> Callable[[Any], list[Any]]:
    """How f makes a list of an object that Python code of its class iterates over, if what that does is to be seen."""
    if hashable(f) and f in _MEASURING:
        for name, way in (("__len__", items_measured), ("__length_hint__", items_hinted)):
            if type(class_attribute(cls, name)) is pytypes.FunctionType:
                return items_left if is_quiet(cls, {name}) else way
    return items_left


Relied = tuple[type | dict[str, Any], str]
"""A class or the names of a module, and one of them."""

_Asks = tuple[frozenset[str], frozenset[str], frozenset[tuple[str, str]]]
_asks: dict[int, tuple[Any, _Asks | None]] = {}


def _looks(f: pytypes.FunctionType, cls: type, depth: int, relied: list[Relied]) -> bool:
    """Does a function that is given an object of this class only look?"""
    asks = _asks_of(f.__code__) if depth else None
    if asks is None:
        return False
    functions, attributes, of_modules = asks
    for name in functions:
        relied.append((f.__globals__, name))
        found = f.__globals__.get(name, getattr(builtins, name, None))
        if not _only_looks(found, cls, depth, relied):
            return False
    for module, name in of_modules:
        found = f.__globals__.get(module)
        relied.append((f.__globals__, module))
        if isinstance(found, pytypes.ModuleType):
            relied.append((found.__dict__, name))
            if found.__name__ not in _MATHS and not _only_looks(getattr(found, name, None), cls, depth, relied):
                return False
        elif not _attribute_looks(type(found), f"call {name}", depth, relied):  # of a list, say, or another object
            return False
    return all(_attribute_looks(cls, name, depth, relied) for name in attributes)


def _only_looks(f: Any, cls: type, depth: int, relied: list[Relied]) -> bool:
    if type(f) is pytypes.FunctionType:
        return _looks(f, cls, depth - 1, relied)
    return f in _OF_OBJECTS or is_pure(f) if hashable(f) else False


def _attribute_looks(cls: type, name: str, depth: int, relied: list[Relied]) -> bool:
    """Does an attribute of this name, of the class, only look when it is read and called?"""
    called, _, name = name.rpartition(" ")
    d = class_attribute(cls, name)
    relied.append((cls, name))
    if isinstance(d, property):
        return not called and type(d.fget) is pytypes.FunctionType and _looks(d.fget, cls, depth - 1, relied)
    if type(d) is pytypes.FunctionType:
        return _looks(d, cls, depth - 1, relied)
    return not called and (not hasattr(type(d), "__get__") or type(d) in _IN_C)


def _asks_of(code: pytypes.CodeType) -> _Asks | None:
    """What the answer for this code hangs on, found once."""
    key = id(code)
    known = _asks.get(key)
    if known is None:
        try:
            found = _asked_in(normalise(code))
        except UnsupportedError:
            found = None
        known = _asks[key] = weakref.ref(code, lambda _: _asks.pop(key, None)), found
    return known[1]


def _asked_in(body: Function) -> _Asks | None:
    """The names of the global functions that the code calls, of the attributes that it reads or ("call name") calls,
    and of those of globals by their names that it calls; None where it surely does more than to look."""
    names: dict[Operand, str] = {}
    read: dict[Var, tuple[Operand, str]] = {}
    functions: set[str] = set()
    called: set[Var] = set()
    for s in (s for b in body.blocks for s in b.stmts):
        f = s.fn.value if isinstance(s.fn, Const) else None
        if f is ops.load_global:
            names[s.out] = s.args[0].value  # type: ignore[union-attr]
        elif f is getattr and isinstance(s.args[1], Const):
            read[s.out] = s.args[0], s.args[1].value
        elif isinstance(s.fn, Var):
            if s.fn in names:
                functions.add(names[s.fn])
            elif s.fn in read:
                called.add(s.fn)
            else:
                return None
        elif not hashable(f) or not (f in _LOOKING or f in _OPERATORS or f is slice):
            return None
    of_modules = {(names[x], name) for v in called for x, name in (read[v],) if x in names}
    calls = {f"call {name}" for v in called for x, name in (read[v],) if x not in names}
    return frozenset(functions), frozenset(calls | {name for _, name in read.values()}), frozenset(of_modules)
