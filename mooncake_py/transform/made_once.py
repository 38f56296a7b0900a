"""Classes that a function makes, where each run would make the same one: they are made once, when it is derived.

So of a class in a function that holds nothing but functions, constants and annotations as much is known as of one that
stands at the top of its module. What its methods capture may be such classes, functions and constants, too.

A class that the run, or somebody after it, changed is not one to begin with: its rule is not used again (`Unchanged`),
and from then on each run makes its own, as Python does. So it is from the start where there may be several in one run.
"""

from __future__ import annotations

import abc
import builtins
import dataclasses
import functools
import operator
import types as pytypes
from collections.abc import Iterator
from typing import Any

from mooncake_py.fields import ABSENT
from mooncake_py.frontend import normalise
from mooncake_py.infer.inferred import Guard
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const, map_function
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Return
from mooncake_py.runtime.classes import made_by_others
from mooncake_py.structure import note_lasting
from mooncake_py.transform.fixed_cells import Cells
from mooncake_py.transform.late_cells import settle_cells

_CONSTANT = frozenset({int, float, complex, bool, str, bytes, type(None), type(Ellipsis)})
_OF_METHODS = frozenset({property, staticmethod, classmethod, functools.cached_property, abc.abstractmethod})
"""What a class body may call: these put a function into what Python asks for it; `field` says what one is to hold."""
_OF_CLASSES = frozenset({functools.total_ordering})
"""Decorators that change the class they are given in a way that is always the same, beside `dataclass`."""
_SPELLED = frozenset({operator.getitem, operator.or_, getattr, ops.build_list, ops.build_tuple})
"""What annotations are written with."""
_NOT_OURS = frozenset({"__slotnames__", "__annotations__", "__annotate__", "__annotations_cache__"})
"""What Python and its library keep in a class when they are asked."""
_changed: set[pytypes.CodeType] = set()
"""The bodies of classes that were changed."""


class Unchanged:
    """Whether a class holds what it was made with, as a scope that guards look into."""

    __slots__ = ("body", "cls", "held")

    def __init__(self, cls: type, body: pytypes.CodeType):
        self.cls, self.body = cls, body
        self.held = dict(vars(cls))

    def get(self, _: str, default: Any) -> Any:
        """True, or False for good."""
        now = vars(self.cls)
        same = all(now.get(k, ABSENT) is v for k, v in self.held.items())
        if same and (len(now) == len(self.held) or now.keys() - self.held.keys() <= _NOT_OURS):
            return True
        _changed.add(self.body)
        return False


def with_classes_made(fn: Function, scope: dict[str, Any]) -> tuple[Function, list[Guard]]:
    """The function with such classes as constants, and what that relies on; `scope` are the global variables."""
    if fn.suspends or not fn.calls(ops.load_build_class):
        return fn, []
    making = _Making(fn, scope)
    made = making.function()
    return (fn, []) if made is None else (settle_cells(made), making.guards)


class _Making(Cells):
    def __init__(self, fn: Function, scope: dict[str, Any]):
        super().__init__(fn)
        self.scope = scope
        self.relied: dict[str, Any] = {}
        self.guards: list[Guard] = []
        self.cells: dict[Operand, pytypes.CellType] = {}
        self.made: dict[Operand, Any] = {}
        self.of_cells: dict[Operand, Operand] = {}  # the classes that cells hold
        self.statements: dict[Operand, tuple[Call, Call, list[Call]]] = {
            s.out: c for s in self.defs.values() if (c := self._class_statement(s)) is not None
        }
        self.statements = {v: made for v, made in self.statements.items() if not self._is_set_here(v)}
        by_cell = {c: self._put_into(c) for c in self.fixed}
        self.of_cells = {c: v for c, v in by_cell.items() if v in self.statements}
        while dropped := [v for v, (_, body, _) in self.statements.items() if not self._is_plain(body)]:
            for v in dropped:
                del self.statements[v]
            self.of_cells = {c: v for c, v in self.of_cells.items() if v in self.statements}

    # -- which --

    def _class_statement(self, s: Call) -> tuple[Call, Call, list[Call]] | None:
        """What makes a class, the function of its body and the decorators; `s` is the last of these."""
        decorators = []
        while (inner := self._decorated(s)) is not None:
            decorators.append(s)
            s = inner
        maker, body = self.defs.get(s.fn), self.defs.get(s.args[0]) if s.args else None
        if maker is None or body is None or s.kwargs or not is_const(maker.fn, ops.load_build_class):
            return None
        outer = decorators[0] if decorators else s
        if self.depth[self.where[outer.out][0].id] or self._is_decorated(outer) or not isinstance(body.args[0], Const):
            return None
        return s, body, decorators

    def _decorated(self, s: Call) -> Call | None:
        """What makes the class that a known decorator is given."""
        made = self.defs.get(s.args[0]) if len(s.args) == 1 and not s.kwargs else None
        return made if made is not None and self._decorator(s) is not None else None

    def _decorator(self, s: Call) -> Any:
        f = self.value(s.fn)
        if f is dataclasses.dataclass or (type(f) is pytypes.FunctionType and f in _OF_CLASSES):
            return f
        made = self.defs.get(s.fn)
        if made is None or made.args or self.value(made.fn) is not dataclasses.dataclass:
            return None
        chosen = {k: v.value for k, v in made.kwargs if isinstance(v, Const)}
        return dataclasses.dataclass(**chosen) if len(chosen) == len(made.kwargs) else None

    def _is_decorated(self, s: Call) -> bool:
        """Is what it gives only there for a decorator?"""
        uses = [u for u in self.defs.values() if s.out in u.operands()]
        return len(uses) == 1 and self._decorated(uses[0]) is s

    def _is_set_here(self, v: Operand) -> bool:
        """Are attributes of the class set in the function itself?"""
        cells = {c for c in self.fixed if self._put_into(c) is v}
        names = {s.out for s in self.defs.values() if is_const(s.fn, ops.cell_get) and s.args[0] in cells} | {v}
        return any(s.args[0] in names for s in self.defs.values() if is_const(s.fn, setattr) or is_const(s.fn, delattr))

    def _put_into(self, cell: Operand) -> Operand | None:
        """The one value that a cell ever gets."""
        sets, first = self.sets.get(cell, []), self.defs[cell].args[0]
        if is_const(first, ops.UNBOUND):
            return sets[0].args[1] if len(sets) == 1 else None
        return None if sets else first

    def _is_plain(self, body: Call) -> bool:
        """Does a class body make functions, constants and annotations, of what is known?"""
        code = body.args[0].value  # type: ignore[union-attr]
        captured = self.defs.get(body.args[4])
        cells = () if captured is None else captured.args
        if code in _changed or not all(c in self.of_cells or self._is_known(c) for c in cells):
            return False
        reads = _Body(normalise(code), self.scope).reads()
        if reads is None or any(map(_sets_attributes_of_classes, _inner_codes(code))):
            return False
        self.relied |= reads
        return True

    def _is_known(self, cell: Operand) -> bool:
        """Does a cell hold a constant, or a function that has captured nothing, for good?"""
        v = self._put_into(cell) if cell in self.fixed and self.is_settled(cell) else None
        return v is not None and (_is_constant(v) or self._function(v) is not None)

    def _function(self, v: Operand) -> pytypes.FunctionType | None:
        """The like of a function made here that has captured nothing."""
        s = self.defs.get(v)
        if s is None or not is_const(s.fn, ops.make_function) or not isinstance(s.args[0], Const):
            return None
        defaults = self.constants(s.args[1])
        known = defaults is not None and is_const(s.args[2], None) and is_const(s.args[4], None)
        if not known or self._is_set_here(v):
            return None
        return pytypes.FunctionType(s.args[0].value, self.scope, argdefs=defaults or None)

    def value(self, v: Operand) -> Any:
        """What a global name, or an attribute of a module, stands for; ABSENT where that is not seen."""
        if isinstance(v, Const):
            return v.value
        if v in self.made:
            return self.made[v]
        s = self.defs.get(v)
        if s is None or not isinstance(s.fn, Const):
            return ABSENT
        if s.fn.value is ops.load_global:
            return self.named(s.args[0].value)  # type: ignore[union-attr]
        if s.fn.value is ops.cell_get and s.args[0] in self.of_cells:
            return self.made.get(self.of_cells[s.args[0]], ABSENT)
        if s.fn.value is getattr and isinstance(s.args[1], Const):
            x = self.value(s.args[0])
            return vars(x).get(s.args[1].value, ABSENT) if isinstance(x, pytypes.ModuleType) else ABSENT
        return ABSENT

    def named(self, name: str) -> Any:
        """What a global name stands for, which is relied on."""
        x = self.scope.get(name, ABSENT)
        self.relied[name] = x
        return vars(builtins).get(name, ABSENT) if x is ABSENT else x

    # -- the function with them --

    def function(self) -> Function | None:
        """The function without these statements; None where there are none."""
        dead: set[Call] = set()
        for b in self.fn.blocks:
            for s in b.stmts:
                if s.out in self.statements and (cls := self._class_of(s.out)) is not None:
                    self.made[s.out] = cls
                    call, body, decorators = self.statements[s.out]
                    dead |= {self.defs[call.fn], call, body, *decorators}
        if not self.made or not all(v in self.made for v in self.of_cells.values()):
            return None
        for cell, v in self.of_cells.items():
            self.cell(cell).cell_contents = self.made[v]
        for v, cls in self.made.items():
            note_lasting(cls)
            self.guards.append(Guard(Unchanged(cls, self.statements[v][1].args[0].value), "", True))  # type: ignore[union-attr]
        self.guards += [Guard(self.scope, k, x) for k, x in self.relied.items()]
        dead |= {self.defs[s.args[4]] for s in dead if is_const(s.fn, ops.make_function) and s.args[4] in self.defs}
        return map_function(self.fn, lambda v: Const(self.made[v]) if v in self.made else v, dead)

    def _class_of(self, v: Operand) -> Any:
        """The class that a statement makes; None where Python, or the user's code, has more to say than its body."""
        call, body, decorators = self.statements[v]
        name, *bases = [self.value(a) for a in call.args[1:]]
        if any(b is ABSENT for b in bases):
            return None
        code = body.args[0].value  # type: ignore[union-attr]
        captured = self.defs.get(body.args[4])
        cells = tuple([self.cell(c) for c in (() if captured is None else captured.args)])
        made = pytypes.FunctionType(code, self.scope, code.co_name, None, cells)
        try:
            if made_by_others(pytypes.resolve_bases(tuple(bases))):
                return None
            cls = builtins.__build_class__(made, name, *bases)
            for d in reversed(decorators):
                cls = self._decorator(d)(cls)
        except Exception:  # as it will when it runs
            return None
        return cls

    def cell(self, v: Operand) -> pytypes.CellType:
        """What stands for a cell of the function in those that are made."""
        if v not in self.cells:
            self.cells[v] = new = pytypes.CellType()
            if v not in self.of_cells:
                held = self._put_into(v)
                assert held is not None
                new.cell_contents = held.value if isinstance(held, Const) else self._function(held)
        return self.cells[v]


class _Body:
    """The body of a class statement, whose values are looked at one by one."""

    def __init__(self, body: Function, scope: dict[str, Any]):
        self.body, self.scope = body, scope
        self.own: set[str] = {"__name__"}  # names that it has set, and that of the module
        self.names: dict[str, Any] = {}  # global names, and what they stand for there
        self.known: dict[Operand, Any] = {}  # what values stand for that come from outside
        self.stays: set[Operand] = set()  # functions and constants, and what is made of them
        self.setters: set[Operand] = set()  # methods of properties, which give properties
        self.cells: set[Operand] = set(body.free)
        self.constant: set[Operand] = set()  # tuples and dicts of constants, which functions are made with

    def reads(self) -> dict[str, Any] | None:
        """The global names that are looked up; None where it does more than to make functions and constants."""
        if len(self.body.blocks) != 1 or not isinstance(self.body.entry.term, Return):
            return None
        return self.names if all(map(self._is_plain, self.body.entry.stmts)) else None

    def _is_plain(self, s: Call) -> bool:
        f = s.fn.value if isinstance(s.fn, Const) else None
        if f is ops.make_cell:
            self.cells.add(s.out)
            self.stays.add(s.out)
        elif f is ops.load_name:
            self._name(s, s.args[0].value)  # type: ignore[union-attr]
        elif f is ops.store_name:
            self.own.add(s.args[0].value)  # type: ignore[union-attr]
            return self._may_stay(s.args[1])
        elif f is ops.make_function:
            self.stays.add(s.out)
            return self._is_made_plainly(s)
        elif f is operator.setitem:
            return self.known.get(s.args[0]) is _ANNOTATIONS
        elif f is ops.build_map:
            self.constant.add(s.out)
            return all(_is_constant(v) for v in s.args)
        elif f is getattr and s.args[0] in self.stays:
            self.setters.add(s.out)
            return isinstance(s.args[1], Const) and s.args[1].value in ("setter", "getter", "deleter")
        elif f in _SPELLED:
            return self._is_spelled(s, f)
        else:
            return f is ops.setup_annotations or (f is None and self._is_called(s))
        return True

    def _name(self, s: Call, name: str) -> None:
        if name == "__annotations__":
            self.known[s.out] = _ANNOTATIONS
        elif name in self.own:
            self.stays.add(s.out)
        else:
            x = self.names[name] = self.scope.get(name, ABSENT)
            self.known[s.out] = vars(builtins).get(name, ABSENT) if x is ABSENT else x

    def _may_stay(self, v: Operand) -> bool:
        return _is_constant(v) or v in self.stays

    def _is_made_plainly(self, s: Call) -> bool:
        """Are cells and default values of a function known?"""
        _, defaults, named, _, closure = s.args
        return all(_is_constant(v) or v in self.constant for v in (defaults, named)) and (
            closure in self.cells or is_const(closure, None)
        )

    def _is_spelled(self, s: Call, f: Any) -> bool:
        """Is it a tuple for a function, or part of an annotation?"""
        if f is ops.build_tuple and self.cells.issuperset(s.args):
            self.cells.add(s.out)
        elif f is ops.build_tuple and all(map(_is_constant, s.args)):
            self.constant.add(s.out)
        self.known[s.out] = self._attribute(s) if f is getattr else None
        return all(isinstance(v, Const) or v in self.known or v in self.cells for v in s.args)

    def _attribute(self, s: Call) -> Any:
        x = self.known.get(s.args[0])
        return vars(x).get(s.args[1].value) if isinstance(x, pytypes.ModuleType) else None  # type: ignore[union-attr]

    def _is_called(self, s: Call) -> bool:
        """Is it a decorator of a method, or does it describe a field of a data class?"""
        self.stays.add(s.out)
        f = self.known.get(s.fn)
        if f is dataclasses.field:
            return not s.args and all(_is_constant(v) or self._makes_fields(v) for _, v in s.kwargs)
        decorates = s.fn in self.setters or any(f is d for d in _OF_METHODS)
        return decorates and len(s.args) == 1 and not s.kwargs and s.args[0] in self.stays

    def _makes_fields(self, v: Operand) -> bool:
        return v in self.stays or isinstance(self.known.get(v), type)


_ANNOTATIONS: Any = object()


def _is_constant(v: Operand) -> bool:
    return isinstance(v, Const) and _is_constant_value(v.value)


def _is_constant_value(x: Any) -> bool:
    return type(x) in _CONSTANT or (type(x) in (tuple, frozenset) and all(map(_is_constant_value, x)))


def _sets_attributes_of_classes(code: pytypes.CodeType) -> bool:
    """Does the code of a method set what looks like an attribute of a class?"""
    body = normalise(code)
    defs: dict[Operand, Call] = {s.out: s for b in body.blocks for s in b.stmts}
    set_on = [s.args[0] for s in defs.values() if is_const(s.fn, setattr) or is_const(s.fn, delattr)]
    of_class = body.params[:1] if code.co_varnames[:1] == ("cls",) else ()
    return any(v in of_class or _is_class(v, defs) for v in set_on)


def _is_class(v: Operand, defs: dict[Operand, Call]) -> bool:
    """Is it the class of an object, or what a cell around the method holds?"""
    s = defs.get(v)
    if s is None:
        return False
    if is_const(s.fn, getattr):
        return is_const(s.args[1], "__class__")
    f = defs.get(s.fn)
    return is_const(s.fn, ops.cell_get) or (
        f is not None and is_const(f.fn, ops.load_global) and is_const(f.args[0], "type")
    )


def _inner_codes(code: pytypes.CodeType) -> Iterator[pytypes.CodeType]:
    for k in code.co_consts:
        if isinstance(k, pytypes.CodeType):
            yield k
            yield from _inner_codes(k)
