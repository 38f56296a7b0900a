"""Graphs of objects walked with sets and dicts that say which of them have been visited."""

from collections import deque
from dataclasses import dataclass

from tests.zoo.registry import case


class Node:
    def __init__(self, w):
        self.w = w
        self.edges = []


def graph(xs):
    nodes = [Node(w) for w in xs]
    for i, n in enumerate(nodes):
        n.edges.append(nodes[(3 * i + 1) % len(nodes)])
        n.edges.append(nodes[(2 * i + 2) % len(nodes)])
    return nodes


XS = [0.5, -0.3, 1.25, 0.75]


@case(XS)
def breadth_first(xs):
    nodes = graph(xs)
    seen, todo, total = set(), deque([(nodes[0], 1.0)]), 0.0
    while todo:
        n, s = todo.popleft()
        if n in seen:
            continue
        seen.add(n)
        total += n.w * s
        for m in n.edges:
            todo.append((m, s * 0.9 + n.w))
    return total + len(seen)


@case(XS)
def distances_by_object(xs):
    nodes = graph(xs)
    seen, todo, total = {nodes[0]: 1.0}, [nodes[0]], 0.0
    while todo:
        n = todo.pop()
        total += n.w * seen[n]
        for m in n.edges:
            if m not in seen:
                seen[m] = seen[n] * 0.9 + n.w
                todo.append(m)
    return total


@case(XS)
def changed_while_in_a_set(xs):
    nodes = graph(xs)
    marked = {nodes[0]}
    marked.add(nodes[2])
    for n in nodes:
        if n in marked:
            n.w = n.w * n.w
        elif n not in {nodes[1]}:
            marked.discard(nodes[0])
            n.w = n.w * xs[0]
    for n in marked:
        n.w = n.w * 2.0
    return sum(n.w for n in nodes) * len(marked)


@case(XS)
def taken_out_and_changed(xs):
    nodes = graph(xs)
    rest = set(nodes) - {nodes[3]}
    rest |= {nodes[0]}
    while rest:
        n = rest.pop()
        n.w = n.w * 2.0
    return sum(n.w**2 for n in nodes)


class Keeper:
    def __init__(self, parts=()):
        self.parts = set(parts)

    def total(self, n):
        return n.w if n in self.parts else 0.5


@case(XS)
def sets_that_objects_hold(xs):
    nodes = graph(xs)
    keeper, other = Keeper((nodes[0], nodes[1])), Keeper()
    other.parts.add(nodes[2])
    return sum(keeper.total(n) * other.total(n) for n in nodes) + sum(n.w for n in keeper.parts)


class Number:
    """Objects that are equal where what they hold is."""

    asked = 0

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        Number.asked += 1
        return self.v == other.v

    def __hash__(self):
        return 7


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@case(XS)
def objects_that_say_what_they_are_equal_to(xs):
    numbers, points = [Number(x) for x in xs], {Point(xs[0], 1.0): xs[1]}
    found, total = {numbers[0]}, 0.0
    for x in (*xs, xs[0]):
        n = Number(x)
        if n not in found:
            found.add(n)
            total += n.v * x
        if Point(x, 1.0) in points:
            total += points[Point(x, 1.0)] * x
    return total


class Town:
    def __init__(self, name, size):
        self.name = name
        self.size = size

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


@case(0.3, 0.7)
def taken_out_by_an_equal_object(x, y):
    towns = {Town("a", x), Town("b", y), None, ("c", x * y), 1.0}
    towns.remove(Town("a", 0.0))
    towns.discard(Town("z", 0.0))
    towns.discard(True)
    towns |= {Town("a", y * y), Town("b", 0.0)}
    return sum((i + 1) * t.size for i, t in enumerate(sorted((t for t in towns if isinstance(t, Town)), key=by_name)))


def by_name(town):
    return town.name


@case(0.3, 0.7)
def equal_objects_in_two_sets(x, y):
    some = [Town("a", x), Town("b", 3 * x), Town("c", x * y)]
    few = [Town("a", 2 * y)]
    total = sum(t.size for t in set(some).intersection(few)) + 3 * sum(t.size for t in set(few).intersection(some))
    total += 5 * sum(t.size for t in frozenset(some) & frozenset(few)) * sum(t.size for t in set(few) | set(some))
    pairs, other = {(t.name, t) for t in some}, {(t.name, t) for t in few}
    return total + 7 * sum(t.size for _, t in pairs & other) + 11 * sum(t.size for _, t in other & pairs)


class Linked:
    def __init__(self, value, *before):
        self.value, self.slope = value, 0.0
        self.before = set(before)


@case(0.3, 0.7)
def what_comes_before_in_sets(x, y):
    a, b = Linked(x), Linked(y)
    c = Linked(x * y, a, b, a)
    d = Linked(c.value + x, c, a)
    for node in (d, c):
        for other in node.before:
            other.slope += node.value
    for node in d.before | c.before:
        node.slope *= node.value
    return a.slope + b.slope + c.slope + len(c.before)


@case(XS)
def made_of_a_list_and_changed(xs):
    nodes = graph(xs)
    some = set(nodes[1:])
    some.update([nodes[0], nodes[1]])
    for n in some:  # in any order: each is changed by itself
        n.w = n.w * n.w
    while some:
        some.pop().w += 1.0
    return sum((i + 1) * n.w for i, n in enumerate(nodes))


@case(XS)
def changed_in_a_loop_over_it(xs):
    nodes = graph(xs)
    some, total = set(nodes), 0.0
    try:
        for n in some:
            total += n.w - n.w
            some.discard(n)
    except RuntimeError as e:
        total += len(some) if "changed size" in str(e) else -1.0
    return total + sum(n.w for n in nodes)


class Value:
    def __init__(self, data, before=()):
        self.data, self.grad = data, 0
        self.before = set(before)
        self.back = lambda: None

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))

        def back():
            self.grad += out.grad
            other.grad += out.grad

        out.back = back
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def back():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.back = back
        return out

    def backward(self):
        order, visited = [], set()

        def walk(v):
            if v not in visited:
                visited.add(v)
                for w in v.before:
                    walk(w)
                order.append(v)

        walk(self)
        self.grad = 1
        for v in reversed(order):
            v.back()


@case(0.3, 0.7)
def derivatives_in_reverse_by_hand(x, y):
    a, b = Value(x), Value(y)
    c = (a * b + a) * b
    c.backward()
    return a.grad * a.grad + 2.0 * b.grad + c.data
