"""Writes stay to arrays of integers, of truth values and of other constants that what is outside holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import value_and_grad
from tests.runtime.outside import check_state


class Counter:
    def __init__(self) -> None:
        self.n = np.zeros(3, int)

    def loss(self, x):
        self.n[0] += 1
        return x * x


COUNTER = Counter()
HELD: dict[str, Any] = {}


def reset() -> None:
    COUNTER.n[:] = 0
    HELD.clear()
    HELD.update(n=np.zeros(3, int), order=np.array([3.0, 1.0, 2.0]), seen=np.zeros(3, bool))
    HELD["views"] = [HELD["n"][1:], HELD["order"]]
    np.random.seed(1)


def state() -> Any:
    return COUNTER.n.tolist(), [(k, np.asarray(HELD[k]).tolist()) for k in ("n", "order", "seen")]


def in_a_dict(x):
    HELD["n"][0] += 3
    HELD["n"][HELD["n"] > 0] *= 2
    return x * HELD["n"][0]


def by_another_name(x):
    HELD["views"][0][:] = 5
    HELD["views"][-1].sort()
    return x * HELD["n"][2] * HELD["order"][0]


def in_an_object(x):
    COUNTER.n[1] += 1
    return x * COUNTER.n[1]


def by_a_method(x):
    return COUNTER.loss(x) * COUNTER.n[0]


def _count(n, k):
    for i in range(k):
        n[i] += i
    return n[k - 1]


def by_a_helper(x):
    return x * _count(HELD["n"], 3) + [_count][0](HELD["n"], 2)


def truth_values(x):
    HELD["seen"][:] = np.arange(3) > x
    np.logical_not(HELD["seen"], out=HELD["seen"])
    return x * HELD["seen"].sum()


def shuffled(x):
    np.random.shuffle(HELD["order"])
    np.random.default_rng(0).shuffle(HELD["n"][:2])
    return x * HELD["order"][0]


def one_by_one(x):
    with np.nditer(HELD["order"], op_flags=["readwrite"]) as it:  # type: ignore[call-overload]
        for e in it:
            e[...] = e * 2.0
    for k in np.nditer(HELD["n"], op_flags=["readwrite"]):  # type: ignore[call-overload]
        k[...] = k + 1
    return x * HELD["order"][1] * HELD["n"][0]


def with_a_derivative_one_by_one(x):
    with np.nditer(HELD["order"], op_flags=["readwrite"]) as it:  # type: ignore[call-overload]
        for e in it:
            e[...] = e * x
    return HELD["order"][1] * HELD["order"][0]


@pytest.mark.parametrize(
    "f",
    [in_a_dict, by_another_name, in_an_object, by_a_method, by_a_helper, truth_values, shuffled, one_by_one,
     with_a_derivative_one_by_one],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_writes_stay(f: Callable[[Any], Any]) -> None:
    check_state(f, reset, state)


def test_what_a_bound_method_counts() -> None:
    reset()
    for k in (1, 2):
        assert value_and_grad(COUNTER.loss)(1.5) == (2.25, 3.0)
        assert COUNTER.n[0] == k


def test_an_argument_is_put_back() -> None:
    def f(x, n):
        HELD["own"] = n
        HELD["own"][0] += 1
        return x * n[0]

    n = np.zeros(2, int)
    assert value_and_grad(f)(2.0, n) == (2.0, 1.0)
    assert n.tolist() == [0, 0]
