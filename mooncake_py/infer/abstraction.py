"""The types of values as they enter: numbers, arrays and containers by kind, code by identity."""

from __future__ import annotations

import enum
import itertools
import re
import types as pytypes
from collections import Counter, defaultdict, deque
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from mooncake_py.fields import is_local_function
from mooncake_py.infer.named import is_named_tuple
from mooncake_py.infer.own_containers import base_of, kept_as
from mooncake_py.infer.types import (
    BOT,
    COUNTS,
    DICTS,
    ITEMS,
    MOST_FIELDS,
    NESTED,
    Arr,
    Cell,
    Dct,
    Inst,
    Known,
    Lst,
    Obj,
    Rec,
    T,
    Top,
    Tup,
    dict_of,
    join,
)
from mooncake_py.iterators import KEY_ITERATORS
from mooncake_py.kept_iterators import Generator
from mooncake_py.mirrors import constant_attributes
from mooncake_py.structure import HEAP, attributes, held_items, is_made_anew, is_own_namespace, is_user_class, stored
from mooncake_py.switches import current

FEW = 64
"""Items of a list that are looked at one by one."""
DEEP = 12
NARROW = 16
"""With this for `most`, objects in objects are not looked at either: what is asked again and again is soon said."""


FILLED = frozenset({defaultdict, Counter})
"""Dicts that a look may put something into, which only `infer/protocol.py` sees: without it they are not known."""
_TOLD_WHEN_READ = frozenset({KeyError, staticmethod})
"""Classes of what may hold something with a derivative, which nothing beside it tells of."""
_OF_WHOLE_NUMBERS = re.compile(r"count\(-?\d+(, -?\d+)?\)")
"""As an `itertools.count` shows itself, which tells in no other way where it stands."""
_CARRYING = (list, dict, deque, set, frozenset, tuple, np.ndarray, np.inexact, float, complex)
_CONSTANT = frozenset({int, bool, float, complex, str, bytes, tuple, type(None), type, pytypes.ModuleType,
                       pytypes.BuiltinFunctionType})  # fmt: skip


class Met:
    """The objects of one class that an object of this class leads to, in the order in which they are met."""

    def __init__(self, first: Any):
        self.objects = [first]
        self.known = {id(first)}

    def meet(self, x: Any) -> None:
        if id(x) not in self.known:
            self.known.add(id(x))
            self.objects.append(x)


Within = dict[type, Met]


def abstract(value: Any, act: bool, most: int | None = None, depth: int = DEEP, within: Within = {}) -> T:  # noqa: B006
    """The type of a value as it enters: numbers, arrays and containers by kind, code by identity.

    What is in a list of more than `most` items is not looked at, nor what lies deeper than `depth`: a list may hold
    itself. Objects in one of their own class (`within`: those around the value) are of one type with it; with `most`
    they are not looked at, and where that is `NARROW` no objects in objects are.
    """
    cls = type(value)
    if cls is float or cls is complex:
        return Inst(cls, act)
    if cls is np.ndarray:
        return Arr(value.dtype, value.ndim, act and value.dtype.kind in "fc")
    if cls.__flags__ & HEAP and is_made_anew(cls):
        return Top(True)
    if isinstance(value, tuple) and is_item_by_item(value):
        return Tup(tuple([abstract(v, act, most, depth, within) for v in value]), cls)
    if value is None or value is Ellipsis or value is NotImplemented:
        return Known(value)
    if cls in (int, bool, str, bytes, range, slice):
        return Inst(cls)
    if isinstance(value, np.generic):
        return Inst(cls, act and issubclass(cls, np.inexact))
    if isinstance(value, enum.Enum):
        return Inst(cls)
    if cls is pytypes.BuiltinFunctionType:
        if (act and isinstance(value.__self__, _CARRYING)) or _is_another_each_time(value):
            return Inst(cls, act)  # a method of what carries derivatives, or of one of many objects
    if cls in _TOLD_WHEN_READ or (act and cls in KEY_ITERATORS):  # an `Inst` is of one over keys that have none
        return Top(True)
    if cls is itertools.count:
        return COUNTS if _OF_WHOLE_NUMBERS.fullmatch(repr(value)) else Top(act)
    if isinstance(value, type) and value.__flags__ & HEAP and is_made_anew(value):
        return Top(True)
    if isinstance(value, (type, pytypes.ModuleType, pytypes.BuiltinFunctionType, np.ufunc, np.dtype)):
        return Known(value)
    if cls is pytypes.FunctionType:
        return Inst(cls, act) if is_of_its_own(value, act) else Known(value)
    if cls is pytypes.CellType:
        try:
            return Cell(abstract(value.cell_contents, act, most, depth - 1, within) if depth else Top(act), act)
        except ValueError:
            return Cell(BOT, act)
    if isinstance(value, (pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)):
        return Known(value)
    if cls is list or cls is deque:
        return Lst(_elements(value, act, most, depth - 1, within) if depth else Top(act), act, cls)
    if cls in FILLED and not current().objects:
        return Top(True)
    looked_at = act or (most is None and len(value) <= FEW and depth > DEEP - NESTED) if cls in DICTS else False
    if looked_at and not getattr(value, "__dict__", None):
        factory = abstract(value.default_factory, act) if cls is defaultdict else BOT
        if not depth:
            return Dct(cls, Top(), (), Top(act), act, factory)
        return replace(_dict_type(value, act, most, depth - 1, within), cls=cls, factory=factory)
    typed = is_user_class(cls) and not issubclass(cls, BaseException)
    if not typed and base_of(cls) is not None and not is_own_namespace(value):
        typed = depth > 0 and (act or (most is None and len(held_items(value)) <= FEW and depth > DEEP - NESTED))
    if typed and cls in within and most is None:
        within[cls].meet(value)
        return Rec(("a", cls))
    if typed and most == NARROW and within:
        return Top(act)
    if typed and within and issubclass(cls, Generator):
        return Inst(cls, act)  # generators that ask generators are many, and looked at for every item
    if typed and cls not in within and len(within) < NESTED:
        return _object(value, act, most, depth, within)
    return Inst(cls, act)


_met_methods: dict[tuple[type, str], set[int]] = {}
_MANY = 4


def _is_another_each_time(f: pytypes.BuiltinFunctionType) -> bool:
    """Is it a method in C that was met bound to many objects, locks say, as each run makes some of its own?

    What is derived for one of them would be used once.
    """
    x = f.__self__
    if x is None or isinstance(x, (type, pytypes.ModuleType)):
        return False
    met = _met_methods.setdefault((type(x), f.__name__), set())
    if len(met) < _MANY:
        met.add(id(x))
    return len(met) == _MANY


def is_of_its_own(f: pytypes.FunctionType, act: bool) -> bool:
    """Has a function cells, or default values with derivatives? Each is another then, and known by its class only.

    So is one that a function makes anew with default values that are objects, as those of a weak dict are told of what
    has gone.
    """
    if f.__closure__ is not None or (act and bool(f.__defaults__ or f.__kwdefaults__)):
        return True
    return f.__defaults__ is not None and is_local_function(f) and not all(map(_is_constant, f.__defaults__))


def _is_constant(x: Any) -> bool:
    """Is a default value the same in each run?"""
    return type(x) in _CONSTANT or (type(x) is pytypes.FunctionType and not is_local_function(x))


def is_of_class_made_anew(x: Any) -> bool:
    """Is x an object of a class that some function makes each time it runs, or such a class?"""
    cls = type(x)
    if cls.__flags__ & HEAP and is_made_anew(cls):
        return True
    return isinstance(x, type) and bool(x.__flags__ & HEAP) and is_made_anew(x)


def _object(value: Any, act: bool, most: int | None, depth: int, within: Within) -> T:
    """The type of an object, and of those of its class that it leads to."""
    cls = type(value)
    constant = constant_attributes(cls)
    met = Met(value)
    inner = {**within, cls: met}
    base = base_of(cls)

    def held_by(x: Any) -> dict[str, T]:
        held = {k: abstract(v, act and k not in constant, most, depth, inner) for k, v in attributes(x).items()}
        if base is not None:
            held[ITEMS] = _items(x, base, act, most, depth - 1, inner)
        return held

    found = held_by(value)
    sure = set(found)
    for x in itertools.islice(met.objects, 1, None):  # there are more and more
        held = held_by(x)
        sure &= held.keys()
        for k, t in held.items():
            found[k] = join(found[k], t) if k in found else t
    return Obj.of(cls, act, found, sure)


def _items(x: Any, base: type, act: bool, most: int | None, depth: int, within: Within) -> T:
    """The type of the container that an object of a class derived from one is, whatever its own methods give."""
    if base is list or base is deque:
        return Lst(_elements(held_items(x), act, most, depth, within), act, base)
    d = replace(_dict_type(dict(dict.items(x)), act, most, depth, within), cls=kept_as(type(x), base))
    return replace(d, factory=abstract(stored(x, "default_factory"), act)) if base is defaultdict else d


def is_item_by_item(value: tuple[Any, ...]) -> bool:
    """Is the type of this tuple a `Tup`? Not where it does things its own way, or has attributes beside its items."""
    return type(value) is tuple or (is_named_tuple(type(value)) and not getattr(value, "__dict__", None))


def _dict_type(d: dict, act: bool, most: int | None, depth: int, within: Within) -> Dct:
    """The type of what is in a dict. Values of one type are not told apart: keys may come and go."""
    if len(d) > MOST_FIELDS or set(map(type, d)) != {str}:
        key = _elements(list(d), act, most, depth, within)
        return Dct(dict, key, (), _elements(list(d.values()), act, most, depth, within), act)
    types = [abstract(v, act, most, depth, within) for v in d.values()]
    if all(t == types[0] for t in types):
        return Dct(dict, Inst(str), (), types[0], act)
    return dict_of(dict, Inst(str), zip(d, types, strict=True), act)


def _elements(xs: Collection[Any], act: bool, most: int | None, depth: int, within: Within) -> T:
    if most is not None and len(xs) > most:
        return Top(act)
    if len(xs) > 2:  # mostly numbers of one kind, which is seen without looking at each
        classes = set(map(type, xs))
        if len(classes) == 1 and (cls := classes.pop()) in (float, int, complex, bool, str):
            return abstract(cls(), act)
    elem: T = BOT
    for v in xs:
        elem = join(elem, abstract(v, act, most, depth, within))
        if type(elem) is Top:
            break
    return elem
