"""Patterns of classes in `match` statements, as Python code for the attributes that one asks for."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from mooncake_py.registry import overlay_modules

overlay_modules.add(__name__)


@functools.cache
def matcher(names: tuple[str | None, ...]) -> FunctionType:
    """What gives these attributes of an object of a class (None is the object itself), or None where it has not all."""
    lines = ["def match(subject, cls):", "    if not isinstance(subject, cls):", "        return None"]
    for i, name in enumerate(names):
        if name is not None:
            lines += [f"    if not hasattr(subject, {name!r}):", "        return None"]
        lines.append(f"    v{i} = subject" if name is None else f"    v{i} = getattr(subject, {name!r})")
    lines.append(f"    return ({''.join(f'v{i}, ' for i in range(len(names)))})")
    scope: dict[str, Any] = {"__name__": __name__}
    exec(compile("\n".join(lines), "<mooncake_py.patterns>", "exec"), scope)
    made: FunctionType = scope["match"]
    return made


def is_matcher(f: FunctionType) -> bool:
    """Has `matcher` made this function?"""
    return f.__module__ == __name__
