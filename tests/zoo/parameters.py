"""Parameters of models in dicts, lists and objects: arrays of several numbers of dimensions, walked by key."""

import numpy as np

from tests.zoo.registry import case

W1 = np.array([[0.5, -1.2, 2.0], [0.3, 0.8, -0.4]])
B1 = np.array([0.1, -0.2, 0.3])
W2 = np.array([[0.7], [-0.6], [0.2]])
B2 = np.array([0.4])
X = np.array([[1.0, 2.0], [0.5, -1.5]])
P = {"W1": W1, "b1": B1, "W2": W2, "b2": B2}
G = {"W1": W1[::-1] * 0.3, "b1": B1 * 2, "W2": W2 - 1, "b2": B2 * B2}


@case(P, G, 0.1)
def stepped_by_key(params, g, lr):
    for k in params:
        params[k] = params[k] - lr * g[k]
    decayed = {k: v * 0.9 for k, v in params.items()}
    penalty = sum(np.sum(v**2) for v in decayed.values())
    return np.sum(np.tanh(X @ decayed["W1"] + decayed["b1"]) @ decayed["W2"] + decayed["b2"]) + penalty


@case(P, X)
def momentum_in_dicts(params, x):
    m = {k: np.zeros_like(v) for k, v in params.items()}
    for _ in range(2):
        h = np.tanh(x @ params["W1"] + params["b1"])
        d = 2 * (h @ params["W2"] + params["b2"])
        dh = d @ params["W2"].T * (1 - h**2)
        g = {"W1": x.T @ dh, "b1": dh.sum(axis=0), "W2": h.T @ d, "b2": d.sum(axis=0)}
        for k, v in g.items():
            m[k] = 0.9 * m[k] + v
            m[k] /= np.sqrt(1 + np.mean(v * v))
        params = {k: params[k] - 0.1 * m[k] for k in params}
    return params


@case({"one": {"W": W1, "b": B1}, "two": {"W": W2, "b": B2}}, [W1, B1, np.array([W1, W1])])
def layers_and_tensors(layers, tensors):
    h = X
    for layer in layers.values():
        h = np.tanh(h @ layer["W"] + layer["b"])
    largest = [np.max(np.abs(t), axis=-1) for t in tensors]
    return h, sum(np.sum(t[0] * t[-1]) for t in tensors), largest, [t.ravel() for t in tensors]


class Parameter:
    def __init__(self, value):
        self.value = value
        self.moment = np.zeros_like(value)

    def step(self, grad, lr):
        self.moment = 0.5 * self.moment + grad
        self.value -= lr * self.moment


@case(W1, B1, np.array(0.7))
def parameters_as_objects(w, b, scale):
    group = [Parameter(p) for p in (w.copy(), b.copy(), scale.copy())]
    for _ in range(2):
        for p in group:
            p.step(2 * p.value, 0.1)
    w, b, scale = [p.value for p in group]
    return scale * np.sum(X @ w + b)
