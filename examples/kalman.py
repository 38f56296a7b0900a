"""Estimate the noise of a moving object and of its sensor from a track, by the likelihood a Kalman filter gives it.

python examples/kalman.py [PICTURE]    the filtered track goes to PICTURE (default: kalman.png beside this file)
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from mooncake_py import value_and_grad

MOVE = np.array([[1.0, 1.0], [0.0, 1.0]])  # position and speed, one time unit later
LOOK = np.array([[1.0, 0.0]])  # the sensor sees the position
TRUE_NOISE = (0.15, 1.5)


def kalman(log_noise: np.ndarray, track: np.ndarray) -> tuple[float, np.ndarray]:
    """The negative log likelihood of the track per step, and the filtered positions."""
    push, sensor = np.exp(log_noise[0]), np.exp(log_noise[1])
    drift = push**2 * np.array([[0.25, 0.5], [0.5, 1.0]])
    mean = np.array([track[0], 0.0])
    covariance = 10.0 * np.eye(2)
    positions = np.empty(len(track))
    surprise = 0.0
    for i, seen in enumerate(track):
        mean = MOVE @ mean
        covariance = MOVE @ covariance @ MOVE.T + drift
        error = seen - mean[0]
        variance = (LOOK @ covariance @ LOOK.T)[0, 0] + sensor**2
        gain = covariance[:, 0] / variance
        mean = mean + gain * error
        covariance = covariance - np.outer(gain, covariance[0])
        surprise += 0.5 * (np.log(2.0 * np.pi * variance) + error**2 / variance)
        positions[i] = mean[0]
    return surprise / len(track), positions


def simulate(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """True positions, and what the sensor says."""
    rng = np.random.default_rng(3)
    pushes = rng.normal(scale=TRUE_NOISE[0], size=steps)
    speed = np.cumsum(pushes)
    position = np.cumsum(speed - 0.5 * pushes)
    return position, position + rng.normal(scale=TRUE_NOISE[1], size=steps)


def main(picture: Path, steps: int = 300, iterations: int = 60) -> np.ndarray:
    truth, track = simulate(steps)
    likelihood_and_grad = value_and_grad(kalman, has_aux=True)

    def loss(log_noise: np.ndarray) -> tuple[float, np.ndarray]:
        (value, _), gradient = likelihood_and_grad(log_noise, track)
        return value, gradient

    result = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    noise = np.exp(result.x)
    (value, positions), _ = likelihood_and_grad(result.x, track)
    print(f"{result.nit} iterations, {result.nfev} gradients, negative log likelihood {value:.4f} per step")
    print(f"push {noise[0]:.3f} (true {TRUE_NOISE[0]}), sensor {noise[1]:.3f} (true {TRUE_NOISE[1]})")

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(track - truth, ".", color="tab:gray", alpha=0.5, label="sensor")
    axes.plot(positions - truth, color="tab:blue", label="filter")
    axes.set(xlabel="time", ylabel="error of the position", title="Kalman filter, noise by maximum likelihood")
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return noise


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("kalman.png"))
