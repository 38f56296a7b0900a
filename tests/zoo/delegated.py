"""Iterators whose items are handed on: by other generators, into slices of lists, to `in` and to deques."""

import contextlib
import operator
from collections import deque

from tests.zoo.registry import case

XS = [0.5, 1.2, 2.0]


def fails_after(xs, k):
    for v in xs[:k]:
        yield v * v
    raise ValueError(xs[k])


@case(XS)
def an_exception_of_the_inner_generator_is_caught(xs):
    def outer():
        try:
            yield from fails_after(xs, 1)
        except ValueError as e:
            yield e.args[0] * xs[0]

    return sum(outer())


@case(XS)
def an_exception_of_a_map_is_caught(xs):
    def checked(v):
        if v > 1.0:
            raise ValueError(v)
        return v * 3.0

    def outer():
        for _ in range(2):
            try:
                yield from map(checked, xs)
            except ValueError as e:
                yield e.args[0]
            finally:
                yield xs[2]

    return sum(v * (k + 1) for k, v in enumerate(outer()))


@case(XS)
def cleaned_up_after_each_of_two(xs):
    log = [xs[0]]

    def outer():
        with contextlib.suppress(ValueError):
            yield from fails_after(xs, 2)
        try:
            yield from [xs[1], xs[2]]
        finally:
            log.append(xs[2] * xs[1])

    total = 1.0
    for v in outer():
        total = total * v + log[-1]
    return total * sum(log)


@case(XS, tags=("reference counts",))
def left_in_the_middle(xs):
    log = []

    def outer():
        try:
            yield from (v * v for v in xs)
        finally:
            log.append(xs[0])

    for v in outer():
        if v > 1.0:
            break
    return v * sum(log)


def weighted(xs):
    return sum(v * (k + 1) for k, v in enumerate(xs))


class Tripled:
    def __init__(self, xs, log):
        self.xs, self.log = xs, log

    def __iter__(self):
        for v in self.xs:
            self.log.append(v * 3.0)
            yield v * 3.0


@case(XS)
def a_whole_list_set_to_a_generator(xs):
    xs[:] = (v * v for v in xs)
    return weighted(xs)


@case(XS)
def slices_set_to_iterators(xs):
    log = []
    xs[1:] = map(lambda v: v * v, xs)
    xs[::2] = Tripled(xs[:2], log)
    xs[:1] = reversed(xs)
    xs.__setitem__(slice(1, 2), fails_after(xs, 0) if len(xs) == 3 else (v + 1.0 for v in xs))
    operator.setitem(xs, slice(0, 1), {k: v * 2.0 for k, v in enumerate(xs)}.values())
    return weighted(xs) * sum(log)


@case(XS, 1)
@case(XS, 2, name="slice_set_to_what_is_known_when_it_runs_a_map")
def slice_set_to_what_is_known_when_it_runs(xs, k):
    ways = [list, iter, lambda v: map(abs, v), lambda v: (w * w for w in v)]
    xs[k:] = ways[k](xs)
    xs[1:2] = ways[k + 1](xs)
    return weighted(xs)


@case(XS)
def items_and_slices_set_to_generators(xs):
    kept = [1.0, 2.0, 3.0]
    kept[0] = (v * v for v in xs)
    kept[1:] = (list(v * k for v in xs) for k in xs[:2])
    return sum(kept[0]) * kept[1][0] * kept[2][1]


@case(XS)
def an_exception_out_of_a_slice_is_caught(xs):
    kept = [1.0, 2.0]
    try:
        kept[:] = fails_after(xs, 1)
    except ValueError as e:
        kept.append(e.args[0])
    return kept[-1] * xs[0] + len(kept)


@case(XS)
def searched_up_to_what_is_found(xs):
    log = [1.0]

    def items():
        for v in xs:
            log.append(v * v)
            yield v

    it = items()
    found = (xs[1] in it) + (xs[0] * 3.0 in Tripled(xs, log)) + (99.0 not in map(abs, xs))
    return next(it) * found * weighted(log)


@case(XS)
def put_to_the_left_one_by_one(xs):
    kept = deque([xs[0]], maxlen=4)
    kept.extendleft(v * v for v in xs)
    kept.extendleft(Tripled(xs[:1], []))
    return weighted(kept)


class Counting(list):
    def __iadd__(self, items):
        self.added = len(self)
        return super().__iadd__(items)


class Ring(deque):
    def __iadd__(self, items):
        return super().__iadd__(items)


@case(XS)
def added_in_place_by_the_method(xs):
    kept, ring = Counting(xs), Ring(xs, 5)
    kept += (v * v for v in xs)
    kept += Tripled(xs, [])
    ring += map(abs, xs)
    plain = [1.0]
    plain.__iadd__(v * v for v in xs)
    return weighted(kept) * weighted(ring) * weighted(plain) * kept.added


def two_and_no_more(x):
    yield x
    yield x * x
    raise ValueError("no more")


class TwoAndNoMore:
    def __init__(self, x):
        self.x, self.given = x, 0

    def __iter__(self):
        return self

    def __next__(self):
        self.given += 1
        if self.given > 2:
            raise ValueError("no more")
        return self.x * self.given


@case(0.7)
def items_before_an_iterator_raised(x):
    class Holder:
        items = ()

    xs, ys, left, both, holder = [1.0], deque([2.0]), deque([3.0], maxlen=2), [x], Holder()
    holder.items = []
    for put in (
        lambda: xs.extend(two_and_no_more(x)),
        lambda: ys.extend(TwoAndNoMore(x)),
        lambda: left.extendleft(v * x for v in two_and_no_more(x)),
        lambda: list.__iadd__(both, TwoAndNoMore(x)),
        lambda: holder.items.extend(map(lambda v: v * [2.0][v > 0.8], [x, x, 3.0])),
    ):
        try:
            put()
        except (ValueError, IndexError):
            xs.append(x)
    try:
        both += two_and_no_more(x)
    except ValueError:
        ys.append(x)
    return sum(xs) * sum(ys) + left[0] * sum(left) + sum(both) * sum(holder.items)


@case(XS)
def read_while_they_are_put_there(xs):
    kept = [1.0, 2.0]
    kept.extend(v * w for v, w in zip(xs, kept, strict=False))  # which grows
    ring = deque(xs, maxlen=4)
    for k in range(3):
        ring.extend(v * k for v in xs)
        kept.extend(map(lambda v: v + ring[0], xs))  # noqa: B023 - called at once
    return weighted(kept) * weighted(ring)
