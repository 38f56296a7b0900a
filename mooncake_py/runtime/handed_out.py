"""What a call returns that is, or looks into, an argument which is put back: the user gets it as the run left it."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from mooncake_py.runtime.user import PLAIN, Saved, put_back, snapshot
from mooncake_py.structure import attributes, dict_kind, held_items, is_user_class, items_of, with_items


def as_left(y: Any, saved: Saved) -> Any:
    """y with copies in the place of all that the run has changed since `saved`, and of what holds it."""
    changed = [x for x, content in saved if _differs(x, content)]
    if not changed:
        return y
    held = _parts(y)
    arrays = [x for x in changed if isinstance(x, np.ndarray)]
    kept = {id(x) for x, _ in saved}
    # What was put into an argument is taken out again, and is then what it was when it was made.
    ids = set(map(id, changed)) | {k for k, (x, _) in _parts(changed).items() if k not in kept and type(x) is not tuple}
    wanted = {k for k, (x, _) in held.items() if k in ids or _looks_into(x, arrays)}
    while more := {k for k, (_, parts) in held.items() if k not in wanted and any(id(p) in wanted for p in parts)}:
        wanted |= more
    made: dict[int, Any] = {}

    def copied(x: Any) -> Any:
        if id(x) not in wanted:
            return x
        if id(x) not in made:
            made[id(x)] = x.copy() if isinstance(x, np.ndarray) else x if isinstance(x, tuple) else copy.copy(x)
            if isinstance(x, tuple):
                made[id(x)] = with_items(x, list(map(copied, items_of(x))))
            elif not isinstance(x, np.ndarray):
                put_back([(made[id(x)], _with(content, copied)) for _, content in snapshot([x])[-1:]])
        return made[id(x)]

    return copied(y)


def _with(content: Any, copied: Any) -> Any:
    """The content of a container or an object, with copies."""
    if isinstance(content, dict):
        return {k: copied(v) for k, v in content.items()}
    return list(map(copied, content))


def _parts(y: Any) -> dict[int, tuple[Any, list[Any]]]:
    """The arrays, containers and objects that y leads to, by identity, and what each holds."""
    found: dict[int, tuple[Any, list[Any]]] = {}
    work = [y]
    while work:
        x = work.pop()
        if type(x) in PLAIN or id(x) in found:
            continue
        parts: list[Any] = []
        if isinstance(x, (list, tuple, dict, deque, set, frozenset)):
            parts = held_items(x)
        elif is_user_class(type(x)):
            parts = list(attributes(x).values())
        elif not isinstance(x, np.ndarray):
            continue
        found[id(x)] = x, parts
        work += parts
    return found


def _looks_into(x: Any, arrays: Iterable[np.ndarray]) -> bool:
    return isinstance(x, np.ndarray) and any(np.may_share_memory(x, a) and np.shares_memory(x, a) for a in arrays)


def _differs(x: Any, content: Any) -> bool:
    """Is this not what it was? (Of a large array that was not kept nobody can tell.)"""
    if isinstance(x, np.ndarray):
        return content is x or not np.array_equal(x, content)
    if isinstance(x, dict):
        return not _same(list(dict_kind(x).items(x)), list(content.items()))
    (_, now), *_ = snapshot([x])[-1:]
    if isinstance(now, dict):
        return not _same(list(now.items()), list(content.items()))
    return len(now) != len(content) or any(v is not w for v, w in zip(now, content, strict=True))


def _same(now: list[tuple[Any, Any]], then: list[tuple[Any, Any]]) -> bool:
    return len(now) == len(then) and all(k is n and v is w for (k, v), (n, w) in zip(now, then, strict=True))
