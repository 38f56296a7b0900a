"""What a write does to the types of the containers it may reach.

Two names of one object may have types that differ, but never in kind: the type of a name covers that of the object
where it was made. So what is put into a list of floats does not change a list of lists, though both be in one
class of memory.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from mooncake_py.infer.allocation import ANYWHERE, Origin
from mooncake_py.infer.base import remembered
from mooncake_py.infer.narrowing import only
from mooncake_py.infer.own_containers import is_object_class
from mooncake_py.infer.parts import activate, set_of, unknown_items, with_act, with_parts
from mooncake_py.infer.recursive import Around, ended, fold, folded_in, read, with_forms
from mooncake_py.infer.types import (
    BOT,
    DICTS,
    LINKED,
    TOP,
    Arr,
    Bot,
    Cell,
    Dct,
    Fn,
    Inst,
    Kind,
    Known,
    LinkedTup,
    Lst,
    Mixed,
    Obj,
    Rec,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    bound,
    is_scalar,
    join,
    kind_of,
    parts_of,
    tuple_of,
    widen,
)


class Effect(NamedTuple):
    """A write into an object of type `target`.

    `put` is what it puts there, or for a dict the dict it is updated with. `seen`: can it reach a global?
    `origin` says what made the object. `patience`: of what is not yet seen to have anything in it, it is not known
    what will be, so it may be told of the write later: of all (2), or of those by names of what has (1).

    As one value is told of it (`to`): `apart`, is that surely another object, surely the same (False), or neither
    (None)? `spared` are attributes in it that surely do not lead to what is written to.
    """

    target: T
    put: T
    active: bool
    seen: bool
    origin: Origin = ANYWHERE
    patience: int = 0
    apart: bool | None = None
    spared: frozenset[str] = frozenset()

    def to(self, origin: Origin, spared: frozenset[str]) -> Effect:
        """What a value of this origin is told of it."""
        same = not self.origin.made.isdisjoint(origin.made)
        apart = True if self.origin.apart(origin) else False if same else None
        held = HELD if self.origin.held else FREE
        return Effect(self.target, self.put, self.active, self.seen, held, self.patience, apart, spared)


HELD, FREE = Origin(), Origin(held=False)
"""All that is left of the origin where it is known what it means for a value."""


def after(t: T, e: Effect, patience: int = 0) -> T:
    """A type that has all a value of type t may be once the write has been done; t itself where that has it all."""
    return _after(t, e.target, e.put, e.active, e.origin.held, e.apart, patience, e.spared)


@remembered
def _after(
    t: T, target: T, put: T, active: bool, held: bool, apart: bool | None, patience: int, spared: frozenset[str]
) -> T:
    new = _awake(t) if active else t
    if held or not apart:
        e = Effect(target, put, active, True, HELD if held else FREE, patience, spared=spared)
        new = _put(new, e, apart)
        if (bounded := _bounded(new, DEPTH)) != new:  # one that holds itself, perhaps
            bounded = _bounded(ended(new), DEPTH)
        new = bounded
    return t if new == t else new


@remembered
def is_blank(t: T) -> bool:
    """Is there a container in it that is not yet seen to have anything in it?"""
    match t:
        case Lst() | Cell() if t.raw is BOT:
            return True
        case Dct() if all(isinstance(x, Bot) for x in parts_of(t)):
            return True
    return any(map(is_blank, parts_of(t))) and not isinstance(t, SetOf)


def _is_empty(t: Lst | Cell | Dct) -> bool:
    return isinstance(t.values() if isinstance(t, Dct) else t.elem, Bot)


def _reaches(t: Lst | Cell | Dct, e: Effect, apart: bool | None) -> bool:
    """May it be a write to this container, which is known to be another one, or perhaps the same (None: unknown)?"""
    if apart or (apart is None and e.patience and is_blank(t) and (e.patience > 1 or not is_blank(e.target))):
        return False
    return may_be(t, e.target)


def holds(t: T) -> bool:
    """Has it a type of what is in it? To others a write does no more than make them active."""
    return isinstance(t, (Tup, Lst, Cell, Dct, Obj, SetOf)) or (isinstance(t, Union) and any(map(holds, t.options)))


DEPTH = 5
"""How many containers in each other are told apart: one that holds itself has no end.

Objects are not counted: what leads to one of its own class says so, and has an end.
"""


@remembered
def _bounded(t: T, depth: int) -> T:
    return with_parts(t, lambda x: _bounded(x, depth) if isinstance(t, Union) else _inner(x, depth))


@remembered
def _inner(t: T, depth: int) -> T:
    if isinstance(t, Union):
        return t.mapped(lambda x: _inner(x, depth))
    if not isinstance(t, (Tup, Lst, Cell, Dct, Obj)):
        return t
    if isinstance(t, Obj):
        return _bounded(t, depth)
    if depth:
        return _bounded(t, depth - 1)
    return Cell(Top(t.act), t.act) if isinstance(t, Cell) else Top(t.active)


def between(
    before: T, now: T, seen: bool, origin: Origin = ANYWHERE, within: frozenset[Kind] = frozenset()
) -> Iterator[Effect]:
    """The writes that make of a value of type `before` one of type `now`, which a call gave it.

    It is `within` linked containers and objects of these kinds: what is written to others is in the write to these.
    """
    if before == now:
        return
    if isinstance(before, (*LINKED, Obj)) and (kind := bound(before)) is not None:
        if kind in within:
            return
        within |= {kind}
    match before, now:
        case (Lst(elem=a), Lst(elem=b)) | (Cell(elem=a), Cell(elem=b)):
            yield Effect(before, b, now.active, seen, origin)
            yield from between(a, b, seen, within=within)
        case Dct(), Dct():
            yield Effect(before, now, now.act, seen, origin)
            for k, t in before.fields:
                yield from between(t, now.value(k), seen, within=within)
            yield from between(before.elem, now.elem, seen, within=within)
        case Obj(), Obj():
            yield Effect(before, now, now.act, seen, origin)
            for k, t in before.fields:
                yield from between(read(t, before), read(now.field(k) or BOT, now), seen, within=within)
        case Tup(), Tup():
            for a, b in zip(before.items, now.items, strict=True):
                yield from between(a, b, seen, within=within)
        case SetOf(), SetOf(elem=b):
            yield Effect(before, b, False, seen, origin)
        case (Bot(), _) | (_, Bot()) | (Known(), _):  # what is in its place now does not change it
            return
        case (Union(), _) | (_, Union()):
            for t in before.options if isinstance(before, Union) else (before,):
                kind = kind_of(t)
                if kind is None:
                    yield Effect(Top(), Top(now.active), now.active, seen, origin)
                else:
                    yield from between(t, only(now, kind), seen, within=within)
        case _ if is_scalar(before) and is_scalar(now):
            return
        case Arr(), Arr():
            yield Effect(before, now, now.act, seen, origin)
        case _:
            yield Effect(Top(), Top(now.active), now.active, seen, origin)


@remembered
def _awake(t: T) -> T:
    """The type of what may be given an active value: what it holds is known by its own names."""
    if isinstance(t, Tup):
        return tuple_of(tuple([_awake(x) if isinstance(x, _HOLDERS) else x for x in t.raw]), t.cls)
    if isinstance(t, Union):
        return t.mapped(_awake)
    if isinstance(t, SetOf):
        return t  # what is put into it says so
    return with_act(t, True) if isinstance(t, _HOLDERS) else activate(t)


@remembered
def with_arrays_awake(t: T) -> T:
    """The type of tuples from elsewhere, in which there are arrays that have no name here, when such are written to."""
    if isinstance(t, (Tup, Union)):
        return t if (new := with_parts(t, with_arrays_awake)) == t else new
    return activate(t) if isinstance(t, Arr) else t


_HOLDERS = (Lst, Dct, Cell, Obj, Union)


def _put(t: T, e: Effect, apart: bool | None = None, around: Around = MappingProxyType({})) -> T:
    """`apart`: what is written to is not this container, but may be in it.

    `around` it are linked containers and objects of these kinds.
    """
    if isinstance(t, Union):
        return t.mapped(lambda x: _put(x, e, apart, around))
    if isinstance(t, (Tup, Lst, Dct)):
        if isinstance(t, LINKED) and (kind := bound(t)) is not None:
            forms: list[T] = [t]
            apart = None if apart and e.origin.held else apart  # others of its type are in it
            inner = {**around, kind: forms}
            try:
                return with_forms(_put_into(t, e, apart, inner), forms, inner)
            except Mixed:
                return Top(True) if isinstance(t, LinkedTup) else unknown_items(t, True)
        if bound(t) in around:  # one that is not meant by what leads back to these
            around = {k: x for k, x in around.items() if k != bound(t)}
    if isinstance(t, (Tup, Lst, Cell, Dct)):
        return _put_into(t, e, apart, around)
    if isinstance(t, SetOf):
        elem = _put(t.elem, e, around=around) if e.origin.held else t.elem
        if not apart and may_be(t, e.target):
            elem = join(elem, fold(e.put, around))
        return t if elem == t.elem else set_of(elem)
    return _put_into_object(t, e, around) if isinstance(t, Obj) else t


def _put_into(t: Tup | Lst | Cell | Dct, e: Effect, apart: bool | None, around: Around) -> T:
    """The same for the content of a container."""
    if isinstance(t, Tup):
        return tuple_of(tuple([_put(x, e, around=around) for x in t.raw]), t.cls)
    if not isinstance(t, Dct):
        elem = _put(t.raw, e, around=around) if e.origin.held else t.raw
        if _reaches(t, e, apart):
            elem = join(elem, fold(e.put, around) if not isinstance(e.target, Dct) else Top(e.put.active))
        return t.holding(elem, t.act or elem.active)
    d = t.mapped(lambda x: _put(x, e, around=around)) if e.origin.held else t
    act = d.act or any(x.active for x in parts_of(d)) or d.key.active
    if _reaches(t, e, apart) and not isinstance(e.put, Bot):
        known = isinstance(e.target, Dct) and isinstance(e.put, Dct)
        anything = Top(e.put.active)
        put = folded_in(e.put, around) if known else Dct(t.cls, anything, (), anything, act, TOP)
        assert isinstance(put, Dct)
        fields = tuple([(k, join(x, _raw_value(put, k))) for k, x in d.raw_fields])
        fields += tuple([(k, join(x, d.raw)) for k, x in put.raw_fields if k not in dict(d.raw_fields)])
        fields = tuple(sorted(fields, key=operator.itemgetter(0)))
        factory = join(d.factory, put.factory)
        act = act or put.key.active or put.act
        return d.having(join(d.key, put.key), fields, join(d.raw, put.raw), act, factory)
    return d.having(d.key, d.raw_fields, d.raw, act)


def _put_into_object(t: Obj, e: Effect, around: Around) -> T:
    """What is put into what an object holds may lead to objects of its class: that is said once, as in its own type."""
    if all(isinstance(x, Top) and not isinstance(x, Union) for x in (e.target, e.put)):
        return Inst(t.cls, t.act)  # a call that may have done anything
    forms: list[T] = []
    inner = {**around, ("a", t.cls): forms}
    fields = tuple([(k, x if k in e.spared else _put(x, e, around=inner)) for k, x in t.fields])
    whole: T = t.with_fields(fields, t.act or any(x.active for _, x in fields))
    if isinstance(e.put, Obj) and isinstance(e.target, Obj) and e.put.cls is t.cls and may_be(t, e.target):
        whole = join(whole, folded_in(e.put, inner))
    return with_forms(whole, forms, inner)


@remembered
def may_be(t: T, target: T) -> bool:
    """May an object that was made with type t be one that the flow of values gave type `target`?"""
    if isinstance(t, Bot):
        return True
    if isinstance(t, Union):
        return all(may_be(x, target) for x in t.options)
    if isinstance(target, Union):  # which is a Top as well
        return any(may_be(t, x) for x in target.options)
    if isinstance(target, Top):
        return True
    if isinstance(target, Bot):
        return False
    if isinstance(t, Top):
        return False
    if _kind(t) != _kind(target):
        return False
    match t, target:
        case (Lst(raw=a), Lst(raw=b)) | (Cell(raw=a), Cell(raw=b)):
            return may_be(a, b)
        case Tup(), Tup():
            return len(t.raw) == len(target.raw) and all(map(may_be, t.raw, target.raw))
        case Dct(), Dct():
            if not _may_be_called(t.factory, target.factory):
                return False
            others = dict(target.raw_fields)
            return all(may_be(x, others.get(k, target.raw)) for k, x in t.raw_fields) and may_be(t.raw, target.raw)
        case Obj(), Obj():
            return t.cls is target.cls and all(may_be(x, y) for k, x in t.fields if (y := target.field(k)) is not None)
        case Arr(), Arr():
            return target.ndim is None or t.ndim == target.ndim
    return True


def _may_be_called(a: T, b: T) -> bool:
    """May what a defaultdict that is made calls (a) be what one does by a name that it is known by (b)?"""
    if isinstance(a, Fn) and isinstance(b, Fn):
        return a.code is b.code
    classes = [x.value for x in (a, b) if isinstance(x, Known) and isinstance(x.value, type)]
    return not classes or not isinstance(a, (Known, Fn)) or not isinstance(b, (Known, Fn)) or a == b


@remembered
def loosened(t: T) -> T:
    """A target that also matches what is known as less, or more, of the same: values that other code may have named."""
    if isinstance(t, Obj):
        return replace(t, fields=())
    return replace(t, ndim=None) if isinstance(t, Arr) else with_parts(t, loosened)


def _raw_value(t: Dct, key: str) -> T:
    return next((x for k, x in t.raw_fields if k == key), t.raw)


def _kind(t: T) -> Any:
    t = widen(t)
    if isinstance(t, Tup) or (isinstance(t, Inst) and issubclass(t.cls, tuple)):
        return "tuple"
    if isinstance(t, Lst):
        return t.cls.__name__
    if isinstance(t, Dct):
        return "dict", t.cls  # which may be a class of objects that hold their items in it
    if isinstance(t, (Cell, Arr)):
        return type(t).__name__
    if isinstance(t, Rec):
        if len(t.kind) == 3:
            return "tuple"
        return ("dict", t.cls) if t.cls in DICTS else t.cls.__name__ if t.cls in (list, deque) else t.cls
    if isinstance(t, Obj) or (isinstance(t, Inst) and (t.cls is set or is_object_class(t.cls))):
        return t.cls
    return "number" if is_scalar(t) else "other"
