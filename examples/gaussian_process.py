"""Choose the kernel of a Gaussian process by its marginal likelihood, with L-BFGS.

python examples/gaussian_process.py [PICTURE]    the fit goes to PICTURE (default: gaussian_process.png beside it)
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from mooncake_py import ravel, value_and_grad

Parameters = dict[str, float]
START: Parameters = {"log_scale": 0.0, "log_length": 0.0, "log_noise": -1.0}


def kernel(p: Parameters, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The squared exponential kernel between all points of a and b."""
    distance = (a[:, None] - b[None, :]) / np.exp(p["log_length"])
    return np.exp(2.0 * p["log_scale"] - 0.5 * distance**2)


def negative_log_likelihood(p: Parameters, x: np.ndarray, y: np.ndarray) -> float:
    """Of y, per point (Rasmussen and Williams, Gaussian Processes for Machine Learning, algorithm 2.1)."""
    noise = np.exp(2.0 * p["log_noise"]) + 1e-10
    factor = np.linalg.cholesky(kernel(p, x, x) + noise * np.eye(len(x)))
    z = np.linalg.solve(factor, y)
    return (0.5 * np.sum(z**2) + np.sum(np.log(np.diag(factor)))) / len(x) + 0.5 * np.log(2.0 * np.pi)


def predict(p: Parameters, x: np.ndarray, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the function at new points."""
    covariance = kernel(p, x, x) + np.exp(2.0 * p["log_noise"]) * np.eye(len(x))
    weights = np.linalg.solve(covariance, kernel(p, x, at))
    variance = np.exp(2.0 * p["log_scale"]) - np.sum(kernel(p, x, at) * weights, axis=0)
    return weights.T @ y, np.sqrt(np.maximum(variance, 0.0))


def main(picture: Path, points: int = 60, iterations: int = 100) -> Parameters:
    rng = np.random.default_rng(2)
    x = np.sort(rng.uniform(-4.0, 4.0, points))
    y = np.sin(1.5 * x) + 0.3 * x + rng.normal(scale=0.2, size=points)

    flat, unravel = ravel(START)

    def loss(flat: np.ndarray) -> float:
        return negative_log_likelihood(unravel(flat), x, y)

    result = minimize(value_and_grad(loss), flat, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    p: Parameters = unravel(result.x)
    print(f"{result.nit} iterations, {result.nfev} gradients, negative log likelihood {result.fun:.4f}")
    print({k.removeprefix("log_"): round(float(np.exp(v)), 3) for k, v in p.items()})

    at = np.linspace(-5.0, 5.0, 200)
    mean, deviation = predict(p, x, y, at)
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(x, y, "k.", label="data")
    axes.plot(at, mean, color="tab:blue", label="mean")
    axes.fill_between(
        at, mean - 2 * deviation, mean + 2 * deviation, color="tab:blue", alpha=0.2, label="two deviations"
    )
    axes.set(xlabel="x", ylabel="y", title="Gaussian process, hyperparameters by marginal likelihood")
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return p


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("gaussian_process.png"))
