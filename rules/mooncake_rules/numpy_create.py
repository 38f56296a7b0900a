"""Making arrays: of zeros and ones, of ranges, of numbers and lists, copies, conversions, and back to numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.types import Arr, Inst, Lst, T, Top, is_scalar, widen
from mooncake_py.registry import (
    Array,
    Scalar,
    Sequence_,
    folds,
    incurious,
    infer_table,
    probed,
    pure,
    rrule,
    zero_derivative,
)
from mooncake_py.tangents import CoDual, ListShadow, Shadow, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import as_dtype, real_of, total, unbroadcast
from mooncake_rules.inference import Types, dtype_of, element_dtype, is_dtype, nested, shape_ndim
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
zero_derivative(*_NEW, *_INDEX, *_WINDOWS, np.arange)
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
probed.update({np.eye, np.identity, np.tri, np.tril_indices, np.triu_indices, np.diag_indices})


def _argument(args: Types, kwargs: dict[str, T], i: int, name: str) -> T | None:
    return args[i] if len(args) > i else kwargs.get(name)


def _filled(args: Types, kwargs: dict[str, T]) -> T | None:
    shape = _argument(args, kwargs, 0, "shape")
    return (
        None
        if shape is None
        else Arr(dtype_of(_argument(args, kwargs, 1, "dtype"), np.dtype(float)), shape_ndim(shape))
    )


def _like(at: int) -> Any:
    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        a = args[0]
        if "shape" in kwargs or not isinstance(a, Arr):
            return None
        d = dtype_of(_argument(args, kwargs, at, "dtype"), a.dtype)
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
    def pullback(dy):
        if isinstance(fill_value, (np.ndarray, list, tuple)):
            return None, of_filler(dy, fill_value)
        return None, real_of(total(dy), fill_value)

    return np.full(shape, fill_value, dtype, order), pullback


@rrule(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None):
    def pullback(dy):
        if isinstance(fill_value, (np.ndarray, list, tuple)):
            return None, of_filler(dy, fill_value)
        return None, real_of(total(dy), fill_value)

    return np.full_like(a, fill_value, dtype, order, subok, shape), pullback


def _full_type(args: Types, kwargs: dict[str, T]) -> T | None:
    shape, fill = _argument(args, kwargs, 0, "shape"), _argument(args, kwargs, 1, "fill_value")
    if shape is None or fill is None:
        return None
    return Arr(dtype_of(_argument(args, kwargs, 2, "dtype"), element_dtype(fill)), shape_ndim(shape), fill.active)


infer_table[np.full] = _full_type
infer_table[np.full_like] = _like(2)
pure.update({np.full, np.full_like})

# -- ranges -----------------------------------------------------------------------------------------------


@rrule(np.arange)
def arange(start, stop=None, step=1):
    def pullback(dy):
        if stop is None:
            return None
        return total(dy), None, np.add.reduce(dy * np.arange(len(dy)))

    if stop is None:
        return np.arange(start), pullback
    return np.arange(start, stop, step), pullback


def _range_type(args: Types, kwargs: dict[str, T]) -> T | None:
    act = any(t.active for t in args)
    dtype = kwargs.get("dtype")
    if dtype is not None:
        return Arr(dtype_of(dtype, None), 1, act)
    kinds = [element_dtype(t) for t in args]
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
def linspace_general(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    y = spaced(start, stop, num, endpoint, axis)
    return (y, (np.asarray(stop) - np.asarray(start)) / (num - 1 if endpoint else num)) if retstep else y


@mirrors(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    return np.asarray(base) ** spaced(start, stop, num, endpoint, axis)


@mirrors(np.geomspace)
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    start, stop = np.asarray(start), np.asarray(stop)
    return start * np.exp(spaced(0.0 * np.log(stop / start), np.log(stop / start), num, endpoint, axis))


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

# -- arrays of things -------------------------------------------------------------------------------------


def may_hold_objects(y: Any) -> bool:
    """Is y an array of objects or records (a question the engine answers when it derives, where the dtype is known)?"""
    return y.dtype.kind in "OV"


def refuse_objects(y: Any) -> None:
    raise UnsupportedError(
        f"a value with a derivative in an array of dtype {y.dtype}", "numpy.array", None,
        "use arrays of floats or complex numbers, lists or dicts",
    )  # fmt: skip


folds[may_hold_objects] = lambda t: t.dtype.kind in "OV" if isinstance(t, Arr) and t.dtype is not None else None
pure.add(may_hold_objects)


def _array_of(f: Any) -> None:
    """`np.array` and its kind on numbers, lists and tuples."""

    @rrule(f, types=(list,))
    @rrule(f, types=(tuple,))
    @rrule(f, types=(Scalar,))
    def rule(x, dtype=None):
        y = f(x, dtype)
        if may_hold_objects(y):
            refuse_objects(y)

        def pullback(dy):
            return (unstack(dy, x),)

        return y, pullback


def as_kind(t: Any, a: Any) -> Any:
    """A cotangent of a converted array as one of the array a: real, complex, of its precision."""
    return as_dtype(t, a.dtype)


pure.add(as_kind)
infer_table[as_kind] = lambda args, kwargs: Arr(element_dtype(args[1]), getattr(args[0], "ndim", None))


@rrule(np.array, types=(Array,))
@rrule(np.copy, types=(Array,))
@rrule(np.ndarray.copy)
def copy(a):
    def pullback(dy):
        return dy

    return np.ndarray.copy(a), pullback


@rrule(np.ndarray.copy)
@rrule(np.copy, types=(Array,))
def copy_ordered(a, order):
    def pullback(dy):
        return dy

    return np.array(a, order=order), pullback


@rrule(np.array, types=(Array,), alias=(0,))
def array_of_array(a, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    shape = a.shape

    def pullback(dy):
        return as_kind(np.reshape(dy, shape), a)

    return np.array(a, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin), pullback


def _as(f: Any) -> None:
    @rrule(f, types=(Array,), alias=(0,))
    def rule(a, dtype=None):
        def pullback(dy):
            return as_kind(np.reshape(dy, a.shape), a)

        return f(a, dtype), pullback


@rrule(np.asarray, np.asanyarray, types=(Array,), alias=(0,), fallback=True)
def asarray_ordered(a, dtype=None, order="K", *, copy=None, device=None):
    def pullback(dy):
        return as_kind(dy, a)

    return np.asarray(a, dtype, order) if copy is None else np.array(a, dtype, copy=copy, order=order), pullback


@rrule(np.array, fallback=True)
def array_of_sequence(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    y = np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    if may_hold_objects(y):
        refuse_objects(y)

    def pullback(dy):
        return (unstack(np.reshape(dy, np.shape(object)), object),)

    return y, pullback


@rrule(np.asarray, np.asanyarray, fallback=True)
def asarray_of_sequence(a, dtype=None, order="K", *, copy=None, device=None):
    y = np.asarray(a, dtype, order)
    if may_hold_objects(y):
        refuse_objects(y)

    def pullback(dy):
        return (unstack(dy, a),)

    return y, pullback


@rrule(np.require, types=(Array,), alias=(0,))
def require(a, dtype=None, requirements=None):
    def pullback(dy):
        return as_kind(dy, a)

    return np.require(a, dtype, requirements), pullback


@rrule(np.fromiter, types=(Sequence_,))
@rrule(np.fromiter, types=(Array,))
def fromiter(iter, dtype, count=-1):
    def pullback(dy):
        t = np.zeros(np.shape(iter), dy.dtype)
        t[: len(dy)] = dy
        return (unstack(t, iter),)

    return np.fromiter(iter, dtype, count), pullback


rrule(np.array, types=(Array,))(copy)
for _f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray):
    if _f is not np.array:
        _as(_f)
    _array_of(_f)


@rrule(np.copy, types=(list,))
@rrule(np.copy, types=(tuple,))
@rrule(np.copy, types=(Scalar,))
def copy_of_sequence(x):
    def pullback(dy):
        return (unstack(dy, x),)

    return np.copy(x), pullback


@rrule(np.ndarray.astype, alias=(0,), fallback=True)
def astype_sharing(a, dtype, order="K", casting="unsafe", subok=True, copy=True):
    def pullback(dy):
        return as_kind(dy, a)

    return np.ndarray.astype(a, dtype, order, casting, subok, copy), pullback


@rrule(np.ndarray.astype)
def astype(a, dtype):
    def pullback(dy):
        return as_kind(dy, a)

    return np.ndarray.astype(a, dtype), pullback


@rrule(np.ndarray.view, alias=(0,))
def view(a):
    def pullback(dy):
        return dy

    return np.ndarray.view(a), pullback


def same_numbers(a: np.ndarray, dtype: Any) -> bool:
    """Does the view of this dtype or class hold the numbers of a, in a plain array?"""
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        return dtype is np.ndarray
    d = np.dtype(dtype)
    return d.kind in "fc" and np.zeros(0, d).real.dtype == a.real.dtype


def refuse_view(a: np.ndarray, dtype: Any) -> None:
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        raise UnsupportedError(
            f"a value with a derivative in an array of class {dtype.__name__}", "numpy.ndarray.view", None,
            "use plain arrays",
        )  # fmt: skip
    raise TypeError(f"the bits of {a.dtype} numbers read as {np.dtype(dtype)} have no derivative")


pure.add(same_numbers)


@rrule(np.ndarray.view, alias=(0,))
def view_as(a, dtype):
    if not same_numbers(a, dtype):
        refuse_view(a, dtype)

    def pullback(dy):
        return np.ascontiguousarray(dy).view(a.dtype).reshape(a.shape)

    return np.ndarray.view(a, dtype), pullback


def _array_type(args: Types, kwargs: dict[str, T]) -> T | None:
    act = args[0].active
    found = nested(args[0])
    dtype = _argument(args, kwargs, 1, "dtype")
    if found is None or "ndmin" in kwargs:
        return Top(act)
    d = dtype_of(dtype, found[1])
    return Arr(d, found[0], act and (d is None or d.kind in "fc"))


def _at_least_one(args: Types, kwargs: dict[str, T]) -> T | None:
    t = _array_type(args, kwargs)
    return Arr(t.dtype, 1, t.act) if isinstance(t, Arr) and t.ndim == 0 else t


def _astype_type(args: Types, kwargs: dict[str, T]) -> T | None:
    a, dtype = args[0], _argument(args, kwargs, 1, "dtype")
    if not isinstance(a, Arr) or dtype is None:
        return None
    d = dtype_of(dtype, np.dtype(float))
    return Arr(d, a.ndim, a.act and (d is None or d.kind in "fc"))


for _f in (np.array, np.asarray, np.asanyarray):
    infer_table[_f] = _array_type
infer_table[np.ascontiguousarray] = infer_table[np.asfortranarray] = _at_least_one
infer_table[np.copy] = infer_table[np.ndarray.copy] = lambda args, kwargs: _array_type(args[:1], {})
infer_table[np.ndarray.astype] = _astype_type
pure.update({np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.copy, np.ndarray.copy})
pure.add(np.ndarray.astype)

# -- numbers of NumPy's classes ---------------------------------------------------------------------------

for _cls in (np.float64, np.float32, np.float16, np.longdouble, np.complex128, np.complex64):

    def _number_class(cls: Any) -> None:
        @rrule(cls, types=(Scalar,))
        def rule(x):
            def pullback(dy):
                return real_of(dy, x)

            return cls(x), pullback

    _number_class(_cls)
    probed.add(_cls)
_INTEGERS = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
zero_derivative(*_INTEGERS)
probed.update(_INTEGERS)


@rrule(np.ndarray.item)
def item(a, *index):
    shape = a.shape

    def pullback(dy):
        return (place_item(dy, shape, a.dtype, index),)

    if len(index) == 0:
        return np.ndarray.item(a), pullback
    return np.ndarray.item(a, index[0] if len(index) == 1 else index), pullback


def place_item(dy: Any, shape: tuple[int, ...], dtype: Any, index: tuple[Any, ...]) -> np.ndarray:
    """The cotangent of `a.item(*index)`."""
    t = np.zeros(shape, dtype)
    if index and isinstance(index[0], tuple):
        index = index[0]
    if len(index) <= 1:
        t.reshape(-1)[index[0] if index else 0] = dy
    else:
        t[index] = dy
    return t


@rrule(np.generic.item)
def generic_item(x):
    def pullback(dy):
        return dy

    return x.item(), pullback


def _item_type(args: Types, kwargs: dict[str, T]) -> T | None:
    a = args[0]
    if isinstance(a, Arr) and is_dtype(a.dtype, np.float64, np.float32):
        return Inst(float, a.act)
    return Inst(complex, a.act) if isinstance(a, Arr) and is_dtype(a.dtype, complex) else None


infer_table[np.ndarray.item] = _item_type
pure.update({place_item, np.ndarray.item})
probed.add(np.generic.item)


@rrule(np.ndarray.tolist)
def tolist(a: CoDual):
    return list_of(a.primal, a.fdata)


def list_of(a: np.ndarray, shadow: Shadow | None) -> tuple[CoDual, Any]:
    xs = a.tolist()
    fx = zero_fdata(xs) if shadow is not None else None

    def pullback(dy: Any) -> None:
        if shadow is not None:
            t = dy if fx is None else gathered(fx, a.shape)
            if t is not None:
                shadow.add(np.asarray(t, a.dtype))

    return CoDual(xs, fx), pullback


def gathered(fx: ListShadow, shape: tuple[int, ...]) -> list:
    """The cotangents of a nested list of numbers, as one."""
    if len(shape) == 1:
        out = [0.0 if r is None else r for r in fx.r]
        fx.r[:] = [None] * len(out)
        return out
    return [gathered(f, shape[1:]) for f in fx.f]


def _tolist_type(args: Types, kwargs: dict[str, T]) -> T | None:
    a = args[0]
    if not isinstance(a, Arr) or a.dtype is None or a.ndim is None:
        return None
    cls = {"f": float, "c": complex, "i": int, "u": int, "b": bool}.get(a.dtype.kind)
    if cls is None:
        return None
    t: T = Inst(cls, a.act)
    for _ in range(a.ndim):
        t = Lst(t, a.act)
    return t


infer_table[np.ndarray.tolist] = _tolist_type

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])


def _listed(a: np.ndarray) -> float:
    xs = a.tolist()
    return xs[0] * xs[2] + xs[1]


def _listed_rows(a: np.ndarray) -> float:
    xs = a.tolist()
    return xs[0][1] * xs[1][2]


CASES: list[RuleCase] = [
    case(np.full, (2, 3), 0.5), case(np.full, 3, 0.5), case(np.full_like, _M, 0.5), case(np.arange, 0.5, 3.0, 0.7),
    case(np.linspace, 0.5, 2.0, 5), case(np.linspace, 0.5, 2.0), case(np.linspace, 0.5, 2.0, num=4, endpoint=False),
    case(np.array, [0.5, 1.5]), case(np.array, (0.5, 1)), case(np.array, [[0.5, 1.5], [0.2, 0.1]]),
    case(np.array, 0.5), case(np.array, [_V, _V * 2]), case(np.array, [0.5, 1.5], dtype=np.float32),
    case(np.array, [0.5, 1j * 0.5]), case(np.array, _M), case(np.array, _M, dtype=np.float32),
    case(np.array, _M, copy=True), case(np.asarray, _M), case(np.asarray, [0.5, 1.5]),
    case(np.asarray, _M, dtype=complex), case(np.ascontiguousarray, _M.T), case(np.copy, _M),
    case(np.ndarray.copy, _M.T), case(np.ndarray.astype, _M, np.float32), case(np.ndarray.astype, _M, complex),
    case(np.ndarray.astype, _M, float, copy=False), case(np.float64, 0.5), case(np.complex128, 0.5),
    case(np.ndarray.item, np.array(0.5)), case(np.ndarray.item, _V, 2), case(np.ndarray.item, _M, 1, 2),
    case(np.ndarray.item, _M, (1, 2)), case(_listed, _V), case(_listed_rows, _M), case(lambda x: np.zeros(3) + x, 0.5),
    case(lambda a: np.ones_like(a) * a, _M), case(np.asarray, 0.5),
]  # fmt: skip

CASES += [
    case(np.full, 3, _V[:3]), case(np.full, (2, 4), [0.5, 1.0, 2.0, 0.2]), case(np.full, (2, 3), 0.5 + 0.2j),
    case(np.full_like, _M, _V[:3]), case(np.full, (2, 2), 0.5, np.float32), case(np.linspace, _V, _V * 2, 3),
    case(np.linspace, 0.5, 2.0, 5, retstep=True), case(np.linspace, _V, 1.0, 3, axis=-1),
    case(np.linspace, 0.5 + 1j, 2.0, 4), case(np.linspace, [0.5, 0.2], 1.0, 4, endpoint=False),
    case(np.logspace, 0.1, 0.5, 5), case(np.logspace, 0.1, 0.5, 4, base=2.0), case(np.geomspace, 0.5, 3.0, 5),
    case(np.geomspace, -0.5, -3.0, 4, endpoint=False), case(np.geomspace, np.array([0.5, 1.0]), 2.0, 3),
    case(np.array, [_V, _V], ndmin=3), case(np.array, _V, ndmin=2), case(np.array, _M, float, copy=True, subok=True),
    case(np.asarray, _M, order="F"), case(np.asarray, [0.5, 1.5], dtype=complex), case(np.asanyarray, _M),
    case(np.asfortranarray, _M), case(np.require, _M, None, ["C"]), case(np.asarray_chkfinite, _V),
    case(np.ndarray.view, _M), case(lambda z: z.view(float) * 2, _V * (1 + 0.5j)),
    case(lambda a: a.view(complex) ** 2, _V), case(np.ndarray.astype, _M, np.float32, "C", "same_kind"),
    case(np.ndarray.astype, _M, np.int64), case(np.fromiter, [0.5, 1.5], float),
    case(np.fromiter, (0.5, 1.5, 2.5), float, count=2), case(np.copy, _M, order="F"), case(np.complex64, 0.5),
    case(np.float32, 0.5), case(np.arange, 0.5, 3.0, 0.7), case(np.arange, 3.3),
]  # fmt: skip
CASES += [case(lambda x: float(np.float16(x)) * 0.0 + x, 0.5)]  # rounding to it is too coarse for differences
