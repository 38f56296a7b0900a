"""Iterators of the user's own classes."""

from itertools import accumulate, chain, compress, dropwhile, filterfalse, islice, starmap, takewhile

import numpy as np

from tests.zoo.registry import case

XS = [0.5, -1.2, 2.0, 0.3, -0.7, 1.1]


class Smoothed:
    """An iterator that keeps what it computes."""

    def __init__(self, xs):
        self.xs, self.i, self.mean = xs, 0, 0.0

    def __iter__(self):
        return self

    def __next__(self):
        if self.i >= len(self.xs):
            raise StopIteration
        self.mean = 0.7 * self.mean + self.xs[self.i]
        self.i += 1
        return self.mean


class Doubled:
    """Iterable by a generator."""

    def __init__(self, xs):
        self.xs = xs

    def __iter__(self):
        for x in self.xs:
            yield 2.0 * x


class Wrapped:
    """Iterable by what it holds."""

    def __init__(self, xs):
        self.xs = xs

    def __iter__(self):
        return iter(self.xs)

    def __len__(self):
        return len(self.xs)


class Anew:
    """Every loop gets an iterator of its own."""

    def __init__(self, xs):
        self.xs = xs

    def __iter__(self):
        return Smoothed(self.xs)


class Restarted:
    """An iterator that starts again in every loop."""

    def __init__(self, n, k):
        self.n, self.k = n, k

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        self.i += 1
        if self.i > self.n:
            raise StopIteration()
        return self.k * self.i


class Failing(Smoothed):
    def __next__(self):
        if self.i == 3:
            self.i += 1
            raise ValueError(self.mean)
        return super().__next__()


@case(XS)
def loops_over_objects(xs):
    total = 0.0
    for v in Smoothed(xs):
        total += v * v
    for v in Doubled(xs):
        total = 0.9 * total + v
    for i, v in enumerate(Wrapped(xs)):
        total += i * v
    wrapped = Wrapped(xs)
    for v in wrapped:
        total += v * len(wrapped)
    return total


@case(XS)
def an_object_that_is_asked_in_parts(xs):
    s = Smoothed(xs)
    total = next(s)
    for v in s:
        total += v * v
        if v > 1.0:
            break
    for v in s:
        total += v
    for v in s:
        total += 100.0
    return total * s.mean


@case(XS)
def objects_that_start_again(xs):
    many, total = Anew(xs), 0.0
    for v in many:
        total += v
        if total > 1.0:
            break
    for v in many:
        total += v * v
    outer = Restarted(4, xs[0])
    for v in outer:
        for u in Restarted(3, xs[1]):
            total += u * v
    return total + outer.i


@case(XS)
def objects_that_functions_use_up(xs):
    total = sum(Smoothed(xs)) + max(Doubled(xs)) * min(Wrapped(xs)) + sum(x * x for x in Anew(xs))
    a, b, *rest = Doubled(xs)
    c, d = Wrapped(xs[:2])
    listed = list(Smoothed(xs)) + [v * v for v in Doubled(xs)] + sorted(Doubled(xs))
    for u, v in zip(Wrapped(xs), Doubled(xs)):
        total += u * v
    return total + a * b * sum(rest) + c * d + sum(i * v for i, v in enumerate(listed))


@case(XS)
def objects_that_are_asked_until_they_end(xs):
    it, total = iter(Smoothed(xs)), 0.0
    while True:
        try:
            total += next(it) ** 2
        except StopIteration:
            break
    return total + next(it, xs[0] * xs[1])


@case(XS)
def objects_that_raise(xs):
    s, total = Failing(xs), 0.0
    try:
        for v in s:
            total += v
    except ValueError as e:
        total += e.args[0] ** 2
    for v in s:
        total += 0.5 * v
    return total


class Refused(Exception):
    pass


def checked(x):
    if x < 0:
        raise Refused(x)
    return x * x


def drained(it):
    total = 0.0
    for k in range(10):
        try:
            total += next(it) * (k + 1)
        except Refused as e:
            total += 10 * e.args[0]
        except StopIteration:
            total += 0.5
    return total


@case(XS)
def iterators_that_go_on_after_an_exception(xs):
    total = drained(map(checked, xs)) + drained(filter(lambda x: checked(x) > 0.1, xs))
    return total + drained(accumulate(xs, lambda a, b: a * checked(b)))


@case(XS)
def iterators_over_others_that_go_on(xs):
    total = drained(map(lambda p: p[0] * p[1], enumerate(map(checked, xs), 2)))
    return total + drained(compress(map(checked, xs), [1, 1, 1, 0, 1, 1]))


@case(XS)
def iterators_out_of_a_dict_that_go_on(xs):
    made = {
        "map": map(lambda a, b: checked(a) * b, xs, xs[::-1]),
        "zip": map(lambda p: p[0] * p[1], zip(xs, map(checked, xs))),
        "starmap": starmap(lambda a, b: checked(a) + b, zip(xs, xs)),
        "taken": takewhile(checked, xs),
        "dropped": dropwhile(lambda x: checked(x) < 1.0, xs),
        "left": filterfalse(lambda x: checked(x) > 0.1, xs),
        "sums": accumulate(map(checked, xs), initial=xs[0]),
        "first": islice(map(checked, xs), 5),
    }
    left = [*xs, *xs]
    made["asked"] = iter(lambda: checked(left.pop()) if left else None, None)
    total = 0.0
    for name in made:
        total += drained(made[name]) * len(name)
    return total


@case(XS)
def loops_over_one_iterator_after_an_exception(xs):
    it, total = map(checked, xs), 0.0
    while True:
        try:
            for x in it:
                total += x
            break
        except Refused as e:
            total -= 3 * e.args[0]
    it = map(checked, xs)
    for _ in range(4):
        try:
            total += sum(it)
        except Refused as e:
            total *= e.args[0]
    return total


@case(XS)
def iterators_ended_by_what_they_call(xs):
    rows = [iter(xs), iter(xs[1:4])]
    total = 0.0
    for k in range(5):
        row = list(map(next, rows))
        total += sum(row) * (k + 1) + len(row)
    return total


def taken(it):
    return next(it)


def taken_in_pairs(it):
    while True:
        yield taken(it) * taken(it)


@case(XS)
def generators_ended_by_what_they_call(xs):
    total = 0.0
    try:
        for x in taken_in_pairs(iter(xs)):
            total += x
    except RuntimeError as e:
        total *= xs[0] + isinstance(e.__cause__, StopIteration)
    try:
        return total + sum(taken_in_pairs(iter(xs[1:])))
    except RuntimeError:
        return total * xs[1]


class Alone:
    def __init__(self, x):
        self.x = x


@case(XS)
def next_of_what_is_no_iterator(xs):
    held, total = {"list": xs, "number": xs[0], "object": Alone(xs[1])}, 0.0
    for name in held:
        try:
            total += next(held[name])
        except TypeError as e:
            total += xs[2] * len(str(e))
        try:
            total += sum(held[name])
        except TypeError:
            total *= xs[3]
    return total


NEGATIVE_FIRST = [-0.5, 1.2, -0.7, 0.3]


@case(NEGATIVE_FIRST, XS)
def sources_whose_first_item_is_an_exception(xs, ys):
    total = drained(chain(map(checked, xs), ys)) + drained(chain([0.5], map(checked, xs), ys))
    total *= drained(chain.from_iterable([map(checked, xs), map(checked, ys)]))
    return total + drained(chain.from_iterable(map(checked, part) for part in (ys, xs)))


@case(NEGATIVE_FIRST, XS)
def zips_whose_first_round_is_an_exception(xs, ys):
    total = 0.0
    for rounds in (zip(ys, map(checked, xs), ys, xs), zip(ys, map(checked, xs), strict=True)):
        for k in range(5):
            try:
                a, b, *rest = next(rounds)
                total += (k + 1) * a * b + sum(rest)
            except Refused as e:
                total -= e.args[0]
            except (StopIteration, ValueError):
                total *= 1.5
    return total


class Stock:
    def __init__(self, xs):
        self.left = iter(xs)

    def taken(self, factor):
        return factor * next(self.left)


@case(XS)
def generators_ended_by_helpers_they_hold(xs):
    left = iter(xs)

    def taken(factor):
        return factor * next(left)

    def scaled(by):
        for k in range(4):
            yield by(k + 1.0) * xs[k]

    def all_scaled(by):
        yield xs[0]
        yield from scaled(by)

    kinds = {"cell": taken, "method": Stock(xs[:3]).taken, "plain": lambda factor: factor * xs[1]}
    total = 0.0
    for name in kinds:
        for _ in range(2):
            try:
                for x in all_scaled(kinds[name]):
                    total += x
                total += sum(taken(x) for x in xs[:2])
            except RuntimeError as e:
                total *= xs[2] + isinstance(e.__cause__, StopIteration)
            try:
                total += sum([next(left) for _ in range(2)])
            except StopIteration:
                total += xs[4]
    return total


def stopping_at(n):
    calls = 0

    def f(x):
        nonlocal calls
        calls += 1
        if calls == n:
            raise StopIteration
        return x * x

    return f


@case(XS)
def iterators_over_one_that_stopped_for_once(xs):
    total = 0.0
    kept = filter(lambda v: v > 0.1, map(stopping_at(2), xs))
    for x in kept:
        total += x
    for x in kept:
        total += 3 * x
    numbered = enumerate(accumulate(map(stopping_at(4), xs)))
    for i, x in numbered:
        total += i * x
    return total * sum(x + i for i, x in numbered)


@case(XS)
def pairs_of_one_that_stopped_for_once(xs):
    total = 0.0
    pairs = zip(xs, map(stopping_at(3), xs))
    for a, b in pairs:
        total += a + b
    for a, b in pairs:
        total += a * b
    made = {"two": pairs, "four": zip(map(stopping_at(2), xs), xs, xs, xs), "taken": takewhile(bool, map(abs, xs))}
    for k in range(3):
        for name in made:
            total += (k + 1) * len(list(made[name])) * xs[k]
    return total


@case(XS)
def ended_iterators_over_a_list_that_grows(xs):
    ys = [x * x for x in xs]
    doubled, pairs = map(lambda v: 2 * v, ys), zip(ys, xs, strict=False)
    total = sum(doubled)
    for a, b in pairs:
        total += a * b
    ys.append(xs[0])
    for a, _ in pairs:
        total += 10 * a
    return total + 10 * sum(doubled)


@case(XS)
def pairs_asked_by_next_and_by_loops(xs):
    pairs = zip(xs, xs[1:], strict=False)
    first, second = next(pairs)
    total = first * second
    for a, b in pairs:
        total += a * b
        c, d = next(pairs, (0.0, 1.0))
        total += c * d * total
        if total > 100.0:
            break
    return total + sum(a * b for a, b in pairs)


@case(XS)
def expressions_over_iterators_of_their_own(xs):
    total = sum(x * x for x in Anew(xs)) * max(2.0 * x for x in Smoothed(xs))
    s = Smoothed(xs)
    for _ in range(2):
        total += sum(x for x in s if x > 0.1)
        s.i = 1
    return total + sum(a * b for a, b in zip(Anew(xs), (v + 1.0 for v in Smoothed(xs))))


class Stopping:
    """What it is asked for by an operator or an attribute stops where its number is large."""

    def __init__(self, x):
        self.x = x

    def checked(self):
        if self.x > 0.8:
            raise StopIteration
        return self.x

    @property
    def size(self):
        return 2.0 * self.checked()

    def __getattr__(self, name):
        if name != "rest":
            raise AttributeError(name)
        return 3.0 * self.checked()

    def __getitem__(self, i):
        return self.checked() ** i

    def __add__(self, other):
        return self.checked() + other

    def __bool__(self):
        return self.checked() > 0.0

    def __len__(self):
        return int(self.checked()) + 1


def sizes(objects):
    for p in objects:
        yield p.size


def rests(objects):
    for p in objects:
        yield p.rest


def items_of(objects):
    for p in objects:
        yield p[2]


def sums_with(objects):
    for p in objects:
        yield p + p.x


def those_true(objects):
    for p in objects:
        if p:
            yield p.x


def with_lengths(objects):
    for p in objects:
        yield p.x * len(p)


def sized(p, by):
    return by * p.size


def by_a_helper(objects):
    for p in objects:
        yield sized(p, 1.5)


def cleaned_up(objects):
    for p in objects:
        try:
            yield p.size
        finally:
            p.x *= 2.0


def seen(given, factor):
    total = 0.0
    try:
        for v in given:
            total += factor * v
    except RuntimeError as e:
        total *= factor + isinstance(e.__cause__, StopIteration)
    return total


@case(XS)
def generators_ended_by_operators_and_attributes(xs):
    total = seen(sizes([Stopping(x) for x in xs]), xs[0]) + seen(rests([Stopping(x) for x in xs]), xs[1])
    total += seen(items_of([Stopping(x) for x in xs]), xs[0]) + seen(sums_with([Stopping(x) for x in xs]), xs[1])
    total += seen(those_true([Stopping(x) for x in xs]), xs[0]) + seen(with_lengths([Stopping(x) for x in xs]), xs[2])
    objects = [Stopping(x) for x in xs]
    total += seen(cleaned_up(objects), xs[1]) + seen(by_a_helper([Stopping(x) for x in xs]), xs[3])
    return total + sum(p.x for p in objects)


@case(0.3, np.array([0.2, 0.9, 0.05]))
def a_first_item_or_a_number(x, a):
    """The iterator over the array is one that the loop makes: before the first round there is none."""
    total = 0.0
    for limit in (0.1, 0.5, 2.0):
        found = filter(lambda v: v > limit, a)  # noqa: B023
        total += next(found, x) * limit
    return total


@case(0.3, np.array([0.2, 0.9, 0.05]))
def a_running_sum_in_every_round(x, a):
    def firsts():
        for _ in a:
            sums = accumulate(a)
            next(sums)
            yield a[-1] + next(sums, x)

    return sum(firsts()) * x


class FromTheStart:
    def __init__(self, x, n):
        self.x, self.n = x, n

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        self.i += 1
        if self.i > self.n:
            raise StopIteration
        return self.x * self.i


class OfAnother(FromTheStart):
    def __iter__(self):
        self.i = 0
        return iter([self.x * 3.0, 2.0, self.x])


@case(1.3)
def rest_of_what_begins_again_when_it_is_asked(x):
    a, *b = FromTheStart(x, 3)
    c, *d, e = FromTheStart(x * x, 4)
    *f, g = FromTheStart(x, 2)
    h, *i = OfAnother(x, 2)
    return a + 2.0 * sum(b) + c * sum(d) * e + f[0] * g + h * i[0] * i[1]


@case(1.3)
def too_few_for_a_starred_name(x):
    y = 0.0
    for n in (1, 0):
        try:
            a, *b, c, d = FromTheStart(x, n)
        except ValueError as e:
            y += len(str(e)) * x
    try:
        a, c, *b = FromTheStart(x, 1)
    except ValueError as e:
        y += len(str(e)) * x * x
    return y


@case(1.3)
def rest_of_an_iterator_from_a_list(x):
    objects = [FromTheStart(x, 3), OfAnother(x, 1), [x, 2.0, x * x]]
    y = x
    for o in objects:
        a, *b = o
        y += a * sum(b) * len(b)
    return y
