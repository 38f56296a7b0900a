"""Names that are put together of constants are constants, and what is read by one has a type of its own."""

from __future__ import annotations

import dataclasses
import operator

import numpy as np
import pytest

import mooncake_py
from mooncake_py.infer.types import Known
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Call, Const, Pos, Var
from mooncake_py.transform.names import text_of


@pytest.mark.parametrize(
    ("f", "args", "text"),
    [
        (operator.add, ("W", "1"), "W1"),
        (operator.mod, ("b%d", 2), "b2"),
        (str, (3,), "3"),
        (ops.format_value, (3, "02d", 0), "03"),
        (ops.build_string, ("W", "3"), "W3"),
        (operator.add, (1, 2), None),
        (operator.add, ("W", 1), None),
        (operator.mod, ("%s", 1.5), None),
        (str, (True,), None),
    ],
)
def test_text_of_constants(f: object, args: tuple[object, ...], text: str | None) -> None:
    s = Call(Var(0), Const(f), tuple(map(Const, args)), (), Pos(1, 1, 0, 0))
    found = text_of(s, lambda v: Known(v.value) if isinstance(v, Const) else None)
    assert (None if found is None else found.value) == text


def test_nothing_is_left_to_the_run_where_names_are_known() -> None:
    def f(p, x):
        for i in range(2):
            x = np.tanh(x @ p[f"W{i}"] + p["b" + str(i)])
        return np.sum(x)

    params = {"W0": np.ones((2, 3)), "b0": np.ones(3), "W1": np.ones((3, 2)), "b1": np.ones(2)}
    assert not mooncake_py.inspect(f, params, np.ones((4, 2))).derived.dynamic


def test_nothing_is_left_to_the_run_where_names_are_those_of_fields() -> None:
    @dataclasses.dataclass
    class Pair:
        left: float
        right: float

    def f(x):
        pair, total = Pair(x, x * x), 0.0
        for field in dataclasses.fields(pair):
            total += getattr(pair, field.name)
        return total + sum(getattr(pair, field.name) for field in dataclasses.fields(Pair))

    assert not mooncake_py.inspect(f, 0.7).derived.dynamic
