"""What `tests/zoo/other_modules.py` finds in another module: tables, objects, logs."""

from __future__ import annotations

import numpy as np

SCALE = 1.5
WEIGHTS = [0.5, -1.2, 2.0]
BODIES = {
    "sun": ([0.0, 0.1, 0.2], [0.0, 0.0, 0.0], 39.5),
    "jupiter": ([4.8, -1.2, -0.1], [0.6, 2.8, -0.03], 0.04),
    "saturn": ([8.3, 4.1, -0.4], [-1.0, 1.8, 0.01], 0.01),
}
START = [[1.0, 2.0], [3.0, 4.0]]
WORK = np.zeros(3)
LOG: list[float] = []
STATE = {"k": 1.0}


class Body:
    """Something with a method."""

    def __init__(self, x, v, m):
        self.x, self.v, self.m = x, v, m

    def energy(self):
        x, y, z = self.v
        return 0.5 * self.m * (x * x + y * y + z * z)


OBJECTS = [Body(*b) for b in BODIES.values()]


def weighted(x, i):
    return WEIGHTS[i] * x * SCALE


REMEMBERED = None


def remember(v):
    global REMEMBERED
    REMEMBERED = v


def recalled():
    return REMEMBERED
