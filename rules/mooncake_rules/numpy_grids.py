"""Grids, places and nodes: arrays that are made of sizes and bounds alone.

They carry no derivative, but what they are is known, and so what is computed with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Bounds, Inst, Known, T, Tup, widen
from mooncake_py.registry import incurious, infer_table, pure, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.inference import Types, argument, dtype_of, element_dtype, shape_ndim

_grid: Any = type(np.mgrid).__getitem__  # of `ogrid` as well
_INT, _FLOAT = np.dtype(np.intp), np.dtype(float)
_NODES = [
    np.polynomial.legendre.leggauss, np.polynomial.chebyshev.chebgauss, np.polynomial.laguerre.laggauss,
    np.polynomial.hermite.hermgauss, np.polynomial.hermite_e.hermegauss,
]  # fmt: skip

zero_derivative(_grid, *_NODES)
pure.update({_grid, *_NODES})
incurious.add(_grid)  # what it makes may be written to: it must be known for an array of this run


def _grid_type(args: Types, kwargs: dict[str, T]) -> T | None:
    """Numbers with a step, whole ones where all bounds are."""
    of, key = args
    if isinstance(key, Known) and isinstance(key.value, tuple):
        key = Tup(tuple(map(Known, key.value)))
    items = key.items if isinstance(key, Tup) else (key,)
    bounds = [_bounds(t) for t in items]
    if None in bounds:
        return None
    kinds = [element_dtype(t) for b in bounds if b is not None for t in b if t != Known(None)]
    if any(d is None for d in kinds):
        return None
    dtype = _INT if all(d.kind in "bi" for d in kinds if d is not None) else _FLOAT
    n, cls = len(items), getattr(of, "cls", None)
    if not isinstance(key, Tup):
        return Arr(dtype, 1)
    if cls is type(np.ogrid):
        return Tup((Arr(dtype, n),) * n)
    return Arr(dtype, n + 1) if cls is type(np.mgrid) else None


def _bounds(t: T) -> tuple[T, ...] | None:
    if isinstance(t, Known) and isinstance(t.value, slice):
        return Known(t.value.start), Known(t.value.stop), Known(t.value.step)
    return t.of if isinstance(t, Bounds) else None


def _indices(args: Types, kwargs: dict[str, T]) -> T | None:
    shape, sparse = args[0], argument(args, kwargs, 2, "sparse")
    n = None if isinstance(shape, Inst) else shape_ndim(shape)
    d = dtype_of(argument(args, kwargs, 1, "dtype"), np.dtype(int))
    if n is None or sparse not in (None, Known(True), Known(False)):
        return None
    return Tup((Arr(d, n),) * n) if sparse == Known(True) else Arr(d, n + 1)


def _places(t: T) -> T | None:
    """Whole numbers, as many as these."""
    t = widen(t)
    if isinstance(t, Arr):
        return None if t.ndim is None else Arr(_INT, t.ndim) if t.ndim else Inst(np.intp)
    return Inst(np.intp) if isinstance(t, Inst) and issubclass(t.cls, (int, np.integer)) else None


def _unravelled(args: Types, kwargs: dict[str, T]) -> T | None:
    shape = argument(args, kwargs, 1, "shape")
    n = None if shape is None else shape_ndim(shape)
    one = _places(args[0])
    return None if n is None or one is None else Tup((one,) * n)


def _ravelled(args: Types, kwargs: dict[str, T]) -> T | None:
    places = args[0].items if isinstance(args[0], Tup) else ()
    found = {_places(t) for t in places}
    return found.pop() if len(found) == 1 else None


def _sorted_by(args: Types, kwargs: dict[str, T]) -> T | None:
    keys = args[0].items if isinstance(args[0], Tup) else ()
    dims = {t.ndim if isinstance(t, Arr) else None for t in keys}
    n = dims.pop() if len(dims) == 1 else None
    return Arr(_INT, n) if n else None


def _nodes(args: Types, kwargs: dict[str, T]) -> T | None:
    return Tup((Arr(_FLOAT, 1), Arr(_FLOAT, 1)))


infer_table[_grid], infer_table[np.indices] = _grid_type, _indices
infer_table[np.unravel_index], infer_table[np.ravel_multi_index] = _unravelled, _ravelled
infer_table[np.lexsort] = _sorted_by
for _f in _NODES:
    infer_table[_f] = _nodes

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])


def _on_a_grid(x: float, n: int) -> Any:
    i, j = np.mgrid[1 : n + 1, 0:3]
    return np.sin(x * i) * j, np.mgrid[0:1:5j] * x, np.mgrid[0:n] * x, np.mgrid[0:2, 0:3].shape[0] * x


def _on_an_open_grid(m: np.ndarray) -> Any:
    i, j = np.ogrid[: m.shape[0], : m.shape[1]]
    return m * (i - 0.5 * j), m[i, j], np.ogrid[0.0:2.0] * m[:, 0]


def _at_indices(m: np.ndarray) -> Any:
    i, j = np.indices((2, 3))
    sparse: Any = np.indices(m.shape, sparse=True)
    p, q = sparse
    return m * i - j, m * p * q, np.indices((2, 3), dtype=float)[1] * m


def _at_places(m: np.ndarray) -> Any:
    best: Any = np.unravel_index(np.argmax(m), m.shape)
    i, j = best
    rows, columns = np.unravel_index(np.array([0, 4]), m.shape)
    return m[i, j] * i, m[rows, columns], m.ravel()[np.ravel_multi_index((i, j), m.shape)]


def _by_two_keys(x: np.ndarray) -> Any:
    return x[np.lexsort((x, np.array([1, 0, 1, 0])))] * np.arange(4.0)


def _integrated(x: float) -> Any:
    points, weights = np.polynomial.legendre.leggauss(4)
    t, w = np.polynomial.hermite.hermgauss(3)
    return np.sum(weights * np.exp(x * points)) + w @ np.cos(x * t)


CASES: list[RuleCase] = [
    case(_on_a_grid, 0.7, 3), case(_on_an_open_grid, _M), case(_at_indices, _M), case(_at_places, _M),
    case(_by_two_keys, _V), case(_integrated, 0.4),
]  # fmt: skip
