"""Trees of modules: objects that call each other, and find their parameters by walking what they hold."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case


def weights():
    rng = np.random.default_rng(3)
    return [0.4 * rng.normal(size=s) for s in [(3, 4), (4,), (4, 4), (4,), (4, 2), (2,)]]


X, Y = np.array([[0.5, -1.2, 2.0], [0.3, 0.4, -0.7]]), np.array([[0.1, 1.0], [-0.4, 0.3]])


class Module:
    def __init__(self):
        self.training = True

    def __call__(self, *args, **options):
        return self.forward(*args, **options)

    def parameters(self):
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                yield value
            elif isinstance(value, Module):
                yield from value.parameters()
            elif isinstance(value, (list, tuple)):
                for v in value:
                    if isinstance(v, Module):
                        yield from v.parameters()

    def named(self, prefix=""):
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                yield prefix + name, value
            elif isinstance(value, Module):
                yield from value.named(prefix + name + ".")

    def count(self):
        total = 0
        for value in self.__dict__.values():
            if isinstance(value, np.ndarray):
                total += value.size
            elif isinstance(value, Module):
                total += value.count()
        return total


class Linear(Module):
    def __init__(self, w, b):
        super().__init__()
        self.w = w
        self.b = b

    def forward(self, x, scale=1.0):
        return scale * (x @ self.w) + self.b


class Tanh(Module):
    def forward(self, x):
        return np.tanh(x)


class Residual(Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class Sequential(Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Pair(Module):
    def __init__(self, first, second):
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, x, scale=1.0):
        return self.second(np.tanh(self.first(x, scale=scale)))


class SGD:
    def __init__(self, params, rate):
        self.params = list(params)
        self.rate = rate

    def step(self, grads):
        for p, g in zip(self.params, grads, strict=True):
            p -= self.rate * g


def network(ws):
    inner = Sequential(Linear(ws[2], ws[3]), Tanh())
    return Sequential(Linear(ws[0], ws[1]), Residual(inner), Linear(ws[4], ws[5]))


@case(network(weights()))
def a_network_given(net):
    return np.mean((net(X) - Y) ** 2)


@case(network(weights()))
def penalty_of_all_parameters(net):
    penalty = sum(np.sum(p**2) for p in net.parameters())
    return np.mean((net(X) - Y) ** 2) + 0.1 * penalty


@case(weights())
def a_network_made_in_the_run(ws):
    net = network(ws)
    penalty = 0.0
    for i, p in enumerate(net.parameters()):
        penalty = penalty + (i + 1) * np.sum(p**2)
    return np.mean((net(X) - Y) ** 2) + 0.1 * penalty


@case(weights(), X, Y)
def parameters_changed_in_place(ws, x, y):
    net = network(ws)
    optimiser = SGD(net.parameters(), 0.05)
    total = 0.0
    for _ in range(2):
        total = total + np.mean((net(x) - y) ** 2)
        optimiser.step([p * p for p in optimiser.params])
    return total + np.mean((net(x) - y) ** 2)


@case(weights(), 0.7)
def parameters_by_name(ws, scale):
    net = Pair(Linear(ws[0], ws[1]), Linear(ws[4], ws[5]))
    total = np.mean((net(X, scale=scale) - Y) ** 2)
    count = net.count()
    for name, p in net.named():
        if name.endswith(".w"):
            total += scale * np.sum(p**2) / count
    return total


@case(1.3)
def an_attribute_set_while_the_dict_is_held(x):
    layer = Linear(x, x * x)
    held = layer.__dict__
    before = held["w"]
    layer.w = x**3
    return before * held["w"] + sum(v for v in held.values() if v is not True) + len(held)


@case(1.3)
def attributes_written_into_the_dict(x):
    layer = Linear(x, 2.0)
    layer.__dict__["b"] = x * x
    layer.__dict__.update(c=x**3)
    return layer.w * layer.b + layer.c


@case(network(weights()), 1.2)
def attributes_read_before_and_after_they_change(net, x):
    first = net.layers[0]
    held = [v for v in vars(first).values() if isinstance(v, np.ndarray)]
    first.w = first.w * x
    now = [v for v in vars(first).values() if isinstance(v, np.ndarray)]
    return sum(np.sum(a * b) for a, b in zip(held, now, strict=True)) + np.sum(net(X))


# -- functions that call themselves, with arguments that are not given one by one --------------------------


def folded(x, *rest, scale=2.0):
    if not rest:
        return x * scale
    return x + folded(*rest, scale=scale)


@case(1.3, 0.4)
def calls_itself_with_the_rest(x, y):
    return folded(x, y, x * y, scale=y) + folded(x)


def halved(x, depth=3, *, factor=0.5):
    if depth == 0:
        return math.sin(x)
    return x + halved(x * factor, depth - 1)


@case(1.3)
def calls_itself_by_default(x):
    return halved(x) * halved(x, 1, factor=x)


class Node:
    def __init__(self, value, *children):
        self.value = value
        self.children = list(children)

    def total(self, depth=0, **options):
        own = self.value * options["scale"] ** depth
        for child in self.children:
            own = own + child.total(depth + 1, **options)
        return own

    def scaled(self, *factors):
        self.value = self.value * factors[0]
        for child in self.children:
            child.scaled(factors[1], factors[0])

    def gathered(self, into, **more):
        into.append(self.value * more.pop("scale"))
        for child in self.children:
            child.gathered(into, scale=self.value)


@case(1.3, 0.4)
def a_tree_walked_with_keywords(x, y):
    tree = Node(x, Node(y, Node(x * y)), Node(x * x))
    return tree.total(scale=y) + tree.total(1, scale=x)


@case(1.3, 0.4)
def a_tree_changed_with_the_rest(x, y):
    tree = Node(x, Node(y, Node(x * y)), Node(x * x))
    tree.scaled(y, x)
    return tree.total(scale=2.0)


@case(1.3, 0.4)
def a_tree_gathered_into_a_list(x, y):
    tree = Node(x, Node(y, Node(x * y)), Node(x * x))
    values = []
    tree.gathered(values, scale=y)
    return sum(v * i for i, v in enumerate(values))
