"""Objects that lead to objects of their own class: linked lists, trees and graphs, read, changed and made anew."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case


class Node:
    def __init__(self, v, nxt=None):
        self.v = v
        self.nxt = nxt

    def total(self):
        return self.v * self.v + (self.nxt.total() if self.nxt is not None else 0.0)


def chain(*vs):
    head = None
    for v in reversed(vs):
        head = Node(v, head)
    return head


def folded(n):
    s = 0.0
    while n is not None:
        s = s * 0.5 + n.v
        n = n.nxt
    return s


class Tree:
    def __init__(self, v, left=None, right=None):
        self.v = v
        self.left = left
        self.right = right

    def total(self, x):
        t = self.v * x
        if self.left:
            t += self.left.total(x * 0.5)
        if self.right:
            t += self.right.total(x * 0.7)
        return t


class Branching:
    def __init__(self, v, *children):
        self.v = v
        self.children = list(children)

    def total(self):
        return math.sin(self.v) + sum([c.total() for c in self.children])


def some_tree():
    return Tree(1.0, Tree(2.0, Tree(0.5), None), Tree(3.0, None, Tree(0.3, Tree(0.2))))


case(chain(1.0, 2.0, 3.0), name="list_read")(folded)


@case(chain(1.0, 2.0, 3.0), 1.5)
def list_changed(n, x):
    m = n
    while m is not None:
        m.v = m.v * x
        m = m.nxt
    return folded(n)


@case(chain(1.0, 2.0, 3.0))
def list_by_a_method(n):
    return n.total()


@case(some_tree(), 1.3)
def tree_by_a_method(t, x):
    return t.total(x)


@case(some_tree(), 1.3)
def tree_by_a_stack(t, x):
    stack = [t]
    s = 0.0
    while stack:
        n = stack.pop()
        if n is None:
            continue
        s += n.v * x
        x = x * 1.01
        stack.append(n.left)
        stack.append(n.right)
    return s


@case(some_tree())
def tree_by_a_function_inside(t):
    def walk(n, d):
        if n is None:
            return 0.0
        return n.v**2 * d + walk(n.left, d + 1) + walk(n.right, d + 1)

    return walk(t, 1)


@case(Branching(1.0, Branching(2.0), Branching(0.5, Branching(0.3), Branching(0.4))))
def tree_with_lists_of_children(t):
    return t.total()


@case(Branching(1.0, Branching(2.0), Branching(0.5, Branching(0.3), Branching(0.4))), 0.7)
def tree_level_by_level(t, x):
    level = [t]
    s = 0.0
    while level:
        below = []
        for n in level:
            n.v = n.v * x
            s += n.v * n.v
            below.extend(n.children)
        level = below
    return s


@case([1.0, 2.0, 3.0, 4.0])
def linked_both_ways(xs):
    nodes = [Tree(v) for v in xs]
    for a, b in zip(nodes, nodes[1:]):
        a.right = b
        b.left = a
    s = 0.0
    c = nodes[1]
    while c.right is not None:
        s += c.v * c.left.v
        c = c.right
    return s


@case(1.3)
def list_made_here(x):
    head = None
    for i in range(5):
        head = Node(x * i, head)
    head.nxt.nxt = Node(x * x, None)
    return folded(head)


@case(chain(1.0, 2.0, 3.0), 1.5)
def put_in_and_taken_out(n, x):
    n.nxt = Node(x, n.nxt)
    n.nxt.nxt = n.nxt.nxt.nxt
    return folded(n)


@case(1.2, 0.7)
def reversed_in_place(x, y):
    head = Node(x, Node(y, Node(x * y)))
    done = None
    while head:
        head.nxt, done, head = done, head, head.nxt
    return folded(done)


@case(chain(1.0, 2.0, 3.0))
def argument_reversed_in_place(n):
    done = None
    while n:
        n.nxt, done, n = done, n, n.nxt
    return folded(done)


@case(chain(1.0, 2.0, 3.0))
def taken_out_of_an_argument(n):
    rest = n.nxt
    rest.nxt = n
    n.nxt = None
    return folded(rest)


@case(chain(1.0, 2.0, 3.0))
def an_array_in_one_of_them(n):
    n.nxt.v = np.array([n.v, 2.0])
    s = 0.0
    while n is not None:
        s = s + np.sum(n.v)
        n = n.nxt
    return s


@case(chain(1.0, 2.0, 3.0))
def an_attribute_that_some_have(n):
    k = n
    while k is not None:
        if k.v > 1.5:
            k.extra = k.v * 2
        k = k.nxt
    s = 0.0
    while n is not None:
        s += getattr(n, "extra", 0.0) + n.v
        n = n.nxt
    return s


@case(1.1)
def linked_to_itself(x):
    a = Node(x)
    a.nxt = a
    n = a
    s = 0.0
    for _ in range(4):
        s += n.v
        n.v = n.v * x
        n = n.nxt
    return s


@case(chain(1.0, 2.0, 5.0), chain(0.5, 3.0))
def merged(a, b):
    head = tail = Node(0.0)
    while a is not None and b is not None:
        if a.v < b.v:
            tail.nxt = a
            a = a.nxt
        else:
            tail.nxt = b
            b = b.nxt
        tail = tail.nxt
    tail.nxt = a if a is not None else b
    return folded(head)


class Graph:
    def __init__(self):
        self.nodes = []

    def add(self, v):
        self.nodes.append(Vertex(self, v))
        return self.nodes[-1]


class Vertex:
    def __init__(self, graph, v):
        self.graph = graph
        self.v = v
        self.to = []

    def value(self):
        return self.v + sum([o.v for o in self.to]) * len(self.graph.nodes)


@case(1.3)
def a_graph(x):
    g = Graph()
    a, b, c = g.add(x), g.add(x * x), g.add(2 * x)
    a.to.append(b)
    b.to.append(c)
    c.to.append(a)
    return sum(n.value() for n in g.nodes)


class Tracked:
    """Reverse mode, written by hand."""

    def __init__(self, d, parents=()):
        self.d = d
        self.parents = parents
        self.g = 0.0
        self.back = None

    def __add__(self, o):
        r = Tracked(self.d + o.d, (self, o))

        def back():
            self.g += r.g
            o.g += r.g

        r.back = back
        return r

    def __mul__(self, o):
        r = Tracked(self.d * o.d, (self, o))

        def back():
            self.g += o.d * r.g
            o.g += self.d * r.g

        r.back = back
        return r

    def backward(self):
        order, seen = [], set()

        def visit(v):
            if id(v) not in seen:
                seen.add(id(v))
                for p in v.parents:
                    visit(p)
                order.append(v)

        visit(self)
        self.g = 1.0
        for v in reversed(order):
            if v.back:
                v.back()


@case(1.3)
def reverse_mode_by_hand(x):
    a = Tracked(x)
    c = a * a + a * Tracked(2.0)
    c.backward()
    return a.g * x


class Value:
    def __init__(self, v):
        self.v = v

    def at(self, x):
        return self.v * x


class Sum:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def at(self, x):
        return self.a.at(x) + self.b.at(x)


class Product(Sum):
    def at(self, x):
        return self.a.at(x) * self.b.at(x)


@case(Sum(Product(Sum(Value(1.0), Value(0.5)), Value(2.0)), Product(Value(0.3), Value(0.7))), 1.3)
def expression_of_several_classes(e, x):
    return e.at(x) * e.a.at(x * x)


def rows(n, a):
    if n is None:
        return 0.0
    b = a * n.v
    b[0] = 1.0
    return np.sum(b) + rows(n.left, b) * rows(n.right, a)


@case(some_tree(), np.array([0.3, 0.7]))
def tree_and_an_array_by_a_function(t, a):
    return rows(t, a)


def held_by(n, x):
    return (0.0, 1.0) if n is None else (n.v * x + held_by(n.left, x)[0], n.v * held_by(n.right, x)[1])


@case(some_tree(), 1.3)
def tree_read_before_and_after_a_write(t, x):
    a, b = held_by(t, x)
    t.left.v = a * b
    t.right = t.left
    c, d = held_by(t, x)
    return a * c + b * d
