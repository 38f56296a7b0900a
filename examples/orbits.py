"""Aim a space probe past a planet at a target: bodies are objects, the gradient runs through their whole flight.

python examples/orbits.py [PICTURE]    the flights go to PICTURE (default: orbits.png beside this file)
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from mooncake_py import value_and_grad

DT = 0.02
TARGET = np.array([-0.3, 1.6])


@dataclass
class Body:
    mass: float
    position: np.ndarray
    velocity: np.ndarray

    def pull_of(self, other: Body) -> np.ndarray:
        """The acceleration of this body by another's gravity, softened where they come close."""
        apart = other.position - self.position
        return other.mass * apart / (np.sum(apart**2) + 0.01) ** 1.5


class Sky:
    """Bodies that move under their gravity."""

    def __init__(self, *bodies: Body):
        self.bodies = list(bodies)
        self.time = 0.0

    def step(self) -> None:
        """One step of the semi-implicit Euler method."""
        for body in self.bodies:
            for other in self.bodies:
                if other is not body:
                    body.velocity = body.velocity + DT * body.pull_of(other)
        for body in self.bodies:
            body.position = body.position + DT * body.velocity
        self.time += DT


def launch(velocity: np.ndarray) -> Sky:
    sun = Body(1.0, np.zeros(2), np.zeros(2))
    planet = Body(0.05, np.array([0.0, 1.0]), np.array([-1.0, 0.0]))
    return Sky(sun, planet, Body(0.0, np.array([1.0, 0.0]), velocity))


def miss(velocity: np.ndarray, steps: int) -> float:
    """The squared distance from the target at the end of a flight that starts with this velocity."""
    sky = launch(velocity)
    for _ in range(steps):
        sky.step()
    return np.sum((sky.bodies[-1].position - TARGET) ** 2)


def flight(velocity: np.ndarray, steps: int) -> np.ndarray:
    """The places of all bodies, by time."""
    sky = launch(velocity)
    path = []
    for _ in range(steps):
        path.append([body.position for body in sky.bodies])
        sky.step()
    return np.array(path)


def main(picture: Path, steps: int = 100, iterations: int = 40) -> tuple[float, float]:
    start = np.array([0.1, 1.1])
    result = minimize(
        value_and_grad(miss), start, args=(steps,), jac=True, method="BFGS", options={"maxiter": iterations}
    )
    before, after = float(miss(start, steps)), float(result.fun)
    print(f"missed by {before**0.5:.3f} at first, by {after**0.5:.1e} after {result.nfev} flights and their gradients")
    print("launch with", np.round(result.x, 4))

    figure, axes = plt.subplots(figsize=(6, 5))
    for velocity, style, label in ((start, ":", "first"), (result.x, "-", "last")):
        path = flight(velocity, steps)
        axes.plot(path[:, 2, 0], path[:, 2, 1], style, color="tab:blue", label=f"{label} flight")
    axes.plot(path[:, 1, 0], path[:, 1, 1], color="tab:orange", label="planet")
    axes.plot([0.0], [0.0], "o", color="gold", markersize=12, label="sun")
    axes.plot(*TARGET, "x", color="black", label="target")
    axes.set(title="A probe, aimed by a gradient through its flight", aspect="equal")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return before, after


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("orbits.png"))
