"""A generator function and the function it is split into do the same, without any derivative."""

from __future__ import annotations

import copy
import itertools
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py.frontend import normalise
from mooncake_py.frontend.reducible import make_reducible
from mooncake_py.frontend.ssa import SSABuilder
from mooncake_py.ir.graph import loops
from mooncake_py.ir.nodes import Const, Fresh, Function
from mooncake_py.ir.verify import verify
from mooncake_py.iterators import advance
from mooncake_py.kept_iterators import Generator, SequenceIterator
from mooncake_py.lowering import lower
from mooncake_py.transform.generators import as_function


def split(f: types.FunctionType) -> Callable[..., Any]:
    """f with its generators run by the function they are split into."""
    maker = as_function(normalise(f.__code__), f.__code__, f.__globals__)
    verify(maker)
    code = lower(maker, argnames=f.__code__.co_varnames[: f.__code__.co_argcount])
    return types.FunctionType(code, f.__globals__, f.__name__, f.__defaults__, f.__closure__)


def counting(n):
    i = 0
    while i < n:
        yield i
        i += 1
    return "end"


def nested(n):
    for i in range(n):
        for j in range(i):
            if j == 2:
                continue
            yield i, j
        else:
            yield "inner"
        while i > 3:
            yield i
            i -= 1


def two_loops(xs):
    seen = []
    for x in xs:
        yield x
        seen.append(x)
    while seen:
        for x in seen:
            yield x
        seen.pop()


def echo():
    got = yield "first"
    while got is not None:
        got = yield got * 2


def delegating(n):
    r = yield from counting(n)
    yield r
    yield from [1, 2]
    return r


def guarded(log):
    try:
        for i in range(5):
            try:
                yield i
            except ValueError as e:
                log.append(str(e))
                yield "caught"
    finally:
        log.append("closed")


def yields_while_handling(log):
    try:
        raise KeyError("outer")
    except KeyError:
        try:
            yield 1
            raise ValueError("inner")
        except ValueError as e:
            got = yield str(e.__context__)
            log.append(repr(sys.exc_info()[1]))
            yield got
        log.append(repr(sys.exc_info()[1]))
    log.append(repr(sys.exc_info()[1]))
    yield 4


def stubborn():
    try:
        yield 1
    except GeneratorExit:
        yield 2


def wrong():
    yield 1
    raise StopIteration(3)


def drive(g: Any, sends: tuple[Any, ...]) -> list[Any]:
    """What comes out of a generator for these sends; an exception is thrown, a string is a method to call."""
    out: list[Any] = []
    for s in sends:
        try:
            if isinstance(s, Exception):
                out.append(g.throw(s))
            elif s == "close":
                out.append(g.close())
            else:
                out.append(g.send(s))
        except BaseException as e:
            out.append((type(e), str(e), getattr(e, "value", None)))
    return out


@pytest.mark.parametrize("f, args, sends", [
    (counting, (3,), (None,) * 6),
    (counting, (3,), (None, "close", None)),
    (counting, (0,), (None, None)),
    (nested, (6,), (None,) * 30),
    (two_loops, ([1, 2, 3],), (None,) * 12),
    (echo, (), (None, 3, 4, None, 5)),
    (delegating, (2,), (None,) * 8),
    (delegating, (2,), (None, ValueError("in"), None)),
    (guarded, ([],), (None, None, ValueError("bad"), None, None, "close", None)),
    (guarded, ([],), (None, KeyError("other"), None)),
    (guarded, ([],), (ValueError("before"), None)),
    (yields_while_handling, ([],), (None, None, 7, None, None)),
    (yields_while_handling, ([],), (None, None, RuntimeError("thrown"), None)),
    (stubborn, (), (None, "close")),
    (wrong, (), (None, None, None)),
])  # fmt: skip
def test_split_generator_does_the_same(f: types.FunctionType, args: tuple[Any, ...], sends: tuple[Any, ...]) -> None:
    mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
    got, want = split(f)(*mine), f(*theirs)
    assert isinstance(got, Generator)
    assert drive(got, sends) == drive(want, sends)
    assert sys.exc_info()[1] is None, "an exception that a generator handles is nobody else's"
    assert mine == theirs


def test_generators_share_the_cells_of_their_function() -> None:
    total = 0

    def adding(xs):
        nonlocal total
        for x in xs:
            total += x
            yield total

    assert list(split(adding)([1, 2, 3])) == [1, 3, 6]
    assert total == 6


def test_a_cycle_with_two_entries_gets_one() -> None:
    builder = SSABuilder(Fresh())
    first, second, out = (builder.new_block() for _ in range(3))
    builder.branch(builder.entry, Const(True), first, second)
    builder.branch(first, Const(True), second, out)
    builder.goto(second, first)
    builder.ret(out, Const(None))
    make_reducible(builder)
    fn = Function("f", "file", (), (), builder.finish())
    verify(fn)
    (body,) = loops(fn).values()  # an irreducible cycle has no header, so it is no loop
    assert len(body) >= 2


def test_advance_of_every_kind_of_iterator() -> None:
    for it in (iter([1]), SequenceIterator([1]), counting(1), split(counting)(1)):
        first = advance(it)
        assert first in ((False, 1), (False, 0))
        done, value = advance(it)
        assert done and value in (None, "end")


def test_sequence_iterator_sees_appends_and_stays_ended() -> None:
    xs = [1]
    it = SequenceIterator(xs)
    assert next(it) == 1
    xs.append(2)
    assert list(itertools.islice(it, 5)) == [2]
    xs.append(3)
    assert list(it) == []
