"""How a call gives its arguments: by position, or by name."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from typing import Any

from mooncake_py.registry import is_declared, replaced

_required: dict[Any, tuple[str, ...]] = {}


def given_by_name(f: Any, n: int, keywords: Sequence[str]) -> list[str]:
    """The keywords that go on after n positional arguments of f, up to its last one without a default.

    Rules say by position of what kinds these are, and so does whoever wrote the function: it may be given them by name.
    """
    if not keywords or not is_declared(f) or f in replaced:
        return []
    names = _required.get(f)
    if names is None:
        names = _required[f] = _names_required(f)
    out: list[str] = []
    while n + len(out) < len(names) and names[n + len(out)] in keywords:
        out.append(names[n + len(out)])
    return out


def _names_required(f: Any) -> tuple[str, ...]:
    """The names of the leading parameters without defaults that can be given by position and by name."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return ()
    some = itertools.takewhile(lambda p: p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD, parameters)
    return tuple([p.name if p.kind == p.POSITIONAL_OR_KEYWORD else "" for p in some])
