"""What a class holds, looked into by `C.__dict__` and `vars(C)`, and what `MappingProxyType` makes: views to read."""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import Any

from mooncake_py.registry import overlay, rrule
from mooncake_py.tangents import CoDual
from mooncake_rules.containers.dicts import dict_or


def held_by(proxy: Any) -> dict:
    """The dict behind a view, as it is now: to be read at once, for its tangents are those of the class."""
    return dict(proxy)


@rrule(held_by)
def held_by_rule(proxy: CoDual):
    return CoDual(dict(proxy.primal), proxy.fdata), lambda _: None


@rrule(MappingProxyType, types=(MappingProxyType,), alias=(0,))
@rrule(MappingProxyType, types=(dict,), alias=(0,))
def proxy_of(x: CoDual):
    return CoDual(MappingProxyType(x.primal), x.fdata), lambda _: None


@overlay(operator.getitem, classes=(MappingProxyType, object))
def getitem(proxy, name):
    return held_by(proxy)[name]


@overlay(MappingProxyType.__getitem__)
def getitem_(proxy, name):
    return held_by(proxy)[name]


@overlay(MappingProxyType.get)
def get_(proxy, name, default=None):
    return held_by(proxy).get(name, default)


@overlay(MappingProxyType.values)
def values_(proxy):
    return dict(held_by(proxy)).values()


@overlay(MappingProxyType.items)
def items_(proxy):
    return dict(held_by(proxy)).items()


@overlay(MappingProxyType.keys)
def keys_(proxy):
    return held_by(proxy).keys()


@overlay(MappingProxyType.copy)
def copy_(proxy):
    return dict(held_by(proxy))


@rrule(operator.or_, types=(MappingProxyType, MappingProxyType))
@rrule(operator.or_, types=(MappingProxyType, dict))
@rrule(operator.or_, types=(dict, MappingProxyType))
def or_(a: CoDual, b: CoDual):
    return dict_or(_held(a), _held(b))


def _held(x: CoDual) -> CoDual:
    return CoDual(dict(x.primal), x.fdata) if isinstance(x.primal, MappingProxyType) else x


@overlay(MappingProxyType.__reversed__)
def reversed_(proxy):
    return reversed(held_by(proxy))


@overlay(iter, classes=(MappingProxyType,))
def iter_(proxy):
    return iter(held_by(proxy))


@overlay(dict, classes=(MappingProxyType,))
def dict_(proxy):
    return dict(held_by(proxy))
