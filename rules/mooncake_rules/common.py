"""What rules share: summing a cotangent down to the shape it was broadcast from."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Inst, Known, Real, T, Top, Tup, is_scalar, widen
from mooncake_py.registry import (
    complex_tests,
    folds,
    infer_table,
    inline,
    pair_of_shapes,
    pure,
    same_if_shaped,
    shape_argument,
    shape_in_pair,
)

_sum = np.add.reduce


def unbroadcast(t: Any, shape: tuple[int, ...]) -> Any:
    """The cotangent t summed down to `shape`, which broadcasts to t's."""
    if type(t) is not np.ndarray:
        t = np.asarray(t)
    if t.shape == shape:
        return t
    extra = t.ndim - len(shape)
    if extra > 0:
        t = _sum(t, axis=0 if extra == 1 else tuple(range(extra)))
    elif extra < 0:  # what was written into an array without the leading dimensions of length one
        t = t.reshape((1,) * -extra + t.shape)
    if 1 in shape:
        axes = tuple([i for i, n in enumerate(shape) if n == 1 and t.shape[i] != 1])
        if axes:
            t = _sum(t, axis=axes, keepdims=True)
    if type(t) is not np.ndarray:
        t = np.asarray(t)
    return t if t.shape == shape else np.broadcast_to(t, shape)


def shapes_unless_same(a: np.ndarray, b: np.ndarray) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shapes of two arrays that an operation broadcasts; None where they are one."""
    shapes = a.shape, b.shape
    return None if shapes[0] == shapes[1] else shapes


def summed(t: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]] | None, i: int) -> Any:
    """The cotangent t of the operation's result summed down to operand i."""
    if shapes is not None:
        return unbroadcast(t, shapes[i])
    return t if type(t) is np.ndarray else np.asarray(t)


def as_dtype(t: Any, dtype: np.dtype) -> np.ndarray:
    """The cotangent t as an array of this dtype: its real part where that is real."""
    t = np.asarray(t)
    if t.dtype == dtype or dtype.kind not in "fc":
        return t
    return (t.real if t.dtype.kind == "c" and dtype.kind != "c" else t).astype(dtype)


def total(t: Any) -> Any:
    """The sum of all of t, for an argument that is a scalar."""
    return _sum(t, axis=None)


def is_number(x: Any) -> bool:
    """Is x a scalar (a question the engine answers when it derives)?"""
    return not isinstance(x, np.ndarray)


def laid_out_as(y: np.ndarray, a: np.ndarray) -> np.ndarray:
    """y in the order of memory of an array of its shape, as NumPy has it: what is a view later depends on it."""
    if a.flags.c_contiguous:
        return y
    out = np.empty_like(a, y.dtype)
    out[...] = y
    return out


def _is_number(t: T) -> bool | None:
    if isinstance(t, Arr):
        return False
    return True if is_scalar(t) else None


def is_one(x: Any) -> bool:
    """Is x the number one (a question the engine answers when it derives: no, if x is not a constant)?"""
    return type(x) in (int, float) and x == 1


def is_float(x: Any) -> bool:
    """Is x a Python float?"""
    return type(x) is float


def _is_float(t: T) -> bool | None:
    t = widen(t)
    if isinstance(t, Inst):
        return t.cls is float
    return False if isinstance(t, Arr) else None


def is_complex(x: Any) -> bool:
    """May x be complex?"""
    return isinstance(x, complex) or (isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind == "c")


def _is_complex(t: T) -> bool | None:
    t = widen(t)
    match t:
        case Arr(dtype=d) if d is not None:
            return d.kind == "c"
        case Real():
            return False
        case Inst(cls=c):
            return issubclass(c, (complex, np.complexfloating))
        case Known():
            return False
    return None


def is_inexact(x: Any) -> bool:
    """May x have a derivative: is it no array of whole numbers, to which NumPy cuts what it is told to convert?"""
    return not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "biu"


def _is_inexact(t: T) -> bool | None:
    t = widen(t)
    match t:
        case Arr(dtype=d):
            return None if d is None else d.kind not in "biu"
        case Real():
            return True
        case Inst(cls=c):
            return issubclass(c, (float, complex, np.inexact)) or None
    return None


def is_plain_array(x: Any) -> bool:
    """Is x surely an array of at least one dimension, so that a scalar operand does not change its shape?"""
    return isinstance(x, np.ndarray) and x.ndim > 0


def _is_plain_array(t: T) -> bool | None:
    if isinstance(t, Arr):
        return True if t.fewest else None if t.ndim is None else False
    return False if is_scalar(t) else None


def _summed(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    t = args[0]
    if isinstance(t, Arr):
        return Arr(t.dtype, len(args[1].items) if isinstance(args[1], Tup) else None, t.act)
    return None


def _totalled(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    t = args[0]
    if isinstance(t, Arr) and t.dtype is not None:
        return Inst(t.dtype.type, t.act)
    return t if is_scalar(t) else None


def _pair_of_shapes(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    ndims = [t.ndim if isinstance(t, Arr) else None for t in args]
    return None if None in ndims else Tup(tuple([Tup((Inst(int),) * n) for n in ndims]))  # type: ignore[operator]


def _summed_of(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    match args:
        case (t, Tup(items=shapes), Known(value=i)):
            return _summed((t, shapes[i]), kwargs)
    return _summed((args[0], Top()), kwargs)


infer_table[unbroadcast] = _summed
infer_table[shapes_unless_same] = _pair_of_shapes
infer_table[summed] = _summed_of
infer_table[laid_out_as] = lambda args, kwargs: args[0]
pair_of_shapes.add(shapes_unless_same)
shape_in_pair.update({summed: (1, 2)})
same_if_shaped.add(summed)
shape_argument[unbroadcast] = 1
same_if_shaped.add(unbroadcast)
infer_table[total] = _totalled
folds[is_number] = _is_number
folds[is_complex] = _is_complex
folds[is_inexact] = _is_inexact
folds[is_one] = lambda t: isinstance(t, Known) and type(t.value) in (int, float) and t.value == 1
folds[is_float] = _is_float
complex_tests.add(is_complex)
folds[is_plain_array] = _is_plain_array
pure.update(
    {
        unbroadcast,
        shapes_unless_same,
        summed,
        total,
        is_number,
        is_float,
        is_complex,
        is_inexact,
        is_plain_array,
        laid_out_as,
        np.asarray,
    }
)


def taken_back(a: Any, old: np.ndarray) -> Any:
    """Put back what an array, a CoDual, held before it was filled; the cotangent of what filled it, taken out of it."""
    a.primal[...] = old
    return None if a.fdata is None else a.fdata.take()


@inline
def conj(x: Any) -> Any:
    """The conjugate; x itself where it is real."""
    return np.conjugate(x) if is_complex(x) else x


@inline
def real_of(t: Any, like: Any) -> Any:
    """t without its imaginary part where `like` is real."""
    if is_complex(like):
        return t
    if is_complex(t):
        return t.real
    return t
