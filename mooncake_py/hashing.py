"""What can be looked up in a table."""

from __future__ import annotations

import ctypes
from typing import Any

_OF_C_DATA: Any = ctypes._SimpleCData.__hash__
"""Refuses, though it is there: data and functions of ctypes have it."""


def hashable(x: Any) -> bool:
    """Can x be a key? What it holds, where it is a tuple, is not asked."""
    of_class = type(x).__hash__
    return of_class is not None and of_class is not _OF_C_DATA
