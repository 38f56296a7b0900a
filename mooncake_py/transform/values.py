"""Abstract values: what the specialiser knows of a value while it reads a rule.

Operands are there when the derived code runs; tuples, their iterators, closures, cells, coduals and `At`s are virtual,
made only where something asks for them.
"""

from __future__ import annotations

import inspect
import types as pytypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mooncake_py.ir.nodes import (
    Const,
    Operand,
    Var,
)


@dataclass(slots=True, eq=False)
class VTuple:
    items: tuple[AV, ...]


@dataclass(slots=True, eq=False)
class VCell:
    content: AV | None


@dataclass(slots=True, eq=False)
class VClosure:
    code: pytypes.CodeType
    globals: dict[str, Any]
    defaults: tuple[AV, ...]
    kwdefaults: dict[str, AV]
    cells: tuple[VCell, ...]


@dataclass(slots=True, eq=False)
class VCoDual:
    primal: AV
    fdata: AV


@dataclass(slots=True, eq=False)
class VAt:
    """`At(index, value, once)`: a cotangent that is zero but at an index, added in place."""

    index: AV
    value: AV
    once: bool = False


@dataclass(slots=True, eq=False)
class VIter:
    """An iterator over values that are known one by one. Only one thing may ask it for items."""

    items: tuple[AV, ...]
    asked: bool = False


class Slot(Const):
    """A float constant of a template: what it is used for should not depend on which float it is."""

    __slots__ = ()


Dependencies = list[tuple[Any, str, Any]]
"""(scope, name, value): what the evaluation of a rule relied on."""

AV = Var | Const | VTuple | VCell | VClosure | VCoDual | VAt | VIter


class NotSpecialised(Exception):
    """The body cannot be taken in; the reason is for `inspect`."""


def bind(c: VClosure, args: Sequence[AV], kwargs: dict[str, AV]) -> list[AV]:
    """The arguments as the function's parameters, in the order of its locals."""
    code = c.code
    n = code.co_argcount
    names = code.co_varnames
    values: list[AV | None] = list(args[:n]) + [None] * (n - len(args))
    rest = dict(kwargs)
    extra = list(args[n:])
    if extra and not code.co_flags & inspect.CO_VARARGS:
        raise NotSpecialised(f"{code.co_name} takes {n} positional arguments, {len(args)} given")
    first_default = n - len(c.defaults)
    for i in range(n):
        if values[i] is None:
            if names[i] in rest and i >= code.co_posonlyargcount:
                values[i] = rest.pop(names[i])
            elif i >= first_default:
                values[i] = c.defaults[i - first_default]
            else:
                raise NotSpecialised(f"{code.co_name} misses argument {names[i]}")
    for name in names[n : n + code.co_kwonlyargcount]:
        if name in rest:
            values.append(rest.pop(name))
        elif name in c.kwdefaults:
            values.append(c.kwdefaults[name])
        else:
            raise NotSpecialised(f"{code.co_name} misses argument {name}")
    if code.co_flags & inspect.CO_VARARGS:
        values.append(VTuple(tuple(extra)))
    if rest or code.co_flags & inspect.CO_VARKEYWORDS:
        raise NotSpecialised(f"{code.co_name} takes other keyword arguments")
    return values  # type: ignore[return-value]


def is_frozen(v: AV) -> bool:
    """A constant that stays what it is: a list that a rule closes over may change."""
    return isinstance(v, Const) and not isinstance(v.value, (list, dict, set, bytearray, np.ndarray))


def value_in(env: Mapping[Var, AV], v: Operand) -> AV:
    """What an operand of a rule's own code stands for."""
    return env[v] if isinstance(v, Var) else v
