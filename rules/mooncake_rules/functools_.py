"""What `functools` keeps by weak references, in terms that a derived function can see through."""

from __future__ import annotations

import functools
import typing

from mooncake_py.registry import overlay, zero_derivative


class Compared:
    """What `functools.cmp_to_key` makes keys of: they compare as the function says."""

    __slots__ = ("compare", "obj")
    __hash__ = None

    def __init__(self, compare, obj):
        self.compare, self.obj = compare, obj

    def __lt__(self, other):
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self.compare(self.obj, other.obj) > 0

    def __eq__(self, other):
        return self.compare(self.obj, other.obj) == 0

    def __le__(self, other):
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self.compare(self.obj, other.obj) >= 0


@overlay(functools.cmp_to_key)
def cmp_to_key(mycmp):
    def key(obj):
        return Compared(mycmp, obj)

    return key


@overlay(functools.singledispatchmethod.__get__)
def bound_by_class(self, obj, cls=None):
    """The method, which is chosen by the class of its first argument; Python 3.13 keeps one for each object."""

    def method(*args, **kwargs):
        if not args:
            name = getattr(self.func, "__name__", "singledispatchmethod method")
            raise TypeError(f"{name} requires at least 1 positional argument")
        return self.dispatcher.dispatch(args[0].__class__).__get__(obj, cls)(*args, **kwargs)

    return method


# What classes and annotations say has no derivative, whatever function or class it is asked of.
zero_derivative(functools._compose_mro, typing.get_type_hints)  # type: ignore[attr-defined]
