"""Sets of numbers, names and places that say what has been visited, and what they become when more is put into them."""

import heapq

from tests.zoo.registry import case

ROADS = {"a": ["b", "c"], "b": ["d"], "c": ["b", "d"], "d": []}


@case({"ab": 1.0, "ac": 0.3, "bd": 2.0, "cb": 0.4, "cd": 1.9})
def shortest_way(length):
    dist, done, todo = {"a": 0.0}, set(), [(0.0, "a")]
    while todo:
        d, u = heapq.heappop(todo)
        if u in done:
            continue
        done.add(u)
        for v in ROADS[u]:
            new = d + length[u + v]
            if v not in dist or new < dist[v]:
                dist[v] = new
                heapq.heappush(todo, (new, v))
    return dist["d"] * dist["b"] + len(done)


@case([1.0, 2.0, 0.4])
def places_on_a_grid(w):
    seen, todo, total = {(0, 0)}, [(0, 0)], 0.0
    while todo:
        i, j = todo.pop()
        total += w[i] * w[j]
        for at in ((i + 1, j), (i, j + 1)):
            if max(at) < 3 and at not in seen:
                seen.add(at)
                todo.append(at)
    return total + len(seen)


@case([1.0, 2.0, 0.4])
def operators_and_comprehensions(w):
    large = {i for i, x in enumerate(w) if x > 0.5}
    every = set(range(3))
    total = 0.0
    for i in sorted(large):
        total += w[i] ** 2
    for i in every - large:
        total += w[i] ** 3
    large |= every & {2}
    large.discard(0)
    while large:
        total += w[large.pop()] * total
    return total


@case([1.0, 2.0, 0.4])
def changed_by_methods(w):
    s = set()
    s.update([0], (1,))
    s.symmetric_difference_update({1, 2})
    total = sum(w[k] ** 2 for k in s)
    s.intersection_update({2})
    s.remove(2)
    return total if not s else 0.0


def once(s, k):
    if k in s:
        return 0.0
    s.add(k)
    return 1.0


class Visits:
    def __init__(self):
        self.seen = set()


@case([1.0, 2.0, 0.4])
def filled_elsewhere(w):
    a, visits, by_rest = set(), Visits(), {}
    b, total = a, 0.0
    for i, x in enumerate(w):
        total += once(b, i // 2) * x * x
        visits.seen.add(i)
        by_rest.setdefault(i % 2, set()).add(i)
    for k in a:
        total += w[k] * len(visits.seen)
    for r, found in by_rest.items():
        for k in found:
            total += w[k] ** 2 * (r + 1)
    return total


class Weight:
    def __init__(self, v):
        self.v = v


@case([1.0, 2.0, 0.4])
def objects_among_constants(w):
    weights = [Weight(x) for x in w]
    s = {1, 2}
    s.add(weights[0])
    t = {0, 1}
    if w[0] > 0:
        t = set(weights)
    total = 0.0
    for k in list(s):
        total += w[k] if isinstance(k, int) else k.v * 5.0
    for k in t:
        total += k.v**2
    return total


@case([1.0, 2.0, 0.4])
def keys_of_several_kinds(w):
    named = {"a": w[0], "b": w[1], "c": w[2]}
    wanted = {"a"} if w[0] > 0.5 else {0}
    wanted |= {"c"}
    total = sum(named[k] ** 2 for k in sorted(wanted | {"b"}))
    for k in named.keys() - wanted:
        total += named[k] ** 3
    return total


@case([1.0, 2.0, 0.4], {7})
def constants_put_into_one_that_is_given(w, s):
    total = 0.0
    for i, x in enumerate(w):
        if i // 2 not in s:
            s.add(i // 2)
            total += x * x
    return total * len(s)


@case([0.4, 1.3, 2.2])
def common_items_are_those_of_the_smaller_set(xs):
    whole, other = {int(x) for x in xs}, {float(len(xs)) - 1.0}
    total = 0.0
    for v in whole & other:
        total += xs[0] if isinstance(v, int) else xs[0] * xs[1]
    for v in whole.intersection(other):
        total *= xs[2] if isinstance(v, int) else xs[2] * xs[1]
    whole &= other
    return total * (xs[1] if isinstance(whole.pop(), int) else xs[1] ** 3)
