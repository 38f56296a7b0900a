"""Calls with default values, keywords, methods and partials take the short way too, and see what changed meanwhile."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from mooncake_py import prepare, value_and_grad


def power(x, n=3, *, scale=2.0):
    return scale * x**n


class Model:
    def __init__(self, w: Any):
        self.w = w

    def loss(self, x, shift=1.0):
        return np.sum(self.w * x) + shift * np.sum(x)

    def __call__(self, x):
        return np.sum(self.w * x * x)

    @classmethod
    def of_class(cls, x):
        return x * x

    @staticmethod
    def static(x, k=4.0):
        return k * x


CALLS = {
    "defaults": (power, (2.0,), {}, 24.0),
    "keyword": (power, (2.0,), {"n": 2}, 8.0),
    "keyword only": (power, (2.0,), {"scale": 1.0}, 12.0),
    "all by name": (power, (), {"scale": 1.0, "n": 2, "x": 2.0}, 4.0),
    "partial": (functools.partial(power, n=2, scale=3.0), (2.0,), {}, 12.0),
    "partial, overruled": (functools.partial(power, n=2), (2.0,), {"n": 1}, 2.0),
    "method": (Model(3.0).loss, (2.0,), {}, 4.0),
    "method by name": (Model(3.0).loss, (), {"shift": 0.0, "x": 2.0}, 3.0),
    "object": (Model(3.0), (2.0,), {}, 12.0),
    "class method": (Model.of_class, (2.0,), {}, 4.0),
    "static method": (Model.static, (2.0,), {}, 4.0),
    "partial of a method": (functools.partial(Model(3.0).loss, shift=0.5), (2.0,), {}, 3.5),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_short_way(name: str) -> None:
    f, args, kwargs, expected = CALLS[name]
    df = value_and_grad(f, "x" if "x" in kwargs else 0)
    for _ in range(3):
        value, g = df(*args, **kwargs)
        assert value == f(*args, **kwargs) and g == pytest.approx(expected)
        assert df.warm is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CALLS)
def test_prepared(name: str) -> None:
    f, args, kwargs, expected = CALLS[name]
    p = prepare(f, *args, argnums="x" if "x" in kwargs else 0, **kwargs)
    for _ in range(3):
        assert p.value_and_grad(*args, **kwargs)[1] == pytest.approx(expected)


def test_several_arguments_in_another_order() -> None:
    def f(a, b, c=1.0):
        return a * b**2 * c**3

    df = value_and_grad(f, ("c", "a"))
    for b in (2.0, 3.0):
        for kwargs in ({"c": 2.0, "a": 5.0}, {"a": 5.0, "c": 2.0}):
            assert df(b=b, **kwargs) == (f(5.0, b, 2.0), (15.0 * b**2 * 4.0, b**2 * 8.0))


def test_arrays_of_an_object_are_looked_at() -> None:
    model = Model(np.array([1.0, 2.0]))
    df = value_and_grad(model.loss)
    x = np.array([3.0, 4.0])
    for _ in range(2):
        assert df(x)[1].tolist() == [2.0, 3.0]
    model.w = 5.0
    assert df(x)[1].tolist() == [6.0, 6.0]
    model.w = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert df(x)[1].tolist() == [5.0, 7.0]
    model.w = x  # constant, as what an object holds is, though the argument is the same array
    first = value_and_grad(model.loss)(x)[1].tolist()
    assert df(x)[1].tolist() == first


def test_defaults_that_are_rebound() -> None:
    def f(x, k=2.0, *, s=1.0):
        return k * s * x

    df = value_and_grad(f)
    assert [df(1.0)[1] for _ in range(2)] == [2.0, 2.0]
    f.__defaults__ = (5.0,)
    assert [df(1.0)[1] for _ in range(2)] == [5.0, 5.0]
    f.__kwdefaults__["s"] = 3.0
    assert [df(1.0)[1] for _ in range(2)] == [15.0, 15.0]


def test_keywords_of_a_partial_that_change() -> None:
    f = functools.partial(power, n=1, scale=2.0)
    df = value_and_grad(f)
    assert [df(3.0)[1] for _ in range(2)] == [2.0, 2.0]
    f.keywords["scale"] = 4.0
    assert [df(3.0)[1] for _ in range(2)] == [4.0, 4.0]


def test_a_class_whose_call_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    class A:
        def __call__(self, x):
            return 2.0 * x

    df = value_and_grad(A())
    assert [df(3.0)[1] for _ in range(2)] == [2.0, 2.0]
    monkeypatch.setattr(A, "__call__", lambda self, x: math.sin(x))
    assert [df(0.0)[1] for _ in range(2)] == [1.0, 1.0]


def test_default_values_that_collect() -> None:
    def f(x, seen=[]):  # noqa: B006
        seen.append(1)
        return len(seen) * x

    df = value_and_grad(f)
    assert [df(1.0)[1] for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_calls_of_another_kind() -> None:
    df = value_and_grad(power)
    for _ in range(2):
        assert df(2.0)[1] == 24.0
        assert df(2.0, 2)[1] == 8.0
        assert df(2.0, n=1)[1] == 2.0
        assert df(2.0, scale=1.0)[1] == 12.0
        with pytest.raises(TypeError):
            df(2.0, m=1)


class Counting:
    def __init__(self):
        self.n, self.log, self.inner = 0, [], Model(0)
        self.seen = np.zeros(2)

    def count(self, x):
        self.n += 1
        return x * x

    def note(self, x):
        self.log.append(float(x))
        return x * x

    def deeper(self, x):
        self.inner.w += 1
        return x * x

    def into_an_array(self, x):
        self.seen[0] += 1.0
        return x * x

    def by_a_call(self, x):
        return self.count(x) + 0.0 * self.note(x)


@pytest.mark.parametrize("name", ["count", "note", "deeper", "into_an_array", "by_a_call"])
def test_what_is_written_to_a_method_s_object_stays(name: str) -> None:
    plain, counting = Counting(), Counting()
    df = value_and_grad(getattr(counting, name))
    for _ in range(3):
        getattr(plain, name)(3.0)
        assert df(3.0)[1] == pytest.approx(6.0)
        assert (plain.n, plain.log, plain.inner.w) == (counting.n, counting.log, counting.inner.w)
        assert plain.seen.tolist() == counting.seen.tolist()
