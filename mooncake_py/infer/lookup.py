"""What classes hold, found as Python finds it, and which of that stays what it is."""

from __future__ import annotations

import types as pytypes
from typing import Any

from mooncake_py import fields, run
from mooncake_py.infer.held import is_library
from mooncake_py.structure import attributes, is_user_class
from mooncake_py.tangents import ObjectShadow


class Lookup:
    """The attributes of a class and its bases, as a scope that guards look into."""

    __slots__ = ("cls",)

    def __init__(self, cls: type):
        self.cls = cls

    def get(self, name: str, default: Any) -> Any:
        """What the class has by that name, unbound."""
        for k in self.cls.__mro__:
            if name in k.__dict__:
                return k.__dict__[name]
        return default


MISSING = fields.ABSENT


def is_function(x: Any) -> bool:
    """A Python function that knows nothing which could carry a derivative, but by its arguments."""
    if type(x) is not pytypes.FunctionType:
        return False
    try:
        return x.__closure__ is None or all(is_fixed(cell.cell_contents) for cell in x.__closure__)
    except ValueError:  # an empty cell
        return False


def is_fixed(x: Any) -> bool:
    """Something without a derivative that stays what it is: code, a name, a mark without attributes."""
    if type(x) is pytypes.FunctionType:
        return x.__closure__ is None
    if isinstance(x, (bool, int, str, bytes, type, pytypes.ModuleType)) or x is None:
        return True
    if x is NotImplemented or x is Ellipsis or type(x) is object:
        return True
    return (
        isinstance(x, pytypes.BuiltinFunctionType) and isinstance(x.__self__, (pytypes.ModuleType, type(None)))
    ) or (is_user_class(type(x)) and not attributes(x))


class _DecidedLate:
    """What a class made in the run holds and has a derivative: it is looked up when it runs."""


DECIDED_LATE = _DecidedLate()


def carries(cls: type, name: str) -> bool:
    """May a class that was made in this run hold what has a derivative by this name?"""
    memos = run.current().memos
    for k in cls.__mro__ if memos else ():
        if name in k.__dict__:
            own = memos.get(id(k))
            return type(own) is ObjectShadow and name in own.f and not hasattr(type(k.__dict__[name]), "__get__")
    return False


def of_metaclass(cls: type, name: str) -> bool:
    """Does a metaclass of the user's, which may know what has a derivative, say what this attribute is?"""
    meta: Any = type(cls)
    return meta is not type and not is_library(meta) and not any(name in k.__dict__ for k in cls.__mro__)
