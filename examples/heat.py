"""Find where a rod was heated from its temperature some time later: the heat equation, stepped in place.

python examples/heat.py [PICTURE]    start and end go to PICTURE (default: heat.png beside this file)
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np

from mooncake_py import prepare

RATE = 0.4  # of diffusion, in units of the grid


def diffuse(u: np.ndarray, steps: int) -> None:
    """Step the temperature u forward, in place; the ends of the rod are kept cold."""
    for _ in range(steps):
        u[1:-1] += RATE * (u[2:] - 2.0 * u[1:-1] + u[:-2])


def loss(inner: np.ndarray, seen: np.ndarray, steps: int) -> float:
    """Half the squared difference from what was seen, for a start that is `inner` between cold ends."""
    u = np.zeros(len(inner) + 2)
    u[1:-1] = inner
    diffuse(u, steps)
    return 0.5 * np.sum((u - seen) ** 2)


def main(picture: Path, n: int = 120, steps: int = 100, iterations: int = 800) -> tuple[float, float]:
    truth = np.zeros(n)
    truth[n // 5 : n // 3] = 1.0
    truth[n // 2 : n // 2 + n // 15] = 1.5
    seen = truth.copy()
    diffuse(seen, steps)

    start = np.zeros(n - 2)
    prepared = prepare(loss, start, seen, steps)
    gradient, before, push = np.empty(n - 2), np.zeros(n - 2), 1.0
    first, _ = prepared.value_and_grad(start, seen, steps)
    for _ in range(iterations):  # Nesterov's accelerated gradient method, nothing allocated for the gradient
        value, _ = prepared.value_and_grad(start, seen, steps, out=gradient)
        after = np.maximum(start - gradient, 0.0)
        ahead = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * push**2))
        start = after + (push - 1.0) / ahead * (after - before)
        before, push = after, ahead
    print(f"loss {first:.3e} at first, {value:.3e} after {iterations} steps")
    print(f"mean error of the start {np.mean(np.abs(before - truth[1:-1])):.3f}")

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(truth, color="tab:gray", label="start")
    axes.plot(seen, color="tab:orange", label=f"after {steps} steps, as seen")
    axes.plot(np.arange(1, n - 1), before, color="tab:blue", label="start, from what was seen")
    axes.set(xlabel="place", ylabel="temperature", title="Heat equation in place, run backwards by its gradient")
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return float(first), float(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("heat.png"))
