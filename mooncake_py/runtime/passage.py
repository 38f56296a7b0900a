"""The way into derived code and back for containers of known types: what a type says is not asked of every value.

`runtime/user.py` does the same for values of any type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooncake_py.infer.types import Arr, Dct, Inst, Known, Lst, T, Tup
from mooncake_py.run import Run
from mooncake_py.runtime.user import report
from mooncake_py.tangents import DictShadow, ListShadow, shadow_of

WayIn = Callable[[Any, dict[int, Any], Run], Any]
"""A value, the containers met so far, and the run -> its fdata; `Aliased` where a container is met twice."""
WayOut = Callable[[Any, Any, Any], Any]
"""A value, its fdata and its rdata -> its cotangent in its own structure."""
_NUMBERS = frozenset({float, complex})
_CONSTANTS = frozenset({int, bool, str})
_NOTHING: frozenset[int] = frozenset()


class Aliased(Exception):
    """A container is in two places."""


def ways(t: T, apart: bool) -> tuple[WayIn, WayOut] | None:
    """Both ways for values of exactly this type; None where they are not known beforehand.

    `apart`: nobody writes to the arguments, so an array has fdata of its own at every place that it is found at.
    """
    match t:
        case Inst(cls=cls) if cls in _NUMBERS:
            return _no_fdata, lambda x, f, r: r if type(r) is cls else report(x, None, r, {}, _NOTHING)
        case Inst(cls=cls) if cls in _CONSTANTS:
            return _no_fdata, _no_cotangent
        case Known(value=None):
            return _no_fdata, _no_cotangent
        case Arr(dtype=dtype) if apart and dtype is not None and dtype.kind in "fc":
            return lambda x, seen, run: shadow_of(x), lambda x, f, r: report(x, f, r, {}, _NOTHING)
        case Lst(elem=Inst(cls=cls), cls=kind) if cls is float and kind is list:
            return _numbers_in, _numbers_out
        case Lst(elem=elem, cls=kind) if kind is list:
            inner = ways(elem, apart)
            return None if inner is None else _list(*inner)
        case Dct(cls=kind, fields=fields, elem=elem) if kind is dict:
            found = {k: ways(x, apart) for k, x in fields}
            if any(x is None for x in found.values()):
                return None
            if fields:
                return _fields({k: x for k, x in found.items() if x is not None})
            inner = ways(elem, apart)
            return None if inner is None else _dict(*inner)
        case Tup(items=items, cls=kind) if kind is tuple:
            parts = [ways(x, apart) for x in items]
            return None if any(x is None for x in parts) else _tuple([x for x in parts if x is not None])
    return None


def _no_fdata(x: Any, seen: dict[int, Any], run: Run) -> None:
    return None


def _no_cotangent(x: Any, f: Any, r: Any) -> None:
    return None


def _meet(x: Any, shadow: Any, seen: dict[int, Any], run: Run) -> None:
    k = id(x)
    if k in seen:
        raise Aliased
    seen[k] = shadow
    run.objects[k] = x, shadow


def _numbers_in(x: Any, seen: dict[int, Any], run: Run) -> ListShadow:
    none = [None] * len(x)
    shadow = ListShadow(none, none.copy())
    k = id(x)
    if k in seen:
        raise Aliased
    seen[k] = shadow
    run.objects[k] = x, shadow
    return shadow


def _numbers_out(x: Any, f: Any, r: Any) -> list:
    return [0.0 if t is None else t if type(t) is float else report(0.0, None, t, {}, _NOTHING) for t in f.r]


def _list(into: WayIn, out: WayOut) -> tuple[WayIn, WayOut]:
    def list_in(x: Any, seen: dict[int, Any], run: Run) -> ListShadow:
        f: list[Any] = []
        shadow = ListShadow(f, [None] * len(x))
        _meet(x, shadow, seen, run)
        f += [into(v, seen, run) for v in x]
        return shadow

    return list_in, lambda x, f, r: [out(v, fv, rv) for v, fv, rv in zip(x, f.f, f.r, strict=True)]


def _fields(parts: dict[str, tuple[WayIn, WayOut]]) -> tuple[WayIn, WayOut]:
    def dict_in(x: Any, seen: dict[int, Any], run: Run) -> DictShadow:
        shadow = DictShadow({})
        _meet(x, shadow, seen, run)
        shadow.f.update([(k, parts[k][0](v, seen, run)) for k, v in x.items()])
        return shadow

    return dict_in, lambda x, f, r: {k: parts[k][1](v, f.f.get(k), f.r.get(k)) for k, v in x.items()}


def _dict(into: WayIn, out: WayOut) -> tuple[WayIn, WayOut]:
    def dict_in(x: Any, seen: dict[int, Any], run: Run) -> DictShadow:
        shadow = DictShadow({})
        _meet(x, shadow, seen, run)
        shadow.f.update([(k, into(v, seen, run)) for k, v in x.items()])
        return shadow

    return dict_in, lambda x, f, r: {k: out(v, f.f.get(k), f.r.get(k)) for k, v in x.items()}


def _tuple(parts: list[tuple[WayIn, WayOut]]) -> tuple[WayIn, WayOut]:
    def tuple_in(x: Any, seen: dict[int, Any], run: Run) -> tuple[Any, ...] | None:
        f = tuple([into(v, seen, run) for (into, _), v in zip(parts, x, strict=True)])
        return f if any([v is not None for v in f]) else None

    def tuple_out(x: Any, f: Any, r: Any) -> tuple[Any, ...]:
        none = (None,) * len(parts)
        fs, rs = none if f is None else f, none if r is None else r
        return tuple([out(v, fv, rv) for (_, out), v, fv, rv in zip(parts, x, fs, rs, strict=True)])

    return tuple_in, tuple_out
