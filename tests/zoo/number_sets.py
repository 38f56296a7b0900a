"""Sets of numbers with derivatives: put in, taken out, gone through, put together and copied."""

import collections
import copy
import functools
import itertools
import math
import operator
import statistics
from dataclasses import dataclass, field

import numpy as np
from scipy import integrate

from tests.zoo.registry import case

XS = np.array([1.3, 2.2, 0.7])


@case(XS)
def a_number_put_in_twice(xs):
    s = {xs[0], xs[1], xs[0]}
    t = set()
    for v in xs:
        t.add(v * v)
        t.add(v * v)
    return sum(s) + sum(v * v for v in t)


@case(XS)
def functions_over_a_set(xs):
    s = set(xs.tolist())
    total = max(s) * min(s) + sorted(s)[1] ** 2 + math.fsum(s) * math.prod(s) + functools.reduce(operator.mul, s)
    total += sum(map(math.sin, s)) + sum(a * b for a, b in itertools.combinations(s, 2)) + max(s, key=lambda v: -v)
    total += sum(filter(lambda v: v > 1, s)) + sum(itertools.chain(s, {1.0})) + any(v > 9 for v in s)
    return total + sum(i * v for i, v in enumerate(sorted(s, reverse=True))) + sum(collections.Counter(s))


@case(XS)
def lists_and_arrays_of_a_set(xs):
    s = {*xs.tolist()}
    items = list(s)
    items.extend(s)
    items += s
    a, b, c = s
    by_key = dict.fromkeys(s, 2.0)
    total = sum(items) + a * b * c * product(*s) + sum(k * v for k, v in by_key.items()) + sum(collections.deque(s))
    return total + np.sum(np.array(sorted(s)) ** 2) + tuple({xs[0]})[0] * next(iter({xs[1]})) * len(s)


def product(a, b, c):
    return a * b * c


@case(XS)
def taken_out(xs):
    s = set(xs.tolist())
    s.discard(float(xs[0]))
    s.discard(100.0)
    s.remove(float(xs[1]))
    s.update([float(xs[0]) * 2], {float(xs[1]) * 3}, {float(xs[2]) * 5: 1})
    total = 1.0
    while s:
        total *= s.pop()
    s.add(xs[0])
    try:
        s.remove(3.0)
    except KeyError:
        s.add(xs[1])
    t = s.copy()
    s.clear()
    return total * sum(t) + len(s)


@case(XS)
def put_together(xs):
    a, b = {xs[0], xs[1]}, frozenset([xs[1], xs[2]])
    total = sum(a | b) + 2 * sum(a & b) + 3 * sum(a - b) + 5 * sum(b ^ a)
    total += sum(a.union([xs[2] * 2], b)) * sum(b.difference(a)) + sum(set().union(*[a, b])) * sum(b.union([5.0]))
    total += sum(b.symmetric_difference([1.0])) * sum(a.symmetric_difference(b)) + sum(set.intersection(a, a, b))
    return total * (a != b) * a.isdisjoint([7.0]) * a.issubset(xs.tolist()) * b.issuperset(xs[1:]) * (a <= a | b)


@case(XS)
def changed_by_others(xs):
    s = {*xs, *xs}
    same = s
    s |= {xs[0] * 3}
    s &= {xs[0], xs[1], xs[0] * 3}
    s -= {xs[1]}
    s ^= {xs[2]}
    s.symmetric_difference_update([xs[0] * 3, xs[1] * 9])
    s.intersection_update([xs[0], xs[2], xs[1] * 9])
    s.difference_update([xs[2]])
    return sum(same) * float(np.sum(np.array(sorted(s)) ** 2))


@case(XS)
def keys_as_sets(xs):
    a, b = {float(xs[0]): 1.0, float(xs[1]): 2.0}, {float(xs[1]): 1.0}
    return sum(a.keys() & b.keys()) + 3 * sum(a.keys() - b) * sum(a.keys() | b.keys()) + sum({xs[2]} | a.keys())


@case(XS)
def made_of_comprehensions(xs):
    s = {round(float(v)) * v for v in xs}
    t = {v for v in s if v > 2}
    kept = set()
    for v in [*xs, *xs]:
        if all(abs(v - k) > 0.1 for k in kept):
            kept.add(v)
    return sum(t) + sum(v * v for v in s - t) + sum(k**2 for k in kept)


@case(XS)
def grown_while_it_is_asked(xs):
    s = {xs[0], xs[1]}
    total = sum(s)
    while len(s) < 5:
        s.add(max(s) * 1.5)
    return total * sum(s)


@case(XS)
def tuples_and_complex_numbers(xs):
    s = {(float(v), i) for i, v in enumerate(xs)}
    total = sum(v * i for v, i in s) * min(s)[0]
    while s:
        least = min(s)
        s.remove(least)
        total = total * 1.1 + least[0]
    z = {complex(xs[0], xs[1]), 1j}
    return total + sum(z).real * abs(max(z, key=abs))


@case(XS)
def sets_in_sets_and_as_keys(xs):
    f = frozenset((float(xs[0]), float(xs[1])))
    d = {f: xs[2]}
    s = {f, frozenset({float(xs[2])})}
    total = sum(sum(k) * len(k) for k in s)
    for k, v in d.items():
        total += sum(k) * v
    return total * sum(next(iter(d)))


@case(XS)
def functions_in_a_set(xs):
    return sum(f() for f in {lambda: xs[0], lambda: xs[1] * 2})


@dataclass
class Seen:
    values: set = field(default_factory=set)
    count: int = 0

    def put(self, v):
        if v not in self.values:
            self.values.add(v)
            self.count += 1
        return self


class Bag(set):
    def total(self):
        return sum(self)


@case(XS)
def in_objects_lists_and_dicts(xs):
    seen, groups, bag = Seen(), collections.defaultdict(set), Bag()
    for i, v in enumerate(xs):
        seen.put(float(v) * 2).put(float(v) * 2)
        groups[i % 2].add(float(v))
        groups[0].add(float(v) ** 2)
        bag.add(v)
    alias = [seen.values]
    alias[0].add(xs[2] * 7)
    return sum(seen.values) * seen.count + sum(sum(s) * (k + 1) for k, s in groups.items()) * bag.total()


@case(XS)
def handed_on(xs):
    def collect(n, found):
        if n == 0:
            return found
        found.add(xs[n % 3] * n)
        return collect(n - 1, found)

    def growing():
        s = set()
        for v in xs:
            s.add(v)
            yield s

    try:
        raise ValueError({float(xs[0]), float(xs[1])})
    except ValueError as e:
        return sum(e.args[0]) * sum(collect(4, set())) + sum(sum(s) for s in growing())


@dataclass(frozen=True)
class Mark:
    v: float


class Node:
    def __init__(self, v):
        self.v = v


@case(XS)
def copies(xs):
    s = set(xs.tolist())
    t, u, seen = copy.copy(s), copy.deepcopy(s), Seen({float(xs[0])})
    t.add(1.5)
    u.discard(float(xs[0]))
    other = copy.deepcopy(seen).put(xs[1])
    marks, nodes = {Mark(xs[0]), Mark(xs[1])}, {Node(xs[2])}
    more, nodes = copy.deepcopy(marks), copy.deepcopy(nodes)
    more.add(Mark(xs[2]))
    total = sum(m.v for m in more) * sum(m.v for m in marks) + sum(n.v**2 for n in nodes)
    return sum(s) * sum(t) * sum(u) + total * max(other.values) * sum(seen.values)


@case(XS)
def in_an_integral(xs):
    s = {xs[0], xs[1]}
    return integrate.quad(lambda z: z * sum(s), 0, 1)[0]


@case({4.0, 5.0}, XS)
def argument(s, xs):
    s.add(xs[0])
    s.discard(5.0)
    s |= {xs[1]}
    return sum(v * v for v in s)


KEPT = set()


@case(XS)
def a_global_set(xs):
    KEPT.clear()
    for v in xs:
        KEPT.add(float(v))
    return sum(KEPT) ** 2


@case(XS)
def of_several_kinds(xs):
    s = {1, True, 1.0, xs[0], "a", None}
    return sum(v for v in s if isinstance(v, float)) * len(s)


@case(XS)
def sets_without_a_number_to_tell(xs):
    s, counts = set(), set()
    for v in xs[:0]:
        s.add(v)
        counts.add(v)
    for v in xs[::-1]:
        s.add(v)
        counts.add(int(v))
    rest = s - {xs[0]}
    s.clear()
    total = sum(s) + math.fsum(s) + math.prod(s) + sum(s, xs[1]) + max(s, default=xs[2])
    total += sum(counts, 1.5) + max(counts) * statistics.mean(counts) + statistics.fmean(counts)
    return total * xs[0] * len(rest) + sum(rest)
