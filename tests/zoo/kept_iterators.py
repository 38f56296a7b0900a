"""Iterators and generators that are kept: in attributes and containers, handed from function to function."""

import collections.abc
import contextlib
import copy
import heapq
import inspect
import itertools
import types
from collections import deque

import numpy as np

from tests.zoo.registry import case

XS = [0.7, 0.2, 0.9, 0.4, 1.1, 0.3]


class Tokens:
    def __init__(self, items):
        self.items = iter(items)
        self.now = next(self.items, None)

    def advance(self):
        was, self.now = self.now, next(self.items, None)
        return was


@case(XS)
def an_iterator_in_an_attribute(xs):
    tokens, total = Tokens(xs), 0.0
    while tokens.now is not None:
        total = 0.8 * total + tokens.advance() ** 2
    return total


@case(XS)
def calculator(xs):
    def expression(tokens):
        value = product(tokens)
        while tokens.now == "+":
            tokens.advance()
            value = value + product(tokens)
        return value

    def product(tokens):
        value = names[tokens.advance()]
        while tokens.now == "*":
            tokens.advance()
            value = value * names[tokens.advance()]
        return value

    names = {"a": xs[0], "b": xs[1], "c": xs[2]}
    return expression(Tokens(["a", "*", "b", "+", "c", "+", "b", "*", "b", "*", "c"]))


@case(XS)
def iterators_in_a_dict(xs):
    its = {"up": iter(xs), "down": reversed(xs), "pairs": iter(tuple(xs)), "row": iter(np.array(xs))}
    total = 0.0
    for k in range(4):
        total += (k + 1) * next(its["up"]) * next(its["down"]) - next(its["pairs"]) * next(its["row"])
    return total


@case(XS)
def turns(xs):
    waiting = deque([iter(xs[:2]), iter(xs[2:]), iter(deque(xs))])
    total = 0.0
    while waiting:
        it = waiting.popleft()
        try:
            total = 0.9 * total + next(it) ** 2
        except StopIteration:
            continue
        waiting.append(it)
    return total


@case(XS)
def appended_to_while_kept(xs):
    left = [iter(xs)]
    total = next(left[0])
    xs.append(2.0 * xs[0])
    total += sum(left[0])
    xs.append(5.0)
    return total * 1.5 + next(left[0], 0.25)


@case(XS)
def a_copy_of_a_kept_iterator(xs):
    held = {"it": iter(xs)}
    total = next(held["it"])
    again = copy.copy(held["it"])
    return total + 2.0 * next(held["it"]) + 3.0 * next(again) * next(again)


@case(XS)
def prefix_notation(xs):
    def value(tokens):
        token = next(tokens)
        if token == "+":
            return value(tokens) + value(tokens)
        if token == "*":
            return value(tokens) * value(tokens)
        return token

    return value(iter(["+", "*", xs[0], xs[1], "*", xs[2], "+", xs[3], xs[4]]))


def squares(xs, k=1.0):
    for x in xs:
        yield k * x * x


class Source:
    def __init__(self, xs):
        self.made = squares(xs, xs[0])

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.made)


@case(XS)
def a_generator_in_an_attribute(xs):
    total = 0.0
    for x in Source(xs):
        total = 0.9 * total + x
    return total


def steps(name, x, dt):
    t = 0.0
    while t < 2.0:
        t += dt
        yield t, name, x * t
        x = x * 0.9


@case(XS)
def processes_in_a_heap(xs):
    running = [steps(k, x, 0.5 + 0.1 * k) for k, x in enumerate(xs[:3])]
    queue = [(*next(p)[:2], 0.0) for p in running]
    heapq.heapify(queue)
    total = 0.0
    while queue:
        t, k, value = heapq.heappop(queue)
        total += value / (1.0 + t)
        for found in running[k]:
            heapq.heappush(queue, found)
            break
    return total


def averages():
    total, n, mean = 0.0, 0, None
    while True:
        total += yield mean
        n += 1
        mean = total / n


class Average:
    def __init__(self):
        self.running = averages()
        next(self.running)

    def push(self, x):
        return self.running.send(x)


@case(XS)
def coroutines_in_attributes(xs):
    first, second, total = Average(), Average(), 0.0
    for x in xs:
        total += first.push(x) * second.push(x * x)
    first.running.close()
    return total


def guarded(xs, log):
    try:
        for x in xs:
            try:
                yield x
            except ValueError as e:
                log.append(2.0 * x * e.args[0])
                yield x * e.args[0]
    finally:
        log.append(xs[0])
    return sum(log)


@case(XS)
def thrown_into_what_is_kept(xs):
    log = []
    held = [guarded(xs, log)]
    total = next(held[0]) + held[0].throw(ValueError(xs[1])) + next(held[0])
    held[0].close()
    try:
        next(held[0])
    except StopIteration:
        total *= 2.0
    return total + sum(log)


@case(XS)
def what_a_kept_generator_returns(xs):
    held, total = {"g": guarded(xs[:2], [])}, 0.0
    while True:
        try:
            total += next(held["g"])
        except StopIteration as e:
            return total * e.value


def refusing(xs):
    for x in xs:
        if x > 1.0:
            raise ArithmeticError(x * x)
        yield x


@case(XS)
def an_exception_out_of_what_is_kept(xs):
    held = [refusing(xs), refusing(xs[:3])]
    total = 0.0
    for _ in range(8):
        for g in held:
            try:
                total += next(g)
            except ArithmeticError as e:
                total -= e.args[0]
            except StopIteration:
                total *= 1.1
    return total


@case(XS)
def iterators_of_iterators_kept(xs):
    held = {
        "zip": zip(xs, map(lambda x: x * x, xs)),
        "number": enumerate(xs, 2),
        "some": filter(lambda x: x > 0.35, xs),
        "sums": itertools.accumulate(xs),
    }
    total = 0.0
    for _ in range(3):
        a, b = next(held["zip"])
        k, c = next(held["number"])
        total += a * b * k * c + next(held["some"]) * next(held["sums"])
    return total


def delegating(it, x):
    yield x
    got = yield from it
    yield x * (2.0 if got is None else got)


@case(XS)
def kept_and_delegated_to(xs):
    inner = squares(xs, 0.5)
    held = [delegating(inner, xs[0])]
    total = next(held[0]) + next(held[0])
    total -= next(inner)
    for x in held.pop():
        total = total * 0.9 + x
    return total


def of_private_names(__xs, __k=2.0):
    for __x in __xs:
        yield __x * __k


@case(XS)
def names_with_underscores(xs):
    held = [of_private_names(xs), of_private_names(xs, xs[0])]
    return sum(held[0]) * next(held[1])


def late(xs, flag):
    if flag:
        extra = xs[0] * 3.0
    yield xs[1]
    if flag:
        yield extra
    for extra in xs:
        pass
    yield extra


@case(XS)
def names_that_may_have_no_value(xs):
    held = (late(xs, True), late(xs, False))
    return sum(held[0]) * next(held[1]) * next(held[1])


@case(XS)
def changed_between_the_items(xs):
    scale = xs[0]

    def scaled():
        for x in xs:
            yield x * scale

    held, total = [scaled()], 0.0
    for x in held[0]:
        scale = scale + x
        total += x
        if len(xs) < 8:
            xs.append(scale)
    return total


@case(XS)
def closed_by_with(xs):
    log, held = [], {}
    with contextlib.closing(guarded(xs, log)) as held["g"]:
        total = next(held["g"]) * next(held["g"])
    return total + sum(log)


class Tree:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right


class Walk:
    def __init__(self, tree):
        self.rest = iter(tree)
        self.seen = 0.0

    def two(self):
        a, b = next(self.rest), next(self.rest)
        self.seen += a * b
        return self.seen


@case(XS)
def a_walk_through_a_tree(xs):
    a, b, c, d, e, f = xs
    walk = Walk(Tree(a, Tree(b, Tree(c)), Tree(d, Tree(e), Tree(f))))
    return walk.two() * walk.two() + walk.two()


@case(0.6)
def stages(x):
    def scale(k):
        def stage(xs):
            for x in xs:
                yield k * x

        return stage

    made = []
    for k in (x, 2.0, x * x):
        made.append(scale(k))
    items = [x, 1.0, 3.0 * x]
    for stage in made:
        items = stage(items)
    return sum(items)


@case(XS)
def loops_over_objects_in_try(xs):
    source, total = Source(xs), 0.0
    try:
        for x in (v * 2.0 for v in source):
            total += x
            if x > 1.0:
                raise ValueError(x)
    except ValueError as e:
        total *= e.args[0]
    return total + sum(source)


def flattened(xs):
    for x in xs:
        if isinstance(x, (list, types.GeneratorType)):
            yield from flattened(x)
        else:
            yield x


@case(XS)
def told_by_their_class(xs):
    held = [squares(xs), xs[:2], iter(xs), [squares(xs[:2]), xs[3]]]
    total = sum(flattened([held[0], held[1], xs[2], *held[3]])) * (1.0 + inspect.isgenerator(held[0]))
    if isinstance(held[2], types.GeneratorType) or not isinstance(held[0], collections.abc.Generator):
        total *= 100.0
    return total * len(list(held[2]))
