"""Classes derived from containers of C, whose objects are a container with attributes beside its items.

The type of such an object is an `Obj` that has the container under the name ITEMS. What its class says itself is done
as for any object; what it leaves to the container is done with `fields.items_of` the object.
"""

from __future__ import annotations

import types as pytypes
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, Generic

from mooncake_py.infer.held import is_library
from mooncake_py.infer.named import HARMLESS
from mooncake_py.infer.types import BOT, ITEMS, TOP, Dct, Lst, Obj, T
from mooncake_py.structure import HEAP, IMMUTABLE, is_user_class, of_constant_package

BASES: dict[type, tuple[type, ...]] = {
    list: (list,),
    dict: (dict,),
    OrderedDict: (OrderedDict, dict),
    defaultdict: (defaultdict, dict),
    Counter: (Counter, dict),
    deque: (deque,),
}
BY_KEY = frozenset({"__getitem__", "__setitem__", "__delitem__"})
_ASKED_BY_NAME = frozenset(
    {"__init__", "__getattr__", "__setattr__", "__delattr__", "__call__", "__doc__", "__module__"}
)
_COMPARE = frozenset({"__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__hash__"})
_MAY_DEFINE = (HARMLESS | _ASKED_BY_NAME | {"__missing__", "__slots__", "__qualname__", "__firstlineno__"}) - _COMPARE
"""Special names by which a class does not change how its items are kept, gone over and compared."""
CORE = ("__getitem__", "__setitem__", "__delitem__", "__len__", "__iter__", "__contains__", "__eq__", "__new__")
"""What is relied on not to be defined later either."""


def base_of(cls: Any) -> type | None:
    """The container that holds the items of the objects of a class written in Python; None for any other class, and
    for one that says itself how items are kept or gone over."""
    if type(cls) is not type or not cls.__flags__ & HEAP or cls.__flags__ & IMMUTABLE or cls in BASES:
        return None
    mro = cls.__mro__
    at = next((i for i, k in enumerate(mro) if k in BASES), None)
    if at is None:
        return None
    base = mro[at]
    if {*mro[at:]} - {Generic} != {*BASES[base], object}:
        return None
    own = [k for k in mro[:at] if k is not Generic]
    may_define = _MAY_DEFINE | BY_KEY if base is dict else _MAY_DEFINE
    for k in own:
        if type(k) is not type or not k.__flags__ & HEAP or is_library(k) or of_constant_package(k):
            return None
        special = {name for name in k.__dict__ if name.startswith("__") and name.endswith("__")}
        if not special <= may_define:
            return None
    return base


def empty(cls: type) -> Obj | None:
    """The type of a new object of such a class, before `__init__`; None for any other class."""
    base = base_of(cls)
    if base is None:
        return None
    if base is list or base is deque:
        return Obj.of(cls, False, {ITEMS: Lst(BOT, False, base)}, {ITEMS})
    held: dict[str, T] = {ITEMS: Dct(kept_as(cls, base), BOT, (), BOT)}
    if base is defaultdict:
        held["default_factory"] = TOP  # what the items say of it is what is called
    return Obj.of(cls, False, held, held)


def kept_as(cls: type, base: type) -> type:
    """The class by which the items are known: their own, where it reads and writes them its own way."""
    own = any(getattr(cls, name) is not getattr(base, name) for name in BY_KEY)
    return cls if own else base


def is_in_c(cls: type) -> bool:
    """Is this a class written in C, which nobody can change?"""
    return not cls.__flags__ & HEAP or bool(cls.__flags__ & IMMUTABLE)


def is_of_base(d: Any, cls: type) -> bool:
    """Is it a method that objects of a class derived from a container have from the container, in C?"""
    if not isinstance(d, (pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)):
        return False
    owner = d.__objclass__
    return owner is not object and owner in cls.__mro__ and is_in_c(owner)


def is_object_class(cls: type) -> bool:
    """Is this a class written in Python whose objects may have a type with their attributes?"""
    return is_user_class(cls) or base_of(cls) is not None
