"""How long a user waits before the first gradient: importing the package, deriving a rule.

    python benchmarks/latency.py [--json FILE]

Import is measured in fresh processes, over `import numpy`. Derivation is `build_rrule`, one forward and one pullback:
every repetition derives a new copy of the function, which no cache of the engine has seen; what is shared
between functions (normalised rules) is warm after the first, which is left out.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.workloads import WORKLOADS

TARGETS = {"import over numpy": 60.0, "30-line scalar function": 10.0, "mlp": 40.0}


def thirty_lines(x, y, n):
    """Thirty lines of everyday scalar code: branches, two loops, calls of `math`."""
    a = math.sin(x) * y
    b = math.exp(-y * y) + x
    c = a * b - 1.5
    if c > 0:
        d = math.sqrt(c + 1.0)
    elif c > -1:
        d = c * c
    else:
        d = -c
    total = 0.0
    for i in range(n):
        t = x * i + d
        if t > 10.0:
            break
        if i % 2 == 0:
            continue
        total += math.tanh(t) * a
        a = a * 0.9 + 0.01 * t
    k = 0
    while k < 5 and abs(total) < 100.0:
        total = total * 1.1 + b
        k += 1
    u = total / (1.0 + total * total)
    v = max(u, d) - min(b, c)
    w = (u + v) ** 2
    s = w if w > 0.1 else w * 2.0
    s += math.log(1.0 + abs(s))
    s *= x
    z = s - y / 3
    return z * z + d * u - v


def import_milliseconds(repeat: int = 9) -> float:
    """Median difference between importing the package and importing NumPy alone, each in a process of its own."""

    def once(statement: str) -> float:
        program = f"import time; s = time.perf_counter(); {statement}; print(time.perf_counter() - s)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
        return float(done.stdout) * 1e3

    once("import numpy, mooncake_py")  # bytecode caches and file system
    pairs = [(once("import numpy, mooncake_py"), once("import numpy")) for _ in range(repeat)]
    return statistics.median(ours for ours, _ in pairs) - statistics.median(numpy for _, numpy in pairs)


def fresh_copy(fn: Callable[..., Any], serial: int) -> Callable[..., Any]:
    """The same function with a code object of its own."""
    code = fn.__code__.replace(co_name=f"{fn.__code__.co_name}_{serial}")
    return types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def derivation_milliseconds(fn: Callable[..., Any], args: tuple[Any, ...], repeat: int = 9) -> tuple[float, float]:
    """(first, median of the rest): the first in this process also reads the rules it uses."""
    from mooncake_py import build_rrule

    times = []
    for serial in range(repeat + 1):
        copy = fresh_copy(fn, serial)
        start = time.perf_counter()
        rule = build_rrule(copy, *args)
        _, pullback = rule(*args)
        pullback(1.0)
        times.append((time.perf_counter() - start) * 1e3)
    return times[0], statistics.median(times[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description="import time and derivation time")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    mlp = next(work for work in WORKLOADS if work.name == "mlp")
    results: dict[str, float] = {"import over numpy": import_milliseconds()}
    cases = {"30-line scalar function": (thirty_lines, (0.7, 1.3, 12)), "mlp": (mlp.fn, mlp.args)}
    for label, (fn, args) in cases.items():
        first, warm = derivation_milliseconds(fn, args)
        results[f"{label}, first in the process"] = first
        results[label] = warm
    for label, milliseconds in results.items():
        target = f"   (target {TARGETS[label]:.0f} ms)" if label in TARGETS else ""
        print(f"{label:45s} {milliseconds:8.1f} ms{target}")
    if chosen.json:
        facts = {"numpy": np.__version__, "python": sys.version.split()[0], "milliseconds": results}
        chosen.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
