"""Iterators, generators and the functions on them."""

import functools
import itertools
import math
import operator

import numpy as np

from tests.zoo.registry import case

V = np.array([0.5, -1.2, 2.0])
M = np.array([[0.5, -1.2, 2.0], [1.1, 0.3, -0.4]])


def powers(x, n):
    p = 1.0
    for _ in range(n):
        yield p
        p *= x


def fibonacci(x):
    a, b = x, x * x
    while True:
        yield a
        a, b = b, a + b


def averager():
    total, n, mean = 0.0, 0, None
    while True:
        v = yield mean
        total += v
        n += 1
        mean = total / n


def with_result(x):
    got = yield x * x
    yield x * (got or 2.0)
    return x * 5.0


def delegating(x):
    r = yield from with_result(x)
    yield r * x
    yield from [x, x * 2.0]
    return r


def tree_walk(tree):
    if isinstance(tree, tuple):
        for branch in tree:
            yield from tree_walk(branch)
    else:
        yield tree


def every_other(xs):
    keep = True
    for x in xs:
        if keep:
            yield x
        keep = not keep


def nested_loops(x, n):
    for i in range(n):
        for j in range(i):
            yield x ** (i - j) + j
        yield -x


@case(1.3)
def for_over_generator(x):
    t = 0.0
    for p in powers(x, 4):
        t += p * p
    return t


@case(1.3)
def generator_left_early(x):
    t = 0.0
    for i, v in enumerate(fibonacci(x)):
        if i > 5:
            break
        t += v * i
    return t


@case(1.3)
def for_else_over_generator(x):
    for v in powers(x, 3):
        if v > 100.0:
            break
    else:
        x = x * v
    return x


@case(1.3)
def generator_with_nested_loops(x):
    return sum(v * v for v in nested_loops(x, 4))


@case(1.3)
def generator_into_list(x):
    xs = list(powers(x, 5))
    return xs[-1] * xs[2] + len(xs)


@case(1.3)
def generator_into_tuple_and_array(x):
    return np.array(list(powers(x, 5))) @ np.array(tuple(nested_loops(x, 2)) + (1.0, x))


@case(1.3)
def next_by_hand(x):
    g = fibonacci(x)
    a = next(g)
    next(g)
    c = next(g)
    return a * c


@case(1.3)
def next_with_default(x):
    it = iter([x])
    a = next(it)
    b = next(it, x * 3.0)
    return a * b + next(it, 2.0)


@case(1.3)
def sent_values(x):
    g = averager()
    next(g)
    t = 0.0
    for i in range(4):
        t += g.send(x * x * i)
    return t


@case(1.3)
def yield_from_with_result(x):
    return sum(delegating(x))


@case(1.3)
def send_through_yield_from(x):
    g = delegating(x)
    next(g)
    a = g.send(x * 3.0)
    return a * next(g)


@case((1.3, (0.4, (2.0, -0.7)), 1.1))
def recursive_generator(t):
    p = 1.0
    for leaf in tree_walk(t):
        p = p * leaf + leaf
    return p


@case(V)
def generator_over_array(v):
    return sum(every_other(v * v))


@case(V)
def generator_over_generator(v):
    return max(every_other(every_other(v * 2.0))) * v[1]


@case(1.3)
def two_generators_interleaved(x):
    f, p = fibonacci(x), powers(x, 9)
    t = 0.0
    for _ in range(3):
        t += next(f) * next(p)
        t += next(p)
    return t


@case(1.3)
def same_generator_twice(x):
    g = powers(x, 6)
    t = 0.0
    for a, b in zip(g, g):
        t += a * b
    return t


@case(1.3)
def loop_goes_on_where_another_stopped(x):
    g = powers(x, 6)
    for v in g:
        if v > 1.5:
            break
    t = v
    for w in g:
        t = t * w
    return t


@case(1.3)
def star_of_generator(x):
    def f(a, b, *rest):
        return a * b + sum(rest)

    return f(*powers(x, 5))


@case(1.3)
def unpacked_generator(x):
    a, b, c = powers(x, 3)
    first, *rest = powers(x, 4)
    return a + b * c + rest[-1] * first


@case(1.3)
def generator_in_display(x):
    xs = [x, *powers(x, 3), 2.0 * x]
    return sum(xs) * xs[-2]


@case(1.3)
def generator_method(x):
    xs = [x]
    xs.extend(powers(x, 3))
    xs += nested_loops(x, 2)
    return sum(xs)


@case(1.3)
def generator_of_closure(x):
    scale = x * x

    def scaled(n):
        for i in range(n):
            yield i * scale

    return sum(scaled(4))


@case(1.3)
def generator_that_rebinds(x):
    count = 0.0

    def counting(xs):
        nonlocal count
        for v in xs:
            count += v
            yield v * count

    t = sum(counting([x, x * x, 2.0]))
    return t * count


@case(1.3)
def generator_sees_later_appends(x):
    xs = [x]

    def items():
        for v in xs:
            yield v

    g = items()
    next(g)
    xs.append(x * x)
    return next(g) * x


@case(V)
def generator_that_writes(v):
    def doubled(a):
        for i in range(len(a)):
            a[i] *= 2.0
            yield a[i]

    t = 0.0
    for y in doubled(v):
        t += y * v[0]
    return t


@case(V)
def generator_yields_rows_that_change(v):
    def states(u):
        for _ in range(3):
            u[1:] += u[:-1]
            yield u

    t = 0.0
    for u in states(v.copy()):
        t += u @ u
    return t


@case(1.3)
def generator_expression_kept(x):
    g = (x * i for i in range(4))
    next(g)
    t = next(g)
    for v in g:
        t = t * v
    return t


@case(1.3)
def any_and_all_of_generator(x):
    if any(v > 1.6 for v in powers(x, 9)) and not all(v > 1.1 for v in powers(x, 4)):
        return x * x
    return x


@case(1.3)
def generators_in_a_list(x):
    gs = [powers(x, 3), fibonacci(x), iter([x, 2.0 * x])]
    t = 0.0
    for g in gs:
        t += next(g) + next(g) * x
    return t


@case(1.3)
def generator_as_argument(x):
    def total(xs, w):
        t = 0.0
        for v in xs:
            t = t * w + v
        return t

    return total(powers(x, 4), x) + total([x, x], 2.0) + total((x, 1.0), x)


@case(1.3)
def generator_returned(x):
    def make(k):
        return (k * v for v in powers(x, 3))

    return sum(make(2.0)) + max(make(x))


@case(1.3)
def early_return_in_generator(x):
    def until(limit):
        v = x
        while True:
            if v > limit:
                return
            yield v
            v *= x

    return sum(until(4.0))


@case(1.3)
def pipeline_of_generators(x):
    numbers = (x + i for i in range(5))
    squares = (n * n for n in numbers)
    odd = (s for i, s in enumerate(squares) if i % 2)
    return sum(odd)


@case(V)
def zip_of_three(v):
    t = 0.0
    for a, b, c in zip(v, v[1:], [1.0, v[0]]):
        t += a * b * c
    return t


@case(V)
def zip_strict_kept(v):
    pairs = list(zip(v, v * v, strict=True))
    return pairs[1][0] * pairs[2][1]


@case(V)
def zip_transposes(v):
    rows = [(x, x * x, 2.0) for x in v]
    a, b, _ = zip(*rows)
    return sum(a) * b[1]


@case(V)
def map_of_lambda(v):
    return sum(map(lambda a: a * a + v[0], v))


@case(V)
def map_of_two(v):
    return math.prod(map(lambda a, b: a * b + 1.0, v, reversed(v)))


@case(V)
def map_of_builtin(v):
    return sum(map(abs, v)) * sum(map(math.exp, v)) + sum(map(operator.mul, v, v))


@case(V)
def filtered(v):
    return sum(filter(lambda a: a > 0, v)) * 2.0 + sum(filter(None, [v[0], 0.0, v[2]]))


@case(V)
def enumerate_from_one(v):
    t = 0.0
    for i, x in enumerate(map(lambda a: a * a, v), 1):
        t += i * x
    return t


@case(V)
def reversed_of_unknown(v):
    d = {"xs": [v[0], v[1], v[0] * v[2]]}
    t = 0.0
    for x in reversed(d["xs"]):
        t = t * v[0] + x
    return t


@case(V)
def loop_over_value_of_dict(v):
    d = {"a": [v[0], v[1]], "b": v * 2.0, "c": (v[2], 3.0)}
    t = 0.0
    for k in d:
        for x in d[k]:
            t += x * x
    return t


@case(V)
def accumulated(v):
    sums = list(itertools.accumulate(v))
    products = itertools.accumulate(v, operator.mul, initial=2.0)
    return sums[2] * sums[1] + sum(products)


@case(V)
def chained(v):
    return sum(a * a for a in itertools.chain(v, [v[0]], (x for x in v))) + sum(
        itertools.chain.from_iterable([v, [v[1]]])
    )


@case(V)
def all_pairs(v):
    t = 0.0
    for a, b in itertools.product(v, v):
        t += a * b * b
    for a, b in itertools.combinations(v, 2):
        t += a * b * b
    for a, b, c in itertools.permutations(v, 3):
        t += a * b - c * c
    return t


@case(V)
def products_repeated(v):
    return sum(a * b * c for a, b, c in itertools.product(v[:2], repeat=3))


@case(1.3)
def sliced_and_counted(x):
    t = sum(itertools.islice(fibonacci(x), 2, 8, 2)) + sum(itertools.islice(fibonacci(x), 3))
    for i, v in zip(itertools.count(1), powers(x, 3)):
        t += i * v
    return t + sum(itertools.islice(itertools.count(x, x * x), 3))


@case(1.3)
def repeated_and_cycled(x):
    return sum(itertools.repeat(x * x, 3)) + sum(itertools.islice(itertools.cycle([x, x * x, 1.0]), 7))


@case(V)
def neighbours_by_pairwise(v):
    return sum((b - a) ** 2 for a, b in itertools.pairwise(v))


@case(V)
def starmapped(v):
    return sum(itertools.starmap(lambda a, b: a**2 * b, [(v[0], v[1]), (v[2], 3.0)]))


@case(V)
def taken_and_dropped(v):
    w = [v[0], 1.0, v[2], v[0] * 3.0]
    return sum(itertools.takewhile(lambda a: a < 1.9, w)) + sum(itertools.dropwhile(lambda a: a < 1.9, w)) * v[1]


@case(V)
def compressed_and_padded(v):
    t = sum(itertools.compress(v, [1, 0, 1])) + sum(itertools.filterfalse(lambda a: a < 0, v))
    for a, b in itertools.zip_longest(v, [v[0]], fillvalue=2.0):
        t += a * b
    return t


@case(V)
def reduced(v):
    return functools.reduce(lambda a, b: a * b + 1.0, v) + functools.reduce(operator.add, [v[0], v[1]], v[2])


@case(M)
def rows_of_unknown(m):
    box = [m * 2.0]
    t = 0.0
    for row in box[0]:
        t += row @ row
        for x in row:
            t += x * 0.5
    return t


@case(V)
def iterator_passed_on(v):
    def first(it):
        return next(it)

    it = iter(v)
    a = first(it)
    b = first(it)
    return a * b * sum(it)


@case(V)
def iter_with_loop_after(v):
    it = iter([v[0], v[1], v[2]])
    head = next(it)
    t = head
    for x in it:
        t = t * head + x
    return t


@case(V)
def min_and_max_of_map(v):
    return max(map(lambda a: a * a, v)) + min(v * a for a in [2.0])[1]


@case(1.3)
def sum_of_generator_with_start(x):
    return sum(powers(x, 3), x)


@case(1.3)
def generator_with_defaults(x):
    def ramp(n, *, slope=x, start=0.0):
        for i in range(n):
            yield start + i * slope

    return sum(ramp(3)) + sum(ramp(2, start=x, slope=2.0))


@case(1.3, tags=("slow",))
def long_generator(x):
    t = 0.0
    for i, v in enumerate(powers(x * 0.5, 60)):
        t += v / (i + 1.0)
    return t


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __iter__(self):
        yield self.a
        yield self.b


@case(1.3)
def object_that_iterates_by_generator(x):
    p = Pair(x, x * x)
    a, b = p
    first, *rest = p
    t = a * b + first * rest[0] + sum(p) + max(p) + list(p)[1] + sum([*p])
    for v in p:
        t += v * v
    return t + (lambda u, v: u * v)(*p) + sum(map(lambda v: v * 2.0, p))


@case(1.3)
def delegating_generator_closed(x):
    g = delegating(x)
    y = next(g)
    g.close()
    return y * y


@case(1.3)
def generator_with_cleanup(x):
    def guarded(log):
        try:
            yield x
            yield x * x
        finally:
            log.append(x)

    log = []
    t = sum(guarded(log))
    for v in guarded(log):
        t += v
        break
    return t * log[0]


@case(1.3, [0.5, 1.5, 2.5], tags=("reference counts",))
def generators_closed_where_they_are_left(x, xs):
    log = []

    def guarded(scale):
        try:
            for v in xs:
                yield v * scale
        finally:
            log.append(scale * (len(log) + 1))

    def first(limit):
        for v in guarded(limit):
            if v > limit:
                log.append(v)
                return v * len(log)
        return limit

    total = first(x) + next(guarded(2.0 * x))
    for k in range(3):
        for v in guarded(x + k):
            total += v * len(log)
            if v > 2.0:
                log.append(total)
                break
        else:
            total *= 2.0
        total += log[-1]
    return total


@case(1.3)
def generator_that_yields_while_handling(x):
    def tries(values):
        for v in values:
            try:
                yield x / v
            except ZeroDivisionError:
                yield x * x
                yield x * 3.0

    def guarded(values):
        for v in values:
            try:
                y = x / v
            except ZeroDivisionError:
                yield x * x
                y = x * 3.0
            yield y

    return sum(guarded([1.0, 0, 2.0])) * next(tries([2.0]))


@case([0.5, -1.2, 2.0, 0.7])
def reduced_with_what_the_loop_needs(xs):
    decayed = functools.reduce(lambda a, b: a * 0.9 + b * b, xs, 0.0)
    first = functools.reduce(lambda a, b: a * b + a, xs)
    alone = functools.reduce(operator.mul, xs[:1])
    try:
        functools.reduce(operator.mul, xs[:0])
    except TypeError:
        alone *= xs[1]
    return decayed + first + alone + functools.reduce(operator.mul, xs[:0], xs[2])


@case([0.5, -1.2, 2.0, 0.7])
def accumulated_in_a_loop(xs):
    total = 0.0
    for i, t in enumerate(itertools.accumulate(xs, lambda a, b: 0.5 * a + math.sin(b))):
        total += t * i
    for t in itertools.accumulate(xs):
        total += t * t
    for t in itertools.accumulate(xs, None):
        total += math.cos(t)
    for t in itertools.accumulate(xs, operator.mul, initial=2.0):
        total += t
    for _ in itertools.accumulate(xs[:0]):
        total *= 2.0
    return total


@case([0.5, -1.2, 2.0, 0.7])
def chains_and_neighbours_in_loops(xs):
    total = 0.0
    for v in itertools.chain(xs[:2], (xs[2], 3.0), [xs[0] * xs[1]]):
        total += v * v
    for a, b in itertools.pairwise(xs):
        total += (a - b) ** 2 * a
    for a, b in itertools.pairwise(xs[:1]):
        total += a * b
    return total


def _weighted(x, *others, weight, power=2):
    total = weight * x
    for y in others:
        total += y**power
    return total


def _all_of(*xs, scale=1.0):
    for x in xs:
        yield x * scale


@case([0.5, -1.2, 2.0])
def functions_that_take_any_number(xs):
    several = _weighted(xs[0], xs[1], xs[2], weight=xs[1]) + _weighted(xs[0], weight=3.0, power=3)
    for v in _all_of(xs[0], xs[2], scale=xs[1]):
        several += math.sin(v)
    return several + sum(_all_of(*xs))


@case(0.7)
def a_range_that_two_loops_share(x):
    places = iter(range(1, 8))
    total = 0.0
    for k in range(3):
        for i in places:
            total += math.sin(x * i) * x
            if i > 2 + k:
                break
    return total


@case([0.3, 0.7, 1.1])
def products_with_itself(xs):
    total = sum(a * b * b for a, b in itertools.product(xs, repeat=2))
    for a, b, c in itertools.product(xs, repeat=3):
        total += a * b * c
    return (
        total + len(list(itertools.product(xs, repeat=0))) * xs[0] + sum(p[3] for p in itertools.product(xs, repeat=4))
    )


@case(0.7, (zip, enumerate, itertools.product, itertools.pairwise))
def nothing_to_go_over_is_noticed_at_once(x, makers):
    total = 0.0
    for value in (x, [x, x * x], None):
        for make in makers:
            try:
                make(value)
                total += x
            except TypeError as e:
                total += len(str(e)) * x
        try:
            itertools.islice(value, 2)
        except TypeError:
            total += x * x
    return total


@case(V)
def chains_of_what_comes_in_several_ways(x):
    total = sum(itertools.chain([x[0]], (v * v for v in x)))
    for v in itertools.chain((x[1],), map(math.sin, x), [total * 0.1, x[2]]):
        total += v * v
    it = itertools.chain(powers(x[0], 3), x)
    first = next(it) + next(it)
    return total * first + sum(it) + sum(itertools.chain(x, [1.0]))


@case(1.1, 0.93, "kitten", name="counted_from_one")
def letters_are_counted_from_one(change, insert, word):
    table = [[0.0] * 8 for _ in range(7)]
    for i, a in enumerate(word, 1):
        for j, b in enumerate("sitting", start=1):
            cost = 0.0 if a == b else change
            table[i][j] = min(table[i - 1][j] + insert * j, table[i][j - 1] + insert, table[i - 1][j - 1] + cost)
    return table[6][7] + table[3][2]


@case(1.3, "kitten")
def letters_in_order_and_once(x, word):
    at = [0.0] * 130
    for i, c in enumerate(sorted(word, key=lambda c: -ord(c)), 1):
        at[i] = at[i - 1] * x + x * (c == "t")
    for c in sorted(set(word)):
        at[ord(c)] += x * x
    for c in set(word):
        at[20] += x * (c == "k")
    for b in word.encode():
        at[b] = at[b] * x + b
    for i, b in enumerate(b"abc", 1):
        at[i] += b * x
    return sum(at)


@case(1.3, "kitten")
def letters_beside_others(x, word):
    at = [x] * 10
    for i, (a, b) in enumerate(itertools.zip_longest(word, "kid"), 1):
        at[i] = at[i - 1] * x + x * (a == b)
    for i, (a, b) in enumerate(itertools.zip_longest(word, "kit", fillvalue="t"), start=2):
        at[i] += at[i - 1] * x * (a == b)
    for i, (letter, group) in enumerate(itertools.groupby(word), 1):
        at[i] += x * len(list(group)) * (letter != "n")
    return sum(at)
