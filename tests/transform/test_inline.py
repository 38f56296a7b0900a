"""What is taken in where it is called."""

from __future__ import annotations

from mooncake_py import inspect
from tests.derive import sites
from tests.functions import by_name
from tests.zoo import by_name as zoo


def test_a_method_of_another_module_is_not_taken_into_itself() -> None:
    for name in ("other_modules.trees_of_another_module", "other_modules.iterator_over_its_own_kind_of_another_module"):
        case = by_name(name)
        body = inspect(case.fn, *case.fresh_args()).stages["inferred"].fn
        assert sum(len(b.stmts) for b in body.blocks) < 100


def test_generated_functions_stand_at_one_line_and_are_told_apart() -> None:
    assert sites(zoo.settings_in_settings, 1.3, 0.4) == 0
