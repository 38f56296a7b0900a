"""What derived code does with the attributes of objects whose class is known: the functions that have the rules.

An attribute of such an object is read and written as the plain Python statement; `get_*` and `set_*` stand for it where
its kind is known, and are what inference finds for it.
"""

from __future__ import annotations

import builtins
from collections import defaultdict
from types import FunctionType, MethodType, ModuleType
from typing import Any

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.ir import ops
from mooncake_py.structure import HEAP, store, stored, unstore


class _Absent:
    def __repr__(self) -> str:
        return "<absent>"


ABSENT = _Absent()
"""What an attribute was before it was set for the first time."""


def make_object(cls: type) -> Any:
    """An object of a class written in Python, before `__init__`."""
    return cls.__new__(cls)  # type: ignore[call-overload]


def make_exception(cls: type, *args: Any) -> Any:
    """An exception of a class written in Python, before `__init__`: it keeps the arguments."""
    return cls.__new__(cls, *args)


def set_args(x: Any, *args: Any) -> None:
    """`BaseException.__init__(x, *args)`: the arguments are what the exception keeps from now on."""
    ARGS.__set__(x, args)


ARGS = BaseException.__dict__["args"]
"""Where exceptions keep their arguments, whatever their class says of attributes."""


def surely(x: Any, what: Any, source: Any) -> Any:
    """x, which a plan took for an object of exactly this class, or a function of this code; goes when that is known.

    `source` is what x is in the source.
    """
    return x


def lacks(x: Any, cls: type, name: str) -> None:
    """x has no attribute of its own by a name that was looked up in its class; goes where that is known."""
    if name in getattr(x, "__dict__", ()):
        raise UnsupportedError(
            f"an attribute {name!r} of a {cls.__name__} that hides what its class has by that name",
            "the call",
            None,
            "give it a name of its own, or set it where it is seen: in __init__ or in a short method",
        )


def has_own(x: Any, name: str) -> bool:
    """Has the object an attribute of its own by this name, which its class has as well?"""
    return name in x.__dict__


def own(x: Any, name: str) -> Any:
    """That attribute: what the class has does not come first."""
    return x.__dict__[name]


def narrow(x: Any, of: bool, kind: Any) -> Any:
    """x, which has been seen to be (or not to be) of this kind (`infer/types.py`)."""
    return x


def is_of_length(x: Any, cls: Any, n: Any) -> bool:
    """Is x a tuple of exactly this class, of n items?"""
    return type(x) is cls and tuple.__len__(x) == n


def is_code_of(x: Any, code: Any) -> bool:
    """Is x a function made from this code?"""
    return getattr(x, "__code__", None) is code


def is_method_of(x: Any, f: Any) -> bool:
    """Is x this function, bound to an object?"""
    return type(x) is MethodType and x.__func__ is f


def no_attribute(x: Any, name: str) -> Any:
    """Raise what reading an attribute raises that is not there."""
    return getattr(x, name)


def is_function(x: Any, f: Any) -> bool:
    """Is x this function, or one made from the same code that cannot behave differently?"""
    return x is f or (type(x) is FunctionType and same_function(x, f))


def same_function(a: FunctionType, b: FunctionType) -> bool:
    """Are two functions made by a function from the same code, so that they cannot behave differently?

    They are two things all the same: `is`, sets and dicts tell them apart, and so does what answers for them.
    """
    return (
        a.__code__ is b.__code__
        and is_local_function(a)
        and a.__globals__ is b.__globals__
        and a.__closure__ is None
        and a.__defaults__ is b.__defaults__
        and a.__kwdefaults__ is b.__kwdefaults__
        and _same_items(a.__dict__, b.__dict__)
    )


def is_local_function(x: Any) -> bool:
    """Is it made by a function, anew in every run: one of several that are `same_function`?"""
    return type(x) is FunctionType and "<locals>" in x.__code__.co_qualname


def _same_items(a: dict[str, Any], b: dict[str, Any]) -> bool:
    """Are the attributes of two functions the same objects, or equal numbers and strings?"""
    return a.keys() == b.keys() and all([v is b[k] or _equal(v, b[k]) for k, v in a.items()])


def _equal(v: Any, w: Any) -> bool:
    return type(v) is type(w) and type(v) in (bool, int, float, str) and repr(v) == repr(w)


OF_NUMBERS = frozenset({"math", "cmath", "_operator"})
"""Modules whose functions take an object of a class derived from a number's for the number that it is."""


def bare(x: Any) -> Any:
    """The number that an object of a class derived from float or complex is; anything else is itself."""
    if not type(x).__flags__ & HEAP or not isinstance(x, (float, complex)):
        return x
    return float.__pos__(x) if isinstance(x, float) else complex.__pos__(x)


def one_like(x: Any) -> Any:
    """The cotangent 1 of a number: one of the numbers themselves, whatever class x is of."""
    return type(bare(x))(1.0)


def get_number(x: Any, name: str) -> Any:
    """An attribute that holds nothing but numbers."""
    return getattr(x, name)


def get_field(x: Any, name: str) -> Any:
    """An attribute that may hold anything."""
    return getattr(x, name)


def items_of(x: Any) -> Any:
    """An object of a class derived from a container as the container that its items are in: they are one."""
    return x


def get_beside(x: Any, name: str) -> Any:
    """An attribute of such an object."""
    return getattr(x, name)


def get_number_beside(x: Any, name: str) -> Any:
    """One that holds nothing but numbers."""
    return getattr(x, name)


def set_beside(x: Any, name: str, v: Any) -> None:
    """Set an attribute of such an object."""
    object.__setattr__(x, name, v)


def set_factory(d: Any, factory: Any) -> None:
    """Set what a `defaultdict` calls for what is missing, whatever its class says of attributes."""
    FACTORY.__set__(d, factory)


FACTORY: Any = defaultdict.__dict__["default_factory"]


def check_factory(d: Any, f: Any) -> None:
    """That a `defaultdict` calls f was found before all was seen that may set it."""
    now = FACTORY.__get__(d)
    if now is not f and not (type(f) is FunctionType and is_function(now, f)):
        raise UnsupportedError(
            "giving a defaultdict another default_factory where that is not seen at once", "the call", None,
            "set it in the function that makes the dict, or make another dict",
        )  # fmt: skip


def get_dict(x: Any, name: str) -> Any:
    """The dict that keeps the attributes, where it is only looked into."""
    return getattr(x, name)


def set_number(x: Any, name: str, v: Any) -> None:
    """Set an attribute that is there and holds nothing but numbers."""
    setattr(x, name, v)


def add_number(x: Any, name: str, v: Any) -> None:
    """The same where it may not be there yet."""
    setattr(x, name, v)


def set_field(x: Any, name: str, v: Any) -> None:
    """Set an attribute that may hold anything, or not be there yet."""
    setattr(x, name, v)


def set_raw(x: Any, name: str, v: Any) -> None:
    """The same as `object.__setattr__` does it."""
    object.__setattr__(x, name, v)


def set_kept(x: Any, name: str, v: Any) -> None:
    """`x.__dict__[name] = v`, which a descriptor of that name is not asked about."""
    x.__dict__[name] = v


class Kept:
    """Of classes derived from this are, as types, the objects that stand for what others keep by a name."""


def kept_by(holder: Any, name: str, written: bool) -> Any:
    """A class, function or module as the object that has what it keeps by a name: see `infer/kept_names.py`."""
    if written:
        here = run.current()
        here.touch(holder)
        if isinstance(holder, ModuleType):
            here.assigned[id(holder), name] = holder
    return holder


def load_name(module: Any, name: str) -> Any:
    """A global variable that the run may assign, by the module whose it is."""
    return global_of(vars(module), name)


def store_name(module: Any, name: str, v: Any) -> None:
    """Assign such a variable."""
    vars(module)[name] = v


def delete_name(module: Any, name: str) -> None:
    """Delete such a variable."""
    if name not in vars(module):
        raise NameError(f"name {name!r} is not defined", name=name)
    del vars(module)[name]


# -- the namespace of a class body ----------------------------------------------------------------------------


def name_in(namespace: Any, name: str, scope: dict[str, Any]) -> Any:
    """A name in a class body: one of its own, or a global variable."""
    return namespace[name] if name in namespace else global_of(scope, name)


def global_of(scope: dict[str, Any], name: str) -> Any:
    """A global variable, or what is built in."""
    found = scope.get(name, ABSENT)
    if found is ABSENT and (found := getattr(builtins, name, ABSENT)) is ABSENT:
        raise NameError(f"name {name!r} is not defined", name=name)
    return found


def name_or_cell(namespace: Any, cell: Any, name: str) -> Any:
    """The same for a variable of the function around it."""
    return namespace[name] if name in namespace else ops.cell_get(cell, name)


def drop_name(namespace: Any, name: str) -> None:
    """`del` in a class body."""
    if name not in namespace:
        raise NameError(f"name {name!r} is not defined", name=name)
    del namespace[name]


def annotations_in(namespace: Any) -> None:
    """Make `__annotations__` exist in the namespace."""
    if "__annotations__" not in namespace:
        namespace["__annotations__"] = {}


def namespace_of(namespace: Any) -> Any:
    """The namespace itself."""
    return namespace


def what_was(x: Any, name: str) -> Any:
    """What an attribute holds, ABSENT where it is not there."""
    try:
        return stored(x, name)
    except AttributeError:
        return ABSENT


def put_back_any(x: Any, name: str, old: Any) -> None:
    """Undo the write of an attribute that may not have been there."""
    if old is ABSENT:
        unstore(x, name)
    else:
        store(x, name, old)


def init_number(x: Any, name: str, v: Any) -> None:
    """Set an attribute of an object that was made in the run for the first time: a number."""
    setattr(x, name, v)


def init_field(x: Any, name: str, v: Any) -> None:
    """The same for anything."""
    setattr(x, name, v)


def init_raw(x: Any, name: str, v: Any) -> None:
    """The same as `object.__setattr__` does it."""
    object.__setattr__(x, name, v)


def init_kept(x: Any, name: str, v: Any) -> None:
    """The same by its `__dict__`."""
    x.__dict__[name] = v


INITIAL = {
    **{set_number: init_number, add_number: init_number, set_field: init_field},
    **{set_raw: init_raw, set_kept: init_kept},
}
"""A write of an attribute, and the same where it is the first."""
