"""The verifier catches every planted fault, and shows where it is."""

from __future__ import annotations

import pytest

from mooncake_py.ir.nodes import BlockId, Call, CFGBlock, Const, Function, Return, Var
from mooncake_py.ir.parser import parse
from mooncake_py.ir.verify import VerifyError, verify

BAD = {
    "entry has a predecessor": "bb0():\n  branch %0, bb0(), bb1()\nbb1():\n  return 1",
    "entry has parameters": "bb0(%1):\n  return %1",
    "leads to bb7, which is not there": "bb0():\n  goto bb7()",
    "goto has 1 arguments, bb1 has 0": "bb0():\n  goto bb1(%0)\nbb1():\n  return 1",
    "body edge has 1 arguments and the value it brings": (
        "bb0():\n  %1 = builtins.iter(%0)\n  for %1, bb1(%0), bb2()\nbb1(%2):\n  return 1\nbb2():\n  return 2"
    ),
    "handler has 0 arguments and the value it brings": (
        "bb0() handler bb1():\n  %1 = math.sin(%0)\n  return %1\nbb1():\n  return 1"
    ),
    "defined twice": "bb0():\n  %1 = math.sin(%0)\n  %1 = math.cos(%0)\n  return %1",
    "is not defined": "bb0():\n  %1 = math.sin(%9)\n  return %1",
    "used before its definition": "bb0():\n  %1 = math.sin(%2)\n  %2 = math.sin(%0)\n  return %1",
    "does not reach its use": (
        "bb0():\n  branch %0, bb1(), bb2()\nbb1():\n  %1 = math.sin(%0)\n  goto bb2()\nbb2():\n  return %1"
    ),
    "which is not there when it runs": (
        "bb0() handler bb1(%1):\n  %1 = math.sin(%0)\n  return %1\nbb1(%2, %3):\n  return %3"
    ),
    "reads %1, which is not there": ("bb0() handler bb1():\n  %1 = math.sin(%0)\n  return %1\nbb1(%2):\n  return %1"),
    "two blocks": "bb0():\n  goto bb1()\nbb1():\n  return 1\nbb1():\n  return 2",
    "two cases are equal": "bb0():\n  switch %0 {1: bb1(), 1: bb1()} else bb1()\nbb1():\n  return 1",
    "keyword is given twice": "bb0():\n  %1 = builtins.dict(a=1, a=2)\n  return %1",
    "without an exception": "bb0():\n  reraise",
}


@pytest.mark.parametrize("message", BAD)
def test_planted_faults_are_caught(message: str) -> None:
    fn = parse(f"fn f(%0):\n{BAD[message]}\n")
    with pytest.raises(VerifyError) as info:
        verify(fn)
    assert message in str(info.value)


def test_message_shows_the_place() -> None:
    fn = parse("fn f(%0):\nbb0():\n  %1 = math.sin(%0)\n  %2 = math.cos(%9)\n  return %2\n")
    with pytest.raises(VerifyError) as info:
        verify(fn)
    assert str(info.value).splitlines()[-3:] == [
        "    %1 = math.sin(%0)",
        ">   %2 = math.cos(%9)",
        "    return %2",
    ]


def test_ids_are_unique() -> None:
    twin = Var(0)
    block = CFGBlock(BlockId(0), (), (Call(twin, Const(len), ()),), Return(twin))
    with pytest.raises(VerifyError, match="two variables have the id %0"):
        verify(Function("f", "<ir>", (Var(0),), (), (block,)))
    with pytest.raises(VerifyError, match="no blocks"):
        verify(Function("f", "<ir>", (), (), ()))
