"""What hides a value from everybody: code in text, bytes, threads. Refused with a reason where the value is active."""

from __future__ import annotations

import array
import contextvars
import dataclasses
import datetime
import decimal
import marshal
import operator
import pickle
import struct
import threading
import weakref
from typing import Any

from mooncake_py.errors import UnsupportedError
from mooncake_py.kept_iterators import Generator
from mooncake_py.kinds import Any_
from mooncake_py.registry import pure, refuse, rrule

refuse("the code that it runs is not seen; write it as a function", eval, exec)
refuse(
    "what runs in another thread is not seen; call the function directly",
    threading.Thread, threading.Thread.start, threading.Thread.join,
)  # fmt: skip
refuse(
    "a value that is written as bytes or text has no derivative when it is read back; copy.deepcopy keeps it",
    pickle.dumps, pickle.dump, marshal.dumps, struct.pack, struct.pack_into, float.hex, memoryview, bytes, bytearray,
)  # fmt: skip
refuse("its items are bytes without a derivative; keep the values in a list or an ndarray", array.array)
pure.add(array.array)  # of constants
refuse(
    "the class is made by code in text; write it as a class statement, or make it outside of the function",
    dataclasses.make_dataclass,
)
refuse("its numbers are integers; use floats", float.as_integer_ratio)
refuse("its digits are no floats; use floats", decimal.Decimal, decimal.Decimal.from_float)
refuse(
    "what is set in a context is not followed to where it is read; pass the value as an argument",
    contextvars.ContextVar, contextvars.ContextVar.set,
)  # fmt: skip
refuse("hold the object itself", weakref.ref, weakref.proxy)
_SECONDS = "it holds whole microseconds; use a float with the seconds"
refuse(_SECONDS, datetime.timedelta)


def _of_timedelta(a: Any, b: Any) -> Any:
    raise UnsupportedError("arithmetic of a timedelta and a value that has a derivative", "the call", None, _SECONDS)


for _f in (operator.mul, operator.truediv):
    rrule(_f, types=(datetime.timedelta, Any_))(_of_timedelta)
    rrule(_f, types=(Any_, datetime.timedelta))(_of_timedelta)


@rrule(operator.length_hint, types=(Generator,))
def length_hint(_: Any) -> Any:
    raise UnsupportedError("the length hint of an iterator that has no list", "the call", None, "make a list of it")
