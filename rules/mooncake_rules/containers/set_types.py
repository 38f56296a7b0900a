"""The types of sets of constants: what their methods and operators give, and what these put into them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from mooncake_py.infer.parts import set_of
from mooncake_py.infer.types import BOT, Known, SetOf, T, join, widen
from mooncake_py.ir import ops
from mooncake_py.registry import element_effects, infer_table
from mooncake_rules.containers.lists import elements

Types = tuple[T, ...]
_f: Any


def _joined(types: Sequence[T]) -> T:
    t: T = BOT
    for x in types:
        t = join(t, widen(x))
    return t


def _of(elem: T) -> T | None:
    t = set_of(elem)
    return t if isinstance(t, SetOf) else None


def _display(args: Types, kwargs: dict[str, T]) -> T | None:
    return _of(_joined(args))


def _combined(args: Types, kwargs: dict[str, T]) -> T | None:
    """Of a set, and others whose items it may get."""
    return None if kwargs else _of(_joined([elements(t) for t in args]))


def _less(args: Types, kwargs: dict[str, T]) -> T | None:
    return args[0] if args and isinstance(args[0], SetOf) else None


def _of_sets(f: Any, typed: Callable[[Types, dict[str, T]], T | None]) -> None:
    """`typed` for operands that are sets; others have the type they had."""
    other = infer_table.get(f)

    def result(args: Types, kwargs: dict[str, T]) -> T | None:
        if len(args) == 2 and all(isinstance(t, SetOf) for t in args):
            return typed(args, kwargs)
        return None if other is None else other(args, kwargs)

    infer_table[f] = result


infer_table[ops.build_set] = _display
for _f in (set, set.copy, set.union, set.symmetric_difference, set.intersection):  # that may take its items from either
    infer_table[_f] = _combined
infer_table[set.difference] = _less
infer_table[set.pop] = lambda args, kwargs: args[0].elem if isinstance(args[0], SetOf) else None
for _f in (operator.or_, operator.xor, operator.and_):
    _of_sets(_f, _combined)
_of_sets(operator.sub, _less)

for _f in (set.add, ops.set_add):
    element_effects[_f] = lambda types: widen(types[1])
for _f in (
    *(set.update, ops.set_update, set.symmetric_difference_update, set.intersection_update),
    *(operator.ixor, operator.iand),
):
    element_effects[_f] = lambda types: _joined([elements(t) for t in types[1:]])
for _f in (set.discard, set.remove, set.pop, set.clear, set.difference_update, operator.isub):
    element_effects[_f] = lambda types: BOT
for _f in (set.add, ops.set_add, set.update, ops.set_update, set.discard, set.remove, set.clear):
    infer_table[_f] = lambda args, kwargs: Known(None)
