"""The rules: which function has which, by the types of its arguments.

A rule is an ordinary function in closure style. It takes what the primal takes and returns the value and a
pullback; the pullback takes the cotangent of the value and returns one cotangent per argument (a tuple, or
the bare cotangent of the first argument), None standing for zero:

    @rrule(math.sin)
    def sin(x):
        def pullback(dy):
            return dy * math.cos(x)
        return math.sin(x), pullback

A parameter annotated `CoDual` sees primal and fdata together: that is how rules of mutation and containers
reach what their arguments share. Everything else is declared beside the rule: `alias` names the arguments the
result may share memory with.
"""

from __future__ import annotations

import importlib
import sys
import types as pytypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mooncake_py.errors import RuleError
from mooncake_py.hashing import hashable
from mooncake_py.infer.types import T
from mooncake_py.kinds import Pattern
from mooncake_py.outputs import writes_out
from mooncake_py.rule import Rule
from mooncake_py.structure import constant_packages, of_constant_package, package_of

_rules: dict[Any, list[Rule]] = {}
infer_table: dict[Any, Callable[..., T | None]] = {}
"""callable -> (argument types, keyword types) -> result type, or None where it cannot tell."""
probed: set[Any] = set()
"""Pure functions whose result type may be found by calling them on small sample arguments."""
samples: dict[type, Any] = {}
"""A sample of classes whose objects are constants: what operators and functions give for one, they give for all."""
pure: set[Any] = set()
"""Functions that change nothing: a call whose result is not used can go."""
incurious: set[Any] = set()
"""Functions without derivative that ask nothing of the classes of their arguments, and nothing of their items."""
runs_given: set[Any] = set()
"""Rules of functions that call those they are given, which may write to what they captured."""
asking_items: set[Any] = set()
"""Functions in C that call methods of the items that they are given: to compare them, or for their text."""
in_steps: dict[Any, Any] = {}
"""function in C that compares what it is given -> what does it step by step (`runtime/compared.py`), each comparison a
call that is derived: for objects whose methods may change something."""
element_effects: dict[Any, Callable[[Sequence[T]], T]] = {}
"""callable that writes into its first argument -> the type of what it puts there, from the arguments' types."""
drained: dict[Any, int] = {}
"""function that runs an iterator to its end -> the position of that argument: in derived code it gets a list."""
item_types: dict[Any, Callable[[Sequence[T], Sequence[T], dict[str, T]], T | None]] = {}
"""function that makes an iterator -> what that gives, from what each positional argument gives, their types, and those
of what is given by name."""
generation = 0
"""Counts registrations: rules derived before a change of the table are not used after it."""


def is_pure(f: Any, n: int = 1, keywords: Iterable[str] = ()) -> bool:
    """Does f, called with n positional arguments and these keywords, surely change nothing but return a value?"""
    try:
        known = f in pure or f in probed
    except TypeError:
        return False
    return known and not writes_out(f, n, keywords)


def of_numpy(f: Any) -> bool:
    """Is this a function of NumPy's, or a method of its arrays?"""
    owner = getattr(f, "__objclass__", f)
    return isinstance(f, np.ufunc) or (getattr(owner, "__module__", None) or "").partition(".")[0] == "numpy"


def register(rule: Rule, fallback: bool = False) -> None:
    """Add a rule; it wins over those that are there, but a pack's never over a user's."""
    known = _rules.setdefault(rule.target, [])
    last = len(known) if rule.user else sum(not r.user for r in known)
    known.insert(0 if fallback else last, rule)
    changed()


def changed() -> None:
    """What is derived already is not used any more."""
    global generation
    generation += 1


def name_of(f: Any) -> str:
    """The full name of a function."""
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or repr(f)
    module = getattr(f, "__module__", None) or getattr(getattr(f, "__objclass__", None), "__module__", None)
    if isinstance(f, np.ufunc):
        module = next((m for m in ("numpy", "scipy.special") if getattr(sys.modules.get(m), name, None) is f), None)
    return f"{module}.{name}" if module and module != "builtins" else str(name)


def is_declared(f: Any) -> bool:
    """Has somebody said what is to be differentiated in the place of f's own body?"""
    if not hashable(f):
        return False
    return bool(rules_of(f)) or f in _overlays or f in refused or f in replaced or f in opaque


def declared() -> set[Any]:
    """All functions of which somebody has said so, and those that have rules for some calls only."""
    overlaid = [k[0] if type(k) is tuple else k for k in _overlays]
    return {*_rules, *overlaid, *_by_class, *refused, *replaced, *opaque, *drained}


def rrule(
    *targets: Any,
    types: tuple[Pattern, ...] = (),
    alias: tuple[int, ...] = (),
    mutates: tuple[int, ...] = (),
    deferred: tuple[int, ...] = (),
    fallback: bool = False,
) -> Callable[[Callable], Callable]:
    """Register the decorated function as the rule of `targets`.

    `rrule(f)` is for all arguments; `rrule(f, types=(Array, Scalar))` only for calls whose leading arguments
    are of these kinds (`Scalar`, `RealScalar`, `Array`, `Any_`, or a class). The rule registered last wins.
    `alias`: positions of arguments that the result may share memory with (views). `mutates`: positions of
    arguments that the function writes to; their parameters are annotated `CoDual`. `deferred`: positions whose
    cotangent the pullback returns as `At(index, value)`, to be added in place. `fallback`: asked only where no
    other rule takes the call.

    Raises RuleError where a target cannot be called or the rule is not a plain function.
    """
    for f in targets:
        if not callable(f) and not isinstance(f, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)):
            raise RuleError(f"rrule: {f!r} is not callable; register the function the rule belongs to")

    def decorate(fn: Callable) -> Callable:
        if not isinstance(fn, pytypes.FunctionType):
            raise RuleError(f"rrule: the rule of {targets[0]!r} must be a Python function, not {type(fn).__name__}")
        for f in targets:
            register(Rule(f, fn, tuple(types), tuple(alias), tuple(mutates), tuple(deferred)), fallback)
        return fn

    return decorate


def zero_derivative(*targets: Any) -> None:
    """Declare that these functions have a derivative of zero (or none, as for integers): they are just called.

    Their results carry no derivative and they must change none of their arguments.
    """
    for f in targets:
        if not callable(f) and not isinstance(f, (pytypes.GetSetDescriptorType, pytypes.MemberDescriptorType)):
            raise RuleError(f"zero_derivative: {f!r} is not callable")
        register(Rule(f, None))


wrappers: dict[type, Callable[[Any], Any]] = {}
"""Classes of callables that only pass their call on -> the function a callable of the class passes it to."""
called_as: dict[type, Callable[..., tuple[pytypes.FunctionType, tuple[Any, ...]] | None]] = {}
"""Classes of callables -> what says to which Python function a call of an object comes down, and which of the class's
arguments this is given before those of the call: told the class's arguments by name, how many the call has by position,
and the names of others."""
_overlays: dict[Any, pytypes.FunctionType] = {}
overlay_modules: set[str] = set()
"""Where overlays and the functions that they call are defined."""
_by_class: dict[Any, list[tuple[tuple[type | tuple[type, ...], ...], pytypes.FunctionType]]] = {}
refused: dict[Any, str] = {}
replaced: dict[Any, pytypes.FunctionType] = {}
"""By users: function -> the one that is differentiated in its place, whatever rules there are."""
opaque: set[Any] = set()
"""By users: Python functions that are not looked into."""


def overlay(
    *targets: Any, arity: int | None = None, classes: tuple[type | tuple[type, ...], ...] | None = None
) -> Callable[[Callable], Callable]:
    """Calls of `targets` that no rule takes are differentiated as calls of the decorated Python function.

    With `arity`, only calls with this many positional arguments, and with keywords only where fn has such that are
    keyword-only; with `classes`, only calls with positional arguments of these classes and no others.

    It takes what they take and must return what they return: for functions written in C whose derivative is best
    had from code, and Python functions whose own code the engine cannot differentiate.
    """

    def decorate(fn: Callable) -> Callable:
        global generation
        generation += 1
        if not isinstance(fn, pytypes.FunctionType):
            raise RuleError(f"overlay: {fn!r} is not a Python function")
        for f in targets:
            if classes is not None:
                _by_class.setdefault(f, []).append((classes, fn))
            else:
                _overlays[f if arity is None else (f, arity)] = fn
        overlay_modules.add(fn.__module__)
        return fn

    return decorate


def overlay_of(f: Any, n: int, keywords: bool, classes: Sequence[type | None] = ()) -> pytypes.FunctionType | None:
    """The function that was given for calls of f with n positional arguments (and keywords), of these classes."""
    if not hashable(f) or f in replaced:
        return None
    for wanted, fn in _by_class.get(f, ()) if not keywords else ():
        if len(wanted) == len(classes):
            if all(c is not None and issubclass(c, want) for c, want in zip(classes, wanted, strict=True)):
                return fn
    found = _overlays.get((f, n))
    if found is None or (keywords and not found.__code__.co_kwonlyargcount):
        return _overlays.get(f)
    return found


def seen_through(
    f: Any, n: int = -1, keywords: bool = False, classes: Sequence[type | None] = ()
) -> pytypes.FunctionType | None:
    """The Python function that a call of f, which has no rule for it, is differentiated as."""
    if not hashable(f) or f in refused or f in opaque:
        return None
    if f in replaced:
        return replaced[f]
    if (found := overlay_of(f, n, keywords, classes)) is not None:
        return found
    while (wrapped := wrappers.get(type(f))) is not None:
        f = wrapped(f)
    return f if isinstance(f, pytypes.FunctionType) and not of_constant_package(f) else None


def refuse(why: str, *targets: Any) -> None:
    """Declare that these functions are not differentiated, and why: a call with an active argument raises MissingRule
    with the reason."""
    global generation
    generation += 1
    for f in targets:
        refused[f] = why


def refusal_of_object(args: Sequence[Any]) -> str | None:
    """Why objects of the class of the first argument hold no values with a derivative; None where nothing says so."""
    return refused.get(type(args[0])) if args else None


def refusal(f: Any) -> str | None:
    """Why f is not differentiated; None where it is not refused."""
    if not hashable(f):
        return None
    if f in opaque:
        return "it is declared a primitive, and no rule of it takes this call"
    if isinstance(f, np.ufunc) and f.types and all(set(t) == {"O", "-", ">"} for t in f.types):
        return "what np.frompyfunc makes gives arrays of objects; use np.vectorize"
    return refused.get(f) or constant_packages.get(package_of(f))


def rules_of(f: Any) -> list[Rule]:
    """The rules of f, last registered first; empty where it has none."""
    try:
        found = _rules.get(f)
        if replaced and f in replaced:
            return []
        if found is None:
            found = _rules.get(f, []) if _waiting and load_waiting() else []
    except TypeError:  # unhashable: a user's callable object
        return []
    return found[::-1]


def find_rule(f: Any, types: Sequence[T], keywords: Iterable[str] = ()) -> Rule | bool | None:
    """The rule of f for these types: None where there is none, False where the types do not decide."""
    for rule in _accepting(f, len(types), keywords):
        m = rule.matches(types)
        if m is None:
            return False
        if m:
            return rule
    return None


def find_rule_for_values(f: Any, args: Sequence[Any], keywords: Iterable[str] = ()) -> Rule | None:
    """The same for values."""
    for rule in _taking(f, tuple(map(type, args)), keywords):
        if rule.matches_values(args):
            return rule
    return None


_accepted: dict[Any, list[Rule]] = {}
_taken: dict[Any, list[Rule]] = {}
_accepted_generation = -1
_MOST = 5000  # classes come and go


def _accepting(f: Any, n: int, keywords: Iterable[str]) -> list[Rule]:
    """The rules of f that can be called with n positional arguments and these keywords."""
    global _accepted_generation
    rules = rules_of(f)
    if not rules:
        return rules
    if _accepted_generation != generation:
        _accepted.clear()
        _taken.clear()
        _accepted_generation = generation
    key = f, n, tuple(keywords)
    found = _accepted.get(key)
    if found is None:
        found = _accepted[key] = [rule for rule in rules if rule.accepts(n, key[2])]
    return found


def _taking(f: Any, classes: tuple[type, ...], keywords: Iterable[str]) -> list[Rule]:
    """Those of them that may be for arguments of these classes."""
    rules = _accepting(f, len(classes), keywords)
    if len(rules) < 2:
        return rules
    key = f, classes, tuple(keywords)
    found = _taken.get(key)
    if found is None:
        if len(_taken) > _MOST:
            _taken.clear()
        found = _taken[key] = [rule for rule in rules if rule.may_match(classes)]
    return found


_loaded = False
_waiting: dict[str, tuple[str, ...]] = {}


def when_imported(module: str, *packs: str) -> None:
    """The rules in the modules `packs` belong to `module`: they are imported once somebody has imported that.

    So there may be rules for a library that is not installed, or that is slow to import.
    """
    _waiting[module] = _waiting.get(module, ()) + packs


_modules = -1  # how many there were when we looked last


def load_waiting() -> bool:
    """Import the packs whose module is there by now; were there any?"""
    global _modules
    if len(sys.modules) == _modules:
        return False
    due = [m for m in _waiting if (there := sys.modules.get(m)) is not None and not _importing(there)]
    for m in due:
        packs = _waiting.pop(m, ())
        try:
            for pack in packs:
                importlib.import_module(pack)
        except BaseException:
            _waiting[m] = packs + _waiting.get(m, ())
            raise
    if not any(m in sys.modules for m in _waiting):
        _modules = len(sys.modules)
    return bool(due)


def load_due() -> None:
    """Import the packs whose module is there by now, if any are waited for."""
    if _waiting:
        load_waiting()


def _importing(module: Any) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def load_packs() -> None:
    """Import every rule pack of the entry-point group `mooncake_py.rules`, once, and those whose module came since.

    Raises what the import of one raises, each time that it is tried: without its rules there would be other gradients.
    """
    global _loaded
    if _loaded:
        load_due()
        return
    _loaded = True
    from importlib.metadata import entry_points  # slow to import, and not needed until the first derivation

    try:
        for ep in sorted(entry_points(group="mooncake_py.rules"), key=lambda e: e.name):
            ep.load()
        load_waiting()
    except BaseException:
        _loaded = False
        raise


def inline(fn: Callable) -> Callable:
    """Mark a helper of rules whose body is taken into the derived code instead of a call of it."""
    inlined.add(fn)
    return fn


inlined: set[Callable] = set()
"""Helpers of rules marked by `inline`."""
maybe_none: set[Any] = set()
"""Functions used by pullbacks that may return None for a cotangent of zero."""


def perhaps_none(t: Any) -> Any:
    """Says of a cotangent in a pullback that it may be None, for zero."""
    return t


all_there: set[Any] = set()
"""Functions used by pullbacks that return a tuple or list of cotangents, none of them None."""
complex_tests: set[Any] = set()
"""Those of them that ask whether a value may be complex: no, in code where nothing is."""
undoes: set[Any] = set()
"""Functions by which pullbacks put back what their first argument, an array, held: left out where nobody looks."""
undoes_attributes: set[Any] = set()
"""Those of them that put back an attribute of an object."""
reads_items: set[Any] = set()
"""Helpers of pullbacks that look at the items of containers, and at no attribute of an object."""
shape_argument: dict[Any, int] = {}
"""Helpers of pullbacks whose result has the shape that is their argument at this position."""
pair_of_shapes: set[Any] = set()
"""Helpers of rules that give the shapes of two arrays, or None where they are one."""
shape_in_pair: dict[Any, tuple[int, int]] = {}
"""Helpers of pullbacks whose result has a shape of such a pair: which argument is the pair, and which says of what."""
repeated: dict[Any, Any] = {}
"""Helpers of pullbacks: `f(t, shape, None)` shows a scalar t at every place of an array, without memory for it.
To each, what gives such an array in memory of its own."""
same_if_shaped: set[Any] = set()
"""Those of them that give their first argument as it is where it has that shape."""
at_run_time: set[Any] = set()
"""Functions that a call site runs in a way of its own, whatever their code says."""
folds: dict[Any, Callable[..., Any]] = {}
"""Predicates that rules ask of types: function -> (argument types) -> the answer, None where it is not known."""
