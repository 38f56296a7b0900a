"""Containers that lead to others of their kind: linked lists of tuples, lists and dicts, trees, stacks, tries."""

from __future__ import annotations

import heapq
import math

import numpy as np

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


def of_dimension(points, d):
    if not points:
        return None
    points = sorted(points, key=lambda p: p[d % 2])
    m = len(points) // 2
    return (points[m], of_dimension(points[:m], d + 1), of_dimension(points[m + 1 :], d + 1))


def nearest(t, q, d, best):
    if t is None:
        return best
    p, left, right = t
    far = (p[0] - q[0]) ** 2 + (p[1] - q[1]) ** 2
    if best is None or far < best:
        best = far
    near, other = (left, right) if q[d % 2] < p[d % 2] else (right, left)
    best = nearest(near, q, d + 1, best)
    if (q[d % 2] - p[d % 2]) ** 2 < best:
        best = nearest(other, q, d + 1, best)
    return best


@case([0.1, 0.7, 0.3, 0.9, 0.45, 0.62], [0.8, 0.2, 0.6, 0.4, 0.15, 0.95])
def tree_of_points(xs, ys):
    t = of_dimension(list(zip(xs, ys, strict=True)), 0)
    return nearest(t, (0.51, 0.52), 0, None) + nearest(t, (0.1, 0.9), 0, None)


def without_ones(e):
    if not isinstance(e, tuple):
        return e
    op, a, b = e[0], without_ones(e[1]), without_ones(e[2])
    return b if op == "*" and a == 1.0 else (op, a, b)


def result(e):
    if not isinstance(e, tuple):
        return e
    a, b = result(e[1]), result(e[2])
    return a + b if e[0] == "+" else a * b


@case(0.3, 0.8)
def expression_made_simpler(x, y):
    return result(without_ones(("+", ("*", 1.0, x), ("*", y, ("*", 1.0, ("+", x, y))))))


@case(XS)
def queue_of_two_stacks(xs):
    front, back, s = None, None, 0.0
    for i, x in enumerate(xs):
        back = (x, back)
        if i % 2:
            if front is None:
                while back is not None:
                    front = (back[0], front)
                    back = back[1]
            s += front[0] ** 2 * i
            front = front[1]
    return s


@case(XS)
def walked_forth_and_back(xs):
    left, right = None, None
    for x in xs:
        right = (x, right)
    s = 0.0
    while right is not None:
        x, right = right
        left = (x * 0.5, left)
        if left[1] is not None:
            s += left[0] * left[1][0]
    return s


def merged(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if a[0] > b[0]:
        a, b = b, a
    return (a[0], merged(a[2], b), a[1])


@case([0.9, 0.3, 0.5, 0.1, 0.7])
def heap_of_tuples_in_tuples(xs):
    heap = None
    for x in xs:
        heap = merged(heap, (x, None, None))
    s, k = 0.0, 1.0
    while heap is not None:
        s += heap[0] ** 2 * k
        k *= 0.8
        heap = merged(heap[1], heap[2])
    return s


@case([0.9, 0.3, 0.5, 0.1, 0.7, 0.2])
def path_with_its_parents(xs):
    heap, n = [(0.0, 0, None)], len(xs)
    while True:
        d, u, p = heapq.heappop(heap)
        if u >= n - 1:
            break
        heapq.heappush(heap, (d + xs[u], u + 1, (u, p)))
        heapq.heappush(heap, (d + xs[u] * 1.5, u + 2, (u, p)))
    while p is not None:
        d += xs[p[0]] ** 2
        p = p[1]
    return d


def put_into(node, x, y, d):
    if node is None:
        return {"x": x, "y": y, "m": 1.0, "kids": None}
    if node["kids"] is None:
        kids = [None, None]
        kids[int(node["x"] * 2**d) % 2] = {"x": node["x"], "y": node["y"], "m": node["m"], "kids": None}
        node["kids"] = kids
    m = node["m"]
    node["x"] = (node["x"] * m + x) / (m + 1)
    node["y"] = (node["y"] * m + y) / (m + 1)
    node["m"] = m + 1
    i = int(x * 2**d) % 2
    node["kids"][i] = put_into(node["kids"][i], x, y, d + 1)
    return node


def potential(node):
    if node is None:
        return 0.0
    s = node["m"] * math.exp(-node["x"]) * node["y"]
    if node["kids"]:
        for c in node["kids"]:
            s += potential(c) * 0.5
    return s


@case([0.12, 0.71, 0.33], [0.8, 0.2, 0.6])
def tree_of_masses(xs, ys):
    root = None
    for x, y in zip(xs, ys, strict=True):
        root = put_into(root, x, y, 1)
    return potential(root)


def linked_numbers(n):
    p = None
    for k in range(n):
        p = (0.1 * k, p)
    return p


@case(linked_numbers(6))
def pairs_given(p):
    s = 0.0
    while p is not None:
        x, p = p
        s += x**3
    return s


@case([1.0, [2.0, [3.0, 4.0], [[0.5]]], [[[0.25, [0.75]]]]], 1.3)
def lists_of_any_depth_changed(t, k):
    def change(t, k):
        for i, x in enumerate(t):
            if isinstance(x, list):
                change(x, k * 0.5)
            else:
                t[i] = x * k

    change(t, k)
    return sum(x * x * (i + 1) for i, x in enumerate(flattened(t)))


@case(0.7)
def one_or_another_number_of_pairs(x):
    p = None
    for k in range(4):
        p = (x * k, p) if k % 2 else ([x], p)
    s = 0.0
    while p is not None:
        v, p = p
        s += v[0] ** 2 if isinstance(v, list) else v**3
    return s


@case(0.7)
def constants_before_what_has_a_derivative(x):
    p = (2.0, (3.0, None))
    q = p
    for _ in range(3):
        p = (x * p[0], p)
    s, k = 0.0, 1.0
    while p is not None:
        s += p[0] * k
        k += 1.0
        p = p[1]
    while q is not None:
        s += q[0] * x
        q = q[1]
    return s


@case(0.7)
def pairs_that_share_what_follows(x):
    rest = (x * x, (x, None))
    a, b = (2.0 * x, rest), (math.sin(x), rest)
    for _ in range(3):
        a, b = (a[0] * b[0], a), (b[0] + a[0], b)
    s = 0.0
    for p in (a, b):
        while p is not None:
            s = s * 0.5 + p[0] ** 2
            p = p[1]
    return s


@case([0.5, 1.5])
def dicts_that_share_a_child(xs):
    leaf = {"v": xs[0], "kids": []}
    root = {"v": xs[1], "kids": [leaf, {"v": xs[0] * xs[1], "kids": [leaf]}]}
    leaf["v"] = leaf["v"] * xs[1]

    def total(t):
        return t["v"] ** 2 + sum([total(c) * 0.5 for c in t["kids"]])

    return total(root)


def total_of_arrays(p):
    return 0.0 if p is None else np.sum(p[0] ** 2) + 0.5 * total_of_arrays(p[1])


def scaled(p, k):
    if p is None:
        return
    p[0][0] = p[0][0] * k
    p[0][1] += p[0][2]
    scaled(p[1], k * 0.5)


@case(np.array([0.3, 0.7, 1.1]), 1.3)
def arrays_written_on_the_way(a, x):
    p = None
    for k in range(4):
        p = (a * k, p)
    scaled(p, x)
    return total_of_arrays(p)


@case(np.array([0.3, 0.7, 1.1]), 1.3)
def one_array_at_every_place(a, x):
    b, p = a.copy(), None
    for _ in range(3):
        p = (b, p)
    scaled(p, x)
    return total_of_arrays(p) + b[0]


@case([0.4, 0.9, 1.4], 1.3)
def one_list_at_every_place(xs, x):
    def scale(p, k):
        if p is not None:
            p[0][0] = p[0][0] * k
            p[0].append(k)
            scale(p[1], k * 0.5)

    def total(p):
        return 0.0 if p is None else sum([v * v for v in p[0]]) + 0.5 * total(p[1])

    whole, p = [xs[0], xs[1]], None
    for _ in xs:
        p = (whole, p)
    scale(p, x)
    return total(p) + whole[0]


@case(XS, 1.2)
def tree_of_dicts_changed(xs, x):
    def made(i):
        return {"v": xs[i], "l": made(2 * i + 1), "r": made(2 * i + 2)} if i < len(xs) else None

    def change(t, k):
        if t is not None:
            t["v"] = t["v"] * k + (t["l"]["v"] if t["l"] else 0.0)
            change(t["l"], k * 0.9)
            change(t["r"], k * 1.1)

    def total(t):
        return 0.0 if t is None else t["v"] ** 2 + total(t["l"]) - 0.3 * total(t["r"])

    t = made(0)
    change(t, x)
    return total(t)


@case(XS)
def found_and_changed(xs):
    def found(p, k):
        return p if k == 0 else found(p["n"], k - 1)

    p = None
    for x in xs:
        p = {"v": x, "n": p}
    q = found(p, 3)
    q["v"] = q["v"] * 2.0 + p["v"]
    q["n"]["v"] *= xs[0]
    s = 0.0
    while p is not None:
        s += p["v"] ** 2
        p = p["n"]
    return s


@case(XS)
def lists_turned_round_in_place(xs):
    p = None
    for x in xs:
        p = [x, p]
    before = None
    while p is not None:
        after = p[1]
        p[1] = before
        before, p = p, after
    s, k = 0.0, 1.0
    while before is not None:
        s += before[0] ** 2 * k
        k *= 0.7
        before = before[1]
    return s


@case(0.7)
def dict_in_itself(x):
    d = {"v": x}
    d["me"] = d
    d["me"]["me"]["v"] = d["v"] * 3.0
    return d["me"]["v"] ** 2


@case(0.7)
def lists_in_each_other(x):
    a = [x]
    b = [a, x * x]
    a.append(b)
    a[1][0][0] = x**3
    return a[0] + b[0][1][1]


@case(0.7, 0.4)
def tree_of_all_kinds(x, y):
    def go(t):
        if t is None:
            return 0.0
        if isinstance(t, float):
            return t * t
        if isinstance(t, tuple):
            return go(t[0]) + 2 * go(t[1])
        if isinstance(t, dict):
            return sum(go(v) for v in t.values())
        return sum([go(v) for v in t])

    return go((x, [y, {"a": x * y, "b": (None, [x, (y, y)])}]))


@case(XS)
def end_told_by_an_exception(xs):
    p = None
    for x in xs:
        p = (x, p)
    s = 0.0
    try:
        while True:
            x, p = p
            s += x * x
    except TypeError:
        s *= 2.0
    return s


@case(XS)
def arrays_among_the_last(xs):
    p = None
    for i, x in enumerate(xs):
        p = (x if i < 5 else np.array([x, x * x]), p)
    s = 0.0
    while p is not None:
        s += np.sum(p[0] * 2.0) ** 2
        p = p[1]
    return s


@case(XS)
def objects_in_pairs(xs):
    class Box:
        def __init__(self, v):
            self.v = v

    p = None
    for x in xs:
        p = (Box(x), p)
    q = p
    while q is not None:
        q[0].v = q[0].v ** 2
        q = q[1]
    s = 0.0
    while p is not None:
        s += p[0].v * 1.5
        p = p[1]
    return s


@case([0.7, 1.3, 0.2])
def objects_that_hold_pairs_of_such(xs):
    class Node:
        def __init__(self, v):
            self.v, self.kids = v, []

    root = last = Node(xs[0])
    for x in xs[1:]:
        new = Node(x)
        last.kids.append([new, [new]])
        last = new

    def total(n, k):
        return n.v**2 * k + sum([total(c[0], k * 0.5) + c[1][0].v for c in n.kids])

    return total(root, 1.0)


def first_changed(p, k):
    if p is not None:
        p[0][0] = p[0][0] * k
        first_changed(p[1], k + 1.0)


@case(np.array([0.3, 0.7]), 1.3)
def array_in_a_tuple_that_is_given_on(a, x):
    p = (a * 1.0, (a * 2.0, None))
    first_changed(p, x)
    return np.sum(p[0] ** 2) + np.sum(p[1][0])
