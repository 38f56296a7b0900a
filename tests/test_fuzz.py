"""A fixed sample of the random programs of tests/programs.py; `python -m tests.programs` runs as many as wanted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.programs import outcome, program

BATCH = 15


@pytest.mark.parametrize("first", range(0, 135, BATCH))
def test_programs_agree_with_plain_python_and_differences(first: int, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + BATCH):
        kind, why = outcome(program(seed), tmp_path)
        assert kind != "wrong", f"seed {seed}: {why}\n{program(seed).source}"
        counts[kind] += 1
    assert counts["ok"] >= BATCH // 4, counts


def test_a_seed_always_gives_the_same_program() -> None:
    one, two = program(7), program(7)
    assert one.source == two.source
    assert repr(one.args) == repr(two.args)
