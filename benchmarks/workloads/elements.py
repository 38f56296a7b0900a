"""Loops over the elements of arrays: reading, filling."""

import math

import numpy as np

from benchmarks.workloads.base import workload

RNG = np.random.default_rng(0)


def neighbours(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += x[i] * x[i + 1]
    return s


def neighbours_by_hand(x):
    s = 0.0
    n = len(x)
    for i in range(n - 1):
        s += x[i] * x[i + 1]
    values = x.tolist()
    dx = [0.0] * n
    for i in range(n - 2, -1, -1):
        dx[i] += values[i + 1]
        dx[i + 1] += values[i]
    return s, (np.array(dx),)


workload(neighbours, neighbours_by_hand, RNG.standard_normal(1000), note="s += x[i]*x[i+1], n = 1000")


def smoothing(x, a):
    out = np.empty(len(x))
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = a * x[i] + (1.0 - a) * out[i - 1]
    return (out * out).sum()


def smoothing_by_hand(x, a):
    n = len(x)
    out = np.empty(n)
    out[0] = x[0]
    for i in range(1, n):
        out[i] = a * x[i] + (1.0 - a) * out[i - 1]
    value = (out * out).sum()
    values, smooth = x.tolist(), out.tolist()
    dout = (2.0 * out).tolist()
    dx = [0.0] * n
    da, rest = 0.0, 1.0 - a
    for i in range(n - 1, 0, -1):
        d = dout[i]
        da += d * (values[i] - smooth[i - 1])
        dx[i] = a * d
        dout[i - 1] += rest * d
    dx[0] = dout[0]
    return value, (np.array(dx), da)


workload(smoothing, smoothing_by_hand, RNG.standard_normal(500), 0.3, note="fills an array from its own past, n = 500")


def identity(v):
    return v


def sum_loop(f, x):
    y = 0.0
    n = 0
    while n < len(x):
        y += f(x[n])
        n += 1
    return y


DERIVATIVES = {identity: lambda v: 1.0, math.sin: math.cos}


def sum_loop_by_hand(f, x):
    y = 0.0
    n = 0
    while n < len(x):
        y += f(x[n])
        n += 1
    # the loop is written for any f, and so is its reverse
    slope = DERIVATIVES[f]
    return y, (np.array([slope(v) for v in x.tolist()]),)


X1000 = RNG.standard_normal(1000)
workload(
    sum_loop, sum_loop_by_hand, identity, X1000,
    argnums=(1,), name="_sum_1000", published=6.68, note="while loop, function argument",
)  # fmt: skip
workload(
    sum_loop, sum_loop_by_hand, math.sin, X1000,
    argnums=(1,), name="_sum_sin_1000", published=3.69, note="while loop, function argument",
)  # fmt: skip


def naive_map_sin_cos_exp(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = math.sin(math.cos(math.exp(x[i, j])))
    return y.sum()


def naive_map_sin_cos_exp_by_hand(x):
    sin, cos, exp = math.sin, math.cos, math.exp
    saved = []
    push = saved.append
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            e = exp(x[i, j])
            push(e)
            y[i, j] = sin(cos(e))
    dx = [-cos(cos(e)) * sin(e) * e for e in saved]
    return y.sum(), (np.array(dx).reshape(x.shape),)


X10 = RNG.standard_normal((10, 10))
workload(
    naive_map_sin_cos_exp, naive_map_sin_cos_exp_by_hand, X10, published=2.71, note="fills a 10 x 10 array"
)  # fmt: skip


def sin_cos_exp(v):
    return math.sin(math.cos(math.exp(v)))


def map_sin_cos_exp(x):
    return sum([sin_cos_exp(v) for v in x.ravel()])


def map_sin_cos_exp_by_hand(x):
    sin, cos, exp = math.sin, math.cos, math.exp
    exps = [exp(v) for v in x.ravel()]
    cosines = [cos(e) for e in exps]
    value = sum([sin(c) for c in cosines])
    dx = [-cos(c) * sin(e) * e for c, e in zip(cosines, exps)]
    return value, (np.array(dx).reshape(x.shape),)


workload(map_sin_cos_exp, map_sin_cos_exp_by_hand, X10, note="comprehension over 100 elements")
