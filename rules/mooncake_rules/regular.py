"""Types of results, found by a call on regular arguments: matrices that are positive definite, vectors of numbers that
grow, long enough for windows and filters.

For functions whose result is of the same type for all arguments of the same types: the engine's own samples are
singular, and have two items.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.parts import activate
from mooncake_py.infer.resolve import sample
from mooncake_py.infer.types import Arr, Inst, Known, Lst, T, Top, Tup
from mooncake_py.registry import infer_table
from mooncake_rules.inference import Types

LENGTH = 10  # what a matrix of distances between five points has above its diagonal


def by_regular_samples(*functions: Callable[..., Any]) -> None:
    """Find the types of what these functions give by a call for every combination of types."""
    for f in functions:
        infer_table[f] = functools.partial(_infer, f)


def _infer(f: Callable[..., Any], args: Types, kwargs: dict[str, T]) -> T | None:
    if any(map(_may_be_given_back, kwargs, kwargs.values())):
        return None
    if any(t == Inst(bool) for t in (*args, *kwargs.values())):
        return None  # it may decide how much there is in the result
    t = _found(f, args, tuple(sorted(kwargs.items())))
    act = any(t.active for t in (*args, *kwargs.values()))
    return activate(t, True) if t is not None and act else t


def _may_be_given_back(name: str, t: T) -> bool:
    """Is it an argument by which the result is one of the arguments?"""
    if name in ("out", "output"):
        return not (isinstance(t, Known) and isinstance(t.value, str))
    return name.startswith("overwrite") and t != Known(False)


@functools.lru_cache(4000)
def _found(f: Callable[..., Any], args: Types, kwargs: tuple[tuple[str, T], ...]) -> T | None:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            y = f(*map(regular, args), **{k: regular(t) for k, t in kwargs})
    except Exception:  # what refuses the sample tells nothing
        return None
    t = abstract(y, False)
    return None if isinstance(t, Top | Known) else t


def regular(t: T) -> Any:
    """A value of the type."""
    if isinstance(t, Arr) and t.dtype is not None and t.dtype.kind in "fciu" and t.ndim:
        if t.ndim == 1:  # whole numbers may be places in the others
            return (0.1 * np.arange(1, LENGTH + 1) if t.dtype.kind in "fc" else np.arange(LENGTH)).astype(t.dtype)
        return np.broadcast_to(np.eye(LENGTH) * LENGTH + 1.0, (2,) * (t.ndim - 2) + (LENGTH, LENGTH)).astype(t.dtype)
    if isinstance(t, Tup) and t.cls is tuple:
        return tuple(map(regular, t.items))
    if isinstance(t, Lst) and t.cls is list and isinstance(t.elem, Arr):
        return [regular(t.elem), regular(t.elem)]
    return sample(t)
