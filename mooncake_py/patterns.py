"""Patterns of classes and mappings in `match` statements, as Python code for the attributes or keys asked for."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from mooncake_py.fields import no_attribute
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
    return _made(lines)


@functools.cache
def matcher_of_keys(n: int) -> FunctionType:
    """What gives the values of this many keys of a dict, or None where it has not all."""
    lines = [f"def match(subject{''.join(f', k{i}' for i in range(n))}):"]
    for i in range(n):
        lines += [f"    if k{i} not in subject:", "        return None", f"    v{i} = subject[k{i}]"]
    lines.append(f"    return ({''.join(f'v{i}, ' for i in range(n))})")
    return _made(lines)


@functools.cache
def attribute_among(names: tuple[str, ...], default: bool) -> FunctionType:
    """What reads the attribute of an object that has one of these names, which are all that it can be."""
    lines = [f"def attribute(subject, name{', default' * default}):"]
    for name in names:
        lines += [f"    if name == {name!r}:", f"        return getattr(subject, {name!r})"]
    lines.append("    return default" if default else "    return no_attribute(subject, name)")
    return _made(lines)


@functools.cache
def attribute_set_among(names: tuple[str, ...]) -> FunctionType:
    """What sets the attribute of an object that has one of these names, which are all that it can be."""
    lines = ["def attribute(subject, name, value):"]
    for name in names[:-1]:
        lines += [f"    if name == {name!r}:", f"        setattr(subject, {name!r}, value)", "        return"]
    lines.append(f"    setattr(subject, {names[-1]!r}, value)")
    return _made(lines)


def _made(lines: list[str]) -> FunctionType:
    """The function of this code."""
    scope: dict[str, Any] = {"__name__": __name__, "no_attribute": no_attribute}
    exec(compile("\n".join(lines), "<mooncake_py.patterns>", "exec"), scope)
    made: FunctionType = scope[lines[0][len("def ") :].partition("(")[0]]
    return made


def is_matcher(f: FunctionType) -> bool:
    """Has one of these made this function?"""
    return f.__module__ == __name__
