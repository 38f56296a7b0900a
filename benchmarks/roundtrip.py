"""How fast code is after code -> IR -> code, and how long lowering takes.

    python -m benchmarks.roundtrip

Prints, per function, the time of the original, the ratio of the rebuilt one to it (best of several
alternating runs), and at the end the time to lower a function per statement.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mooncake_py.frontend.normalise import normalise
from mooncake_py.lowering import lower
from tests.lowering.roundtrip import roundtrip

XS = [0.5 + 0.001 * i for i in range(1001)]


def scalar_loop(x: float) -> float:
    for _ in range(1000):
        x = math.sin(x) * 1.01 + 0.1 * x * x
    return x


def while_loop(x: float) -> float:
    i = 0
    while i < 1000:
        if x > 1.0:
            x = x * 0.5
        else:
            x = x + 0.3
        i += 1
    return x


def indexing(xs: list[float]) -> float:
    s = 0.0
    for i in range(len(xs) - 1):
        s += xs[i] * xs[i + 1]
    return s


def nested(n: int) -> float:
    total = 0.0
    for i in range(n):
        for j in range(i):
            if (i + j) % 3 == 0:
                continue
            total += i * 0.5 - j
    return total


def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b & 0xFFFF
    return a


def sieve(n: int) -> int:
    flags = [True] * n
    count = 0
    for i in range(2, n):
        if flags[i]:
            count += 1
            for k in range(i * i, n, i):
                flags[k] = False
    return count


def comprehension(xs: list[float]) -> float:
    ys = [x * x for x in xs if x > 0.7]
    return sum(y + 1.0 for y in ys)


def closure(xs: list[float]) -> float:
    total = 0.0

    def add(x: float) -> None:
        nonlocal total
        total += x

    for x in xs:
        add(x)
    return total


class _Point:
    def __init__(self, x: float, y: float):
        self.x, self.y = x, y

    def moved(self, d: float) -> _Point:
        return _Point(self.x + d, self.y - d)


def attributes(n: int) -> float:
    p = _Point(0.0, 1.0)
    for _ in range(n):
        p = p.moved(0.5)
        p.x += 1.0
    return p.x + p.y


def exceptions(xs: list[float]) -> float:
    s = 0.0
    for x in xs:
        try:
            s += math.sqrt(x - 0.7)
        except ValueError:
            s -= 1.0
    return s


def generator(xs: list[float]) -> float:
    def pairs(ys: list[float]) -> Any:
        previous = 0.0
        for y in ys:
            yield previous, y
            previous = y

    s = 0.0
    for a, b in pairs(xs):
        s += a * b
    return s


CASES: list[tuple[Callable[..., Any], Any]] = [
    (scalar_loop, 0.5),
    (while_loop, 0.5),
    (indexing, XS),
    (nested, 60),
    (fibonacci, 1000),
    (sieve, 1000),
    (comprehension, XS),
    (closure, XS),
    (attributes, 500),
    (exceptions, XS),
    (generator, XS),
]


def best(f: Callable[..., Any], g: Callable[..., Any], x: Any, rounds: int = 40) -> tuple[float, float]:
    """Best time of each, in microseconds, run in turns."""
    times = [math.inf, math.inf]
    for _ in range(rounds):
        for k, h in enumerate((f, g)):
            start = time.perf_counter()
            for _ in range(5):
                h(x)
            times[k] = min(times[k], (time.perf_counter() - start) / 5)
    return times[0] * 1e6, times[1] * 1e6


def latency() -> tuple[float, int]:
    """Microseconds per statement to lower the functions above, and the number of statements."""
    functions = [(normalise(f.__code__), f.__code__) for f, _ in CASES]
    n = sum(len(b.stmts) + 1 for fn, _ in functions for b in fn.blocks)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        for fn, code in functions:
            lower(fn, like=code)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6 / n, n


def main() -> None:
    for f, x in CASES:
        g = roundtrip(f)
        assert f(x) == g(x)
        before, after = best(f, g, x)
        print(f"{f.__name__:15} {before:8.1f} us   x {after / before:.3f}")
    per_statement, n = latency()
    print(f"lowering        {per_statement:8.1f} us per statement ({n} statements)")


if __name__ == "__main__":
    main()
