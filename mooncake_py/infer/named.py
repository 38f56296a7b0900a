"""Classes of named tuples: tuples whose places have names too."""

from __future__ import annotations

import types as pytypes
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, Generic

from mooncake_py.ir.nodes import Const, Operand

_Example: Any = namedtuple("_Example", "x")  # for the functions that all named tuples have
_REPLACE = _Example._replace.__code__
_MAKE = _Example.__dict__["_make"].__func__.__code__
_AS_DICT = _Example._asdict.__code__
_FIELD = type(_Example.__dict__["x"])
_GENERATED = frozenset(_Example.__dict__)

# What operators ask a class for.
_ASKED = frozenset({"__neg__", "__pos__", "__abs__", "__invert__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__"})
_ASKED |= {"__ne__", "__hash__"}
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    _ASKED |= {f"__{_name}__", f"__r{_name}__", f"__i{_name}__"}
# Special names that a class may define without changing how its objects are made, read and gone through.
HARMLESS = _ASKED | {
    *("__annotations__", "__orig_bases__", "__firstlineno__", "__static_attributes__", "__parameters__", "__dict__"),
    *("__class_getitem__", "__annotate__", "__annotate_func__", "__type_params__", "__weakref__", "__call__"),
    *("__enter__", "__exit__", "__repr__", "__str__", "__format__", "__slotnames__"),
}

_found: dict[type, bool] = {}


def is_named_tuple(cls: Any) -> bool:
    """Is this a class of named tuples, by `collections` or `typing`, whose objects are made and read as tuples are?"""
    if not isinstance(cls, type) or cls is tuple or not issubclass(cls, tuple):
        return False
    known = _found.get(cls)
    if known is None:
        if len(_found) > 5000:
            _found.clear()
        known = _found[cls] = _looks_like_one(cls)
    return known


def _looks_like_one(cls: type) -> bool:
    names = getattr(cls, "_fields", None)
    if type(cls) is not type or type(names) is not tuple or not all(isinstance(k, str) for k in names):
        return False
    base = _base(cls)
    if not _is_generated(base):
        return False
    mro = cls.__mro__
    if not set(mro[mro.index(base) + 1 :]) <= {tuple, Generic, object}:
        return False
    own = {k for c in mro[: mro.index(base)] for k in c.__dict__ if _is_special(k)} - (_GENERATED - {"__new__"})
    own |= {k for k in base.__dict__ if _is_special(k) and k not in _GENERATED}
    return own <= HARMLESS


def _base(cls: type) -> type:
    """The class with the fields, of which others may have been derived."""
    return next(k for k in cls.__mro__ if "_fields" in k.__dict__)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_generated(cls: type) -> bool:
    if not replaces(cls.__dict__.get("_replace")):
        return False
    new = cls.__dict__.get("__new__")
    new = new.__func__ if isinstance(new, staticmethod) else new
    if not isinstance(new, pytypes.FunctionType):
        return False
    made_by = new.__globals__.get("_tuple_new")
    return made_by == tuple.__new__ and new.__code__.co_varnames[1:] == cls._fields  # type: ignore[attr-defined]


def answers(cls: type, names: Sequence[str] | None = None) -> bool:
    """Does a class of tuples say itself, in Python, what one of these special methods (any of them) does?"""
    if cls is tuple:
        return False
    return any(
        type(d) is pytypes.FunctionType and (k in names if names is not None else k in _ASKED)
        for c in cls.__mro__
        for k, d in c.__dict__.items()
    )


def field_index(found: Any) -> int | None:
    """The place that a class attribute stands for, where it is a field: others may have taken a field's name."""
    if type(found) is pytypes.MemberDescriptorType and hasattr(found.__objclass__, "n_sequence_fields"):
        names = vars(found.__objclass__)["__match_args__"]  # of a tuple in C with names: `sys.float_info`
        return names.index(found.__name__) if found.__name__ in names else None
    return found.__reduce__()[1][0] if type(found) is _FIELD else None


def in_places(cls: type, args: Sequence[Operand], kwargs: Sequence[tuple[str, Operand]]) -> tuple[Operand, ...] | None:
    """The operands of a call of the class in the order of the fields; None where Python would refuse it."""
    names: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    defaults: dict[str, Any] = cls._field_defaults  # type: ignore[attr-defined]
    given = dict(zip(names, args, strict=False))
    if len(args) > len(names) or any(k not in names or k in given for k, _ in kwargs):
        return None
    given.update(kwargs)
    if any(k not in given and k not in defaults for k in names):
        return None
    return tuple([given[k] if k in given else Const(defaults[k]) for k in names])


def replaces(f: Any) -> bool:
    """Is this the method `_replace`?"""
    return type(f) is pytypes.FunctionType and f.__code__ is _REPLACE


def makes(f: Any) -> bool:
    """Is this the class method `_make`, unbound?"""
    return type(f) is pytypes.FunctionType and f.__code__ is _MAKE


def is_as_dict(f: pytypes.FunctionType) -> bool:
    """Is this the method `_asdict`?"""
    return f.__code__ is _AS_DICT


def takes_all(cls: Any) -> bool:
    """Does a call of this class take exactly as many values as there are fields?"""
    return is_named_tuple(cls) and not cls._field_defaults
