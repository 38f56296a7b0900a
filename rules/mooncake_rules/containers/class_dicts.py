"""What a class holds, looked into by `C.__dict__` and `vars(C)`: a view that nobody writes to."""

from __future__ import annotations

import operator
from types import MappingProxyType
from typing import Any

from mooncake_py.registry import overlay, rrule
from mooncake_py.tangents import CoDual


def held_by(proxy: Any) -> dict:
    """The dict behind a view, as it is now: to be read at once, for its tangents are those of the class."""
    return dict(proxy)


@rrule(held_by)
def held_by_rule(proxy: CoDual):
    return CoDual(dict(proxy.primal), proxy.fdata), lambda _: None


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


@overlay(iter, classes=(MappingProxyType,))
def iter_(proxy):
    return iter(held_by(proxy))


@overlay(dict, classes=(MappingProxyType,))
def dict_(proxy):
    return dict(held_by(proxy))
