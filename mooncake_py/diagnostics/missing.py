"""What a function without a rule gets: its name, the argument, and a rule to fill in."""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from mooncake_py.diagnostics.where import describe, name_of
from mooncake_py.tangents import has_tangent


def missing_rule(f: Any, args: Sequence[Any], names: Sequence[str], active: int, where: str, why: str | None) -> str:
    """The message: `active` is the number of the argument that carries a derivative, `why` there is no rule if that
    is known."""
    called = name_of(f)
    given = "the callee"
    if args:
        x = args[active]
        given = f"number {active + 1}, {describe(x) if isinstance(x, np.ndarray) else type(x).__name__}"
    what = f"{called} has no rule{f' ({why})' if why else ''} and was given an active argument ({given}), in {where}."
    if not all(map(str.isidentifier, _in_scope(f).split("."))):  # what Fortran code gives, say
        return f"{what} It has no name by which code could register one: register a rule of the function that calls it"
    return (
        f"{what} Register one:\n\n"
        + "".join(f"    {line}".rstrip() + "\n" for line in skeleton(f, args, names).splitlines())
        + f"\nor mooncake_py.zero_derivative({_in_scope(f)}) where the derivative is zero"
    )


def skeleton(f: Any, args: Sequence[Any], keywords: Sequence[str] = ()) -> str:
    """A rule of f for a call like this one, complete but for the cotangents."""
    called = _in_scope(f)
    positional, more = _parameters(f, args, keywords)
    names = [p.split("=")[0] for p in positional]
    wanted = [i for i in range(len(names)) if i >= len(args) or has_tangent(args[i])]
    lines = _imports(f) + ["import mooncake_py", "", ""]
    lines.append(f"@mooncake_py.rrule({called})")
    lines.append(f"def {_identifier(getattr(f, '__name__', 'f'))}_rule({', '.join([*positional, *more])}):")
    passed = [*names, *(f"{k.split('=')[0]}={k.split('=')[0]}" for k in more if k != "*")]
    lines.append(f"    value = {called}({', '.join(passed)})")
    lines += ["", "    def pullback(cotangent):"]
    for i in wanted:
        lines.append(f"        d{names[i]} = ...  # the cotangent of {names[i]}{_kind(args, i)}")
    result = ", ".join(f"d{n}" if i in wanted else "None" for i, n in enumerate(names))
    lines.append(f"        return {result}{',' if len(names) == 1 else ''}")
    lines += ["", "    return value, pullback"]
    return "\n".join(lines)


def _kind(args: Sequence[Any], i: int) -> str:
    return f", {describe(args[i])}" if i < len(args) else ""


def _parameters(f: Any, args: Sequence[Any], keywords: Sequence[str]) -> tuple[list[str], list[str]]:
    """The rule's parameters: those of the function where they can be known, as many as the call gives at least."""
    positional: list[str] = []
    more: list[str] = []
    try:
        parameters = list(inspect.signature(f).parameters.values()) if not isinstance(f, np.ufunc) else []
    except (TypeError, ValueError):  # many functions in C do not say
        parameters = []
    for p in parameters:
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            if len(positional) < len(args) or p.name in keywords:
                default = f"={p.default!r}" if len(positional) >= len(args) and p.default is not p.empty else ""
                positional.append(_fresh(p.name, positional) + default)
        elif p.kind is p.KEYWORD_ONLY and p.name in keywords:
            more.append(p.name if p.default is p.empty else f"{p.name}={p.default!r}")
    for i in range(len(positional), len(args)):
        positional.append(_fresh("xyzuvwabc"[i] if i < 9 else f"x{i}", positional))
    known = {p.split("=")[0] for p in (*positional, *more)}
    more += [k for k in keywords if k not in known]
    return positional, ["*", *more] if more else []


def _fresh(name: str, taken: Sequence[str]) -> str:
    name = _identifier(name)
    while name in taken or name in ("value", "cotangent", "pullback"):
        name += "_"
    return name


def _identifier(name: str) -> str:
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "f"
    return name + "_" if keyword.iskeyword(name) or not name.isidentifier() else name


def _in_scope(f: Any) -> str:
    """How the user's code names f: functions that are made in a function by their bare name."""
    return name_of(f).rpartition("<locals>.")[2].removeprefix("__main__.")


def _imports(f: Any) -> list[str]:
    path = _in_scope(f).rpartition(".")[0]
    while path and path not in sys.modules:
        path = path.rpartition(".")[0]
    return [f"import {path}"] if path else []
