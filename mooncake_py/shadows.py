"""Cotangents of arrays that are collected in place: shadows, and what is added to some of their elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py import layout
from mooncake_py.errors import MissingRule, UnsupportedError, user_position


class At:
    """A cotangent of an array that is zero but at an index: pullbacks return it, the engine adds it in place.

    `once`: nothing else is ever added to this element.
    """

    __slots__ = ("index", "once", "value")

    def __init__(self, index: Any, value: Any, once: bool = False):
        self.index = index
        self.value = value
        self.once = once


class NoDerivative:
    """The cotangent of an argument by which a function's derivative is not known.

    A pullback returns it in the argument's place. Where the argument is a constant nobody looks at it; a sum with it is
    as unknown, and whoever calculates with it otherwise or asks for its number gets MissingRule. `place` is the line of
    the call, known where derived code has it from the pullback.
    """

    __slots__ = ("function", "parameter", "place", "remedy")

    def __init__(self, function: str, parameter: str, remedy: str = "hold it constant, or register a rule that has it"):
        self.function, self.parameter, self.remedy = function, parameter, remedy
        self.place: tuple[str, int] | None = None

    def here(self) -> NoDerivative:
        """The same, of the call whose derived code is running."""
        if self.place is not None:
            return self
        t = NoDerivative(self.function, self.parameter, self.remedy)
        t.place = user_position()
        return t

    def refuse(self, *args: Any, **kwargs: Any) -> Any:
        place = "" if self.place is None else f" (of the call in {self.place[0]}:{self.place[1]})"
        e = MissingRule(f"the derivative of {self.function} by {self.parameter} is not known: {self.remedy}{place}")
        if self.place is not None:
            e.filename, e.line = self.place
        raise e

    def __repr__(self) -> str:
        return f"<no derivative of {self.function} by {self.parameter}>"

    def __add__(self, other: Any) -> NoDerivative:
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self if ufunc is np.add and method == "__call__" and not kwargs else self.refuse()

    __radd__ = __add__
    __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = refuse
    __matmul__ = __rmatmul__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = refuse
    __float__ = __complex__ = __int__ = __bool__ = __array__ = __array_function__ = refuse
    __getitem__ = __iter__ = __len__ = __lt__ = __gt__ = __le__ = __ge__ = refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.refuse()


class Spread:
    """The cotangents of a view that shows elements more than once, where its base's shadow collects them.

    It stands for the array of them: `d[i]`, `d[i] += t` and, to leave zero, `d[i] = 0`. What shows an element twice may
    not be written to: which of the values is kept, nobody knows.
    """

    __slots__ = ("base", "places", "shape")

    def __init__(self, base: Shadow, places: np.ndarray):
        self.base, self.places, self.shape = base, places, places.shape

    def __getitem__(self, i: Any) -> Any:
        places = self.places[i]
        return Spread(self.base, places) if isinstance(places, np.ndarray) else self.base.dense().flat[int(places)]

    def __setitem__(self, i: Any, t: Any) -> None:
        if isinstance(t, Spread):
            return  # d[i] += t, which was added
        places = np.asarray(self.places[i])
        self.check_written(places)
        d = self.base.dense()
        d[np.unravel_index(places, d.shape)] = t

    def check_written(self, places: np.ndarray) -> None:
        """Refuse to write to these places if some are one."""
        if places.size > 1 and np.unique(places).size < places.size:
            what = "a write to a view that shows elements more than once"
            raise UnsupportedError(what, "the call", None, "write to the array that it is a view of")

    def __iadd__(self, t: Any) -> Spread:
        if type(t) is NoDerivative:
            t.refuse()
        d, places = self.base.dense(), self.places
        if d.flags.c_contiguous:
            np.add.at(d.reshape(-1), places.reshape(-1), np.broadcast_to(t, places.shape).reshape(-1))
        else:
            np.add.at(d, np.unravel_index(places, d.shape), t)
        return self

    def __isub__(self, t: Any) -> Spread:
        return self.__iadd__(-t)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        d = self.base.dense()
        return np.asarray(d[np.unravel_index(self.places, d.shape)], dtype)

    def refuse(self, *args: Any, **kwargs: Any) -> Any:
        what = "this use of a view that shows elements more than once"
        raise UnsupportedError(what, "the call", None, "copy the view")

    __array_function__ = __array_ufunc__ = refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.refuse()


def add_at(d: Any, index: Any, value: Any) -> None:
    """`d[index] += value`, repeated entries of the index counting each time."""
    if type(d) is Spread:
        d = Spread(d.base, np.asarray(d.places[index]))
        d += value
        return
    parts = index if type(index) is tuple else (index,)
    if not any(isinstance(i, (np.ndarray, list)) and np.asarray(i).dtype.kind != "b" for i in parts):
        d[index] += value
    elif len(parts) == d.ndim > 1 and d.flags.c_contiguous and all(_is_integers(i) for i in parts):
        places = np.ravel_multi_index(np.broadcast_arrays(*parts), d.shape, mode="wrap")  # ufunc.at is fast in one axis
        np.add.at(d.reshape(-1), places.ravel(), np.broadcast_to(value, places.shape).ravel())
    else:
        np.add.at(d, index, value)


def _is_integers(i: Any) -> bool:
    return isinstance(i, (int, np.integer)) or (isinstance(i, np.ndarray) and i.dtype.kind in "iu")


class Shadow:
    """The cotangent of an array, of its shape and dtype, not there until somebody adds to it.

    `data` is None for zero. The first cotangent is kept by reference and is not ours to write to (`owned` is
    False); the second makes a sum that is. A view's shadow has a view of its base's data, so both see what is
    added through either; such data is `shared` and is emptied in place. A view that shows elements more than once has
    no data: what is added to it goes to its base's shadow, to the places it shows (`spread`).
    """

    __slots__ = ("data", "dtype", "is_view", "order", "owned", "shape", "shared", "spread")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, order: layout.Order = "C"):
        self.order = order  # the array's: what is a view of it must be a view of ours
        self.data: np.ndarray | None = None
        self.owned = False
        self.shared = False
        self.is_view = False
        self.spread: tuple[Shadow, np.ndarray] | None = None
        self.shape = shape
        self.dtype = dtype

    def add(self, t: Any) -> None:
        """Add a cotangent, whose shape broadcasts to ours; the array may be kept, so it must not be written to."""
        if type(t) is At:
            add_at(self.dense(), t.index, t.value)
            return
        data: Any = self.data
        if data is None and self.spread is not None:
            if type(t) is NoDerivative:
                self.spread[0].add(t)
            else:
                whole = self.dense()
                whole += t
            return
        if type(t) is NoDerivative or type(data) is NoDerivative:
            if self.shared:  # views look into this memory, in which numbers are all there is
                t.refuse()
            self.data, self.owned = (t if type(t) is NoDerivative else data), False  # type: ignore[assignment]
            return
        if data is None:
            if type(t) is np.ndarray and t.shape == self.shape and t.dtype == self.dtype:
                self.data = t
                self.owned = False
                return
            self.data = data = layout.zeros(self.shape, self.dtype, self.order)
            self.owned = True
        elif not self.owned:
            self.data = layout.add(data, t, self.order)
            self.owned = True
            return
        np.add(data, t, out=data, casting="same_kind")

    def dense(self) -> Any:
        """The data as an array that may be written to, or what stands for one."""
        if not self.owned:
            if self.spread is not None:
                return Spread(*self.spread)
            data: Any = self.data
            if type(data) is NoDerivative:
                data.refuse()
            order = self.order
            self.data = layout.zeros(self.shape, self.dtype, order) if data is None else layout.copy(data, order)
            self.owned = True
        data = self.data
        assert data is not None
        return data

    def take(self) -> np.ndarray | None:
        """The cotangent, leaving zero; None for zero."""
        data = self.data
        if data is not None:
            if self.shared:
                if not data.any():  # made for a view: what the array came of may be infinite, and 0 times that is NaN
                    return None
                data = data.copy()
                self.data.fill(0)  # type: ignore[union-attr]
            else:
                self.data = None
                self.owned = False
        elif self.spread is not None and self.spread[0].data is not None:
            base, places = self.spread
            if self.is_view:
                whole = self.dense()
                data = np.asarray(whole)
                whole[...] = 0
            else:  # where an element stands twice, all of its cotangent is given to the first place
                _, first = np.unique(places, return_index=True)
                shown = places.reshape(-1)[first]
                data = np.zeros(self.shape, self.dtype)
                data.reshape(-1)[first] = base.dense().reshape(-1)[shown]
                base.dense().flat[shown] = 0
        return data

    def views(self, select: Callable[..., Any], *args: Any) -> list[Shadow]:
        """The shadows of the views that `select(a, *args)` gives of our array."""
        if self.spread is not None:
            base, places = self.spread
            return [base.shown_at(p) for p in select(places, *args)]
        return [self.view(d) for d in select(self.dense(), *args)]

    def shown_at(self, places: np.ndarray) -> Shadow:
        """The shadow of a view that shows our elements at these places, counted in C order, some more than once."""
        v = Shadow(places.shape, self.dtype)
        v.spread, v.is_view = (self, places), True
        return v

    def view(self, data: np.ndarray) -> Shadow:
        """The shadow of a view, `data` being that view of our dense data."""
        self.shared = True
        v = Shadow(data.shape, data.dtype)  # the real part of complex numbers is a view of another dtype
        if not data.flags.writeable:  # what np.diagonal gives: users may not write to it, but cotangents are added
            try:
                data.flags.writeable = True
            except ValueError:  # it is a view of a view that may not be written to
                whole = layout.owner_of(self.dense())
                data = layout.same_view(data, whole, whole)
        v.data = data
        v.owned = v.shared = v.is_view = True
        return v


_FLOAT = np.dtype(float)


def shadow_of(a: np.ndarray) -> Shadow:
    """A zero shadow for an array. That of whole numbers, as which the run found them, takes what nobody asks for."""
    return Shadow(a.shape, a.dtype if a.dtype.kind in "fc" else _FLOAT, layout.order_of(a))
