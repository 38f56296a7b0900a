"""Is a value of a type? Asked again and again of arguments, so a type becomes a predicate once."""

from __future__ import annotations

import sys
import types as pytypes
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from mooncake_py.fields import is_function, is_local_function
from mooncake_py.infer.abstraction import FEW, NARROW, abstract, is_of_class_made_anew, is_of_its_own
from mooncake_py.infer.types import (
    BOT,
    ITEMS,
    Arr,
    Bot,
    Cell,
    Dct,
    Inst,
    Kind,
    Known,
    LinkedDct,
    LinkedLst,
    LinkedTup,
    Lst,
    Obj,
    Real,
    Rec,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    bound,
    parts_of,
)
from mooncake_py.structure import is_own_namespace, reader

Fit = Callable[[Any], bool]
Fields = tuple[tuple[str, T], ...]
Part = Callable[[Any, "Walk"], bool]
Around = dict[Kind, list[Part]]  # of what a type stands in: what each container or object of that kind is asked

_SIMPLE = frozenset({float, complex, int, bool, str})


class Walk:
    """What one question came to again and again by others of its kind, and what each is asked."""

    __slots__ = ("known", "todo")

    def __init__(self) -> None:
        self.known: set[tuple[int, Part]] = set()
        self.todo: list[tuple[Any, Part]] = []

    def meet(self, x: Any, asks: Part) -> bool:
        """It is asked later: lists that are linked are longer than a stack is deep, and there are rings."""
        key = id(x), asks
        if key not in self.known:
            self.known.add(key)
            self.todo.append((x, asks))
        return True


def fit_of(t: T, most: int | None = None) -> Fit | None:
    """Whether `abstract` finds the type t, or one that it covers, for a value; None where this takes as long to say.

    `most` is what `abstract` is given: what is in longer lists is not looked at.
    """
    part = _part(t, {}, most)
    if part is None:
        return None

    def fits(x: Any) -> bool:
        walk = Walk()
        return part(x, walk) and all(asks(y, walk) for y, asks in walk.todo)

    return fits if is_linked(t) else lambda x: part(x, _NONE)


_NONE = Walk()


def is_linked(t: T) -> bool:
    """Does the type of a container or object lead back to it?"""
    return isinstance(t, Rec) or (not isinstance(t, SetOf) and any(map(is_linked, parts_of(t))))


def _part(t: T, around: Around, most: int | None) -> Part | None:
    match t:
        case Rec(kind=kind):
            asked = around[kind]
            return _later(kind, lambda x, w: w.meet(x, asked[0]))
        case LinkedTup() | LinkedLst() | LinkedDct():
            return _linked(t, around, most)
        case Obj(cls=cls, fields=fields, new=False):
            asked = []
            inner = {**around, ("a", cls): asked}
            found = _object(cls, [(k, _part(x, inner, most)) for k, x in fields if k != ITEMS], t.sure - {ITEMS})
            if t.items is not None:
                found = _both(found, _items_in(cls, t.items, inner, most))
            if found is None:
                return None
            asked.append(found)
            return _later(("a", cls), lambda x, w: w.meet(x, found)) if is_linked(t) else found
        case Known(value=pytypes.FunctionType() as f) if is_local_function(f):  # made anew in every run
            return lambda x, w: is_function(x, f)
        case Known(value=value):
            return lambda x, w: x is value
        case Arr(dtype=np.dtype() as dtype, ndim=int(ndim)):
            return lambda x, w: type(x) is np.ndarray and x.ndim == ndim and (x.dtype is dtype or x.dtype == dtype)
        case Arr(dtype=np.dtype() as dtype, least=least):
            return lambda x, w: type(x) is np.ndarray and x.ndim >= least and (x.dtype is dtype or x.dtype == dtype)
        case Cell(elem=elem):
            return _cell(elem is BOT, _part(elem, around, most))
        case Tup(items=items, cls=cls):
            return _tuple(cls, [_part(x, around, most) for x in items])
        case Top(act=act) if most == NARROW and type(t) is Top:  # what holds it says whether it has a derivative
            return lambda x, w: act or not is_of_class_made_anew(x)
        case Lst(elem=Top(act=act) as elem, cls=cls) if most == NARROW and type(elem) is Top:
            return _list_of_anything(cls, act)
        case Lst(elem=Top() as elem, cls=cls) if most is not None and type(elem) is Top:
            return _list_not_looked_at(cls, elem.act == t.act, elem.act, most)
        case Lst(elem=elem, cls=cls):
            fits = _list(cls, elem, _part(elem, around, most), bool(around))
            return fits if most is None or fits is None else _not_longer(cls, most, fits)
        case Dct():
            return _dict(t, t.fields, t.elem, around, most)
        case Union(options=options):
            return _one_of(options, [_part(x, around, most) for x in options])
        case Inst(cls=pytypes.FunctionType, act=act) if most is not None:  # another is known by itself
            return lambda x, w: type(x) is pytypes.FunctionType and is_of_its_own(x, act)
        case Inst(cls=pytypes.BuiltinFunctionType) if most is not None:
            return None
        case Real(classes=frozenset() as classes):
            return lambda x, w: type(x) in classes
        case Inst(cls=cls):  # a number, or what is not looked into where it stands
            return lambda x, w: type(x) is cls
        case Top(act=True) if most is not None and type(t) is Top:
            return lambda x, w: is_of_class_made_anew(x)
    return None


def _cell(empty: bool, fits: Part | None) -> Part | None:
    if fits is None and not empty:
        return None

    def part(x: Any, w: Walk) -> bool:
        if type(x) is not pytypes.CellType:
            return False
        try:
            held = x.cell_contents
        except ValueError:
            return empty
        return fits is not None and fits(held, w)

    return part


def _later(kind: Kind, meet: Part) -> Part:
    """Is it of this kind, and is the rest of it what is asked later?"""
    cls = kind[1]
    if len(kind) < 3:
        return lambda x, w: type(x) is cls and meet(x, w)
    n = kind[2]
    return lambda x, w: type(x) is cls and len(x) == n and meet(x, w)


def _linked(t: LinkedTup | LinkedLst | LinkedDct, around: Around, most: int | None) -> Part | None:
    """Is it a container that leads to others of its kind, all of which hold what the type says?"""
    kind = bound(t)
    if kind is None or (most is not None and not isinstance(t, LinkedTup)):
        return None
    asked: list[Part] = []
    inner = {**around, kind: asked}
    match t:
        case LinkedTup(raw=items, cls=cls):
            found = _tuple(cls, [_part(x, inner, most) for x in items])
        case LinkedLst(raw=elem, cls=cls):
            found = _list(cls, elem, _part(elem, inner, most), True)
        case _:
            found = _dict(t, t.raw_fields, t.raw, inner, most)
    if found is None:
        return None
    asked.append(found)
    return _later(kind, lambda x, w: w.meet(x, asked[0]))


def fit_or_abstract(t: T) -> Fit:
    """The same for a constant, by asking `abstract` where there is no shorter way."""
    fit = fit_of(t)
    return fit if fit is not None else lambda x: abstract(x, False) == t


def _one_of(options: tuple[T, ...], fits: list[Part | None]) -> Part | None:
    if any(fit is None for fit in fits):
        return None
    by_class = {class_told(t): fit for t, fit in zip(options, fits, strict=True)}
    if len(by_class) < len(fits) or any(isinstance(t, Real) for t in options):
        return lambda x, w: any([fit(x, w) for fit in fits])  # type: ignore[misc]

    def one(x: Any, w: Walk) -> bool:
        fit = by_class.get(type(x))
        return fit is not None and fit(x, w)

    return one


def class_told(t: T) -> type | None:
    """The class that all values of a type are of, where it says so."""
    if isinstance(t, Known):
        return type(t.value)
    return np.ndarray if isinstance(t, Arr) else getattr(t, "cls", None)


def _both(one: Part | None, other: Part | None) -> Part | None:
    return None if one is None or other is None else lambda x, w: one(x, w) and other(x, w)


def _items_in(cls: type, t: T, around: Around, most: int | None) -> Part | None:
    """Is what an object of a class derived from a container holds of this type, whatever its own methods give?"""
    if type(t) is Lst:
        return _part(replace(t, cls=cls), around, most)
    found = _part(replace(t, cls=dict), around, most) if type(t) is Dct else None
    return None if found is None else lambda x, w: not is_own_namespace(x) and found(dict(dict.items(x)), w)


def _object(cls: type, fields: list[tuple[str, Part | None]], sure: frozenset[str]) -> Part | None:
    """Has an object of this class exactly these attributes, or of several of its class one that has the sure ones?"""
    if any(fit is None for _, fit in fields):
        return None
    n = len(fields)
    read = reader(cls)
    if len(sure) < n:
        known = dict(fields)

        def fits_some(x: Any, w: Walk) -> bool:
            if type(x) is not cls:
                return False
            held = read(x)
            return held.keys() >= sure and all([k in known and known[k](v, w) for k, v in held.items()])  # type: ignore[misc]

        return fits_some

    def fits(x: Any, w: Walk) -> bool:
        if type(x) is not cls:
            return False
        held = read(x)
        return len(held) == n and all([name in held and fit(held[name], w) for name, fit in fields])  # type: ignore[misc]

    return fits


def _tuple(cls: type[Any], fits: list[Part | None]) -> Part | None:
    if any(fit is None for fit in fits) or cls.__dictoffset__:  # with attributes it is no tuple of this type
        return None
    n = len(fits)

    def fits_all(x: Any, w: Walk) -> bool:
        return type(x) is cls and len(x) == n and all([fit(v, w) for fit, v in zip(fits, x)])  # type: ignore[misc]  # noqa: B905 (it is hot)

    return fits_all


def _list(cls: type[Any], elem: T, fit: Part | None, within: bool) -> Part | None:
    """A list; `within` an object its type is that of the lists of several, and some of them may be empty."""
    if isinstance(elem, Bot):
        return lambda x, w: type(x) is cls and not x
    if only := _simple_classes(elem):  # a long list is mostly numbers: no step of this is in Python
        if within:
            return lambda x, w: type(x) is cls and {*map(type, x)} <= only
        return lambda x, w: type(x) is cls and {*map(type, x)} == only
    if isinstance(elem, Lst) and elem.cls is list and (only := _simple_classes(elem.elem)):
        rows = {list}
        if within:
            return lambda x, w: type(x) is cls and {*map(type, x)} <= rows and {*map(type, chain(*x))} <= only
        return lambda x, w: type(x) is cls and {*map(type, x)} == rows and all(x) and {*map(type, chain(*x))} == only
    if fit is None:
        return None
    least = 0 if within else 1
    return lambda x, w: type(x) is cls and len(x) >= least and all([fit(v, w) for v in x])


def _not_longer(cls: type[Any], most: int, fits: Part) -> Part:
    return lambda x, w: type(x) is cls and len(x) <= most and fits(x, w)


def _list_of_anything(cls: type[Any], act: bool) -> Part:
    """A list of whose items nothing is asked but that none of a class made anew is in one without derivative."""
    return lambda x, w: type(x) is cls and (act or len(x) > NARROW or not any(map(is_of_class_made_anew, x)))


def _list_not_looked_at(cls: type[Any], long: bool, made_anew: bool, most: int) -> Part:
    """A list of whose items nothing is known: it is a `long` one, or they are of classes that are `made_anew`."""

    def fits(x: Any, w: Walk) -> bool:
        if type(x) is not cls:
            return False
        return long if len(x) > most else made_anew and len(x) > 0 and all(map(is_of_class_made_anew, x))

    return fits


def _simple_classes(t: T) -> frozenset[type]:
    """The classes of the numbers or texts that values of a type are; empty where they may be something else."""
    classes = {t.cls} if type(t) is Inst else (type(t) is Real and t.classes) or frozenset()
    return frozenset(classes) if all(cls in _SIMPLE or issubclass(cls, np.generic) for cls in classes) else frozenset()


def _dict(t: Dct, fields: Fields, elem: T, around: Around, most: int | None) -> Part | None:
    """A dict of values that are told apart by their names, or of any number of one type."""
    content = _fields_of(t, fields, elem, around, most) if fields else _items_of(t, elem, around, most)
    if content is None or not isinstance(t.factory, (Bot, Known)):
        return None
    if t.cls is dict:
        return lambda x, w: type(x) is dict and content(x, w)
    cls = t.cls
    factory = t.factory.value if isinstance(t.factory, Known) else None

    def fits(x: Any, w: Walk) -> bool:
        same = type(x) is cls and not getattr(x, "__dict__", None) and getattr(x, "default_factory", None) is factory
        return same and content(x, w)

    return fits


def _fields_of(t: Dct, fields: Fields, elem: T, around: Around, most: int | None) -> Part | None:
    found = [(k, _part(x, around, most)) for k, x in fields]
    if not isinstance(elem, Bot) or t.key != Inst(str) or any(fit is None for _, fit in found):
        return None
    n = len(found)
    return lambda x, w: len(x) == n and all([k in x and fit(x[k], w) for k, fit in found])  # type: ignore[misc]


def _items_of(t: Dct, elem: T, around: Around, most: int | None) -> Part | None:
    if isinstance(elem, Bot):
        return lambda x, w: not x
    item = _part(elem, around, most)
    if item is None:
        return None
    most_held = sys.maxsize if t.act else FEW  # long ones without derivative have no such type
    values = _values_of(elem, item)
    if type(t.key) is Inst:
        only = {t.key.cls}
        if around:  # of several dicts some may be empty, as it is with lists
            return lambda x, w: {*map(type, x)} <= only and len(x) <= most_held and values(x, w)
        return lambda x, w: {*map(type, x)} == only and len(x) <= most_held and values(x, w)
    key = _part(t.key, around, most)
    if key is None:
        return None
    least = 0 if around else 1
    return lambda x, w: least <= len(x) <= most_held and all([key(k, w) for k in x]) and values(x, w)


def _values_of(elem: T, item: Part) -> Part:
    """Are the values of a dict of this type? Of numbers no step of this is in Python."""
    if only := _simple_classes(elem):
        return lambda x, w: {*map(type, x.values())} <= only
    return lambda x, w: all([item(v, w) for v in x.values()])
