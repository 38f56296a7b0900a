"""Iterators of values that carry derivatives: what stands for Python's own in derived code.

`Generator` runs the function a generator function was made into (`transform/generators.py`); `SequenceIterator` reads
a list, tuple or array by index. `advance` is the one operation on iterators of every kind. All of it is plain Python
where nothing is differentiated.
"""

from __future__ import annotations

import collections.abc
import operator
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from inspect import CO_GENERATOR
from types import CodeType, FunctionType, GeneratorType
from typing import Any, TypeVar

from mooncake_py.errors import UnsupportedError
from mooncake_py.exception_groups import exception_of
from mooncake_py.fields import make_object
from mooncake_py.ir.ops import check_least, check_length, check_unchanged, unpack_ex

F = TypeVar("F", bound=Callable)


class Generator:
    """A generator: what it knows between two items are attributes, `place` says where it stands.

    There is a class for each generator function (`transform/generators.py`). Its `resume(sent, thrown)` runs to the
    next item and returns `(done, value)`: an item, or the return value with the end.
    """

    __slots__ = ("place",)
    cleans_up: frozenset[int] = frozenset()
    """Where it has to clean up if it is left there, after a `try` or `with` around a `yield`."""

    writes: frozenset[str] = frozenset()
    """The attributes whose items it sets itself."""
    place: int
    resume: Callable[..., tuple[bool, Any]]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` asks for, where it is given the class of generators."""
        return class_shown(type(self))

    def resumed(self, sent: Any, thrown: BaseException | None) -> tuple[bool, Any]:
        """What it comes to when it goes on."""
        return goes_on(type(self).resume, self, sent, thrown)

    def __iter__(self) -> Generator:
        return self

    def __next__(self) -> Any:
        done, item = self.resumed(None, None)
        if done:
            raise ended(item)
        return item

    def send(self, value: Any) -> Any:
        done, item = self.resumed(value, None)
        if done:
            raise ended(item)
        return item

    def throw(self, exc: Any, value: Any = None, tb: Any = None) -> Any:
        done, item = self.resumed(None, exc() if isinstance(exc, type) else exc)
        if done:
            raise ended(item)
        return item

    def close(self) -> None:
        try:
            done, _ = self.resumed(None, GeneratorExit())
        except GeneratorExit:
            return
        if not done:
            raise RuntimeError("generator ignored GeneratorExit")


collections.abc.Generator.register(Generator)


def class_shown(cls: type) -> type:
    """The class that an object of this one says it is of."""
    return GeneratorType if issubclass(cls, Generator) and not issubclass(cls, Lasting) else cls


def goes_on(resume: Any, it: Generator, sent: Any, thrown: BaseException | None) -> Any:
    """What a generator with this code comes to."""
    try:
        return resume(it, sent, thrown)
    except StopIteration as e:
        raise RuntimeError("generator raised StopIteration") from e


def goes_on_as_in_c(resume: Any, it: Generator, sent: Any, thrown: BaseException | None) -> Any:
    """The same for a `Lasting` one."""
    try:
        return resume(it, sent, thrown)
    except StopIteration as e:
        check_stop(e)
        return True, None


def item_of(go_on: Any, resume: Any, it: Generator) -> Any:
    """`next(it)`, where `go_on` is one of these two."""
    done, item = go_on(resume, it, None, None)
    if done:
        raise ended(item)
    return item


def item_of_or(go_on: Any, resume: Any, it: Generator, default: Any) -> Any:
    """`next(it, default)`."""
    done, item = go_on(resume, it, None, None)
    return default if done else item


def items_of_generator(go_on: Any, resume: Any, it: Generator) -> Iterator[Any]:
    """What a loop over it gets."""
    while True:
        done, item = go_on(resume, it, None, None)
        if done:
            return
        yield item


def ended(value: Any) -> StopIteration:
    """What tells that there are no more items."""
    return StopIteration() if value is None else StopIteration(value)


class Lasting(Generator):
    """One that stands for an iterator written in C: an exception leaves it as it was when it gave its last item, and a
    StopIteration ends no more than what asked."""

    __slots__ = ()

    def resumed(self, sent: Any, thrown: BaseException | None) -> tuple[bool, Any]:
        return goes_on_as_in_c(type(self).resume, self, sent, thrown)


lasting: set[CodeType] = set()
"""Generator functions that stand for iterators written in C."""


def as_in_c(generator: F) -> F:
    """Let a generator function make iterators that are like those written in C."""
    assert isinstance(generator, FunctionType)
    lasting.add(generator.__code__)
    return generator


PAUSED = object()
"""What such a generator returns that has nothing to give now, but may have when it is asked again."""


def check_stop(exc: StopIteration) -> None:
    """Refuse the value of a StopIteration that ends such a generator: what asks is not told of it."""
    if exc.value is not None:
        raise UnsupportedError(
            "a StopIteration with a value out of a function that map, filter and the like call", "the call", None,
            "end the items otherwise: with itertools.takewhile, or in a loop",
        )  # fmt: skip


def keep_place() -> None:
    """In such a generator: an exception leaves it here, not where it gave its last item."""


def check_closed(generator: Generator) -> None:
    """Refuse a generator that its run has left where Python would have it clean up, nobody knows when."""
    if generator.place in generator.cleans_up:
        code = generator.resume.__code__
        raise UnsupportedError(
            f"leaving the generator {code.co_qualname.split('.')[-1]} inside its try or with",
            code.co_filename,
            code.co_firstlineno,
            "close it: `with contextlib.closing(...) as items:`, or read it to its end",
        )


def watched(generator: Generator) -> None:
    """Note that the run is to check, at its end, where it has left a generator."""


class SequenceIterator:
    """The iterator over what has a length and items; what is appended while it runs is seen, in a deque refused."""

    __slots__ = ("length", "position", "sequence")

    def __init__(self, sequence: Any):
        self.sequence = sequence
        self.position = 0
        self.length = len(sequence) if isinstance(sequence, deque) else None

    def __iter__(self) -> SequenceIterator:
        return self

    def __next__(self) -> Any:
        i = self.position
        if self.length is not None:
            check_unchanged(self.sequence, self.length)
        if i < 0 or i >= len(self.sequence):
            self.position = -1  # where it stays, whatever is appended then
            raise StopIteration
        self.position = i + 1
        return self.sequence[i]

    def place(self) -> int | None:
        """The place of the next item, which is given; None at the end."""
        i = self.position
        if self.length is not None:
            check_unchanged(self.sequence, self.length)
        if i < 0 or i >= len(self.sequence):
            self.position = -1
            return None
        self.position = i + 1
        return i

    def __length_hint__(self) -> int:
        return 0 if self.position < 0 else max(len(self.sequence) - self.position, 0)


def kept_iterator(x: Any) -> Any:
    """`iter(x)`, where the iterator is not only looped over: in derived code an object, as far as x is a sequence."""
    return iter(x)


def over_sequence(xs: Any, length: int | None = None) -> SequenceIterator:
    """The iterator over a list or array, made attribute by attribute: all of it is known at once."""
    it: SequenceIterator = make_object(SequenceIterator)
    it.sequence = xs
    it.position = 0
    it.length = length
    return it


def over_deque(xs: deque) -> SequenceIterator:
    """The same for a deque."""
    return over_sequence(xs, len(xs))


def over_tuple(xs: tuple) -> SequenceIterator:
    """The same for a tuple."""
    return over_sequence(list(xs))


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

    def __repr__(self) -> str:
        return f"dict_items({list(self)!r})"


def each_key(d: dict) -> Iterator[Any]:
    """What a loop over the keys of a dict goes by: the keys, as far as they are for looking up."""
    return iter(d)


def key_in(d: dict, key: Any) -> Any:
    """A key that is in the dict, as it is read back from there."""
    return key


KEYS_VIEWS: tuple[Any, ...] = (type({}.keys()), type(OrderedDict().keys()))
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


WAYS_TO_COLUMNS = frozenset({columns, all_columns, two_columns, three_columns, four_columns})


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


def _itself(self: Any) -> Any:
    return self


def _gives_one_iterator(method: Any) -> bool:
    """Does an `__iter__` surely give what is its own iterator: is it a generator function, or one that gives `self`?"""
    if type(method) is not FunctionType:
        return True
    code = method.__code__
    return bool(code.co_flags & CO_GENERATOR) or code.co_code == _itself.__code__.co_code


_ITEM_BY_ITEM: dict[Any, Callable[..., Any]] = {
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
