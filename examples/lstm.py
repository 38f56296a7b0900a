"""An LSTM in plain NumPy that learns to continue a melody of two sines.

python examples/lstm.py [PICTURE]    loss and continuation go to PICTURE (default: lstm.png beside this file)
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a picture in a file needs no display

import matplotlib.pyplot as plt
import numpy as np

from mooncake_py import value_and_grad

Parameters = dict[str, np.ndarray]


def initial(hidden: int) -> Parameters:
    rng = np.random.default_rng(4)
    return {
        "gates": rng.normal(scale=0.4 / np.sqrt(hidden), size=(hidden + 1, 4 * hidden)),
        "bias": np.concatenate([np.ones(hidden), np.zeros(3 * hidden)]),
        "out": rng.normal(scale=1.0 / np.sqrt(hidden), size=hidden),
    }


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 * (np.tanh(0.5 * x) + 1.0)


def step(p: Parameters, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One step of the cell for a batch: inputs (batch,), states (batch, hidden)."""
    n = h.shape[1]
    z = np.concatenate([x[:, None], h], axis=1) @ p["gates"] + p["bias"]
    forget, write, look = sigmoid(z[:, :n]), sigmoid(z[:, n : 2 * n]), sigmoid(z[:, 2 * n : 3 * n])
    c = forget * c + write * np.tanh(z[:, 3 * n :])
    return look * np.tanh(c), c


def loss(p: Parameters, songs: np.ndarray) -> float:
    """Mean squared error of the prediction of every next value; songs are (time, batch)."""
    hidden = p["out"].shape[0]
    h = np.zeros((songs.shape[1], hidden))
    c = np.zeros((songs.shape[1], hidden))
    total = 0.0
    for t in range(len(songs) - 1):
        h, c = step(p, songs[t], h, c)
        total += np.mean((h @ p["out"] - songs[t + 1]) ** 2)
    return total / (len(songs) - 1)


def adam(p: Parameters, songs: np.ndarray, iterations: int, rate: float = 0.02) -> list[float]:
    """Train p in place (Kingma and Ba, Adam); returns the losses."""
    loss_and_grad = value_and_grad(loss)
    m = {k: np.zeros_like(v) for k, v in p.items()}
    v = {k: np.zeros_like(x) for k, x in p.items()}
    losses = []
    for i in range(1, iterations + 1):
        value, gradient = loss_and_grad(p, songs)
        losses.append(float(value))
        for k, g in gradient.items():
            m[k] += 0.1 * (g - m[k])
            v[k] += 0.001 * (g**2 - v[k])
            p[k] -= rate * (m[k] / (1.0 - 0.9**i)) / (np.sqrt(v[k] / (1.0 - 0.999**i)) + 1e-8)
    return losses


def continued(p: Parameters, opening: np.ndarray, n: int) -> np.ndarray:
    """The opening, and n values more, each prediction being the next input."""
    hidden = p["out"].shape[0]
    h, c = np.zeros((1, hidden)), np.zeros((1, hidden))
    song = list(opening)
    for t in range(len(opening) + n - 1):
        h, c = step(p, np.array([song[t]]), h, c)
        if t >= len(opening) - 1:
            song.append(float(h[0] @ p["out"]))
    return np.array(song)


def main(picture: Path, hidden: int = 24, length: int = 60, iterations: int = 400) -> list[float]:
    phases = np.linspace(0.0, 6.0, 16)
    times = np.arange(length)[:, None] * 0.25
    songs = 0.6 * np.sin(times + phases) + 0.3 * np.sin(2.0 * (times + phases))
    p = initial(hidden)
    losses = adam(p, songs, iterations)
    print(f"loss {losses[0]:.4f} at first, {losses[-1]:.5f} after {iterations} steps")

    song = continued(p, songs[: length // 2, 0], length // 2)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    left.semilogy(losses)
    left.set(xlabel="iteration", ylabel="loss", title="LSTM, trained through time")
    right.plot(songs[:, 0], color="tab:gray", label="song")
    right.plot(np.arange(length // 2, length), song[length // 2 :], color="tab:blue", label="continued")
    right.set(xlabel="time", title="Its own continuation")
    right.legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return losses


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("lstm.png"))
