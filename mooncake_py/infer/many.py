"""Tuples of which it is not known how long they are: what is done with them is done with a list of the items."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from mooncake_py import tuples
from mooncake_py.infer.predicates import takes_items
from mooncake_py.infer.protocol import Plan
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.stars import code_of_rest
from mooncake_py.infer.types import Many, T, Tup, widen
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Operand

_WALK = frozenset({iter, enumerate, reversed, sum, sorted, any, all, math.fsum, math.prod, min, max})
_WALK |= {ops.unpack, ops.unpack_ex, operator.contains, np.array, np.asarray}
"""These go through their first argument. What comes after it, to look for or to begin with, is a tuple."""
_WALK_ALL = {zip: 0, math.dist: 0, map: 1, filter: 1, ops.call_ex: 1}
"""These go through every argument from this one on."""


def of_items(f: Any, given: tuple[Operand, ...], args: tuple[Operand, ...], types: tuple[T, ...]) -> Plan | None:
    """What an operation on such a tuple comes down to, `given` being the call's own arguments; None for any other."""
    at = next((i for i, t in enumerate(types) if isinstance(t, Many)), None)
    if at is None or type(f).__hash__ is None:
        return None
    if f is operator.getitem and at == 0:
        of = class_of(widen(types[1]))
        return Plan(tuples.item if of is int else tuples.part, args) if of in (int, slice) else None
    if f is len:
        return Plan(tuples.length, args)
    if f in (operator.add, operator.iadd) and all(isinstance(t, (Many, Tup)) for t in types):
        return Plan(tuples.together, args)
    if f in (operator.mul, operator.imul) and at == 0 and class_of(widen(types[1])) is int:
        return Plan(tuples.times, args)
    if f is ops.call_ex and code_of_rest(types[0]) is not None:
        return None
    walked = at >= _WALK_ALL[f] if f in _WALK_ALL else takes_items(f, types) == at or (f in _WALK and at == 0)
    if not walked or f in (list, tuple) or (f in (min, max) and len(types) > 1):
        return None
    return Plan(tuples.items, (args[at],), argument=at - (len(args) - len(given))) if types[at].active else None
