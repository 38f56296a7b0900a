"""Keys of dicts that have derivatives: looked up by, gone through, moved from dict to dict, taken out again."""

import collections
import copy
import functools
import itertools
import math
import operator
from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np
from scipy import integrate

from tests.zoo.registry import case

XS = np.array([1.3, 2.2, 0.7])


def keyed(xs):
    return {float(v): i + 1 for i, v in enumerate(xs)}


# -- gone through -----------------------------------------------------------------------------------------


@case(XS)
def loops_over_a_display(xs):
    d = {xs[0]: 1.0, xs[1]: 2.0}
    s = 0.0
    for k in d:
        s += k * d[k]
    for k in d.keys():  # noqa: SIM118
        s += k * k
    for k, v in d.items():
        s += v * k**3
    return s


@case(XS)
def loops_from_both_ends(xs):
    d = keyed(xs)
    s = next(iter(d)) + 2.0 * next(reversed(d))
    for i, k in enumerate(reversed(d)):
        s += i * k
    for i, k in enumerate(reversed(d.keys())):
        s += i * k * k
    it = iter(d)
    s *= next(it)
    for k in it:
        s += k
    return s + iter(d).__next__() * d.keys().__iter__().__next__()


@case(XS)
def functions_over_keys(xs):
    d = keyed(xs)
    s = sum(d) + max(d) * min(d.keys()) + sorted(d)[1] ** 2 + math.fsum(d) + math.prod(d)
    s += functools.reduce(operator.mul, d) + sum(map(math.sin, d)) + sum(i * k for i, k in enumerate(d))
    s += sum(k * v for k, v in zip(d, d.values(), strict=True)) + sum(itertools.chain(d, d))
    best = max(d, key=d.get)
    return s + best * min(d, key=lambda k: -d[k]) + sum(i * k for i, k in enumerate(sorted(d, key=d.get)))


@case(XS)
def lists_and_tuples_of_keys(xs):
    d = keyed(xs)
    a = [1.0]
    a.extend(d)
    a += d
    first, *rest = d
    p, q, r = d
    queue = collections.deque(d)
    s = sum(a) + 2 * sum([*d, *d.keys()]) + tuple(d)[0] + queue[1] * 3
    return s * first + sum(rest) + p * q * r + three(*d) + np.sum(np.array(list(d)) ** 2)


def three(a, b, c):
    return a * b - c


@case(XS)
def tuples_as_keys(xs):
    d = {(float(v), i): i + 1.0 for i, v in enumerate(xs)}
    d[(xs[0], (xs[1], 2))] = xs[2]
    s = 0.0
    for (p, q), w in d.items():
        s += p * w * (q if isinstance(q, int) else q[0])
    return s


Pair = namedtuple("Pair", "a b")


@case(XS)
def named_tuples_as_keys(xs):
    d = {Pair(xs[0], xs[1]): 1.0}
    d[Pair(xs[0], xs[2])] = 2.0
    return sum(k.a * k.b * v for k, v in d.items())


@case(XS)
def keys_of_several_kinds(xs):
    d = {"a": xs[0], xs[1]: 2.0, None: 3.0, 4: xs[2], complex(xs[0], xs[1]): 5.0}
    s = 0.0
    for k, v in d.items():
        if isinstance(k, float):
            s += k * v
        elif isinstance(k, complex):
            s += (k * k).real * v
        else:
            s += v
    return s


@case(XS)
def the_key_that_was_there_stays(xs):
    y, z = xs[0] * 1.0, xs[0] * 2.0 / 2.0
    d = {y: 1.0, z * 1.0: 5.0}
    d[z] = 2.0 * xs[1]
    d.update({xs[0] * 1.0: 3.0})
    e = {1: xs[0], 2.5: xs[2]}
    e[True] = xs[1]
    return sum(k * v for k, v in d.items()) + sum(k * v for k, v in e.items())


@case(XS)
def dicts_in_dicts(xs):
    d = {xs[0]: {xs[1]: xs[2], xs[2] * 2: 1.0}}
    t = 0.0
    for k, inner in d.items():
        for k2, v in inner.items():
            t += k * k2 * v
    return t


@case(XS)
def patterns(xs):
    match {xs[0]: 1.0, "a": xs[1], xs[2]: 2.0}:
        case {"a": v, **rest}:
            return v * sum(k * w for k, w in rest.items())


@case(XS)
def generators_of_keys(xs):
    d = keyed(xs)

    def squares():
        for k in d:
            yield k * k

    return sum(squares()) + sum(passed_on(d)) * next(passed_on(d))


def passed_on(d):
    yield from d


@case(XS)
def views_that_are_kept(xs):
    d = {xs[0]: 1.0}
    keys, items = d.keys(), d.items()
    d[xs[1]] = 2.0
    return sum(keys) * list(keys)[1] + sum(k * v for k, v in items) + len(keys) * (xs[0] in keys)


@case(XS)
def a_loop_that_is_left(xs):
    d = keyed(xs)
    s = 0.0
    try:
        for k in d:
            s += k
            d[k + 1.0] = 1
    except RuntimeError:
        return s * k
    return s


# -- moved and changed ------------------------------------------------------------------------------------


@case(XS)
def copies_of_every_kind(xs):
    d = keyed(xs)
    made = [dict(d), {**d, 1.0: 4}, d.copy(), d | {2.0: 1}, {9.0: 1} | d, copy.copy(d), copy.deepcopy(d), type(d)(d)]
    made.append({})
    made[-1].update(d)
    d |= {7.5: 3}
    d[xs[0] * 5.0] = 2
    made.append(d)
    return sum(sum(k * v for k, v in e.items()) * (n + 1) for n, e in enumerate(made))


@case(XS)
def made_of_keys_and_pairs(xs):
    d = dict.fromkeys([float(xs[0]), float(xs[1])], 1.0)
    e = dict.fromkeys(d, 2.0)
    f = {v: k for k, v in keyed(xs).items()}
    g = dict(zip(keyed(xs).values(), keyed(xs), strict=True))
    h = dict(sorted(keyed(xs).items()))
    return sum(d) * 2 + sum(k * v for k, v in e.items()) + f[1] * g[2] + sum(i * k for i, k in enumerate(h))


@case(XS)
def deleted_and_put_again(xs):
    d = keyed(xs)
    del d[xs[0]]
    d[xs[1]] = 2
    s = d.pop(xs[2])
    d[xs[2] * 3] = 1
    d.setdefault(xs[0] * 5, 3)
    d.setdefault(xs[0] * 5, 4)
    d[xs[0] * 1.0] = 7
    e = d.copy()
    d.clear()
    d[xs[0]] = 2
    return s * sum(k * v for k, v in e.items()) * sum(d)


@case(XS)
def taken_out_item_by_item(xs):
    d = {xs[0]: 0.5, xs[1]: 2.0}
    s = 0.0
    for i in range(5):
        k, v = d.popitem()
        s += k * v * i
        d[k * xs[2]] = v
    while d:
        k = next(iter(d))
        s += k * d.pop(k)
    return s


@case(XS)
def deleted_in_a_loop(xs):
    d = {}
    for i in range(3):
        d[xs[i]] = i
        for k in list(d):
            if d[k] < i:
                del d[k]
    return sum(d) ** 2


@case(XS)
def looked_up_only(xs):
    memo, seen, counts = {}, {}, {}

    def fib(n, y):
        if (n, y) in memo:
            return memo[n, y]
        r = y if n < 2 else fib(n - 1, y) + fib(n - 2, y) * y
        memo[n, y] = r
        return r

    t = fib(8, xs[0])
    for v in [*xs, *xs]:
        counts[v] = counts.get(v, 0) + 1
        if v not in seen:
            seen[v] = True
            t += v**2
    return t * counts[xs[1]]


@case(XS)
def read_by_key_while_gone_through(xs):
    d = {float(v): float(v) * 2.0 for v in xs}
    for k in d:
        d[k] = d[k] * k
    return sum(d.values()) + sum(k * v for k, v in sorted(d.items(), reverse=True)) * min(d.items())[0]


# -- other kinds of dicts, and places ---------------------------------------------------------------------


@case(XS)
def counters(xs):
    c = Counter(xs.tolist() * 2)
    c.update(xs.tolist()[:1])
    more = c + Counter({float(xs[0]): 1})
    more.subtract({float(xs[1]): 1})
    more += Counter({float(xs[2]): 2})
    s = sum(k * n for k, n in c.most_common(2)) + sum(c.elements())
    return s * sum(k * n for k, n in more.items())


@case(XS)
def default_dicts(xs):
    d = defaultdict(list)
    e = defaultdict(float)
    for v in xs:
        d[float(v)].append(v * v)
        e[round(float(v))] += v
        e[v] += v
    return sum(k * sum(v) for k, v in d.items()) + sum(k * v for k, v in e.items())


@case(XS)
def ordered_dicts(xs):
    d = OrderedDict((float(v), i) for i, v in enumerate(xs))
    d.update(OrderedDict.fromkeys([xs[0] * 2, xs[1]], 5))
    d.move_to_end(xs[0])
    first, _ = d.popitem(last=False)
    last, _ = d.popitem()
    return first * 2 + last * 3 + next(reversed(d)) ** 2 + sum(d)


class Plain(dict):
    pass


class Doubling(dict):
    def __iter__(self):
        for k in dict.__iter__(self):
            yield k * 2


@case(XS)
def classes_of_dicts(xs):
    d, e = Plain(), Doubling()
    for v in xs:
        d[v] = e[v] = 2.0
    maps = collections.ChainMap({}, d)
    mine = collections.UserDict({float(xs[0]): xs[1]})
    return sum(k * v for k, v in d.items()) * sum(e) + sum(dict.keys(e)) + sum(maps) + sum(mine)


class Holder:
    def __init__(self, xs):
        self.d = keyed(xs)

    def put(self, v):
        self.d[v] = 1

    def total(self):
        return sum(k * v for k, v in self.d.items())


@case(XS)
def in_attributes_lists_and_cells(xs):
    h = Holder(xs)
    h.put(xs[0] * 3.0)
    ds = [keyed(xs), keyed(xs * 2)]
    ds[0][xs[1] * 9.0] = 1
    inner = {}

    def put(v):
        inner[v] = 1

    for v in xs:
        put(float(v))
    return h.total() * sum(inner) + sum(sum(d) for d in ds) + max(ds[1])


@case(XS)
def given_and_returned(xs):
    return through(keyed(xs), 3) * first_of(keyed(xs)) + weighted(keyed(xs), by=xs[2])


def through(d, n):
    return sum(d) if n == 0 else through(d, n - 1) * 1.1


def first_of(d):
    for k in d:
        return k


def weighted(d, by):
    return sum(k * v for k, v in d.items()) * by


TABLE = {}


@case(XS)
def a_global_table(xs):
    TABLE.clear()
    for v in xs:
        TABLE[float(v)] = 2.0
    return sum(k * v for k, v in TABLE.items()) * sum(TABLE)


@case({0.5: 1.5, 2.5: 0.3}, XS)
def argument(d, xs):
    d[xs[0]] = xs[1]
    return sum(k * v for k, v in d.items()) + sum(d)


@case(XS)
def arrays_that_change_later(xs):
    ys = xs.copy()
    d = {v: 1.0 for v in ys}
    ys *= 2
    return sum(d) * ys[0]


@case(XS)
def in_an_integral(xs):
    d = {float(v): float(v) for v in xs}
    return integrate.quad(lambda t: sum(d) * t + sum(k * v for k, v in d.items()) * t * t, 0, 1)[0]


# -- objects and functions as keys ------------------------------------------------------------------------


class Node:
    def __init__(self, w):
        self.w = w


@case(0.7)
def objects_as_keys(x):
    a, b = Node(x), Node(2 * x)
    d = {a: 1.0, b: 3}
    e = {}
    e[a] = x
    e[b] = 2
    s = sum(d[k] * k.w for k in d) + min(e, key=e.get).w * x
    for k, v in e.items():
        s += k.w * v
    return s + weights(d) + sum(k.w for k in list(dict.fromkeys([a, b], 1.0))) + d[a] * a.w


def weights(d):
    s = 0.0
    for k, v in d.items():
        s += k.w * v
    return s


@case(0.7)
def objects_that_change_as_keys(x):
    a, b = Node(1.0), Node(x)
    d = {a: 1.0, b: 2.0}
    a.w = x * x
    s = sum(k.w * v for k, v in d.items())
    s += with_weight(d, a, x * 3.0)
    for k in d:
        k.w = k.w * x
    next(iter(d)).w *= 2.0
    return s + a.w * b.w


def with_weight(d, n, w):
    n.w = w
    return sum(k.w for k in d)


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@case(XS)
def equal_objects_as_keys(xs):
    d = {Point(xs[0], xs[1]): 1.0}
    d[Point(xs[0], xs[2])] = 2.0
    d[Point(xs[0], xs[1])] = 3.0
    e = copy.deepcopy(d)
    (p, v), n = e.popitem(), (Node(xs[2]), xs[1])
    f = {n: 1.0}
    return sum(k.x * k.y * w for k, w in d.items()) + p.x * p.y * v + sum(k[0].w * k[1] for k in f)


class Graph:
    def __init__(self):
        self.adjacent = {}

    def connect(self, a, b):
        self.adjacent.setdefault(a, []).append(b)


@case(XS)
def graphs(xs):
    g, ns = Graph(), [Node(x) for x in xs]
    g.connect(ns[0], ns[1])
    g.connect(ns[0], ns[2])
    g.connect(ns[1], ns[2])
    return sum(a.w * b.w for a, bs in g.adjacent.items() for b in bs)


@case(XS)
def functions_as_keys(xs):
    def scaled(y):
        return y * xs[0]

    d = {scaled: xs[1], (scaled, 1): xs[2], math.sin: 2.0}
    s = 0.0
    for k, v in d.items():
        s += k[0](3.0) * k[1] if isinstance(k, tuple) else k(2.0) * v
    return s + d[scaled]


@case(1.3)
def keys_put_together_with_dicts(x):
    a, b = {x: 1.0, 2.0: x * x}, {2.0: x, x * x: 2.0}
    words = {"p": x, "q": x * x}.keys() ^ {"q": x, "r": 2.0}
    total = sum(k * k * a.get(k, 3.0) for k in sorted(a.keys() ^ b))
    return total + sum(a.keys() & b) + sum(k * k for k in a.keys() - b) + len(words) * x


@case(1.3)
def values_backwards_taken_as_a_whole(x):
    d = {"a": x, "b": x * x}
    first = list(reversed({"a": x, "b": x * x}.values()))[0]  # noqa: RUF015
    k, v = next(reversed(d.items()))
    swapped = dict(reversed(d.items()))
    return (
        first * 2.0 + v * len(k) + swapped["a"] + max(reversed(d.values())) + [2.0 * w for w in reversed(d.values())][1]
    )


@case(1.3)
def values_backwards_are_a_view(x):
    d = {"a": x, "b": x * x}
    values, items = reversed(d.values()), reversed(d.items())
    d["a"] = 3.0 * x
    total = list(values)[1] * x + dict(items)["a"]
    view = d.values()
    d["c"] = d.pop("a") * x
    return total + next(reversed(view)) * 2.0 + sum(a * b for a, b in zip(reversed(view), view, strict=True))
