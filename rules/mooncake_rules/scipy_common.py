"""What SciPy's Python code asks of all its arguments: which library they are of."""

from __future__ import annotations

import types as pytypes
from typing import Any

import numpy as np
from scipy._lib import _array_api

from mooncake_py.infer.types import Known, T
from mooncake_py.registry import infer_table, overlay, pure, zero_derivative

array_namespace = _array_api.array_namespace
_NUMPY = np if hasattr(np, "unstack") else array_namespace(1.0)
"""NumPy itself where it has what SciPy asks for by the standard's names; else SciPy's wrappers around it."""
_OTHERS = bool(getattr(_array_api, "SCIPY_ARRAY_API", False))

_QUESTIONS = (
    *("xp_device", "xp_result_device", "xp_result_type", "xp_size", "xp_default_dtype", "is_lazy_array", "is_numpy"),
    *("is_cupy", "is_jax", "is_torch", "is_dask", "is_marray", "is_array_api_obj", "is_array_api_strict"),
    *("is_cupy_array", "is_jax_array", "is_torch_array", "is_dask_array", "is_numpy_array", "is_complex"),
)
"""What is asked about arrays and their library."""


def _namespace_type(args: Any, kwargs: Any) -> T | None:
    """NumPy's, whatever is asked, unless an environment variable tells SciPy that there are arrays of other libraries.

    So what SciPy does by `xp.zeros_like` and the like is known before it runs.
    """
    return None if _OTHERS else Known(_NUMPY)


zero_derivative(array_namespace)
zero_derivative(*[getattr(_array_api, k) for k in _QUESTIONS if callable(getattr(_array_api, k, None))])
infer_table[array_namespace] = _namespace_type
pure.add(array_namespace)


def _see_through_wrappers() -> None:
    """Where the namespace is not known before it runs, its wrappers are NumPy's functions."""
    for name in dir(_WRAPPED):
        f, g = getattr(_WRAPPED, name), getattr(np, name, None)
        if isinstance(f, pytypes.FunctionType) and not name.startswith("_") and callable(g) and f is not g:
            _as_of_numpy(f, g)


def _as_of_numpy(f: Any, g: Any) -> None:
    @overlay(f)
    def of_numpy(*args, **kwargs):
        return g(*args, **kwargs)


def _shape_of_all(arrays: Any) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*[a.shape for a in arrays if a is not None])
    except ValueError as e:
        raise ValueError("Array shapes are incompatible for broadcasting.") from e


def _plainly() -> None:
    """What makes arrays of everything, without the branches for other libraries and kinds of arrays."""

    @overlay(_array_api._asarray)
    def as_array(array, dtype=None, order=None, copy=None, *, xp=None, check_finite=False, subok=False):
        if copy is True:
            array = np.array(array, dtype=dtype, order=order, subok=subok)
        elif subok:
            array = np.asanyarray(array, dtype=dtype, order=order)
        else:
            array = np.asarray(array, dtype=dtype, order=order)
        return np.asarray_chkfinite(array) if check_finite else array

    @overlay(_array_api.xp_promote)
    def promoted(*args, broadcast=False, force_floating=False, xp):
        arrays = [np.asanyarray(a) if np.iterable(a) else a for a in args]
        dtype = _array_api.xp_result_type(*arrays, force_floating=force_floating, xp=xp) if args else None
        arrays = [None if a is None else np.asanyarray(a, dtype=dtype) for a in arrays]
        if broadcast:
            shape = _shape_of_all(arrays)
            arrays = [a if a is None or a.shape == shape else np.broadcast_to(a, shape) for a in arrays]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


zero_derivative(_shape_of_all)
if not _OTHERS and hasattr(_array_api, "xp_promote"):
    _plainly()

_WRAPPED = array_namespace(1.0)
if _NUMPY is np:
    _see_through_wrappers()
