"""mpmath: refused with a reason. Its numbers are made of whole numbers, through which a derivative would be lost."""

from __future__ import annotations

import types
from typing import Any

import mpmath

from mooncake_py.registry import refuse


def _entries() -> set[Any]:
    """What a caller gives numbers to: functions of the module and of its contexts, and the classes of its numbers."""
    held = [*vars(mpmath).values(), *vars(mpmath.libmp).values()]
    for context in (mpmath.mp, mpmath.iv, mpmath.fp):
        held += [getattr(context, name, None) for name in dir(context) if not name.startswith("__")]
    found = {x.__func__ if isinstance(x, types.MethodType) else x for x in held if callable(x)}
    kinds = (types.FunctionType, type)
    return {x for x in found if isinstance(x, kinds) and (x.__module__ or "").partition(".")[0] == "mpmath"}


refuse("its numbers are made of whole numbers, which have no derivative; use math or scipy.special", *_entries())
