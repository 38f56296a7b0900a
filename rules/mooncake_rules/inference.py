"""Result types of NumPy functions whose result depends on the value of an argument (`axis`, `keepdims`, a shape)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.infer.parts import activate
from mooncake_py.infer.resolve import _probe
from mooncake_py.infer.types import LINKED, Arr, Display, Inst, Known, Lst, Real, T, Top, Tup, is_scalar, widen
from mooncake_py.registry import infer_table, probed

Types = tuple[T, ...]
_FLAGS = ("keepdims", "return_index", "return_inverse", "return_counts", "returned", "full", "retstep", "sparse")


def is_dtype(d: np.dtype | None, *kinds: Any) -> bool:
    """Is d surely one of these? (NumPy has None equal to float64, here it means unknown.)"""
    return d is not None and any(d == np.dtype(k) for k in kinds)


def known_arrays(*ts: T) -> bool:
    """Are these arrays of known dtype and dimensions?"""
    return all(isinstance(t, Arr) and t.ndim is not None and t.dtype is not None for t in ts)


def _active(args: Types, kwargs: dict[str, T]) -> bool:
    return any(t.active for t in args) or any(t.active for t in kwargs.values())


def reduces(*fs: Any) -> None:
    """Functions of an array with axes and flags: flags must be known, an axis that is any integer may be the first."""
    for f in fs:
        infer_table[f] = _reduces(f)
        probed.add(f)


def _reduces(f: Any) -> Callable[[Types, dict[str, T]], T | None]:
    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        act = _active(args, kwargs)
        if any(k in _FLAGS and not isinstance(t, Known) for k, t in kwargs.items()):
            return Top(act)
        args = tuple(_some_axis(t) if i else t for i, t in enumerate(args))
        kwargs = {k: _some_axis(t) if k == "axis" else t for k, t in kwargs.items()}
        t = _probe(f, args, tuple(kwargs.items()))
        return activate(t, act) if act else t

    return infer


def gives_one(*fs: Any) -> None:
    """The same for functions that may also give several arrays, of which nothing is said."""
    for f in fs:
        reduced = _reduces(f)

        def infer(args: Types, kwargs: dict[str, T], reduced: Any = reduced) -> T | None:
            t = reduced(args, kwargs)
            return t if isinstance(t, Arr) or is_scalar(t) else Top(_active(args, kwargs))

        infer_table[f] = infer
        probed.add(f)


def _some_axis(t: T) -> T:
    return Known(0) if isinstance(t, Inst) and t.cls is int else t


def argument(args: Types, kwargs: dict[str, T], i: int, name: str) -> T | None:
    """The argument that is passed at position i, or by this name."""
    return args[i] if len(args) > i else kwargs.get(name)


def shape_ndim(t: T) -> int | None:
    """How many dimensions an array of this shape has."""
    if isinstance(t, Known):
        v = t.value
        return 1 if isinstance(v, (int, np.integer)) else len(v) if isinstance(v, (tuple, list)) else None
    if isinstance(t, Tup):
        return len(t.items)
    return 1 if isinstance(t, Inst) and issubclass(t.cls, (int, np.integer)) else None


def dtype_of(t: T | None, default: np.dtype | None) -> np.dtype | None:
    """The dtype that a `dtype` argument of this type means."""
    if t is None:
        return default
    if isinstance(t, Known):
        if t.value is None:
            return default
        try:
            return np.dtype(t.value)
        except TypeError:
            return None
    return None


def element_dtype(t: T) -> np.dtype | None:
    """The dtype of an array made of numbers of this type."""
    t = widen(t)
    if isinstance(t, Arr):
        return t.dtype
    if isinstance(t, Inst):
        if t.cls in (float, int, bool, complex):
            return np.dtype(t.cls)
        if issubclass(t.cls, (np.number, np.bool_)):
            return np.dtype(t.cls)
    return None


def nested(t: T) -> tuple[int, np.dtype | None] | None:
    """Dimensions and dtype of `np.array(x)` for x of this type; None where it cannot be told."""
    t = widen(t)
    if isinstance(t, LINKED):
        return None
    if isinstance(t, Arr):
        return None if t.ndim is None else (t.ndim, t.dtype)
    if isinstance(t, Real):
        return 0, np.dtype(float) if t.classes is not None and int not in t.classes else None
    if isinstance(t, Inst):
        d = element_dtype(t)
        return None if d is None else (0, d)
    items = t.items if isinstance(t, (Tup, Display)) else (t.elem,) if isinstance(t, Lst) else ()
    if not items:
        return (1, np.dtype(float)) if isinstance(t, Tup) else None
    parts = [nested(x) for x in items]
    dims = {p[0] for p in parts if p is not None}
    if None in parts or len(dims) != 1:
        return None
    dtypes = [p[1] for p in parts if p is not None]
    known = [d for d in dtypes if d is not None]
    return dims.pop() + 1, np.result_type(*known) if len(known) == len(dtypes) else None
