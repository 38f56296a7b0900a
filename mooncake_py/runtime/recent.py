"""The rules that functions of one code ran by lately, found again by asking whether arguments are of their types.

To ask takes a part of the time in which types are made, compared and looked up, and calls that are decided when they
run are mostly like others before them.
"""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.fields import same_function
from mooncake_py.infer.abstraction import is_of_class_made_anew
from mooncake_py.infer.types import BOT, Cell, Known, Obj, T, Top, Tup
from mooncake_py.runtime.coduals import BOUND, MOST
from mooncake_py.runtime.fits import fit_of
from mooncake_py.runtime.rule import DerivedRule
from mooncake_py.structure import attributes
from mooncake_py.switches import current

Asks = Callable[[Any, Any], bool]
"""Is a value with this fdata of a type?"""

_KEPT, _MISSES = 12, 200


class Recent:
    """A rule, and what it holds for."""

    __slots__ = ("asks", "asks_cells", "options", "outcome", "rule", "scope", "wary")

    def __init__(self, f: pytypes.FunctionType, rule: DerivedRule, outcome: bool, asks: list[Asks], cells: list[Asks]):
        self.rule, self.scope, self.outcome = rule, f.__globals__, outcome
        self.options, self.wary = current(), run.is_wary()
        self.asks, self.asks_cells = asks, cells


class _OfCode:
    """The rules of functions of one code. Of those of very many types no more are kept than can be gone through."""

    __slots__ = ("kept", "missed")

    def __init__(self) -> None:
        self.kept: tuple[Recent, ...] = ()
        self.missed = 0

    def keep(self, new: Recent) -> None:
        if len(self.kept) < _KEPT:
            self.kept = (new, *self.kept)
            return
        self.missed += 1
        if self.missed > _MISSES:  # they are others by now
            self.kept, self.missed = (new,), 0


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
) -> None:
    """Keep the rule for calls with arguments and cells like these, of these types."""
    if not _unwatched():
        return
    known = _of_code.get(f.__code__)
    if known is None:
        if len(_of_code) > 1000:
            _of_code.clear()
        known = _of_code[f.__code__] = _OfCode()
    elif any([x.rule is rule for x in known.kept]):  # what it holds for cannot be asked in this way
        return
    asks = [_of_codual(t, x, fx) for t, x, fx in zip(types, inputs, fdatas, strict=True)]
    cells = [_of_cell(t, fc) for t, fc in zip(free_types, cell_f, strict=True)]
    known.keep(Recent(f, rule, outcome, [a or _never for a in asks], [a or _never for a in cells]))


def _unwatched() -> bool:
    """Is nobody to be told which rules are used?"""
    return debug_frame() is None and run.observer() is None


def _never(x: Any, fx: Any) -> bool:
    return False


def _of_codual(t: T, x: Any, fx: Any) -> Asks | None:
    """What asks whether values are of the type t that `abstract_codual` found for x; None where that takes as long."""
    cls = type(x)
    if type(t) is Tup:
        return _of_tuple(t, x, fx)
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
    if cls is pytypes.FunctionType:  # one with cells is known by its class only
        if x.__closure__ is None:
            return None
        return lambda y, fy: type(y) is cls and y.__closure__ is not None and (fy is not None) is active
    if type(t) is Obj and not t.fields:
        if not t.new:
            return None
        return lambda x, fx: (
            type(x) is cls and (fx is not None) is active and id(x) in run.current().made and not attributes(x)
        )
    fit = fit_of(t, MOST)
    return None if fit is None else lambda x, fx: (fx is not None) is active and fit(x)


def _of_tuple(t: Tup, x: Any, fx: Any) -> Asks | None:
    cls, n, none = t.cls, len(t.items), (None,) * len(t.items)
    fs = none if fx is None else fx
    parts = [_of_codual(item, v, fv) for item, v, fv in zip(t.items, x, fs, strict=True)]
    if cls.__dictoffset__ or any([asks is None for asks in parts]):
        return None

    def asks_all(x: Any, fx: Any) -> bool:
        if type(x) is not cls:
            return False
        items: Any = x
        fs = none if fx is None else fx
        return len(items) == n and all([asks(v, fv) for asks, v, fv in zip(parts, items, fs)])  # type: ignore[misc]  # noqa: B905

    return asks_all


def _of_cell(t: T, fc: Any) -> Asks | None:
    if type(t) is not Cell or t.elem is BOT:
        return None
    made_anew = type(t.elem) is Top
    fit = is_of_class_made_anew if made_anew else fit_of(t.elem, MOST)
    if fit is None:
        return None
    active = fc is not None

    def asks(c: Any, fc: Any) -> bool:
        try:
            return (fc is not None) is active and fit(c.cell_contents)
        except ValueError:  # an empty cell
            return False

    return asks
