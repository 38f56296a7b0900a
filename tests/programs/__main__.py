"""`python -m tests.programs`: as many random programs as wanted."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.programs import tried, writer
from tests.programs.check import Program, outcome
from tests.programs.shrink import shrink


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare random programs with plain Python and central differences.")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--shrink", action="store_true", help="shrink what goes wrong")
    parser.add_argument("--short", action="store_true", help="short programs: many more in the same time")
    parser.add_argument("--arrays", action="store_true", help="programs of NumPy statements that were found by trying")
    parser.add_argument("--show", action="store_true", help="print the program of the first seed and stop")
    options = parser.parse_args()

    def program(seed: int) -> Program:
        return tried.program(seed) if options.arrays else writer.program(seed, options.short)

    if options.show:
        print(program(options.seed).source)
        return 0
    counts: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as tmp:
        for seed in range(options.seed, options.seed + options.count):
            p = program(seed)
            kind, why = outcome(p, Path(tmp))
            counts[kind] += 1
            if kind != "wrong":
                reasons[kind, why] += 1
                continue
            print(f"seed {seed}: {why}", flush=True)
            if options.shrink:
                small = shrink(p, Path(tmp), why)
                print(small.source, f"# args = {small.args}", outcome(small, Path(tmp))[1], flush=True)
    for (kind, why), count in reasons.most_common():
        if kind != "ok":
            print(f"{count:6d} {kind}: {why}")
    print(dict(counts))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
