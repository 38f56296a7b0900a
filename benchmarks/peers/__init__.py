"""The same work by other frameworks, written as their users would write it.

Most functions need nothing but another import (`import autograd.numpy as np`, `torch.sin` for `math.sin`): those are
rebuilt with the framework's names in place of NumPy's and `math`'s. Where a framework has no in-place writes, wants
its own loop to compile, or offers a better formulation, the workload is rewritten in the framework's file.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.workloads import Workload

#: A peer that needs longer than this for one gradient is not measured.
PATIENCE_SECONDS = 5.0


class CannotDo(Exception):
    """The framework has no way to do this workload; says why."""


@dataclass(frozen=True, slots=True)
class Peer:
    """`call` does one gradient and waits for it; `result` gives (value, gradients) as NumPy."""

    call: Callable[[], object]
    result: Callable[[], tuple[Any, tuple[Any, ...]]]
    rtol: float = 1e-6


def with_names(fn: Callable[..., Any], names: dict[str, Any], done: dict[Any, Any] | None = None) -> Any:
    """`fn` as it would be with other imports: its globals, and those of the functions and classes it uses, renamed."""
    done = {} if done is None else done
    if fn in done:
        return done[fn]
    if isinstance(fn, type):
        own = {k: v for k, v in fn.__dict__.items() if k not in ("__dict__", "__weakref__")}
        methods = {k: with_names(v, names, done) for k, v in own.items() if isinstance(v, types.FunctionType)}
        done[fn] = renamed = type(fn)(fn.__name__, fn.__bases__, {**own, **methods})
        return renamed
    assert isinstance(fn, types.FunctionType)
    scope: dict[str, Any] = {"__builtins__": __builtins__}
    new = types.FunctionType(fn.__code__, scope, fn.__name__, fn.__defaults__, fn.__closure__)
    done[fn] = new
    for name in fn.__code__.co_names:
        if name in names:
            scope[name] = names[name]
        elif name in fn.__globals__:
            value = fn.__globals__[name]
            local = isinstance(value, (types.FunctionType, type)) and value.__module__ == fn.__module__
            scope[name] = with_names(value, names, done) if local else value
    return new


def peer_gradients(work: Workload, remarks: list[str]) -> Iterator[tuple[str, Peer]]:
    """Every framework that is installed and can do the work; why others cannot goes to `remarks`."""
    import importlib
    import time

    for label, module in (
        ("autograd", "autograd_peer"),
        ("torch", "torch_peer"),
        ("jax", "jax_peer"),
        ("jax jit", "jax_jit_peer"),
    ):
        try:
            peer = importlib.import_module(f"benchmarks.peers.{module}").gradient(work)
        except ModuleNotFoundError as missing:
            remarks.append(f"{label}: {missing.name} is not installed")
            continue
        except CannotDo as reason:
            remarks.append(f"{label}: {reason}")
            continue
        peer.call()  # compiles, where there is something to compile
        start = time.perf_counter()
        peer.call()
        took = time.perf_counter() - start
        if took > PATIENCE_SECONDS:
            remarks.append(f"{label}: not measured, {took:.1f} s for one gradient")
            continue
        yield label, peer
