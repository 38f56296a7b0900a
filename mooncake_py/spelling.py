"""How a call gives its arguments: by position, or by name."""

from __future__ import annotations

import inspect
import itertools
import types as pytypes
from collections.abc import Iterable, Sequence
from typing import Any

from mooncake_py.registry import is_declared, replaced, rules_of

_required: dict[Any, tuple[str, ...]] = {}


def given_by_name(f: Any, n: int, keywords: Sequence[str]) -> list[str]:
    """The keywords that go on after n positional arguments of f, up to the last one that has no default or a kind.

    Rules say by position of what kinds arguments are, but whoever calls the function may give them by name.
    """
    if not keywords or isinstance(f, type) or not is_declared(f) or f in replaced:
        return []  # what makes an object of a class may take its arguments in another way than `__init__` does
    names = _required.get(f)
    if names is None:
        names = _required[f] = _names_required(f)
    out: list[str] = []
    while n + len(out) < len(names) and names[n + len(out)] in keywords:
        out.append(names[n + len(out)])
    return out


def _names_required(f: Any) -> tuple[str, ...]:
    """The names of the parameters that matter by their position; "" for one that has to be given so."""
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return ()
    some = list(itertools.takewhile(lambda p: p.kind <= p.POSITIONAL_OR_KEYWORD, parameters))
    least = len(list(itertools.takewhile(lambda p: p.default is p.empty, some)))
    n = max([least, *(len(r.pattern) for r in rules_of(f))])
    return tuple([p.name if p.kind == p.POSITIONAL_OR_KEYWORD else "" for p in some[:n]])


def takes_others(code: pytypes.CodeType, names: Iterable[str]) -> bool:
    """Do the named arguments that are left go into `**kwargs`? No parameter is given twice, by position and by name."""
    own = code.co_varnames[code.co_posonlyargcount : code.co_argcount]
    return bool(code.co_flags & inspect.CO_VARKEYWORDS) and not any(name in own for name in names)
