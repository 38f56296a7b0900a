"""Structures of values: what their leaves are, how they are walked, rebuilt and described."""

from __future__ import annotations

import copy
import types as pytypes
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mooncake_py.mirrors import Tangent, constant_attributes, declared_tangent, tangent_fields
from mooncake_py.structure import attributes, is_user_class, items_of, store, with_items


def children(x: Any) -> list[Any] | None:
    """The parts of a container or an object (attributes that are declared constant as None); None where x is a leaf."""
    if isinstance(x, (tuple, list, deque)):
        return list(items_of(x) if isinstance(x, tuple) else x)
    if isinstance(x, (dict, Tangent)):
        return list(x.values())
    if is_user_class(type(x)):
        constant = constant_attributes(type(x))
        return [None if k in constant else v for k, v in attributes(x).items()]
    return None


def tangents_of_parts(x: Any, t: Any) -> list[Any]:
    """The parts of t, a tangent of x or None, in the order of those of x."""
    if is_user_class(type(x)):
        fields = {} if t is None else tangent_fields(type(x), t)
        assert fields is not None
        return [fields.get(k) for k in attributes(x)]
    if isinstance(x, dict) and isinstance(t, dict):
        return [t.get(k) for k in x]
    parts = children(t)
    return [None] * len(children(x) or ()) if parts is None else parts


def rebuild(x: Any, parts: list[Any]) -> Any:
    """A container like x with these parts; for an object the tangent that has them for its attributes."""
    if isinstance(x, tuple):
        return with_items(x, parts)
    if isinstance(x, list):
        return type(x)(parts)
    new = blank(x)
    fill(new, x, parts)
    return new if isinstance(x, (dict, deque, Tangent)) else declared_tangent(new)


def blank(x: Any) -> Any:
    """An empty container like x, for an object an empty tangent; None for a tuple, which cannot be filled later."""
    if isinstance(x, tuple):
        return None
    if isinstance(x, Tangent):
        return Tangent(x._cls, {})
    if is_user_class(type(x)):
        return Tangent(type(x), {})
    if isinstance(x, defaultdict):
        return type(x)(x.default_factory)
    return deque(maxlen=x.maxlen) if isinstance(x, deque) else type(x)()


def fill(new: Any, x: Any, parts: list[Any]) -> None:
    """Put the parts into what `blank(x)` gave."""
    if isinstance(new, dict):
        new.update(zip(x, parts, strict=True))
    elif isinstance(new, Tangent):
        names = x if isinstance(x, Tangent) else attributes(x)
        new._fields.update(zip(names, parts, strict=True))
    else:
        new.extend(parts)


def is_leaf(x: Any) -> bool:
    """A number or array of floats or complex numbers: what has a derivative and no parts."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex, np.inexact))


def leaves(x: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The differentiable leaves, depth first; what holds itself, or is reached from two places, is gone into once."""
    parts = children(x)
    if parts is None:
        if is_leaf(x):
            yield x
        return
    seen = set() if seen is None else seen
    if id(x) in seen:
        return
    if not isinstance(x, tuple):
        seen.add(id(x))
    for p in parts:
        yield from leaves(p, seen)


def map_leaves(f: Callable[..., Any], x: Any, *others: Any, made: dict[int, Any] | None = None) -> Any:
    """x with `f(leaf, ...)` for its differentiable leaves and None for everything else.

    The others are tangents of x, or None. What holds itself, or is reached from two places, does so in the result.
    """
    parts = children(x)
    if parts is None:
        return f(x, *others) if is_leaf(x) else None
    made = {} if made is None else made
    if id(x) in made:
        return made[id(x)]
    rest = [tangents_of_parts(x, o) for o in others]
    new = blank(x)
    if new is None:
        return rebuild(x, [map_leaves(f, p, *os, made=made) for p, *os in zip(parts, *rest, strict=True)])
    made[id(x)] = new
    fill(new, x, [map_leaves(f, p, *os, made=made) for p, *os in zip(parts, *rest, strict=True)])
    if isinstance(new, Tangent) and not isinstance(x, Tangent):
        new = made[id(x)] = declared_tangent(new)
    return new


def moved(x: Any, f: Callable[[Any, Any], Any], v: Any = None, made: dict[int, Any] | None = None) -> Any:
    """A copy of x with `f(leaf, tangent)` for everything that has no parts; v is a tangent of x, or None."""
    parts = children(x)
    if parts is None:
        return f(x, v)
    made = {} if made is None else made
    if id(x) in made:
        return made[id(x)]
    tangents = tangents_of_parts(x, v)
    if is_user_class(type(x)) and not isinstance(x, Tangent):
        new = made[id(x)] = copy.copy(x)
        for (name, old), part, t in zip(attributes(x).items(), parts, tangents, strict=True):
            if part is not None or old is None:  # what is declared constant stays
                store(new, name, moved(old, f, t, made))
        return new
    new = made[id(x)] = blank(x)
    items = [moved(p, f, t, made) for p, t in zip(parts, tangents, strict=True)]
    if new is None:
        return rebuild(x, items)
    fill(new, x, items)
    return new


def describe(x: Any, depth: int = 4) -> str:
    """The structure of a value: containers written out, leaves by type, shape and dtype."""
    if isinstance(x, np.ndarray):
        return f"array{x.shape} {x.dtype}"
    parts = children(x)
    if parts is None:
        return type(x).__name__
    if depth == 0 and parts:
        return f"{type(x).__name__} of {len(parts)}"
    words = [describe(p, depth - 1) for p in parts[:12]] + ["..."] * (len(parts) > 12)
    if isinstance(x, Tangent) or is_user_class(type(x)):
        name = f"Tangent of {x._cls.__name__}" if isinstance(x, Tangent) else type(x).__name__
        keys = x if isinstance(x, Tangent) else attributes(x)
        return f"{name}({', '.join(f'{k}={w}' for k, w in zip(keys, words, strict=False))})"
    if isinstance(x, dict):
        return "{" + ", ".join(f"{k!r}: {w}" for k, w in zip(x, words, strict=False)) + "}"
    if isinstance(x, list):
        return "[" + ", ".join(words) + "]"
    name = type(x).__name__ if type(x) is not tuple else ""
    return f"{name}({', '.join(words)}{',' if len(words) == 1 and not name else ''})"


def same(a: Any, b: Any, seen: set[tuple[int, int]] | None = None) -> bool:
    """Equal in type, structure and value, as far as values can be compared; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    pa, pb = _named(a), _named(b)
    if pa is not None and pb is not None:
        seen = set() if seen is None else seen
        if (id(a), id(b)) in seen:
            return True
        seen.add((id(a), id(b)))
        return len(pa) == len(pb) and all(same(p, q, seen) for p, q in zip(pa, pb, strict=True))
    equals: Any = type(a).__eq__
    if equals is object.__eq__:  # a copy of an object in C, a lock or generator, is never equal to it
        return True
    return bool(np.all(a == b)) or bool(np.all(a != a) and np.all(b != b))


def _named(x: Any) -> list[Any] | None:
    """The parts of x, with keys or names where there are such; None where x is a leaf."""
    if isinstance(x, pytypes.MethodType):
        return [x.__func__, x.__self__]
    parts = children(x)
    if isinstance(x, (dict, Tangent)) and parts is not None:
        return [*x, *parts]
    if parts is None or isinstance(x, (tuple, list, deque)):
        return parts
    names = list(attributes(x))
    order = sorted(range(len(names)), key=names.__getitem__)  # which a copy may have otherwise
    return [*(names[i] for i in order), *(parts[i] for i in order)]
