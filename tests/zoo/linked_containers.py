"""Containers that lead to others of their kind: linked lists of tuples, lists and dicts, trees, stacks, tries."""

from __future__ import annotations

import heapq
import math

from tests.zoo.registry import case

XS = [0.7, 1.3, 0.2, 2.1, 0.9, 1.7, 0.4]


@case(XS)
def list_of_pairs(xs):
    p = None
    for x in xs:
        p = (x, p)
    s = 0.0
    while p is not None:
        x, p = p
        s += x * x
    return s


@case(XS)
def list_of_dicts(xs):
    p = None
    for x in xs:
        p = {"val": x, "next": p}
    s = 0.0
    while p is not None:
        s += p["val"] ** 3
        p = p["next"]
    return s


@case(XS)
def list_of_lists(xs):
    p = None
    for x in xs:
        p = [x, p]
    s = 0.0
    while p is not None:
        x, p = p
        s += math.sin(x) * x
    return s


@case(XS)
def list_with_pairs_in_it(xs):
    p = None
    for x in xs:
        p = ((x, x * x), p)
    s = 0.0
    while p is not None:
        (a, b), p = p
        s += a * b
    return s


@case(XS)
def list_turned_round(xs):
    p = ()
    for x in xs:
        p = (x, p)
    r = ()
    while p:
        r = (p[0] * 2.0, r)
        p = p[1]
    s, k = 0.0, 1.0
    while r:
        s += r[0] ** 2 * k
        k *= 0.9
        r = r[1]
    return s


@case(XS)
def stack_that_shrinks(xs):
    stack, s = None, 0.0
    for i, x in enumerate(xs):
        stack = (x * x, stack)
        if i % 3 == 2:
            y, stack = stack
            s += math.sin(y)
    n = 0
    while stack:
        s += stack[0] * n
        stack = stack[1]
        n += 1
    return s


@case(XS)
def dicts_added_at_the_end(xs):
    head = {"v": 0.5, "n": None}
    tail = head
    for x in xs:
        new = {"v": x, "n": None}
        tail["n"] = new
        tail = new
    s, p = 0.0, head
    while p is not None:
        s += math.exp(-p["v"])
        p = p["n"]
    return s


@case(XS)
def lists_added_at_the_end(xs):
    head = [0.5, None]
    tail = head
    for x in xs:
        tail[1] = [x, None]
        tail = tail[1]
    s, p = 0.0, head
    while p is not None:
        s += p[0] ** 3
        p = p[1]
    return s


@case(XS)
def items_changed_on_the_way(xs):
    p = None
    for x in xs:
        p = [x, p]
    q = p
    while q[1] is not None:
        q[0] = q[0] * q[1][0]
        q = q[1]
    s = 0.0
    while p is not None:
        s += p[0] ** 2
        p = p[1]
    return s


@case(XS)
def ring_of_dicts(xs):
    first = {"v": xs[0]}
    last = first
    for x in xs[1:]:
        new = {"v": x}
        last["n"] = new
        last = new
    last["n"] = first
    s, p = 0.0, first
    for i in range(20):
        s += p["v"] ** 2 * math.cos(i)
        p = p["n"]
    return s


@case([1.5])
def list_in_itself(xs):
    a = [xs[0] ** 2]
    a.append(a)
    s = 0.0
    for k in range(4):
        s += a[0] * k
        a = a[1]
    return s


def half(xs):
    if len(xs) == 1:
        return xs[0]
    m = len(xs) // 2
    return (half(xs[:m]), half(xs[m:]))


def weighed(t):
    if isinstance(t, tuple):
        return weighed(t[0]) * 0.5 + weighed(t[1])
    return math.sin(t)


@case(XS)
def tree_of_pairs(xs):
    return weighed(half(xs))


@case(XS)
def tree_of_pairs_by_a_stack(xs):
    stack, s = [(half(xs), 1.0)], 0.0
    while stack:
        t, w = stack.pop()
        if isinstance(t, tuple):
            stack.append((t[0], w * 0.5))
            stack.append((t[1], w * 0.8))
        else:
            s += w * t * t
    return s


def added(t, x):
    if t is None:
        return (None, x, None)
    left, v, right = t
    return (added(left, x), v, right) if x < v else (left, v, added(right, x))


def summed(t, d):
    if t is None:
        return 0.0
    left, v, right = t
    return summed(left, d + 1) + v * v / (1 + d) + summed(right, d + 1)


@case(XS)
def search_tree_of_tuples(xs):
    t = None
    for x in xs:
        t = added(t, math.sin(x))
    return summed(t, 0)


def added_in_place(t, x):
    if t is None:
        return [None, x, None]
    if x < t[1]:
        t[0] = added_in_place(t[0], x)
    else:
        t[2] = added_in_place(t[2], x)
    return t


@case(XS)
def search_tree_of_lists(xs):
    t = None
    for x in xs:
        t = added_in_place(t, math.sin(x))
    return summed(t, 0)


@case(XS)
def search_tree_by_a_loop(xs):
    root = {"v": xs[0], "l": None, "r": None}
    for x in xs[1:]:
        t = root
        while True:
            side = "l" if x < t["v"] else "r"
            if t[side] is None:
                t[side] = {"v": x, "l": None, "r": None}
                break
            t = t[side]
    s, todo = 0.0, [(root, 1.0)]
    while todo:
        t, w = todo.pop()
        s += t["v"] ** 2 * w
        for side in ("l", "r"):
            if t[side] is not None:
                todo.append((t[side], w * 0.7))
    return s


@case(XS)
def trie(xs):
    root = {}
    for i, x in enumerate(xs):
        d = root
        for c in format(i, "03b"):
            d = d.setdefault(c, {})
        d["w"] = d.get("w", 0.0) + x * x

    def walk(d, k):
        s = 0.0
        for key, v in d.items():
            s += v * k if key == "w" else walk(v, k * 0.5)
        return s

    return walk(root, 1.0)


@case([0.3, 0.1, 0.25, 0.7])
def huffman_tree(xs):
    heap = [(x, i, None, None) for i, x in enumerate(xs)]
    heapq.heapify(heap)
    n = len(heap)
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, (a[0] + b[0], n, a, b))
        n += 1

    def cost(t, d):
        return t[0] ** 2 * d if t[2] is None else cost(t[2], d + 1) + cost(t[3], d + 1)

    return cost(heap[0], 0)


def flattened(t):
    out = []
    for x in t:
        if isinstance(x, list):
            out.extend(flattened(x))
        else:
            out.append(x)
    return out


@case(1.2, 0.7)
def lists_of_any_depth(a, b):
    t = [a, [b, [a * b, [a + b, [a - b]]], b], [[a]]]
    return sum(x * x * (i + 1) for i, x in enumerate(flattened(t)))


@case([1.0, [2.0, [3.0, [4.0, [5.0]]]], [[1.5]]])
def lists_of_any_depth_given(t):
    return sum(x * x * (i + 1) for i, x in enumerate(flattened(t)))


def squares(t):
    if isinstance(t, dict):
        return sum(squares(v) for v in t.values())
    if isinstance(t, list):
        return sum([squares(v) for v in t])
    return t * t


@case({"a": 1.0, "b": [2.0, {"c": [3.0, [4.0]]}], "d": {"e": {"f": 5.0}}})
def nested_configuration(t):
    return squares(t)


def value_of(node):
    if isinstance(node, float):
        return node
    if node[0] == "add":
        return value_of(node[1]) + value_of(node[2])
    if node[0] == "neg":
        return -value_of(node[1])
    return value_of(node[1]) * value_of(node[2])


@case(1.2, 0.7)
def expression_put_together(x, y):
    t = x
    for k in range(5):
        t = ("add", ("mul", t, y), ("neg", x)) if k % 2 else ("mul", t, x)
    return value_of(t)


@case([1.2, 0.7, 0.4])
def polynomial_by_dicts(xs):
    t = {"op": "num", "v": 1.0}
    for x in xs:
        t = {"op": "add", "l": t, "r": {"op": "num", "v": x}}
        t = {"op": "mul", "l": t, "r": {"op": "num", "v": x * x}}

    def run(t):
        if t["op"] == "num":
            return t["v"]
        a, b = run(t["l"]), run(t["r"])
        return a + b if t["op"] == "add" else a * b

    return run(t)


@case(XS)
def nodes_of_tuples_with_lists(xs):
    root = (xs[0], [])
    last = root
    for i, x in enumerate(xs[1:]):
        new = (x, [])
        last[1].append(new)
        if i % 2:
            last = new

    def total(t, k):
        s = t[0] ** 2 * k
        for c in t[1]:
            s += total(c, k * 0.5)
        return s

    return total(root, 1.0)


@case([0.5, 1.5], [3, 1])
def counted_with_constants(xs, ns):
    p = None
    for n in ns:
        p = (n, p)
    s = 0.0
    while p is not None:
        n, p = p
        s += n * xs[0] ** n + xs[1]
    return s
