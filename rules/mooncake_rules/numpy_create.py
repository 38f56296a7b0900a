"""Making arrays: of zeros and ones, of ranges, of numbers and lists, copies, conversions, and back to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Known, T, is_scalar, widen
from mooncake_py.kinds import Scalar
from mooncake_py.registry import incurious, infer_table, probed, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_inexact, real_of, total, unbroadcast
from mooncake_rules.inference import Types, argument, dtype_of, element_dtype, shape_ndim
from mooncake_rules.mirror import mirrors
from mooncake_rules.sequences import unstack

# -- constants --------------------------------------------------------------------------------------------

_NEW = [
    np.zeros,
    np.ones,
    np.empty,
    np.zeros_like,
    np.ones_like,
    np.empty_like,
    np.eye,
    np.identity,
    np.tri,
    np.indices,
]
_INDEX = [np.tril_indices, np.triu_indices, np.diag_indices, np.unravel_index, np.ravel_multi_index, np.ndindex]
_WINDOWS = [np.hanning, np.hamming, np.blackman, np.bartlett, np.broadcast_shapes, np.finfo, np.iinfo, np.dtype]

zero_derivative(*_NEW, *_INDEX, *_WINDOWS)
incurious.update(_NEW)  # what they make may be written to: it must be known for an array of this run

_QUERIES = [
    np.can_cast, np.promote_types, np.common_type, np.min_scalar_type, np.issubdtype, np.iterable, np.isfortran,
    np.mask_indices, np.tril_indices_from, np.triu_indices_from, np.diag_indices_from, np.mintypecode, np.typename,
    np.isnat, np.einsum_path, np.isin, np.info,
]  # fmt: skip

_QUERIES += [getattr(np, name) for name in ("isdtype", "bitwise_count") if hasattr(np, name)]

_WRITING = [
    np.array2string, np.array_repr, np.array_str, np.format_float_positional, np.format_float_scientific, np.save,
    np.savetxt, np.savez, np.savez_compressed, np.ndarray.tofile, np.ndarray.dump,
]  # fmt: skip

_QUERIES += [getattr(np, name) for name in ("in1d", "sometrue", "alltrue", "round_") if name in vars(np)]  # NumPy 1

zero_derivative(*_QUERIES, *_WRITING, np.ndarray.argpartition)
pure.update({*_NEW, *_INDEX, np.arange})


def _limits(of: Any) -> Any:
    """The limits of numbers of a dtype that is written down."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        d = dtype_of(args[0], None) if len(args) == 1 and not kwargs else None
        return Known(of(d)) if d is not None and d.kind in ("fc" if of is np.finfo else "iu") else None

    return infer


infer_table[np.finfo], infer_table[np.iinfo] = _limits(np.finfo), _limits(np.iinfo)
probed.update({np.eye, np.identity, np.tri, np.tril_indices, np.triu_indices, np.diag_indices})
probed.update({np.hanning, np.hamming, np.blackman, np.bartlett, np.isin})


def _filled(args: Types, kwargs: dict[str, T]) -> T | None:
    shape = argument(args, kwargs, 0, "shape")
    return (
        None if shape is None else Arr(dtype_of(argument(args, kwargs, 1, "dtype"), np.dtype(float)), shape_ndim(shape))
    )


def _like(at: int) -> Any:
    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        if "shape" in kwargs or not isinstance(a, Arr):
            return None
        d = dtype_of(argument(args, kwargs, at, "dtype"), a.dtype)
        return Arr(d, a.ndim, any(t.active for t in args[1:2]) and at == 2)

    return infer


for _f in (np.zeros, np.ones, np.empty):
    infer_table[_f] = _filled

for _f in (np.zeros_like, np.ones_like, np.empty_like):
    infer_table[_f] = _like(1)


def of_filler(dy: np.ndarray, fill: Any) -> Any:
    """The cotangent of what an array was filled with, broadcast."""
    return unstack(unbroadcast(dy, np.shape(fill)), fill)


pure.add(of_filler)


@rrule(np.full)
def full(shape, fill_value, dtype=None, order="C"):
    y = np.full(shape, fill_value, dtype, order)

    def pullback(dy):
        if not is_inexact(y):
            return None
        if isinstance(fill_value, (np.ndarray, list, tuple)):
            return None, of_filler(dy, fill_value)
        return None, real_of(total(dy), fill_value)

    return y, pullback


@rrule(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None):
    y = np.full_like(a, fill_value, dtype, order, subok, shape)

    def pullback(dy):
        if not is_inexact(y):
            return None
        if isinstance(fill_value, (np.ndarray, list, tuple)):
            return None, of_filler(dy, fill_value)
        return None, real_of(total(dy), fill_value)

    return y, pullback


def _full_type(args: Types, kwargs: dict[str, T]) -> T | None:
    shape, fill = argument(args, kwargs, 0, "shape"), argument(args, kwargs, 1, "fill_value")
    if shape is None or fill is None:
        return None
    return Arr(dtype_of(argument(args, kwargs, 2, "dtype"), element_dtype(fill)), shape_ndim(shape), fill.active)


infer_table[np.full] = _full_type
infer_table[np.full_like] = _like(2)

pure.update({np.full, np.full_like})

# -- ranges -----------------------------------------------------------------------------------------------


@rrule(np.arange)
def arange(start=0, stop=None, step=None, dtype=None, *, device=None, like=None):
    if dtype is None:
        y = np.arange(start, stop, step, device=device, like=like)
    else:
        y = np.arange(start, stop, step, dtype, device=device, like=like)

    def pullback(dy):
        if not is_inexact(y):
            return None
        right = real_of(np.add.reduce(dy * np.arange(len(dy))), step)
        return None if stop is None else real_of(total(dy), start), None, right

    return y, pullback


def _range_type(args: Types, kwargs: dict[str, T]) -> T | None:
    given = [*args[:3], *(t for k, t in kwargs.items() if k in ("start", "stop", "step"))]
    given = [t for t in given if not (isinstance(t, Known) and t.value is None)]
    act = any(t.active for t in given)
    dtype = args[3] if len(args) > 3 else kwargs.get("dtype")
    if dtype is not None and not (isinstance(dtype, Known) and dtype.value is None):
        return Arr(dtype_of(dtype, None), 1, act)
    kinds = [element_dtype(t) for t in given]
    known = [d for d in kinds if d is not None]
    return Arr(np.result_type(*known) if len(known) == len(kinds) and known else None, 1, act)


infer_table[np.arange] = _range_type


@rrule(np.linspace, types=(Scalar, Scalar))
def linspace(start, stop, num=50, endpoint=True):
    def pullback(dy):
        t = np.linspace(0.0, 1.0, num, endpoint)
        right = np.add.reduce(dy * t)
        return real_of(total(dy) - right, start), real_of(right, stop)

    return np.linspace(start, stop, num, endpoint), pullback


def spaced(start, stop, num, endpoint, axis):
    start, stop = np.asarray(start), np.asarray(stop)
    n = num - 1 if endpoint else num
    t = np.reshape(np.arange(num) / max(n, 1), (num,) + (1,) * max(start.ndim, stop.ndim))
    return np.moveaxis(start + t * (stop - start), 0, axis)


@mirrors(np.linspace, fallback=True)
def linspace_general(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, device=None):
    y = spaced(start, stop, num, endpoint, axis)
    return (y, (np.asarray(stop) - np.asarray(start)) / (num - 1 if endpoint else num)) if retstep else y


@mirrors(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    base = np.asarray(base)
    exponents = spaced(start + np.zeros(base.shape), stop, num, endpoint, 0)
    return np.moveaxis(base**exponents, 0, axis)


@mirrors(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = np.asarray(start), np.asarray(stop)
    return np.moveaxis(
        start * np.exp(spaced(0.0 * np.log(stop / start), np.log(stop / start), num, endpoint, 0)), 0, axis
    )


def _linspace_type(args: Types, kwargs: dict[str, T]) -> T | None:
    if "retstep" in kwargs or "dtype" in kwargs or "axis" in kwargs or len(args) > 4:
        return None
    ends = [element_dtype(widen(t)) for t in args[:2] if is_scalar(t)]
    if len(ends) < 2 or any(d is None or d.kind not in "fiub" for d in ends):
        return None
    return (
        Arr(np.dtype(float), 1, any(t.active for t in args))
        if all(d is not None and d.itemsize >= 8 for d in ends)
        else None
    )


infer_table[np.linspace] = _linspace_type

pure.add(np.linspace)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])


def _cut(x, s):
    """Whole numbers have no derivative, however they were made."""
    pair = [x, x]
    whole = [
        np.full(2, s, dtype=int), np.full_like(np.arange(3), s), np.require(x, dtype=int), np.fromiter(x, int),
        np.fromiter((v * s for v in x), int), np.stack(pair, dtype=int, casting="unsafe"), np.arange(s, 9.0, dtype=int),
        np.hstack(pair, dtype=int, casting="unsafe"), np.insert(np.arange(3), 1, s), np.array(x, dtype=int, ndmin=2),
        np.add.reduceat(x, [0, 2], dtype=int), np.add.outer(x, x, dtype=int, casting="unsafe"),
        np.pad(np.arange(3), 1, constant_values=s), np.interp(x, [0, 9], [1, 8]).astype(np.int8),
    ]  # fmt: skip
    return [w * s for w in whole]


def _cut_by_writing(x, s):
    whole = np.zeros(2 * len(x), int)
    np.concatenate([x, x], out=whole, casting="unsafe")
    np.add(whole[: len(x)], x, out=whole[: len(x)], where=x > 0.0, casting="unsafe")
    return whole * s


CASES: list[RuleCase] = [
    case(np.full, (2, 3), 0.5), case(np.full, 3, 0.5), case(np.full_like, _M, 0.5), case(np.arange, 0.5, 3.0, 0.7),
    case(np.linspace, 0.5, 2.0, 5), case(np.linspace, 0.5, 2.0), case(np.linspace, 0.5, 2.0, num=4, endpoint=False),
    case(lambda x: np.zeros(3) + x, 0.5), case(lambda a: np.ones_like(a) * a, _M), case(np.full, 3, _V[:3]),
    case(np.full, (2, 4), [0.5, 1.0, 2.0, 0.2]), case(np.full, (2, 3), 0.5 + 0.2j), case(np.full_like, _M, _V[:3]),
    case(np.full, (2, 2), 0.5, np.float32), case(np.linspace, _V, _V * 2, 3),
    case(np.linspace, 0.5, 2.0, 5, retstep=True), case(np.linspace, _V, 1.0, 3, axis=-1),
    case(np.linspace, 0.5 + 1j, 2.0, 4), case(np.linspace, [0.5, 0.2], 1.0, 4, endpoint=False),
    case(np.logspace, 0.1, 0.5, 5), case(np.logspace, 0.1, 0.5, 4, base=2.0), case(np.geomspace, 0.5, 3.0, 5),
    case(np.geomspace, -0.5, -3.0, 4, endpoint=False), case(np.geomspace, np.array([0.5, 1.0]), 2.0, 3),
    case(np.geomspace, [0.5, 1.0], 2.0, 3, axis=1), case(np.geomspace, 0.5 + 0.2j, _V[:2], 3, axis=-1),
    case(np.logspace, 0.1, 0.5, 3, base=_V[:2] ** 2 + 1), case(np.logspace, _V[:2], 0.5, 3, base=2.5, axis=1),
    case(np.arange, 0.5, 3.0, 0.7), case(np.arange, 3.3), case(np.arange, 0.5, 3.0, 0.7, dtype=float),
    case(np.arange, 0.5, 3.0, 0.7, float), case(np.arange, 0, 3, step=0.7), case(np.arange, 0.5, 2.2, dtype=None),
    case(np.arange, 0.5, 2.2, 0.5, dtype=complex), case(lambda h: np.arange(0, 3, step=h), 0.7),
    case(lambda a, b: np.arange(start=a, stop=b, step=0.25 * a), 0.5, 1.1),
]  # fmt: skip
