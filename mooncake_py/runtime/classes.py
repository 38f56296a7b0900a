"""Classes that are made: by class statements, by `type`, and with default values, which may have derivatives.

What a class is made with is found by its names: fdata of its attributes is that of the namespace it was made from
(`stored.shadow_of_attributes`). Functions that stand in it are called without their fdata, so the run knows the cells
that they share with others, and the default values of those that have some.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import operator
import types as pytypes
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mooncake_py import fields, run
from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.held import is_library
from mooncake_py.infer.named import is_named_tuple
from mooncake_py.infer.quiet import is_quiet
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, Operand
from mooncake_py.runtime.asked import watched
from mooncake_py.runtime.python import run_python
from mooncake_py.runtime.results import Call, Given, Pull, Result
from mooncake_py.structure import is_user_class, note_made
from mooncake_py.tangents import DictShadow, FunctionShadow, ListShadow, ObjectShadow, has_tangent


def handle_build_class(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
    """A class statement, which each run makes a class by."""
    found = _build_class(call, args, fargs, kwargs)
    if isinstance(found[0], type):
        note_made(found[0])
    return found


def _build_class(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
    """What a class statement makes. Its methods find the cells they share with the function.

    A body that does no more than to make functions and constants runs as it is.
    """
    body, shadow = args[0], fargs[0]
    run.changed_in_place()
    share_cells(body, shadow)
    name, bases = args[1], pytypes.resolve_bases(args[2:])
    computes = _computes(body, shadow)
    asked = _askers(bases, kwargs)
    if not (computes or run.is_wary()) or not _is_plainly_made(asked, body, computes):
        if asked.enumeration or not (asked.users or calls_something(body)):
            return builtins.__build_class__(*args, **kwargs), None, None
        made, undone = _watched(args, bases, kwargs)
        return made, None, undone
    meta, namespace, keywords = pytypes.prepare_class(name, bases, kwargs)
    if bases != args[2:]:
        namespace["__orig_bases__"] = args[2:]
    shadows = DictShadow({})
    run.current().put(namespace, shadows)
    _, _, pb = run_python(body, shadow, Given((namespace,), (shadows,)), False)
    cls, undo = _made_watched(meta, name, bases, namespace, keywords, body)
    give = adopt(cls, namespace, shadows, computes)

    def pullback(_: Any) -> None:
        if undo is not None:
            undo(None)
        give()
        if pb is not None:
            pb(None)

    return cls, None, pullback


def share_cells(f: Any, shadow: FunctionShadow | None) -> None:
    """Let the run know the cells that a function was made with, and its default values."""
    if type(f) is not pytypes.FunctionType or type(shadow) is not FunctionShadow:
        return
    here = run.current()
    for cell, fcell in zip(f.__closure__ or (), shadow.cells, strict=True):
        if fcell is not None:
            here.put(cell, fcell)
    if shadow.defaults is not None or shadow.kwdefaults is not None:
        here.put(f, shadow)


def _computes(body: pytypes.FunctionType, shadow: FunctionShadow | None) -> bool:
    """Does the body itself look at what may carry a derivative, or call a function that does?

    A method that a decorator gets is called later: what the decorator makes of it finds the cells it needs.
    """
    cells = () if shadow is None else shadow.cells
    if not any(f is not None for f in cells):
        return False
    fn = normalise(body.__code__)
    carrying: set[Operand] = {v for v, f in zip(fn.free, cells, strict=True) if f is not None}
    names: set[Any] = set()
    for s in (s for b in fn.blocks for s in b.stmts):
        f = getattr(s.fn, "value", None)
        if f is ops.load_build_class or (f in _LOOKS and not carrying.isdisjoint(s.args)):
            return True
        if f is ops.build_tuple and not carrying.isdisjoint(s.args):
            carrying.add(s.out)  # the cells of a function
        elif f is ops.make_function and s.args[4] in carrying:
            name = s.args[0].value.co_name  # type: ignore[union-attr]
            names.add(name)
            if name.startswith("<"):
                carrying.add(s.out)
        elif f is ops.store_name and s.args[1] in carrying:
            names.add(s.args[0].value)  # type: ignore[union-attr]
        elif f is ops.load_name and s.args[0].value in names:  # type: ignore[union-attr]
            carrying.add(s.out)
        elif f is None and not carrying.isdisjoint(s.operands()):
            return True
    return False


_LOOKS = (ops.classderef, ops.load_dict_or_deref, ops.cell_get)


class _Askers(NamedTuple):
    """Classes of the user's that have a say in making a class; is it an enumeration?"""

    users: list[Any]
    enumeration: bool


def _askers(bases: tuple[Any, ...], keywords: dict[str, Any]) -> _Askers:
    meta = keywords.get("metaclass") or max(map(type, bases), key=lambda k: len(k.__mro__), default=type)
    asked = [(meta, name) for name in ("__new__", "__init__")] + [(type(meta), "__call__")]
    asked += [(base, "__init_subclass__") for base in bases]
    users = [k for k, name in asked if _is_users(class_attribute(k, name)) and not is_library(k)]
    return _Askers(users, isinstance(meta, type) and issubclass(meta, enum.EnumMeta))


def made_by_others(bases: tuple[Any, ...]) -> bool:
    """Have classes of the user's a say in making a class of these bases, or is it an enumeration?"""
    asked = _askers(bases, {})
    return bool(asked.users or asked.enumeration)


def _is_plainly_made(asked: _Askers, body: pytypes.FunctionType, computes: bool) -> bool:
    """Is nobody asked who may look at what the body has computed, and is not followed?"""
    if not asked.users and not asked.enumeration:
        return True
    if computes:
        who = asked.users[0].__name__ if asked.users else "Enum"
        raise UnsupportedError(
            f"a class body that computes with values that have derivatives, for a class that {who} makes",
            body.__code__.co_filename,
            body.__code__.co_firstlineno,
            "set the attributes in __init__, or after the class statement",
        )
    return False


def calls_something(body: pytypes.FunctionType) -> bool:
    """May a class body make objects, which are told their names (`__set_name__`)?"""
    return any(not isinstance(s.fn, Const) for b in normalise(body.__code__).blocks for s in b.stmts)


def _watched(args: tuple[Any, ...], bases: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[type, Pull | None]:
    """A class whose body computes nothing: what else runs when it is made must not change what has a derivative.

    With what undoes the other changes.
    """
    body, name = args[:2]
    meta, namespace, keywords = pytypes.prepare_class(name, bases, kwargs)
    if bases != args[2:]:
        namespace["__orig_bases__"] = args[2:]
    exec(body.__code__, body.__globals__, namespace, closure=body.__closure__)
    return _made_watched(meta, name, bases, namespace, keywords, body)


def _made_watched(
    meta: Any, name: str, bases: tuple[Any, ...], namespace: dict[str, Any], keywords: dict[str, Any], body: Any
) -> tuple[type, Pull | None]:
    """The class of this namespace: what else runs when it is made must not change what has a derivative."""
    held = [v for v in namespace.values() if is_user_class(type(v)) and not is_quiet(type(v), {"__set_name__"})]

    def make() -> Result:
        return meta(name, bases, namespace, **keywords), None, None

    cls, _, undo = watched(builtins.__build_class__, (), {}, [*held, *bases, meta], make)
    seen = not held and all(is_library(k) for k in (meta, *bases))  # a library's own code does not know them
    for k, v in cls.__dict__.items():
        if not seen and namespace.get(k) is not v and has_tangent(v):
            raise UnsupportedError(
                f"the attribute {k!r} of class {name} that is set while the class is made", body.__code__.co_filename,
                body.__code__.co_firstlineno, "set it after the class statement",
            )  # fmt: skip
    return cls, undo


def _is_users(d: Any) -> bool:
    f = getattr(d, "__func__", d)
    return isinstance(f, pytypes.FunctionType) and not is_library(f)


def adopt(
    cls: type, namespace: Mapping[str, Any], shadows: DictShadow | None, computes: bool = True
) -> Callable[[], None]:
    """Let the run know fdata of what a class was made with. The result gives the cotangents to the namespace."""
    if shadows is None:
        return lambda: None
    constant: set[str] = set()
    for name, v in namespace.items():
        share_cells(v, shadows.f.get(name))
        if type(v) is list and type(shadows.f.get(name)) is ListShadow:
            run.current().put(v, shadows.f[name])
        if not isinstance(v, dataclasses.Field):
            continue
        constant.add(name)  # it is not what the class will hold
        if computes and v.default is not dataclasses.MISSING and has_tangent(v.default):
            raise UnsupportedError(
                f"field(default=...) in a class body that computes with values that have derivatives ({name})",
                "the call",
                None,
                "assign the default value itself, or give a default_factory",
            )
    own = ObjectShadow(cls, {k: f for k, f in shadows.f.items() if k not in constant and k in cls.__dict__})
    run.current().memos[id(cls)] = own
    names = list(cls._field_defaults) if is_named_tuple(cls) else []  # type: ignore[attr-defined]
    taken = note_defaults(cls, [shadows.f.get(k) for k in names]) if names else list

    def give() -> None:
        for name, t in (*zip(names, taken(), strict=True), *own.r.items()):
            if name not in constant:
                shadows.add_item(name, t)
        own.r.clear()

    return give


def note_defaults(cls: Any, fs: list[Any]) -> Any:
    """Let the run know fdata of the default values of a class of named tuples; the result takes their cotangents."""
    shadow = ListShadow(fs, [None] * len(fs))
    held = DictShadow(dict(zip(cls._field_defaults, fs, strict=True)))
    run.current().put(cls.__new__, FunctionShadow((), shadow, None))
    run.current().put(cls._field_defaults, held)

    def taken() -> list[Any]:
        for i, k in enumerate(held.f):
            shadow.add_item(i, held.r.pop(k, None))
        r = list(shadow.r)
        shadow.r[:] = [None] * len(r)
        return r

    return taken


def note_dataclass(cls: Any, before: type) -> Callable[[], None]:
    """The default values of a data class that was made of a class whose body computed them; it may be another class.

    They are those of its fields, some of which are those of a class that it inherits from, and of its `__init__`. The
    result gives the cotangents of its own to the class attributes that they are.
    """
    here, init = run.current(), cls.__dict__.get("__init__")
    own = here.memos.get(id(before))
    if type(own) is ObjectShadow:
        here.memos[id(cls)] = ObjectShadow(cls, own.f)
        here.memos[id(cls)].r = own.r
    given = {k: d for k, d in cls.__dataclass_fields__.items() if d.default is not dataclasses.MISSING}
    sources = {k: _keeper(before, k) for k, d in given.items() if here.shadow(d) is None}
    noted = {k: _note_field(given[k], s.f.get(k)) for k, s in sources.items() if s is not None}
    shadows = {k: noted.get(k) or here.shadow(d) for k, d in given.items()}
    if init is None or all(s is None for s in shadows.values()):
        return lambda: None
    code, defaults, named = init.__code__, init.__defaults__ or (), init.__kwdefaults__ or {}
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    fdata = {k: None if s is None else s.fdata("default") for k, s in shadows.items()}
    by_place = ListShadow([fdata.get(k) for k in names], [None] * len(names))
    by_name = DictShadow({k: fdata.get(k) for k in named})
    here.put(init, FunctionShadow((None,) * len(init.__closure__ or ()), by_place, by_name))

    def give() -> None:
        for k, t in (*zip(names, by_place.r, strict=True), *by_name.r.items()):
            if shadows.get(k) is not None:
                shadows[k].add_item("default", t)
        for k, s in noted.items():
            sources[k].add_item(k, s.r.pop("default", None))  # type: ignore[union-attr]
        by_place.r[:] = [None] * len(names)
        by_name.r.clear()

    return give


def _keeper(cls: type, name: str) -> ObjectShadow | None:
    """The shadow of what a class has by this name, that of the class which it inherits it from."""
    owner = next((k for k in cls.__mro__ if name in k.__dict__), cls)
    shadow = run.current().memos.get(id(owner))
    return shadow if type(shadow) is ObjectShadow and name in shadow.f else None


def _note_field(field: Any, fdata: Any) -> ObjectShadow:
    """Let the run know fdata of the default value of a data class's field."""
    shadow = ObjectShadow(field, {"default": fdata})
    run.current().put(field, shadow)
    return shadow


# -- the namespace of a body ----------------------------------------------------------------------------------


def handle_name_in(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    namespace, name, scope = args
    if name not in namespace:
        return fields.global_of(scope, name), None, None
    return _item(call, namespace, fargs[0], name)


def handle_name_or_cell(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> Result:
    namespace, cell, name = args
    if name in namespace:
        return _item(call, namespace, fargs[0], name)
    y, fy, pb = call(ops.cell_get, None, (cell, name), (fargs[1], None))
    return y, fy, None if pb is None else lambda dy: (pb(dy), None)[1]


def _item(call: Call, namespace: Any, shadows: Any, name: str) -> Result:
    y, fy, pb = call(operator.getitem, None, (namespace, name), (shadows, None))
    return y, fy, None if pb is None else lambda dy: (pb(dy), None)[1]
