"""Is a value of a type? Asked again and again of arguments, so a type becomes a predicate once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from mooncake_py.infer.abstraction import FEW, abstract
from mooncake_py.infer.types import Arr, Bot, Dct, Inst, Known, Lst, Obj, Rec, T, Tup, Union, union
from mooncake_py.structure import attributes, slot_names

Fit = Callable[[Any], bool]
_SIMPLE = frozenset({float, complex, int, bool, str})


def fit_of(t: T) -> Fit | None:
    """Whether `abstract` finds the type t, or one that it covers, for a value; None where this takes as long to say."""
    match t:
        case Obj(cls=cls, fields=fields, new=False):
            if any(_leads_to(x, cls) for _, x in fields):
                return _linked(cls, [(k, *_parted(x, cls)) for k, x in fields])
            return _object(cls, [(k, fit_of(x)) for k, x in fields])
        case Known(value=value):
            return lambda x: x is value
        case Arr(dtype=np.dtype() as dtype, ndim=int(ndim)):
            return lambda x: type(x) is np.ndarray and x.ndim == ndim and (x.dtype is dtype or x.dtype == dtype)
        case Tup(items=items, cls=cls):
            return _tuple(cls, [fit_of(x) for x in items])
        case Lst(elem=elem, cls=cls):
            return _list(cls, elem, fit_of(elem))
        case Dct(cls=cls, key=Inst(cls=key), fields=fields, elem=elem) if cls is dict and key is str:
            return _dict(fields, elem)
        case Union(options=options):
            return _one_of([fit_of(x) for x in options])
        case Inst(cls=cls):  # a number, or what is not looked into where it stands
            return lambda x: type(x) is cls
    return None


def fit_or_abstract(t: T) -> Fit:
    """The same for a constant, by asking `abstract` where there is no shorter way."""
    fit = fit_of(t)
    return fit if fit is not None else lambda x: abstract(x, False) == t


def _one_of(fits: list[Fit | None]) -> Fit | None:
    if any(fit is None for fit in fits):
        return None
    return lambda x: any([fit(x) for fit in fits])  # type: ignore[misc]


def _object(cls: type, fields: list[tuple[str, Fit | None]]) -> Fit | None:
    """Has an object of this class exactly these attributes?"""
    if any(fit is None for _, fit in fields):
        return None
    n = len(fields)
    read: Callable[[Any], dict[str, Any]] = attributes if slot_names(cls) or not cls.__dictoffset__ else vars

    def fits(x: Any) -> bool:
        if type(x) is not cls:
            return False
        held = read(x)
        return len(held) == n and all([name in held and fit(held[name]) for name, fit in fields])  # type: ignore[misc]

    return fits


def _leads_to(t: T, cls: type) -> bool:
    """Does the type of an attribute say of objects of this class that they are like the one whose attribute it is?"""
    match t:
        case Rec(cls=c):
            return c is cls
        case Union(options=options):
            return any(_leads_to(x, cls) for x in options)
        case Lst(elem=elem):
            return _leads_to(elem, cls)
        case Tup(items=items):
            return any(_leads_to(x, cls) for x in items)
        case Obj(fields=fields):
            return any(_leads_to(x, cls) for _, x in fields)
        case Dct():
            return _leads_to(t.values(), cls)
    return False


def _parted(t: T, cls: type) -> tuple[int, Fit | None]:
    """How an attribute is looked at: 0, by itself; 1, it may be an object of the class; 2, it is a list of such.

    And what else it may be, None where nothing else, or where it takes as long as asking `abstract`.
    """
    if t == Rec(cls):
        return 1, None
    if isinstance(t, Union) and Rec(cls) in t.options:
        return 1, fit_of(union([x for x in t.options if x != Rec(cls)]))
    if isinstance(t, Lst) and t.elem == Rec(cls) and t.cls is list:
        return 2, lambda x: type(x) is list
    return (3, None) if _leads_to(t, cls) else (0, fit_of(t))


def _linked(cls: type, fields: list[tuple[str, int, Fit | None]]) -> Fit | None:
    """Has an object of this class, and every one that it leads to, exactly these attributes?"""
    if any(how == 3 or (how == 0 and fit is None) for _, how, fit in fields):
        return None
    n = len(fields)

    def fits(x: Any) -> bool:
        known = {id(x)}
        todo = [x]
        for o in todo:
            if type(o) is not cls:
                return False
            held = attributes(o)
            if len(held) != n:
                return False
            for name, how, fit in fields:
                if name not in held:
                    return False
                v = held[name]
                if how and (how == 2 or type(v) is cls):
                    if how == 2 and (type(v) is not list or len(v) > FEW):
                        return False
                    new = [w for w in (v if how == 2 else (v,)) if id(w) not in known]
                    known.update(map(id, new))
                    todo += new
                elif fit is None or not fit(v):
                    return False
        return True

    return fits


def _tuple(cls: type[Any], fits: list[Fit | None]) -> Fit | None:
    if any(fit is None for fit in fits) or cls.__dictoffset__:  # with attributes it is no tuple of this type
        return None
    n = len(fits)

    def fits_all(x: Any) -> bool:
        return type(x) is cls and len(x) == n and all([fit(v) for fit, v in zip(fits, x)])  # type: ignore[misc]  # noqa: B905 (it is hot)

    return fits_all


def _list(cls: type[Any], elem: T, fit: Fit | None) -> Fit | None:
    if isinstance(elem, Bot):
        return lambda x: type(x) is cls and not x
    if type(elem) is Inst and elem.cls in _SIMPLE:  # a long list is mostly numbers: no step of this is in Python
        only = {elem.cls}
        return lambda x: type(x) is cls and {*map(type, x)} == only
    if isinstance(elem, Lst) and elem.cls is list and type(elem.elem) is Inst and elem.elem.cls in _SIMPLE:
        only, rows = {elem.elem.cls}, {list}
        return lambda x: type(x) is cls and {*map(type, x)} == rows and all(x) and {*map(type, chain(*x))} == only
    if fit is None:
        return None
    return lambda x: type(x) is cls and 0 < len(x) <= FEW and all([fit(v) for v in x])


def _dict(fields: tuple[tuple[str, T], ...], elem: T) -> Fit | None:
    """A dict with names for keys: of values that are told apart, or of any number of one type."""
    if not fields:
        if isinstance(elem, Bot):
            return lambda x: type(x) is dict and not x
        item = fit_of(elem)
        if item is None:
            return None
        return lambda x: (
            type(x) is dict and set(map(type, x)) == {str} and len(x) <= FEW and all([item(v) for v in x.values()])
        )
    found = [(k, fit_of(t)) for k, t in fields]
    if not isinstance(elem, Bot) or any(fit is None for _, fit in found):
        return None
    n = len(found)
    return lambda x: type(x) is dict and len(x) == n and all([k in x and fit(x[k]) for k, fit in found])  # type: ignore[misc]
