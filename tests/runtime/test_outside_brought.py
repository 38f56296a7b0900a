"""Objects and functions given as arguments whose code writes to what is outside."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooncake_py import build_rrule, grad, inspect, value_and_grad

LOG: list[Any] = []
TABLE: dict[str, Any] = {}
BUFFER = np.zeros(2)


class Model:
    calls = 0
    best: Any = None
    history: list[Any] = []  # noqa: RUF012

    def __init__(self, w):
        self.w = w

    def logged(self, x):
        LOG.append(x * self.w)
        return LOG[-1] * x

    def counted(self, x):
        Model.calls += 1
        self.history.append(x * 2.0)
        return self.history[0] * x * Model.calls

    def best_so_far(self, x):
        if Model.best is None or x < Model.best:
            Model.best = x
        return Model.best * x

    def stored(self, x):
        TABLE["x"] = x * x
        BUFFER[0] = x * self.w
        return TABLE["x"] * BUFFER[0]

    @property
    def weight(self):
        LOG.append("asked")
        return self.w

    def __add__(self, other):
        LOG.append(other)
        return self.w + LOG[-1]

    def __iter__(self):
        LOG.append("begun")
        yield self.w
        yield self.w * self.w


def double(x):
    LOG.append(x)
    return x * 2.0


def logged(m, x):
    return m.logged(x) * m.logged(x * x)


def counted(m, x):
    return m.counted(x) * m.counted(x * x) + m.calls


def best_so_far(m, x):
    return m.best_so_far(x) * m.best_so_far(x * 0.5)


def stored(m, x):
    return m.stored(x) + m.stored(x * x)


def special_methods(m, x):
    return (m + x) * sum(m) * m.weight * len(LOG)


def in_a_list(ms, x):
    for m in ms:
        x = m.logged(x)
    return x


def in_a_dict(ms, x):
    return ms["a"].counted(x) + ms["b"][0].logged(x)


def called(f, x):
    return f(x) * f(x * x) + len(LOG)


def called_one_by_one(fs, x):
    for f in fs:
        x = f(x)
    return x * len(LOG)


CASES: list[tuple[Callable[..., Any], Callable[[], Any]]] = [
    (logged, lambda: Model(3.0)),
    (counted, lambda: Model(3.0)),
    (best_so_far, lambda: Model(3.0)),
    (stored, lambda: Model(3.0)),
    (special_methods, lambda: Model(3.0)),
    (in_a_list, lambda: [Model(3.0), Model(0.5)]),
    (in_a_dict, lambda: {"a": Model(3.0), "b": [Model(0.5)]}),
    (called, lambda: double),
    (called, lambda: functools.partial(double)),
    (called, lambda: Model(3.0).logged),
    (called_one_by_one, lambda: [math.sin, double]),
]


def reset() -> None:
    LOG.clear()
    TABLE.clear()
    BUFFER[:] = 0.0
    Model.calls, Model.best = 0, None
    Model.history.clear()


def state() -> Any:
    return copy.deepcopy((LOG, TABLE, BUFFER.tolist(), Model.calls, Model.best, Model.history))


@pytest.mark.parametrize(("f", "make"), CASES)
@pytest.mark.parametrize("debug_mode", [False, True])
def test_it_stays_and_keeps_its_derivative(f: Callable[..., Any], make: Callable[[], Any], debug_mode: bool) -> None:
    def plain(*xs: float) -> float:
        reset()
        return float([f(make(), x) for x in xs][-1])

    x, h = 1.3, 1e-6
    gradient = value_and_grad(f, 1, debug_mode=debug_mode)
    for before in ([], [1.5], [1.6, 1.5]):
        slope = (plain(*before, x + h) - plain(*before, x - h)) / (2.0 * h)
        value, after = plain(*before, x), state()
        plain(*before) if before else reset()
        y, dx = gradient(make(), x)
        assert y == value
        assert dx == pytest.approx(slope, rel=1e-6)
        assert repr(state()) == repr(after)


def test_built_and_inspected() -> None:
    reset()
    y, pullback = build_rrule(logged, Model(3.0), 2.0)(Model(3.0), 2.0)
    assert (y, pullback(1.0)[1]) == (576.0, 1728.0)
    assert "LOG" in str(inspect(called, double, 2.0))


def test_counters_do_not_have_rules_derived_again(caplog: pytest.LogCaptureFixture) -> None:
    reset()
    g = grad(counted, 1)
    g(Model(3.0), 1.3)
    with caplog.at_level("INFO", logger="mooncake_py"):
        g(Model(3.0), 1.3)
    assert not caplog.records


class Counted:
    made = 0

    def __init__(self, w):
        type(self).made += 1
        self.w = w

    def used(self):
        self.__class__.made += 1
        return self.w * self.made

    @classmethod
    def again(cls, w):
        cls.made += 2
        return cls(w * cls.made)


class Helped:
    made = 0

    def __init__(self, w):
        count(type(self))
        self.w = w


def count(cls):
    cls.made += 1


def by_type(x):
    return Counted(x).w * Counted(x).made


def by_class_of_object(x):
    c = Counted(x)
    for _ in range(3):
        c.used()
    return c.used() * x


def by_class_method(x):
    return Counted.again(x).w * Counted.made


def by_an_argument(x):
    return Helped(x).w * Helped(x).made


def by_setattr(x):
    c = Counted(x)
    cls = type(c)
    for k in range(2):
        if k:
            setattr(cls, "made", c.made + 5)  # noqa: B010
    return c.w * c.made


@pytest.mark.parametrize("f", [by_type, by_class_of_object, by_class_method, by_an_argument, by_setattr])
@pytest.mark.parametrize("debug_mode", [False, True])
def test_counters_of_classes_that_objects_lead_to(f: Callable[..., Any], debug_mode: bool) -> None:
    def begin() -> None:
        Counted.made = Helped.made = 0

    begin()
    expected = [f(1.3) for _ in range(4)]
    made = Counted.made, Helped.made
    begin()
    g = value_and_grad(f, debug_mode=debug_mode)
    assert [g(1.3)[0] for _ in range(4)] == expected
    assert (Counted.made, Helped.made) == made
