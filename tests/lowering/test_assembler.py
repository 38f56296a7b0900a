"""Code that CPython compiled, taken apart by `dis` and put together again: the same bytes, positions and handlers."""

from __future__ import annotations

import dis
import importlib
import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

import pytest

from mooncake_py.ir.nodes import Pos
from mooncake_py.lowering.assembler import _OPS, Assembled, Label, Line, TryBegin, TryEnd

MODULES = ["argparse", "difflib", "inspect", "tarfile", "typing", "_pydecimal"]


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from code_objects(c)


def handlers(code: CodeType) -> list[Any]:
    return list(dis._parse_exception_table(code))  # type: ignore[attr-defined]


def lines(code: CodeType) -> list[Line]:
    """Jumps lead to labels, all other arguments are numbers."""
    instructions = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
    ways = {i.argval for i in instructions if i.opcode in dis.hasjrel}
    entries = handlers(code)
    ways.update(e.target for e in entries)
    labels = {at: Label() for at in ways}
    begins = [(e, TryBegin(labels[e.target], e.lasti, e.depth)) for e in entries]
    out: list[Line] = []
    behind = 0  # instructions begin where the one before ends, which is where EXTENDED_ARG stands
    known: dict[Any, Pos] = {}
    for i in instructions:
        out += [TryEnd(b) for e, b in begins if e.end == behind]
        if i.offset in labels or behind in labels:
            out.append(labels.get(behind) or labels[i.offset])
        out += [b for e, b in begins if e.start == behind]
        p = i.positions
        assert p is not None
        place = p.lineno, p.end_lineno, p.col_offset, p.end_col_offset
        out.append(
            (i.opname, labels[i.argval] if i.opcode in dis.hasjrel else i.arg, known.setdefault(place, Pos(*place)))
        )
        behind = i.offset + 2 + len(_OPS[i.opname][1])
    return out


@pytest.mark.parametrize("module", MODULES)
def test_assembles_what_it_was(module: str) -> None:
    source = inspect.getsource(importlib.import_module(module))
    seen = 0
    for code in code_objects(compile(source, module, "exec")):
        if any(p[0] is None for p in code.co_positions()):
            continue  # an instruction without a line gets that of the one before
        slots = [f"s{i}" for i in range(256)]
        parts = Assembled(lines(code), slots, code.co_firstlineno)
        again = code.replace(co_code=parts.code, co_linetable=parts.locations, co_exceptiontable=parts.exceptions)
        assert parts.code == code.co_code, code.co_qualname
        assert list(again.co_positions()) == list(code.co_positions()), code.co_qualname
        assert handlers(again) == handlers(code), code.co_qualname
        seen += 1
    assert seen > 20


@pytest.mark.parametrize("between", [254, 255, 256, 257, 70000])
def test_far_jumps(between: int) -> None:
    """Forwards over, and backwards under, more than an argument of one or two bytes reaches."""
    over, back, out = Label(), Label(), Label()
    here = Pos(1)
    code: list[Line] = [
        ("RESUME", 0, here),
        ("JUMP_FORWARD", over, here),
        back,
        *[("NOP", None, here)] * between,
        ("JUMP_FORWARD", out, here),
        over,
        ("JUMP_BACKWARD", back, here),
        *[("NOP", None, here)] * between,
        out,
        ("LOAD_FAST", "x", here),
        ("RETURN_VALUE", None, here),
    ]

    def f(x: int) -> int:
        return x

    parts = Assembled(code, ["x"], 1)
    f.__code__ = f.__code__.replace(co_code=parts.code, co_linetable=parts.locations, co_stacksize=1)
    assert f(7) == 7


def test_names_and_flags() -> None:
    here = Pos(1)
    parts = Assembled([("LOAD_GLOBAL", (False, "m"), here), ("LOAD_GLOBAL", (True, "n"), here)], [], 1)
    assert parts.names == ("m", "n")
    assert parts.code[1] == 0 and parts.code[len(parts.code) // 2 + 1] == 3  # the lowest bit: a NULL is pushed
