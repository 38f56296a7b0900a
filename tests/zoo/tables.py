"""What `tests/zoo/other_modules.py` finds in another module: tables, objects, logs."""

from __future__ import annotations

import math

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


HEIGHTS = [0, 11.5, 20, 32.0]
SLOPES = (-6.5, 0.0, 1, 2.8)
LAYERS = {"low": (0.2, [288, 216.65]), "high": (-0.3, [216.65, 228])}


def layer_of(h):
    k = 0
    for i, start in enumerate(HEIGHTS):
        if h > start:
            k = i
    return k


class Air:
    """What a table says of a height."""

    def __init__(self, h, layer="low"):
        k = layer_of(h)
        slope, levels = LAYERS[layer]
        self.t = 1e-2 * levels[0] + SLOPES[k] * (h - HEIGHTS[k]) * slope
        self.p = (levels[1] / 216.65 + 0.1 * k) * self.t


REMEMBERED = None


def remember(v):
    global REMEMBERED
    REMEMBERED = v


def recalled():
    return REMEMBERED


RATE = 2.0
ACT = math.sin
CALLS = 0


def fast():
    """Sets a name to a constant."""
    global RATE, ACT, CALLS
    RATE, ACT, CALLS = 5.0, math.cos, CALLS + 1


def slow():
    """Sets it back."""
    global RATE, ACT, CALLS
    RATE, ACT, CALLS = 2.0, math.sin, 0


def paced(x):
    """Reads it."""
    return RATE * ACT(x) * CALLS


def moded():
    """Functions that read and set a variable of the function around them."""
    mode, scale = "a", None

    def read(x):
        return x * x if mode == "a" and scale is None else x**3

    def write(m, s):
        nonlocal mode, scale
        mode, scale = m, s

    def writes():
        def inner():
            nonlocal mode
            mode = "c"

        inner()

    return read, write, writes
