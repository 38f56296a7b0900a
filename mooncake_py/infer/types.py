"""The lattice of abstract types. Unknown stays unknown: a type is a promise, never a guess.

Activity is part of the type: `act` says that the value may carry derivative information.
"""

from __future__ import annotations

import enum
import itertools
import operator
import types as pytypes
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import Field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mooncake_py.fields import same_function
from mooncake_py.infer.base import T, keep, remembered, type_class
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Const, Operand, node
from mooncake_py.ir.ops import UNBOUND, load_super


@type_class
class Bot(T):
    """No value: code that has not been seen to run."""


BOT = Bot()

Kind = tuple[Any, ...]
"""Tells values of one option from those of another: the value itself, an exact class, the code of a function, a method.

Tuples of different lengths are of different kinds.
"""


@node
class Known(T):
    """This very object."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if type(other) is not Known:
            return False
        a, b = self.value, other.value
        if a is b:
            return True
        if type(a) is not type(b):
            return False
        return repr(a) == repr(b) if type(a) in _BY_VALUE else type(a) is pytypes.FunctionType and same_function(a, b)

    def __hash__(self) -> int:
        v = self.value
        if type(v) is pytypes.FunctionType:
            v = v.__code__
        return hash(v) if type(v) in _BY_VALUE else id(v)


_BY_VALUE = frozenset({int, float, complex, str, bytes, bool, type(None)})


@type_class
class Inst(T):
    """An instance of exactly this class; numbers carry derivatives when `act`."""

    cls: type
    act: bool = False

    @property
    def active(self) -> bool:
        return self.act


COUNTS = Inst(itertools.count)
"""What `itertools.count` gives, counting whole numbers: those that count something else are not of this type."""


@type_class
class Obj(Inst):
    """An object of exactly this class, written in Python, all of whose attributes are known.

    `fields` has the join of everything each may hold, by name in alphabetical order; `sure` names those that are
    there at all times. An argument that is `new` was made in the run and has no attributes yet.
    """

    fields: tuple[tuple[str, T], ...] = ()
    sure: frozenset[str] = frozenset()
    new: bool = False

    def field(self, name: str) -> T | None:
        """The type of a stored attribute; None where objects of this type have none of that name."""
        return next((t for k, t in self.fields if k == name), None)

    @classmethod
    def of(cls, c: type, act: bool, fields: dict[str, T], sure: Iterable[str] = ()) -> Obj:
        return cls(c, act, tuple(sorted(fields.items())), frozenset(sure))

    def with_fields(self, fields: tuple[tuple[str, T], ...], act: bool | None = None) -> Obj:
        """The same with other attributes."""
        return Obj(self.cls, self.act if act is None else act, fields, self.sure, self.new)

    @property
    def items(self) -> T | None:
        """The type of what is in an object of a class derived from a container (`infer/own_containers.py`)."""
        return self.field(ITEMS)


ITEMS = "[]"
"""Where the type of such an object has its items, beside its attributes."""


@type_class
class SetOf(Inst):
    """A set of plain constants, with objects if it is active; `elem` is the join of everything that may be in it."""

    elem: T = BOT


@type_class
class Rec(T):
    """Within the type of a container or object of this kind: any of those that this type is of.

    Of several in each other it is the innermost one of that kind (`infer/recursive.py`).
    """

    kind: Kind

    @property
    def cls(self) -> type:
        """The class of these containers or objects."""
        return self.kind[1]


@type_class
class Real(T):
    """A real scalar: bool, int, float or a NumPy scalar of such a kind; of one of `classes`, where they are known."""

    act: bool = False
    classes: frozenset[type] | None = None

    @property
    def active(self) -> bool:
        return self.act


@node
class Arr(T):
    """An exact `np.ndarray`; dtype or ndim None where unknown, ndim then `least` or more."""

    dtype: np.dtype | None
    ndim: int | None
    act: bool = False
    least: int = 0

    def _held(self) -> Any:
        return self.dtype is None, self.dtype, self.ndim, self.act, self.least  # NumPy takes None for float64

    @property
    def active(self) -> bool:
        return self.act

    @property
    def fewest(self) -> int:
        """It has so many dimensions, or more where `ndim` is not known."""
        return self.least if self.ndim is None else self.ndim


@type_class
class Tup(T):
    """A tuple of known length; `cls` is `tuple` itself or a class of named tuples."""

    items: tuple[T, ...]
    cls: type = tuple

    @property
    def active(self) -> bool:
        return any(t.active for t in self.raw)

    if TYPE_CHECKING:
        raw: ClassVar[tuple[T, ...]]
        """The items as they are written down, where `Rec` may stand for this type itself."""


@type_class
class Lst(T):
    """A list, or a deque (`cls`); `elem` is the join of everything that may be in it."""

    elem: T
    act: bool = False
    cls: type = list

    @property
    def active(self) -> bool:
        return self.act

    def holding(self, elem: T, act: bool) -> Lst:
        """The same with other items."""
        return (LinkedLst if ("a", self.cls) in free(elem) else Lst)(elem, act, self.cls)

    if TYPE_CHECKING:
        raw: ClassVar[T]


@type_class
class Display(Lst):
    """A list that was put together of values of these types, for a call that alone gets it."""

    items: tuple[T, ...] = ()


@type_class
class Bounds(Inst):
    """A slice whose bounds are of these types, for the call that gets it."""

    of: tuple[T, ...] = ()


@type_class
class Dct(T):
    """A dict of exactly the class `cls`.

    `fields` are the types that the values of certain keys (strings) have where these are in it, in the order of the
    keys; `elem` is the join of all other values, `key` that of all keys. `factory` is what a `defaultdict` calls.
    """

    cls: type
    key: T
    fields: tuple[tuple[str, T], ...]
    elem: T
    act: bool = False
    factory: T = BOT

    @property
    def active(self) -> bool:
        return self.act

    def value(self, key: Any) -> T:
        """The type of the value of this key."""
        if type(key) is str:
            for k, t in self.fields:
                if k == key:
                    return t
        return self.elem if type(key) in _NO_OTHER_STRINGS else self.values()

    def item(self, key: T) -> T:
        """The type of the value of a key of this type."""
        if isinstance(key, Known):
            return self.value(key.value)
        return self.elem if isinstance(key, Inst) and key.cls in _NO_OTHER_STRINGS - {str} else self.values()

    def values(self) -> T:
        """The join of all values."""
        t = self.elem
        for _, x in self.fields:
            t = join(t, x)
        return t

    def mapped(self, f: Callable[[T], T]) -> Dct:
        """The same with other types of the values."""
        return self.having(self.key, tuple([(k, f(x)) for k, x in self.raw_fields]), f(self.raw), self.act)

    def having(self, key: T, fields: tuple[tuple[str, T], ...], elem: T, act: bool, factory: T | None = None) -> Dct:
        """One of this class with another content."""
        kind = "a", self.cls
        linked = self.cls in DICTS and (kind in free(elem) or any(kind in free(x) for _, x in fields))
        made = self.factory if factory is None else factory
        return (LinkedDct if linked else Dct)(self.cls, key, fields, elem, act, made)

    if TYPE_CHECKING:
        raw: ClassVar[T]
        raw_fields: ClassVar[tuple[tuple[str, T], ...]]


_NO_OTHER_STRINGS = frozenset({str, int, bool, float, tuple, type(None)})
"""Classes whose objects are equal to no string but themselves."""


def dict_of(cls: type, key: T, items: Iterable[tuple[Any, T]], act: bool) -> Dct:
    """The type of a dict of these values. Keys other than strings are not told apart, nor are very many."""
    fields: dict[str, T] = {}
    elem: T = BOT
    for k, t in items:
        if type(k) is str and (k in fields or len(fields) < MOST_FIELDS):
            fields[k] = t
        else:
            elem = join(elem, t)
    return Dct(cls, key, tuple(sorted(fields.items(), key=operator.itemgetter(0))), elem, act)


@type_class
class Cell(T):
    """A closure cell; `elem` is the join of everything it may hold."""

    elem: T
    act: bool = False

    @property
    def active(self) -> bool:
        return self.act

    def holding(self, elem: T, act: bool) -> T:
        """The same with another content."""
        return Cell(elem, act)

    if TYPE_CHECKING:
        raw: ClassVar[T]


@node
class Fn(T):
    """A function made while the derived function runs, from this code object; `sites` are the calls that make it."""

    code: pytypes.CodeType
    sites: tuple[Any, ...]
    act: bool = False

    def _held(self) -> Any:
        return self.code, frozenset(self.sites), self.act

    @property
    def knows_nothing(self) -> bool:
        """Has it neither cells nor default values, wherever it was made?"""
        given = [v for s in self.sites for v in s.args[1:]]
        return not self.code.co_freevars and all(isinstance(v, Const) and not v.value for v in given)

    @property
    def active(self) -> bool:
        return self.act


@node
class Meth(T):
    """A function that one of `sites`, calls of `getattr` or `load_super`, found in a class and bound to its receiver.

    `owner` is the class that a class method is bound to, None where it is an object's method. `by_value`: the receiver
    is a number or a tuple, whose cotangent travels beside it.
    """

    func: Any
    sites: tuple[Any, ...]
    act: bool = False
    owner: type | None = None
    by_value: bool = False

    def _held(self) -> Any:
        return self.func, frozenset(self.sites), self.act, self.owner, self.by_value

    @property
    def is_of_objects(self) -> bool:
        """Is it one of the user's objects, which can be read from it wherever it comes from?"""
        return self.owner is None and not self.by_value and isinstance(self.func, pytypes.FunctionType)

    @property
    def site(self) -> Any:
        """The first of them; where the method is read as what it gave, the only one."""
        return self.sites[0]

    def is_read_as(self, v: Operand) -> bool:
        """Is v what `site` gave, and so `receiver` its object?

        By another name, from a list or as what was read the last time round, it may be a method of another one.
        """
        return len(self.sites) == 1 and v is self.site.out

    @property
    def receiver(self) -> Operand:
        """What the function gets as its first argument."""
        if self.owner is not None:
            return Const(self.owner)
        return self.site.args[2 if is_const(self.site.fn, load_super) else 0]

    @property
    def active(self) -> bool:
        return self.act


@type_class
class Top(T):
    """Anything."""

    act: bool = False

    @property
    def active(self) -> bool:
        return self.act


TOP = Top()


@type_class
class Native(Top):
    """An exception that Python or a library raises by itself: it is of none of the user's classes."""


@type_class
class Passed(Top):
    """What the function that the user calls has made, a function or a bound method, in the code of another one.

    To that code it is unknown like any `Top`; where it comes back it is `inner`.
    """

    inner: T = BOT


@type_class
class Many(Top):
    """A tuple of any length, of numbers and other plain values; `elem` is the join of these.

    Where that does not matter it is unknown like any `Top`.
    """

    elem: T = BOT


Tup.raw = Tup.items
Lst.raw, Cell.raw = Lst.elem, Cell.elem
Dct.raw, Dct.raw_fields = Dct.elem, Dct.fields


class LinkedTup(Tup):
    """A tuple that leads to others of its kind, of all of which this is the type: they are `Rec` in `raw`."""

    __slots__ = ("_read",)
    _read: tuple[T, ...]

    @property
    def items(self) -> tuple[T, ...]:
        """The types of the items as those of values on their own."""
        try:
            return self._read
        except AttributeError:
            self._read = found = tuple([_read(x, self) for x in self.raw])
            return found

    @items.setter
    def items(self, items: tuple[T, ...]) -> None:
        Tup.raw.__set__(self, items)  # type: ignore[attr-defined]

    def _held(self) -> Any:
        return self.raw, self.cls

    def __repr__(self) -> str:
        return f"LinkedTup({self.raw!r}, {self.cls.__name__})"


class LinkedLst(Lst):
    """The same of a list."""

    __slots__ = ("_read",)
    _read: T

    @property
    def elem(self) -> T:
        """The type of an item as that of a value on its own."""
        return _own_elem(self)

    @elem.setter
    def elem(self, elem: T) -> None:
        Lst.raw.__set__(self, elem)  # type: ignore[attr-defined]

    def _held(self) -> Any:
        return self.raw, self.act, self.cls

    def __repr__(self) -> str:
        return f"LinkedLst({self.raw!r}, {self.act}, {self.cls.__name__})"


class LinkedDct(Dct):
    """The same of a dict."""

    __slots__ = ("_read", "_read_fields")
    _read: T
    _read_fields: tuple[tuple[str, T], ...]

    @property
    def elem(self) -> T:
        """The type of a value on its own."""
        return _own_elem(self)

    @elem.setter
    def elem(self, elem: T) -> None:
        Dct.raw.__set__(self, elem)  # type: ignore[attr-defined]

    @property
    def fields(self) -> tuple[tuple[str, T], ...]:
        """The types of the values of certain keys."""
        try:
            return self._read_fields
        except AttributeError:
            self._read_fields = found = tuple([(k, _read(x, self)) for k, x in self.raw_fields])
            return found

    @fields.setter
    def fields(self, fields: tuple[tuple[str, T], ...]) -> None:
        Dct.raw_fields.__set__(self, fields)  # type: ignore[attr-defined]

    def _held(self) -> Any:
        return self.cls, self.key, self.raw_fields, self.raw, self.act, self.factory

    def __repr__(self) -> str:
        return f"LinkedDct({self.cls.__name__}, {self.key!r}, {self.raw_fields!r}, {self.raw!r}, {self.act})"


def _own_elem(t: LinkedLst | LinkedDct) -> T:
    try:
        return t._read
    except AttributeError:
        t._read = found = _read(t.raw, t)
        return found


LINKED = (LinkedTup, LinkedLst, LinkedDct)


class Mixed(Exception):
    """In what is written down of a linked type, a container of its kind stands where it stands itself elsewhere."""


def _read(t: T, whole: T) -> T:
    from mooncake_py.infer.recursive import read

    return read(t, whole)


def tuple_of(items: tuple[T, ...], cls: type) -> Tup:
    """The type of a tuple of these items as they are written down."""
    kind = "a", cls, len(items)
    return (LinkedTup if any(kind in free(x) for x in items) else Tup)(items, cls)


def parts_of(t: T) -> tuple[T, ...]:
    """What the type of a container, an object, or one of several consists of, as it is written down."""
    match t:
        case Tup():
            return t.raw
        case Lst() | Cell():
            return (t.raw,)
        case SetOf(elem=e):
            return (e,)
        case Dct():
            return (t.raw, *[x for _, x in t.raw_fields])
        case Obj(fields=fields):
            return tuple([x for _, x in fields])
        case Union(options=options):
            return options
    return ()


def free(t: T) -> frozenset[Kind]:
    """The kinds of what a type stands in, and leads back to."""
    try:
        return t._free
    except AttributeError:
        pass
    found = _NO_KINDS
    if isinstance(t, Rec):
        found = frozenset([t.kind])
    elif isinstance(t, COMPOSED):
        for x in parts_of(t):
            if kinds := free(x):
                found |= kinds
        if found and (kind := bound(t)) is not None:
            found -= {kind}
    t._free = found
    return found


def bound(t: T) -> Kind | None:
    """The kind of the containers or objects of a type, where `Rec` of that kind in it stands for it."""
    if isinstance(t, Dct):  # others hold the items of objects of their class
        return ("a", t.cls) if t.cls in DICTS else None
    return kind_of(t) if isinstance(t, (Tup, Lst, Obj)) else None


def may_carry(t: T) -> bool:
    """May a value of this type have a derivative? What it leads back to is known where that is put in its place."""
    return t.active or bool(free(t))


@node
class Union(Top):
    """One of several types whose values are told apart when they are there: `kind_of` no two of them is the same.

    Where that does not matter it is unknown like any `Top`; where it does, `transform/split.py` looks at each.
    """

    options: tuple[T, ...] = ()

    def _held(self) -> Any:
        return frozenset(self.options)

    def mapped(self, f: Callable[[T], T]) -> T:
        """The join of what f makes of the options."""
        t: T = BOT
        for x in self.options:
            t = join(t, f(x))
        return t


MOST_OPTIONS = 16
MOST_SITES = 64  # where functions of one code are made
MOST_LENGTHS = 4  # of tuples: there is no end to one that grows in a loop
MOST_NESTED_OPTIONS = 2  # how deep options in options are told apart
MOST_TOLD = 64  # of what types an option consists, at most
_NO_KINDS: frozenset[Kind] = frozenset()
COMPOSED = (Tup, Lst, Cell, SetOf, Dct, Obj, Union)
"""The types that consist of others."""
REAL: Kind = ("real",)


def kind_of(t: T) -> Kind | None:
    """The kind of all values of this type; None where they may be of several, or of one that others are of, too."""
    match t:
        case Known(value=v):
            return ("is", v) if v is None or isinstance(v, _CODE) else None
        case Real():
            return REAL
        case Inst(cls=c):
            return REAL if is_real_class(c) else ("a", c)
        case Rec(kind=kind):
            return kind
        case Arr():
            return "a", np.ndarray
        case Tup(raw=items, cls=c):
            return "a", c, len(items)
        case Lst(cls=c) | Dct(cls=c):
            return "a", c
        case Fn(code=c):
            return "code", c
        case Meth(func=m, sites=sites):
            return ("method", m, None) if t.is_of_objects else ("method", m, sites)
    return None


_CODE = (type, pytypes.FunctionType, pytypes.BuiltinFunctionType, np.ufunc)


def union(types: Iterable[T]) -> T:
    """One of these; `Top` where they cannot be told apart, or are too many."""
    options: dict[Kind, T] = {}
    for t in types:
        for x in t.options if isinstance(t, Union) else (t,):
            if isinstance(x, Bot):
                continue
            kind = kind_of(x)
            if kind is None:
                return Top(any(map(may_carry, types)))
            options[kind] = joined = join(options.get(kind, BOT), x)
            if kind_of(joined) != kind:
                return Top(any(map(may_carry, types)))
    found = tuple(options.values())
    act = any(t.active for t in found)
    if len(found) < 2:
        return found[0] if found else BOT
    if len(found) > MOST_OPTIONS or sum(isinstance(x, Tup) for x in found) > MOST_LENGTHS:
        return Top(any(map(may_carry, found)))
    if not _are_small(found):
        from mooncake_py.infer.recursive import linked

        found = linked(found)
        if not _are_small(found):
            return Top(any(map(may_carry, found)))
    return Union(act, found)


def _are_small(options: tuple[T, ...]) -> bool:
    return all(_size(x, MOST_NESTED_OPTIONS) <= MOST_TOLD for x in options)


def _size(t: T, nested: int) -> int:
    """Of how many types a type consists; too many where options are in options deeper than `nested`.

    What leads back to itself has an end, however many options it has on the way.
    """
    match t:
        case Union(options=inner):
            if not nested:
                return MOST_TOLD + 1
            nested -= 1
        case Tup() | Lst() | Cell() | Obj():
            inner = parts_of(t)
        case Dct(key=k):
            inner = (k, *parts_of(t))
        case _:
            return 1
    if isinstance(t, LINKED):
        nested = max(nested, 1) + 1
    n = 1
    for x in inner:
        n += _size(x, nested)
        if n > MOST_TOLD:
            break
    return n


def same_dtype(a: np.dtype | None, b: np.dtype | None) -> bool:
    """Are they the same? NumPy takes None for float64 in a comparison, here it means unknown."""
    return a is b or (a is not None and b is not None and a == b)


NONE = Known(None)


def is_real_class(cls: type) -> bool:
    return issubclass(cls, (int, float, np.integer, np.floating, np.bool_))


MOST_FIELDS = 64  # of a dict whose values have types of their own
DICTS = frozenset({dict, OrderedDict, defaultdict, Counter})
"""The classes of dicts that have types."""
NESTED = 4
"""How deep objects in objects are looked at."""


_WIDENED = (bool, int, float, complex, str, bytes, range, slice, frozenset, np.generic, enum.Enum, Field)


def widen(t: T) -> T:
    """A known number or string as any of its class; functions, classes, modules and None stay known."""
    if isinstance(t, Known):
        v = t.value
        if type(v) is tuple:
            return Tup(tuple(widen(Known(x)) for x in v))
        if isinstance(v, np.ndarray):
            return Arr(v.dtype, v.ndim) if type(v) is np.ndarray else Inst(type(v))
        if isinstance(v, _WIDENED):
            return Inst(type(v))
    return t


def join(a: T, b: T) -> T:
    """The least type that has the values of both.

    A variable that may be unbound has the type it has where it is bound: every read checks that first.
    """
    if a is b or isinstance(b, Bot):
        return a
    if isinstance(a, Bot):
        return b
    if a == b:
        return a
    if is_unbound(a):
        return b
    if is_unbound(b):
        return a
    return _join(widen(a), widen(b))


@remembered
def _join(a: T, b: T) -> T:
    if (isinstance(a, LINKED) or isinstance(b, LINKED)) and bound(a) == bound(b) is not None:
        from mooncake_py.infer.recursive import together

        return together([a, b], {})
    return beside(a, b)


def beside(a: T, b: T) -> T:
    """The join of two types as they are written down: where both lead back to themselves, so does that."""
    if a == b:
        return a
    act = a.active or b.active
    if _is_real(a) and _is_real(b):
        if isinstance(a, Inst) and isinstance(b, Inst) and a.cls is b.cls:
            return Inst(a.cls, act)
        return Real(act, may_be_of((*real_classes(a), *real_classes(b))))
    if (isinstance(a, Rec) and bound(b) == a.kind) or (isinstance(b, Rec) and bound(a) == b.kind):
        if not isinstance(a, Obj) and not isinstance(b, Obj):
            raise Mixed
    if isinstance(a, (Inst, Rec)) and isinstance(b, (Inst, Rec)) and a.cls is b.cls:
        if isinstance(a, Obj) and isinstance(b, Obj):
            mine, others = dict(a.fields), dict(b.fields)
            fields = {k: join(mine.get(k, BOT), others.get(k, BOT)) for k in (*mine, *others)}
            return Obj.of(a.cls, act, fields, a.sure & b.sure)
        if isinstance(a, SetOf) and isinstance(b, SetOf):
            return SetOf(a.cls, act, join(a.elem, b.elem))
        return Inst(a.cls, may_carry(a) or may_carry(b))
    if isinstance(a, Arr) and isinstance(b, Arr):
        dtype = a.dtype if same_dtype(a.dtype, b.dtype) else None
        if a.ndim is not None and a.ndim == b.ndim:
            return Arr(dtype, a.ndim, act)
        return Arr(dtype, None, act, min(a.fewest, b.fewest))
    if isinstance(a, Tup) and isinstance(b, Tup) and len(a.raw) == len(b.raw) and a.cls is b.cls:
        return tuple_of(tuple([join(x, y) for x, y in zip(a.raw, b.raw, strict=True)]), a.cls)
    if (isinstance(a, Lst) and isinstance(b, Lst) and a.cls is b.cls) or (isinstance(a, Cell) and isinstance(b, Cell)):
        return a.holding(join(a.raw, b.raw), act)
    if isinstance(a, (Fn, Meth)) and isinstance(b, (Fn, Meth)) and kind_of(a) == kind_of(b):
        sites = tuple(dict.fromkeys((*a.sites, *b.sites)))
        return replace(a, act=act, sites=sites) if len(sites) <= MOST_SITES else Top(act)
    if isinstance(a, Passed) and isinstance(b, Passed):
        return Passed(act, join(a.inner, b.inner))
    if isinstance(a, Many) or isinstance(b, Many):
        elem = join(_any_item(a), _any_item(b))
        return Top(act) if isinstance(elem, Top) else Many(act, elem)
    if isinstance(a, Union) or isinstance(b, Union) or kind_of(a) != kind_of(b):
        return union((a, b))
    if isinstance(a, Dct) and isinstance(b, Dct) and a.cls is b.cls:
        mine, others = dict(a.raw_fields), dict(b.raw_fields)
        keys = sorted({*mine, *others})
        values = tuple([(k, join(mine.get(k) or a.raw, others.get(k) or b.raw)) for k in keys])
        return a.having(join(a.key, b.key), values, join(a.raw, b.raw), act, join(a.factory, b.factory))
    return Top(may_carry(a) or may_carry(b))


def _any_item(t: T) -> T:
    """The join of the items of a tuple of plain values; unknown for anything else."""
    if isinstance(t, Many):
        return t.elem
    if not isinstance(t, Tup) or t.cls is not tuple:
        return Top()
    e: T = BOT
    for x in t.items:
        e = join(e, widen(x))
    return e if isinstance(e, Bot) or _is_common(e) else Top()


def _is_common(t: T) -> bool:
    """Is it a number, or a tuple of such?"""
    if type(t) is Tup and t.cls is tuple:
        return all(map(_is_common, t.items))
    return isinstance(t, Real) or (type(t) is Inst and t.cls in _COMMON)


_COMMON = frozenset({int, float, np.float64})
"""Of these, or sums of these, it is worth to know which a number may be."""


def real_classes(t: T) -> Collection[type]:
    """The classes that a real number may be of; `object` stands for all others."""
    return (t.cls,) if isinstance(t, Inst) else (t.classes or (object,)) if isinstance(t, Real) else (object,)


def may_be_of(classes: Collection[type]) -> frozenset[type] | None:
    """What a number that is of one of these is said to be."""
    return frozenset(classes) if _COMMON.issuperset(classes) else None


def is_unbound(t: T) -> bool:
    return isinstance(t, Known) and t.value is UNBOUND


def _is_real(t: T) -> bool:
    return isinstance(t, Real) or (isinstance(t, Inst) and is_real_class(t.cls))


def is_scalar(t: T) -> bool:
    """Surely a Python or NumPy number."""
    if type(t) is Known:
        t = widen(t)
    if isinstance(t, Inst):
        return t.cls in _NUMBERS or issubclass(t.cls, (int, float, complex, np.number, np.bool_))
    return type(t) is Real


_NUMBERS = frozenset({int, float, bool})  # asked for first


for _t in (Real(), Real(True), *[Inst(c, act) for c in (bool, int, float, complex) for act in (False, True)]):
    keep(_t)
