"""Objects of user classes: tangents, identity, state from outside, what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from mooncake_py import (
    ArgumentError,
    CotangentError,
    Tangent,
    UnsupportedError,
    differentiable,
    grad,
    options,
    value_and_grad,
    value_and_pullback,
)


class Point:
    def __init__(self, x: Any, y: Any = 1.0):
        self.x, self.y = x, y


class Node:
    def __init__(self, value: float, after: Any = None):
        self.value, self.after = value, after


# -- tangents ---------------------------------------------------------------------------------------------


def test_tangents_add_up_and_are_scaled() -> None:
    t = grad(lambda p: p.x * p.y)(Point(2.0, 3.0))
    assert t + t == 2.0 * t == t * 2.0
    assert (t - t).to_dict() == {"x": 0.0, "y": 0.0} and (-t).x == -3.0
    with pytest.raises(AttributeError, match="Point has no attribute 'z'"):
        _ = t.z


def test_a_tangent_of_ones_own_type() -> None:
    @differentiable(tangent=lambda fields: (fields["x"], fields["y"]))
    class Vector(Point):
        pass

    assert grad(lambda v: v.x * v.y)(Vector(2.0, 3.0)) == (3.0, 2.0)


def test_one_tangent_for_one_object() -> None:
    p = Point(2.0, 3.0)
    both = grad(lambda d: d["a"].x * d["b"].y)({"a": p, "b": p})
    assert both["a"] is both["b"] and both["a"].to_dict() == {"x": 3.0, "y": 2.0}


def test_cycle_as_argument() -> None:
    n = Node(3.0)
    n.after = Node(2.0, n)
    t = grad(lambda n: n.after.after.value * n.after.value)(n)
    assert t.value == 2.0 and t.after.value == 3.0 and t.after.after is t
    assert "..." in repr(t)


def test_cotangent_of_an_object_that_does_not_fit() -> None:
    _, pullback = value_and_pullback(lambda x: Point(x), 2.0)
    with pytest.raises(CotangentError, match=r"Point.*attributes"):
        pullback({"z": 1.0})


def test_tangent_as_cotangent() -> None:
    _, pullback = value_and_pullback(lambda x: Point(x * x), 2.0)
    assert pullback(Tangent(Point, {"x": 1.0})) == (4.0,)


def test_object_without_numbers() -> None:
    with pytest.raises(ArgumentError, match="no argument can have a derivative"):
        grad(lambda o: 1.0)(object())


# -- state from outside -----------------------------------------------------------------------------------


class Model:
    best: Any = None

    def __init__(self, w: float):
        self.w, self.calls, self.log = w, 0, []

    def loss(self, x: Any) -> Any:
        self.calls += 1
        self.log.append(self.w * x)
        self.last = x * x
        return self.log[-1] * self.last

    def out(self) -> Any:
        return self.last + self.log[-1]


MODEL = Model(3.0)
ALIAS = MODEL
LOG: list = []
MEMO: dict = {}
FUNCTIONS: list = []


def set_last(x: Any) -> None:
    MODEL.last = x * x


def get_last() -> Any:
    return MODEL.last


def log_value(x: Any) -> None:
    LOG.append(x)


def last_logged() -> Any:
    return LOG[-1]


def memoised(n: int, x: Any) -> Any:
    if n in MEMO:
        return MEMO[n]
    r = x if n < 2 else memoised(n - 1, x) + memoised(n - 2, x) * x
    MEMO[n] = r
    return r


def collected(v: Any, found: list = []) -> Any:  # noqa: B006
    found.append(v)
    return found[-1]


def counted() -> int:
    counted.calls = getattr(counted, "calls", 0) + 1  # type: ignore[attr-defined]
    return counted.calls  # type: ignore[attr-defined]


def written_and_read_elsewhere(x: Any) -> Any:
    set_last(x)
    return get_last() * 2.0


def written_by_one_name_read_by_another(x: Any) -> Any:
    MODEL.last = x
    return ALIAS.last * x


def logged(x: Any) -> Any:
    log_value(x * x)
    return last_logged() + x


def memo_of_recursion(x: Any) -> Any:
    MEMO.clear()
    return memoised(6, x)


def methods_of_a_global(x: Any) -> Any:
    MODEL.loss(x)
    return MODEL.out()


def class_attribute_set(x: Any) -> Any:
    Model.best = x * x
    return MODEL.best * x


def default_that_collects(x: Any) -> Any:
    collected(x)
    return collected(x * x)


def attribute_of_a_function(x: Any) -> Any:
    counted()
    counted.last = x * x  # type: ignore[attr-defined]
    return counted.last * counted.last  # type: ignore[attr-defined]


def deep_inside(x: Any) -> Any:
    MODEL.deep = {"k": [x]}  # type: ignore[attr-defined]
    return FUNCTIONS[0]() * x


FUNCTIONS.append(lambda: MODEL.deep["k"][0])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "f",
    [
        written_and_read_elsewhere,
        written_by_one_name_read_by_another,
        logged,
        memo_of_recursion,
        methods_of_a_global,
        class_attribute_set,
        default_that_collects,
        attribute_of_a_function,
        deep_inside,
    ],
    ids=lambda f: f.__name__,
)
def test_what_is_written_outside_keeps_its_derivative(f: Callable[[float], float]) -> None:
    slope = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    for _ in range(2):
        assert np.isclose(grad(f)(0.7), slope, rtol=1e-6)


def test_closures_that_share_an_object() -> None:
    state = Point(0.0)

    def put(x: Any) -> None:
        state.x = x * x

    def get() -> Any:
        return state.x

    def f(x: Any) -> Any:
        put(x)
        return get() * x

    assert np.isclose(grad(f)(0.7), 3 * 0.7**2)
    assert state.x == 0.7 * 0.7


def test_state_is_as_after_one_plain_call() -> None:
    model, plain = Model(3.0), Model(3.0)
    for _ in range(3):
        value, slope = value_and_grad(model.loss)(2.0)
        assert value == plain.loss(2.0) and slope == 3.0 * 3.0 * 4.0
        assert vars(model) == vars(plain)


def test_arguments_are_restored_objects_outside_are_not() -> None:
    mine, theirs = Model(3.0), Model(2.0)

    def f(m: Model, x: float) -> float:
        theirs.calls += 1
        return m.loss(x) * theirs.loss(x)

    before = {**vars(mine), "log": list(mine.log)}
    value_and_grad(f)(mine, 2.0)
    assert vars(mine) == before
    assert theirs.calls == 2 and theirs.log == [4.0] and theirs.last == 4.0


def test_result_that_is_an_object_stays() -> None:
    def f(x):
        p = Point(x, [x])
        p.y.append(p.x * x)
        return p

    p, pullback = value_and_pullback(f, 3.0)
    assert pullback({"y": [0.0, 1.0]}) == (6.0,)
    assert p.x == 3.0 and p.y == [3.0, 9.0]


def test_list_that_contains_itself() -> None:
    def f(x):
        xs = [x, 2.0]
        xs.append(xs)
        xs[2][2][0] = x * x
        return xs[0] * xs[2][1]

    assert np.isclose(grad(f)(0.7), 4 * 0.7)


def test_array_from_outside() -> None:
    assert grad(into_buffer)(1.0) == 2.0
    assert BUFFER.tolist() == [1.0, 0.0]


BUFFER = np.zeros(2)


def into_buffer(x: float) -> Any:
    BUFFER[0] = x
    return BUFFER[0] * x


def test_frozen_dataclass_raises_as_it_does() -> None:
    @dataclass(frozen=True)
    class Fixed:
        a: float

    def f(x):
        p = Fixed(x)
        p.a = x  # type: ignore[misc]
        return p.a

    with pytest.raises(AttributeError, match="cannot assign to field 'a'"):
        grad(f)(1.0)


def test_a_long_chain_of_tuples() -> None:
    def f(x):
        head = None
        for _ in range(4000):
            head = (x, head)
        total = 0.0
        while head is not None:
            total = 0.5 * total + head[0]
            head = head[1]
        return total

    assert grad(f)(1.0) == pytest.approx(2.0)


class Whole:
    """Says itself what its whole numbers are."""

    def __init__(self, v: Any):
        self.v = v

    def __floor__(self):
        return self.v * 2

    def __ceil__(self):
        return self.v * 3

    def __trunc__(self):
        return self.v * 5


def test_whole_numbers_as_a_class_says() -> None:
    def f(x):
        k = Whole(x)
        return math.floor(k) * math.ceil(k) + math.trunc(k)

    assert value_and_grad(f)(1.3) == (pytest.approx(16.64), pytest.approx(20.6))
    with options(objects=False), pytest.raises(UnsupportedError, match="class is not seen"):
        grad(f)(1.3)


UNNAMED = """
class Box:
    def __init__(self, a):
        self.a = a

    def __add__(self, other):
        return Box(self.a * other.a)

class Found(Exception):
    def __init__(self, value):
        self.value = value

class Items(list):
    def total(self):
        return sum(v * v for v in self)

def made(x):
    try:
        raise Found(Items([x, (Box(x) + Box(2.0)).a]))
    except Found as found:
        return found.value.total()

def given(box):
    return (box + box).a
"""


def test_classes_of_code_that_runs_in_a_namespace_without_a_name() -> None:
    names: dict[str, Any] = {}
    exec(UNNAMED, names)
    assert names["Box"].__module__ == "builtins"
    assert value_and_grad(names["made"])(0.5) == (1.25, 5.0)
    value, tangent = value_and_grad(names["given"])(names["Box"](3.0))
    assert (value, tangent.a) == (9.0, 6.0)
