"""Dicts made of pairs, keys and keywords, as the Python that is differentiated in place of C."""

from __future__ import annotations

import collections
import operator
from collections import ChainMap, Counter, OrderedDict, defaultdict
from collections.abc import Mapping
from typing import Any

from mooncake_py.fields import set_factory
from mooncake_py.registry import overlay


@overlay(dict)
def dict_(pairs=(), /, **kwargs):
    d: dict = {}
    dict.update(d, pairs)
    for k in kwargs:
        d[k] = kwargs[k]
    return d


@overlay(dict.update, dict.__init__)
def update_(d, pairs=(), /, **kwargs):
    if hasattr(pairs, "keys"):
        for k in pairs.keys():  # noqa: SIM118  (a mapping need not be iterable)
            dict.__setitem__(d, k, pairs[k])
    else:
        for k, v in pairs:
            dict.__setitem__(d, k, v)
    for k in kwargs:
        dict.__setitem__(d, k, kwargs[k])


@overlay(operator.ior, classes=(dict, object))
def ior_(d, pairs):
    dict.update(d, pairs)
    return d


@overlay(OrderedDict)
def ordered_(pairs=(), /, **kwargs):
    d: Any = OrderedDict()
    _fill(d, pairs)
    for k in kwargs:
        d[k] = kwargs[k]
    return d


@overlay(OrderedDict.update, OrderedDict.__init__)
def update_ordered_(d, pairs=(), /, **kwargs):
    _fill(d, pairs)
    for k in kwargs:
        d[k] = kwargs[k]


@overlay(defaultdict, arity=2)
def defaultdict_(factory, pairs, /):
    d: Any = defaultdict(factory)
    _fill(d, pairs)
    return d


@overlay(defaultdict.__init__)
def defaultdict_init_(d, factory=None, /, *args, **kwargs):
    set_factory(d, factory)
    dict.update(d, *args, **kwargs)


@overlay(defaultdict.__init__, arity=2)
def empty_defaultdict_init_(d, factory, /):
    set_factory(d, factory)


@overlay(Counter)
def counter_(iterable=None, /, **kwds):
    c: Any = Counter()
    if iterable is not None:
        c.update(iterable)
    if kwds:
        c.update(kwds)
    return c


@overlay(Counter.update)
def counted_too_(self, iterable=None, /, **kwds):
    if iterable is not None:
        if not isinstance(iterable, Mapping):
            collections._count_elements(self, iterable)  # type: ignore[attr-defined]
        elif self:
            get = self.get
            for k, n in iterable.items():
                self[k] = n + get(k, 0)
        else:
            super(Counter, self).update(iterable)
    if kwds:
        self.update(kwds)


def _fill(d, pairs):
    if hasattr(pairs, "keys"):
        for k in pairs.keys():  # noqa: SIM118  (a mapping need not be iterable)
            d[k] = pairs[k]
    else:
        for k, v in pairs:
            d[k] = v


@overlay(dict.fromkeys)
def fromkeys_(keys, value=None, /):
    d: dict = {}
    for k in keys:
        d[k] = value
    return d


@overlay(OrderedDict.fromkeys)
def ordered_fromkeys_(keys, value=None):
    d: Any = OrderedDict()
    for k in keys:
        d[k] = value
    return d


@overlay(ChainMap.new_child)
def new_child_(self, m=None, **kwargs):
    if m is None:
        m = kwargs
    elif kwargs:
        m.update(kwargs)
    if self.__class__ is not ChainMap:
        return self.__class__(m, *self.maps)
    new: Any = ChainMap()
    new.maps = [m, *self.maps]
    return new


@overlay(ChainMap.parents.fget)  # type: ignore[attr-defined]
def parents_(self):
    if self.__class__ is not ChainMap:
        return self.__class__(*self.maps[1:])
    new: Any = ChainMap()
    new.maps = self.maps[1:] or [{}]
    return new
