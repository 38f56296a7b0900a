"""Functions that rules are given: running them with cotangents of their own.

A function that a rule calls depends on its arguments and on what it captured: cells of a closure, default values, the
object it is a method of. `run` gives fresh fdata to the arguments; what was captured gets its cotangents at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mooncake_py.runtime.site import call
from mooncake_py.runtime.user import seed
from mooncake_py.tangents import take_fdata, zero_fdata


def number_part(fy: Any, dy: Any) -> Any:
    """What of the cotangent of a value travels as rdata, its fdata being `fy`."""
    if fy is None or dy is None:
        return dy
    if type(fy) is tuple:
        return tuple([number_part(f, d) for f, d in zip(fy, dy, strict=True)])
    return None


Pull = Callable[[Any], tuple[Any, ...]]


def run(f: Any, ff: Any, args: Sequence[Any], active: Sequence[bool] | None = None) -> tuple[Any, Pull]:
    """`f(*args)` and its pullback: the cotangent of the value to those of the arguments, None for the inactive."""
    on = active if active is not None else [True] * len(args)
    fargs = tuple([zero_fdata(a) if k else None for a, k in zip(args, on, strict=True)])
    y, fy, pb = call(f, ff, tuple(args), fargs)

    def pull(dy: Any) -> tuple[Any, ...]:
        seed(y, fy, dy)
        ds = None if pb is None else pb(number_part(fy, dy))
        return tuple(
            [
                take_fdata(fa, None if ds is None else ds[1 + i]) if k else None
                for i, (fa, k) in enumerate(zip(fargs, on, strict=True))
            ]
        )

    return y, pull
