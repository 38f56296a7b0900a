"""Dicts: their fdata mirrors them key by key, and every change is undone."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict
from types import FunctionType
from typing import Any

import mooncake_rules.operators  # noqa: F401  (its rules of `|` are for all that is not a dict)
from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.types import DICTS, Dct, is_scalar
from mooncake_py.ir import ops
from mooncake_py.kinds import Any_
from mooncake_py.registry import folds, inline, maybe_none, perhaps_none, pure, rrule, undoes
from mooncake_py.tangents import CoDual, DictShadow, ListShadow, Sums, add_rdata
from mooncake_rules.containers.dict_keys import (
    are_plain,
    are_whole,
    give_key,
    is_whole,
    keep_key,
    key_fdata,
    keys_of_both,
    keys_shared,
    share_key,
    taken_key,
)
from mooncake_rules.containers.lists import base_of, is_a_number, is_exact

_cls: Any
_of: Any
_f: Any  # what a table registers, one at a time


def dict_fdata(shadow: DictShadow | None, k: Any) -> Any:
    return None if shadow is None else shadow.f.get(k)


@rrule(ops.build_map)
def build_map(*kvs: CoDual):
    places = range(0, len(kvs), 2)
    primal: dict[Any, Any] = {}
    fdata: dict[Any, Any] = {}
    for i in places:
        primal[kvs[i].primal] = kvs[i + 1].primal
        fdata[kvs[i].primal] = kvs[i + 1].fdata
    shadow = DictShadow(fdata)
    for i in places:
        if kvs[i].fdata is not None:
            keep_key(shadow, kvs[i].primal, kvs[i].fdata)

    def pullback(_):
        r = shadow.r
        dks = tuple([None if is_whole(kvs[i].primal) else perhaps_none(shadow.take_key(kvs[i].primal)) for i in places])
        # Of a key that is there twice, the last value stays, and the first key.
        dvs = tuple([perhaps_none(dict.pop(r, kvs[i].primal, None)) for i in reversed(places)])
        out: tuple[Any, ...] = ()
        for i in range(len(places)):
            out = out + (dks[i], dvs[len(places) - 1 - i])
        return out

    return CoDual(primal, shadow), pullback


@rrule(operator.getitem, dict.__getitem__, types=(dict, Any_))
def dict_getitem(d: CoDual, k):
    shadow = d.fdata

    def pullback(dy):
        add_value(shadow, k, dy)
        return None

    primal = d.primal
    y = primal[k] if is_exact(primal) else dict.__getitem__(primal, k)
    return CoDual(y, dict_fdata(shadow, k)), pullback


@inline
def add_value(shadow: DictShadow | None, k: Any, dy: Any) -> None:
    if dy is not None and shadow is not None:
        r = shadow.r
        if is_a_number(dy):
            r[k] = r[k] + dy
        elif k in r:
            r[k] = add_rdata(r[k], dy)
        else:
            r[k] = dy


_ABSENT = object()


def put_value(d: dict, shadow: DictShadow | None, k: Any, x: Any, fx: Any) -> tuple[Any, Any]:
    if type(d) in DICTS:
        old = d.get(k, _ABSENT)
        d[k] = x
    else:
        old = dict.get(d, k, _ABSENT)
        base_of(d).__setitem__(d, k, x)
    if shadow is None:
        return old, None
    old_f = shadow.f.get(k)
    shadow.f[k] = fx
    return old, old_f


def unput_value(d: dict, shadow: DictShadow | None, k: Any, old: tuple[Any, Any]) -> Any:
    """Undo `put_value`; the cotangent of what was put."""
    if old[0] is _ABSENT:
        base_of(d).__delitem__(d, k)
    elif type(d) in DICTS:
        d[k] = old[0]
    else:
        base_of(d).__setitem__(d, k, old[0])
    if shadow is None:
        return None
    if old[0] is _ABSENT:
        del shadow.f[k]
    else:
        shadow.f[k] = old[1]
    return shadow.r.pop(k, None)


maybe_none.add(unput_value)
pure.add(dict_fdata)


def holds_number(d: dict, k: Any) -> bool:
    """Is d surely a dict of C's own, and what is under this key always a number? (The engine asks the types.)"""
    return False


folds[holds_number] = lambda d, k: isinstance(d, Dct) and d.cls in DICTS and is_scalar(d.item(k))


def put_back_value(d: dict, k: Any, old: Any) -> None:
    """Undo a write of a value, which had no fdata."""
    if old is _ABSENT:
        del d[k]
    else:
        d[k] = old


undoes.add(put_back_value)
pure.add(dict.get)


@inline
def take_number(shadow: DictShadow, k: Any) -> Any:
    """The cotangent of a number, leaving zero."""
    return dict.pop(shadow.r, k, 0.0)


def _put(d: CoDual, key: CoDual, x: CoDual):
    primal, shadow, k = d.primal, d.fdata, key.primal
    if holds_number(primal, k):
        was = dict.get(primal, k, _ABSENT)
        primal[k] = x.primal
        if not are_plain(primal) and was is _ABSENT:
            keep_key(shadow, k, key.fdata)

        def pullback_number(_):
            put_back_value(primal, k, was)
            if shadow is None:
                return None
            dk = None if is_whole(k) or are_whole(primal) else taken_key(shadow, k, was is _ABSENT)
            return None, dk, take_number(shadow, k)

        return None, pullback_number
    old = put_value(primal, shadow, k, x.primal, x.fdata)
    if not are_plain(primal) and old[0] is _ABSENT:
        keep_key(shadow, k, key.fdata)

    def pullback(_):
        dx = unput_value(primal, shadow, k, old)
        return None, None if is_whole(k) or are_whole(primal) else taken_key(shadow, k, old[0] is _ABSENT), dx

    return None, pullback


for _f in (operator.setitem, ops.map_add, dict.__setitem__, OrderedDict.__setitem__):
    for _cls in (dict, defaultdict, Counter):
        rrule(_f, types=(_cls, Any_, Any_), mutates=(0,))(_put)


@rrule(dict.__getitem__, types=(defaultdict, Any_))
@rrule(dict.__getitem__, types=(Counter, Any_))
def own_getitem(d: CoDual, k):
    """The item of a dict whose class makes those that are missing."""
    shadow = d.fdata

    def pullback(dy):
        add_value(shadow, k, dy)
        return None

    return CoDual(dict.__getitem__(d.primal, k), dict_fdata(shadow, k)), pullback


@rrule(dict.get)
def dict_get(d: CoDual, k, default: CoDual = CoDual(None, None)):  # noqa: B008  (never written to)
    shadow = d.fdata
    there = dict.__contains__(d.primal, k)

    def pullback(dy):
        if there:
            add_value(shadow, k, dy)
            return None
        return None, None, dy

    if there:
        return CoDual(dict.__getitem__(d.primal, k), dict_fdata(shadow, k)), pullback
    return CoDual(default.primal, default.fdata), pullback


@rrule(dict.values, types=(Counter,))
@rrule(dict.values, types=(defaultdict,))
@rrule(dict.values, types=(dict,))
def dict_values(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)

    def pullback(_):
        give_values(shadow, keys, part)
        return None

    part = ListShadow([dict_fdata(shadow, k) for k in keys], [None] * len(keys))
    return CoDual(list(base_of(d.primal).values(d.primal)), part), pullback


@rrule(dict.items, types=(Counter,))
@rrule(dict.items, types=(defaultdict,))
@rrule(dict.items, types=(dict,))
def dict_items(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)

    def pullback(_):
        give_items(shadow, keys, part)
        return None

    part = ListShadow([item_fdata(d.primal, shadow, k) for k in keys], [None] * len(keys))
    return CoDual(list(base_of(d.primal).items(d.primal)), part), pullback


def item_fdata(d: dict, shadow: DictShadow | None, k: Any) -> Any:
    """The fdata of a key with its value."""
    fk, fx = key_fdata(d, shadow, k), dict_fdata(shadow, k)
    return None if fk is None and fx is None else (fk, fx)


def give_values(shadow: DictShadow | None, keys: list, part: ListShadow) -> None:
    """The cotangents of the list of a dict's values, to the dict."""
    for i, k in enumerate(keys):
        add_value(shadow, k, part.r[i])
        part.r[i] = None


def give_items(shadow: DictShadow | None, keys: list, part: ListShadow) -> None:
    """The cotangents of the list of a dict's items, to the dict."""
    for i, k in enumerate(keys):
        if part.r[i] is not None:
            give_key(shadow, k, part.r[i][0])
            add_value(shadow, k, part.r[i][1])
            part.r[i] = None


def refuse_own_reads(source: dict) -> None:
    """What Python reads from it is what methods of its class give."""
    cls = type(source)
    if cls.__iter__ is not dict.__iter__ and isinstance(cls.__getitem__, FunctionType):
        what = f"a dict filled from a {cls.__name__}, whose class has an __iter__ and a __getitem__ of its own"
        raise UnsupportedError(what, "the call", None, "set the items one by one")


def _update(d: CoDual, other: CoDual):
    primal, shadow, source, fsource = d.primal, d.fdata, other.primal, other.fdata
    read = dict.__getitem__ if type(source).__iter__ is dict.__iter__ else operator.getitem  # as Python does it
    refuse_own_reads(source)
    log = [(k, put_value(primal, shadow, k, read(source, k), dict_fdata(fsource, k))) for k in source]
    new = [] if are_whole(source) else [k for k, old in log if old[0] is _ABSENT]
    for k in new:
        share_key(shadow, fsource, k)

    def pullback(_):
        for k, old in reversed(log):
            add_value(fsource, k, unput_value(primal, shadow, k, old))
        for k in new:
            taken_key(shadow, k, True)  # its source has the tangent as well
        return None

    return None, pullback


for _f in (dict.update, ops.dict_update):
    for _cls in (dict, defaultdict, Counter):
        for _of in (dict, defaultdict, Counter):
            rrule(_f, types=(_cls, _of), mutates=(0,))(_update)


def refuse_repeated(d: dict, other: dict) -> None:
    """Keywords may be given once."""
    for k in other:
        if k in d:
            raise TypeError(f"got multiple values for keyword argument {k!r}")


@rrule(ops.dict_merge, types=(dict, dict), mutates=(0,))
def dict_merge(d: CoDual, other: CoDual):
    refuse_repeated(d.primal, other.primal)
    return _update(d, other)


@rrule(operator.ior, types=(defaultdict, dict), mutates=(0,))
@rrule(operator.ior, types=(dict, dict), mutates=(0,))
def dict_ior(d: CoDual, other: CoDual):
    _, pullback = _update(d, other)
    return CoDual(d.primal, d.fdata), pullback


@rrule(operator.or_, types=(dict, dict))
def dict_or(a: CoDual, b: CoDual):
    fa, fb = a.fdata, b.fdata
    refuse_own_reads(b.primal)
    theirs = dict.fromkeys(b.primal)
    primal = a.primal | b.primal
    both = None if are_whole(a.primal) and are_whole(b.primal) else keys_of_both(fa, a.primal, fb, b.primal)
    new = DictShadow({k: dict_fdata(fb if k in theirs else fa, k) for k in primal}, None, both)

    def pullback(_):
        r, new.r = new.r, Sums()
        for k, t in r.items():
            add_value(fb if k in theirs else fa, k, t)
        return None

    return CoDual(primal, new), pullback


def _take_out(d: Any, shadow: DictShadow | None, k: Any) -> tuple[Any, Any, Any]:
    """Delete a key: its value, its fdata, and what puts it back where it was, with a cotangent."""
    last = next(reversed(d))
    keys = None if last == k else list(d)
    k = last if keys is None else keys[keys.index(k)]  # the key itself, not one that equals it
    base = base_of(d)
    y = dict.__getitem__(d, k)
    base.__delitem__(d, k)
    fy = None if shadow is None else shadow.f.pop(k, None)
    tangent = None if shadow is None or shadow.keys is None else shadow.keys.pop(k, None)

    def put_back(dy: Any) -> None:
        base.__setitem__(d, k, y)
        if keys is not None:  # where it was
            for key in keys[keys.index(k) + 1 :]:
                base.__setitem__(d, key, base.pop(d, key))
        if shadow is not None:
            shadow.f[k] = fy
            if tangent is not None:
                shadow.put_key(k, tangent)
            add_value(shadow, k, dy)

    return y, fy, put_back


@rrule(dict.__delitem__, types=(Counter, Any_), mutates=(0,))
@rrule(operator.delitem, dict.__delitem__, types=(defaultdict, Any_), mutates=(0,))
@rrule(operator.delitem, dict.__delitem__, OrderedDict.__delitem__, types=(dict, Any_), mutates=(0,))
def dict_delitem(d: CoDual, k):
    if k not in d.primal:
        raise KeyError(k)
    _, _, put_back = _take_out(d.primal, d.fdata, k)

    def pullback(_):
        put_back(None)
        return None

    return None, pullback


def _pop(d: CoDual, k, default: CoDual = CoDual(_ABSENT, None)):  # noqa: B008  (never written to)
    there = k in d.primal
    if not there:
        if default.primal is _ABSENT:
            raise KeyError(k)

        def no_pullback(dy):
            return None, None, dy

        return CoDual(default.primal, default.fdata), no_pullback
    y, fy, put_back = _take_out(d.primal, d.fdata, k)

    def pullback(dy):
        put_back(dy)
        return None

    return CoDual(y, fy), pullback


def _popitem(d: CoDual, last=True):
    if not d.primal:
        raise KeyError("popitem(): dictionary is empty")
    k = next(reversed(d.primal)) if last else next(iter(d.primal))
    shadow = d.fdata
    f = item_fdata(d.primal, shadow, k)
    y, _, put_back = _take_out(d.primal, shadow, k)

    def pullback(dy):
        put_back(None if dy is None else dy[1])
        give_key(shadow, k, None if dy is None else dy[0])
        return None

    return CoDual((k, y), f), pullback


def _setdefault(d: CoDual, key: CoDual, default: CoDual = CoDual(None, None)):  # noqa: B008  (never written to)
    primal, shadow, k = d.primal, d.fdata, key.primal
    there = k in primal
    old = None if there else put_value(primal, shadow, k, default.primal, default.fdata)
    if not are_plain(primal) and not there:
        keep_key(shadow, k, key.fdata)

    def pullback(dy):
        add_value(shadow, k, dy)
        if there:
            return None
        assert old is not None
        dx = unput_value(primal, shadow, k, old)
        return None, None if is_whole(k) or are_whole(primal) else taken_key(shadow, k, True), dx

    return CoDual(dict.__getitem__(primal, k), dict_fdata(shadow, k) if shadow is not None else default.fdata), pullback


def _clear(d: CoDual):
    primal, shadow = d.primal, d.fdata
    base = base_of(primal)
    before = dict(base.items(primal))
    fdata = None if shadow is None else dict(shadow.f)
    base.clear(primal)
    keys = None if shadow is None else shadow.keys
    if shadow is not None:
        shadow.f.clear()
        shadow.keys = None

    def pullback(_):
        base.update(primal, before)
        if shadow is not None:
            shadow.f.update(fdata)
            shadow.keys = keys
        return None

    return None, pullback


def _move_to_end(d: CoDual, k, last=True):
    primal = d.primal
    order = list(primal)
    OrderedDict.move_to_end(primal, k, last)

    def pullback(_):
        for key in order:
            OrderedDict.move_to_end(primal, key)
        return None

    return None, pullback


for _cls, _of in ((dict, dict), (OrderedDict, dict), (dict, defaultdict), (dict, Counter)):
    rrule(_cls.pop, types=(_of,), mutates=(0,))(_pop)
    rrule(_cls.popitem, types=(_of,), mutates=(0,))(_popitem)
    rrule(_cls.setdefault, types=(_of,), mutates=(0,))(_setdefault)
    rrule(_cls.clear, types=(_of,), mutates=(0,))(_clear)
rrule(OrderedDict.move_to_end, types=(dict,), mutates=(0,))(_move_to_end)
rrule(OrderedDict.update, types=(dict, dict), mutates=(0,))(_update)
rrule(OrderedDict.values, types=(dict,))(dict_values)
rrule(OrderedDict.items, types=(dict,))(dict_items)


@rrule(dict, types=(Counter,))
@rrule(dict, types=(defaultdict,))
@rrule(dict, types=(dict,))
def dict_of_dict(d: CoDual):
    y, pullback = dict_of(d)
    return CoDual(dict(y.primal), y.fdata), pullback


@rrule(dict.copy, types=(dict,))
@rrule(OrderedDict.copy, types=(dict,))
@rrule(defaultdict.copy, defaultdict.__copy__, types=(defaultdict,))
def dict_of(d: CoDual):
    refuse_own_reads(d.primal)
    shadow, keys = d.fdata, list(d.primal)
    shared = None if are_whole(d.primal) else keys_shared(shadow, d.primal)
    new = DictShadow({k: dict_fdata(shadow, k) for k in keys}, None, shared)

    def pullback(_):
        r, new.r = new.r, Sums()
        for k, t in r.items():
            add_value(shadow, k, t)
        return None

    return CoDual(copied(d.primal), new), pullback


def copied(d: dict) -> dict:
    """A copy as the container in C makes it, whatever its class says of that."""
    return d.copy() if type(d) in DICTS else base_of(d).copy(d)
