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


@case(P, X)
def layers_by_number(params, x):
    for i in range(2):
        x = np.tanh(x @ params[f"W{i + 1}"] + params["b" + str(i + 1)])
    scaled = {}
    for name in ("W1", "b2"):
        if name not in params:
            continue
        scaled["2 * " + name] = 2 * params[name]
        scaled[f"{name} squared"] = params[name] ** 2
    return x, scaled["2 * W1"] @ B1, scaled["b2 squared"]


@case({"Wf": W1, "bf": np.array([0.1, 0.2]), "Wg": W1 * 0.5, "bg": np.array([-0.1, 0.3])}, np.array([0.4]))
def gates_by_name(params, x):
    h = np.array([0.1, -0.2])
    for _ in range(3):
        gates = {}
        for gate in ("f", "g"):
            gates[gate] = params["W" + gate] @ np.concatenate([x, h]) + params["b" + gate]
        h = np.tanh(gates["g"]) / (1 + np.exp(-gates["f"]))
    return h


class Model:
    def __init__(self, w, b):
        self.w, self.b = w, b

    def decay(self, rate):
        for name in ("w", "b"):
            setattr(self, name, getattr(self, name) * (1 - rate))


@case(W1, B1)
def attributes_by_name(w, b):
    model = Model(w, b)
    for _ in range(2):
        model.decay(0.1)
    return X @ model.w + model.b
