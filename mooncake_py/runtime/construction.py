"""Objects and classes that are made."""

from __future__ import annotations

import enum
import itertools
import types as pytypes
from collections import OrderedDict, defaultdict, deque
from typing import Any

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import bare
from mooncake_py.infer.named import is_named_tuple
from mooncake_py.infer.quiet import END, does_at_its_end
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.runtime.classes import share_cells
from mooncake_py.runtime.exceptions import set_args
from mooncake_py.runtime.results import Call, Given, Pull, Result, through, without_first
from mooncake_py.structure import HEAP, is_user_class
from mooncake_py.tangents import FunctionShadow, ObjectShadow, add_any, zero_fdata
from mooncake_py.unwinding import Raised


def construct(
    call: Call,
    cls: type,
    given: Given,
) -> Result | None:
    """`cls(*args, **kwargs)` for a class written in Python; None where C code makes the object."""
    meta = class_attribute(type(cls), "__call__")
    if isinstance(cls, enum.EnumMeta):
        return None
    if meta is dict:  # a class of typed dicts
        return call(dict, None, *given)
    if type(meta) is pytypes.FunctionType:
        return without_first(call(meta, None, *given.after(cls, None)))
    if meta is not TYPE_CALL or not (cls.__flags__ & 1 << 9 or cls is defaultdict):
        return None
    return type_call(call, cls, given)


TYPE_CALL = type.__dict__["__call__"]


def type_call(
    call: Call,
    cls: type,
    given: Given,
) -> Result | None:
    """What `type.__call__` does: `__new__`, then `__init__`."""
    _check_end(cls)
    args = given.args
    new = class_attribute(cls, "__new__")
    init = class_attribute(cls, "__init__")
    made: Pull | None = None
    if isinstance(new, staticmethod):
        new = new.__func__
    if is_named_tuple(cls) and run.current().shadow(new) is None:
        return _named_tuple(cls, given)
    if type(new) is pytypes.FunctionType or new is tuple.__new__:
        x, fx, made = call(new, None, *given.after(cls, None))
        if not isinstance(x, cls):
            return without_first((x, fx, made))
    elif (base := _container(cls)) is not None:
        x = base.__new__(cls)
        fx = zero_fdata(x)
    elif not is_user_class(cls):
        return _number(cls, given) if new in (float.__new__, complex.__new__) and init is object.__init__ else None
    elif new is object.__new__:
        if init is object.__init__ and (args or given.names):
            cls(*args, **given.kwargs)  # raises
        x = object.__new__(cls)
        fx = ObjectShadow(x)
    else:  # an exception
        x = cls.__new__(cls, *args, **given.kwargs)
        fx = ObjectShadow(x)
        made = set_args(fx, args, given.fargs)
    if fx is None:
        fx = zero_fdata(x)
    if is_user_class(cls) or _container(cls) is not None:
        run.current().made[id(x)] = x, fx
    init = class_attribute(type(x), "__init__")
    started: Pull | None = None
    y: Any = None
    if type(init) is pytypes.FunctionType:
        y, _, started = call(init, None, *given.after(x, fx))
        if y is not None and type(y) is not Raised:
            raise TypeError(f"__init__() should return None, not '{type(y).__name__}'")
    elif _container(cls) is not None:
        y, _, started = call(init, None, *given.after(x, fx))
    elif init is not object.__init__ and not isinstance(x, (BaseException, tuple)):
        return None
    elif init is not object.__init__ and not isinstance(x, tuple):
        x.__init__(*args, **given.kwargs)

    def pullback(dy: Any) -> Any:
        one = None if started is None else started(None)
        two = None if made is None else made(dy)
        if one is None:
            return None if two is None else (None, *two[2:], *(None for _ in given.names))
        if two is None:
            return (None, *one[2:])
        return (
            None,
            *(
                add_any(None, None, a) if b is None else add_any(a, None, b)
                for a, b in itertools.zip_longest(one[2:], two[2:])  # what is given by name is in no `args`
            ),
        )

    return (x, fx, pullback) if type(y) is not Raised else (y, None, pullback)


def _check_end(cls: Any) -> None:
    """Refuse to make an object that does something at its end: the run holds it for longer than plain Python."""
    if hasattr(cls, "__del__") and does_at_its_end(cls):
        what = f"making a {cls.__name__}, which does something when it is no longer held,"
        raise UnsupportedError(what, "the call", None, END)


def _number(cls: Any, given: Given) -> Result | None:
    """A number of a class derived from float or complex, made of a number."""
    if len(given.args) != 1 or given.names or not cls.__flags__ & HEAP or type(cls) is not type:
        return None
    if not isinstance(given.args[0], (float, complex) if issubclass(cls, complex) else float):
        return None
    return cls(*given.args), None, lambda dy: (None, bare(dy))


def _named_tuple(cls: Any, given: Given) -> Result:
    """A named tuple is the tuple of its fields, which are the arguments and constants."""
    x = cls(*given.args, **given.kwargs)
    places = [*range(len(given.args)), *map(cls._fields.index, given.names)]
    fs = [None] * len(x)
    for i, f in zip(places, given.fdata, strict=True):
        fs[i] = f
    fx = tuple(fs) if any(f is not None for f in fs) else None
    return x, fx, lambda dy: None if dy is None else (None, *[dy[i] for i in places])


def _container(cls: type) -> Any:
    """The container whose items objects of the class hold; its `__new__` makes an empty one."""
    return next((b for b in cls.__mro__ if b in (list, dict, deque, OrderedDict, defaultdict)), None)


def handle_new(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`object.__new__(cls)`."""
    if args and isinstance(args[0], type):
        _check_end(args[0])
    x = object.__new__(*args)
    fx = ObjectShadow(x)
    run.current().made[id(x)] = x, fx
    return x, fx, None


def bound_method(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`types.MethodType(function, x)`: fdata of a bound method is that of its object; the run knows the function's."""
    if len(args) != 2 or type(fargs[0]) not in (FunctionShadow, ObjectShadow, type(None)):
        return None
    if type(fargs[0]) is ObjectShadow:  # an object that is called
        run.current().put(args[0], fargs[0])
    share_cells(args[0], fargs[0])
    return pytypes.MethodType(*args), fargs[1], lambda dy: (None, None, dy)


def bound_by_get(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`function.__get__(x, cls)`."""
    found = bound_method(call, args[:2], fargs[:2]) if args[1] is not None else None
    return through(found, lambda ds: (*ds, *(None,) * (len(args) - 2))) if found is not None else None
