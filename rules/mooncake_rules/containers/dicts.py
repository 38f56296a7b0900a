"""Dicts: their fdata mirrors them key by key, and every change is undone."""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.ir import ops
from mooncake_py.registry import Any_, maybe_none, rrule, zero_derivative
from mooncake_py.tangents import CoDual, DictShadow, add_rdata

_f: Any  # what a table registers, one at a time


def dict_fdata(shadow: DictShadow | None, k: Any) -> Any:
    return None if shadow is None else shadow.f.get(k)


@rrule(ops.build_map)
def build_map(*kvs: CoDual):
    keys = [k.primal for k in kvs[::2]]
    values = kvs[1::2]
    primal = dict(zip(keys, [v.primal for v in values], strict=True))
    shadow = DictShadow(dict(zip(keys, [v.fdata for v in values], strict=True)), {})

    def pullback(_):
        out: list[Any] = []
        r, shadow.r = shadow.r, {}
        for i, k in enumerate(keys):
            out += [None, r.get(k) if k not in keys[i + 1 :] else None]
        return tuple(out)

    return CoDual(primal, shadow), pullback


@rrule(operator.getitem, types=(dict, Any_))
def dict_getitem(d: CoDual, k):
    shadow = d.fdata

    def pullback(dy):
        add_value(shadow, k, dy)
        return None

    return CoDual(d.primal[k], dict_fdata(shadow, k)), pullback


def add_value(shadow: DictShadow | None, k: Any, dy: Any) -> None:
    if dy is not None and shadow is not None:
        shadow.r[k] = add_rdata(shadow.r.get(k), dy)


_ABSENT = object()


def put_value(d: dict, shadow: DictShadow | None, k: Any, x: Any, fx: Any) -> tuple[Any, Any]:
    old = d.get(k, _ABSENT)
    d[k] = x
    if shadow is None:
        return old, None
    old_f = shadow.f.get(k)
    shadow.f[k] = fx
    return old, old_f


def unput_value(d: dict, shadow: DictShadow | None, k: Any, old: tuple[Any, Any]) -> Any:
    """Undo `put_value`; the cotangent of what was put."""
    if old[0] is _ABSENT:
        del d[k]
    else:
        d[k] = old[0]
    if shadow is None:
        return None
    if old[0] is _ABSENT:
        del shadow.f[k]
    else:
        shadow.f[k] = old[1]
    return shadow.r.pop(k, None)


maybe_none.add(unput_value)


def _put(d: CoDual, k, x: CoDual):
    primal, shadow = d.primal, d.fdata
    old = put_value(primal, shadow, k, x.primal, x.fdata)

    def pullback(_):
        return None, None, unput_value(primal, shadow, k, old)

    return None, pullback


for _f in (operator.setitem, ops.map_add):
    rrule(_f, types=(dict, Any_, Any_), mutates=(0,))(_put)


@rrule(dict.get)
def dict_get(d: CoDual, k, default: CoDual = CoDual(None, None)):  # noqa: B008  (never written to)
    shadow = d.fdata
    there = k in d.primal

    def pullback(dy):
        if there:
            add_value(shadow, k, dy)
            return None
        return None, None, dy

    if there:
        return CoDual(d.primal[k], dict_fdata(shadow, k)), pullback
    return CoDual(default.primal, default.fdata), pullback


@rrule(dict.values)
def dict_values(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)

    def pullback(dy):
        if dy is not None:
            for k, t in zip(keys, dy, strict=True):
                add_value(shadow, k, t)
        return None

    f = tuple([dict_fdata(shadow, k) for k in keys])
    return CoDual(tuple(d.primal.values()), f if any(x is not None for x in f) else None), pullback


@rrule(dict.items)
def dict_items(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)

    def pullback(dy):
        if dy is not None:
            for k, t in zip(keys, dy, strict=True):
                if t is not None:
                    add_value(shadow, k, t[1])
        return None

    f = tuple([(None, x) if (x := dict_fdata(shadow, k)) is not None else None for k in keys])
    return CoDual(tuple(d.primal.items()), f if any(x is not None for x in f) else None), pullback


def _update(d: CoDual, other: CoDual):
    primal, shadow, source, fsource = d.primal, d.fdata, other.primal, other.fdata
    log = [(k, put_value(primal, shadow, k, source[k], dict_fdata(fsource, k))) for k in source]

    def pullback(_):
        for k, old in reversed(log):
            add_value(fsource, k, unput_value(primal, shadow, k, old))
        return None

    return None, pullback


for _f in (dict.update, ops.dict_update, ops.dict_merge):
    rrule(_f, types=(dict, dict), mutates=(0,))(_update)


@rrule(dict)
@rrule(dict.copy)
def dict_of(d: CoDual):
    shadow, keys = d.fdata, list(d.primal)
    new = DictShadow({k: dict_fdata(shadow, k) for k in keys}, {})

    def pullback(_):
        r, new.r = new.r, {}
        for k, t in r.items():
            add_value(shadow, k, t)
        return None

    return CoDual(dict(d.primal), new), pullback


zero_derivative(dict.keys, dict.__iter__)
