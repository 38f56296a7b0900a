"""HIPS autograd: the NumPy code with autograd's numpy; no in-place writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import autograd
import autograd.numpy as np

from benchmarks.peers import CannotDo, Peer, with_names
from benchmarks.workloads import Workload


def smoothing(x, a):
    out = [x[0]]
    for i in range(1, len(x)):
        out.append(a * x[i] + (1.0 - a) * out[-1])
    joined = np.array(out)
    return np.sum(joined * joined)


def naive_map_sin_cos_exp(x):
    y = []
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y.append(np.sin(np.cos(np.exp(x[i, j]))))
    return np.sum(np.array(y))


def map_sin_cos_exp(x):
    return sum([np.sin(np.cos(np.exp(v))) for v in np.ravel(x)])


def heat(u, k):
    for _ in range(200):
        inner = u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        u = np.concatenate((u[:1], inner, u[-1:]))
    return np.sum(u * u)


REWRITTEN: dict[str, Callable[..., Any]] = {
    fn.__name__: fn for fn in (smoothing, naive_map_sin_cos_exp, map_sin_cos_exp, heat)
}


def gradient(work: Workload) -> Peer:
    args = list(work.args)
    if work.name == "_sum_sin_1000":
        args[0] = np.sin  # math.sin does not know autograd's boxes
    fn = REWRITTEN.get(work.name) or with_names(work.fn, {"np": np, "math": np})
    several = autograd.value_and_grad(lambda wanted, *rest: fn(*_merge(work, wanted, args)))

    def result() -> tuple[Any, tuple[Any, ...]]:
        value, gradients = several(tuple(args[i] for i in work.argnums))
        return value, tuple(gradients)

    try:
        result()
    except Exception as error:
        raise CannotDo(f"{type(error).__name__}: {str(error).splitlines()[0][:80]}") from error
    return Peer(call=result, result=result)


def _merge(work: Workload, wanted: tuple[Any, ...], args: list[Any]) -> list[Any]:
    merged = list(args)
    for position, value in zip(work.argnums, wanted, strict=True):
        merged[position] = value
    return merged
