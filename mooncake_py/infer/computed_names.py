"""Names of attributes that are put together when it runs: `getattr(self, "visit_" + type(node).__name__)`.

Which attributes an object of a known class has whose names begin so is known. The read is one for each of these. So it
is where a name is one of those that are written down: `getattr(p, "ab"[i])`, `getattr(p, "on" if x else "off")`,
and where such a name is set.
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
from mooncake_py.infer.types import Bot, Inst, Known, Obj, T, Top, Tup
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.patterns import attribute_among, attribute_set_among

MOST_NAMES = 24
_PLACES = (Inst(int), Inst(bool))
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
    if classes is None or isinstance(t, (Bot, Top)):
        return None
    chosen = _chosen(state, args[1], types[1]) if len(args) == 2 else ()
    if chosen and not is_found_by_class(state, s):
        return Plan(Const(attribute_among(chosen, False)), args)
    if not isinstance(t, Obj) or not isinstance(types[1], Inst) or types[1].cls is not str:
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


def attribute_set(state: State, args: tuple[Operand, ...], types: tuple[T, ...]) -> Plan | None:
    """The write of an attribute by one of several names that are written down; None for any other."""
    names = _chosen(state, args[1], types[1]) if isinstance(types[0], Obj) else ()
    return Plan(Const(attribute_set_among(names)), args) if names else None


def _chosen(state: State, name: Operand, t: T) -> tuple[str, ...]:
    """The names of which a string is surely one: items of a text or tuple, or what branches choose from."""
    if not isinstance(t, Inst) or t.cls is not str or not isinstance(name, Var):
        return ()
    found: dict[Any, None] = {}
    for v in state.shape.comes_from(name) if name in state.shape.joining else [name]:
        values = _values(state, v)
        if not 0 < len(values) <= MOST_NAMES or not all(type(x) is str for x in values):
            return ()
        found.update(dict.fromkeys(values))
    return tuple(found) if len(found) <= MOST_NAMES else ()


def _values(state: State, v: Operand, depth: int = 3) -> tuple[Any, ...]:
    """The constants that a value is one of, as what it is an item of says; none where that is not seen."""
    t = state.type_of(v)
    if isinstance(t, Known):
        return (t.value,)
    if (over := _goes_over(state, v)) is not None:
        return _items(state.type_of(over))
    made = state.shape.defs.get(v)  # type: ignore[arg-type]
    if made is None or not depth or not is_const(made.fn, operator.getitem):
        return ()
    whole, place = made.args
    shown = state.shape.defs.get(whole)  # type: ignore[arg-type]
    if shown is not None and is_const(shown.fn, ops.unpack):
        whole = shown.args[0]
        shown = state.shape.defs.get(whole)  # type: ignore[arg-type]
    if not isinstance(place, Const):
        return _items(state.type_of(whole)) if state.type_of(place) in _PLACES else ()
    if shown is not None and is_const(shown.fn, ops.build_tuple):
        return _values(state, shown.args[place.value], depth - 1) if place.value in range(len(shown.args)) else ()
    zipped = state.shape.defs.get(_goes_over(state, whole))  # type: ignore[arg-type]
    if zipped is not None and state.type_of(zipped.fn) == Known(zip) and place.value in range(len(zipped.args)):
        return _items(state.type_of(zipped.args[place.value]))
    return ()


def _goes_over(state: State, v: Operand) -> Operand | None:
    """What a loop goes over that gives this as its item."""
    over = next((it for it, p in state.shape.brought if p is v), None)
    made = state.shape.defs.get(over) if isinstance(over, Var) else None
    alone = made is not None and is_const(made.fn, iter) and len(made.args) == 1
    return made.args[0] if alone else None  # type: ignore[union-attr]


def _items(t: T) -> tuple[Any, ...]:
    """The items of a text or tuple of constants."""
    if isinstance(t, Known):
        return tuple(t.value) if type(t.value) in (str, tuple) and len(t.value) <= MOST_NAMES else ()
    known = isinstance(t, Tup) and t.cls is tuple and all(isinstance(x, Known) for x in t.items)
    return tuple([x.value for x in t.items]) if known else ()  # type: ignore[attr-defined]


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
