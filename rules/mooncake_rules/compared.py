"""What C code that compares does, step by step: for objects whose methods change something, which are derived."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

from mooncake_py.registry import in_steps
from mooncake_py.runtime.python import run_python
from mooncake_py.runtime.results import Given
from mooncake_py.tangents import ListShadow
from mooncake_py.unwinding import Raised
from mooncake_rules import ordering
from mooncake_rules.containers.rearranged import places_in_order, put_in_order

_f: Any


def _steps(*targets, kinds=()):
    """Calls of these functions, with leading arguments of these kinds, are calls of the decorated function."""

    def decorate(fn):
        def handle(call, args, fargs, kwargs):
            fits = not kwargs and all(isinstance(x, kind) for x, kind in zip(args, kinds, strict=False))
            return run_python(fn, None, Given(args, fargs), _is_protected(call)) if fits else None

        for f in targets:
            in_steps[f] = handle
        return fn

    return decorate


def _is_protected(call):
    return bool(getattr(call, "keywords", {}).get("protected"))


# -- sorting ----------------------------------------------------------------------------------------------


class _Key:
    """A key that is compared by a call whose pullback is kept."""

    __slots__ = ("call", "fx", "pulls", "x")

    def __init__(self, call, pulls, x, fx):
        self.call, self.pulls, self.x, self.fx = call, pulls, x, fx

    def __lt__(self, other):
        y, fy, pb = self.call(operator.lt, None, (self.x, other.x), (self.fx, other.fx))
        self.pulls.append(pb)
        if type(y) is Raised:
            raise y.exc
        truth, _, pb = self.call(bool, None, (y,), (fy,))
        self.pulls.append(pb)
        if type(truth) is Raised:
            raise truth.exc
        return truth


def _sorted_places(call, args, fargs, kwargs):
    """`places_in_order`: the sorting is Python's own, so that the comparisons are those that it makes."""
    if kwargs:
        return None
    keys, reverse = args
    fs = fargs[0].f if isinstance(fargs[0], ListShadow) else [None] * len(keys)
    pulls: list[Any] = []
    wrapped = [_Key(call, pulls, x, fx) for x, fx in zip(keys, fs, strict=True)]

    def pullback(_):
        for pb in reversed(pulls):
            if pb is not None:
                pb(None)
        return None

    try:
        return sorted(range(len(keys)), key=wrapped.__getitem__, reverse=reverse), None, pullback
    except BaseException as e:
        if not _is_protected(call):
            raise
        return Raised(e), None, pullback


in_steps[places_in_order] = _sorted_places


def _sort(xs, reverse):
    put_in_order(xs, places_in_order(list(xs), reverse))


def _sorted_list(call, args, fargs, kwargs):
    fits = len(args) == 1 and kwargs.keys() <= {"reverse"}
    if not fits:
        return None
    y, fy, pb = call(_sort, None, (*args, kwargs.get("reverse", False)), (*fargs, None))
    return y, fy, None if pb is None else lambda dy: (pb(dy), None)[1]


in_steps[list.sort] = _sorted_list


# -- the greatest, heaps, bisection -----------------------------------------------------------------------


@_steps(ordering.place_of_greatest)
def _place_of_greatest(keys):
    at = 0
    for i in range(1, len(keys)):
        if keys[i] > keys[at]:
            at = i
    return at


@_steps(ordering.place_of_least)
def _place_of_least(keys):
    at = 0
    for i in range(1, len(keys)):
        if keys[i] < keys[at]:
            at = i
    return at


for _f in (ordering.way_up, ordering.way_down):
    _steps(_f)(_f)


@_steps(ordering.place_right)
def _place_right(xs, mark, lo, hi):
    while lo < hi:
        mid = (lo + hi) // 2
        if mark < xs[mid]:
            hi = mid
        else:
            lo = mid + 1
    return lo


@_steps(ordering.place_left)
def _place_left(xs, mark, lo, hi):
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < mark:
            lo = mid + 1
        else:
            hi = mid
    return lo


# -- searching --------------------------------------------------------------------------------------------

_SEQUENCES = (list, tuple, deque)


@_steps(operator.contains, kinds=(_SEQUENCES,))
def _contains(xs, y):
    return any(x is y or x == y for x in xs)


@_steps(list.index, tuple.index)
def _index(xs, y, start=0, stop=None):
    for i in range(len(xs))[start:stop]:
        if xs[i] is y or xs[i] == y:
            return i
    raise ValueError(f"{'tuple.index(x): x not in tuple' if isinstance(xs, tuple) else 'list.index(x): x not in list'}")


@_steps(list.count, tuple.count)
def _count(xs, y):
    n = 0
    for x in xs:
        if x is y or x == y:
            n += 1
    return n


@_steps(list.remove)
def _remove(xs, y):
    for i in range(len(xs)):
        if xs[i] is y or xs[i] == y:
            del xs[i]
            return
    raise ValueError("list.remove(x): x not in list")


# -- comparing item by item -------------------------------------------------------------------------------


def _of_items(compare, whole):
    def steps(a, b):
        for x, y in zip(a, b):  # noqa: B905  (the shorter one is the lesser)
            if not (x is y or x == y):
                return compare(x, y)
        return whole(len(a), len(b))

    return steps


def _same_items(a, b):
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):  # noqa: B905, SIM110
        if not (x is y or x == y):
            return False
    return True


def _other_items(a, b):
    return not _same_items(a, b)


def _compared(steps):
    def handle(call, args, fargs, kwargs):
        if len(args) == 2 and not kwargs:
            for kind in _SEQUENCES:
                if all(isinstance(x, kind) for x in args):
                    return run_python(steps, None, Given(args, fargs), _is_protected(call))
        return None

    return handle


for _f in (operator.lt, operator.le, operator.gt, operator.ge):
    in_steps[_f] = _compared(_of_items(_f, _f))
in_steps[operator.eq], in_steps[operator.ne] = _compared(_same_items), _compared(_other_items)
