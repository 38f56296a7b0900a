"""What members of enumerations and modules imported by the function are is known before the run."""

from __future__ import annotations

import enum
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import mooncake_py
from mooncake_py import value_and_grad
from tests.zoo import enumerations, given_of_constants, local_imports


@pytest.mark.parametrize(
    "f",
    [
        enumerations.values_in_a_loop,
        enumerations.attributes_properties_and_methods_of_members,
        enumerations.members_decide,
        local_imports.names_out_of_modules,
        local_imports.imported_in_a_loop_and_in_a_branch,
        given_of_constants.whole_numbers_of_math,
        given_of_constants.letters_and_places,
        given_of_constants.days_and_seconds,
        given_of_constants.places_in_arrays,
        given_of_constants.columns_of_constants,
        given_of_constants.chosen_constants,
        given_of_constants.sets_of_three_and_more,
        given_of_constants.counted_constants,
        given_of_constants.products_and_bits,
    ],
    ids=lambda f: f.__name__,
)
def test_nothing_is_decided_when_it_runs(f: Callable[..., Any]) -> None:
    inferred = mooncake_py.inspect(f, 1.3).stages["inferred"]
    assert [s for s in inferred.calls.values() if s.kind == "dynamic"] == []


class Held(enum.Enum):
    ONE = 1

    def __init__(self, _: int):
        self.scale = 2.0


def test_what_a_member_holds_is_looked_at_before_each_run() -> None:
    f = value_and_grad(lambda x: x * Held.ONE.scale)  # type: ignore[attr-defined]
    assert f(3.0) == (6.0, 2.0)
    Held.ONE.scale = [4.0]  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        f(3.0)
    Held.ONE.scale = 5  # type: ignore[attr-defined]
    assert f(3.0) == (15.0, 5.0)


def test_modules_are_those_that_are_there_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: float) -> float:
        import a_module_of_this_test as m  # type: ignore[import-not-found]

        return m.g(x)

    g = value_and_grad(f)
    with pytest.raises(ImportError):
        g(0.5)
    for made in (math.sin, math.exp):
        module = types.ModuleType("a_module_of_this_test")
        module.g = made  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        assert g(0.5)[0] == made(0.5)
    module.g = math.cos  # type: ignore[attr-defined]
    assert g(0.5) == (math.cos(0.5), -math.sin(0.5))
