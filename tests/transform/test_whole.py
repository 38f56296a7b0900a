"""Displays of many items, and calls of many arguments, are what those of few are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooncake_py import value_and_grad
from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const
from mooncake_py.transform.primal import prepare

N = 40
NAMES = [f"a{i}" for i in range(N)]


def function(source: str, **scope: Any) -> Callable[..., Any]:
    exec(f"def f(x, y):\n    return {source}", scope)
    return scope["f"]  # type: ignore[no-any-return]


def statements(f: Callable[..., Any]) -> list[Call]:
    return [s for b in prepare(normalise(f.__code__)).blocks for s in b.stmts]


def made_by(f: Callable[..., Any], op: Callable[..., Any]) -> list[Call]:
    return [s for s in statements(f) if isinstance(s.fn, Const) and s.fn.value is op]


@pytest.mark.parametrize("n", [3, 15, 16, 17, 31, 40])
def test_displays_are_one_statement(n: int) -> None:
    of_list = function("[" + ", ".join(f"x * {i}" for i in range(n)) + "]")
    of_dict = function("{" + ", ".join(f"'k{i}': x * {i}" for i in range(n)) + "}")
    assert [len(s.args) for s in made_by(of_list, ops.build_list)] == [n]
    assert [len(s.args) for s in made_by(of_dict, ops.build_map)] == [2 * n]
    assert not made_by(of_list, ops.list_append)
    assert not made_by(of_dict, ops.map_add) + made_by(of_dict, ops.dict_update)


def test_calls_are_calls() -> None:
    by_name = function("g(" + ", ".join(f"{k}=x * {i}" for i, k in enumerate(NAMES)) + ")", g=dict)
    by_place = function("g(" + ", ".join(f"x * {i}" for i in range(N)) + ")", g=max)
    both = function("g(x, y, " + ", ".join(f"{k}=x" for k in NAMES) + ")", g=dict)
    for f in (by_name, by_place, both):
        assert not made_by(f, ops.call_ex)
        assert max(len(s.args) + len(s.kwargs) for s in statements(f)) >= N


def test_what_others_have_is_filled_step_by_step() -> None:
    """Keys that may ask code of the user's, and dicts that are taken over."""
    keys = function("{" + ", ".join(f"(x, {i}): y" for i in range(N)) + "}")
    merged = function("{" + ", ".join(f"'{k}': x" for k in NAMES) + ", **y, 'last': x}")
    assert len(made_by(keys, ops.map_add)) > N // 2
    assert len(made_by(merged, ops.build_map)[0].args) == 2 * N
    assert any(getattr(s.args[1], "name", None) == "y" for s in made_by(merged, ops.dict_update))


@pytest.mark.parametrize(
    "source",
    [
        "sum([" + ", ".join(f"x * {i}.0 + y" for i in range(N)) + "])",
        "sum((" + ", ".join(f"x * {i}.0 + y" for i in range(N)) + ",))",
        "sum({" + ", ".join(f"'{k}': x * {i}.0 + y" for i, k in enumerate(NAMES)) + "}.values())",
        "g(" + ", ".join(f"{k}=x * {i}.0 + y" for i, k in enumerate(NAMES)) + ")",
        "h(" + ", ".join(f"x * {i}.0 + y" for i in range(N)) + ")",
        "sum([" + ", ".join(f"sum([{', '.join([f'x * {i}.0 / {N} + y / {N}'] * N)}])" for i in range(N)) + "])",
        "h(*[" + ", ".join(f"x * {i}.0" for i in range(N)) + f"], y * {N})",
    ],
    ids=["list", "tuple", "dict", "by name", "by place", "nested", "starred"],
)
def test_gradients(source: str) -> None:
    f = function(source, g=lambda **kw: sum(kw.values()), h=lambda *args: sum(args))
    value, (dx, dy) = value_and_grad(f, argnums=(0, 1))(0.5, 2.0)
    assert value == f(0.5, 2.0)
    assert (dx, dy) == pytest.approx((N * (N - 1) / 2, N))


def test_an_argument_that_is_written_several_times() -> None:
    assert not made_by(function("sum(a * b for a, b in zip(*[iter(x)] * 2))"), ops.call_ex)
    assert not made_by(function("max(*(x, y) * 3)"), ops.call_ex)
    assert made_by(function("max(*[x, y] * n)", n=2), ops.call_ex)
    assert made_by(function("max(*x * 3)"), ops.call_ex)
