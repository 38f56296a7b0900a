"""StopIteration out of what a generator calls, which is no end of the generator: one that calls such things is run by
itself, not as a part of what asks it."""

from __future__ import annotations

import builtins
import types as pytypes
from collections.abc import Sequence
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.infer.held import is_library
from mooncake_py.infer.types import Known, T
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Const, Function, Operand, Raise


def may_stop(body: Function, types: Sequence[T | None], scope: dict) -> bool:
    """May one of the functions raise StopIteration that the body of a generator calls?"""
    given: dict[Operand, Any] = {p: t.value for p, t in zip(body.params, types, strict=False) if isinstance(t, Known)}
    own = () if body.kind == "iterator" else (next,)  # what a generator asks itself is looked after
    return any(f not in own and _stops(f, set()) for f in _called(body, given, scope))


def _called(body: Function, given: dict[Operand, Any], scope: dict) -> list[Any]:
    """The functions that are called where no exception is caught."""
    names = dict(given)
    for s in (s for b in body.blocks for s in b.stmts):
        if is_const(s.fn, ops.load_global) and isinstance(s.args[0], Const):
            names[s.out] = _meant(s.args[0].value, scope)
    calls = [s for b in body.blocks if b.handler is None for s in b.stmts]
    found = [(s.fn.value if isinstance(s.fn, Const) else names.get(s.fn), len(s.args)) for s in calls]
    return [f for f, n in found if (f is next and n == 1) or isinstance(f, pytypes.FunctionType)]


def _meant(name: str, scope: dict) -> Any:
    return scope[name] if name in scope else getattr(builtins, name, None)


def _stops(f: Any, seen: set[Any]) -> bool:
    if f is next:
        return True
    code = f.__code__
    if code in seen or is_library(f) or code.co_flags & 0x20:
        return False
    seen.add(code)
    scope = f.__globals__
    if "next" in code.co_names or "StopIteration" in code.co_names:
        try:
            body = normalise(code)
        except UnsupportedError:
            return False
        raises = any(isinstance(b.term, Raise) and b.handler is None for b in body.blocks)
        if ("StopIteration" in code.co_names and raises) or next in _called(body, {}, scope):
            return True
    named = [_meant(n, scope) for n in code.co_names]
    return any(_stops(g, seen) for g in named if isinstance(g, pytypes.FunctionType))
