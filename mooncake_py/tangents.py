"""Tangents: what has identity carries *fdata* beside it, what is a value has *rdata* that pullbacks return.

| primal | fdata | rdata |
|---|---|---|
| float, complex, NumPy scalar | none | a number; None is zero |
| array of floats or complex | `Shadow` | none |
| list, dict, closure cell | `ListShadow`, `DictShadow`, `CellShadow` | none |
| object of a user class | `ObjectShadow` | none |
| tuple | tuple of its items' fdata, or None where none has any | tuple of its items' rdata; None is zero |
| int, bool, str, None, ... | none | none |

Aliases share their fdata; that is what makes mutation and views right.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import weakref
from collections import deque
from types import CellType
from typing import Any

import numpy as np

from mooncake_py import layout, run
from mooncake_py.errors import MissingRule, RuleError, UnsupportedError
from mooncake_py.iterators import Generator
from mooncake_py.mirrors import Tangent, constant_attributes, declaration, declared_tangent, tangent_fields
from mooncake_py.structure import attributes, is_user_class, items_of, stored


class CoDual:
    """A primal with its fdata, as rules see it; in an inlined rule it is never made."""

    __slots__ = ("fdata", "primal")

    def __init__(self, primal: Any, fdata: Any):
        self.primal = primal
        self.fdata = fdata


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
    as unknown, and whoever calculates with it otherwise or asks for its number gets MissingRule.
    """

    __slots__ = ("function", "parameter", "remedy")

    def __init__(self, function: str, parameter: str, remedy: str = "hold it constant, or register a rule that has it"):
        self.function, self.parameter, self.remedy = function, parameter, remedy

    def refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise MissingRule(f"the derivative of {self.function} by {self.parameter} is not known: {self.remedy}")

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


def add_at(d: np.ndarray, index: Any, value: Any) -> None:
    """`d[index] += value`, repeated entries of the index counting each time."""
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
            if self.spread is None:
                add_at(self.dense(), t.index, t.value)
                return
            d = np.zeros(self.shape, self.dtype)
            add_at(d, t.index, t.value)
            t = d
        data: Any = self.data
        if data is None and self.spread is not None:
            base, places = self.spread
            if type(t) is not NoDerivative:
                shown = np.broadcast_to(t, self.shape)
                t = np.zeros(base.shape, base.dtype)
                np.add.at(t.reshape(-1), places, shown)
            base.add(t)
            return
        if type(t) is NoDerivative or type(data) is NoDerivative:
            if self.shared:  # views look into this memory: NaN, where it cannot be refused
                self.dense()[...] = np.nan
                return
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

    def dense(self) -> np.ndarray:
        """The data as an array that may be written to."""
        if not self.owned:
            self._not_spread()
            data = self.data
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
                data = data.copy()
                self.data.fill(0)  # type: ignore[union-attr]
            else:
                self.data = None
                self.owned = False
        elif self.spread is not None and not self.is_view:
            base, places = self.spread
            if base.data is not None:  # where an element stands twice, all of its cotangent is given to the first place
                _, first = np.unique(places, return_index=True)
                shown = places.reshape(-1)[first]
                data = np.zeros(self.shape, self.dtype)
                data.reshape(-1)[first] = base.dense().reshape(-1)[shown]
                base.dense().flat[shown] = 0
        else:
            self._not_spread()
        return data

    def _not_spread(self) -> None:
        if self.spread is not None:
            what = "a view that shows elements twice, of an array that is written to or stored"
            raise UnsupportedError(what, "the call", None, "copy the view")

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


def _met_shadow(x: np.ndarray, here: run.Run) -> Shadow:
    """What the run knows of an array that comes without fdata, from outside say: views of one memory share it."""
    base = layout.owner_of(x)
    if here.wary >= run.Wary.ARRAYS:
        found = here.arrays.get(id(base))
        if found is None:
            here.arrays[id(base)] = base, (whole := shadow_of(base))
        else:
            whole = found[1]
    else:
        held, whole = here.memory.get(id(base), _NOBODY)
        found = held()
        if found is not base:
            here.memory[id(base)] = weakref.ref(base), (whole := shadow_of(base))
            found = None
    if x is base:
        return whole
    if not _lies_in(x, base):
        if here.wary >= run.Wary.ARRAYS:
            raise UnsupportedError("a view of an array from outside with this memory layout", "the call", None)
        return shadow_of(x)
    if layout.repeats(x):
        return whole.shown_at(layout.places_of(x, base))
    shadow = whole.view(layout.same_view(x, base, whole.dense()))
    shadow.is_view = found is not None  # if not, nobody has met the base: what belongs to it is told by this view
    return shadow


_NOBODY: tuple[Any, Any] = (lambda: None), None


def _lies_in(x: np.ndarray, base: np.ndarray) -> bool:
    """Can the shadow of x be a view of that of the array which owns its memory?"""
    same = x.dtype == base.dtype or not layout.repeats(x)
    return same and base.dtype.kind in "fc" and layout.is_in_one_piece(base)


class ListShadow:
    """The tangent of a list: for every item its fdata in `f` and its cotangent in `r` (None is zero)."""

    __slots__ = ("f", "r")

    def __init__(self, f: list, r: list):
        self.f = f
        self.r = r

    def add(self, ts: Any) -> None:
        """Add a cotangent for every item (None is zero)."""
        if type(self.r) is list and not any(map(operator.is_not, (*self.f, *self.r), itertools.repeat(None))):
            self.r[:] = ts
            return
        for i, t in enumerate(ts):
            self.add_item(i, t)

    def take(self) -> list | None:
        """The cotangents of the items, leaving zero; None for zero."""
        items = [take_fdata(f, r) for f, r in zip(self.f, self.r, strict=True)]
        if type(self.r) is list:
            self.r[:] = [None] * len(items)
        else:
            for i in range(len(items)):
                self.r[i] = None
        return items if any(x is not None for x in items) else None

    def reset(self, f: list) -> None:
        """Items with this fdata again, and no cotangents."""
        self.f.clear()
        self.f.extend(f)
        self.r.clear()
        self.r.extend([None] * len(f))

    def add_item(self, i: Any, t: Any) -> None:
        if t is not None:
            f = self.f[i]
            self.r[i] = add_rdata(self.r[i], t) if f is None else add_any(self.r[i], f, t)


class Sums(dict):
    """Cotangents by the key or name of what they belong to: `sums[key] + t` is t where there is none."""

    __slots__ = ()

    def __missing__(self, key: Any) -> float:
        return 0.0


class DictShadow:
    """The tangent of a dict: for every key the value's fdata in `f` and its cotangent in `r`.

    A key that is absent has none in `f`, and a cotangent of zero in `r`.
    """

    __slots__ = ("f", "r")

    def __init__(self, f: dict, r: Sums | None = None):
        self.f = f
        self.r = Sums() if r is None else r

    def add(self, ts: Any) -> None:
        """Add a cotangent for every key of ts."""
        for k, t in ts.items():
            self.add_item(k, t)

    def reset(self, f: dict) -> None:
        """Values with this fdata again, and no cotangents."""
        self.f.clear()
        self.f.update(f)
        self.r.clear()

    def add_item(self, k: Any, t: Any) -> None:
        if t is not None:
            r = add_any(self.r.get(k), self.f.get(k), t)
            if r is not None:
                self.r[k] = r


class ObjectShadow:
    """The tangent of an object: for every attribute its fdata in `f` and its cotangent in `r` (absent is zero).

    The fdata of an attribute that has been there before the object was met is made when it is first asked for.
    """

    __slots__ = ("constant", "f", "owner", "r", "viewed")

    def __init__(self, owner: Any, f: dict | None = None):
        self.owner = owner
        self.viewed = False  # does somebody hold the dict of the attributes?
        self.f: dict[str, Any] = {} if f is None else f
        self.r = Sums()
        self.constant = constant_attributes(type(owner))

    def fdata(self, name: str) -> Any:
        """The fdata of a stored attribute."""
        f = self.f
        if name in f:
            return f[name]
        if name in self.constant:
            return None
        try:
            value = stored(self.owner, name)
        except AttributeError:
            return None
        fx = f[name] = zero_fdata(value)
        return fx

    def add(self, ts: Any) -> None:
        """Add a tangent of the object, or a dict with cotangents of some of its attributes."""
        if type(ts) is NoDerivative:
            ts.refuse()
        cls = type(self.owner)
        own = declaration(cls)
        if own is not None and own.add is not None:
            held = take_fdata(self, None)
            if held is not None:
                ts = own.add(held, _whole(self.owner, ts) if isinstance(ts, dict) else ts)
        fields = ts if type(ts) is dict else tangent_fields(cls, ts)
        if fields is None:
            raise RuleError(f"a tangent of a {cls.__name__} was expected, got {type(ts).__name__}: {ts!r}")
        for name, t in fields.items():
            self.add_item(name, t)

    def add_item(self, name: str, t: Any) -> None:
        if t is not None and name not in self.constant:
            r = add_any(self.r.get(name), self.fdata(name), t)
            if r is not None:
                self.r[name] = r


class CellShadow:
    """The tangent of a closure cell: its content's fdata and cotangent (None is zero)."""

    __slots__ = ("f", "r")

    def __init__(self, f: Any, r: Any = None):
        self.f = f
        self.r = r


class FunctionShadow:
    """The tangent of a function made in the run: its cells' shadows, and those of its default values.

    `defaults` is a `ListShadow` of the positional defaults, `kwdefaults` a `DictShadow` of the keyword-only ones.
    """

    __slots__ = ("cells", "defaults", "kwdefaults")

    def __init__(self, cells: tuple, defaults: ListShadow | None, kwdefaults: DictShadow | None):
        self.cells = cells
        self.defaults = defaults
        self.kwdefaults = kwdefaults


class PartialShadow:
    """The tangent of a `functools.partial`: of its function, its positional arguments and its keyword arguments."""

    __slots__ = ("args", "func", "keywords")

    def __init__(self, func: Any, args: ListShadow, keywords: DictShadow):
        self.func, self.args, self.keywords = func, args, keywords


def has_tangent(x: Any) -> bool:
    """May this value carry derivative information?"""
    if isinstance(x, (float, complex, np.inexact)):
        return True
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (list, tuple, dict, deque)) or is_user_class(type(x))


def zero_fdata(x: Any) -> Any:
    """fdata for a value that comes without: fresh, or what the run knows of the object; None where it has none."""
    cls = type(x)
    if cls in _PLAIN:
        return None
    if cls is np.ndarray:
        if x.dtype.kind not in "fc":
            return None
        return _met_shadow(x, run.current())
    if isinstance(x, tuple):
        f = tuple([zero_fdata(v) for v in items_of(x)])
        return f if any(v is not None for v in f) else None
    if cls is Generator or (cls is not CellType and not isinstance(x, (list, dict, deque)) and not is_user_class(cls)):
        return None  # as that of a function, what a generator can come to is found in its cells
    if cls is dict and "__builtins__" in x:  # the variables of a module: what is assigned to them has no derivative
        return None
    here = run.current()
    shadow: Any = here.shadow(x)
    if shadow is not None:
        if type(shadow) is ListShadow and len(shadow.f) != len(x):
            raise UnsupportedError(
                "a list that code without derivative changed", "the call", None, "pass it as argument"
            )
        return shadow
    if isinstance(x, list):
        shadow = ListShadow([None] * len(x), [None] * len(x))
        if _PLAIN.issuperset(map(type, x)):
            here.meet(x, shadow, ())
        else:
            here.meet(x, shadow)
            shadow.f[:] = [zero_fdata(v) for v in x]
    elif isinstance(x, deque):
        none = [None] * len(x)
        shadow = ListShadow(deque(none, x.maxlen), deque(none, x.maxlen))  # type: ignore[arg-type]
        here.meet(x, shadow)
        for i, v in enumerate(x):
            shadow.f[i] = zero_fdata(v)
    elif isinstance(x, dict):
        shadow = DictShadow({})
        here.meet(x, shadow)
        shadow.f.update({k: zero_fdata(v) for k, v in x.items()})
    elif cls is CellType:
        shadow = CellShadow(None)
        here.put(x, shadow)
        with contextlib.suppress(ValueError):  # an empty cell
            shadow.f = zero_fdata(x.cell_contents)
    else:
        shadow = ObjectShadow(x)
        here.meet(x, shadow)
    return shadow


def met_fdata(x: Any, here: run.Run) -> Any:
    """fdata of what the run has met before: an object, a view of an array's memory, a cell that holds one of them."""
    if type(x) is np.ndarray:
        return zero_fdata(x) if id(layout.owner_of(x)) in here.memory else None
    found = here.shadow(x)
    if found is None and type(x) is CellType:
        with contextlib.suppress(ValueError):  # an empty cell
            if met_fdata(x.cell_contents, here) is not None:
                return zero_fdata(x)
    return found


def made_fdata(x: Any) -> Any:
    """fdata for what a rule made, whose cotangent the rule's pullback takes from it, or that has fdata of its own.

    NumPy may have made it as a view of memory that nobody else has; where it may be memory from outside that is
    written to, the run is asked.
    """
    if isinstance(x, tuple):
        items = tuple([made_fdata(v) for v in items_of(x)])
        return items if any(f is not None for f in items) else None
    if type(x) is not np.ndarray or x.dtype.kind not in "fc":
        return zero_fdata(x)
    if run.is_wary() < run.Wary.ARRAYS or not _lies_in(x, layout.owner_of(x)):
        return shadow_of(x)
    f = zero_fdata(x)
    f.is_view = False
    return f


_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), range, slice, np.float64, np.float32, np.int64})


def take_fdata(fdata: Any, dy: Any) -> Any:
    """The whole cotangent of a value of unknown type: what was added to its arrays' shadows, else the rdata dy."""
    if type(fdata) is Shadow or type(fdata) is ListShadow:
        return None if type(fdata) is Shadow and fdata.spread is not None and fdata.is_view else fdata.take()
    if type(fdata) is tuple:
        items = tuple([take_fdata(x, None if dy is None else dy[i]) for i, x in enumerate(fdata)])
        return items if any(x is not None for x in items) else None
    if isinstance(fdata, (DictShadow, ObjectShadow)):
        parts = {k: take_fdata(fdata.f.get(k), fdata.r.pop(k, None)) for k in {**fdata.f, **fdata.r}}
        if all(t is None for t in parts.values()):
            return dy
        if isinstance(fdata, DictShadow):
            return parts
        return _whole(fdata.owner, parts)
    return dy


def _whole(x: Any, parts: dict[str, Any]) -> Any:
    """The tangent of an object from those of some attributes: rules may look at every one."""
    constant = constant_attributes(type(x))
    zeros = {k: _zero(v) for k, v in attributes(x).items() if parts.get(k) is None and k not in constant}
    return declared_tangent(Tangent(type(x), {**parts, **zeros}))


def _zero(v: Any) -> Any:
    """The zero cotangent of a number or array; None for anything else."""
    if isinstance(v, np.ndarray):
        return np.zeros(v.shape, v.dtype) if v.dtype.kind in "fc" else None
    return type(v)(0) if isinstance(v, (float, complex, np.inexact)) else None


def add_rdata(a: Any, b: Any) -> Any:
    """The sum of two cotangents of the same value, neither being written to; None is zero."""
    if a is None:
        return b
    if b is None:
        return a
    if type(a) is tuple or type(a) is list:  # a rule may give a list for a tuple
        return tuple(add_rdata(x, y) for x, y in zip(a, b, strict=True))
    return a + b


def add_owned(acc: Any, t: Any) -> Any:
    """Add the array t to an accumulator of our own (None is zero), in place where there is one."""
    if acc is None:
        return np.array(t)
    acc += t
    return acc


def add_any(acc: Any, fdata: Any, t: Any) -> Any:
    """Add a cotangent to a value of unknown type: into its fdata if it has any, else to the accumulator."""
    if t is None:
        return acc
    if fdata is None:
        return add_rdata(acc, t)
    if type(fdata) is tuple:
        olds = acc if acc is not None else (None,) * len(fdata)
        return tuple(add_any(a, f, x) for a, f, x in zip(olds, fdata, t, strict=True))
    fdata.add(t)
    return acc
