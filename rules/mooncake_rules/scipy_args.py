"""`args` that SciPy gives to functions of the user's, where it takes them from anything that it can go through."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.tangents import CoDual, ListShadow


def spread(args: CoDual) -> CoDual:
    """`args` of functions that go through them, be it a tuple, a list or an array: as a tuple."""
    if isinstance(args.primal, tuple):
        return args
    return CoDual(tuple(args.primal), tuple(args.fdata.f) if type(args.fdata) is ListShadow else None)


def gathered(args: CoDual, ds: tuple[Any, ...]) -> Any:
    """The cotangent of such `args`, for those of what is in them."""
    if isinstance(args.primal, tuple):
        return ds
    if isinstance(args.primal, np.ndarray):
        return np.array([np.zeros_like(x) if t is None else t for x, t in zip(args.primal, ds, strict=True)])
    if type(args.fdata) is ListShadow:
        args.fdata.add(ds)
    return None
