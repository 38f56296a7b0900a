"""What a gradient holds: bytes per iteration of a scalar loop, peak of array code against hand-written.

    python benchmarks/memory.py [--quick] [--json FILE]

Measured with tracemalloc, which sees Python objects and NumPy's buffers alike. The peak is over a warm call, on top of
what was held before it.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.workloads import WORKLOADS

ARRAY_WORKLOADS = ("elementwise_1e6", "simple_mlp", "mlp", "rnn", "lstm", "heat", "mixture", "gp_lml")
BYTES_PER_ITERATION = 120.0
PEAK_RATIO = 1.25


def scalar_loop(x, n):
    for _ in range(n):
        x = math.sin(x) * 1.01 + 0.1 * x * x
    return x


def peak_bytes(call: Callable[[], object]) -> int:
    """The most this call holds at once, beyond what was there before; it has been called already."""
    call()
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        call()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before


def main() -> int:
    from mooncake_py import value_and_grad

    parser = argparse.ArgumentParser(description="memory of gradients")
    parser.add_argument("--quick", action="store_true", help="a loop of 1e5 iterations instead of 1e6")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()

    iterations = 100_000 if chosen.quick else 1_000_000
    loop = value_and_grad(scalar_loop)
    per_iteration = peak_bytes(lambda: loop(0.6, iterations)) / iterations
    print(f"scalar loop, {iterations} iterations: {per_iteration:.0f} bytes each (target {BYTES_PER_ITERATION:.0f})")

    ratios: dict[str, float] = {}
    for work in (work for work in WORKLOADS if work.name in ARRAY_WORKLOADS):
        ours = value_and_grad(work.fn, argnums=work.argnums)
        by_hand = peak_bytes(lambda work=work: work.hand(*work.args))
        with_ours = peak_bytes(lambda ours=ours, work=work: ours(*work.args))
        ratios[work.name] = with_ours / by_hand
        print(f"{work.name:18s} peak {with_ours:>12,} bytes, by hand {by_hand:>12,}: {ratios[work.name]:.2f}")
    print(f"worst {max(ratios.values()):.2f} (target {PEAK_RATIO})")
    if chosen.json:
        facts = {"bytes_per_iteration": per_iteration, "peak_over_hand": ratios, "python": sys.version.split()[0]}
        chosen.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
