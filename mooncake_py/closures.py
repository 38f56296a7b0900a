"""What functions that were made in the run and bound methods hold: read where their code is taken in, wherever they
come from."""

from __future__ import annotations

from types import CellType, FunctionType, MethodType
from typing import Any


def cell_of(f: FunctionType, i: int) -> CellType:
    """A cell of a function."""
    assert f.__closure__ is not None
    return f.__closure__[i]


def default_of(f: FunctionType, i: int) -> Any:
    """The default value of a positional parameter, counted from the first that has one."""
    assert f.__defaults__ is not None
    return f.__defaults__[i]


def receiver_of(m: MethodType) -> Any:
    """The object that a method is bound to."""
    return m.__self__
