"""The tangents of objects: mirrors of their attributes, or of a type that the user declared for the class."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mooncake_py.errors import ArgumentError
from mooncake_py.structure import attributes, is_object, with_items

_C = TypeVar("_C", bound=type)


class Declaration(NamedTuple):
    """What a user declared of a class, or of those it inherits from."""

    no_diff: frozenset[str] = frozenset()
    tangent: Callable[[dict[str, Any]], Any] | None = None
    fields: Callable[[Any], Mapping[str, Any]] | None = None
    zero: Callable[[Any], Any] | None = None
    add: Callable[[Any, Any], Any] | None = None
    scale: Callable[[Any, Any], Any] | None = None


_declared: dict[type, Declaration] = {}
_merged: dict[type, Declaration | None] = {}
_of_tangents: dict[type, Declaration] = {}  # by the type of the tangents
_NOTHING = Declaration()


def differentiable(
    cls: _C | None = None,
    *,
    no_diff: tuple[str, ...] = (),
    tangent: Callable[[dict[str, Any]], Any] | None = None,
    fields: Callable[[Any], Mapping[str, Any]] | None = None,
    zero: Callable[[Any], Any] | None = None,
    add: Callable[[Any, Any], Any] | None = None,
    scale: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """Declare how objects of a class are differentiated; works as a decorator, and on classes of others.

    `no_diff` names the attributes that carry no derivative: what is stored in them is a constant.

    `tangent` makes the tangent of an object from the dict of its attributes' tangents (None where an attribute has
    none), where it is to be something else than a `Tangent`; `fields` is the way back, from such a tangent to that
    dict. It may be left out where the tangent is a mapping, a named tuple, or an object with these attributes.
    Tangents of this type are what `grad` returns, what a pullback takes, and what rules are given and return.

    `zero(x)` is the tangent of an object that nothing depends on, `add(a, b)` the sum of two tangents, `scale(t, k)` a
    tangent times a number. What is left out works attribute by attribute.

    All of it holds for subclasses, which may declare more. A class that is not declared has every attribute
    differentiable. Raises ArgumentError for what is no class, or not callable.
    """
    if cls is not None and not isinstance(cls, type):
        raise ArgumentError(f"differentiable: declare a class, not {cls!r}")
    if isinstance(no_diff, str) or not all(isinstance(k, str) for k in no_diff):
        raise ArgumentError(f"differentiable: no_diff must be a tuple of names of attributes, got {no_diff!r}")
    for word, f in (("tangent", tangent), ("fields", fields), ("zero", zero), ("add", add), ("scale", scale)):
        if f is not None and not callable(f):
            raise ArgumentError(f"differentiable: {word}= must be a function, got {f!r}")

    def declare(cls: _C) -> _C:
        _declared[cls] = Declaration(frozenset(no_diff), tangent, fields, zero, add, scale)
        _merged.clear()
        if isinstance(tangent, type):
            _of_tangents[tangent] = declaration(cls) or _NOTHING
        return cls

    return declare if cls is None else declare(cls)


def declaration(cls: type) -> Declaration | None:
    """What was declared of a class and of those it inherits from, the class itself first; None for nothing."""
    if not _declared:
        return None
    if cls not in _merged:
        found = [_declared[k] for k in cls.__mro__ if k in _declared]
        rest = [next((v for v in values if v is not None), None) for values in list(zip(*found, strict=True))[1:]]
        names = frozenset().union(*(d.no_diff for d in found))
        _merged[cls] = Declaration(names, *rest) if found else None
    return _merged[cls]


def constant_attributes(cls: type) -> frozenset[str]:
    """The attributes declared to carry no derivative."""
    d = declaration(cls)
    return _NOTHING.no_diff if d is None else d.no_diff


def declared_tangent(t: Tangent) -> Any:
    """The tangent of an object in the type that the user declared for its class."""
    d = declaration(t._cls)
    if d is None or d.tangent is None:
        return t
    own = d.tangent(t._fields)
    if type(own) not in _PLAIN_TANGENTS:
        _of_tangents[type(own)] = d
    return own


_PLAIN_TANGENTS = frozenset({tuple, list, dict, np.ndarray, float, complex, type(None)})


def tangent_fields(cls: type, t: Any) -> Mapping[str, Any] | None:
    """The tangents of the attributes, from the tangent of an object of the class; None where it is none."""
    if isinstance(t, Tangent):
        return t
    d = declaration(cls)
    if d is not None and d.fields is not None and not isinstance(t, dict):
        return d.fields(t)
    if isinstance(t, Mapping):
        return t
    if d is None or d.tangent is None:
        return None
    if isinstance(t, tuple) and hasattr(t, "_asdict"):
        return t._asdict()
    return attributes(t) if is_object(t) else None


class Tangent(Mapping[str, Any]):
    """The tangent of an object: the tangents of its attributes, by name.

    `t.x` and `t["x"]` are the tangent of attribute `x`: a float for a float, an array for an array, a `Tangent` for
    an object, None where an attribute has no derivative. Tangents of one class add up, and are scaled by numbers.
    """

    __slots__ = ("_cls", "_fields")
    __array_ufunc__ = None  # numbers and arrays of NumPy leave operators to this class

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
        return Tangent, (self._cls, {}), self._fields  # one that holds itself is made before it is filled

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self._fields.update(fields)

    def to_dict(self) -> dict[str, Any]:
        """The same as nested dicts, lists and tuples; an object that is reached twice gives one dict."""
        return _plain(self, {})

    def __add__(self, other: Any) -> Tangent:
        if not isinstance(other, Tangent) or other._cls is not self._cls:
            return NotImplemented
        return _combined(self, other, add_tangents, {})

    def __radd__(self, other: Any) -> Tangent:
        return self if _is_factor(other) and other == 0 else NotImplemented  # as `sum` begins

    def __mul__(self, k: Any) -> Tangent:
        if not _is_factor(k):
            return NotImplemented
        return _combined(self, None, lambda a, _, memo: scale_tangent(a, k, memo), {})

    __rmul__ = __mul__

    def __truediv__(self, k: Any) -> Tangent:
        return self * (1.0 / k) if _is_factor(k) else NotImplemented

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
    """The sum of two cotangents of one argument, structure by structure; None is zero.

    ArgumentError where they cannot be of one argument: of other structures, shapes or classes.
    """
    memo = {} if memo is None else memo
    if a is None:
        return b
    if b is None:
        return a
    own = _declaration_of(a)
    if own is not None and own.add is not None:
        return own.add(a, b)
    if not _add_up(a, b):
        raise ArgumentError(f"add_tangents: {_named(a)} and {_named(b)} are no cotangents of one argument")
    if isinstance(a, Tangent):
        return _combined(a, b, add_tangents, memo)
    if own is not None and not hasattr(a, "__add__"):
        return _by_fields(own, add_tangents, a, b, memo)
    if isinstance(a, dict):
        return {k: add_tangents(a.get(k), b.get(k), memo) for k in {**a, **b}}
    if isinstance(a, (list, tuple, deque)):
        return _rebuilt(a, [add_tangents(x, y, memo) for x, y in zip(a, b, strict=True)])
    return a + b


def _add_up(a: Any, b: Any) -> bool:
    """May these be cotangents of one argument?"""
    if isinstance(a, Tangent):
        return isinstance(b, Tangent) and b._cls is a._cls
    if isinstance(a, (dict, list, tuple, deque)):
        kind = next(k for k in (dict, list, tuple, deque) if isinstance(a, k))
        return isinstance(b, kind) and (kind is dict or len(a) == len(b))
    if _is_factor(a) or isinstance(a, np.ndarray):
        return (_is_factor(b) or isinstance(b, np.ndarray)) and np.shape(a) == np.shape(b)
    return type(a) is type(b) and not isinstance(a, _TEXTS)


_TEXTS = (str, bytes, bytearray, bool, np.bool_)


def _is_factor(k: Any) -> bool:
    """Is this a number, or an array of no dimensions?"""
    if isinstance(k, np.ndarray):
        return k.shape == () and k.dtype.kind in "fciu"
    return isinstance(k, (int, float, complex, np.number)) and not isinstance(k, bool)


def _named(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of shape {x.shape}"
    if isinstance(x, Tangent):
        return f"a Tangent of {x._cls.__name__}"
    if isinstance(x, (list, tuple, deque)):
        return f"a {type(x).__name__} of {len(x)}"
    return f"{type(x).__name__}: {x!r}"


def scale_tangent(a: Any, k: Any, memo: dict[Any, Any] | None = None) -> Any:
    """A cotangent times a number. ArgumentError where it is no cotangent, or no number."""
    memo = {} if memo is None else memo
    if a is None:
        return None
    own = _declaration_of(a)
    if own is not None and own.scale is not None:
        return own.scale(a, k)
    if not _is_factor(k) or isinstance(a, _TEXTS):
        raise ArgumentError(f"scale_tangent takes a cotangent and a number, got {_named(a)} and {_named(k)}")
    if isinstance(a, Tangent):
        return _combined(a, None, lambda x, _, m: scale_tangent(x, k, m), memo)
    if own is not None and not hasattr(a, "__mul__"):
        return _by_fields(own, lambda x, _, m: scale_tangent(x, k, m), a, None, memo)
    if isinstance(a, dict):
        return {key: scale_tangent(v, k, memo) for key, v in a.items()}
    if isinstance(a, (list, tuple, deque)):
        return _rebuilt(a, [scale_tangent(x, k, memo) for x in a])
    return a * k


def _declaration_of(t: Any) -> Declaration | None:
    """What was declared of the class that this is a tangent of an object of."""
    return declaration(t._cls) if isinstance(t, Tangent) else _of_tangents.get(type(t))


def _by_fields(own: Declaration, f: Callable[[Any, Any, Any], Any], a: Any, b: Any, memo: dict[Any, Any]) -> Any:
    """Tangents of a type that a user declared, combined attribute by attribute."""
    assert own.tangent is not None
    read = own.fields or attributes
    one = read(a)
    two = None if b is None else read(b)
    return own.tangent({k: f(v, None if two is None else two[k], memo) for k, v in one.items()})


def _rebuilt(a: Any, items: list[Any]) -> Any:
    if isinstance(a, deque):
        return deque(items, a.maxlen)
    return with_items(a, items) if isinstance(a, tuple) else type(a)(items)


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
