"""How arrays lie in memory: what is a view of one array is a view of another only where both lie alike."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

Order = Literal["C", "F"] | tuple[int, ...]
"""A tuple has the axes, those first along which elements are farthest apart."""


def order_of(a: np.ndarray) -> Order:
    """The order of an array without gaps; "C" for others."""
    flags = a.flags
    if flags.c_contiguous:
        return "C"
    if flags.f_contiguous:
        return "F"
    axes = axes_in_memory(a)
    return axes if a.transpose(axes).flags.c_contiguous else "C"


def axes_in_memory(a: np.ndarray) -> tuple[int, ...]:
    """The axes, those first along which elements are farthest apart."""
    return tuple(sorted(range(a.ndim), key=lambda k: -abs(a.strides[k])))


def zeros(shape: tuple[int, ...], dtype: np.dtype, order: Order) -> np.ndarray:
    """An array of zeros that lies in memory in this order."""
    if isinstance(order, str):
        return np.zeros(shape, dtype, order)
    return np.zeros([shape[k] for k in order], dtype).transpose(np.argsort(order))


def copy(a: np.ndarray, order: Order) -> np.ndarray:
    """A copy that lies in memory in this order."""
    if not isinstance(order, tuple):
        return a.copy(order)
    out = zeros(a.shape, a.dtype, order)
    out[...] = a
    return out


def add(a: np.ndarray, b: Any, order: Order) -> np.ndarray:
    """The sum, of the dtype of a, in this order."""
    if isinstance(order, tuple):
        return np.add(a, b, out=zeros(a.shape, a.dtype, order), casting="same_kind")
    return np.add(a, b, order=order) if a.ndim else np.asarray(a + b)


def in_one_piece(a: np.ndarray) -> np.ndarray:
    """A view of an array without gaps that is contiguous."""
    order = order_of(a)
    return a.transpose(order) if isinstance(order, tuple) else a if order == "C" else a.T
