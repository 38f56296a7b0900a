"""Exceptions out of code that is not derived: what they hold must not be looked at as if it had no derivative.

C code calls functions and methods of the user's where nobody derives them: `math.fsum` a `__float__`, SciPy the
function that it integrates. What these raise comes through to the handlers of the differentiated function with what
it holds, and nobody knows what that was computed from.
"""

from __future__ import annotations

import operator
import os
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np

from mooncake_py import run
from mooncake_py.errors import MooncakeError, UnsupportedError
from mooncake_py.hashing import hashable
from mooncake_py.ir import ops
from mooncake_py.ir.mapping import is_const
from mooncake_py.ir.nodes import Call, Const, Function, Operand, Var, all_edges
from mooncake_py.origins import is_derived
from mooncake_py.structure import attributes, is_user_class
from mooncake_py.tracebacks import is_engine
from mooncake_py.unwinding import tangent_of

_PLAIN = frozenset({int, bool, str, bytes, type(None), BaseException, type})


def looked_at(x: Any) -> None:
    """The user looks into what may be an exception: refused where numbers in it may have lost their derivatives."""
    if isinstance(x, tuple):  # `*exc` of an `__exit__`
        x = next((v for v in x if isinstance(v, BaseException)), None)
    if not isinstance(x, BaseException) or isinstance(x, MooncakeError):
        return
    held = _held(x)
    if _PLAIN.issuperset(map(type, held)) or tangent_of(x) is not None or run.current().shadow(x) is not None:
        return
    tb = _raised_at(x)
    if tb is None:
        return
    code = tb.tb_frame.f_code
    if any(_may_have_derivative(v, code.co_consts, set()) for v in held):
        place = f"{code.co_qualname} raised it in {os.path.basename(code.co_filename)}:{tb.tb_lineno}"
        raise UnsupportedError(
            f"looking at an exception with numbers that code raised which is not differentiated "
            f"({type(x).__name__}; {place})", "the call", None,
            "catch it there, or call that function directly: C code called it",
        ) from x  # fmt: skip


def given_to(fn: Function) -> tuple[Var, ...]:
    """The parameters of a method that a `with` statement passes its exception to."""
    if fn.name != "__exit__" or is_engine(fn.filename):
        return ()
    return fn.params[2:3] or fn.params[-1:]  # the rest may be in a tuple


_NOT_LOOKING: frozenset[Any] = frozenset(
    {
        *(ops.push_exc_info, ops.exc_match, ops.exc_group_match, ops.part_of_group, ops.raised_again, ops.cell_set),
        *(ops.format_value, ops.truth, operator.is_, operator.is_not, operator.not_),
    }
)
"""What is done with exceptions that does not come to the numbers in one."""
_NOT_LOOKING_BY_NAME = frozenset({"str", "repr", "print", "isinstance", "type", "bool", "id", "callable"})
_OF_ITSELF = frozenset({"__traceback__", "__cause__", "__context__", "with_traceback", "add_note", "__class__"})


class Looking:
    """Which statements of a function look into these of its values, exceptions, by whatever name."""

    def __init__(self, fn: Function, exceptions: Iterable[Operand]):
        self.defs = {s.out: s for b in fn.blocks for s in b.stmts}
        self.found: set[Operand] = set(exceptions)
        params = {b.id: b.params for b in fn.blocks}
        cells: set[Operand] = set()
        before = -1
        while self.found and len(self.found) + len(cells) > before:
            before = len(self.found) + len(cells)
            for s in self.defs.values():
                if is_const(s.fn, ops.cell_set) and s.args[1] in self.found:
                    cells.add(s.args[0])
                elif is_const(s.fn, ops.cell_get) and s.args[0] in cells:
                    self.found.add(s.out)
            for e in (e for b in fn.blocks for e in all_edges(b)):
                first = len(params[e.target]) - len(e.args)
                pairs = zip(params[e.target][first:], e.args, strict=True)
                self.found.update(p for p, a in pairs if a in self.found)

    def into(self, s: Call) -> list[Operand]:
        """Those that the statement looks into."""
        if not self.found or self.found.isdisjoint(s.operands()):
            return []
        if len(s.args) == 3 and self._is_traceback(s.args[2]):
            return []  # a method that looks itself, see `given_to`
        f = s.fn.value if isinstance(s.fn, Const) else None
        if f is getattr and isinstance(s.args[1], Const):
            looks = s.args[1].value not in _OF_ITSELF
        elif (named := self.defs.get(s.fn)) is not None and is_const(named.fn, ops.load_global):  # type: ignore[arg-type]
            looks = named.args[0].value not in _NOT_LOOKING_BY_NAME  # type: ignore[union-attr]
        else:
            looks = not hashable(f) or not (f is type or f in _NOT_LOOKING)
        return [v for v in dict.fromkeys(s.operands()) if v in self.found] if looks else []

    def _is_traceback(self, v: Operand) -> bool:
        s = self.defs.get(v)  # type: ignore[arg-type]
        return s is not None and is_const(s.fn, getattr) and is_const(s.args[1], "__traceback__")


def _held(x: BaseException) -> tuple[Any, ...]:
    """The arguments and attributes of an exception."""
    return (*x.args, *[v for k, v in attributes(x).items() if not k.startswith("__")])


def _raised_at(x: BaseException) -> TracebackType | None:
    """Where Python code that is not derived, and not ours, has raised an exception; None where it was another's."""
    tb = x.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None:
        return None
    code = tb.tb_frame.f_code
    return None if is_derived(code) or is_engine(code.co_filename) else tb


def _may_have_derivative(x: Any, literals: tuple[Any, ...], seen: set[int]) -> bool:
    """Is there a number in x which does not stand in the code, and of which the run does not know?"""
    if isinstance(x, (float, complex, np.inexact)):
        return not any(x is v for v in literals)
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fcO"
    if id(x) in seen or run.current().shadow(x) is not None:
        return False
    seen.add(id(x))
    if isinstance(x, (list, tuple, set, frozenset, deque)):
        parts: Any = x
    elif isinstance(x, dict):
        parts = (*x, *x.values())
    elif isinstance(x, BaseException):
        parts = _held(x)
    else:
        parts = attributes(x).values() if is_user_class(type(x)) else ()
    return any(_may_have_derivative(v, literals, seen) for v in parts)
