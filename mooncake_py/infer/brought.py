"""The code that arguments bring with them: the classes of objects, and functions. What it writes to may be outside."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import types as pytypes
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from mooncake_py.infer.held import is_library
from mooncake_py.infer.types import T
from mooncake_py.structure import attributes, is_user_class

MOST_ITEMS = 200
"""Of a container, so many are looked at."""
_WITHOUT = frozenset({float, int, complex, bool, str, bytes, type(None), np.ndarray, np.float64, range, slice})


def code_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """The user's classes and functions that these values are of, or hold."""
    work = [x for x in values if type(x) not in _WITHOUT]
    found: dict[Any, None] = {}
    seen: set[int] = set()
    while work:
        x = work.pop()
        if type(x) in _WITHOUT or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, (list, tuple, deque)):
            work += [v for v in itertools.islice(x, MOST_ITEMS) if type(v) not in _WITHOUT]
        elif isinstance(x, dict):
            work.extend(itertools.islice(x.values(), MOST_ITEMS))
        elif isinstance(x, functools.partial):
            work += [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, pytypes.MethodType):
            work += [x.__func__, x.__self__]
        elif isinstance(x, (type, pytypes.FunctionType)) and not is_library(x):
            found[x] = None
        if is_user_class(type(x)) and len(seen) < 10 * MOST_ITEMS:
            work.extend(attributes(x).values())
        if type(x).__flags__ & 1 << 9 and not isinstance(x, type) and not is_library(type(x)):
            found[type(x)] = None
    return tuple(found)


def code_of_types(types: Iterable[Any]) -> tuple[Any, ...]:
    """The same of values of these types."""
    work = list(types)
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    while work:
        t = work.pop()
        if isinstance(t, (type, pytypes.FunctionType)):
            if not is_library(t):
                found[t] = None
        elif isinstance(t, tuple):
            work.extend(t)
        elif isinstance(t, T) and dataclasses.is_dataclass(t) and t not in seen:
            seen.add(t)
            work.extend(getattr(t, f.name) for f in dataclasses.fields(t))
    return tuple(found)
