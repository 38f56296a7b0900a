"""Gradients that a differentiated function takes: of what they read outside no derivative is known here.

Gradients are not differentiated again, so what is given to one must be constant. So must be what it finds outside:
where the run around it may have written there, that would be read without its derivative.
"""

from __future__ import annotations

import functools
import types as pytypes
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.outside import Walk
from mooncake_py.run import Run
from mooncake_py.runtime.behind import reads_met
from mooncake_py.structure import constant_classes


def refuse_written(f: Any, around: Run | None) -> None:
    """Refuse a gradient of f inside the run `around`, if f may read what that has written outside."""
    if around is None or not (around.wary or around.rebinds):
        return
    walk = Walk(notes=False)
    while isinstance(f, tuple(constant_classes)) and hasattr(f, "f"):
        f = f.f
    walk.value(f)
    read = [*walk.kept, *(c for g in (f, *walk.kept) for c in _cells(g))]
    mine = set(map(id, around.rebinds))
    if (walk.rebinds and around.wary) or any(id(x) in mine or reads_met(x, around) for x in read):
        raise UnsupportedError(
            "a gradient, in a function, of what reads outside things that the function may have written",
            "the call",
            None,
            "gradients are not differentiated again: write there after it, or let it read something else",
        )


def _cells(f: Any) -> list[Any]:
    while isinstance(f, (pytypes.MethodType, functools.partial)):
        f = f.__func__ if isinstance(f, pytypes.MethodType) else f.func
    return list(getattr(f, "__closure__", None) or ())
