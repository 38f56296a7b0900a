"""Timing: interleaved, medians, with the garbage collector on as it is in the user's program."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

#: One timed block lasts about this long, so that the clock and the loop around the call do not count.
BLOCK_SECONDS = 2e-3


def calls_per_block(fn: Callable[[], object], block: float = BLOCK_SECONDS) -> int:
    fn()
    start = time.perf_counter()
    fn()
    once = time.perf_counter() - start
    if once >= block:
        return 1
    trial = max(1, int(0.2 * block / max(once, 1e-8)))
    start = time.perf_counter()
    for _ in range(trial):
        fn()
    once = (time.perf_counter() - start) / trial
    return max(1, int(block / max(once, 1e-8)))


def interleaved(
    variants: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 40,
    budget: float = 20.0,
    around: Mapping[str, Callable[[], AbstractContextManager[object]]] | None = None,
) -> dict[str, float]:
    """Median seconds per call of each variant.

    Every round times one block of every variant, so that a change of the machine's speed hits them all alike. A slow
    variant takes part until it has had its share of `budget` seconds, and in three rounds at least. `around` gives a
    context that a variant's blocks run in; entering it is not timed.
    """
    assert gc.isenabled()
    contexts = {name: nullcontext for name in variants} | dict(around or {})
    counts = {}
    for name, fn in variants.items():
        with contexts[name]():
            counts[name] = calls_per_block(fn)
    times: dict[str, list[float]] = {name: [] for name in variants}
    spent = dict.fromkeys(variants, 0.0)
    share = budget / len(variants)
    for done in range(rounds):
        gc.collect()
        for name, fn in variants.items():
            if done >= 3 and spent[name] > share:
                continue
            count = range(counts[name])
            with contexts[name]():
                start = time.perf_counter()
                for _ in count:
                    fn()
                took = time.perf_counter() - start
            spent[name] += took
            times[name].append(took / len(count))
    return {name: statistics.median(samples) for name, samples in times.items()}
