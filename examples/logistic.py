"""Logistic regression on the breast cancer data, the gradient summed over shards in several processes.

python examples/logistic.py [PICTURE]    the coefficients go to PICTURE (default: logistic.png beside this file)
"""

from __future__ import annotations

import functools
import sys
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np
from logistic_model import shard_loss
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

from mooncake_py import value_and_grad

Shard = tuple[np.ndarray, np.ndarray]
PENALTY = 1.0


shard_value_and_grad = value_and_grad(shard_loss)  # pickles: every worker derives it once


def total(w: np.ndarray, shards: list[Shard], pool: Executor) -> tuple[float, np.ndarray]:
    """Value and gradient over all shards."""
    work = functools.partial(shard_value_and_grad, w)
    values, gradients = zip(*pool.map(work, *zip(*shards, strict=True)), strict=True)
    return sum(values) + 0.5 * PENALTY * np.sum(w**2), sum(gradients) + PENALTY * w


def main(picture: Path, workers: int = 2, iterations: int = 100) -> float:
    data = load_breast_cancer()
    x = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    y = data.target.astype(float)
    train = np.arange(len(y)) % 4 != 0
    parts = np.array_split(np.flatnonzero(train), 2 * workers)
    shards = [(x[part], y[part]) for part in parts]

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        start = np.zeros(x.shape[1] + 1)
        result = minimize(
            total, start, args=(shards, pool), jac=True, method="L-BFGS-B", options={"maxiter": iterations}
        )
    w = result.x
    accuracy = float(np.mean((x[~train] @ w[:-1] + w[-1] > 0.0) == (y[~train] > 0.5)))
    print(f"{len(shards)} shards in {workers} processes, {result.nit} iterations, {result.nfev} gradients")
    print(f"accuracy on {np.sum(~train)} others: {accuracy:.1%}")

    order = np.argsort(w[:-1])
    figure, axes = plt.subplots(figsize=(7, 6))
    axes.barh(np.array(data.feature_names)[order], w[:-1][order], color="tab:blue")
    axes.set(xlabel="weight", title="Logistic regression: what speaks for a benign tumour")
    axes.tick_params(axis="y", labelsize=7)
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return accuracy


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("logistic.png"))
