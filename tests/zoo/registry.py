"""The decorator that makes a zoo case of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tests.harness import Case

F = TypeVar("F", bound=Callable[..., Any])
CASES: list[Case] = []


def case(*args: Any, tags: tuple[str, ...] = (), name: str | None = None) -> Callable[[F], F]:
    """Register the decorated function at these arguments, and give it back untouched."""

    def register(fn: F) -> F:
        area = fn.__module__.rsplit(".", 1)[-1]
        CASES.append(Case(f"{area}.{name or fn.__name__}", fn, args, (area, *tags)))
        return fn

    return register


def add(name: str, fn: Callable[..., Any], *args: Any, area: str, tags: tuple[str, ...] = ()) -> None:
    """Register a callable that is not defined by `def` (a lambda of a table, a ufunc, a partial)."""
    CASES.append(Case(f"{area}.{name}", fn, args, (area, *tags)))
