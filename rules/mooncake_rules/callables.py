"""Functions that rules are given: running them with cotangents of their own.

A function that a rule calls depends on its arguments and on what it captured: cells of a closure, default values, the
object it is a method of. `run` gives fresh fdata to the arguments; what was captured gets its cotangents at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.run import Run
from mooncake_py.runtime.calls import call
from mooncake_py.runtime.user import seed
from mooncake_py.structure import attributes
from mooncake_py.tangents import (
    CellShadow,
    DictShadow,
    FunctionShadow,
    ListShadow,
    ObjectShadow,
    PartialShadow,
    Shadow,
    add_rdata,
    shadow_of,
    take_fdata,
    zero_fdata,
)


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

    def at(self, *xs: Any) -> tuple[Any, Callable[[Any], tuple[tuple[Any, ...], np.ndarray]]]:
        """The value, and its pullback to the arguments and the vector. Arrays among xs may be differentiated by."""
        copies = Copies()
        ff = copies.of(self.f, self.ff)
        fextra = tuple([_beside(x, fx, copies) for x, fx in zip(self.extra, self.fextra, strict=True)])
        with Run() as here:
            copies.known_to(here)
            fargs = (*map(zero_fdata, xs), *fextra)
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


def flatten(x: Any, fx: Any, d: Any, parts: list[Any]) -> None:
    """The numbers in the cotangent d of x as far as it is rdata, zeros where there are none."""
    if isinstance(x, tuple):
        for i, v in enumerate(x):
            flatten(v, None if fx is None else fx[i], None if d is None else d[i], parts)
    elif fx is None and isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        parts.append(np.zeros(x.size) if d is None else d)
    elif isinstance(x, (float, complex, np.inexact)):
        parts.append(0.0 if d is None else d)


def unflatten(x: Any, fx: Any, numbers: list[Any]) -> Any:
    """The rdata of x from the front of a list of numbers, which is taken away."""
    if isinstance(x, tuple):
        return tuple([unflatten(v, None if fx is None else fx[i], numbers) for i, v in enumerate(x)])
    if fx is None and isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        return _array_of(x, numbers)
    if isinstance(x, (float, complex, np.inexact)):
        t = numbers.pop(0)
        return t.real if isinstance(t, (complex, np.complexfloating)) and not np.iscomplexobj(x) else t
    return None


def _array_of(x: np.ndarray, numbers: list[Any]) -> np.ndarray:
    t = np.array(numbers[: x.size])
    del numbers[: x.size]
    return (t if x.dtype.kind == "c" else t.real).astype(x.dtype).reshape(x.shape)


class Copies:
    """Fdata of the same structure as other fdata, shared where that is shared, with cotangents of its own."""

    def __init__(self) -> None:
        self.pairs: dict[int, tuple[Any, Any, Any]] = {}  # by the original's identity: value, original, copy

    def of(self, x: Any, fx: Any) -> Any:
        if fx is None:
            return None
        if type(fx) is tuple:
            return tuple(map(self.of, x, fx))
        if type(fx) is ObjectShadow:
            x = fx.owner  # a method's fdata is that of its object
        if id(fx) not in self.pairs:
            copy = self._blank(x, fx)
            self.pairs[id(fx)] = x, fx, copy
            self._fill(x, fx, copy)
        return self.pairs[id(fx)][2]

    def _blank(self, x: Any, fx: Any) -> Any:
        if type(fx) is Shadow:
            return shadow_of(x)
        if type(fx) is ListShadow:
            return ListShadow([], [None] * len(fx.f))
        if type(fx) is DictShadow:
            return DictShadow({})
        if type(fx) is CellShadow:
            return CellShadow(None)
        if type(fx) is FunctionShadow:
            return FunctionShadow((), None, None)
        if type(fx) is ObjectShadow:
            return ObjectShadow(x)
        if type(fx) is PartialShadow:
            return PartialShadow(None, ListShadow([], []), DictShadow({}))
        raise UnsupportedError(f"a function that captured a {type(x).__name__} with a derivative", "a rule", None)

    def _fill(self, x: Any, fx: Any, copy: Any) -> None:
        if type(fx) is ListShadow:
            copy.f.extend(map(self.of, x, fx.f))
        elif type(fx) is DictShadow:
            copy.f.update({k: self.of(x[k], f) for k, f in fx.f.items()})
        elif type(fx) is CellShadow and fx.f is not None:
            copy.f = self.of(x.cell_contents, fx.f)
        elif type(fx) is FunctionShadow:
            copy.cells = tuple(map(self.of, x.__closure__ or (), fx.cells))
            copy.defaults = self.of(x.__defaults__, fx.defaults)
            copy.kwdefaults = self.of(x.__kwdefaults__, fx.kwdefaults)
        elif type(fx) is ObjectShadow:
            copy.f.update({k: self.of(v, fx.fdata(k)) for k, v in attributes(x).items()})
        elif type(fx) is PartialShadow:
            copy.func = self.of(x.func, fx.func)
            copy.args, copy.keywords = self.of(x.args, fx.args), self.of(x.keywords, fx.keywords)

    def known_to(self, here: Run) -> None:
        """Let a run find the copies where it meets the objects."""
        for x, fx, copy in self.pairs.values():
            if type(fx) in (ListShadow, DictShadow, CellShadow, ObjectShadow) and not isinstance(x, tuple):
                here.put(x, copy)

    def flatten(self, parts: list[Any]) -> None:
        """What was added to the copies, as numbers; zero again afterwards."""
        for x, _, copy in self.pairs.values():
            if type(copy) is Shadow:
                data = copy.take()
                parts.append(np.zeros(x.size) if data is None else data)
            elif type(copy) is ListShadow:
                for v, f, r in zip(x, copy.f, copy.r, strict=True):
                    if f is None:
                        flatten(v, None, r, parts)
            elif type(copy) is DictShadow:
                for k, f in copy.f.items():
                    if f is None:
                        flatten(x[k], None, copy.r.get(k), parts)
            elif type(copy) is CellShadow and copy.f is None:
                flatten(content(x), None, copy.r, parts)
            elif type(copy) is ObjectShadow:
                for k, v in attributes(x).items():
                    if copy.f[k] is None:
                        flatten(v, None, copy.r.get(k), parts)

    def give(self, numbers: list[Any]) -> None:
        """Add such numbers to the originals."""
        for x, fx, _ in self.pairs.values():
            if type(fx) is Shadow:
                fx.add(_array_of(x, numbers))
            elif type(fx) is ListShadow:
                for i, v in enumerate(x):
                    if fx.f[i] is None:
                        fx.add_item(i, unflatten(v, None, numbers))
            elif type(fx) is DictShadow:
                for k, f in fx.f.items():
                    if f is None:
                        fx.add_item(k, unflatten(x[k], None, numbers))
            elif type(fx) is ObjectShadow:
                for k, v in attributes(x).items():
                    if fx.fdata(k) is None:
                        fx.add_item(k, unflatten(v, None, numbers))
            elif type(fx) is CellShadow and fx.f is None:
                fx.r = add_rdata(fx.r, unflatten(content(x), None, numbers))


def content(cell: Any) -> Any:
    """What a cell holds; None for an empty one."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
