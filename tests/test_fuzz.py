"""A fixed sample of the short random programs of tests/programs, another on each Python.

`python -m tests.programs` runs as many as wanted, long ones too, some of which take a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.functions import TURN
from tests.programs import tried
from tests.programs.check import Program, outcome
from tests.programs.writer import program

BATCH = 6
FIRST = 3 * BATCH * TURN


@pytest.mark.parametrize("first", range(FIRST, FIRST + 3 * BATCH, BATCH))
def test_programs_agree_with_plain_python_and_differences(first: int, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + BATCH):
        p = program(seed, short=True)
        kind, why = outcome(p, tmp_path)
        assert kind != "wrong", f"seed {seed}: {why}\n{p.source}"
        counts[kind] += 1
    assert counts["ok"], counts


@pytest.mark.parametrize("first", range(10 * FIRST, 10 * FIRST + 60, 20))
def test_programs_of_arrays_agree(first: int, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + 20):
        p = tried.program(seed)
        kind, why = outcome(p, tmp_path)
        assert kind != "wrong", f"seed {seed}: {why}\n{p.source}"
        counts[kind] += 1
    assert counts["ok"] >= 10, counts


@pytest.mark.parametrize("made", [program, tried.program])
def test_a_seed_always_gives_the_same_program(made: Callable[[int], Program]) -> None:
    one, two = made(7), made(7)
    assert one.source == two.source
    assert repr(one.args) == repr(two.args)


def of(body: str) -> Program:
    lines = ["import numpy as np", "def main(x, a):", *(f"    {line}" for line in body.split("; "))]
    return Program(0, "\n".join(lines) + "\n", (0.5, np.array([0.3, -0.8])))


def test_nan_says_nothing_only_where_the_program_met_numbers_that_are_not_finite(tmp_path: Path) -> None:
    assert outcome(of("return x * a[0]"), tmp_path) == ("ok", "")
    dead = of("b = np.log(a - 0.3) * x; b[:] = a; return x * b[0] + b[1]")
    assert outcome(dead, tmp_path) == ("unfit", "not finite on the way")
    edge = of("b = np.sqrt((a - a) * x); return x * a[0] + 0.0 * b[1]")  # finite, and its derivative is 0 * inf
    kind, why = outcome(edge, tmp_path)
    assert kind == "wrong"
    assert "nan" in why
