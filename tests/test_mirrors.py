"""Classes declared differentiable: tangents of one's own type, their zero, addition and scaling."""

from __future__ import annotations

import copy
import operator
import pickle
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from mooncake_py import (
    ArgumentError,
    CotangentError,
    RuleResultError,
    Tangent,
    add_tangents,
    differentiable,
    grad,
    rrule,
    scale_tangent,
    scoped_rules,
    value_and_pullback,
    zero_tangent,
)
from mooncake_py.testing import check_grads

calls: list[str] = []


class Turn:
    """The tangent of a `Rotor`: of an opaque kind, with arithmetic of its own."""

    __slots__ = ("c", "s")

    def __init__(self, c: Any, s: Any):
        self.c, self.s = c, s

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and (self.c, self.s) == (other.c, other.s)

    __hash__ = None  # type: ignore[assignment]


def _add(a: Turn, b: Turn) -> Turn:
    calls.append("add")
    return Turn(a.c + b.c, a.s + b.s)


def _scale(t: Turn, k: float) -> Turn:
    calls.append("scale")
    return Turn(k * t.c, k * t.s)


def _zero(x: Rotor) -> Turn:
    calls.append("zero")
    return Turn(0.0, 0.0)


@differentiable(
    no_diff=("name",),
    tangent=lambda fields: Turn(fields["c"], fields["s"]),
    fields=lambda t: {"c": t.c, "s": t.s},
    zero=_zero,
    add=_add,
    scale=_scale,
)
class Rotor:
    def __init__(self, c: float, s: float, name: str = "r"):
        self.c, self.s, self.name = c, s, name

    def __matmul__(self, other: Rotor) -> Rotor:
        return Rotor(self.c * other.c - self.s * other.s, self.c * other.s + self.s * other.c)


def turned(a: Rotor, b: Rotor) -> float:
    return (a @ b).c * (a @ b).s + a.c


@pytest.fixture(autouse=True)
def fresh():
    calls.clear()
    with scoped_rules():
        yield


def test_gradients_have_the_declared_type() -> None:
    a, b = Rotor(0.6, 0.8), Rotor(0.8, 0.6)
    t = grad(lambda a: a.c * a.s * 3.0)(a)
    assert type(t) is Turn and (t.c, t.s) == (0.8 * 3.0, 0.6 * 3.0)
    check_grads(turned, (a, b))
    check_grads(lambda p: turned(p["a"], p["b"][0]), ({"a": a, "b": [b, 2.0]},))


def test_a_cotangent_of_the_declared_type() -> None:
    y, pullback = value_and_pullback(lambda x: Rotor(x, x * x), 3.0)
    for given, expected in ((Turn(1.0, 2.0), 13.0), ({"c": 1.0}, 1.0), (Tangent(Rotor, {"s": 1.0}), 6.0)):
        assert pullback(given) == (expected,) and y.c == 3.0
    with pytest.raises(CotangentError, match=r"a Rotor, must be") as e:
        pullback({"z": 1.0})
    assert "value:     Rotor(c=float, s=float" in str(e.value) and "cotangent: {'z': float}" in str(e.value)


def test_rules_are_given_and_return_the_declared_type() -> None:
    seen: list[Any] = []

    def joined(a: Rotor, b: Rotor) -> Rotor:
        return a @ b

    @rrule(joined)
    def rule(a, b):
        def pullback(dy):
            seen.append(type(dy))
            return Turn(10.0 * dy.c, 0.0), Turn(0.0, 10.0 * dy.s)

        return a @ b, pullback

    a, b = Rotor(0.6, 0.8), Rotor(0.8, 0.6)
    da, db = grad(lambda a, b: joined(a, b).c + a.c, (0, 1))(a, b)
    assert seen == [Turn] and da == Turn(11.0, 0.0) and db == Turn(0.0, 0.0)


def test_own_addition_joins_what_several_uses_give() -> None:
    def same(a: Rotor) -> Rotor:
        return a

    @rrule(same)
    def rule(a):
        def pullback(dy):
            return dy

        return Rotor(a.c, a.s), pullback

    t = grad(lambda a: same(a).c + 2.0 * same(a).c + same(a).s)(Rotor(0.6, 0.8))
    assert t == Turn(3.0, 1.0) and calls.count("add") == 2


def test_own_zero() -> None:
    a = Rotor(0.6, 0.8)
    da, db = value_and_pullback(lambda a, b: a.c * 2.0, a, Rotor(1.0, 0.0))[1](1.0)
    assert da == Turn(2.0, 0.0) and db == Turn(0.0, 0.0) and calls == ["zero"]
    assert zero_tangent([a, 1.0]) == [Turn(0.0, 0.0), 0.0] and calls == ["zero", "zero"]


def test_own_scaling_and_addition_of_structures() -> None:
    t = grad(lambda p: p["a"].c * p["x"])({"a": Rotor(0.6, 0.8), "x": 2.0})
    assert scale_tangent(t, 3.0) == {"a": Turn(6.0, 0.0), "x": 3.0 * 0.6} and calls == ["scale"]
    assert add_tangents(t, t)["a"] == Turn(4.0, 0.0) and calls == ["scale", "add"]


def test_what_is_not_declared_works_attribute_by_attribute() -> None:
    @dataclass
    class Slope:
        x: Any
        y: Any

    @differentiable(tangent=lambda fields: Slope(**fields))
    @dataclass
    class Point:
        x: float
        y: Any

    t = grad(lambda p: p.x * np.sum(p.y))(Point(2.0, np.ones(2)))
    assert type(t) is Slope and t.x == 2.0 and t.y.tolist() == [2.0, 2.0]
    twice, half = add_tangents(t, t), scale_tangent(t, 0.5)
    assert (twice.x, twice.y.tolist()) == (4.0, [4.0, 4.0]) and (half.x, half.y.tolist()) == (1.0, [1.0, 1.0])
    _, pullback = value_and_pullback(lambda x: Point(x, np.ones(2) * x), 3.0)
    assert pullback(Slope(1.0, np.ones(2))) == (3.0,)
    check_grads(lambda p: p.x * np.sum(p.y), (Point(2.0, np.ones(2)),))


def test_a_named_tuple_as_tangent() -> None:
    class Pair(NamedTuple):
        x: Any
        y: Any

    @differentiable(tangent=lambda fields: Pair(**fields))
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    t = grad(lambda p: p.x * p.y)(Point(2.0, 3.0))
    assert t == Pair(3.0, 2.0) and add_tangents(t, t) == Pair(6.0, 4.0) and scale_tangent(t, 2.0) == Pair(6.0, 4.0)
    assert value_and_pullback(lambda x: Point(x, x * x), 3.0)[1](Pair(1.0, 1.0)) == (7.0,)


def test_subclasses_inherit_and_add_to_it() -> None:
    @differentiable(no_diff=("extra",))
    class Marked(Rotor):
        extra = 1.0

    m = Marked(0.6, 0.8)
    m.extra = 5.0
    assert grad(lambda m: m.c * m.extra)(m) == Turn(5.0, 0.0)


def test_declaring_badly() -> None:
    with pytest.raises(ArgumentError, match="declare a class"):
        differentiable(3)  # type: ignore[type-var]
    with pytest.raises(ArgumentError, match="no_diff must be a tuple of names"):
        differentiable(no_diff="name")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="zero= must be a function"):
        differentiable(zero=0.0)  # type: ignore[arg-type]


def test_a_rule_that_returns_no_tangent_of_the_object() -> None:
    class Length:
        def __init__(self, v):
            self.v = v

        def __add__(self, other):
            return Length(self.v + other.v)

    @rrule(operator.add, types=(Length, Length))
    def add_rule(a, b):
        def pullback(dy):
            return 3.0, dy

        return Length(a.v + b.v), pullback

    with pytest.raises(RuleResultError, match=r"add_rule.*returned float: 3.0 as the cotangent of argument 0 \(a\)"):
        grad(lambda x: (Length(x) + Length(x)).v)(1.0)


def test_tangents_that_hold_themselves() -> None:
    class Node:
        def __init__(self, x):
            self.x, self.me = x, self

    t = grad(lambda n: n.me.me.x**2)(Node(3.0))
    for other in (copy.deepcopy(t), scale_tangent(t, 1.0), t + zero_tangent(Node(1.0))):
        assert other.x == 6.0 and other.me is other
    d = t.to_dict()
    assert d["me"] is d and d["x"] == 6.0


def test_tangents_travel() -> None:
    t = grad(lambda p: p.real_part * p.other)(Travelling(2.0, 3.0))
    assert pickle.loads(pickle.dumps(t)) == t


@dataclass
class Travelling:
    real_part: float
    other: float


def test_tangents_and_numbers() -> None:
    t = grad(lambda p: p.real_part * p.other)(Travelling(2.0, 3.0))
    for scaled in (
        2 * t,
        t * 2.0,
        np.float64(2.0) * t,
        np.array(2.0) * t,
        t / 0.5,
        sum([t, t]),
        np.float64(0.0) + t + t,
    ):
        assert type(scaled) is Tangent and (scaled.real_part, scaled.other) == (6.0, 4.0)
    for wrong in (
        lambda: 1 + t,
        lambda: np.ones(2) * t,
        lambda: t * t,
        lambda: t / t,
        lambda: t * "a",
        lambda: True * t,
    ):
        with pytest.raises(TypeError):
            wrong()


def test_what_is_no_cotangent_of_one_argument() -> None:
    t, x = grad(lambda p: p.other**2)(Travelling(2.0, 3.0)), np.ones(3)
    pairs = [(x, np.ones((3, 1))), (1.0, x), ([1.0], [1.0, 2.0]), ([1.0], (1.0,)), ("a", "b"), (t, 3.0), (0, t)]
    for a, b in [*pairs, (t, Tangent(Rotor, {"c": 1.0})), ({"a": x}, {"a": 1.0})]:
        with pytest.raises(ArgumentError, match="are no cotangents of one argument"):
            add_tangents(a, b)
    for a, k in (("s", 2), (x, x), (t, "a"), ([1.0], None), (["s"], 2.0)):
        with pytest.raises(ArgumentError, match="takes a cotangent and a number"):
            scale_tangent(a, k)
    both = add_tangents({"a": deque([1.0], 2)}, {"a": deque([2.0], 2), "b": x})
    assert both["a"] == deque([3.0]) and both["a"].maxlen == 2 and both["b"] is x


def test_a_tangent_of_another_class_is_no_cotangent() -> None:
    _, pullback = value_and_pullback(lambda x: Travelling(x, x * x), 3.0)
    with pytest.raises(CotangentError, match=r"a Travelling, must be a Tangent .*, got Tangent\(Rotor, other=1.0\)"):
        pullback(Tangent(Rotor, {"other": 1.0}))
    assert pullback(Tangent(Travelling, {"other": 1.0})) == (6.0,)
