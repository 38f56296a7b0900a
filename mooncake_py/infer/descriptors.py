"""Attributes that a class computes by an object of its own: cached properties, descriptors written in Python."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any

from mooncake_py.infer.codes import attributes_set
from mooncake_py.infer.held import is_library
from mooncake_py.infer.lookup import MISSING, is_function
from mooncake_py.infer.special_methods import kept_or_computed, kept_or_described, kept_or_itself
from mooncake_py.infer.types import Obj
from mooncake_py.ir.nodes import Const, Operand
from mooncake_py.structure import is_user_class

if TYPE_CHECKING:
    from mooncake_py.infer.protocol import Classes

Asked = tuple[Any, tuple[Operand, ...]]
"""A function, and what it is called with."""


def read_by(classes: Classes, d: Any, x: Operand, t: Obj, name: str) -> Asked | None:
    """What reading an attribute of an object comes down to, where its class has d by that name; None if not known."""
    cls = t.cls
    if classes.look(cls, "__getattr__") is not MISSING:
        return None  # it is asked where this says that there is none
    if type(d) is functools.cached_property:
        known = d.attrname == name and cls.__dictoffset__ and is_function(d.func)
        return (kept_or_computed, (Const(d.func), x, Const(name))) if known else None
    if not describes(d):
        return None
    get = classes.look(type(d), "__get__")
    if get is MISSING and cls.__dictoffset__:
        return kept_or_itself, (Const(d), x, Const(name))
    if not is_function(get):
        return None
    given = (Const(d), x, Const(cls))
    if classes.look(type(d), "__set__") is not MISSING or classes.look(type(d), "__delete__") is not MISSING:
        return get, given
    return (kept_or_described, (Const(get), *given, Const(name))) if cls.__dictoffset__ else None


def written_by(classes: Classes, d: Any, x: Operand, v: Operand) -> Asked | None:
    """The same for writing it."""
    put = classes.look(type(d), "__set__") if describes(d) else MISSING
    return (put, (Const(d), x, v)) if is_function(put) else None


def describes(d: Any) -> bool:
    """Is it an object of a class of the user's that may compute an attribute?"""
    cls = type(d)
    return is_user_class(cls) and not is_library(cls) and (hasattr(cls, "__get__") or hasattr(cls, "__set__"))


def constant_of(d: Any, name: str) -> Any:
    """A number, text or function that such an object holds by this name, and none of its methods sets; else MISSING."""
    if not describes(d) or not hasattr(d, "__dict__"):
        return MISSING
    value = d.__dict__.get(name, MISSING)
    plain = value is None or type(value) in (str, bool, int, float, FunctionType)
    return value if plain and not hasattr(type(d), name) and not _sets(type(d), name) else MISSING


def _sets(cls: type, name: str) -> bool:
    """Does a method of the class set it, when the object is there and has its name?"""
    functions = [f for k in cls.__mro__ for n, f in k.__dict__.items() if n not in ("__init__", "__set_name__")]
    return any(name in attributes_set(f.__code__) for f in functions if isinstance(f, FunctionType))
