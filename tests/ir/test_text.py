"""The text form: files of IR come back as they are, and so does every kind of constant."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Function, Return, Var
from mooncake_py.ir.parser import ParseError, parse
from mooncake_py.ir.text import to_text
from mooncake_py.ir.verify import verify

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_files_come_back(path: Path) -> None:
    text = path.read_text()
    consts = [object(), [1]]
    fn = parse(text, consts)
    verify(fn)
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    assert to_text(fn, consts, positions=" @ " in text) == body


VALUES: list[Any] = [
    *(0, -7, 10**30, True, False, None, ..., 0.1, -0.0, 1e300, 1e-7, math.inf, -math.inf),
    *(2j, complex(-0.0, math.inf), "it's", 'a "b"', "\n\t\\", "", b"\x00'", (), (1,), (1, (2.0, "x"))),
    *(frozenset(), frozenset({1, "a"}), math.sin, math, len, range, np.dot, np.add, np, int, ValueError),
    *(str.join, print, np.ndarray, np.linalg.solve, "<const 0>", "%1", "# no"),
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_constants_come_back(value: Any) -> None:
    out = Var(0)
    block = CFGBlock(BlockId(0), (), (Call(out, Const(len), (Const(value),)),), Return(Const(value)))
    fn = Function("f", "<ir>", (), (), (block,))
    consts: list[Any] = []
    text = to_text(fn, consts)
    back = parse(text, consts).blocks[0].term
    assert isinstance(back, Return) and isinstance(back.value, Const)
    found = back.value.value
    same = found is value or (found == value and (isinstance(value, frozenset) or repr(found) == repr(value)))
    assert type(found) is type(value) and same  # a set's repr depends on the hashes of strings
    if value not in (str.join,) and not isinstance(value, np.ufunc):
        assert consts == []


def test_nan_comes_back() -> None:
    fn = parse("fn f():\nbb0():\n  return nan\n")
    assert to_text(fn) == "fn f():\nbb0():\n  return nan\n"


def test_unnamed_objects_are_places_in_a_list() -> None:
    thing = [1]
    block = CFGBlock(BlockId(0), (), (), Return(Const(thing)))
    consts: list[Any] = ["taken"]
    text = to_text(Function("f", "<ir>", (), (), (block,)), consts)
    assert text.endswith("return <const 1>\n") and consts[1] is thing
    back = parse(text, consts).blocks[0].term
    assert isinstance(back, Return) and isinstance(back.value, Const) and back.value.value is thing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no text"),
        ("fn f():\nbb0():\n", "without a terminator"),
        ("fn f():\nbb0():\n  jump bb1()\n", "line 3"),
        ("fn f():\nbb0():\n  return %0 %1\n", "too much"),
        ("fn f():\nbb0():\n  %1 = nowhere.f()\n  return %1\n", "nowhere"),
        ("fn f():\nbb0():\n  %1 = math.nosuch()\n  return %1\n", "math.nosuch"),
        ("fn f():\n  return 1\n", "expected a block"),
    ],
)
def test_errors_show_the_line(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)
