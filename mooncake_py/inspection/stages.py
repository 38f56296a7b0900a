"""The stages of a derivation as text: IR with the source beside it, bytecode, disassemblies, differences."""

from __future__ import annotations

import difflib
import dis
import io
import linecache
import re
import types as pytypes
from typing import TYPE_CHECKING, Any

from mooncake_py.errors import ArgumentError
from mooncake_py.infer.types import Known, T
from mooncake_py.inspection.describe import type_text
from mooncake_py.ir.nodes import Call, Function, Pos, Var
from mooncake_py.ir.text import block_lines, head_line

if TYPE_CHECKING:
    from mooncake_py.inspection.inspect import Inspection

STAGES = (
    "bytecode",
    "normalised",
    "prepared",
    "inferred",
    "forward",
    "pullback",
    "forward bytecode",
    "pullback bytecode",
)
"""In the order of the pipeline; the first four are the primal."""
BESIDE = 64  # the column of the source


def stage_text(seen: Inspection, stage: str, source: bool = True) -> str:
    """One stage as text, with the user's lines beside the statements.

    ArgumentError, naming the stages, for another name.
    """
    if stage == "bytecode":
        return _disassembled(seen.function.__code__)
    if stage == "forward bytecode":
        return _disassembled(seen.rule.forward.__code__)
    if stage == "pullback bytecode":
        return _disassembled(seen.rule.pullback.__code__)
    return _ir(ir_of(seen, stage), seen.inferred.types if stage == "inferred" else {}, source)


def ir_of(seen: Inspection, stage: str) -> Function:
    """The function of a stage, in IR."""
    if stage in ("forward", "pullback"):
        return getattr(seen.derived, stage)
    if stage == "inferred":
        return seen.inferred.fn
    if stage in ("normalised", "prepared"):
        return seen.stages[stage]
    raise ArgumentError(f"no stage {stage!r}: there are {', '.join(STAGES)}")


def _disassembled(code: pytypes.CodeType) -> str:
    out = io.StringIO()
    dis.dis(code, file=out, depth=0)
    return re.sub(r" at 0x[0-9a-f]+", "", out.getvalue())  # the same in every process


def _ir(fn: Function, types: dict[Var, T], source: bool) -> str:
    consts: list[Any] = []
    out = [head_line(fn, consts)]
    for b in fn.blocks:
        last: int | None = None
        for text, item in block_lines(b, consts):
            pos: Pos | None = getattr(item, "pos", None)
            t = types.get(item.out) if isinstance(item, Call) else None
            if t is not None and not isinstance(t, Known):
                text += f"  # {type_text(t)}"
            if source and pos is not None and pos.line is not None and pos.line != last:
                last = pos.line
                line = linecache.getline(fn.filename, pos.line).strip()
                text = f"{text:<{BESIDE}}| {pos.line}: {line}".rstrip()
            out.append(text)
    if consts:
        out += ["", "constants:"] + [f"  <const {i}> = {_shown(c)}" for i, c in enumerate(consts)]
    return "\n".join(out) + "\n"


def _shown(c: Any) -> str:
    text = re.sub(r" at 0x[0-9a-f]+", "", repr(c)).replace("\n", " ")
    return text if len(text) < 90 else text[:87] + "..."


def difference(seen: Inspection, before: str, after: str) -> str:
    """What one stage has that another has not, as a unified diff without the source; empty where they are equal."""
    old, new = (stage_text(seen, s, source=False).splitlines() for s in (before, after))
    return "\n".join(difflib.unified_diff(old, new, before, after, lineterm="", n=2))


# -- colours ----------------------------------------------------------------------------------------------

_COLOURS = {"label": "1", "var": "36", "const": "32", "source": "2", "mark": "33", "add": "32", "del": "31"}
_TOKENS = re.compile(
    r"(?P<source>\| \d+: .*$|# .*$)|(?P<label>^(?:fn|generator) .*$|^bb\d+|^== .*$)|(?P<var>%\d+)"
    r"|(?P<const>'[^']*'|(?<![%\w.])-?\d+\.\d+(?:e[+-]?\d+)?|<const \d+>)|(?P<add>^\+.*$)|(?P<del>^-.*$)"
    r"|(?P<mark>\b(?:goto|branch|for|switch|return|raise)\b)",
    re.MULTILINE,
)


def coloured(text: str) -> str:
    """The same for a terminal."""

    def paint(m: re.Match[str]) -> str:
        return f"\x1b[{_COLOURS[str(m.lastgroup)]}m{m.group()}\x1b[0m"

    return _TOKENS.sub(paint, text)
