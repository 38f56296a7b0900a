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
from typing import Any

from mooncake_py import fields, run
from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.held import is_library
from mooncake_py.infer.named import is_named_tuple
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Operand
from mooncake_py.runtime.python import run_python
from mooncake_py.runtime.results import Call, Given, Result
from mooncake_py.tangents import DictShadow, FunctionShadow, ListShadow, ObjectShadow, has_tangent


def handle_build_class(call: Call, args: tuple[Any, ...], fargs: tuple[Any, ...], kwargs: dict[str, Any]) -> Result:
    """A class statement. Its methods find the cells they share with the function.

    A body that does no more than to make functions and constants runs as it is.
    """
    body, shadow = args[0], fargs[0]
    run.changed_in_place()
    share_cells(body, shadow)
    name, bases = args[1], pytypes.resolve_bases(args[2:])
    computes = _computes(body, shadow)
    if not (computes or run.is_wary()) or not _is_plainly_made(bases, kwargs, body, computes):
        return builtins.__build_class__(*args, **kwargs), None, None
    meta, namespace, keywords = pytypes.prepare_class(name, bases, kwargs)
    if bases != args[2:]:
        namespace["__orig_bases__"] = args[2:]
    shadows = DictShadow({})
    run.current().put(namespace, shadows)
    _, _, pb = run_python(body, shadow, Given((namespace,), (shadows,)), False)
    cls = meta(name, bases, namespace, **keywords)
    give = adopt(cls, namespace, shadows, computes)

    def pullback(_: Any) -> None:
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


def _is_plainly_made(
    bases: tuple[Any, ...], keywords: dict[str, Any], body: pytypes.FunctionType, computes: bool
) -> bool:
    """Is nobody asked who may look at what the body has computed, and is not followed?"""
    meta = keywords.get("metaclass") or max(map(type, bases), key=lambda k: len(k.__mro__), default=type)
    asked = [(meta, name) for name in ("__new__", "__init__")] + [(type(meta), "__call__")]
    asked += [(base, "__init_subclass__") for base in bases]
    users = [k for k, name in asked if _is_users(class_attribute(k, name)) and not is_library(k)]
    if not users and not (isinstance(meta, type) and issubclass(meta, enum.EnumMeta)):
        return True
    if computes:
        who = users[0].__name__ if users else "Enum"
        raise UnsupportedError(
            f"a class body that computes with values that have derivatives, for a class that {who} makes",
            body.__code__.co_filename,
            body.__code__.co_firstlineno,
            "set the attributes in __init__, or after the class statement",
        )
    return False


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

    The result gives their cotangents to the class attributes that they are.
    """
    memos, init = run.current().memos, cls.__dict__.get("__init__")
    own = memos.get(id(before))
    if type(own) is not ObjectShadow or init is None:
        return lambda: None
    memos[id(cls)] = ObjectShadow(cls, own.f)
    memos[id(cls)].r = own.r
    code, defaults, named = init.__code__, init.__defaults__ or (), init.__kwdefaults__ or {}
    names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
    by_place = ListShadow([own.fdata(k) for k in names], [None] * len(names))
    by_name = DictShadow({k: own.fdata(k) for k in named})
    run.current().put(init, FunctionShadow((None,) * len(init.__closure__ or ()), by_place, by_name))

    def give() -> None:
        for k, t in (*zip(names, by_place.r, strict=True), *by_name.r.items()):
            own.add_item(k, t)
        by_place.r[:] = [None] * len(names)
        by_name.r.clear()

    return give


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
