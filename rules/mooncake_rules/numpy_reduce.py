"""NumPy's reductions: sums, extrema, products, running sums, over any axes.

Subgradients: the cotangent of an extremum is split evenly between the elements that attain it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, Inst
from mooncake_py.kinds import Array, Scalar
from mooncake_py.registry import infer_table, inline, pure, repeated, rrule, shape_argument, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import conj, real_of, total
from mooncake_rules.inference import element_dtype, reduces, shape_ndim
from mooncake_rules.mirror import mirrors
from mooncake_rules.sequences import also_of_sequences

_none = np._NoValue  # what NumPy itself passes where `initial` is not given


def kept_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape of a reduction over `axis` with keepdims."""
    n = len(shape)
    if axis is None or not n:  # NumPy takes an axis of what has none
        return (1,) * n
    if type(axis) is not tuple:
        axis %= n
        return (*shape[:axis], 1, *shape[axis + 1 :])
    axes = {a % n for a in axis}
    return tuple([1 if i in axes else k for i, k in enumerate(shape)])


def spread(dy: Any, shape: tuple[int, ...], axis: Any) -> np.ndarray:
    """The cotangent of a reduction over `axis` at every element of `shape`: a view of dy with strides of zero."""
    if type(dy) is not np.ndarray:
        if type(dy) is float:
            dy = np.float64(dy)
        elif type(dy) is complex:
            dy = np.complex128(dy)
        return np.ndarray(shape, dy.dtype, dy, 0, (0,) * len(shape))
    if 0 in shape:
        return np.zeros(shape, dy.dtype)
    if dy.size == 1:
        return np.ndarray(shape, dy.dtype, dy.reshape(1), 0, (0,) * len(shape))
    over = kept_shape(shape, axis)
    dy = np.ascontiguousarray(dy).reshape(over)
    strides = tuple([0 if k == 1 else s for k, s in zip(over, dy.strides)])  # noqa: B905 (as many, and it is hot)
    return np.ndarray(shape, dy.dtype, dy, 0, strides)


def filled(dy: Any, shape: tuple[int, ...], axis: Any) -> np.ndarray:
    """What `spread` gives, as an array of its own."""
    if type(dy) is np.ndarray:
        return np.array(spread(dy, shape, axis))
    out = np.empty(shape, type(dy) if type(dy) in (float, complex) else dy.dtype)
    out.fill(dy)
    return out


def kept(t: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """A value or cotangent of a reduction over `axis`, in the shape it has with keepdims."""
    if axis is None:
        return t if type(t) is not np.ndarray or t.ndim == 0 else t.reshape((1,) * len(shape))
    return np.asarray(t).reshape(kept_shape(shape, axis))


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements a reduction over `axis` takes together."""
    if axis is None:
        return math.prod(shape)
    if type(axis) is int:
        return shape[axis]
    n = 1
    for k, m in zip(shape, kept_shape(shape, axis), strict=True):
        if m != k:
            n *= k
    return n


pure.update({kept_shape, spread, filled, kept, count})
repeated[spread] = filled
shape_argument[spread] = shape_argument[filled] = 1
infer_table[count] = lambda args, kwargs: Inst(int)
infer_table[spread] = infer_table[filled] = lambda args, kwargs: Arr(element_dtype(args[0]), shape_ndim(args[1]))

# -- sum and mean -----------------------------------------------------------------------------------------


@rrule(np.sum, types=(Array,))
@rrule(np.ndarray.sum)
@inline
def sum_(a, axis=None, dtype=None, *, keepdims=False, initial=_none, where=True):
    shape = a.shape
    if keepdims is False and dtype is None and initial is _none and where is True:
        y = np.add.reduce(a, axis)
    else:
        y = np.add.reduce(a, axis, dtype, None, keepdims, initial, where)

    def pullback(dy):
        t = real_of(spread(dy, shape, axis), a)
        if where is not True:
            t = t * where
        return t if initial is _none else (t, None, None, None, total(dy))

    return y, pullback


@rrule(np.add.reduce, types=(Array,))
def add_reduce(a, axis=0, dtype=None, *, keepdims=False, initial=_none, where=True):
    return sum_(a, axis, dtype, keepdims=keepdims, initial=initial, where=where)


@rrule(np.mean, types=(Array,))
@rrule(np.ndarray.mean)
def mean(a, axis=None, dtype=None, *, keepdims=False):
    shape = a.shape

    def pullback(dy):
        return real_of(spread(dy / count(shape, axis), shape, axis), a)

    return np.ndarray.mean(a, axis, dtype, None, keepdims), pullback


@mirrors(np.mean, np.ndarray.mean, types=(Array,), fallback=True)
def mean_where(a, axis=None, dtype=None, out=None, keepdims=False, where=True):
    there = np.broadcast_to(where, a.shape)
    n = np.sum(there, axis, keepdims=keepdims)
    return np.sum(np.where(there, a, 0), axis, dtype, keepdims=keepdims) / n


# -- extrema ----------------------------------------------------------------------------------------------


def attained(a: np.ndarray, y: Any, dy: Any, axis: Any) -> np.ndarray:
    """The cotangent of an extremum y of a: dy, shared evenly by the elements that are equal to it.

    Where y is NaN because of elements that are NaN, so is their cotangent.
    """
    shape = a.shape
    hit = (a == kept(y, shape, axis)).astype(a.dtype)
    dy = kept(dy, shape, axis)
    n = np.add.reduce(hit, axis, None, None, True)
    if np.count_nonzero(n) < n.size:  # nothing is equal to NaN
        hit[(a != a) & (n == 0)] = np.nan
        n = np.maximum(n, 1)
    del a  # the array may be free now
    share = dy / n
    if share.dtype != hit.dtype:
        return hit * share
    hit *= share
    return hit


pure.add(attained)


@rrule(np.max, types=(Array,))
@rrule(np.amax, types=(Array,))
@rrule(np.ndarray.max)
@inline
def max_(a, axis=None, *, keepdims=False, initial=_none):
    y = np.maximum.reduce(a, axis, None, None, keepdims, initial)

    def pullback(dy):
        da = attained(a, y, dy, axis)
        return da if initial is _none else (da, None, None, total(dy * (y == initial)))

    return y, pullback


@rrule(np.min, types=(Array,))
@rrule(np.amin, types=(Array,))
@rrule(np.ndarray.min)
@inline
def min_(a, axis=None, *, keepdims=False, initial=_none):
    y = np.minimum.reduce(a, axis, None, None, keepdims, initial)

    def pullback(dy):
        da = attained(a, y, dy, axis)
        return da if initial is _none else (da, None, None, total(dy * (y == initial)))

    return y, pullback


@rrule(np.maximum.reduce, types=(Array,))
def maximum_reduce(a, axis=0, *, keepdims=False, initial=_none):
    return max_(a, axis, keepdims=keepdims, initial=initial)


@rrule(np.minimum.reduce, types=(Array,))
def minimum_reduce(a, axis=0, *, keepdims=False, initial=_none):
    return min_(a, axis, keepdims=keepdims, initial=initial)


def _extremum_where(reduce: Any, worst: float, *targets: Any) -> None:
    @mirrors(*targets, types=(Array,), fallback=True)
    def rule(a, axis=None, out=None, keepdims=False, initial=_none, where=True):
        there = np.broadcast_to(where, a.shape)
        return reduce(
            np.where(there, a, worst), axis, keepdims=keepdims, initial=worst if initial is _none else initial
        )


_extremum_where(np.max, -math.inf, np.max, np.amax, np.ndarray.max)
_extremum_where(np.min, math.inf, np.min, np.amin, np.ndarray.min)


@rrule(np.ptp, types=(Array,))
def ptp(a, axis=None, *, keepdims=False):
    hi = np.maximum.reduce(a, axis, None, None, keepdims)
    lo = np.minimum.reduce(a, axis, None, None, keepdims)

    def pullback(dy):
        return attained(a, hi, dy, axis) - attained(a, lo, dy, axis)

    return hi - lo, pullback


if hasattr(np.ndarray, "ptp"):  # NumPy 1
    rrule(np.ndarray.ptp)(ptp)


# -- products ---------------------------------------------------------------------------------------------


def product_of_others(a: np.ndarray, y: Any, axis: Any) -> np.ndarray:
    """For every element the product of the others it is reduced with (y being that of all)."""
    if a.all():
        return kept(y, a.shape, axis) / a
    if not a.ndim:
        return np.ones_like(a)
    axes = (
        tuple(range(a.ndim)) if axis is None else tuple(k % a.ndim for k in (axis if type(axis) is tuple else (axis,)))
    )
    last = tuple(range(-len(axes), 0))
    moved = np.moveaxis(a, axes, last)
    flat = moved.reshape((*moved.shape[: a.ndim - len(axes)], -1))
    before, after = np.ones_like(flat), np.ones_like(flat)
    before[..., 1:] = np.multiply.accumulate(flat[..., :-1], -1)
    after[..., :-1] = np.multiply.accumulate(flat[..., :0:-1], -1)[..., ::-1]
    return np.moveaxis((before * after).reshape(moved.shape), last, axes)


pure.add(product_of_others)


@rrule(np.prod, types=(Array,))
@rrule(np.ndarray.prod)
@inline
def prod(a, axis=None, dtype=None, *, keepdims=False, initial=_none):
    y = np.multiply.reduce(a, axis, dtype, None, keepdims, initial)

    def pullback(dy):
        product = np.multiply.reduce(a, axis)
        others = product_of_others(a, product, axis)
        da = spread(dy, a.shape, axis) * conj(others)
        if initial is _none:
            return real_of(da, a)
        di = total(kept(dy, a.shape, axis) * conj(kept(product, a.shape, axis)))
        return real_of(da * conj(initial), a), None, None, None, real_of(di, initial)

    return y, pullback


@rrule(np.multiply.reduce, types=(Array,))
def multiply_reduce(a, axis=0, dtype=None, *, keepdims=False, initial=_none):
    return prod(a, axis, dtype, keepdims=keepdims, initial=initial)


@mirrors(np.prod, np.ndarray.prod, types=(Array,), fallback=True)
def prod_where(a, axis=None, dtype=None, out=None, keepdims=False, initial=1.0, where=True):
    there = np.broadcast_to(where, a.shape)
    return np.prod(np.where(there, a, 1), axis, dtype, keepdims=keepdims) * initial


# -- running sums and products ----------------------------------------------------------------------------


def reversed_sums(dy: np.ndarray, shape: tuple[int, ...], axis: Any) -> np.ndarray:
    """For every element the sum of the cotangents from there on."""
    if axis is None or not shape:
        return np.add.accumulate(dy[::-1])[::-1].reshape(shape)
    axis = axis[0] if type(axis) is tuple else axis
    back = (slice(None),) * (axis % len(shape)) + (slice(None, None, -1),)
    return np.add.accumulate(dy[back], axis)[back]


def running_product_cotangent(dy: np.ndarray, a: np.ndarray, axis: Any) -> np.ndarray:
    """dx_k = (product of all before k) * s_k, where s_k = dy_k + x_{k+1} s_{k+1}: right with zeros too."""
    flat = axis is None or not a.ndim
    x = a.reshape(-1) if flat else np.moveaxis(a, axis, 0)
    d = dy if flat else np.moveaxis(dy, axis, 0)
    out = np.empty(x.shape, np.result_type(x, d))
    s: Any = 0
    for k in range(len(x) - 1, -1, -1):
        s = d[k] + (np.conjugate(x[k + 1]) * s if k + 1 < len(x) else 0)
        out[k] = s
    if len(x) > 1:
        out[1:] *= np.conjugate(np.multiply.accumulate(x[:-1], 0))
    return out.reshape(a.shape) if flat else np.moveaxis(out, 0, axis)


pure.update({reversed_sums, running_product_cotangent})


@rrule(np.cumsum, types=(Array,))
@rrule(np.ndarray.cumsum)
def cumsum(a, axis=None, dtype=None):
    shape = a.shape

    def pullback(dy):
        return real_of(reversed_sums(dy, shape, axis), a)

    return np.ndarray.cumsum(a, axis, dtype), pullback


@rrule(np.add.accumulate, types=(Array,))
def add_accumulate(a, axis=0):
    shape = a.shape

    def pullback(dy):
        return reversed_sums(dy, shape, axis)

    return np.add.accumulate(a, axis), pullback


@rrule(np.cumprod, types=(Array,))
@rrule(np.ndarray.cumprod)
def cumprod(a, axis=None, dtype=None):
    def pullback(dy):
        return real_of(running_product_cotangent(dy, a, axis), a)

    return np.ndarray.cumprod(a, axis, dtype), pullback


# -- a number is its own reduction ------------------------------------------------------------------------


def _of_a_number(f: Any) -> None:
    @rrule(f, types=(Scalar,))
    def number(x):
        def pullback(dy):
            return dy

        return f(x), pullback


for _f in (np.sum, np.mean, np.max, np.min, np.prod):
    _of_a_number(_f)

reduces(
    np.sum, np.ndarray.sum, np.add.reduce, np.mean, np.ndarray.mean, np.max, np.ndarray.max,
    np.amax, np.amin, np.min, np.ndarray.min, np.maximum.reduce, np.minimum.reduce, np.ptp,
    np.prod,
    np.ndarray.prod, np.multiply.reduce, np.cumsum, np.ndarray.cumsum, np.cumprod, np.ndarray.cumprod,
    np.add.accumulate,
)  # fmt: skip
for _f, _rule in (
    (np.sum, sum_),
    (np.mean, mean),
    (np.max, max_),
    (np.min, min_),
    (np.prod, prod),
    (np.cumsum, cumsum),
    (np.maximum.reduce, maximum_reduce),
    (np.minimum.reduce, minimum_reduce),
):
    also_of_sequences(_f, _rule)

_ZERO: list[Any] = [
    np.any, np.all, np.ndarray.any, np.ndarray.all, np.argmax, np.argmin, np.ndarray.argmax, np.ndarray.argmin,
    np.count_nonzero, np.argsort, np.ndarray.argsort, np.nonzero, np.ndarray.nonzero, np.flatnonzero, np.argwhere,
    np.argpartition, np.searchsorted, np.ndarray.searchsorted, np.lexsort, np.digitize, np.nanargmax, np.nanargmin,
    np.logical_and.reduce, np.logical_or.reduce,
]  # fmt: skip
zero_derivative(*_ZERO)
reduces(*[f for f in _ZERO if f is not np.lexsort])

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3])
_T = np.sin(np.arange(24.0) * 1.7).reshape(2, 3, 4) + 0.1
_Z = np.array([[0.5 + 0.2j, -0.7 + 1.0j, 0.3 - 0.7j], [1.0j, 0.2 + 0j, 1.5 - 0.3j]])
_ZEROS = np.array([[0.0, 2.0, 3.0], [0.0, 2.0, 0.0], [1.5, 1.0, 2.0]])
_AXES: list[dict[str, Any]] = [
    {}, {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}, {"axis": (0, 2)}, {"keepdims": True}, {"axis": None},
    {"axis": (-1, 0), "keepdims": True},
]  # fmt: skip

CASES: list[RuleCase] = []
for _f in (
    np.sum, np.ndarray.sum, np.mean, np.ndarray.mean, np.max, np.ndarray.max, np.min, np.ndarray.min, np.prod,
    np.ndarray.prod, np.ptp,
):  # fmt: skip
    CASES += [case(_f, _T, **k) for k in _AXES] + [
        case(_f, _V),
        case(_f, _V.astype(np.float32)),
        case(_f, np.array(0.7)),
    ]
for _f in (np.add.reduce, np.maximum.reduce, np.minimum.reduce, np.multiply.reduce):
    CASES += [
        case(_f, _V),
        case(_f, _T),
        case(_f, _T, axis=None),
        case(_f, _T, axis=1),
        case(_f, _T, (0, 1), keepdims=True),
    ]
CASES += [case(f, _Z, axis=k) for f in (np.sum, np.mean, np.prod) for k in (None, 0)]
CASES += [
    case(np.prod, _ZEROS),
    case(np.prod, _ZEROS, axis=0),
    case(np.prod, _ZEROS, axis=1),
    case(np.prod, _V, initial=2.0),
    case(np.prod, _T, axis=1, dtype=complex),
    case(np.prod, _V, dtype=complex, initial=2.0),
    case(np.prod, _T, axis=1, initial=2.0),
]
CASES += [case(f, x, axis=k) for f in (np.cumsum, np.cumprod) for x in (_T, _T[0].T, _Z, _ZEROS) for k in (None, 0, -1)]
CASES += [
    case(np.ndarray.cumsum, _V), case(np.ndarray.cumprod, _V), case(np.sum, _V, initial=2.0),
    case(np.max, _V, initial=-5.0), case(np.max, _V, initial=5.0),
    case(np.sum, _V, where=np.array([True, False, True, True])), case(np.sum, _V, dtype=np.float64),
    case(np.sum, _T, 0), case(np.sum, _T[:, :0]), case(np.sum, _T[:, :0], axis=0), case(np.sum, [0.5, 1.5]),
    case(np.max, (0.5, 1.5, 0.2)), case(np.mean, [[0.5, 1.0], [1.5, 2.0]], axis=0), case(np.sum, 0.5),
    case(np.sum, _T.T, axis=1), case(np.max, _T.T, axis=1), case(np.argmax, _V), case(np.any, _T, axis=0),
    case(np.argsort, _V), case(np.mean, _T, where=_T > -0.5), case(np.ndarray.mean, _T, 0, None, None, True),
    case(np.max, _T, 1, where=_T > -0.5, initial=-9.0), case(np.ndarray.min, _T, where=_T < 0.5, initial=2.0),
    case(np.prod, _T, 2, where=_T > 0), case(np.ndarray.prod, _T, where=_T > 0, initial=0.5),
    case(np.ptp, _T, out=None), case(np.mean, _V.astype(np.float32), dtype=np.float64),
    case(np.sum, _T, 0, None, np.zeros((3, 4))), case(np.prod, _V, 0, None, None, True),
    case(np.max, _T, (0, 1), None, True),
    case(np.max, np.array(0.5), axis=0), case(np.prod, np.array(0.5), 0), case(np.cumsum, np.array(0.5), -1),
    case(np.cumprod, np.array(0.5), 0), case(np.take, np.array(0.5), [0, 0], 0), case(np.sum, np.array(0.5), axis=0),
]  # fmt: skip
if hasattr(np, "cumulative_sum"):
    CASES += [
        case(np.cumulative_sum, _V), case(np.cumulative_sum, _T, axis=(1,)), case(np.cumulative_prod, _T, axis=(-1,)),
        case(np.cumulative_sum, _T, axis=1, include_initial=True),
        case(np.cumulative_prod, _V), case(np.cumulative_prod, _T, axis=2),
    ]  # fmt: skip
CASES += [case(getattr(np, name), _V) for name in ("product", "cumproduct") if name in vars(np)]  # NumPy 1
CASES += [case(np.ndarray.ptp, _V)] if hasattr(np.ndarray, "ptp") else []
