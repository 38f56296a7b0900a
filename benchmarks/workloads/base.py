"""What a workload is, and the list of them all.

The hand-written gradient beside each function is the yardstick, so its rules are written down:
it runs the primal's own forward computation, saving what it needs, and then the cheapest reverse sweep we can write;
loops are reversed as loops and array expressions as array expressions; constants are folded (the cotangent of a sum is
never built); what the sweep adds for itself (stacks, accumulators) uses the fastest structure Python has. It does not
replace the algorithm by mathematics (no implicit function theorem for a Newton iteration): that is no longer
the derivative of the program. A faster one that follows these rules is a bug fix here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    fn: Callable[..., Any]
    hand: Callable[..., tuple[Any, tuple[Any, ...]]]
    args: tuple[Any, ...]
    argnums: tuple[int, ...]
    note: str
    #: gradient/primal of the same workload in the seed framework's own continuous benchmarks
    published: float | None = None


WORKLOADS: list[Workload] = []


def workload(
    fn: Callable[..., Any],
    hand: Callable[..., tuple[Any, tuple[Any, ...]]],
    *args: Any,
    note: str,
    argnums: tuple[int, ...] | None = None,
    name: str | None = None,
    published: float | None = None,
) -> None:
    """Register `fn` at `args`; `hand(*args)` gives the value and one gradient for each of `argnums` (default: all)."""
    wanted = tuple(range(len(args))) if argnums is None else argnums
    WORKLOADS.append(Workload(name or fn.__name__, fn, hand, args, wanted, note, published))
