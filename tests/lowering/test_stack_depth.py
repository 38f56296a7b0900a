"""The stack of lowered code, followed instruction by instruction: never short, never higher than declared."""

from __future__ import annotations

import dis
import importlib
from types import CodeType
from typing import Any

import pytest

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend.normalise import normalise
from mooncake_py.lowering import lower

MODULES = ["heapq", "inspect", "tarfile", "difflib", "contextlib", "statistics", "fractions", "_pydecimal"]
FINAL = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
STRAIGHT = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}


def effect(i: Any, jump: bool) -> int:
    if i.opname == "RETURN_GENERATOR":
        return 1  # what `dis` says differs between versions
    return dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None, jump=jump)


def check(code: CodeType) -> None:
    instructions = list(dis.get_instructions(code))
    index = {i.offset: n for n, i in enumerate(instructions)}
    entries = list(dis._parse_exception_table(code))  # type: ignore[attr-defined]
    depths: dict[int, int] = {}
    work = [(0, 0)]

    def reach(offset: int, depth: int) -> None:
        known = depths.get(offset)
        assert known is None or known == depth, f"{known} or {depth} at {offset}"
        if known is None:
            work.append((offset, depth))

    while work:
        offset, depth = work.pop()
        if offset in depths:
            continue
        depths[offset] = depth
        i = instructions[index[offset]]
        for e in entries:
            if e.start <= offset < e.end:
                assert depth >= e.depth, f"handler wants {e.depth} of {depth} at {offset}"
                reach(e.target, e.depth + 1 + e.lasti)
        after = depth + effect(i, False)
        assert 0 <= after <= code.co_stacksize and depth <= code.co_stacksize, f"{after} after {i.opname} at {offset}"
        if i.opname in FINAL:
            continue
        target = i.argval if i.opcode in dis.hasjrel or i.opcode in getattr(dis, "hasjump", ()) else None
        if target is not None:
            reach(target, depth + effect(i, True))
        if i.opname not in STRAIGHT:
            reach(instructions[index[offset] + 1].offset, after)


def functions(code: CodeType) -> list[CodeType]:
    inner = [f for c in code.co_consts if isinstance(c, CodeType) for f in functions(c)]
    return [code, *inner] if code.co_flags & 1 else inner


@pytest.mark.parametrize("name", MODULES)
def test_depths(name: str) -> None:
    path = importlib.import_module(name).__file__
    assert path is not None
    with open(path, encoding="utf-8") as file:
        module = compile(file.read(), path, "exec", dont_inherit=True)
    for code in functions(module):
        try:
            rebuilt = lower(normalise(code), like=code)
        except UnsupportedError:
            continue
        try:
            check(rebuilt)
        except AssertionError as e:
            raise AssertionError(f"{code.co_qualname}: {e}") from None
