"""Reductions that leave out what is not a number: their derivative is that of the same on what is left."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.kinds import Array
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import mirrors

_none = np._NoValue


@mirrors(np.nanprod, types=(Array,))
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=1.0, where=True):
    return np.prod(np.where(np.isnan(a) | ~np.asarray(where), 1, a), axis, dtype, keepdims=keepdims) * initial


@mirrors(np.nansum, types=(Array,))
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=0.0, where=True):
    return np.sum(np.where(np.isnan(a) | ~np.asarray(where), 0, a), axis, dtype, keepdims=keepdims) + initial


@mirrors(np.nancumsum, types=(Array,))
def nancumsum(a, axis=None, dtype=None, out=None):
    return np.cumsum(np.where(np.isnan(a), 0, a), axis, dtype)


@mirrors(np.nancumprod, types=(Array,))
def nancumprod(a, axis=None, dtype=None, out=None):
    return np.cumprod(np.where(np.isnan(a), 1, a), axis, dtype)


@mirrors(np.nanmean, types=(Array,))
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=True):
    there = ~np.isnan(a) & where
    return np.sum(np.where(there, a, 0), axis, keepdims=keepdims) / np.sum(there, axis, keepdims=keepdims)


@mirrors(np.nanvar, types=(Array,))
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=_none, correction=_none):
    there = ~np.isnan(a) & where
    n = np.sum(there, axis, keepdims=True)
    x = np.where(there, a, 0)
    m = np.sum(x, axis, keepdims=True) / n if mean is _none else mean
    d = np.where(there, x - m, 0)
    squares = np.sum(np.real(d * np.conjugate(d)), axis, keepdims=keepdims)
    return squares / (np.sum(there, axis, keepdims=keepdims) - (ddof if correction is _none else correction))


@mirrors(np.nanstd, types=(Array,))
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, mean=_none, correction=_none):
    v = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return np.where(v == 0, 0, np.sqrt(np.where(v == 0, 1, v)))


def nan_extremum(f: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any, worst: float) -> Any:
    """What is left out is as bad as can be."""
    there = ~np.isnan(a) & where
    y = f(np.where(there, a, worst), axis, keepdims=keepdims)
    return y if initial is _none else np.maximum(y, initial) if f is np.max else np.minimum(y, initial)


@mirrors(np.nanmax, types=(Array,))
def nanmax(a, axis=None, out=None, keepdims=False, initial=_none, where=True):
    return nan_extremum(np.max, a, axis, keepdims, initial, where, -np.inf)


@mirrors(np.nanmin, types=(Array,))
def nanmin(a, axis=None, out=None, keepdims=False, initial=_none, where=True):
    return nan_extremum(np.min, a, axis, keepdims, initial, where, np.inf)


# -- cases ------------------------------------------------------------------------------------------------

_N = np.array([[0.6, np.nan, 0.9, 0.3], [1.7, -0.4, np.nan, 0.8], [0.2, 0.5, 1.1, -0.7]])
_M = np.sin(np.arange(12.0) * 1.7).reshape(3, 4) + 0.1
_ON = _M > -0.5


def _copied(a):
    """The shape of the result matters where it is copied and written to."""
    y = np.nanmax(a, axis=1)
    o = y.copy()
    o[:] = y
    return (o * o).sum()


def _copied_std(a):
    y = np.nanstd(a, axis=0, keepdims=True)
    o = y.copy()
    o[:] = y * 2.0
    return (o * y).sum()


def _into_mean(a):
    o = np.zeros((1, 4))
    np.nanmean(a, axis=0, keepdims=True, out=o)
    return (o * o).sum()


def _into(a):
    o = np.zeros(3)
    np.nanvar(a, axis=1, out=o)
    return (o * o).sum()


CASES: list[RuleCase] = []
for _f in (np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd, np.nanmax, np.nanmin):
    CASES += [case(_f, x, **k) for x in (_N, _M) for k in ({}, {"axis": 0}, {"axis": 1, "keepdims": True})]
    CASES += [case(_f, _N[0]), case(_f, _N.astype(np.float32), axis=(0, 1)), case(_f, np.array(0.5))]
CASES += [case(f, x, k) for f in (np.nancumsum, np.nancumprod) for x in (_N, _M) for k in (None, 0, 1)]
CASES += [
    case(np.nanvar, _N, 1, ddof=1), case(np.nanstd, _M, 0, None, None, 1), case(np.nansum, _N, where=_ON),
    case(np.nanmean, _N, 0, where=_ON), case(np.nanvar, _M, where=_ON), case(np.nanprod, _N, where=_ON),
    case(np.nansum, _N, axis=0, initial=0.5), case(np.nanmax, _N, axis=0, initial=0.0),
    case(np.nanmin, _N, 1, where=_ON, initial=5.0), case(np.nansum, _N * (1 + 0.5j)),
    case(np.nanvar, _M + 0.5j * _M[::-1]), case(np.nanmean, _N + 1j, axis=0), case(np.nansum, _N, 0, out=np.zeros(4)),
    case(np.nansum, _N[:0]), *[case(f, x) for f in (_copied, _copied_std, _into, _into_mean) for x in (_N, _M)],
]  # fmt: skip
