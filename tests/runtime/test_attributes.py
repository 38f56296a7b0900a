"""Attributes that are read without asking the class are those of which it has nothing to say."""

from __future__ import annotations

from typing import Any

import pytest

from mooncake_py import grad
from mooncake_py.runtime.attributes import stored_plainly
from mooncake_py.runtime.stored import ABSENT


class Base:
    default = 1.0

    def __init__(self):
        self.x = 2.0

    def method(self):
        return self.x


class Shadowing(Base):
    """What the object stores hides a number and a method of its class."""

    def __init__(self):
        super().__init__()
        self.default, self.method = 3.0, 4.0  # type: ignore[method-assign,assignment]


class Property(Base):
    @property
    def x(self):
        return 5.0

    @x.setter
    def x(self, value):
        self.__dict__["x"] = value


class Data:
    def __set__(self, x, value):
        x.__dict__["x"] = value

    def __get__(self, x, cls=None):
        return 6.0


class Described(Base):
    x = Data()  # type: ignore[assignment]


class Hooked(Base):
    def __getattribute__(self, name):
        return 7.0 if name == "x" else super().__getattribute__(name)


class Slotted:
    __slots__ = ("x",)

    def __init__(self):
        self.x = 2.0


@pytest.mark.parametrize(
    ("x", "name", "expected"),
    [
        (Base(), "x", 2.0),
        (Base(), "default", ABSENT),
        (Base(), "method", ABSENT),
        (Base(), "missing", ABSENT),
        (Shadowing(), "default", 3.0),
        (Shadowing(), "method", 4.0),
        (Property(), "x", ABSENT),
        (Described(), "x", ABSENT),
        (Hooked(), "x", ABSENT),
        (Slotted(), "x", ABSENT),
        (1.0, "real", ABSENT),
    ],
)
def test_what_is_stored_plainly(x: Any, name: str, expected: Any) -> None:
    assert stored_plainly(x, name) is expected or stored_plainly(x, name) == expected
    assert expected is ABSENT or getattr(x, name) == expected


def of_each(x, kinds):
    total = 0.0
    for kind in {*kinds}:
        made = kind()
        for name in ("x", "default", "missing"):
            if hasattr(made, name):
                setattr(made, name, x * getattr(made, name))
                total = total + getattr(made, name)
    return total


def test_attributes_of_objects_whose_class_is_decided_when_it_runs() -> None:
    kinds, e = (Base, Shadowing, Property, Described, Hooked, Slotted), 1e-6
    expected = (of_each(1.0 + e, kinds) - of_each(1.0 - e, kinds)) / (2 * e)
    assert grad(of_each)(1.0, kinds) == pytest.approx(expected, rel=1e-6)
