"""Objects whose special methods C code calls, where nobody derives them: what these change must not go unnoticed."""

from __future__ import annotations

import functools
import gc
import operator
import types as pytypes
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import UnsupportedError
from mooncake_py.hashing import hashable
from mooncake_py.infer.held import gives_what_others_hold, is_library, is_namespace
from mooncake_py.infer.quiet import COMPARISONS, is_quiet
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.registry import asking_items, in_steps, of_numpy
from mooncake_py.runtime.results import Result
from mooncake_py.runtime.user import put_back, snapshot
from mooncake_py.structure import attributes, held_items, is_user_class
from mooncake_py.tangents import ListShadow, has_tangent

_HOLD = (list, tuple, dict, deque, set, frozenset)
_OF_ITEMS = frozenset({set.add, set.discard, set.remove})
"""These compare what they are given with what is there, and ask nothing else of it."""


def asked(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The objects whose methods f, which is written in C, may call, and which may change something."""
    known = hashable(f)
    names = COMPARISONS if known and (f in in_steps or f in _OF_ITEMS) else None
    looks_up = (
        f is operator.contains and bool(args) and isinstance(args[0], dict)
    )  # of what it holds by the keys nobody is asked
    within = known and f in asking_items and not looks_up
    loud: dict[type, bool] = {}
    found = []
    method = f.__name__ if type(f) is pytypes.FunctionType else ""
    for x in _given((*args, *kwargs.values()), within or of_numpy(f), 3):
        cls = type(x)
        if method and class_attribute(cls, method) is f:  # its rule knows what it does to the object
            continue
        if cls not in loud:
            loud[cls] = is_user_class(cls) and not is_quiet(cls, names)
            if is_user_class(cls) and not within and of_numpy(f) and _gives_numbers(cls) and not _is_among(x, args):
                raise UnsupportedError(
                    f"{f.__name__} of {cls.__name__} objects, which are asked for numbers,", "the call", None,
                    "give it the numbers: [float(x) for x in ...]",
                )  # fmt: skip
        if loud[cls]:
            found.append(x)
    return found


def _is_among(x: Any, values: Iterable[Any]) -> bool:
    return any(x is v for v in values)


def _gives_numbers(cls: type) -> bool:
    return any(type(class_attribute(cls, name)) is pytypes.FunctionType for name in ("__float__", "__complex__"))


def check_bounds(call: Any, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result | None:
    """`slice(a, b)`: the bounds are asked for whole numbers later, where nobody sees it."""
    if not all(is_quiet(type(x), {"__index__"}) for x in args if is_user_class(type(x))):
        what = "slice of an object whose __index__ may change something"
        raise UnsupportedError(what, "the call", None, "give it operator.index(x)")
    return None


def _given(values: Iterable[Any], within: bool, depth: int) -> Iterator[Any]:
    """What f is given: with the bounds of slices, the items of tuples, and those of lists and dicts `within`."""
    for x in values:
        if type(x) is slice:
            yield from (x.start, x.stop, x.step)
        elif depth and (isinstance(x, tuple) or (within and isinstance(x, (list, dict, deque)))):
            yield from _given(dict.values(x) if isinstance(x, dict) else held_items(x), within, depth - 1)
        else:
            yield x


def reached(objects: Iterable[Any], functions: list[pytypes.FunctionType] | None = None) -> list[Any]:
    """What the special methods of these objects, and these functions, may come to, and change.

    The functions that may run on the way are added to `functions`.
    """
    seen: set[int] = set()
    found: list[Any] = []
    work = list(objects)
    while work:
        x = work.pop()
        cls = type(x)
        if cls in _PLAIN or id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, _HOLD):
            work += held_items(x)
        elif is_user_class(cls):
            work += attributes(x).values()
            if id(cls) not in seen:
                seen.add(id(cls))
                work += [d for k in cls.__mro__ if not is_library(k) for d in k.__dict__.values() if callable(d)]
        elif isinstance(x, type):
            work += [] if is_library(x) else [d for d in x.__dict__.values() if d is not x]
            work += [k for k in x.__mro__ if not is_library(k)]
            if is_library(x):
                continue
        elif cls in (classmethod, staticmethod):
            work.append(x.__func__)
            continue
        elif cls is pytypes.FunctionType:
            if not is_library(x):
                if functions is not None:
                    functions.append(x)
                work += [*(x.__closure__ or ()), *(x.__defaults__ or ()), *_global_data(x)]
            continue
        elif cls is pytypes.CellType:
            try:
                work.append(x.cell_contents)
            except ValueError:
                continue
        elif cls is pytypes.MethodType:
            work += [x.__func__, x.__self__]
            continue
        elif isinstance(x, functools.partial):
            work += [x.func, *x.args, *x.keywords.values()]
            continue
        elif gives_what_others_hold(cls):
            work += [x.obj] if cls is memoryview else gc.get_referents(x)
            continue
        elif cls is functools._lru_cache_wrapper:
            work.append(x.__wrapped__)
            continue
        elif not isinstance(x, np.ndarray):
            continue
        found.append(x)
    return found


_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), pytypes.BuiltinFunctionType})


def _global_data(f: pytypes.FunctionType) -> list[Any]:
    """The containers, objects and functions that a function names."""
    named = [f.__globals__[name] for name in names_in(f.__code__) if name in f.__globals__]
    return [x for x in named if not is_namespace(x) and not isinstance(x, (type, pytypes.ModuleType))]


@functools.cache
def names_in(code: pytypes.CodeType) -> tuple[str, ...]:
    """The names that code, or code in it, looks up."""
    inner = [names_in(k) for k in code.co_consts if isinstance(k, pytypes.CodeType)]
    return tuple(dict.fromkeys([*code.co_names, *(name for names in inner for name in names)]))


def watched(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], objects: list[Any], run_it: Any) -> Result:
    """What `run_it` gives, a call of f that may call methods of these objects: they are not derived.

    Refused where they changed what has a derivative. What else they changed is undone by the pullback.
    """
    inside = {id(x) for x in (*args, *kwargs.values()) if isinstance(x, _HOLD)}  # f itself may write to these
    before = snapshot([x for x in reached(objects) if id(x) not in inside])
    y, fy, pb = run_it()
    changed = [(x, old) for x, old in before if _differs(f, x, old) and not isinstance(x, type)]
    if not changed:
        return y, fy, pb
    run.changed_in_place()
    resized = []
    for x, old in changed:
        run.note_change(x)
        if type(shadow := run.current().shadow(x)) is ListShadow:  # of items without derivatives
            if any(map(has_tangent, (*x, *old))):
                raise _refusal(f, "a list")
            resized.append((shadow, len(old)))
            _resize(shadow, len(x))

    def pullback(dy: Any) -> Any:
        put_back(changed)
        for shadow, n in resized:
            _resize(shadow, n)
        return None if pb is None else pb(dy)

    return y, fy, pullback


def _resize(shadow: ListShadow, n: int) -> None:
    shadow.f[:], shadow.r[:] = [None] * n, [None] * n


def _refusal(f: Any, what: str) -> UnsupportedError:
    hint = "call the method directly, or make the change before"
    return UnsupportedError(f"{f.__name__}: a method that it calls changes {what}, which", "the call", None, hint)


def _differs(f: Any, x: Any, old: Any) -> bool:
    """Has x changed? Refused where what it held or holds has a derivative."""
    if isinstance(x, np.ndarray):
        if x.shape == old.shape and x.tobytes() == old.tobytes():
            return False
        if x.dtype.kind not in "fcO":
            return True
        what = "an array"
    else:
        now, then = _content(x), _as_content(x, old)
        if now.keys() == then.keys() and all(v is then[k] for k, v in now.items()):
            return False
        changed = [k for k in now.keys() | then.keys() if now.get(k) is not then.get(k)]
        if not any(has_tangent(v.get(k)) for v in (now, then) for k in changed):
            return True
        of_object = is_user_class(type(x))
        what = (
            f"the attribute {changed[0]!r} of a {type(x).__name__}" if of_object else _NAMES.get(type(x), "a container")
        )
    raise _refusal(f, what)


_NAMES = {pytypes.CellType: "a variable that it captured", list: "a list", dict: "a dict"}


def _as_content(x: Any, old: Any) -> dict[Any, Any]:
    """The same of a snapshot of x."""
    if type(x) is pytypes.CellType:
        return {0: old}
    return old if isinstance(old, dict) else dict(enumerate(held_items(old)))


def _content(x: Any) -> dict[Any, Any]:
    """What a container, cell or object holds."""
    if isinstance(x, dict):
        return dict(x)
    if isinstance(x, _HOLD):
        return dict(enumerate(held_items(x)))
    if type(x) is pytypes.CellType:
        return {0: x.cell_contents}
    return dict(vars(x)) if isinstance(x, type) else attributes(x)
