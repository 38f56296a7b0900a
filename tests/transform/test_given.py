"""Recursive functions that are given functions made here: found before it runs, and by the name they have now."""

import math

import pytest

from mooncake_py import inspect, value_and_grad


def halved(f, a, n):
    return f(a) if n == 0 else halved(f, a / 2, n - 1) + halved(f, a * 1.5, n - 1)


ALIAS = halved


def of_a_lambda(k):
    return halved(lambda t: math.sin(k * t), 0.5, 3)


def by_another_name(k):
    return ALIAS(lambda t: math.sin(k * t), 0.5, 2)


def slope(f, k):
    return (f(k + 1e-6) - f(k - 1e-6)) / 2e-6


def test_the_calls_are_known_before_they_run():
    found = [f for findings in inspect(of_a_lambda, 0.7).lines.values() for f in findings]
    assert not [f.text for f in found if f.kind == "dynamic"]
    assert value_and_grad(of_a_lambda)(0.7) == pytest.approx((of_a_lambda(0.7), slope(of_a_lambda, 0.7)))


def test_the_name_by_which_it_calls_itself_may_change(monkeypatch):
    assert value_and_grad(by_another_name)(0.7)[1] == pytest.approx(slope(by_another_name, 0.7))
    monkeypatch.setitem(globals(), "halved", lambda f, a, n: a * f(a) * f(a))
    value = by_another_name(0.7)
    assert value_and_grad(by_another_name)(0.7) == pytest.approx((value, slope(by_another_name, 0.7)))


def powered(f, a, n, k=2):
    return f(a) * k if n == 0 else powered(f, a / 2, n - 1) + f(a) * k


def of_a_default(x):
    return powered(lambda t: math.sin(x * t), 0.5, 2)


def test_default_values_may_change(monkeypatch):
    assert value_and_grad(of_a_default)(0.7)[1] == pytest.approx(slope(of_a_default, 0.7))
    monkeypatch.setattr(powered, "__defaults__", (5,))
    assert value_and_grad(of_a_default)(0.7)[1] == pytest.approx(slope(of_a_default, 0.7))
