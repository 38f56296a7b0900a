"""The gradient of a parameter fit through `scipy.integrate.solve_ivp`, which is derived as it stands.

    python benchmarks/fit.py [--json FILE]

A Lotka-Volterra system, integrated by RK45, and the squares of what it misses measurements by. The first call derives
SciPy's own code; the reference integrates the sensitivity equations beside the system, to 12 digits.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scipy.integrate import solve_ivp

from benchmarks.measure import interleaved

FIRST_SECONDS, RATIO, ERROR = 3.0, 6.0, 1e-6
TIMES = np.linspace(0.0, 10.0, 50)
START = [1.0, 1.0]
MEASURED = np.stack([1.0 + np.sin(TIMES) ** 2, 1.0 + np.cos(TIMES) ** 2])
RATES = np.array([1.5, 1.0, 0.7, 1.2])


def lotka_volterra(t, y, birth, eaten, growth, death):
    prey, hunters = y
    return [birth * prey - eaten * prey * hunters, growth * prey * hunters - death * hunters]


def loss(rates, rtol=1e-8, atol=1e-10):
    s = solve_ivp(lotka_volterra, (0.0, 10.0), START, t_eval=TIMES, args=tuple(rates), rtol=rtol, atol=atol)
    return np.sum((s.y - MEASURED) ** 2)


def reference_gradient(rates: np.ndarray) -> np.ndarray:
    """That of the exact solution: with s = dy/dp, s' = (df/dy) s + df/dp."""
    a, b, c, d = rates

    def together(t: float, z: np.ndarray) -> np.ndarray:
        x, y = z[:2]
        by_state = np.array([[a - b * y, -b * x], [c * y, c * x - d]])
        by_rates = np.array([[x, -x * y, 0.0, 0.0], [0.0, 0.0, x * y, -y]])
        slopes = by_state @ z[2:].reshape(2, 4) + by_rates
        return np.concatenate([lotka_volterra(t, (x, y), *rates), slopes.ravel()])

    start = np.concatenate([START, np.zeros(8)])
    z = solve_ivp(together, (0.0, 10.0), start, "DOP853", TIMES, rtol=1e-12, atol=1e-13).y
    missed = z[:2] - MEASURED
    return np.einsum("it,ipt->p", 2.0 * missed, z[2:].reshape(2, 4, -1))


def relative_error(gradient: np.ndarray) -> float:
    reference = reference_gradient(RATES)
    return float(np.max(np.abs(gradient - reference)) / np.max(np.abs(reference)))


def main() -> int:
    parser = argparse.ArgumentParser(description="the gradient of a fit through solve_ivp")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    from mooncake_py import value_and_grad

    loss(RATES)
    start = time.perf_counter()
    value_and_gradient = value_and_grad(loss)
    _, gradient = value_and_gradient(RATES)
    first = time.perf_counter() - start
    times = interleaved({"primal": lambda: loss(RATES), "gradient": lambda: value_and_gradient(RATES)})
    ratio, error = times["gradient"] / times["primal"], relative_error(gradient)
    print(f"first call           {first:8.2f} s    (target {FIRST_SECONDS} s)")
    print(f"gradient / primal    {ratio:8.2f}      (target {RATIO})")
    print(f"relative error       {error:8.0e}      (target {ERROR:.0e})")
    if chosen.json:
        found = {"python": sys.version.split()[0], "first_seconds": first, "ratio": ratio, "error": error}
        chosen.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
