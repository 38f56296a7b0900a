"""Normalised code does what the bytecode does: both are run on the same arguments."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest

from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const
from mooncake_py.ir.verify import verify
from tests.frontend.interpreter import interpreted
from tests.frontend.programs import PROGRAMS
from tests.functions import CASES, WIDER
from tests.harness import bits


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, Any]:
    args = copy.deepcopy(args)
    try:
        with np.errstate(all="ignore"):
            return "value", (f(*args), args)
    except Exception as e:
        return "error", (type(e).__name__, str(e))


@pytest.mark.parametrize("f, calls", PROGRAMS, ids=[f.__name__ for f, _ in PROGRAMS])
def test_programs(f: FunctionType, calls: tuple[tuple[Any, ...], ...]) -> None:
    verify(normalise(f.__code__))
    for args in calls:
        (kind, found), (expected_kind, expected) = outcome(interpreted(f), args), outcome(f, args)
        assert kind == expected_kind, (args, found, expected)
        if kind == "error":  # CPython may say more, such as the name of the function called
            assert found[0] == expected[0] and expected[1].endswith(found[1])
            continue
        if any(hasattr(a, "__match_args__") for a in args):  # objects without equality
            found, expected = found[0], expected[0]
        assert found == expected, args


# The interpreter has no namespace for the body of a class statement, lets go of nothing before it returns, and tells
# nobody what exception is being handled.
BEYOND = {"class statement", "reference counts", "exception being handled"}
BEYOND_OPS = {ops.load_build_class, ops.delete_global}


def is_beyond(code: CodeType) -> bool:
    """Does the code, or that of a function in it, do what the interpreter has no meaning for?"""
    used = {
        s.fn.value for b in normalise(code).blocks for s in b.stmts if isinstance(s.fn, Const) and callable(s.fn.value)
    }
    return not BEYOND_OPS.isdisjoint(used) or any(is_beyond(k) for k in code.co_consts if isinstance(k, CodeType))


ZOO = [
    c
    for c in CASES + WIDER
    if isinstance(c.fn, FunctionType) and BEYOND.isdisjoint(c.tags) and not is_beyond(c.fn.__code__)
]


@pytest.mark.parametrize("case", ZOO, ids=lambda case: case.name)
def test_zoo(case: Any) -> None:
    found, expected = outcome(interpreted(case.fn), case.args), outcome(case.fn, case.args)
    assert found[0] == expected[0], (found, expected)
    assert bits(found[1]) == bits(expected[1])
