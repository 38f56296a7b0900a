"""Containers: every method of list and dict, deques, default and ordered dicts, counters, named tuples, sets;
what carries functions (partials, caches, getters)."""

from __future__ import annotations

import bisect
import copy
import functools
import heapq
import math
import operator
from collections import Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from tests.zoo.registry import case

Pair = namedtuple("Pair", "x y")


class Span(NamedTuple):
    start: Any
    stop: Any = 2.0

    def length(self) -> Any:
        return self.stop - self.start

    @property
    def middle(self) -> Any:
        return 0.5 * (self.start + self.stop)


@case(0.7)
def list_methods(x):
    xs = [x, 2.0]
    xs.append(x * x)
    xs.extend([x, 3.0])
    xs.insert(1, x**3)
    xs.reverse()
    a = xs.pop()
    b = xs.pop(0)
    xs.remove(2.0)
    xs.sort()
    c = xs.copy()
    xs.clear()
    xs += [x]
    return a * b + sum(c) * xs[0] * c.count(x) + c.index(c[1])


@case(0.7)
def list_slices_assigned_and_deleted(x):
    xs = [x] * 3 + [2.0, x * x]
    ys = xs[1:4]
    ys[0] = 5 * x
    xs[0:2] = [x * x, x, x]
    del xs[0]
    del xs[1:3]
    xs *= 2
    ys *= 2
    return sum(xs) * sum(ys) * len(xs) + (1.0 if xs < ys else x) + (x if 2.0 in xs else 0.0)


@case(0.7)
def list_slices_with_steps(x):
    xs = [x * i for i in range(8)]
    ys = xs[::2]
    xs[::2] = [v * x for v in ys]
    zs = xs[::-1]
    del xs[::3]
    return sum(xs) * zs[1] + ys[-1]


@case(0.7)
def sorting_with_key(x):
    xs = [3.0 * x, -x, 2.0 * x]
    xs.sort(key=lambda v: -v)
    ys = sorted(xs, key=abs, reverse=True)
    return xs[0] * ys[-1] + ys[0]


@case(0.7)
def sorting_pairs(x):
    pairs = [(2, x), (1, x * x), (3, 1.0)]
    pairs.sort()
    back = sorted(pairs, key=lambda p: -p[0])
    return pairs[0][1] * 3 + back[0][1] * back[1][1]


@case(0.7)
def sorting_by_active_values(x):
    d = {"a": x, "b": x * x, "c": -x}
    order = sorted(d, key=d.get)
    largest = max(d.items(), key=lambda kv: kv[1])
    return sum(i * d[k] for i, k in enumerate(order)) + largest[1] * min(d.values(), key=abs)


@case(0.7)
def dict_methods(x):
    d = {"a": x, "b": x * x}
    d["c"] = 3 * x
    d.update({"a": x**3})
    d.update(e=x)
    d.setdefault("f", x * 2)
    d.setdefault("a", 9.0)
    v = d.pop("b")
    w = d.pop("zz", x)
    _, u = d.popitem()
    del d["c"]
    s = 0.0
    for k, vv in d.items():
        s += vv if k != "e" else 2.0 * vv
    for k in d:
        s += d[k] * 2
    for vv in d.values():
        s += vv * vv
    e = d.copy()
    d.clear()
    return s * v * w * u + len(d) + e.get("a") + e.get("q", x)


@case(0.7)
def dicts_merged_and_made(x):
    a = {"p": x, "q": 2.0}
    b = {"q": x * x}
    c = {**a, **b, "r": x}
    d = a | b
    a |= b
    e = dict(a, z=x)
    f = dict([("k", x), ("l", 2.0)])
    g = dict(zip("ab", [x, x * x], strict=True))
    h = dict.fromkeys("xy", x)
    return c["q"] * d["p"] + a["q"] * e["z"] + f["k"] * g["b"] + h["x"] * h["y"]


@case(0.7)
def dict_comprehensions(x):
    d = {i: x**i for i in range(4)}
    e = {k: v * 2 for k, v in d.items() if k > 1}
    return sum(e.values()) + sum(v for v in d.values()) + max(d.values())


@case(0.7)
def dict_keys_as_list(x):
    d = {(1, 2): x, "k": x * x}
    ks = list(d.keys())
    pairs = list(d.items())
    return d[ks[0]] * d[ks[1]] + sum(d[k] for k in d) + pairs[0][1] * pairs[1][1]


@case(0.7)
def nested_containers(x):
    d = {"l": [x, {"m": (x * x, [x])}]}
    d["l"][1]["m"][1].append(x**3)
    d["l"][0] *= 2
    return d["l"][0] * d["l"][1]["m"][1][1] * d["l"][1]["m"][0]


@case(0.7)
def sets_of_constants(x):
    s = {1, 2, 3}
    s.add(4)
    s |= {5}
    s.discard(2)
    t = 0.0
    for k in sorted(s):
        t += x**k
    u = {k for k in range(3)}
    return t * len(u & s) + (x if 3 in s else 0)


@case(0.7)
def deque_methods(x):
    d = deque([x, 2.0], maxlen=3)
    d.append(x * x)
    d.appendleft(x**3)
    a = d.pop()
    b = d.popleft()
    d.extend([x, a])
    d.rotate(1)
    d[0] = d[0] * x
    return d[0] * d[1] + b + sum(d) + len(d)


@case(0.7)
def deque_rearranged(x):
    d = deque([1.0, x, x * x, 3.0])
    d.reverse()
    d.insert(1, x)
    d.remove(3.0)
    del d[1]
    e = d.copy()
    d.clear()
    e.extendleft([x, 2 * x])
    f = deque(maxlen=2)
    f.extend([x, x * x, x**3])
    d += [x]
    s = 0.0
    for i, v in enumerate(e):
        s += v * i
    return s + f[0] * d[-1] + max(e)


@case(0.7)
def deque_as_queue(x):
    d = deque()
    for i in range(5):
        d.append(x * i)
    s = 0.0
    while d:
        s = s * x + d.popleft()
    return s


@case(0.7)
def defaultdict_of_floats_and_lists(x):
    d = defaultdict(float)
    for i in range(6):
        d[i % 3] += x * i
    e = defaultdict(list)
    e["a"].append(x)
    e["a"].append(x * x)
    return d[0] * d[1] + sum(e["a"]) * len(e["b"]) + d[2] + sum(e["a"])


@case(0.7)
def defaultdict_of_active_values(x):
    d = defaultdict(lambda: x * x, {"a": x})
    d["q"] += x
    e = defaultdict(lambda: defaultdict(float))
    e["a"]["b"] += x
    e["a"]["c"] += x * x
    e["a"]["b"] *= x
    return d["a"] * d["q"] * d["new"] + sum(v for row in e.values() for v in row.values())


@case(0.7)
def ordered_dict(x):
    d = OrderedDict([("a", x), ("b", x * x)])
    d["c"] = x
    d.popitem(last=False)
    e = OrderedDict(d)
    e.move_to_end("b")
    return list(e.values())[1] * d["c"] + e["b"] + sum(d.values())


@case(0.7)
def counters(x):
    words = Counter("abca")
    c = Counter()
    c["a"] += x
    c["b"] += x * x
    c["a"] += 2 * x
    w = Counter({"a": x, "b": 2.0})
    w.update({"a": x * x})
    w.subtract({"b": x})
    return x * words["a"] + words["zz"] + c["a"] * c["b"] + w["a"] * w["b"] + sum(w.values())


@case(0.7)
def named_tuples(x):
    p = Pair(x, x * x)
    q = p._replace(x=p.y * 2)
    a, b = q
    return a * b + p.x * q[1] + Pair._make([x, 1.0]).x + p._asdict()["y"] + len(p)


@case(0.7)
def typed_named_tuples(x):
    s = Span(x)
    t = Span(stop=x * x, start=2.0)
    return s.length() * t.middle + t.length() * s.middle


@case(0.7)
def named_tuple_as_result(x):
    return Span(x, Pair(x * x, 2.0))


@case(Pair(0.7, np.array([1.0, 2.0])), Span(0.2))
def named_tuples_as_arguments(p, s):
    return np.sum(p.y) * p.x + s.length() * s.start


@case(0.7)
def carried_named_tuple(x):
    s = Span(x, 1.0)
    for _ in range(5):
        s = Span(s.stop * x, s.start + s.length())
    return s


@case(0.7)
def partials(x):
    f = functools.partial(lambda a, b, c=1.0: a * b * c, x)
    g = functools.partial(f, c=x * x)
    return f(2.0) + g(x)


@case(0.7)
def cached_recursion(x):
    @functools.lru_cache(None)
    def fib(n):
        return x if n < 2 else fib(n - 1) + fib(n - 2) * x

    return fib(12)


@functools.cache
def cached_product(a, b):
    return a * a * b


@case(0.7)
def cached_function_of_active_values(x):
    return cached_product(x, 2.0) + cached_product(x, 2.0) * cached_product(x * x, 1.0)


@case(0.7)
def wrapped_function(x):
    def scaled(f):
        @functools.wraps(f)
        def inner(*args, **kwargs):
            return f(*args, **kwargs) * x

        return inner

    @scaled
    def square(t):
        return t * t

    return square(x) + square(t=2.0) if hasattr(square, "__wrapped__") else 0.0


@case(0.7)
def getters_of_operator(x):
    second = operator.itemgetter(1)
    first_name = operator.attrgetter("x")
    both = operator.itemgetter("a", "b")
    get_a = operator.methodcaller("get", "a")
    d = {"a": x, "b": x * x}
    a, b = both(d)
    return second([1.0, x]) * first_name(Pair(x, 2.0)) + a * b + get_a(d)


@case(0.7)
def functions_in_containers(x):
    table = {"s": math.sin, "q": lambda v: v * v * x}
    s = 0.0
    for f in [math.exp, table["q"]]:
        s += f(x)
    return s + table["s"](x)


@case(0.7)
def starred_displays(x):
    a, *b = [x, x * x, 3.0]
    c = [*b, a]
    d = (*c, x)
    return c[0] * d[2] + d[-1] * len({*[1, 2]})


@case(0.7)
def comparisons_of_containers(x):
    a, b = [x, 1.0], [x, 1.0]
    s = 0.0
    if a == b:
        s += a[0]
    if a != [2.0]:
        s += x * x
    if (x, 1) < (2.0, 0):
        s += x
    if a >= [0.1]:
        s += 3 * x
    return s if {"k": x} == {"k": x} else 0.0


@case(0.7)
def copies_of_containers(x):
    a = [[x], [x * x]]
    b, c, d = copy.deepcopy(a), copy.copy(a), list(a)
    e = copy.deepcopy({"k": [x], "t": (x, [x * 2.0])})
    a[0][0] = x**3
    return b[0][0] * c[0][0] * d[1][0] + e["k"][0] * e["t"][1][0] * e["t"][0]


@case(0.7)
def stack_machine(x):
    stack = [x]
    for op in "+*+":
        top = stack.pop()
        stack.append(top + x if op == "+" else top * top)
    return stack[-1]


@case(0.7)
def memo_dict(x):
    memo = {}

    def f(n):
        if n in memo:
            return memo[n]
        r = x if n < 2 else f(n - 1) + x * f(n - 2)
        memo[n] = r
        return r

    return f(10)


@case(0.7)
def tuples_repeated_and_joined(x):
    t = (x,) * 3 + (x * x,)
    return sum(t) * t.count(x) + t[-1] + t.index(x) + (x if t == (x, x, x, x * x) else 0)


class Stack(list):
    def __init__(self, *items: Any):
        super().__init__(items)
        self.pushed = 0

    def push(self, value: Any) -> Stack:
        self.append(value)
        self.pushed += 1
        return self

    def __getitem__(self, i: Any) -> Any:
        return super().__getitem__(i) * 2


class Table(dict):
    def __missing__(self, key: Any) -> Any:
        return 2.0

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value * 2)


@case(0.7)
def subclass_of_list(x):
    s = Stack(x, x * x)
    s.push(3 * x).push(x)
    s[0] = x**3
    s.extra = x
    return s[0] * s[1] * len(s) * s.pushed + sum(s) * s.extra


@case(0.7)
def subclass_of_dict(x):
    d = Table(a=x)
    d["b"] = x * x
    return d["a"] * d["b"] * d["zz"]


@case(0.7)
def user_dict_and_namespace(x):
    d = UserDict(a=x)
    d["b"] = x * x
    n = SimpleNamespace(a=x, b=2.0)
    n.c = n.a * x
    n.a += 1
    return d["a"] * d["b"] + n.a * n.c * n.b


@case(0.7)
def heap_queue(x):
    heap = [(3, x * 2.0)]
    heapq.heappush(heap, (2, x))
    heapq.heappush(heap, (1, x * x))
    _, v = heapq.heappop(heap)
    heapq.heapreplace(heap, (5, x**3))
    values = [x, 3.0, -x]
    heapq.heapify(values)
    return v * heap[0][1] + values[0] * heap[-1][1]


@case(0.7)
def smallest_of_a_heap(x):
    values = [x, 3.0, x * x, -x, 2.0 * x, x - 0.1]
    low, high = heapq.nsmallest(3, values), heapq.nlargest(2, values)
    far = heapq.nsmallest(2, values, key=lambda v: (v - 2.0) ** 2)
    return low[0] * low[1] + low[2] * high[1] + far[1] * x


@case(0.7)
def bisection(x):
    xs = [0.0, 1.0, 2.0]
    i = bisect.bisect(xs, x)
    bisect.insort(xs, x * x)
    return x * i + xs[1] * 3.0


@case([1.2, -0.7, [0.3, 2.0]], {"a": 1.5, "n": 3, "v": np.array([0.2, 0.4])})
def containers_as_arguments(xs, d):
    return xs[0] * xs[2][1] * d["a"] + np.sum(d["v"]) * xs[1] * d["n"]


@case([1.2, -0.7, 0.3], {"a": 1.5, "b": 2.0, "c": 0.2})
def container_arguments_changed(xs, d):
    xs.sort()
    xs[0:1] = [xs[1] * 2.0, d["b"]]
    xs.append(d.pop("a"))
    d["b"] = xs[0] * d["c"]
    d["new"] = xs.pop(1)
    xs.reverse()
    return xs[0] * d["b"] + d["new"] * sum(xs)


@case(deque([1.2, -0.7, 0.3], 4), OrderedDict(a=1.5, b=2.0), defaultdict(float, {"k": 0.4}))
def deque_and_dicts_as_arguments(q, d, e):
    q.append(d["a"])
    q.append(q[0] * q[1])
    d.move_to_end("a")
    e["m"] += q.popleft()
    return e["m"] * e["k"] + sum(q) * d["b"]


@case(0.7)
def containers_as_results(x):
    out = [x]
    out.append({"a": x * x, "l": [x]})
    out[1]["l"].append((x**3, 1))
    return out


@case(0.7, 1.3)
def list_of_lists_updated_in_loop(x, y):
    grid = [[x * i + y * j for j in range(3)] for i in range(3)]
    for i in range(1, 3):
        for j in range(3):
            grid[i][j] += grid[i - 1][j] * grid[i][j - 1]
    row = grid[1]
    row[0], row[2] = row[2], row[0]
    return sum(sum(r) for r in grid) * grid[1][0]


@case(0.7)
def aliased_rows(x):
    row = [x, x * x]
    grid = [row] * 3
    grid[0][0] = x * 5.0
    grid.append(grid[1])
    return sum(r[0] * r[1] for r in grid)


@case(1.3)
def named_tuple_in_the_place_of_a_tuple(x):
    p = [Pair(x, x * x)][0]
    q = [Pair(np.array([x, 2.0]), np.array([x * x, x]))][0]
    joined = np.hstack(p).sum() + np.concatenate(q).sum() + np.sum(np.array(p)) + np.sum(p)
    return max(*p) * joined + (lambda a, b: a * b)(*p)


@case(1.3, [3, 1, 3], ["b", "a", "b"], {"k": 2})
def sets_of_what_is_given(x, labels, words, table):
    labels.append(4)
    place = {w: i for i, w in enumerate(sorted(set(words)))}
    found = set(labels) | {7}
    found.update(labels, list(table.values()))
    found.difference_update([1])
    return x ** len(found) * sum(place[w] for w in words) * len(frozenset(labels)) * len(set(table.items()))


@case(1.3, {1, 2, 3}, [2, 5])
def sets_changed_in_place(x, s, more):
    s |= {7}
    s &= {1, 2, 7}
    s ^= {2}
    s -= {1}
    s.update(more)
    s.symmetric_difference_update(more[:1])
    return x ** len(s)


class Layers(list):
    def __call__(self, y):
        for layer in self:
            y = layer(y)
        return y


@case(1.3)
def derived_list_of_functions(x):
    layers = Layers([math.sin, lambda y: y * x])
    layers.append(lambda y, k=x: y + k)
    layers += [math.exp]
    return layers(x) * len(dir(layers)[:3])


@case([0.4, 0.7, 1.2, 0.9])
def dicts_in_dicts_that_are_made_when_they_are_asked_for(xs):
    found = {}
    for i, x in enumerate(xs):
        found.setdefault(i % 3, {}).setdefault("values", []).append(x * x)
        found.setdefault(i % 2, {}).setdefault("last", {})[i] = x
    return sum(sum(e["values"]) ** 2 for e in found.values()) + found[0]["last"][2] * found[1]["last"][1]


@case([0.4, 0.7, 1.2])
def containers_taken_out_and_put_into_themselves(xs):
    d = {"x": xs[0]}
    itself = d.setdefault("d", d)
    itself["x"] *= xs[1]
    d.setdefault("d", {})["y"] = xs[2] * d["x"]
    stack = [[xs[0]]]
    for x in xs:
        top = stack.pop()
        top.append(x * top[-1])
        stack.append(top)
    held = {"a": {"b": xs[1]}}
    inner = held.pop("a")
    inner["b"] *= xs[0]
    held["c"] = inner
    other = held.pop("none", held)
    other["c"]["b"] += xs[2]
    return d["x"] * d["d"]["y"] + stack[0][-1] + held["c"]["b"] ** 2


_MISSING = object()


def _scaled(a, by=_MISSING):
    return a * a if by is _MISSING else a * by


@case([0.4, 0.7, 1.2, 0.9])
def what_stands_for_nothing(xs):
    missing, none = object(), object()
    found, total = {}, 0.0
    for i, x in enumerate(xs):
        v = found.get(i % 2, missing)
        if v is missing:
            found[i % 2] = v = x
        w = found.get(i % 3, missing if i < 3 else none)
        if w is missing:
            total += x
        elif w is none:
            total += found[1] * x
        elif w is not _MISSING:
            total += w * x
        total += v * x + _scaled(x) * _scaled(x, xs[i - 1])
    return total


@case([0.4, 0.7, 1.2])
def what_stands_for_nothing_and_is_computed_with(xs):
    missing, total = object(), 0.0
    for i, x in enumerate(xs):
        v = {0: x}.get(i, missing)
        try:
            total += x * v
        except TypeError:
            total += x if v is missing else 2 * x
        try:
            total += v[0]
        except TypeError:
            total += x * x
    return total
