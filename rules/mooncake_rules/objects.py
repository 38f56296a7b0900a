"""Objects of library classes, and what wraps functions."""

from __future__ import annotations

import dataclasses
import functools
import operator
from types import SimpleNamespace
from typing import Any

from mooncake_py.kinds import Any_
from mooncake_py.registry import drained, overlay, register, rrule
from mooncake_py.rule import Rule
from mooncake_py.runtime.classes import adopt, note_dataclass, share_cells
from mooncake_py.runtime.stored import shadow_of_attributes, writable_shadow
from mooncake_py.tangents import CoDual, add_rdata
from mooncake_rules.containers.lists import give_parts, parts


@rrule(functools.update_wrapper)
def update_wrapper(
    wrapper: CoDual, wrapped: CoDual, assigned=functools.WRAPPER_ASSIGNMENTS, updated=functools.WRAPPER_UPDATES
):
    y = functools.update_wrapper(wrapper.primal, wrapped.primal, assigned, updated)
    source: Any = shadow_of_attributes(wrapped.primal, None)
    shadow: Any = None if source is None and wrapped.fdata is None else writable_shadow(y, None)
    copied = list(wrapped.primal.__dict__) if source is not None and "__dict__" in updated else []
    for name in copied:
        shadow.f[name] = source.fdata(name)
    if shadow is not None:
        shadow.f["__wrapped__"] = wrapped.fdata

    def pullback(_):
        for name in copied:
            t = shadow.r.pop(name, None)
            if t is not None:
                source.r[name] = add_rdata(source.r[name], t)
        return None

    return CoDual(y, wrapper.fdata), pullback


@rrule(functools._lru_cache_wrapper)
def lru_cache_wrapper(f: CoDual, maxsize, typed, info):
    def pullback(_):
        return None

    make: Any = functools._lru_cache_wrapper
    return CoDual(make(f.primal, maxsize, typed, info), f.fdata), pullback


register(Rule(type, None, (Any_,)))


@rrule(type, types=(str, tuple, dict))
def made_class(name, bases, namespace: CoDual):
    values = namespace.primal
    cls = type(name, bases, values)
    give = adopt(cls, values, namespace.fdata)

    def pullback(_):
        give()
        return None

    return CoDual(cls, None), pullback


_process_class: Any = dataclasses._process_class  # type: ignore[attr-defined]


@rrule(_process_class, mutates=(0,))
def data_class(cls: CoDual, *options: CoDual):
    """What `dataclasses.dataclass` does; the default values of fields are what the class was made with."""
    y = _process_class(cls.primal, *[x.primal for x in options])
    give = note_dataclass(y, cls.primal)

    def pullback(_):
        give()
        return None

    return CoDual(y, None), pullback


@rrule(BaseException.with_traceback)
def with_traceback(e: CoDual, tb):
    def pullback(_):
        return None

    return CoDual(e.primal.with_traceback(tb), e.fdata), pullback


def _descriptor(make: Any) -> None:
    @rrule(make)
    def descriptor(*functions: CoDual):
        for f in functions:
            share_cells(f.primal, f.fdata)

        def pullback(_):
            return None

        return make(*[f.primal for f in functions]), pullback


for _f in (property, property.getter, property.setter, property.deleter, staticmethod, classmethod):
    _descriptor(_f)


@rrule(tuple.__new__)
def tuple_new(cls, items: CoDual):
    x, fx = items.primal, items.fdata
    values, fs = parts(x, fx)

    def pullback(dy):
        return None if dy is None else (None, give_parts(x, fx, list(dy)))

    return CoDual(tuple.__new__(cls, values), tuple(fs) if any(f is not None for f in fs) else None), pullback


drained[tuple.__new__] = 1


@rrule(float.__new__, types=(type, float))
@rrule(complex.__new__, types=(type, complex))
def number_new(cls, x):
    def pullback(dy):
        return None, dy

    return (float if issubclass(cls, float) else complex).__new__(cls, x), pullback


@overlay(operator.methodcaller)
def methodcaller_(name, /, *args, **kwargs):
    return lambda x: getattr(x, name)(*args, **kwargs)


@overlay(SimpleNamespace)
def namespace_(*mapping, **values):
    n = SimpleNamespace(*[{} for _ in mapping])  # raises where it takes none
    for m in mapping:
        d = dict(m)
        for name in d:
            setattr(n, name, d[name])
    for name in values:
        setattr(n, name, values[name])
    return n


if hasattr(SimpleNamespace, "__replace__"):

    @overlay(SimpleNamespace.__replace__)
    def namespace_replaced(self, /, **changes):
        return type(self)(**{**self.__dict__, **changes})
