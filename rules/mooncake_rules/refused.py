"""What hides a value from everybody: code in text, bytes, threads. Refused with a reason where the value is active."""

from __future__ import annotations

import array
import dataclasses
import decimal
import marshal
import pickle
import struct
import threading
import weakref

from mooncake_py.registry import refuse

refuse("the code that it runs is not seen; write it as a function", eval, exec)
refuse(
    "what runs in another thread is not seen; call the function directly",
    threading.Thread, threading.Thread.start, threading.Thread.join,
)  # fmt: skip
refuse(
    "a value that is written as bytes or text has no derivative when it is read back; copy.deepcopy keeps it",
    pickle.dumps, pickle.dump, marshal.dumps, struct.pack, struct.pack_into, float.hex, array.array, memoryview, bytes,
    bytearray,
)  # fmt: skip
refuse(
    "the class is made by code in text; write it as a class statement, or make it outside of the function",
    dataclasses.make_dataclass,
)
refuse("its numbers are integers; use floats", float.as_integer_ratio)
refuse("its digits are no floats; use floats", decimal.Decimal, decimal.Decimal.from_float)
refuse("hold the object itself", weakref.ref, weakref.proxy)
