"""What runs really is the transformed code: a look at the two code objects."""

from __future__ import annotations

import dis
import math
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest

import mooncake_py
from mooncake_py import registry
from tests.derive import rule_of
from tests.transform.seeds import EXAMPLES


def heat(x):
    u = np.zeros(8)
    u[:] = x
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def layer(x):
    h = np.tanh(x * 2.0 + 1.0)
    return h.sum() / h.size


ALL = [*EXAMPLES, (heat, (np.arange(8.0),)), (layer, (np.arange(3.0),))]
both = pytest.mark.parametrize("which", ["forward", "pullback"])
every = pytest.mark.parametrize("fn, args", ALL, ids=lambda x: getattr(x, "__name__", ""))


def derived(fn: Callable[..., Any], args: tuple[Any, ...], which: str) -> CodeType:
    function = getattr(rule_of(fn, *args), which)
    assert type(function) is FunctionType and function.__closure__ is None
    return function.__code__


@every
@both
def test_no_closures_no_globals(fn: Callable[..., Any], args: tuple[Any, ...], which: str) -> None:
    code = derived(fn, args, which)
    names = {i.opname for i in dis.get_instructions(code)}
    assert "MAKE_FUNCTION" not in names and not names & {"LOAD_CLOSURE", "LOAD_DEREF", "MAKE_CELL"}
    assert not {n for n in names if "GLOBAL" in n or n == "LOAD_NAME"}, "what the code needs is in its constants"
    assert not any(isinstance(c, CodeType) for c in code.co_consts)


@every
@both
def test_positions_are_the_users(fn: Callable[..., Any], args: tuple[Any, ...], which: str) -> None:
    code, user = derived(fn, args, which), fn.__code__
    assert code.co_filename == user.co_filename
    assert code.co_firstlineno == user.co_firstlineno
    lines = {line for _, _, line in user.co_lines() if line is not None}
    body = {line for line in lines if line != user.co_firstlineno}
    for _, _, line in code.co_lines():
        assert line is None or line in lines
    seen = set()
    for start, end, *_ in code.co_positions():
        if start is not None:
            assert start in lines and end is not None and start <= end <= max(lines)
            seen.add(start)
    assert seen & body, "no instruction of the derived code stands at a line of the user's"


@pytest.mark.parametrize("fn, args", EXAMPLES, ids=lambda x: getattr(x, "__name__", ""))
@both
def test_rules_of_scalars_leave_no_call_of_ours(fn: Callable[..., Any], args: tuple[Any, ...], which: str) -> None:
    """The rules of math and the operators are there as their bodies, and nothing of the engine is called."""
    for const in derived(fn, args, which).co_consts:
        module = getattr(const, "__module__", None) or type(const).__module__
        assert not str(module).startswith(("mooncake_py", "mooncake_rules")), f"{const!r} is called"


@every
@both
def test_no_rule_and_no_pullback_is_called(fn: Callable[..., Any], args: tuple[Any, ...], which: str) -> None:
    rules = {id(r.fn) for found in registry._rules.values() for r in found if r.fn is not None}
    for const in derived(fn, args, which).co_consts:
        assert id(const) not in rules, f"the rule {const!r} is called, not inlined"
        assert getattr(const, "__name__", "") != "pullback"
    assert not rule_of(fn, *args).derived.notes


def test_constants_of_the_straight_line() -> None:
    fn, args = EXAMPLES[0]
    forward, pullback = derived(fn, args, "forward"), derived(fn, args, "pullback")
    assert math.sin in forward.co_consts and math.cos not in forward.co_consts
    assert math.cos in pullback.co_consts and math.sin not in pullback.co_consts
    assert forward.co_varnames[:1] == ("x",) and forward.co_argcount == 1
    assert pullback.co_varnames[:2] == ("captures", "dy") and pullback.co_argcount == 2


def test_the_two_functions_are_what_runs() -> None:
    """Calling the two functions by hand gives what the public call gives."""
    fn, args = EXAMPLES[3]
    rule = rule_of(fn, *args)
    y, fdata, captures = rule.forward(*args)
    assert (y, fdata) == (fn(*args), None)
    value, pullback = mooncake_py.value_and_pullback(fn, *args)
    assert value == y
    assert rule.pullback(captures, 2.0) == pullback(2.0)


def test_traceback_of_the_pullback_shows_the_users_line() -> None:
    def f(x):
        y = math.pow(x, -1.0)
        return y * 2.0

    with pytest.raises(OverflowError) as e:
        mooncake_py.grad(f)(1e-300)
    last = e.traceback[-1]
    assert str(last.path) == __file__
    assert last.lineno + 1 == f.__code__.co_firstlineno + 1


def test_traceback_of_the_forward_run_shows_the_users_line() -> None:
    def f(x):
        y = x - x
        return 1.0 / y

    with pytest.raises(ZeroDivisionError) as e:
        mooncake_py.grad(f)(1.0)
    last = e.traceback[-1]
    assert str(last.path) == __file__
    assert (last.name, last.lineno + 1) == ("f", f.__code__.co_firstlineno + 2)
