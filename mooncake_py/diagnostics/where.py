"""A call in the user's code, and the text that shows it."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from mooncake_py.ir.nodes import NO_POS, Pos
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, DictShadow, ListShadow


@dataclass(frozen=True, slots=True)
class Where:
    """One statement: its file, the function it is in, its position, its text in the IR."""

    filename: str
    function: str
    pos: Pos = NO_POS
    text: str = ""

    @property
    def line(self) -> int | None:
        return self.pos.line

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}, in {self.function}"

    def statement(self) -> list[str]:
        """The source line with the call marked below it; the IR where there is no source."""
        line = linecache.getline(self.filename, self.pos.line).rstrip("\n") if self.pos.line else ""
        if not line.strip():
            return [self.text or "(no source)"]
        shift = len(line) - len(line.lstrip())
        out = [line.strip()]
        col, end = self.pos.col, self.pos.end_col
        if col is not None and end is not None and self.pos.end_line == self.pos.line:
            raw = line.encode()
            first, width = len(raw[:col].decode(errors="replace")), len(raw[col:end].decode(errors="replace"))
            if first >= shift and width:
                out.append(" " * (first - shift) + "^" * width)
        return out


def name_of(f: Any) -> str:
    """A function as the user would write it."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or repr(f)
    owner = getattr(f, "__objclass__", None)
    if owner is not None and "." not in str(name):
        name = f"{owner.__qualname__}.{name}"
    module = getattr(f, "__module__", None) or getattr(owner, "__module__", None)
    if isinstance(f, np.ufunc):
        module = next(
            (m for m in ("numpy", "scipy.special") if getattr(sys.modules.get(m), str(name), None) is f), None
        )
    module = {"_operator": "operator"}.get(module, module) if isinstance(module, str) else None
    return f"{module}.{name}" if module and module != "builtins" else str(name)


def describe(x: Any, depth: int = 2) -> str:
    """A value by its type, and its shape or content where that is short."""
    if isinstance(x, np.ndarray):
        return f"array {x.shape} {x.dtype}"
    if isinstance(x, (bool, int, float, complex, str, np.generic)):
        text = repr(x) if not isinstance(x, np.generic) else repr(x.item())
        return f"{type(x).__name__} {text if len(text) < 40 else text[:37] + '...'}"
    if isinstance(x, (tuple, list)):
        if depth and len(x) <= 4:
            return f"{type(x).__name__} of {len(x)} ({', '.join(describe(v, depth - 1) for v in x)})"
        return f"{type(x).__name__} of {len(x)}"
    if isinstance(x, dict):
        return f"dict of {len(x)}"
    if isinstance(x, Shadow):
        return f"Shadow {x.shape} {x.dtype}"
    if isinstance(x, ListShadow):
        return f"ListShadow of {len(x.f)} and {len(x.r)}"
    if isinstance(x, DictShadow):
        return f"DictShadow of {len(x.f)}"
    if isinstance(x, CoDual):
        return f"CoDual of {describe(x.primal, depth - 1)}" if depth else "CoDual"
    if x is None:
        return "None"
    return type(x).__name__
