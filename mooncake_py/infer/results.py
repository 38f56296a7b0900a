"""Result types of calls of Python functions that are not taken in: found by inference of the callee on its own."""

from __future__ import annotations

import inspect
import types as pytypes
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mooncake_py import registry
from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.base import until_forgotten
from mooncake_py.infer.parts import depth, elsewhere, holds_passed, unseen
from mooncake_py.infer.readers import changes, gives, in_place, may_be_returned
from mooncake_py.infer.recursive import ended
from mooncake_py.infer.types import BOT, Known, T, Tup, is_scalar, join, widen

if TYPE_CHECKING:
    from mooncake_py.infer.inferred import Guard, Inferred

_SPECIAL = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
MOST_NESTED = 30  # calls in calls that are looked into
MOST_RUNS = 200  # of inferences for one function: those that call each other are asked again and again
MOST_ROUNDS = 8  # of the iteration that finds the result of a recursive function
MOST_AT_ONCE = 10_000  # statements gone through for one function, before it is looked into for no more other types
MOST_ALTOGETHER, LEAST_ALTOGETHER = 25_000, 6_000
"""Statements gone through for one function and all that it leads to, before it is given up: less the more were gone
through in vain for others, as in the solvers of libraries, which call one another."""
MOST_IN_VAIN = 10_000
"""Statements gone through, for one call by the user, for results of one function that turn out to be of no use.

The types that a recursive function is given may be others at each level, of an expression that is written down in
tuples say, and each would be looked into: what is left then is decided when it runs.
"""


def only_numbers(t: T) -> bool:
    """A number, or a tuple of such."""
    if isinstance(t, Tup):
        return all(map(only_numbers, t.items))
    return is_scalar(t) or (isinstance(t, Known) and t.value is None)


def is_plain(code: pytypes.CodeType) -> bool:
    """A function whose parameters are positional and that is no generator or coroutine."""
    return not code.co_flags & _SPECIAL and not code.co_kwonlyargcount


def is_numeric_call(f: pytypes.FunctionType, types: Sequence[T]) -> bool:
    """Does a plain function get numbers only?"""
    return f.__closure__ is None and is_plain(f.__code__) and all(only_numbers(widen(t)) for t in types)


@dataclass(slots=True)
class Result:
    """The type of what a function returns, and what that relies on: names, and the functions that were looked into."""

    type: T
    guards: dict[tuple[int, str], Guard] = field(default_factory=dict)
    functions: set[pytypes.FunctionType] = field(default_factory=set)
    changes: dict[int, T] | None = None  # what it writes to, and the types after it; see `readers.changes`
    gives: frozenset[int] | None = frozenset()  # the parameters that may be in what it returns; see `readers.gives`
    in_place: bool | None = None  # does it change anything, what it makes itself included? None: that is not known
    aliased: bool = False  # may what it is given share memory?


@dataclass(slots=True)
class _Running:
    """A function whose result is being found; `outer`: the least running one that was asked for on the way."""

    at: int
    so_far: Result
    outer: int


_results: dict[Any, Result | None] = {}
_of_derivation: dict[Any, Result | None] = until_forgotten({})
"""Those for what the code that is derived makes, functions say, whose types hold on to that code."""
_running: dict[Any, _Running] = {}
_runs: list[pytypes.CodeType] = []  # of functions that are inferred for the outermost one of these
_in_vain: WeakKeyDictionary[pytypes.CodeType, Counter[bool]] = WeakKeyDictionary()
"""The statements gone through for results of a function, simplified or not, that are of no use: since a rule was last
derived for the user, for that and for what it led to."""
_NOTHING_IN_VAIN: Counter[bool] = Counter()
_gone_through = 0  # statements, all in all
_begun = 0  # those before the outermost one of the running ones
_all_in_vain = 0  # those for outermost ones that were of no use, since a rule was last derived for the user
_once_found: dict[Any, Result] = until_forgotten({})
"""What was found of functions for less than is known by now of those that asked: where to begin with them again."""
_as_yet: dict[Any, tuple[Result | None, int]] = {}
"""Results that hold for what is known so far of the running function at this place, and of those above it."""


class _TakesTooLong(Exception):
    """Of the outermost function whose result is being found: of those that take longer hardly one is of use."""


def went_through(statements: int) -> None:
    """Note what an inference does."""
    global _gone_through
    _gone_through += statements
    if _running and _gone_through - _begun > max(LEAST_ALTOGETHER, MOST_ALTOGETHER - _all_in_vain // 2):
        raise _TakesTooLong


def forget_what_was_in_vain() -> None:
    """To be called when the user calls for a rule."""
    global _all_in_vain
    _all_in_vain = 0
    _in_vain.clear()


def _is_of_use(result: Result, simplified: bool) -> bool:
    """Is what was found of a function enough to know its calls by it?"""
    return may_be_returned(result.type) and not (simplified and (result.changes is None or result.gives is None))


def result_of(
    f: pytypes.FunctionType, types: Sequence[T], simplified: bool = False, aliased: bool = False
) -> Result | None:
    """What a plain function returns for arguments of these types, None if not known.

    Of a recursive one it is found by iteration from nothing; what was found for others on the way holds for that round.
    `simplified`, it is made as simple as the attributes of its arguments allow, which takes longer and shows more.
    """
    global _all_in_vain
    from mooncake_py.frontend import normalise
    from mooncake_py.infer.interpret import Inference
    from mooncake_py.transform.primal import prepare
    from mooncake_py.transform.simplify import infer_simplified

    given = tuple([elsewhere(widen(t) if simplified else unseen(widen(t))) for t in types])
    key = (f.__code__, id(f.__globals__), given, registry.generation, simplified, aliased)
    running = _running.get(key)
    if running is not None:
        _relies_on(running.at)
        return running.so_far  # as far as is known
    if key in _as_yet:
        result, outer = _as_yet[key]
        _relies_on(outer)
        return result
    kept = _of_derivation if any(map(holds_passed, given)) else _results
    if key in kept:
        result = kept[key]
        if result is None or all(g.holds() for g in result.guards.values()):
            return result
    if not _running:
        _begin()
    in_vain = _in_vain.get(f.__code__, _NOTHING_IN_VAIN)[simplified]
    if len(_running) > MOST_NESTED or len(_runs) > MOST_RUNS or in_vain > MOST_IN_VAIN or _takes_too_long(f.__code__):
        return None
    since = _gone_through
    nothing = Result(BOT, changes={} if simplified else None, in_place=False, aliased=aliased)
    nothing = _once_found.get(key, nothing)
    before = set(_as_yet)
    me = _running[key] = _Running(len(_running), nothing, len(_running) + 1)
    result = None
    try:
        primal = prepare(normalise(f.__code__))
        for k in range(MOST_ROUNDS if primal.kind == "function" else 0):
            functions = {f}
            _runs.append(f.__code__)
            if simplified:
                inferred, taken = infer_simplified(primal, f, given, aliased=aliased)
                functions |= taken
            else:
                inferred = Inference(primal, given, f.__globals__, aliased=aliased).run()
                functions |= inferred.relied
            new = _found(inferred, me.so_far, simplified)
            if k > 2 and depth(new.type) > depth(me.so_far.type):
                new.type = ended(new.type)
            if new == me.so_far or me.outer > me.at:
                result = replace(new, guards=inferred.guards, functions=functions)
                break
            me.so_far = new
            _give_up(before)
            if simplified and not may_be_returned(new.type):
                break  # nor will be what it gives when more is known of it
    except UnsupportedError:
        result = None
    except _TakesTooLong:
        if me.at > 0:
            raise
    finally:
        del _running[key]
        if result is None:
            _give_up(before)
    if result is None or not _is_of_use(result, simplified):
        _in_vain.setdefault(f.__code__, Counter())[simplified] += _gone_through - since
        if not _running:
            _all_in_vain += _gone_through - since
    if result is not None:
        _once_found[key] = replace(result, guards={}, functions=set())
    _as_yet[key] = result, me.outer
    for k, (found, outer) in list(_as_yet.items()):
        if outer >= me.at and me.outer >= me.at:  # it relied on nothing but what is settled now
            (_of_derivation if any(map(holds_passed, k[2])) else _results)[k] = found
            del _as_yet[k]
        else:
            _as_yet[k] = found, min(outer, me.outer) if outer >= me.at else outer
    return result


def _begin() -> None:
    """Begin with a function that nobody else asks for."""
    global _begun
    _begun = _gone_through
    _runs.clear()
    _once_found.clear()


def _takes_too_long(code: pytypes.CodeType) -> bool:
    """Is a function asked for, by itself, for ever other types? Expressions made of expressions have no end."""
    return _gone_through - _begun > MOST_AT_ONCE and any(k[0] is code for k in _running)


def _relies_on(at: int) -> None:
    """What is running above this place relies on what is known so far of the function there."""
    for r in list(_running.values())[at:]:
        r.outer = min(r.outer, at)


def _give_up(before: Set[Any]) -> None:
    """What was found since these may have relied on something else than what is known now."""
    for k in _as_yet.keys() - before:
        del _as_yet[k]


def _found(inferred: Inferred, so_far: Result, simplified: bool) -> Result:
    """What is known of a function by its inference, and was before."""
    return Result(
        join(so_far.type, elsewhere(widen(inferred.result))),
        changes=changes(inferred) if simplified else None,
        gives=gives(inferred),
        in_place=in_place(inferred),
        aliased=so_far.aliased,
    )
