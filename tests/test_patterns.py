"""Patterns of classes and mappings: what they ask for is known before the run, and follows the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mooncake_py import grad, inspect


@dataclass
class Point:
    x: float
    y: float


class Named:
    __match_args__ = ("value",)

    def __init__(self, value: float, other: float):
        self.value, self.other = value, other


def by_position(p):
    match p:
        case Point(a, b):
            return a * b
        case _:
            return 0.0


def by_name(p):
    match p:
        case Point(x=a, y=b) if a > 0:
            return a * b
    return p.x


def one_of_two(p):
    match p:
        case Point(a, _) | Named(a):
            return a * a


def by_keys(x):
    t = 0.0
    for k in range(4):
        match {"kind": "a" if k % 2 else "b", "v": x * k}:
            case {"kind": "a", "v": v}:
                t += v
            case {"kind": "b", "v": v, **_rest}:
                t -= v * v
    return t


@pytest.mark.parametrize(
    "f, args",
    [(by_keys, 1.3), (by_position, Point(2.0, 3.0)), (by_name, Point(2.0, 3.0)), (one_of_two, Named(2.0, 3.0))],
)
def test_nothing_is_decided_when_it_runs(f: Any, args: Any) -> None:
    assert "decided when it runs" not in str(inspect(f, args))


def test_a_class_that_asks_for_something_else_later_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: float) -> float:
        match Named(x, x * x):
            case Named(v):
                return v
        return 0.0

    assert grad(f)(3.0) == 1.0
    monkeypatch.setattr(Named, "__match_args__", ("other",))
    assert grad(f)(3.0) == 6.0
