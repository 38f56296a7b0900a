"""The zoo checks itself, without the engine: deterministic, smooth where it is evaluated, and large enough.

A third of it on each Python; all of it with `MOONCAKE_ZOO=all`.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from tests.functions import CASES, WIDER, share
from tests.harness import Case, bits, directions_for, leaves, random_like, same, shared_groups, slopes


def test_names_are_unique() -> None:
    doubles = [name for name, count in Counter(case.name for case in CASES + WIDER).items() if count > 1]
    assert not doubles


def test_zoo_is_large_enough() -> None:
    assert len(CASES) >= 160


@pytest.mark.parametrize("case", share(CASES + WIDER), ids=lambda case: case.name)
def test_case_is_sane(case: Case) -> None:
    before = bits(case.args)
    plain = case.fn(*case.fresh_args())
    assert same(plain, case.fn(*case.fresh_args())), "two plain calls differ"
    assert bits(case.args) == before, "evaluation must work on copies"
    groups = shared_groups(case.args)
    assert groups, "no differentiable argument"
    assert all(np.isfinite(leaf).all() for leaf in leaves(plain)), "differences need finite values"
    rng = case.rng()
    ybar = random_like(plain, rng)
    for group in groups:
        directions = directions_for(case.args, group, rng)
        backward, central, forward = slopes(case.fn, case.args, directions, ybar, case.step)
        _, finer, _ = slopes(case.fn, case.args, directions, ybar, case.step / 4)
        scale = max(abs(central), 1e-2)
        assert math.isfinite(central)
        assert abs(central - finer) <= case.rtol * scale, f"not smooth: {central}, then {finer}"
        # a kink gives the same central difference at every step, but different slopes on its two sides
        assert abs(forward - backward) <= max(1e3 * case.step, 1e-2) * scale, f"kink: {backward} left, {forward} right"
