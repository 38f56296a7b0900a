"""Result types of calls of Python functions that are not taken in: found by inference of the callee on its own."""

from __future__ import annotations

import inspect
import types as pytypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mooncake_py import registry
from mooncake_py.errors import UnsupportedError
from mooncake_py.infer.readers import only_reads
from mooncake_py.infer.types import BOT, Fn, Known, Meth, T, Top, Tup, is_scalar, join, unseen, widen, with_parts

if TYPE_CHECKING:
    from mooncake_py.infer.inferred import Guard

_SPECIAL = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)
MOST_NESTED = 30  # calls in calls that are looked into
MOST_ROUNDS = 8  # of the iteration that finds the result of a recursive function


def only_numbers(t: T) -> bool:
    """A number, or a tuple of such."""
    if isinstance(t, Tup):
        return all(map(only_numbers, t.items))
    return is_scalar(t) or (isinstance(t, Known) and t.value is None)


def elsewhere(t: T) -> T:
    """The type in another function's code. The statement that made a function or bound a method is not there: what
    these hold is not known."""
    return Top(t.active) if isinstance(t, (Fn, Meth)) else with_parts(t, elsewhere)


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
    only_reads: bool = False  # nothing that it is given, or that is outside, is changed


@dataclass(slots=True)
class _Running:
    """A function whose result is being found; `outer`: the least running one that was asked for on the way."""

    at: int
    so_far: T
    outer: int


_results: dict[Any, Result | None] = {}
_running: dict[Any, _Running] = {}


def result_of(f: pytypes.FunctionType, types: Sequence[T], simplified: bool = False) -> Result | None:
    """What a plain function returns for arguments of these types, None if not known.

    Of a recursive one it is found by iteration from nothing; what was found for others on the way is then not kept.
    `simplified`, it is made as simple as the attributes of its arguments allow, which takes longer and shows more.
    """
    from mooncake_py.frontend import normalise
    from mooncake_py.infer.interpret import Inference
    from mooncake_py.transform.primal import prepare
    from mooncake_py.transform.simplify import infer_simplified

    given = tuple([elsewhere(widen(t) if simplified else unseen(widen(t))) for t in types])
    key = (f.__code__, id(f.__globals__), given, registry.generation, simplified)
    running = _running.get(key)
    if running is not None:
        for r in list(_running.values())[running.at :]:
            r.outer = min(r.outer, running.at)
        return Result(running.so_far, only_reads=simplified)  # as far as is known
    if key in _results:
        result = _results[key]
        if result is None or all(g.holds() for g in result.guards.values()):
            return result
    if len(_running) > MOST_NESTED:
        return None
    me = _running[key] = _Running(len(_running), BOT, len(_running) + 1)
    result = None
    try:
        primal = prepare(normalise(f.__code__))
        for _ in range(MOST_ROUNDS if primal.kind == "function" else 0):
            functions = {f}
            if simplified:
                inferred, taken = infer_simplified(primal, f, given)
                functions |= taken
            else:
                inferred = Inference(primal, given, f.__globals__).run()
                functions |= inferred.relied
            new = join(me.so_far, elsewhere(widen(inferred.result)))
            if new == me.so_far or me.outer > me.at:
                if new is not BOT:  # else nothing was seen to come back: of an empty list, say, that is not yet filled
                    result = Result(new, inferred.guards, functions, simplified and only_reads(inferred))
                break
            me.so_far = new
    except UnsupportedError:
        result = None
    finally:
        del _running[key]
    if me.outer >= me.at:
        _results[key] = result
    return result
