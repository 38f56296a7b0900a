"""Sets hold what has no derivative itself, as objects; what is changed in them is undone.

An object that is taken out of a set is known to the run, with its shadow.
"""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.ir import ops
from mooncake_py.iterators import KEYS_VIEWS, Generator
from mooncake_py.kinds import Any_, Constant, ConstantKeys
from mooncake_py.registry import overlay, refuse, register, rrule, zero_derivative
from mooncake_py.rule import Rule
from mooncake_py.run import note_change
from mooncake_py.structure import is_user_class
from mooncake_py.tangents import CoDual, zero_fdata


@rrule(set.add, ops.set_add, types=(set, Constant), mutates=(0,))
def set_add(s: CoDual, item: CoDual):
    primal, x = s.primal, item.primal
    if item.fdata is not None or isinstance(x, Generator):
        _check_known(x)
    new = x not in primal
    primal.add(x)
    note_change(primal)

    def pullback(_):
        if new:
            primal.discard(x)
        return None

    return None, pullback


def _check_known(x: Any) -> None:
    """Refuse what the run would not know again, when it is taken out: functions, generators and the like."""
    if isinstance(x, tuple):
        for v in x:
            _check_known(v)
    elif isinstance(x, Generator) or not (is_user_class(type(x)) or isinstance(x, (frozenset, str, int, type(None)))):
        raise UnsupportedError(
            f"a {type(x).__name__} with a derivative in a set", "the call", None, "use a list or dict"
        )


@rrule(set.discard, types=(set,), mutates=(0,))
def set_discard(s: CoDual, x):
    primal = s.primal
    there = x in primal
    primal.discard(x)
    note_change(primal)

    def pullback(_):
        if there:
            primal.add(x)
        return None

    return None, pullback


@rrule(set.pop, types=(set,), mutates=(0,))
def set_pop(s: CoDual):
    primal = s.primal
    x = primal.pop()
    note_change(primal)

    def pullback(_):
        primal.add(x)
        return None

    return CoDual(x, zero_fdata(x)), pullback


def _put_back(s: set, before: set) -> Any:
    """The pullback of what changed a set."""
    note_change(s)

    def pullback(_):
        s.clear()
        s.update(before)
        return None

    return pullback


def _changed_by(f: Any) -> Any:
    """The rule of what changes a set by another one."""

    def rule(s: CoDual, other):
        before = s.primal.copy()
        y = f(s.primal, other)
        return CoDual(y, None), _put_back(s.primal, before)

    return rule


@rrule(set.clear, types=(set,), mutates=(0,))
def set_clear(s: CoDual):
    before = s.primal.copy()
    s.primal.clear()
    return None, _put_back(s.primal, before)


rrule(set.remove, types=(set, Constant), mutates=(0,))(_changed_by(set.remove))
for _f in (set.update, set.intersection_update, set.difference_update, set.symmetric_difference_update, ops.set_update):
    for _of in (set, frozenset, ConstantKeys):
        rrule(_f, types=(set, _of), mutates=(0,))(_changed_by(_f))
for _f in (operator.ior, operator.iand, operator.isub, operator.ixor):
    for _of in (set, frozenset):
        rrule(_f, types=(set, _of), mutates=(0,))(_changed_by(_f))


for _f in (set.intersection, set.difference, set.union, set.isdisjoint, set.issubset, set.issuperset):
    for _of in (set, frozenset, ConstantKeys):
        register(Rule(_f, None, (set, _of)))
refuse(
    "a set holds constants; keep values that have a derivative in a list, or as keys of a dict", set.add, ops.set_add
)


def _of_keys(f: Any) -> None:
    @rrule(f, types=(KEYS_VIEWS[0], Any_))
    @rrule(f, types=(Any_, KEYS_VIEWS[0]))
    def keys_as_set(a: CoDual, b: CoDual):
        y = f(a.primal, b.primal)
        for x in y:
            if not isinstance(x, Constant.cls):
                raise UnsupportedError("a number with a derivative in a set", "the call", None, "use a list or dict")
            _check_known(x)

        def pullback(_):
            return None

        return CoDual(y, None), pullback


for _f in (operator.and_, operator.or_, operator.sub, operator.xor):
    _of_keys(_f)


# -- of other things than sets: whatever gives the items ----------------------------------------------------------


def set_(items, /):
    s: Any = set()
    for x in items:
        s.add(x)
    return s


@overlay(ops.build_set)
def build_set_(*items):
    return set_(items)


@overlay(frozenset, arity=1)
def frozenset_(items, /):
    return frozen(set_(items))


def frozen(s: set) -> frozenset:
    """A set for good."""
    return frozenset(s)


zero_derivative(frozen)
overlay(set, arity=1)(set_)


@overlay(set.update, ops.set_update)
def update_(s, *others):
    for other in others:
        for x in other:
            s.add(x)


@overlay(set.difference_update)
def difference_update_(s, *others):
    for other in others:
        for x in other:
            s.discard(x)


@overlay(set.intersection_update)
def intersection_update_(s, *others):
    for other in others:
        s &= set_(other)


@overlay(set.symmetric_difference_update)
def symmetric_difference_update_(s, other):
    s ^= set_(other)


@overlay(set.union)
def union_(s, *others):
    new = set.copy(s)
    update_(new, *others)
    return new


@overlay(set.difference)
def difference_(s, *others):
    new = set.copy(s)
    difference_update_(new, *others)
    return new


@overlay(set.intersection)
def intersection_(s, *others):
    new = set.copy(s)
    intersection_update_(new, *others)
    return new
