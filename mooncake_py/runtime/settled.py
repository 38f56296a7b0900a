"""What the callee and the classes of its arguments say of a call: found out once, for all sites and runs."""

from __future__ import annotations

import builtins
import operator
import types as pytypes
from typing import Any

import numpy as np

from mooncake_py import registry, run
from mooncake_py.ir import ops
from mooncake_py.iterators import KEY_ITERATORS, KEYS_VIEWS
from mooncake_py.kinds import Constant, ConstantKeys, Numbers
from mooncake_py.registry import find_rule_for_values, rules_of
from mooncake_py.rule import Rule
from mooncake_py.runtime.coduals import ATOMS, BOUND, is_active
from mooncake_py.runtime.followed import followed, refuse_if_behind
from mooncake_py.runtime.iteration import ITERATION, ITERATORS
from mooncake_py.runtime.objects import NATIVE
from mooncake_py.runtime.operators import PROTOCOL, decides
from mooncake_py.runtime.outside_functions import refuse_written
from mooncake_py.runtime.registered import run_rule
from mooncake_py.runtime.results import Result
from mooncake_py.structure import of_constant_package

_MOST = 5000
_ELSEWHERE = frozenset({ops.call_ex, ops.load_special, builtins.__build_class__, *NATIVE, *ITERATION})
"""What is not run by its rule, or not always."""
_ARITHMETIC = frozenset({float, complex, int, np.float64})
_HOLD = (list, tuple)
_KEEP = {operator.setitem: 2, list.append: 1, list.insert: 2}
"""How many arguments of these are asked anything where lists and dicts keep the last."""
_COMPARE = frozenset({sorted, min, max, list.sort})
"""What may call special methods of the items that it is given."""
_KEEPERS = frozenset({list, dict})
_PLAIN = ATOMS | {np.ndarray, list, tuple, dict, set, frozenset, range, slice}
_WITH_KEYS = (dict, set, frozenset, *KEYS_VIEWS, *KEY_ITERATORS)


class Settled:
    """A call that comes to this rule, whatever the arguments hold."""

    __slots__ = ("asks_items", "atoms", "calls_back", "looks_inside", "numbers", "numeric", "rule", "writes")

    def __init__(self, f: Any, rule: Rule, classes: tuple[type, ...]):
        self.rule = rule
        self.atoms = ATOMS.issuperset(classes)  # no run knows any of the arguments by its identity
        items = f in registry.asking_items or (registry.of_numpy(f) and any(issubclass(c, _HOLD) for c in classes))
        self.asks_items = items and not self.atoms  # then these have a say in it
        self.numbers = any(issubclass(c, (float, complex, np.inexact)) for c in classes)  # may have derivatives
        self.looks_inside = any(issubclass(c, tuple) or c in BOUND for c in classes)  # so may what these hold
        self.writes = 0 in rule.mutates
        self.calls_back = f not in registry.incurious and not _PLAIN.issuperset(classes)
        plain = rule.fn is not None and not (rule.user or rule.codual or rule.mutates)
        self.numeric = rule.fn if plain and _ARITHMETIC.issuperset(classes) else None  # it may simply be called

    def is_active(self, args: tuple[Any, ...], fargs: tuple[Any, ...]) -> bool:
        """May any of the arguments carry a derivative?"""
        if self.numbers:
            return True
        return any(map(is_active, args, fargs)) if self.looks_inside else any([f is not None for f in fargs])

    def run(self, f: Any, args: tuple[Any, ...], fargs: tuple[Any, ...], active: bool) -> Result:
        """The call, of whose arguments some are `active` or none."""
        rule = self.rule
        if rule.fn is not None and (active or rule.mutates):
            try:
                found = run_rule(f, rule, args, fargs, {}, ())
            except IndexError:  # of the list, or of a tangent that was not told of what is in it
                refuse_if_behind(args, fargs)
                raise
            return followed(found) if rule.user else found
        if self.calls_back and run.is_wary():
            refuse_written(f, args)
        y = f(*args)
        if active and (told := run.observer()) is not None:
            told.stopped(f, y)
        return followed((y, None, None)) if rule.user or (f in _COMPARE and not self.atoms) else (y, None, None)


_settled: dict[tuple[Any, tuple[type, ...]], Settled | None] = {}
_generation = -1


def settled_for(f: Any, args: tuple[Any, ...], classes: tuple[type, ...]) -> Settled | None:
    """What is settled of calls of f with arguments of these classes, by position; None where nothing is."""
    global _generation
    if not _by_identity(f) or not rules_of(f):
        return None
    if _generation != registry.generation or len(_settled) > _MOST:
        _settled.clear()
        _generation = registry.generation
    key = f, classes
    if key in _settled:
        return _settled[key]
    found = None
    if (
        f not in _ELSEWHERE
        and not any(issubclass(c, ITERATORS) for c in classes)
        and not _goes_through_keys(f, classes)
    ):
        rule = find_rule_for_values(f, args)
        asked = args[: _KEEP[f]] if classes and classes[0] in _KEEPERS and f in _KEEP else args
        given_away = rule is not None and rule.fn in registry.runs_given
        if (
            rule is not None
            and not given_away
            and not any(map(decides, asked))
            and not any(map(_asks_values, rules_of(f)))
        ):
            found = Settled(f, rule, classes)
    _settled[key] = found
    return found


def _goes_through_keys(f: Any, classes: tuple[type, ...]) -> bool:
    """May a call use up the keys of a dict or set, which may have derivatives, or set a slice to what it takes out?"""
    if f is operator.setitem or f is list.__setitem__:
        return slice in classes[1:2] and issubclass(classes[0], list) and classes[2] not in (list, tuple)
    k = registry.drained.get(f, len(classes))
    return f is not dict and k < len(classes) and issubclass(classes[k], _WITH_KEYS)


_special: set[Any] = set()
_special_generation = -1


def is_ordinary(f: pytypes.FunctionType | type) -> bool:
    """Is f a Python function, or a class, of which nothing is known but its code?"""
    global _special, _special_generation
    registry.load_due()
    if _special_generation != registry.generation:
        _special = registry.declared() | _ELSEWHERE | PROTOCOL.keys()
        _special_generation = registry.generation
    return f not in _special and not of_constant_package(f)


def _by_identity(f: Any) -> bool:
    """Is f equal to nothing but itself, and not made for one call?"""
    if type(f) is pytypes.BuiltinFunctionType:
        return f.__self__ is None or type(f.__self__) is pytypes.ModuleType
    by_identity: Any = object.__hash__
    return type(f).__hash__ is by_identity and type(f) is not pytypes.MethodType


def _asks_values(rule: Rule) -> bool:
    """Does it depend on more than the classes of the arguments whether the rule is for them?"""
    return not {Numbers, Constant, ConstantKeys}.isdisjoint(rule.pattern)
