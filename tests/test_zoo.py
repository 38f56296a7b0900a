"""The engine's main property: every zoo function's derivative is right, and costs its caller nothing.

Each on two of three Pythons, those that take long (`tests/long.txt`) on one, by each argument alone some of them;
`MOONCAKE_ZOO=all` takes all of it.
"""

from __future__ import annotations

import pytest

from tests.functions import ALL, HERE, share
from tests.harness import Case, check_case

ALONE = {case.name for case in (HERE if ALL else share(HERE))}


@pytest.mark.parametrize("case", HERE, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    check_case(case, alone=case.name in ALONE)
