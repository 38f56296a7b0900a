"""Enumerations: their members are there for good, constants with what their class and they themselves say of them."""

from __future__ import annotations

import enum
import functools
import operator
from typing import TYPE_CHECKING, Any

from mooncake_py.fields import ABSENT
from mooncake_py.infer.lookup import MISSING, Lookup
from mooncake_py.infer.protocol import Plan, is_function
from mooncake_py.infer.types import BOT, Inst, Known, Meth, T, join, widen
from mooncake_py.ir.nodes import Call, Operand

if TYPE_CHECKING:
    from mooncake_py.infer.attributes import Attributes


GO_THROUGH = frozenset({iter, list, tuple, enumerate, reversed, len})


def members_of(t: T) -> tuple[Any, ...] | None:
    """The members of an enumeration, which are what these find in it."""
    return tuple(t.value) if isinstance(t, Known) and type(t.value) is enum.EnumMeta else None


def looked_up(f: Any, types: tuple[T, ...]) -> T | None:
    """The type of `Colour["RED"]` and `Colour(1)`, where the class leaves it to `enum` to find them."""
    if f is not operator.getitem and type(f) is not enum.EnumMeta:
        return None
    of, *key = types if f is operator.getitem else (Known(f), *types)
    cls = of.value if isinstance(of, Known) else None
    if type(cls) is not enum.EnumMeta or len(key) != 1 or not cls._member_map_ or key[0].active:
        return None
    if isinstance(f, type):
        standard = Lookup(cls).get("_missing_", MISSING) is enum.Enum.__dict__["_missing_"]
        return Inst(cls) if standard and type(widen(key[0])) is Inst else None
    name = key[0].value if isinstance(key[0], Known) else None
    return Known(cls._member_map_[name]) if type(name) is str and name in cls._member_map_ else Inst(cls)


def is_member(t: T) -> bool:
    """Is this a member of an enumeration? What is set there stays, as everything outside does."""
    return (
        isinstance(t.value, enum.Enum) if isinstance(t, Known) else isinstance(t, Inst) and issubclass(t.cls, enum.Enum)
    )


_PLAIN = frozenset({int, float, complex, bool, str, type(None)})
_KEPT = {enum.Enum.__dict__["value"]: "_value_", enum.Enum.__dict__["name"]: "_name_"}


def read(state: Attributes, s: Call, x: Operand, t: T, name: str) -> tuple[T, Any] | None:
    """The type of `Colour.RED` or of `RED.name`, and what it is: see `Classes.read`."""
    if isinstance(t, Known) and isinstance(t.value, enum.EnumMeta):
        member = t.value._member_map_.get(name, ABSENT)
        return None if member is ABSENT or getattr(t.value, name, ABSENT) is not member else (Known(member), getattr)
    cls = type(t.value) if isinstance(t, Known) else t.cls if isinstance(t, Inst) else type
    if not issubclass(cls, enum.Enum) or cls.__getattribute__ is not object.__getattribute__:
        return None
    d = Lookup(cls).get(name, MISSING)
    kept = _KEPT.get(d, name) if type(d) is enum.property else name
    if isinstance(d, (property, enum.property)) and kept is name:
        return (BOT, Plan(d.fget, (x,))) if is_function(d.fget) else None
    members = (t.value,) if isinstance(t, Known) else () if issubclass(cls, enum.Flag) else tuple(cls)
    if members and all(_is_constant(vars(m).get(kept, ABSENT)) for m in members) and (kept != name or not state.wary):
        return functools.reduce(join, [state.value_type(vars(m), kept, vars(m)[kept]) for m in members]), getattr
    return (Meth(d, (s,), False), None) if is_function(d) else None


def _is_constant(x: Any) -> bool:
    return type(x) in _PLAIN or (type(x) is tuple and all(map(_is_constant, x)))
