"""JAX without jit: the NumPy code with jax.numpy, operation by operation, in double precision."""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as np

from benchmarks.peers import CannotDo, Peer, with_names
from benchmarks.workloads import Workload

jax.config.update("jax_enable_x64", True)


def smoothing(x, a):
    out = [x[0]]
    for i in range(1, len(x)):
        out.append(a * x[i] + (1.0 - a) * out[-1])
    joined = np.stack(out)
    return np.sum(joined * joined)


def naive_map_sin_cos_exp(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y = y.at[i, j].set(np.sin(np.cos(np.exp(x[i, j]))))
    return y.sum()


def heat(u, k):
    for _ in range(200):
        u = u.at[1:-1].add(k * (u[2:] - 2.0 * u[1:-1] + u[:-2]))
    return np.sum(u * u)


def mixture(logits, means, log_scales, data):
    z = (data[:, None] - means) / np.exp(log_scales)
    log_p = jax.nn.log_softmax(logits) - log_scales - 0.5 * z**2
    return np.sum(jax.nn.logsumexp(log_p, axis=1))


REWRITTEN: dict[str, Callable[..., Any]] = {fn.__name__: fn for fn in (smoothing, naive_map_sin_cos_exp, heat, mixture)}


def in_jax(work: Workload) -> Callable[..., Any]:
    return REWRITTEN.get(work.name) or with_names(work.fn, {"np": np, "math": np})


def arguments(work: Workload) -> tuple[list[Any], set[int]]:
    """Arrays on the device; positions of what is not an array (static under jit)."""
    args = [np.asarray(arg) if hasattr(arg, "shape") or isinstance(arg, float) else arg for arg in work.args]
    if work.name == "_sum_sin_1000":
        args[0] = np.sin
    return args, {i for i, arg in enumerate(work.args) if not hasattr(arg, "shape") and not isinstance(arg, float)}


def peer_of(gradient_of: Callable[..., Any], args: list[Any]) -> Peer:
    def call() -> Any:
        return jax.block_until_ready(gradient_of(*args))

    def result() -> tuple[Any, tuple[Any, ...]]:
        value, gradients = call()
        return float(value), tuple(jax.device_get(g) for g in gradients)

    try:
        result()
    except Exception as error:
        raise CannotDo(f"{type(error).__name__}: {str(error).splitlines()[0][:80]}") from error
    return Peer(call=call, result=result)


def gradient(work: Workload) -> Peer:
    args, _ = arguments(work)
    return peer_of(jax.value_and_grad(in_jax(work), argnums=work.argnums), args)
