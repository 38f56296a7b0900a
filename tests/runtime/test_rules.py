"""Derived rules at run time: found by signature, derived when first needed, without state of a call."""

from __future__ import annotations

import gc
import math
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mooncake_py import PullbackReuse, build_rrule, grad, pipeline, value_and_grad, value_and_pullback
from mooncake_py.ir.nodes import Function
from mooncake_py.runtime import rule as runtime


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def fibonacci(x, n):
    return x if n < 2 else fibonacci(x, n - 1) + fibonacci(x, n - 2)


def even(x, n):
    return x if n == 0 else odd(x * x, n - 1)


def odd(x, n):
    return x if n == 0 else even(x + 1.0, n - 1)


def cumulative(x, k):
    """Recursion that writes into its array."""
    if k < len(x):
        x[k] += x[k - 1]
        cumulative(x, k + 1)
    return x


def loop(x, n):
    for _ in range(n):
        x = np.sin(x) * 1.01
    return x.sum()


def mutating(x):
    x[0] = 2.0 * x[1]
    return (x * x).sum()


class Derivations(list[str]):
    """The names of the functions that rules were derived of."""


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> Iterator[Derivations]:
    names = Derivations()
    original = pipeline.derive_rule

    def counted(fn: Any, *args: Any, **options: Any) -> Any:
        names.append(fn.__name__)
        return original(fn, *args, **options)

    monkeypatch.setattr(pipeline, "derive_rule", counted)
    monkeypatch.setattr(runtime, "_cache", {})
    yield names


def test_recursion() -> None:
    assert grad(power)(2.0, 5) == 80.0
    assert grad(fibonacci)(2.0, 10) == 89.0
    assert grad(even)(2.0, 3) == 40.0  # (x^2 + 1)^2
    y, pullback = value_and_pullback(cumulative, np.ones(4), 1)
    assert y.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert pullback(np.ones(4))[0].tolist() == [4.0, 3.0, 2.0, 1.0]


def test_deep_recursion() -> None:
    assert grad(power)(1.0, 200) == 200.0


def test_second_call_derives_nothing(derivations: Derivations) -> None:
    g = grad(loop)
    first = g(np.ones(3), 4)
    assert derivations
    derivations.clear()
    assert np.array_equal(g(np.ones(3), 4), first)
    g(np.zeros(7), 9)
    grad(loop)(np.zeros(3), 1)
    value_and_pullback(loop, np.ones(3), 4)
    assert not derivations


LOG: list[object] = []


def test_a_log_may_grow_without_another_derivation(derivations: Derivations) -> None:
    def loss(w: np.ndarray) -> np.float64:
        value = np.sum(w**2)
        LOG.append(value)
        return value

    gradient = grad(loss)
    for _ in range(3):
        gradient(np.ones(2))
    derivations.clear()
    for _ in range(100):
        assert gradient(np.ones(2)).tolist() == [2.0, 2.0]
    assert not derivations and len(LOG) == 103


class Account:
    """Notes in its class, by a new list each time, what its objects are given."""

    total = 0.0
    seen: list[Any] = []  # noqa: RUF012

    def add(self, v: Any) -> Any:
        self.total += v
        Account.seen = [*Account.seen, v]
        return self


def test_a_class_may_be_given_another_list_without_another_derivation(derivations: Derivations) -> None:
    def f(x: Any) -> Any:
        a = Account().add(x).add(x * x)
        return a.total * Account.seen[-1]

    for _ in range(2):
        Account.seen = []
        assert value_and_grad(f)(1.5) == (pytest.approx(8.4375), pytest.approx(20.25))
    derivations.clear()
    for _ in range(3):
        assert value_and_grad(f)(1.5)[1] == pytest.approx(20.25)
    assert not derivations


class Guarded:
    """Keeps methods of a lock that each object has of its own."""

    def __init__(self, x: Any):
        self.x, lock = x, threading.Lock()
        self.acquire, self.release = lock.acquire, lock.release

    def scaled(self, k: Any) -> Any:
        self.acquire()
        try:
            return self.x * k
        finally:
            self.release()


def test_objects_with_methods_in_c_of_their_own_share_rules(derivations: Derivations) -> None:
    classes = {"guarded": Guarded}

    def scaled(guarded: Guarded, k: Any) -> Any:
        return guarded.scaled(k)

    kept = []
    for _ in range(12):
        kept.append(classes["guarded"](1.5))
        assert value_and_grad(scaled, argnums=1)(kept[-1], 2.0) == (3.0, 1.5)
    assert 0 < derivations.count("scaled") <= 8
    derivations.clear()
    for _ in range(4):
        kept.append(Guarded(2.5))
        assert value_and_grad(scaled, argnums=1)(kept[-1], 2.0) == (5.0, 2.5)
    assert not derivations


def test_one_rule_for_each_signature(derivations: Derivations) -> None:
    build_rrule(loop, np.ones(3), 4)
    assert derivations == ["loop"]
    build_rrule(loop, np.ones((3, 3)), 4)
    build_rrule(loop, np.ones(3, np.float32), 4)
    assert derivations == ["loop"] * 3
    grad(loop)(np.ones(3, np.float32), 2)
    assert derivations == ["loop"] * 3


def test_code_that_does_not_run_is_not_derived(derivations: Derivations) -> None:
    def unsupported(x):
        try:
            return x[0]
        except TypeError:
            return x

    def f(x):
        if x > 100.0:
            return unsupported(x)
        return x * x

    assert grad(f)(3.0) == 6.0
    assert derivations == ["f"]


def test_interleaved_pullbacks() -> None:
    runs = [(n, value_and_pullback(loop, np.arange(3.0) * n, n)) for n in range(1, 5)]
    alone = [value_and_pullback(loop, np.arange(3.0) * n, n)[1](1.0)[0] for n, _ in runs]
    together = [pullback(1.0)[0] for _, (_, pullback) in reversed(runs)][::-1]
    assert all(map(np.array_equal, together, alone))


def test_pullback_called_again() -> None:
    def f(x):
        return np.sin(x) * x[::-1]

    x = np.arange(3.0)
    _, pullback = value_and_pullback(f, x)
    jacobian = np.array([pullback(row)[0] for row in np.eye(3)])
    expected = np.diag(np.cos(x) * x[::-1]) + np.diag(np.sin(x))[:, ::-1]
    assert np.allclose(jacobian, expected)
    assert np.array_equal(pullback(np.eye(3)[0])[0], jacobian[0])


def test_pullback_of_a_loop_called_again() -> None:
    _, pullback = value_and_pullback(loop, np.ones(3), 5)
    first = pullback(1.0)[0].copy()
    assert np.array_equal(pullback(2.0)[0], 2.0 * first)


def test_pullback_called_again_after_mutation() -> None:
    x = np.ones(3)
    _, pullback = value_and_pullback(mutating, x)
    assert pullback(1.0)[0].tolist() == [0.0, 10.0, 2.0]
    with pytest.raises(PullbackReuse, match=r"changes objects in place.*call value_and_pullback again"):
        pullback(1.0)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_mutated_argument_is_back_after_the_pullback() -> None:
    x = np.ones(3)
    _, pullback = value_and_pullback(mutating, x)
    assert x[0] == 2.0, "as after a plain call"
    pullback(1.0)
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_threads() -> None:
    x = np.arange(4.0)
    expected = grad(loop)(x, 30), grad(power)(1.5, 20)
    right: list[bool] = []

    def work() -> None:
        for _ in range(20):
            right.append(np.array_equal(grad(loop)(x, 30), expected[0]) and grad(power)(1.5, 20) == expected[1])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(right) == 120 and all(right)


def test_threads_that_derive_at_once() -> None:
    def make(k: int) -> Any:
        scope: dict[str, Any] = {"math": math}
        exec(f"def f(x):\n    for _ in range(5):\n        x = math.sin(x) * {k}.0\n    return x\n", scope)
        return scope["f"]

    functions = [make(k) for k in range(1, 9)]
    expected = [grad(make(k))(0.3) for k in range(1, 9)]
    got: list[list[float]] = []
    threads = [threading.Thread(target=lambda: got.append([grad(f)(0.3) for f in functions])) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == [expected] * 6


@pytest.mark.filterwarnings("error")
def test_powers_of_negative_numbers_in_place_warn_of_nothing() -> None:
    def f(x, n):
        x = x * 1.0
        x **= n
        return x.sum()

    assert grad(f)(np.array([-1.0, -2.0]), 3).tolist() == [3.0, 12.0]
    assert grad(f)(np.array([-1.0, -2.0]), np.array([2, 3])).tolist() == [-2.0, 12.0]


def test_a_derivation_leaves_nothing_to_the_collector() -> None:
    def alternating(x, n):
        s = 0.0
        for i in range(n):
            if i % 2:
                s += math.sin(x * i)
            elif s > 1.0:
                s -= max(x, 1.0) * s
        return s

    before = types.FunctionType(alternating.__code__.replace(co_name="before"), alternating.__globals__)
    build_rrule(before, 1.0, 3)  # rules are taken apart once, for all functions
    running = gc.isenabled()
    gc.disable()
    try:
        gc.collect()
        rule = build_rrule(alternating, 1.0, 3)
        assert gc.collect() == 0
        forms = [
            x for x in gc.get_objects() if type(x) is Function and x.name == "alternating" and x.filename == __file__
        ]
        assert len(forms) == 1, "of the code, only the form that other derivations begin with is held on to"
    finally:
        if running:
            gc.enable()
    assert rule(1.0, 3)[0] == alternating(1.0, 3)
