"""What functions that rules are given change in what they captured.

SciPy calls such a function as it is, so that what it writes to a list, a dict, a variable or an object of the program
that is differentiated stays there, as after a plain call: logs, counters, the best value so far. Its derivative is not
known: reading it back with one is refused by the pullback, which then puts everything back as any pullback does.
"""

from __future__ import annotations

import functools
import inspect
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import CellType, FunctionType
from typing import Any

import numpy as np

from mooncake_py.errors import UnsupportedError
from mooncake_py.registry import runs_given
from mooncake_py.run import current, note_written
from mooncake_py.runtime.asked import names_in, reached
from mooncake_py.shadows import Shadow
from mooncake_py.structure import attributes, is_user_class, store, unstore
from mooncake_py.tangents import (
    CellShadow,
    CoDual,
    DictShadow,
    ListShadow,
    ObjectShadow,
    has_tangent,
    take_fdata,
    zero_fdata,
)
from mooncake_py.trees import leaves
from mooncake_rules.copies import Copies, Named, content

_ABSENT = object()


class Captured:
    """The containers, cells, objects and arrays that functions captured, with what was in them."""

    def __init__(self, functions: list[tuple[Any, Any]]):
        copies = Copies()
        for f, ff in functions:
            copies.of(f, ff)
        found = [(x, fx) for x, fx, _ in copies.pairs.values() if type(x) is not tuple]
        self.parts = [(x, fx, old) for x, fx in found if (old := _held(x, fx)) is not None]
        self.arrays = [(x, fx, x.copy()) for x, fx in found if type(fx) is Shadow and type(x) is np.ndarray]
        self.before: list[tuple[Any, dict[Any, Any]]] = []  # fdata of what was changed

    def note(self) -> bool:
        """Give what is there now fdata; is there anything new?"""
        for x, fx, old in self.parts:
            new = _held(x, fx)
            assert new is not None
            if _changed(new, old):
                f = _fdata(fx, old)
                self.before.append((fx, f))
                _put_fdata(fx, {k: f.get(k) if old.get(k, _ABSENT) is v else zero_fdata(v) for k, v in new.items()})
        return bool(self.before) or any(_differ(x, old).any() for x, _, old in self.arrays)

    def take_back(self) -> None:
        """Everything as it was before, with the cotangents that belong to it."""
        for x, fx, old in self.parts:
            f = next((f for known, f in self.before if known is fx), None)
            if f is None:
                continue
            new = _held(x, fx)
            assert new is not None
            rs = _taken(fx, new)
            kept = {k: r for k, r in rs.items() if old.get(k, _ABSENT) is new[k]}
            fs = _fdata(fx, new)
            for k, v in new.items():
                if k not in kept and has_tangent(v):
                    _refuse_loss(take_fdata(fs.get(k), rs[k]))
            _put_back(x, old)
            _put_fdata(fx, f)
            _put_rdata(fx, kept)
        self.before = []
        for x, fx, was in self.arrays:
            changed = _differ(x, was)
            if changed.any():
                d = fx.take()
                if d is not None:
                    _refuse_loss(d[changed])
                    fx.add(d)
                x[...] = was

    def put_back(self) -> None:
        """The same for what was changed by running the functions again."""
        for x, fx, old in self.parts:
            new = _held(x, fx)
            assert new is not None
            if _changed(new, old):
                _put_back(x, old)
        for x, _, was in self.arrays:
            if _differ(x, was).any():
                x[...] = was

    def tell(self) -> None:
        """Let the run know of what is changed, so that what is from outside is left as after a plain call."""
        here = current()
        for x, fx, old in self.parts:
            new = _held(x, fx)
            if new is not None and _changed(new, old):
                here.touch(x)
        for x, _, was in self.arrays:
            if _differ(x, was).any():
                note_written(x)


class Names:
    """The global variables that functions name, and what classes and functions keep: what each of them is."""

    def __init__(self, functions: Iterable[Any]):
        found: list[FunctionType] = []
        reached(functions, found)
        self.scopes = {id(f.__globals__): (f.__globals__, f.__globals__.copy()) for f in found}
        named = [f.__globals__.get(name) for f in found for name in names_in(f.__code__)]
        holders = {id(x): x for x in (*found, *[x for x in named if isinstance(x, type) and is_user_class(x)])}
        self.kept = [(x, dict(vars(x))) for x in holders.values()]

    def put_back(self) -> None:
        """Name again what they named, where something was assigned since."""
        for scope, then in self.scopes.values():
            _put_names(then, scope, scope.__setitem__, scope.__delitem__)
        for x, then in self.kept:
            _put_names(then, vars(x), functools.partial(setattr, x), functools.partial(delattr, x))


def _put_names(then: Mapping[str, Any], now: Mapping[str, Any], put: Callable, remove: Callable) -> None:
    for k in [k for k in now if k not in then]:
        remove(k)
    for k, v in then.items():
        if now.get(k, _ABSENT) is not v:
            put(k, v)


def watched(rule: Callable) -> Callable:
    """The rule of a function that calls those it is given: what these change in what they captured is looked after."""

    @functools.wraps(rule)
    def rule_that_looks(*args, **kwargs):
        given = [a for a in (*args, *kwargs.values()) if isinstance(a, CoDual) and a.fdata is not None]
        captured = Captured([(a.primal, a.fdata) for a in given])
        result, pullback = rule(*args, **kwargs)
        functions = [f for a in (*args, *kwargs.values()) if callable(f := a.primal if isinstance(a, CoDual) else a)]
        changed = captured.note()
        if changed:
            captured.tell()

        def pullback_of_the_rest(dy):
            names = Names(functions)
            if changed:
                captured.take_back()
            try:
                return pullback(dy)
            finally:
                if changed:
                    captured.put_back()
                names.put_back()

        return result, pullback_of_the_rest if changed or functions else pullback

    rule_that_looks.__signature__ = inspect.signature(rule)  # type: ignore[attr-defined]
    runs_given.add(rule_that_looks)
    return rule_that_looks


def _held(x: Any, fx: Any) -> dict[Any, Any] | None:
    """What is in a container, by index, key or name; None where it is none."""
    if type(fx) is ListShadow and isinstance(x, (list, deque)):
        return dict(enumerate(x))
    if type(fx) is DictShadow and isinstance(x, dict):
        return dict(x)
    if type(fx) is CellShadow:
        return {0: content(x)}
    return dict(attributes(fx.owner)) if type(fx) is ObjectShadow and type(fx.f) is not Named else None


def _changed(new: dict[Any, Any], old: dict[Any, Any]) -> bool:
    return new.keys() != old.keys() or any(new[k] is not old[k] for k in new)


def _fdata(fx: Any, held: dict[Any, Any]) -> dict[Any, Any]:
    if type(fx) is CellShadow:
        return {0: fx.f}
    if type(fx) is ObjectShadow:
        return {k: fx.fdata(k) for k in held if k not in fx.constant}
    return dict(enumerate(fx.f)) if type(fx) is ListShadow else dict(fx.f)


def _put_fdata(fx: Any, f: dict[Any, Any]) -> None:
    if type(fx) is CellShadow:
        fx.f, fx.r = f[0], None
    elif type(fx) is ObjectShadow:
        fx.f.clear()
        fx.f.update({k: v for k, v in f.items() if k not in fx.constant})
        fx.r.clear()
    else:
        fx.reset(list(f.values()) if type(fx) is ListShadow else f)


def _taken(fx: Any, held: dict[Any, Any]) -> dict[Any, Any]:
    """What stands beside the fdata of the items of a container, where it does not stay."""
    if type(fx) is CellShadow:
        r, fx.r = fx.r, None
        return {0: r}
    if type(fx) is ListShadow:
        rs = dict(enumerate(fx.r))
        for k in rs:
            fx.r[k] = None
        return rs
    return {k: fx.r.pop(k, None) for k in held}


def _put_rdata(fx: Any, rs: dict[Any, Any]) -> None:
    if type(fx) is CellShadow:
        fx.r = rs.get(0)
    else:
        for k, r in rs.items():
            if r is not None:
                fx.r[k] = r


def _put_back(x: Any, old: dict[Any, Any]) -> None:
    if isinstance(x, list):
        x[:] = old.values()
    elif isinstance(x, deque):
        x.clear()
        x.extend(old.values())
    elif isinstance(x, dict):
        x.clear()
        x.update(old)
    elif isinstance(x, CellType):
        x.cell_contents = old[0]
    else:
        for k in attributes(x).keys() - old.keys():
            unstore(x, k)
        for k, v in old.items():
            store(x, k, v)


def _differ(x: np.ndarray, old: np.ndarray) -> np.ndarray:
    return (x != old) & ((x == x) | (old == old))  # NaN where NaN was is no change


def _refuse_loss(d: Any) -> None:
    if d is not None and any(np.any(v) for v in leaves(d)):
        raise UnsupportedError(
            "the derivative of a value that a function given to a solver or an integral has stored", "the call", None,
            "compute the value again after the call",
        )  # fmt: skip
