"""`itertools`: what CPython writes in C, as the Python that is differentiated in its place."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Sequence
from typing import Any

from mooncake_py.infer.types import COUNTS, Inst, Known, T, Top, Tup, join, widen
from mooncake_py.iterators import PAUSED, advance, as_in_c, keep_place
from mooncake_py.registry import infer_table, item_types, overlay, pure
from mooncake_rules.iteration import FLOATS

_f: Any  # what a table registers, one at a time


@overlay(itertools.accumulate)
@as_in_c
def accumulate_(iterable, func=operator.add, *, initial=None):
    acc = initial
    started = initial is not None
    if started:
        yield acc
    for x in iterable:
        if not started:
            acc = x
            started = True
        else:
            acc = acc + x if func is None else func(acc, x)
        yield acc
    return PAUSED


@overlay(itertools.accumulate, arity=1)
@as_in_c
def _accumulate_sums(iterable):
    started = False
    for x in iterable:
        if not started:
            acc = x
            started = True
        else:
            acc = acc + x
        yield acc
    return PAUSED


@overlay(itertools.accumulate, arity=2)
@as_in_c
def _accumulate_by(iterable, func):
    started = False
    for x in iterable:
        if not started:
            acc = x
            started = True
        elif func is None:
            acc = acc + x
        else:
            acc = func(acc, x)
        yield acc
    return PAUSED


@overlay(itertools.chain)
@as_in_c
def chain_(*iterables):
    for xs in iterables:
        it = iter(xs)
        keep_place()
        for x in it:
            yield x


# Of two or three, the items of which need not be of one type, nor be had in one way.
@overlay(itertools.chain, arity=2)
@as_in_c
def _chain_of_two(xs, ys):
    it = iter(xs)
    keep_place()
    for x in it:
        yield x
    it = iter(ys)
    keep_place()
    for x in it:
        yield x


@overlay(itertools.chain, arity=3)
def _chain_of_three(xs, ys, zs):
    return itertools.chain(xs, itertools.chain(ys, zs))


@overlay(itertools.chain.from_iterable)
@as_in_c
def chain_from_iterable_(iterables):
    for xs in iterables:
        it = iter(xs)
        keep_place()
        for x in it:
            yield x


@overlay(itertools.product)
def product_(*iterables, repeat=1):
    return _of_pools([tuple(xs) for xs in iterables] * repeat)


def _of_pools(pools):
    for places in itertools.product(*[range(len(pool)) for pool in pools]):
        yield tuple([pool[i] for pool, i in zip(pools, places)])


@overlay(itertools.product, arity=1)
def _product_with_itself(a, *, repeat=1):
    xs = list(a)
    if repeat == 2:
        return _pairs(xs, xs)
    if repeat == 3:
        return _triples(xs, xs, xs)
    return _of_pools([tuple(xs)] * repeat)


@overlay(itertools.product, arity=2)
def _product_of_two(a, b):
    return _pairs(list(a), list(b))


@overlay(itertools.product, arity=3)
def _product_of_three(a, b, c):
    return _triples(list(a), list(b), list(c))


def _pairs(a, b):
    for x in a:
        for y in b:
            yield x, y


def _triples(a, b, c):
    for x in a:
        for y in b:
            for z in c:
                yield x, y, z


@overlay(itertools.combinations)
def combinations_(iterable, r):
    if r == 2:
        return _two_of(list(iterable))
    if r == 3:
        return _three_of(list(iterable))
    pool = tuple(iterable)
    return _at(itertools.combinations(range(len(pool)), r), pool)


@overlay(itertools.combinations_with_replacement)
def combinations_with_replacement_(iterable, r):
    if r == 2:
        return _two_in_order(list(iterable))
    pool = tuple(iterable)
    return _at(itertools.combinations_with_replacement(range(len(pool)), r), pool)


@overlay(itertools.permutations)
def permutations_(iterable, r=None):
    if r == 2:
        return _two_apart(list(iterable))
    pool = tuple(iterable)
    return _at(itertools.permutations(range(len(pool)), r), pool)


def _at(choices, pool):
    for places in choices:
        yield tuple([pool[i] for i in places])


def _two_of(pool):
    n = len(pool)
    for i in range(n):
        for j in range(i + 1, n):
            yield pool[i], pool[j]


def _three_of(pool):
    n = len(pool)
    for i in range(n):
        for j in range(i + 1, n):
            for k in range(j + 1, n):
                yield pool[i], pool[j], pool[k]


def _two_in_order(pool):
    n = len(pool)
    for i in range(n):
        for j in range(i, n):
            yield pool[i], pool[j]


def _two_apart(pool):
    n = len(pool)
    for i in range(n):
        for j in range(n):
            if j != i:
                yield pool[i], pool[j]


# `islice` takes what it skips from the iterator, up to its stop where it is asked once more.


@overlay(itertools.islice, arity=2)
def _first_of(iterable, stop):
    limit = sys.maxsize if stop is None else stop
    if isinstance(limit, FLOATS) or limit < 0:
        raise ValueError("Stop argument for islice() must be None or an integer: 0 <= x <= sys.maxsize.")
    return _leading(iter(iterable), limit)


def _leading(it, limit):
    i = 0
    if limit > 0:
        for x in it:
            yield x
            i += 1
            if i >= limit:
                return


@overlay(itertools.islice, arity=3)
def _between(iterable, start, stop):
    first = 0 if start is None else start
    limit = sys.maxsize if stop is None else stop
    if isinstance(first, FLOATS) or isinstance(limit, FLOATS) or first < 0 or limit < 0:
        raise ValueError(_NO_INDEX)
    return _from_to(iter(iterable), first, limit)


def _from_to(it, first, limit):
    i = 0
    if first > 0 or limit > 0:
        for x in it:
            if i >= first:
                yield x
            i += 1
            if i >= first and i >= limit:
                return


@overlay(itertools.islice, arity=4)
def _every(iterable, start, stop, step):
    at = 0 if start is None else start
    limit = sys.maxsize if stop is None else stop
    stride = 1 if step is None else step
    if isinstance(at, FLOATS) or isinstance(limit, FLOATS) or at < 0 or limit < 0:
        raise ValueError(_NO_INDEX)
    if isinstance(stride, FLOATS) or stride < 1:
        raise ValueError("Step for islice() must be a positive integer or None.")
    return _by_stride(iter(iterable), at, limit, stride)


def _by_stride(it, at, limit, stride):
    i = 0
    if at > 0 or limit > 0:
        for x in it:
            if i == at:
                yield x
                at = min(at + stride, limit)
            i += 1
            if i >= at and i >= limit:
                return


_NO_INDEX = "Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize."


@overlay(itertools.count)
def count_(start=0, step=1):
    while True:
        yield start
        start = start + step


@overlay(itertools.repeat)
def repeat_(x, times=None):
    n = 0
    while times is None or n < times:
        yield x
        n += 1


@overlay(itertools.repeat, classes=(object, FLOATS))
def _repeated_by_floats(x, times):
    raise TypeError(f"'{type(times).__name__}' object cannot be interpreted as an integer")


@overlay(itertools.cycle)
@as_in_c
def cycle_(iterable):
    seen = []
    for x in iterable:
        seen.append(x)
        yield x
    while seen:
        for x in seen:
            yield x


@overlay(itertools.pairwise)
def pairwise_(iterable):
    return _neighbours(iter(iterable))


def _neighbours(it):
    started = False
    for b in it:
        if not started:
            a = b
            started = True
        else:
            yield a, b
            a = b


@overlay(itertools.starmap)
@as_in_c
def starmap_(f, iterable):
    for xs in iterable:
        yield f(*xs)
    return PAUSED


@overlay(itertools.takewhile)
@as_in_c
def takewhile_(f, iterable):
    for x in iterable:
        if not f(x):
            return
        yield x
    return PAUSED


@overlay(itertools.dropwhile)
@as_in_c
def dropwhile_(f, iterable):
    dropping = True
    for x in iterable:
        if not dropping or not f(x):
            dropping = False
            yield x
    return PAUSED


@overlay(itertools.filterfalse)
@as_in_c
def filterfalse_(f, iterable):
    for x in iterable:
        if not (x if f is None else f(x)):
            yield x
    return PAUSED


@overlay(itertools.compress)
def compress_(data, selectors):
    return _selected(zip(data, selectors))


@as_in_c
def _selected(pairs):
    for x, keep in pairs:
        if keep:
            yield x
    return PAUSED


@overlay(itertools.zip_longest)
def zip_longest_(*iterables, fillvalue=None):
    its = [iter(x) for x in iterables]
    n = len(its)
    open_ = [True] * n
    while True:
        items = []
        for i in range(n):
            x = fillvalue
            if open_[i]:
                done, y = advance(its[i])
                if done:
                    open_[i] = False
                else:
                    x = y
            items.append(x)
        if not any(open_):
            return
        yield tuple(items)


@overlay(itertools.zip_longest, arity=2)
def _zip_longest_of_two(a, b, *, fillvalue=None):
    second = iter(b)
    for x in a:
        for y in second:
            yield x, y
            break
        else:
            yield x, fillvalue
    for y in second:
        yield fillvalue, y


@overlay(itertools.groupby)
@as_in_c
def groupby_(iterable, key=None):
    source = iter(iterable)
    groups = 0  # the number of the one group that may still give items
    waiting = False  # is there an item that no group has given?
    item = current = None

    def group(source, mine, number):
        nonlocal waiting, item, current
        while groups == number:
            if not waiting:
                for item in source:
                    current = item if key is None else key(item)
                    waiting = True
                    break
                else:
                    return
            if not (mine is current or mine == current):
                return
            waiting = False
            yield item

    for item in source:
        current = item if key is None else key(item)
        waiting = True
        break
    else:
        return
    while True:
        groups += 1
        mine = current
        yield mine, group(source, mine, groups)
        groups += 1
        while mine is current or mine == current:
            for item in source:
                current = item if key is None else key(item)
                waiting = True
                break
            else:
                return


@overlay(itertools.tee)
def tee_(iterable, n=2):
    if n < 0:
        raise ValueError("n must be >= 0")
    source = iter(iterable)
    seen: list[Any] = []
    branches = []
    for _ in range(n):
        branches.append(_branch(source, seen))
    return tuple(branches)


@overlay(itertools.tee, arity=1)
def _tee_of_two(iterable):
    source = iter(iterable)
    seen: list[Any] = []
    return _branch(source, seen), _branch(source, seen)


@as_in_c
def _branch(source, seen):
    i = 0
    while True:
        if i == len(seen):
            for x in source:
                seen.append(x)
                break
            else:
                return
        yield seen[i]
        i += 1


def batched_(iterable, n, *, strict=False):
    if n < 1:
        raise ValueError("n must be at least one")
    return _batches(iter(iterable), n, strict)


def _batches(source, n, strict):
    while True:
        batch: list[Any] = []
        while len(batch) < n:
            done, x = advance(source)
            if done:
                break
            batch.append(x)
        if not batch:
            return
        if strict and len(batch) < n:
            raise ValueError("batched(): incomplete batch")
        yield tuple(batch)


def _several(gives: Sequence[T], given: Sequence[T], named: dict[str, T]) -> T | None:
    """Combinations and the like of a number of items that is known."""
    r = given[1] if len(given) == 2 else named.get("r")
    return Tup((widen(gives[0]),) * r.value) if gives and isinstance(r, Known) and type(r.value) is int else None


def _of_each(gives: Sequence[T], given: Sequence[T], named: dict[str, T]) -> T | None:
    """What `product` gives."""
    n = named.get("repeat", Known(1))
    return Tup(tuple(map(widen, gives)) * n.value) if isinstance(n, Known) and type(n.value) is int else None


def _to_the_longest(gives: Sequence[T], given: Sequence[T], named: dict[str, T]) -> T:
    """What `zip_longest` gives."""
    fill = widen(named.get("fillvalue", Known(None)))
    return Tup(tuple([join(widen(t), fill) for t in gives]))


def _count_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    whole = all(type(widen(t)) is Inst and widen(t).cls is int for t in (*args, *kwargs.values()))  # type: ignore[attr-defined]
    return COUNTS if whole else Top(any(t.active for t in (*args, *kwargs.values())))


infer_table[itertools.count] = _count_type
for _f in (itertools.combinations, itertools.combinations_with_replacement, itertools.permutations):
    item_types[_f] = _several
item_types[itertools.product] = _of_each
item_types[itertools.zip_longest] = _to_the_longest
item_types[itertools.pairwise] = lambda gives, given, named: Tup((widen(gives[0]), widen(gives[0])))
item_types[itertools.islice] = item_types[itertools.cycle] = lambda gives, given, named: widen(gives[0])
item_types[itertools.chain] = lambda gives, given, named: functools.reduce(join, map(widen, gives)) if gives else None
item_types[itertools.repeat] = lambda gives, given, named: widen(given[0]) if given else None

if hasattr(itertools, "batched"):
    overlay(itertools.batched)(batched_)

pure.update({zip, enumerate, reversed})
