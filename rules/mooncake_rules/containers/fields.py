"""Attributes of objects whose class and attributes are known when the rule is derived."""

from __future__ import annotations

import operator
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from mooncake_py import fields, run
from mooncake_py.fields import ABSENT, put_back_any, what_was
from mooncake_py.infer import recursive
from mooncake_py.infer.own_containers import empty
from mooncake_py.infer.types import BOT, Dct, Inst, Known, Lst, Obj, T, Top, Tup, Union
from mooncake_py.ir import ops
from mooncake_py.mirrors import constant_attributes
from mooncake_py.registry import (
    element_effects,
    incurious,
    infer_table,
    inline,
    maybe_none,
    perhaps_none,
    pure,
    rrule,
    undoes,
    undoes_attributes,
    zero_derivative,
)
from mooncake_py.rule import initial
from mooncake_py.runtime.stored import read_stored, shadow_of_attributes, write_stored
from mooncake_py.tangents import CoDual, DictShadow, ListShadow, ObjectShadow, zero_fdata


@rrule(fields.make_object)
def make_object(cls: CoDual):
    x = fields.make_object(cls.primal)

    def pullback(_):
        return None

    return CoDual(x, new_shadow(x)), pullback


def new_shadow(x: Any) -> Any:
    """The shadow of an object that was just made; the run knows of it by the object's identity."""
    shadow: Any = ObjectShadow(x)
    if isinstance(x, list):
        shadow = ListShadow([], [])
    elif isinstance(x, deque):
        shadow = ListShadow(deque(), deque())  # type: ignore[arg-type]
    elif isinstance(x, dict):
        shadow = DictShadow({})
    run.current().made[id(x)] = x, shadow
    return shadow


@rrule(fields.make_exception)
def make_exception(cls: CoDual, *args: CoDual):
    x = fields.make_exception(cls.primal, *[v.primal for v in args])
    shadow = new_shadow(x)
    shadow.f["args"] = joint_fdata(args)

    def pullback(_):
        r = shadow.r.pop("args", None)
        return None if r is None else (None, *r)

    return CoDual(x, shadow), pullback


def joint_fdata(xs: tuple[CoDual, ...]) -> Any:
    """The fdata of the tuple of these values."""
    f = tuple([v.fdata for v in xs])
    return f if any(v is not None for v in f) else None


@rrule(fields.set_args, mutates=(0,))
def set_args(x: CoDual, *args: CoDual):
    exc, shadow = x.primal, x.fdata
    old = fields.ARGS.__get__(exc)
    old_f = put_fdata(shadow, "args", joint_fdata(args))
    fields.set_args(exc, *[v.primal for v in args])

    def pullback(_):
        fields.set_args(exc, *old)
        r = None if shadow is None else take_field(shadow, "args", old_f)
        return None if r is None else (None, *r)

    return None, pullback


@rrule(fields.get_number)
def get_number(x: CoDual, name):
    shadow = x.fdata

    def pullback(dy):
        add_number(shadow, name, dy)
        return None

    return CoDual(getattr(x.primal, name), None), pullback


@inline
def add_number(shadow: ObjectShadow, name: str, dy: Any) -> None:
    r = shadow.r
    r[name] = r[name] + dy


@rrule(fields.get_field)
def get_field(x: CoDual, name):
    shadow = x.fdata

    def pullback(dy):
        if dy is not None:
            add_field(shadow, name, dy)
        return None

    y = getattr(x.primal, name)
    return CoDual(y, field_fdata(shadow, name)), pullback


@rrule(fields.items_of)
def items_of(x: CoDual):
    def pullback(_):
        return None

    return CoDual(x.primal, x.fdata), pullback


@rrule(fields.get_beside)
def get_beside(x: CoDual, name):
    if what_was(x.primal, name) is ABSENT:  # a number or text of the class
        y, fy, give = getattr(x.primal, name), None, None
    else:
        y, fy, give = read_stored(x.primal, x.fdata, name)

    def pullback(dy):
        if give is not None:
            give(dy)
        return None

    return CoDual(y, fy), pullback


@rrule(fields.get_number_beside)
def get_number_beside(x: CoDual, name):
    shadow = shadow_beside(x.primal, x.fdata, name)

    def pullback(dy):
        if shadow is not None:
            add_beside(shadow, name, dy)
        return None

    return CoDual(getattr(x.primal, name), None), pullback


def shadow_beside(x: Any, fx: Any, name: str) -> ObjectShadow | None:
    """Where the cotangent of such a number is; None where it is one of the class, or nobody wants it."""
    return None if what_was(x, name) is ABSENT else shadow_of_attributes(x, fx)


def add_beside(shadow: ObjectShadow, name: str, dy: Any) -> None:
    if name not in shadow.constant:
        add_number(shadow, name, dy)


@rrule(fields.set_beside, mutates=(0,))
def set_beside(x: CoDual, name, v: CoDual):
    undo = write_stored(x.primal, x.fdata, name, v.primal, v.fdata, name in constant_attributes(type(x.primal)))

    def pullback(_):
        return None, None, perhaps_none(undo(None))

    return None, pullback


@rrule(fields.set_factory, mutates=(0,))
def set_factory(d: CoDual, factory: CoDual):
    undo = write_stored(d.primal, d.fdata, "default_factory", factory.primal, factory.fdata)

    def pullback(_):
        return None, perhaps_none(undo(None))

    return None, pullback


def field_fdata(shadow: ObjectShadow, name: str) -> Any:
    """The fdata of an attribute; what was a constant where it was stored may be written to now."""
    f = shadow.f
    fy = f[name] if name in f else shadow.fdata(name)
    if fy is None and name not in shadow.constant:
        fy = f[name] = zero_fdata(getattr(shadow.owner, name))
    return fy


def add_field(shadow: ObjectShadow, name: str, dy: Any) -> None:
    shadow.add_item(name, dy)


@rrule(fields.get_dict)
def get_dict(x: CoDual, name):
    def pullback(_):
        return None

    return CoDual(getattr(x.primal, name), dict_shadow(x.fdata)), pullback


def dict_shadow(shadow: ObjectShadow | None) -> DictShadow | None:
    """The fdata of the dict that keeps the attributes of an object: that of the object by another name."""
    if shadow is None:
        return None
    for name in shadow.owner.__dict__:
        shadow.fdata(name)
    return DictShadow(shadow.f, shadow.r)


@rrule(fields.set_number, mutates=(0,))
def set_number(x: CoDual, name, v):
    obj, shadow = x.primal, x.fdata
    old = getattr(obj, name)
    setattr(obj, name, v)

    def pullback(_):
        ops.put_back(obj, name, old)
        if shadow is None:
            return None
        return None, None, take_number(shadow, name)

    return None, pullback


@inline
def take_number(shadow: ObjectShadow, name: str) -> Any:
    """The cotangent of a number that was set, leaving zero."""
    r = shadow.r
    d = r[name]
    r[name] = 0.0
    return d


@rrule(fields.add_number, mutates=(0,))
def add_number_(x: CoDual, name, v):
    obj, shadow = x.primal, x.fdata
    old = what_was(obj, name)
    setattr(obj, name, v)

    def pullback(_):
        put_back_any(obj, name, old)
        if shadow is None:
            return None
        return None, None, take_number(shadow, name)

    return None, pullback


@rrule(fields.set_field, mutates=(0,))
def set_field(x: CoDual, name, v: CoDual):
    obj, shadow = x.primal, x.fdata
    old = what_was(obj, name)
    old_f = put_fdata(shadow, name, v.fdata)
    setattr(obj, name, v.primal)

    def pullback(_):
        put_back_any(obj, name, old)
        if shadow is None:
            return None
        return None, None, take_field(shadow, name, old_f)

    return None, pullback


def _written_as_it_is(write: Callable[[Any, str, Any], None], first: Callable[[Any, str, Any], None]) -> None:
    """A write of an attribute that asks nobody, and `first`, the same where it is the first one."""

    @rrule(write, mutates=(0,))
    def rule(x: CoDual, name, v: CoDual):
        obj, shadow = x.primal, x.fdata
        old = what_was(obj, name)
        old_f = put_fdata(shadow, name, v.fdata)
        write(obj, name, v.primal)

        def pullback(_):
            put_back_any(obj, name, old)
            if shadow is None:
                return None
            return None, None, take_field(shadow, name, old_f)

        return None, pullback

    @rrule(first, mutates=(0,))
    def rule_of_first(x: CoDual, name, v: CoDual):
        shadow = x.fdata
        put_fdata(shadow, name, v.fdata)
        write(x.primal, name, v.primal)

        def pullback(_):
            return None, None, take_first(shadow, name)

        return None, pullback


_written_as_it_is(fields.set_raw, fields.init_raw)
_written_as_it_is(fields.set_kept, fields.init_kept)


@rrule(fields.init_number, mutates=(0,))
def init_number(x: CoDual, name, v):
    shadow = x.fdata
    setattr(x.primal, name, v)

    def pullback(_):
        if shadow is None:
            return None
        return None, None, take_number(shadow, name)

    return None, pullback


@rrule(fields.init_field, mutates=(0,))
def init_field(x: CoDual, name, v: CoDual):
    shadow = x.fdata
    put_fdata(shadow, name, v.fdata)
    setattr(x.primal, name, v.primal)

    def pullback(_):
        return None, None, take_first(shadow, name)

    return None, pullback


def take_first(shadow: ObjectShadow | None, name: str) -> Any:
    """The cotangent of an attribute that keeps its value."""
    return None if shadow is None else shadow.r.pop(name, None)


def put_fdata(shadow: ObjectShadow | None, name: str, fv: Any) -> Any:
    """fdata of an attribute that is set; that of what it held."""
    if shadow is None:
        return None
    old = shadow.f.get(name, ABSENT)
    shadow.f[name] = None if name in shadow.constant else fv
    return old


def take_field(shadow: ObjectShadow, name: str, old: Any) -> Any:
    """Undo `put_fdata`; the cotangent of what was set."""
    if old is ABSENT:
        shadow.f.pop(name, None)
    else:
        shadow.f[name] = old
    return shadow.r.pop(name, None)


def _made(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    return (empty(args[0].value) or Obj(args[0].value)) if isinstance(args[0], Known) else None


def _items(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    """Several types cannot be told apart by the class of what is of them: that is the object's own."""
    t = args[0]
    if isinstance(t, Union):
        held = t.mapped(lambda x: _items((x,), kwargs))
        return held if isinstance(held, (Lst, Dct)) else Top(t.active)
    return t if not isinstance(t, Obj) or t.items is None else recursive.read(t.items, t)


def _raised(args: tuple[T, ...], kwargs: dict[str, T]) -> T | None:
    given = args[1:]
    act = any(t.active for t in given)
    return Obj.of(args[0].value, act, {"args": Tup(given)}) if isinstance(args[0], Known) else None


def _of_length(args: tuple[T, ...], kwargs: tuple[tuple[str, T], ...]) -> T:
    match args:
        case (Tup(items=items, cls=c), Known(value=cls), Known(value=n)):
            return Known(c is cls and len(items) == n)
    return Inst(bool)


def _said(args: tuple[T, ...], kwargs: dict[str, T]) -> T:
    """`__bool__` and `__float__` are converted where they give what they should, so that it raises here."""
    return Inst(int) if args[0] == Known("__len__") else BOT


infer_table[fields.make_object] = _made
infer_table[fields.items_of] = _items
infer_table[fields.set_beside] = lambda args, kwargs: Known(None)
infer_table[fields.set_factory] = lambda args, kwargs: Known(None)
element_effects[fields.set_factory] = lambda types: Dct(defaultdict, BOT, (), BOT, False, types[1])
infer_table[fields.make_exception] = _raised
infer_table[fields.set_args] = lambda args, kwargs: Known(None)
zero_derivative(fields.is_code_of, fields.is_function, fields.is_method_of, fields.no_attribute)
zero_derivative(fields.lacks, fields.has_own, fields.check_factory)
for _f in (fields.lacks, fields.check_factory):
    infer_table[_f] = lambda args, kwargs: Known(None)
infer_table[fields.has_own] = lambda args, kwargs: Inst(bool)
incurious.update({fields.lacks, fields.has_own, fields.check_factory})
for _f in (fields.is_code_of, fields.is_function, fields.is_method_of):
    infer_table[_f] = lambda args, kwargs: Inst(bool)
infer_table[fields.no_attribute] = lambda args, kwargs: BOT
infer_table[fields.is_of_length] = _of_length
zero_derivative(fields.is_of_length)
incurious.update({fields.is_code_of, fields.is_function, fields.is_method_of, fields.is_of_length})
incurious.add(fields.no_attribute)
zero_derivative(ops.no_operator)
incurious.add(ops.no_operator)
zero_derivative(ops.said)
incurious.add(ops.said)
infer_table[ops.said] = _said
infer_table[ops.no_operator] = lambda args, kwargs: Inst(bool) if args[0] == Known(operator.eq) else BOT
for _f in (*fields.INITIAL, *fields.INITIAL.values()):
    infer_table[_f] = lambda args, kwargs: Known(None)
maybe_none.update({take_field, take_first})
initial.update(fields.INITIAL.values())
undoes_attributes.update({ops.put_back, put_back_any})
undoes.update(undoes_attributes)
pure.update({shadow_beside, field_fdata, dict_shadow, what_was, fields.make_object, fields.make_exception, new_shadow})
