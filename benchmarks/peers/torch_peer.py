"""PyTorch, eager, double precision, one thread: scalars are 0-d tensors, gradients come from `backward`."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

import numpy
import torch

from benchmarks.peers import CannotDo, Peer, with_names
from benchmarks.workloads import Workload

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def _of_both(of_tensor: Callable[..., Any], of_float: Callable[..., Any]) -> Callable[..., Any]:
    """Loops start from plain floats, which torch's functions refuse."""
    return lambda v: of_tensor(v) if isinstance(v, torch.Tensor) else of_float(v)


#: `math` for tensors
MATH = types.SimpleNamespace(
    **{name: _of_both(getattr(torch, name), getattr(math, name)) for name in ("sin", "cos", "exp", "log", "sqrt")},
    pi=math.pi,
)


def smoothing(x, a):
    out = [x[0]]
    for i in range(1, len(x)):
        out.append(a * x[i] + (1.0 - a) * out[-1])
    joined = torch.stack(out)
    return (joined * joined).sum()


def naive_map_sin_cos_exp(x):
    y = torch.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = torch.sin(torch.cos(torch.exp(x[i, j])))
    return y.sum()


def weights_in_a_tuple(x, n):
    weights = (x, x * x, 1.0)
    s = torch.zeros(())
    for _ in range(n):
        for w in weights:
            s = s * 0.5 + w
    return s


def heat(u0, k):
    u = u0.clone()
    for _ in range(200):
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return torch.sum(u * u)


def mixture(logits, means, log_scales, data):
    z = (data[:, None] - means) / torch.exp(log_scales)
    log_p = torch.log_softmax(logits, 0) - log_scales - 0.5 * z**2
    return torch.logsumexp(log_p, 1).sum()


def lstm(w, b, inputs):
    n = len(b) // 4
    h, c = torch.zeros(n), torch.zeros(n)
    for x in inputs:
        z = w @ torch.cat((h, x)) + b
        i, f, o = torch.sigmoid(z[: 3 * n]).split(n)
        c = f * c + i * torch.tanh(z[3 * n :])
        h = o * torch.tanh(c)
    return torch.sum(h * h)


REWRITTEN: dict[str, Callable[..., Any]] = {
    fn.__name__: fn for fn in (smoothing, naive_map_sin_cos_exp, weights_in_a_tuple, heat, mixture, lstm)
}


def gradient(work: Workload) -> Peer:
    fn = REWRITTEN.get(work.name) or with_names(work.fn, {"np": torch, "math": MATH})
    args = [_tensor(arg) for arg in work.args]
    if work.name == "_sum_sin_1000":
        args[0] = torch.sin
    wanted = [args[i] for i in work.argnums]
    for tensor in wanted:
        tensor.requires_grad_()

    def call() -> Any:
        value = fn(*args)
        return value, torch.autograd.grad(value, wanted)

    def result() -> tuple[Any, tuple[Any, ...]]:
        value, gradients = call()
        return value.item(), tuple(g.numpy() for g in gradients)

    try:
        result()
    except Exception as error:
        raise CannotDo(f"{type(error).__name__}: {str(error).splitlines()[0][:80]}") from error
    return Peer(call=call, result=result)


def _tensor(arg: Any) -> Any:
    if isinstance(arg, numpy.ndarray):
        return torch.tensor(arg)
    return torch.tensor(arg, dtype=torch.float64) if isinstance(arg, float) else arg
