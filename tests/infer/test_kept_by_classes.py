"""What classes keep by name: tables are looked at before each run; classes found in them are known."""

from __future__ import annotations

import math
from typing import Any

import pytest

from mooncake_py import value_and_grad
from mooncake_py.infer.outside import may_write_outside
from mooncake_py.run import NOTHING, OBJECTS
from tests.derive import all_sites
from tests.zoo import registries as zoo


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (zoo.settings_by_keyword, (0.3, 0.05)),
        (zoo.parameters_set_by_name, (0.5, 1.2)),
        (zoo.an_expression_evaluated, (zoo.expression(), 0.7, 0.4)),
        (zoo.an_expression_evaluated_often, (zoo.expression(), 0.7, 0.4)),
        (zoo.tables_of_a_class, (1.1, 0.7, 0.3)),
        (zoo.an_object_of_constants, (0.7,)),
        (zoo.lists_and_dicts_of_constants, (0.7,)),
        (zoo.what_a_helper_made_of_constants_gets_a_derivative, (0.7,)),
    ],
)
def test_nothing_is_decided_late(fn: Any, args: Any) -> None:
    assert all_sites(fn, *args) == []


class Table:
    rows: Any = [1.0, 2.0]  # noqa: RUF012
    functions: Any = {"f": math.sin}  # noqa: RUF012
    size: Any = 2

    def value(self, x: Any) -> Any:
        return sum([r * x for r in self.rows]) * self.functions["f"](x) * Table.size


def of_table(x: Any) -> Any:
    return Table().value(x)


def check(x: float, rows: float, f: Any, df: Any, size: float) -> None:
    value, slope = value_and_grad(of_table)(x)
    assert value == pytest.approx(rows * x * f(x) * size)
    assert slope == pytest.approx(rows * size * (f(x) + x * df(x)))


def test_tables_may_change_between_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    check(0.7, 3.0, math.sin, math.cos, 2)
    monkeypatch.setitem(Table.functions, "f", math.exp)
    check(0.7, 3.0, math.exp, math.exp, 2)
    Table.rows.append(2)
    check(0.7, 5.0, math.exp, math.exp, 2)
    Table.rows.pop()
    monkeypatch.setattr(Table, "rows", (4.0, 5.0))
    check(0.7, 9.0, math.exp, math.exp, 2)
    monkeypatch.setattr(Table, "size", 3.5)
    check(0.7, 9.0, math.exp, math.exp, 3.5)
    monkeypatch.setattr(Table, "functions", {"f": math.cosh})
    check(0.7, 9.0, math.cosh, math.sinh, 3.5)


class Shape:
    kinds: Any = {}  # noqa: RUF012
    made = 0

    def __init_subclass__(cls, **options: Any) -> None:
        Shape.kinds[cls.__name__] = cls

    def __init__(self, size: Any):
        self.size = size

    def grown(self, x: Any) -> Any:
        self.size += x
        return self.size


class Square(Shape):
    def area(self) -> Any:
        return self.size * self.size


def area(x: Any) -> Any:
    return Shape.kinds["Square"](x).area()


def counted(x: Any) -> Any:
    cls = Shape.kinds["Square"]
    cls.made += 1
    return cls(x).area()


def grown(x: Any) -> Any:
    total = 0.0
    for k in Shape.kinds.values():
        total += k(x).grown(x) if isinstance(k, type) else k.grown(x)
    return total


def test_a_registry_of_classes_is_not_taken_to_be_written_to() -> None:
    assert may_write_outside(area) == NOTHING
    assert value_and_grad(area)(1.5) == (2.25, 3.0)


def test_attributes_of_classes_that_are_found_by_name_are_put_back() -> None:
    assert may_write_outside(counted) == OBJECTS
    assert value_and_grad(counted)(1.5) == (2.25, 3.0)
    assert Square.made == 1
    Square.made = 0


def test_objects_in_a_registry_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert value_and_grad(grown)(1.5) == (3.0, 2.0)
    monkeypatch.setitem(Shape.kinds, "one", Square(2.0))
    assert value_and_grad(grown)(1.5) == (6.5, 3.0)
    assert Shape.kinds["one"].size == 3.5
    monkeypatch.delitem(Shape.kinds, "one")
    assert value_and_grad(grown)(1.5) == (3.0, 2.0)
