"""Exceptions that are raised and caught in sight are objects whose attributes are known."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import pytest

from mooncake_py import value_and_grad
from tests.derive import all_sites
from tests.zoo import raised as zoo


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (zoo.an_argument_that_is_raised, (2.0,)),
        (zoo.steps_that_are_rejected, (1.2,)),
        (zoo.kept_after_the_handler, (1.3,)),
    ],
)
def test_nothing_is_decided_late(fn: Any, args: Any) -> None:
    assert all_sites(fn, *args) == []


def told(x: Any) -> Any:
    try:
        y = x * x
        raise zoo.Found(y)
    except zoo.Found as e:
        here = sys.exc_info()[1] is e and e.__traceback__ is not None and e.args == ("found after 0",)
        return e.value if here and "Found" in traceback.format_exc() else 0.0


def test_it_is_raised_and_handled_as_ever() -> None:
    assert told(1.5) == 2.25
    assert value_and_grad(told)(1.5) == (2.25, 3.0)


def unhandled(x: Any) -> Any:
    try:
        raise zoo.Found(x * x, 2)
    except zoo.Converged as e:
        return e.args[0]


def test_what_no_handler_takes_leaves() -> None:
    with pytest.raises(zoo.Found, match="found after 2") as caught:
        value_and_grad(unhandled)(1.5)
    assert caught.value.value == 2.25


class Odd(zoo.Found):
    def __getattr__(self, name: str) -> Any:
        return self.value * 2.0

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value * 3.0)


def odd(x: Any) -> Any:
    try:
        raise Odd(x * x)
    except zoo.Found as e:
        return e.value + e.other


def test_classes_that_do_things_their_own_way() -> None:
    assert value_and_grad(odd)(1.5) == (9.0 * 2.25, 27.0)
