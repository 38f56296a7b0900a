"""Calls of `functools.partial` objects and their like whose parts are known, and of generic functions: of the function
in them."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any

from mooncake_py.infer.codes import is_generic
from mooncake_py.infer.held import is_data, is_opened
from mooncake_py.infer.inferred import Guard
from mooncake_py.infer.lookup import is_fixed
from mooncake_py.infer.protocol import Keywords, Plan
from mooncake_py.infer.resolve import class_of, is_code_like
from mooncake_py.infer.special_methods import (
    inner_attribute,
    three_attributes,
    three_items,
    two_attributes,
    two_items,
)
from mooncake_py.infer.types import Fn, Known, Meth, Obj, T, widen
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Var
from mooncake_py.registry import called_as


class Keyword:
    """One keyword argument of a partial, or with no name their number, as a scope that guards look into."""

    __slots__ = ("keywords",)

    def __init__(self, keywords: dict[str, Any]):
        self.keywords = keywords

    def get(self, name: str, default: Any) -> Any:
        """The value; the number of keyword arguments where the name is empty."""
        return self.keywords.get(name, default) if name else len(self.keywords)


def made_there(made: Call, callee: T, call: Call) -> Plan | None:
    """A call of what `made`, a call of `callee`, gave: a partial of parts in sight, a getter, or of a class whose calls
    come down to those of a function.

    None where it is something else.
    """
    if isinstance(callee, Known) and any(callee.value is g for g in _GETTERS):
        return _got(callee.value, made.args, call)
    if isinstance(callee, Known) and isinstance(callee.value, type) and callee.value in called_as:
        return _come_down(callee.value, made, call)
    if callee != Known(functools.partial) or not made.args:
        return None
    keywords = {**dict(made.kwargs), **dict(call.kwargs)}
    return Plan(made.args[0], (*made.args[1:], *call.args), tuple(keywords.items()))


def _come_down(cls: type, made: Call, call: Call) -> Plan | None:
    try:
        given = inspect.signature(cls).bind(*made.args, **dict(made.kwargs)).arguments
    except TypeError:  # which it raises when it runs
        return None
    found = called_as[cls](given, len(call.args), [k for k, _ in call.kwargs])
    if found is None:
        return None
    f, first = found
    operands = [x if isinstance(x, (Var, Const)) else Const(x) for x in first]
    return Plan(Const(f), (*operands, *call.args), call.kwargs)


class Attribute:
    """What an object holds, as a scope that guards look into."""

    __slots__ = ("keywords",)

    def __init__(self, x: Any):
        self.keywords = x

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.keywords, name, default)


def _held_outside(x: Any, call: Call) -> tuple[Plan, list[Guard]] | None:
    """A call of an object that keeps what its class was given, under the same names."""
    names = [k for k in inspect.signature(type(x)).parameters if hasattr(x, k)]
    given = {k: v for k in names if (v := getattr(x, k))}  # what is empty is as good as not given
    found = called_as[type(x)](given, len(call.args), [k for k, _ in call.kwargs])
    if found is None or not all(map(_stays, found[1])):
        return None
    scope = Attribute(x)
    guards = [Guard(scope, k, getattr(x, k)) for k in names]
    return Plan(Const(found[0]), (*map(Const, found[1]), *call.args), call.kwargs), guards


def found_outside(f: Any, call: Call) -> tuple[Plan, list[Guard]] | None:
    """A call of a partial that is known, and what that relies on; None where it holds what may be written to."""
    if type(f) in _GETTERS:
        plan = _got(type(f), tuple(map(Const, f.__reduce__()[1])), call)
        return None if plan is None else (plan, [])
    if type(f) in called_as:
        return _held_outside(f, call)
    if type(f) is not functools.partial or f.__dict__ or is_opened(f):
        return None
    if not all(map(_stays, (*f.args, *f.keywords.values()))):
        return None
    scope = Keyword(f.keywords)
    guards = [Guard(scope, k, v) for k, v in f.keywords.items()]
    guards.append(Guard(scope, "", len(f.keywords)))
    given: dict[str, Operand] = {k: Const(v) for k, v in f.keywords.items()}
    keywords: Keywords = tuple({**given, **dict(call.kwargs)}.items())
    return Plan(Const(f.func), (*map(Const, f.args), *call.args), keywords), guards


_GETTERS = (operator.itemgetter, operator.attrgetter)


def _got(getter: type, keys: tuple[Operand, ...], call: Call) -> Plan | None:
    """What a getter of these keys or names gives of the one argument it is called with."""
    if len(call.args) != 1 or call.kwargs:
        return None
    if getter is operator.attrgetter:
        names = [k.value for k in keys if isinstance(k, Const) and isinstance(k.value, str)]
        parts = [name.split(".") for name in names]
        if len(parts) < len(keys):
            return None
        if len(parts) == 1 and len(parts[0]) == 2:
            return Plan(Const(inner_attribute), (*call.args, *map(Const, parts[0])))
        if any(len(path) > 1 for path in parts):
            return None
    f = _PLANNED.get((getter, len(keys)))
    return None if f is None else Plan(Const(f), (*call.args, *keys))


_PLANNED: dict[tuple[type, int], Any] = {
    (operator.itemgetter, 1): operator.getitem,
    (operator.itemgetter, 2): two_items,
    (operator.itemgetter, 3): three_items,
    (operator.attrgetter, 1): getattr,
    (operator.attrgetter, 2): two_attributes,
    (operator.attrgetter, 3): three_attributes,
}
"""By how many items or attributes a getter asks for."""


def _stays(x: Any) -> bool:
    return isinstance(x, float) or is_fixed(x) or (is_code_like(x) and not is_data(x))


class Dispatch:
    """What a function by `functools.singledispatch` calls for a class, as a scope that guards look into."""

    __slots__ = ("cls", "f")

    def __init__(self, f: Any, cls: type):
        self.f, self.cls = f, cls

    def get(self, name: str, default: Any) -> Any:
        return self.f.dispatch(self.cls)


def dispatched(f: Any, t: T, call: Call) -> tuple[Plan, Guard] | None:
    """A call of such a function with a first argument of this type, and what that relies on."""
    if not is_generic(f):
        return None
    cls = t.cls if isinstance(t, Obj) else class_of(widen(t))
    if cls is None:
        return None
    found = f.dispatch(cls)
    return Plan(Const(found), call.args, call.kwargs), Guard(Dispatch(f, cls), cls.__name__, found)


def partials(fn: Function, type_of: Callable[[Operand], T]) -> set[Var]:
    """The values that are new partials for sure: to make them does nothing else."""
    found: set[Var] = set()
    for b in fn.blocks:
        for s in b.stmts:
            if s.args and type_of(s.fn) == Known(functools.partial):
                t = type_of(s.args[0])
                if s.args[0] in found or isinstance(t, (Fn, Meth)) or (isinstance(t, Known) and callable(t.value)):
                    found.add(s.out)
    return found
