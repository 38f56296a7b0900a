"""Derived rules, and the cache that finds the one for a call."""

from __future__ import annotations

import contextlib
import sys
import time
import types as pytypes
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mooncake_py import registry
from mooncake_py.closures import Captured, Default, Holder
from mooncake_py.diagnostics.mode import current as debug_frame
from mooncake_py.fields import ABSENT
from mooncake_py.infer.inferred import Guard
from mooncake_py.infer.types import T
from mooncake_py.run import current as current_run
from mooncake_py.run import is_wary, observer
from mooncake_py.shadows import shadow_of
from mooncake_py.switches import current
from mooncake_py.tangents import zero_fdata
from mooncake_py.transform.lanes import ANY, ARR, NUM, REF, VAL, Tree
from mooncake_py.undisturbed import undisturbed

if TYPE_CHECKING:
    from mooncake_py.runtime.static_site import StaticSite
    from mooncake_py.transform.derived import Derived


class DerivedRule:
    """The forward and pullback functions of one function for one signature; it holds no state of a call.

    `forward(*params, *cells of free variables, *lanes)` returns `(value, fdata, captures)`;
    `pullback(captures, cotangent)` the rdata of every parameter and cell.
    """

    __slots__ = (
        "anywhere",
        "code",
        "derived",
        "forward",
        "generation",
        "guards",
        "has_lanes",
        "in_place",
        "lanes",
        "pullback",
        "reusable",
        "scope",
        "sites",
        "taken",
    )

    def __init__(
        self,
        code: pytypes.CodeType,
        forward: Callable[..., Any],
        pullback: Callable[..., Any],
        derived: Derived,
        guards: tuple[Guard, ...],
        taken: Iterable[pytypes.FunctionType] = (),
        sites: Sequence[StaticSite] = (),
    ):
        self.anywhere = False  # is it the same rule for the outermost function and for one that others call?
        self.code = code
        self.forward = forward
        self.pullback = pullback
        self.scope = forward.__globals__
        self.derived = derived
        self.guards = tuple((g.scope, g.name, g.value, g.fits) for g in guards)
        # Functions whose bodies are part of this rule, with the code and the defaults they had.
        self.taken = tuple((f, f.__code__, f.__defaults__) for f in taken)
        self.sites = tuple(sites)  # where it calls other rules, which it holds on to
        self.lanes = derived.lane_args
        self.has_lanes = bool(derived.lane_args)
        self.in_place = derived.in_place
        self.reusable = not (derived.in_place or derived.dynamic)  # whatever the run
        self.generation = registry.generation

    def valid(self) -> bool:
        """Do the names that the rule, and those that it calls, rely on still mean what they meant?"""
        return self._holds() and (not self.sites or all(rule._holds() for rule in self._called()))

    def _called(self) -> set[DerivedRule]:
        """The rules that its calls led to, and theirs."""
        found: set[DerivedRule] = set()
        work = [self]
        while work:
            for site in work.pop().sites:
                if site.rule is not None and site.rule not in found:
                    found.add(site.rule)
                    work.append(site.rule)
        return found

    def _holds(self) -> bool:
        if self.generation != registry.generation:
            return False
        for scope, name, value, fits in self.guards:
            now = scope.get(name, ABSENT)
            if now is not value and (fits is None or now is ABSENT or not fits(now)):
                return False
        if not self.taken:  # the common case, and the way to it is hot
            return True
        return all(f.__code__ is code and f.__defaults__ is defaults for f, code, defaults in self.taken)

    def outside(self, cells: Sequence[pytypes.CellType]) -> list[Any]:
        """The objects that are neither arguments nor made in the run, and that the function may write to."""
        found = [x for m, k in self.derived.touched_globals if (x := self._scope_of(m).get(k, ABSENT)) is not ABSENT]
        for i in self.derived.touched_cells:
            found.append(cells[i])
            with contextlib.suppress(ValueError):  # an empty cell
                found.append(cells[i].cell_contents)
        return found

    def _scope_of(self, holder: Holder | None) -> Any:
        return holder if isinstance(holder, (Default, Captured)) else self.scope if holder is None else vars(holder)

    def touch_outside(self, cells: Sequence[pytypes.CellType] = ()) -> None:
        """Tell a run that may write outside of what: the outermost rule does not know that of those it calls."""
        here = current_run()
        for x in self.outside(cells):
            here.touch(x)

    def __repr__(self) -> str:
        return f"<DerivedRule of {self.code.co_qualname}>"

    def run(self, inputs: Sequence[Any], fdatas: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Forward on primals and their fdata: `(value, fdata inside the rule, captures)`."""
        if self.has_lanes:
            lanes = [at_path(fdatas[i], path) for i, path in self.lanes]
            for k, (i, path) in enumerate(self.lanes):
                if lanes[k] is None:  # not asked for, but written to with what was
                    lanes[k] = zero_fdata(at_path(inputs[i], path))
            return self.forward(*inputs, *lanes)
        return self.forward(*inputs)


def at_path(fdata: Any, path: tuple[int, ...]) -> Any:
    for i in path:
        if fdata is None:
            return None
        fdata = fdata[i]
    return fdata


def seed_result(tree: Tree, y: Any, fdata: Any, dy: Any) -> Any:
    """The cotangent that the rule's pullback takes, for the user's cotangent dy of the whole value."""
    if tree == REF:
        if dy is not None:
            fdata.add(dy)
        return None
    if tree == NUM:
        return 0.0 if dy is None else dy
    if tree == ARR:
        return np.zeros(y.shape, y.dtype) if dy is None else dy
    if isinstance(tree, tuple):
        return tuple(
            seed_result(sub, y[i], at_path(fdata, (i,)), None if dy is None else dy[i]) for i, sub in enumerate(tree)
        )
    return dy if tree in (ANY, VAL) else None


def lift(tree: Tree, y: Any, fdata: Any) -> Any:
    """fdata for a result whose arrays have none inside the rule, because only it could see them."""
    if tree == ARR:
        return shadow_of(y)
    if isinstance(tree, tuple):
        items = tuple(lift(sub, v, at_path(fdata, (i,))) for i, (sub, v) in enumerate(zip(tree, y, strict=True)))
        return items if any(x is not None for x in items) else None
    return fdata if tree in (REF, ANY) else None


def settle(tree: Tree, y: Any, fdata: Any, dy: Any) -> Any:
    """The cotangent that the rule's pullback takes: what was added to lifted fdata, and the rdata dy."""
    if tree == ARR:
        d = fdata.take()
        return np.zeros(y.shape, y.dtype) if d is None else d
    if tree == NUM:
        return 0.0 if dy is None else dy
    if isinstance(tree, tuple):
        return tuple(
            settle(sub, y[i], at_path(fdata, (i,)), None if dy is None else dy[i]) for i, sub in enumerate(tree)
        )
    return dy if tree in (ANY, VAL) else None


# -- finding rules ----------------------------------------------------------------------------------------

_cache: dict[Any, tuple[DerivedRule, ...]] = {}
"""By signature: the rule that was used last, and those before it, for names that come to mean again what they meant."""
_KEPT = 3


def rule_for(
    fn: pytypes.FunctionType,
    types: tuple[T, ...],
    free_types: tuple[T, ...],
    aliased: bool = False,
    outcome: bool = False,
    outermost: bool = False,
) -> DerivedRule:
    """The rule of a Python function for a signature, derived on first use; in debug mode another than outside it.

    `outcome` and `outermost` as for `derive_rule`.
    """
    chosen, frame = current(), debug_frame()
    mode = None if frame is None else frame.mode
    wary = is_wary()
    key = (fn.__code__, id(fn.__globals__), types, free_types, aliased, chosen, mode, outcome, wary, outermost)
    rules = _cache.get(key, ())
    if (told := observer()) is not None:
        told.derived(fn, types, free_types)
    rule = next((r for r in rules if r.valid()), None)
    if rule is None:
        from mooncake_py.pipeline import derive_rule

        log = _log_wanted()
        why = None
        if log is not None:
            others = any(k[0] is fn.__code__ for k in list(_cache))
            why = log.why_again(rules[0] if rules else None, others)
        begin = time.perf_counter()
        rule = undisturbed(derive_rule, fn, types, free_types, aliased, chosen, outcome, wary=wary, outermost=outermost)
        _keep(key, rule)
        if rule.anywhere:
            _keep((*key[:-1], not outermost), rule)
        if log is not None:
            log.derived(fn, types, rule, why, time.perf_counter() - begin)
    elif rule is not rules[0]:
        _keep(key, rule)
    return rule


def _keep(key: Any, rule: DerivedRule) -> None:
    """Put the rule before those that may hold again; a rule that was registered since ends the others for good."""
    others = [r for r in _cache.get(key, ()) if r is not rule and r.generation == rule.generation]
    _cache[key] = (rule, *others)[:_KEPT]


def _log_wanted() -> Any:
    """The module that logs derivations, where somebody may be listening: not before `logging` was imported."""
    if "logging" not in sys.modules:
        return None
    from mooncake_py.diagnostics import log

    return log if log.wanted() else None


def cells_of(fn: pytypes.FunctionType) -> tuple[pytypes.CellType, ...]:
    """The cells of the function's free variables."""
    return fn.__closure__ or ()
