"""What a name or an attribute is, and what calls come to by the classes of objects."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import itertools
import operator
import sys
import types as pytypes
from typing import Any

import numpy as np

from mooncake_py.errors import MooncakeError, UnsupportedError
from mooncake_py.fields import ABSENT, delete_name, load_name, own, set_args, set_kept, store_name
from mooncake_py.hashing import hashable
from mooncake_py.infer import enumerations
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.choices import RAISES, attribute_of_any, gone_over, has_no
from mooncake_py.infer.computed_names import attribute_named, attribute_set, name_of_class
from mooncake_py.infer.descriptors import constant_of, describes
from mooncake_py.infer.held import (
    assigns_values,
    attribute_of,
    is_kept_by,
    is_library,
    is_namespace,
    is_opened,
    is_rebound,
    is_set,
    kinds_rebound,
    may_be_given,
    may_change,
    module_of,
    of_library,
)
from mooncake_py.infer.inferred import CallInfo, Guard
from mooncake_py.infer.kept_names import reads_kept, reads_kept_for, writes_kept
from mooncake_py.infer.lookup import MISSING, carries, is_function, of_metaclass
from mooncake_py.infer.outside_writes import NAMESPACES
from mooncake_py.infer.parts import activate
from mooncake_py.infer.predicates import classes_given, fold_hasattr, fold_isinstance, tells_content, uses_up
from mooncake_py.infer.protocol import KEEP_ARGUMENTS, PLAIN_READS, Classes, Plan, exact_class
from mooncake_py.infer.quiet import way_to_list
from mooncake_py.infer.resolve import attribute, class_of, is_code_like
from mooncake_py.infer.state import State
from mooncake_py.infer.types import (
    BOT,
    Dct,
    Fn,
    Inst,
    Known,
    Lst,
    Meth,
    Native,
    Obj,
    Real,
    T,
    Top,
    Tup,
    Union,
    join,
    union,
    widen,
)
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.iterators import DICT_VIEWS, KEYS_VIEWS, item_by_item, items_left, iterating
from mooncake_py.patterns import attribute_among, matcher, matcher_of_keys
from mooncake_py.printing import printed
from mooncake_py.raised import looked_at
from mooncake_py.registry import called_as, find_rule, rules_of
from mooncake_py.rule import Rule
from mooncake_py.run import ARRAYS, ATTRIBUTES
from mooncake_py.structure import is_builtin, is_user_class, of_constant_package
from mooncake_py.unwinding import users_match

OF_NAMES = {ops.load_global: load_name, ops.store_global: store_name, ops.delete_global: delete_name}
"""What stands for these where a global variable may be assigned what has a derivative."""
_OF_NUMBERS = (np.finfo, np.iinfo)
"""What says how numbers are stored, the same for ever."""
_NUMBERS = frozenset({int, float, complex, bool, str})
_COUNTED = _NUMBERS | {type(None)}
_REAL = frozenset({bool, int, float})
_OF_EXCEPTIONS = KEEP_ARGUMENTS | {ops.exc_match, users_match, looked_at}
_DATA = _NUMBERS | {dict, list, tuple, np.ndarray, type(None), itertools.count}
_OF_FUNCTIONS = frozenset({"__defaults__", "__kwdefaults__", "__closure__"})


GIVE_NAMES = frozenset({globals, vars, getattr})


def is_of_users(scope: Any) -> bool:
    """Are these the variables of a module of the user's?"""
    return isinstance(scope, dict) and is_namespace(scope) and not of_library(scope.get("__name__") or "")


def keeps_names(t: T) -> bool:
    """May this be a class or function of the user's, or a module?"""
    of_users = isinstance(t, Known) and isinstance(t.value, (type, pytypes.FunctionType)) and not is_library(t.value)
    return of_users or isinstance(t, (Fn, Top)) or (isinstance(t, Inst) and t.cls is pytypes.ModuleType)


class Attributes(State):
    """What a name or an attribute is."""

    def global_type(self, name: str) -> T:
        g = self.globals
        if name in g:
            scope, value = g, g[name]
        elif name in self.builtins:
            scope, value = self.builtins, self.builtins[name]
            self.guards[(id(g), name)] = Guard(g, name, ABSENT)
        else:
            return Top()
        return self.value_type(scope, name, value)

    def of_rebound(self, s: Call, f: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T | None:
        """A global variable that the run may assign what has a derivative to: what it holds is known when it runs."""
        name = args[0].value  # type: ignore[union-attr]
        module = module_of(self.globals) if self.wary >= ARRAYS and may_be_given(self.globals, name) else None
        if module is None:
            return None
        keeps = reads_kept(self, module, name) if f is ops.load_global else None
        if f is ops.store_global:
            keeps = writes_kept(self, module, name, args[1])
        if keeps is not None:
            return self.planned(s, keeps)
        why = f"the global variable {name}"
        of_module = (Const(module), *args)
        self.calls[s.out] = CallInfo("dynamic", OF_NAMES[f], None, of_module, (), (Known(module), *types), why)
        return Top(True) if f is ops.load_global else Known(None)

    def value_type(self, scope: Any, name: str, value: Any) -> T:
        """The type of what a name of a module stands for, which is relied on."""
        if self.wary and is_rebound(scope, name) and not may_be_given(scope, name):
            return self.counted_type(scope, name, value)
        if self.wary and type(value) not in _NUMBERS and is_rebound(scope, name):
            return Top()
        if self.wary >= ATTRIBUTES and is_of_users(scope) and not isinstance(value, pytypes.ModuleType):
            return Top()
        if is_code_like(value) and not self._is_typed(value) and not may_change(value, self.wary):
            self.guards[(id(scope), name)] = Guard(scope, name, value)
            return Known(value)
        t = abstract(value, False)
        # What it holds may be of other types next time, so it is looked at even if it is the same.
        same = ABSENT if tells_content(self.seen(t)) else value
        self.guards[(id(scope), name)] = Guard(scope, name, same, t)
        return self.seen(abstract(value, True) if may_change(value, self.wary) else t)

    def counted_type(self, scope: Any, name: str, value: Any) -> T:
        """The type of a global variable that the run assigns constants to, and what is counted from them."""
        kinds = {type(value), *kinds_rebound(scope, name)}
        if not kinds <= _COUNTED:
            return Top()
        numbers = kinds & _REAL
        of_each: list[T] = [Known(None) if k is type(None) else Inst(k) for k in sorted(kinds - numbers, key=str)]
        if numbers:
            of_each.append(Inst(next(iter(numbers))) if len(numbers) == 1 else Real(False, frozenset(numbers)))
        t = functools.reduce(join, of_each)
        if type(t) is Top:
            return t
        self.guards[(id(scope), name)] = Guard(scope, name, ABSENT, t)
        return t

    def _is_typed(self, value: Any) -> bool:
        """Is it an object, be it one that can be called, of which its class and attributes tell more than itself?"""
        cls = type(value)
        return self.classes is not None and is_user_class(cls) and cls not in called_as and not rules_of(value)

    def of_module(self, module: pytypes.ModuleType, name: str) -> T | None:
        """The type of an attribute of a module; None where it has none, or decides itself what it is."""
        scope, value = vars(module), attribute_of(module, name, ABSENT)
        if (is_code_like(value) and not self._is_typed(value)) or isinstance(value, (int, float, str)):
            self.guards[(id(scope), name)] = Guard(scope, name, value)
            return Known(value)
        return self.value_type(scope, name, value) if scope.get(name, ABSENT) is value is not ABSENT else None

    def imported(self, name: str, names: Any, level: int) -> T:
        """The type of a module that is imported here, if it is there already."""
        if level:
            try:
                name = importlib.util.resolve_name("." * level + name, self.globals.get("__package__"))
            except ImportError:
                return Top()  # as it will be when it runs
        elif not names:
            name = name.partition(".")[0]
        module = sys.modules.get(name, ABSENT)
        self.guards[(id(sys.modules), name)] = Guard(sys.modules, name, module)  # what is imported later is known then
        return Known(module) if isinstance(module, pytypes.ModuleType) else Top()

    def may_be_set(self, holder: Any, name: str) -> bool:
        """May the run set what a module, class or function keeps by this name, to something with a derivative?"""
        return is_kept_by(holder, name, self.wary) or is_rebound(vars(holder), name)

    def check_scope(self, s: Call, f: Any, types: tuple[T, ...]) -> None:
        """Refuse the dict of global variables, where one is assigned what may have a derivative: nobody would know."""
        scope = self.globals if f is globals else None
        if f is vars or (f is getattr and types[1:] == (Known("__dict__"),)):
            t = types[0] if types else BOT
            scope = vars(t.value) if isinstance(t, Known) and isinstance(t.value, pytypes.ModuleType) else None
        if scope is not None and assigns_values(scope):
            what = "the dict of global variables, one of which is assigned what may have a derivative,"
            raise UnsupportedError(what, self.fn.filename, s.pos.line, "name the variable")

    def of_class(self, s: Call, classes: Classes, args: tuple[Operand, ...], types: tuple[T, ...]) -> T | None:
        """The type of what a class keeps by a name: data, of which what is in it is looked at before each run."""
        t, name = types[0], types[1].value  # type: ignore[attr-defined]
        if isinstance(t, Known) and type(t.value) is type:
            cls = t.value
        elif isinstance(t, Obj) and t.field(name) is None and classes.look(t.cls, "__getattribute__") in PLAIN_READS:
            cls = t.cls
        else:
            return None
        d = classes.look(cls, name)
        kept = d is not MISSING and type(d) in _DATA
        if not kept or self.wary or is_library(cls) or (cls, name) in classes.own:
            return None
        owner = next(k for k in cls.__mro__ if name in k.__dict__)
        held = Known(d) if type(d) in _NUMBERS else self.value_type(classes.scope(owner), name, d)
        # It is no part of the object that it is asked of.
        self.calls[s.out] = CallInfo("plain", getattr, None, (Const(owner), args[1]), (), types, holder=owner)
        return held

    def getattr(self, s: Call, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        assert isinstance(types[1], Known)
        t, name = types[0], types[1].value
        if self.wary and isinstance(t, Known) and isinstance(t.value, NAMESPACES) and self.may_be_set(t.value, name):
            if len(args) == 2 and (plan := reads_kept(self, t.value, name)) is not None:
                return self.planned(s, plan)
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, f"attribute {name}")
            return Top(True)
        if isinstance(t, Known) and type(t.value) is functools.partial and name == "keywords" and is_opened(t.value):
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, "what a partial is given")
            return Top(True)
        if isinstance(t, Native) and name == "args" and self.active():  # a key, say, that has a derivative
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, "what an exception was made of")
            return Top(True)
        if isinstance(t, Inst) and of_constant_package(t.cls) and (self.wary or attribute(t, name, s) is None):
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, "what it gives may be held there")
            return Top(bool(self.wary))
        cls = t.cls if isinstance(t, Obj) and t.field(name) is None else t.value if isinstance(t, Known) else None
        if isinstance(cls, type) and name in self.shape.set_on_classes and self._is_code(cls, name):
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, "it is set in this function")
            return Top(True)
        if self.wary and self.is_set_late(t, name):
            if len(args) == 2 and isinstance(t, Obj) and (plan := reads_kept_for(self, args[0], t, name)) is not None:
                return self.planned(s, plan)
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, "it may be set in the run")
            return Top(True)
        made = t.value if isinstance(t, Known) and isinstance(t.value, type) else None
        if made is not None and (carries(made, name) or of_metaclass(made, name)):
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, f"attribute {name}")
            return Top(True)
        if isinstance(t, Known) and isinstance(t.value, pytypes.ModuleType):
            held = self.of_module(t.value, name)
            if held is not None:
                self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
                return held
        names = [name_of_class(self, x, name) for x in (t.options if isinstance(t, Union) else (t,))]
        if None not in names and len(args) == 2:
            self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
            return names[0] if len(names) == 1 else Inst(str)  # type: ignore[return-value]
        if isinstance(t, Known) and isinstance(t.value, (type, np.ufunc)):
            value = getattr(t.value, name, ABSENT)
            if isinstance(
                value, (pytypes.BuiltinFunctionType, pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)
            ):
                self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
                return Known(value)
        if isinstance(t, Known) and isinstance(t.value, _OF_NUMBERS) and hasattr(t.value, name):
            self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
            return abstract(getattr(t.value, name), False)
        if name == "name" and exact_class(t) is dataclasses.Field:
            self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
            return Known(t.value.name) if isinstance(t, Known) else Inst(str)
        if isinstance(t, Known) and describes(t.value) and len(args) == 2:
            if (held := self.of_descriptor(s, t.value, name)) is not None:
                kind = "op" if isinstance(held, Meth) else "plain"
                self.calls[s.out] = CallInfo(kind, getattr, None, args, (), types)
                return held
        if name == "__class__" and isinstance(t, (Lst, Dct)) and (cls := class_of(t)) is not None and len(args) == 2:
            self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
            return Known(cls)
        if name == "mapping" and len(args) == 2 and (d := self.viewed(args[0])) is not None:
            return self.planned(s, Plan(Const(pytypes.MappingProxyType), (d,)))
        if isinstance(t, Inst) and t.cls in KEYS_VIEWS and name == "mapping":
            self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, "what is in the dict is not known")
            return Top(True)
        if len(args) == 2 and has_no(t, name):
            self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types, RAISES)
            return BOT
        if self.classes is not None:
            found_ = enumerations.read(self, s, args[0], t, name) if len(args) == 2 else None
            if found_ is not None or (name == "__dict__" and s.out not in self.shape.looked_into):
                pass
            elif isinstance(t, Union) and len(args) == 2:
                found_ = attribute_of_any(self.classes, s, args[0], t, name)
            elif isinstance(t, Obj) and len(args) == 3 and t.field(name) is None and self.is_missing(t, name):
                return self.planned(s, Plan(Const(attribute_among((), True)), args))
            elif isinstance(t, Obj) and (len(args) == 2 or self.classes.is_there(t, name)):
                found_ = self.classes.read(s, args[0], t, name)
            elif isinstance(t, Tup) and t.cls is not tuple:
                found_ = self.classes.read_named(s, args[0], t, name)
            elif isinstance(t, Known) and isinstance(t.value, type) and len(args) == 2:
                found_ = self.classes.read_class(s, t.value, name)
            if found_ is not None:
                return self.found(s, *found_, args[:2], types[:2])
            if len(args) == 2 and (held := self.of_class(s, self.classes, args, types)) is not None:
                return held
        if self.wary and (not isinstance(t, Known) or isinstance(t.value, (type, pytypes.FunctionType))):
            if not isinstance(t, Known) or not is_code_like(getattr(t.value, name, ABSENT)):
                if isinstance(t, (Top, Known)) or (isinstance(t, Inst) and is_user_class(t.cls)):
                    self.calls[s.out] = CallInfo("dynamic", getattr, None, args, (), types, f"attribute {name}")
                    return Top(True)
        if name == "f_locals" or (name in _OF_FUNCTIONS and t.active):
            raise UnsupportedError(f"reading {name} of what may have derivatives", self.fn.filename, s.pos.line)
        found = attribute(widen(t), name, s)
        if found is not None:
            r, descriptor = found
            if descriptor is None:
                self.calls[s.out] = CallInfo("op", getattr, None, args, (), types)
                return r
            return self.resolved_attribute(s, descriptor, args[:1], (widen(t),), r)
        act = t.active and name != "__traceback__"
        # Of one of several types, which may be told apart; by a property, which may give functions that it makes.
        seen = act or isinstance(t, Union) or (isinstance(t, Inst) and is_user_class(t.cls))
        self.calls[s.out] = CallInfo(
            "dynamic" if seen else "plain", getattr, None, args, (), types, f"attribute {name}"
        )
        return Top(act)

    def viewed(self, view: Operand) -> Operand | None:
        """The dict that this is a view of, made in sight: `d.keys()`, say."""
        made = self.shape.defs.get(view) if isinstance(view, Var) else None
        m = None if made is None or made.args or made.kwargs else self.type_of(made.fn)
        known = isinstance(m, Meth) and m.func in DICT_VIEWS and m.is_read_as(made.fn)  # type: ignore[union-attr]
        return m.receiver if known else None  # type: ignore[union-attr]

    def of_descriptor(self, s: Call, d: Any, name: str) -> T | None:
        """A method of what computes attributes, or a number, text or function that it holds, which is relied on."""
        value = constant_of(d, name)
        if value is not MISSING and (not self.wary or type(value) is str):  # the name that its own methods write by
            self.guards[(id(d.__dict__), name)] = Guard(d.__dict__, name, value)
            return Known(value)
        if self.classes is None or name in getattr(d, "__dict__", ()):
            return None
        method = self.classes.look(type(d), name)
        return Meth(method, (s,)) if is_function(method) else None

    def _is_code(self, cls: type, name: str) -> bool:
        """Is it a function, class or property that a class of the user's has by this name?"""
        d = None if is_library(cls) or self.classes is None else self.classes.look(cls, name)
        return is_code_like(d) or isinstance(d, (property, classmethod, staticmethod))

    def is_set_late(self, t: T, name: str) -> bool:
        """May the run set this name of a module, a class or the class of an object, whatever it holds by it?"""
        holder = t.value if isinstance(t, Known) else t.cls if isinstance(t, (Obj, Inst)) else None
        if isinstance(t, Obj) and t.field(name) is not None:
            return False
        return isinstance(holder, (type, pytypes.ModuleType)) and is_set(holder, name, self.wary)

    def is_missing(self, t: Obj, name: str) -> bool:
        """Has neither the class nor any object of this type such an attribute?"""
        assert self.classes is not None
        return self.classes.is_there(t, name) is False and self.classes.look(t.cls, name) is MISSING

    def has_attribute(self, x: Operand, t: T, name: str) -> T | None:
        """What `hasattr(x, name)` gives; None where code of the user's may be asked."""
        if isinstance(t, Union):
            found = [self.has_attribute(x, o, name) for o in t.options]
            return None if None in found else found[0] if len(set(found)) == 1 else Inst(bool)
        made = self.shape.defs.get(x) if isinstance(x, Var) else None
        there = fold_hasattr(t, name, None if made is None else self.type_of(made.fn))
        if there is None and self.classes is not None:
            if isinstance(t, Known):
                there = self.classes.has(t.value, name)
            elif isinstance(t, Obj) and (there := self.classes.is_there(t, name)) is False:
                return Inst(bool)  # it may be there
        return None if there is None else Known(there)

    def found(self, s: Call, t: T, how: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        """An attribute of an object or class that is known: see `Classes.read`."""
        if isinstance(how, Plan):
            return self.planned(s, how)
        if how is None:
            receiver = t.receiver if isinstance(t, Meth) else args[0]
            self.calls[s.out] = CallInfo("op", getattr, None, (receiver, Const(None)), (), types)
        elif isinstance(how, int):
            by_place = (types[0], Known(how))
            self.calls[s.out] = CallInfo("op", operator.getitem, None, (args[0], Const(how)), (), by_place)
        elif how is getattr:
            self.calls[s.out] = CallInfo("plain", getattr, None, args, (), types)
        else:
            self.calls[s.out] = CallInfo("rule", how, rules_of(how)[0], args, (), types)
        return t

    def resolved_attribute(self, s: Call, d: Any, args: tuple[Operand, ...], types: tuple[T, ...], r: T) -> T:
        rule = find_rule(d, types)
        if isinstance(rule, Rule) and rule.fn is None:
            self.calls[s.out] = CallInfo("plain", getattr, rule, s.args, (), types)
            return activate(r, False)
        if not types[0].active:
            self.calls[s.out] = CallInfo("plain", getattr, None, s.args, (), types)
            return r
        if isinstance(rule, Rule):
            self.calls[s.out] = CallInfo("rule", d, rule, args, (), types)
            return r
        self.calls[s.out] = CallInfo("dynamic", getattr, None, s.args, (), types, f"no rule for attribute {d!r}")
        return Top(True)

    def of_dict(
        self,
        s: Call,
        classes: Classes,
        f: Any,
        args: tuple[Operand, ...],
        types: tuple[T, ...],
        items: list[tuple[str, Operand]] | None,
    ) -> T | None:
        """`x.__dict__.update(...)`, or one item of that, which is known by name: attributes are set, whatever the class
        says of that. By names that are not known it may be any of them.
        """
        made = self.shape.defs.get(args[0]) if isinstance(args[0], Var) else None
        if made is None or made.out not in self.shape.looked_into or not made.args or made.args[0] == args[0]:
            return None
        x = made.args[0]
        t = self.type_of(x)
        if isinstance(t, Obj) and items and s.out not in self.late:
            if all(classes.keeps(t, k) for k, _ in items):
                return self.planned(s, Plan(Const(set_kept), (x,), tuple(items)))
        why = "attributes of any name are set"
        self.calls[s.out] = CallInfo("dynamic", f, None, args, s.kwargs, types, why)
        return Known(None)

    def of_exception(self, s: Call, f: Any, t: Obj, args: tuple[Operand, ...], types: tuple[T, ...]) -> T | None:
        """What is asked of an exception that is known, and the `__init__` that keeps its arguments."""
        if f in KEEP_ARGUMENTS:
            if s.kwargs or s.out in self.late:
                return None
            self.calls[s.out] = CallInfo("rule", set_args, rules_of(set_args)[0], args, (), types)
            return Known(None)
        if issubclass(t.cls, MooncakeError):
            return None
        if f is looked_at:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(None)
        if f is ops.exc_match:
            classes = classes_given(types[1])
            caught = None if classes is None else fold_isinstance(t, classes)
        else:
            caught = types[1].value if isinstance(types[1], Known) else None
        self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
        return Inst(bool) if caught is None else Known(caught)

    def of_object(self, s: Call, classes: Classes, f: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T | None:
        """A call that comes down to what the classes of objects say; None for any other."""
        t = types[0] if types else BOT
        if f is setattr or f is object.__setattr__:
            if f is setattr and len(types) == 3 and s.out not in self.late:
                chosen = attribute_set(self, args, types)
                if chosen is not None:
                    return self.planned(s, chosen)
            if len(types) != 3 or not isinstance(t, Obj) or not isinstance(types[1], Known) or s.out in self.late:
                return None
            args = (args[0], Const(types[1].value), args[2])
            how = classes.write(t, args, types[1].value, types[2], raw=f is not setattr)
            if isinstance(how, Plan):
                return self.planned(s, how)
            if how is not None:
                self.calls[s.out] = CallInfo("rule", how, rules_of(how)[0], args, (), types)
                return Known(None)
        elif f is set_kept:
            if not isinstance(t, Obj) or s.out in self.late or not classes.keeps(t, types[1].value):  # type: ignore[attr-defined]
                return self.dynamic(s, "what keeps the attributes is not known")
            self.calls[s.out] = CallInfo("rule", f, rules_of(f)[0], args, (), types)
            return Known(None)
        elif (f is users_match and types[1] == Known(False)) or (
            f is ops.exc_match and isinstance(t, Native) and _are_users(types[1])
        ):
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(False)
        elif isinstance(t, Obj) and issubclass(t.cls, BaseException) and _is_of_exceptions(f):
            return self.of_exception(s, f, t, args, types)
        elif f is ops.load_super:
            match types[1:]:
                case (Known(value=type() as cls), (Obj() | Tup() | Dct()) as x, Known(value=name)):
                    found = classes.read_super(s, cls, x, name)
                    return None if found is None else self.found(s, *found, args[2:], types[2:])
        elif f is ops.load_special:
            method = classes.look(t.cls, types[1].value) if isinstance(t, Obj) and isinstance(types[1], Known) else None
            return (
                self.found(s, Meth(method, (s,), t.active), None, args[:1], types[:1]) if is_function(method) else None
            )
        elif f is print and (file := dict(s.kwargs).get("file")) is not None:
            to = self.type_of(file)
            if isinstance(to, Obj) and is_function(classes.look(to.cls, "write")):
                return self.planned(s, Plan(printed, args, s.kwargs))
            if not isinstance(to, (Known, Obj)):
                return self.dynamic(s, "what is printed to is known when it runs")
        elif f is dataclasses.fields and len(args) == 1 and not s.kwargs:
            fields = classes.fields_of(t)
            if fields is not None:
                self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
                return Known(fields)
        elif f is ops.match_class:
            names = _names_matched(classes, types)
            return None if names is None else self.planned(s, Plan(matcher(names), args[:2]))
        elif f is ops.match_keys and isinstance(t, Dct) and is_builtin(t.cls) and isinstance(types[1], Known):
            keys = types[1].value
            if len(set(keys)) == len(keys):  # else it raises
                return self.planned(s, Plan(matcher_of_keys(len(keys)), (args[0], *map(Const, keys))))
        elif f is iter and isinstance(t, Obj) and len(args) == 1 and not self.gives_no_items(t):
            method = classes.look(t.cls, "__iter__")
            if is_function(method):
                alone = s.out in self.shape.looped and not method.__code__.co_flags & inspect.CO_GENERATOR
                return self.planned(s, Plan(iterating, (Const(method), *args)) if alone else Plan(method, args))
        elif any(isinstance(x, Obj) for x in types) and (k := uses_up(f, types)) is not None and not s.kwargs:
            of = types[k]
            if isinstance(of, Obj) and is_function(classes.look(of.cls, "__iter__")):
                way = way_to_list(f, of.cls)
                each = item_by_item(f, class_of(t)) if way is items_left else None
                if each is not None:
                    return self.planned(s, Plan(each, args))
                return self.planned(s, Plan(way, (args[k],), (), None, k - (len(args) - len(s.args))))
        elif f is own and isinstance(t, Obj):
            held, how = classes.stored(t, t.field(types[1].value))  # type: ignore[attr-defined]
            return self.found(s, held, how, args, types)
        elif f is dict.update and len(args) <= 2:
            given = self.shape.shown(args[1]) if len(args) == 2 else []
            return self.of_dict(s, classes, f, args, types, None if given is None else [*given, *s.kwargs])
        elif f is operator.setitem and isinstance(t, Dct):
            name = types[1].value if isinstance(types[1], Known) and type(types[1].value) is str else None
            return self.of_dict(s, classes, f, args, types, None if name is None else [(name, args[2])])
        elif f is vars and len(args) == 1 and isinstance(t, Obj) and s.out in self.shape.looked_into:
            found = classes.read(s, args[0], t, "__dict__")
            return None if found is None else self.found(s, *found, (*args, Const("__dict__")), (t, Known("__dict__")))
        elif f is object.__init__ and len(args) == 1 and isinstance(t, Obj):
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(None)
        elif f is type and len(args) == 1 and (known := _class_of_any(t)) is not None:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return known
        elif f is getattr and len(args) in (2, 3) and not s.kwargs:
            plan = attribute_named(self, s, args, types)
            return None if plan is None else self.planned(s, plan)
        elif (f is operator.eq or f is operator.ne) and len(types) == 2 and all(map(classes.is_itself, types)):
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Inst(bool)
        elif (f is ops.truth or f is operator.not_ or f is bool) and len(args) == 1 and classes.is_true(t):
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(f is not operator.not_)
        elif (f is ops.truth or f is operator.not_ or f is bool) and len(args) == 1 and isinstance(t, Union):
            if all(o == Known(None) or classes.is_true(o) for o in t.options):
                self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
                return Inst(bool)
        elif hashable(f):
            plan = classes.call(f, args, types, s.kwargs)
            if plan is not None:
                return self.planned(s, plan)
            if (not s.kwargs and classes.refuses(f, types)) or any(map(self.gives_no_items, gone_over(f, types))):
                self.calls[s.out] = CallInfo("plain", f, None, args, (), types, RAISES)
                return BOT
        return None


def _class_of_any(t: T) -> T | None:
    """What `type` gives for a value of this type; None where that is not known."""
    classes = [class_of(x) for x in (t.options if isinstance(t, Union) else (t,))]
    return None if None in classes else union(map(Known, classes))


def _names_matched(classes: Classes, types: tuple[T, ...]) -> tuple[str | None, ...] | None:
    """What a class pattern asks for, where that is found in a class that stays what it is."""
    match types[1:]:
        case (Known(value=type() as cls), Known(value=int() as n), Known(value=tuple() as names)):
            if type(cls) is not type or classes.has(cls, "__match_args__") is None:
                return None
            given = classes.look(cls, "__match_args__") if n else ()
            if given is MISSING and n == 1 and issubclass(cls, ops.MATCH_THEMSELVES):
                return (None, *names)
            if type(given) is tuple and n <= len(given):
                return (*given[:n], *names)
    return None


def _are_users(t: T) -> bool:
    """Are these classes all of the user's own?"""
    given = classes_given(t)
    classes = given if isinstance(given, tuple) else (given,)
    return all(isinstance(c, type) and is_user_class(c) and not is_library(c) for c in classes)


def _is_of_exceptions(f: Any) -> bool:
    return hashable(f) and f in _OF_EXCEPTIONS
