"""The engine's main property: every zoo function's derivative is right, and costs its caller nothing."""

from __future__ import annotations

import pytest

from tests.functions import CASES
from tests.harness import Case, check_case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    check_case(case)
