"""Derivations in the log: `logging.getLogger("mooncake_py")`, at INFO what was derived, why and how long it took."""

from __future__ import annotations

import logging
import types as pytypes
from typing import TYPE_CHECKING

from mooncake_py import registry
from mooncake_py.fields import ABSENT
from mooncake_py.infer.types import T
from mooncake_py.inspection.describe import name_of, type_text

if TYPE_CHECKING:
    from mooncake_py.runtime.rule import DerivedRule

_log = logging.getLogger("mooncake_py")


def wanted() -> bool:
    return _log.isEnabledFor(logging.INFO)


def why_again(old: DerivedRule | None, others: bool) -> str:
    """Why a rule is derived: `old` is the one that is there and not valid, `others` are there for other signatures."""
    if old is None:
        return "for another signature" if others else "for the first time"
    for scope, name, value, fits in old.guards:
        now = scope.get(name, ABSENT)
        if now is not value and (fits is None or now is ABSENT or not fits(now)):
            return f"again: {name} was {name_of(value)} and is {name_of(now)} now"
    for f, code, defaults in old.taken:
        if f.__code__ is not code or f.__defaults__ is not defaults:
            return f"again: {f.__qualname__}, which is taken in, has other code or defaults now"
    if old.generation != registry.generation:
        return "again: rules were registered since"
    return "again"


def derived(fn: pytypes.FunctionType, types: tuple[T, ...], rule: DerivedRule, why: str, seconds: float) -> None:
    """Log one derivation."""
    code = fn.__code__
    names = code.co_varnames
    given = ", ".join(f"{names[i] if i < len(names) else i}: {type_text(t)}" for i, t in enumerate(types))
    _log.info(
        "derived %s (%s:%d) %s, for (%s), in %.1f ms",
        fn.__qualname__, code.co_filename, code.co_firstlineno, why, given, seconds * 1e3,
    )  # fmt: skip
    if _log.isEnabledFor(logging.DEBUG):
        for line, note in rule.derived.notes:
            _log.debug("%s:%s: %s", code.co_filename, line, note)
        if rule.derived.stored:
            _log.debug("%s keeps %s for its pullback", fn.__qualname__, ", ".join(rule.derived.stored))
