"""What is raised by `raise x`, and what `except*` does with a group of exceptions, as Python does it
(`_PyExc_PrepReraiseStar` in CPython)."""

from __future__ import annotations

from typing import Any

_METADATA = ("__traceback__", "__cause__", "__context__")


def exception_of(x: Any) -> Any:
    """What `raise x` raises, where x may be a class."""
    if isinstance(x, type):
        return x()
    return x


def parted(exc: BaseException, kinds: Any) -> tuple[BaseException | None, BaseException | None]:
    """What `except* kinds` leaves of exc for others, and what it catches: a group, or None."""
    for kind in kinds if isinstance(kinds, tuple) else (kinds,):
        if isinstance(kind, type) and issubclass(kind, BaseExceptionGroup):
            raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
    if isinstance(exc, kinds):
        if isinstance(exc, BaseExceptionGroup):
            return None, exc
        group = BaseExceptionGroup("", [exc])
        group.__traceback__ = exc.__traceback__
        return None, group
    if not isinstance(exc, BaseExceptionGroup):
        return exc, None
    caught, rest = exc.split(kinds)
    return rest, caught


def put_together(exc: BaseException, raised: list) -> BaseException | None:
    """What the handlers of exc raise in the end: what they raised themselves, and what is left of exc or passed on."""
    raised = [e for e in raised if e is not None]
    if not isinstance(exc, BaseExceptionGroup) or not raised:
        return raised[0] if raised else None
    own, kept = [], set[int]()
    for e in raised:
        if all(getattr(e, k, None) is getattr(exc, k, None) for k in _METADATA):
            kept.update(map(id, _leaves(e)))
        else:
            own.append(e)
    rest = exc.subgroup(lambda x: id(x) in kept) if kept else None
    if rest is not None:
        own.append(rest)
    return own[0] if len(own) == 1 else BaseExceptionGroup("", own)


def _leaves(exc: BaseException) -> list[BaseException]:
    """The exceptions in a group, however deep, or exc itself."""
    if not isinstance(exc, BaseExceptionGroup):
        return [exc]
    return [x for e in exc.exceptions for x in _leaves(e)]
