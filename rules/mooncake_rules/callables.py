"""Functions that rules are given: running them with cotangents of their own.

A function that a rule calls depends on its arguments and on what it captured: cells of a closure, default values, the
object it is a method of. `run` gives fresh fdata to the arguments; what was captured gets its cotangents at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py.run import Run
from mooncake_py.runtime.calls import call
from mooncake_py.runtime.user import seed
from mooncake_py.tangents import made_fdata, take_fdata, zero_fdata
from mooncake_rules.captured import Captured
from mooncake_rules.copies import Copies, flatten, unflatten


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
    with Run():
        fargs = tuple([made_fdata(a) if k else None for a, k in zip(args, on, strict=True)])
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


class Dependence:
    """A function given to a rule, by everything it depends on besides the arguments of a call.

    That is what it captured and the `extra` arguments that always follow; together they are a vector of `size`
    numbers. `at(*xs)` runs the function with cotangents apart from those of the program that is differentiated;
    `give(vector)` hands a cotangent of the vector over to it.
    """

    def __init__(self, f: Any, ff: Any, extra: tuple[Any, ...] = (), fextra: Any = None):
        self.f, self.ff = f, ff
        self.extra = tuple(extra)
        self.fextra = fextra if type(fextra) is tuple else (None,) * len(self.extra)
        self.captured = Captured([(f, ff)])

    def at(self, *xs: Any) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], np.ndarray]]]:
        """The value, and its pullback to the arguments and the vector. Arrays among xs may be differentiated by."""
        self.captured.put_back()
        copies = Copies()
        ff = copies.of(self.f, self.ff)
        fextra = tuple([_beside(x, fx, copies) for x, fx in zip(self.extra, self.fextra, strict=True)])
        with Run() as here:
            copies.known_to(here)
            fargs = (*map(made_fdata, xs), *fextra)
            y, fy, pb = call(self.f, ff, (*xs, *self.extra), fargs)

        def pull(dy: Any) -> tuple[tuple[Any, ...], np.ndarray]:
            seed(y, fy, dy)
            ds = None if pb is None else pb(number_part(fy, dy))
            ds = (None,) * (1 + len(fargs)) if ds is None else ds
            n = len(xs)
            dxs = tuple([take_fdata(fa, d) for fa, d in zip(fargs[:n], ds[1 : 1 + n], strict=True)])
            parts: list[Any] = []
            for x, fx, fa, d in zip(self.extra, self.fextra, fextra, ds[1 + n :], strict=True):
                flatten(x, fx, _own_cotangent(fx, fa, d), parts)
            copies.flatten(parts)
            return dxs, np.concatenate([np.ravel(p) for p in parts]) if parts else np.zeros(0)

        return y, pull

    def give(self, vector: np.ndarray) -> tuple[Any, ...]:
        """Add a cotangent to what was captured; those of the extra arguments are returned, as a rule returns them."""
        self.captured.put_back()
        rest = list(vector)
        out = tuple([unflatten(x, fx, rest) for x, fx in zip(self.extra, self.fextra, strict=True)])
        copies = Copies()
        copies.of(self.f, self.ff)
        for x, fx in zip(self.extra, self.fextra, strict=True):
            copies.of(x, fx)
        copies.give(rest)
        return out


def _beside(x: Any, fx: Any, copies: Copies) -> Any:
    """Fdata for an argument: a copy of what it has, fresh where its cotangent is rdata."""
    if isinstance(x, tuple):
        items = tuple([_beside(v, f, copies) for v, f in zip(x, fx or (None,) * len(x), strict=True)])
        return items if any(f is not None for f in items) else None
    if fx is None:
        return zero_fdata(x) if isinstance(x, np.ndarray) else None
    return copies.of(x, fx)


def _own_cotangent(fx: Any, mine: Any, d: Any) -> Any:
    """What of a cotangent is not in copies of fdata: rdata, and what was added to fresh fdata `mine`."""
    if type(fx) is tuple:
        parts = zip(fx, mine or (None,) * len(fx), d or (None,) * len(fx), strict=True)
        return tuple([_own_cotangent(*p) for p in parts])
    return take_fdata(mine, d) if fx is None else d
