"""Kinds of arguments: what the parameters of a rule may ask for, and whether a type answers it."""

from __future__ import annotations

import enum
import types as pytypes
from collections import OrderedDict, deque

import numpy as np

from mooncake_py.infer.parts import is_held_by_key, keys_of
from mooncake_py.infer.types import (
    Arr,
    Bot,
    Dct,
    Inst,
    Known,
    Lst,
    Obj,
    Real,
    T,
    Top,
    Tup,
    is_real_class,
    is_scalar,
    widen,
)
from mooncake_py.structure import HEAP


class Kind:
    """A kind of argument that a rule may ask for."""

    __slots__ = ("cls", "name")

    def __init__(self, name: str, cls: type | tuple[type, ...]):
        self.name = name
        self.cls = cls

    def __repr__(self) -> str:
        return self.name


Scalar = Kind("Scalar", (int, float, complex, np.number, np.bool_))
"""A Python or NumPy number."""
RealScalar = Kind("RealScalar", (int, float, np.integer, np.floating, np.bool_))
"""A real Python or NumPy number."""
Array = Kind("Array", np.ndarray)


def _has_operators(cls: type) -> bool:
    """Does a class derived from that of a number say itself what adding or comparing its numbers gives?"""
    if not cls.__flags__ & HEAP:
        return False
    return any(type(getattr(cls, name)) is pytypes.FunctionType for name in _OPERATORS if hasattr(cls, name))


_OPERATORS = ("__add__", "__radd__", "__lt__", "__gt__")


class _Numbers(type):
    def __instancecheck__(cls, x: object) -> bool:
        if isinstance(x, (np.ndarray, range)):
            return True
        if not isinstance(x, (list, tuple, set, frozenset, deque)):
            return False
        kinds = (int, float, complex, np.number, np.bool_, np.ndarray)
        return all(issubclass(c, kinds) and not _has_operators(c) for c in set(map(type, x)))


class _NumbersClass(metaclass=_Numbers):
    """A class for `isinstance`."""


class _Constants(type):
    def __instancecheck__(cls, x: object) -> bool:
        if isinstance(x, (tuple, frozenset)):
            return all(isinstance(v, _ConstantClass) for v in x)
        return not isinstance(x, (float, complex, np.inexact))


class _ConstantClass(metaclass=_Constants):
    """A class for `isinstance`."""


class _ConstantKeys(type):
    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, (dict, set, frozenset)) and all(isinstance(k, _UNCHANGING) for k in x)


_UNCHANGING = (int, str, bytes, type(None), enum.Enum, type)


class _ConstantKeysClass(metaclass=_ConstantKeys):
    """A class for `isinstance`."""


class _Never(type):
    def __instancecheck__(cls, x: object) -> bool:
        return False


class _NeverClass(metaclass=_Never):
    """A class for `isinstance`."""


Constant = Kind("Constant", _ConstantClass)
"""What has no derivative: no float or complex number, nor a tuple with one."""
ConstantKeys = Kind("ConstantKeys", _ConstantKeysClass)
"""A dict or set none of whose keys has a derivative, nor anything that can be written to."""
Numbers = Kind("Numbers", _NumbersClass)
"""An array, or a list, tuple or set of numbers and arrays: what functions written for numbers run over."""
Numeric = Kind("Numeric", (int, float, complex, np.number, np.bool_, np.ndarray))
"""A number or an array."""
NumberList = Kind("NumberList", _NeverClass)
"""A list of numbers, where that is known before the run: at run time a list is a list."""
NumberDeque = Kind("NumberDeque", _NeverClass)
"""The same of a deque."""
Sequence_ = Kind("Sequence", (list, tuple, deque))
Any_ = Kind("Any", object)

Pattern = Kind | type

_CONTAINERS = frozenset({list, dict, tuple, deque, OrderedDict})


def matches(want: Pattern, t: T) -> bool | None:
    """Is a value of type t one of what is wanted? None where that is known only when it is there."""
    if want is Any_:
        return True
    if want is NumberList or want is NumberDeque:
        return isinstance(t, Lst) and t.cls is (list if want is NumberList else deque) and is_scalar(t.elem)
    if isinstance(t, Top):
        return None
    if want is Numbers and not isinstance(t, Known):
        return _are_numbers(t)
    if want is Constant and not isinstance(t, Known):
        return not t.active
    if want is ConstantKeys and not isinstance(t, Known):
        return not keys_of(t).active if isinstance(t, Dct) else None if _may_have_keys(t) else False
    if isinstance(t, Known):
        return isinstance(t.value, want.cls if isinstance(want, Kind) else want)
    if want is Scalar:
        return is_scalar(t)
    if want is RealScalar:
        t = widen(t)
        return isinstance(t, Real) or (isinstance(t, Inst) and is_real_class(t.cls))
    if want is Array:
        return isinstance(t, Arr)
    if want is Numeric:
        return isinstance(t, Arr) or is_scalar(t)
    if want is Sequence_:
        return isinstance(t, (Lst, Tup, Inst)) and issubclass(t.cls, (list, tuple, deque))
    if isinstance(t, (Inst, Dct)) and isinstance(want, type):
        if want in _CONTAINERS and issubclass(t.cls, want) and t.cls not in _CONTAINERS and not is_held_by_key(t):
            return None  # a subclass may do it in its own way
        return issubclass(t.cls, want)
    cls = {"Arr": np.ndarray, "Fn": pytypes.FunctionType}.get(type(t).__name__)
    if isinstance(t, (Tup, Lst)):
        cls = t.cls
    if cls is not None and isinstance(want, type):
        return issubclass(cls, want)
    if not isinstance(t, Real) or not isinstance(want, type):
        return False
    return None if is_real_class(want) or want in (object, np.generic, np.number, np.inexact) else False


def _may_have_keys(t: T) -> bool:
    return isinstance(t, Inst) and issubclass(t.cls, (dict, set, frozenset))


def _are_numbers(t: T) -> bool | None:
    if isinstance(t, Lst):
        items: tuple[T, ...] = (t.elem,)
    elif isinstance(t, Tup):
        items = t.items
    else:
        return True if isinstance(t, Arr) or (isinstance(t, Inst) and t.cls is range) else None
    if any(isinstance(x, Inst) and _has_operators(x.cls) for x in items):
        return False
    if all(isinstance(x, (Arr, Bot)) or is_scalar(x) for x in items):
        return True
    if isinstance(t, Lst) and isinstance(t.elem, (Tup, Lst, Dct, Obj)):
        return False  # or there is nothing in it, which is as well for what other functions run over
    return None if isinstance(t, Lst) or any(isinstance(x, Top) for x in items) else False
