"""What is taken in where it is called."""

from __future__ import annotations

from typing import Any

from mooncake_py import inspect
from tests.derive import rounds_of, sites
from tests.functions import by_name
from tests.zoo import by_name as zoo


def test_a_method_of_another_module_is_not_taken_into_itself() -> None:
    for name in ("other_modules.trees_of_another_module", "other_modules.iterator_over_its_own_kind_of_another_module"):
        case = by_name(name)
        body = inspect(case.fn, *case.fresh_args()).stages["inferred"].fn
        assert sum(len(b.stmts) for b in body.blocks) < 100


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
