"""Named tuples have types: nothing is decided when it runs, and a class that changes is noticed."""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Generic, NamedTuple, TypeVar

from mooncake_py import grad, value_and_pullback
from mooncake_py.infer.abstraction import abstract
from mooncake_py.infer.named import field_index, is_named_tuple
from mooncake_py.infer.types import Inst, Tup, join, union
from tests.infer.test_protocol import sites

Pair = namedtuple("Pair", "x y")
T = TypeVar("T")


class State(NamedTuple):
    x: Any
    v: Any = 0.0

    def __add__(self, other: Any) -> Any:  # type: ignore[override]
        return State(self.x + other.x, self.v + other.v)

    @property
    def energy(self) -> Any:
        return self.x**2 + self.v**2

    def step(self, h: Any) -> Any:
        return self._replace(x=self.x + h * self.v, v=self.v - h * self.x)


class Attributed(Pair):
    pass


class OfKind(NamedTuple, Generic[T]):
    x: T


class WithItems(Pair):
    def __getitem__(self, i: Any) -> Any:
        return 2.0


class Made(Pair):
    def __init__(self, *args: Any) -> None:
        pass


class NoFields(tuple):
    _fields = ("x",)


def test_which_classes_are_named_tuples() -> None:
    for cls in (Pair, State, Attributed, OfKind):
        assert is_named_tuple(cls)
    for cls in (tuple, WithItems, Made, NoFields, float, State(1.0)):
        assert not is_named_tuple(cls)


def test_types() -> None:
    t = abstract(Pair(1.0, 2), True)
    assert t == Tup((Inst(float, True), Inst(int)), Pair)
    assert join(t, abstract(Pair(1.0, 2), False)) == t
    assert join(t, abstract((1.0, 2), True)) == union([t, abstract((1.0, 2), True)])
    p = Attributed(1.0, 2.0)
    assert abstract(p, True) == Tup((Inst(float, True),) * 2, Attributed)
    p.weight = 3.0
    assert abstract(p, True) == Inst(Attributed, True)


def test_a_field_is_what_the_class_says() -> None:
    class Other(Pair):
        @property
        def x(self) -> Any:
            return 7.0

        z = Pair.y  # the field by another name

    assert [field_index(Other.__dict__[k]) for k in ("x", "z")] == [None, 1]
    assert field_index(Pair.__dict__["x"]) == 0
    assert grad(lambda x: Other(x, x * x).z * Other(x, 1.0).x)(1.5) == 21.0


def test_nothing_is_decided_late() -> None:
    def made(x):
        s = State(x)
        for _ in range(3):
            s = s.step(0.1) + State(v=x, x=1.0)
        a, b = s
        first, *rest = Attributed._make((a, s[1]))
        return s.energy * b + Pair(*s).y * first * rest[0]

    def of_argument(p, ps):
        return p.x * p.v + sum([q.x * q.y for q in ps])

    def carried(x, n):
        best = Pair(x, 0.0)
        for i in range(n):
            p = Pair(x * i, best.x)
            best = p if p.x > best.y else best._replace(y=p.y)
        return best.x * best.y

    def moved(x):
        p = Pair._make([x, 2.0 * x])
        q = Pair(*[v * v for v in p])
        t = p + (x,)
        t += q
        d = q._asdict()
        if p != q and p < q:
            x += p.index(x) * t[-1]
        return x * d["y"] * t[2]

    assert sites(moved, 1.0) == 0
    assert sites(made, 1.0) == 0
    assert sites(of_argument, State(1.0, 2.0), [Pair(1.0, 2.0)]) == 0
    assert sites(carried, 1.0, 3) == 0


def test_a_class_that_changes_is_noticed() -> None:
    class Law(NamedTuple):
        k: Any

        def force(self) -> Any:
            return 2.0 * self.k

    def f(x):
        return Law(x).force()

    g = grad(f)
    assert g(1.0) == 2.0
    Law.force = lambda self: 5.0 * self.k  # type: ignore[method-assign]
    assert g(1.0) == 5.0
    Law.k = property(lambda self: 10.0 * self[0])  # type: ignore[assignment]
    assert g(1.0) == 50.0


def test_a_class_that_is_made_on_the_way_is_of_the_users_module() -> None:
    def f(x: Any) -> Any:
        made = namedtuple("made", [*(["first"] if x > 0 else []), "second"])
        return made(x, x * x).second, made.__module__

    y, pullback = value_and_pullback(f, 3.0)
    assert y == (9.0, __name__) and pullback((1.0, None)) == (6.0,)
