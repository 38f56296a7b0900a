"""The run: what one forward run knows of objects by their identity.

Most tangents travel beside their values. What is reached otherwise (globals, attributes of captured objects, objects
that code without derivative made) is found here: one shadow per object, from whichever side it is reached. The run
also notes which objects were changed, so that what belongs to the outside can be left as after a plain call.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from enum import IntEnum
from types import CellType
from typing import Any, TypeVar

import numpy as np

from mooncake_py.layout import owner_of
from mooncake_py.structure import attributes, held_items

_R = TypeVar("_R")


class Wary(IntEnum):
    """What a run may write to that is outside of its arguments; see infer/outside.py."""

    NOTHING = 0
    OBJECTS = 1
    ARRAYS = 2
    """Arrays that are reached directly, too: by a name, a cell, a default value or an attribute of a class."""
    NAMES = 3
    """The names of modules, too: what they stand for is looked up when it runs."""
    ATTRIBUTES = 4
    """Whatever modules and classes hold, by names that are not seen before the run."""


NOTHING, OBJECTS, ARRAYS, NAMES, ATTRIBUTES = Wary


class Run:
    """Objects and their shadows: those the run `made`, and `objects` it met; and what of the latter it changed."""

    __slots__ = (
        "arrays",
        "assigned",
        "at_end",
        "before",
        "dicts",
        "exceptions",
        "from_outside",
        "in_place",
        "made",
        "memory",
        "memos",
        "objects",
        "observer",
        "outer",
        "rebinds",
        "touched",
        "wary",
        "written",
    )

    def __init__(self) -> None:
        self.objects: dict[int, tuple[Any, Any]] = {}
        self.arrays: dict[int, tuple[Any, Any]] = {}  # the same by the array that owns the memory, where arrays change
        self.memory: dict[int, tuple[Any, Any]] = {}  # the same of what constants gave, held weakly
        self.from_outside: dict[int, Any] = {}  # arrays that came without fdata to what may hold on to them, weakly
        self.made: dict[int, tuple[Any, Any]] = {}
        self.touched: dict[int, Any] = {}
        self.written: dict[int, Any] = {}  # arrays of constants, perhaps from outside, that were written to
        self.assigned: dict[tuple[int, str], Any] = {}  # names of modules that were set, with the module
        self.before: dict[int, set[int]] = {}  # what containers from outside held when the run came to them
        self.dicts: dict[int, Any] = {}  # objects from outside, by the dicts of their attributes
        self.memos: dict[Any, Any] = {}  # of `functools.lru_cache` and its like, by the cached function
        self.at_end: list[Callable[[], None]] = []  # what is to be checked when the run is over
        self.outer: Run | None = None
        self.exceptions = False  # does one of them bring what has a derivative?
        self.in_place = False  # was something changed that the pullback undoes?
        self.observer: Any = None  # is told what is derived and where a derivative stops; see diagnostics/dropped.py
        self.wary = Wary.NOTHING
        self.rebinds: tuple[CellType, ...] = ()  # variables of the functions around it that the function assigns

    def __enter__(self) -> Run:
        self.outer = outer = getattr(_local, "run", None)
        if outer is not None and self.observer is None:
            self.observer = outer.observer
        _local.run = self
        return self

    def __exit__(self, *_: object) -> None:
        _local.run = self.outer

    def shadow(self, x: Any) -> Any:
        """The shadow of an object, None where it has none yet."""
        found = self.objects.get(id(x)) or self.made.get(id(x))
        return None if found is None else found[1]

    def put(self, x: Any, shadow: Any) -> None:
        self.objects[id(x)] = x, shadow

    def meet(self, x: Any, shadow: Any, parts: Sequence[Any] | None = None) -> None:
        """The same for what may be from outside: what is found in it later on, and was not there, is the run's own.

        `parts`: the arrays, containers and objects in it, where that is known.
        """
        self.put(x, shadow)
        self.before[id(x)] = {id(v) for v in (parts_of(x) if parts is None else parts)}

    def newcomers(self) -> list[Any]:
        """What the run has put into containers and objects from outside."""
        found = self.outside()
        put = [v for k, held in self.before.items() if k in found for v in parts_of(found[k]) if id(v) not in held]
        put += [vars(module)[name] for (_, name), module in self.assigned.items() if name in vars(module)]
        return [*put, *[v for x in self.touched.values() if isinstance(x, type) for v in vars(x).values()]]

    def touch(self, x: Any) -> None:
        """Note a change of an object, which stays if the object is from outside."""
        if id(x) not in self.made:
            self.touched[id(x)] = x

    def outside(self) -> dict[int, Any]:
        """All that may be from outside and may have been changed, by identity."""
        return {**{k: x for k, (x, _) in self.objects.items()}, **self.touched}


def parts_of(x: Any) -> list[Any]:
    """What a container, cell or object holds, but for numbers and text."""
    if type(x) is CellType:
        try:
            return [x.cell_contents]
        except ValueError:  # an empty cell
            return []
    parts = held_items(x) if isinstance(x, (dict, list, deque, set, frozenset)) else attributes(x).values()
    return [] if _PLAIN.issuperset(map(type, parts)) else [v for v in parts if type(v) not in _PLAIN]


_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})
_local = threading.local()


_ABOUT_TO: Run = Run()
"""Stands for a run that nobody has asked anything of: most calls are over before anybody does."""


class WithinWary(Exception):
    """A run in one that may write to what it can read, which is to be begun the long way."""


def begin() -> Run | None:
    """Begin a run in few steps, to be ended by giving what comes back to `end`."""
    outer = getattr(_local, "run", None)
    if outer is None:
        _local.run = _ABOUT_TO
    else:
        if outer.wary or outer.rebinds:
            raise WithinWary
        Run().__enter__()
    return outer


def end(outer: Run | None) -> None:
    _local.run = outer


def current() -> Run:
    """The run that is under way; a fresh one where a rule is called by hand."""
    run = getattr(_local, "run", None)
    if run is _ABOUT_TO:
        run = _local.run = Run()
    return Run() if run is None else run


def changed_in_place() -> None:
    """Note that the run changed something which its pullback undoes: the pullback can be called once."""
    run = getattr(_local, "run", None)
    if run is not None:
        run.in_place = True


def note_change(x: Any) -> None:
    """Note a change of a container of constants, or of an array of such: one from outside stays changed."""
    note_written(x)
    run = getattr(_local, "run", None)
    if run is not None and run.wary:
        run.touch(x)


def note_written(x: Any) -> None:
    """Note a write to an array without derivatives: one from outside stays as the run leaves it."""
    if isinstance(x, np.ndarray) and getattr(_local, "run", None) is not None:
        base = owner_of(x)
        current().written[id(base)] = base


def observer() -> Any:
    """Who wants to be told what the run does; mostly None."""
    run = getattr(_local, "run", None)
    return None if run is None else run.observer


def is_wary() -> Wary:
    """What may the run that is under way change that is from outside?"""
    run = getattr(_local, "run", None)
    return Wary.NOTHING if run is None else run.wary


def in_run(forward: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """A function that runs forwards and returns `(value, pullback)`, in a run of its own that the pullback keeps."""

    @functools.wraps(forward)
    def with_run(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        with Run() as run:
            y, pullback = forward(*args, **kwargs)
            for check in run.at_end:
                check()
        pullback.touched, pullback.newcomers = run.outside(), run.newcomers()
        pullback.wary, pullback.wrote = bool(run.wary), bool(run.touched)
        pullback.met, pullback.arrays = run.objects, [*(x for x, _ in run.arrays.values()), *run.written.values()]
        return y, pullback

    return with_run
