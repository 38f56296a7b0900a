"""Where each instruction of a derived code object comes from, and the frames a reader expects to see for it.

Small functions are taken into their callers, so one frame of derived code may stand for several of the user's. The
code object carries an `Origins` as its last constant; tracebacks ask it.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Sequence
from types import CodeType, TracebackType

from mooncake_py.ir.nodes import Pos


class Origins:
    """The position of every instruction, in the order of the code, for one with code taken in from other functions.

    `derived`: is it the code of a derived rule?
    """

    __slots__ = ("derived", "positions")

    def __init__(self, positions: Sequence[Pos], derived: bool = False):
        self.positions = tuple(positions)
        self.derived = derived

    def at(self, code: CodeType, offset: int) -> Pos | None:
        """The position of the instruction at an offset; None where it is not known."""
        offsets = [i.offset for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
        if len(offsets) != len(self.positions) or offset not in offsets:
            return None
        return self.positions[offsets.index(offset)]


OF_RULE = "<code of a derived rule>"
"""The last constant where no other function is taken into a derived rule."""


def is_derived(code: CodeType) -> bool:
    """Is this the code of a derived rule, its forward or its pullback function?"""
    origins = code.co_consts[-1] if code.co_consts else None
    return origins.derived if type(origins) is Origins else type(origins) is str and origins == OF_RULE


def expanded(tb: TracebackType) -> list[TracebackType]:
    """A traceback entry as one per function of the user's that the instruction stands in, outermost first."""
    frame = tb.tb_frame
    code = frame.f_code
    origins = code.co_consts[-1] if code.co_consts else None
    if type(origins) is not Origins:
        return [tb]
    pos = origins.at(code, tb.tb_lasti)
    if pos is None or not (pos.within or pos.inner):
        return [tb]
    chain: list[tuple[str, str, Pos]] = []  # innermost first
    while pos.within is not None:
        name, call = pos.within
        chain += [*reversed(pos.inner), (code.co_filename, name, pos)]
        pos = call
    chain += reversed(pos.inner)
    outer = TracebackType(None, frame, -1, pos.line or tb.tb_lineno)
    return [outer, *(_entry(*place) for place in reversed(chain))]


def _entry(filename: str, name: str, pos: Pos) -> TracebackType:
    """A traceback entry at a position of a function that has no frame of its own: one that stands there."""
    line, col = pos.line or 1, pos.col or 0
    end = {"end_lineno": pos.end_line or line, "end_col_offset": pos.end_col or col}
    word = ast.Name("frame", ast.Load(), lineno=line, col_offset=col, **end)
    call = ast.Call(word, [], [], lineno=line, col_offset=col, **end)
    code = compile(ast.Expression(call), filename, "eval").replace(co_name=name, co_qualname=name)
    frame = eval(code, {"frame": sys._getframe, "__name__": name})
    return TracebackType(None, frame, frame.f_lasti, line)
