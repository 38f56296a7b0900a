"""The cyclic garbage collector, kept from what it would not find anything in."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def at_rest() -> Iterator[None]:
    """For derivation: what it makes is kept or goes by itself, so passes of the collector would find nothing."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
