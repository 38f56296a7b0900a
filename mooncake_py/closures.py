"""What functions and bound methods hold: read where the code of those that were made in the run is taken in, wherever
they come from."""

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


def captured(f: FunctionType) -> dict[str, Any]:
    """What the free variables of a function stand for, by name; those that stand for nothing yet are left out."""
    held: dict[str, Any] = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=False):
        try:
            held[name] = cell.cell_contents
        except ValueError:
            continue
    return held
