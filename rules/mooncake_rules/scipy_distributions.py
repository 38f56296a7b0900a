"""scipy.stats: distributions that are objects (`Normal`, `make_distribution`), shifted and scaled."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats as ss

from mooncake_py.registry import overlay, zero_derivative
from mooncake_py.testing import RuleCase, case


def moved(x: Any, loc: Any, scale: Any) -> Any:
    return x * scale + loc


def _shifts_and_scales(shifted: Any) -> None:
    @overlay(shifted._itransform)
    def itransform(self, x, loc, scale, **kwargs):
        """Infinite ends stay where they are: by loc and scale they would have 0 times infinity."""
        finite = np.isfinite(x)
        return np.where(finite, np.where(finite, x, 0.0) * scale + loc, moved(x, loc, scale))[()]


zero_derivative(moved)
CASES: list[RuleCase] = []
if hasattr(ss, "Normal"):
    _shifts_and_scales(ss._distribution_infrastructure.ShiftedScaledDistribution)
    CASES += [
        case(lambda m, s, x: (ss.Normal(mu=m) * s + 0.5).logpdf(x), 0.3, 0.8, np.array([0.2, 1.4])),
        case(lambda m, s, p: (ss.Normal(mu=m) * -s).icdf(p), 0.3, 0.8, 0.4),
    ]
