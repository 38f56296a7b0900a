"""What is taken in where it is called."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooncake_py import grad, inspect, value_and_grad
from mooncake_py.transform import simplify
from mooncake_py.transform.inline import leads_far
from tests.derive import rounds_of, sites
from tests.functions import by_name
from tests.harness import check_case
from tests.zoo import by_name as zoo
from tests.zoo import captured, decorated_recursion, tables


def test_a_method_of_another_module_is_not_taken_into_itself() -> None:
    for name in ("other_modules.trees_of_another_module", "other_modules.iterator_over_its_own_kind_of_another_module"):
        case = by_name(name)
        body = inspect(case.fn, *case.fresh_args()).stages["inferred"].fn
        assert sum(len(b.stmts) for b in body.blocks) < 100


def test_functions_of_another_module_that_read_its_tables_are_taken_in() -> None:
    for name in ("classes_of_another_module_that_read_its_tables", "functions_of_another_module_that_read_its_tables"):
        case = by_name(f"other_modules.{name}")
        assert sites(case.fn, *case.fresh_args()) == 0


def test_a_table_of_another_module_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        return tables.layer_of(x) + tables.Air(x).t

    def slope() -> float:
        return (f(14.2 + 1e-6) - f(14.2 - 1e-6)) / 2e-6

    assert grad(f)(14.2) == pytest.approx(slope(), rel=1e-6)
    monkeypatch.setattr(tables, "HEIGHTS", [0.0, 5.0, 13.0])
    assert grad(f)(14.2) == pytest.approx(slope(), rel=1e-6)
    monkeypatch.setattr(tables, "SLOPES", {0: 1.0, 1: 2.0, 2: 3.5})
    assert grad(f)(14.2) == pytest.approx(slope(), rel=1e-6)


_CONSTANTS = "LENGTH = 2.0\n"
_AREAS = """
def disc(r):
    from . import constants
    from .constants import LENGTH as length

    return r * r * constants.LENGTH * length


def scaled(r):
    def scale():
        from .constants import LENGTH

        return LENGTH

    return scale() * r
"""


def test_imports_from_the_package_of_a_function_that_is_taken_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "shapes_of_tests"
    package.mkdir()
    for name, text in {"__init__": "", "constants": _CONSTANTS, "areas": _AREAS}.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    areas = importlib.import_module("shapes_of_tests.areas")

    def f(x: float) -> float:
        return float(areas.disc(x) + areas.scaled(3.0 * x))

    assert value_and_grad(f)(1.5) == (18.0, 18.0)
    monkeypatch.setattr(importlib.import_module("shapes_of_tests.constants"), "LENGTH", 3.0)
    assert value_and_grad(f)(1.5) == (f(1.5), 36.0)


def test_functions_that_lead_far() -> None:
    assert not leads_far(tables.layer_of)
    assert leads_far(check_case)


def _given_itself(x: float) -> float:
    fix = lambda f: (lambda z: z(z))(lambda z: f(lambda *a: z(z)(*a)))  # noqa: E731
    return fix(lambda again: lambda n, a: a if n == 0 else again(n - 1, a * x + n))(5, 1.0)


def test_functions_that_go_on_giving_themselves_are_called_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(x: float) -> float:
        return _given_itself(x) + _given_itself(2.0 * x)

    expected = (twice(0.4 + 1e-6) - twice(0.4 - 1e-6)) / 2e-6
    for most in (0, 1, 7, 40):
        monkeypatch.setattr(simplify, "MOST_ROUNDS", most)
        value, slope = value_and_grad(lambda x: twice(x))(0.4)
        assert value == twice(0.4)
        assert slope == pytest.approx(expected, rel=1e-6)


def test_generated_functions_stand_at_one_line_and_are_told_apart() -> None:
    assert sites(zoo.settings_in_settings, 1.3, 0.4) == 0


class Layers:
    def outer(self, x: Any) -> Any:
        return self.middle(x) * 2.0

    def middle(self, x: Any) -> Any:
        return self.inner(x) + 1.0

    def inner(self, x: Any) -> Any:
        return x * x


def layered(x: Any) -> Any:
    return Layers().outer(x)


def test_methods_are_taken_in_once_they_are_found() -> None:
    others = 4  # to make the object, to tidy up, and where nothing is left
    assert 1 < len(rounds_of(layered, 0.5)) <= 3 + others


@contextlib.contextmanager
def _held(box: dict[str, float], value: float) -> Iterator[None]:
    old = box["x"]
    box["x"] = value
    try:
        yield
    finally:
        box["x"] = old


def _once(x: float) -> float:
    box = {"x": x}
    with _held(box, x * x):
        x = x + box["x"]
    return x


def _five_times(x: float) -> float:
    box = {"x": x}
    with _held(box, x * x):
        x = x + box["x"]
    with _held(box, 2.0 * x):
        x = x * box["x"]
    with _held(box, x - 0.1):
        x = x + box["x"]
    with _held(box, 0.5 * x):
        x = x * box["x"]
    with _held(box, x + 0.3):
        x = x + box["x"]
    return x


def test_calls_that_wait_for_others_are_taken_in_together() -> None:
    assert len(rounds_of(_five_times, 0.5)) <= len(rounds_of(_once, 0.5)) + 4


@pytest.mark.parametrize("f", [
    decorated_recursion.recursion_behind_a_decorator, decorated_recursion.recursion_behind_two_decorators,
    decorated_recursion.two_decorated_functions_that_call_each_other,
    decorated_recursion.a_method_that_keeps_what_it_gives,
    decorated_recursion.one_decorator_around_functions_that_call_each_other,
    decorated_recursion.recursion_by_keywords_behind_a_decorator,
])  # fmt: skip
def test_what_decorators_are_around_is_not_decided_late(f: Callable[..., Any]) -> None:
    assert sites(f, 0.7) == 0


@pytest.mark.parametrize("f", [
    captured.factories_of_numbers, captured.factories_of_settings_and_objects, captured.decorators_with_options,
])  # fmt: skip
def test_functions_that_captured_data_are_taken_in(f: Callable[..., Any]) -> None:
    assert sites(f, 0.7) == 0


def test_captured_data_is_looked_at_at_every_call() -> None:
    coefficients = captured.cubic.__closure__[0].cell_contents
    before = list(coefficients)

    def f(x: float) -> float:
        return captured.cubic(x)

    try:
        assert value_and_grad(f)(2.0) == (4.0, 4.5)
        coefficients[0] = 2
        assert value_and_grad(f)(2.0) == (12.0, 16.5)
        coefficients[:] = [1.0, 5.0]
        assert value_and_grad(f)(2.0) == (7.0, 1.0)
        captured.cubic.__closure__[0].cell_contents = (3.0, 0.0)
        assert value_and_grad(f)(2.0) == (6.0, 3.0)
    finally:
        coefficients[:] = before
        captured.cubic.__closure__[0].cell_contents = coefficients
