"""Dispatch by class: what classes and annotations say is asked as it is."""

import functools

import pytest

from mooncake_py import pipeline, value_and_grad


def dispatched(x, y):
    @functools.singledispatch
    def value(v):
        return x

    @value.register
    def _(v: float):
        return v * y

    @value.register(list)
    @value.register(tuple)
    def _(v):
        return sum(map(value, v))

    return value([x, (y, "a"), 2])


def test_the_order_of_classes_is_not_derived(monkeypatch):
    derived, derive_rule = [], pipeline.derive_rule

    def noted(fn, *args, **kwargs):
        derived.append(fn.__name__)
        return derive_rule(fn, *args, **kwargs)

    monkeypatch.setattr(pipeline, "derive_rule", noted)
    value, slopes = value_and_grad(dispatched, (0, 1))(0.5, 3.0)
    assert value == 0.5 * 3.0 + 3.0 * 3.0 + 0.5 + 0.5 and slopes == pytest.approx((5.0, 6.5))
    assert "dispatched" in derived and "_c3_mro" not in derived
