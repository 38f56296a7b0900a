"""Lists and tuples of objects that are gone through: layers of networks, terms of models, steps of pipelines."""

from __future__ import annotations

import math

import numpy as np

from tests.zoo.registry import case


class Linear:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def __call__(self, x):
        return x @ self.w + self.b


class Tanh:
    def __call__(self, x):
        return np.tanh(x)


class Chain:
    def __init__(self, *layers):
        self.layers = layers

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class ChainOfList:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


W = np.array([[0.3, -0.2], [0.1, 0.5], [0.7, 0.2]])
B = np.array([0.1, -0.3])
V = np.array([[0.4], [-0.6]])
X = np.array([[1.0, 0.5, -1.0], [0.2, 0.3, 0.8]])


@case(W, B, V, X)
def layers_in_a_tuple(w, b, v, x):
    return np.mean(Chain(Linear(w, b), Tanh(), Linear(v, 0.5))(x) ** 2)


@case(W, B, V, X)
def layers_in_a_list(w, b, v, x):
    return np.mean(ChainOfList(Linear(w, b), Tanh(), Linear(v, 0.5))(x) ** 2)


@case(W, B, V, X)
def layers_in_a_list_of_the_function(w, b, v, x):
    layers = [Linear(w, b), Tanh(), Linear(v, 0.5)]
    for layer in layers:
        x = layer(x)
    return np.mean(x**2) + np.sum(layers[0].w) * layers[-1].b


@case(W, B)
def layers_whose_weights_are_written_to(w, b):
    layers = [Linear(w, b), Linear(w * 2.0, b)]
    for layer in layers:
        layer.w *= layer.b
        layer.b = layer.b + 1.0
    return np.sum(w * w) + np.sum(layers[1].w * layers[0].b)


@case(0.3, 0.7)
def a_list_that_is_given_away_after_a_loop(x, y):
    terms = [x, x * y, math.sin(y)]
    total = 0.0
    for t in terms:
        total += t * t
    terms.append(total)
    return sum(terms) * terms[1]


@case(0.3, 0.7)
def lists_by_what_is_counted(x, y):
    weights = [x, x * y, math.sin(y)]
    powers = [1.0, y, y * y]
    total = 0.0
    for i in range(3):
        total += weights[i] * powers[i]
    for i in range(2):
        total += weights[i + 1] * weights[-1]
    return total


@case(0.3, 0.7)
def an_index_beyond_a_list(x, y):
    terms = [x, x * y]
    total = 0.0
    try:
        for i in range(3):
            total += terms[i] * y
    except IndexError as e:
        total += len(str(e)) * x
    return total


@case([(W, B), (V.T, B)], X)
def arguments_in_a_list_that_objects_hold(params, x):
    layers = [Linear(w, b) for w, b in params]
    y = layers[0](x)
    layers[1].w += y[0]
    return np.sum(y @ layers[1].w.T) + np.sum(params[1][0] * params[1][1])
