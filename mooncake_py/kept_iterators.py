"""Iterators that are kept, as objects: generators, and iterators over sequences.

Their code is differentiated as that of the user's classes is; there is no derivative in it.
"""

from __future__ import annotations

import collections.abc
from collections import deque
from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import make_object
from mooncake_py.ir.ops import check_unchanged


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


def check_stop(exc: StopIteration) -> None:
    """Refuse the value of a StopIteration that ends such a generator: what asks is not told of it."""
    if exc.value is not None:
        raise UnsupportedError(
            "a StopIteration with a value out of a function that map, filter and the like call", "the call", None,
            "end the items otherwise: with itertools.takewhile, or in a loop",
        )  # fmt: skip


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
