"""Which attributes of classes and modules the code of a walk (`infer/outside.py`) sets: methods, functions, numbers.

What they hold is known before a run, where nothing sets it; so here all counts that may set it, whatever the order.
"""

from __future__ import annotations

import operator
import sys
import types as pytypes
from typing import TYPE_CHECKING, Any

from mooncake_py.hashing import hashable
from mooncake_py.infer.held import ANY, is_library, of_library
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.structure import is_user_class

if TYPE_CHECKING:
    from mooncake_py.infer.outside import Code

_PATCHES = "unittest"
"""The library that sets attributes of what it is given, and of what it finds by its name."""
_ONLY_LOOK = frozenset(
    {isinstance, issubclass, getattr, hasattr, type, super, callable, id, repr, str, operator.is_, operator.is_not}
    | {operator.eq, operator.ne, operator.contains, ops.match_class, ops.load_super, ops.import_from, ops.exc_match}
)
"""What these are given is set nowhere."""


def attributes_set(c: Code, defs: dict[Var, Call], of_object: bool) -> list[tuple[Any, str]]:
    """The attributes of classes and modules that it may set, with None for a holder, ANY for a name that is not seen.

    `of_object`: it is a method of objects.
    """
    found: list[tuple[Any, str]] = []
    for s in defs.values():
        f = c.known(s.fn, defs)
        if (f is setattr or f is delattr) and s.args and not _is_object(c, s.args[0], defs, of_object):
            name = s.args[1] if len(s.args) > 1 else None
            word = str(name.value) if isinstance(name, Const) else ANY
            holder = c.known(s.args[0], defs)
            if holder is None or isinstance(holder, (type, pytypes.ModuleType, pytypes.CellType)):
                found.append((holder, word))
        elif any(v is not s.fn and _is_setter(c.known(v, defs)) for v in s.operands()):
            found.append((None, ANY))
        elif _patches(c, s.fn, defs):
            found += [(None, ANY), *[p for v in s.operands() if isinstance(v, Const) and (p := _named(v.value))]]
    return found


def holders_passed(c: Code, defs: dict[Var, Call], of_class: bool) -> list[Any]:
    """The classes and modules that it hands on to what may set their attributes, None for what is not seen.

    `of_class`: its first argument is a class.
    """
    found: list[Any] = []
    looked_into = {v for s in defs.values() if _only_looks(c, s, defs) for v in s.args}
    for s in defs.values():
        if _only_looks(c, s, defs) or (is_const(s.fn, ops.build_tuple) and s.out in looked_into):
            continue
        f = c.known(s.fn, defs)
        for v in s.args[1:] if f is setattr or f is delattr else [*s.args, *[v for _, v in s.kwargs]]:
            x = c.known(v, defs)
            if (isinstance(x, type) and is_user_class(x)) or isinstance(x, pytypes.ModuleType):
                found.append(x)
            elif _is_class_of(c, v, defs) or (of_class and v in c.body.params[:1]):
                found.append(None)
        if _patches(c, s.fn, defs):
            found.append(None)
    return found


def sets_by_itself(f: pytypes.FunctionType) -> bool:
    """Is this what `mock.patch` makes of a function?"""
    return (f.__globals__.get("__name__") or "").partition(".")[0] == _PATCHES


def _is_setter(x: Any) -> bool:
    return x is setattr or x is delattr


def _only_looks(c: Code, s: Call, defs: dict[Var, Call]) -> bool:
    f = c.known(s.fn, defs)
    return hashable(f) and f in _ONLY_LOOK


def _is_class_of(c: Code, v: Operand, defs: dict[Var, Call]) -> bool:
    """Is this the class of an object, or a module by its name?"""
    s = defs.get(v)  # type: ignore[arg-type]
    if s is None:
        return False
    if is_const(s.fn, getattr):
        return is_const(s.args[1], "__class__")
    if is_const(s.fn, operator.getitem):
        return _is_modules(c, s.args[0], defs)
    return c.known(s.fn, defs) is type and len(s.args) == 1


def _is_modules(c: Code, v: Operand, defs: dict[Var, Call]) -> bool:
    """Is this `sys.modules`?"""
    if c.known(v, defs) is sys.modules:
        return True
    s = defs.get(v)  # type: ignore[arg-type]
    if s is None or not is_const(s.fn, getattr):
        return False
    return is_const(s.args[1], "modules") and c.known(s.args[0], defs) is sys


def _is_object(c: Code, v: Operand, defs: dict[Var, Call], of_object: bool) -> bool:
    """Is this the object that a method is called on, or one that is made here?"""
    if v in c.body.params:
        first = c.body.params[0] is v
        return first and (of_object or c.code.co_varnames[:1] == ("self",))
    s = defs.get(v)  # type: ignore[arg-type]
    made = None if s is None else c.known(s.fn, defs)
    return isinstance(made, type) and made is not type


def _patches(c: Code, v: Operand, defs: dict[Var, Call]) -> bool:
    """Is this a function of the library that patches, or one of its attributes?"""
    while (x := c.known(v, defs)) is None:
        s = defs.get(v)  # type: ignore[arg-type]
        if s is None or not is_const(s.fn, getattr):
            return False
        v = s.args[0]
    module = getattr(x, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == _PATCHES and is_library(x)


def _named(text: Any) -> tuple[pytypes.ModuleType, str] | None:
    """The attribute of a module that belongs to a library which this text names."""
    if not isinstance(text, str):
        return None
    module, _, name = text.rpartition(".")
    found = sys.modules.get(module)
    return (found, name) if found is not None and of_library(module) else None
