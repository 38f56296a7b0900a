"""Rules of elementwise functions from their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mooncake_py.errors import RuleError
from mooncake_py.infer.types import Arr, Inst, Real, T, widen
from mooncake_py.registry import infer_table, inline, name_of, pure


def onto(t: Any, x: Any) -> Any:
    """The cotangent t of a broadcast result as one of the argument x: summed to its shape, real where x is."""
    if isinstance(t, (np.ndarray, np.generic)) and t.dtype.kind == "c" and not np.iscomplexobj(x):
        t = t.real
    if not isinstance(x, np.ndarray):
        return t.sum() if isinstance(t, np.ndarray) else t.real if not isinstance(x, complex) else t
    t = np.asarray(t)
    if t.ndim > x.ndim:
        t = t.sum(axis=tuple(range(t.ndim - x.ndim)))
    axes = tuple([i for i, n in enumerate(x.shape) if n == 1 and t.shape[i] != 1])
    return np.asarray(t.sum(axis=axes, keepdims=True) if axes else t)


def _onto(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    x = widen(args[1])
    if isinstance(x, Arr):
        return Arr(x.dtype, x.ndim, args[0].active)
    return Real(args[0].active) if isinstance(x, (Inst, Real)) else None


infer_table[onto] = _onto


def scaled(dy: Any, d: Any) -> Any:
    """dy times the conjugate of the derivative d."""
    return dy * (d.conjugate() if np.iscomplexobj(d) else d)


pure.update({onto, scaled})


def elementwise_rule(f: Any, derivatives: tuple[Callable[..., Any] | None, ...]) -> Callable[..., Any]:
    """The rule of f, whose partial derivatives take the arguments and the value."""
    ds = [inline(d) if d is not None else None for d in derivatives]
    if isinstance(f, np.ufunc) and f.nin != len(ds):
        raise RuleError(f"rrule.table: {name_of(f)} has {f.nin} arguments, {len(ds)} derivatives are given")
    if len(ds) == 1 and ds[0] is not None:
        rule = _of_one(f, ds[0])
    elif len(ds) == 2 and ds[0] is not None and ds[1] is not None:
        rule = _of_two(f, ds[0], ds[1])
    else:
        rule = _of_many(f, ds)
    written = next((d for d in ds if hasattr(d, "__code__")), None)
    if written is not None:  # what messages name
        rule.derivative = written  # type: ignore[attr-defined]
    return rule


def _of_one(f: Any, d: Callable[..., Any]) -> Callable[..., Any]:
    def rule(x):  # type: ignore[no-untyped-def]
        y = f(x)

        def pullback(dy):  # type: ignore[no-untyped-def]
            return onto(scaled(dy, d(x, y)), x)

        return y, pullback

    return rule


def _of_two(f: Any, da: Callable[..., Any], db: Callable[..., Any]) -> Callable[..., Any]:
    def rule(a, b):  # type: ignore[no-untyped-def]
        y = f(a, b)

        def pullback(dy):  # type: ignore[no-untyped-def]
            return onto(scaled(dy, da(a, b, y)), a), onto(scaled(dy, db(a, b, y)), b)

        return y, pullback

    return rule


def _of_many(f: Any, ds: list[Callable[..., Any] | None]) -> Callable[..., Any]:
    n = len(ds)

    def rule(*args):  # type: ignore[no-untyped-def]
        if len(args) != n:
            raise RuleError(f"{name_of(f)} was called with {len(args)} arguments, its table has {n} derivatives")
        y = f(*args)

        def pullback(dy):  # type: ignore[no-untyped-def]
            return tuple(None if d is None else onto(scaled(dy, d(*args, y)), x) for d, x in zip(ds, args, strict=True))

        return y, pullback

    return rule
