"""Shapes: reshaping and transposing (views: the engine makes the shadow's view), joining and splitting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Inst, Known, T, Top, Tup
from mooncake_py.kinds import Array, Scalar
from mooncake_py.layout import axes_in_memory
from mooncake_py.registry import infer_table, probed, pure, rrule, same_if_shaped, shape_argument, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import unbroadcast
from mooncake_rules.inference import Types, element_dtype, reduces, shape_ndim


def reshaped(dy: Any, shape: tuple[int, ...]) -> np.ndarray:
    """dy, perhaps a number, in another shape."""
    return np.asarray(dy).reshape(shape)


pure.add(reshaped)

shape_argument[reshaped] = 1

same_if_shaped.add(reshaped)

infer_table[reshaped] = lambda args, kwargs: Arr(element_dtype(args[0]), shape_ndim(args[1]))

# -- one array in another shape ---------------------------------------------------------------------------


@rrule(np.ndarray.reshape, alias=(0,))
def reshape_method(a, *shape):
    old = a.shape

    def pullback(dy):
        return reshaped(dy, old)

    if len(shape) == 1:
        return np.ndarray.reshape(a, shape[0]), pullback
    return np.ndarray.reshape(a, shape), pullback


@rrule(np.reshape, types=(Array,), alias=(0,))
def reshape(a, shape):
    old = a.shape

    def pullback(dy):
        return reshaped(dy, old)

    return np.ndarray.reshape(a, shape), pullback


@rrule(np.reshape, types=(Scalar,))
def reshape_number(a, shape):
    def pullback(dy):
        return dy.reshape(())[()]

    return np.reshape(a, shape), pullback


def c_or_f(a: np.ndarray, order: str) -> str:
    """The order that "A" is of this array."""
    return order if order in ("C", "F", "c", "f") else "F" if np.isfortran(a) else "C"


@rrule(np.reshape, types=(Array,), alias=(0,))
def reshape_ordered(a, shape, order):
    old, back = a.shape, c_or_f(a, order)

    def pullback(dy):
        return np.reshape(dy, old, back)

    return np.reshape(a, shape, order), pullback


@rrule(np.ndarray.reshape, alias=(0,))
def reshape_method_ordered(a, *shape, order):
    old, back = a.shape, c_or_f(a, order)

    def pullback(dy):
        return np.reshape(dy, old, back)

    return np.reshape(a, shape[0] if len(shape) == 1 else shape, order), pullback


@rrule(np.reshape, types=(Array,), alias=(0,))
def reshape_copied(a, shape, order="C", *, copy):
    old, back = a.shape, c_or_f(a, order)

    def pullback(dy):
        return np.reshape(dy, old, back)

    return np.reshape(a, shape, order, copy=copy), pullback


@rrule(np.ndarray.reshape, alias=(0,))
def reshape_method_copied(a, *shape, order="C", copy):
    old, back = a.shape, c_or_f(a, order)

    def pullback(dy):
        return np.reshape(dy, old, back)

    return np.reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy), pullback


def _elements_in_order(f: Any, method: Any, alias: tuple[int, ...], types: tuple = ()) -> None:
    """A function of one array that gives the same elements, in C order, in another shape."""

    @rrule(f, types=types, alias=alias)
    def rule(a):
        shape = a.shape

        def pullback(dy):
            return reshaped(dy, shape)

        return method(a), pullback


for _f, _m in (
    (np.ravel, np.ndarray.ravel), (np.ndarray.ravel, np.ndarray.ravel), (np.squeeze, np.ndarray.squeeze),
    (np.ndarray.squeeze, np.ndarray.squeeze), (np.atleast_1d, np.atleast_1d), (np.atleast_2d, np.atleast_2d),
    (np.atleast_3d, np.atleast_3d),
):  # fmt: skip
    _elements_in_order(_f, _m, (0,), (Array,))

_elements_in_order(np.ndarray.flatten, np.ndarray.flatten, ())

for _f in (np.atleast_1d, np.atleast_2d, np.atleast_3d):

    def _of_number(f: Any) -> None:
        @rrule(f, types=(Scalar,))
        def rule(x):
            def pullback(dy):
                return dy.item()

            return f(x), pullback

    _of_number(_f)


def _flattened(f: Any, alias: tuple[int, ...]) -> None:
    @rrule(f, types=(Array,), alias=alias)
    def rule(a, order):
        shape = a.shape
        axes = axes_in_memory(a) if order in ("K", "k") else None
        back = c_or_f(a, order)

        def pullback(dy):
            return np.reshape(dy, shape, back) if axes is None else put_in_order(dy, shape, axes)

        return f(a, order), pullback


def put_in_order(dy: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """An array of this shape from its elements, which were taken along its axes in this order."""
    return dy.reshape([shape[k] for k in axes]).transpose(np.argsort(axes))


for _f in (np.ravel, np.ndarray.ravel):
    _flattened(_f, (0,))

_flattened(np.ndarray.flatten, ())


def _with_axis(f: Any) -> None:
    @rrule(f, types=(Array,), alias=(0,))
    def rule(a, axis):
        shape = a.shape

        def pullback(dy):
            return reshaped(dy, shape)

        return f(a, axis), pullback


for _f in (np.squeeze, np.ndarray.squeeze, np.expand_dims):
    _with_axis(_f)

# -- axes in another order --------------------------------------------------------------------------------


def back(axes: Any, n: int) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    out = [0] * n
    for i, k in enumerate(axes):
        out[k] = i
    return tuple(out)


pure.add(back)


@rrule(np.transpose, types=(Array,), alias=(0,))
def transpose(a, axes=None):
    def pullback(dy):
        if axes is None:
            return dy.transpose()
        return dy.transpose(back(axes, dy.ndim))

    return np.ndarray.transpose(a, axes), pullback


@rrule(np.ndarray.transpose, alias=(0,))
def transpose_method(a, *axes):
    if len(axes) == 0:

        def pullback(dy):
            return dy.transpose()

        return np.ndarray.transpose(a), pullback
    order = axes[0] if len(axes) == 1 else axes

    def pullback_axes(dy):
        return dy.transpose(back(range(dy.ndim - 1, -1, -1) if order is None else order, dy.ndim))

    return np.ndarray.transpose(a, order), pullback_axes


@rrule(np.ndarray.T, alias=(0,))
def transposed(a):
    def pullback(dy):
        return dy.transpose()

    return np.ndarray.transpose(a), pullback


@rrule(np.generic.T)
def transposed_number(x):
    def pullback(dy):
        return dy

    return x, pullback


infer_table[np.generic.T] = lambda args, kwargs: args[0]

if hasattr(np.ndarray, "mT"):

    @rrule(np.ndarray.mT, alias=(0,))
    def matrix_transposed(a):
        def pullback(dy):
            return dy.swapaxes(-1, -2)

        return np.ndarray.swapaxes(a, -1, -2), pullback


@rrule(np.swapaxes, types=(Array,), alias=(0,))
@rrule(np.ndarray.swapaxes, alias=(0,))
def swapaxes(a, axis1, axis2):
    def pullback(dy):
        return dy.swapaxes(axis1, axis2)

    return np.ndarray.swapaxes(a, axis1, axis2), pullback


@rrule(np.moveaxis, types=(Array,), alias=(0,))
def moveaxis(a, source, destination):
    def pullback(dy):
        return np.moveaxis(dy, destination, source)

    return np.moveaxis(a, source, destination), pullback


# Elements of the result share memory with each other, so its shadow cannot be a view: it is a value of its own.
@rrule(np.broadcast_to, types=(Array,), alias=(0,))
@rrule(np.broadcast_to, types=(Scalar,))
def broadcast_to(a, shape, subok=False):
    old = np.shape(a)

    def pullback(dy):
        return unbroadcast(dy, old) if isinstance(a, np.ndarray) else np.add.reduce(dy, None)

    return np.broadcast_to(a, shape), pullback


# -- types ------------------------------------------------------------------------------------------------


def _ndim(f: Any, ndim: Callable[[Types, dict[str, T]], int | None]) -> None:
    """The result is an array like the first argument with `ndim(args, kwargs)` dimensions."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        if not isinstance(a, Arr):
            return Top(a.active)
        return Arr(a.dtype, ndim(args, kwargs), a.act)

    infer_table[f] = infer
    pure.add(f)


def _reshape_ndim(args: Types, kwargs: dict[str, T]) -> int | None:
    shape = kwargs.get("shape") or (args[1] if len(args) > 1 else None)
    if len(args) > 2 and isinstance(shape, (Known, Inst)) and shape_ndim(shape) == 1:
        return len(args) - 1
    return None if shape is None else shape_ndim(shape)


def _squeezed(args: Types, kwargs: dict[str, T]) -> int | None:
    a, axis = args[0], kwargs.get("axis") or (args[1] if len(args) > 1 else None)
    if axis is None or not isinstance(a, Arr) or a.ndim is None:
        return None
    n = shape_ndim(axis)
    return None if n is None or (isinstance(axis, Known) and axis.value is None) else a.ndim - n


def _same(args: Types, kwargs: dict[str, T]) -> int | None:
    return args[0].ndim if isinstance(args[0], Arr) else None


_ndim(np.ndarray.reshape, _reshape_ndim)
_ndim(np.reshape, lambda args, kwargs: _reshape_ndim(args[:2], kwargs))
_ndim(np.squeeze, _squeezed)
_ndim(np.ndarray.squeeze, _squeezed)

for _f in (np.transpose, np.ndarray.transpose, np.ndarray.T, np.swapaxes, np.ndarray.swapaxes, np.moveaxis):
    _ndim(_f, _same)

if hasattr(np.ndarray, "mT"):
    _ndim(np.ndarray.mT, _same)

for _f in (np.ravel, np.ndarray.ravel, np.ndarray.flatten):
    _ndim(_f, lambda args, kwargs: 1)

reduces(np.expand_dims, np.atleast_1d, np.atleast_2d, np.atleast_3d)

infer_table[np.broadcast_to] = lambda args, kwargs: Arr(
    element_dtype(args[0]), shape_ndim(args[1] if len(args) > 1 else kwargs["shape"]), args[0].active
)

pure.add(np.broadcast_to)

# -- what arrays say about themselves ---------------------------------------------------------------------

_ATTRIBUTES = [
    np.ndarray.ndim,
    np.ndarray.size,
    np.ndarray.itemsize,
    np.ndarray.nbytes,
    np.ndarray.strides,
    np.ndarray.shape,
]

_ATTRIBUTES += [
    np.ndarray.dtype,
    np.ndarray.flags,
    np.generic.shape,
    np.generic.ndim,
    np.generic.size,
    np.generic.dtype,
]

zero_derivative(*_ATTRIBUTES, np.shape, np.size, np.ndim, np.may_share_memory, np.shares_memory, np.result_type)
probed.update({np.ndarray.itemsize, np.shape, np.ndim, np.generic.shape, np.generic.ndim, np.generic.size})

for _f in (np.ndarray.ndim, np.ndarray.size, np.ndarray.nbytes, np.size):
    infer_table[_f] = lambda args, kwargs: Inst(int)
    pure.add(_f)


def _shape_type(args: Types, kwargs: dict[str, T]) -> T | None:
    a = args[0]
    return Tup((Inst(int),) * a.ndim) if isinstance(a, Arr) and a.ndim is not None else None


infer_table[np.ndarray.shape] = infer_table[np.ndarray.strides] = _shape_type

pure.update({np.ndarray.shape, np.ndarray.strides})

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, -0.4])
_M = _V.reshape(2, 3).copy()
_T = np.cos(np.arange(24.0)).reshape(2, 3, 4)
_Z = _M * (1 + 0.5j)


def _written_copy(x: np.ndarray) -> Any:
    y, z = np.reshape(x, (2, 3), copy=True), x.reshape((2, 3), copy=False)
    y *= 3.0
    z[0] *= x[0]
    return y * z + x[:3]


def _in_memory(x: np.ndarray) -> Any:
    y = x.transpose(1, 2, 0) * 1.0
    return y.reshape(-1, order="A"), np.reshape(y, (4, 6), order="A"), y.ravel("K"), x.ravel("K"), y.T.flatten("A")


CASES: list[RuleCase] = [
    case(np.reshape, _V, (2, 3)), case(np.reshape, _V, -1), case(np.reshape, _T, (4, -1), order="F"),
    case(np.reshape, 0.5, (1, 1)), case(np.ndarray.reshape, _V, 2, 3), case(np.ndarray.reshape, _V, (3, 2)),
    case(np.ndarray.reshape, _V, 3, 2, order="F"), case(_in_memory, _T),
    case(np.ndarray.reshape, _T, -1), case(np.ndarray.reshape, _T.T, 6, 4), case(np.ravel, _T.T),
    case(np.reshape, _V, (2, 3), copy=True), case(np.reshape, _T.T, shape=(6, 4), order="F", copy=None),
    case(np.ndarray.reshape, _V, 2, 3, copy=True), case(np.ndarray.reshape, _T, (6, 4), order="F", copy=True),
    case(np.reshape, _V, shape=(2, 3)), case(_written_copy, _V), case(np.reshape, _V, (2, 3), copy=False),
    case(np.ndarray.reshape, _T, (6, 4), order="F"), case(np.ravel, _M, order="F"), case(np.ndarray.flatten, _M.T),
    case(np.ndarray.flatten, _M, "F"), case(np.ndarray.ravel, _M), case(np.squeeze, _M[None, :, None]),
    case(np.squeeze, _M[None], axis=0), case(np.ndarray.squeeze, _M[:, None], axis=1), case(np.expand_dims, _M, 1),
    case(np.expand_dims, _M, (0, -1)), case(np.atleast_1d, 0.5), case(np.atleast_2d, _V), case(np.atleast_3d, _M),
    case(np.atleast_2d, 0.7), case(np.transpose, _T), case(np.transpose, _T, (2, 0, 1)),
    case(np.ndarray.transpose, _T), case(np.ndarray.transpose, _T, 1, 2, 0),
    case(np.ndarray.transpose, _T, (2, 0, 1)), case(lambda a: a.T * 2, _T), case(np.swapaxes, _T, 0, 2),
    case(np.ndarray.swapaxes, _T, 0, -1), case(np.moveaxis, _T, 0, -1), case(np.moveaxis, _T, (0, 1), (-1, 0)),
    case(np.broadcast_to, _V, (2, 6)), case(np.broadcast_to, 0.5, (2, 3)), case(np.rollaxis, _T, 2),
    case(np.permute_dims, _T, (2, 0, 1)) if hasattr(np, "permute_dims") else case(np.transpose, _T, (2, 0, 1)),
    case(lambda x, y: np.c_[x, y[0] * x], _V, _M[0]),
]  # fmt: skip

if hasattr(np.ndarray, "mT"):
    CASES.append(case(lambda a: a.mT * 2, _T))

if hasattr(np, "unstack"):
    CASES += [case(np.unstack, _M), case(np.unstack, _T, axis=1), case(np.matrix_transpose, _T)]
