"""Sets of objects, which are told apart by identity: an object is known again when it is taken out.

They are gone through in the order of addresses; the numbers here are such that sums are the same in any order.
"""

from tests.zoo.registry import case


class Node:
    def __init__(self, v, kids=()):
        self.v = v
        self.kids = set(kids)


def nodes(x, n=4):
    return [Node(x * (i + 1.0)) for i in range(n)]


@case(0.75)
def made_of_lists_and_tuples(x):
    a, b = Node(x), Node(x * x)
    c = Node(x + 1.0, (a, b))
    s = {a, c} | set([b])
    return sum(k.v for k in c.kids) * c.v + sum(k.v for k in s)


@case(0.75)
def changed_in_every_way(x):
    ns = nodes(x)
    s = set(ns)
    s.remove(ns[1])
    s.discard(ns[1])
    s.update(ns[:2], [Node(x)])
    s |= {Node(x * x)}
    s -= {ns[0]}
    s &= {*ns}
    s.symmetric_difference_update({ns[0]})
    for k in sorted(s, key=lambda k: k.v):
        k.v = k.v * x
    total = sum(n.v for n in ns) * len(s)
    while s:
        total += s.pop().v
    s.clear()
    return total


@case(0.75)
def put_together(x):
    ns = nodes(x)
    s, t = set(ns[:3]), frozenset(ns[1:])
    found = [s | t, s & t, s - t, s ^ t, s.union(ns), s.intersection(ns[:2]), s.difference(ns[:1])]
    total = 0.0
    for i, part in enumerate(found):
        total += sum(n.v for n in part) * (i + x)
    return total + max(t, key=lambda n: n.v).v * (ns[0] in s) * (ns[0] not in t)


@case(0.75)
def made_of_comprehensions_and_iterators(x):
    ns = nodes(x)
    s = {n for n in ns if n.v > x}
    t = set(n for n in ns) & set(map(lambda n: n, ns)) & set(reversed(ns))
    return sum(n.v for n in s) + sum(n.v for n in t) * x + sum(n.v for n in s.copy())


@case(0.75)
def graph_that_is_walked(x):
    ns = nodes(x)
    for a, b in zip(ns, ns[1:], strict=False):
        a.kids.add(b)
        b.kids.add(a)
    seen, todo, total = set(), [ns[0]], 0.0
    while todo:
        n = todo.pop()
        if n in seen:
            continue
        seen.add(n)
        total += n.v**2
        todo.extend(n.kids)
    return total


@case(0.75)
def pairs_with_objects(x):
    a, b = nodes(x, 2)
    s = set()
    s.add((a, 1))
    s.add((b, 2))
    return sum(n.v * k for n, k in s)


@case([0.5, 1.5], {3, 4})
def numbers_in_a_set_that_is_given(xs, s):
    total = 0.0
    s.update([1, 5], (7,))
    s |= {8}
    s -= {3}
    s ^= {9, 4}
    s.remove(5)
    for k in sorted(s):
        total += xs[k % 2] * k
    total *= s.pop() in (1, 7, 8, 9)
    s.clear()
    return total + sum(xs) * len(s)


class Value:
    """Reverse mode by hand, as in many a tutorial."""

    def __init__(self, data, children=()):
        self.data, self.grad = data, 0.0
        self.backward_step = lambda: None
        self.previous = set(children)

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))

        def step():
            self.grad += out.grad
            other.grad += out.grad

        out.backward_step = step
        return out

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def step():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.backward_step = step
        return out

    def backward(self):
        order, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v.previous:
                    build(child)
                order.append(v)

        build(self)
        self.grad = 1.0
        for v in reversed(order):
            v.backward_step()


@case(0.75, 1.25)
def gradients_of_gradients_by_hand(x, y):
    a, b = Value(x), Value(y)
    c = a * b + b * b * b
    d = c * c + a * c
    d.backward()
    return a.grad * b.grad + d.data
