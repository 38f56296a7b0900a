"""The checks at the border to the user: what goes into a run is finite where that is asked, and put back at its end."""

from __future__ import annotations

import types as pytypes
from collections.abc import Callable, Sequence
from typing import Any

from mooncake_py.diagnostics import facts
from mooncake_py.diagnostics.mode import Frame
from mooncake_py.diagnostics.where import Where, describe, name_of
from mooncake_py.errors import DebugError
from mooncake_py.ir.nodes import Pos


def defined(f: Any) -> Where:
    """Where a callable is defined."""
    inner = f
    for _ in range(8):
        if isinstance(inner, pytypes.FunctionType):
            break
        inner = getattr(inner, "__func__", None) or getattr(inner, "func", None) or type(inner).__dict__.get("__call__")
    if not isinstance(inner, pytypes.FunctionType):
        return Where("the call", name_of(f))
    code = inner.__code__
    return Where(code.co_filename, code.co_qualname, Pos(code.co_firstlineno))


class EntryWatch:
    """What a run was given, held against what is there when its pullback has run."""

    def __init__(self, f: Any, args: Sequence[Any], frame: Frame):
        self.f, self.args = f, args
        self.held = [facts.deep_fingerprint(a) for a in args]
        if frame.mode.check_finite:
            for i, a in enumerate(args):
                if facts.has_nan(a) or facts.has_inf(a):
                    raise self._error(
                        "finite",
                        f"argument {i + 1} of {name_of(f)} is not finite when the run begins",
                        "forward",
                        "look at where it comes from",
                    )

    def _error(self, check: str, what: str, run: str, fix: str) -> DebugError:
        where = defined(self.f)
        values = [f"argument {i + 1}: {describe(a)}" for i, a in enumerate(self.args)]
        return DebugError(
            check, what,
            rule=name_of(self.f), made="derived", statement=tuple(where.statement()), filename=where.filename,
            line=where.line, function=where.function, run=run, values=tuple(values), fix=fix,
        )  # fmt: skip

    def around(self, run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The run of the pullback, with what must be true after it."""

        def watched(dy: Any) -> Any:
            out = run(dy)
            for i, marks in enumerate(self.held):
                if not all(facts.unchanged(x, mark) for x, mark in marks):
                    raise self._error(
                        "restored",
                        f"argument {i + 1} of {name_of(self.f)} is not as it was before the call",
                        "reverse",
                        "a rule of a function that it calls changes its argument and does not put the old content back",
                    )
            return out

        return watched
