"""The records that SciPy's solvers return: dicts whose items are attributes as well."""

from __future__ import annotations

import sys
import types as pytypes
from typing import Any

from scipy.optimize import OptimizeResult

from mooncake_py import run
from mooncake_py.errors import NotDifferentiated
from mooncake_py.registry import rrule, rules_of
from mooncake_py.tangents import CoDual, DictShadow, ObjectShadow, add_rdata, has_tangent, take_fdata, zero_fdata


def record_class(cls: type) -> None:
    """The rule of making such a record from keyword arguments."""

    @rrule(cls)
    def rule(**items: CoDual):
        y = cls(**{k: v.primal for k, v in items.items()})
        shadow = DictShadow({k: zero_fdata(v.primal) if v.fdata is None else v.fdata for k, v in items.items()})

        def pullback(dy: Any) -> Any:
            out = []
            for k, v in items.items():
                r = shadow.r.pop(k, None)
                out.append(take_fdata(shadow.f[k], r) if v.fdata is None else r)
            return tuple(out)

        return CoDual(y, shadow), pullback


@rrule(OptimizeResult.__getattr__)
def attribute(self: CoDual, name):
    y = getattr(self.primal, name)
    shadow = self.fdata if type(self.fdata) is DictShadow else None
    fy = None if shadow is None else shadow.f.get(name)

    def pullback(dy: Any) -> Any:
        if shadow is not None and dy is not None and fy is None:
            shadow.add_item(name, dy)
        return None

    return CoDual(y, fy), pullback


def tuple_class(cls: Any) -> None:
    """The rule of making a named tuple of SciPy's, which keeps more than its fields, some of it to be read by name.

    What it computes and keeps besides is refused when it is read, if it could have a derivative.
    """
    names: tuple[str, ...] = cls._fields
    more: tuple[str, ...] = cls._extra_fields

    @rrule(cls)
    def rule(*items: CoDual, **named: CoDual):
        y = cls(*[v.primal for v in items], **{k: v.primal for k, v in named.items()})
        given = dict(zip(names, items, strict=False)) | named
        own = {k: zero_fdata(v.primal) for k, v in given.items() if v.fdata is None and k not in names}
        fdata = {k: own.get(k) if v.fdata is None else v.fdata for k, v in given.items()}
        kept = DictShadow({k: fdata[k] for k in named if k in more})
        source = {a: _source(v, given) for a, v in vars(y).items() if a not in more and has_tangent(v)}
        beside = ObjectShadow(y, {a: fdata[k] if k else zero_fdata(vars(y)[a]) for a, k in source.items()})
        here = run.current()
        here.made[id(y.__dict__)] = y.__dict__, kept
        here.memos[id(y)] = beside
        fs = tuple([fdata[k] for k in names])

        def pullback(dy: Any) -> Any:
            of = {} if dy is None else dict(zip(names, dy, strict=True))
            for k in kept.f:
                of[k] = add_rdata(of.get(k), kept.r.pop(k, None))
            for a, k in source.items():
                d = beside.r.pop(a, None)
                if k is not None:
                    of[k] = add_rdata(of.get(k), d)
                elif take_fdata(beside.f[a], d) is not None:
                    raise NotDifferentiated(f"the attribute {a!r} of a {cls.__qualname__} is not differentiated")
            for k, f in own.items():
                of[k] = take_fdata(f, of.get(k))
            return tuple([of.get(k) for k in (*names[: len(items)], *[""] * (len(items) - len(names)), *named)])

        return CoDual(y, fs if any(f is not None for f in fs) else None), pullback

    for name in more:
        getter = getattr(cls, name).fget
        if not rules_of(getter):
            _kept_beside(getter, name)
    if isinstance(cls.__setattr__, pytypes.FunctionType) and not rules_of(cls.__setattr__):
        _assigned(cls.__setattr__)


def _source(v: Any, given: dict[str, CoDual]) -> str | None:
    """Which of the arguments an attribute is."""
    return next((k for k, x in given.items() if x.primal is v), None)


def _kept_beside(getter: Any, name: str) -> None:
    @rrule(getter)
    def rule(self: CoDual):
        y = getter(self.primal)
        shadow = run.current().shadow(self.primal.__dict__)

        def pullback(dy: Any) -> Any:
            if shadow is not None and dy is not None and shadow.f.get(name) is None:
                shadow.add_item(name, dy)
            return None

        return CoDual(y, None if shadow is None else shadow.f.get(name)), pullback


def _assigned(setter: Any) -> None:
    @rrule(setter)
    def rule(self: CoDual, name, value: CoDual):
        return CoDual(setter(self.primal, name, value.primal), None), lambda dy: None


def tuple_classes(*modules: str) -> None:
    """All of them in these packages."""
    found: set[Any] = set()
    for name, module in list(sys.modules.items()):
        if name.startswith(modules):
            for v in vars(module).values():
                if isinstance(v, type) and issubclass(v, tuple) and hasattr(v, "_extra_fields"):
                    found.add(v)
    for cls in sorted(found, key=lambda c: c.__qualname__):
        tuple_class(cls)
