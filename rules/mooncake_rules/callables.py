"""Functions that rules are given: running them with cotangents of their own.

A function that a rule calls depends on its arguments and on what it captured: cells of a closure, default values, the
object it is a method of. `run` gives fresh fdata to the arguments; what was captured gets its cotangents at once.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from mooncake_py.run import Run
from mooncake_py.runtime.calls import call
from mooncake_py.runtime.user import seed
from mooncake_py.tangents import FunctionShadow, made_fdata, take_fdata, zero_fdata
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


def weighted_sum(f: Any, places: range, xs: list[float], ws: list[float], *args: Any) -> Any:
    s = ws[0] * f(xs[0], *args)
    for k in places:
        s = s + ws[k] * f(xs[k], *args)
    return s


_GENERATES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_loops: dict[tuple[CodeType, int], CodeType | None] = {}


def in_a_loop(f: Any, n: int) -> tuple[FunctionType, range] | None:
    """`weighted_sum` of one function f of 1 + n arguments, with the code of f as that of a function inside of it.

    So it is known before the run what the loop calls, and loop and function are derived as one. The cells are those of
    f. The default values that are not given another value follow as arguments; with which of them they are. None for
    what has no code that could be put there.
    """
    if type(f) is not FunctionType or f.__kwdefaults__ or f.__code__.co_flags & _GENERATES:
        return None
    defaults = f.__defaults__ or ()
    left = range(max(0, len(defaults) - max(0, f.__code__.co_argcount - 1 - n)), len(defaults))
    key = f.__code__, n + len(left)
    if key not in _loops:
        if len(_loops) > 1000:
            _loops.clear()
        _loops[key] = _loop_around(*key)
    loop = _loops[key]
    return None if loop is None else (FunctionType(loop, f.__globals__, "weighted_sum", None, f.__closure__), left)


def _loop_around(code: CodeType, n: int) -> CodeType | None:
    names = code.co_freevars
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return None
    rest = "".join(f", argument_{i}_" for i in range(n))
    source = f"""
def outer({", ".join(names)}):
    def weighted_sum(places_, xs_, ws_{rest}):
        def f_(): {", ".join(names) or "pass"}
        s_ = ws_[0] * f_(xs_[0]{rest})
        for k_ in places_:
            s_ = s_ + ws_[k_] * f_(xs_[k_]{rest})
        return s_
"""
    found: Any = compile(source, code.co_filename, "exec")
    for name in ("outer", "weighted_sum"):
        found = next(c for c in found.co_consts if isinstance(c, CodeType) and c.co_name == name)
    inner = next(c for c in found.co_consts if isinstance(c, CodeType))
    if inner.co_freevars != names or found.co_freevars != names:  # one has a name of the loop
        return None
    consts = tuple(code if c is inner else c for c in found.co_consts)
    loop: CodeType = found.replace(co_consts=consts, co_firstlineno=code.co_firstlineno)
    return loop


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
        self.captured = Captured([(f, ff), *zip(self.extra, self.fextra, strict=True)])

    def at(self, *xs: Any) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], np.ndarray]]]:
        """The value, and its pullback to the arguments and the vector. Arrays among xs may be differentiated by."""
        ff, fextra, copies = self._beside()
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
            return dxs, self._vector(copies, fextra, ds[1 + n :])

        return y, pull

    def weighted(self, xs: list[float], ws: list[float]) -> tuple[Any, Callable[[Any], np.ndarray]]:
        """The sum of `ws[k] * f(xs[k], *extra)`, and its pullback to the vector: in one run, for one vector."""
        ff, fextra, copies = self._beside()
        with Run() as here:
            copies.known_to(here)
            args, fargs = (range(1, len(xs)), xs, ws, *self.extra), (None, None, None, *fextra)
            found = in_a_loop(self.f, len(self.extra))
            defaults = ff.defaults if type(ff) is FunctionShadow else None
            left = range(0)
            if found is None:
                y, fy, pb = call(weighted_sum, None, (self.f, *args), (ff, *fargs))
            else:
                loop, left = found
                args = (*args, *[self.f.__defaults__[k] for k in left])
                fargs = (*fargs, *[None if defaults is None else defaults.f[k] for k in left])
                y, fy, pb = call(loop, ff, args, fargs)

        def pull(dy: Any) -> np.ndarray:
            seed(y, fy, dy)
            ds = None if pb is None else pb(number_part(fy, dy))
            if ds is not None and defaults is not None:
                for k, d in zip(left, ds[len(ds) - len(left) :], strict=True):
                    if d is not None:
                        defaults.add_item(k, d)
            end = 0 if ds is None else len(ds) - len(left)
            return self._vector(copies, fextra, None if ds is None else ds[end - len(fextra) : end])

        return y, pull

    def _beside(self) -> tuple[Any, tuple[Any, ...], Copies]:
        """Fdata for a run with cotangents of its own: of the function and the extra arguments."""
        self.captured.put_back()
        copies = Copies()
        ff = copies.of(self.f, self.ff)
        return ff, tuple([_beside(x, fx, copies) for x, fx in zip(self.extra, self.fextra, strict=True)]), copies

    def _vector(self, copies: Copies, fextra: tuple[Any, ...], dextra: Any) -> np.ndarray:
        """What such a run has added to its fdata and to the extra arguments."""
        parts: list[Any] = []
        dextra = (None,) * len(self.extra) if dextra is None else dextra
        for x, fx, fa, d in zip(self.extra, self.fextra, fextra, dextra, strict=True):
            flatten(x, fx, _own_cotangent(fx, fa, d), parts)
        copies.flatten(parts)
        return np.concatenate([np.ravel(p) for p in parts]) if parts else np.zeros(0)

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
