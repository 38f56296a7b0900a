"""Norms of every order, and condition numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.kinds import Array
from mooncake_py.registry import maybe_none, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.inference import reduces
from mooncake_rules.mirror import mirrors

_linalg = np.linalg


def norm_cotangent(dy: Any, x: np.ndarray, y: Any, ord: Any, axis: Any, keepdims: bool) -> np.ndarray:
    """Zero at zero; where several entries, rows or columns give a largest one, they share evenly."""
    whole = axis is None and (ord is None or (ord == 2 and x.ndim == 1))
    axes = (
        tuple(range(x.ndim)) if axis is None else tuple(k % x.ndim for k in (axis if type(axis) is tuple else (axis,)))
    )
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    dy, y = np.asarray(dy).reshape(shape), np.asarray(y).reshape(shape)
    size = np.where(y == 0, 1, y)
    if whole or ord is None or ord == "fro" or (ord == 2 and len(axes) == 1):
        return x * (dy / size)
    if len(axes) == 2:
        moved = np.moveaxis(x, axes, (-2, -1))
        u, s, vh = np.linalg.svd(moved, full_matrices=False)
        if ord == "nuc":
            t = u @ vh
        elif ord in (2, -2):
            i = 0 if ord == 2 else s.shape[-1] - 1
            t = u[..., :, i : i + 1] @ vh[..., i : i + 1, :]
        else:  # the largest or smallest sum of moduli, of columns (1) or rows (inf)
            size_x = np.abs(moved)
            sums = np.add.reduce(size_x, -2 if abs(ord) == 1 else -1, keepdims=True)
            hit = sums == np.asarray(
                np.max(sums, (-2, -1), keepdims=True) if ord > 0 else np.min(sums, (-2, -1), keepdims=True)
            )
            share = hit / np.add.reduce(hit, (-2, -1), keepdims=True)
            t = moved / np.where(size_x == 0, 1, size_x) * share
        return np.moveaxis(t, (-2, -1), axes) * dy
    size_x = np.abs(x)
    unit = x / np.where(size_x == 0, 1, size_x)
    if ord in (np.inf, -np.inf):
        hit = size_x == y
        return unit * hit * (dy / np.add.reduce(hit, axes, None, None, True))
    if ord == 0:
        return np.zeros_like(x)
    if ord == 1:
        return unit * dy
    return unit * (np.where(size_x == 0, 1, size_x) ** (ord - 1) * (size_x != 0)) * (dy * size ** (1 - ord))


def order_cotangent(dy: Any, x: np.ndarray, y: Any, p: Any, axis: Any) -> Any:
    """That of the order of a vector norm: y (sum |x|^p log|x| / (p y^p) - log(y) / p)."""
    if isinstance(p, np.ndarray):
        t = order_cotangent(dy, x, y, p.item(), axis) if p.ndim == 0 else None
        return None if t is None else np.array(t, p.dtype)
    if not isinstance(p, float) or p == 0 or not np.isfinite(p) or (x.ndim if axis is None else np.size(axis)) == 2:
        return None
    r = np.abs(x)
    logs = np.where(r == 0, 0, r**p * np.log(np.where(r == 0, 1, r)))
    y = np.asarray(y)
    s = np.add.reduce(logs, axis).reshape(y.shape)
    safe = np.where(y == 0, 1, y)
    return float(np.sum(dy * np.where(y == 0, 0, y * (s / (p * safe**p) - np.log(safe) / p))))


@rrule(_linalg.norm, types=(Array,))
def norm(x, ord=None, axis=None, keepdims=False):
    y = np.linalg.norm(x, ord, axis, keepdims)

    def pullback(dy):
        return norm_cotangent(dy, x, y, ord, axis, keepdims), order_cotangent(dy, x, y, ord, axis)

    return y, pullback


@rrule(_linalg.norm, types=(Array,))
def norm_of_all(x):
    y = np.linalg.norm(x)

    def pullback(dy):
        return (x * (dy / y if y else 0.0),)

    return y, pullback


@mirrors(_linalg.cond, types=(Array,))
def cond(x, p=None):
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


pure.update({norm_cotangent, order_cotangent})
maybe_none.add(order_cotangent)
reduces(_linalg.norm)

# -- cases ------------------------------------------------------------------------------------------------

_A = np.array([[2.0, 0.5, -0.3], [0.2, -1.1, 0.8], [0.4, 0.6, 1.7]])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.7, -0.6]])
_V = np.array([0.5, -1.0, 2.0])
_B = np.stack([_A, _A.T + np.eye(3), _A @ _A.T])
_Z = _A + 1j * np.array([[0.1, 0.3, -0.2], [0.5, 0.2, 0.1], [-0.4, 0.3, 0.2]])
_W = _Z[0]
_SQUARES = (_A, _Z) if hasattr(_linalg, "vector_norm") else (_A,)  # NumPy 1 gives complex condition numbers
_ORDERS: tuple[Any, ...] = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)

CASES: list[RuleCase] = [
    case(np.linalg.norm, _V), case(np.linalg.norm, _M), case(np.linalg.norm, _M, axis=1),
    case(np.linalg.norm, _M, 1, 0),
    *[case(lambda x, k=k: np.linalg.norm(x, k), x) for k in _ORDERS for x in (_M, _A, _Z)],
    *[case(lambda x, k=k: np.linalg.norm(x, k, (0, 2), True), _B) for k in _ORDERS],
    *[case(lambda x, k=k: np.linalg.norm(x, k), x) for k in (0, 1, -1, 2, 3, 0.5, np.inf, -np.inf) for x in (_V, _W)],
    case(np.linalg.norm, _V, 2.5), case(np.linalg.norm, _M, 1.5, 0), case(np.linalg.norm, _Z),
    case(np.linalg.norm, _V[:0]), case(np.linalg.norm, _Z, axis=0, keepdims=True),
    case(np.linalg.norm, _B, axis=(1, 2)), case(np.linalg.norm, _V, 1), case(np.linalg.norm, _V.astype(np.float32)),
    case(np.linalg.norm, _M.astype(np.float32), axis=0), case(np.linalg.norm, np.array(0.5)),
    *[case(lambda x, k=k: np.linalg.cond(x, k), x) for k in (None, *_ORDERS) for x in _SQUARES],
    case(np.linalg.cond, _M), case(np.linalg.cond, _B),
]  # fmt: skip
if hasattr(_linalg, "vector_norm"):
    CASES += [
        case(_linalg.vector_norm, _M), case(_linalg.vector_norm, _M, axis=1, ord=1, keepdims=True),
        case(_linalg.vector_norm, _B, axis=(0, 1)), case(_linalg.matrix_norm, _M),
        case(_linalg.matrix_norm, _B, ord="nuc"), case(_linalg.matrix_norm, _B, ord=1, keepdims=True),
    ]  # fmt: skip
