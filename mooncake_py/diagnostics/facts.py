"""What debug mode asks of single values. Every question returns None where all is well, else what is wrong."""

from __future__ import annotations

import types as pytypes
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from mooncake_py.diagnostics.where import describe, name_of
from mooncake_py.fields import Kept
from mooncake_py.infer.own_containers import base_of
from mooncake_py.infer.types import (
    Arr,
    Cell,
    Dct,
    Fn,
    Inst,
    Known,
    LinkedDct,
    Lst,
    Real,
    Rec,
    T,
    Tup,
    parts_of,
)
from mooncake_py.shadows import At, NoDerivative, Shadow
from mooncake_py.structure import held_items
from mooncake_py.sums import SumShadow
from mooncake_py.tangents import (
    CellShadow,
    DictShadow,
    FunctionShadow,
    ListShadow,
    ObjectShadow,
    SetShadow,
    has_tangent,
)

SOME = 32  # of the items of a long list or dict, so many are looked at
_REALS = (int, float, np.integer, np.floating, np.bool_)
_NUMBERS = (int, float, complex, np.number)
_CONSTANTS = frozenset({slice, range, tuple})
_IMMUTABLE = frozenset({int, float, complex, bool, str, bytes, type(None), range, slice})


# -- signatures -------------------------------------------------------------------------------------------


def conforms(x: Any, t: T) -> bool:
    """Is x of this type?"""
    if type(t) is Arr:
        n, d = t.ndim, t.dtype
        return (
            type(x) is np.ndarray and (x.ndim >= t.least if n is None else x.ndim == n) and (d is None or x.dtype == d)
        )
    match t:
        case Inst(cls=c) if issubclass(c, Kept):
            return isinstance(x, (type, pytypes.FunctionType, pytypes.ModuleType))
        case Inst(cls=c):
            return type(x) is c
        case Real():
            return isinstance(x, _REALS)
        case Known(value=v):
            if isinstance(v, pytypes.ModuleType):
                return isinstance(x, pytypes.ModuleType)  # one library may stand for its wrapper (`array_namespace`)
            return x is v or (type(x) is type(v) and (Known(x) == t or (type(x) in _CONSTANTS and x == v)))
        case Rec(cls=c):  # it has been looked at, or is one of many
            return type(x) is c
        case Tup(raw=items, cls=c):
            return type(x) is c and isinstance(x, tuple) and len(x) == len(items) and all(map(conforms, x, items))
        case Lst(raw=e, cls=c):
            return _holds(x, c) and isinstance(x, Iterable) and all(conforms(v, e) for v in islice(x, SOME))
        case Dct(cls=c, raw_fields=fields, raw=e):
            known = dict(fields)
            return (
                _holds(x, c)
                and isinstance(x, dict)
                and all(
                    any(conforms(dict.__getitem__(x, k), v) for v in ([known[k]] if k in known else parts_of(t)))
                    for k in list(x)[:SOME]
                )
            )
        case Cell():
            return type(x) is pytypes.CellType
        case Fn(code=code):
            return type(x) is pytypes.FunctionType and x.__code__ is code
    return True


def _holds(x: Any, cls: type) -> bool:
    """Is x a container of this class, or the object of a class derived from it whose items are asked for?"""
    return type(x) is cls or base_of(type(x)) is cls


def type_text(t: T) -> str:
    """A type as a message names it."""
    match t:
        case Inst(cls=c):
            return c.__name__
        case Real():
            return "a real number"
        case Arr(dtype=d, ndim=n):
            return f"an array of {'any' if n is None else n} dimensions, {'any dtype' if d is None else d}"
        case Known(value=v):
            return f"{name_of(v) if callable(v) else repr(v)}"
        case Rec(cls=c):
            return f"such a {c.__name__}"
        case Tup(raw=items):
            return f"a tuple of {len(items)} ({', '.join(map(type_text, items))})"
        case Lst(raw=e, cls=c):
            return f"a {c.__name__} of {type_text(e)}"
        case Dct():
            return f"a dict of {type_text(t.values() if not isinstance(t, LinkedDct) else t.raw)}"
    return "anything"


# -- fdata ------------------------------------------------------------------------------------------------


def fdata_wrong(x: Any, fx: Any, depth: int = 3) -> str | None:
    """Has fdata fx the type, shape, dtype and fields that x demands? (None is: no derivative is asked for.)"""
    if fx is None or depth == 0:
        return None
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray and type(fx) is ObjectShadow:
        return None  # one of another class carries its derivatives as an object does
    if isinstance(x, np.ndarray):
        if type(fx) is not Shadow:
            return f"the fdata of {describe(x)} must be a Shadow, not {describe(fx)}"
        # Of integers, where that was not known before: a shadow of floats that nobody asks.
        if fx.shape != x.shape or fx.dtype != (x.dtype if x.dtype.kind in "fc" else np.float64):
            return f"the fdata of {describe(x)} is a {describe(fx)}"
        if fx.data is not None and (type(fx.data) is not np.ndarray or fx.data.shape != x.shape):
            return f"the fdata of {describe(x)} holds {describe(fx.data)}"
        return None
    if isinstance(x, tuple):
        if type(fx) is not tuple or len(fx) != len(x):
            return f"the fdata of {describe(x)} must be a tuple of {len(x)}, not {describe(fx)}"
        return _first(fdata_wrong(v, fv, depth - 1) for v, fv in zip(x, fx, strict=True))
    if type(x) is list:
        if type(fx) is SumShadow:
            return None
        if type(fx) is not ListShadow:
            return f"the fdata of {describe(x)} must be a ListShadow, not {describe(fx)}"
        if len(fx.f) != len(x) or len(fx.r) != len(x):
            return f"the fdata of a list of {len(x)} has {len(fx.f)} items and {len(fx.r)} cotangents"
        return _first(fdata_wrong(v, fv, depth - 1) for v, fv in zip(x[:SOME], fx.f, strict=False))
    if type(x) is dict:
        if type(fx) is not DictShadow:
            return f"the fdata of {describe(x)} must be a DictShadow, not {describe(fx)}"
        known = {*fx.f, *fx.r, *(fx.keys or ())}
        if not known <= x.keys():
            return f"the fdata of a dict has keys that the dict has not: {sorted(map(repr, known - x.keys()))}"
        return _first(fdata_wrong(x[k], fx.f[k], depth - 1) for k in list(fx.f)[:SOME])
    if isinstance(x, (set, frozenset)):
        if type(fx) is not SetShadow:
            return f"the fdata of {describe(x)} must be a SetShadow, not {describe(fx)}"
        if not (fx.keys or {}).keys() <= x:
            return "the fdata of a set has items that the set has not"
        return None
    if type(x) is pytypes.CellType:
        return (
            None if type(fx) is CellShadow else f"the fdata of a closure cell must be a CellShadow, not {describe(fx)}"
        )
    if type(x) is pytypes.FunctionType:
        if type(fx) is ObjectShadow and fx.owner is x:  # of its attributes
            return None
        if type(fx) is not FunctionShadow:
            return f"the fdata of a function must be a FunctionShadow, not {describe(fx)}"
        if len(fx.cells) != len(x.__closure__ or ()):
            return f"the fdata of {x.__qualname__} has {len(fx.cells)} cells, the function {len(x.__closure__ or ())}"
        return None
    if isinstance(x, (float, complex, np.generic, int, str)):
        return f"{describe(x)} is a value and has no fdata, but was given {describe(fx)}"
    return None


def alias_wrong(items: list[tuple[str, Any, Any]]) -> str | None:
    """Have (name, primal, fdata) that are one object, or share memory, one fdata, or such that share memory?"""
    known = [(n, x, f) for n, x, f in items if f is not None and type(x) in (np.ndarray, list, dict)]
    known = [(n, x, f) for n, x, f in known if type(x) is not np.ndarray or (x.flags.writeable and x.size)]
    for i, (n, x, f) in enumerate(known):
        for m, y, g in known[:i]:
            if x is y:
                if f is not g and not (type(f) is Shadow and type(g) is Shadow and _one_memory(f, g)):
                    return f"{m} and {n} are one object, but have two fdata"
            elif type(x) is np.ndarray and type(y) is np.ndarray and type(f) is Shadow and type(g) is Shadow:
                if share(x, y) and not _one_memory(f, g):
                    return f"{m} and {n} share memory, but their fdata do not"
    return None


def share(x: Any, y: Any) -> bool:
    """Are they one object, or arrays that share memory?"""
    if x is y:
        return True
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y)):
        return False
    try:
        return bool(np.shares_memory(x, y, max_work=10_000))
    except Exception:  # too hard to tell
        return False


def _one_memory(f: Shadow, g: Shadow) -> bool:
    f, g = (x if x.spread is None else x.spread[0] for x in (f, g))
    if f is g:
        return True
    return f.data is not None and g.data is not None and np.may_share_memory(f.data, g.data)


# -- cotangents -------------------------------------------------------------------------------------------


def cotangent_wrong(x: Any, d: Any, name: str, path: tuple[int, ...] = ()) -> str | None:
    """Is d a cotangent of x? None is zero, NoDerivative says that there is none."""
    if type(d) is np.ndarray and type(x) is np.ndarray and d.shape == x.shape and d.dtype == x.dtype:
        return None
    if d is None or isinstance(d, NoDerivative):
        return None
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "fc":
            return None
        if type(d) is At:
            return _at_wrong(x, d, name)
        if not isinstance(d, (np.ndarray, np.generic)) and not (x.ndim == 0 and isinstance(d, _NUMBERS)):
            return f"{name}, {describe(x)}, got {describe(d)}: it must be an array of its shape and dtype"
        a = np.asarray(d)
        if a.shape != x.shape:
            return f"{name} has shape {x.shape}, its cotangent has shape {a.shape}"
        if a.dtype.kind not in ("fc" if x.dtype.kind == "c" else "f"):
            return f"{name} has dtype {x.dtype}, its cotangent has dtype {a.dtype}"
        return None
    if isinstance(x, (float, complex, np.inexact)):
        if isinstance(d, np.ndarray) or not isinstance(d, _NUMBERS):
            return f"{name}, {describe(x)}, got {describe(d)}: it must be a number"
        if isinstance(d, (complex, np.complexfloating)) and not isinstance(x, (complex, np.complexfloating)):
            return f"{name} is real, its cotangent is {describe(d)}"
        return None
    if id(x) in path:
        return None
    if isinstance(x, (list, dict)):
        path = (*path, id(x))
    if isinstance(x, tuple):
        if not isinstance(d, (tuple, list)) or len(d) != len(x):
            return f"{name}, {describe(x)}, got {describe(d)}: it must be a tuple of {len(x)}"
        return _first(cotangent_wrong(v, dv, f"{name}[{i}]", path) for i, (v, dv) in enumerate(zip(x, d, strict=True)))
    if isinstance(x, list):
        if (
            not isinstance(d, (list, tuple, np.ndarray))
            or (isinstance(d, np.ndarray) and not d.ndim)
            or len(d) != len(x)
        ):
            return f"{name}, {describe(x)}, got {describe(d)}: it must be a list of {len(x)}"
        return _first(cotangent_wrong(v, dv, f"{name}[{i}]", path) for i, (v, dv) in enumerate(zip(x, d, strict=True)))
    if isinstance(x, dict):
        if not isinstance(d, dict) or not dict.keys(d) <= dict.keys(x):
            return f"{name}, {describe(x)}, got {describe(d)}: it must be a dict of its keys"
        return _first(cotangent_wrong(dict.__getitem__(x, k), t, f"{name}[{k!r}]", path) for k, t in dict.items(d))
    return None


def less_precise(x: Any, d: Any, name: str) -> str | None:
    """Is d a cotangent in single precision, of an array in double?"""
    if isinstance(x, np.ndarray) and isinstance(d, np.ndarray) and d.dtype.kind in "fc":
        if np.finfo(d.dtype).eps > np.finfo(x.dtype).eps:
            return f"{name} has dtype {x.dtype}, its cotangent has dtype {d.dtype}"
    return None


def _at_wrong(x: np.ndarray, d: At, name: str) -> str | None:
    try:
        part = x[d.index]
    except IndexError as e:
        return f"{name} has shape {x.shape}, its cotangent is At({d.index!r}, ...): {e}"
    if isinstance(d.value, float) and not isinstance(part, np.ndarray):
        return None
    value = np.asarray(d.value)
    if value.dtype.kind not in ("fc" if x.dtype.kind == "c" else "fiub"):
        return f"{name} has dtype {x.dtype}, its cotangent at {d.index!r} is {describe(d.value)}"
    try:
        np.broadcast_to(value, np.shape(part))
    except ValueError:
        return f"{name}[{d.index!r}] has shape {np.shape(part)}, its cotangent there has shape {value.shape}"
    return None


def _first(found: Iterator[str | None]) -> str | None:
    return next((w for w in found if w is not None), None)


# -- content ----------------------------------------------------------------------------------------------


def fingerprint(x: Any) -> Any:
    """What x holds now, to be compared by `unchanged`; None for what cannot change."""
    cls = type(x)
    if cls in _IMMUTABLE:
        return None
    if cls is np.ndarray or isinstance(x, np.ndarray):
        return _bits(x)
    if cls is list:
        return tuple(x) if len(x) <= 16 * SOME else (*x[:SOME], *x[-SOME:], len(x))
    if cls is dict:
        return tuple(x.items()) if len(x) <= 16 * SOME else (len(x),)
    if cls is pytypes.CellType:
        try:
            return (x.cell_contents,)
        except ValueError:
            return ()
    if cls is bytearray:
        return bytes(x)
    return None


def _bits(x: np.ndarray) -> Any:
    if x.dtype.kind == "O":
        return tuple(map(id, x.ravel().tolist()))
    data = x.tobytes()
    return data if len(data) <= 256 else hash(data)


def unchanged(x: Any, before: Any) -> bool:
    """Does x hold what it held when its fingerprint was taken?"""
    if type(x) is np.ndarray:
        return bool(_bits(x) == before)
    now = fingerprint(x)
    if now is None or before is None or isinstance(x, (np.ndarray, bytearray)):
        return bool(now == before)
    if len(now) != len(before):
        return False
    if type(x) is dict and now and type(now[0]) is tuple:
        return all(a[0] is b[0] and a[1] is b[1] for a, b in zip(now, before, strict=True))
    return all(a is b or (type(a) is int and a == b) for a, b in zip(now, before, strict=True))


def deep_fingerprint(x: Any) -> list[tuple[Any, Any]]:
    """x and everything mutable in it, each with its fingerprint."""
    out: list[tuple[Any, Any]] = []
    seen: set[int] = set()

    def visit(v: Any) -> None:
        if type(v) in _IMMUTABLE or id(v) in seen:
            return
        seen.add(id(v))
        mark = fingerprint(v)
        if mark is not None:
            out.append((v, mark))
        if isinstance(v, (list, tuple, dict)):
            for item in held_items(v):
                visit(item)

    visit(x)
    return out


def captured_arrays(pullback: Any) -> list[np.ndarray]:
    """The arrays that a pullback captured: in its cells and defaults, in tuples and closures there."""
    out: list[np.ndarray] = []
    if type(pullback) is pytypes.FunctionType:
        _captured(pullback, out, 4)
    return out


def _captured(v: Any, out: list[np.ndarray], depth: int) -> None:
    inner: list[Any] = []
    if type(v) is tuple:
        inner += v
    else:
        for cell in v.__closure__ or ():
            try:
                inner.append(cell.cell_contents)
            except ValueError:  # an empty cell
                continue
        inner += v.__defaults__ or ()
    for x in inner:
        cls = type(x)
        if cls is np.ndarray:
            if not any(x is y for y in out):
                out.append(x)
        elif (cls is tuple or cls is pytypes.FunctionType) and depth:
            _captured(x, out, depth - 1)


# -- numbers ----------------------------------------------------------------------------------------------


def numbers_in(x: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The floats, complex numbers and arrays of such in a value."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind in "fc":
            yield x
    elif isinstance(x, (float, complex, np.inexact)):
        yield x
    elif isinstance(x, (tuple, list, dict)):
        seen = set() if seen is None else seen
        if id(x) in seen:
            return
        seen.add(id(x))
        for v in held_items(x):
            yield from numbers_in(v, seen)
    elif type(x) is At:
        yield from numbers_in(x.value)


def has_nan(x: Any) -> bool:
    return any(bool(np.isnan(v).any()) for v in numbers_in(x))


def has_inf(x: Any) -> bool:
    return any(bool(np.isinf(v).any()) for v in numbers_in(x))


def rounding(kind: Any) -> float:
    """How far two ways of computing the same may be apart: 4e-10 in double precision, 7e-5 in single."""
    return float(np.finfo(kind).eps) ** 0.6


def same_value(a: Any, b: Any, seen: set[tuple[int, int]] | None = None) -> str | None:
    """Are two results equal, up to rounding? NaN is NaN."""
    if type(a) is type(b) and isinstance(a, (float, int, complex, np.generic)) and a == b:
        return None
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        if type(a) is not type(b) or len(a) != len(b):
            return f"{describe(a)} instead of {describe(b)}"
        seen = set() if seen is None else seen
        if (id(a), id(b)) in seen:
            return None
        seen.add((id(a), id(b)))
        return _first(same_value(v, w, seen) for v, w in zip(a, b, strict=True))
    if type(a) is not type(b):
        return f"{describe(a)} instead of {describe(b)}"
    if isinstance(a, np.ndarray):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{describe(a)} instead of {describe(b)}"
        if a.nbytes <= 65536 and a.tobytes() == b.tobytes():
            return None
        if a.dtype.kind not in "fc":
            return None if np.array_equal(a, b) else "an array with other values"
        with np.errstate(all="ignore"):
            tolerance = rounding(a.dtype)
            scale = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
            close = np.isclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
        if close.all():
            return None
        i = np.unravel_index(int(np.argmin(close)), close.shape)
        at = f" at {tuple(map(int, i))}" if i else ""
        return f"{a[i].item()!r} instead of {b[i].item()!r}{at}"
    if isinstance(a, (float, complex, np.inexact)):
        if a == b or (a != a and b != b) or abs(a - b) <= rounding(type(a)) * abs(b):
            return None
        return f"{a!r} instead of {b!r}"
    if isinstance(a, (int, str, bool, bytes)):
        return None if a == b else f"{a!r} instead of {b!r}"
    return None


def plain_data(x: Any) -> bool:
    """Numbers, strings, arrays and containers of such: what a call cannot have a side effect through."""
    return all(
        v.dtype.kind != "O"
        if isinstance(v, np.ndarray)
        else type(v) in _IMMUTABLE or isinstance(v, (np.generic, np.dtype, type)) or v is Ellipsis
        for v in _held(x)
    )


def differentiable(x: Any) -> bool:
    """May a number in it have a derivative?"""
    return any(map(has_tangent, _held(x)))


def _held(x: Any) -> Iterator[Any]:
    """What is in a container and in those it holds, however deep, or x itself where it is none."""
    seen: set[int] = set()
    work = [x]
    while work:
        x = work.pop()
        if not isinstance(x, (tuple, list, dict)):
            yield x
        elif id(x) not in seen:
            seen.add(id(x))
            work += held_items(x)
