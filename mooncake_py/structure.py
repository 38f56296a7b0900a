"""What objects of user classes are made of: their attributes, however they are stored."""

from __future__ import annotations

import builtins
import enum
import functools
import gc
import sys
import types as pytypes
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

HEAP, IMMUTABLE, _NOT_MADE = 1 << 9, 1 << 8, 1 << 7  # flags of a class


constant_classes: list[type] = []
"""Classes whose objects carry no derivative, whatever they hold."""
constant_packages: dict[str, str] = {}
"""Packages whose objects hold no derivative and whose code is not looked into, with what to do instead."""
_found: dict[type, bool] = {pytypes.SimpleNamespace: True}


def package_of(x: Any) -> str:
    """The package that a function or class comes from."""
    return (getattr(x, "__module__", None) or "").partition(".")[0]


def of_constant_package(x: Any) -> bool:
    """Does a function or class come from one of the `constant_packages`?"""
    return package_of(x) in constant_packages


def is_user_class(cls: type) -> bool:
    """Is this a class written in Python whose objects hold their state in attributes and nowhere else?

    Exceptions are: what they hold besides is the tuple `args`. Enumerations are not: their members are constants.
    """
    known = _found.get(cls)
    if known is None:
        if len(_found) > 5000:  # classes that are made in functions do not pile up
            _found.clear()
            _found[pytypes.SimpleNamespace] = True
        known = _found[cls] = _looks_like_user_class(cls)
    return known


def has_say(cls: type, name: str) -> bool:
    """Has a class written in Python such a method, by which NumPy asks it what a function of its objects is?"""
    known = _say.get((cls, name))
    if known is None:
        if len(_say) > 5000:
            _say.clear()
        own = bool(cls.__flags__ & HEAP) and not issubclass(cls, (np.ndarray, np.generic)) and hasattr(cls, name)
        known = _say[(cls, name)] = own and not of_constant_package(cls)
    return known


_say: dict[tuple[type, str], bool] = {}


KEYS: Any = type(functools.cmp_to_key(lambda a, b: 0))
"""The class of keys by a function that compares, and of what makes them."""


def compared_by(key: Any) -> Any:
    """The function that a key compares by."""
    return next(x for x in gc.get_referents(key) if x is not KEYS)


def held_items(x: Any) -> list[Any]:
    """Keys and values of a dict, items of a list, tuple, deque or set, whatever its own class iterates over."""
    if isinstance(x, dict):
        return [*dict.keys(x), *dict.values(x)]
    kind: Any = next(c for c in (list, tuple, deque, set, frozenset) if isinstance(x, c))
    return [*kind.__iter__(x)]


def held_values(x: Any) -> list[Any]:
    """The same without the keys of a dict."""
    return [*dict.values(x)] if isinstance(x, dict) else held_items(x)


def in_order(x: Any) -> Any:
    """What a list or deque holds, whatever its own class says of its length and items: itself, or a list."""
    return x if type(x) is list or type(x) is deque else held_items(x)


def is_own_namespace(x: Any) -> bool:
    """Is this a dict whose attributes are its items? (`self.__dict__ = self`)"""
    return isinstance(x, dict) and dict_of(x) is x


def has_attributes_beside(x: Any) -> bool:
    """Has this list, dict or deque attributes beside its items?"""
    return bool(type(x).__dictoffset__ or slot_names(type(x))) and not is_own_namespace(x) and bool(attributes(x))


def dict_kind(x: dict[Any, Any]) -> Any:
    """The class whose methods look into a dict, or fill it, whatever its own class says of that."""
    return OrderedDict if isinstance(x, OrderedDict) else dict


def is_builtin(cls: type) -> bool:
    """Is this a class of Python's own? Those of code that runs in a namespace without a name say that they are."""
    if cls.__module__ != "builtins":
        return False
    return not cls.__flags__ & HEAP or vars(builtins).get(cls.__name__) is cls


def _looks_like_user_class(cls: type) -> bool:
    if issubclass(cls, (type, enum.Enum, *constant_classes)) or isinstance(cls, enum.EnumMeta):
        return False
    if any(map(of_constant_package, cls.__mro__)):
        return False
    for k in cls.__mro__:
        if k is object or k is BaseException or is_builtin(k):
            if k is not object and not issubclass(k, BaseException):
                return False
            continue
        if not k.__flags__ & HEAP or k.__flags__ & (IMMUTABLE | _NOT_MADE):
            return False
        if isinstance(k.__dict__.get("__new__"), pytypes.BuiltinFunctionType):  # a class written in C
            return False
    return cls is not object and bool(cls.__flags__ & HEAP)


MANY, MANY_BY_HAND, _IN_RUNS = 6, 60, 2
"""So many classes of one name and module are one that a function makes each time it runs. At the top of a module it may
be the user who defines it again and again. Named tuples that functions make have such names, too, but are not there."""
_made: dict[type, bool] = {}
_of_one_name: dict[tuple[str, str], int] = {}


def is_made_anew(cls: type) -> bool:
    """Is this a class that some function makes each time it runs? What is found out of one will not be asked for."""
    known = _made.get(cls)
    if known is None:
        if not cls.__flags__ & HEAP:
            return False
        known = _is_one_of_many(cls, MANY_BY_HAND if _is_by_hand(cls) else MANY)
    return known


def note_made(cls: type) -> None:
    """A class statement has run in a run, as it will in the next one: of its classes two are looked into."""
    _is_one_of_many(cls, _IN_RUNS)


def note_lasting(cls: type) -> None:
    """A class that was made in derivation is that of all runs."""
    _made[cls] = False


def _is_one_of_many(cls: type, most: int) -> bool:
    if len(_made) > 5000:
        _made.clear()
    name = cls.__module__, cls.__qualname__
    _of_one_name[name] = n = _of_one_name.get(name, 0) + 1
    _made[cls] = n > most
    return n > most


def _is_by_hand(cls: type) -> bool:
    """Does a class stand at the top of its module? A named tuple has such a name, but is found there if it does."""
    if "<locals>" in cls.__qualname__ or not issubclass(cls, tuple):
        return "<locals>" not in cls.__qualname__
    found: Any = sys.modules.get(cls.__module__)
    for name in cls.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is cls


def items_of(x: tuple[Any, ...]) -> tuple[Any, ...]:
    """The items of a tuple, also where its class says something else of iteration."""
    return x if type(x) is tuple else tuple.__getitem__(x, slice(None))


def with_items(x: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """A tuple of these items: a named one of the class of x where that is named, whatever its `__new__` takes."""
    return tuple.__new__(type(x) if hasattr(x, "_fields") else tuple, items)


def is_object(x: Any) -> bool:
    """Is x an object of a user class?"""
    return is_user_class(type(x))


_slots: dict[type, tuple[str, ...]] = {}


def slot_names(cls: type) -> tuple[str, ...]:
    """The attributes that objects of the class keep in slots."""
    known = _slots.get(cls)
    if known is None:
        out: list[str] = []
        for k in reversed(cls.__mro__):
            out += [n for n, d in k.__dict__.items() if type(d) is pytypes.MemberDescriptorType and n not in out]
        if len(_slots) > 5000:
            _slots.clear()
        known = _slots[cls] = tuple(n for n in out if not n.startswith("__"))
    return known


def attributes(x: Any) -> dict[str, Any]:
    """What an object stores, by the name of the attribute: its slots and its `__dict__`."""
    out = {}
    for name in slot_names(type(x)):
        try:
            out[name] = stored(x, name)
        except AttributeError:
            continue
    out.update(dict_of(x) or ())
    return out


def dict_of(x: Any) -> Any:
    """The dict in which x keeps its attributes, or None.

    A `__getattribute__` written in Python is not asked, one in C is: `threading.local` has a dict for each thread.
    """
    if type(type(x).__getattribute__) is not pytypes.FunctionType:
        return getattr(x, "__dict__", None)
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None


def reader(cls: type) -> Callable[[Any], dict[str, Any]]:
    """What gives the attributes of an object of the class, to be read only."""
    own = slot_names(cls) or not cls.__dictoffset__ or type(cls.__getattribute__) is pytypes.FunctionType
    return attributes if own else vars


_ABSENT = object()


def slot_of(cls: type, name: str) -> Any:
    """The descriptor of a slot of the class, None where `name` is none."""
    for k in cls.__mro__:
        if name in k.__dict__:
            d = k.__dict__[name]
            return d if type(d) is pytypes.MemberDescriptorType else None
    return None


def comes_first(d: Any) -> bool:
    """Is d, which a class has by a name, asked before what its objects store? What only sets it is not."""
    cls = type(d)
    return hasattr(cls, "__get__") and (hasattr(cls, "__set__") or hasattr(cls, "__delete__"))


def stored(x: Any, name: str) -> Any:
    """The attribute as it is stored; AttributeError where there is none."""
    d = dict_of(x)
    if d is not None and name in d:
        return d[name]
    slot = slot_of(type(x), name)
    if slot is None:
        raise AttributeError(name)
    return slot.__get__(x, type(x))


def store(x: Any, name: str, value: Any) -> None:
    """Set an attribute of any object without asking its class."""
    if isinstance(x, type):
        type.__setattr__(x, name, value)
    elif slot_of(type(x), name) is None and dict_of(x) is not None:
        dict_of(x)[name] = value
    else:
        object.__setattr__(x, name, value)


def unstore(x: Any, name: str) -> None:
    """Delete an attribute of any object without asking its class."""
    if isinstance(x, type):
        type.__delattr__(x, name)
    elif slot_of(type(x), name) is None and dict_of(x) is not None:
        del dict_of(x)[name]
    else:
        object.__delattr__(x, name)
