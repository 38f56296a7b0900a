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

from mooncake_py.infer.abstraction import FEW
from mooncake_py.run import Run
from mooncake_py.runtime.calls import call
from mooncake_py.runtime.user import seed
from mooncake_py.tangents import FunctionShadow, ObjectShadow, made_fdata, take_fdata, zero_fdata
from mooncake_rules.captured import Captured
from mooncake_rules.copies import Copies, Named, flatten, unflatten


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


def weighted_sum(f: Any, places: range, ws: list[float], rows: list[tuple[float, ...]], *args: Any) -> Any:
    s = ws[0] * f(*rows[0], *args)
    for k in places:
        s = s + ws[k] * f(*rows[k], *args)
    return s


def weighted_pairs(
    f: Any, places: range, low: list[float], high: list[float], rows: list[tuple[float, ...]], *args: Any
) -> Any:
    s = 0.0
    for k in places:
        a, b = f(*rows[k], *args)
        s = s + low[k] * a + high[k] * b
    return s


_SUM = """def weighted_sum(places_, ws_, {given}):
        {inside}
        s_ = ws_[0] * f_({first})
        for k_ in places_:
            s_ = s_ + ws_[k_] * f_({kth})
        return s_"""
_IN_PIECES = """def weighted_sum(pieces_, places_, ws_, {given}):
        {inside}
        s_ = ws_[0][0] * f_({first_of_all})
        for c_ in pieces_:
            for k_ in places_:
                s_ = s_ + ws_[c_][k_] * f_({kth_of_piece})
        return s_"""
_PAIRS = """def weighted_sum(places_, low_, high_, {given}):
        {inside}
        s_ = 0.0
        for k_ in places_:
            a_, b_ = f_({kth})
            s_ = s_ + low_[k_] * a_ + high_[k_] * b_
        return s_"""
_PLACES = {"first": "0", "kth": "k_", "first_of_all": "0][0", "kth_of_piece": "c_][k_"}
_GENERATES = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_loops: dict[tuple[CodeType, int, int, str], CodeType | None] = {}


def in_a_loop(f: Any, m: int, n: int, form: str = _SUM) -> tuple[FunctionType, range] | None:
    """A sum over calls of one function f of m + n arguments, with the code of f as that of a function inside of it.

    So it is known before the run what the loop calls, and loop and function are derived as one. The cells are those of
    f. The first m arguments come as a list each, or as lists of lists in pieces. The default values that are
    not given another value follow as arguments; with which of them they are. None for what has no code that could be
    put there.
    """
    if type(f) is not FunctionType or f.__kwdefaults__ or f.__code__.co_flags & _GENERATES:
        return None
    defaults = f.__defaults__ or ()
    left = range(max(0, len(defaults) - max(0, f.__code__.co_argcount - m - n)), len(defaults))
    key = f.__code__, m, n + len(left), form
    if key not in _loops:
        if len(_loops) > 1000:
            _loops.clear()
        _loops[key] = _loop_around(*key)
    loop = _loops[key]
    return None if loop is None else (FunctionType(loop, f.__globals__, "weighted_sum", None, f.__closure__), left)


def _loop_around(code: CodeType, m: int, n: int, form: str) -> CodeType | None:
    names = code.co_freevars
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return None
    lists = [f"xs_{i}_" for i in range(m)]
    rest = [f"argument_{i}_" for i in range(n)]
    calls = {name: ", ".join([*[f"{x}[{k}]" for x in lists], *rest]) for name, k in _PLACES.items()}
    inside = f"def f_(): {', '.join(names) or 'pass'}"
    loop = form.format(given=", ".join([*lists, *rest]), inside=inside, **calls)
    source = f"def outer({', '.join(names)}):\n    {loop}\n"
    found: Any = compile(source, code.co_filename, "exec")
    for name in ("outer", "weighted_sum"):
        found = next(c for c in found.co_consts if isinstance(c, CodeType) and c.co_name == name)
    inner = next(c for c in found.co_consts if isinstance(c, CodeType))
    if inner.co_freevars != names or found.co_freevars != names:  # one has a name of the loop
        return None
    consts = tuple(code if c is inner else c for c in found.co_consts)
    whole: CodeType = found.replace(co_consts=consts, co_firstlineno=code.co_firstlineno)
    return whole


def _in_pieces(xs: list[float], last: float) -> list[list[float]]:
    """The first item, and the others in lists of one length, so short that types of items are looked at; `last` fills
    the last one."""
    n = -(-(len(xs) - 1) // FEW)
    size = -(-(len(xs) - 1) // n)
    filled = xs[1:] + [last] * (n * size - len(xs) + 1)
    return [xs[:1], *[filled[i * size : (i + 1) * size] for i in range(n)]]


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

    def weighted(self, ws: list[float], *xs: list[float]) -> tuple[Any, Callable[[Any], np.ndarray]]:
        """The sum of `ws[k] * f(xs[0][k], xs[1][k], ..., *extra)`, and its pullback to the vector: in one run."""
        if len(ws) <= FEW:
            return self._summed(weighted_sum, _SUM, (range(1, len(ws)), ws), xs)
        lists = [_in_pieces(ws, 0.0), *[_in_pieces(x, x[-1]) for x in xs]]
        places = range(1, len(lists[0])), range(len(lists[0][-1]))
        return self._summed(weighted_sum, _IN_PIECES, (range(1, len(ws)), ws), xs, (*places, *lists))

    def pairs(self, low: list[float], high: list[float], *xs: list[float]) -> tuple[Any, Callable[[Any], np.ndarray]]:
        """The same for a function that gives two numbers: the sum of `low[k] * a + high[k] * b`."""
        return self._summed(weighted_pairs, _PAIRS, (range(len(low)), low, high), xs)

    def _summed(
        self, plain: Any, form: str, ws: tuple[Any, ...], xs: tuple[list[float], ...], given: tuple[Any, ...] = ()
    ) -> tuple[Any, Callable[[Any], np.ndarray]]:
        """By code of that form, with what it is given, if there is a loop around f; `plain` is the same for any f."""
        ff, fextra, copies = self._beside()
        with Run() as here:
            copies.known_to(here)
            found = in_a_loop(self.f, len(xs), len(self.extra), form)
            defaults = ff.defaults if type(ff) is FunctionShadow else None
            left = range(0)
            if found is None:
                rows = list(zip(*xs, strict=True)) if xs else [()] * len(ws[1])
                args = (self.f, *ws, rows, *self.extra)
                y, fy, pb = call(plain, None, args, (ff, *[None] * (len(ws) + 1), *fextra))
            else:
                loop, left = found
                args = given or (*ws, *xs)
                fargs = (*[None] * len(args), *fextra, *[None if defaults is None else defaults.f[k] for k in left])
                args = (*args, *self.extra, *[self.f.__defaults__[k] for k in left])
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

    def made_of_arrays(self) -> list[Any]:
        """The objects among what it depends on whose tangents are those of arrays they were made of: interpolants."""
        _, _, copies = self._beside()
        return [x for x, fx, _ in copies.pairs.values() if type(fx) is ObjectShadow and type(fx.f) is Named]

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
