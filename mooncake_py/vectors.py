"""`ravel`: a structure of numbers as one vector, and the way back."""

from __future__ import annotations

import copy
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.errors import ArgumentError
from mooncake_py.mirrors import Tangent, constant_attributes
from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.structure import attributes, is_user_class
from mooncake_py.trees import children, is_leaf


def with_attributes(x: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """A copy of an object with other values for its attributes."""
    new = copy.copy(x)
    set_attributes(new, names, values)
    return new


def set_attributes(x: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
    """Give an object other values for its attributes, frozen or not."""
    for i in range(len(names)):
        object.__setattr__(x, names[i], values[i])


def ravel(tree: Any) -> tuple[np.ndarray, Callable[[np.ndarray], Any]]:
    """`flat, unravel`: the numbers of a structure as one float64 vector, and the way back.

    For optimisers, which want one vector. Floats, arrays of floats and complex numbers (real parts, then
    imaginary parts) go into the vector, depth first; what has no derivative (integers, strings, None, attributes that
    are declared so) stays in `unravel`, which gives every leaf the type, shape and dtype it had. A list, dict or object
    that holds itself, or is reached from two places, goes into the vector once. Both `ravel` and `unravel` may be used
    inside a function that is differentiated.

    `unravel` raises ValueError for a vector of another length; `ravel` raises ArgumentError for a tuple that holds
    itself.
    """
    spelled = _Spelling(tree)
    return spelled.flat(), spelled.function()


class _Spelling:
    """The source of `unravel` for one structure: plain Python, which may be differentiated."""

    def __init__(self, tree: Any):
        self.pieces: list[np.ndarray] = []
        self.constants: dict[str, Any] = {
            "__name__": "mooncake_py.ravel",
            "np": np,
            "make": with_attributes,
            "copy_of": copy.copy,
            "set_attributes": set_attributes,
        }
        self.size = 0
        self.several = _reached_again(tree)  # what cannot be spelled as one expression
        self.names: dict[int, str] = {}
        self.lines: list[str] = []
        self.result = self.spell(tree)

    def flat(self) -> np.ndarray:
        return np.concatenate(self.pieces) if self.pieces else np.zeros(0)

    def function(self) -> Callable[[np.ndarray], Any]:
        message = f"unravel needs a vector of {self.size} numbers, got an array of shape {{flat.shape}}"
        lines = [
            f"if flat.shape != ({self.size},):",
            f'    raise ValueError(f"{message}")',
            *self.lines,
            f"return {self.result}",
        ]
        source = "def unravel(flat):\n" + "".join(f"    {line}\n" for line in lines)
        exec(compile(source, "<mooncake_py.ravel>", "exec"), self.constants)
        return self.constants["unravel"]

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def take(self, a: np.ndarray) -> str:
        self.pieces.append(a.astype(np.float64).reshape(-1))
        first, self.size = self.size, self.size + a.size
        return f"flat[{first}]" if a.shape == () else f"flat[{first}:{self.size}].reshape({a.shape})"

    def leaf(self, x: Any) -> str:
        a = np.asarray(x)
        word = self.take(a.real) + (f" + 1j * {self.take(a.imag)}" if a.dtype.kind == "c" else "")
        if not isinstance(x, np.ndarray):
            return f"{self.constant(type(x))}({word})"
        if a.shape == ():
            return f"np.asarray({word}, {self.constant(a.dtype)})"
        if a.dtype in (np.float64, np.complex128):
            return f"({word})"
        return f"({word}).astype({self.constant(a.dtype)})"

    def spell(self, x: Any) -> str:
        """An expression for x; what it needs made before is in `lines`."""
        if is_leaf(x):
            return self.leaf(x)
        parts = children(x)
        if parts is None:
            return self.constant(x)
        if id(x) in self.names:
            return self.names[id(x)]
        if isinstance(x, Tangent):
            return self.spell_tangent(x, parts)
        if is_user_class(type(x)):
            return self.spell_object(x, parts)
        if id(x) in self.several and not isinstance(x, tuple):
            return self.spell_in_steps(x, parts)
        words = [self.spell(p) for p in parts]
        if isinstance(x, dict):
            items = ", ".join(f"{self.constant(k)}: {w}" for k, w in zip(x, words, strict=True))
            return self.in_class(x, dict, "{" + items + "}")
        if isinstance(x, (list, deque)):
            return self.in_class(x, list, "[" + ", ".join(words) + "]")
        inner = "".join(w + ", " for w in words)
        if hasattr(x, "_fields"):
            return f"{self.constant(tuple.__new__)}({self.constant(type(x))}, ({inner}))"
        return self.in_class(x, tuple, f"({inner})")

    def in_class(self, x: Any, plain: type, word: str) -> str:
        """A display as an object of x's class."""
        if type(x) is plain:
            return word
        if isinstance(x, defaultdict):
            return f"{self.constant(type(x))}({self.constant(x.default_factory)}, {word})"
        more = f", {x.maxlen}" if isinstance(x, deque) else ""
        return f"{self.constant(type(x))}({word}{more})"

    def spell_object(self, x: Any, parts: list[Any]) -> str:
        held = attributes(x)
        names = self.constant(tuple(held))
        name = ""
        if id(x) in self.several:
            name = self.names[id(x)] = f"x{len(self.names)}"
            self.lines.append(f"{name} = copy_of({self.constant(x)})")
        words = [  # what is declared constant stays
            self.constant(v) if p is None else self.spell(p) for v, p in zip(held.values(), parts, strict=True)
        ]
        inner = "".join(w + ", " for w in words)
        if not name:
            return f"make({self.constant(x)}, {names}, ({inner}))"
        self.lines.append(f"set_attributes({name}, {names}, ({inner}))")
        return name

    def spell_tangent(self, x: Tangent, parts: list[Any]) -> str:
        held, cls, names = self.constant(Tangent), self.constant(x._cls), self.constant(tuple(x))
        if id(x) not in self.several:
            return f"{held}({cls}, dict(zip({names}, ({''.join(self.spell(p) + ', ' for p in parts)}))))"
        name = self.names[id(x)] = f"x{len(self.names)}"
        self.lines.append(f"{name} = {held}({cls}, {{}})")
        words = "".join(self.spell(p) + ", " for p in parts)
        self.lines.append(f"{name}.__setstate__(dict(zip({names}, ({words}))))")
        return name

    def spell_in_steps(self, x: Any, parts: list[Any]) -> str:
        name = self.names[id(x)] = f"x{len(self.names)}"
        empty = "{}" if isinstance(x, dict) else "[]"
        self.lines.append(f"{name} = {self.in_class(x, dict if isinstance(x, dict) else list, empty)}")
        if isinstance(x, dict):
            for k, p in zip(x, parts, strict=True):
                word = self.spell(p)
                self.lines.append(f"{name}[{self.constant(k)}] = {word}")
        else:
            for p in parts:
                word = self.spell(p)
                self.lines.append(f"{name}.append({word})")
        return name


def _reached_again(tree: Any) -> set[int]:
    """The identities of the containers and objects that hold themselves or are reached from two places."""
    found: set[int] = set()
    seen: set[int] = set()
    path: set[int] = set()

    def visit(x: Any) -> None:
        parts = children(x)
        if parts is None or is_leaf(x):
            return
        if id(x) in path and isinstance(x, tuple):
            raise ArgumentError("ravel: the structure has a tuple that holds itself")
        if id(x) in seen and not isinstance(x, tuple):
            found.add(id(x))
            return
        seen.add(id(x))
        path.add(id(x))
        for p in parts:
            visit(p)
        path.discard(id(x))

    visit(tree)
    return found


def _unravel(tree: Any) -> Callable[[np.ndarray], Any]:
    return _Spelling(tree).function()


zero_derivative(_unravel)


@overlay(ravel)
def _differentiated(tree):  # type: ignore[no-untyped-def]
    pieces: list[np.ndarray] = []
    _gather(tree, pieces, [])
    return (np.concatenate(pieces) if pieces else np.zeros(0)), _unravel(tree)


def _gather(x: Any, pieces: list[np.ndarray], seen: list[int]) -> None:
    """The numbers of x, as vectors; code that is differentiated."""
    if isinstance(x, (np.ndarray, float, complex, np.inexact)):
        a = np.asarray(x)
        if a.dtype.kind == "c":
            pieces.append(a.real.reshape(-1))
            pieces.append(a.imag.reshape(-1))
        elif a.dtype.kind == "f":
            pieces.append(a.reshape(-1).astype(np.float64))
        return
    if not isinstance(x, tuple):
        if id(x) in seen:
            return
        seen.append(id(x))
    if isinstance(x, (tuple, list, deque)):
        for v in x:
            _gather(v, pieces, seen)
    elif isinstance(x, dict):
        for v in x.values():
            _gather(v, pieces, seen)
    elif is_user_class(type(x)):
        constant = constant_attributes(type(x))
        for name in attributes(x):
            if name not in constant:
                _gather(getattr(x, name), pieces, seen)
