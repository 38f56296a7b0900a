"""Tangents: what has identity carries *fdata* beside it, what is a value has *rdata* that pullbacks return.

| primal | fdata | rdata |
|---|---|---|
| float, complex, NumPy scalar | none | a number; None is zero |
| array of floats or complex | `Shadow` | none |
| list, dict, set, closure cell | `ListShadow`, `DictShadow`, `SetShadow`, `CellShadow` | none |
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
from collections.abc import Iterable
from types import CellType
from typing import Any

import numpy as np

from mooncake_py import layout, run
from mooncake_py.errors import RuleError, UnsupportedError
from mooncake_py.fields import bare
from mooncake_py.mirrors import Tangent, constant_attributes, declaration, declared_tangent, tangent_fields
from mooncake_py.shadows import NoDerivative, Shadow, shadow_of
from mooncake_py.structure import attributes, dict_of, in_order, is_user_class, items_of, stored
from mooncake_py.unwinding import tangent_of


class CoDual:
    """A primal with its fdata, as rules see it; in an inlined rule it is never made."""

    __slots__ = ("fdata", "primal")

    def __init__(self, primal: Any, fdata: Any):
        self.primal = primal
        self.fdata = fdata


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
    if not lies_in(x, base):
        if here.wary >= run.Wary.ARRAYS:
            raise UnsupportedError("a view of an array from outside with this memory layout", "the call", None)
        return shadow_of(x)
    if layout.repeats(x):
        return whole.shown_at(layout.places_of(x, base))
    shadow = whole.view(layout.same_view(x, base, whole.dense()))
    shadow.is_view = found is not None  # if not, nobody has met the base: what belongs to it is told by this view
    return shadow


_NOBODY: tuple[Any, Any] = (lambda: None), None


def lies_in(x: np.ndarray, base: np.ndarray) -> bool:
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


class SetShadow:
    """The tangent of a set, or of what a dict has as keys.

    `keys` has the tangents of the items, of those that somebody has asked for; a copy of the set shares them.
    """

    __slots__ = ("keys",)

    def __init__(self, keys: dict[Any, CellShadow] | None = None):
        self.keys = keys

    def of_key(self, k: Any) -> CellShadow:
        """The tangent of an item that is in the set."""
        keys = self.keys
        if keys is None:
            keys = self.keys = {}
        found = keys.get(k)
        if found is None:
            found = keys[k] = CellShadow(zero_fdata(k))
        return found

    def of_keys(self, keys: Iterable[Any]) -> dict[Any, CellShadow] | None:
        """The tangents of those of these items that may have one, None for none."""
        found = {k: self.of_key(k) for k in keys if type(k) not in WHOLE}
        return found or None

    def put_key(self, k: Any, tangent: CellShadow) -> None:
        """Give an item that is new in the set the tangent that it has elsewhere."""
        if self.keys is None:
            self.keys = {}
        self.keys.setdefault(k, tangent)

    def take_key(self, k: Any) -> Any:
        """The cotangent that an item has beside its fdata, where it leaves the set."""
        found = (self.keys or {}).pop(k, None)
        return None if found is None else found.r


class DictShadow(SetShadow):
    """The tangent of a dict: for every key the value's fdata in `f` and its cotangent in `r`.

    A key that is absent has none in `f`, and a cotangent of zero in `r`. The keys themselves have tangents as items
    of a set do.
    """

    __slots__ = ("f", "r")

    def __init__(self, f: dict, r: Sums | None = None, keys: dict[Any, CellShadow] | None = None):
        self.f = f
        self.r = Sums() if r is None else r
        self.keys = keys

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

    def share(self, items: DictShadow) -> ObjectShadow:
        """Let the attributes be the items of a dict, with this shadow."""
        self.f, self.r, self.viewed = items.f, items.r, True
        return self

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
        if fields is None and isinstance(self.owner, np.ndarray):
            raise UnsupportedError(
                f"this use of an array of class {cls.__name__} with a derivative", "the call", None,
                "take np.asarray of it first",
            )  # fmt: skip
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

    def add(self, t: Any) -> None:
        """Add a cotangent of the content."""
        self.r = add_any(self.r, self.f, t)


class FunctionShadow:
    """The tangent of a function made in the run: its cells' shadows, and those of its default values.

    `defaults` is a `ListShadow` of the positional defaults, `kwdefaults` a `DictShadow` of the keyword-only ones.
    `outside`: pairs of objects and their fdata, where it is given away and comes to them by names, in a run that is
    `wary` (see `runtime/outside_functions.py`).
    """

    __slots__ = ("cells", "defaults", "kwdefaults", "outside", "wary")

    def __init__(
        self,
        cells: tuple,
        defaults: ListShadow | None,
        kwdefaults: DictShadow | None,
        outside: tuple[tuple[Any, Any], ...] = (),
        wary: run.Wary = run.NOTHING,
    ):
        self.cells = cells
        self.defaults = defaults
        self.kwdefaults = kwdefaults
        self.outside, self.wary = outside, wary


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
    if cls is not CellType and not isinstance(x, _CONTAINERS) and not is_user_class(cls):
        return tangent_of(x) if isinstance(x, BaseException) else None
    if cls is dict and "__builtins__" in x:  # the variables of a module: what is assigned to them has no derivative
        return None
    here = run.current()
    shadow: Any = here.shadow(x)
    if shadow is not None:
        if type(shadow) is ListShadow and len(shadow.f) != len(in_order(x)):
            raise UnsupportedError(
                "a list that code without derivative changed", "the call", None, "pass it as argument"
            )
        return shadow
    if isinstance(x, list):
        held = in_order(x)
        shadow = ListShadow([None] * len(held), [None] * len(held))
        if _PLAIN.issuperset(map(type, held)):
            here.meet(x, shadow, ())
        else:
            here.meet(x, shadow)
            shadow.f[:] = [zero_fdata(v) for v in held]
    elif isinstance(x, deque):
        held = in_order(x)
        none = [None] * len(held)
        shadow = ListShadow(deque(none, x.maxlen), deque(none, x.maxlen))  # type: ignore[arg-type]
        here.meet(x, shadow)
        for i, v in enumerate(held):
            shadow.f[i] = zero_fdata(v)
    elif cls is dict and (owner := here.dicts.get(id(x))) is not None:
        shadow = attributes_view(owner, here.shadow(owner), here)
    elif isinstance(x, dict):
        shadow = DictShadow({})
        here.meet(x, shadow)
        shadow.f.update({k: zero_fdata(v) for k, v in dict.items(x)})
    elif isinstance(x, (set, frozenset)):
        if isinstance(x, frozenset) and WHOLE.issuperset(map(type, x)):
            return None
        shadow = SetShadow()
        here.meet(x, shadow)
    elif cls is CellType:
        shadow = CellShadow(None)
        here.meet(x, shadow)
        with contextlib.suppress(ValueError):  # an empty cell
            shadow.f = zero_fdata(x.cell_contents)
    else:
        shadow = ObjectShadow(x)
        here.meet(x, shadow)
        if here.wary and (held := dict_of(x)) is not None:
            if type(known := here.shadow(held)) is DictShadow:  # which the run came to first
                shadow.share(known)
            else:
                here.dicts[id(held)] = x
    return shadow


def attributes_view(x: Any, shadow: ObjectShadow, here: run.Run) -> DictShadow:
    """The fdata of `x.__dict__`: that of x by another name."""
    shadow.viewed = True
    for name in dict_of(x):
        shadow.fdata(name)
    view = DictShadow(shadow.f, shadow.r)
    here.put(dict_of(x), view)
    here.touch(x)
    return view


def met_fdata(x: Any, here: run.Run) -> Any:
    """fdata of what the run has met before: an object, an exception, a view of an array's memory, a cell."""
    if type(x) is np.ndarray:
        met: dict[int, Any] = here.arrays if here.wary >= run.Wary.ARRAYS else here.memory
        return zero_fdata(x) if id(layout.owner_of(x)) in met else None
    found = here.shadow(x)
    if found is None and type(x) is CellType:
        with contextlib.suppress(ValueError):  # an empty cell
            if met_fdata(x.cell_contents, here) is not None:
                return zero_fdata(x)
    if found is None and here.exceptions and isinstance(x, BaseException):
        return tangent_of(x)
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
    if run.is_wary() < run.Wary.ARRAYS or not lies_in(x, layout.owner_of(x)):
        return shadow_of(x)
    f = zero_fdata(x)
    f.is_view = False
    return f


WHOLE = frozenset({int, bool, str, bytes, type(None)})
"""Classes of keys that have no derivative."""
_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), range, slice, np.float64, np.float32, np.int64})
_CONTAINERS = (list, dict, deque, set, frozenset)


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
    return type(bare(v))(0) if isinstance(v, (float, complex, np.inexact)) else None


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
