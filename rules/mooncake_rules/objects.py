"""Copies of objects, and what wraps functions."""

from __future__ import annotations

import copy
import dataclasses
import functools
from types import SimpleNamespace
from typing import Any

import numpy as np

from mooncake_py.registry import drained, maybe_none, overlay, rrule
from mooncake_py.structure import attributes, is_user_class
from mooncake_py.tangents import CoDual, DictShadow, ListShadow, ObjectShadow, add_any, add_rdata, zero_fdata
from mooncake_rules.containers.lists import give_parts, parts


@overlay(copy.copy)
def copy_(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    if hasattr(type(x), "__copy__"):
        return type(x).__copy__(x)
    return shallow(x)


@overlay(copy.deepcopy)
def deepcopy_(x, memo=None):
    if isinstance(x, np.ndarray):
        return x.copy()
    if hasattr(type(x), "__deepcopy__"):
        return type(x).__deepcopy__(x, {} if memo is None else memo)
    return deep(x)


def shallow(x: Any) -> Any:
    """A copy of a container or object that holds the same values."""
    return copy.copy(x)


def deep(x: Any) -> Any:
    """A copy of a container or object, and of all it holds."""
    return copy.deepcopy(x)


@rrule(shallow)
def _shallow(x: CoDual):
    p, fx = x.primal, x.fdata
    y = copy.copy(p)
    fy = _same_parts(p, fx, y)

    def pullback(dy):
        if fy is fx or type(fy) is tuple or fy is None:
            return (dy,)
        items = fy.r.items() if hasattr(fy.r, "items") else list(enumerate(fy.r))
        for k, t in list(items):
            if t is not None:
                fx.r[k] = add_rdata(fx.r.get(k) if hasattr(fx.r, "get") else fx.r[k], t)
                fy.r[k] = None
        return None

    return CoDual(y, fy), pullback


def _same_parts(x: Any, fx: Any, y: Any) -> Any:
    if y is x or fx is None or type(fx) is tuple:
        return fx
    if type(fx) is ListShadow:
        return ListShadow(list(fx.f), [None] * len(fx.f))
    if type(fx) is DictShadow:
        return DictShadow(dict(fx.f), {})
    if type(fx) is ObjectShadow:
        return ObjectShadow(y, {k: fx.fdata(k) for k in attributes(x)})
    return zero_fdata(y)


def _of_copy(convert: Any) -> Any:
    def rule(x: CoDual):
        p, fx = x.primal, x.fdata
        y = convert(p)
        fy = zero_fdata(y)

        def pullback(dy):
            return (give_back(p, fx, y, fy, dy, set()),)

        return CoDual(y, fy), pullback

    return rule


def give_back(x: Any, fx: Any, y: Any, fy: Any, r: Any, seen: set[int]) -> Any:
    """Move the cotangent of y, a deep copy of x, to x: into its fdata, else as the rdata that is returned.

    y may hold a dict or tuple where x holds an object, as `dataclasses.asdict` makes them.
    """
    if y is x:
        return r
    if isinstance(x, np.ndarray):
        d = fy.take() if fy is not None else r
        if d is not None and fx is not None:
            fx.add(d)
        return None
    if isinstance(x, tuple) and isinstance(y, (tuple, list)):
        fs = fx if fx is not None else (None,) * len(x)
        gs = fy if type(fy) is tuple else (None,) * len(x) if fy is None else fy.f
        rs = r if r is not None else (None,) * len(x)
        out = tuple([give_back(*parts, seen) for parts in zip(x, fs, y, gs, rs, strict=True)])
        return out if any(t is not None for t in out) else None
    if id(y) in seen or fx is None:
        return r if isinstance(x, (float, complex, np.inexact)) else None
    seen.add(id(y))
    if isinstance(x, list):
        for i, v in enumerate(x):
            t, fy.r[i] = fy.r[i], None
            fx.r[i] = add_any(fx.r[i], None, give_back(v, fx.f[i], y[i], fy.f[i], t, seen))
    elif isinstance(x, dict):
        for k, v in x.items():
            t = fy.r.pop(k, None)
            fx.r[k] = add_any(fx.r.get(k), None, give_back(v, fx.f.get(k), y[k], fy.f.get(k), t, seen))
    elif is_user_class(type(x)):
        held = attributes(x)
        for i, (k, v) in enumerate(held.items()):
            if isinstance(y, tuple):
                if i < len(y):
                    part, fpart, t = y[i], None if fy is None else fy[i], None if r is None else r[i]
                else:
                    continue
            elif isinstance(y, dict):
                if k not in y:
                    continue
                part, fpart, t = y[k], fy.f.get(k), fy.r.pop(k, None)
            else:
                copied = attributes(y)
                if k not in copied:  # it came later
                    continue
                part, fpart, t = copied[k], fy.fdata(k), fy.r.pop(k, None)
            fx.r[k] = add_any(fx.r.get(k), None, give_back(v, fx.fdata(k), part, fpart, t, seen))
    return None


rrule(deep)(_of_copy(copy.deepcopy))
maybe_none.add(give_back)
rrule(dataclasses.asdict)(_of_copy(dataclasses.asdict))
rrule(dataclasses.astuple)(_of_copy(dataclasses.astuple))


@rrule(functools.update_wrapper)
def update_wrapper(wrapper: CoDual, wrapped, assigned=functools.WRAPPER_ASSIGNMENTS, updated=functools.WRAPPER_UPDATES):
    def pullback(_):
        return None

    return CoDual(functools.update_wrapper(wrapper.primal, wrapped, assigned, updated), wrapper.fdata), pullback


@rrule(functools._lru_cache_wrapper)
def lru_cache_wrapper(f: CoDual, maxsize, typed, info):
    def pullback(_):
        return None

    make: Any = functools._lru_cache_wrapper
    return CoDual(make(f.primal, maxsize, typed, info), f.fdata), pullback


@rrule(tuple.__new__)
def tuple_new(cls, items: CoDual):
    x, fx = items.primal, items.fdata
    values, fs = parts(x, fx)

    def pullback(dy):
        return None if dy is None else (None, give_parts(x, fx, list(dy)))

    return CoDual(tuple.__new__(cls, values), tuple(fs) if any(f is not None for f in fs) else None), pullback


drained[tuple.__new__] = 1


@overlay(SimpleNamespace)
def namespace_(**values):
    n = SimpleNamespace()
    for name in values:
        setattr(n, name, values[name])
    return n
