"""Ufuncs with keywords (`out`, `where`, `dtype`, `casting`), their methods, and what NumPy's Python layer is.

Whatever rule a ufunc has for plain calls serves its calls with keywords: `where` computes the plain rule on the
elements that are selected, `dtype` on the converted arguments. Methods of ufuncs without rules of their own are
differentiated as the loops they are: that of an extremum that is reduced gives ties to the last of them by halves.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mooncake_py.infer.types import Known
from mooncake_py.kinds import Array, Numeric
from mooncake_py.outputs import write_out
from mooncake_py.registry import find_rule_for_values, infer_table, overlay, pure, rrule, rules_of, wrappers
from mooncake_py.shadows import NoDerivative
from mooncake_py.tangents import CoDual
from mooncake_py.testing import RuleCase, case
from mooncake_py.transform.helpers import cotangent, shadow_dense
from mooncake_rules.common import as_dtype, is_inexact, laid_out_as, unbroadcast
from mooncake_rules.inference import reduces
from mooncake_rules.numpy_indexing import put_back, take_at
from mooncake_rules.numpy_reduce import cumprod, kept
from mooncake_rules.sequences import unstack

wrappers[type(np.concatenate)] = lambda f: f._implementation

# -- writing a result -------------------------------------------------------------------------------------


def taken_where(d: np.ndarray, where: Any) -> np.ndarray:
    """d where something was written, leaving zero there."""
    if where is True:
        return take_at(d, Ellipsis)
    t = np.where(where, d, 0)
    np.copyto(d, 0, where=where)
    return t


def of_value(t: np.ndarray, v: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The cotangent of a value that was broadcast to t's shape: an array of this shape and dtype, or v itself."""
    t = unbroadcast(t, shape)
    return unstack(t, v) if dtype is None else as_dtype(t, dtype)


@rrule(write_out, mutates=(0,))
def write_out_rule(out: CoDual, y, broadcast, where=True, casting="same_kind"):
    x = out.primal
    shadow = out.fdata
    old = x.copy()
    write_out(x, y, broadcast, where, casting)
    v, shape, dtype = (None, y.shape, y.dtype) if isinstance(y, np.ndarray) else (y, (), None)

    def pullback(_):
        put_back(x, Ellipsis, old)
        if shadow is None:
            return None
        return None, of_value(taken_where(shadow_dense(shadow), where), v, shape, dtype)

    return None, pullback


def lost(x: np.ndarray, f: str) -> Any:
    """The cotangent of what f wrote into an array without fdata; an array of integers needs none."""
    what = "what it writes to an array from outside the function"
    return NoDerivative(f, what, "pass the array as an argument") if is_inexact(x) else None


@rrule(np.copyto, mutates=(0,))
def copyto(dst: CoDual, src, casting="same_kind", where=True):
    x = dst.primal
    shadow = dst.fdata
    old = x.copy()
    np.copyto(x, src, casting, where)
    v, shape, dtype = (None, src.shape, src.dtype) if isinstance(src, np.ndarray) else (src, np.shape(src), None)

    def pullback(_):
        put_back(x, Ellipsis, old)
        if shadow is None:
            return None, lost(x, "numpy.copyto")
        return None, of_value(taken_where(shadow_dense(shadow), where), v, shape, dtype)

    return None, pullback


infer_table[write_out] = infer_table[np.copyto] = lambda args, kwargs: Known(None)

# -- keywords ---------------------------------------------------------------------------------------------


def keyword_cotangents(f: np.ufunc, args: tuple[Any, ...], dy: Any, where: Any, dtype: Any) -> tuple[Any, ...]:
    """The plain rule's cotangents on the converted arguments, where they are selected."""
    xs = [np.asarray(a, dtype) for a in args]
    mask: Any = None
    if where is not True:
        *xs, mask = np.broadcast_arrays(*xs, np.asarray(where))
        xs, dy = [x[mask] for x in xs], np.asarray(dy)[mask]
    rule = find_rule_for_values(f, xs)
    if rule is None or rule.fn is None:
        return ()
    ds = rule.fn(*xs)[1](dy)
    out: list[Any] = []
    for i, a in enumerate(args):
        t = cotangent(ds, i)
        if t is not None and type(t) is not NoDerivative:
            if mask is not None:
                t, part = np.zeros(mask.shape, np.asarray(t).dtype), t
                t[mask] = part
            array = isinstance(a, np.ndarray)
            t = of_value(t, a, np.shape(a), a.dtype if array else None)
        out.append(t)
    return tuple(out)


pure.update({taken_where, keyword_cotangents})


def with_keywords(*ufuncs: np.ufunc) -> None:
    """Give ufuncs of one result and a rule for plain calls the rule for calls with keywords."""
    for f in ufuncs:
        if f.nout == 1 and f.signature is None:
            rrule(f, types=(Numeric,) * f.nin, fallback=True)(_rule_with_keywords(f))


def _rule_with_keywords(f: np.ufunc) -> Any:
    names = "".join([f"x{i}, " for i in range(f.nin)])
    scope: dict[str, Any] = {
        "f": f, "keyword_cotangents": keyword_cotangents, "is_inexact": is_inexact, "__name__": __name__,
    }  # fmt: skip
    source = (
        f"def rule({names}*, where=True, dtype=None, casting='same_kind', order='K', subok=True):\n"
        f"    y = f({names}out=None, where=where, dtype=dtype, casting=casting, order=order, subok=subok)\n"
        f"    def pullback(dy):\n"
        f"        return keyword_cotangents(f, ({names}), dy, where, dtype) if is_inexact(y) else None\n"
        f"    return y, pullback\n"
    )
    exec(compile(source, f"<the rule of {f.__name__} with keywords>", "exec"), scope)
    return scope["rule"]


def ruled() -> list[np.ufunc]:
    """The ufuncs of NumPy that have a derivative."""
    found = {f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc)}
    return [f for _, f in sorted(found.items()) if any(r.fn is not None for r in rules_of(f))]


# -- methods ----------------------------------------------------------------------------------------------

_none = np._NoValue


@overlay(np.ufunc.outer)
def outer(ufunc, a, b, /, **keywords):
    a, b = np.asarray(a), np.asarray(b)
    return ufunc(a.reshape(a.shape + (1,) * b.ndim), b, **keywords)


@overlay(np.ufunc.outer, arity=3)
def outer_of_two(ufunc, a, b, /):
    a, b = np.asarray(a), np.asarray(b)
    return ufunc(a.reshape(a.shape + (1,) * b.ndim), b)


@overlay(np.ufunc.reduce)
def reduce(ufunc, array, /, axis=0, dtype=None, out=None, keepdims=False, initial=_none, where=True):
    a = np.asarray(array, dtype)
    axes = tuple(range(a.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple([k % a.ndim for k in axes]) if a.ndim else ()
    rest = [k for k in range(a.ndim) if k not in axes]
    count = math.prod([a.shape[k] for k in axes])
    x = a.transpose([*axes, *rest]).reshape((count, *[a.shape[k] for k in rest]))
    first = 0
    if initial is not _none and initial is not None:
        y = np.full(x.shape[1:], initial, np.result_type(x, initial))[()]
    elif ufunc.identity is not None:  # hypot(0, x) is not x
        y = np.full(x.shape[1:], ufunc.identity, x.dtype)[()]
    elif where is not True or len(x) == 0:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    else:
        y = x[0]
        first = 1
    if where is True:
        for i in range(first, len(x)):
            y = ufunc(y, x[i])
    else:
        mask = np.broadcast_to(where, a.shape).transpose([*axes, *rest]).reshape(x.shape)
        for i in range(len(x)):
            y = np.where(mask[i], ufunc(y, x[i]), y)
    if keepdims:
        return np.reshape(y, tuple([1 if k in axes else a.shape[k] for k in range(a.ndim)]))
    return y


@overlay(np.ufunc.accumulate)
def accumulate(ufunc, array, /, axis=0, dtype=None, out=None):
    a = np.asarray(array, dtype)
    axis = axis[0] if isinstance(axis, tuple) else axis
    if a.shape[axis] == 0:
        return a.copy()
    x = np.moveaxis(a, axis, 0)
    y = x[0]
    ys = [y]
    for i in range(1, len(x)):
        y = ufunc(y, x[i])
        ys.append(y)
    return laid_out_as(np.stack(ys, axis), a)


@overlay(np.ufunc.reduceat)
def reduceat(ufunc, array, indices, /, axis=0, dtype=None, out=None):
    a = np.asarray(array, dtype)
    x = np.moveaxis(a, axis, 0)
    starts = [int(i) for i in np.asarray(indices)]
    for i in starts:
        if not 0 <= i < len(x):
            raise IndexError(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {len(x)})")
    ends = [*starts[1:], len(x)]
    ys = []
    for k in range(len(starts)):
        i = starts[k]
        ys.append(ufunc.reduce(x[i : ends[k]], axis=0) if i < ends[k] else x[i])
    return np.stack(ys, axis)


@overlay(np.ufunc.at)
def at(ufunc, a, indices, b=None, /):
    """One element after the other, those that are named twice twice."""
    places = np.arange(a.size).reshape(a.shape)[indices]
    flat = np.unravel_index(places.ravel(), a.shape)
    n = places.size
    values = None if b is None else np.broadcast_to(b, places.shape).reshape(-1)
    for k in range(n):
        i = tuple([int(axis[k]) for axis in flat])
        a[i] = ufunc(a[i]) if values is None else ufunc(a[i], values[k])


def _adds_at(f: np.ufunc, sign: int) -> None:
    @rrule(f.at, mutates=(0,))
    def rule(a: CoDual, indices, b):
        x = a.primal
        shadow = a.fdata
        old = x.copy()
        f.at(x, indices, b)
        v, shape, dtype = (None, b.shape, b.dtype) if isinstance(b, np.ndarray) else (b, np.shape(b), None)

        def pullback(_):
            put_back(x, Ellipsis, old)
            if shadow is None:
                return None, None, lost(x, f"numpy.{f.__name__}.at")
            return None, None, of_value(sign * np.asarray(shadow_dense(shadow)[indices]), v, shape, dtype)

        return None, pullback

    infer_table[f.at] = lambda args, kwargs: Known(None)


_adds_at(np.add, 1)
_adds_at(np.subtract, -1)


def sums_between(n: int, indices: Any) -> tuple[np.ndarray, np.ndarray]:
    """Which of n rows go into which sum of `np.add.reduceat`: pairs of row and sum."""
    starts = np.asarray(indices, np.intp)
    lengths = np.maximum(np.append(starts[1:], n) - starts, 1)
    sums = np.repeat(np.arange(len(starts)), lengths)
    return np.arange(len(sums)) + (starts - np.append(0, np.cumsum(lengths)[:-1]))[sums], sums


@rrule(np.add.reduceat, types=(Array,))
def add_reduceat(a, indices, axis=0, dtype=None):
    y = np.add.reduceat(a, indices, axis, dtype)

    def pullback(dy):
        if not is_inexact(y):
            return None
        da = np.zeros(a.shape, dy.dtype)
        rows, sums = sums_between(a.shape[axis], indices)
        np.add.at(np.moveaxis(da, axis, 0), rows, np.moveaxis(dy, axis, 0)[sums])
        return as_dtype(da, a.dtype)

    return y, pullback


@rrule(np.multiply.accumulate, types=(Array,))
def multiply_accumulate(a, axis=0, dtype=None):
    axis = axis[0] if type(axis) is tuple else axis
    return cumprod(a, axis, dtype)


def shares(a: np.ndarray, y: Any, dy: Any, axis: Any) -> np.ndarray:
    """The cotangent of y = log(sum(exp(a))): dy by the share of each term; none where the sum is zero or infinite."""
    y = kept(y, a.shape, axis)
    with np.errstate(invalid="ignore"):
        return kept(dy, a.shape, axis) * np.exp(np.where(np.isfinite(y), a - y, -np.inf))


pure.add(shares)


@rrule(np.logaddexp.reduce, types=(Array,))
def logaddexp_reduce(a, axis=0, *, keepdims=False):
    y = np.logaddexp.reduce(a, axis, keepdims=keepdims)

    def pullback(dy):
        return shares(a, y, dy, axis)

    return y, pullback


reduces(np.logaddexp.reduce)

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3])
_P = np.array([0.4, 1.3, 2.2, 0.9])
_M = np.sin(np.arange(12.0)).reshape(3, 4) + 1.5
_Z = np.array([0.5 + 0.2j, -0.7 + 1.0j, 0.3 - 0.7j, 1.1 + 0.3j])
_ON = _V > 0.5


def _safe_ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.1)


def _buffers(x: np.ndarray, steps: int) -> Any:
    """Buffers used again in every step, and by what is written into them."""
    a, b, total = np.empty_like(x), np.empty(4), 0.0
    for i in range(steps):
        np.multiply(x, i + 1.0, out=a)
        np.sin(a, out=a)
        np.add(a, x, b)
        np.subtract(b, a, out=b, where=x > 0)
        total = total + b @ a
    return total, b


def _into_a_view(m: np.ndarray) -> np.ndarray:
    z = np.zeros((2, 3, 4))
    np.exp(m, out=z[1])
    np.add(z[1], m, out=z)
    return z[0] * z[1]


def _reductions_into(m: np.ndarray) -> Any:
    z, w, v, s = np.empty(4), np.empty(3), np.empty(3), np.zeros(())
    np.sum(m, axis=0, out=z)
    m.sum(1, None, w)
    np.cumsum(w, out=w)
    np.dot(m, z, out=v)
    np.add.reduce(v, out=s)
    np.hypot.accumulate(z, out=z)
    np.hypot.reduce(m, 1, None, w)
    np.clip(z, 0.5, 6.0, out=z)
    return z * s, w, v


def _two_results(x: np.ndarray) -> Any:
    a, b = np.empty(4), np.empty(4)
    fraction, _ = np.modf(x * 3, out=(a, b))
    return a * fraction, b


def _some_places(x: np.ndarray) -> Any:
    a = np.ones((2, 4))
    whole, part = np.divmod(x * 3, 0.7, out=(a[1], None))  # type: ignore[arg-type]  # NumPy's own allows None
    return a * part, whole


def _as_arrays(x: np.ndarray, y: float) -> Any:
    z = np.sin(y, out=...)
    z += np.multiply(x, y, out=...)[1]
    return z, np.modf(y * 3, out=...), np.add.reduce(x, out=...)


def _at(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    z = x * 1.0
    np.add.at(z, [0, 1, 1], v[:3])
    np.multiply.at(z, [0, 0], v[:2] * 2)
    np.subtract.at(z, (np.array([3, 3]),), v[:2])
    np.negative.at(z, [1, 1, 0])
    np.add.at(z, 2, 0.5)
    return z


CASES: list[RuleCase] = [
    case(np.add, _V, _P, out=np.zeros(4)), case(np.add, _V, _P, np.zeros(4)), case(np.exp, _V, out=(np.zeros(4),)),
    case(np.add, _V, _P, out=None), case(np.multiply, _M, _V, out=np.zeros((2, 3, 4))),
    case(np.sin, _V, where=_ON, out=np.ones(4)), case(np.log, _V, where=_ON, out=np.ones(4)),
    case(np.power, _P, _V, where=_ON, out=np.ones(4)), case(np.hypot, _M, 0.5, where=_ON, out=np.ones((3, 4))),
    case(np.divide, _Z, _P, where=_ON, out=np.ones(4, complex)), case(np.log, _P, dtype=np.float32),
    case(np.add, _V, _P, dtype=complex), case(np.multiply, _V.astype(np.float32), 0.5, dtype=float),
    case(np.sqrt, _P, dtype=complex, casting="safe"), case(np.maximum, _V, 0.1, order="F"),
    case(np.add, _V.astype(np.float32), _P.astype(np.float32), out=np.zeros(4)),
    case(np.add, _V, _P, out=np.zeros(4, np.float32)), case(np.less, _V, _P, out=np.zeros(4, bool)),
    case(_safe_ratio, _V, np.array([0.5, 0.0, 2.0, 0.0])), case(_buffers, _V, 3), case(_into_a_view, _M),
    case(_reductions_into, _M), case(_two_results, _V), case(_some_places, _V), case(_at, _V, _P),
    case(np.copyto, _V, _P),
    case(np.copyto, _M, _P), case(np.copyto, _V, 0.5), case(np.copyto, _V, _P, where=_ON),
    case(np.copyto, _V, [0.5, 0.2, 0.1, 0.7]), case(np.copyto, _V, _P.astype(np.float32), "safe"),
    *[case(f.outer, _V[:3], _P) for f in (np.add, np.multiply, np.hypot, np.maximum)], case(np.add.outer, _M, _V),
    case(np.multiply.outer, 0.5, _V), case(np.subtract.outer, _V, 0.5), case(np.divide.outer, _Z, _P),
    case(np.add.outer, 0.5, 0.25),
    *[case(f.reduce, _M) for f in (np.subtract, np.divide, np.hypot, np.logaddexp, np.fmax)],
    *[case(f.reduce, _M, axis=k) for f in (np.hypot, np.logaddexp) for k in (None, 1, (0, 1), (-1,))],
    case(np.logaddexp.reduce, _M.astype(np.float32), axis=1, keepdims=True), case(np.logaddexp.reduce, _V),
    case(np.logaddexp.reduce, np.array([0.3, -np.inf, 1.0])), case(np.logaddexp.reduce, _M, initial=0.5),
    case(np.hypot.reduce, _M, axis=(0, 1), keepdims=True), case(np.hypot.reduce, _M, 1, initial=0.5),
    case(np.multiply.reduce, _M, axis=1, where=_M > 1.7), case(np.maximum.reduce, _M, where=_M > 1.2, initial=0.5),
    case(np.hypot.reduce, _M[:0], initial=1.0), case(np.hypot.reduce, -_M, axis=()),
    case(np.hypot.reduce, _M[:, :0]), case(np.hypot.reduce, _M, out=np.zeros(4)),
    *[case(f.accumulate, _M) for f in (np.subtract, np.maximum, np.logaddexp, np.multiply, np.add)],
    case(np.maximum.accumulate, _M, axis=1), case(np.multiply.accumulate, _V), case(np.hypot.accumulate, _V),
    case(np.add.reduceat, _V, [0, 2]), case(np.add.reduceat, _V, np.array([2, 0, 3])),
    case(np.add.reduceat, _M, [1, 0, 1, 1], -1), case(np.add.reduceat, _M, (0, 1), dtype=complex),
    case(np.multiply.reduceat, _M, [0, 2, 1], axis=1), case(np.add.at, _V, [0, 1, 1], _P[:3]),
    case(np.add.at, _V, 2, 0.5), case(np.add.at, _M, (np.array([0, 2, 0]), 1), _P[:3]),
    case(np.subtract.at, _M, [1, 1], _V), case(np.multiply.at, _V, [0, 0, 3], _P[:3]), case(np.sin.at, _V, [1, 1]),
]  # fmt: skip
if np.lib.NumpyVersion(np.__version__) >= "2.3.0":
    CASES.append(case(_as_arrays, _V, 0.7))
