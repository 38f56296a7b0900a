"""Checks of rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class RuleCase:
    """A call that a rule must get right: `fn(*args, **kwargs)`, at a point where it is smooth."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        kinds = "_".join(_kind(a) for a in self.args)
        words = "".join(f"-{k}={v!r}".replace(" ", "") for k, v in self.kwargs.items())
        return f"{getattr(self.fn, '__qualname__', None) or self.fn.__name__}-{kinds}{words}"


def case(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> RuleCase:
    """`RuleCase(fn, args, kwargs)`."""
    return RuleCase(fn, args, kwargs)


def _kind(x: Any) -> str:
    shape = getattr(x, "shape", None)
    if shape is not None and not callable(shape):
        return f"{x.dtype.kind}{x.dtype.itemsize * 8}" + "x".join(map(str, shape))
    return f"{x}" if isinstance(x, (int, str)) else type(x).__name__
