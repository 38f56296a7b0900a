"""Lists and dicts in loops: appended to, read back, updated by key."""

import numpy as np

from benchmarks.workloads.base import workload


def append_and_read(x, n):
    out = [x]
    for i in range(n):
        out.append(out[i] * 0.99 + 0.01 * out[i] * out[i])
    s = 0.0
    for v in out:
        s += v * v
    return s


def append_and_read_by_hand(x, n):
    out = [x]
    for i in range(n):
        out.append(out[i] * 0.99 + 0.01 * out[i] * out[i])
    s = 0.0
    for v in out:
        s += v * v
    d = 0.0
    for v in reversed(out[1:]):
        d += 2.0 * v
        out.pop()
        d *= 0.99 + 0.02 * out[-1]
    return s, (d + 2.0 * x,)


workload(
    append_and_read, append_and_read_by_hand, 0.3, 300, argnums=(0,), note="a list grows from its own items, n = 300"
)


def model_in_a_dict(w, b, n):
    p = {"w": w, "b": b}
    x = 0.5
    for _ in range(n):
        x = x * p["w"] * (1.0 - x) + p["b"] * 0.1
    return x


def model_in_a_dict_by_hand(w, b, n):
    p = {"w": w, "b": b}
    x = 0.5
    xs = []
    push = xs.append
    for _ in range(n):
        push(x)
        x = x * p["w"] * (1.0 - x) + p["b"] * 0.1
    d, dw, db = 1.0, 0.0, 0.0
    for v in reversed(xs):
        dw += d * v * (1.0 - v)
        db += d * 0.1
        d *= w * (1.0 - 2.0 * v)
    return x, (dw, db)


workload(
    model_in_a_dict, model_in_a_dict_by_hand, 2.5, 0.3, 300, argnums=(0, 1), note="parameters read from a dict, n = 300"
)  # fmt: skip


def weights_in_a_tuple(x, n):
    weights = (x, x * x, 1.0)
    s = np.float64(0.0)
    for _ in range(n):
        for w in weights:
            s = s * 0.5 + w
    return s


def weights_in_a_tuple_by_hand(x, n):
    weights = (x, x * x, 1.0)
    s = np.float64(0.0)
    for _ in range(n):
        for w in weights:
            s = s * 0.5 + w
    d, d0, d1 = 1.0, 0.0, 0.0
    for _ in range(n):
        d *= 0.5
        d1 += d
        d *= 0.5
        d0 += d
        d *= 0.5
    return s, (d0 + 2.0 * x * d1,)


workload(weights_in_a_tuple, weights_in_a_tuple_by_hand, 0.7, 100, argnums=(0,), note="a loop over a tuple, 100 times")
