"""The workloads, by area; `WORKLOADS` has them in the order of the table."""

from benchmarks.workloads import scalars, elements, containers, arrays, models, simulations, objects  # noqa: F401, I001 (order of the table)
from benchmarks.workloads.base import WORKLOADS, Workload

__all__ = ["WORKLOADS", "Workload"]
