"""What a class, function or module keeps by a name that the run may set: an object with that one attribute.

Its type is that of what is kept there when the function is entered, joined with all that the function stores, as for
any object from outside; so a loop that counts in a class, or sums up in a global variable, has types. The object is the
class itself when it runs (`fields.kept_by`), with the shadow that the runtime keeps for it (`runtime/stored.py`), so
code that is decided when it runs and code that is not read and write the same.
"""

from __future__ import annotations

import types as pytypes
from abc import ABCMeta
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mooncake_py.fields import ABSENT, Kept, kept_by
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.held import is_deleted, is_library
from mooncake_py.infer.inferred import CallInfo, Guard
from mooncake_py.infer.lookup import carries
from mooncake_py.infer.protocol import PLAIN_READS, Plan
from mooncake_py.infer.types import Obj, T
from mooncake_py.ir.nodes import Call, Const, Operand
from mooncake_py.run import ATTRIBUTES

if TYPE_CHECKING:
    from mooncake_py.infer.attributes import Attributes

_PLAIN_CLASSES = frozenset({type, ABCMeta})
_TYPED = frozenset({int, float, complex, bool, str, type(None)})
"""Of what is kept, these have types that say all of them."""
_classes: dict[tuple[int, str], tuple[Any, type]] = {}


def reads_kept(a: Attributes, holder: Any, name: str) -> Plan | None:
    """What reading a name comes to; None where it is not known what is kept there."""
    owner = _owner(holder, name)
    if owner is None or not _is_typed(a, owner, name):
        return None
    return Plan(Const(getattr), (Const(owner), Const(name)), kept=True)


def reads_kept_for(a: Attributes, x: Operand, t: Obj, name: str) -> Plan | None:
    """The same for asking an object for what its class keeps."""
    assert a.classes is not None
    plain = a.classes.look(t.cls, "__getattribute__") in PLAIN_READS and (t.cls, name) not in a.classes.own
    plan = reads_kept(a, t.cls, name) if plain else None
    return None if plan is None else replace(plan, lacks=(x, Const(t.cls), Const(name)))


def writes_kept(a: Attributes, holder: Any, name: str, v: Operand) -> Plan | None:
    """The same for setting it: what a class has from another one stays there."""
    if holder is None or _owner(holder, name) is not holder or not _is_typed(a, holder, name):
        return None
    return Plan(Const(setattr), (Const(holder), Const(name), v), kept=True)


def type_of_kept(a: Attributes, s: Call, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
    """The object that stands for what is kept by a name, whose type is relied on."""
    holder, name = [v.value for v in args[:2]]  # type: ignore[union-attr]
    assert a.classes is not None
    scope = a.classes.scope(holder) if isinstance(holder, type) else vars(holder)
    t = abstract(scope.get(name, None), True)
    a.guards[(id(scope), name)] = Guard(scope, name, ABSENT, t)
    a.calls[s.out] = CallInfo("plain", kept_by, None, args, (), types)
    return Obj.of(_class_of(holder, name), True, {name: t}, (name,))


def _owner(holder: Any, name: str) -> Any:
    """The class, function or module that keeps what is read by this name; None where something else may decide."""
    if not isinstance(holder, type):
        plain = type(holder) in (pytypes.FunctionType, pytypes.ModuleType)
        return holder if plain and name in vars(holder) else None
    if type(holder) not in _PLAIN_CLASSES or is_library(holder) or carries(holder, name):
        return None
    return next((k for k in holder.__mro__ if name in k.__dict__), None)


def _is_typed(a: Attributes, owner: Any, name: str) -> bool:
    if a.classes is None or a.wary >= ATTRIBUTES or is_deleted(name):
        return False
    return type(vars(owner)[name]) in _TYPED and name[:2] != "__"


def _class_of(holder: Any, name: str) -> type:
    """The class of the object that stands for this: one for each, so that writes of others are none of this."""
    found = _classes.get((id(holder), name))
    if found is None or found[0] is not holder:
        if len(_classes) > 5000:
            _classes.clear()
        found = _classes[id(holder), name] = holder, type(name, (Kept,), {"__module__": __name__})
    return found[1]
