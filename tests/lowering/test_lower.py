"""Lowering of hand-written IR: what the frontend never writes but the engine does, and what is easy to get wrong."""

from __future__ import annotations

import dis
import math
import sys
import traceback
from collections.abc import Iterator
from types import CellType, FunctionType
from typing import Any

import pytest

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.ir.parser import parse
from mooncake_py.ir.verify import verify
from mooncake_py.lowering import lower


def build(text: str, consts: list[Any] | None = None, **options: Any) -> FunctionType:
    fn = parse(text, consts)
    verify(fn)
    cells = tuple(CellType() for _ in fn.free)
    return FunctionType(lower(fn, **options), globals(), closure=cells)


def opcodes(f: FunctionType) -> list[str]:
    return [i.opname for i in dis.get_instructions(f)]


def body(f: FunctionType) -> list[str]:
    """The instructions of the only loop."""
    names = opcodes(f)
    return names[names.index("FOR_ITER") : names.index("JUMP_BACKWARD") + 1]


LOOP = """
fn f(%0 n, %1 a, %2 b):
bb0():
  %3 = builtins.range(%0)
  %4 = builtins.iter(%3)
  goto bb1(%1, %2)
bb1(%5, %6):
  for %4, bb2(), bb3()
bb2(%7):
  {body}
bb3():
  %9 = ops.build_tuple(%5, %6)
  return %9
"""


def test_swap_problem() -> None:
    f = build(LOOP.format(body="goto bb1(%6, %5)"))
    assert f(3, "x", "y") == ("y", "x")
    assert f(4, "x", "y") == ("x", "y")


def test_lost_copy_problem() -> None:
    text = """
    fn f(%0 n):
    bb0():
      goto bb1(0)
    bb1(%1):
      %2 = operator.add(%1, 1)
      %3 = operator.lt(%2, %0)
      branch %3, bb1(%2), bb2()
    bb2():
      return %1
    """
    assert build(text)(5) == 4


def test_three_way_rotation_with_constant() -> None:
    text = """
    fn f(%0 n, %1 a, %2 b, %3 c):
    bb0():
      %4 = builtins.range(%0)
      %5 = builtins.iter(%4)
      goto bb1(%1, %2, %3)
    bb1(%6, %7, %8):
      for %5, bb2(), bb3()
    bb2(%9):
      goto bb1(%8, %6, %7)
    bb3():
      %10 = ops.build_tuple(%6, %7, %8)
      return %10
    """
    assert [build(text)(n, 1, 2, 3) for n in range(4)] == [(1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 2, 3)]


def test_loop_carried_value_needs_no_copy() -> None:
    text = """
    fn f(%0 x, %1 n):
    bb0():
      %2 = builtins.range(%1)
      %3 = builtins.iter(%2)
      goto bb1(%0)
    bb1(%4):
      for %3, bb2(), bb3()
    bb2(%5):
      %6 = math.sin(%4)
      %7 = operator.mul(%6, 1.01)
      goto bb1(%7)
    bb3():
      return %4
    """
    f = build(text)
    assert f(0.5, 1) == math.sin(0.5) * 1.01
    assert [n for n in body(f) if n.startswith("STORE_FAST")] == ["STORE_FAST"]


def test_constants_keep_their_identity() -> None:
    first, second = [1], [1]
    values = [0.0, -0.0, 1, True, 1.0, first, second, {}, math]
    text = "fn f():\nbb0():\n  %0 = ops.build_list({})\n  return %0\n".format(
        ", ".join(f"<const {i}>" for i in range(len(values)))
    )
    out = build(text, values)()
    assert all(x is y for x, y in zip(out, values, strict=True))
    assert math.copysign(1.0, out[1]) == -1.0


def test_comms_stacks() -> None:
    forward = """
    fn f(%0 n, %1 stack):
    bb0():
      %2 = builtins.range(%0)
      %3 = builtins.iter(%2)
      goto bb1()
    bb1():
      for %3, bb2(), bb3()
    bb2(%4):
      %5 = operator.mul(%4, 2)
      %6 = ops.push(%1, %5)
      %7 = ops.push(%1, %4)
      goto bb1()
    bb3():
      return None
    """
    f = build(forward)
    stack: list[int] = []
    f(3, stack)
    assert stack == [0, 0, 2, 1, 4, 2]
    assert body(f).count("LIST_APPEND") == 2 and body(f).count("POP_TOP") == 1
    backward = """
    fn g(%0 n, %1 stack):
    bb0():
      %2 = ops.backwards(%1)
      %3 = builtins.range(%0)
      %4 = builtins.iter(%3)
      goto bb1(())
    bb1(%5):
      for %4, bb2(), bb3()
    bb2(%6):
      %7 = ops.pull(%2)
      %8 = ops.pull(%2)
      %9 = operator.sub(%8, %7)
      %10 = ops.build_tuple(%9)
      %11 = operator.add(%5, %10)
      goto bb1(%11)
    bb3():
      return %5
    """
    assert build(backward)(3, stack) == (2, 1, 0)
    assert stack == [0, 0, 2, 1, 4, 2]


def test_switch() -> None:
    text = """
    fn f(%0 k):
    bb0():
      switch %0 {0: bb1(), 1: bb2(), 7: bb3(5)} else bb3(9)
    bb1():
      return 'zero'
    bb2():
      return 'one'
    bb3(%1):
      return %1
    """
    assert [build(text)(k) for k in (0, 1, 7, 3)] == ["zero", "one", 5, 9]
    single = text.replace("{0: bb1(), 1: bb2(), 7: bb3(5)}", "{0: bb1()}").replace("bb2():\n      return 'one'\n", "")
    assert [build(single)(k) for k in (0, 1)] == ["zero", 9]


def test_unpacking_takes_one_instruction() -> None:
    text = """
    fn f(%0 g, %1 x):
    bb0():
      %2 = %0(%1)
      %3 = ops.unpack(%2, 3)
      %4 = operator.getitem(%3, 0)
      %5 = operator.getitem(%3, 2)
      %6 = operator.sub(%5, %4)
      return %6
    """
    f = build(text)
    assert f(lambda x: (1, 2, x), 10) == 9
    assert "BINARY_SUBSCR" not in opcodes(f) and "UNPACK_SEQUENCE" in opcodes(f)
    whole = text.replace("return %6", "%7 = ops.build_tuple(%3, %6)\n      return %7")
    assert build(whole)(lambda x: [1, 2, x], 10) == ((1, 2, 10), 9)
    with pytest.raises(ValueError):
        f(lambda x: (1, 2), 0)


def test_effects_stay_in_order() -> None:
    text = """
    fn f(%0 note):
    bb0():
      %1 = %0(1)
      %2 = %0(2)
      %3 = %0(3)
      %4 = ops.build_tuple(%3, %1, %2)
      %5 = %0(%4)
      %6 = ops.build_tuple(%5, %2)
      return %6
    """
    log: list[Any] = []

    def note(x: Any) -> Any:
        log.append(x)
        return x

    assert build(text)(note) == ((3, 1, 2), 2)
    assert log == [1, 2, 3, (3, 1, 2)]


def test_value_read_twice_by_one_statement_is_copied() -> None:
    f = build("fn f(%0 x):\nbb0():\n  %1 = math.sin(%0)\n  %2 = operator.mul(%1, %1)\n  return %2\n")
    assert f(0.3) == math.sin(0.3) ** 2
    assert "COPY" in opcodes(f)


def test_unbound_and_cells() -> None:
    text = """
    fn f(%0 flag) free(%1 c):
    bb0():
      branch %0, bb1(), bb2(ops.UNBOUND)
    bb1():
      %2 = ops.cell_set(%1, 5)
      goto bb2(7)
    bb2(%3 x):
      %4 = ops.check_bound(%3, 'x')
      %5 = ops.cell_get(%1, 'c')
      %6 = ops.make_cell(%4)
      %7 = ops.cell_get(%6, 'y')
      %8 = ops.build_tuple(%4, %5, %6, %7)
      return %8
    """
    f = build(text)
    x, c, cell, y = f(True)
    assert (x, c, cell.cell_contents, y) == (7, 5, 7, 7)
    with pytest.raises(UnboundLocalError, match="'x'"):
        f(False)
    assert "LOAD_DEREF" in opcodes(f)


def test_constant_cell_and_empty_cell() -> None:
    cell = CellType(3)
    f = build("fn f():\nbb0():\n  %0 = ops.cell_get(<const 0>, 'k')\n  return %0\n", [cell])
    assert f() == 3
    cell.cell_contents = 4
    assert f() == 4
    g = build("fn g() free(%0 k):\nbb0():\n  %1 = ops.cell_get(%0, 'k')\n  return %1\n")
    with pytest.raises(NameError, match="'k'"):
        g()


def test_handler_sees_values_from_before_the_exception() -> None:
    text = """
    fn f(%0 g, %1 x):
    bb0():
      goto bb1(%1)
    bb1(%2) handler bb3(%2):
      %3 = %0(%2)
      goto bb2()
    bb2():
      goto bb1(%3)
    bb3(%4, %5):
      %6 = ops.build_tuple(%4, %5)
      return %6
    """

    def g(x: int) -> int:
        if x == 3:
            raise KeyError(x)
        return x + 1

    error, x = build(text)(g, 0)
    assert type(error) is KeyError and x == 3


def test_positions_in_tracebacks() -> None:
    text = """
    fn f(%0 x) at 'user.py' 10:
    bb0():
      %1 = operator.add(%0, 1)  @ 12:4-12:9
      %2 = operator.truediv(%1, 0)  @ 13:4-13:9
      return %2  @ 14:0-14:3
    """
    f = build(text)
    assert f.__code__.co_firstlineno == 10
    with pytest.raises(ZeroDivisionError) as info:
        f(1)
    frame = traceback.extract_tb(info.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno, frame.colno) == ("user.py", 13, 4)


def test_generator() -> None:
    text = """
    generator f(%0 xs):
    bb0():
      %1 = builtins.iter(%0)
      goto bb1(0)
    bb1(%2):
      for %1, bb2(), bb3()
    bb2(%3):
      %4 = ops.yield_(%3)
      %5 = operator.add(%2, %3)
      goto bb1(%5)
    bb3():
      return %2
    """
    it: Any = build(text)([1, 2, 3])
    assert [next(it), next(it), next(it)] == [1, 2, 3]
    with pytest.raises(StopIteration) as info:
        next(it)
    assert info.value.value == 6


def test_argument_names_and_refusals() -> None:
    f = build("fn f(%0, %1 b):\nbb0():\n  return %1\n", argnames=["p", "q"])
    assert f(p=1, q=2) == 2
    with pytest.raises(ValueError, match="names were given"):
        build("fn f(%0):\nbb0():\n  return %0\n", argnames=[])
    with pytest.raises(UnsupportedError, match="classderef"):
        build("fn f(%0):\nbb0():\n  %1 = ops.classderef(%0, %0)\n  return %1\n")


@pytest.mark.skipif(sys.version_info < (3, 13), reason="superinstructions are written out in 3.13")
def test_superinstructions() -> None:
    assert "LOAD_FAST_LOAD_FAST" in opcodes(build("fn f(%0, %1):\nbb0():\n  %2 = operator.add(%0, %1)\n  return %2\n"))


def test_many_locals_and_far_jumps() -> None:
    """More than 256 locals, constants and jumps further than one byte reaches."""
    n = 400
    lines = [f"  %{i + 2} = operator.add(%{i + 1}, {i})" for i in range(n)]
    total = ", ".join(f"%{i + 2}" for i in range(n))
    text = "fn f(%0 flag, %1 x):\nbb0():\n  branch %0, bb1(), bb2()\nbb1():\n" + "\n".join(lines)
    text += f"\n  %{n + 2} = ops.build_list({total})\n  %{n + 3} = builtins.sum(%{n + 2})\n  return %{n + 3}\n"
    text += "bb2():\n  return %1\n"
    f = build(text)
    expected, x = 0, 0.5
    for i in range(n):
        x += i
        expected += x
    assert f(True, 0.5) == expected and f(False, 0.5) == 0.5


def _raising_third() -> Iterator[float]:
    yield 1.0
    yield 2.0
    raise ValueError(3.0)


def _caught_while_it_iterates() -> float:
    total = 0.0
    try:
        for v in _raising_third():
            total += v
    except ValueError as e:
        total *= e.args[0]
    return total


def test_what_a_generator_raises_in_a_loop_is_caught() -> None:
    code = lower(normalise(_caught_while_it_iterates.__code__), like=_caught_while_it_iterates.__code__)
    again = FunctionType(code, globals())
    assert [again() for _ in range(50)] == [9.0] * 50  # also once FOR_ITER runs the generator's frame
