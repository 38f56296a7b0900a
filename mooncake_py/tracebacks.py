"""What a user sees of an exception: the lines of user code it went through, and where an error of ours belongs.

An entry point catches what leaves it, calls `tidy` and raises it again with a bare `raise`, which does not add the
entry point's own frame.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TypeVar

from mooncake_py import registry
from mooncake_py.errors import MissingRule, MooncakeError, UnsupportedError
from mooncake_py.origins import expanded

_ENGINE = os.path.dirname(os.path.realpath(__file__))
_BESIDE = os.path.dirname(_ENGINE)
_PACKS = (os.path.join(_BESIDE, "rules", "mooncake_rules"), os.path.join(_BESIDE, "mooncake_rules"))  # checkout, wheel
_HIDDEN = (*[d + os.sep for d in (_ENGINE, *_PACKS)], "<mooncake_py.")  # the last: code that it writes
_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = tuple({sysconfig.get_path(k) + os.sep for k in ("purelib", "platlib")} | {_LIBRARY + "site-packages"})
_engine: dict[str, bool] = {}
_full = os.environ.get("MOONCAKE_TRACEBACK", "").lower() == "full"


def show_engine_frames(on: bool = True) -> None:
    """Leave the engine's own frames in tracebacks (`MOONCAKE_TRACEBACK=full` does it from the start), or hide them."""
    global _full
    _full = bool(on)


def is_engine(filename: str) -> bool:
    """Is this a file of the engine or of its rule pack?"""
    found = _engine.get(filename)
    if found is None:
        found = _engine[filename] = filename.startswith(_HIDDEN)
    return found


def _is_of_python(filename: str) -> bool:
    """Is this a file of Python's own library, whose lines tell a user little?"""
    return filename.startswith(_LIBRARY) and not filename.startswith(_INSTALLED)


def tidy(e: BaseException) -> None:
    """Take the engine's frames out of a traceback that is about to leave it; say where, in an error of ours.

    Where an item is stored that has no derivative, NumPy raises a ValueError of its own over ours: ours is raised.
    """
    if type(e) is ValueError and isinstance(e.__cause__, MooncakeError):
        ours = e.__cause__.with_traceback(e.__traceback__)
        tidy(ours)
        raise ours from None
    kept: list[TracebackType] = []
    tb = e.__traceback__
    while tb is not None:
        if not is_engine(tb.tb_frame.f_code.co_filename):
            kept.extend(expanded(tb))
        tb = tb.tb_next
    if isinstance(e, MooncakeError) and not e.placed:
        e.placed = True
        _place(e, kept)
    if _full:
        return
    out: TracebackType | None = None
    for tb in reversed(kept):
        out = TracebackType(out, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    e.__traceback__ = out


F = TypeVar("F", bound=Callable[..., Any])


_ONCE = "gradients are not differentiated again (reverse mode, once)"


def entry(f: F) -> F:
    """A function that users call: what leaves it is tidy, and it is not differentiated itself."""

    @functools.wraps(f)
    def tidied(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except BaseException as e:
            tidy(e)
            raise

    once(tidied)
    return tidied  # type: ignore[return-value]


def once(*entries: Callable[..., Any]) -> None:
    """Entry points that are just called where a function uses them on constants, and refused on anything else."""
    registry.refused.update(dict.fromkeys(entries, _ONCE))


def _place(e: MooncakeError, tbs: list[TracebackType]) -> None:
    """The innermost user line, and for a missing rule the calls that led there."""
    caller = user_frame()
    if tbs:
        last = tbs[-1]
        code, line = last.tb_frame.f_code, last.tb_lineno
    elif caller is not None:
        code, line = caller.f_code, caller.f_lineno
    else:
        return
    if isinstance(e, UnsupportedError) and e.line is None:
        mine = next((tb for tb in reversed(tbs) if not _is_of_python(tb.tb_frame.f_code.co_filename)), None)
        if mine is not None and mine is not tbs[-1]:
            e.construct = f"{e.construct.rstrip(',')} (by {os.path.basename(code.co_filename)}:{line})"
            code, line = mine.tb_frame.f_code, mine.tb_lineno
        e.at(code.co_filename, line)
    elif isinstance(e, MissingRule):
        rows = [] if caller is None else [(caller.f_code, caller.f_lineno)]
        rows += [(tb.tb_frame.f_code, tb.tb_lineno) for tb in tbs]
        e.chain = tuple((c.co_filename, n, c.co_name) for c, n in rows)
        if e.line is None:
            e.filename, e.line = code.co_filename, line
        steps = "".join(f"\n    {name}, {file}:{n}" for file, n, name in e.chain)
        e.args = (f"{e.args[0]}\n\nThe calls that led there:{steps}",)
    elif e.line is None:  # an error that did not ask for its position when it was made
        e.filename, e.line = code.co_filename, line
        e.args = (f"{e.args[0]}, in {code.co_filename}:{line}", *e.args[1:])


def user_frame() -> FrameType | None:
    """The frame of the user who called the engine."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_engine(frame.f_code.co_filename):
        frame = frame.f_back
    return frame
