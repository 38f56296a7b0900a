"""Tuples of which it is not known how long they are: what is done with them is done with a list of the items."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py import tuples
from mooncake_py.hashing import hashable
from mooncake_py.infer.parts import many
from mooncake_py.infer.predicates import takes_items
from mooncake_py.infer.protocol import Plan
from mooncake_py.infer.resolve import class_of
from mooncake_py.infer.stars import code_of_rest
from mooncake_py.infer.types import BOT, Many, T, Tup, join, widen
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Operand, Var

if TYPE_CHECKING:
    from mooncake_py.infer.state import State

_WALK = frozenset({iter, enumerate, reversed, sum, sorted, any, all, math.fsum, math.prod, min, max})
_WALK |= {ops.unpack, ops.unpack_ex, operator.contains, np.array, np.asarray}
"""These go through their first argument. What comes after it, to look for or to begin with, is a tuple."""
_OF_THE_WHOLE = {len: tuples.length, ops.truth: tuples.filled, operator.not_: tuples.empty}
_ADD = frozenset({operator.add, operator.iadd})
_WALK_ALL = {zip: 0, math.dist: 0, map: 1, filter: 1, ops.call_ex: 1}
"""These go through every argument from this one on."""


def of_items(f: Any, given: tuple[Operand, ...], args: tuple[Operand, ...], types: tuple[T, ...]) -> Plan | None:
    """What an operation on such a tuple comes down to, `given` being the call's own arguments; None for any other."""
    at = next((i for i, t in enumerate(types) if isinstance(t, Many)), None)
    if at is None or not hashable(f):
        return None
    if f is operator.getitem and at == 0:
        of = class_of(widen(types[1]))
        return Plan(tuples.item if of is int else tuples.part, args) if of in (int, slice) else None
    if f in _OF_THE_WHOLE:
        return Plan(_OF_THE_WHOLE[f], args)
    if f in _ADD and all(isinstance(t, (Many, Tup)) for t in types):
        return Plan(tuples.together, args)
    if f in (operator.mul, operator.imul) and at == 0 and class_of(widen(types[1])) is int:
        return Plan(tuples.times, args)
    if f is ops.call_ex and code_of_rest(types[0]) is not None:
        return None
    walked = at >= _WALK_ALL[f] if f in _WALK_ALL else takes_items(f, types) == at or (f in _WALK and at == 0)
    if not walked or f in (list, tuple) or (f in (min, max) and len(types) > 1):
        return None
    return Plan(tuples.items, (args[at],), argument=at - (len(args) - len(given))) if types[at].active else None


def grown(state: State, s: Call, f: Any, types: tuple[T, ...]) -> Plan | None:
    """`h = h + (x,)` in a loop: there is no end to the lengths that h may have. None for any other call."""
    if not hashable(f) or f not in _ADD or not any(t.active for t in types):
        return None
    given = [w for t in types if isinstance(w := widen(t), Tup) and w.cls is tuple]
    if len(given) < len(types):
        return None
    whole = many(_joined([x for t in given for x in t.items]))
    if not isinstance(_joined([whole, *given]), Many):
        return None
    return Plan(tuples.together, s.args) if _comes_back(state, s) else None


def _joined(types: Iterable[T]) -> T:
    """The join of all of these."""
    found: T = BOT
    for t in types:
        found = join(found, t)
    return found


def _comes_back(state: State, s: Call) -> bool:
    """Is what this puts together a part of what it is given the next time round?"""
    shape, seen = state.shape, set[Operand]()
    work = list(s.args)
    while work:
        v = work.pop()
        if v in seen or not isinstance(v, Var):
            continue
        seen.add(v)
        if v in shape.joining:
            work += shape.comes_from(v)
        elif (made := shape.defs.get(v)) is not None and any(is_const(made.fn, f) for f in _ADD):
            work += made.args
    return s.out in seen
