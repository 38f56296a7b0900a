"""What compares values and puts them in order: the comparisons have no derivative, what is moved keeps its own.

`max`, `min`, `sorted` with keys, heaps, bisection.
"""

from __future__ import annotations

import bisect
import heapq
from typing import Any

from mooncake_py.infer.types import Inst, Known, Lst, T, join
from mooncake_py.iterators import advance
from mooncake_py.registry import asking_items, infer_table, overlay, zero_derivative
from mooncake_rules.containers.rearranged import places_in_order, put_in_order

_f: Any


@overlay(sorted)
def sorted_(xs, *, key=None, reverse=False):
    ys = list(xs)
    ys.sort(key=key, reverse=reverse)
    return ys


@overlay(list.sort)
def sort_(xs, *, key=None, reverse=False):
    """With a key: a function of the user's, which may do more than compare."""
    if key is None:
        list.sort(xs, reverse=reverse)
    else:
        put_in_order(xs, places_in_order(keys_of(key, xs), reverse))


# -- the greatest and the least ---------------------------------------------------------------------------


def place_of_greatest(keys):
    """Where the first of the greatest is."""
    return max(range(len(keys)), key=keys.__getitem__)


def place_of_least(keys):
    return min(range(len(keys)), key=keys.__getitem__)


def keys_of(key, items):
    keys = []
    for x in items:
        keys.append(key(x))
    return keys


_MISSING = object()


@overlay(max)
def max_(*xs, key=None):
    items = list(xs)
    return items[place_of_greatest(items if key is None else keys_of(key, items))]


@overlay(min)
def min_(*xs, key=None):
    items = list(xs)
    return items[place_of_least(items if key is None else keys_of(key, items))]


@overlay(max, arity=1)
def _max_of(xs, *, key=None, default=_MISSING):
    items = list(xs)
    if default is not _MISSING and len(items) == 0:
        return default
    return items[place_of_greatest(items if key is None else keys_of(key, items))]


@overlay(min, arity=1)
def _min_of(xs, *, key=None, default=_MISSING):
    items = list(xs)
    if default is not _MISSING and len(items) == 0:
        return default
    return items[place_of_least(items if key is None else keys_of(key, items))]


@overlay(max, arity=2)
def _max_of_two(a, b, *, key=None):
    if key is None:
        return b if b > a else a
    first = key(a)
    return b if key(b) > first else a


@overlay(min, arity=2)
def _min_of_two(a, b, *, key=None):
    if key is None:
        return b if b < a else a
    first = key(a)
    return b if key(b) < first else a


# -- heaps ------------------------------------------------------------------------------------------------


def way_up(heap):
    """The places that the last item passes until its parent is not greater, its own first."""
    item, at = heap[-1], len(heap) - 1
    way = [at]
    while at > 0:
        at = (at - 1) // 2
        if not item < heap[at]:
            break
        way.append(at)
    return way


def way_down(heap, item, at):
    """The places that a new item at this place passes: to a leaf, always by the lesser child, and up again."""
    way, n = [at], len(heap)
    child = 2 * at + 1
    while child < n:
        other = child + 1
        if other < n and not heap[child] < heap[other]:
            child = other
        way.append(child)
        child = 2 * child + 1
    while len(way) > 1 and item < heap[way[-1]]:
        way.pop()
    return way


def move_along(heap, way, item):
    """The items at these places, each moved to the place before, and this one at the last."""
    last = len(way) - 1
    for k in range(last):
        heap[way[k]] = heap[way[k + 1]]
    heap[way[last]] = item


@overlay(heapq.heappush)
def heappush_(heap, item):
    heap.append(item)
    move_along(heap, way_up(heap), item)


@overlay(heapq.heapreplace)
def heapreplace_(heap, item):
    first = heap[0]
    move_along(heap, way_down(heap, item, 0), item)
    return first


@overlay(heapq.heappop)
def heappop_(heap):
    last = heap.pop()
    if len(heap) == 0:
        return last
    first = heap[0]
    move_along(heap, way_down(heap, last, 0), last)
    return first


@overlay(heapq.heappushpop)
def heappushpop_(heap, item):
    if len(heap) > 0 and heap[0] < item:
        first = heap[0]
        move_along(heap, way_down(heap, item, 0), item)
        return first
    return item


def _of_heap(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    """The type of what a heap gives: one of its items, or what is put into it."""
    if kwargs or not args or not isinstance(args[0], Lst):
        return None
    return join(args[0].elem, args[1]) if len(args) > 1 else args[0].elem


for _f in (heapq.heappop, heapq.heapreplace, heapq.heappushpop):
    infer_table[_f] = _of_heap
for _f in (heapq.heappush, heapq.heapify):
    infer_table[_f] = lambda args, kwargs: Known(None)


@overlay(heapq.heapify)
def heapify_(heap):
    for i in range(len(heap) // 2 - 1, -1, -1):
        item = heap[i]
        move_along(heap, way_down(heap, item, i), item)


@overlay(heapq.nlargest)
def nlargest_(n, iterable, key=None):
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


@overlay(heapq.nsmallest)
def nsmallest_(n, iterable, key=None):
    return sorted(iterable, key=key)[: max(n, 0)]


@overlay(heapq.merge)
def merge_(*iterables, key=None, reverse=False):
    sources, items, keys = [], [], []
    for xs in iterables:
        source = iter(xs)
        done, x = advance(source)
        if not done:
            sources.append(source)
            items.append(x)
            keys.append(x if key is None else key(x))
    while len(items) > 0:
        k = place_of_greatest(keys) if reverse else place_of_least(keys)
        yield items[k]
        done, x = advance(sources[k])
        if done:
            del sources[k], items[k], keys[k]
        else:
            items[k] = x
            keys[k] = x if key is None else key(x)


# -- bisection --------------------------------------------------------------------------------------------


def place_right(xs, mark, lo, hi):
    return bisect.bisect_right(xs, mark, lo, hi)


def place_left(xs, mark, lo, hi):
    return bisect.bisect_left(xs, mark, lo, hi)


@overlay(bisect.bisect_right)
def bisect_right_(a, x, lo=0, hi=None, *, key=None):
    hi = len(a) if hi is None else hi
    if key is None:
        return place_right(a, x, lo, hi)
    if lo < 0:
        raise ValueError("lo must be non-negative")
    while lo < hi:
        mid = (lo + hi) // 2
        if x < key(a[mid]):
            hi = mid
        else:
            lo = mid + 1
    return lo


@overlay(bisect.bisect_left)
def bisect_left_(a, x, lo=0, hi=None, *, key=None):
    hi = len(a) if hi is None else hi
    if key is None:
        return place_left(a, x, lo, hi)
    if lo < 0:
        raise ValueError("lo must be non-negative")
    while lo < hi:
        mid = (lo + hi) // 2
        if key(a[mid]) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@overlay(bisect.insort_right)
def insort_right_(xs, x, lo=0, hi=None, *, key=None):
    mark = x if key is None else key(x)
    xs.insert(bisect.bisect_right(xs, mark, lo, len(xs) if hi is None else hi, key=key), x)


@overlay(bisect.insort_left)
def insort_left_(xs, x, lo=0, hi=None, *, key=None):
    mark = x if key is None else key(x)
    xs.insert(bisect.bisect_left(xs, mark, lo, len(xs) if hi is None else hi, key=key), x)


for _f in (place_of_greatest, place_of_least, place_left, place_right):
    zero_derivative(_f)
    asking_items.add(_f)
    infer_table[_f] = lambda args, kwargs: Inst(int)
for _f in (way_up, way_down, places_in_order):
    zero_derivative(_f)
    asking_items.add(_f)
    infer_table[_f] = lambda args, kwargs: Lst(Inst(int))
