"""Where a derivative stops: the statements that take a value with a derivative and give one without.

The analysis is that of derivative data flow: what *produces* a derivative is known from the types; a value without,
made from one with, that goes on into the result of the function is where it was dropped.
"""

from __future__ import annotations

import copy
import linecache
import math
import operator
import types as pytypes
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mooncake_py.api import value_and_pullback
from mooncake_py.errors import AlwaysZeroWarning, MooncakeError, user_position
from mooncake_py.hashing import hashable
from mooncake_py.infer.inferred import CallInfo, Inferred
from mooncake_py.infer.types import Arr, Inst, Known, T, is_scalar, widen
from mooncake_py.inspection.describe import name_of, type_text
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Operand, Return, Var, edges
from mooncake_py.pipeline import derive_rule
from mooncake_py.run import Run, is_wary
from mooncake_py.stop import no_diff
from mooncake_py.tracebacks import user_frame

Functions = frozenset[Any]
_COMPARISONS: Functions = frozenset({operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne})
_COMPARISONS |= {operator.not_, operator.contains, operator.is_, operator.is_not, ops.truth, np.less, np.greater}
_COMPARISONS |= {np.less_equal, np.greater_equal, np.equal, np.not_equal, np.isfinite, np.isnan}
_COMPARISONS |= {np.argmax, np.argmin, np.argsort}
_CASTS: Functions = frozenset({int, bool, round, operator.index, math.floor, math.ceil, math.trunc, operator.floordiv})
_CASTS |= {np.ndarray.astype, np.floor, np.ceil, np.rint, np.trunc, np.round, np.sign, np.floor_divide}
_TEXT: Functions = frozenset({str, repr, format, print, ops.format_value, ops.build_string})
_STRUCTURE: Functions = frozenset({len, isinstance, type, id, ops.load_global, iter, slice, ops.build_tuple})
_STRUCTURE |= {ops.make_function}
_ATTRIBUTES = frozenset({"shape", "ndim", "size", "dtype", "nbytes", "flags", "strides", "__class__"})


@dataclass(frozen=True, slots=True)
class Dropped:
    """One statement where a derivative stops.

    `kind`: "comparison", "cast", "text", "no_diff", "zero derivative" or "not differentiated"; `into_result` says
    whether its value goes on into the result.
    """

    filename: str
    line: int | None
    expression: str
    kind: str
    callee: str
    into_result: bool

    def __str__(self) -> str:
        goes = "; its value goes into the result" if self.into_result else ""
        return f"{self.filename}:{self.line}: {self.expression}  ({self.kind}: {self.callee}{goes})"


@dataclass(frozen=True, slots=True)
class DroppedReport:
    """Where the derivatives of one function stop; `str()` is the report."""

    function: str
    result: str
    always_zero: tuple[str, ...]
    stops: tuple[Dropped, ...]
    undecided: tuple[str, ...]

    def __str__(self) -> str:
        out = [f"{self.function} returns {self.result}"]
        out += [f"  always zero: the derivative by {name}" for name in self.always_zero]
        out += [f"  stops at {stop}" for stop in self.stops] or ["  no derivative stops"]
        out += [f"  not known before it runs: {text}" for text in self.undecided]
        return "\n".join(out)


def dropped(f: Callable[..., Any], *args: Any, **kwargs: Any) -> DroppedReport:
    """Where derivative information stops in `f(*args, **kwargs)`: casts, comparisons, calls without derivative.

    All positional arguments count as active. f is run once, on copies of its arguments, and the functions that are
    called in this run are looked into as well; what is only decided when it runs is reported as it was decided here.
    Where this run ends with an exception, f is looked at without a run. Raises as `inspect`.
    """
    from mooncake_py.inspection import inspect

    own = without_running(f, *args, **kwargs)
    seen = inspect(f, *args, **kwargs)
    here = seen.function.__code__.co_filename
    watched = _Watched(seen.function)
    try:
        with Run() as run:
            run.observer = watched
            value_and_pullback(f, *copy.deepcopy(args), **copy.deepcopy(kwargs))
    except Exception:
        return own
    watched.follow(seen.inferred)
    stops = dict.fromkeys((*own.stops, *watched.stops))
    ordered = sorted(stops, key=lambda d: (d.filename != here, d.filename, d.line or 0, d.expression))
    return replace(own, stops=tuple(ordered), undecided=())


def without_running(f: Callable[..., Any], *args: Any, **kwargs: Any) -> DroppedReport:
    """The same for f itself, from its code and the types of the arguments alone."""
    from mooncake_py.inspection import inspect

    seen = inspect(f, *args, **kwargs)
    code = seen.function.__code__
    return report(seen.inferred, code.co_filename, code.co_qualname, seen.derived.always_zero)


class _Watched:
    """What a run derives, and where derivatives stop in calls that are decided in it."""

    def __init__(self, f: Any):
        self.f = f
        self.known: set[Any] = set()
        self.stops: dict[Dropped, None] = {}

    def derived(self, fn: pytypes.FunctionType, types: tuple[T, ...], free: tuple[T, ...]) -> None:
        key = fn.__code__, types, free
        if fn is self.f or key in self.known:
            return
        self.known.add(key)
        stages: dict[str, Any] = {}
        derive_rule(fn, types, free, observe=stages.__setitem__, wary=is_wary())
        code = fn.__code__
        found = report(stages["inferred"], code.co_filename, code.co_qualname, ())
        self.stops.update(dict.fromkeys(found.stops))
        self.follow(stages["inferred"])

    def follow(self, inferred: Inferred) -> None:
        """Look into the functions of numbers that are called there."""
        for call in inferred.calls.values():
            if call.kind == "derived":
                self.derived(call.target, tuple(map(widen, call.types)), ())

    def stopped(self, f: Any, y: Any) -> None:
        """A call without derivative, decided when it ran."""
        kind = _kind_of(f, y)
        position = user_position()
        if kind is not None and position is not None:
            filename, line = position
            text = linecache.getline(filename, line).strip() or "a statement"
            self.stops[Dropped(filename, line, text, kind, name_of(f), False)] = None


def report(inferred: Inferred, filename: str, function: str, always_zero: tuple[int, ...]) -> DroppedReport:
    """The report of an inferred function."""
    fn = inferred.fn
    into = _into_result(inferred)
    stops: dict[Dropped, None] = {}
    undecided: dict[str, None] = {}
    for b in fn.blocks:
        for s in b.stmts:
            call = inferred.calls.get(s.out)
            if b.id not in inferred.reached or call is None:
                continue
            if call.kind == "dynamic" and any(_active(inferred, v) for v in s.operands()):
                undecided[f"{filename}:{s.pos.line}: {_expression(s, filename)} ({call.why})"] = None
            kind = _stops(s, call, inferred)
            if kind is not None:
                name = name_of(call.target) if call.target is not None else "a call"
                stops[Dropped(filename, s.pos.line, _expression(s, filename), kind, name, s.out in into)] = None
    names = tuple(fn.params[i].name or f"argument {i}" for i in always_zero if i < len(fn.params))
    ordered = sorted(stops, key=lambda d: (d.line or 0, d.expression))
    return DroppedReport(function, type_text(inferred.result), names, tuple(ordered), tuple(undecided))


def _active(inferred: Inferred, v: Operand) -> bool:
    t = inferred.types.get(v) if isinstance(v, Var) else None
    return t is not None and t.active


def _stops(s: Call, call: CallInfo, inferred: Inferred) -> str | None:
    """How the derivative stops here, None where it does not."""
    t = inferred.types.get(s.out)
    if t is None or t.active or not any(_active(inferred, v) for v in (*call.args, *(v for _, v in call.kwargs))):
        return None
    f = call.target
    if call.kind not in ("plain", "rule") or not hashable(f) or f is getattr:
        return None
    if isinstance(t, Known) and t.value is None:
        return None
    kind = _kind_of(f, None)
    if kind is not None:
        return kind
    if isinstance(widen(t), Inst) and is_scalar(t) and f in (np.int64, np.int32, np.intp):
        return "cast"
    if _is_structure(f):
        return None
    if call.rule is not None and call.rule.fn is None:
        return "zero derivative"
    if isinstance(t, Arr) and t.dtype is not None and t.dtype.kind in "iub":
        return "cast"
    return "not differentiated"


def _is_structure(f: Any) -> bool:
    """Does f ask for what has no derivative anyway: a length, a type, a shape?"""
    name, owner = getattr(f, "__name__", ""), getattr(f, "__objclass__", None)
    return f in _STRUCTURE or (name in _ATTRIBUTES and owner is np.ndarray)


def _kind_of(f: Any, y: Any) -> str | None:
    """How a derivative stops in a call of f, which gave y where that is known; None where f alone does not say."""
    if _is_structure(f):
        return None
    if f is no_diff:
        return "no_diff"
    for kind, functions in (("comparison", _COMPARISONS), ("cast", _CASTS), ("text", _TEXT)):
        if f in functions:
            return kind
    return None if y is None else "zero derivative"


def _into_result(inferred: Inferred) -> set[Var]:
    """The values that the result is computed from."""
    fn = inferred.fn
    made = {s.out: s for b in fn.blocks for s in b.stmts}
    incoming: dict[Var, list[Operand]] = {}
    blocks = {b.id: b for b in fn.blocks}
    work: list[Operand] = []
    for b in fn.blocks:
        if isinstance(b.term, Return):
            work.append(b.term.value)
        for e in edges(b.term):
            params = blocks[e.target].params
            for p, a in zip(params[len(params) - len(e.args) :], e.args, strict=True):
                incoming.setdefault(p, []).append(a)
    found: set[Var] = set()
    while work:
        v = work.pop()
        if not isinstance(v, Var) or v in found:
            continue
        found.add(v)
        work += incoming.get(v, ())
        s = made.get(v)
        if s is not None and not (isinstance(s.fn, Const) and s.fn.value in (ops.load_global,)):
            work += s.operands()
    return found


def _expression(s: Call, filename: str) -> str:
    p = s.pos
    if p.line is None or p.col is None or p.end_line != p.line or p.end_col is None:
        return linecache.getline(filename, p.line or 0).strip() or "a statement"
    line = linecache.getline(filename, p.line).encode()
    return line[p.col : p.end_col].decode(errors="replace").strip() or "a statement"


# -- the warning ------------------------------------------------------------------------------------------


_warned: dict[tuple[int, str], Any] = {}  # the code is kept, so that its id stays its own


def warn_always_zero(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], argument: str) -> None:
    """Warn, once for a function and argument, that the derivative which was asked for is always zero."""
    code = getattr(f, "__code__", f)
    key = id(code), argument  # equal code elsewhere is another function
    if key in _warned:
        return
    _warned[key] = code
    name = getattr(f, "__qualname__", None) or repr(f)
    text = f"the derivative of {name} by {argument} is always zero: its result does not depend on it"
    try:
        stops = without_running(f, *args, **kwargs).stops
    except (MooncakeError, TypeError):  # it has run, but cannot be looked at
        stops = ()
    found = [s for s in stops if s.into_result] or [s for s in stops if s.kind != "comparison"]
    if found:
        text += " in a way that has a derivative. It stops at\n" + "\n".join(f"    {s}" for s in found)
    frame = user_frame()
    filename, line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("<unknown>", 1)
    warnings.warn_explicit(text, AlwaysZeroWarning, filename, line)
