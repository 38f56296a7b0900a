"""Objects whose methods keep or change something while C code compares, sorts and searches them."""

from __future__ import annotations

import bisect
import functools
import heapq
import math
from dataclasses import dataclass

import numpy as np

from tests.zoo.registry import case


class Noted:
    """Every comparison is noted, with a value that has a derivative."""

    def __init__(self, x, log):
        self.x, self.log = x, log

    def __lt__(self, other):
        self.log.append(self.x * other.x)
        return self.x < other.x

    def __gt__(self, other):
        self.log.append(self.x + other.x)
        return self.x > other.x

    def __eq__(self, other):
        self.log.append(self.x * other.x * other.x)
        return self.x == other.x

    __hash__ = None

    def __index__(self):
        self.log.append(self.x)
        return 1


@case(1.3)
def sorted_objects_that_note(x):
    log = []
    items = [Noted(v, log) for v in (x * x, x, 2.0, x * 3, 0.5)]
    items.sort()
    first = sorted([(1, items[2]), (1, items[1]), (0, items[0])], reverse=True)
    return items[0].x * sum(log) + first[0][1].x


@case(1.3)
def sorted_by_keys_that_note(x):
    log = []
    pairs = sorted([(1.0, Noted(x * x, log)), (x, Noted(x, log)), (3.0, Noted(2.0, log))], key=lambda p: p[1])
    return pairs[0][0] * sum(log)


@case(1.3)
def greatest_and_least_of_objects_that_note(x):
    log = []
    items = [Noted(x * x, log), Noted(x, log), Noted(2.0, log)]
    return max(items).x * min(items).x * min(items[0], items[2]).x + sum(log)


@case(1.3)
def heaps_and_bisection_of_objects_that_note(x):
    log, heap = [], []
    for v in (x * x, x, 2.0, x * 3):
        heapq.heappush(heap, Noted(v, log))
    least = heapq.heappop(heap)
    order = sorted(heap)
    k = bisect.bisect_left(order, Noted(1.8, log)) + bisect.bisect_right(order, Noted(2.5, log))
    return least.x * sum(log) * k


@case(1.3)
def searching_objects_that_note(x):
    log = []
    items = [Noted(1.0, log), Noted(x, log), Noted(2.0, log), Noted(x * 3, log)]
    mark = Noted(2.0, log)
    found = items.index(mark) + items.count(mark) + (mark in items) + tuple(items).index(mark)
    items.remove(mark)
    alike = (items == [Noted(1.0, log), Noted(x, log)]) + ((items[0], items[1]) < (Noted(1.0, log), Noted(x * 2, log)))
    return sum(log) * found + alike * x + len(items)


@case(1.3)
def indices_that_note(x):
    log = []
    i = Noted(x, log)
    a, items = np.array([1.0, x, x * x]), [x, x * x]
    items[i] = a[i] * 2
    del items[i]
    return sum(log) * a[i] + sum(items)


@case(1.3, [0])
def comparing_by_a_function_that_notes(x, count):
    seen, total = [], 0.0

    def compare(a, b):
        nonlocal total
        count[0] += 1
        total += a * b
        seen.append(a - b)
        return (a > b) - (a < b)

    xs = sorted([x * x, x, 2.0, x * 0.3], key=functools.cmp_to_key(compare))
    return xs[0] * sum(seen[1:]) + total * count[0]


class Lazy:
    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def norm(self):
        return math.sqrt(self.x * self.x + 1.0)

    def __lt__(self, other):
        return self.norm < other.norm


@case(1.3)
def keys_computed_when_they_are_compared(x):
    items = [Lazy(x), Lazy(2.0 * x), Lazy(0.5)]
    items.sort()
    return items[0].norm * items[1].norm + len(vars(items[2]))


@case(1.3)
def methods_that_note_in_what_they_captured(x):
    seen = []

    class Local:
        def __init__(self, x):
            self.x = x

        def __lt__(self, other):
            seen.append(self.x * x)
            return self.x < other.x

    items = sorted([Local(x), Local(2.0 * x)])
    return items[0].x * seen[0]


@dataclass(order=True)
class Job:
    rank: int
    cost: float
    done: list


@case(1.3)
def data_classes_in_order(x):
    jobs = sorted([Job(2, x, []), Job(1, x * x, []), Job(1, x, [])])
    heapq.heapify(jobs)
    return jobs[0].cost * heapq.heappop(jobs).cost + max(jobs).cost


@case(1.3)
def a_list_filled_by_the_object_of_a_sorted_list(x):
    log = []
    [Noted(x, log), Noted(x * x, log)].sort()
    return sum(log)


@case(1.3)
def counted_by_the_class(x):
    @functools.total_ordering
    class Counted:
        asked, total = 0, 0.0

        def __init__(self, v):
            self.v = v

        def __eq__(self, other):
            return self.v == other.v

        def __lt__(self, other):
            Counted.asked += 1
            Counted.total += self.v * other.v
            return self.v < other.v

    items = sorted([Counted(x), Counted(x * x), Counted(0.3), Counted(x * 2)], reverse=True)
    k = bisect.bisect(sorted(items), Counted(1.5)) + (items[1] >= items[2])
    return max(items).v * k + Counted.asked * x + Counted.total
