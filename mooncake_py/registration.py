"""How users register rules: what is admitted, what conflicts, and how it is taken back.

Packs register through `mooncake_py.registry` and are not checked; what is registered here wins over them.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import operator
import types as pytypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, overload

import numpy as np

from mooncake_py import registry
from mooncake_py.errors import RuleConflict, RuleError
from mooncake_py.hashing import hashable
from mooncake_py.infer.resolve import class_attribute
from mooncake_py.kinds import Any_, Kind, Pattern
from mooncake_py.registry import name_of
from mooncake_py.rule import Rule
from mooncake_py.structure import is_user_class

F = TypeVar("F", bound=Callable[..., Any])


class _RRule:
    """The decorator `rrule`, with the form for families of functions beside it."""

    def __call__(
        self,
        *targets: Any,
        types: tuple[Pattern, ...] = (),
        alias: tuple[int, ...] = (),
        mutates: tuple[int, ...] = (),
        deferred: tuple[int, ...] = (),
        replace: bool = False,
    ) -> Callable[[F], F]:
        """Register the decorated function as the rule of `targets`.

        A target is a function, a method (`Class.method`), a class, a ufunc, a C function, or an operator
        (`operator.add`, with `types` for your classes). `rrule(f)` is for all arguments; `rrule(f, types=(Array,
        Scalar))` only for calls whose leading arguments are of these kinds (`Scalar`, `RealScalar`, `Array`, `Any_`,
        or a class). Of the rules that fit a call the one registered last wins; a rule of yours wins over those that
        ship with this library. `alias`: positions of arguments that the result may share memory with (views).
        `mutates`: positions of arguments that the function writes to; their parameters are annotated `CoDual`.
        `deferred`: positions whose cotangent the pullback returns as `At(index, value)`, to be added in place.
        `replace=True` takes back the rules of yours that are in the way.

        Raises RuleError where a target cannot be called, the rule is not a plain function, or no call of the target
        could ever use the rule; RuleConflict where you have a rule for the same types of arguments, or one that would
        never be used again. A rule that is defined again in the same place (a cell of a notebook, a reloaded module)
        takes the place of its former self.
        """
        found = [_of_rule(f, "rrule", bool(types)) for f in targets]
        if not found:
            raise RuleError("rrule: name the function that the rule is for, as in @rrule(math.sin)")

        def decorate(fn: F) -> F:
            _check_function(fn, targets[0])
            rules = [Rule(f, fn, tuple(types), tuple(alias), tuple(mutates), tuple(deferred)) for f in found]
            _add(rules, replace)
            return fn

        return decorate

    def table(self, derivatives: Mapping[Any, Any], *, types: tuple[Pattern, ...] = (), replace: bool = False) -> None:
        """Register a family of elementwise functions by their derivatives.

        `rrule.table({f: lambda x, y: ..., g: (lambda a, b, y: ..., lambda a, b, y: ...)})`: for a function of one
        argument its derivative, from the argument and the value; for one of several arguments a tuple with the partial
        derivative by each, or None where it is zero, each from all arguments and the value. Arguments are numbers and
        arrays of any shapes that broadcast; by complex arguments the derivatives are complex derivatives.

        Raises as `rrule`.
        """
        from mooncake_py.tables import elementwise_rule

        rules = []
        for f, d in derivatives.items():
            parts = d if isinstance(d, tuple) else (d,)
            if d is None or not parts or any(p is not None and not callable(p) for p in parts):
                raise RuleError(f"rrule.table: the derivative of {name_of(f)} must be a function or a tuple of such")
            rules.append(Rule(_of_rule(f, "rrule.table", bool(types)), elementwise_rule(f, parts), tuple(types)))
        _add(rules, replace)


rrule = _RRule()


@overload
def zero_derivative(target: F, /, *, replace: bool = False) -> F: ...
@overload
def zero_derivative(*targets: Any, replace: bool = False) -> None: ...
def zero_derivative(*targets: Any, replace: bool = False) -> Any:
    """Declare that these functions have a derivative of zero (or none, as for integers): they are just called.

    Their results carry no derivative and they must change none of their arguments. Returns the function where it is
    given one alone, so that it may decorate. Raises as `rrule`.
    """
    _add([Rule(_target(f, "zero_derivative"), None) for f in targets], replace)
    return targets[0] if len(targets) == 1 else None


def primitive(f: F) -> F:
    """Declare a Python function opaque: its body is never looked into, its derivative is that of its rules.

    `f.rrule` is `rrule(f)`, for the rule beside it:

        @primitive
        def spline(x): ...

        @spline.rrule
        def spline_rule(x): ...

    A call with an active argument that no rule of f takes raises MissingRule. RuleError where f is not a function.
    """
    if not isinstance(f, pytypes.FunctionType):
        raise RuleError(f"primitive: {f!r} is not a Python function (others are opaque as they are)")
    registry.load_packs()
    registry.opaque.add(f)
    registry.changed()

    def decorator(fn: Any = None, **options: Any) -> Any:
        return rrule(f, **options) if fn is None else rrule(f, **options)(fn)

    f.rrule = decorator  # type: ignore[attr-defined]
    return f


def substitute(f: Callable[..., Any], g: Callable[..., Any]) -> None:
    """Differentiate g in the place of f: where a call of f has an active argument, g runs and is differentiated.

    For a function that is opaque or too clever (compiled, cached, calling a library), beside a plain one that
    computes the same. It replaces every rule f has. RuleError where f cannot be called, g is not a Python function, or
    does not take the calls that f takes; RuleConflict where f is substituted already, or has rules of yours.
    """
    _of_rule(f, "substitute", False)
    if isinstance(f, type):
        raise RuleError(
            f"substitute: {name_of(f)} is a class, and what stands for it could not make objects of it; register a "
            f"rule, as in @rrule({f.__name__}), or call a function of yours that makes them"
        )
    registry.load_packs()
    if not isinstance(g, pytypes.FunctionType):
        raise RuleError(f"substitute: {name_of(g)} must be a Python function, whose body is differentiated")
    if f is g:
        raise RuleError(f"substitute: {name_of(f)} cannot stand for itself")
    theirs, ours = _signature(f), _signature(g)
    if theirs is not None and ours is not None and not _takes_all(ours, theirs):
        raise RuleError(f"substitute: {name_of(g)}{ours} does not take the calls that {name_of(f)}{theirs} takes")
    if f in registry.replaced:
        raise RuleConflict(f"substitute: {name_of(f)} is substituted already; unregister({name_of(f)}) first")
    _no_user_rules(f, "substitute")
    registry.replaced[f] = g
    registry.changed()


def unregister(*targets: Any) -> None:
    """Take back what you registered for these functions: rules, zero derivatives, substitutes, primitive marks.

    Rules that ship with this library count again. RuleError for a function you registered nothing for.
    """
    for f in targets:
        f = _target(f, "unregister")
        rules = registry._rules.get(f, [])
        kept = [r for r in rules if not r.user]
        if len(kept) == len(rules) and f not in registry.replaced and f not in registry.opaque:
            raise RuleError(f"unregister: nothing is registered for {name_of(f)}")
        if kept:
            registry._rules[f] = kept
        else:
            registry._rules.pop(f, None)
        registry.replaced.pop(f, None)
        registry.opaque.discard(f)
    registry.changed()


@contextlib.contextmanager
def scoped_rules() -> Iterator[None]:
    """A context manager: what is registered and unregistered inside is taken back at its end.

    The table of rules is one for the whole process, so other threads see what is registered in here.
    """
    registry.load_packs()
    rules = {f: [r for r in rs if r.user] for f, rs in registry._rules.items()}
    replaced, opaque = dict(registry.replaced), set(registry.opaque)
    try:
        yield
    finally:
        for f in list(registry._rules):  # packs may have come meanwhile: they stay
            registry._rules[f] = [r for r in registry._rules[f] if not r.user] + rules.get(f, [])
            if not registry._rules[f]:
                del registry._rules[f]
        for f, mine in rules.items():
            registry._rules.setdefault(f, mine)
        registry.replaced.clear()
        registry.replaced.update(replaced)
        registry.opaque.clear()
        registry.opaque.update(opaque)
        registry.changed()


# -- what is admitted -------------------------------------------------------------------------------------


def _target(f: Any, verb: str) -> Any:
    """The object a rule for f is kept under."""
    if isinstance(f, pytypes.MethodType):
        if isinstance(f.__self__, type):
            return f.__func__  # a class method: its rule takes the class first
        raise RuleError(
            f"{verb}: {f.__qualname__} is bound to one object; register {type(f.__self__).__qualname__}.{f.__name__}, "
            "whose rule takes the object first"
        )
    if isinstance(f, property):
        raise RuleError(f"{verb}: a property is no function; register its getter, as in {verb}(Class.name.fget)")
    if isinstance(f, (staticmethod, classmethod)):
        return f.__func__
    if not callable(f) and not isinstance(f, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)):
        raise RuleError(f"{verb}: {f!r} is not callable; register the function the rule belongs to")
    if not hashable(f):
        raise RuleError(f"{verb}: {f!r} has no hash, so no rule can be found by it; register its class's __call__")
    if isinstance(f, functools.partial):
        raise RuleError(f"{verb}: a partial is a call of what it was made of; register {name_of(f.func)}")
    if not isinstance(f, type) and _is_called_by_its_class(f):
        raise RuleError(
            f"{verb}: to call {f!r} is to call {type(f).__qualname__}.__call__; register that, whose rule takes the "
            "object first, or a function of yours that calls this object"
        )
    return f


def _is_called_by_its_class(f: Any) -> bool:
    """Is f an object whose class says in Python what a call is? That is looked up by the class, never by the object."""
    return is_user_class(type(f)) or isinstance(class_attribute(type(f), "__call__"), pytypes.FunctionType)


_WHOLE = frozenset({int, math.floor, math.ceil, math.trunc, len, hash, id, ord})
"""Functions whose results are whole numbers."""
_WHOLE_RESULT = (
    "{verb}: {f} gives whole numbers, which have no derivative; register a function of yours that gives a float, and "
    "call that"
)
_NOT_LOOKED_UP = frozenset(
    {isinstance, issubclass, type, tuple, dict, bool, range, iter, getattr, operator.index, slice, operator.truth}
)
"""Functions whose calls the engine does itself, whatever rule there is."""


def _of_rule(f: Any, verb: str, typed: bool) -> Any:
    """The same where it is to have derivatives; `typed`: for some classes of arguments only."""
    f = _target(f, verb)
    if not typed and f in _WHOLE:
        raise RuleError(_WHOLE_RESULT.format(verb=verb, f=name_of(f)))
    if not typed and f in _NOT_LOOKED_UP:
        raise RuleError(f"{verb}: no rule of {name_of(f)} would be used; register a function of yours that calls it")
    return f


def _check_function(fn: Any, target: Any) -> None:
    if not isinstance(fn, pytypes.FunctionType):
        raise RuleError(f"rrule: the rule of {target!r} must be a Python function, not {type(fn).__name__}")
    special = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    if fn.__code__.co_flags & special:
        raise RuleError(f"rrule: the rule {fn.__qualname__} of {target!r} must return a pair, it is a generator")


def _add(rules: list[Rule], replace: bool) -> None:
    registry.load_packs()
    for r in rules:
        r.user = True
        _check_match(r)
    away = [_in_the_way(r, replace) for r in rules]
    for r, old in zip(rules, away, strict=True):
        mine = registry._rules.get(r.target, [])
        for other in old:
            mine.remove(other)
        registry.register(r)


def _no_user_rules(f: Any, verb: str) -> None:
    mine = [r for r in registry._rules.get(f, []) if r.user]
    if mine:
        raise RuleConflict(f"{verb}: {name_of(f)} has the rule {mine[-1].label}; unregister({name_of(f)}) first")


def _in_the_way(r: Rule, replace: bool) -> list[Rule]:
    """The user's rules that this one takes the place of; RuleConflict where that was not asked for."""
    if r.target in registry.replaced and not replace:
        raise RuleConflict(f"rrule: {name_of(r.target)} is substituted; unregister({name_of(r.target)}) first")
    away = []
    for old in registry._rules.get(r.target, []):
        if not old.user or not _covers(r, old):
            continue
        if not replace and not _again(r, old):
            what = "the same arguments" if _covers(old, r) else "arguments that the new one takes all of"
            raise RuleConflict(
                f"{name_of(r.target)} has a rule for {what}: {old.label}. The new rule {r.label} would leave it "
                "without use; register the more general one first, or pass replace=True"
            )
        away.append(old)
    return away


def _again(new: Rule, old: Rule) -> bool:
    """Is this the same rule, defined once more?"""
    if new.fn is None or old.fn is None:
        return new.fn is old.fn
    a, b = new.written.__code__, old.written.__code__
    if (new.written.__module__, a.co_qualname) != (old.written.__module__, b.co_qualname):
        return False
    interactive = new.written.__module__ == "__main__" and a.co_filename != b.co_filename
    return interactive or (a.co_filename, a.co_firstlineno) == (b.co_filename, b.co_firstlineno)


def _classes(p: Pattern) -> tuple[type, ...]:
    cls = p.cls if isinstance(p, Kind) else p
    return cls if isinstance(cls, tuple) else (cls,)


def _covers(new: Rule, old: Rule) -> bool:
    """Would every call that the old rule takes go to the new one?"""
    for i, want in enumerate(new.pattern):
        have = old.pattern[i] if i < len(old.pattern) else Any_
        if not all(issubclass(c, _classes(want)) for c in _classes(have)):
            return False
    if new.fn is None or old.fn is None:
        return new.fn is None
    signature = _signature(new.target)
    least, most, _ = _counts(signature) if signature is not None else _counts_of_ufunc(new.target)
    calls = range(max(least, len(new.pattern)), (max(new.most, old.most) + 2 if most is None else most) + 1)
    if any(old.accepts(n, ()) and not new.accepts(n, ()) for n in calls):
        return False
    return new.keywords or _keywords(old) <= _keywords(new) or new.most == old.most == len(new.names) == len(old.names)


def _keywords(r: Rule) -> set[str]:
    """The names that a call may pass by keyword to this rule."""
    assert r.fn is not None
    parameters = inspect.signature(r.fn).parameters.values()
    return {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def _check_match(r: Rule) -> None:
    """RuleError where no call of the target could use the rule."""
    f = name_of(r.target)
    for p in r.pattern:
        if not isinstance(p, (Kind, type)):
            raise RuleError(
                f"rrule: types={r.pattern!r} of {f} must be kinds (Scalar, Array, ...) or classes, not {p!r}"
            )
    if r.fn is None:
        return
    if r.target is round and not r.pattern and not r.accepts(2, ()):
        raise RuleError(_WHOLE_RESULT.format(verb="rrule", f="round(x)"))
    if len(r.pattern) > r.most and not r.variadic:
        raise RuleError(
            f"rrule: the rule {r.label} of {f} takes {r.most} positional arguments, so it can never match the "
            f"{len(r.pattern)} types {r.pattern!r}"
        )
    for word, places in (("alias", r.alias), ("mutates", r.mutates), ("deferred", r.deferred)):
        for i in places:
            if not isinstance(i, int) or i < 0 or (i >= len(r.names) and not r.variadic):
                raise RuleError(f"rrule: {word}={places!r}: the rule {r.label} of {f} has no argument {i!r}")
    for i in r.mutates:
        if i not in r.codual and not (r.variadic and i >= r.most):
            raise RuleError(
                f"rrule: the rule {r.label} of {f} says mutates={r.mutates!r}: annotate its parameter {r.names[i]!r} "
                "with CoDual, it needs the tangent of what is written to"
            )
    signature = _signature(r.target)
    least, most, required = _counts(signature) if signature is not None else _counts_of_ufunc(r.target)
    if most is not None and len(r.pattern) > most:
        raise RuleError(f"rrule: {f} takes {most} positional arguments, so the {len(r.pattern)} types never match")
    if signature is None and not isinstance(r.target, np.ufunc):
        return  # a C function that does not say what it takes
    highest = most if most is not None else max(r.most, least) + len(r.names)
    words = _words(signature)
    if not any(r.accepts(n, _by_keyword(r, n, required, words)) for n in range(highest + 1)):
        shown = signature if signature is not None else f"({', '.join(required)})"
        raise RuleError(
            f"rrule: no call of {f}{shown} can use the rule {r.label}, which takes ({', '.join(r.names)}): name "
            "defaults and further parameters as the function does"
        )


def _words(s: inspect.Signature | None) -> set[str] | None:
    """What may be passed by keyword; None for anything."""
    if s is None:
        return {"dtype", "out", "where", "casting", "order", "subok", "axis", "keepdims", "initial"}  # a ufunc's
    if any(p.kind is p.VAR_KEYWORD for p in s.parameters.values()):
        return None
    return {p.name for p in s.parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def _by_keyword(r: Rule, n: int, required: list[str], words: set[str] | None) -> list[str]:
    """What a call with n positional arguments must pass by keyword, for the function and for the rule."""
    rest = required[n:]
    return rest + [k for k in r.needs[n:] if k not in rest and (words is None or k in words)]


def _signature(f: Any) -> inspect.Signature | None:
    if isinstance(f, np.ufunc):
        return None
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):  # many C functions have none
        return None


def _counts(s: inspect.Signature) -> tuple[int, int | None, list[str]]:
    """The least and greatest number of positional arguments, and the names of what must be given."""
    positional = [p for p in s.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in positional if p.default is p.empty]
    keyword = [p.name for p in s.parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    many = any(p.kind is p.VAR_POSITIONAL for p in s.parameters.values())
    return len(needed), None if many else len(positional), needed + keyword


def _counts_of_ufunc(f: Any) -> tuple[int, int | None, list[str]]:
    if not isinstance(f, np.ufunc):
        return 0, None, []
    return f.nin, f.nin + f.nout, [f"x{i}" for i in range(f.nin)]


def _takes_all(g: inspect.Signature, f: inspect.Signature) -> bool:
    """Can g be called as f can?"""
    least, most, required = _counts(f)
    highest = len(f.parameters) + 2 if most is None else most
    for n in {least, highest}:
        try:
            g.bind(*range(n), **{k: 0 for k in required[least:]})
        except TypeError:
            return False
    return True
