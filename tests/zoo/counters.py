"""Counters: made of what has derivatives, with all their methods and operators, and classes derived from them."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict

from tests.zoo.registry import case


@case(1.2, 0.5)
def made_and_added_to(a, b):
    c = Counter({"x": a, "y": b})
    c["x"] += b
    c["z"] = a * b
    return c["x"] * c["y"] + c["z"] + c["none"] * a


@case([1.0, 2.0, 0.5])
def counted_in_a_loop(xs):
    c = Counter()
    for i, x in enumerate(xs):
        c["ab"[i % 2]] += x * x
    c.update({"a": xs[0]})
    c.update(b=xs[1], d=2.0)
    return c["a"] * c["b"] + sum(c.values()) * c["d"]


@case(1.2, 0.5)
def taken_off(a, b):
    c = Counter(x=a, y=b)
    c.subtract({"x": b})
    c.subtract(y=a * 2.0)
    return c["x"] * c["y"] + c.total()


@case(1.2, 0.5)
def operators(a, b):
    c, d = Counter(x=a, y=b), Counter(x=b, z=a * a)
    more, less, greatest, least = c + d, c - d, c | d, c & d
    signs = Counter(x=a, y=-b)
    return (
        sum(more.values()) + 2.0 * less["x"] + 3.0 * sum(greatest.values()) + least["x"]
        + sum((+signs).values()) * 5.0 + sum((-signs).values()) * 7.0
    )  # fmt: skip


@case(1.2, 0.5)
def operators_in_place(a, b):
    c, d = Counter(x=a, y=b), Counter(x=b, z=a * a)
    c += d
    c["x"] *= 2.0
    c -= Counter(z=b)
    c |= d
    c &= Counter(x=9.0, y=9.0)
    return sum(c.values()) * c["x"]


@case(Counter(x=1.2, y=0.5), Counter(x=0.7, y=0.9))
def least_of_arguments(c, d):
    least = c & d
    return least["x"] * 2.0 + least["y"] * sum((c | d).values())


@case(1.2, 0.5)
def most_common_ones(a, b):
    c = Counter(x=a, y=b, z=a * b)
    (k, v), (_, w) = c.most_common(2)
    return v * 3.0 + w + len(k) + sum(v * i for i, (_, v) in enumerate(c.most_common()))


@case(1.2, 0.5)
def copied_and_deleted(a, b):
    c = Counter(x=a, y=b)
    d = c.copy()
    d["x"] += b
    del d["y"]
    del d["none"]
    e = Counter(c)
    e["y"] *= 2.0
    return d["x"] * c["x"] + d["y"] + e["y"] + c["y"] + (type(d) is Counter)


@case([0.5, 1.5, 1.7], [0.1, 0.2, 0.3])
def weighted_by_numbers_that_are_counted(xs, ws):
    c, d = Counter(int(x) for x in xs), Counter()
    for x, w in zip(xs, ws, strict=True):
        d[int(x)] += w
    twos = Counter(x=2, y=1)
    return sum(d[k] / c[k] for k in sorted(c)) + sum(xs[0] * len(e) for e in twos.elements()) + xs[1] * twos.total()


@case(1.2)
def values_and_constants(a):
    c = Counter()
    c["x"] += a
    c.update(x=a * a)
    c.update(["x", "y"])
    c.update(None)
    x = c.pop("x")
    c.setdefault("k", a)
    c.setdefault("k", 3.0)
    k, v = Counter(q=a).popitem()
    return x + c["y"] * a + c.get("k", 9.0) * v * len(k) + ("k" in c)


@case(Counter(x=1.0, y=2.0), 0.4)
def argument_that_is_updated(c, k):
    c.update(x=k)
    c["y"] -= k
    del c["z"]
    return c["x"] * c["y"] + c["q"]


class Amounts(Counter):
    def norm(self):
        return math.sqrt(sum(v * v for v in self.values()))

    def scale(self, k):
        for n in self:
            self[n] *= k
        return self


class Priced(Counter):
    def __init__(self, *args, unit="kg", **kwargs):
        super().__init__(*args, **kwargs)
        self.unit = unit

    def __missing__(self, key):
        return 0.5

    def put(self, key, v):
        self[key] = self[key] + v
        return self


class Ordered(Counter, OrderedDict):
    pass


@case(Amounts(x=1.0, y=2.0))
def derived_argument(c):
    return c.norm() + c["x"] + c["none"]


@case(1.2, 0.5)
def derived(a, b):
    c = Amounts(x=a, y=b)
    c.scale(b)
    d = Amounts()
    for i in range(4):
        d["ab"[i % 2]] += a * i + b
    e = c + Amounts(x=b)
    return c.norm() + c["x"] + d.norm() * d.most_common(1)[0][1] + d.total() + e["x"] * (type(e) is Counter)


@case(1.2, 0.5)
def derived_with_attributes_and_what_is_missing(a, b):
    c = Priced({"x": a})
    c.put("x", b).put("y", a * b)
    return c["x"] * c["y"] * c["none"] + len(c.unit)


@case(1.2, 0.5)
def derived_in_order(a, b):
    c = Ordered(x=a)
    c["y"] += b
    c.update(x=b)
    c.move_to_end("x")
    return sum(v * (i + 1) for i, v in enumerate(c.values()))
