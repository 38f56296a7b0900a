"""What a name, an attribute or a call means, given the types: constants through globals and modules, attributes
of known classes, result types of primitives."""

from __future__ import annotations

import functools
import types as pytypes
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.dimensions import for_each_ndim, is_some_array
from mooncake_py.infer.named import answers
from mooncake_py.infer.parts import activate, differentiable_dtype
from mooncake_py.infer.types import (
    BOT,
    DICTS,
    LINKED,
    Arr,
    Dct,
    Display,
    Inst,
    Known,
    Lst,
    Meth,
    Real,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    join,
)
from mooncake_py.outputs import can_be_split, split, writes_out
from mooncake_py.registry import infer_table, probed, samples
from mooncake_py.structure import constant_classes, of_constant_package

_MISSING = object()
_CODE_LIKE = (
    type,
    pytypes.ModuleType,
    pytypes.FunctionType,
    pytypes.BuiltinFunctionType,
    pytypes.MethodDescriptorType,
    pytypes.WrapperDescriptorType,
    np.ufunc,
    np.dtype,
)


def is_code_like(value: Any) -> bool:
    """A function, class or module: taken as a constant and guarded by identity; data is loaded and typed."""
    return isinstance(value, _CODE_LIKE) or value is None or (callable(value) and not isinstance(value, np.ndarray))


def class_attribute(cls: type, name: str) -> Any:
    """What `name` is in the class, unbound, or _MISSING."""
    for k in cls.__mro__:
        if name in k.__dict__:
            return k.__dict__[name]
    return _MISSING


def called_alone(method: Any) -> Any:
    """What a class has for `__call__` and Python calls without the object: a static method, what binds to nothing."""
    if type(method) is staticmethod:
        return method.__func__
    if method is _MISSING or not callable(method):
        return None
    # A partial binds to nothing on all Pythons that are supported, and has a `__get__` on some that says so.
    return method if isinstance(method, functools.partial) or not hasattr(type(method), "__get__") else None


def class_of(t: T) -> type | None:
    """The exact class of the values of a type, None where they may differ."""
    match t:
        case Inst(cls=c):
            return c
        case Arr():
            return np.ndarray
        case Tup(cls=c):
            return c
        case Lst(cls=c):
            return c
        case Dct(cls=c):
            return c
    return None


_GENERIC = frozenset({np.ndarray, float, int, complex, tuple, list, str, dict, set, frozenset, deque, *DICTS})


def attribute(t: T, name: str, site: Any) -> tuple[T, Any] | None:
    """The type of `x.name` and the descriptor that computes it (None for a bound method); None if unknown."""
    cls = class_of(t)
    if cls is None or class_attribute(cls, "__getattribute__") is not object.__getattribute__:
        if cls is None or (cls not in _GENERIC and cls not in samples and not _is_np_scalar(cls)):
            return None
    assert cls is not None
    d = class_attribute(cls, name)
    if _is_method(d):
        if not _may_have_dict(cls) or cls in constant_classes or of_constant_package(cls) or isinstance(t, Dct):
            return Meth(d, (site,), t.active, by_value=isinstance(t, Tup) or is_scalar(t)), None
        return None
    if isinstance(d, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)) and not _may_have_dict(cls):
        r = result_type(d, (t,), ())
        return r, d
    return None


def _is_np_scalar(cls: type) -> bool:
    return issubclass(cls, np.generic)


def _is_method(d: Any) -> bool:
    """Is this, found in a class, a function that is bound to the object it is asked for?"""
    kinds = (pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType, pytypes.FunctionType)
    return isinstance(d, kinds) or type(d).__name__ == "cython_function_or_method"


def _may_have_dict(cls: type) -> bool:
    return getattr(cls, "__dictoffset__", 0) != 0


# -- result types of primitives ---------------------------------------------------------------------------

_probe_cache: dict[Any, T] = {}


def result_type(f: Any, args: tuple[T, ...], kwargs: tuple[tuple[str, T], ...]) -> T:
    """The type of `f(*args, **kwargs)` for a primitive; active where an argument is."""
    act = some = False
    for t in args:
        act = act or t.active
        some = some or is_some_array(t)
    for _, t in kwargs:
        act = act or t.active
        some = some or is_some_array(t)
    if some:
        t = for_each_ndim(functools.partial(result_type, f), args, kwargs)
        if type(t) is not Top:
            return t
    try:
        special: Callable[..., T | None] | None = infer_table.get(f)
        known = f in probed
    except TypeError:
        return Top(act)
    if special is not None:
        found = special(args, dict(kwargs))
        if found is not None:
            by_name = act and not found.active and any(t.active for _, t in kwargs)
            cut = type(found) is Arr and found.act and not differentiable_dtype(found.dtype)
            return activate(found) if by_name or cut else found  # tables look at what is given by position
    if known:
        return activate(_probe(f, args, kwargs), act) if act else _probe(f, args, kwargs)
    return Top(act)


def _probe(f: Any, args: tuple[T, ...], kwargs: tuple[tuple[str, T], ...]) -> T:
    try:
        key = (f, args, kwargs)
        t = _probe_cache.get(key)
    except TypeError:
        return Top()
    if t is None:
        t = _probe_all(f, list(args), dict(kwargs))
        if len(_probe_cache) > 20000:
            _probe_cache.clear()
        _probe_cache[key] = t
    return t


def _probe_all(f: Any, args: list[T], kwargs: dict[str, T]) -> T:
    """Call f on samples; where an argument may be of several classes, on samples of each, and so with truth values.

    Never with a place to write the result to: C code may rely on its shape, and what is returned is that place.
    """
    if writes_out(f, len(args), kwargs):
        if not can_be_split(f):
            return Top()
        args, kwargs, given = split(f, args, kwargs, Known(None))
        if not (isinstance(given, Known) and given.value is None):
            return Arr(given.dtype, given.ndim, False, given.least) if isinstance(given, Arr) else Top()
    out: T = BOT
    for i, t in enumerate(args):
        for other in (choices := _choices(t)):
            args[i] = other
            out = join(out, _probe_all(f, list(args), kwargs))
        if choices:
            return out
    for k, t in kwargs.items():
        for other in (choices := _choices(t)):
            out = join(out, _probe_all(f, list(args), {**kwargs, k: other}))
        if choices:
            return out
    y = _called(f, args, kwargs)
    if y is _REFUSED:
        return Top()
    if type(y) is tuple and any(map(_is_tuple, args)) and any(map(_is_some_int, args)):
        return Top()  # `(1,) * n`: the sample says nothing about the length
    t = abstract(y, False)
    if any(map(_is_some_int, (*args, *kwargs.values()))):  # which may be 0 where 1 and True mean the same
        y = _called(f, list(map(_no_int, args)), {k: _no_int(x) for k, x in kwargs.items()})
        t = t if y is _REFUSED else join(t, abstract(y, False))
    return t if not isinstance(t, Known) or t.value is None else Top()


_REFUSED = object()


def _called(f: Any, args: list[T], kwargs: dict[str, T]) -> Any:
    """What f gives for samples; a sample that it refuses tells nothing about its result."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _call_probe(f, [sample(t) for t in args], {k: sample(t) for k, t in kwargs.items()})
    except Exception:
        return _REFUSED


def _no_int(t: T) -> T:
    return Known(t.cls(0)) if isinstance(t, Inst) and _is_some_int(t) else t


_REALS = (float, int, np.float64, np.float32)


def _choices(t: T) -> tuple[T, ...]:
    """What a value of the type may be, where one sample says too little."""
    if isinstance(t, Real):
        return tuple([Inst(c) for c in _REALS if t.classes is None or c in t.classes])
    if isinstance(t, Union) and not t.act:
        return t.options
    return (Known(t.cls(True)), Known(t.cls(False))) if isinstance(t, Inst) and t.cls in (bool, np.bool_) else ()


def _is_tuple(t: T) -> bool:
    return isinstance(t, Tup) or (isinstance(t, Known) and isinstance(t.value, tuple))


def _is_some_int(t: T) -> bool:
    return isinstance(t, Inst) and issubclass(t.cls, (int, np.integer))


def _call_probe(f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if isinstance(f, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)):
        return f.__get__(args[0], type(args[0]))
    return f(*args, **kwargs)


class _NoSample(Exception):
    """Values of this type cannot be made up."""


def sample(t: T) -> Any:
    """A small value of the type: arrays have length 2 in every direction, so that they fit together."""
    if isinstance(t, LINKED):
        raise _NoSample
    match t:
        case Known(value=v):
            return v
        case Arr(dtype=d, ndim=n) if d is not None and n is not None and d.kind in "fciub":
            return np.full((2,) * n, 0.5 if d.kind in "fc" else 1, d)
        case Inst(cls=c) if c in (float, int, bool, complex):
            return c(0.5) if c in (float, complex) else c(1)
        case Inst(cls=c) if issubclass(c, np.generic) and c is not np.void and c is not np.object_:
            return c(0.5) if issubclass(c, np.inexact) else c(1)
        case Inst(cls=c) if c is slice:
            return slice(None)
        case Inst(cls=c) if c is range:
            return range(2)
        case Inst(cls=c) if c is str:
            return "1"
        case Inst(cls=c) if c in samples:
            return samples[c]
        case Tup(items=items, cls=c):
            if answers(c):
                raise _NoSample
            values = [sample(x) for x in items]
            return tuple(values) if c is tuple else tuple.__new__(c, values)
        case Display(items=items):
            return [sample(x) for x in items]
        case Lst(elem=e, cls=c):
            return c([sample(e), sample(e)])
    raise _NoSample
