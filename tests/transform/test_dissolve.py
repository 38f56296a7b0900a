"""Objects that only a function sees are not made; those that somebody else may see are."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mooncake_py import grad
from mooncake_py.fields import make_object
from mooncake_py.ir.nodes import Const
from tests.derive import derivation_of


class Vec:
    def __init__(self, x: Any, y: Any):
        self.x, self.y = x, y

    def __add__(self, other: Any) -> Any:
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, k: Any) -> Any:
        return Vec(self.x * k, self.y * k)


class Large:
    """More than would be taken in of another function."""

    def __init__(self, x: Any, y: Any):
        self.a = x * y
        self.b = math.sin(self.a) * y + 0.0
        self.c = math.sin(self.b) * y + 1.0
        self.d = math.sin(self.c) * y + 2.0
        self.e = math.sin(self.d) * y + 3.0
        self.f = math.sin(self.e) * y + 4.0
        self.g = math.sin(self.f) * y + 5.0
        self.h = math.sin(self.g) * y + 6.0
        self.i = math.sin(self.h) * y + 7.0
        self.j = math.sin(self.i) * y + 8.0
        self.k = math.sin(self.j) * y + 9.0
        self.l = math.sin(self.k) * y + 10.0
        self.m = math.sin(self.l) * y + 11.0
        self.n = math.sin(self.m) * y + 12.0
        self.o = math.sin(self.n) * y + 13.0
        self.p = math.sin(self.o) * y + 14.0
        self.q = math.sin(self.p) * y + 15.0
        self.r = math.sin(self.q) * y + 16.0
        self.s = math.sin(self.r) * y + 17.0
        self.t = math.sin(self.s) * y + 18.0


class Segment:
    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b


class Watched(Vec):
    def __del__(self) -> None:
        pass


def made(f: Any, *args: Any) -> int:
    forward = derivation_of(f, *args).forward
    return sum(isinstance(s.fn, Const) and s.fn.value is make_object for b in forward.blocks for s in b.stmts)


def carried(x):
    p, v = Vec(x, 0.5), Vec(0.0, x)
    for _ in range(5):
        p = p + v * 0.1
        v = v + p * -0.1
    return p.x * v.y


def changed(x):
    p = Vec(x, 1.0)
    for _ in range(5):
        p.x = p.x * p.y
        p.y += math.sin(p.x)
    return p.y


def nested(x):
    s = Segment(Vec(x, 1.0), Vec(2.0, x))
    s.a.x = s.a.x * s.b.y
    return s.a.x


@pytest.mark.parametrize("f", [carried, changed, nested])
def test_attributes_are_local_variables(f: Any) -> None:
    assert made(f, 0.7) == 0
    assert grad(f)(0.7) == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-6)


def in_a_list(x):
    vecs = [Vec(x, 1.0)]
    vecs.append(vecs[0])
    return vecs[1].x


def in_a_closure(x):
    p = Vec(x, 1.0)
    for f in (lambda: p.x, lambda: p.y):
        x = x * f()
    return x


def with_an_end(x):
    return Watched(x, 1.0).x


def two_names_written_to(x):
    p, q = Vec(x, 1.0), Vec(2.0 * x, 3.0)
    r = p if x > 0 else q
    r.x = r.x * 5.0
    return p.x * q.x


def returned(x):
    return Vec(x, x)


@pytest.mark.parametrize("f", [in_a_list, in_a_closure, with_an_end, two_names_written_to, returned])
def test_objects_that_are_seen_are_made(f: Any) -> None:
    assert made(f, 0.7) > 0


def test_a_large_constructor() -> None:
    """Taken in, so that the object need not be made."""

    def f(x):
        s = 0.0
        for k in range(3):
            large = Large(x, 0.5 * k)
            s += large.t * large.a
        return s

    h = 1e-6
    assert made(f, 0.7) == 0
    assert grad(f)(0.7) == pytest.approx((f(0.7 + h) - f(0.7 - h)) / (2 * h), rel=1e-6)
