"""Trees, lists and graphs that are made in the function: by constructors that make objects of their own class, by
functions that call themselves and put what they get into attributes, by methods that look for the place."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case


class Halving:
    """Its constructor makes two more of it."""

    def __init__(self, depth, v):
        self.v = v
        self.left = self.right = None
        if depth > 0:
            self.left = Halving(depth - 1, v * 0.5)
            self.right = Halving(depth - 1, v * 0.7)

    def total(self):
        s = self.v * self.v
        if self.left is not None:
            s += self.left.total()
        if self.right is not None:
            s += self.right.total()
        return s


class Chain:
    def __init__(self, vs):
        self.v = vs[0]
        self.next = Chain(vs[1:]) if len(vs) > 1 else None


class Twig:
    def __init__(self, v, parent=None):
        self.v = v
        self.parent = parent
        self.kids = []
        self.named = {}

    def add(self, kid):
        self.kids.append(kid)
        kid.parent = self
        return kid

    def total(self):
        return self.v * self.v + sum(k.total() for k in self.kids)

    def weight(self):
        s, n = 0.0, self
        while n is not None:
            s = s * 0.5 + n.v
            n = n.parent
        return s


class Even:
    def __init__(self, n, x):
        self.x = x * x
        self.rest = Odd(n - 1, x * 0.9) if n > 0 else None


class Odd:
    def __init__(self, n, x):
        self.y = math.sin(x)
        self.rest = Even(n - 1, x * 1.1) if n > 0 else None


class Place:
    """A search tree."""

    def __init__(self, k, v):
        self.k, self.v = k, v
        self.low = self.high = None

    def insert(self, k, v):
        if k == self.k:
            self.v = v
        elif k < self.k:
            if self.low is None:
                self.low = Place(k, v)
            else:
                self.low.insert(k, v)
        elif self.high is None:
            self.high = Place(k, v)
        else:
            self.high.insert(k, v)

    def __iter__(self):
        if self.low is not None:
            yield from self.low
        yield self.k, self.v
        if self.high is not None:
            yield from self.high

    def find(self, k):
        if k == self.k:
            return self.v
        below = self.low if k < self.k else self.high
        return 0.0 if below is None else below.find(k)


class Sampled:
    """Its objects share one array, which some of them change."""

    def __init__(self, depth, a):
        self.a = a
        a[depth] *= 1.5
        self.next = Sampled(depth - 1, a) if depth else None


class Checked:
    def __init__(self, depth, v):
        if v < 0.1:
            raise ValueError("too small")
        self.v = v
        self.below = Checked(depth - 1, v * 0.4) if depth else None


class Wood:
    def __init__(self):
        self.trees = []

    def plant(self, depth, v):
        self.trees.append(grown(depth, v))
        return self.trees[-1]


class Quad:
    """Four children that are there when there is something in them."""

    def __init__(self, x, size):
        self.x, self.size = x, size
        self.mass, self.centre = 0.0, 0.0
        self.held = None
        self.kids = [None] * 2

    def insert(self, x, m):
        if self.held is None and self.mass == 0.0:
            self.held = (x, m)
        else:
            if self.held is not None:
                there, self.held = self.held, None
                self.below(*there)
            self.below(x, m)
        self.centre = (self.centre * self.mass + x * m) / (self.mass + m)
        self.mass += m

    def below(self, x, m):
        i = 1 if x > self.x else 0
        if self.kids[i] is None:
            self.kids[i] = Quad(self.x + (i - 0.5) * self.size / 2, self.size / 2)
        self.kids[i].insert(x, m)

    def force(self, x):
        d = self.centre - x
        if self.held is not None or self.size < 0.3 * abs(d):
            return self.mass * d / (d * d + 0.01) ** 1.5
        s = 0.0
        for k in self.kids:
            if k is not None:
                s += k.force(x)
        return s


class Spot:
    def __init__(self, x, m):
        self.x = x
        self.m = m


class Half:
    """Two halves as soon as it holds more than two; its methods call each other."""

    def __init__(self, low, high, most=2):
        self.low, self.high, self.most = low, high, most
        self.spots = []
        self.sum = Spot(0, 0)
        self.lower = self.upper = None
        self.divided = False

    def insert(self, s):
        if not self.low <= s.x < self.high:
            return False
        if len(self.spots) < self.most and not self.divided:
            self.spots.append(s)
            self.note(s)
            return True
        if not self.divided:
            self.divide()
        self.note(s)
        return self.lower.insert(s) or self.upper.insert(s)

    def note(self, s):
        m = self.sum.m + s.m
        self.sum.x = (self.sum.x * self.sum.m + s.x * s.m) / m
        self.sum.m = m

    def divide(self):
        middle = (self.low + self.high) / 2
        self.lower = Half(self.low, middle, self.most)
        self.upper = Half(middle, self.high, self.most)
        self.divided = True
        for s in self.spots:
            self.lower.insert(s)
            self.upper.insert(s)
        self.spots = []

    def pull(self, s):
        if len(self.spots) == 1 and self.spots[0] == s:
            return 0, 0
        d = self.sum.x - s.x
        if not self.divided or (self.high - self.low) < abs(d):
            return s.m * self.sum.m * d / (d * d + 0.1), self.sum.m
        a, b = 0, 0
        for half in (self.lower, self.upper):
            if half and half.sum.m != 0:
                x, y = half.pull(s)
                a += x
                b += y
        return a, b


def nodes(t):
    yield t
    for k in t.kids:
        yield from nodes(k)


def values(t):
    if t.kids:
        for k in t.kids:
            for v in values(k):
                yield v * 0.9
    else:
        yield t.v


def grown(depth, v):
    t = Twig(v)
    if depth > 0:
        t.kids = [grown(depth - 1, v * (0.5 + 0.1 * i)) for i in range(2)]
    return t


def grown_by_a_method(depth, v):
    t = Twig(v)
    for i in range(depth):
        t.add(grown_by_a_method(depth - 1 - i, v * (0.5 + 0.1 * i)))
    return t


def grown_by_name(depth, v):
    t = Twig(v)
    if depth > 0:
        for name in ("left", "right"):
            t.named[name] = grown_by_name(depth - 1, v * 0.6)
    return t


def by_name(t):
    s = t.v * t.v
    for k in t.named.values():
        s += by_name(k)
    return s


def of_leaves(t):
    if not t.kids:
        return t.v
    s = 0.0
    for k in t.kids:
        s += of_leaves(k)
    return s * t.v


def scaled(t, x):
    t.v = t.v * x
    for k in t.kids:
        scaled(k, x)


@case(1.3)
def a_constructor_makes_more(x):
    return Halving(3, x).total()


@case(1.3, 0.4)
def of_a_constructor_changed_afterwards(x, y):
    t = Halving(3, x)
    t.left.right.v = t.left.right.v * y
    t.right = t.left
    t.left.left = Halving(1, y)
    return t.total()


@case([0.5, 1.5, 2.0])
def a_chain_by_its_constructor(xs):
    c = Chain([x * x for x in xs])
    s = 0.0
    while c is not None:
        s = s * 0.5 + c.v
        c = c.next
    return s


@case(0.8)
def constructors_that_call_each_other(x):
    n, s = Even(4, x), 0.0
    while n is not None:
        s += n.x if isinstance(n, Even) else n.y
        n = n.rest
    return s


@case(np.array([0.5, 1.5, 2.0, 0.1]), 0.3)
def a_shared_array_is_changed_by_constructors(a, x):
    b = a * x
    s = Sampled(2, b)
    s.next.next.a[0] *= x
    return (s.a * s.next.a).sum() + a.sum()


@case(np.array([0.5, 1.5, 2.0, 0.1]))
def an_argument_is_changed_by_constructors(a):
    s = Sampled(2, a)
    return (s.a * s.next.next.a).sum()


@case(1.5)
def a_constructor_may_raise(x):
    s = 0.0
    for depth in range(5):
        try:
            c = Checked(depth, x)
        except ValueError:
            s += x * depth
            break
        while c is not None:
            s += c.v * c.v
            c = c.below
    return s


@case(1.3)
def lists_of_children(x):
    return grown(3, x).total()


@case(1.3, 0.7)
def lists_of_children_changed(x, y):
    t = grown(3, x)
    scaled(t.kids[0], y)
    t.kids[1].kids.reverse()
    t.kids.append(t.kids[0])
    t.kids[1].kids[0] = grown(1, y)
    return t.total()


@case(1.3)
def children_that_know_their_parent(x):
    t = grown_by_a_method(3, x)
    s = t.total()
    n = t
    while n.kids:
        n = n.kids[-1]
    return s * n.weight()


@case(1.3)
def children_by_name(x):
    t = grown_by_name(3, x)
    t.named["left"].named["more"] = Twig(x * x)
    return by_name(t)


@case(grown(2, 1.1), 0.6)
def written_below_a_list(t, y):
    t.kids[0].v = y
    return of_leaves(t)


@case(1.3, 0.6)
def several_trees(x, y):
    w = Wood()
    t = w.plant(2, x)
    w.plant(1, y).kids.append(t)
    t.v = t.v * y
    return sum(t.total() for t in w.trees)


@case(1.1)
def searched(x):
    t = Place(50, x)
    for i in range(30):
        t.insert((i * 37) % 101, x * i)
    return sum(t.find(k) * math.sin(k) for k in range(0, 101, 3))


@case(1.1)
def walked_in_order(x):
    t = Place(5, x)
    for i in range(7):
        t.insert((i * 4) % 11, x * i)
    s = 0.0
    for k, v in t:
        s = s * 0.7 + v * k
    return s * sum([v * v for _, v in t])


@case(1.1, 0.6)
def walked_by_a_generator(x, y):
    t = grown(3, x)
    s = 0.0
    for n in nodes(t):
        s = s * 0.9 + n.v * n.v
    t.kids[0].v = y
    for v in values(t):
        s += v * v
    return s + max(values(t)) * sum(values(t.kids[0]))


@case(1.1, 0.6)
def changed_while_it_is_walked(x, y):
    t = grown(2, x)
    s = 0.0
    for n in nodes(t):
        n.v = n.v * y
        if n.kids and n.kids[0].v > 0.3:
            n.kids[1].v = n.v
        s += n.v
    for n in nodes(t):
        if len(n.kids) == 2:
            n.kids.pop()
        s = s * 0.9 + n.v * n.v
    return s


@case(1.1, 0.6)
def left_before_its_end(x, y):
    t = grown(3, x)
    s = 0.0
    for v in values(t):
        s += v * y
        if s > 0.5:
            break
    it = nodes(t)
    next(it).v = y
    return s * next(it).v + sum([n.v for n in it])


@case([0.3, 0.35, -0.7, 0.9, -0.1])
def a_tree_that_subdivides(xs):
    root = Quad(0.0, 2.0)
    for i, x in enumerate(xs):
        root.insert(x, 1.0 + 0.1 * i)
    return sum(root.force(x + 0.01) ** 2 for x in xs)


@case([0.3, 0.35, -0.7], 0.4)
def a_tree_that_subdivides_and_is_changed(xs, y):
    root = Quad(0.0, 2.0)
    for x in xs:
        root.insert(x, y)
    root.kids[1].mass = root.kids[1].mass * y
    root.kids[0].held = (y * y, y)
    return sum(root.force(x + 0.5) for x in xs)


@case([0.3, 0.35, 2.7, 2.72, 0.9, 1.4], 0.5)
def a_tree_whose_methods_call_each_other(xs, m):
    root = Half(0.0, 4.0)
    spots = [Spot(x * x, m + 0.1 * i) for i, x in enumerate(xs)]
    for s in spots[:-1]:
        root.insert(s)
    total = 0.0
    for s in spots:
        a, b = root.pull(s)
        total += a * a + a * b
    return total


@case(Spot(0.5, 1.5), Spot(2.0, 0.5))
def objects_compared(s, t):
    here = Spot(s.x, t.m)
    both = [s, here, t]
    r = 0.0
    for a in both:
        for b in both:
            if a == b:
                r += a.x * b.m
            elif a != here and here != None and not (None == b):  # noqa: E711
                r += math.sin(a.x) * b.x
    here.x = r
    return r * here.x


@case(0.5)
def the_deepest_of_them(x):
    t = Twig(x)
    t.add(Twig(x * 2)).add(Twig(x * x))
    return deepest(t)


def deepest(t):
    return max((deepest(k) for k in t.kids), default=t.v * t.weight())


@case(Twig(0.5), 1.2)
def grown_onto_an_argument(t, x):
    t.kids = [grown(1, x), Twig(t.v * x)]
    t.kids.append(grown(0, x))
    t.kids[2].kids.append(Twig(t.v))
    s = t.total()
    t.kids[0].kids[0].v = t.v
    return s * t.total()
