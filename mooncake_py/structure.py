"""What objects of user classes are made of: their attributes, and the tangents that mirror them."""

from __future__ import annotations

import enum
import types as pytypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

_HEAP, _IMMUTABLE, _NOT_MADE = 1 << 9, 1 << 8, 1 << 7  # flags of a class
_C = TypeVar("_C", bound=type)


_found: dict[type, bool] = {pytypes.SimpleNamespace: True}


def is_user_class(cls: type) -> bool:
    """Is this a class written in Python whose objects hold their state in attributes and nowhere else?

    Exceptions are: what they hold besides is the tuple `args`. Enumerations are not: their members are constants.
    """
    known = _found.get(cls)
    if known is None:
        if len(_found) > 5000:  # classes that are made in functions do not pile up
            _found.clear()
            _found[pytypes.SimpleNamespace] = True
        known = _found[cls] = _looks_like_user_class(cls)
    return known


def _looks_like_user_class(cls: type) -> bool:
    if issubclass(cls, (type, enum.Enum)) or isinstance(cls, enum.EnumMeta):
        return False
    for k in cls.__mro__:
        if k is object or k is BaseException or k.__module__ == "builtins":
            if k is not object and not issubclass(k, BaseException):
                return False
            continue
        if not k.__flags__ & _HEAP or k.__flags__ & (_IMMUTABLE | _NOT_MADE):
            return False
        if isinstance(k.__dict__.get("__new__"), pytypes.BuiltinFunctionType):  # a class written in C
            return False
    return cls is not object and bool(cls.__flags__ & _HEAP)


def is_object(x: Any) -> bool:
    """Is x an object of a user class?"""
    return is_user_class(type(x))


def slot_names(cls: type) -> tuple[str, ...]:
    """The attributes that objects of the class keep in slots."""
    out: list[str] = []
    for k in reversed(cls.__mro__):
        out += [n for n, d in k.__dict__.items() if type(d) is pytypes.MemberDescriptorType and n not in out]
    return tuple(n for n in out if not n.startswith("__"))


def attributes(x: Any) -> dict[str, Any]:
    """What an object stores, by the name of the attribute: its slots and its `__dict__`."""
    out = {}
    for name in slot_names(type(x)):
        try:
            out[name] = stored(x, name)
        except AttributeError:
            continue
    out.update(getattr(x, "__dict__", ()))
    return out


_ABSENT = object()


def slot_of(cls: type, name: str) -> Any:
    """The descriptor of a slot of the class, None where `name` is none."""
    for k in cls.__mro__:
        if name in k.__dict__:
            d = k.__dict__[name]
            return d if type(d) is pytypes.MemberDescriptorType else None
    return None


def stored(x: Any, name: str) -> Any:
    """The attribute as it is stored; AttributeError where there is none."""
    d = getattr(x, "__dict__", None)
    if d is not None and name in d:
        return d[name]
    slot = slot_of(type(x), name)
    if slot is None:
        raise AttributeError(name)
    return slot.__get__(x, type(x))


def store(x: Any, name: str, value: Any) -> None:
    """Set an attribute of any object without asking its class."""
    if isinstance(x, type):
        type.__setattr__(x, name, value)
    elif slot_of(type(x), name) is None and hasattr(x, "__dict__"):
        x.__dict__[name] = value
    else:
        object.__setattr__(x, name, value)


def unstore(x: Any, name: str) -> None:
    """Delete an attribute of any object without asking its class."""
    if isinstance(x, type):
        type.__delattr__(x, name)
    elif slot_of(type(x), name) is None and hasattr(x, "__dict__"):
        del x.__dict__[name]
    else:
        object.__delattr__(x, name)


# -- what users declare -----------------------------------------------------------------------------------

_constant: dict[type, frozenset[str]] = {}
_tangent_types: dict[type, Callable[[dict[str, Any]], Any]] = {}


def differentiable(
    cls: _C | None = None, *, no_diff: tuple[str, ...] = (), tangent: Callable[[dict[str, Any]], Any] | None = None
) -> Any:
    """Declare how objects of a class are differentiated; works as a decorator, and on classes of others.

    `no_diff` names the attributes that carry no derivative: what is stored in them is a constant. `tangent` makes the
    tangent of an object from the dict of its attributes' tangents, where it is to be something else than a
    `Tangent`. Both hold for subclasses. A class that is not declared has every attribute differentiable.
    """

    def declare(cls: _C) -> _C:
        _constant[cls] = frozenset(no_diff)
        if tangent is not None:
            _tangent_types[cls] = tangent
        return cls

    return declare if cls is None else declare(cls)


def constant_attributes(cls: type) -> frozenset[str]:
    """The attributes declared to carry no derivative."""
    if not _constant:
        return frozenset()
    return frozenset().union(*(_constant[k] for k in cls.__mro__ if k in _constant))


def declared_tangent(t: Tangent) -> Any:
    """The tangent of an object in the type that the user declared for its class."""
    for k in t._cls.__mro__ if _tangent_types else ():
        if k in _tangent_types:
            return _tangent_types[k](t._fields)
    return t


class Tangent(Mapping[str, Any]):
    """The tangent of an object: the tangents of its attributes, by name.

    `t.x` and `t["x"]` are the tangent of attribute `x`: a float for a float, an array for an array, a `Tangent` for
    an object, None where an attribute has no derivative. Tangents of one class add up, and are scaled by numbers.
    """

    __slots__ = ("_cls", "_fields")

    def __init__(self, cls: type, fields: Mapping[str, Any]):
        self._cls = cls
        self._fields = dict(fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            raise AttributeError(f"the tangent of a {self._cls.__name__} has no attribute {name!r}") from None

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        if id(self) in _printing:
            return f"Tangent({self._cls.__name__}, ...)"
        _printing.add(id(self))
        try:
            inner = "".join(f", {k}={v!r}" for k, v in self._fields.items())
        finally:
            _printing.discard(id(self))
        return f"Tangent({self._cls.__name__}{inner})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tangent):
            return NotImplemented
        return self._cls is other._cls and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return Tangent, (self._cls, self._fields)

    def to_dict(self) -> dict[str, Any]:
        """The same as nested dicts, lists and tuples; an object that is reached twice gives one dict."""
        return _plain(self, {})

    def __add__(self, other: Any) -> Tangent:
        if not isinstance(other, Tangent) or other._cls is not self._cls:
            return NotImplemented
        return _combined(self, other, add_tangents, {})

    def __mul__(self, k: Any) -> Tangent:
        if isinstance(k, Tangent):
            return NotImplemented
        return _combined(self, None, lambda a, _, memo: scale_tangent(a, k, memo), {})

    __rmul__ = __mul__

    def __neg__(self) -> Tangent:
        return self * -1.0

    def __sub__(self, other: Any) -> Tangent:
        return self + other * -1.0 if isinstance(other, Tangent) else NotImplemented


_printing: set[int] = set()


def _combined(a: Tangent, b: Tangent | None, f: Callable[[Any, Any, Any], Any], memo: dict[Any, Any]) -> Tangent:
    if id(a) in memo:
        return memo[id(a)]
    out = memo[id(a)] = Tangent(a._cls, {})
    names = a._fields if b is None else {**a._fields, **b._fields}
    for k in names:
        out._fields[k] = f(a._fields.get(k), None if b is None else b._fields.get(k), memo)
    return out


def add_tangents(a: Any, b: Any, memo: dict[Any, Any] | None = None) -> Any:
    """The sum of two cotangents of one argument, structure by structure; None is zero."""
    memo = {} if memo is None else memo
    if a is None:
        return b
    if b is None:
        return a
    if isinstance(a, Tangent):
        return _combined(a, b, add_tangents, memo)
    if isinstance(a, dict):
        return {k: add_tangents(a.get(k), b.get(k), memo) for k in {**a, **b}}
    if isinstance(a, (list, tuple)):
        return _rebuilt(a, [add_tangents(x, y, memo) for x, y in zip(a, b, strict=True)])
    return a + b


def scale_tangent(a: Any, k: Any, memo: dict[Any, Any] | None = None) -> Any:
    """A cotangent times a number."""
    memo = {} if memo is None else memo
    if a is None:
        return None
    if isinstance(a, Tangent):
        return _combined(a, None, lambda x, _, m: scale_tangent(x, k, m), memo)
    if isinstance(a, dict):
        return {key: scale_tangent(v, k, memo) for key, v in a.items()}
    if isinstance(a, (list, tuple)):
        return _rebuilt(a, [scale_tangent(x, k, memo) for x in a])
    return a * k


def _rebuilt(a: Any, items: list[Any]) -> Any:
    return type(a)(*items) if hasattr(a, "_fields") else type(a)(items)


def _plain(x: Any, memo: dict[int, Any]) -> Any:
    if isinstance(x, Tangent):
        if id(x) not in memo:
            memo[id(x)] = out = {}
            for k, v in x._fields.items():
                out[k] = _plain(v, memo)
        return memo[id(x)]
    if isinstance(x, dict):
        return {k: _plain(v, memo) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return _rebuilt(x, [_plain(v, memo) for v in x])
    return x
