"""Sets of values: what is found in the result has the derivative of the first element that is equal to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.infer.types import Arr, T
from mooncake_py.registry import infer_table, pure, rrule
from mooncake_py.testing import RuleCase, case
from mooncake_rules.inference import Types, gives_one, nested
from mooncake_rules.sequences import unstack


def first_places(x: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Where in the vector x each of the values stands first; NaN is where the first NaN is."""
    order = np.argsort(x, kind="stable")
    return order[np.searchsorted(x[order], values)]


def of_values(dy: Any, y: Any, *args: Any) -> tuple[Any, ...]:
    """The cotangents of what the values were taken from, all elements of all arguments."""
    d, values = (dy[0], y[0]) if isinstance(y, (tuple, list)) else (dy, y)
    if d is None:
        return ()
    parts = [np.asarray(a) for a in args]
    x = np.concatenate([p.ravel() for p in parts])
    t = np.zeros(x.shape, d.dtype)
    np.add.at(t, first_places(x, values), d)
    ends = np.cumsum([p.size for p in parts])
    return tuple(
        unstack(t[end - p.size : end].reshape(p.shape), a) for p, a, end in zip(parts, args, ends, strict=True)
    )


def rows_cotangent(dy: Any, ar: Any, axis: int) -> Any:
    """That of the first of equal rows."""
    d = dy[0] if isinstance(dy, tuple) else dy
    _, first = np.unique(ar, return_index=True, axis=axis)
    x = np.asarray(ar)
    t = np.zeros(x.shape, x.dtype)
    if d is not None:
        np.moveaxis(t, axis, 0)[first] = np.moveaxis(d, axis, 0)
    return unstack(t, ar)


pure.update({first_places, of_values, rows_cotangent})


@rrule(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True):
    y = np.unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)

    def pullback(dy):
        return of_values(dy, y, ar) if axis is None else (rows_cotangent(dy, ar, axis),)

    return y, pullback


def _of_one(f: Any) -> None:
    @rrule(f)
    def rule(x):
        y = f(x)

        def pullback(dy):
            return of_values(dy, y, x)

        return y, pullback


for _name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
    if hasattr(np, _name):
        _of_one(getattr(np, _name))


@rrule(np.union1d)
def union1d(ar1, ar2):
    y = np.union1d(ar1, ar2)

    def pullback(dy):
        return of_values(dy, y, ar1, ar2)

    return y, pullback


@rrule(np.intersect1d)
def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    y = np.intersect1d(ar1, ar2, assume_unique, return_indices)

    def pullback(dy):
        return of_values(dy, y, ar1, ar2)

    return y, pullback


def _difference(f: Any) -> None:
    @rrule(f)
    def rule(ar1, ar2, assume_unique=False):
        y = f(ar1, ar2, assume_unique)

        def pullback(dy):
            return of_values(dy, y, ar1, ar2)

        return y, pullback


_difference(np.setdiff1d)
_difference(np.setxor1d)
gives_one(np.unique)
pure.update({np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d})


def _of_both(args: Types, kwargs: dict[str, T]) -> T | None:
    """Values of two arrays, whatever their shapes, in one direction."""
    dtypes = [found[1] for t in args[:2] if (found := nested(t)) is not None and found[1] is not None]
    if len(dtypes) < 2 or "return_indices" in kwargs or len(args) > 3:
        return None
    return Arr(np.result_type(*dtypes), 1, any(t.active for t in args[:2]))


for _f in (np.union1d, np.intersect1d, np.setdiff1d, np.setxor1d):
    infer_table[_f] = _of_both

# -- cases ------------------------------------------------------------------------------------------------

_V = np.array([0.6, -0.8, 0.9, 0.3, 1.7])
_P = np.array([0.4, 1.3, 2.2, 1.71])
_M = np.array([[0.5, -1.2, 2.0], [0.3, 1.4, -0.6]])


def _shared(x: np.ndarray, y: np.ndarray) -> Any:
    both = np.concatenate([y, x[:2]])
    return np.intersect1d(x, both) * 2, np.setdiff1d(x, both), np.setxor1d(x, both), np.union1d(x, both)


def _repeated(x: np.ndarray) -> Any:
    values, counts = np.unique(np.concatenate([x, x[1:3]]), return_counts=True)
    return values * counts


CASES: list[RuleCase] = [
    case(np.unique, _M), case(np.unique, _V, return_counts=True), case(np.unique, _V, True, True), case(_repeated, _V),
    case(np.unique, _M, axis=0), case(np.unique, _M.tolist(), axis=0),
    case(np.unique, _M, axis=1, return_index=True), case(np.unique, [0.5, 0.2]),
    case(np.union1d, _V, _P), case(np.setdiff1d, _V, _P), case(np.setxor1d, _V, _P), case(_shared, _V, _P),
    case(np.setdiff1d, _V, _P, assume_unique=True),
]  # fmt: skip
if hasattr(np, "unique_values"):
    CASES += [case(getattr(np, f"unique_{k}"), _V) for k in ("all", "counts", "inverse", "values")]
