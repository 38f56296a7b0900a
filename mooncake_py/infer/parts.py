"""Types changed throughout what they consist of, and questions about all of it."""

from __future__ import annotations

import enum
import itertools
import operator
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mooncake_py.infer.base import remembered
from mooncake_py.infer.types import (
    DICTS,
    TOP,
    Arr,
    Bot,
    Cell,
    Dct,
    Display,
    Fn,
    Inst,
    Known,
    Lst,
    Many,
    Meth,
    Obj,
    Passed,
    Real,
    Rec,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    parts_of,
    tuple_of,
    widen,
)
from mooncake_py.mirrors import constant_attributes
from mooncake_py.structure import constant_classes

_FLOATING = (float, complex, np.inexact)
# An iterator over keys of a dict that have derivatives is one of unknown type, and so is one that counts by such.
_WITHOUT: tuple[type, ...] = (
    *(int, str, bytes, bytearray, range, slice, type(None), np.integer, np.bool_),
    *(type(iter({})), type(iter(OrderedDict())), type(iter(set())), itertools.count),
)


def is_differentiable_class(cls: type) -> bool:
    """Does a number of this class have a tangent?"""
    return issubclass(cls, _FLOATING)


def differentiable_dtype(dtype: np.dtype | None) -> bool:
    return dtype is None or dtype.kind in "fc"


def unseen(t: T) -> T:
    """The type of the same values where nothing is known of the attributes of objects."""
    return Inst(t.cls, t.act) if isinstance(t, Obj) else with_parts(t, unseen)


def with_parts(t: T, f: Callable[[T], T]) -> T:
    """The type with f of what it consists of: items, attributes, options. It is t itself where all of that stays."""
    match t:
        case Obj(fields=fields):
            parts = [f(x) for _, x in fields]
            if _are_the_same(parts, [x for _, x in fields]):
                return t
            return t.with_fields(tuple([(k, x) for (k, _), x in zip(fields, parts, strict=True)]))
        case Tup():
            parts = [f(x) for x in t.raw]
            return t if _are_the_same(parts, t.raw) else tuple_of(tuple(parts), t.cls)
        case Lst() | Cell():
            elem = f(t.raw)
            return t if elem is t.raw and type(t) is not Display else t.holding(elem, t.active)
        case Dct() | Union():
            return t.mapped(f)
        case SetOf(elem=e) if not is_plain(e):
            return set_of(f(e))
    return t


def _are_the_same(new: Sequence[T], old: Sequence[T]) -> bool:
    return all(map(operator.is_, new, old))


def with_act(t: T, act: bool) -> T:
    """The type of a container or object that may hold derivatives or not, whatever that says of what is in it."""
    match t:
        case Lst() | Cell():
            return t.holding(t.raw, act)
        case Dct():
            return t.having(t.key, t.raw_fields, t.raw, act)
        case Obj() | Top():
            return replace(t, act=act)
    return t


@remembered
def depth(t: T) -> int:
    """How deep values stand in each other in this one."""
    match t:
        case Dct(key=key, factory=made):
            parts = (key, made, *parts_of(t))
        case Obj() | Tup() | Lst() | Cell() | SetOf() | Union():
            parts = parts_of(t)
        case _:
            return 0
    return 1 + max(map(depth, parts), default=0)


@remembered
def is_exact(t: T) -> bool:
    """Is all of it known: nothing of any type, of one of several, or that says where it was made?"""
    match t:
        case Obj() | Tup() | Lst() | Cell() | SetOf():
            return all(map(is_exact, parts_of(t)))
        case Dct(key=key, factory=made):
            return all(map(is_exact, (key, made, *parts_of(t))))
        case Inst(cls=c):
            return is_scalar(t) or c in _WITHOUT
    return isinstance(t, (Real, Arr, Known, Bot))


def elsewhere(t: T) -> T:
    """The type in another function's code. The statement that made a function or bound a method is not there: what
    these hold is not known."""
    return Top(t.active) if isinstance(t, (Fn, Meth, Many)) else with_parts(t, elsewhere)


def passed(t: T) -> T:
    """The type in the code of a function that the outermost one calls: what is made here may come back."""
    made = (Fn, Meth)
    if isinstance(t, made) or (isinstance(t, Union) and any(isinstance(x, made) for x in t.options)):
        return Passed(t.active, t)
    return with_parts(t, passed)


@remembered
def holds_passed(t: T) -> bool:
    """Is there any such thing in it?"""
    found = [isinstance(t, Passed)]

    def looked_at(x: T) -> T:
        found.append(holds_passed(x))
        return x

    with_parts(t, looked_at)
    return any(found)


def returned(t: T) -> T:
    """The type of what comes back from there."""
    return t.inner if isinstance(t, Passed) else with_parts(t, returned)


def activate(t: T, act: bool = True) -> T:
    """The same type with its differentiable parts active (or not)."""
    match t:
        case Obj(cls=c, fields=fields, sure=sure):
            constant = constant_attributes(c)
            return Obj(c, act, tuple([(k, x if k in constant else activate(x, act)) for k, x in fields]), sure)
        case SetOf():
            return t if act is t.act else Top(act)
        case Inst(cls=c):
            return Inst(c, act and not issubclass(c, _WITHOUT))
        case Real():
            return Real(act, t.classes)
        case Arr(dtype=d, ndim=n, least=least):
            return Arr(d, n, act and differentiable_dtype(d), least)
        case Tup():
            return tuple_of(tuple([activate(x, act) for x in t.raw]), t.cls)
        case Lst() | Cell():
            return t.holding(activate(t.raw, act), act)
        case Dct():
            new = t.mapped(lambda x: activate(x, act))
            return new.having(activate(t.key, act), new.raw_fields, new.raw, act)
        case Union():
            return t.mapped(lambda x: activate(x, act))
        case Many(elem=e):
            e = activate(e, act)
            return Many(e.active, e)
        case Top():
            return Top(act)
        case Fn() | Meth():
            return replace(t, act=act)
        case Known():
            return activate(widen(t), act) if act and isinstance(t.value, (float, complex, tuple, np.ndarray)) else t
    return t


def keys_of(t: Dct) -> T:
    """The type of the keys as the dict gives them back: what an object among them carries is found when it runs."""
    return t.key if is_plain(t.key) or isinstance(t.key, Many) else Top(t.act or t.key.active)


def is_held_by_key(t: T) -> bool:
    """Is it what holds the items of objects of a class that says itself what an item is?"""
    return isinstance(t, Dct) and t.cls not in DICTS


def is_plain(t: T) -> bool:
    """Is it a value that nothing can be written into, a number or text say, or a tuple of such?"""
    match t:
        case Tup() | Union():
            return all(map(is_plain, parts_of(t)))
        case Bot() | Known() | Real():
            return True
        case Rec(cls=c):
            return issubclass(c, tuple)
        case Inst(cls=c):
            return is_scalar(t) or issubclass(c, (str, bytes, range, type(None), enum.Enum, *constant_classes))
    return False


def set_of(elem: T) -> T:
    """The type of a set of such items: nothing is known of one that holds anything but plain constants and objects."""
    elem = widen(elem)
    if is_plain(elem) and not elem.active:
        return SetOf(set, False, elem)
    options = elem.options if isinstance(elem, Union) else (elem,)
    return SetOf(set, True, elem) if all(map(_is_told_apart, options)) else Top(True)


def _is_told_apart(t: T) -> bool:
    """Is it an object, of which the run knows what it carries, or a plain constant?"""
    return isinstance(t, (Obj, Rec)) or (is_plain(t) and not t.active)  # containers are in no set


def many(elem: T) -> T:
    """The type of a tuple of any number of such items: nothing is known where they are not plain."""
    elem = widen(elem)
    return Many(elem.active, elem) if is_plain(elem) and not isinstance(elem, Union) else Top(elem.active)


def unknown_items(t: Lst | Dct | Cell, act: bool) -> T:
    """A container of this kind that holds anything."""
    if isinstance(t, Dct):
        return Dct(t.cls, TOP, (), Top(act), act, TOP)
    return t.holding(Top(act), act)


def may_be_complex(t: T) -> bool:
    """May an active value of this type be complex, or a constant be?"""
    match t:
        case Known(value=v):
            return isinstance(v, (complex, np.complexfloating))
        case Arr(dtype=d, act=act):
            return d.kind == "c" if d is not None else act
        case Obj() | Tup() | Lst() | Cell() | Dct() | Union():
            return any(map(may_be_complex, parts_of(t)))
        case Inst(cls=c):
            return issubclass(c, (complex, np.complexfloating)) or (t.active and not is_scalar(t))
        case Top(act=act):
            return act
    return False
