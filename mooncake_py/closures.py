"""What functions and bound methods hold: read where their code is taken in, wherever they come from."""

from __future__ import annotations

from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.fields import ABSENT


def cell_of(f: FunctionType, i: int) -> CellType:
    """A cell of a function."""
    assert f.__closure__ is not None
    return f.__closure__[i]


def default_of(f: FunctionType, i: int) -> Any:
    """The default value of a positional parameter, counted from the first that has one."""
    assert f.__defaults__ is not None
    return f.__defaults__[i]


class Default:
    """A default value that may be changed, a dict say, as a scope of one name, the parameter's: a function has it as it
    has global variables."""

    __slots__ = ("function", "key")

    def __init__(self, function: FunctionType, key: int | str):
        """`key`: of a parameter by name alone its name, of others their place before the last one."""
        self.function, self.key = function, key

    def get(self, name: str, default: Any = ABSENT) -> Any:
        """What it is now."""
        if isinstance(self.key, str):
            return (self.function.__kwdefaults__ or {}).get(self.key, default)
        values = self.function.__defaults__ or ()
        return values[self.key] if -self.key <= len(values) else default


class Emptiness:
    """Whether a default value is a dict with nothing in it, as a scope of one name."""

    __slots__ = ("of",)

    def __init__(self, of: Default):
        self.of = of

    def get(self, name: str, default: Any = ABSENT) -> bool:
        """Is it now?"""
        value = self.of.get(name)
        return type(value) is dict and not value


class Captured:
    """What a cell of a function from outside holds, as a scope of one name."""

    __slots__ = ("cell",)

    def __init__(self, cell: CellType):
        self.cell = cell

    def get(self, name: str, default: Any = ABSENT) -> Any:
        """What it is now."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return default


Holder = ModuleType | type | Default | Captured
"""What keeps something by a name that functions read it by."""


def kept_default(of: Default, name: str) -> Any:
    """A default value that may be changed, of the parameter of this name."""
    return of.get(name)


def kept_captured(of: Captured, name: str) -> Any:
    """What a function has captured by this name, and may be of another type later."""
    return of.get(name)


def empty_default(of: Default, name: str) -> None:
    """A default value is a dict with nothing in it, as it was when that was relied on."""
    if of.get(name):
        raise UnsupportedError(
            f"the default value of {name!r} of {of.function.__qualname__}, which the function fills before it is used",
            of.function.__code__.co_filename,
            of.function.__code__.co_firstlineno,
            "let the default be None, and make the dict in the function",
        )


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
