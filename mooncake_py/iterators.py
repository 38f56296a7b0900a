"""Iterators of values that carry derivatives: what stands for Python's own in derived code.

`advance` is the one operation on iterators of every kind (those that are objects: `kept_iterators.py`). All of it is
plain Python where nothing is differentiated.
"""

from __future__ import annotations

import collections.abc
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from inspect import CO_GENERATOR
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, TypeVar

from mooncake_py.exception_groups import exception_of
from mooncake_py.ir.ops import check_least, check_length, unpack, unpack_ex
from mooncake_py.kept_iterators import Generator

F = TypeVar("F", bound=Callable)


lasting: set[CodeType] = set()
"""Generator functions that stand for iterators written in C."""


def as_in_c(generator: F) -> F:
    """Let a generator function make iterators that are like those written in C."""
    assert isinstance(generator, FunctionType)
    lasting.add(generator.__code__)
    return generator


PAUSED = object()
"""What such a generator returns that has nothing to give now, but may have when it is asked again."""


def keep_place() -> None:
    """In such a generator: an exception leaves it here, not where it gave its last item."""


class DictValues(collections.abc.ValuesView):
    """`dict.values()` where it is kept: what is put into the dict later is seen."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        d = self._mapping  # type: ignore[attr-defined]
        for key in d:
            yield dict.__getitem__(d, key)

    def __reversed__(self) -> Iterator[Any]:
        d = self._mapping  # type: ignore[attr-defined]
        for key in reversed(d):
            yield dict.__getitem__(d, key)

    @property
    def mapping(self) -> MappingProxyType:
        return MappingProxyType(self._mapping)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"dict_values({list(self)!r})"


class DictItems(collections.abc.ItemsView):
    """`dict.items()` where it is kept."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        d = self._mapping  # type: ignore[attr-defined]
        for key in d:
            yield key, dict.__getitem__(d, key)

    def __reversed__(self) -> Iterator[Any]:
        d = self._mapping  # type: ignore[attr-defined]
        for key in reversed(d):
            yield key, dict.__getitem__(d, key)

    @property
    def mapping(self) -> MappingProxyType:
        return MappingProxyType(self._mapping)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"dict_items({list(self)!r})"


def each_key(d: dict) -> Iterator[Any]:
    """What a loop over the keys of a dict goes by: the keys, as far as they are for looking up."""
    return iter(d)


def key_in(d: dict, key: Any) -> Any:
    """A key that is in the dict, as it is read back from there."""
    return key


KEYS_VIEWS: tuple[Any, ...] = (type({}.keys()), type(OrderedDict().keys()))
DICT_VIEWS = frozenset({f for k in (dict, OrderedDict) for f in (k.keys, k.values, k.items)})
KEY_ITERATORS: frozenset[Any] = frozenset(map(type, (iter({}), reversed({}), iter(OrderedDict()), iter(set()))))


def advance(it: Any, sent: Any = None, thrown: BaseException | None = None) -> tuple[bool, Any]:
    """The next item of an iterator as `(False, item)`, or `(True, value)` with the return value at its end.

    `sent` and `thrown` are what a generator's `send` and `throw` bring.
    """
    if issubclass(type(it), Generator):
        return it.resumed(sent, thrown)
    try:
        if thrown is not None:
            if isinstance(thrown, GeneratorExit):
                if hasattr(it, "close"):
                    it.close()
                raise thrown
            if not hasattr(it, "throw"):
                raise thrown
            return False, it.throw(thrown)
        if sent is not None:
            return False, it.send(sent)
        return False, next(it)
    except StopIteration as e:
        return True, e.value


def items_by_index(xs: Any) -> Iterator[Any]:
    """What iterating over a sequence gives."""
    i = 0
    while i < len(xs):
        yield xs[i]
        i += 1


def iterating(method: Any, x: Any) -> Iterator[Any]:
    """What a loop over x gets, of which `method` is the `__iter__`."""
    it = method(x)
    while True:
        try:
            item = next(it)
        except StopIteration:
            return
        yield item


def asked(it: Any) -> Iterator[Any]:
    """What a loop over an iterator of the user's gets."""
    while True:
        try:
            item = next(it)
        except StopIteration:
            return
        yield item


def next_of_object(it: Any, default: Any) -> Any:
    """`next(it, default)` of an iterator of the user's."""
    try:
        return next(it)
    except StopIteration:
        return default


# What asks for items, as loops: where the iterator is known these become part of its code.


def next_item(it: Any) -> Any:
    """`next(it)`."""
    for x in it:
        return x
    raise StopIteration


def next_or(it: Any, default: Any) -> Any:
    """`next(it, default)`."""
    for x in it:
        return x
    return default


def item_within(it: Any) -> Any:
    """`next(it)` in a generator: the end of the iterator is not the generator's."""
    for x in it:
        return x
    raise RuntimeError("generator raised StopIteration")


def found_among(it: Any, key: Any) -> bool:
    """`key in it`, which takes items up to the one that is looked for."""
    return any(x is key or x == key for x in it)


def columns(rows: list) -> Iterator[list]:
    """What `zip(*rows)` gives, in lists."""
    rows = list(rows)
    i = 0
    while i < shortest(rows):
        yield [row[i] for row in rows]
        i += 1


def tuple_columns(rows: list) -> Iterator[tuple]:
    """The same, in tuples as Python gives them."""
    rows = list(rows)
    i = 0
    while i < shortest(rows):
        yield tuple([row[i] for row in rows])
        i += 1


def check_same_length(*xs: Any) -> None:
    """Raise what `zip(*xs, strict=True)` does at its end."""
    if len(set(map(len, xs))) > 1:
        deque(zip(*[range(len(x)) for x in xs], strict=True), 0)


def shortest(rows: list) -> int:
    """The length of the shortest row, 0 where there is none."""
    return min(map(len, rows), default=0)


def all_columns(rows: list) -> list[list]:
    """All of them."""
    return [[row[i] for row in rows] for i in range(shortest(rows))]


def all_tuples(rows: list) -> list[tuple]:
    """The same, in tuples."""
    found = []
    for i in range(shortest(rows)):
        column = []
        for row in rows:
            column.append(row[i])
        found.append(tuple(column))
    return found


def two_columns(rows: list) -> tuple[list, list]:
    """The same, rows being pairs, for somebody who wants two."""
    if not rows:
        check_length(rows, 2)
    return [row[0] for row in rows], [row[1] for row in rows]


def three_columns(rows: list) -> tuple[list, list, list]:
    """The same for three."""
    if not rows:
        check_length(rows, 3)
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def four_columns(rows: list) -> tuple[list, list, list, list]:
    """The same for four."""
    if not rows:
        check_length(rows, 4)
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], [row[3] for row in rows]


WAYS_TO_COLUMNS = frozenset({columns, tuple_columns, all_columns, all_tuples, two_columns, three_columns, four_columns})


def tuple_as_list(xs: Any) -> Any:
    """A list to walk in place of a tuple, where it may be either."""
    return list(xs) if isinstance(xs, tuple) else xs


def thrown_into(it: Any, exc: BaseException) -> Iterator[Any]:
    """The item, if any, that a generator yields when `exc` is thrown into it; what asks must not ask for another."""
    done, item = advance(it, None, exc)
    if not done:
        yield item


def sent_into(it: Any, value: Any) -> Iterator[Any]:
    """The item, if any, that a generator yields when it is sent `value`; what asks must not ask for another."""
    done, item = advance(it, value)
    if not done:
        yield item


def item_sent_for(it: Any, value: Any) -> Any:
    """`it.send(value)`."""
    for x in sent_into(it, value):
        return x
    raise StopIteration


def item_thrown_for(it: Any, exc: Any) -> Any:
    """`it.throw(exc)`."""
    for x in thrown_into(it, exception_of(exc)):
        return x
    raise StopIteration


def close_it(it: Any) -> None:
    """`it.close()`."""
    try:
        for _ in thrown_into(it, GeneratorExit()):
            raise RuntimeError("generator ignored GeneratorExit")
    except (GeneratorExit, StopIteration):
        pass


def items_left(it: Any) -> list:
    """All that the iterator has yet to give."""
    items = []
    for x in it:
        items.append(x)
    return items


def _extend(xs: Any, it: Any) -> None:
    for x in it:
        list.append(xs, x)


def _add(xs: Any, it: Any) -> Any:
    for x in it:
        list.append(xs, x)
    return xs


def _extend_deque(xs: Any, it: Any) -> None:
    for x in it:
        deque.append(xs, x)


def _extend_left(xs: Any, it: Any) -> None:
    for x in it:
        deque.appendleft(xs, x)


def _add_to_deque(xs: Any, it: Any) -> Any:
    for x in it:
        deque.append(xs, x)
    return xs


def _unpack(xs: Any, n: int) -> tuple:
    """`a, b = xs`: an iterator is asked for one item more than there are names, to see that it has none."""
    items = []
    for x in xs:
        items.append(x)
        if len(items) > n:
            break
    return unpack(items, n)


def _unpack_ex(xs: Any, before: int, after: int) -> Any:
    """`a, *b, c = xs`: an iterator gives the first ones; the others are in a list of that, which is asked for one."""
    it = iter(xs)
    first = []
    for _ in range(before):
        try:
            first.append(next(it))
        except StopIteration:
            check_least(first, before + after)
    rest = list(it)
    cut = len(rest) - after
    if cut < 0:
        check_least(first + rest, before + after)
    return (*first, rest[:cut], *rest[cut:])


def _is_asked(cls: type | None) -> bool:
    """Is an object of this class an iterator, or gives one that Python code runs in?"""
    return cls is None or hasattr(cls, "__next__") or type(getattr(cls, "__iter__", None)) is FunctionType


def _itself(self: Any) -> Any:
    return self


def _gives_one_iterator(method: Any) -> bool:
    """Does an `__iter__` surely give what is its own iterator: is it a generator function, or one that gives `self`?"""
    if type(method) is not FunctionType:
        return True
    code = method.__code__
    return bool(code.co_flags & CO_GENERATOR) or code.co_code == _itself.__code__.co_code


_ITEM_BY_ITEM: dict[Any, Callable[..., Any]] = {
    unpack: _unpack,
    unpack_ex: _unpack_ex,
    list.extend: _extend,
    list.__iadd__: _add,
    deque.extend: _extend_deque,
    deque.extendleft: _extend_left,
    deque.__iadd__: _add_to_deque,
}


def item_by_item(f: Any, cls: type | None) -> Callable[..., Any] | None:
    """What f does to an object of this class, where it takes items one by one: those that came before the iterator
    raised stay where they were put."""
    if f is unpack and not _is_asked(cls):
        return None
    if f is unpack_ex and (cls is None or _gives_one_iterator(getattr(cls, "__iter__", None))):
        return None
    if f is operator.iadd and cls is not None:
        f = cls.__dict__.get("__iadd__") if cls in (list, deque) else None
    return _ITEM_BY_ITEM.get(f)


def items_measured(xs: Any) -> list:
    """The same of what is asked for its length before."""
    it = iter(xs)
    len(xs)
    return items_left(it)


def items_hinted(xs: Any) -> list:
    """The same of what is asked for a guess of it."""
    it = iter(xs)
    xs.__length_hint__()
    return items_left(it)
