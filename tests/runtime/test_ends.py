"""Objects that do something when nobody holds them any more: a run holds them for longer than plain Python does."""

from __future__ import annotations

from typing import Any

import pytest

from mooncake_py import UnsupportedError, grad, value_and_grad

living = [0]


class Counted:
    def __init__(self, v: Any):
        self.v = v
        living[0] += 1

    def __del__(self) -> None:
        living[0] -= 1


class Quiet:
    def __init__(self, v: Any):
        self.v = v

    def __del__(self) -> None:
        pass


class Slotted:
    __slots__ = ("v",)

    def __del__(self) -> None:
        living[0] -= 1


class Raised(Exception):
    def __del__(self) -> None:
        living[0] -= 1


class Items(list):
    def __del__(self) -> None:
        living[0] -= 1


def counted(x):
    a = Counted(x)
    y = a.v * x
    del a
    return y * (1 + living[0])


def slotted(x):
    a = Slotted()
    a.v = x
    return a.v * x


def raised(x):
    try:
        raise Raised(x)
    except Raised as e:
        return e.args[0] * x


def items(x):
    return sum(Items([x, x]))


def one_of_several(x):
    return sum(cls(x).v for cls in [Quiet, Counted])


def of_a_class_that_is_made(x):
    class Ends:
        def __init__(self):
            self.v = x

        def __del__(self):
            living[0] -= 1

    return Ends().v * x


@pytest.mark.parametrize("f", [counted, slotted, raised, items, one_of_several, of_a_class_that_is_made])
def test_what_does_something_at_its_end_is_not_made(f: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"making an? .* no longer held.*; its __del__") as e:
        grad(f)(0.7)
    assert e.value.filename == __file__
    assert e.value.line is not None and f.__code__.co_firstlineno < e.value.line


def test_what_does_nothing_at_its_end_and_what_is_there_already_are_as_others() -> None:
    given = Counted(2.0)

    def f(x: float) -> float:
        return Quiet(x).v * given.v * [Quiet, Quiet][int(x > 0)](x).v

    assert value_and_grad(f)(1.5) == (4.5, 6.0)
