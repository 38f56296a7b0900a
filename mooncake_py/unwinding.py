"""What an exception tells the handler that reverses what was done before it.

A callee that raises when it has changed something leaves the pullback of that with its exception; the edge to the
handler takes it. Where a callee ran without being asked for it, because code that is not seen called it, the exception
says that something is missing, and is refused where the user would handle it.
"""

from __future__ import annotations

from typing import Any, NoReturn

from mooncake_py import run
from mooncake_py.errors import MooncakeError, UnsupportedError
from mooncake_py.ir import ops

_KEY = "__mooncake_partial__"


class Raised:
    """The value of a call that raised, to a caller that reverses what it had done."""

    __slots__ = ("exc",)

    def __init__(self, exc: BaseException):
        self.exc = exc


class _Missing:
    """In place of a pullback: what the function at `place` had changed cannot be reversed."""

    __slots__ = ("place",)

    def __init__(self, place: tuple[str, str, int]):
        self.place = place


def leave(exc: BaseException, pullback: Any) -> NoReturn:
    """Raise what a callee raised, with the pullback of what the callee had done (None: nothing)."""
    if pullback is not None:
        vars(exc)[_KEY] = pullback
    context = exc.__context__
    try:
        raise exc
    finally:
        exc.__context__ = context  # raising it once more has put in what is being handled here


def take_partial(exc: BaseException) -> Any:
    """The pullback of what was done before the exception, None where that is nothing; the exception has it no more."""
    found = vars(exc).get(_KEY)
    if found is not None and type(found) is not _Missing:
        del vars(exc)[_KEY]
        return found
    return None


def note_missing(exc: BaseException, name: str, filename: str, line: int) -> None:
    """A derived function that may have changed something ends with exc, and nobody asks what it was."""
    vars(exc).setdefault(_KEY, _Missing((name, filename, line)))


def forget(exc: BaseException) -> None:
    """The exception leaves the engine: nobody is there any more to reverse anything."""
    vars(exc).pop(_KEY, None)
    vars(exc).pop(_TANGENT, None)
    for inner in exc.exceptions if isinstance(exc, BaseExceptionGroup) else ():
        forget(inner)


class ArgsShadow:
    """The tangent of an exception: its arguments' fdata in `f`, their cotangents in `r` (None is zero)."""

    __slots__ = ("f", "r")

    def __init__(self, f: tuple[Any, ...]):
        self.f = f
        self.r: list[Any] = [None] * len(f)

    def take(self) -> tuple[Any, ...]:
        """The cotangents of the arguments, leaving zero."""
        r = tuple(self.r)
        self.r[:] = [None] * len(r)
        return r


_TANGENT = "__mooncake_tangent__"


def give_tangent(exc: BaseException, fargs: tuple[Any, ...]) -> ArgsShadow:
    """The tangent of a new exception whose arguments have this fdata; handlers find it with the exception."""
    shadow = vars(exc)[_TANGENT] = ArgsShadow(fargs)
    run.current().exceptions = True
    return shadow


def hold_tangent(exc: BaseException, shadow: ArgsShadow | None) -> None:
    """Give an exception back the tangent that it had, or none."""
    if shadow is None:
        vars(exc).pop(_TANGENT, None)
    else:
        vars(exc)[_TANGENT] = shadow


def tangent_of(exc: BaseException) -> ArgsShadow | None:
    """The tangent of an exception, where its arguments may have a derivative."""
    found = vars(exc).get(_TANGENT)
    return found if type(found) is ArgsShadow else None


def users_match(exc: BaseException, matched: bool) -> bool:
    """Is this handler the exception's, where `matched` says so? What the engine refuses with is not the user's."""
    if matched and _KEY in vars(exc):
        _refuse(exc)
    return matched and not isinstance(exc, MooncakeError)


def users_kinds(exc: BaseException, kinds: Any) -> Any:
    """What `except* kinds` may catch of exc: nothing of what the engine refuses with."""
    if isinstance(exc, MooncakeError):
        return ()
    if _KEY in vars(exc) and ops.exc_group_match(exc, kinds)[1] is not None:
        _refuse(exc)
    return kinds


def end_handler(exc: BaseException) -> None:
    """The user has handled exc, so it is gone; unless it is what the engine refused with, which leaves."""
    if isinstance(exc, MooncakeError):
        raise exc
    if _KEY in vars(exc):
        _refuse(exc)


def _refuse(exc: BaseException) -> None:
    found = vars(exc).pop(_KEY)
    if type(found) is not _Missing:
        return
    name, filename, line = found.place
    raise UnsupportedError(
        f"catching an exception of {name}, called by code that is not seen, which may have changed something before",
        filename,
        line,
        "catch it there, or call the function directly",
    ) from exc


def unwound(exc: BaseException, *operands: Any) -> None:
    """A call with these operands ended with exc: the statement on its exceptional edge, where that is reversed."""
