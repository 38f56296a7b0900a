"""Names that are put together of constants, and whether what is read or written by a name depends on which it is."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.types import Arr, Dct, Inst, Known, T, Top
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Operand
from mooncake_py.structure import is_user_class

_MAKES_TEXT = frozenset({operator.add, operator.mod, str, ops.format_value, ops.build_string})
_BY_KEY = frozenset({operator.getitem, operator.setitem})
_BY_NAME = frozenset({getattr, setattr})
LONGEST = 200


TypeOf = Callable[[Operand], T | None]


def _function(s: Call, type_of: TypeOf) -> Any:
    f = type_of(s.fn)
    return f.value if isinstance(f, Known) and hashable(f.value) else None


def text_of(s: Call, type_of: TypeOf) -> Const | None:
    """The string that a call of constants gives; None if it does not surely give one."""
    values = [v.value for v in s.args if type(v) is Const]
    if not values or len(values) < len(s.args) or not all(type(v) is str or type(v) is int for v in values):
        return None
    f = _function(s, type_of)
    if f not in _MAKES_TEXT or s.kwargs:
        return None
    try:
        text = f(*values)
    except Exception:  # so it does when it runs
        return None
    return Const(text) if type(text) is str and len(text) <= LONGEST else None


def makes_text(s: Call, type_of: TypeOf) -> bool:
    """May this be a name that is put together?"""
    return _function(s, type_of) in _MAKES_TEXT


def depends_on_name(s: Call, type_of: TypeOf) -> bool:
    """Is something read or written by a name that is not known, which would tell its type?"""
    f = _function(s, type_of)
    if len(s.args) < 2 or isinstance(type_of(s.args[1]), Known):
        return False
    held = type_of(s.args[0])
    if f in _BY_NAME:
        return isinstance(held, Inst) and is_user_class(held.cls)
    if f not in _BY_KEY or not isinstance(held, Dct) or type_of(s.args[1]) != Inst(str):
        return False
    values = held.values()
    return isinstance(values, Top) or (isinstance(values, Arr) and None in (values.ndim, values.dtype))
