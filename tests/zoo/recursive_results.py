"""Recursive functions that return lists, arrays and objects, and that write to what they are given."""

import math

import numpy as np

from tests.zoo.registry import case

V = np.array([0.4, 1.3, -0.6, 0.9, 0.1])
XS = [0.4, 1.3, -0.6, 0.9, 0.1]


def weighed(xs):
    return sum(math.sin(v) * (k + 1) for k, v in enumerate(xs))


@case(0.7)
def memo_in_a_dict(x):
    memo = {}

    def fib(n):
        if n in memo:
            return memo[n]
        r = x * (n + 1) if n < 2 else fib(n - 1) + math.sin(fib(n - 2))
        memo[n] = r
        return r

    return fib(9) + memo[3] * memo[4]


@case(0.7, 1.2)
def memo_as_an_argument(x, y):
    memo = {(0, 0): x}
    return paths(3, 4, y, memo) + len(memo) * memo[2, 2]


def paths(i, j, y, memo):
    if i < 0 or j < 0:
        return 0.0
    if (i, j) not in memo:
        memo[i, j] = y * paths(i - 1, j, y, memo) + math.cos(paths(i, j - 1, y, memo))
    return memo[i, j]


def merge_sort(xs):
    if len(xs) <= 1:
        return xs
    mid = len(xs) // 2
    a, b = merge_sort(xs[:mid]), merge_sort(xs[mid:])
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] < b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    out.extend(a[i:])
    out.extend(b[j:])
    return out


@case(XS)
def merge_sorted(xs):
    return weighed(merge_sort(xs))


@case(XS)
def merge_sorted_and_written_to(xs):
    a = merge_sort(xs)
    a[1] = a[1] * a[2]
    b = merge_sort(xs[:1])
    b[0] = b[0] * 3.0
    return weighed(a) + weighed(b) * xs[0]


def the_same_or_twice(xs, n):
    if n == 0:
        return xs
    if n > 3:
        return the_same_or_twice([2.0 * v for v in xs], n - 1)
    return the_same_or_twice(xs, n - 1)


@case(XS)
def result_that_is_the_argument(xs):
    ys = the_same_or_twice(xs, 2)
    zs = the_same_or_twice(xs, 5)
    ys[0] = ys[0] * zs[1]
    zs[2] = zs[2] * ys[0]
    return weighed(xs) * weighed(zs)


def quicksort(xs):
    if len(xs) <= 1:
        return xs
    p = xs[0]
    return quicksort([v for v in xs[1:] if v < p]) + [p] + quicksort([v for v in xs[1:] if v >= p])


@case(XS)
def quick_sorted(xs):
    return weighed(quicksort(xs))


def sort_between(a, lo, hi):
    if lo >= hi:
        return
    k = lo
    for i in range(lo, hi):
        if a[i] < a[hi]:
            a[i], a[k] = a[k], a[i]
            k += 1
    a[k], a[hi] = a[hi], a[k]
    sort_between(a, lo, k - 1)
    sort_between(a, k + 1, hi)


@case(XS)
def sorted_where_it_stands(xs):
    sort_between(xs, 0, len(xs) - 1)
    return weighed(xs)


@case(V)
def array_sorted_where_it_stands(a):
    b = a * a
    sort_between(b, 0, len(b) - 1)
    return np.sum(b * np.arange(5.0))


def put_together(a, b, n, x):
    if n == 0:
        return 0.0
    b[n % len(b)] = x * a[n - 1]
    a.append(b[0])
    return put_together(b, a, n - 1, x) + a[0] * b[1]


@case(XS, 0.7)
def one_list_for_two_parameters(xs, x):
    y = put_together(xs, xs, 3, x)
    return y * weighed(xs)


@case(XS, 0.7)
def ints_that_become_active(xs, x):
    counts = [1, 2]
    y = put_together(counts, xs, 2, x)
    return y + weighed(counts) * weighed(xs)


def gathered(n, x, out):
    if n == 0:
        out.append([x])
        return
    gathered(n - 1, x * 1.1, out)
    out.append([x, out[-1][0] * n])
    gathered(n - 1, x - 0.1, out)


@case(0.7)
def lists_put_into_an_empty_one(x):
    out = []
    gathered(2, x, out)
    return sum(weighed(row) * (i + 1) for i, row in enumerate(out))


def halves(n, x):
    if n == 0:
        return x, [x], None
    a, xs, _ = halves(n - 1, x * 0.5)
    xs.append(a * x)
    return a + x, xs, n


@case(0.7)
def number_and_list(x):
    a, xs, n = halves(3, x)
    halves(2, x)
    return a * weighed(xs) * n


@case(0.7)
def list_that_is_not_looked_at(x):
    xs = [x]
    halves(2, x)
    a, _, _ = halves(1, x)
    _, ys, _ = halves(1, x)
    return a * xs[0] + len(ys)


def zeros(n):
    return [0.0] if n == 0 else [*zeros(n - 1), 0.0]


@case(0.7)
def constants_written_to(x):
    xs = zeros(3)
    xs[1] = x
    ys = zeros(2)
    ys[0] = xs[1] * xs[1]
    return weighed(xs) * weighed(ys)


def powers(a, n):
    if n == 0:
        return np.ones(a.shape)
    if n == 1:
        return a
    h = powers(a, n // 2)
    return h * h * powers(a, n % 2)


@case(V)
def array_returned(a):
    b = powers(a, 5)
    c = powers(a, 1)
    b[0] = b[1] * c[2]
    return np.sum(b * a) + np.sum(np.sin(powers(a, 0)))


@case(V)
def argument_array_returned_and_written_to(a):
    c = powers(a, 1)
    c[1] = c[0] * c[0]
    return np.sum(c * a)


class Node:
    def __init__(self, v):
        self.v = v
        self.left = None
        self.right = None


def insert(n, v):
    if n is None:
        return Node(v)
    if v < n.v:
        n.left = insert(n.left, v)
    else:
        n.right = insert(n.right, v)
    return n


def in_order(n, out):
    if n is not None:
        in_order(n.left, out)
        out.append(n.v)
        in_order(n.right, out)


@case(0.7)
def tree_built_and_read(x):
    root = None
    for k in range(6):
        root = insert(root, x * math.sin(1.7 * k))
    out = []
    in_order(root, out)
    return weighed(out)


def scaled(n, x):
    if n is None:
        return 0.0
    n.v = n.v * x
    return n.v + scaled(n.left, x) * scaled(n.right, x)


@case(insert(insert(insert(Node(0.5), 0.2), 0.9), 0.3), 1.3)
def tree_written_to(root, x):
    a = scaled(root, x)
    root.left.v = root.left.v * a
    return a + scaled(root, x)


def none_below(xs, n):
    if len(xs) < 2:
        return None
    if n == 0:
        return [v * 2.0 for v in xs]
    return none_below(xs[1:], n - 1)


@case(XS)
def list_or_none(xs):
    a, b = none_below(xs, 2), none_below(xs, 7)
    return weighed(xs) + (0.0 if a is None else weighed(a)) + (xs[0] if b is None else weighed(b))


def fails_after_writing(out, n, x):
    out.append(x * n)
    if n == 0:
        return 1.0 / (n * x * 0.0)
    return fails_after_writing(out, n - 1, x)


@case(0.7)
def written_before_it_failed(x):
    out = [x]
    try:
        y = fails_after_writing(out, 3, x)
    except ZeroDivisionError:
        y = x
    return weighed(out) * y


def permutations(xs):
    if len(xs) <= 1:
        return [xs]
    return [[xs[i], *p] for i in range(len(xs)) for p in permutations(xs[:i] + xs[i + 1 :])]


@case([0.4, 1.3, -0.6])
def lists_of_lists_returned(xs):
    return sum(p[0] * p[1] * k for k, p in enumerate(permutations(xs)))


LOG = []


def logged(n, x):
    LOG.append(n)
    return [x] if n == 0 else [*logged(n - 1, x * 0.5), x]


@case(0.7)
def noted_outside(x):
    del LOG[:]
    return weighed(logged(3, x)) * len(LOG)


def visits(graph, i, x, seen):
    seen.add(i)
    total = x * i
    for j in graph[i]:
        if j not in seen:
            total += visits(graph, j, x * 0.9, seen)
    return total


@case(0.7)
def places_seen(x):
    seen = set()
    return visits({0: [1, 2], 1: [3], 2: [3, 0], 3: []}, 0, x, seen) * len(seen)


def _append_later(v, n, x):
    if n == 0:
        v.append(x)
    else:
        _append_later(v, n - 1, x)


@case([1.0, 2.0, 3.0])
def list_that_grows_as_a_loop_goes_over_it(v):
    t, k = 0.0, 0
    for x in v:
        t = t * 2 + x
        k += 1
        if k < 3:
            _append_later(v, 2, x * 3)
    return t


def _fill_later(a, n, x):
    if n == 0:
        a[0] = a[1] * x
    else:
        _fill_later(a, n - 1, x)


@case(np.array([1.0, 2.0, 3.0]), 1.5)
def array_that_is_written_to_under_a_view(a, x):
    b = a * 1.0
    view = b[:2]
    _fill_later(b, 2, x)
    return np.sum(view * view)


@case(0.7)
def list_that_grows_while_it_is_looped_over(x):
    out = [x]
    total = 0.0
    for v in out:
        if len(out) < 6:
            gathered_numbers(1, v * 0.9, out)
        total += v * len(out)
    return total


def gathered_numbers(n, x, out):
    out.append(x)
    if n > 0:
        gathered_numbers(n - 1, x * x, out)


class Box:
    pass


def fill_box(box, n, x):
    box.v = x * n
    if n > 0:
        fill_box(box, n - 1, x * x)


@case(0.7)
def attribute_first_set_by_a_callee(x):
    box = Box()
    fill_box(box, 2, x)
    y = box.v
    box.v = x * 3.0
    return box.v * x + y


def scale_from(a, i, x):
    if i < len(a):
        a[i] = a[i] * x
        scale_from(a, i + 2, x)


@case(V, 0.7)
def view_of_an_array_that_a_callee_writes_to(a, x):
    b = a * x
    row = b[1:4]
    scale_from(b, 1, x)
    return np.sum(row * row) * b[1]


def tree_sum(t):
    if isinstance(t, dict):
        return sum(tree_sum(v) for v in t.values())
    if isinstance(t, (list, tuple)):
        return sum(tree_sum(v) for v in t)
    return t * t


TREE = {"a": [1.1, 2.2, (3.3, 0.4)], "b": {"c": 0.5, "d": [0.6, 0.7]}, "e": 0.2}


@case(TREE, 0.7)
def sum_over_a_nested_structure(t, x):
    return tree_sum(t) * tree_sum({"a": [x, (x, 2.0)], "b": {"c": x}}) + tree_sum(x)


def tree_map(f, t):
    if isinstance(t, dict):
        return {k: tree_map(f, v) for k, v in t.items()}
    if isinstance(t, list):
        return [tree_map(f, v) for v in t]
    if isinstance(t, tuple):
        return tuple(tree_map(f, v) for v in t)
    return f(t)


@case(TREE, 0.7)
def nested_structure_mapped(t, x):
    u = tree_map(math.sin, t)
    u["a"][0] = u["a"][2][1] * x
    return tree_sum(u) * tree_map(math.cos, (x, [x, 2.0 * x]))[1][0]


def tree_leaves(t):
    if isinstance(t, dict):
        out = []
        for k in sorted(t):
            out += tree_leaves(t[k])
        return out
    if isinstance(t, (list, tuple)):
        out = []
        for v in t:
            out.extend(tree_leaves(v))
        return out
    return [t]


@case(TREE)
def leaves_of_a_nested_structure(t):
    return weighed(tree_leaves(t))


@case(0.7)
def tuple_of_a_list_filled_before(x):
    xs = []
    xs.append(x)
    xs.append(2.0)
    a = tuple(xs)
    xs.append(a[0] * x)
    b = tuple(xs)
    ys = []
    for k in range(3):
        ys.append(x * k)
    c = tuple(ys)
    return b[2] * len(a) + c[1] * len(c)


class Leaf:
    def __init__(self, v):
        self.v = v

    def total(self, x):
        return self.v * x


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def total(self, x):
        return self.left.total(x) + math.sin(self.right.total(x))


def pairs(x, depth):
    if depth == 0:
        return Leaf(x * 0.5)
    return Pair(pairs(x * 1.1, depth - 1), pairs(x * 0.9, depth - 1))


@case(0.7, 3)
def tree_of_two_classes_that_numbers_give(x, depth):
    return pairs(x, depth).total(x)


class Sorted:
    def __init__(self, k):
        self.k, self.left, self.right = k, None, None

    def insert(self, k):
        if k < self.k:
            if self.left is None:
                self.left = Sorted(k)
            else:
                self.left.insert(k)
        elif self.right is None:
            self.right = Sorted(k)
        else:
            self.right.insert(k)

    def fold(self, w):
        s = self.k * w
        if self.left is not None:
            s += self.left.fold(w * 0.5)
        if self.right is not None:
            s += self.right.fold(w * 0.9)
        return s


@case(0.7, 6)
def sorted_by_inserting(x, n):
    t = Sorted(x)
    for i in range(n):
        t.insert(math.sin(i * 1.7) * x + i * 0.01)
    return t.fold(x)


def never(xs, x):
    return xs[0] * x if x > 100.0 else never(xs, x * 2.0)


@case(0.7)
def list_that_is_filled_after_it_is_asked_for(x):
    xs = []
    try:
        never(xs, x)
    except IndexError:
        xs.append(x)
    return never(xs, x)


@case(0.8)
def constant_tuple_or_active_number(x):
    def slope(e):
        if isinstance(e, float):
            return 0.0
        if e == "x":
            return 1.0
        op, a, b = e
        if op == "+":
            return ("+", slope(a), slope(b))
        return ("+", ("*", slope(a), b), ("*", a, slope(b)))

    def value(e):
        if isinstance(e, float):
            return e
        if e == "x":
            return x
        op, a, b = e
        return value(a) + value(b) if op == "+" else value(a) * value(b)

    return value(slope(slope(("*", ("*", "x", "x"), "x"))))


def put(held, v, k=0):
    """Makes a list longer that stands in a dict."""
    if k < 2:
        return put(held, v, k + 1)
    if len(held["a"]) < 6:
        held["a"].append(v * 0.3)
    return v


@case(0.7, 1.3)
def list_in_a_dict_that_grows_while_it_is_looped_over(x, y):
    held, total = {"a": [x, y]}, 0.0
    for v in held["a"]:
        total = total * 1.2 + put(held, v)
    return total * len(held["a"])


class Bag:
    def __init__(self, xs):
        self.xs = xs

    def put(self, v, k=0):
        if k < 2:
            return self.put(v, k + 1)
        if len(self.xs) < 6:
            self.xs.append(v * 0.5)
        return v


@case(0.7, 1.3)
def list_in_an_object_that_grows_while_it_is_looped_over(x, y):
    bag, total = Bag([x, y]), 0.0
    for i, v in enumerate(bag.xs):
        total = total * 1.1 + bag.put(v) * i
    pairs = ({"a": [y]}, Bag([x]))
    for v in pairs[0]["a"]:
        total += put(pairs[0], v) * pairs[1].put(v)
    return total * len(bag.xs) * len(pairs[0]["a"])
