"""What a call means, by the types of callee and arguments."""

from __future__ import annotations

import functools
import itertools
import operator
import types as pytypes
from collections import OrderedDict
from dataclasses import replace
from inspect import CO_GENERATOR
from typing import Any, TypeGuard

import numpy as np

from mooncake_py import registry
from mooncake_py.closures import Emptiness, cell_of, default_of, empty_default, kept_captured, kept_default, receiver_of
from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import OF_NUMBERS, bare, kept_by, make_exception, make_object, narrow, surely
from mooncake_py.hashing import hashable
from mooncake_py.infer.abstraction import FILLED
from mooncake_py.infer.attributes import GIVE_NAMES, OF_NAMES, keeps_names
from mooncake_py.infer.called_back import keys_put, may_be_run, may_call_back
from mooncake_py.infer.choices import (
    MOST_SPLITS,
    OF_REALS,
    RAISES,
    of_each_option,
    refuses,
    split_of,
    split_of_receiver,
)
from mooncake_py.infer.codes import GIVE_HANDLED, OF_FRAMES
from mooncake_py.infer.columns import by_columns
from mooncake_py.infer.comparing import are_compared_quietly
from mooncake_py.infer.computed_names import text_made
from mooncake_py.infer.enumerations import GO_THROUGH, is_member, looked_up, members_of
from mooncake_py.infer.held import is_library
from mooncake_py.infer.held_functions import held, held_method, type_held
from mooncake_py.infer.inferred import Awaited, CallInfo, Guard, Starred
from mooncake_py.infer.kept_names import type_of_kept, writes_kept
from mooncake_py.infer.lookup import is_function
from mooncake_py.infer.many import grown, of_items
from mooncake_py.infer.matched import MATCHES, matches
from mooncake_py.infer.named import answers
from mooncake_py.infer.narrowing import only, without
from mooncake_py.infer.partials import dispatched, found_outside, made_there
from mooncake_py.infer.parts import activate, keys_of, may_be_complex
from mooncake_py.infer.places import listed, placed
from mooncake_py.infer.predicates import (
    COMPARES,
    ITERATORS,
    class_made,
    classes_given,
    decides,
    fold_compared,
    fold_is,
    fold_isinstance,
    holds_objects,
    holds_unknown,
    is_derived_number,
    may_be_asked,
    may_be_iterator,
    may_be_told,
    may_be_written,
    may_change_as_index,
    may_say,
    takes_items,
)
from mooncake_py.infer.protocol import Plan
from mooncake_py.infer.python_calls import PythonCalls, is_empty_so_far
from mooncake_py.infer.quiet import END, does_at_its_end
from mooncake_py.infer.resolve import class_of, result_type
from mooncake_py.infer.results import is_plain, result_of
from mooncake_py.infer.seen_otherwise import check_key, check_tee
from mooncake_py.infer.special_methods import asks
from mooncake_py.infer.stars import spread_out
from mooncake_py.infer.state import Found, gives_known
from mooncake_py.infer.types import (
    BOT,
    COUNTS,
    Arr,
    Bot,
    Dct,
    Fn,
    Inst,
    Known,
    Lst,
    Meth,
    Obj,
    Real,
    SetOf,
    T,
    Top,
    Tup,
    Union,
    is_scalar,
    widen,
)
from mooncake_py.infer.writers import may_write
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Operand, Var
from mooncake_py.iterators import item_within
from mooncake_py.outputs import can_be_split, writes_out
from mooncake_py.registry import (
    asking_items,
    find_rule,
    in_steps,
    incurious,
    is_pure,
    of_numpy,
    probed,
    rules_of,
    runs_given,
    seen_through,
)
from mooncake_py.rule import Rule
from mooncake_py.run import current
from mooncake_py.spelling import given_by_name
from mooncake_py.structure import is_builtin, is_user_class, of_constant_package

_STRUCTURAL = frozenset({ops.build_tuple, ops.check_bound, ops.make_function, ops.unpack, surely, narrow})


_ITEMS = frozenset({operator.getitem, tuple.__getitem__})


_PLAIN = frozenset({int, float, str, bool, type(None)})

# What a container answers without asking its items.
_OF_THE_WHOLE = frozenset({len, bool, operator.not_, ops.truth})
_MAKES_IN_PYTHON = frozenset({dict.fromkeys, OrderedDict.fromkeys})
"""What makes containers out of constants, that may be filled with others."""
_BY_INDEX = frozenset({operator.getitem, operator.setitem, operator.delitem})
# What it makes longer lists and tuples by, where no operand is an array.
_PUTS_TOGETHER = frozenset({operator.mul, operator.imul, operator.add, operator.iadd})

_IN_C = frozenset({pytypes.BuiltinFunctionType, np.ufunc, type})
_met: dict[tuple[Any, tuple[T, ...], int], tuple[str, Rule, T, str]] = {}
"""What calls with a rule and nothing but numbers mean, and why, by the rules there are: nothing else matters to it."""


def _note_met(of_numbers: tuple[Any, tuple[T, ...], int] | None, kind: str, rule: Rule, t: T, why: str = "") -> None:
    """Remember what a call means, if all that it is given and gives are numbers."""
    if of_numbers is not None and is_scalar(t) and all(map(_is_number, of_numbers[1])):
        if len(_met) > 5000:
            _met.clear()
        _met[of_numbers] = kind, rule, t, why


def _may_be_index_of_class(t: T) -> bool:
    """May an index be an object, or hold one, of a class written in Python?"""
    return holds_objects(t) or (t.active and holds_unknown(t))


def _is_number(t: T) -> bool:
    """Is this a number of a class that is not the user's?"""
    cls = type(t.value) if isinstance(t, Known) else class_of(t)
    return isinstance(t, Real) or (cls is not None and cls.__module__ in ("builtins", "numpy") and is_scalar(t))


def _may_be_none(t: T) -> bool:
    """Is this None, or may it be, or hold it?"""
    match t:
        case Lst(elem=elem):
            return _may_be_none(elem)
        case Tup(items=parts) | Union(options=parts):
            return any(map(_may_be_none, parts))
    return t == Known(None)


def _holds_nothing(t: T) -> bool:
    """Is this None, a whole number or a text, or a list or tuple of nothing else?"""
    match t:
        case Lst(elem=elem):
            return _holds_nothing(elem)
        case Tup(items=items):
            return all(map(_holds_nothing, items))
        case Known(value=value):
            return isinstance(value, _WITHOUT_TANGENT)
        case Inst(cls=cls):
            return issubclass(cls, _WITHOUT_TANGENT)
    return isinstance(t, Bot)


_WITHOUT_TANGENT = (type(None), int, str, bytes, np.dtype, type)


def _holds_objects(t: T) -> TypeGuard[Arr]:
    """Is this an array of objects, not of numbers? Derivatives are not followed through these."""
    return isinstance(t, Arr) and t.dtype is not None and t.dtype.kind in "OV"


def _has_metaclass(t: T) -> bool:
    """Is this a class whose own class is the user's, and may know anything?"""
    cls = type(t.value) if isinstance(t, Known) and isinstance(t.value, type) else type
    return cls is not type and not is_library(cls)


def _gives_keys(t: T) -> bool:
    """Is this a dict whose keys may have derivatives?"""
    return isinstance(t, Dct) and keys_of(t).active


def _item_of_constant(types: tuple[T, ...]) -> T | None:
    """The item of a tuple that is written down, at an index that is."""
    match types:
        case (Known(value=tuple() as whole), Known(value=int() as i)) if -len(whole) <= i < len(whole):
            return Known(whole[i]) if type(whole) is tuple and _is_written_down(whole[i]) else None
    return None


def _is_written_down(x: Any) -> bool:
    return type(x) in _PLAIN or (type(x) is tuple and all(map(_is_written_down, x)))


def _is_sequence_or_count(t: T) -> bool:
    return isinstance(t, (Tup, Lst)) or class_of(widen(t)) is int


def _only_keeps(f: Any) -> bool:
    """Is it a class of exceptions that does no more than to keep its arguments?"""
    return isinstance(f, type) and issubclass(f, BaseException) and is_builtin(f)


def _is_users(f: Any) -> bool:
    """Is it a class of the user's, or an object that runs code of the user's when it is called?"""
    if isinstance(f, type):
        return is_user_class(f) and not is_library(f)
    return isinstance(f, functools.partial) or is_user_class(type(f))


class Calls(PythonCalls):
    """What each call means."""

    def call(self, s: Call) -> T:
        """The type of a call's result. Where nothing has changed that it was read off before, it is as it was."""
        types, forced, late = self.types, self.forced.get(s.out), s.out in self.late
        before = self.found_before.setdefault(s, [])
        self.waiting.discard(s.out)
        self.calls.pop(s.out, None)
        for x in before:
            if x.forced is forced and x.late is late and (x.shape is None or x.shape is self._shape):
                for v, t in x.reads:
                    if types.get(v, BOT) is not t:
                        break
                else:
                    if x.info is not None:
                        self.calls[s.out] = x.info
                    self.note([v for v, _ in x.reads])
                    return x.type
        self.read, self.looked_around = [], False
        t = self.split_or_not(s, self.meaning(s))
        info = self.calls.get(s.out)
        if self.wary and info is not None and may_call_back(info):
            self.calls[s.out] = info = replace(info, kind="dynamic", why="it may call what reads outside")
            t = activate(t)
        if info is not None and self.may_be_known(s, info, t) and self.waits(s):
            t, info = self.planned(s, Awaited(info)), self.calls[s.out]
        self.note(self.read)
        if s.out in self.waiting:
            return t
        reads = [(v, types.get(v, BOT)) for v in dict.fromkeys(self.read)]
        shape = self._shape if self.looked_around else None
        before.append(Found(reads, forced, late, shape, t, info))
        return t

    def split_or_not(self, s: Call, t: T) -> T:
        """The type of a call, that is to be made once for each option of an operand where it would not be known."""
        info = self.calls.get(s.out)
        if info is None or info.kind != "dynamic" or self.classes is None or self.shape.splits >= MOST_SPLITS:
            return t
        split = split_of(self, s, info)
        return t if split is None else self.planned(s, split)

    def meaning(self, s: Call) -> T:
        """The type of a call's result; what it is, is noted."""
        fn = self.type_of(s.fn)
        if isinstance(fn, Bot):
            return BOT
        args = tuple(map(self.type_of, s.args))
        for t in args:
            if t is BOT:
                return self.of_awaited(s, fn)
        if isinstance(fn, Known) and type(fn.value) is pytypes.BuiltinFunctionType:  # nothing but what it is
            return self.resolved(s, fn.value, s.args, args)
        if isinstance(fn, Meth) and fn.is_read_as(s.fn):
            x = fn.receiver
            if isinstance(self.type_of(x), Union) and (split := split_of_receiver(self, fn)) is not None:
                return self.planned(s, split)
            if self.classes is not None and is_function(fn.func):
                return self.planned(s, Plan(fn.func, (x, *s.args), s.kwargs, lacks=self.not_its_own(fn)))
            return self.resolved(s, fn.func, (x, *s.args), (self.type_of(x), *args))
        if isinstance(fn, Meth) and self.classes is not None and (bound_before := held_method(self, fn)) is not None:
            return self.planned(s, Awaited() if self.may_be_others(s) else bound_before)
        if isinstance(fn, Known):
            if self.classes is not None and (bound := found_outside(fn.value, s)) is not None:
                for g in bound[1]:
                    self.guards[(id(g.scope.keywords), g.name)] = g
                return self.planned(s, bound[0])
            if self.classes is not None and args and (chosen := dispatched(fn.value, args[0], s)) is not None:
                self.guards[(id(fn.value), chosen[1].scope.cls)] = chosen[1]
                return self.planned(s, chosen[0])
            if not hashable(fn.value):
                return self.dynamic(s, "a callee that no rule can be found by")
            return self.resolved(s, fn.value, s.args, args)
        if isinstance(fn, Fn):
            if self.classes is not None and (taken := held(self, fn, s)) is not None:
                return self.planned(s, taken if self.is_in_sight(s.fn) or not self.may_be_others(s) else Awaited())
            return self.derived(s, fn, s.args, args)
        if isinstance(fn, (Obj, Tup)) and self.classes is not None:
            plan = self.classes.called(s.fn, fn, s.args, s.kwargs)
            if plan is not None:
                return self.planned(s, plan)
        if self.classes is not None and (made := self.shape.defs.get(s.fn)) is not None:  # type: ignore[arg-type]
            plan = made_there(made, self.type_of(made.fn), s)
            if plan is not None and not self.shape.reads_keywords:
                return self.planned(s, plan)
        return self.dynamic(s, "the callee is not known")

    def of_awaited(self, s: Call, fn: T) -> T:
        """A call that is given what nothing is known of so far: a generator can be run there before."""
        if self.patient and isinstance(fn, Fn) and fn.code.co_flags & CO_GENERATOR and self.is_in_sight(s.fn):
            if s.out not in self.late:
                self.unseen.add(s.out)
                self.planned(s, Awaited(CallInfo("dynamic", None, None, s.args, s.kwargs)))
        return BOT

    def resolved(self, s: Call, f: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T:
        """A call of a known object."""
        of_numbers = None
        if (type(f) in _IN_C or f is ops.truth) and not s.kwargs:
            of_numbers = f, types, registry.generation
            if (met := _met.get(of_numbers)) is not None:
                self.calls[s.out] = CallInfo(met[0], f, met[1], args, (), types, met[3])
                return met[2]
        if f in OF_NAMES and (held := self.of_rebound(s, f, args, types)) is not None:
            return held
        if f is ops.load_global:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return self.global_type(s.args[0].value)  # type: ignore[union-attr]
        if f is ops.import_name:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return self.imported(*[a.value for a in args])  # type: ignore[union-attr]
        # Reading the name is what it does, and what may have to be done with care.
        if f is ops.import_from and isinstance(types[0], Known) and hasattr(types[0].value, args[1].value):  # type: ignore[union-attr]
            return self.getattr(s, args, types)
        if self.wary and hashable(f) and f in GIVE_NAMES:
            self.check_scope(s, f, types)
        if self.wary and (f is setattr or f is delattr) and isinstance(types[0], Known) and not s.kwargs:
            if f is setattr and len(types) == 3 and isinstance(types[1], Known) and type(types[1].value) is str:
                if (plan := writes_kept(self, types[0].value, types[1].value, args[2])) is not None:
                    return self.planned(s, plan)
            self.calls[s.out] = CallInfo("dynamic", f, None, args, (), types, "an attribute that is read when it runs")
            return Known(None)
        if (f is setattr or f is delattr) and not any(t.active for t in types) and types and is_member(types[0]):
            self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
            return Known(None)
        if refuses(f, types):
            self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types, RAISES)
            return BOT
        if f is getattr and len(args) >= 2 and isinstance(types[1], Known) and not s.kwargs:
            return self.getattr(s, args, types)
        if f is vars and self.wary and len(args) == 1 and not s.kwargs and keeps_names(types[0]):
            return self.getattr(s, (*args, Const("__dict__")), (*types, Known("__dict__")))
        if type(f) is pytypes.FunctionType and (f.__defaults__ or f.__kwdefaults__) and current().shadow(f) is not None:
            return self.dynamic(s, "default values that may have derivatives")
        if f in GO_THROUGH and types and (members := members_of(types[0])) is not None:
            return self.planned(s, Plan(Const(f), (Const(members), *args[1:]), s.kwargs))
        if not s.kwargs and (member := looked_up(f, types)) is not None:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return member
        if any(map(_has_metaclass, types[:2])) and (f is iter or asks(f)):
            self.calls[s.out] = CallInfo("dynamic", None, None, args, s.kwargs, types, "a metaclass decides")
            return Top(True)
        if (names := asks(f)) and any(decides(t, names) for t in types[:2]) and any(t.active for t in types):
            return self.dynamic(s, "the class of a number or container decides")
        if f in OF_FRAMES and (len(args) < OF_FRAMES[f]) and self.active():
            raise UnsupportedError(
                f"{f.__name__}() in a function that computes with values that have derivatives",
                self.fn.filename,
                s.pos.line,
                "name the variables",
            )
        if f is setattr and len(types) == 3 and types[1] == Known("__class__") and self.active():
            raise UnsupportedError(
                "changing the class of an object", self.fn.filename, s.pos.line, "make an object of the other class"
            )
        if f in GIVE_HANDLED and not s.kwargs:
            self.calls[s.out] = CallInfo("dynamic", f, None, args, (), types, "the exception may have a derivative")
            return Top(True)
        if s.kwargs and (named := given_by_name(f, len(args), [k for k, _ in s.kwargs])):
            if self.classes is None:
                return self.dynamic(s, "arguments that are given by name")
            left = dict(s.kwargs)
            args = (*args, *(left.pop(k) for k in named))
            return self.planned(s, Plan(Const(f), args, tuple(left.items())))
        if f is dict and s.kwargs and not args and self.classes is not None:
            shown = [x for k, v in s.kwargs for x in (Const(k), v)]
            return self.planned(s, Plan(Const(ops.build_map), tuple(shown)))
        if self.classes is not None:
            of_object = self.of_object(s, self.classes, f, args, types)
            if of_object is not None:
                return of_object
            if (of_its_items := self.classes.of_items(f, args, types, s.kwargs)) is not None:
                return self.planned(s, of_its_items)
            if f is ops.call_ex and (plan := by_columns(self, s) or spread_out(self, s)) is not None:
                return self.planned(s, plan)
            if (not s.kwargs or f is zip) and (way := of_items(f, s.args, args, types)) is not None:
                return self.planned(s, way)
            if not s.kwargs and (longer := grown(self, s, f, types)) is not None:
                return self.planned(s, longer)
            places = placed(self.classes, f, args, types, s.kwargs, self.type_of)
            if places is not None:
                self.calls[s.out] = CallInfo("op", places.does, None, places.args, places.kwargs, types)
                return places.type
            if (items := listed(f, s.args, types, s.kwargs)) is not None:
                return self.planned(s, items)
            if any(isinstance(t, Tup) and answers(t.cls, asks(f)) for t in types[:2]):
                return self.dynamic(s, "the class of a named tuple decides")
            if f is ops.call_ex and self.is_spread(s, types):
                return self.planned(s, Starred())
        if f is list.sort and s.kwargs:
            check_key(self, s, args[0])
        if f is itertools.tee and args:
            check_tee(self, s, args[0])
        if f is empty_default:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            which, name = args[0].value, args[1].value  # type: ignore[union-attr]
            self.guards[(id(which), name)] = Guard(Emptiness(which), name, True)
            return Known(None)
        if f is kept_by:
            return type_of_kept(self, s, args, types)
        if f is kept_default or f is kept_captured:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            scope, name = args[0].value, args[1].value  # type: ignore[union-attr]
            return self.value_type(scope, name, scope.get(name))
        if f is cell_of or f is default_of or f is receiver_of:
            self.calls[s.out] = CallInfo("rule", f, rules_of(f)[0], args, (), types)
            return type_held(self, f, types)
        if f in _STRUCTURAL or (f in _ITEMS and isinstance(types[0], Tup) and isinstance(types[1], Known)):
            t = self.structural(s, f, args, types)
            if t is not None:
                if f in _ITEMS:
                    f, args = operator.getitem, (args[0], Const(types[1].value))  # type: ignore[attr-defined]
                self.calls[s.out] = CallInfo("op", f, None, args, s.kwargs, types)
                return t
        if not s.kwargs and hashable(f) and (text := text_made(f, types)) is not None:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return text
        if f in _ITEMS and (item := _item_of_constant(types)) is not None:
            self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
            return item
        kw = tuple((k, self.type_of(v)) for k, v in s.kwargs)
        act = any(t.active for t in types) or any(t.active for _, t in kw)
        if f is isinstance and (asked_for := classes_given(types[1])) is not None:
            folded = fold_isinstance(types[0], asked_for)
            if folded is not None:
                self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
                return Known(folded)
        if f in COMPARES and not s.kwargs and (known := fold_compared(f, types)) is not None:
            self.calls[s.out] = CallInfo("plain", f, None, args, (), types)
            return Known(known)
        if f in MATCHES and (tried := matches(f, types[0], self.guards)) is not None:
            self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
            return Known(tried)
        if f is hasattr and len(types) == 2 and isinstance(types[1], Known):
            if (there := self.has_attribute(args[0], types[0], types[1].value)) is not None:
                self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
                return there
        if f in (operator.is_, operator.is_not) and len(types) == 2:
            self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
            folded = fold_is(types[0], types[1])
            return Inst(bool) if folded is None else Known(folded is (f is operator.is_))
        if f is ops.truth or f is operator.not_:
            if isinstance(types[0], Known) and isinstance(types[0].value, (bool, int, float, str, type(None), tuple)):
                self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
                return Known(bool(types[0].value) is (f is ops.truth))
        if act and getattr(f, "__module__", None) in OF_NUMBERS:
            for k, t in enumerate(types):
                if is_derived_number(t):
                    if self.classes is None:
                        return self.dynamic(s, "the class of a number decides")
                    return self.planned(s, Plan(bare, (args[k],), (), None, k - (len(args) - len(s.args))))
        if act and any(map(may_say, types)) and (of_numpy(f) or isinstance(getattr(f, "__self__", None), np.ufunc)):
            return self.dynamic(s, "the class of an object has a say in what a function of NumPy's is")
        rules = rules_of(f)
        rule = find_rule(f, types, [k for k, _ in kw]) if rules else None
        if isinstance(rule, Rule) and rule.fn in runs_given and may_write(self, (*types, *(t for _, t in kw))):
            rule = False  # which is seen when it runs
        elif rule is False and self.classes is not None and takes_items(f, types) is None:
            rule = find_rule(f, tuple(map(self.made_here, args, types)), [k for k, _ in kw])
        if rule is not None and (i := takes_items(f, types)) is not None and i < len(types):
            by_value = not isinstance(rule, Rule) or i not in rule.codual
            if may_be_iterator(types[i]) or (by_value and _gives_keys(types[i])):
                rule = False  # it is asked for its items, one by one
        if rule and (f is ops.unpack_ex or f in OF_REALS) and any(isinstance(t, Union) for t in types):
            rule = False  # tuples of several lengths: each has parts of its own; or what it raises for
        if act and f is slice and any(is_scalar(x) and x.active for x in types):
            raise UnsupportedError(
                "a slice with a bound that has a derivative", self.fn.filename, s.pos.line, "use np.linspace, np.arange"
            )
        if act and (f is slice or (f in incurious and of_numpy(f))) and any(map(may_change_as_index, types)):
            what = f"{f.__name__} of an object whose __index__ may change something"
            raise UnsupportedError(what, self.fn.filename, s.pos.line, "give it operator.index(x)")
        given = (*types, *(t for _, t in kw))
        if f in _OF_THE_WHOLE or (f in _PUTS_TOGETHER and all(map(_is_sequence_or_count, given))):
            given = tuple([t for t in given if not isinstance(t, (Tup, Lst))])
        if (
            f is operator.contains
            and len(types) == 2
            and isinstance(types[0], (Dct, SetOf))
            and self.is_told_by_identity(types[1])
        ):
            given = ()
        if act and hashable(f) and f in in_steps and are_compared_quietly(self, f, given):
            given = ()
        asked = act and f not in incurious and (any(map(may_be_asked, given)) or may_be_told(f, given))
        if asked and isinstance(rule, Rule) and rule.fn is not None and not rule.user:
            if f in probed or f in asking_items or (of_numpy(f) and any(map(holds_objects, given))):
                rule = False  # there may be an object that is asked for a number, or compared
            elif not are_compared_quietly(self, f, keys_put(f, types)):
                rule = False  # whose hash may change something
            elif f in _BY_INDEX and isinstance(types[0], (Arr, Lst, Tup)) and _may_be_index_of_class(types[1]):
                rule = False  # it is asked for a whole number
        if (
            (f is next or f is item_within)
            and len(args) == 1
            and not isinstance(t := self.item_type(args[0]), (Top, Bot))
        ):
            kind = "plain" if types[0] == COUNTS else "dynamic"
            self.calls[s.out] = CallInfo(kind, f, None, args, s.kwargs, types, "no rule")
            return t
        if isinstance(rule, Rule):
            t = self.result_type(f, args, types, kw)
            if act and rule.fn is not None and _holds_objects(result := types[0] if rule.mutates and types else t):
                if not any(map(_may_be_none, types)):
                    raise UnsupportedError(
                        f"a value with a derivative in an array of dtype {result.dtype}",
                        self.fn.filename,
                        s.pos.line,
                        "use arrays of floats or complex numbers, lists or dicts",
                    )
                if all(map(_holds_nothing, types)):  # a place for what comes later: no derivative gets in by it
                    self.calls[s.out] = CallInfo("plain", f, None, args, s.kwargs, types)
                    return activate(t, False)
                return self.dynamic(s, "None in an array: it may never come to that")
            if (
                (f is make_object or f is make_exception)
                and isinstance(types[0], Known)
                and does_at_its_end(types[0].value)
            ):
                what = f"making a {types[0].value.__name__}, which does something when it is no longer held,"
                raise UnsupportedError(what, self.fn.filename, s.pos.line, END)
            if rule.fn is None:
                kind, t = "dynamic" if asked else "plain", activate(t, False)
                why = "the method of an object may be called"
                _note_met(of_numbers, kind, rule, t, why)
                self.calls[s.out] = CallInfo(kind, f, rule, args, s.kwargs, types, why)
                return t
            plain = not act and not rule.mutates and not (f is make_object and self.with_forced(s.out, t).active)
            _note_met(of_numbers, "plain" if plain else "rule", rule, t)
            if plain:
                self.calls[s.out] = CallInfo("plain", f, rule, args, s.kwargs, types)
            elif s.kwargs and (moved := rule.moved(len(args), [k for k, _ in s.kwargs])):
                given_kw, typed_kw = dict(s.kwargs), dict(kw)
                args = (*args, *(given_kw.pop(k) for k in moved))
                types = (*types, *(typed_kw[k] for k in moved))
                self.calls[s.out] = CallInfo("rule", f, rule, args, tuple(given_kw.items()), types)
            else:
                self.calls[s.out] = CallInfo("rule", f, rule, args, s.kwargs, types)
            return t
        if rule is False:
            decided_late = act or any(r.mutates for r in rules)
            why = "the types of the arguments are not known"
            self.calls[s.out] = CallInfo("dynamic" if decided_late else "plain", f, None, args, s.kwargs, types, why)
            t = self.result_type(f, args, types, kw)
            if isinstance(t, Top) and not decided_late:
                return of_each_option(f, types, kw)
            return Top(act) if isinstance(t, Top) else t
        if isinstance(f, pytypes.BuiltinFunctionType) and isinstance(f.__self__, np.ufunc):
            method = getattr(np.ufunc, f.__name__)  # one rule for all ufuncs
            return self.resolved(s, method, (Const(f.__self__), *args), (Known(f.__self__), *types))
        classes = [class_of(widen(t)) for t in types]
        python = None if f is ops.load_special else seen_through(f, len(types), bool(kw), classes)
        split = writes_out(f, len(types), [k for k, _ in kw]) and can_be_split(f)
        in_python = act or python is f or f in _MAKES_IN_PYTHON or any(r.mutates for r in rules)
        in_python = in_python or any(map(is_empty_so_far, types))  # in a first round there is nothing it would give
        if python is not None and not split and in_python and python.__module__ != ops.__name__:
            t = self.derived(s, Known(python), args, types)
            in_c = type(f) is pytypes.MethodDescriptorType and isinstance(self.type_of(s.fn), Meth)
            if in_c and self.classes is not None and self.calls[s.out].why == "call":
                return self.planned(s, Plan(Const(python), args, s.kwargs))  # once it is lost what the method is of
            if f in _MAKES_IN_PYTHON and self.calls[s.out].kind == "plain":
                self.calls[s.out].kind = "dynamic"
            return self.result_type(f, args, types, kw) if f in (max, min) and isinstance(t, Top) else t
        t = self.result_type(f, args, types, kw)
        if type(f) is functools._lru_cache_wrapper and not (act or kw or self.wary):
            t = self.result_of_kept(f.__wrapped__, types)
        constants = of_constant_package(f)
        if constants and isinstance(f, type) and f.__new__ is object.__new__:  # type: ignore[comparison-overlap]
            t = Inst(f)
        if self.wary and ((isinstance(f, type) and f.__flags__ & 1 << 9) or constants or not is_library(f)):
            why = "a class" if isinstance(f, type) else "it may give what is outside"
            self.calls[s.out] = CallInfo("dynamic", f, None, args, s.kwargs, types, why)
            return Top(True)
        writes_nothing = is_pure(f, len(types), [k for k, _ in kw]) or _only_keeps(f)
        writes_nothing = writes_nothing or (constants and not any(map(may_be_run, types)))
        users = _is_users(f)  # it may keep functions and generators that it makes, or give them
        pure_call = not act and not users and (writes_nothing or not any(map(may_be_written, types)))
        if isinstance(t, Top) and python is not None and python.__code__.co_flags & 0x20 and not gives_known(f):
            pure_call = False  # what the items are is found by running its code around the loop that asks for them
        self.calls[s.out] = CallInfo("plain" if pure_call else "dynamic", f, None, args, s.kwargs, types, "no rule")
        return activate(t) if act else t

    def made_here(self, x: Operand, t: T) -> T:
        """The type of a value, that of an iterator where it is a new one, whatever it gives."""
        made = self.shape.defs.get(x) if isinstance(x, Var) and type(t) is Top else None
        c = None if made is None else class_made(t, self.type_of(made.fn))
        return t if c is None or c not in ITERATORS else Inst(c, t.active)

    def is_told_by_identity(self, t: T) -> bool:
        """Does nobody ask objects of this type, where they are keys, whether they are equal?"""
        if isinstance(t, Union):
            return all(map(self.is_told_by_identity, t.options))
        if not isinstance(t, Obj) or self.classes is None:
            return not may_be_asked(t)
        look = self.classes.look
        return look(t.cls, "__eq__") is object.__eq__ and look(t.cls, "__hash__") is object.__hash__

    def result_of_kept(self, python: Any, types: tuple[T, ...]) -> T:
        """What a cache of this function's results gives for constants: a number, or it is not known.

        Nor is its class: what is kept for 2 is given for 2.0.
        """
        if type(python) is not pytypes.FunctionType:
            return Top()
        if python.__closure__ is not None or not is_plain(python.__code__) or is_library(python):
            return Top()
        if len(types) != python.__code__.co_argcount or (found := result_of(python, types)) is None:
            return Top()
        if isinstance(found.type, Bot):
            return BOT
        if not is_scalar(found.type) or may_be_complex(found.type):
            return Top()
        self.guards |= found.guards
        self.relied |= found.functions
        return Real()

    def is_spread(self, s: Call, types: tuple[T, ...]) -> bool:
        """Are all arguments of a call with starred ones known, one by one?"""
        if types[2] == Known(None):
            return isinstance(types[1], Tup)
        listed = isinstance(types[1], Tup) or (isinstance(types[1], Known) and isinstance(types[1].value, tuple))
        return listed and self.shape.keywords(s.args[2]) is not None

    def result_type(self, f: Any, args: tuple[Operand, ...], types: tuple[T, ...], kw: tuple[tuple[str, T], ...]) -> T:
        """The result type of a primitive. An array made of a list has the dtype of just these items."""
        t = result_type(f, types, kw)
        if f is sorted and t == Top() and len(args) == 1:
            t = Lst(Top())
        if isinstance(t, Lst) and t.elem == Top() and (f is list or f is sorted) and len(args) == 1:
            e = self.element_type(args[0])  # of a `zip` of constants, say
            return t if e.active or isinstance(e, Bot) else replace(t, elem=e)
        if self.classes is None and isinstance(t, Dct) and t.cls in FILLED:
            return Top(True)
        if isinstance(t, (Arr, Top, Union)) and (shown := tuple(map(self.displayed, args))) != types:
            better = result_type(f, shown, kw)
            return better if isinstance(better, Arr | Tup) or is_scalar(better) else t
        return t

    def not_its_own(self, m: Meth) -> tuple[Operand, Operand, Operand] | None:
        """What a method that was found in a class relies on: the object might have an attribute by that name."""
        t = self.type_of(m.receiver)
        if not isinstance(t, Obj) or t.cls.__dictoffset__ == 0 or not is_const(m.site.fn, getattr):
            return None
        name = self.type_of(m.site.args[1])  # computed, perhaps
        assert isinstance(name, Known)
        return m.receiver, Const(t.cls), Const(name.value)

    def structural(self, s: Call, f: Any, args: tuple[Operand, ...], types: tuple[T, ...]) -> T | None:
        if f is ops.build_tuple:
            return Tup(types)
        if f is surely:
            return types[0]
        if f is narrow:
            assert isinstance(types[1], Known) and isinstance(types[2], Known)
            return (only if types[1].value else without)(types[0], types[2].value)
        if f is ops.check_bound:
            return types[0] if not (isinstance(types[0], Known) and types[0].value is ops.UNBOUND) else BOT
        if f is ops.unpack:
            t, n = types[0], types[1]
            if not isinstance(n, Known):
                return None  # in a function that stands for it
            if isinstance(t, Known) and isinstance(t.value, tuple):
                t = Tup(tuple(Known(v) for v in t.value))
            return Tup(t.items) if isinstance(t, Tup) and len(t.items) == n.value else None
        if f in _ITEMS:
            t, i = types[0], types[1]
            assert isinstance(t, Tup) and isinstance(i, Known)
            if type(i.value) is int and -len(t.items) <= i.value < len(t.items):
                return t.items[i.value]
            return None
        if f is ops.make_function:
            code = types[0]
            assert isinstance(code, Known)
            return Fn(code.value, (s,), any(t.active for t in types))
        return None
