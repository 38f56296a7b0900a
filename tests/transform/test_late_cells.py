"""Variables that are set before a function captures them are known until then, and what the function reads is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_grad
from mooncake_py.frontend import normalise
from mooncake_py.ir import ops
from mooncake_py.ir.nodes import Const
from mooncake_py.transform.primal import prepare
from tests.infer.test_protocol import sites


def converted(x, y):
    x = np.asarray(x)
    y = y * 2.0

    def inner(t):
        return t * x.sum() + y

    return inner(y) * inner(1.0)


def set_again(x, y):
    if y > 0:
        y = y * x

    def inner(t):
        return t * y

    s = inner(x)
    y = y + 1.0
    return s + inner(x)


def one_cell_for_a_loop(x, y):
    fs = []
    for _i in range(3):
        y = y * x
        fs.append(lambda t: t * y)  # noqa: B023
    return fs[0](x) + fs[2](y)


def made_outside_of_the_loop(x, y):
    s = 0.0
    for i in range(3):
        z = x * i
        z = z + y

        def g(t):
            return t * z  # noqa: B023

        s += g(x)
        z = z * 2
        s += g(y)
    return s


def after_an_exception(x, y):
    try:
        y = math.log(y) * x
        y = y / (x - x)
    except ZeroDivisionError:
        y = y * 3.0

    def g(t):
        return t * y

    return g(x)


def captured_in_branches(x, y):
    z = x
    if y > 5:

        def h():
            return z * 2

        z = z * y
    else:
        z = z + y

        def h():
            return z * 3

    z = z + 1.0
    return h() + z


def captured_in_a_loop(x, y):
    z = x
    while z < 5:
        z = z * 1.5

        def k(t):
            return t * z  # noqa: B023

    z = z * 2
    return k(y)


def set_by_the_function(x, y):
    def inner():
        nonlocal y
        y = y * x
        return y

    y = y + 1.0
    y = y * y
    r = inner() + inner()
    y = y * 2
    return r + inner() * y


def handed_further_in(x, y):
    y = y * x

    def outer():
        def inn():
            return y * x

        return inn

    y = y + 1
    return outer()()


def set_in_a_try(x, y):
    """What the handler reads was set after it was captured."""
    y = y * x
    fs = []
    try:
        fs.append(lambda: y)
        y = y + 1.0
        raise ValueError
    except ValueError:
        return y * fs[0]()


def deleted(x, y):
    y = y * x
    z = y
    del y
    y = z + 1.0
    return (lambda: y * x)()


def itself(x, y):
    y = y * 2.0

    def down(n):
        return y if n == 0 else x * down(n - 1)

    return down(3)


ALL = [
    converted,
    set_again,
    one_cell_for_a_loop,
    made_outside_of_the_loop,
    after_an_exception,
    captured_in_branches,
    captured_in_a_loop,
    set_by_the_function,
    handed_further_in,
    set_in_a_try,
    deleted,
    itself,
]


def left(f: Callable[..., Any], op: Callable[..., Any]) -> int:
    statements = [s for b in prepare(normalise(f.__code__)).blocks for s in b.stmts]
    return sum(isinstance(s.fn, Const) and s.fn.value is op for s in statements)


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_gradients(f: Callable[..., Any]) -> None:
    value, gradient = value_and_grad(f, argnums=(0, 1))(1.3, 0.7)
    h = 1e-6
    expected = (f(1.3 + h, 0.7) - f(1.3 - h, 0.7)) / (2 * h), (f(1.3, 0.7 + h) - f(1.3, 0.7 - h)) / (2 * h)
    assert value == f(1.3, 0.7)
    assert gradient == pytest.approx(expected, rel=1e-6)


def test_they_are_variables_until_then() -> None:
    assert left(converted, ops.cell_set) == left(converted, ops.cell_get) == 0
    assert left(itself, ops.cell_set) == 1  # the function itself, which is captured before it is there
    assert left(set_in_a_try, ops.cell_set) == 1
    assert left(made_outside_of_the_loop, ops.cell_set) == 3


class Value:
    def __init__(self, data: Any):
        self.data, self.grad = data, 0.0
        self.back: Any = None

    def __mul__(self, other: Any) -> Any:
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data)

        def back() -> None:
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.back = back
        return out


def test_what_is_converted_first_is_known() -> None:
    """`other` is a number or a Value, and a Value from the first statement on."""

    def f(x, y):
        v = Value(x)
        return (v * y * v).data

    def g(x, y):
        v = Value(x)
        w = v * y
        w.grad = 1.0
        w.back()
        return v.grad * w.data

    assert sites(f, 1.3, 0.7) == 0
    assert value_and_grad(f, argnums=(0, 1))(1.3, 0.7)[1] == pytest.approx((2 * 1.3 * 0.7, 1.3**2))
    assert value_and_grad(g, argnums=(0, 1))(1.3, 0.7)[1] == pytest.approx((0.7**2, 2 * 1.3 * 0.7))
