"""Is debug mode on? A context variable, read where a run begins and where its rules are derived."""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any


@dataclass(frozen=True, slots=True)
class Mode:
    """What is checked besides the form of everything: part of the signature that a rule is derived for."""

    check_finite: bool = False
    check_numbers: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The mode of the run, and the call in it that is being made (`diagnostics.where.Where`)."""

    mode: Mode
    where: Any = None


def _from_environment() -> Frame | None:
    """`MOONCAKE_DEBUG=1`, or a comma-separated list of `finite` and `numbers`; empty or `0` is off."""
    words = {w.strip() for w in os.environ.get("MOONCAKE_DEBUG", "").lower().split(",")} - {"", "0", "off", "false"}
    return Frame(Mode("finite" in words, "numbers" in words)) if words else None


_DEFAULT = _from_environment()
_frame: ContextVar[Frame | None] = ContextVar("mooncake_py.debug", default=_DEFAULT)
current = _frame.get
"""The frame of the run, None where debug mode is off."""


def enter(frame: Frame | None) -> Token[Frame | None]:
    return _frame.set(frame)


def leave(token: Token[Frame | None]) -> None:
    _frame.reset(token)


class debug:
    """`with mooncake_py.debug(): ...` runs every gradient of the block in debug mode.

    Every rule is wrapped with checks: types, shapes, tangents, aliases, counts, what was overwritten and put
    back. `check_finite` also stops at the first NaN or infinity, `check_numbers` compares every rule that is
    called with finite differences. Results are those of a plain run. A pullback made in the block is checked
    wherever it is called. What fails raises DebugError.
    """

    def __init__(self, check_finite: bool = False, check_numbers: bool = False):
        self.frame: Frame | None = Frame(Mode(bool(check_finite), bool(check_numbers)))
        self._tokens: list[Token[Frame | None]] = []

    def __enter__(self) -> debug:
        self._tokens.append(_frame.set(self.frame))
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None) -> None:
        _frame.reset(self._tokens.pop())


class running:
    """An entry point whose `debug_mode` is this: None leaves what the context says, False turns it off."""

    __slots__ = ("frame", "token")

    def __init__(self, debug_mode: bool | None):
        frame = _frame.get()
        if debug_mode and frame is None:
            frame = Frame(Mode())
        elif debug_mode is False:
            frame = None
        self.frame = None if frame is None else Frame(frame.mode)

    def __enter__(self) -> None:
        self.token = _frame.set(self.frame)

    def __exit__(self, *_: object) -> None:
        _frame.reset(self.token)
