"""Functions of matrices that SciPy calls for each matrix of a stack: their pullbacks do the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_rules.common import unbroadcast


def cores(f: Any) -> dict[str, Any]:
    """How many dimensions each array of f has, where f is one of those functions; the rest are those of the stack."""
    cells = getattr(f, "__closure__", None) or ()
    of = dict(zip(f.__code__.co_freevars, cells, strict=True)) if cells else {}
    if not {"names", "ndims", "n_arrays"} <= of.keys():
        return {}
    # its own names are not always those of f
    return dict(zip(inspect.signature(f).parameters, of["ndims"].cell_contents, strict=False))


def stack_shape(ndims: dict[str, Any], arguments: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the stack that these arguments are; () where they are single matrices."""
    shapes = [np.shape(v)[: np.ndim(v) - _core(n, v)] for n, v in _arrays(ndims, arguments)]
    return np.broadcast_shapes(*shapes)


def _arrays(ndims: dict[str, Any], arguments: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(n, arguments[k]) for k, n in ndims.items() if arguments.get(k) is not None]


def _core(n: Any, x: Any) -> int:
    return min(np.ndim(x), 2) if n == "1|2" else n


def one_by_one(
    f: Callable[..., Any], ndims: dict[str, Any], arguments: dict[str, Any], shape: tuple[int, ...], dy: Any
) -> dict[str, Any]:
    """The cotangents of the arrays among the arguments of f, which are a stack of this shape."""
    from mooncake_py.api import value_and_pullback

    names = [k for k in ndims if arguments.get(k) is not None]
    rest = {k: v for k, v in arguments.items() if k not in names}
    given = [np.asarray(arguments[k]) for k in names]
    whole = [
        np.broadcast_to(x, shape + x.shape[x.ndim - _core(ndims[k], x) :]) for k, x in zip(names, given, strict=True)
    ]
    out = [np.zeros(x.shape, x.dtype) for x in whole]

    def of_one(*matrices):
        return f(**dict(zip(names, matrices, strict=True)), **rest)

    for i in np.ndindex(shape):
        y, pullback = value_and_pullback(of_one, *[x[i].copy() for x in whole])
        parts = zip(dy, y, strict=True) if type(y) is tuple else [(dy, y)]
        ts = [None if d is None else _item(d, i, v) for d, v in parts]
        t = tuple(ts) if type(y) is tuple else ts[0]
        for total, d in zip(out, pullback(t), strict=True):
            if d is not None:
                total[i] = d
    return {k: unbroadcast(t, x.shape) for k, t, x in zip(names, out, given, strict=True)}


def _item(d: Any, i: tuple[int, ...], like: Any) -> Any:
    """The cotangent of one matrix's result, in its kind."""
    t = np.asarray(d)[i]
    return np.array(t, like.dtype) if isinstance(like, np.ndarray) else type(like)(t)


def one_after_other(one: Callable[..., Any], dy: Any, y: Any, *given: tuple[Any, int]) -> list[Any]:
    """The cotangents of arrays that are stacks, each with the dimensions of one of its items, by those of the items."""
    xs = [x for x, _ in given]
    shape = np.broadcast_shapes(*[x.shape[: x.ndim - n] for x, n in given])
    whole = [np.broadcast_to(x, shape + x.shape[x.ndim - n :]) for x, n in given]
    out = [np.zeros(x.shape, np.result_type(x, dy)) for x in whole]
    for i in np.ndindex(shape):
        for total, d in zip(out, one(dy[i], y[i], *[x[i] for x in whole]), strict=True):
            if d is not None:
                total[i] = d
    return [unbroadcast(t, x.shape) for t, x in zip(out, xs, strict=True)]
