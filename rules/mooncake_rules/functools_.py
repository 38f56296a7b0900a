"""What `functools` keeps by weak references, in terms that a derived function can see through."""

from __future__ import annotations

import functools

from mooncake_py.registry import overlay


@overlay(functools.singledispatchmethod.__get__)
def bound_by_class(self, obj, cls=None):
    """The method, which is chosen by the class of its first argument; Python 3.13 keeps one for each object."""

    def method(*args, **kwargs):
        if not args:
            name = getattr(self.func, "__name__", "singledispatchmethod method")
            raise TypeError(f"{name} requires at least 1 positional argument")
        return self.dispatcher.dispatch(args[0].__class__).__get__(obj, cls)(*args, **kwargs)

    return method
