"""`argnums`: which arguments of a call a gradient is taken by."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.errors import ArgnumsError, DuplicateArgument

Argnums = int | str | tuple[int | str, ...] | list[int | str]


def parse_argnums(argnums: Any) -> tuple[tuple[int | str, ...], bool]:
    """The numbers and names as a tuple, and whether there is one alone (whose gradient comes without a tuple)."""
    single = not isinstance(argnums, (tuple, list))
    nums = (argnums,) if single else tuple(argnums)
    if not nums or any(isinstance(k, bool) or not isinstance(k, (int, np.integer, str)) for k in nums):
        raise ArgnumsError(f"argnums must be an int, a name, or a tuple of such, got {argnums!r}")
    names = [k for k in nums if isinstance(k, str)]
    for k in names:
        if names.count(k) > 1:
            raise DuplicateArgument(f"argnums {argnums!r} has the name {k!r} more than once")
    return nums, single


@functools.lru_cache(maxsize=256)
def _parameters(f: Callable[..., Any]) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(f).parameters)
    except (TypeError, ValueError):  # many C functions have none
        return None


def parameters_of(f: Callable[..., Any]) -> dict[str, inspect.Parameter] | None:
    """The parameters a call of f fills, by name; None where they are not known."""
    try:
        return _parameters(f)
    except TypeError:  # a callable object that has no hash
        return _parameters.__wrapped__(f)


def choose(
    f: Callable[..., Any], nums: tuple[int | str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[int], dict[str, Any]]:
    """Where the chosen arguments stand in `(*args, *kwargs.values())`.

    A number means a positional argument, or the parameter of that number passed by keyword; a name a parameter,
    however it is passed. A parameter that the call leaves at its default joins the keyword arguments.

    Raises ArgnumsError where there is no such argument, DuplicateArgument where two mean the same one.
    """
    n = len(args)
    chosen: list[int] = []
    for k in nums:
        if isinstance(k, str) or not -n <= k < n:
            i, kwargs = _by_name(f, k, args, kwargs)
        else:
            i = int(k) % n
        if i in chosen:
            raise DuplicateArgument(f"argnums {nums!r} means {_name(f, i, n, kwargs)} more than once")
        chosen.append(i)
    return chosen, kwargs


def _by_name(
    f: Callable[..., Any], k: int | str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[int, dict[str, Any]]:
    n = len(args)
    parameters = parameters_of(f)
    listed = list(parameters.values()) if parameters is not None else []
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if isinstance(k, str):
        position = next((i for i, p in enumerate(listed) if p.name == k and p.kind not in variadic), -1)
        name = k
        keyword_only = position >= 0 and listed[position].kind is inspect.Parameter.KEYWORD_ONLY
        if 0 <= position < n and not keyword_only and name not in kwargs:
            return position, kwargs
    else:
        position = k if 0 <= k < len(listed) and all(p.kind not in variadic for p in listed[: k + 1]) else -1
        name = listed[position].name if position >= 0 else ""
    if name in kwargs:
        return n + list(kwargs).index(name), kwargs
    if position >= 0:
        p = listed[position]
        if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY:
            return n + len(kwargs), {**kwargs, name: p.default}
    called = getattr(f, "__qualname__", None) or repr(f)
    if isinstance(k, str):
        known = ", ".join([str(p.replace(annotation=p.empty, default=p.empty)) for p in listed] or ["not known"])
        raise ArgnumsError(f"argnums {k!r} is no argument of this call of {called}; its parameters: {known}")
    passed = f"{n} positional argument{'s' if n != 1 else ''}"
    if kwargs:
        passed += f" and the keywords {', '.join(kwargs)}"
    raise ArgnumsError(f"argnums {k} is out of range: the call has {passed}")


def _name(f: Callable[..., Any], i: int, n: int, kwargs: dict[str, Any]) -> str:
    if i >= n:
        return repr(list(kwargs)[i - n])
    parameters = parameters_of(f)
    return f"argument {i}" if parameters is None or i >= len(parameters) else repr(list(parameters)[i])
