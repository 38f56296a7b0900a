"""Iterators whose code is known leave no iterator behind; where a generator may stand is known from its body."""

from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest

import mooncake_py
from mooncake_py.frontend import normalise
from mooncake_py.infer.inferred import Inferred
from mooncake_py.ir.nodes import Call
from mooncake_py.runtime import rule
from mooncake_py.transform import asking
from mooncake_py.transform.suspended import FINISHED, START, next_states, runs_again, yields
from tests.derive import rounds_of
from tests.zoo import generators

XS = generators.XS


def islands(xs):
    yield 0.0
    for x in xs:
        yield x
        if x > 1.0:
            yield x * x


def asked_by_loops(xs):
    g = generators.sums(xs)
    total = next(g) * next(g)
    for v in g:
        total += v
        if total > 3.0:
            break
    return total + next(g, 1.0) + sum(g)


def delegated(xs):
    total = 0.0
    for v in generators.delegating(xs):
        total += v
    return total


def zipped(xs):
    total = 0.0
    for a, b, c in zip(generators.sums(xs), xs, [1.0, 2.0, 3.0]):  # noqa: B905
        total += a * b * c
    return total


def shared(xs):
    it = iter(xs)
    total = next(it)
    for a, b in zip(it, it):  # noqa: B905
        total += a * b
    return total


@contextlib.contextmanager
def doubled(a):
    try:
        yield a * 2.0
    finally:
        a = 0.0


def cleaning(xs):
    with doubled(1.0) as k:
        for x in xs:
            try:
                yield x * k
            finally:
                k += 1.0


def entered(xs):
    total = 0.0
    with doubled(1.0) as k:
        for v in cleaning(xs):
            total += v * k
    return total


def accumulated(xs):
    return sum(v * v for v in itertools.accumulate(generators.sums(xs)))


def one_generator(xs):
    total = 0.0
    for v in generators.sums(xs):
        total += v
    return total


def many_generators(xs):
    total = 0.0
    for v in generators.sums(xs):
        total += v
    for v in generators.sums(xs):
        total *= v
    for v in generators.sums(xs):
        total -= v
    for v in generators.sums(xs):
        total *= v
    return total


def many_loops(x):
    pair = (x, x * x, 2.0)
    total = 0.0
    for i in range(3):
        total += pair[i]
    for i in range(3):
        total *= pair[i]
    for i in range(3):
        total -= pair[i] * i
    return total


def put_into_lists(xs):
    kept, ring = [], collections.deque(maxlen=4)
    for k in range(3):
        kept.extend(x * k for x in xs)
        ring.extend(generators.sums(xs))
        kept += generators.sums(xs)
    return sum(kept) + sum(ring)


def sharing_a_source(xs):
    ahead, behind = itertools.tee(xs)
    total = next(ahead)
    for a, b in zip(ahead, behind):  # noqa: B905
        total += a * b
    for k, group in itertools.groupby(range(6), key=lambda i: i // 4):
        for i in group:
            total += k * xs[i]
    for i, (a, b) in zip(itertools.count(), itertools.zip_longest(xs, xs[:2], fillvalue=1.0)):
        total += i * a * b
    return total


def chained(xs):
    total = sum(itertools.chain([xs[0]], (v * v for v in xs)))
    for v in itertools.chain((xs[1],), [total * 0.1, xs[2]], generators.sums(xs)):
        total += v * v
    return total


def decided_when_it_runs(f: Callable[..., Any]) -> list[Call]:
    inferred = mooncake_py.inspect(f, XS).stages["inferred"]
    assert isinstance(inferred, Inferred)
    reached = [s for b in inferred.fn.blocks if b.id in inferred.reached for s in b.stmts]
    return [s for s in reached if inferred.calls[s.out].kind == "dynamic"]


@pytest.mark.parametrize(
    "f",
    [asked_by_loops, delegated, zipped, shared, accumulated, entered, put_into_lists, sharing_a_source, chained],
    ids=lambda f: f.__name__,
)
def test_nothing_is_decided_when_it_runs(f: Callable[..., Any]) -> None:
    assert decided_when_it_runs(f) == []


def test_next_states() -> None:
    body = normalise(islands.__code__)
    zero, x, square = (
        next(k + 1 for k, y in enumerate(yields(body)) if (y.pos.line or 0) - islands.__code__.co_firstlineno == line)
        for line in (1, 3, 5)
    )
    assert next_states(body) == {
        START: {zero},
        zero: {x, FINISHED},
        x: {x, square, FINISHED},
        square: {x, FINISHED},
        FINISHED: {FINISHED},
    }


def test_what_runs_again() -> None:
    body = normalise(islands.__code__)
    first, *others = yields(body)
    assert not runs_again(body, first)
    assert all(runs_again(body, y) for y in others)


def test_where_blocks_hand_on_too_much_iterators_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = mooncake_py.value_and_grad(asked_by_loops)(XS)
    monkeypatch.setattr(asking, "MOST_HANDED_ON", 0)
    monkeypatch.setattr(rule, "_cache", {})
    assert decided_when_it_runs(asked_by_loops)
    assert mooncake_py.value_and_grad(asked_by_loops)(XS) == expected


def test_generators_that_are_alike_are_run_by_their_loops_at_once() -> None:
    one = len(rounds_of(one_generator, XS))
    assert 1 < len(rounds_of(many_generators, XS)) <= one + 2


def test_loops_are_unrolled_at_once() -> None:
    assert 1 < len(rounds_of(many_loops, 0.5)) <= 4
