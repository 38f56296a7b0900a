"""The rules that functions of one code ran by lately, found again by asking whether arguments are of their types.

To ask takes a part of the time in which types are made, compared and looked up, and calls that are decided when they
run are mostly like others before them.
"""

from __future__ import annotations

import contextlib
import types as pytypes
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.fields import same_function
from mooncake_py.infer.abstraction import NARROW, is_of_class_made_anew, is_of_its_own
from mooncake_py.infer.types import BOT, Cell, Known, Obj, T, Top, Tup
from mooncake_py.runtime.coduals import BOUND, MOST
from mooncake_py.runtime.fits import fit_of
from mooncake_py.runtime.rule import DerivedRule
from mooncake_py.runtime.user import all_plain
from mooncake_py.structure import attributes, held_items, is_user_class
from mooncake_py.switches import current

Asks = Callable[[Any, Any], bool]
"""Is a value with this fdata of a type?"""

_KEPT, _MISSES = 12, 200
_TYPES, _OFTEN, _LARGE = 8, 128, NARROW
"""Code that ran for so many types, or so often and was given so much that one question takes long."""


class Recent:
    """A rule, and what it holds for."""

    __slots__ = ("asks", "asks_cells", "options", "outcome", "rule", "scope", "wary")

    def __init__(self, f: pytypes.FunctionType, rule: DerivedRule, outcome: bool, asks: list[Asks], cells: list[Asks]):
        self.rule, self.scope, self.outcome = rule, f.__globals__, outcome
        self.options, self.wary = current(), run.is_wary()
        self.asks, self.asks_cells = asks, cells


class _OfCode:
    """The rules of functions of one code. Of those of very many types no more are kept than can be gone through.

    First it is looked at all that arguments hold, for then all is known of it. Where that shows ever other types, as it
    does of expressions and other trees, or takes longer than the call, objects in objects are not looked at any more.
    """

    __slots__ = ("calls", "kept", "missed", "most")

    def __init__(self) -> None:
        self.kept: tuple[Recent, ...] = ()
        self.missed = self.calls = 0
        self.most = MOST

    def look_at_less(self) -> None:
        self.kept, self.most = (), NARROW

    def keep(self, new: Recent) -> None:
        if len(self.kept) >= _TYPES and self.most == MOST:
            self.look_at_less()
            return
        if len(self.kept) < _KEPT:
            self.kept = (new, *self.kept)
            return
        self.missed += 1
        if self.missed > _MISSES:  # they are others by now
            self.kept, self.missed = (new,), 0


_EMPTY = pytypes.CellType()

_of_code: dict[pytypes.CodeType, _OfCode] = {}


def recent_rule(
    f: pytypes.FunctionType,
    inputs: Sequence[Any],
    fdatas: Sequence[Any],
    cells: Sequence[Any],
    cell_f: Sequence[Any],
    outcome: bool,
) -> DerivedRule | None:
    """The rule for these arguments and cells with their fdata, if it is one of the last."""
    known = _of_code.get(f.__code__)
    if known is None or not _unwatched():
        return None
    known.calls += 1
    if not known.calls % _OFTEN and known.most == MOST and _are_large((*inputs, *cells)):
        known.look_at_less()
    options, wary = current(), run.is_wary()
    for x in known.kept:
        if x.outcome is outcome and x.scope is f.__globals__ and x.options is options and x.wary == wary:
            for asks, v, fv in zip(x.asks, inputs, fdatas):  # noqa: B905 (it is hot)
                if not asks(v, fv):
                    break
            else:
                if all([asks(v, fv) for asks, v, fv in zip(x.asks_cells, cells, cell_f)]):  # noqa: B905
                    if x.rule.valid():
                        return x.rule
                    known.kept = tuple([y for y in known.kept if y is not x])
                    return None
    return None


def remember(
    f: pytypes.FunctionType,
    rule: DerivedRule,
    types: Sequence[T],
    free_types: Sequence[T],
    inputs: Sequence[Any],
    fdatas: Sequence[Any],
    cell_f: Sequence[Any],
    outcome: bool,
    most: int = MOST,
) -> None:
    """Keep the rule for calls with arguments and cells like these, of these types, which were looked at so far."""
    if not _unwatched():
        return
    known = _of_code.get(f.__code__)
    if known is None:
        if len(_of_code) > 1000:
            _of_code.clear()
        known = _of_code[f.__code__] = _OfCode()
    elif any([x.rule is rule for x in known.kept]):  # what it holds for cannot be asked in this way
        return
    if known.most != most:
        return
    asks = [_of_codual(t, x, fx, most) for t, x, fx in zip(types, inputs, fdatas, strict=True)]
    cells = [_of_cell(t, fc, most) for t, fc in zip(free_types, cell_f, strict=True)]
    known.keep(Recent(f, rule, outcome, [a or _never for a in asks], [a or _never for a in cells]))


def most_looked_at(code: pytypes.CodeType) -> int:
    """Up to how many items of a list that functions of this code are given are looked at; see `abstract`."""
    known = _of_code.get(code)
    return MOST if known is None else known.most


def _are_large(values: Sequence[Any]) -> bool:
    """Do they hold many containers and objects? Those of numbers are soon looked at, however long they are."""
    work, seen = list(values), set[int]()
    while work and len(seen) <= _LARGE:
        x = work.pop()
        if isinstance(x, pytypes.CellType):
            with contextlib.suppress(ValueError):  # an empty cell
                work.append(x.cell_contents)
        elif id(x) not in seen and (is_user_class(type(x)) or isinstance(x, (list, tuple, dict, deque))):
            seen.add(id(x))
            held = attributes(x).values() if is_user_class(type(x)) else held_items(x)
            if not all_plain(held):
                work += held
    return len(seen) > _LARGE


def _unwatched() -> bool:
    """Is nobody to be told which rules are used?"""
    return debug_frame() is None and run.observer() is None


def _never(x: Any, fx: Any) -> bool:
    return False


def _of_codual(t: T, x: Any, fx: Any, most: int = MOST) -> Asks | None:
    """What asks whether values are of the type t that `abstract_codual` found for x; None where that takes as long."""
    cls = type(x)
    if type(t) is Tup:
        return _of_tuple(t, x, fx, most)
    if isinstance(x, (float, complex, np.inexact)):
        return lambda x, fx: type(x) is cls
    if type(t) is Top and is_of_class_made_anew(x):
        return lambda x, fx: is_of_class_made_anew(x)
    if cls in BOUND or isinstance(x, tuple) or type(t) is Top:
        return None  # whether they have derivatives is found out by what they hold
    active = fx is not None
    if type(t) is Known and cls is pytypes.FunctionType:
        code = x.__code__
        return lambda y, fy: (
            (fy is not None) is active and type(y) is cls and y.__code__ is code and (y is x or same_function(x, y))
        )
    if cls is pytypes.FunctionType:
        return lambda y, fy: type(y) is cls and is_of_its_own(y, active) and (fy is not None) is active
    if type(t) is Obj and not t.fields:
        if not t.new:
            return None
        return lambda x, fx: (
            type(x) is cls and (fx is not None) is active and id(x) in run.current().made and not attributes(x)
        )
    fit = fit_of(t, most)
    return None if fit is None else lambda x, fx: (fx is not None) is active and fit(x)


def _of_tuple(t: Tup, x: Any, fx: Any, most: int) -> Asks | None:
    cls, n, none = t.cls, len(t.items), (None,) * len(t.items)
    fs = none if fx is None else fx
    parts = [_of_codual(item, v, fv, most) for item, v, fv in zip(t.items, x, fs, strict=True)]
    if cls.__dictoffset__ or any([asks is None for asks in parts]):
        return None

    def asks_all(x: Any, fx: Any) -> bool:
        if type(x) is not cls:
            return False
        items: Any = x
        fs = none if fx is None else fx
        return len(items) == n and all([asks(v, fv) for asks, v, fv in zip(parts, items, fs)])  # type: ignore[misc]  # noqa: B905

    return asks_all


def _of_cell(t: T, fc: Any, most: int = MOST) -> Asks | None:
    if type(t) is not Cell:
        return None
    active = fc is not None
    if t.elem is BOT:  # empty, as that of a name which a generator has not given a value yet
        return lambda c, fc: (fc is not None) is active and c == _EMPTY
    made_anew = type(t.elem) is Top and most != NARROW
    fit = is_of_class_made_anew if made_anew else fit_of(t.elem, most)
    if fit is None:
        return None

    def asks(c: Any, fc: Any) -> bool:
        try:
            return (fc is not None) is active and fit(c.cell_contents)
        except ValueError:  # an empty cell
            return False

    return asks
