"""Names of attributes that are put together when it runs: `getattr(self, "visit_" + type(node).__name__)`.

Which attributes an object of a known class has whose names begin so is known. The read is one for each of these.
"""

from __future__ import annotations

import operator
from typing import Any

from mooncake_py.infer.choices import MAKE_TEXT, TEXT_METHODS, is_found_by_class
from mooncake_py.infer.inferred import Guard
from mooncake_py.infer.lookup import MISSING
from mooncake_py.infer.protocol import PLAIN_READS, Plan
from mooncake_py.infer.shape import Shape
from mooncake_py.infer.state import State
from mooncake_py.infer.types import Inst, Known, Obj, T
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.patterns import attribute_among

MOST_NAMES = 24
LONGEST = 200


class Names:
    """What a class has by names that begin so, as a scope that guards look into."""

    __slots__ = ("cls", "known", "prefix")

    def __init__(self, cls: type, prefix: str):
        self.cls, self.prefix = cls, prefix
        self.known = self.now()

    def now(self) -> tuple[str, ...]:
        """These names."""
        names = [n for k in self.cls.__mro__ for n in vars(k) if n.startswith(self.prefix)]
        return tuple(dict.fromkeys(names))

    def get(self, name: str, default: Any) -> Any:
        """The names that were known, where they are those that the class has now."""
        return self.known if self.now() == self.known else default


class NameOf:
    """The name of a class, as a scope that guards look into."""

    __slots__ = ("cls",)

    def __init__(self, cls: type):
        self.cls = cls

    def get(self, name: str, default: Any) -> Any:
        """The name."""
        return getattr(self.cls, name)


def attribute_named(state: State, s: Call, args: tuple[Operand, ...], types: tuple[T, ...]) -> Plan | None:
    """The read of an attribute by a name that begins with what is written down; None where that says too little."""
    t, classes = types[0], state.classes
    if classes is None or not isinstance(t, Obj) or not isinstance(types[1], Inst) or types[1].cls is not str:
        return None
    prefix = _prefix(state.shape, args[1])
    if not prefix or prefix.startswith("__") or classes.look(t.cls, "__getattribute__") not in PLAIN_READS:
        return None
    if classes.look(t.cls, "__getattr__") is not MISSING or any(c == t.cls for c, _ in classes.own):
        return None
    scope = Names(t.cls, prefix)
    names = dict.fromkeys((*scope.known, *[k for k, _ in t.fields if k.startswith(prefix)]))
    if not 0 < len(names) <= MOST_NAMES or is_found_by_class(state, s):
        return None
    state.guards[(id(t.cls), f"{prefix}...")] = Guard(scope, prefix, scope.known)
    return Plan(Const(attribute_among(tuple(names), len(args) == 3)), args)


def _prefix(shape: Shape, name: Operand) -> str:
    """What a string surely begins with."""
    made = shape.defs.get(name) if isinstance(name, Var) else None
    if made is None or not made.args:
        return ""
    first = made.args[0]
    of_parts = is_const(made.fn, ops.build_string) or is_const(made.fn, operator.add)
    return first.value if of_parts and isinstance(first, Const) and type(first.value) is str else ""


def text_made(f: Any, types: tuple[T, ...]) -> T | None:
    """The string that is put together of known ones; None for anything else."""
    values = [t.value for t in types if isinstance(t, Known) and type(t.value) in (str, int)]
    if not values or len(values) < len(types) or f not in MAKE_TEXT | TEXT_METHODS:
        return None
    try:
        text = f(*values)
    except Exception:  # so it does when it runs
        return None
    return Known(text) if type(text) is str and len(text) <= LONGEST else None


def name_of_class(state: State, t: T, name: str) -> T | None:
    """What `cls.__name__` is; None where the class's own class says what that is."""
    if name not in ("__name__", "__qualname__") or not isinstance(t, Known) or type(t.value) is not type:
        return None
    scope = NameOf(t.value)
    if t.value.__flags__ & _HEAP:
        state.guards[(id(t.value), name)] = Guard(scope, name, scope.get(name, None))
    return Known(scope.get(name, None))


_HEAP = 1 << 9  # flag of a class that can be changed
