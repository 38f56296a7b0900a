"""Train a neural network on scikit-learn's handwritten digits, with SciPy's optimiser and gradients by mooncake_py.

python examples/digits.py [PICTURE]    the training curve goes to PICTURE (default: digits.png beside this file)
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np
from digits_model import PARAMETERS, accuracy, initial_parameters, loss
from scipy.optimize import minimize
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mooncake_py import value_and_grad

ITERATIONS = 150


def seconds_per_call(fn: Callable[[], object], repeat: int = 30) -> float:
    """Median of single calls."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        fn()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main(picture: Path) -> None:
    digits = load_digits()
    images, test_images, labels, test_labels = train_test_split(
        digits.data / 16.0, digits.target, test_size=0.3, random_state=0
    )
    print(f"{len(labels)} images to learn from, {len(test_labels)} to test on, {PARAMETERS} parameters")

    loss_and_gradient = value_and_grad(loss)
    curve: list[tuple[float, float]] = []

    def progress(intermediate_result: object) -> None:
        theta, value = intermediate_result.x, intermediate_result.fun  # type: ignore[attr-defined]
        curve.append((float(value), float(accuracy(theta, test_images, test_labels))))
        if len(curve) % 10 == 1:
            print(f"  iteration {len(curve):3d}   loss {curve[-1][0]:.4f}   test accuracy {curve[-1][1]:.1%}")

    start = time.perf_counter()
    result = minimize(
        loss_and_gradient,
        initial_parameters(),
        args=(images, labels),
        jac=True,
        method="L-BFGS-B",
        callback=progress,
        options={"maxiter": ITERATIONS},
    )
    print(f"{result.nit} iterations, {result.nfev} gradients, {time.perf_counter() - start:.1f} s")

    theta = result.x
    plain = seconds_per_call(lambda: loss(theta, images, labels))
    both = seconds_per_call(lambda: loss_and_gradient(theta, images, labels))
    print(f"loss {plain * 1e3:.2f} ms, loss and gradient {both * 1e3:.2f} ms: {both / plain:.2f} times the loss")

    draw(np.array(curve), picture)
    print(f"training curve in {picture}")
    print(f"test accuracy {accuracy(theta, test_images, test_labels):.1%}")


def draw(curve: np.ndarray, picture: Path) -> None:
    figure, left = plt.subplots(figsize=(7, 4))
    right = left.twinx()
    (line,) = left.semilogy(curve[:, 0], color="tab:blue", label="training loss")
    (other,) = right.plot(100 * curve[:, 1], color="tab:orange", label="test accuracy")
    left.set(xlabel="iteration", ylabel="loss", title="Handwritten digits, two-layer network")
    right.set(ylabel="accuracy (%)")
    left.legend(handles=[line, other], loc="center right")
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("digits.png"))
