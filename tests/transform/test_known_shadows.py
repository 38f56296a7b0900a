"""Cotangents of attributes that are taken out and put back stay where they are, unless another name may have them."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest

from mooncake_py.ir import ops
from mooncake_py.testing import check_grads
from mooncake_py.transform.effects import function_of
from tests.derive import derivation_of


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def pairs(x, same):
    p = Pair(x, 0.5 * x)
    return p, p if same else Pair(2.0 * x, x)


def added_to(x, same):
    p, q = pairs(x, same)
    for _ in range(3):
        p.a += 0.1 * q.b
        q.b -= 0.2 * p.a * x
    return p.a * q.b


def added_to_by_two_names(x, same):
    p, q = pairs(x, same)
    for _ in range(3):
        p.a += q.a * x
        q.a += p.a * p.a
        p.a -= 0.3 * q.a
    return p.a * q.a + p.b


def set_by_two_names(x, same):
    p, q = pairs(x, same)
    for _ in range(2):
        t = p.a
        p.a = 0.0
        q.a = q.a * x
        p.a = t
        q.b = p.a - q.a
    return p.a + 2.0 * q.a + q.b


def taken_out_and_put_back_around_another(x, same):
    p, q = pairs(x, same)
    for _ in range(2):
        p.a += x
        q.a = 0.5 * x
        p.a += x * q.a
        p.b, q.b = q.b, p.a
    return p.a + q.a * q.b + p.b


@pytest.mark.parametrize("same", (True, False))
@pytest.mark.parametrize(
    "f", (added_to, added_to_by_two_names, set_by_two_names, taken_out_and_put_back_around_another)
)
def test_gradients_where_two_names_may_be_of_one_object(f: Callable[..., float], same: bool) -> None:
    check_grads(lambda x: f(x, same), (0.7,))


def steps(x, n):
    p = Pair(x, 1.0)
    ps = [p, Pair(0.3, x)]
    for i in range(n):
        ps[i % 2].a += ps[i % 2].b * x
    return ps[0].a + ps[1].a


def test_what_is_added_to_is_not_written_in_the_reverse_run() -> None:
    loop = next(
        b.stmts
        for b in derivation_of(steps, 0.7, 4).pullback.blocks
        if any(function_of(s) is ops.pull for s in b.stmts)
    )
    assert [s.args[1].value for s in loop if function_of(s) is operator.setitem] == ["b"]
