"""Generator expressions given to calls whose other arguments are computed after they are made."""

from __future__ import annotations

import numpy as np

from tests.zoo.registry import case


class Term:
    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        other = other if isinstance(other, Term) else Term(other)
        return Term(self.value * other.value)

    def __add__(self, other):
        return Term(self.value + other.value * self.value)


class Neuron:
    def __init__(self, weights, offset):
        self.weights = [Term(w) for w in weights]
        self.offset = Term(offset)

    @property
    def start(self):
        return self.offset

    def __call__(self, xs):
        return sum((w * x for w, x in zip(self.weights, xs)), self.offset)


class ByProperty(Neuron):
    def __call__(self, xs):
        return sum((w * x for w, x in zip(self.weights, xs)), self.start)


XS = (1.0, -2.0)


@case(0.7)
def neurons_in_a_list(s):
    neurons = [Neuron([s * 0.3, 0.2], s), Neuron([0.1, s], 0.5)]
    return neurons[0](XS).value * neurons[1](XS).value


@case(0.7)
def layers_of_neurons(s):
    layers = [[ByProperty([s * k, 0.2], s + j) for j in range(2)] for k in range(2)]
    x = list(XS)
    for layer in layers:
        x = [n(x).value for n in layer]
    return x[0] * x[1]


@case(0.7)
def neurons_in_training(s):
    n = Neuron([s * 0.3, 0.2], s)
    for _ in range(3):
        y = n(XS).value
        for w in n.weights:
            w.value -= 0.1 * y * w.value
        n.offset.value += 0.05 * y
    return n(XS).value


@case([0.5, -0.25, 1.5], 0.7)
def the_start_changes_what_is_gone_through(xs, y):
    """The first iterable is asked for before the start is computed, its items after that."""
    ws = list(xs)

    def start():
        ws[0] *= y
        ws.append(y)
        return ws[1] * y

    return sum((w * w for w in ws), start())


@case([0.5, -0.25, 1.5], 0.7)
def the_start_changes_what_is_captured(xs, y):
    factor = 2.0

    def start():
        nonlocal factor
        factor = y * y
        return y

    return sum((w * factor for w in xs), start()) + max((w * factor for w in xs), key=lambda v: -v)


@case(np.array([0.5, -0.25, 1.5]), 0.7)
def the_iterable_is_made_first(a, y):
    log = []

    def note(name, value):
        log.append(name)
        return value

    total = sum((v * y for v in note("items", a * y)), note("start", y * len(log)))
    return total + len(log) if log == ["items", "start"] else -total


@case([0.5, -0.25], 0.7)
def a_start_that_raises(xs, y):
    try:
        return sum((x / 0.0 for x in xs), {}["start"])
    except KeyError:
        return y * xs[0]


def _squares(xs, log):
    for x in xs:
        log.append(x)
        yield x * x


@case([0.5, -0.25], 0.7)
def a_start_that_raises_beside_a_generator(xs, y):
    log = [y]
    try:
        log.append(sum(_squares(xs, log), {}["start"]))
    except KeyError:
        log.append(y * y)
    return sum(log) * len(log)


class Layer:
    def __init__(self, rows):
        self.neurons = [Neuron(row, 0.5) for row in rows]

    def __call__(self, xs):
        out = [n(xs) for n in self.neurons]
        return out[0] if len(out) == 1 else out


@case(0.7)
def a_layer_that_gives_one_or_several(s):
    layer = Layer([[s * 0.3, 0.2], [s, 0.1]])
    total = 0.0
    for _ in range(2):
        out = layer(XS)
        loss = out[0] * out[1].value
        for n in layer.neurons:
            n.offset.value -= 0.1 * loss.value
        total += loss.value
    return total


class Network:
    def __init__(self, layers):
        self.layers = layers

    def __call__(self, xs):
        for layer in self.layers:
            xs = layer(xs)
        return xs


@case(0.7)
def a_network_of_layers(s):
    """Numbers go in; each layer gives a list of terms, or one term, which nothing goes over."""
    n = Network([Layer([[s * 0.3, 0.2], [s, 0.1]]), Layer([[0.5, s]])])
    return n(XS).value


@case(0.7, 2)
def what_may_be_a_list_or_nothing_to_go_over(s, n):
    total, xs = 0.0, Term(s)
    for i in range(n + 1):
        try:
            total += sum(w * k for w, k in zip(xs, (0.5, s)))
        except TypeError:
            total += xs.value
        xs = [s, s * total] if i % 2 == 0 else Term(total)
    return total
