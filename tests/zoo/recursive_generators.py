"""Generators that call themselves: over objects, tuples and lists, and inner ones by what they capture."""

from tests.zoo.registry import case

V = [0.5, 1.3, 0.2, 0.9, 2.1, 1.7]


class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def walk(self):
        if self.left is not None:
            yield from self.left.walk()
        yield self.value
        if self.right is not None:
            yield from self.right.walk()


def inserted(node, value):
    if node is None:
        return Node(value)
    if value < node.value:
        node.left = inserted(node.left, value)
    else:
        node.right = inserted(node.right, value)
    return node


@case(V)
def walked_and_numbered(xs):
    root = None
    for x in xs:
        root = inserted(root, x)
    return sum(v * v * i for i, v in enumerate(root.walk()))


def put_into(t, value):
    if t is None:
        return (None, value, None)
    left, own, right = t
    if value < own:
        return (put_into(left, value), own, right)
    return (left, own, put_into(right, value))


def in_order(t):
    if t is not None:
        left, own, right = t
        yield from in_order(left)
        yield own
        yield from in_order(right)


@case(V)
def tree_of_tuples_walked(xs):
    t = None
    for x in xs:
        t = put_into(t, x)
    total = 0.0
    for v in in_order(t):
        total = total * 0.9 + v
    return total


def leaves(t):
    if isinstance(t, (list, tuple)):
        for part in t:
            yield from leaves(part)
    else:
        yield t


@case(V)
def nested_lists_flattened(xs):
    return sum(v * v for v in leaves([xs[0], [xs[1], xs[2]], [[xs[3]], xs[4]]]))


@case(V)
def inner_generator_by_itself(xs):
    def rest(i):
        if i < len(xs):
            yield xs[i]
            yield from rest(i + 1)

    return sum(v * v for v in rest(0))


@case(V)
def inner_generator_in_a_loop(xs):
    def subsets(i):
        if i == len(xs):
            yield []
        else:
            for s in subsets(i + 1):
                yield s
                yield [xs[i], *s]

    return sum(sum(s) ** 2 for s in subsets(2))


@case(V)
def inner_generators_of_two(xs):
    def even(i):
        if i < len(xs):
            yield xs[i]
            yield from odd(i + 1)

    def odd(i):
        if i < len(xs):
            yield xs[i] * xs[i]
            yield from even(i + 1)

    return sum(even(0))


@case(1.3, 0.7)
def inner_generator_before_its_variable_changes(x, y):
    k = x

    def rest(i):
        if i < 3:
            yield k * i
            yield from rest(i + 1)

    items = rest(0)
    k = y
    return sum(items) + k


@case(1.3, 0.7)
def inner_generator_whose_functions_variable_changes(x, y):
    k = x

    def scaled(v, n):
        return v * k if n == 0 else scaled(v, n - 1)

    def rest(i):
        if i < 3:
            yield scaled(x, i)
            yield from rest(i + 1)

    items = rest(0)
    k = y
    return sum(items) + k


@case(1.3, 0.7)
def inner_generators_made_in_a_loop(x, y):
    made = []
    for k in (x, y):

        def rest(i):
            if i < 3:
                yield k * i  # noqa: B023
                yield from rest(i + 1)  # noqa: B023

        made.append(rest(0))
    return sum(made[0]) * sum(made[1])


@case(1.3, 0.7)
def inner_generator_while_its_variable_changes(x, y):
    def rest(i):
        if i < 3:
            yield k * i
            yield from rest(i + 1)

    items = rest(0)
    k = y
    total = 0.0
    for v in items:
        total += v * x
        k = k * x
    return total
