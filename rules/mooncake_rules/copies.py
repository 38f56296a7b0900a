"""Fdata beside other fdata: of the same structure, with cotangents of its own that are numbers in a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.layout import owner_of
from mooncake_py.run import ARRAYS, NOTHING, Run
from mooncake_py.runtime.coduals import BOUND
from mooncake_py.shadows import NoDerivative, Shadow
from mooncake_py.structure import attributes
from mooncake_py.tangents import (
    CellShadow,
    DictShadow,
    FunctionShadow,
    ListShadow,
    ObjectShadow,
    PartialShadow,
    SetShadow,
    add_rdata,
)


def flatten(x: Any, fx: Any, d: Any, parts: list[Any]) -> None:
    """The numbers in the cotangent d of x as far as it is rdata, zeros where there are none."""
    if isinstance(x, tuple):
        for i, v in enumerate(x):
            flatten(v, None if fx is None else fx[i], None if d is None else d[i], parts)
    elif fx is None and isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        parts.append(np.zeros(x.size) if d is None else d)
    elif isinstance(x, (float, complex, np.inexact)):
        parts.append(0.0 if d is None else d)


def _has_rdata(fx: Any) -> bool:
    """Can a cotangent of what has this fdata be rdata, or in part?"""
    return fx is None or type(fx) is tuple


def _flatten_item(x: Any, fx: Any, d: Any, parts: list[Any]) -> None:
    """The same for what is in a container: what has fdata is among the copies."""
    if _has_rdata(fx):
        flatten(x, fx, d, parts)


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


class Part:
    """A tangent that stands in an ObjectShadow beside those of attributes: its copy gives numbers that it takes."""

    def blank(self) -> Part:
        raise NotImplementedError

    def numbers(self) -> np.ndarray:
        raise NotImplementedError

    def give(self, numbers: list[Any]) -> None:
        """Add what `numbers` of a copy gave, from the front of a list, where it is taken away."""
        raise NotImplementedError


class Named(dict):
    """What an ObjectShadow has by names that are no attributes: fdata of the arrays that an object was made of."""


def _stand_in(fx: Any) -> Any:
    """Something of the shape and dtype of what this fdata belongs to."""
    if type(fx) is Shadow:
        return np.broadcast_to(np.zeros((), fx.dtype), fx.shape)
    return tuple(map(_stand_in, fx)) if type(fx) is tuple else None


class Copies:
    """Fdata of the same structure as other fdata, shared where that is shared, with cotangents of its own."""

    def __init__(self) -> None:
        self.pairs: dict[int, tuple[Any, Any, Any]] = {}  # by the original's identity: value, original, copy
        self.wary = NOTHING  # of what runs do functions among these come to what is outside?

    def of(self, x: Any, fx: Any) -> Any:
        if fx is None:
            return None
        if type(fx) is tuple:
            return tuple(map(self.of, x, fx))
        if type(fx) is ObjectShadow:
            x = fx.owner  # a method's fdata is that of its object
        elif type(x) in BOUND:
            x = x.__self__
        if id(fx) not in self.pairs:
            copy = self._blank(x, fx)
            self.pairs[id(fx)] = x, fx, copy
            self._fill(x, fx, copy)
        return self.pairs[id(fx)][2]

    def _blank(self, x: Any, fx: Any) -> Any:
        if type(fx) is Shadow:
            return Shadow(fx.shape, fx.dtype, fx.order)
        if type(fx) is ListShadow:
            return ListShadow([], [None] * len(fx.f))
        if type(fx) is DictShadow:
            return DictShadow({})
        if type(fx) is SetShadow:
            return SetShadow()
        if type(fx) is CellShadow:
            return CellShadow(None)
        if type(fx) is FunctionShadow:
            return FunctionShadow((), None, None)
        if type(fx) is ObjectShadow:
            return ObjectShadow(x, Named() if type(fx.f) is Named else None)
        if type(fx) is PartialShadow:
            return PartialShadow(None, ListShadow([], []), DictShadow({}))
        if isinstance(fx, Part):
            return fx.blank()
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
            copy.outside = tuple([(v, self.of(v, fv)) for v, fv in fx.outside])
            copy.wary = fx.wary
            self.wary = max(self.wary, fx.wary)
        elif type(fx) is ObjectShadow and type(fx.f) is Named:
            copy.f.update({k: self.of(_stand_in(f), f) for k, f in fx.f.items() if type(f) in (Shadow, tuple)})
        elif type(fx) is ObjectShadow:
            copy.f.update({k: self.of(v, fx.fdata(k)) for k, v in attributes(x).items()})
            copy.f.update({k: self.of(None, f) for k, f in fx.f.items() if isinstance(f, Part)})
        elif type(fx) is PartialShadow:
            copy.func = self.of(x.func, fx.func)
            copy.args, copy.keywords = self.of(x.args, fx.args), self.of(x.keywords, fx.keywords)
        if isinstance(fx, SetShadow):
            for k, t in (fx.of_keys(x) or {}).items():
                copy.put_key(k, CellShadow(self.of(k, t.f)))

    def known_to(self, here: Run) -> None:
        """Let a run find the copies where it meets the objects."""
        here.wary = max(here.wary, self.wary)
        for x, fx, copy in self.pairs.values():
            if type(fx) in (ListShadow, DictShadow, SetShadow, CellShadow, ObjectShadow) and not isinstance(x, tuple):
                here.put(x, copy)
            elif self.wary >= ARRAYS and type(x) is np.ndarray and owner_of(x) is x:
                here.arrays[id(x)] = x, copy

    def flatten(self, parts: list[Any]) -> None:
        """What was added to the copies, as numbers; zero again afterwards."""
        for x, fx, copy in self.pairs.values():
            if type(copy) is Shadow:
                data: Any = copy.take()
                if type(data) is NoDerivative:  # which is no number: who asks for it is told
                    fx.add(data)
                    data = None
                parts.append(np.zeros(x.size) if data is None else data)
            elif type(copy) is ListShadow:
                for v, f, r in zip(x, copy.f, copy.r, strict=True):
                    _flatten_item(v, f, r, parts)
            elif type(copy) is DictShadow:
                for k, f in copy.f.items():
                    _flatten_item(x[k], f, copy.r.get(k), parts)
            elif type(copy) is CellShadow:
                _flatten_item(content(x), copy.f, copy.r, parts)
            elif type(copy) is ObjectShadow and type(copy.f) is not Named:
                for k, v in attributes(x).items():
                    _flatten_item(v, copy.f[k], copy.r.get(k), parts)
            elif isinstance(copy, Part):
                parts.append(copy.numbers())
            if isinstance(copy, SetShadow):
                for k, t in (copy.of_keys(x) or {}).items():
                    flatten(k, t.f, t.r, parts)
                    t.r = None

    def give(self, numbers: list[Any]) -> None:
        """Add such numbers to the originals."""
        for x, fx, _ in self.pairs.values():
            if type(fx) is Shadow:
                fx.add(_array_of(x, numbers))
            elif type(fx) is ListShadow:
                for i, v in enumerate(x):
                    if _has_rdata(fx.f[i]):
                        fx.add_item(i, unflatten(v, fx.f[i], numbers))
            elif type(fx) is DictShadow:
                for k, f in fx.f.items():
                    if _has_rdata(f):
                        fx.add_item(k, unflatten(x[k], f, numbers))
            elif type(fx) is ObjectShadow and type(fx.f) is not Named:
                for k, v in attributes(x).items():
                    if _has_rdata(f := fx.fdata(k)):
                        fx.add_item(k, unflatten(v, f, numbers))
            elif type(fx) is CellShadow and _has_rdata(fx.f):
                fx.r = add_rdata(fx.r, unflatten(content(x), fx.f, numbers))
            elif isinstance(fx, Part):
                fx.give(numbers)
            if isinstance(fx, SetShadow):
                for k, t in (fx.of_keys(x) or {}).items():
                    t.add(unflatten(k, t.f, numbers))


def content(cell: Any) -> Any:
    """What a cell holds; None for an empty one."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
