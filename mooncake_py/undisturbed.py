"""Work at a stretch: kept from the cyclic garbage collector, and given room on the interpreter's stack of frames."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def undisturbed(f: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """`f(*args, **kwargs)`, for derivation.

    What it makes is kept or goes by itself, so passes of the collector would find nothing.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        result: R = _with_room(f, args, kwargs)
        return result
    finally:
        if running:
            gc.enable()


def _call(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return f(*args, **kwargs)


# CPython keeps frames in chunks of 16 KiB, and maps a new one when the last is full. A loop that calls functions right
# at the end of a chunk maps and unmaps one at every call, which takes more time than most calls: by where the user
# calls from, derivation took up to three times as long. A frame that does not fit gets a chunk of its own, a power of
# two that holds it and a thousand words more: this one asks for so much that half of 256 KiB is left for its callees.
_with_room = FunctionType(_call.__code__.replace(co_stacksize=15_500), globals())
