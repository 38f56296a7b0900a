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


def same_numbers(a: np.ndarray, dtype: Any) -> bool:
    """Does a view of this dtype or class hold the numbers of a, in a plain array?"""
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        return dtype is np.ndarray
    d = np.dtype(dtype)
    return d.kind in "fc" and np.zeros(0, d).real.dtype == a.real.dtype


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


def is_in_one_piece(a: np.ndarray) -> bool:
    """Has an array no gaps?"""
    return bool(in_one_piece(a).flags.c_contiguous)


def repeats(view: np.ndarray) -> bool:
    """Does the view show an element of its base more than once, so that its fdata cannot be a view as well?"""
    if view.flags.c_contiguous or not view.size:
        return False
    steps = sorted((abs(step), n) for n, step in zip(view.shape, view.strides, strict=True) if n > 1)
    reach = 0
    for step, n in steps:  # every axis steps over all that the shorter steps reach: nothing is met twice
        if step <= reach:
            break
        reach += step * (n - 1)
    else:
        return False
    places = np.zeros((1,), np.int64)
    for n, step in zip(view.shape, view.strides, strict=True):
        places = (places[:, None] + step * np.arange(n)).ravel()
    return bool(np.unique(places).size < places.size)


def owner_of(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory of x."""
    while x.base is not None:
        base = x.base if isinstance(x.base, np.ndarray) else getattr(x.base, "base", None)  # of a view by strides
        if not isinstance(base, np.ndarray):
            break
        x = base
    return x


def same_view(x: np.ndarray, base: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The view of `whole` that x is of `base`; both are laid out alike, in one piece."""
    offset = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    memory = in_one_piece(whole)
    return np.ndarray(x.shape, x.dtype, memory.data, offset, x.strides)


def places_of(x: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Which elements of the base, counted in C order, its view x shows."""
    step = base.itemsize
    offset = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    places = np.asarray(offset // step)
    for n, s in zip(x.shape, x.strides, strict=True):
        places = places[..., None] + s // step * np.arange(n)
    in_memory = np.empty_like(base, np.intp)  # laid out alike
    in_memory[...] = np.arange(base.size).reshape(base.shape)
    return in_one_piece(in_memory).reshape(-1)[places]


def holds_nothing(a: np.ndarray) -> bool:
    """Is this an array of objects none of which can have a derivative: None, whole numbers, texts?"""
    return a.dtype.kind == "O" and all(x is None or isinstance(x, (int, str, bytes)) for x in a.flat)
