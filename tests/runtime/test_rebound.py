"""Names, variables of functions made outside, and objects of every kind that a run sets: what is read is what was set,
and it stays."""

from __future__ import annotations

import contextlib
import enum
import logging
import math
import threading
import types
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from mooncake_py import UnsupportedError, value_and_grad

Setup = Callable[[], Any]
previous: Any = None
chosen: Any = None
made: Any = None
flag: Any = False
last: Any = None
sums: Any = []
other = types.ModuleType("other")
exec("n = 0\ndef count():\n    global n\n    n += 1\n    return n\n", other.__dict__)


def step(x):
    global previous
    difference = 0.0 if previous is None else float(len(str(previous)))
    previous = int(10.0 * x)
    return x * difference


def none_then_number(x):
    return step(x) + step(2.0 * x)


def twice(v):
    return 2.0 * v


def choose():
    global chosen
    chosen = lambda v: v * v  # noqa: E731


def function_rebound(x):
    y = chosen(x)
    choose()
    return y * chosen(x)


def kept_for_the_next_call(x):
    global last
    y = x * (1.0 if last is None else last)
    last = x * x
    return y * last


def sums_kept_for_the_next_call(x):
    global sums
    sums = [*sums, x * x][-3:]
    sums[0] *= x
    return sum(sums)


def get():
    global made
    if made is None:
        made = lambda v: v * v  # noqa: E731
    return made


def made_when_asked(x):
    return get()(x) * get()(x)


def switch():
    global flag
    flag = not flag
    return flag


def switched(x):
    return x * (2.0 if switch() else 3.0) + x * x * (5.0 if switch() else 7.0) + (x if flag else 10.0 * x)


def counted_by_another_module(x):
    return x * other.count() * other.n  # type: ignore[attr-defined]


def counting() -> Callable[[Any], Any]:
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    return f


HELD = types.SimpleNamespace(f=None)


def counted_in_a_cell(x):
    return HELD.f(x) * HELD.f(x)


class Kind(enum.Enum):
    A = 1


def counted_in_a_member(x):
    Kind.A.n += 1  # type: ignore[attr-defined]
    return x * Kind.A.n  # type: ignore[attr-defined]


LOCAL = threading.local()


def counted_in_a_thread(x):
    LOCAL.n += 1
    return x * LOCAL.n


class Only:
    one: Any = None

    def __new__(cls) -> Any:
        if cls.one is None:
            cls.one = super().__new__(cls)
            cls.one.history = []
        return cls.one

    def add(self, v):
        self.history.append(v)
        return sum(self.history)


def kept_by_its_class(x):
    return Only().add(x) * Only().add(2.0 * x)


class Bound:
    n = 0

    def method(self, x):
        self.n += 1
        return x * self.n


BOUND = Bound()


def reset() -> None:
    global previous, chosen, made, flag, last, sums
    previous, chosen, made, flag, last, sums = None, twice, None, False, None, []
    other.n = 0  # type: ignore[attr-defined]
    HELD.f, Kind.A.n, LOCAL.n, Only.one, BOUND.n = counting(), 0, 0, None, 0  # type: ignore[attr-defined]


FUNCTIONS = [
    *(none_then_number, function_rebound, made_when_asked, switched, counted_by_another_module, counted_in_a_cell),
    *(kept_for_the_next_call, sums_kept_for_the_next_call),
    *(counted_in_a_member, counted_in_a_thread, kept_by_its_class, BOUND.method),
]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("debug_mode", [False, True])
def test_every_call_is_as_a_plain_one(f: Callable[..., Any], debug_mode: bool) -> None:
    xs, h = [1.3, 1.4, 1.5, 1.6], 1e-6

    def last(x: float, before: list[float]) -> float:
        reset()
        return float([f(v) for v in (*before, x)][-1])

    expected = [last(x, xs[:i]) for i, x in enumerate(xs)]
    slopes = [(last(x + h, xs[:i]) - last(x - h, xs[:i])) / (2.0 * h) for i, x in enumerate(xs)]
    reset()
    gradient = value_and_grad(f, debug_mode=debug_mode)
    for x, value, slope in zip(xs, expected, slopes, strict=True):
        y, dx = gradient(x)
        assert y == pytest.approx(value, rel=1e-12)
        assert dx == pytest.approx(slope, rel=1e-6, abs=1e-8)
        assert math.isfinite(dx)


log: list[float] = []


def logged(x):
    log.append(x)
    return x * x


def test_a_rule_is_used_again_when_a_name_means_again_what_it_meant(caplog: pytest.LogCaptureFixture) -> None:
    gradient = value_and_grad(logged)
    with caplog.at_level(logging.INFO, "mooncake_py"):
        for _ in range(4):
            log.clear()
            assert gradient(3.0) == gradient(3.0) == (9.0, 6.0)
    assert len([r for r in caplog.records if "logged" in r.getMessage()]) == 2


def sets_a_function_of_a_rule(x):
    math.cos = abs
    return math.cos(x)


def patches_a_function_of_a_rule(x):
    with mock.patch("math.cos", abs):
        return math.cos(x)


@pytest.mark.parametrize("f", [sets_a_function_of_a_rule, patches_a_function_of_a_rule], ids=lambda f: f.__name__)
def test_functions_that_rules_compute_with_are_not_set(f: Callable[..., Any]) -> None:
    before = math.cos
    with pytest.raises(UnsupportedError) as e:
        value_and_grad(f)(1.3)
    assert math.cos is before
    assert str(e.value).startswith("setting math.cos, which derivatives are computed with")
    assert f"in {__file__}:{f.__code__.co_firstlineno + 1};" in str(e.value)


class Store:
    def object(self, k):
        return k * 2.0


def test_names_that_numpy_warns_of(recwarn: pytest.WarningsRecorder) -> None:
    store = Store()
    assert value_and_grad(lambda x: store.object(x))(1.5) == (3.0, 2.0)
    assert not recwarn.list


class Text:
    def __init__(self):
        self.parts = []

    def write(self, text):
        self.parts.append(text)


def redirected(x):
    text = Text()
    with contextlib.redirect_stdout(text):
        print("hello")
    return x * len(text.parts)


def test_a_module_is_no_argument() -> None:
    with pytest.raises(UnsupportedError, match=r"an attribute of module sys .*; keep it in an object") as e:
        value_and_grad(redirected)(1.3)
    assert f"in {__file__}:{redirected.__code__.co_firstlineno + 2};" in str(e.value)
