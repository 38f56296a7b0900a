"""The columns of `zip(*rows)` are known, also where they have to be tuples: nothing is decided when it runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.derive import sites


def put_together(xs):
    rows = [[x, x * x] for x in xs]
    columns = list(zip(*rows))  # noqa: B905
    return columns[0][1] * sum(columns[1])


def kept(xs):
    rows, found = [[x, x * x] for x in xs], {}
    for i, column in enumerate(zip(*rows)):  # noqa: B905
        found[i] = column
    return found[0][1] * found[1][0]


@pytest.mark.parametrize("f", [put_together, kept])
def test_columns_are_known(f: Any) -> None:
    assert sites(f, [0.4, 0.7, 1.2]) == 0
