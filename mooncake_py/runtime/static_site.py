"""Calls, in derived code, of functions whose rule is known by the types."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable
from typing import Any

from mooncake_py import run
from mooncake_py.infer.inferred import CallInfo
from mooncake_py.infer.types import widen
from mooncake_py.runtime.rule import DerivedRule, at_path, lift, rule_for, settle
from mooncake_py.tangents import zero_fdata
from mooncake_py.transform.lanes import ANY, REF, Path, Tree, lanes_given

_Functions = tuple[Callable[..., Any], Callable[..., Any]]


class StaticSite:
    """A call of a Python function whose types are known; its rule is derived when the call first runs.

    Recursive functions need the delay, and code that never runs costs nothing. `wanted` are the lanes that the caller
    has for the result.
    """

    __slots__ = ("aliased", "forward", "function", "pullback", "rule", "types", "wanted")

    def __init__(self, function: pytypes.FunctionType, types: tuple[Any, ...], wanted: Tree, aliased: bool = False):
        self.function, self.types, self.wanted, self.aliased = function, types, wanted, aliased
        self.rule: DerivedRule | None = None
        self.forward: Callable[..., Any] = self._first
        self.pullback: Callable[..., Any] | None = None

    @classmethod
    def of(cls, info: CallInfo, wanted: Tree) -> StaticSite:
        assert info.callee is not None
        return cls(info.target, tuple(map(widen, info.types)), wanted, info.callee.aliased)

    def _first(self, *args: Any) -> Any:
        rule = self.rule = rule_for(self.function, self.types, (), self.aliased)
        given = lanes_given(self.types)
        functions = rule.forward, rule.pullback
        if rule.derived.result_tree != self.wanted:
            functions = _with_result(*functions, rule.derived.result_tree, self.wanted)
        if given != list(rule.lanes):
            functions = _for_lanes(*functions, rule.lanes, len(self.types), given)
        if rule.in_place:
            functions = _noted(functions[0]), functions[1]
        if run.is_wary() and rule.derived.touched_globals:
            functions = _told(rule, functions[0]), functions[1]
        self.forward, self.pullback = functions
        return self.forward(*args)


def _noted(forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward function of a rule that changes what its pullback puts back: that can run once."""

    def changing(*args: Any) -> Any:
        run.changed_in_place()
        return forward(*args)

    return changing


def _told(rule: DerivedRule, forward: Callable[..., Any]) -> Callable[..., Any]:
    """The forward function of a rule that may write to what it finds in global variables."""

    def writing(*args: Any) -> Any:
        rule.touch_outside()
        return forward(*args)

    return writing


def _with_result(forward: Callable[..., Any], pullback: Callable[..., Any], tree: Tree, wanted: Tree) -> _Functions:
    """The functions of a rule for those who have other lanes for its result, which others see as well."""

    def lifted(*args: Any) -> Any:
        y, fdata, captures = forward(*args)
        fdata = lift(tree, y, fdata)
        return y, _filled(wanted, y, fdata), (captures, y, fdata)

    def settled(captures: Any, dy: Any) -> Any:
        inner, y, fdata = captures
        return pullback(inner, settle(tree, y, fdata, dy))

    return lifted, settled


def _filled(wanted: Tree, y: Any, fdata: Any) -> Any:
    """fdata for all that the caller has a lane for: what came without derivative may be written to."""
    if isinstance(wanted, tuple):
        items = tuple([_filled(sub, v, at_path(fdata, (i,))) for i, (sub, v) in enumerate(zip(wanted, y, strict=True))])
        return items if any(x is not None for x in items) else None
    if fdata is None and wanted in (REF, ANY):
        return zero_fdata(y)
    return fdata


def _for_lanes(
    rule_forward: Callable[..., Any],
    rule_pullback: Callable[..., Any],
    lanes: tuple[tuple[int, Path], ...],
    n: int,
    given: list[tuple[int, Path]],
) -> _Functions:
    """The functions of a rule for those who give it more fdata than it asks for: arrays that only it sees have none."""
    asked = [n + given.index(lane) for lane in lanes]
    left = [(n + k, i, path) for k, (i, path) in enumerate(given) if (i, path) not in lanes]

    def forward(*args: Any) -> Any:
        y, fdata, captures = rule_forward(*args[:n], *[args[k] for k in asked])
        return y, fdata, (captures, args)

    def pullback(captures: Any, dy: Any) -> Any:
        inner, args = captures
        ds = rule_pullback(inner, dy)
        for k, i, path in left:
            d = at_path(ds[i], path)
            if d is not None and args[k] is not None:
                args[k].add(d)
        return ds

    return forward, pullback
