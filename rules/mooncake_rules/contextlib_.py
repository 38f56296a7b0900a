"""Generators as context managers, in terms that a derived function can see through."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from mooncake_py.iterators import thrown_into
from mooncake_py.registry import incurious, overlay, zero_derivative

_Plain: Any = contextlib._GeneratorContextManager


def _is_made_of(exc: BaseException, value: BaseException) -> bool:
    """Is this what a generator raises, into which a StopIteration was thrown?"""
    return isinstance(value, StopIteration) and exc.__cause__ is value


zero_derivative(_is_made_of)
incurious.add(_is_made_of)


class _GeneratorContext(_Plain):
    """What `contextlib.contextmanager` gives: the generator is asked by loops, and so may become one with them."""

    def __init__(self, func, args, kwds):
        self.gen = func(*args, **kwds)
        self.func, self.args, self.kwds = func, args, kwds

    def __enter__(self):
        for x in self.gen:
            return x
        raise RuntimeError("generator didn't yield")

    def __exit__(self, typ, value, traceback):
        if typ is None:
            for _ in self.gen:
                raise RuntimeError("generator didn't stop")
            return False
        try:
            for _ in thrown_into(self.gen, value):
                raise RuntimeError("generator didn't stop after throw()")
        except BaseException as exc:
            if exc is value or _is_made_of(exc, value):
                return False
            raise
        return True


@overlay(_Plain)
def _context(func, args, kwds):
    return _GeneratorContext(func, args, kwds)


# A lock is left in the same way whatever exception it is told of.
zero_derivative(threading.Lock().__class__.__exit__, threading.RLock().__class__.__exit__)
