"""What compares, sorts and chooses: greatest and least with keys, heaps, bisection."""

import bisect
import heapq
import math
import operator
from dataclasses import dataclass, field

import numpy as np

from tests.zoo.registry import case

XS = [0.5, -1.2, 2.0, 0.3, -0.7, 1.1]


@case(XS)
def greatest_and_least_by_a_key(xs):
    far, near = max(xs, key=abs), min(xs, key=lambda v: (v - 0.45) ** 2)
    scale = xs[1]
    bent = max(xs, key=lambda v: math.cos(scale * v))
    return far * math.sin(near) + bent**2


@case(XS)
def place_of_the_greatest(xs):
    i, j = max(range(len(xs)), key=lambda i: xs[i]), min(range(len(xs)), key=xs.__getitem__)
    squares = {k: x * x for k, x in enumerate(xs)}
    best = max(squares, key=squares.get)
    return xs[i] * xs[j] + squares[best] * best


@case(XS)
def greatest_of_pairs_and_rows(xs):
    pairs = [(x, math.sin(x)) for x in xs]
    rows = [[x, x * x] for x in xs]
    p, q = max(pairs, key=lambda p: p[1]), min(pairs, key=operator.itemgetter(0))
    r = min(rows, key=lambda r: r[1] - r[0])
    r[0] *= 3.0
    return p[0] * q[1] + r[0] * max(rows, key=sum)[1] + sum(row[0] for row in rows)


@case(XS, 0.8)
def greatest_of_arguments_of_nothing_and_of_generators(xs, y):
    total = max(xs[0], xs[1], xs[4], key=abs) + max(xs[0], y, key=abs) * min(xs[1], y, key=abs)
    total += max([x for x in xs if x > 100.0], key=abs, default=y) + min((x * x for x in xs), key=lambda v: -v)
    total += min([], default=y * y) + max((), default=xs[0], key=abs) + max(iter(xs), key=abs)
    try:
        total += max([x for x in xs if x > 100.0], key=abs)
    except ValueError:
        total *= y
    return total


@case(XS)
def equal_keys_choose_the_first(xs):
    first, last = max(xs, key=lambda _: 0), min(reversed(xs), key=lambda _: 0)
    nearer = max(xs[0], xs[1], key=lambda _: 1.0)
    return first * math.sin(last) * nearer


@case(XS)
def greatest_in_a_loop(xs):
    total = 0.0
    for i in range(len(xs) - 1):
        total += max(xs[i], xs[i + 1], key=abs) * min(xs[i : i + 3], key=lambda v: v * v)
    return total


class Candidate:
    def __init__(self, value, cost):
        self.value, self.cost = value, cost

    def score(self):
        return self.value / self.cost

    def __lt__(self, other):
        return self.score() < other.score()


@case(XS)
def objects_by_key_and_by_comparison(xs):
    found = [Candidate(x, 1.5 + x * x) for x in xs]
    best = max(found, key=Candidate.score)
    cheap = min(found, key=lambda c: c.cost)
    least = min(found)
    ranked = sorted(found, key=lambda c: -c.value)
    return best.value * cheap.cost + least.score() + sum(i * c.value for i, c in enumerate(ranked))


@case(XS)
def sorting_by_keys(xs):
    ranked = sorted(xs, key=abs, reverse=True)
    pairs = [(x, i) for i, x in enumerate(xs)]
    pairs.sort(key=lambda p: p[0])
    order = sorted(range(len(xs)), key=lambda i: -xs[i])
    total = sum(i * x for i, x in enumerate(ranked)) + sum(x * i for x, i in pairs)
    return total + sum(r * xs[i] ** 2 for r, i in enumerate(order))


@case([0.3 + 0.05 * ((7 * i) % 11) + 0.01 * i for i in range(18)])
def shortest_paths(weights):
    n = 6
    edges = {i: [((2 * i + 1) % n, 0), ((i + 1) % n, 1), ((i + 3) % n, 2)] for i in range(n)}
    distance = [1e9] * n
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for v, k in edges[u]:
            longer = d + weights[3 * u + k]
            if longer < distance[v]:
                distance[v] = longer
                heapq.heappush(heap, (longer, v))
    return sum(math.sin(d) for d in distance)


@case([*XS, 3.1, -2.2, 0.9, 0.1, 1.7])
def heaps_that_are_pushed_popped_and_replaced(xs):
    heap = []
    for x in xs:
        heapq.heappush(heap, x * x)
    total, k = 0.0, 1.0
    while len(heap) > 3:
        total += k * heapq.heappop(heap)
        k += 0.5
    whole = [x * 1.5 for x in xs]
    heapq.heapify(whole)
    for x in xs[:6]:
        total = 0.9 * total + heapq.heapreplace(whole, x + 0.53) * math.sin(total)
        total += heapq.heappushpop(whole, x - 0.17) * x
    return total + sum(i * x for i, x in enumerate(whole)) + sum(heap)


@case(XS)
def largest_and_smallest_of_many(xs):
    high, low = heapq.nlargest(3, xs), heapq.nsmallest(2, (x * x for x in xs))
    near = heapq.nlargest(2, xs, key=lambda v: -abs(v))
    none = heapq.nlargest(0, xs) + heapq.nsmallest(-1, xs) + heapq.nlargest(20, xs[:2])
    merged = list(heapq.merge(sorted(xs[:3], reverse=True), sorted(xs[3:], reverse=True), reverse=True))
    total = sum(i * x for i, x in enumerate(merged))
    return total + high[0] * high[2] + low[0] * math.sin(low[1]) + near[0] * near[1] ** 2 + sum(none) ** 2


@case(XS, 0.77)
def bisection_and_insertion(xs, t):
    ys = []
    for x in xs:
        bisect.insort(ys, x)
    i = bisect.bisect_right(ys, t) - 1
    s = (t - ys[i]) / (ys[i + 1] - ys[i])
    bisect.insort_left(ys, t * t, key=lambda v: v)
    return (1 - s) * math.sin(ys[i]) + s * math.cos(ys[i + 1]) + sum(k * y for k, y in enumerate(ys))


@case(np.array([0.5, -1.2, 2.0, 0.3]))
def greatest_of_rows_of_arrays(x):
    rows = [x * k for k in (1.0, -2.0, 0.5)]
    largest = max(rows, key=lambda r: float(r @ r))
    first = min(rows, key=operator.itemgetter(0))
    return np.sum(largest**2) * first[1]


@case(XS, 0.77)
def keys_that_keep_what_they_are_asked(xs, t):
    seen = []

    def key(v):
        seen.append(v * t)
        return -v

    ordered = sorted(xs, key=key)
    xs.sort(key=key)
    i = bisect.bisect_left(xs, -0.63, key=key)
    return sum(k * v for k, v in enumerate(seen)) * xs[i] + ordered[0] * seen[-1]


@case([0.4, 1.3, -0.6, 0.9])
def sorted_without_and_with_a_key(xs):
    up = sorted(xs)
    pairs = [(x * x, k) for k, x in enumerate(xs)]
    pairs.sort(key=lambda p: -p[0])
    names = {"b": xs[0], "a": xs[1]}
    first = 0.0
    for k in sorted(names):
        first = first * 0.5 + names[k]
    return up[0] * up[2] + pairs[0][0] * pairs[1][1] * first


TIMES, RISKS, SEEN = [3.0, 1.0, 2.0, 2.5], [0.1, -0.4, 0.7, 0.2], [True, False, True, True]


@case(0.7)
def constant_rows_in_order(beta):
    rows = sorted(zip(TIMES, RISKS, SEEN), key=operator.itemgetter(0))
    total = 0.0
    for i, (_, risk, seen) in enumerate(rows):
        if seen:
            total += beta * risk - math.log(sum(math.exp(beta * r) for _, r, _ in rows[i:]))
    return total + sum(beta * a * b for a, b in list(zip(TIMES, RISKS)))


@case([1.3, 0.2, 0.9], 0.7)
def rows_in_order_of_an_item(xs, y):
    rows = [(x * y, k) for k, x in enumerate(xs, 1)]
    rows.sort(key=operator.itemgetter(0), reverse=True)
    return sum(v * k * i for i, (v, k) in enumerate(rows, 1)) + sorted(rows, key=operator.itemgetter(1))[0][0]


class Bid:
    def __init__(self, price, size):
        self.price, self.size = price, size

    def __lt__(self, other):
        return self.price < other.price


@case(XS)
def objects_that_only_say_which_is_less(xs):
    bids = [Bid(x, x * x) for x in xs]
    heap = []
    for b in bids:
        heapq.heappush(heap, b)
    total = max(bids).size * min(bids).price
    while heap:
        b = heapq.heappop(heap)
        total += b.price * b.size * len(heap)
    bids.sort()
    first, last = bids[0], bids[-1]
    return (
        total
        + sum(b.size * i for i, b in enumerate(sorted(bids, reverse=True)))
        + (first.size if first < last else last.size)
    )


@dataclass(order=True)
class Event:
    time: float
    weight: float = field(compare=False)


@case(XS)
def events_in_the_order_of_their_times(xs):
    queue = [Event(x, x * x) for x in xs]
    heapq.heapify(queue)
    total = 0.0
    while queue:
        e = heapq.heappop(queue)
        total += e.time * e.weight * len(queue)
        if e.weight > 1.0:
            heapq.heappush(queue, Event(e.time + 1.0, e.weight * 0.3))
    return total


@case(XS)
def the_best_of_objects_without_comparisons(xs):
    found = [Candidate(x, 1.5 + x * x) for x in xs]
    return max(found, key=lambda c: c.value).cost * min(found, key=lambda c: c.cost, default=None).value


class Book:
    def __init__(self):
        self.bids, self.asks = [], []

    def add(self, side, price, size):
        (self.bids if side else self.asks).append((price, size))
        self.bids.sort(key=lambda t: -t[0])
        self.asks.sort(key=lambda t: t[0])

    def middle(self):
        return (self.bids[0][0] + self.asks[0][0]) / 2


@case(XS)
def lists_that_an_object_keeps_in_order(xs):
    book, total = Book(), 0.0
    for i, x in enumerate(xs):
        book.add(i % 2 == 0, x if i % 2 == 0 else 1.2 * x + 3.0, x * x)
        if book.bids and book.asks:
            total += book.middle() * book.asks[0][1]
    return total
