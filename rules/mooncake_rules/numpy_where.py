"""`where` and `clip`: elements taken from one array or another, for numbers and arrays of every dtype.

Subgradients: at its bounds, `clip` gives all of the cotangent to the clipped array, and where that is NaN as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.kinds import Any_, Sequence_
from mooncake_py.registry import inline, overlay, probed, pure, rrule, zero_derivative
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import is_number, real_of, total, unbroadcast
from mooncake_rules.sequences import SEQUENCES, unstack


@inline
def keep(x: Any) -> Any:
    """What to keep of x to sum a cotangent down to it."""
    return () if is_number(x) else x.shape


@inline
def onto(t: Any, like: Any, shape: Any) -> Any:
    """The cotangent t of a broadcast result summed down to `like`, whose shape is `shape`."""
    return real_of(total(t), like) if is_number(like) else real_of(unbroadcast(t, shape), like)


zero_derivative(np.where)  # with one argument: indices


@rrule(np.where)
def where(condition, x, y):
    sx = keep(x)
    sy = keep(y)

    def pullback(dy):
        return None, onto(np.where(condition, dy, 0), x, sx), onto(np.where(condition, 0, dy), y, sy)

    return np.where(condition, x, y), pullback


@rrule(np.where, types=(Any_, Sequence_, Any_))
@rrule(np.where, types=(Any_, Any_, Sequence_))
def where_of_sequence(condition, x, y):
    sx = np.shape(x)
    sy = np.shape(y)

    def pullback(dy):
        t = np.asarray(dy)
        dx = unstack(unbroadcast(np.where(condition, t, 0), sx), x)
        return None, dx, unstack(unbroadcast(np.where(condition, 0, t), sy), y)

    return np.where(condition, x, y), pullback


def inside(a: Any, lo: Any, hi: Any) -> Any:
    """Where a is not clipped; what is not a number is not."""
    if lo is None:
        clipped = False if hi is None else a > hi
    else:
        clipped = a < lo if hi is None else (a < lo) | (a > hi)
    return not clipped if type(clipped) is bool else ~clipped


def below(a: Any, lo: Any, hi: Any) -> Any:
    """Where the result is lo: a lower bound above the upper one counts for nothing."""
    return a < lo if hi is None else (a < lo) & (lo <= hi)


def above(a: Any, lo: Any, hi: Any) -> Any:
    """Where the result is hi."""
    return a > hi if lo is None else (a > hi) | (lo > hi)


pure.update({inside, below, above})
probed.update({np.where, np.clip, np.ndarray.clip})


def clip_cotangents(dy: Any, a: Any, lo: Any, hi: Any) -> tuple[Any, Any, Any]:
    """What `_clip` says, where some of a, lo and hi may be lists or tuples."""
    x = np.asarray(a)
    least, most = (None if v is None else np.asarray(v) for v in (lo, hi))
    da = unstack(unbroadcast(dy * inside(x, least, most), x.shape), a)
    dl = None if least is None else unstack(unbroadcast(dy * below(x, least, most), least.shape), lo)
    dh = None if most is None else unstack(unbroadcast(dy * above(x, least, most), most.shape), hi)
    return da, dl, dh


pure.add(clip_cotangents)


@inline
def _clip(y: Any, a: Any, lo: Any, hi: Any) -> Any:
    if isinstance(a, SEQUENCES) or isinstance(lo, SEQUENCES) or isinstance(hi, SEQUENCES):

        def pullback_listed(dy):
            return clip_cotangents(dy, a, lo, hi)

        return y, pullback_listed

    sa = keep(a)
    sl = keep(lo)
    sh = keep(hi)

    def pullback(dy):
        da = onto(dy * inside(a, lo, hi), a, sa)
        dl = None if lo is None else onto(dy * below(a, lo, hi), lo, sl)
        dh = None if hi is None else onto(dy * above(a, lo, hi), hi, sh)
        return da, dl, dh

    return y, pullback


@rrule(np.clip, np.ndarray.clip)
def clip_between(a, min=None, max=None):
    if min is None:
        if max is None:
            return _clip(np.clip(a, None, None), a, None, None)
        return _clip(np.minimum(a, max), a, None, max)
    if max is None:
        return _clip(np.maximum(a, min), a, min, None)
    return _clip(np.clip(a, min, max), a, min, max)


@rrule(np.clip)
def clip(a, a_min, a_max):
    return _clip(np.clip(a, a_min, a_max), a, a_min, a_max)


@overlay(np.ndarray.clip)
def clip_in_dtype(self, min=None, max=None, *, dtype=None, casting="same_kind"):
    def cast(v):
        return v if v is None else np.asarray(v).astype(dtype, casting=casting)

    return np.clip(cast(self), cast(min), cast(max))


# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3])
_P = np.array([0.4, 1.3, 2.2, 0.9])
_Z = np.array([0.5 + 0.2j, -0.7 + 1.0j, 0.3 - 0.7j])
_M = np.array([[0.5, -1.2, 2.0, 0.7], [0.3, 1.4, -0.6, 0.2]])

CASES: list[RuleCase] = [
    case(np.where, _V > 0, _V, _P), case(np.where, _V > 0, 1.5, _P), case(np.where, _M > 0, _P, 0.3),
    case(np.where, True, 0.5, 0.2), case(np.where, [True, False], [0.1, 0.2], 0.3),
    case(lambda c, x, y: np.where(c, 0.5, (x, y)), _V[:2] > 0, 0.3, 1.2),
    case(np.where, _V[:3] > 0, _Z, _P[:3].tolist()),
    case(np.where, _V[:3] > 0, _Z, _P[:3]), case(np.where, _M > 0, _M[:, :1], _M[:1]),
    case(np.clip, _V, -0.5, 0.5), case(np.clip, _M, _P - 1, 1.5), case(np.clip, _V, None, 0.5),
    case(np.clip, _V, _P - 0.5, 0.45), case(np.clip, 0.3, 1.2, 1.0), case(np.clip, [0.3, 2.0], [1.7, 0.1], 1.5),
    case(np.clip, 0.3, 0.0, 1.0), case(np.clip, [0.3, 2.0], (0.5, 0.1), [1.0, 1.5]),
    case(np.ndarray.clip, _V, -0.5, 0.5), case(np.ndarray.clip, _V, min=0.0),
    case(np.clip, _V, -0.5, 0.5, dtype=complex), case(np.clip, _V.astype(np.float32), -0.5, _P - 0.55, dtype=float),
    case(np.clip, _V, min=0.1, dtype=np.float64),
    case(np.ndarray.clip, _V, max=0.4),
]  # fmt: skip
