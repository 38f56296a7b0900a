"""Statistical models and small networks in NumPy."""

import math

import numpy as np

from benchmarks.workloads.base import workload

RNG = np.random.default_rng(2)


def mlp(w1, b1, w2, b2, x, y):
    hidden = np.tanh(x @ w1 + b1)
    error = hidden @ w2 + b2 - y
    return np.mean(error * error)


def mlp_by_hand(w1, b1, w2, b2, x, y):
    hidden = np.tanh(x @ w1 + b1)
    error = hidden @ w2 + b2 - y
    value = np.mean(error * error)
    error *= 2.0 / error.size
    dhidden = error @ w2.T
    dw2 = hidden.T @ error
    hidden *= hidden
    np.subtract(1.0, hidden, out=hidden)
    dhidden *= hidden
    return value, (x.T @ dhidden, dhidden.sum(axis=0), dw2, error.sum(axis=0))


workload(
    mlp, mlp_by_hand,
    RNG.standard_normal((16, 64)) * 0.3, np.zeros(64), RNG.standard_normal((64, 1)) * 0.3, np.zeros(1),
    RNG.standard_normal((32, 16)), RNG.standard_normal((32, 1)),
    argnums=(0, 1, 2, 3), note="batch 32, hidden 64, 4 gradients",
)  # fmt: skip


def simple_mlp(w2, w1, y, x):
    hidden = w1 @ x
    error = y - w2 @ (hidden * (hidden >= 0))
    return np.sum(error**2)


def simple_mlp_by_hand(w2, w1, y, x):
    hidden = w1 @ x
    active = hidden >= 0
    hidden *= active
    error = y - w2 @ hidden
    value = np.sum(error**2)
    dy = 2.0 * error
    dout = np.negative(dy)
    dhidden = w2.T @ dout
    dhidden *= active
    return value, (dout @ hidden.T, dhidden @ x.T, dy, w1.T @ dhidden)


workload(
    simple_mlp, simple_mlp_by_hand,
    RNG.standard_normal((128, 256)), RNG.standard_normal((256, 128)),
    RNG.standard_normal((128, 70)), RNG.standard_normal((128, 70)), note="128-256-128, batch 70, data too",
)  # fmt: skip


def rnn(w, u, b, inputs):
    h = np.zeros(len(b))
    for x in inputs:
        h = np.tanh(w @ h + u @ x + b)
    return np.sum(h * h)


def rnn_by_hand(w, u, b, inputs):
    steps, size = len(inputs), len(b)
    states = np.zeros((steps + 1, size))
    h = states[0]
    for t, x in enumerate(inputs):
        h = np.tanh(w @ h + u @ x + b)
        states[t + 1] = h
    slopes = 1.0 - states[1:] * states[1:]
    deltas = np.empty((steps, size))
    dh = 2.0 * h
    w_t = w.T
    for t in range(steps - 1, -1, -1):
        delta = np.multiply(dh, slopes[t], out=deltas[t])
        dh = w_t @ delta
    deltas_t = deltas.T
    # one product each instead of an outer product per step
    return np.sum(h * h), (deltas_t @ states[:-1], deltas_t @ inputs, deltas.sum(axis=0))


workload(
    rnn, rnn_by_hand,
    RNG.standard_normal((32, 32)) * 0.15, RNG.standard_normal((32, 8)) * 0.3, np.zeros(32),
    RNG.standard_normal((50, 8)),
    argnums=(0, 1, 2), note="50 steps of 32",
)  # fmt: skip


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def lstm(w, b, inputs):
    n = len(b) // 4
    h, c = np.zeros(n), np.zeros(n)
    for x in inputs:
        z = w @ np.concatenate((h, x)) + b
        i, f, o = sigmoid(z[:n]), sigmoid(z[n : 2 * n]), sigmoid(z[2 * n : 3 * n])
        g = np.tanh(z[3 * n :])
        c = f * c + i * g
        h = o * np.tanh(c)
    return np.sum(h * h)


def lstm_by_hand(w, b, inputs):
    n, steps = len(b) // 4, len(inputs)
    h, c = np.zeros(n), np.zeros(n)
    joined = np.empty((steps, n + inputs.shape[1]))
    joined[:, n:] = inputs
    saved = []
    for t in range(steps):
        joined[t, :n] = h
        z = w @ joined[t] + b
        s = 1.0 / (1.0 + np.exp(-z[: 3 * n]))
        i, f, o = s[:n], s[n : 2 * n], s[2 * n :]
        g = np.tanh(z[3 * n :])
        before = c
        c = f * before + i * g
        squashed = np.tanh(c)
        saved.append((s, i, f, o, g, before, squashed))
        h = o * squashed
    value = np.sum(h * h)
    deltas = np.empty((steps, 4 * n))
    to_state = w[:, :n].T
    dh, dc = 2.0 * h, 0.0
    for t in range(steps - 1, -1, -1):
        s, i, f, o, g, before, squashed = saved[t]
        dc = dc + dh * o * (1.0 - squashed * squashed)
        delta = deltas[t]
        delta[:n] = dc * g
        delta[n : 2 * n] = dc * before
        delta[2 * n : 3 * n] = dh * squashed
        delta[: 3 * n] *= s * (1.0 - s)
        delta[3 * n :] = dc * i * (1.0 - g * g)
        dc = dc * f
        dh = to_state @ delta
    return value, (deltas.T @ joined, deltas.sum(axis=0))


workload(
    lstm, lstm_by_hand,
    RNG.standard_normal((64, 24)) * 0.3, RNG.standard_normal(64) * 0.1, RNG.standard_normal((20, 8)),
    argnums=(0, 1), note="20 steps of 16",
)  # fmt: skip


def gp_lml(x, y, s):
    n = len(x)
    gaps = x[:, None] - x[None, :]
    k = np.exp(-0.5 * gaps**2) + s * np.eye(n)
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(k, y)
    return -0.5 * (y @ alpha) - np.sum(np.log(np.diag(factor))) - 0.5 * n * math.log(2.0 * math.pi)


def gp_lml_by_hand(x, y, s):
    n = len(x)
    gaps = x[:, None] - x[None, :]
    kernel = np.exp(-0.5 * gaps**2)
    k = kernel + s * np.eye(n)
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(k, y)
    value = -0.5 * (y @ alpha) - np.sum(np.log(np.diag(factor))) - 0.5 * n * math.log(2.0 * math.pi)
    # d/dK = (alpha alpha^T - K^-1) / 2, symmetric: both places of an x give the same
    dk = np.multiply.outer(alpha, alpha)
    dk -= np.linalg.inv(k)
    dk *= 0.5
    ds = np.trace(dk)
    dk *= kernel
    dk *= gaps
    return value, (-2.0 * dk.sum(axis=1), -alpha, ds)


GRID = np.arange(128) * 0.2
workload(gp_lml, gp_lml_by_hand, GRID, RNG.standard_normal(128), 1.0, note="Gaussian process, 128 points")


def mixture(logits, means, log_scales, data):
    log_weights = logits - np.log(np.sum(np.exp(logits)))
    z = (data[:, None] - means) / np.exp(log_scales)
    log_p = log_weights - log_scales - 0.5 * z**2
    top = np.max(log_p, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(log_p - top), axis=1)) + top[:, 0])


def mixture_by_hand(logits, means, log_scales, data):
    weights = np.exp(logits)
    total = np.sum(weights)
    scales = np.exp(log_scales)
    z = (data[:, None] - means) / scales
    log_p = (logits - np.log(total)) - log_scales - 0.5 * z**2
    top = np.max(log_p, axis=1, keepdims=True)
    p = np.exp(log_p - top)
    sums = np.sum(p, axis=1)
    value = np.sum(np.log(sums) + top[:, 0])
    # responsibilities are the cotangent of log_p; that of `top` is zero
    p /= sums[:, None]
    share = p.sum(axis=0)
    dlogits = share - weights * (len(data) / total)
    p *= z
    dmeans = p.sum(axis=0) / scales
    p *= z
    return value, (dlogits, dmeans, p.sum(axis=0) - share)


workload(
    mixture, mixture_by_hand,
    np.array([0.3, -0.2, 0.1]), np.array([-2.0, 0.1, 1.5]), np.array([0.0, -0.3, 0.2]), RNG.standard_normal(500) * 2,
    argnums=(0, 1, 2), note="3 components, 500 points",
)  # fmt: skip


def logistic(beta, x, signs):
    margins = signs * (x @ beta)
    return np.mean(np.log1p(np.exp(-margins))) + 0.01 * (beta @ beta)


def logistic_by_hand(beta, x, signs):
    e = np.exp(-(signs * (x @ beta)))
    value = np.mean(np.log1p(e)) + 0.01 * (beta @ beta)
    d = e / (1.0 + e)
    d *= signs
    d *= -1.0 / len(d)
    return value, (d @ x + 0.02 * beta,)


workload(
    logistic, logistic_by_hand, RNG.standard_normal(20) * 0.2, RNG.standard_normal((1000, 20)),
    np.sign(RNG.standard_normal(1000)), argnums=(0,), note="regression, 1000 x 20 data without gradient",
)  # fmt: skip
