"""Networks with their backward pass by hand, trained in the function: what is differentiated is the training."""

from __future__ import annotations

import numpy as np

from tests.zoo.registry import case

RNG = np.random.default_rng(0)
W1, B1, W2, B2 = (RNG.normal(size=s) for s in [(2, 4), (4,), (4, 1), (1,)])
X, Y = RNG.normal(size=(6, 2)), RNG.normal(size=(6, 1))


class Parameter:
    def __init__(self, data):
        self.data = data
        self.grad = np.zeros_like(data)


class Module:
    def __call__(self, x):
        return self.forward(x)

    def parameters(self):
        for v in self.__dict__.values():
            if isinstance(v, Parameter):
                yield v
            elif isinstance(v, Module):
                yield from v.parameters()
            elif isinstance(v, (list, tuple)):
                for m in v:
                    if isinstance(m, Module):
                        yield from m.parameters()


class Linear(Module):
    def __init__(self, w, b):
        self.w = Parameter(w)
        self.b = Parameter(b)

    def forward(self, x):
        self.x = x
        return x @ self.w.data + self.b.data

    def backward(self, g):
        self.w.grad = self.w.grad + self.x.T @ g
        self.b.grad = self.b.grad + g.sum(axis=0)
        return g @ self.w.data.T


class Tanh(Module):
    def forward(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, g):
        return g * (1 - self.y**2)


class Sequential(Module):
    def __init__(self, *layers):
        self.layers = list(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def backward(self, g):
        for layer in reversed(self.layers):
            g = layer.backward(g)
        return g


class Adam:
    def __init__(self, params, rate=0.01, b1=0.9, b2=0.999):
        self.params = list(params)
        self.rate, self.b1, self.b2, self.t = rate, b1, b2, 0
        self.m = [np.zeros_like(p.data) for p in self.params]
        self.v = [np.zeros_like(p.data) for p in self.params]

    def step(self):
        self.t += 1
        for i, p in enumerate(self.params):
            self.m[i] = self.b1 * self.m[i] + (1 - self.b1) * p.grad
            self.v[i] = self.b2 * self.v[i] + (1 - self.b2) * p.grad**2
            m, v = self.m[i] / (1 - self.b1**self.t), self.v[i] / (1 - self.b2**self.t)
            p.data = p.data - self.rate * m / (np.sqrt(v) + 1e-4)
            p.grad = np.zeros_like(p.grad)


def network(w1, b1, w2, b2):
    return Sequential(Linear(w1, b1), Tanh(), Linear(w2, b2))


@case(W1, B1, W2, B2, X)
def backward_by_hand(w1, b1, w2, b2, x):
    net = network(w1, b1, w2, b2)
    y = net(x)
    net.backward(2 * y)
    return (y**2).sum() + net.layers[0].w.grad.sum() * net.layers[2].b.grad[0]


@case(W1, B1, W2, B2, X, 0.1)
def steps_down(w1, b1, w2, b2, x, rate):
    net = network(w1, b1, w2, b2)
    params = list(net.parameters())
    for _ in range(2):
        y = net(x)
        net.backward(2 * y)
        for p in params:
            p.data = p.data - rate * p.grad
            p.grad = np.zeros_like(p.grad)
    return (net(x) ** 2).sum() + sum(p.data.sum() for p in params)


@case(W1, B1, W2, B2, X)
def backward_after_each_loss(w1, b1, w2, b2, x):
    net = network(w1, b1, w2, b2)
    losses = []
    for _ in range(2):
        y = net(x)
        losses.append((y**2).mean())
        net.backward(2 * y)
    return losses[-1] + net.layers[0].w.grad.sum()


@case(W1, B1, W2, B2, X, Y, 0.05)
def with_moments(w1, b1, w2, b2, x, y, rate):
    net = network(w1, b1, w2, b2)
    opt = Adam(net.parameters(), rate)
    losses = []
    for _ in range(3):
        d = net(x) - y
        losses.append((d**2).mean())
        net.backward(2 * d / d.size)
        opt.step()
    return losses[-1] + sum(losses)


class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other


@case(W1, B1)
def objects_of_one_class_told_apart_by_what_they_hold(w, b):
    """By one name only matrices, by another only vectors, by a third both."""
    matrices = [Parameter(w), Parameter(2 * w)]
    vectors = [Parameter(b), Parameter(3 * b)]
    pairs = [Pair(m, v) for m, v in zip(matrices, vectors, strict=True)]
    for m in matrices:
        m.grad = m.data * m.data
    for p in pairs:
        p.other.grad = p.other.data + p.one.grad.sum(axis=0)
    for p in [pairs[0].one, vectors[1]]:
        p.data = p.data * p.grad
    return sum((p.one.data @ p.other.grad).sum() + p.other.data @ p.other.grad for p in pairs)


@case(B1, 6)
def methods_of_a_number_or_an_array(v, n):
    total = 0.0
    for i in range(n):
        a = v if i % 2 else v.sum()
        total = total + a.sum() * a.mean() + a.max()
    return total


@case(B1, 3)
def products_that_give_a_number_or_an_array(v, n):
    total, m = 0.0, np.outer(v, v)
    for i in range(n):
        left = v if i % 2 else m
        y = left @ v
        total = total + (y * y).sum() + y.sum(axis=0)
    return total


SERIES = np.cos(np.arange(12.0)).reshape(4, 3)


@case(np.sin(np.arange(10.0)).reshape(5, 2), B1[:2])
def states_kept_beside_rows_of_constant_data(w, b):
    h, states = np.zeros(2), []
    for row in SERIES:
        joined = np.r_[row, h]
        h = np.tanh(joined @ w + b * np.concatenate([row[:1], h])[0])
        states.append(h)
    return np.mean(np.stack(states) ** 2) + states[-1] @ states[0]


@case(B1[:3])
def constant_arrays_in_lists_that_hold_others(v):
    """What is put into a list beside an array does not change that; what is written into the array does."""
    c, kept = np.ones(3), []
    for row in SERIES:
        pair = [row, c]
        kept.append(v * row)
        pair.append(kept[-1])
        v = v + 0.1 * pair[0] * pair[2]
    first = [c, v][0]
    first += 0.5 * v
    return np.sum(c * kept[-1]) + np.sum(kept[0] * v)
