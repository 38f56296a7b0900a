"""Reading and writing parts of arrays, and the in-place operators."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Dct, Inst, Known, Lst, T, Top, Tup, widen
from mooncake_py.kinds import Any_, Array, Scalar
from mooncake_py.registry import folds, infer_table, inline, pure, register, rrule, undoes
from mooncake_py.rule import Rule
from mooncake_py.shadows import At
from mooncake_py.tangents import CoDual
from mooncake_py.testing import RuleCase, case
from mooncake_py.transform.helpers import index_kind, read_each_once, shadow_dense, shadow_look
from mooncake_rules.common import conj, is_complex, is_float, is_number, real_of, total, unbroadcast
from mooncake_rules.containers.lists import elements
from mooncake_rules.numpy_linear import matmul_left, matmul_right
from mooncake_rules.operators import exponent_log, surely_positive
from mooncake_rules.sequences import SEQUENCES

# -- types ------------------------------------------------------------------------------------------------


def _getitem_type(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    """The type of `a[i]` from the number of axes that the index takes away and puts in."""
    a, i = args
    if isinstance(a, Dct):  # others make what is missing
        return a.item(i) if a.cls in (dict, OrderedDict) else Top(a.act)
    written_down = isinstance(a, Known) and type(a.value) is tuple
    if (isinstance(a, Tup) or written_down) and _is_int(i) and not isinstance(i, Known):
        return elements(a)
    if isinstance(a, Tup) and isinstance(i, Known) and type(i.value) is slice:
        return _part_type(a, i.value)
    if isinstance(a, Lst):
        i = widen(i)
        if isinstance(i, Inst) and issubclass(i.cls, (int, np.integer)):
            return a.elem
        return a if isinstance(i, Inst) and i.cls is slice else None
    if isinstance(w := widen(a), Inst) and w.cls is str:
        return w
    if not isinstance(a, Arr) or a.dtype is None or a.ndim is None or a.dtype.kind not in "fciub":
        return Inst(int) if isinstance(a, Inst) and a.cls is range and _is_int(i) else None
    parts: tuple[T, ...] = i.items if isinstance(i, Tup) else (i,)
    if isinstance(i, Known) and isinstance(i.value, tuple):
        parts = tuple(map(Known, i.value))
    ndim, advanced, taken = 0, None, 0
    for p in parts:
        v = p.value if isinstance(p, Known) else None
        if isinstance(p, Known) and v is None:
            ndim += 1
        elif isinstance(p, Known) and v is Ellipsis:
            pass
        elif _is_int(p):
            taken += 1
        elif (isinstance(p, Inst) and p.cls is slice) or isinstance(v, slice):
            taken += 1
            ndim += 1
        elif isinstance(p, Arr) and p.dtype is not None and p.ndim is not None:
            if p.dtype.kind == "b":
                taken += p.ndim
                advanced = max(advanced or 0, 1)
            else:
                taken += 1
                advanced = max(advanced or 0, p.ndim)
        elif isinstance(p, Lst) and _is_int(p.elem):
            taken += 1
            advanced = max(advanced or 0, 1)
        else:
            return None
    ndim += a.ndim - taken + (advanced or 0)
    ellipsis = any(isinstance(p, Known) and p.value is Ellipsis for p in parts)
    if ndim == 0 and advanced is None and not ellipsis:
        return Inst(a.dtype.type, a.act)
    return Arr(a.dtype, ndim, a.act) if ndim >= 0 else None


def _part_type(t: Tup, s: slice) -> T | None:
    try:
        return Tup(t.items[s])
    except (TypeError, ValueError):  # which is what Python raises of the bounds
        return None


def _is_int(t: T) -> bool:
    t = widen(t)
    return isinstance(t, Inst) and issubclass(t.cls, (int, np.integer)) and t.cls is not bool


infer_table[operator.getitem] = _getitem_type
pure.add(operator.getitem)


# -- reading ----------------------------------------------------------------------------------------------


@rrule(operator.getitem, types=(Array, Any_), alias=(0,), deferred=(0,))
def getitem(a, i):
    def pullback(dy):
        return At(i, dy), None

    return a[i], pullback


@rrule(read_each_once, types=(Array, Any_), alias=(0,), deferred=(0,))
def read_each_once_(a, i):
    def pullback(dy):
        return At(i, dy, True), None

    return a[i], pullback


@rrule(operator.getitem, types=(np.inexact, Any_))
def getitem_of_number(a, i):
    """`x[None]`, `x[...]`, `x[()]` of a number of NumPy's."""

    def pullback(dy):
        return np.add.reduce(dy, None), None

    return a[i], pullback


# -- writing ----------------------------------------------------------------------------------------------


def is_element(a: Any, i: Any) -> bool:
    """Does `a[i]` name one element?"""
    return isinstance(a, np.ndarray) and np.ndim(a[i]) == 0 and not isinstance(a[i], np.ndarray)


def _is_element(a: T, i: T) -> bool | None:
    how = index_kind(i, a.ndim if isinstance(a, Arr) else None)
    return None if how == "unknown" or not isinstance(a, Arr) or a.ndim is None else how == "element"


folds[is_element] = _is_element


def saved(x: np.ndarray, i: Any) -> Any:
    """A copy of what `x[i] = ...` overwrites."""
    return np.array(x[i])


def put_back(x: np.ndarray, i: Any, old: Any) -> None:
    """Undo a write; the array may have been locked since."""
    try:
        x[i] = old
    except ValueError:
        if x.flags.writeable:
            raise
        x.flags.writeable = True
        x[i] = old
        x.flags.writeable = False


undoes.add(put_back)


def take_at(d: np.ndarray, i: Any) -> Any:
    """`d[i]`, leaving zero there; where an index names a place twice the last write had it."""
    out = np.array(d[i])
    parts = i if type(i) is tuple else (i,)
    if any(isinstance(p, (np.ndarray, list)) and np.asarray(p).dtype.kind != "b" for p in parts):
        order = np.full(d.shape, -1)
        mine = np.arange(out.size).reshape(out.shape)
        order[i] = mine
        out[order[i] != mine] = 0
    d[i] = 0
    return out


pure.add(saved)


@inline
def _written(dv: Any, x: Any, v: Any, shape: Any) -> Any:
    """The cotangent of the value that was written into x, broadcast to dv's shape."""
    t = total(dv) if is_number(v) else unbroadcast(dv, shape)
    return real_of(t, v) if is_complex(x) else t


@rrule(operator.setitem, types=(Array, Any_, Array), mutates=(0,))
@rrule(operator.setitem, types=(Array, Any_, Scalar), mutates=(0,))
def setitem(a: CoDual, i, v):
    x = a.primal
    f = a.fdata
    if is_element(x, i):
        old = x[i]
        x[i] = v

        def pullback_element(_):
            put_back(x, i, old)
            if f is None:
                return None
            d = shadow_dense(f)
            dv = d[i]
            d[i] = 0.0
            if is_complex(x):
                dv = real_of(dv, v)
            if is_float(v):
                return None, None, float(dv)  # a NumPy scalar would be slow from here on
            return None, None, (dv if is_number(v) else np.reshape(dv, np.shape(v)))

        return None, pullback_element
    old = saved(x, i)
    shape = () if is_number(v) else v.shape
    x[i] = v

    def pullback(_):
        put_back(x, i, old)
        if f is None:
            return None
        return None, None, _written(take_at(shadow_dense(f), i), x, v, shape)

    return None, pullback


@rrule(operator.setitem, types=(Array, Any_, list), mutates=(0,))
@rrule(operator.setitem, types=(Array, Any_, tuple), mutates=(0,))
@rrule(operator.setitem, types=(Array, Any_, range), mutates=(0,))
@rrule(operator.setitem, types=(Array, Any_, str), mutates=(0,))
@rrule(operator.setitem, types=(Array, Any_, bytes), mutates=(0,))
@rrule(operator.setitem, types=(Array, Any_, type(None)), mutates=(0,))
def setitem_converted(a: CoDual, i, v):
    """Sequences; text, which NumPy reads as a number, and None, which is NaN."""
    x = a.primal
    f = a.fdata
    old = saved(x, i)
    x[i] = v

    def pullback(_):
        put_back(x, i, old)
        if f is None:
            return None
        d = take_at(shadow_dense(f), i)
        return None, None, _spread(unbroadcast(d, np.shape(v)), v) if isinstance(v, SEQUENCES) else None

    return None, pullback


def _spread(d: Any, v: Any) -> Any:
    """The array d as cotangents of the nested sequence v."""
    return tuple(_spread(x, y) for x, y in zip(d, v, strict=True)) if isinstance(v, SEQUENCES) else d


# -- in place ---------------------------------------------------------------------------------------------

Partial = Callable[[Any, Any, Any], Any]


def _extends_list(f: Any, xs: T, b: T) -> bool:
    """Is it the operator of a list? Arrays, and numbers of NumPy that are to be added, are asked before the list."""
    if not isinstance(xs, Lst) or f not in (operator.iadd, operator.imul):
        return False
    return not isinstance(b, Arr) and not (f is operator.iadd and isinstance(b, Inst) and issubclass(b.cls, np.generic))


def _type_in_place(f: Callable) -> None:
    """`a op= b` is a where a can change, else what `a op b` is."""
    plain = getattr(operator, f"__{f.__name__[1:]}__")

    def result(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
        from mooncake_py.infer.resolve import result_type

        if isinstance(args[0], Arr) or _extends_list(f, args[0], args[1]):
            return args[0]
        return result_type(plain, args, tuple(kwargs.items())) if not isinstance(args[0], Top) else None

    infer_table[f] = result


def _inplace(f: Callable, da: Partial, db: Partial) -> None:
    """`a op= b` on arrays: da and db give the cotangents of a and b from (dy, a, b), a being the old content."""
    da, db = inline(da), inline(db)

    def rule(a: CoDual, b):
        x = a.primal
        shadow = a.fdata
        old = saved(x, Ellipsis)
        shape = () if is_number(b) else b.shape
        y = f(x, b)

        def pullback(_):
            put_back(x, Ellipsis, old)
            if shadow is None:
                return None
            dy = shadow.take()
            if dy is None:
                return None
            shadow.add(da(dy, x, b))
            t = db(dy, x, b)
            return None, (real_of(total(t), b) if is_number(b) else real_of(unbroadcast(t, shape), b))

        return CoDual(y, shadow), pullback

    for kind in (Array, Scalar):
        rrule(f, types=(Array, kind), mutates=(0,))(rule)
    _type_in_place(f)


def _shift(f: Callable, db: Callable) -> None:
    """`a += b` and `a -= b`: the cotangent of a stays where it is."""
    db = inline(db)

    def rule(a: CoDual, b):
        x, shadow = a.primal, a.fdata
        old = saved(x, Ellipsis)
        shape = () if is_number(b) else b.shape
        y = f(x, b)

        def pullback(_):
            put_back(x, Ellipsis, old)
            if shadow is None:
                return None
            t = db(shadow_look(shadow))
            return None, (real_of(total(t), b) if is_number(b) else real_of(unbroadcast(t, shape), b))

        return CoDual(y, shadow), pullback

    for kind in (Array, Scalar):
        rrule(f, types=(Array, kind), mutates=(0,))(rule)
    _type_in_place(f)


_shift(operator.iadd, lambda dy: dy)
_shift(operator.isub, lambda dy: -dy)
_inplace(operator.imul, lambda dy, a, b: dy * conj(b), lambda dy, a, b: dy * conj(a))
_inplace(operator.itruediv, lambda dy, a, b: dy / conj(b), lambda dy, a, b: -dy * conj(a / (b * b)))
_inplace(
    operator.ipow,
    lambda dy, a, b: dy * conj(b * a ** (b - 1)),
    lambda dy, a, b: dy * conj(a**b * exponent_log(a, surely_positive(a))),
)
_inplace(operator.imod, lambda dy, a, b: dy, lambda dy, a, b: -dy * (a // b))
_inplace(operator.ifloordiv, lambda dy, a, b: 0.0 * dy, lambda dy, a, b: 0.0 * dy)


def _bits(f: Callable) -> None:
    """`a op= b` on integers and booleans: an array gets its old content back, for what kept it."""

    def rule(a: CoDual, b):
        x = a.primal
        old = saved(x, Ellipsis)
        y = f(x, b)

        def pullback(_):
            put_back(x, Ellipsis, old)

        return CoDual(y, a.fdata), pullback

    for kind in (Array, Scalar):
        rrule(f, types=(Array, kind), mutates=(0,))(rule)
        register(Rule(f, None, (Scalar, kind)))
    _type_in_place(f)


for _f in (operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift):
    _bits(_f)


@rrule(operator.imatmul, types=(Array, Array), mutates=(0,))
def imatmul(a: CoDual, b):
    x, shadow = a.primal, a.fdata
    old = x.copy()
    y = operator.imatmul(x, b)

    def pullback(_):
        put_back(x, Ellipsis, old)
        dy = None if shadow is None else shadow.take()
        if dy is None:
            return None
        shadow.add(matmul_left(dy, conj(b), old.shape))
        return None, real_of(matmul_right(dy, conj(old), b.shape), b)

    return CoDual(y, shadow), pullback


infer_table[operator.imatmul] = lambda args, kwargs: args[0] if isinstance(args[0], Arr) else None


@rrule(np.ndarray.fill, mutates=(0,))
def fill(a: CoDual, value):
    x, shadow = a.primal, a.fdata
    old = x.copy()
    x.fill(value)

    def pullback(_):
        put_back(x, Ellipsis, old)
        if shadow is None:
            return None
        return None, real_of(total(take_at(shadow_dense(shadow), Ellipsis)), value)

    return None, pullback


infer_table[np.ndarray.fill] = lambda args, kwargs: Known(None)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3, 1.7])
_M = np.array([[0.5, -1.2, 2.0, 0.9], [0.3, 1.4, -0.6, 1.1]])
_Z = _M * (1 + 0.5j)


def _parts(m: np.ndarray) -> Any:
    return (
        m[0, 1],
        m[1],
        m[:, 1:3],
        m[..., ::2],
        m[None, 0],
        m[[0, 0, 1]],
        m[m > 0],
        m[np.array([1, 0]), [2, 3]],
        m[-1, ::-1],
    )


def _written_parts(m: np.ndarray, v: np.ndarray, x: float) -> np.ndarray:
    b = m * 2.0
    b[0, 1] = x
    b[1] = v[:4] * b[0]
    b[:, 2] = x * v[0]
    b[[0, 0], [3, 3]] = v[:2]
    b[b > 1.5] = 0.25 * x
    b[..., 0] = [0.5, x]
    return b * m


def _in_place(m: np.ndarray, v: np.ndarray, x: float) -> Any:
    b, c = m * 1.0, m * 1.0
    b += v[:4]
    b *= x
    b[0] -= v[0]
    c /= b
    c **= 2
    c[:, 1:] %= 0.7
    b.fill(x)
    return b * m, c


def _products_in_place(m: np.ndarray, a: np.ndarray) -> np.ndarray:
    b = m * 1.0
    b @= a
    return b * m


def _vector_times(v: np.ndarray, m: np.ndarray) -> np.ndarray:
    v = v.copy()
    v @= m
    return v


CASES: list[RuleCase] = [
    case(_vector_times, _V[:2], _M[:, 1:3]), case(_vector_times, _V[:2], _M[None, :, 1:3]),
    case(_vector_times, _Z[0, :2], _M[:, 2:]),
    case(_parts, _M), case(_parts, _Z.real.astype(np.float32)), case(_written_parts, _M, _V, 0.7),
    case(_in_place, _M, _V, 1.3), case(_products_in_place, _M[:, :2], _M[:, 2:]), case(operator.getitem, _V, 2),
    case(operator.getitem, _M, (0, 1)), case(lambda z: z[0] * z[1, 1], _Z), case(np.ndarray.fill, _V, 0.5),
    case(np.ndarray.fill, _Z, 0.5), case(lambda x: x.sum()[None] * x, _V),
    case(lambda x, a: a[()] * x[()], 0.5 * np.ones(()), _V), case(np.ndarray.__getitem__, _V, 1),
]  # fmt: skip
