"""Iterators and the functions on them: what CPython writes in C, as the Python that is differentiated in its place."""

from __future__ import annotations

import collections
import functools
import math
import operator
from collections import deque
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.infer.types import Inst, Known, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.iterators import (
    KEYS_VIEWS,
    PAUSED,
    DictItems,
    DictValues,
    advance,
    as_in_c,
    check_same_length,
    shortest,
)
from mooncake_py.kept_iterators import SequenceIterator, check_closed, watched
from mooncake_py.registry import drained, incurious, infer_table, overlay, overlay_modules, rrule, zero_derivative
from mooncake_py.tangents import CoDual

overlay_modules.add(SequenceIterator.__module__)  # its methods are differentiated like the user's
_f: Any  # what a table registers, one at a time


@rrule(watched)
def _watched(generator: CoDual):
    run.current().at_end.append(functools.partial(check_closed, generator.primal))

    def pullback(_):
        return None

    return CoDual(None, None), pullback


infer_table[watched] = lambda args, kwargs: Known(None)


def _advance_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    return Tup((Inst(bool), Top(any(t.active for t in args))))


infer_table[advance] = _advance_type
zero_derivative(shortest, check_same_length)
incurious.update({shortest, check_same_length})
infer_table[shortest] = lambda args, kwargs: Inst(int)
infer_table[check_same_length] = lambda args, kwargs: Known(None)

for _f in (sum, min, max, list, tuple, set, frozenset, sorted, dict, math.fsum, math.prod, deque, ops.unpack):
    drained[_f] = 0
drained[ops.unpack_ex] = 0
for _f in (list.extend, ops.list_extend, operator.iadd, deque.extend, str.join, set.update, ops.call_ex):
    drained[_f] = 1
for _f in (deque.extendleft, deque.__iadd__, list.__iadd__):
    drained[_f] = 1


@overlay(zip)
def zip_(*iterables, strict=False):
    return _rows([iter(x) for x in iterables], strict)


@as_in_c
def _rows(its, strict):
    n = len(its)
    while n:
        items = []
        for i in range(n):
            done, x = advance(its[i])
            if done:
                if strict:
                    _check_all_ended(its, i)
                return PAUSED
            items.append(x)
        yield tuple(items)


@overlay(zip, arity=2)
@as_in_c
def _zip_of_two(a, b, *, strict=False):
    second = iter(b)
    for x in a:
        for y in second:
            yield x, y
            break
        else:
            if strict:
                raise ValueError("zip() argument 2 is shorter than argument 1")
            return PAUSED
    if strict:
        for _ in second:
            raise ValueError("zip() argument 2 is longer than argument 1")
    return PAUSED


@overlay(zip, arity=3)
@as_in_c
def _zip_of_three(a, b, c, *, strict=False):
    second, third = iter(b), iter(c)
    for x in a:
        for y in second:
            for z in third:
                yield x, y, z
                break
            else:
                if strict:
                    raise ValueError("zip() argument 3 is shorter than arguments 1-2")
                return PAUSED
            break
        else:
            if strict:
                raise ValueError("zip() argument 2 is shorter than argument 1")
            return PAUSED
    if strict:
        for _ in second:
            raise ValueError("zip() argument 2 is longer than argument 1")
        for _ in third:
            raise ValueError("zip() argument 3 is longer than arguments 1-2")
    return PAUSED


def _check_all_ended(its, ended):
    plural = " " if ended == 1 else "s 1-"
    if ended:
        raise ValueError(f"zip() argument {ended + 1} is shorter than argument{plural}{ended}")
    for i in range(1, len(its)):
        done, _ = advance(its[i])
        if not done:
            plural = " " if i == 1 else "s 1-"
            raise ValueError(f"zip() argument {i + 1} is longer than argument{plural}{i}")


FLOATS = (float, np.floating)
"""What Python refuses where it wants a whole number."""


@overlay(enumerate)
@as_in_c
def enumerate_(iterable, start=0):
    for x in iterable:
        yield start, x
        start += 1
    return PAUSED


@overlay(enumerate, classes=(object, FLOATS))
def _counted_by_floats(iterable, start):
    iter(iterable)
    raise TypeError(f"'{type(start).__name__}' object cannot be interpreted as an integer")


_OF_KEYS = (dict, MappingProxyType, *KEYS_VIEWS)
_VIEWS = (DictValues, DictItems)


@overlay(reversed)
def reversed_(sequence):
    own: Any = getattr(type(sequence), "__reversed__", None)
    if isinstance(sequence, _OF_KEYS) or isinstance(own, FunctionType):
        return own(sequence)
    if isinstance(sequence, (set, frozenset)):
        raise TypeError(f"'{type(sequence).__name__}' object is not reversible")
    return backwards(sequence, len(sequence) - 1)


def backwards(sequence: Any, last: int) -> Any:
    """The items of a sequence from number `last` on, which is found out before the first is asked for."""
    return reversed(sequence[: last + 1])


@overlay(backwards)
@as_in_c
def backwards_(sequence, last):
    if isinstance(sequence, _VIEWS):  # where it was taken for the list of what it shows
        for x in reversed(sequence):
            yield x
        return
    for i in range(last, -1, -1):
        if i >= len(sequence):
            return
        yield sequence[i]


@overlay(iter, arity=2)
@as_in_c
def _until(f, sentinel):
    while True:
        try:
            x = f()
        except StopIteration:
            return
        if x == sentinel:
            return
        yield x


@overlay(map)
def map_(f, *iterables):
    return _mapped(f, zip(*iterables))


@as_in_c
def _mapped(f, columns):
    for xs in columns:
        yield f(*xs)
    return PAUSED


@overlay(map, arity=2)
@as_in_c
def _map_of_one(f, iterable):
    for x in iterable:
        yield f(x)
    return PAUSED


@overlay(collections._count_elements)  # type: ignore[attr-defined]
def count_elements(mapping, iterable):
    for x in iterable:
        mapping[x] = mapping.get(x, 0) + 1


@overlay(filter)
@as_in_c
def filter_(f, iterable):
    for x in iterable:
        if x if f is None else f(x):
            yield x
    return PAUSED


@overlay(any)
def any_(iterable):
    for x in iterable:
        if x:
            return True
    return False


@overlay(all)
def all_(iterable):
    for x in iterable:
        if not x:
            return False
    return True


@overlay(sum)
def sum_(xs, start=0):
    for x in xs:
        start = start + x
    return start


_MISSING = object()


@overlay(functools.reduce)
def reduce_(f, iterable, initial=_MISSING):
    it = iter(iterable)
    if initial is _MISSING:
        done, acc = advance(it)
        if done:
            raise TypeError("reduce() of empty iterable with no initial value")
    else:
        acc = initial
    while True:
        done, x = advance(it)
        if done:
            return acc
        acc = f(acc, x)


@overlay(functools.reduce, arity=2)
def _reduce_from_first(f, iterable):
    started = False
    for x in iterable:
        if not started:
            acc = x
            started = True
        else:
            acc = f(acc, x)
    if not started:
        raise TypeError("reduce() of empty iterable with no initial value")
    return acc


@overlay(functools.reduce, arity=3)
def _reduce_from(f, iterable, initial):
    acc = initial
    for x in iterable:
        acc = f(acc, x)
    return acc
