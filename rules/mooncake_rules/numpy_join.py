"""Arrays joined to one, and split into several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.errors import NotDifferentiated
from mooncake_py.infer.types import Arr, Known, Lst, T, Top, Tup
from mooncake_py.kinds import Array
from mooncake_py.registry import all_there, infer_table, inline, overlay, pure, rrule, shape_argument, zero_derivative
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, ListShadow
from mooncake_py.testing import RuleCase, case
from mooncake_rules.inference import Types, dtype_of, element_dtype, nested, reduces, shape_ndim
from mooncake_rules.mirror import mirrors
from mooncake_rules.sequences import SEQUENCES, unstack


def reshaped(dy: Any, shape: tuple[int, ...]) -> np.ndarray:
    """dy, perhaps a number, in another shape."""
    return np.asarray(dy).reshape(shape)


shape_argument[reshaped] = 1
infer_table[reshaped] = lambda args, kwargs: Arr(element_dtype(args[0]), shape_ndim(args[1]))

# -- joining ----------------------------------------------------------------------------------------------


def pieces(xs: Any, like: Callable[[tuple[int, ...]], tuple[int, ...]] | None) -> list[tuple[Any, ...]]:
    """Of every joined piece its shape, the shape it is joined in, whether it is real, and its class.

    Of a real array that is joined as it is, the shape alone; a list or tuple stands in place of its class.
    """
    out: list[tuple[Any, ...]] = []
    for x in xs:
        cls = type(x)
        if cls is np.ndarray and like is None and x.dtype.kind != "c":
            out.append(x.shape)
            continue
        if cls is np.ndarray:
            shape, real = x.shape, x.dtype.kind != "c"
        else:
            if hasattr(x, "__array__") and not isinstance(x, (np.ndarray, np.generic)):
                raise NotDifferentiated(
                    f"objects are joined with their derivative as arrays: np.asarray({cls.__name__})"
                )
            shape, real = np.shape(x), not np.iscomplexobj(x)
            cls = x if isinstance(x, SEQUENCES) else cls
        joined = shape if like is None else like(shape)
        out.append(shape if real and cls is np.ndarray and joined == shape else (shape, joined, real, cls))
    return out


def piece(part: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[int, ...], bool, Any]:
    """All that `pieces` says of one."""
    return part if part and type(part[0]) is tuple else (part, part, True, np.ndarray)


def cut(dy: np.ndarray, parts: list[tuple[Any, ...]], axis: int) -> list[Any]:
    """The cotangents of pieces that were joined along an axis."""
    out: list[Any] = []
    at = 0
    lead = (slice(None),) * (axis % dy.ndim) if axis else ()
    mixed = dy.dtype.kind == "c"
    for part in parts:
        if not mixed and part and type(part[0]) is int:  # most are arrays as they are
            n = part[axis]
            out.append(dy[(*lead, slice(at, at + n))] if lead else dy[at : at + n])
            at += n
            continue
        shape, joined, real, cls = piece(part)
        n = joined[axis]
        t = dy[(*lead, slice(at, at + n))]
        at += n
        if mixed and real:
            t = t.real
        out.append(_of_class(cls, t if shape == joined and cls is np.ndarray else t.reshape(shape)))
    return out


def _of_class(cls: Any, t: Any) -> Any:
    """The cotangent of a piece, as a number, a list or a tuple where it was one."""
    if isinstance(cls, SEQUENCES):
        return unstack(t, cls)
    return t.item() if cls in _NUMBERS else t if cls is np.ndarray else t[()]


_NUMBERS = (float, complex)

pure.update({pieces, cut})
all_there.add(cut)


def _tall(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1,) * (2 - len(shape)) + shape


def _line(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape or (1,)


def _column(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if len(shape) >= 2 else (*_line(shape), 1)


def _deep(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1, *_line(shape), 1) if len(shape) < 2 else (*shape, 1) if len(shape) == 2 else shape


@inline
def _as_given(ts: Any, arrays: Any) -> Any:
    """Cotangents of pieces, as those of one array where they were given as one."""
    return np.stack(ts) if isinstance(arrays, np.ndarray) else ts


@rrule(np.concatenate)
def concatenate(arrays, axis=0):
    parts = pieces(arrays, None)

    def pullback(dy):
        if axis is None:
            return (_as_given(cut(dy, [(s, (int(np.prod(s)),), r, c) for s, _, r, c in map(piece, parts)], 0), arrays),)
        return (_as_given(cut(dy, parts, axis), arrays),)

    return np.concatenate(arrays, axis), pullback


def _stacked(f: Any, axis_of: Callable[[int], int], like: Callable) -> None:
    @rrule(f)
    def rule(tup):
        parts = pieces(tup, like)

        def pullback(dy):
            return (_as_given(cut(dy, parts, axis_of(dy.ndim)), tup),)

        return f(tup), pullback


_stacked(np.vstack, lambda n: 0, _tall)

_row_stack: Any = vars(np).get("row_stack", np.vstack)  # another name of it, deprecated

if _row_stack is not np.vstack:
    _stacked(_row_stack, lambda n: 0, _tall)

_stacked(np.hstack, lambda n: 0 if n == 1 else 1, _line)
_stacked(np.column_stack, lambda n: 1, _column)
_stacked(np.dstack, lambda n: 2, _deep)


@mirrors(np.concatenate, fallback=True)
def concatenate_converted(arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    return np.concatenate(arrays, axis)


@mirrors(np.vstack, fallback=True)
def vstack_converted(tup, dtype=None, casting="same_kind"):
    return np.vstack(tup)


@mirrors(np.hstack, fallback=True)
def hstack_converted(tup, dtype=None, casting="same_kind"):
    return np.hstack(tup)


@mirrors(np.stack, fallback=True)
def stack_converted(arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    return np.stack(arrays, axis)


def depth_of(arrays: Any) -> int:
    return 1 + max(map(depth_of, arrays)) if isinstance(arrays, list) else 0


def most_dimensions(arrays: Any) -> int:
    return max(map(most_dimensions, arrays)) if isinstance(arrays, list) else np.ndim(arrays)


zero_derivative(depth_of, most_dimensions)


def joined(arrays, depth, ndim):
    if depth == 0:
        x = np.asarray(arrays)
        return np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    return np.concatenate([joined(x, depth - 1, ndim) for x in arrays], -depth)


@mirrors(np.block)
def block(arrays):
    depth = depth_of(arrays)
    return joined(arrays, depth, max(depth, most_dimensions(arrays)))


@overlay(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    xs = [np.asarray(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in xs])
    ys = [x if x.shape == shape else np.broadcast_to(x, shape) for x in xs]
    return tuple(ys) if _TWO else ys


_by_index = type(np.r_).__getitem__


def _tupled(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def pieces_by_index(joiner: Any, key: Any) -> list[tuple[Any, ...]]:
    """The pieces that `np.r_[key]` or `np.c_[key]` joins, ranges as the arrays that they stand for."""
    keys, least = _tupled(key), joiner.ndmin
    if any(isinstance(k, str) for k in keys):
        raise NotDifferentiated("np.r_ is differentiated without a string of directions")

    def like(shape: tuple[int, ...]) -> tuple[int, ...]:
        new = (1,) * (least - len(shape))
        return new + shape if joiner.trans1d == -1 else shape + new

    return pieces([np.r_[k] if isinstance(k, slice) else k for k in keys], like)


def cut_by_index(dy: Any, key: Any, parts: Any, axis: int) -> Any:
    """The cotangents of what `np.r_` or `np.c_` joined; ranges have none."""
    ts = [None if isinstance(k, slice) else t for k, t in zip(_tupled(key), cut(dy, parts, axis), strict=True)]
    return tuple(ts) if isinstance(key, tuple) else ts[0]


pure.update({pieces_by_index, cut_by_index})


@rrule(_by_index)
def joined_by_index(self, key):
    """`np.r_[...]` and `np.c_[...]` of arrays, numbers and ranges."""
    parts = pieces_by_index(self, key)
    axis = self.axis

    def pullback(dy):
        return None, cut_by_index(dy, key, parts, axis)

    return _by_index(self, key), pullback


def _is_double(x: T) -> bool:
    found = nested(x)
    return found is not None and found[1] is not None and found[1].char == "d"


_DIMENSIONS: dict[Any, int] = {type(np.r_): 1, type(np.c_): 2}


def _by_index_type(args: Types, kwargs: dict[str, T]) -> T | None:
    """The dtype is that of arrays; of what else there is, numbers in double precision change nothing."""
    joiner, key = args
    items = key.items if isinstance(key, Tup) else (key,)
    arrays = [x for x in items if isinstance(x, Arr)]
    others = [x for x in items if not isinstance(x, Arr)]
    double = all((isinstance(x, Known) and type(x.value) in (int, float, slice)) or _is_double(x) for x in others)
    least = _DIMENSIONS.get(getattr(joiner, "cls", None))
    if least is None or not arrays or any(x.ndim is None for x in arrays):
        return Top(key.active)
    dtypes = [x.dtype for x in arrays if x.dtype is not None]
    joined = np.result_type(*dtypes) if len(dtypes) == len(arrays) else None
    if others and (not double or joined is None or joined.char not in "dD"):
        joined = None
    return Arr(joined, max(least, *[x.ndim or 0 for x in arrays]), key.active)


infer_table[_by_index] = _by_index_type
pure.add(_by_index)

_TWO = int(np.__version__.split(".")[0]) >= 2


@overlay(np.ix_)
def ix_(*args):
    """Views of the arrays, as NumPy gives."""
    n = len(args)
    return tuple([across(args[i], i, n) for i in range(n)])


@overlay(np.ix_, arity=2)
def ix_of_two(rows, columns):
    return in_line(rows)[:, None], in_line(columns)[None, :]


def _crossed(args: Types, kwargs: dict[str, T]) -> T | None:
    """Each along a direction of its own; truth values stand for places."""
    found = [nested(t) for t in args]
    if not all(p is not None and p[0] == 1 and p[1] is not None for p in found):
        return None
    dtypes = [np.dtype(np.intp) if p[1].kind == "b" else p[1] for p in found if p is not None and p[1] is not None]
    return Tup(tuple([Arr(d, len(args), t.active) for d, t in zip(dtypes, args, strict=True)]))


infer_table[np.ix_] = _crossed


def across(x, i, n):
    x = in_line(x)
    return np.reshape(x, (1,) * i + (len(x),) + (1,) * (n - i - 1))


def in_line(x):
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("Cross index must be 1 dimensional")
    return x.nonzero()[0] if x.size == 0 or x.dtype == bool else x


def unstacked(dy: np.ndarray, parts: list[tuple[Any, ...]], axis: int) -> list[Any]:
    """The cotangents of pieces that were stacked along a new axis."""
    moved = dy if axis == 0 else np.moveaxis(dy, axis, 0)
    mixed = dy.dtype.kind == "c"
    out: list[Any] = []
    for t, (_, _, real, cls) in zip(moved, map(piece, parts), strict=True):
        out.append(_of_class(cls, t.real if mixed and real else t))
    return out


pure.add(unstacked)


@rrule(np.stack)
def stack(arrays, axis=0):
    parts = pieces(arrays, None)

    def pullback(dy):
        return (_as_given(unstacked(dy, parts, axis), arrays),)

    return np.stack(arrays, axis), pullback


@rrule(np.append)
def append(arr, values, axis=None):
    parts = pieces((arr, values), None if axis is not None else lambda s: (int(np.prod(s)),))

    def pullback(dy):
        return tuple(cut(dy, parts, 0 if axis is None else axis))

    return np.append(arr, values, axis), pullback


def _joined(extra: int, least: int) -> Callable[[Types, dict[str, T]], T | None]:
    """Joining arrays: `extra` new axes, at least `least` of them."""

    def infer(args: Types, kwargs: dict[str, T]) -> T | None:
        xs = args[0]
        axis = kwargs.get("axis") or (args[1] if len(args) > 1 else None)
        items = xs.items if isinstance(xs, Tup) else (xs.elem,) if isinstance(xs, Lst) else ()
        found = [nested(x) for x in items]
        if not found or None in found:
            return Top(xs.active)
        dtypes = [f[1] for f in found if f is not None]
        n: int | None = max(max(f[0] for f in found if f is not None) + extra, least)
        if isinstance(axis, Known) and axis.value is None and axis is not None:
            n = 1
        known = [d for d in dtypes if d is not None]
        joined = np.result_type(*known) if len(known) == len(dtypes) else None
        return Arr(dtype_of(kwargs.get("dtype"), joined), n, xs.active)

    return infer


for _f, _extra, _least in (
    (np.concatenate, 0, 1), (np.stack, 1, 1), (np.vstack, 0, 2), (np.hstack, 0, 1), (np.column_stack, 0, 2),
    (np.dstack, 0, 3),
):  # fmt: skip
    infer_table[_f] = _joined(_extra, _least)
    pure.add(_f)

reduces(np.append)

# -- splitting --------------------------------------------------------------------------------------------


def _split(f: Any) -> None:
    """A list of views; their shadows are the same views of the array's shadow."""

    @rrule(f, types=(Array,))
    def rule(ary: CoDual, indices_or_sections, axis=0):
        return split_views(f, ary.primal, ary.fdata, indices_or_sections, axis)


def split_views(f: Any, a: np.ndarray, shadow: Shadow | None, *args: Any) -> tuple[CoDual, Any]:
    xs = f(a, *args)
    fx = None if shadow is None else ListShadow(shadow.views(f, *args), [None] * len(xs))

    def pullback(_: Any) -> None:
        return None

    return CoDual(xs, fx), pullback


def _split_fixed(f: Any) -> None:
    @rrule(f, types=(Array,))
    def rule(ary: CoDual, indices_or_sections):
        return split_views(f, ary.primal, ary.fdata, indices_or_sections)


_split(np.split)
_split(np.array_split)

for _f in (np.hsplit, np.vsplit, np.dsplit):
    _split_fixed(_f)

for _f in (np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit):
    infer_table[_f] = lambda args, kwargs: Lst(args[0], args[0].active) if isinstance(args[0], Arr) else None

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.5, -1.2, 2.0, 0.3, 1.1, -0.4])
_M = _V.reshape(2, 3).copy()
_T = np.cos(np.arange(24.0)).reshape(2, 3, 4)
_Z = _M * (1 + 0.5j)


def _written_across(x: np.ndarray) -> np.ndarray:
    x = x * 1.0
    y = np.ix_(x, x)[0].ravel()
    y *= x[1]
    return x * y


CASES: list[RuleCase] = [
    case(np.concatenate, (_V, _V * 2)), case(np.concatenate, [_V, _V[:2], np.zeros(0)]),
    case(np.concatenate, (_M, _M * 2), axis=1), case(np.concatenate, [_M, _M], axis=None),
    case(np.concatenate, (_M, _Z)), case(np.concatenate, [_T, _T[:, :1]], axis=-2), case(np.vstack, [_M, _V[:3]]),
    case(np.vstack, (_V, _V)), case(np.hstack, (_V, _V)), case(np.hstack, [_M, _M]), case(np.hstack, (0.5, 1.5)),
    case(np.column_stack, (_V, _V)), case(np.column_stack, [_M, _V[:2]]), case(np.dstack, (_M, _M)),
    case(np.dstack, [_V, _V]), case(np.stack, [_V, _V]), case(np.stack, (_M, _Z), axis=-1),
    case(np.stack, (_M, _M), axis=1), case(np.stack, [0.5, 1.5]), case(np.append, _V, _V[:2]),
    case(np.append, _V, 0.5), case(np.append, _V, np.float64(0.5)), case(np.append, _M, _M, axis=1),
    case(np.append, _V, [0.5, 0.7]),
    case(np.append, (0.5, 0.7), _V), case(np.concatenate, (_V, (0.5, 0.7))), case(np.split, _V, 3),
    case(np.split, _M, [1, 2], axis=1), case(np.array_split, _V, 4), case(np.hsplit, _M, 3), case(np.vsplit, _M, 2),
    case(np.concatenate, _T), case(np.concatenate, _T, 1), case(np.vstack, _T), case(np.hstack, _T),
    case(np.stack, _T, axis=1), case(np.column_stack, _M), case(np.concatenate, _T, axis=None),
    case(np.concatenate, (_M, _M), dtype=np.float32), case(np.concatenate, (_M, _M), out=np.zeros((4, 3))),
    case(np.stack, (_M, _M), 0, out=np.zeros((2, 2, 3))),
    case(np.vstack, (_M, _V[:3]), dtype=np.float32, casting="same_kind"), case(np.hstack, (_V, _V), dtype=np.float32),
    case(np.stack, [_V, _V], dtype=np.float32), case(np.block, [[_M, _M], [_M[:1], _M[:1]]]),
    case(np.block, [_V, 0.5]), case(np.block, [[_V], [_V]]), case(np.block, _V),
    case(np.broadcast_arrays, _V, _M.reshape(-1, 1)), case(np.broadcast_arrays, _M, 0.5), case(np.ix_, _V, _V[:2]),
    case(lambda m, x: m[np.ix_(x > 1, [True, False, True])] * np.ix_(x, x[:2] * 2)[1], _M, _V[1:3]),
    case(_written_across, _V),
    case(np.dsplit, _T, 2), case(lambda x: np.r_[x, 0.5, x * 2, 0:2], _V), case(lambda m: np.r_[m, m * 2], _M),
    case(lambda x: np.c_[x, x[::-1] * 2, 0:6], _V), case(lambda x, y: np.r_[x, y] * y, _V.astype(np.float32), 0.5),
    case(lambda m, x: np.c_[m, x, [0.5, 1.5]], _M, _V[:2]), case(lambda x, z: np.r_[x, z, 1j], _V, _Z[0]),
    case(lambda x: np.r_[x] * np.r_[0:1:6j], _V), case(lambda x, y: np.r_[x, [y, 2.0], 1 : 2 : 0.5] ** 2, 0.5, 0.7),
]  # fmt: skip

CASES.append(case(_row_stack, [_M, _V[:3]]))
