"""Sets: what is put in keeps its derivative, and has it when it is taken out or gone through.

The tangent of an item is found in the set's shadow, as that of a key is in a dict's (`dict_keys`); an object that is
taken out of a set is known to the run. What is changed in a set is undone.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Iterable
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.ir import ops
from mooncake_py.iterators import KEYS_VIEWS
from mooncake_py.kept_iterators import Generator
from mooncake_py.kinds import Any_, ConstantKeys
from mooncake_py.registry import overlay, register, rrule
from mooncake_py.rule import Rule
from mooncake_py.run import note_change
from mooncake_py.tangents import WHOLE, CellShadow, CoDual, SetShadow, zero_fdata
from mooncake_rules.containers.dict_keys import fdata_of_key, give_key, is_whole, keep_key, taken_key
from mooncake_rules.containers.lists import give_parts, parts

_f: Any
_of: Any
_kind: Any  # what a table registers, one at a time
Source = tuple[Any, SetShadow | None]
"""A set, or a dict by its keys, with its shadow."""
SETS = (set, frozenset)


def shadow_of_set(s: CoDual) -> SetShadow:
    """The shadow of a set that something with a derivative is put into."""
    return zero_fdata(s.primal) if s.fdata is None else s.fdata


@rrule(set.add, ops.set_add, types=(set, Any_), mutates=(0,))
def set_add(s: CoDual, item: CoDual):
    primal, x = s.primal, item.primal
    if issubclass(type(x), Generator):
        raise UnsupportedError("a generator with a derivative in a set", "the call", None, "use a list or dict")
    new = x not in primal
    primal.add(x)
    note_change(primal)
    shadow = None if is_whole(x) else shadow_of_set(s)
    if new:
        keep_key(shadow, x, item.fdata)

    def pullback(_):
        if not new:
            return None
        primal.discard(x)
        return None, taken_key(shadow, x, True)

    return None, pullback


class _Sought:
    """Equal to what is equal to x, which it keeps when it is compared: a set gives its own items in no other way."""

    __slots__ = ("found", "x")
    __array_ufunc__ = None  # scalars of NumPy leave the comparison to this one

    def __init__(self, x: Any):
        self.x = x
        self.found: list[Any] = []

    def __hash__(self) -> int:
        return hash(self.x)

    def __eq__(self, item: object) -> bool:
        if item is not self.x and item != self.x:
            return False
        self.found.append(item)
        return True


def own_item(s: set, x: Any) -> Any:
    """The item of a set that is x, or equal to it as True is to 1."""
    sought = _Sought(x)
    with contextlib.suppress(Exception):  # the items' own `__eq__` may not know what to make of it
        if sought in s and sought.found:
            return sought.found[-1]
    code = hash(x)
    return next(v for v in s if v is x or (hash(v) == code and v == x))


def take_out(s: set, shadow: SetShadow | None, x: Any) -> Any:
    """Take an item out that is in the set; what puts it back."""
    item = own_item(s, x)
    s.discard(item)
    return taken_out(s, shadow, item)


def taken_out(s: set, shadow: SetShadow | None, item: Any) -> Any:
    """What puts an item back that was just taken out."""
    note_change(s)
    tangent = None if shadow is None or shadow.keys is None else shadow.keys.pop(item, None)

    def put_back() -> None:
        s.add(item)
        if shadow is not None and tangent is not None:
            shadow.put_key(item, tangent)

    return put_back


@rrule(set.discard, types=(set,), mutates=(0,))
def set_discard(s: CoDual, x):
    put_back = take_out(s.primal, s.fdata, x) if x in s.primal else None

    def pullback(_):
        if put_back is not None:
            put_back()
        return None

    return None, pullback


@rrule(set.remove, types=(set,), mutates=(0,))
def set_remove(s: CoDual, x):
    if x not in s.primal:
        raise KeyError(x)
    put_back = take_out(s.primal, s.fdata, x)

    def pullback(_):
        put_back()
        return None

    return None, pullback


@rrule(set.pop, types=(set,), mutates=(0,))
def set_pop(s: CoDual):
    primal, shadow = s.primal, s.fdata
    x = primal.pop()
    f = fdata_of_key(shadow, x)
    put_back = taken_out(primal, shadow, x)

    def pullback(dy):
        put_back()
        give_key(shadow, x, dy)
        return None

    return CoDual(x, f), pullback


@rrule(set.clear, types=(set,), mutates=(0,))
def set_clear(s: CoDual):
    primal, shadow = s.primal, s.fdata
    before = primal.copy()
    primal.clear()
    return None, _put_back(primal, before, shadow, replaced_keys(shadow, {}))


def replaced_keys(shadow: SetShadow | None, keys: dict[Any, CellShadow] | None) -> dict[Any, CellShadow] | None:
    """Give a set the tangents of other items; those that it had."""
    if shadow is None:
        return None
    before, shadow.keys = shadow.keys, keys
    return before


def _put_back(s: set, before: set, shadow: SetShadow | None, keys: dict[Any, CellShadow] | None) -> Any:
    """The pullback of what changed a set: its items before, and their tangents."""
    note_change(s)

    def pullback(_):
        s.clear()
        s.update(before)
        replaced_keys(shadow, keys)
        return None

    return pullback


def keys_from(items: Iterable[Any], *sources: Source) -> dict[Any, CellShadow] | None:
    """The tangents of the items of what was put together out of these: of the one that an item came from.

    Several may have an equal item: an intersection takes those of the smaller set, which is Python's own affair.
    """
    keys: dict[Any, CellShadow] = {}
    own: list[set[int]] | None = None
    for k in items:
        if type(k) in WHOLE:
            continue
        found = [i for i, (s, _) in enumerate(sources) if k in s]
        if len(found) > 1:
            own = [set(map(id, s)) for s, _ in sources] if own is None else own
            found = [i for i in found if id(k) in own[i]] or found
        shadow = sources[found[0]][1] if found else None
        if shadow is not None:
            keys[k] = shadow.of_key(k)
    return keys or None


def _added_by(f: Any) -> Any:
    """The rule of what puts the items of another set, or of a dict, into a set: nothing else is looked at."""

    def rule(s: CoDual, other: CoDual):
        primal = s.primal
        new = [k for k in other.primal if k not in primal]
        y = f(primal, other.primal)
        note_change(primal)
        keys = keys_from(new, (other.primal, other.fdata))
        shadow = s.fdata if keys is None else shadow_of_set(s)
        for k, tangent in (keys or {}).items():
            shadow.put_key(k, tangent)

        def pullback(_):
            primal.difference_update(new)
            for k in new if shadow is not None else ():
                shadow.take_key(k)
            return None

        return CoDual(y, None if y is None else shadow), pullback

    return rule


def _changed_by(f: Any) -> Any:
    """The rule of what changes a set by another one, or by a dict."""

    def rule(s: CoDual, other: CoDual):
        primal = s.primal
        before = primal.copy()
        y = f(primal, other.primal)
        keys = keys_from(primal, (before, s.fdata), (other.primal, other.fdata))
        shadow = s.fdata if keys is None else shadow_of_set(s)
        pullback = _put_back(primal, before, shadow, replaced_keys(shadow, keys))
        return CoDual(y, None if y is None else shadow), pullback

    return rule


def _made_of(f: Any) -> Any:
    """The rule of what makes a set of two sets, or of a set and a dict."""

    def rule(a: CoDual, b: CoDual):
        y = f(a.primal, b.primal)
        keys = keys_from(y, (a.primal, a.fdata), (b.primal, b.fdata))
        return CoDual(y, None if keys is None and isinstance(y, frozenset) else SetShadow(keys)), _nothing

    return rule


def _nothing(_: Any) -> None:
    return None


def _made_of_one(f: Any) -> Any:
    """The rule of what makes a set of one."""

    def rule(s: CoDual):
        y = f(s.primal)
        if y is s.primal:
            return CoDual(y, s.fdata), _nothing
        keys = keys_from(y, (s.primal, s.fdata))
        return CoDual(y, None if keys is None and isinstance(y, frozenset) else SetShadow(keys)), _nothing

    return rule


for _of in (*SETS, ConstantKeys):
    for _f in (set.update, ops.set_update):
        rrule(_f, types=(set, _of), mutates=(0,))(_added_by(_f))
    for _f in (set.intersection_update, set.difference_update, set.symmetric_difference_update):
        rrule(_f, types=(set, _of), mutates=(0,))(_changed_by(_f))
    for _f in (set.isdisjoint, set.issubset, set.issuperset):
        register(Rule(_f, None, (set, _of)))
    for _f in (frozenset.isdisjoint, frozenset.issubset, frozenset.issuperset):
        register(Rule(_f, None, (frozenset, _of)))
    for _f in (set.intersection, set.difference, set.union, set.symmetric_difference):
        rrule(_f, types=(set, _of))(_made_of(_f))
    for _f in (frozenset.intersection, frozenset.difference, frozenset.union, frozenset.symmetric_difference):
        rrule(_f, types=(frozenset, _of))(_made_of(_f))
for _of in SETS:
    rrule(operator.ior, types=(set, _of), mutates=(0,))(_added_by(operator.ior))
    for _f in (operator.iand, operator.isub, operator.ixor):
        rrule(_f, types=(set, _of), mutates=(0,))(_changed_by(_f))
    for _f in (operator.ior, operator.iand, operator.isub, operator.ixor):
        rrule(_f, types=(frozenset, _of))(_made_of(_f))
    for _kind in SETS:
        for _f in (operator.or_, operator.and_, operator.sub, operator.xor):
            rrule(_f, types=(_kind, _of))(_made_of(_f))
    for _f in SETS:
        rrule(_f, types=(_of,))(_made_of_one(_f))
    rrule(_of.copy, types=(_of,))(_made_of_one(_of.copy))


def _of_keys(f: Any) -> None:
    @rrule(f, types=(KEYS_VIEWS[0], Any_))
    @rrule(f, types=(Any_, KEYS_VIEWS[0]))
    def keys_as_set(a: CoDual, b: CoDual):
        y = f(a.primal, b.primal)
        sources = [(x.primal, x.fdata) for x in (a, b) if isinstance(x.primal, (*SETS, KEYS_VIEWS[0], dict))]
        keys = keys_from(y, *sources)
        for x in y:
            if type(x) not in WHOLE and x not in (keys or {}) and zero_fdata(x) is None:
                raise UnsupportedError(
                    "a set of keys put together with what is no set", "the call", None, "make a set of it first"
                )
        return CoDual(y, SetShadow(keys)), _nothing


for _f in (operator.and_, operator.or_, operator.sub, operator.xor):
    _of_keys(_f)


@rrule(set, types=(tuple,))
@rrule(set, types=(list,))
def set_of_items(xs: CoDual):
    x, fx = xs.primal, xs.fdata
    items, fs = parts(x, fx)
    y: set = set()
    shadow = SetShadow()
    new: list[bool] = []
    for item, f in zip(items, fs, strict=True):
        if issubclass(type(item), Generator):
            raise UnsupportedError("a generator with a derivative in a set", "the call", None, "use a list or dict")
        new.append(item not in y)
        if new[-1]:
            y.add(item)
            keep_key(shadow, item, f)

    def pullback(_):
        return (give_parts(x, fx, [taken_key(shadow, k, n) for k, n in zip(items, new, strict=True)]),)

    return CoDual(y, shadow), pullback


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


rrule(frozen)(_made_of_one(frozen))
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
        if isinstance(other, (set, frozenset)):
            s &= other
        else:  # whatever is the smaller one, the items are those that are given
            both = [x for x in other if x in s]
            s.clear()
            update_(s, both)


@overlay(set.symmetric_difference_update)
def symmetric_difference_update_(s, other):
    s ^= set_(other)


@overlay(set.union)
def union_(s, *others):
    new = set(s)
    update_(new, *others)
    return new


@overlay(set.difference)
def difference_(s, *others):
    new = set(s)
    difference_update_(new, *others)
    return new


@overlay(set.intersection)
def intersection_(s, *others):
    new = set(s)
    intersection_update_(new, *others)
    return new


@overlay(set.symmetric_difference)
def symmetric_difference_(s, other):
    new = set(s)
    new ^= set_(other)
    return new


@overlay(frozenset.union)
def frozen_union_(s, *others):
    return frozen(union_(s, *others))


@overlay(frozenset.difference)
def frozen_difference_(s, *others):
    return frozen(difference_(s, *others))


@overlay(frozenset.intersection)
def frozen_intersection_(s, *others):
    return frozen(intersection_(s, *others))


@overlay(frozenset.symmetric_difference)
def frozen_symmetric_difference_(s, other):
    return frozen(symmetric_difference_(s, other))


@overlay(set.isdisjoint, frozenset.isdisjoint)
def isdisjoint_(s, other):
    return all(x not in s for x in other)


@overlay(set.issuperset, frozenset.issuperset)
def issuperset_(s, other):
    return all(x in s for x in other)


@overlay(set.issubset, frozenset.issubset)
def issubset_(s, other):
    return s <= set_(other)
