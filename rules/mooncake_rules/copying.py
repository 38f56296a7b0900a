"""Copies of containers and objects, shallow and deep; what `dataclasses` makes of data classes."""

from __future__ import annotations

import copy
import dataclasses
import functools
import types as pytypes
from collections import deque
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.infer.types import Dct, Lst, Obj, T, Tup, is_scalar
from mooncake_py.kept_iterators import Lasting
from mooncake_py.registry import infer_table, maybe_none, overlay, rrule, zero_derivative
from mooncake_py.runtime.stored import shadow_of_attributes, writable_shadow
from mooncake_py.structure import attributes, held_items, is_user_class, store
from mooncake_py.tangents import (
    WHOLE,
    CellShadow,
    CoDual,
    DictShadow,
    FunctionShadow,
    ListShadow,
    ObjectShadow,
    PartialShadow,
    SetShadow,
    add_any,
    add_rdata,
    zero_fdata,
)
from mooncake_py.unwinding import ArgsShadow
from mooncake_rules.iteration import backwards_


@overlay(copy.copy)
def copy_(x):
    if isinstance(x, np.ndarray):
        return x.copy("K")
    if isinstance(x, np.generic):
        return x
    if hasattr(type(x), "__copy__"):
        return type(x).__copy__(x)
    return shallow(x)


@overlay(copy.deepcopy)
def deepcopy_(x, memo=None):
    if memo is not None:
        check_memo(memo, x)
    if isinstance(x, np.ndarray):
        return x.copy("K")
    if isinstance(x, np.generic):
        return x
    if hasattr(type(x), "__deepcopy__"):
        return type(x).__deepcopy__(x, {} if memo is None else memo)
    return deep(x)


def check_memo(memo: dict, x: Any) -> None:
    """Refuse what a deep copy would take from its memo: here each is another one."""
    copied = run.current().memos.setdefault((copy.deepcopy, id(memo)), (memo, {}))[1]
    new: dict[int, Any] = {}
    work, seen = [x], set()
    while work:
        x = work.pop()
        if type(x) in WHOLE or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, _COPIED) or is_user_class(type(x)):
            if id(x) in copied or id(x) in memo:
                what = f"a deep copy with a memo of the copies made before, which has one of a {type(x).__name__},"
                hint = "copy all at once: `a, b = copy.deepcopy((a, b))`"
                raise UnsupportedError(what, "the call", None, hint)
            new[id(x)] = x
        if not hasattr(type(x), "__deepcopy__"):  # which copies what it holds, with the same memo
            work += held_items(x) if isinstance(x, _HOLD) else attributes(x).values()
    copied.update(new)


_COPIED = (list, deque, dict, set, np.ndarray)
_HOLD = (list, deque, dict, set, tuple, frozenset)
zero_derivative(check_memo)


def shallow(x: Any) -> Any:
    """A copy of a container or object that holds the same values; what goes backwards goes on by itself."""
    y = copy.copy(x)
    if isinstance(x, Lasting) and type(x).__name__ == backwards_.__name__:
        for name, v in attributes(y).items():
            if type(v) is _PLACES:
                store(y, name, copy.copy(v))
    return y


_PLACES = type(iter(range(0)))


def deep(x: Any) -> Any:
    """A copy of a container or object, and of all it holds."""
    return copy.deepcopy(x)


def _alike(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    """A copy is of the type of what it is made of."""
    t = args[0]
    return t if isinstance(t, (Lst, Dct, Tup, Obj)) or is_scalar(t) else None


infer_table[shallow] = infer_table[deep] = _alike


def _refuse(what: str, x: Any) -> UnsupportedError:
    hint = "make the copy yourself, of what it holds"
    return UnsupportedError(f"{what} of a {type(x).__name__} that has a derivative", "the call", None, hint)


@rrule(shallow)
def _shallow(x: CoDual):
    p, fx = x.primal, x.fdata
    y = shallow(p)
    fy = _same_parts(p, fx, y)
    beside, own = _beside(p, fx, y, fy)
    if own is not None:
        own.f.update({k: beside.fdata(k) for k in attributes(y)})

    def pullback(dy):
        for k in () if own is None else list(own.r):
            beside.r[k] = add_rdata(beside.r.get(k), own.r.pop(k))
        if fy is fx or type(fy) in (tuple, SetShadow) or fy is None:
            return (dy,)
        for k in list(fy.r) if isinstance(fy.r, dict) else range(len(fy.r)):
            t = _taken(fy, None, k)
            if t is not None:
                fx.r[k] = add_rdata(fx.r.get(k) if isinstance(fx.r, dict) else fx.r[k], t)
        return None

    return CoDual(y, fy), pullback


def _beside(x: Any, fx: Any, y: Any, fy: Any) -> tuple[Any, Any]:
    """Where the tangents of attributes are that x and its copy y have beside their items; None where they have none."""
    if y is x or not isinstance(x, (list, dict, deque)) or not attributes(y):
        return None, None
    beside = shadow_of_attributes(x, fx)
    return (None, None) if beside is None else (beside, writable_shadow(y, fy))


def _same_parts(x: Any, fx: Any, y: Any) -> Any:
    if y is x or fx is None or type(fx) is tuple:
        return fx
    if isinstance(x, functools.partial):
        return fx  # both hold the same values, and neither can be given others
    if type(fx) is ListShadow:
        return ListShadow(list(fx.f), [None] * len(fx.f))
    if type(fx) is DictShadow:
        return DictShadow(dict(fx.f), None, fx.of_keys(x))
    if type(fx) is SetShadow:
        return SetShadow(fx.of_keys(x))
    if type(fx) is ObjectShadow:
        return ObjectShadow(y, {k: fx.fdata(k) for k in attributes(x)})
    fy = zero_fdata(y)
    if fy is None:
        raise _refuse("a copy", x)
    return fy


class Copies(dict[int, Any]):
    """Deep copies by the identity of what they are of, where that is told.

    `beside`, by the identity of copies: where the tangents are of attributes beside items.
    """

    def __init__(self) -> None:
        self.beside: dict[int, tuple[Any, Any]] = {}


def _of_copy(convert: Any) -> Any:
    def rule(x: CoDual):
        p, fx = x.primal, x.fdata
        copies = Copies()
        y = convert(p, copies)
        fy = mirrored(p, fx, y, {}, copies)

        def pullback(dy):
            return (give_back(p, fx, y, fy, dy, set(), copies),)

        return CoDual(y, fy), pullback

    return rule


def _pairs(x: Any, y: Any) -> list[tuple[Any, Any, Any, Any]]:
    """What x holds beside what its deep copy y holds in its place, each behind its key.

    y may hold a dict or tuple where x holds an object, as `dataclasses.asdict` makes them.
    """
    if isinstance(x, (tuple, list, deque)):
        return [(i, a, i, b) for i, (a, b) in enumerate(zip(x, y, strict=True))]
    if isinstance(x, (set, frozenset)):
        return []
    if isinstance(x, dict):
        return [(k, v, c, w) for (k, v), (c, w) in zip(x.items(), y.items(), strict=True)]
    held = attributes(x)
    if isinstance(y, tuple):
        names = [f.name for f in dataclasses.fields(x)]
        return [(k, held[k], i, y[i]) for i, k in enumerate(names)]
    copied = y if isinstance(y, dict) else attributes(y)
    return [(k, v, k, copied[k]) for k, v in held.items() if k in copied]  # one that is not there came later


def _keys(x: Any, fx: Any, y: Any, copies: Copies) -> list[tuple[Any, Any]]:
    """The keys of a dict or set that may have tangents, each beside its deep copy."""
    if type(fx) is DictShadow:
        return [(k, c) for k, c in zip(x, y, strict=True) if type(k) not in WHOLE]
    if type(fx) is not SetShadow:
        return []
    own = {c: c for c in y}  # in another order
    keys = [(k, copies.get(id(k), k)) for k in x if type(k) not in WHOLE]
    if any(c not in own and zero_fdata(k) is not None for k, c in keys):
        raise _refuse("a deep copy, by other means than `copy.deepcopy`,", x)
    return [(k, own[c]) for k, c in keys if c in own]


def _fdata_of(f: Any, key: Any) -> Any:
    """The fdata of a part."""
    if f is None or type(f) is tuple:
        return None if f is None else f[key]
    if type(f) is ObjectShadow:
        return f.fdata(key)
    return f.f[key] if type(f) is ListShadow else f.f.get(key)


def mirrored(x: Any, fx: Any, y: Any, seen: dict[int, Any], copies: Copies) -> Any:
    """The fdata of y, a deep copy of x: new, one for all places where one thing is; that of x where y is no copy."""
    if y is x:
        return fx
    if id(y) in seen:
        return seen[id(y)]
    if type(y) is pytypes.MethodType:
        return mirrored(x.__self__, fx, y.__self__, seen, copies)
    if isinstance(y, tuple) and isinstance(x, tuple):
        fs = tuple([mirrored(a, _fdata_of(fx, k), b, seen, copies) for k, a, _, b in _pairs(x, y)])
        return fs if any(f is not None for f in fs) else None
    if type(fx) is PartialShadow:
        if y.func is x.func and all(
            a is b for _, a, _, b in (*_pairs(x.args, y.args), *_pairs(x.keywords, y.keywords))
        ):
            return fx
        raise _refuse("a deep copy", x)
    fy = zero_fdata(y)
    beside, own = copies.beside[id(y)] = _beside(x, fx, y, fy)
    if own is not None:
        seen[id(y)] = fy
        copied = attributes(y)
        for k, a in attributes(x).items():
            f = mirrored(a, beside.fdata(k), copied[k], seen, copies)
            if f is not None:
                own.f[k] = f
    if (fy is None and fx is not None and not isinstance(y, tuple)) or ArgsShadow in (type(fx), type(fy)):
        raise _refuse("a deep copy", x)
    if fx is None or isinstance(y, (np.ndarray, np.generic)) or type(fy) in (type(None), tuple):
        seen[id(y)] = fy
        return fy
    if seen and isinstance(class_attribute(type(x), "__deepcopy__"), pytypes.FunctionType):
        raise _refuse("a deep copy by its own __deepcopy__, in that of what holds it,", x)
    seen[id(y)] = fy
    for k, c in _keys(x, fx, y, copies):
        old = fx.of_key(k)
        fy.put_key(c, old if c is k else CellShadow(mirrored(k, old.f, c, seen, copies)))
    for kx, a, ky, b in _pairs(x, y):
        f = mirrored(a, _fdata_of(fx, kx), b, seen, copies)
        if f is not None:
            fy.f[ky] = f
    return fy


def _taken(f: Any, r: Any, key: Any) -> Any:
    """The cotangent of a part that travels beside fdata, leaving zero."""
    if f is None or type(f) is tuple:
        return None if r is None else r[key]
    if type(f) is ListShadow:
        t, f.r[key] = f.r[key], None
        return t
    return f.r.pop(key, None)


def give_back(x: Any, fx: Any, y: Any, fy: Any, r: Any, seen: set[int], copies: Copies) -> Any:
    """Move the cotangent of y, a deep copy of x, to x: into its fdata, else as the rdata that is returned."""
    if y is x:
        return r
    if isinstance(x, np.ndarray):
        d = fy.take() if fy is not None else r
        if d is not None and fx is not None:
            fx.add(d)
        return None
    if isinstance(x, tuple):
        ts = [
            give_back(a, _fdata_of(fx, k), b, _fdata_of(fy, k), _taken(fy, r, k), seen, copies)
            for k, a, _, b in _pairs(x, y)
        ]
        return tuple(ts) if any(t is not None for t in ts) else None
    if type(x) is pytypes.MethodType:
        return give_back(x.__self__, fx, y.__self__, fy, r, seen, copies)
    if id(y) in seen:
        return None
    beside, own = copies.beside.get(id(y), (None, None))
    if own is not None:
        seen.add(id(y))
        copied = attributes(y)
        for k, a in attributes(x).items():
            t = give_back(a, beside.fdata(k), copied[k], own.fdata(k), own.r.pop(k, None), seen, copies)
            if t is not None:
                beside.r[k] = add_any(beside.r.get(k), None, t)
    if fx is None or type(fx) in (PartialShadow, FunctionShadow):
        return r if isinstance(x, (float, complex, np.inexact)) else None
    seen.add(id(y))
    for k, c in _keys(x, fx, y, copies):
        if c is not k:
            new, old = fy.of_key(c), fx.of_key(k)
            old.add(give_back(k, old.f, c, new.f, new.r, seen, copies))
    if isinstance(x, (list, deque, dict)) or is_user_class(type(x)):
        for kx, a, ky, b in _pairs(x, y):
            t = give_back(a, _fdata_of(fx, kx), b, _fdata_of(fy, ky), _taken(fy, r, ky), seen, copies)
            if t is not None:
                fx.r[kx] = add_any(fx.r[kx] if type(fx) is ListShadow else fx.r.get(kx), None, t)
    return None


rrule(deep)(_of_copy(copy.deepcopy))
rrule(dataclasses.asdict)(_of_copy(lambda x, _: dataclasses.asdict(x)))
rrule(dataclasses.astuple)(_of_copy(lambda x, _: dataclasses.astuple(x)))
maybe_none.add(give_back)
