"""Messages of loggers are text, which has no derivative: handlers that only write them out are not looked into."""

from __future__ import annotations

import logging
import logging.handlers
import sys
from collections import deque
from types import FrameType, FunctionType
from typing import Any

from mooncake_py.infer.held import is_library
from mooncake_py.registry import incurious, overlay, zero_derivative
from mooncake_py.structure import is_user_class
from mooncake_py.tracebacks import is_engine

_KEEPS = (logging.handlers.BufferingHandler, logging.handlers.QueueHandler)
"""Handlers that keep records, and so what the messages are made of."""
_RECORD = logging.LogRecord
_DEFAULT = vars(logging)["_defaultFormatter"]
_FOR_TESTS = "_pytest.logging"
"""The module of pytest's handlers, which stand at every logger while a test runs: what they keep is for the test."""

# What `Logger._log` does, where it is looked into.
_looked_into = FunctionType(logging.Logger._log.__code__, vars(logging), "_log", logging.Logger._log.__defaults__)


def _only_writes(logger: logging.Logger, *given: Any) -> bool:
    """Is what becomes of this logger's message decided by libraries, and does no handler keep what it is made of?"""
    if not is_library(type(logger)) or logging.getLogRecordFactory() is not _RECORD or not _is_plain(given):
        return False
    at: logging.Logger | None = logger
    while at is not None:
        if not all(map(_is_of_library, at.filters)) or not all(map(_writes, at.handlers)):
            return False
        at = at.parent if at.propagate else None
    return True


def _is_plain(x: Any) -> bool:
    """Is there no object of a class of the user's in it, whose text its methods give?"""
    if isinstance(x, dict):
        return _is_plain(list(x.values()))
    return all(map(_is_plain, x)) if isinstance(x, (tuple, list, deque)) else not is_user_class(type(x))


def _writes(handler: logging.Handler) -> bool:
    stream, formatter = getattr(handler, "stream", None), handler.formatter
    parts = (handler, *handler.filters, *(x for x in (stream, formatter) if x is not None))
    kept = isinstance(handler, _KEEPS)
    return not kept and all(_is_of_library(x) or type(x).__module__ == _FOR_TESTS for x in parts)


def _is_of_library(x: Any) -> bool:
    return is_library(type(x)) and not isinstance(x, FunctionType)


def _write(
    logger: logging.Logger, level: int, msg: object, args: Any, exc_info: Any, extra: Any, stack_info: bool, depth: int
) -> None:
    logger._log(level, msg, args, exc_info, extra, stack_info, depth + _frames_between(depth))


def _find_caller(logger: logging.Logger, stack_info: bool, depth: int) -> Any:
    return logger.findCaller(stack_info, depth + _frames_between(depth))


def _frames_between(depth: int) -> int:
    """How many frames of the engine a logger takes for its callers, before it has gone back this many of the user's."""
    found, frame = 0, sys._getframe(1)  # that of the caller, which is the engine's too
    while frame is not None and depth > 0:
        name = frame.f_code.co_filename
        if _is_ours(name):
            found += 1
        elif not _is_loggers(frame):
            depth -= 1
        frame = frame.f_back
    return found


def _is_ours(filename: str) -> bool:
    return filename == __file__ or is_engine(filename)


def _is_loggers(frame: FrameType) -> bool:
    return frame.f_code.co_filename == logging._srcfile


@overlay(logging.Logger._log)
def log(self, level, msg, args, exc_info=None, extra=None, stack_info=False, stacklevel=1):
    if _only_writes(self, msg, args, extra):
        _write(self, level, msg, args, exc_info, extra, stack_info, stacklevel)
    else:
        _looked_into(self, level, msg, args, exc_info, extra, stack_info, stacklevel)


@overlay(logging.Logger.findCaller)
def find_caller(self, stack_info=False, stacklevel=1):
    return _find_caller(self, stack_info, stacklevel)


def _handlers(logger: logging.Logger, level: int) -> list[logging.Handler]:
    """The handlers that get a record of this level, as `Logger.callHandlers` finds them."""
    found, at, any_there = [], logger, False
    while at:
        any_there = any_there or bool(at.handlers)
        found += [x for x in at.handlers if level >= x.level]
        at = at.parent if at.propagate else None
    return found if any_there else _without_handlers(logger, level)


def _without_handlers(logger: logging.Logger, level: int) -> list[logging.Handler]:
    last = logging.lastResort
    if last is not None:
        return [last] if level >= last.level else []
    logging.Logger.callHandlers(logger, logging.makeLogRecord({"levelno": level}))  # which says so, once
    return []


def _only_writes_record(handler: logging.Handler, record: logging.LogRecord) -> bool:
    return _writes(handler) and _is_plain_record(record)


def _is_plain_record(record: logging.LogRecord) -> bool:
    return type(record) is _RECORD and _is_plain(vars(record))


def _handle(handler: logging.Handler, record: logging.LogRecord) -> None:
    handler.handle(record)


@overlay(logging.Logger.callHandlers)
def call_handlers(self, record):
    for handler in _handlers(self, record.levelno):
        if _only_writes_record(handler, record):
            _handle(handler, record)
        else:
            handler.handle(record)


def _only_formats(handler: logging.Handler, record: logging.LogRecord) -> bool:
    return (handler.formatter is None or _is_of_library(handler.formatter)) and _is_plain_record(record)


def _formatted(handler: logging.Handler, record: logging.LogRecord) -> str:
    return logging.Handler.format(handler, record)


@overlay(logging.Handler.format)
def format_record(self, record):
    if _only_formats(self, record):
        return _formatted(self, record)
    formatter = _DEFAULT if self.formatter is None else self.formatter
    return formatter.format(record)


_ASKED = (
    _only_writes, _write, _find_caller, _handlers, _only_writes_record, _handle, _only_formats, _formatted,
    logging.Logger.isEnabledFor, logging.Logger.getEffectiveLevel, logging.basicConfig, logging.Handler.handleError,
    logging.Formatter.formatTime, logging.Formatter.formatException,
)  # fmt: skip
zero_derivative(*_ASKED)
incurious.update(_ASKED)
