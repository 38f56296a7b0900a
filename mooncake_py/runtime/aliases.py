"""Constant arguments that are other names of something: `f(x, x)`, `f(x, x[1:])`, `f({"a": x}, x)`.

Memory that two arguments share is one memory: where the function may write to it, what is written by one name is read
by the other, so both take part in the derivative, whichever of them it is asked by.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from mooncake_py.layout import owner_of
from mooncake_py.runtime.user import PLAIN, all_plain
from mooncake_py.structure import attributes, held_items, is_user_class

_WITHOUT_MEMORY = PLAIN | {np.float64, np.float32, np.int64, np.bool_, range, slice}


def with_aliases(args: Sequence[Any], active: tuple[bool, ...]) -> tuple[bool, ...]:
    """Which arguments take part: those that are `active`, and those that share memory with another argument."""
    if all(active) or not any(active):
        return active
    candidates = [i for i, x in enumerate(args) if type(x) not in _WITHOUT_MEMORY]
    if len(candidates) < 2 or _own_arrays([args[i] for i in candidates]):
        return active
    taking = list(active)
    known = _Memory()
    for i in candidates:
        for k in known.shared_by(i, args[i]):
            taking[k] = taking[i] = True
    return tuple(taking)


def _own_arrays(xs: list[Any]) -> bool:
    """Are these arrays that each have memory of their own? (Asked first: it is quick.)"""
    return all([type(x) is np.ndarray and x.base is None for x in xs]) and len(set(map(id, xs))) == len(xs)


class _Memory:
    """The containers, objects and arrays that some arguments lead to, and which argument came to them first."""

    def __init__(self) -> None:
        self.held: dict[int, int] = {}
        self.arrays: dict[int, list[tuple[np.ndarray, int]]] = {}  # by what owns their memory

    def shared_by(self, i: int, x: Any) -> set[int]:
        """The arguments before the i-th, which is x, that lead to what it leads to."""
        found = set()
        for v in _parts(x):
            if isinstance(v, np.ndarray):
                others = self.arrays.setdefault(id(owner_of(v)), [])
                found.update([k for a, k in others if k != i and (a is v or np.may_share_memory(a, v))])
                others.append((v, i))
            else:
                found.add(self.held.setdefault(id(v), i))
        return found - {i}


def _parts(x: Any) -> list[Any]:
    """What may be written to in x: itself, and what it holds."""
    found: dict[int, Any] = {}
    work = [x]
    while work:
        v = work.pop()
        if type(v) in _WITHOUT_MEMORY or id(v) in found:
            continue
        if isinstance(v, np.ndarray):
            found[id(v)] = v
        elif isinstance(v, (tuple, list, dict, deque)):
            if not isinstance(v, tuple):
                found[id(v)] = v
            items = held_items(v)
            if not all_plain(items):
                work += items
        if is_user_class(type(v)):
            found[id(v)] = v
            work += attributes(v).values()
    return list(found.values())
