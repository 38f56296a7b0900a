"""Calls that make a named tuple: of values in sight nothing is computed, every value gets its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mooncake_py.infer.named import in_places, is_named_tuple, makes, replaces
from mooncake_py.infer.protocol import Classes, Keywords, Plan
from mooncake_py.infer.types import Bot, Known, Lst, T, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Operand
from mooncake_py.registry import rules_of
from mooncake_py.run import current


@dataclass(frozen=True, slots=True)
class Places:
    """What such a call is: `does` is the class, for the values `args` in the order of its fields; the method `_replace`
    of the tuple `args[0]`; or `check_bound` where a tuple becomes one of the class with the same items."""

    does: Any
    args: tuple[Operand, ...]
    kwargs: Keywords
    type: Tup


def placed(
    classes: Classes,
    f: Any,
    args: tuple[Operand, ...],
    types: Sequence[T],
    kwargs: Keywords,
    type_of: Callable[[Operand], T],
) -> Places | None:
    """A call of a class of named tuples, of its `_make` or of `_replace`; None for other calls."""
    if is_named_tuple(f) and not rules_of(f):
        items = in_places(f, args, kwargs)
        if items is None or current().shadow(f.__new__) is not None:  # it was made with default values in this run
            return None
        classes.look(f, "__new__")
        return Places(f, items, (), Tup(tuple(map(type_of, items)), f))
    if makes(f) and len(types) == 2 and isinstance(types[0], Known) and is_named_tuple(types[0].value):
        cls, t = types[0].value, types[1]
        if kwargs or not isinstance(t, Tup) or len(t.items) != len(cls._fields):
            return None
        return Places(ops.check_bound, args[1:], (), Tup(t.items, cls))
    if replaces(f) and len(types) == 1 and isinstance(t := types[0], Tup) and is_named_tuple(t.cls):
        names: tuple[str, ...] = t.cls._fields  # type: ignore[attr-defined]
        given = dict(kwargs)
        if not given.keys() <= set(names):
            return None
        new = [type_of(given[k]) if k in given else x for k, x in zip(names, t.items, strict=True)]
        return Places(f, tuple(args), kwargs, Tup(tuple(new), t.cls))
    return None


def listed(f: Any, given: tuple[Operand, ...], types: Sequence[T], kwargs: Keywords) -> Plan | None:
    """`cls._make(xs)` of what is no sequence, a generator say: with the list of the items, whose types are known."""
    if not makes(f) or kwargs or len(types) != 2 or not isinstance(types[0], Known):
        return None
    if not is_named_tuple(types[0].value) or isinstance(types[1], (Tup, Lst, Bot)) or not types[1].active:
        return None
    return Plan(list, given[-1:], argument=len(given) - 1)
