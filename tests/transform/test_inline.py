"""What is taken in where it is called."""

from __future__ import annotations

from mooncake_py import inspect
from tests.functions import by_name


def test_a_method_of_another_module_is_not_taken_into_itself() -> None:
    for name in ("other_modules.trees_of_another_module", "other_modules.iterator_over_its_own_kind_of_another_module"):
        case = by_name(name)
        body = inspect(case.fn, *case.fresh_args()).stages["inferred"].fn
        assert sum(len(b.stmts) for b in body.blocks) < 100
