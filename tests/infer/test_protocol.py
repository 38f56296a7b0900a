"""What is found out of classes: operations on objects are calls and attributes; it is noticed when a class changes."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mooncake_py import differentiable, grad, options, rrule, scoped_rules, value_and_pullback
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.parts import unseen
from mooncake_py.infer.recursive import together
from mooncake_py.infer.types import Inst, Obj, Real, Rec, T, join, union, widen
from tests.derive import sites
from tests.zoo import inherited


class Vec:
    def __init__(self, x: Any, y: Any):
        self.x, self.y = x, y

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Vec):
            return NotImplemented
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Any:
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    @property
    def norm(self) -> Any:
        return math.sqrt(self.x * self.x + self.y * self.y)

    def turned(self) -> Any:
        return type(self)(-self.y, self.x)


class Sub(Vec):
    def __init__(self, x: Any):
        super().__init__(x, 2.0 * x)


def test_nothing_is_decided_late_where_classes_are_known() -> None:
    def f(x):
        p = Vec(x, 1.0)
        for _ in range(3):
            p = p + 0.5 * p.turned()
        p.x *= 2.0
        return p.norm * Sub(x).norm

    def of_argument(p, x):
        p.y = p.x * x + p.norm
        return (p + p).y

    def namespace(x):
        s = SimpleNamespace(x=x, v=0.0)
        for _ in range(3):
            s = SimpleNamespace(x=s.x + 0.1 * s.v, v=s.v - 0.1 * s.x)
            s.v *= x
        return s.x

    assert sites(f, 1.0) == 0
    assert sites(namespace, 1.0) == 0
    assert sites(of_argument, Vec(1.0, 2.0), 3.0) == 0
    with options(objects=False):
        assert sites(f, 1.0) > 0


class Kept:
    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, owner: type) -> Any:
        return x.__dict__[self.name]

    def __set__(self, x: Any, value: Any) -> None:
        x.__dict__[self.name] = value


class Body:
    mass: Any = Kept()

    def __init__(self, mass: Any):
        self.mass = mass


def test_nothing_is_decided_late_where_a_descriptor_keeps_by_its_own_name() -> None:
    def f(x):
        body = Body(x * x)
        body.mass = body.mass * x
        return body.mass

    assert sites(f, 2.0) == 0
    assert grad(f)(2.0) == 12.0


def test_an_argument_is_read_and_written_without_a_site() -> None:
    p = Vec(1.0, 2.0)

    def f(p, x):
        p.x = p.x * x
        return p.x * p.y

    _, pullback = value_and_pullback(f, p, 3.0)
    assert p.x == 3.0
    t, dx = pullback(1.0)
    assert (t.x, t.y, dx) == (6.0, 3.0, 2.0)
    assert p.x == 1.0


def test_a_changed_method_is_used() -> None:
    class Law:
        def force(self, x):
            return 2.0 * x

    def f(law, x):
        return law.force(x)

    g = grad(f, argnums=1)
    assert g(Law(), 1.0) == 2.0
    Law.force = lambda self, x: 5.0 * x
    assert g(Law(), 1.0) == 5.0
    Law.force.__code__ = (lambda self, x: x**2).__code__
    assert g(Law(), 3.0) == 6.0


def test_an_attribute_of_the_class_that_appears_later() -> None:
    class Base:
        k = 2.0

    class Law(Base):
        pass

    def f(x):
        law = Law()
        law.x = x
        return law.x * law.k

    g = grad(f)
    assert g(1.0) == 2.0
    Base.k = 3.0
    assert g(1.0) == 3.0
    Law.k = 4.0
    assert g(1.0) == 4.0
    Law.x = property(lambda self: 10.0 * self._x, lambda self, v: setattr(self, "_x", v))
    assert g(1.0) == 40.0


def test_attributes_of_a_global_object_may_change_their_type() -> None:
    scope: dict[str, Any] = {"config": Vec(2.0, 3.0)}
    exec("def f(x):\n    return (x * config.x).sum() * config.y", scope)
    x = np.array([1.0, 2.0])
    assert np.array_equal(grad(scope["f"])(x), [6.0, 6.0])
    scope["config"].x = np.array([1.0, 5.0])
    assert np.array_equal(grad(scope["f"])(x), [3.0, 15.0])


def test_an_argument_whose_attribute_has_another_type() -> None:
    def f(p):
        return np.sum(p.x * p.y)

    g = grad(f)
    assert g(Vec(2.0, 3.0)).x == 3.0
    assert np.array_equal(g(Vec(np.array([1.0, 2.0]), 3.0)).x, [3.0, 3.0])
    assert g(Vec(2, 3.0)).x is None


def test_one_object_as_two_arguments() -> None:
    def f(p, q):
        p.x = p.x * q.y
        q.x = q.x * 2.0
        return p.x

    p = Vec(1.5, 0.5)
    a, b = value_and_pullback(f, p, p)[1](1.0)
    assert a.x == b.x == 1.0
    assert a.y == b.y == 3.0
    assert (p.x, p.y) == (1.5, 0.5)


def test_operators_that_no_method_answers() -> None:
    def f(x):
        return (Vec(x, 1.0) + "a") * x

    with pytest.raises(TypeError, match=r"unsupported operand type.* for \+: 'Vec' and 'str'"):
        grad(f)(1.0)


def test_a_rule_of_a_user_goes_first() -> None:
    class Own:
        def __init__(self, x):
            self.x = x

        def double(self):
            return self.x * 2.0

    with scoped_rules():

        @rrule(Own.double)
        def double(self):
            return self.x * 2.0, lambda dy: ({"x": 7.0 * dy},)

        assert grad(lambda x: Own(x).double())(1.0) == 7.0
    assert grad(lambda x: Own(x).double())(1.0) == 2.0


def test_declared_constants_of_objects_made_inside() -> None:
    @differentiable(no_diff=("y",))
    class Half:
        def __init__(self, x, y):
            self.x, self.y = x, y

    def f(x):
        h = Half(x, x)
        return h.x * h.y

    assert grad(f)(3.0) == 3.0


# -- types ------------------------------------------------------------------------------------------------


def test_types_of_objects() -> None:
    t = abstract(Vec(1.0, 2), True)
    assert t == Obj(Vec, True, (("x", Inst(float, True)), ("y", Inst(int))), frozenset({"x", "y"}))
    assert widen(t) is t
    other = join(t, abstract(Vec(1, None), True))
    assert isinstance(other, Obj)
    assert isinstance(other.field("x"), Real) and other.active
    assert other.field("z") is None
    assert join(t, Inst(Vec)) == Inst(Vec, True) == unseen(t)


def test_types_of_objects_in_their_own_class_end() -> None:
    p = Vec(1.0, 2.0)
    p.y = p
    t: T | None = abstract(p, True)
    assert isinstance(t, Obj)
    assert t.field("y") == Rec(("a", Vec))
    whole = together([Obj.of(Vec, True, {"x": t})], {})
    assert isinstance(whole, Obj) and whole.field("y") == Rec(("a", Vec))
    assert whole.field("x") == union([Rec(("a", Vec)), Inst(float, True)])


@pytest.mark.parametrize(
    "f",
    [
        inherited.list_that_keeps_the_last,
        inherited.iterated_over_and_cut,
        inherited.keywords_that_may_be_none_at_all,
        inherited.asked_whether_they_are_mappings,
    ],
)
def test_inherited_methods_are_as_good_as_the_users(f: Callable[..., Any]) -> None:
    assert sites(f, 0.7) == 0
