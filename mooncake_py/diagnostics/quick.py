"""The checks of rules of plain numbers, which stay inlined: two short calls, for loops of scalar code run millions.

What they find wrong is looked at again, and reported, by the general checks of `diagnostics.rules`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mooncake_py.diagnostics.rules import RuleSite, Watch
from mooncake_py.infer.types import Arr, Inst, Known, T, Tup, is_scalar, widen

_REALS = frozenset({float, int, bool, np.float64, np.float32, np.float16, np.int64, np.int32, np.bool_})
_COMPLEX = _REALS | {complex, np.complex128, np.complex64}


def is_quick(site: RuleSite) -> bool:
    """Are numbers all that goes in and comes out, and is nothing asked but the form of things?"""
    rule, mode = site.rule, site.mode
    if mode.check_finite or mode.check_numbers or rule.mutates or rule.codual or rule.variadic:
        return False
    if site.types is None or site.result is None or not is_scalar(site.result):
        return False
    return all(map(is_scalar, site.types)) or (site.f is operator.getitem and _reads_element(site.types))


def _reads_element(types: Sequence[T]) -> bool:
    """`a[i]`, `a[i, j]` of an array."""
    a, i = types
    return isinstance(a, Arr) and (_is_index(i) or (isinstance(i, Tup) and all(map(_is_index, i.items))))


def _is_index(t: T) -> bool:
    wide = widen(t)
    return isinstance(wide, Inst) and issubclass(wide.cls, (int, np.integer)) and wide.cls is not bool


def _classes(t: T) -> frozenset[type]:
    if isinstance(t, Known):
        return frozenset({type(t.value)})
    if isinstance(t, (Arr, Tup)):
        return frozenset({np.ndarray if isinstance(t, Arr) else tuple})
    return frozenset({t.cls}) if isinstance(t, Inst) else _REALS


def _cotangents(t: T) -> frozenset[type]:
    wide = widen(t)
    if isinstance(wide, Arr):
        real = wide.dtype is not None and wide.dtype.kind != "c"
    else:
        real = not (isinstance(wide, Inst) and issubclass(wide.cls, (complex, np.complexfloating)))
    return (_REALS if real else _COMPLEX) | {type(None)}


class QuickSite:
    """The checks of one call: `value(y, *args)` in the forward code, `pulled(dy, *cotangents)` in the reverse code.

    Cotangents of arguments that need none are given as None.
    """

    __slots__ = ("pulled", "site", "value")

    def __init__(self, site: RuleSite):
        self.site = site
        types = list(site.types or ())
        assert site.result is not None
        args = [_classes(t) for t in types]
        out = _classes(site.result)
        f = site.f if site.pure else None
        self.value: Callable[..., None] = _value(self._forward, f, out, args)
        self.pulled: Callable[..., None] = _pulled(
            self._reverse, _cotangents(site.result), list(map(_cotangents, types))
        )

    def _forward(self, y: Any, args: tuple[Any, ...]) -> None:
        w = Watch(self.site)
        w.before(args, (None,) * len(args), {})
        w.after(y, None, True, None)

    def _reverse(self, dy: Any, ds: tuple[Any, ...]) -> None:
        w = self._late()
        w.cotangent(dy)
        w.returned(ds)

    def _late(self) -> Watch:
        """A watch where the arguments are gone: sample values of their types, of which only the types are shown."""
        w = _LateWatch(self.site)
        w.args = tuple(_like(t) for t in self.site.types or ())
        w.fargs, w.kwargs, w.y, w.own = (None,) * len(w.args), {}, _like(self.site.result), True
        w.captured, w.items, w.overwritten = [], [], []
        return w

    def miscounted(self, result: Any) -> None:
        """The pullback returned what cannot be given to the arguments."""
        w = self._late()
        w.dy = None, None
        w.returned(result)


class _LateWatch(Watch):
    """A watch in the reverse run, where the values of the arguments are gone."""

    __slots__ = ()

    def shown(self, i: int, x: Any) -> str:
        return type(x).__name__


def _like(t: T | None) -> Any:
    wide = widen(t) if t is not None else None
    if isinstance(wide, Arr):
        return np.zeros((0,) * wide.fewest, wide.dtype)
    return wide.cls(0) if isinstance(wide, Inst) else 0.0


def _value(
    slow: Callable[[Any, tuple[Any, ...]], None], f: Any, out: frozenset[type], args: list[frozenset[type]]
) -> Callable[..., None]:
    if f is not None and len(args) == 1:
        (only,) = args

        def value1(y: Any, a: Any) -> None:
            if type(y) not in out or type(a) not in only or y != f(a):
                slow(y, (a,))

        return value1
    if f is not None and len(args) == 2:
        first, second = args

        def value2(y: Any, a: Any, b: Any) -> None:
            if type(y) not in out or type(a) not in first or type(b) not in second or y != f(a, b):
                slow(y, (a, b))

        return value2

    def value(y: Any, *xs: Any) -> None:
        if type(y) not in out or (f is not None and y != f(*xs)):
            return slow(y, xs)
        for x, classes in zip(xs, args, strict=False):
            if type(x) not in classes:
                return slow(y, xs)

    return value


def _pulled(
    slow: Callable[[Any, tuple[Any, ...]], None], out: frozenset[type], args: list[frozenset[type]]
) -> Callable[..., None]:
    if len(args) == 1:
        (only,) = args

        def pulled1(dy: Any, a: Any) -> None:
            if type(dy) not in out or type(a) not in only:
                slow(dy, (a,))

        return pulled1
    if len(args) == 2:
        first, second = args

        def pulled2(dy: Any, a: Any, b: Any) -> None:
            if type(dy) not in out or type(a) not in first or type(b) not in second:
                slow(dy, (a, b))

        return pulled2

    def pulled(dy: Any, *ds: Any) -> None:
        if type(dy) not in out:
            return slow(dy, ds)
        for d, classes in zip(ds, args, strict=False):
            if type(d) not in classes:
                return slow(dy, ds)

    return pulled
