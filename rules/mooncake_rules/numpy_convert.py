"""Arrays and numbers made of others: array, copy, astype, view, item, tolist, the classes of numbers."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.predicates import holds_objects, holds_unknown
from mooncake_py.infer.types import Arr, Inst, Lst, T, Top
from mooncake_py.kinds import Array, Scalar, Sequence_
from mooncake_py.layout import holds_nothing, same_numbers
from mooncake_py.registry import at_run_time, folds, infer_table, overlay, probed, pure, rrule, zero_derivative
from mooncake_py.shadows import Shadow
from mooncake_py.structure import is_user_class
from mooncake_py.tangents import CoDual, ListShadow, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_py.transform.helpers import refuse_bits
from mooncake_rules.common import as_dtype, is_inexact, real_of
from mooncake_rules.inference import Types, argument, dtype_of, element_dtype, is_dtype, nested
from mooncake_rules.sequences import ArrayLike, unstack

# -- arrays of things -------------------------------------------------------------------------------------


def may_hold_objects(y: Any) -> bool:
    """Is y an array of objects or records (a question the engine answers when it derives, where the dtype is known)?"""
    return y.dtype.kind in "OV"


def refuse_objects(y: Any) -> None:
    """Nothing has a derivative in an array of None, whole numbers or texts, as one that is to be filled later."""
    if not holds_nothing(y):
        raise UnsupportedError(
            f"a value with a derivative in an array of dtype {y.dtype}", "numpy.array", None,
            "use arrays of floats or complex numbers, lists or dicts",
        )  # fmt: skip


folds[may_hold_objects] = lambda t: t.dtype.kind in "OV" if isinstance(t, Arr) and t.dtype is not None else None


def may_ask(x: Any) -> bool:
    """Are there objects of classes written in Python in a list or tuple, which NumPy asks for numbers?"""
    if isinstance(x, (list, tuple, deque)):
        return any(map(may_ask, x))
    return is_user_class(type(x))


def refuse_asked() -> None:
    raise UnsupportedError(
        "an array of what objects of a class written in Python say they are", "numpy.array", None,
        "give it the numbers: [float(x) for x in ...]",
    )  # fmt: skip


folds[may_ask] = lambda t: None if holds_objects(t) or holds_unknown(t) else False

pure.update({may_hold_objects, may_ask})


def _array_of(f: Any) -> None:
    """`np.array` and its kind on numbers, lists and tuples."""
    least = 1 if f in (np.ascontiguousarray, np.asfortranarray) else 0  # dimensions of what it gives

    @rrule(f, types=(list,))
    @rrule(f, types=(tuple,))
    @rrule(f, types=(deque,))
    @rrule(f, types=(Scalar,))
    def rule(x, dtype=None):
        y = f(x, dtype)
        if may_hold_objects(y):
            refuse_objects(y)
        if dtype is not None and may_ask(x):
            refuse_asked()

        def pullback(dy):
            return (unstack(dy if least == 0 else np.reshape(dy, np.shape(x)), x) if is_inexact(y) else None,)

        return y, pullback


def as_kind(t: Any, a: Any) -> Any:
    """A cotangent of a converted array as one of the array a: real, complex, of its precision."""
    return as_dtype(t, a.dtype)


pure.add(as_kind)

infer_table[as_kind] = lambda args, kwargs: Arr(element_dtype(args[1]), getattr(args[0], "ndim", None))


@rrule(np.ndarray.copy)
def copy(a):
    def pullback(dy):
        return dy

    return np.ndarray.copy(a), pullback


@rrule(np.copy, types=(Array,))
def copy_as_laid_out(a):
    """Unlike the method, these keep the order of memory."""

    def pullback(dy):
        return dy

    return np.array(a), pullback


@rrule(np.ndarray.copy)
@rrule(np.copy, types=(Array,))
def copy_ordered(a, order):
    def pullback(dy):
        return dy

    return np.array(a, order=order), pullback


@rrule(np.array, types=(Array,), alias=(0,))
def array_of_array(a, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    shape = a.shape
    y = np.array(a, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)

    def pullback(dy):
        return as_kind(np.reshape(dy, shape), a) if is_inexact(y) and is_inexact(a) else None

    return y, pullback


def _as(f: Any) -> None:
    @rrule(f, types=(Array,), alias=(0,))
    def rule(a, dtype=None):
        y = f(a, dtype)

        def pullback(dy):
            return as_kind(np.reshape(dy, a.shape), a) if is_inexact(y) and is_inexact(a) else None

        return y, pullback


@rrule(np.asarray, np.asanyarray, types=(Array,), alias=(0,), fallback=True)
def asarray_ordered(a, dtype=None, order="K", *, copy=None, device=None):
    y = np.asarray(a, dtype, order) if copy is None else np.array(a, dtype, copy=copy, order=order)

    def pullback(dy):
        return as_kind(dy, a) if is_inexact(y) and is_inexact(a) else None

    return y, pullback


@rrule(np.array, types=(ArrayLike,), fallback=True)
def array_of_sequence(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    y = np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
    if may_hold_objects(y):
        refuse_objects(y)
    if dtype is not None and may_ask(object):
        refuse_asked()

    def pullback(dy):
        return (unstack(np.reshape(dy, np.shape(object)), object) if is_inexact(y) else None,)

    return y, pullback


@rrule(np.asarray, np.asanyarray, types=(ArrayLike,), fallback=True)
def asarray_of_sequence(a, dtype=None, order="K", *, copy=None, device=None):
    y = np.asarray(a, dtype, order)
    if may_hold_objects(y):
        refuse_objects(y)
    if dtype is not None and may_ask(a):
        refuse_asked()

    def pullback(dy):
        return (unstack(dy, a) if is_inexact(y) else None,)

    return y, pullback


_OBJECT = np.array(object())


def numbers_in(x):
    """What NumPy is told by an object of a class that has code of its own for it."""
    if hasattr(x, "__array__"):
        return x.__array__()
    if isinstance(x, dict) or not (hasattr(x, "__len__") and hasattr(x, "__getitem__")):
        refuse_objects(_OBJECT)
    return [x[i] for i in range(len(x))]


@overlay(np.array)
def array_of_object(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    return np.array(numbers_in(object), dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)


@overlay(np.asarray, np.asanyarray)
def asarray_of_object(a, dtype=None, order=None, *, copy=None, device=None):
    return np.asarray(numbers_in(a), dtype, order, copy=copy)


at_run_time.update({array_of_object, asarray_of_object})  # there may be a rule for what comes


@rrule(np.require, types=(Array,), alias=(0,))
def require(a, dtype=None, requirements=None):
    y = np.require(a, dtype, requirements)

    def pullback(dy):
        return as_kind(dy, a) if is_inexact(y) and is_inexact(a) else None

    return y, pullback


@rrule(np.fromiter, types=(Sequence_,))
@rrule(np.fromiter, types=(Array,))
def fromiter(iter, dtype, count=-1):
    y = np.fromiter(iter, dtype, count)

    def pullback(dy):
        t = np.zeros(np.shape(iter), dy.dtype)
        t[: len(dy)] = dy
        return (unstack(t, iter) if is_inexact(y) else None,)

    return y, pullback


@overlay(np.fromiter)
def fromiter_any(iter, dtype, count=-1):
    items = list(iter if count < 0 else islice(iter, count))
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return np.array(items, dtype)


def _items(x):
    squares, few = np.fromiter((v * v for v in x), float), np.fromiter(map(np.sin, x), np.float32, count=2)
    return squares, few, np.fromiter((v for v in x if v > 9.0), float)


rrule(np.array, types=(Array,))(copy_as_laid_out)

for _f in (np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray):
    if _f is not np.array:
        _as(_f)
    _array_of(_f)


@rrule(np.copy, types=(list,))
@rrule(np.copy, types=(deque,))
@rrule(np.copy, types=(tuple,))
@rrule(np.copy, types=(Scalar,))
def copy_of_sequence(x):
    def pullback(dy):
        return (unstack(dy, x),)

    return np.copy(x), pullback


@rrule(np.ndarray.astype, alias=(0,), fallback=True)
def astype_sharing(a, dtype, order="K", casting="unsafe", subok=True, copy=True):
    y = np.ndarray.astype(a, dtype, order, casting, subok, copy)

    def pullback(dy):
        return as_kind(dy, a) if is_inexact(y) and is_inexact(a) else None

    return y, pullback


@rrule(np.ndarray.astype)
def astype(a, dtype):
    y = np.ndarray.astype(a, dtype)

    def pullback(dy):
        return as_kind(dy, a) if is_inexact(y) and is_inexact(a) else None

    return y, pullback


@rrule(np.ndarray.view, alias=(0,))
def view(a):
    def pullback(dy):
        return dy

    return np.ndarray.view(a), pullback


def _viewed(args: Types, kwargs: dict[str, T]) -> T | None:
    return args[0] if len(args) == 1 and not kwargs and isinstance(args[0], Arr) else None


infer_table[np.ndarray.view] = _viewed


def refuse_view(a: np.ndarray, dtype: Any) -> None:
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray):
        raise UnsupportedError(
            f"a value with a derivative in an array of class {dtype.__name__}", "numpy.ndarray.view", None,
            "use plain arrays",
        )  # fmt: skip
    refuse_bits(a, dtype)


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
    dtype = argument(args, kwargs, 1, "dtype")
    if found is None or "ndmin" in kwargs:
        return Top(act)
    d = dtype_of(dtype, found[1])
    return Arr(d, found[0], act and (d is None or d.kind in "fc"))


def _at_least_one(args: Types, kwargs: dict[str, T]) -> T | None:
    t = _array_type(args, kwargs)
    return Arr(t.dtype, 1, t.act) if isinstance(t, Arr) and t.ndim == 0 else t


def _astype_type(args: Types, kwargs: dict[str, T]) -> T | None:
    a, dtype = args[0], argument(args, kwargs, 1, "dtype")
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

        @rrule(cls, types=(Array,), alias=(0,))
        def of_array(x):  # one of no dimensions becomes a number, any other keeps its shape, and memory if it can
            shape, dtype = x.shape, x.dtype

            def pullback(dy):
                return as_dtype(np.reshape(dy, shape), dtype)

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


@rrule(np.generic.item, np.generic.tolist)
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
probed.update({np.generic.item, np.generic.tolist})


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
    case(np.array, [0.5, 1.5]), case(np.array, (0.5, 1)), case(np.array, [[0.5, 1.5], [0.2, 0.1]]),
    case(np.array, 0.5), case(np.array, [_V, _V * 2]), case(np.array, [0.5, 1.5], dtype=np.float32),
    case(np.array, [0.5, 1j * 0.5]), case(np.array, _M), case(np.array, _M, dtype=np.float32),
    case(np.array, _M, copy=True), case(np.asarray, _M), case(np.asarray, [0.5, 1.5]),
    case(np.asarray, _M, dtype=complex), case(np.ascontiguousarray, _M.T),
    case(np.ascontiguousarray, 0.5), case(np.asfortranarray, [0.5, 1.0]), case(np.copy, _M),
    case(np.ndarray.copy, _M.T), case(np.ndarray.astype, _M, np.float32), case(np.ndarray.astype, _M, complex),
    case(np.ndarray.astype, _M, float, copy=False), case(np.float64, 0.5), case(np.complex128, 0.5),
    case(np.float64, np.array(0.5)), case(np.float32, np.array(0.5)), case(np.complex128, _M), case(np.float64, _V),
    case(np.ndarray.item, np.array(0.5)), case(np.ndarray.item, _V, 2), case(np.ndarray.item, _M, 1, 2),
    case(np.ndarray.item, _M, (1, 2)), case(_listed, _V), case(_listed_rows, _M), case(np.asarray, 0.5),
    case(np.array, [_V, _V], ndmin=3), case(np.array, _V, ndmin=2), case(np.array, _M, float, copy=True, subok=True),
    case(np.asarray, _M, order="F"), case(np.asarray, [0.5, 1.5], dtype=complex), case(np.asanyarray, _M),
    case(np.asfortranarray, _M), case(np.require, _M, None, ["C"]), case(np.asarray_chkfinite, _V),
    case(np.ndarray.view, _M), case(lambda z: z.view(float) * 2, _V * (1 + 0.5j)),
    case(lambda a: a.view(complex) ** 2, _V), case(np.ndarray.astype, _M, np.float32, "C", "same_kind"),
    case(np.ndarray.astype, _M, np.int64), case(np.fromiter, [0.5, 1.5], float), case(_items, _V),
    case(np.fromiter, (0.5, 1.5, 2.5), float, count=2), case(np.copy, _M, order="F"), case(np.complex64, 0.5),
    case(np.float32, 0.5),
]  # fmt: skip

CASES += [case(lambda a: a.__array__() * a, _V), case(np.ndarray.__array__, _V, np.dtype(complex))]
CASES += [case(lambda x: float(np.float16(x)) * 0.0 + x, 0.5)]  # rounding to it is too coarse for differences
