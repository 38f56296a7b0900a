"""The way into derived code and back for containers and objects of known types: values are not asked what types say.

`runtime/user.py` does the same for values of any type.
"""

from __future__ import annotations

import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mooncake_py.infer.types import (
    ITEMS,
    Arr,
    Dct,
    Inst,
    Kind,
    Known,
    LinkedDct,
    LinkedLst,
    LinkedTup,
    Lst,
    Obj,
    Rec,
    T,
    Tup,
    Union,
)
from mooncake_py.mirrors import Tangent, constant_attributes, declaration
from mooncake_py.run import Run
from mooncake_py.runtime.fits import class_told, is_linked
from mooncake_py.runtime.user import Seen, report
from mooncake_py.shadows import shadow_of
from mooncake_py.structure import reader
from mooncake_py.tangents import DictShadow, ListShadow, ObjectShadow


class Met(dict[int, Any]):
    """The fdata of the containers and objects met so far; `todo`: of linked ones, whose content comes later."""

    def __init__(self) -> None:
        self.todo: list[tuple[Callable[[Any, Any, Met, Run], None], Any, Any]] = []


Todo = list[tuple[Callable[[Any, Any, Any, Any], None], Any, Any, Any]]  # cotangents of such
WayIn = Callable[[Any, Met, Run], Any]
"""A value, what was met so far, and the run -> its fdata; `Aliased` where something is met twice."""
WayOut = Callable[[Any, Any, Any, Todo], Any]
"""A value, its fdata and its rdata -> its cotangent in its own structure."""
Around = dict[Kind, list[tuple[WayIn, WayOut]]]  # the kinds of what a type stands in
_NUMBERS = frozenset({float, complex})
_CODE = (types.BuiltinFunctionType, types.FunctionType, types.ModuleType, type, np.ufunc)
_CONSTANTS = frozenset({int, bool, str})
_NOTHING: frozenset[int] = frozenset()


class Aliased(Exception):
    """A container is in two places."""


def into_rule(xs: Sequence[Any], ways_in: Sequence[WayIn], run: Run) -> list[Any]:
    """fdata of arguments."""
    seen = Met()
    out = [way(x, seen, run) for way, x in zip(ways_in, xs, strict=True)]
    for fill, x, shadow in seen.todo:  # there are more and more
        fill(x, shadow, seen, run)
    return out


def out_of_rule(items: Iterable[tuple[WayOut, Any, Any, Any]]) -> tuple[Any, ...]:
    """Cotangents of arguments, by their ways, values, fdata and rdata."""
    todo: Todo = []
    out = tuple([way(x, f, r, todo) for way, x, f, r in items])
    for fill, x, f, tangent in todo:
        fill(x, f, tangent, todo)
    return out


def ways(t: T, apart: bool, around: Around = {}) -> tuple[WayIn, WayOut] | None:  # noqa: B006
    """Both ways for values of exactly this type; None where they are not known beforehand.

    `apart`: nobody writes to the arguments, so an array has fdata of its own at every place that it is found at.
    """
    match t:
        case LinkedTup():
            return None
        case LinkedLst(raw=elem, cls=kind) if kind is list:
            made: list[tuple[WayIn, WayOut]] = []
            inner = ways(elem, apart, {**around, ("a", list): made})
            made += [] if inner is None else [_linked_list(*inner)]
            return made[0] if made else None
        case LinkedDct(cls=kind, raw_fields=fields, raw=elem) if kind is dict:
            made = []
            found = {k: ways(x, apart, {**around, ("a", dict): made}) for k, x in (*fields, ("", elem))}
            if any(x is None for x in found.values()):
                return None
            other = found.pop("")
            assert other is not None
            made.append(_linked_dict({k: x for k, x in found.items() if x is not None}, other))
            return made[0]
        case LinkedLst() | LinkedDct():
            return None
        case Inst(cls=cls) if cls in _NUMBERS:
            return no_fdata, lambda x, f, r, todo: r if type(r) is cls else report(x, None, r, Seen(), _NOTHING)
        case Inst(cls=cls) if cls in _CONSTANTS:
            return UNWATCHED
        case Known(value=value) if value is None or isinstance(value, _CODE):
            return UNWATCHED
        case Arr(dtype=dtype) if apart and dtype is not None and dtype.kind in "fc":
            return lambda x, seen, run: shadow_of(x), lambda x, f, r, todo: report(x, f, r, Seen(), _NOTHING)
        case Lst(elem=Inst(cls=cls), cls=kind) if cls is float and kind is list:
            return _numbers_in, _numbers_out
        case Lst(elem=elem, cls=kind):
            inner = ways(elem, apart, around)
            return None if inner is None else _list(*inner) if kind is list else _deque(*inner)
        case Dct(cls=kind) if kind in _LIKE:
            return _dict_ways(t, kind, _LIKE[kind], apart, around)
        case Tup(items=items, cls=kind) if kind is tuple:
            parts = [ways(x, apart, around) for x in items]
            return None if any(x is None for x in parts) else _tuple([x for x in parts if x is not None])
        case Rec(kind=made_of):
            made = around[made_of]
            return (
                lambda x, seen, run: made[0][0](x, seen, run),
                lambda x, f, r, todo: made[0][1](x, f, r, todo),
            )
        case Obj(new=False) if t.items is not None:
            return None if is_linked(t) else _with_items(t, apart, around)
        case Obj(cls=cls, fields=fields, new=False) if declaration(cls) is None:
            made = []
            found = {k: ways(x, apart, {**around, ("a", cls): made}) for k, x in fields}
            if any(x is None for x in found.values()):
                return None
            made.append(_object(cls, {k: x for k, x in found.items() if x is not None}, is_linked(t)))
            return made[0]
        case Union(options=options):
            by_class = {class_told(x): ways(x, apart, around) for x in options}
            if len(by_class) < len(options) or any(x is None for x in by_class.values()):
                return None
            return _one_of({k: x for k, x in by_class.items() if x is not None})
    return None


def _one_of(parts: dict[Any, tuple[WayIn, WayOut]]) -> tuple[WayIn, WayOut]:
    into = {cls: way for cls, (way, _) in parts.items()}
    out = {cls: way for cls, (_, way) in parts.items()}
    return lambda x, seen, run: into[type(x)](x, seen, run), lambda x, f, r, todo: out[type(x)](x, f, r, todo)


def _object(cls: type, parts: dict[str, tuple[WayIn, WayOut]], linked: bool) -> tuple[WayIn, WayOut]:
    none = dict.fromkeys([k for k, (into, _) in parts.items() if into is no_fdata])
    others = [(k, into) for k, (into, _) in parts.items() if into is not no_fdata]
    outs = {k: out for k, (_, out) in parts.items()}
    read = reader(cls)

    def fill_in(x: Any, shadow: ObjectShadow, seen: Met, run: Run) -> None:
        held, f = read(x), shadow.f
        for k, into in others:
            f[k] = into(held[k], seen, run)

    def object_in(x: Any, seen: Met, run: Run) -> ObjectShadow:
        shadow = ObjectShadow(x, none.copy())
        _meet(x, shadow, seen, run)
        if linked:
            seen.todo.append((fill_in, x, shadow))
        elif others:
            fill_in(x, shadow, seen, run)
        return shadow

    def fill_out(x: Any, shadow: Any, tangent: Tangent, todo: Todo) -> None:
        f, r, fields = shadow.f, shadow.r, tangent._fields
        for k, v in read(x).items():
            fields[k] = outs[k](v, f.get(k), r.get(k), todo)

    def object_out(x: Any, shadow: Any, rdata: Any, todo: Todo) -> Tangent:
        tangent = Tangent(cls, {})
        if linked:
            todo.append((fill_out, x, shadow, tangent))
        else:
            fill_out(x, shadow, tangent, todo)
        return tangent

    return object_in, object_out


def _with_items(t: Obj, apart: bool, around: Around) -> tuple[WayIn, WayOut] | None:
    """Of an object of a class derived from a container, whose cotangent is that of its items."""
    cls, constant, content = t.cls, constant_attributes(t.cls), t.items
    if isinstance(content, Dct):
        kind = OrderedDict if issubclass(cls, OrderedDict) else dict
        items = _dict_ways(content, kind, None, apart, around)
    else:
        items = None if content is None else ways(content, apart, around)
    beside = {k: UNWATCHED if k in constant else ways(x, apart, around) for k, x in t.fields if k != ITEMS}
    if items is None or any(x is None for x in beside.values()):
        return None
    if not beside:
        return items
    items_in, items_out = items
    into = {k: x[0] for k, x in beside.items() if x is not None}
    read = reader(cls)

    def object_in(x: Any, seen: Met, run: Run) -> Any:
        shadow = items_in(x, seen, run)
        run.memos[id(x)] = ObjectShadow(x, {k: into[k](v, seen, run) for k, v in read(x).items()})
        return shadow

    return object_in, items_out


def no_fdata(x: Any, seen: Met, run: Run) -> None:
    return None


def _no_cotangent(x: Any, f: Any, r: Any, todo: Todo) -> None:
    return None


UNWATCHED: tuple[WayIn, WayOut] = (no_fdata, _no_cotangent)
"""Both ways for what has no derivative."""


def _meet(x: Any, shadow: Any, seen: Met, run: Run) -> None:
    k = id(x)
    if k in seen:
        raise Aliased
    seen[k] = shadow
    run.objects[k] = x, shadow


def _numbers_in(x: Any, seen: Met, run: Run) -> ListShadow:
    none = [None] * len(x)
    shadow = ListShadow(none, none.copy())
    k = id(x)
    if k in seen:
        raise Aliased
    seen[k] = shadow
    run.objects[k] = x, shadow
    return shadow


def _numbers_out(x: Any, f: Any, r: Any, todo: Todo) -> list:
    return [0.0 if t is None else t if type(t) is float else _real(t) for t in f.r]


def _list(into: WayIn, out: WayOut) -> tuple[WayIn, WayOut]:
    def list_in(x: Any, seen: Met, run: Run) -> ListShadow:
        f: list[Any] = []
        shadow = ListShadow(f, [None] * len(x))
        _meet(x, shadow, seen, run)
        f += [into(v, seen, run) for v in x]
        return shadow

    return list_in, lambda x, f, r, todo: [out(v, fv, rv, todo) for v, fv, rv in zip(x, f.f, f.r, strict=True)]


def _linked_list(into: WayIn, out: WayOut) -> tuple[WayIn, WayOut]:
    """As `_list`, of lists that are in each other deeper than a stack is."""

    def fill_in(x: Any, shadow: ListShadow, seen: Met, run: Run) -> None:
        shadow.f += [into(v, seen, run) for v in x]

    def list_in(x: Any, seen: Met, run: Run) -> ListShadow:
        shadow = ListShadow([], [None] * len(x))
        _meet(x, shadow, seen, run)
        seen.todo.append((fill_in, x, shadow))
        return shadow

    def fill_out(x: Any, shadow: Any, found: list[Any], todo: Todo) -> None:
        found += [out(v, fv, rv, todo) for v, fv, rv in zip(x, shadow.f, shadow.r, strict=True)]

    def list_out(x: Any, f: Any, r: Any, todo: Todo) -> list[Any]:
        found: list[Any] = []
        todo.append((fill_out, x, f, found))
        return found

    return list_in, list_out


def _linked_dict(parts: dict[str, tuple[WayIn, WayOut]], other: tuple[WayIn, WayOut]) -> tuple[WayIn, WayOut]:
    """As `_fields` and `_dict`, of such dicts."""
    ways_in, ways_out = {k: x[0] for k, x in parts.items()}, {k: x[1] for k, x in parts.items()}

    def fill_in(x: Any, shadow: DictShadow, seen: Met, run: Run) -> None:
        shadow.f.update([(k, ways_in.get(k, other[0])(v, seen, run)) for k, v in x.items()])

    def dict_in(x: Any, seen: Met, run: Run) -> DictShadow:
        shadow = DictShadow({})
        _meet(x, shadow, seen, run)
        seen.todo.append((fill_in, x, shadow))
        return shadow

    def fill_out(x: Any, shadow: Any, found: dict[Any, Any], todo: Todo) -> None:
        found.update([(k, ways_out.get(k, other[1])(v, shadow.f.get(k), shadow.r.get(k), todo)) for k, v in x.items()])

    def dict_out(x: Any, f: Any, r: Any, todo: Todo) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        todo.append((fill_out, x, f, found))
        return found

    return dict_in, dict_out


def _deque(into: WayIn, out: WayOut) -> tuple[WayIn, WayOut]:
    def deque_in(x: Any, seen: Met, run: Run) -> ListShadow:
        f, r = deque[Any](maxlen=x.maxlen), deque[Any]([None] * len(x), x.maxlen)
        shadow = ListShadow(f, r)  # type: ignore[arg-type]
        _meet(x, shadow, seen, run)
        f += [into(v, seen, run) for v in x]
        return shadow

    def deque_out(x: Any, f: Any, r: Any, todo: Todo) -> deque[Any]:
        return deque([out(v, fv, rv, todo) for v, fv, rv in zip(x, f.f, f.r, strict=True)], x.maxlen)

    return deque_in, deque_out


Like = Callable[[Any, dict[Any, Any]], Any]
"""A dict and the cotangents of its items -> its cotangent."""
_LIKE: dict[type, Like | None] = {
    dict: None,
    Counter: None,
    OrderedDict: lambda x, d: OrderedDict(d),
    defaultdict: lambda x, d: defaultdict(x.default_factory, d),
}


def _dict_ways(t: Dct, kind: Any, like: Like | None, apart: bool, around: Around) -> tuple[WayIn, WayOut] | None:
    """Of a dict that shows its items as this kind of dict does; `like`: what its cotangent is, None for a dict."""
    found = {k: ways(x, apart, around) for k, x in t.fields}
    if any(x is None for x in found.values()):
        return None
    if t.fields:
        return _fields({k: x for k, x in found.items() if x is not None}, kind.items, like)
    if type(t.elem) is Inst and t.elem.cls is float:
        return _dict_of_numbers(kind.items, like)
    inner = ways(t.elem, apart, around)
    return None if inner is None else _dict(*inner, kind.items, like)


def _fields(parts: dict[str, tuple[WayIn, WayOut]], items: Any, like: Like | None) -> tuple[WayIn, WayOut]:
    def dict_in(x: Any, seen: Met, run: Run) -> DictShadow:
        shadow = DictShadow({})
        _meet(x, shadow, seen, run)
        shadow.f.update([(k, parts[k][0](v, seen, run)) for k, v in items(x)])
        return shadow

    def dict_out(x: Any, f: Any, r: Any, todo: Todo) -> Any:
        found = {k: parts[k][1](v, f.f.get(k), f.r.get(k), todo) for k, v in items(x)}
        return found if like is None else like(x, found)

    return dict_in, dict_out


def _dict_of_numbers(items: Any, like: Like | None) -> tuple[WayIn, WayOut]:
    def dict_in(x: Any, seen: Met, run: Run) -> DictShadow:
        shadow = DictShadow(dict.fromkeys(x))
        _meet(x, shadow, seen, run)
        return shadow

    def dict_out(x: Any, f: Any, r: Any, todo: Todo) -> Any:
        given = f.r
        found = {k: 0.0 if (t := given.get(k)) is None else t if type(t) is float else _real(t) for k, _ in items(x)}
        return found if like is None else like(x, found)

    return dict_in, dict_out


def _real(t: Any) -> float:
    """The cotangent of a float."""
    return report(0.0, None, t, Seen(), _NOTHING)


def _dict(into: WayIn, out: WayOut, items: Any, like: Like | None) -> tuple[WayIn, WayOut]:
    def dict_in(x: Any, seen: Met, run: Run) -> DictShadow:
        shadow = DictShadow({})
        _meet(x, shadow, seen, run)
        shadow.f.update([(k, into(v, seen, run)) for k, v in items(x)])
        return shadow

    def dict_out(x: Any, f: Any, r: Any, todo: Todo) -> Any:
        found = {k: out(v, f.f.get(k), f.r.get(k), todo) for k, v in items(x)}
        return found if like is None else like(x, found)

    return dict_in, dict_out


def _tuple(parts: list[tuple[WayIn, WayOut]]) -> tuple[WayIn, WayOut]:
    def tuple_in(x: Any, seen: Met, run: Run) -> tuple[Any, ...] | None:
        f = tuple([into(v, seen, run) for (into, _), v in zip(parts, x, strict=True)])
        return f if any([v is not None for v in f]) else None

    def tuple_out(x: Any, f: Any, r: Any, todo: Todo) -> tuple[Any, ...]:
        none = (None,) * len(parts)
        fs, rs = none if f is None else f, none if r is None else r
        return tuple([out(v, fv, rv, todo) for (_, out), v, fv, rv in zip(parts, x, fs, rs, strict=True)])

    return tuple_in, tuple_out
