"""scipy.stats.qmc.Sobol: the numbers that its code in C writes into its arrays have no derivative."""

from __future__ import annotations

import numpy as np
from scipy.stats import _sobol
from scipy.stats.qmc import Sobol

from mooncake_py.registry import rrule
from mooncake_py.tangents import CoDual
from mooncake_py.testing import RuleCase, case
from mooncake_rules.common import taken_back


@rrule(_sobol._draw, mutates=(5, 6))
def draw(n, num_gen, dim, scale, sv, quasi: CoDual, sample: CoDual):
    olds = [(a, a.primal.copy()) for a in (quasi, sample)]
    _sobol._draw(n, num_gen, dim, scale, sv, quasi.primal, sample.primal)

    def pullback(_):
        for a, old in olds:
            taken_back(a, old)
        return None

    return None, pullback


@rrule(_sobol._fast_forward, mutates=(4,))
def fast_forward(n, num_gen, dim, sv, quasi: CoDual):
    old = quasi.primal.copy()
    _sobol._fast_forward(n, num_gen, dim, sv, quasi.primal)

    def pullback(_):
        taken_back(quasi, old)
        return None

    return None, pullback


@rrule(_sobol._cscramble, mutates=(3,))
def scramble(dim, bits, ltm, sv: CoDual):
    old = sv.primal.copy()
    _sobol._cscramble(dim, bits, ltm, sv.primal)

    def pullback(_):
        taken_back(sv, old)
        return None

    return None, pullback


@rrule(_sobol._initialize_v, mutates=(0,))
def initialize_v(v: CoDual, dim, bits):
    old = v.primal.copy()
    _sobol._initialize_v(v.primal, dim, bits)

    def pullback(_):
        taken_back(v, old)
        return None

    return None, pullback


# -- cases ------------------------------------------------------------------------------------------------


def _drawn(x):
    engine = Sobol(2, seed=4)
    first, second = engine.random(4), engine.fast_forward(2).random(2)
    return np.exp(x * first).sum(), second * x, engine.reset().random(1) * x


CASES: list[RuleCase] = [
    case(lambda x: np.exp(x * Sobol(2, seed=3).random(8)).mean(), 0.3), case(_drawn, 0.3),
    case(lambda x: Sobol(3, scramble=False).random(4)[1:] ** x, np.array([1.5, 2.0, 0.7])),
]  # fmt: skip
