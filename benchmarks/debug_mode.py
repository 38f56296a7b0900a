"""What debug mode costs: the time of a gradient in it, over the time of the same gradient.

    python benchmarks/debug_mode.py [--json FILE]

Every workload is measured in a process of its own, both ways, after a first call that derives.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
MOST = 100.0


def best(f: Callable[[], Any], seconds: float = 1.0) -> float:
    """The shortest of as many runs as fit into the time, three at least."""
    f()
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure(name: str) -> dict[str, Any]:
    """One workload, in this process."""
    import mooncake_py
    from benchmarks.workloads import WORKLOADS

    w = next(w for w in WORKLOADS if w.name == name)
    plain = mooncake_py.value_and_grad(w.fn, w.argnums)
    checked = mooncake_py.value_and_grad(w.fn, w.argnums, debug_mode=True)
    a, b = best(lambda: plain(*w.args)), best(lambda: checked(*w.args))
    return {"name": name, "plain": a, "debug": b, "ratio": b / a}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
        return
    from benchmarks.workloads import WORKLOADS

    rows = []
    print(f"{'workload':<28} {'gradient':>12} {'debug mode':>12} {'ratio':>8}")
    for w in WORKLOADS:
        command = [sys.executable, __file__, "--one", w.name]
        row = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
        rows.append(row)
        print(f"{w.name:<28} {row['plain'] * 1e6:>9.1f} us {row['debug'] * 1e6:>9.1f} us {row['ratio']:>7.1f}x")
    worst = max(rows, key=lambda r: r["ratio"])
    kept = "within" if worst["ratio"] <= MOST else "OVER"
    print(f"most: {worst['ratio']:.0f}x ({worst['name']}), {kept} {MOST:.0f}x")
    if given.json:
        Path(given.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
