"""The user's code that C code or a rule may call: functions that it is given, special methods of objects and keys."""

from __future__ import annotations

import operator
import types as pytypes
from typing import Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.attributes import OF_NAMES
from mooncake_py.infer.held import is_library
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.types import Arr, Bot, Dct, Inst, Known, Lst, Obj, Real, Rec, SetOf, T, Tup, Union, parts_of
from mooncake_py.ir import ops
from mooncake_py.registry import incurious, runs_given
from mooncake_py.structure import is_user_class


def may_call_back(info: CallInfo) -> bool:
    """Is it a call of C code, or by a rule, that may call a function, or special methods, that it is given?"""
    f = info.target
    if not hashable(f) or f in incurious or f in OF_NAMES or f in _KEEP_ONLY:
        return False
    if info.kind == "rule":
        assert info.rule is not None
        return info.rule.fn in runs_given and any(map(may_be_run, info.types))
    if info.kind != "plain" or (getattr(f, "__module__", None) or "").startswith("mooncake_py."):
        return False
    return any(map(may_be_run, info.types)) or any(map(_is_object, info.types))


_KEEP_ONLY = frozenset({getattr, setattr, delattr, hasattr, iter, next, object.__setattr__, object.__getattribute__})
"""What finds, or puts, a thing where its class says, which is looked into."""


def keys_put(f: Any, types: tuple[T, ...]) -> tuple[T, ...]:
    """The types of what is put as a key into a dict or set."""
    if f is ops.build_map:
        return types[::2]
    if f is ops.build_set:
        return types
    if f is ops.map_add or f is ops.set_add:
        return types[1:2]
    return types[1:2] if f in _PUT_KEY and isinstance(types[0], (Dct, SetOf)) else ()


_PUT_KEY = frozenset({operator.setitem, dict.__setitem__, dict.setdefault, set.add})


def _is_object(t: T) -> bool:
    return isinstance(t, (Obj, Inst)) and is_user_class(t.cls)


def may_be_run(t: T) -> bool:
    """Is this a function of the user's, or something that may hold one?"""
    match t:
        case Known(value=v):
            return callable(v) and not is_library(v)
        case Tup() | Lst() | Dct():
            return any(map(may_be_run, parts_of(t)))
        case Union(options=options):
            return any(map(may_be_run, options))
        case Rec(cls=c):
            return is_user_class(c)
        case Inst(cls=c):
            return c is pytypes.FunctionType or is_user_class(c)
    return not isinstance(t, (Arr, Real, Bot))
