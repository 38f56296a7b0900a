"""What golden texts do not show: refusals, positions, names, the cache, protected regions."""

from __future__ import annotations

import gc
import operator
import weakref
from types import CodeType

import pytest

from mooncake_py.errors import UnsupportedError
from mooncake_py.frontend import normalise
from mooncake_py.frontend.ssa import can_raise
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const, ForNext, Function, Raise, Return
from mooncake_py.ir.text import to_text
from tests.frontend.test_golden import innermost


def form(source: str) -> Function:
    return normalise(code_of(source))


def code_of(source: str) -> CodeType:
    code = innermost(compile(source, "user.py", "exec"), "f")
    assert code is not None
    return code


def callees(fn: Function) -> list[object]:
    return [s.fn.value for b in fn.blocks for s in b.stmts if isinstance(s.fn, Const)]


@pytest.mark.parametrize(
    "source, construct, line",
    [
        ("async def f(x):\n    return x", "async def", 1),
        ("async def f(x):\n    yield x", "async generator", 1),
        ("def f(x):\n    y = x\n    return (i async for i in y)", "async for", 3),
    ],
)
def test_refusals_name_construct_file_and_line(source: str, construct: str, line: int) -> None:
    with pytest.raises(UnsupportedError) as caught:
        form(source)
    e = caught.value
    assert (e.construct, e.filename, e.line) == (construct, "user.py", line)


def test_positions_are_the_users() -> None:
    fn = form("def f(x, y):\n    z = (x *\n         y)\n    return z + x")
    product, total = fn.blocks[0].stmts
    assert (product.pos.line, product.pos.end_line, product.pos.col) == (2, 3, 9)
    assert (total.pos.line, total.pos.col, total.pos.end_col) == (4, 11, 16)
    assert fn.blocks[0].term.pos.line == 4
    assert fn.firstline == 1


def test_parameters_in_the_order_of_locals() -> None:
    fn = form("def f(a, /, b, *rest, c, **named):\n    return a")
    assert [v.name for v in fn.params] == ["a", "b", "c", "rest", "named"]


def test_made_once_per_code_object() -> None:
    source = "def f(x):\n    return x"
    code, equal = code_of(source), code_of(source)
    assert code == equal
    assert normalise(code) is normalise(code)
    assert normalise(code) is not normalise(equal), "equality of code objects does not see their file"


def test_the_cache_lets_code_go() -> None:
    code = code_of("def f(x):\n    return x * 2")
    normalise(code)
    gone = weakref.ref(code)
    del code
    gc.collect()
    assert gone() is None


def test_deterministic() -> None:
    source = "def f(xs):\n    s = 0\n    for x in xs:\n        if x:\n            s += x\n    return s"
    assert to_text(form(source)) == to_text(form(source))


def test_protected_blocks_end_at_what_may_raise() -> None:
    fn = form(
        "def f(xs):\n    try:\n        for x in xs:\n            y = (x, x)\n            g(y, h(x))\n"
        "    except E:\n        return None"
    )
    for block in fn.blocks:
        if block.handler is not None:
            raising = [s for s in block.stmts if can_raise(s.fn)]
            assert len(raising) + isinstance(block.term, ForNext | Raise) == 1
            assert not raising or raising[0] is block.stmts[-1]


def test_a_comprehension_adds_no_handler() -> None:
    fn = form("def f(xs):\n    x = 1\n    return [x * 2 for x in xs], x")
    assert all(b.handler is None for b in fn.blocks)
    assert ops.check_bound not in callees(fn)


def test_a_region_where_nothing_raises_has_no_handler() -> None:
    fn = form("def f(x):\n    try:\n        y = x\n    finally:\n        g(x)\n    return y")
    assert len(fn.blocks) == 1


def test_deep_code_needs_no_recursion() -> None:
    lines = "".join(f"    if x > {k}:\n        x = x + y\n" for k in range(3000))
    fn = form(f"def f(x, y):\n{lines}    return x, y")
    assert callees(fn).count(operator.add) == 3000
    joins = [b for b in fn.blocks if b.params]
    assert all(len(b.params) == 1 for b in joins), "y does not change"


def test_returns_in_a_chain_of_tests() -> None:
    fn = form("def f(x):\n    if x is None:\n        return 0\n    return x")
    assert sum(isinstance(b.term, Return) for b in fn.blocks) == 2
    assert ops.truth not in callees(fn)
