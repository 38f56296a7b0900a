"""Deriving is deterministic: ids come from counters, nothing is ordered by address or hash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mooncake_py import zero_derivative
from tests.derive import all_sites, derivation_of, text_of
from tests.functions import CASES, by_name
from tests.harness import Case

ROOT = Path(__file__).parents[2]
NAMES = [case.name for case in CASES if case.name.startswith(("branches.", "loops.", "mutation."))]
SCRIPT = """
import sys
from tests.functions import by_name
from tests.transform.test_determinism import text
for name in sys.argv[1:]:
    print(text(by_name(name)))
"""


def text(case: Case) -> str:
    return text_of(case.fn, *case.fresh_args())


@pytest.mark.parametrize("name", NAMES)
def test_twice_the_same(name: str) -> None:
    assert text(by_name(name)) == text(by_name(name))


def elsewhere(seed: str) -> str:
    """The text of all of them in a fresh process with this hash seed."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "rules")])
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, *NAMES], env=env, cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_in_processes_that_hash_otherwise() -> None:
    assert elsewhere("1") == elsewhere("4242")


def test_what_was_derived_before_changes_nothing() -> None:
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += np.sin(x[i]) * x[i]
        return s

    before = text_of(f, np.ones(3))
    derivation_of(lambda x: np.exp(x) * x, np.ones(3))
    assert text_of(f, np.ones(3)) == before


def test_a_function_that_comes_back_to_itself_is_derived_as_the_first_time() -> None:
    case = by_name("recursion.memory_of_a_recursion_that_a_generator_asks")
    for _ in range(2):
        assert all_sites(case.fn, *case.fresh_args()) == []
        zero_derivative(lambda: None)  # a rule more: what was derived so far no longer counts
