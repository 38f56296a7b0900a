"""Structures of values: what their leaves are, how they are walked, rebuilt and described."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mooncake_py.structure import Tangent, attributes, constant_attributes, is_user_class, store


def children(x: Any) -> list[Any] | None:
    """The parts of a container or an object (attributes that are declared constant as None); None where x is a leaf."""
    if isinstance(x, (tuple, list, deque)):
        return list(x)
    if isinstance(x, (dict, Tangent)):
        return list(x.values())
    if is_user_class(type(x)):
        constant = constant_attributes(type(x))
        return [None if k in constant else v for k, v in attributes(x).items()]
    return None


def rebuild(x: Any, parts: list[Any]) -> Any:
    """A container like x with these parts; for an object the tangent that has them for its attributes."""
    if isinstance(x, OrderedDict):
        return OrderedDict(zip(x, parts, strict=True))
    if isinstance(x, defaultdict):
        return defaultdict(x.default_factory, zip(x, parts, strict=True))
    if isinstance(x, dict):
        return dict(zip(x, parts, strict=True))
    if isinstance(x, Tangent):
        return Tangent(x._cls, dict(zip(x, parts, strict=True)))
    if isinstance(x, deque):
        return deque(parts, x.maxlen)
    if isinstance(x, (tuple, list)):
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return Tangent(type(x), dict(zip(attributes(x), parts, strict=True)))


def replaced(x: Any, parts: list[Any]) -> Any:
    """A container or an object like x with these parts; of an object a copy with other attributes."""
    if isinstance(x, Tangent) or not is_user_class(type(x)):
        return rebuild(x, parts)
    new = copy.copy(x)
    for (name, old), part in zip(attributes(x).items(), parts, strict=True):
        if part is not None or old is None:  # what is declared constant stays
            store(new, name, part)
    return new


def is_leaf(x: Any) -> bool:
    """A number or array of floats or complex numbers: what has a derivative and no parts."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (float, complex, np.inexact))


def leaves(x: Any) -> Iterator[Any]:
    """The differentiable leaves, depth first."""
    parts = children(x)
    if parts is None:
        if is_leaf(x):
            yield x
        return
    for p in parts:
        yield from leaves(p)


def map_leaves(f: Callable[..., Any], x: Any, *others: Any) -> Any:
    """x with `f(leaf, ...)` for its differentiable leaves and None for everything else.

    The others have x's structure, or None for a part.
    """
    parts = children(x)
    if parts is None:
        return f(x, *others) if is_leaf(x) else None
    rest = [children(o) or [None] * len(parts) for o in others]
    return rebuild(x, [map_leaves(f, p, *os) for p, *os in zip(parts, *rest, strict=True)])


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


def with_attributes(x: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """A copy of an object with other values for its attributes."""
    new = copy.copy(x)
    for i in range(len(names)):
        object.__setattr__(new, names[i], values[i])
    return new


def ravel(tree: Any) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """`flat, unravel`: the numbers of a structure as one float64 vector, and the way back.

    For optimisers, which want one vector. Floats, arrays of floats and complex numbers (real parts, then
    imaginary parts) go into the vector, depth first; what has no derivative (integers, strings, None) stays in
    `unravel`, which gives every leaf the type, shape and dtype it had. `unravel` is plain Python and may be used
    inside a function that is differentiated; it raises ValueError for a vector of another length.
    """
    pieces: list[np.ndarray] = []
    constants: dict[str, Any] = {"__name__": "mooncake_py.ravel", "np": np, "make": with_attributes}
    size = 0

    def constant(value: Any) -> str:
        name = f"c{len(constants)}"
        constants[name] = value
        return name

    def take(a: np.ndarray) -> str:
        nonlocal size
        pieces.append(a.astype(np.float64).reshape(-1))
        first, size = size, size + a.size
        return f"flat[{first}]" if a.shape == () else f"flat[{first}:{size}].reshape({a.shape})"

    def leaf(x: Any) -> str:
        a = np.asarray(x)
        word = take(a.real) + (f" + 1j * {take(a.imag)}" if a.dtype.kind == "c" else "")
        if not isinstance(x, np.ndarray):
            return f"{constant(type(x))}({word})"
        if a.shape == ():
            return f"np.asarray({word}, {constant(a.dtype)})"
        return f"({word}).astype({constant(a.dtype)})" if a.dtype not in (np.float64, np.complex128) else f"({word})"

    def spell(x: Any) -> str:
        if is_leaf(x):
            return leaf(x)
        parts = children(x)
        if parts is None:
            return constant(x)
        words = [spell(p) for p in parts]
        if type(x) is dict:
            return "{" + ", ".join(f"{constant(k)}: {w}" for k, w in zip(x, words, strict=True)) + "}"
        if type(x) is list:
            return "[" + ", ".join(words) + "]"
        if is_user_class(type(x)):
            return f"make({constant(x)}, {constant(tuple(attributes(x)))}, ({''.join(w + ', ' for w in words)}))"
        inner = "".join(w + ", " for w in words)
        return f"({inner})" if type(x) is tuple else f"{constant(type(x))}({inner})"

    body = spell(tree)
    source = (
        "def unravel(flat):\n"
        f"    if flat.shape != ({size},):\n"
        f'        raise ValueError(f"unravel needs a vector of {size} numbers, got an array of shape {{flat.shape}}")\n'
        f"    return {body}\n"
    )
    exec(compile(source, "<mooncake_py.ravel>", "exec"), constants)
    return np.concatenate(pieces) if pieces else np.zeros(0), constants["unravel"]
