"""Fit the four rates of a Lotka-Volterra system to noisy counts of hares and lynxes.

python examples/lotka_volterra.py [PICTURE]    data and fit go to PICTURE (default: lotka_volterra.png beside this file)
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import OptimizeResult, minimize

from mooncake_py import value_and_grad

TRUE_RATES = np.array([0.9, 0.5, 0.4, 1.1])
START = np.array([2.0, 1.0])
DT = 0.05


def growth(state: np.ndarray, rates: np.ndarray) -> np.ndarray:
    hares, lynxes = state[0], state[1]
    eaten = hares * lynxes
    return np.array([rates[0] * hares - rates[1] * eaten, rates[2] * eaten - rates[3] * lynxes])


def simulate(rates: np.ndarray, steps: int) -> np.ndarray:
    """The path of both populations, by the classical Runge-Kutta method."""
    state = START.copy()
    path = np.empty((steps, 2))
    for i in range(steps):
        k1 = growth(state, rates)
        k2 = growth(state + 0.5 * DT * k1, rates)
        k3 = growth(state + 0.5 * DT * k2, rates)
        k4 = growth(state + DT * k3, rates)
        state = state + DT / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        path[i] = state
    return path


def loss(log_rates: np.ndarray, counts: np.ndarray) -> float:
    """Mean squared difference of the logarithms; the rates are positive by their own logarithms."""
    path = simulate(np.exp(log_rates), len(counts))
    return np.mean((np.log(path) - np.log(counts)) ** 2)


def measure(steps: int) -> np.ndarray:
    noise = np.random.default_rng(1).normal(scale=0.05, size=(steps, 2))
    return simulate(TRUE_RATES, steps) * np.exp(noise)


def fit(counts: np.ndarray, iterations: int = 100) -> OptimizeResult:
    start = np.log(np.full(4, 0.7))
    return minimize(
        value_and_grad(loss), start, args=(counts,), jac=True, method="BFGS", options={"maxiter": iterations}
    )


def main(picture: Path, steps: int = 300, iterations: int = 100) -> np.ndarray:
    counts = measure(steps)
    result = fit(counts, iterations)
    rates = np.exp(result.x)
    print(f"{result.nit} iterations, {result.nfev} gradients, loss {result.fun:.2e}")
    print("rates", np.round(rates, 3), "true", TRUE_RATES)

    times = DT * np.arange(1, steps + 1)
    figure, axes = plt.subplots(figsize=(7, 4))
    for k, (name, color) in enumerate([("hares", "tab:blue"), ("lynxes", "tab:orange")]):
        axes.plot(times, counts[:, k], ".", color=color, alpha=0.3)
        axes.plot(times, simulate(rates, steps)[:, k], color=color, label=name)
    axes.set(xlabel="time", ylabel="population", title="Lotka-Volterra, fitted by gradients through Runge-Kutta")
    axes.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return rates


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("lotka_volterra.png"))
