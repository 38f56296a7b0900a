"""What types answer: whether two values are the same object, whether one may be asked, written to or used up."""

from __future__ import annotations

import abc
import math
import operator
import types as pytypes
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator, Sequence
from inspect import CO_GENERATOR
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py.fields import is_local_function, make_object
from mooncake_py.hashing import hashable
from mooncake_py.infer.held import INHERITED, is_library, may_hold_data, of_library
from mooncake_py.infer.named import answers
from mooncake_py.infer.quiet import COMPARISONS, is_quiet
from mooncake_py.infer.resolve import class_attribute, class_of, is_code_like
from mooncake_py.infer.special_methods import BINARY, COMPARING, IN_PLACE, SPECIAL
from mooncake_py.infer.types import (
    Arr,
    Bot,
    Cell,
    Dct,
    Fn,
    Inst,
    Known,
    Lst,
    Meth,
    Obj,
    Real,
    Rec,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    parts_of,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Operand
from mooncake_py.kept_iterators import class_shown
from mooncake_py.registry import drained
from mooncake_py.structure import HEAP, constant_classes, has_say, is_user_class

if TYPE_CHECKING:
    from mooncake_py.infer.inferred import CallInfo


def may_be_asked(t: T) -> bool:
    """Could this value be, or hold, an object with derivatives whose class is written in Python?"""
    match t:
        case Union(options=options):
            return any(map(may_be_asked, options))
        case Top():
            return t.active
        case Inst(cls=cls):
            return t.active and is_user_class(cls)
        case Tup():
            return any(map(may_be_asked, t.raw)) or (t.active and answers(t.cls))
        case Lst():
            return may_be_asked(t.raw)
    return False


def _held(t: T) -> Iterator[T]:
    """What a value of type t may be, and the items of tuples and lists instead of these."""
    match t:
        case Union() | Tup() | Lst():
            for part in parts_of(t):
                yield from _held(part)
        case _:
            yield t


def holds_objects(t: T) -> bool:
    """Is this an object of a class written in Python, or are there some in a tuple or list?"""
    return any(isinstance(x, Inst) and is_user_class(x.cls) for x in _held(t))


def holds_unknown(t: T) -> bool:
    """Is it not known what this is, or what is in it?"""
    return any(isinstance(x, Top) for x in _held(t))


def may_run_others(t: T) -> bool:
    """May C code that is given this run code which changes something that is not given to it?

    It calls functions, and methods that are bound to something; asks iterators; compares, counts and prints objects.
    """
    match t:
        case Top() | Fn() | Meth() | Rec():
            return not isinstance(t, Union) or any(map(may_run_others, t.options))
        case Known(value=x):
            if isinstance(x, pytypes.ModuleType):
                return not of_library(x.__name__)
            return may_hold_data(x) or (isinstance(x, (type, pytypes.FunctionType)) and not is_library(x))
        case Inst(cls=cls) if is_user_class(cls):
            return not is_quiet(cls)
        case Tup() | Lst() | Dct() | SetOf():
            return any(map(may_run_others, parts_of(t)))
        case Inst(cls=cls):
            return cls not in _QUIET
    return False


_QUIET = frozenset({complex, str, bytes, slice, range, type(None), np.complex64, np.complex128})
"""Classes of constants and numbers, of which C code asks nothing that is written in Python."""


def may_change_as_index(t: T) -> bool:
    """May an object of this type change something where it is asked for a whole number?"""
    if isinstance(t, (Union, Tup)):
        return any(map(may_change_as_index, parts_of(t)))
    return isinstance(t, Inst) and is_user_class(t.cls) and not is_quiet(t.cls, {"__index__"})


def _class_of(t: T) -> type:
    if isinstance(t, Known):
        return object if isinstance(t.value, type) else type(t.value)
    return t.cls if isinstance(t, Inst) else object


def decides(t: T, names: tuple[str, ...]) -> bool:
    """Has a class of the user's that is derived from numbers, strings or containers one of these methods?"""
    cls = _class_of(t)
    known = isinstance(t, Obj)  # which is asked as Python does it
    return bool(cls.__flags__ & HEAP) and not known and not is_user_class(cls) and answers(cls, names)


_ARITHMETIC = tuple(name for pair in BINARY.values() for name in pair if name not in COMPARISONS)


def is_derived_number(t: T) -> bool:
    """Is this a number of a class derived from float or complex that has operators of its own?"""
    return decides(t, _ARITHMETIC) and issubclass(_class_of(t), (float, complex))


def is_counter(t: T) -> bool:
    """Is it a `Counter`, whose operators are written in Python, or may it be one?"""
    return any(isinstance(x, Dct) and x.cls is Counter for x in (t.options if isinstance(t, Union) else (t,)))


def may_be_told(f: Any, given: Sequence[T]) -> bool:
    """Could an operand that has no derivative yet be an object whose class does with the other one what it likes?"""
    if not hashable(f):
        return False
    if (f in BINARY or f in IN_PLACE) and f not in COMPARING and any(map(is_counter, given)):
        return True
    if f not in BINARY and f not in SPECIAL and f is not operator.ne:
        return False
    unknown = f in _OF_WHOLE_NUMBERS  # others are for numbers more often than not
    return any((isinstance(t, Top) and unknown) or (isinstance(t, Inst) and is_user_class(t.cls)) for t in given)


_OF_WHOLE_NUMBERS = (operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor)

_UNCHANGEABLE = (int, float, complex, str, bytes, range, slice, np.generic, pytypes.FunctionType)


def may_be_written(t: T) -> bool:
    """Could a function that is given this value change it, in a way that matters to derivatives?"""
    match t:
        case Known(value=v):
            return not is_code_like(v) and not isinstance(v, (int, float, complex, str, bytes, tuple, range, slice))
        case Tup():
            return any(map(may_be_written, t.raw))
        case Inst(cls=c):
            return not issubclass(c, (*_UNCHANGEABLE, *constant_classes))
        case Union(options=options):
            return any(map(may_be_written, options))
        case Arr() | Lst() | Dct() | Top():
            return True
    return False


def tells_content(t: T) -> bool:
    """Does the type say what is in a value in which it may change?"""
    if isinstance(t, (Tup, Union)):
        return any(map(tells_content, parts_of(t)))
    return isinstance(t, (Lst, Dct, Obj, Cell, SetOf))


def may_be_iterator(t: T) -> bool:
    if isinstance(t, Inst):
        by_class = (class_attribute(t.cls, name) for name in ("__iter__", "__getitem__"))
        return any(type(d) is pytypes.FunctionType for d in by_class)
    return any(map(may_be_iterator, t.options)) if isinstance(t, Union) else t == Top(True)


def takes_items(f: Any, types: Sequence[T | None]) -> int | None:
    """Which of its positional arguments does f take item after item from? Setting a slice of a list does so, too."""
    if f is operator.setitem or f is list.__setitem__:
        i = types[1] if len(types) == 3 and isinstance(types[0], Lst) else None
        return 2 if i is not None and class_of(widen(i)) is slice else None
    return drained.get(f)


def takes_all(f: Any, generator: Operand, args: Sequence[Operand]) -> bool:
    """Does f run the generator to its end and keep nothing but the values? It may as well be given a list of them."""
    if f is ops.call_ex or f is ops.list_extend:  # starred, in a call or a display
        return args[1] is generator
    return tuple(args[:1]) == (generator,) and f in _TAKE_ALL


def uses_up(f: Any, types: Sequence[T | None]) -> int | None:
    """Which of its positional arguments does a call of f iterate over to the end?"""
    k = takes_items(f, types) if hashable(f) else None
    if k is None or k >= len(types) or f is ops.call_ex or (f in (min, max) and len(types) != 1):
        return None
    return None if f is operator.iadd and not isinstance(types[0], Lst) else k


def fold_isinstance(t: T, cls: Any) -> bool | None:
    if isinstance(t, Known):
        return isinstance(t.value, cls)
    if isinstance(t, Union):
        answers = {fold_isinstance(x, cls) for x in t.options}
        return answers.pop() if len(answers) == 1 else None
    c = class_of(t)
    if c is None or type(c) not in (type, abc.ABCMeta):
        return None
    kinds = cls if isinstance(cls, tuple) else (cls,)
    if not all(type(k) is type or _says(k, c) for k in kinds):
        return None
    return issubclass(class_shown(c), tuple(kinds))


def _says(abstract: type, c: type) -> bool:
    """Does an abstract class of Python's own say of a class for good whether it is one of its kind?"""
    if type(abstract) is not abc.ABCMeta or abstract.__module__ not in INHERITED:
        return False
    return abstract in c.__mro__ or c in _SETTLED


_SETTLED = frozenset({int, float, complex, bool, str, bytes, tuple, list, dict, set, type(None)})


def classes_given(t: T) -> Any:
    """What `isinstance` is given for a class: one, or a tuple of such; None where it is not known."""
    if isinstance(t, Known):
        return t.value
    inner = tuple(map(classes_given, t.items)) if isinstance(t, Tup) else ()
    return inner if inner and None not in inner else None


ITERATORS = frozenset({pytypes.GeneratorType, zip, enumerate, reversed, map, filter})
_TAKE_ALL = frozenset({sum, min, max, list, tuple, set, sorted, math.fsum, math.prod, dict, deque})
_OF_ITS_CLASS = ITERATORS | {list, tuple, dict, deque, OrderedDict, defaultdict}


def class_made(t: T, maker: T | None) -> type | None:
    """The class of a value of this type, which a call of `maker` gave; None where that is not known."""
    code = maker.code if isinstance(maker, Fn) else getattr(getattr(maker, "value", None), "__code__", None)
    if isinstance(code, pytypes.CodeType) and code.co_flags & CO_GENERATOR:
        return pytypes.GeneratorType
    c = class_of(widen(t))
    return maker.value if c is None and isinstance(maker, Known) and isinstance(maker.value, type) else c


def fold_hasattr(t: T, name: str, maker: T | None) -> bool | None:
    """Has a value of this type, which a call of `maker` gave, an attribute? None where its class does not tell."""
    c = class_made(t, maker)
    if c not in _OF_ITS_CLASS:
        return None
    if hasattr(c, name):
        return True
    return False if c.__dictoffset__ == 0 else None


def fold_is(a: T, b: T) -> bool | None:
    """Are they the same object? None where the types do not tell."""
    if isinstance(a, Known) and isinstance(b, Known):
        return None if a == b and is_local_function(a.value) else a.value is b.value
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Union):
            found = {fold_is(o, y) for o in x.options}
            return found.pop() if len(found) == 1 else None
        if isinstance(x, Known) and isinstance(y, (Inst, Arr, Tup, Lst, Dct, Real, Fn, Meth)):
            if x.value is None or x.value is NotImplemented:
                return isinstance(y, Inst) and y.cls is type(x.value)
    return None


COMPARES = frozenset({operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge})
_NUMBERS, _TEXTS = frozenset({int, float, bool}), frozenset({str})


def fold_compared(f: Any, types: tuple[T, ...]) -> bool | None:
    """What a comparison of two numbers or texts that are known gives; None where they are not.

    So it is told how a function goes on that asks how many arguments it was given, or which of its ways it is to go.
    """
    match types:
        case (Known(value=a), Known(value=b)):
            kinds = {type(a), type(b)}
            return f(a, b) if kinds <= _NUMBERS or kinds <= _TEXTS else None
    return None


_RUN_NOTHING = {
    id(f)
    for f in (
        *(ops.cell_get, ops.cell_set, ops.make_cell, ops.make_function, ops.list_append),
        *(ops.build_list, ops.build_tuple, ops.check_bound),
    )
}


def runs_nothing(f: Any) -> bool:
    """Is it what the language does without running anything of the user's, whatever it is given?"""
    return id(f) in _RUN_NOTHING


def raises_natively(info: CallInfo | None) -> bool:
    """Does a call run no code of the user's, so that what it raises is of none of the user's classes?"""
    if info is None:
        return True  # it has not been seen to run
    f = info.target
    if info.kind not in ("plain", "rule", "op") or (isinstance(f, pytypes.FunctionType) and not is_engines(f)):
        return False
    if runs_nothing(f):
        return True
    if id(f) in _BY_PLACE and _is_by_place(info.types):
        return True
    of_object = f is getattr or getattr(f, "__module__", None) == make_object.__module__
    return all(is_native(t) or (of_object and isinstance(t, Obj | Known)) for t in info.types)


_BY_PLACE = {id(f) for f in (len, operator.getitem, operator.setitem, iter, list, tuple)}


def _is_by_place(types: Sequence[T]) -> bool:
    """Is it a container of Python's own that is asked for places or keys, whatever the items are?"""
    match types:
        case (Lst(cls=c) | Tup(cls=c), *_):
            keys: Sequence[T] = types[1:2]
        case (Dct(cls=c, key=key, factory=Bot()), *_):
            keys = (key, *types[1:2])
        case _:
            return False
    return c in (list, tuple, deque, dict, OrderedDict) and all(map(is_native, keys))


def is_engines(f: Any) -> bool:
    """Is it a function of the engine's own?"""
    return isinstance(f, pytypes.FunctionType) and (f.__module__ or "").startswith("mooncake_py.")


def is_native(t: T) -> bool:
    """Is it a number, text, an array of numbers, something of Python's own, or a container of such?"""
    match t:
        case Known(value=v):
            made_here = isinstance(v, (type, pytypes.FunctionType)) and not is_library(v)
            return not made_here and not is_user_class(type(v))
        case Rec(cls=c):
            return not is_user_class(c)  # a container is what all that it leads to is
        case Obj() | Top() | Fn() | Meth():
            return False
        case Inst(cls=c):
            return is_scalar(t) or c in (str, bytes, range, slice, type(None))
        case Arr(dtype=d):
            return d is not None and d.kind not in "OV"
        case Tup() | Lst() | Cell():
            return all(map(is_native, parts_of(t)))
        case Dct():
            return is_native(t.key) and all(map(is_native, parts_of(t)))
    return True


def may_say(t: T) -> bool:
    """Is this an object, or a list or tuple of such, whose class has a say in what NumPy's functions are?"""
    if isinstance(t, (Lst, Tup)):
        return any(not isinstance(x, (Lst, Tup)) and may_say(x) for x in parts_of(t))
    if isinstance(t, Union):
        return any(map(may_say, parts_of(t)))
    return isinstance(t, (Obj, Inst)) and any(has_say(t.cls, k) for k in ("__array_ufunc__", "__array_function__"))
