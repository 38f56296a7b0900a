"""Pools of threads and processes: refused with a reason."""

from __future__ import annotations

from concurrent import futures

from mooncake_py.registry import refuse

refuse(
    "what runs in another thread or process is not seen; call the function directly, or differentiate each task",
    futures.Executor.submit, futures.Executor.map, futures.ThreadPoolExecutor.submit,
    futures.ProcessPoolExecutor.submit, futures.ProcessPoolExecutor.map,
)  # fmt: skip
