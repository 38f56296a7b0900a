"""How long a user waits beside the gradient itself: importing the package, deriving a rule, the way into a call.

    python benchmarks/latency.py [--json FILE]

Import is measured in fresh processes, over `import numpy`. Derivation is `build_rrule`, one forward and one pullback:
every repetition derives a new copy of the function, which no cache of the engine has seen; what is shared
between functions (normalised rules) is warm after the first, which is left out. The overhead of a call is the time of a
warm `value_and_grad` less that of the forward and pullback code it runs.
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
CALL_TARGETS = {"two numbers": 2.0, "ten arrays": 4.0}


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


def two_numbers(x, y):
    return x * y


def ten_arrays(a, b, c, d, e, f, g, h, i, j):
    return (a * b + c * d + e * f + g * h + i * j).sum()


def dict_of_layers(layers):
    return (layers["first"]["w"] * layers["first"]["b"] + layers["second"]["w"]).sum() * layers["scale"]


def list_of_numbers(xs):
    return xs[0] * xs[1]


def call_cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    layers = {"first": {"w": np.ones(4), "b": np.ones(4)}, "second": {"w": np.ones(4)}, "scale": 2.0}
    return {
        "two numbers": (two_numbers, (1.5, 2.5)),
        "ten arrays": (ten_arrays, tuple(np.ones(4) for _ in range(10))),
        "dict of dicts of arrays": (dict_of_layers, (layers,)),
        "list of ten numbers": (list_of_numbers, ([1.0] * 10,)),
    }


def overhead_microseconds(fn: Callable[..., Any], args: tuple[Any, ...], repeat: int = 9, calls: int = 1000) -> float:
    """Median of the time of a gradient less that of its forward and pullback, timed in turns."""
    from mooncake_py import value_and_grad
    from mooncake_py.runtime.arguments import shadows_of

    gradient = value_and_grad(fn, argnums=tuple(range(len(args))))
    gradient(*args)
    warm = gradient.warm
    assert warm is not None, f"{fn.__name__} does not take the short way"
    rule, shadows = warm.rule, shadows_of(args, (True,) * len(args))

    def bare() -> None:
        y, _, captures = rule.run(args, shadows)
        rule.pullback(captures, type(y)(1.0))

    def once(g: Callable[..., Any], given: tuple[Any, ...]) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            g(*given)
        return (time.perf_counter() - start) / calls * 1e6

    return statistics.median(once(gradient, args) - once(bare, ()) for _ in range(repeat))


def main() -> int:
    parser = argparse.ArgumentParser(description="import time, derivation time and overhead of a call")
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
    overheads = {label: overhead_microseconds(fn, args) for label, (fn, args) in call_cases().items()}
    for label, microseconds in overheads.items():
        target = f"   (target {CALL_TARGETS[label]:.0f} us)" if label in CALL_TARGETS else ""
        print(f"{'overhead of a call, ' + label:45s} {microseconds:8.2f} us{target}")
    if chosen.json:
        facts = {
            "numpy": np.__version__,
            "python": sys.version.split()[0],
            "milliseconds": results,
            "overhead_microseconds": overheads,
        }
        chosen.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
